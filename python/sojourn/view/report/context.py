"""What several pages have: tables of estimates, the network in words, commands and definitions."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from markupsafe import Markup

from sojourn import stats
from sojourn.base.wording import listed
from sojourn.model.scheme import unversioned
from sojourn.results import headline, metrics, text
from sojourn.results.metrics import Metric
from sojourn.stats import Estimate
from sojourn.view.report import real, sections, svg, words
from sojourn.view.report.sections import Drawing, Section, code, joined, tag

if TYPE_CHECKING:
    from sojourn.results.results import Results

_DIFFERENCES: Final = (
    "sojourn_ms_mean",
    "sojourn_ms_p99",
    "queue_packets_mean",
    "goodput_bit_s",
    "loss_ratio",
    "jain_index",
)
_DROPS: Final = (
    "arrivals_packets",
    "drops_overflow_packets",
    "drops_early_packets",
    "drops_flow_packets",
    "marks_packets",
    "loss_ratio",
    "burst_ratio",
)
_HEADLINES: Final = ("sojourn_ms_mean", "goodput_bit_s", "loss_ratio")


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a table, as text and as data; ``half`` is the interval: ``± 0.2`` or ``(0.4 to 1.0)``."""

    mean: str
    half: str
    value: float
    low: float | None
    high: float | None
    is_best: bool = False
    is_sure: bool = False
    effect: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One scheme's row of a table, or its row for one of several queues under test."""

    label: str
    swatch: Markup
    cells: tuple[Cell, ...]
    queue: str = ""
    is_first: bool = True
    """Whether it is the scheme's first row."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: metrics as columns; schemes as rows, or the queues under test of each scheme if there are several."""

    columns: tuple[Metric, ...]
    rows: tuple[Row, ...]

    @property
    def has_queues(self) -> bool:
        """Whether the rows are of single queues."""
        return any(row.queue for row in self.rows)


_BLANK: Final = Cell("", "", math.nan, None, None)


def _rows(
    results: Results, labels: Sequence[str], names: Sequence[str], make: Callable[[str, str], Cell]
) -> tuple[Row, ...]:
    """Return the rows of some schemes: `make` writes a cell from a scheme and a metric."""
    looks = results.plot.looks
    return tuple(
        Row(
            label,
            svg.swatch(looks[label]),
            tuple(_BLANK if name is None else make(label, name) for name in own),
            queue,
            number == 0,
        )
        for label in labels
        for number, (queue, own) in enumerate(headline.layout(results.tested, names))
    )


def shown(one: Cell) -> Markup:
    """Return a number with its interval for a page."""
    half = [Markup(" "), tag("span", one.half, kind="pm")] if one.half else []
    return joined("", [tag("span", one.mean, kind="mean"), *half])


def head(metric: Metric, unit: str | None = None, more: str = "") -> Markup:
    """Return a column's heading: a metric with its unit, which by default is the shown one."""
    unit = metric.shown_unit if unit is None else unit
    return joined("", [metric.title, more, tag("span", unit, kind="unit") if unit else ""])


def drawing(name: str, table: Table, *, is_difference: bool = False) -> Drawing:
    """Return a table for a page."""

    def number(metric: Metric, one: Cell) -> sections.Cell:
        effect = tag("div", f"g {one.effect}", kind="details") if one.effect else ""
        known = {} if one.low is None else {"data_low": one.low, "data_high": one.high}
        kind = ("sure" if one.is_sure else "unsure") if is_difference else "best" if one.is_best else ""
        return sections.cell(
            shown(one) + effect,
            kind=kind,
            title=one.hint or None,
            data_metric=metric.name,
            data_mean=one.value,
            **known,
        )

    def breakable(text: str, mark: str, broken: str) -> Markup:
        return Markup(broken).join(text.split(mark))  # noqa: S704 - our own

    queue = [sections.cell("Queue", kind="queue")] if table.has_queues else []
    rows = []
    for one in table.rows:
        label = tag("span", breakable(one.label, "_", "_<wbr>"), kind="text")
        cells: list[object] = [one.swatch + label if one.is_first else ""]
        cells += [sections.cell(breakable(one.queue, "->", "<wbr>→"), kind="queue")] if table.has_queues else []
        cells += map(number, table.columns, one.cells)
        rows.append(sections.row(cells, data_scheme=one.label, data_queue=one.queue or None))
    heads = [
        sections.cell(head(metric, metric.difference_unit if is_difference else None), title=metric.name)
        for metric in table.columns
    ]
    return Drawing(name, heads=("Scheme", *queue, *heads), rows=rows)


def cell(found: Estimate, metric: Metric, *, is_best: bool = False, signed: bool = False) -> Cell:
    """Write an estimate in a metric's shown unit."""
    mean, _, interval = metrics.written(found, metric.scale).partition(" ")
    if signed and found.mean > 0:
        mean = f"+{mean}"
    return Cell(
        mean=mean.replace("-", "−"),
        half=interval.replace("-", "−"),
        value=found.mean,
        low=found.low,
        high=found.high,
        is_best=is_best,
        is_sure=found.excludes_zero,
    )


def summary_table(results: Results, names: Sequence[str] = metrics.MAIN) -> Table:
    """Return the estimates of the main metrics; the best is marked where corrected paired differences say so."""
    columns = tuple(metrics.find(name) for name in names if _says_something(results, name))
    shown = headline.shown(results.tested, [metric.name for metric in columns])
    best = {name: results.best(name) for name in shown}

    def make(label: str, name: str) -> Cell:
        return cell(results.estimate(label, name), metrics.find(name), is_best=best[name] == label)

    return Table(columns, _rows(results, results.labels, [metric.name for metric in columns], make))


def drops_table(results: Results, names: Sequence[str] = _DROPS) -> Table:
    """Return what happened to arrivals: drops by reason, marks."""
    present = tuple(metrics.find(name) for name in names if _is_there(results, name))

    def make(label: str, name: str) -> Cell:
        return cell(results.estimate(label, name), metrics.find(name))

    return Table(present, _rows(results, results.labels, [metric.name for metric in present], make))


def queues_table(results: Results) -> Table:
    """Return the two queues of DualPI2; without rows where no scheme has them."""
    table = drops_table(results, metrics.QUEUES)
    kept = text.with_two_queues(results)
    return replace(table, rows=tuple(row for row in table.rows if row.label in kept))


_PHASES: Final = (
    "sojourn_ms_mean",
    "sojourn_ms_p50",
    "sojourn_ms_p99",
    "goodput_bit_s",
    "utilisation",
    "drops_packets",
    "loss_ratio",
    "mark_ratio",
)


def phase_tables(results: Results) -> list[tuple[str, str, Table]]:
    """Return the name of each phase, when it was, and its main metrics."""
    frame = results.phases
    found = []
    for phase in results.phase_names:
        own = frame[frame["phase"] == phase]
        names = [name for name in _PHASES if name in own and np.isfinite(own[name]).any()]
        names = [name for name in names if metrics.is_telling(own, name)]
        columns = tuple(metrics.find(name) for name in names)

        def make(label: str, name: str, phase: str = phase) -> Cell:
            return cell(results.estimate(label, name, phase=phase), metrics.find(name))

        rows = _rows(results, results.labels, names, make)
        first = own[own["occurrence"] == 0].iloc[0]
        times = max(int(own["occurrence"].max()), 1)
        spell = f"{first['from_s']:g} to {first['to_s']:g} s"
        when = spell if times == 1 else f"{times} times, {first['measured_s']:g} s in all, within {spell}"
        found.append((phase, when, Table(columns, rows)))
    return found


def differences_table(results: Results, baseline: str, names: Sequence[str] = _DIFFERENCES) -> Table | None:
    """Return paired differences to a baseline; None with one scheme or one replication."""
    if len(results.labels) < 2 or results.replications < 2:
        return None
    columns = tuple(metrics.find(name) for name in names if _says_something(results, name))
    shown = headline.shown(results.tested, [metric.name for metric in columns])
    holm = {name: results.corrected(name, baseline) for name in shown}

    def make(label: str, name: str) -> Cell:
        return _difference(results, label, metrics.find(name), baseline, holm[name][label])

    others = [label for label in results.labels if label != baseline]
    return Table(columns, _rows(results, others, [metric.name for metric in columns], make))


def _difference(results: Results, label: str, metric: Metric, baseline: str, p_holm: float) -> Cell:
    """Write a paired difference, marked if it is significant after the correction for the number of schemes."""
    size = results.effect(label, metric.name, baseline)
    found = cell(results.difference(label, metric.name, baseline), metric, signed=True)
    limits = "" if size.low is None or size.high is None else f" ({size.low:.2g} to {size.high:.2g})"
    strength = "" if math.isnan(size.size) else f"Hedges' g {size.size:.3g}{limits}; "
    return replace(
        found,
        is_sure=p_holm < 1 - stats.LEVEL,
        effect=f"{size.size:+.1f}".replace("-", "−") if math.isfinite(size.size) else "",
        hint="" if math.isnan(size.p) else f"{strength}p {size.p:.2g}, after Holm {p_holm:.2g}",
    )


def headlines(results: Results) -> list[str]:
    """Return sentences about the best scheme by each headline metric, or that no scheme is significantly better."""
    if len(results.labels) < 2:
        return []
    sentences = []
    for name in _HEADLINES:
        if not _says_something(results, name):
            continue
        if len(results.tested) > 1 and metrics.is_of_queues(name):
            name = headline.at(name, results.queue)  # noqa: PLW2901 - the same metric, and its queue
        metric = metrics.find(name)
        known = {label: results.estimate(label, name) for label in results.labels}
        known = {label: found for label, found in known.items() if math.isfinite(found.mean)}
        pick = min if metric.better == "lower" else max
        first = pick(known, key=lambda label: known[label].mean)
        found = cell(known[first], metric)
        unit = f" {metric.shown_unit}" if metric.shown_unit else ""
        amount = f"{found.mean} {found.half}{unit}" if found.half else f"{found.mean}{unit}"
        adverb = "Lowest" if metric.better == "lower" else "Highest"
        start = f"{adverb} {metric.phrase}: {first}, {amount}"
        if results.replications < 2:
            sentences.append(f"{start}. One replication gives no interval, so no conclusion.")
        elif results.repeated.issuperset(known):
            sentences.append(f"{start}. All replications are identical, so there is no interval and no conclusion.")
        elif results.best(name) == first:
            sentences.append(f"{start}; significantly {metric.better} than every other scheme's.")
        else:
            corrected = results.corrected(name, first)
            ties = [label for label in known if label != first and not corrected[label] < 1 - stats.LEVEL]
            sentences.append(f"{start}, not significantly different from {listed(ties, 'the others')}.")
    return sentences


def command(results: Results) -> str:
    """Return the command that repeats the runs from inside the run folder."""
    if real.world(results) is not None:
        return str(results.meta.get("command") or "sojourn shell")
    words_ = ["sojourn", results.kind, "scenario.toml"]
    for file in results.meta.get("plugins", ()):
        words_ += ["--plugin", str(file)]
    if results.kind == "compare":
        for scheme in results.schemes:
            text = unversioned(scheme.text)
            words_ += ["--aqm", text if scheme.label == text else f"{scheme.label}={text}"]
    words_ += ["--replicates", str(results.replications), "--seed", str(results.seed)]
    series = results.meta.get("series", "auto")
    if series != "auto":
        words_ += ["--series", "none" if series is None else str(series)]
    words_ += ["--out", "again"]
    return shlex.join(words_)


def network(scenario: Mapping[str, Any], name: str = "network") -> Drawing:
    """Return the elements of a scenario in words."""
    rows = []
    for one in words.elements(scenario):
        more = tag("div", one.details, kind="details") if one.details else ""
        rows.append((one.name, sections.cell(one.what, kind="element"), joined("", [one.text, more])))
    return Drawing(name, heads=("Element", "", "What it is"), rows=rows, kind="")


def definitions(found: Iterable[Metric]) -> Section:
    """Return the definitions of metrics."""
    rows = [(tag("code", one.name), one.unit or "–", one.estimator, one.definition) for one in found]
    heads = ("Metric", "Unit", "Estimator", "Definition")
    return Section(
        "definitions", "Definitions", (), (Drawing("definitions", None, "", heads, rows, kind="definitions"),)
    )


def again(command: str, before: str = "Run this command in the folder of this report:", after: str = "") -> Section:
    """Return the section with the command that repeats what a page shows."""
    return Section("again", "Run it again", (before, code(command), *([after] if after else [])))


def _says_something(results: Results, name: str) -> bool:
    """Return whether a metric exists and is worth a column."""
    return _is_there(results, name) and metrics.is_telling(text.frame_of_queues(results), metrics.split(name)[0])


def _is_there(results: Results, name: str) -> bool:
    """Return whether a run has a value of a metric, and its queue if the name has one."""
    return results.has(name) and metrics.split(name)[0] in results.metric_names()
