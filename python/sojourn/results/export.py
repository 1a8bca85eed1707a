"""Results without pandas: rows of estimates and differences, and one JSON document with these and every run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sojourn import stats
from sojourn.base.core import Document
from sojourn.results import metrics, tables

if TYPE_CHECKING:
    from sojourn.results.data import ResultData

SUMMARY: Final = ("scheme", "queue", "metric", "unit", "mean", "low", "high", "replications")
SUMMARY_BY_GROUP: Final = ("scheme", "group", *SUMMARY[2:])
SUMMARY_BY_PHASE: Final = ("scheme", "phase", "group", *SUMMARY[1:])
DIFFERENCES: Final = (
    *("scheme", "baseline", "queue", "metric", "unit", "difference", "low", "high", "replications"),
    *("correlation", "effect", "effect_low", "effect_high", "p", "p_holm"),
)


def summary(results: ResultData, names: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of :meth:`sojourn.results.Results.summary`: columns :data:`SUMMARY`."""
    for label in results.labels:
        for name in results.at_queues(results.metric_names() if names is None else names):
            found = results.estimate(label, name)
            yield label, *_of_queue(results, name), metrics.unit_of(name), *tables.limits(found)


def _of_queue(results: ResultData, name: str) -> tuple[str, str]:
    """Return the queue that a metric is of, empty if it is not of queues, and its name without it."""
    metric, queue = metrics.split(name)
    return queue or (results.queue if metrics.is_of_queues(metric) else ""), metric


def summary_by_group(results: ResultData, names: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a summary of each group of flows: columns :data:`SUMMARY_BY_GROUP`."""
    rows = tables.rows(results.frames, "groups")
    known = tables.metric_names("groups", rows[0]) if rows else []
    for label in results.labels:
        for group in dict.fromkeys(str(row["group"]) for row in rows):
            for name in known if names is None else names:
                found = results.estimate(label, name, group)
                if found.replications or names is not None:
                    unit = metrics.unit_of(name, "group")
                    yield label, group, name, unit, *tables.limits(found)


def summary_by_phase(results: ResultData, names: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a summary of each phase: columns :data:`SUMMARY_BY_PHASE`.

    The group is empty for all flows and for each queue under test, and then each group of flows in turn.
    """
    rows = tables.rows(results.frames, "phases")
    known = tables.metric_names("phases", rows[0]) if rows else []
    groups = dict.fromkeys(str(row["group"]) for row in rows)
    for label in results.labels:
        for phase in results.phase_names:
            for group in groups:
                chosen = known if names is None else names
                for name in chosen if group else results.at_queues(chosen):
                    found = results.estimate(label, name, group or None, phase=phase)
                    if found.replications or (names is not None and not group):
                        unit = metrics.unit_of(name, "group" if group else "run")
                        of = ("", name) if group else _of_queue(results, name)
                        yield label, phase, group, *of, unit, *tables.limits(found)


def differences(
    results: ResultData, baseline: str | None = None, names: Sequence[str] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of :meth:`sojourn.results.Results.differences`: columns :data:`DIFFERENCES`."""
    base = results.labels[0] if baseline is None else baseline
    chosen = results.at_queues(results.metric_names() if names is None else names)
    if len(results.labels) < 2:
        return
    holm = {name: results.corrected(name, base) for name in chosen}
    for label in results.labels:
        if label == base:
            continue
        for name in chosen:
            found, size = results.difference(label, name, base), results.effect(label, name, base)
            sizes = (math.nan if limit is None else limit for limit in (size.low, size.high))
            yield (
                *(label, base, *_of_queue(results, name), metrics.unit_of(name), *tables.limits(found)),
                *(found.correlation, size.size, *sizes, size.p, holm[name][label]),
            )


def document(results: ResultData, warnings: Iterable[str], *, series: bool) -> Document:
    """Return results as a document; see :meth:`sojourn.results.Results.to_document`."""
    return {
        "sojourn": results.code_version,
        "build": results.build,
        "kind": results.kind,
        "scenario": results.scenario,
        "schemes": [
            {
                "scheme": scheme.label,
                "text": scheme.exact,
                "parameters": {p.name: p.value for p in scheme.parameters()},
            }
            for scheme in results.schemes
        ],
        "seed": results.seed,
        "replications": results.replications,
        "level": stats.LEVEL,
        "runs": _runs(results, series=series),
        "summary": [_with_interval(SUMMARY, row) for row in summary(results)],
        "differences": [_with_interval(DIFFERENCES, row) for row in differences(results)],
        "warnings": list(warnings),
    }


def _runs(results: ResultData, *, series: bool) -> list[Document]:
    names = ("queues", "flows", "groups", "phases", "stations", "series")
    parts = {name: _by_run(tables.rows(results.frames, name)) for name in names}
    rows = tables.rows(results.frames, "runs")
    metric = tables.metric_names("runs", rows[0]) if rows else []
    runs = []
    for row in rows:
        key = (row["scheme"], row["replication"])
        run: Document = {name: _number(value) for name, value in row.items() if name not in metric}
        run["metrics"] = {name: _number(row[name]) for name in metric}
        run["queues"] = [_nested("queues", part) for part in parts["queues"].get(key, ())]
        run["flows"] = [_nested("flows", part) for part in parts["flows"].get(key, ())]
        run["groups"] = [_nested("groups", part) for part in parts["groups"].get(key, ())]
        if key in parts["phases"]:
            run["phases"] = [_nested("phases", part) for part in parts["phases"][key]]
        if key in parts["stations"]:
            run["stations"] = [_without_key(part) for part in parts["stations"][key]]
        if series and key in parts["series"]:
            run["series"] = [
                {**_without_key(part), "value": [_number(value) for value in part["value"]]}
                for part in parts["series"][key]
            ]
        runs.append(run)
    return runs


def _with_interval(columns: Sequence[str], values: Sequence[Any]) -> Document:
    """Write the limits as one ``interval``, null where there is none."""
    row = dict(zip(columns, values, strict=True))
    document: Document = {}
    for name, value in row.items():
        stem = name.removesuffix("low")
        if stem == name and not name.endswith("high"):
            document[name] = _number(value)
        elif stem != name:
            low, high = _number(value), _number(row[f"{stem}high"])
            document[f"{stem}interval"] = None if low is None or high is None else [low, high]
    return document


def _number(value: Any) -> Any:
    """Write what JSON can hold: NaN is null, and numpy's numbers are Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _by_run(rows: Iterable[tables.Row]) -> dict[tuple[str, int], list[tables.Row]]:
    found: dict[tuple[str, int], list[tables.Row]] = {}
    for row in rows:
        found.setdefault((row["scheme"], row["replication"]), []).append(row)
    return found


def _without_key(row: tables.Row) -> Document:
    return {name: value for name, value in row.items() if name not in tables.KEYS["runs"]}


def _nested(name: str, row: tables.Row) -> Document:
    measured = tables.metric_names(name, row)
    own = {column: _number(value) for column, value in _without_key(row).items() if column not in measured}
    return {**own, "metrics": {column: _number(row[column]) for column in measured}}
