"""Reports as the rows of a store: one row a run, a queue, a flow, a point of a distribution, a sample of a series.

The columns are the same in every file: all metrics that there are, empty where a run has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

import pyarrow as pa

from sojourn import metrics
from sojourn.core import Document
from sojourn.plan.identity import Run

NAMES: Final = ("runs", "queues", "flows", "distributions", "series")

KEY: Final = "run"

_SCOPES: Final = {"runs": "run", "queues": "queue", "flows": "flow"}

_FACTS: Final = {
    "duration_s": (pa.float64(), "s"),
    "warm_up_s": (pa.float64(), "s"),
    "measured_s": (pa.float64(), "s"),
    "events": (pa.int64(), ""),
    "packets_sent": (pa.int64(), "packets"),
    "packets_delivered": (pa.int64(), "packets"),
    "packets_dropped": (pa.int64(), "packets"),
    "packets_in_flight": (pa.int64(), "packets"),
}

_OWN: Final[dict[str, dict[str, pa.DataType]]] = {
    "runs": {
        "build": pa.string(),
        "scenario": pa.string(),
        "scheme": pa.string(),
        "seed": pa.int64(),
        "replication": pa.int64(),
        "sampled": pa.string(),
    },
    "queues": {"queue": pa.string(), "under_test": pa.bool_(), "configured": pa.string()},
    "flows": dict.fromkeys(("flow", "group", "from", "to", "transport"), pa.string()),
    "distributions": {"quantity": pa.string(), "value": pa.float64(), "cumulative": pa.float64()},
    "series": {"name": pa.string(), "unit": pa.string(), "t_s": pa.float64(), "value": pa.float64()},
}


@cache
def metric_names(table: str) -> tuple[str, ...]:
    """Return the metrics that a table has a column for."""
    scope = _SCOPES.get(table)
    return tuple(metrics.order(name for where, name in metrics.catalogue() if where == scope))


@cache
def schema(table: str) -> pa.Schema:
    """Return a table's columns, each with its unit in the metadata (key ``unit``)."""
    fields = [pa.field(KEY, pa.string(), nullable=False)]
    fields += [pa.field(name, kind) for name, kind in _OWN[table].items()]
    if table == "runs":
        fields += [_with_unit(name, kind, unit) for name, (kind, unit) in _FACTS.items()]
    if table == "series":
        fields = [_with_unit("t_s", pa.float64(), "s") if field.name == "t_s" else field for field in fields]
    for name in metric_names(table):
        fields.append(_with_unit(name, pa.float64(), metrics.unit_of(name, _SCOPES[table])))
    return pa.schema(fields, metadata={"table": table})


def tables(done: Sequence[tuple[str, str, Run, Document]]) -> dict[str, pa.Table]:
    """Make the tables of finished runs.

    Parameters
    ----------
    done
        Identity, build, run and report of each.
    """
    columns: dict[str, dict[str, list[Any]]] = {name: {column: [] for column in schema(name).names} for name in NAMES}
    for identity, build, run, report in done:
        conservation = {f"packets_{name}": count for name, count in report["conservation"].items()}
        row = {
            KEY: identity,
            "build": build,
            "scenario": run.scenario,
            "scheme": run.scheme or "",
            "seed": run.seed,
            "replication": run.replication,
            "sampled": run.series,
        }
        own = {**row, **{name: report.get(name, conservation.get(name)) for name in _FACTS}, **report["metrics"]}
        _append(columns["runs"], own)
        for queue in report["queues"]:
            facts = {KEY: identity, "queue": queue["name"], "under_test": queue["under_test"], "configured": queue["scheme"]}
            _append(columns["queues"], {**facts, **queue["metrics"]})
        for flow in report["flows"]:
            facts = {KEY: identity, "flow": flow["name"], **{key: flow[key] for key in ("group", "from", "to", "transport")}}
            _append(columns["flows"], {**facts, **flow["metrics"]})
        for quantity, curve in (report.get("distributions") or {}).items():
            _extend(
                columns["distributions"],
                len(curve["value"]),
                {KEY: identity, "quantity": quantity},
                {"value": curve["value"], "cumulative": curve["cumulative"]},
            )
        for series in report.get("series") or ():
            _extend(
                columns["series"],
                len(series["t_s"]),
                {KEY: identity, "name": series["name"], "unit": series["unit"]},
                {"t_s": series["t_s"], "value": series["value"]},
            )
    return {name: pa.table(found, schema=schema(name)) for name, found in columns.items()}


def documents(texts: Iterable[str]) -> list[Document]:
    """Read reports."""
    return [json.loads(text) for text in texts]


def _append(columns: dict[str, list[Any]], row: dict[str, Any]) -> None:
    get = row.get
    for name, column in columns.items():
        column.append(get(name))


def _extend(columns: dict[str, list[Any]], count: int, same: dict[str, Any], own: dict[str, list[Any]]) -> None:
    for name, value in same.items():
        columns[name] += [value] * count
    for name, values in own.items():
        columns[name] += values


def _with_unit(name: str, kind: pa.DataType, unit: str) -> pa.Field:
    return pa.field(name, kind, metadata={"unit": unit} if unit else None)
