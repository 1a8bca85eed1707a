"""What the report's template shows, computed from results."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from markupsafe import Markup

from sojourn import stats
from sojourn.base.wording import listed
from sojourn.model.scheme import Scheme, unversioned
from sojourn.results import groups, headline, metrics, text
from sojourn.results.metrics import Metric
from sojourn.stats import Estimate
from sojourn.view.report import real, svg, words

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
TELEPHONE: Final = 3.3
"""Width in inches of the pictures for narrow screens: its text of 8 points is some 12 pixels at 390 pixels."""
MANY: Final = 5
"""More names than this are not listed in a sentence."""
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


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its caption."""

    id: str
    svg: Markup
    caption: str
    narrow: Markup
    """The same picture drawn for a telephone."""


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


def facts(results: Results) -> list[tuple[str, str]]:
    """Return the facts under the title."""
    scenario = results.scenario
    warm_up = scenario.get("warm_up")
    runs = len(results.runs)
    world = real.world(results)
    simulated = [
        (
            "Simulated",
            f"{scenario['duration']}" + (f", statistics from {warm_up} on" if _is_time(warm_up) else ""),
        ),
        ("Replications", f"{results.replications} per scheme, {runs} runs, seed {results.seed}"),
    ]
    measured = simulated if world is None else real.facts(results, world)
    found = [("Scenario", results.name), *measured, ("Sojourn", results.build)]
    if results.meta.get("date"):
        found.append(("Run on", str(results.meta["date"])))
    return found


def figures(results: Results, prefix: str) -> dict[str, Figure]:
    """Draw every picture that the results have data for."""
    from sojourn.view.plot import sheet

    plot = results.plot
    replications = results.replications
    found: dict[str, Figure] = {}

    def add(name: str, caption: str) -> None:
        identity = f"{prefix}{name}-figure"
        wide = svg.inline(plot.draw(name), identity, caption)
        with sheet(TELEPHONE):
            narrow = svg.inline(plot.draw(name), f"{identity}-narrow", caption)
        found[name] = Figure(identity, wide, caption, narrow)

    is_there = plot.names()
    flows = flow_groups(results)
    queue = busiest_queue(results)
    of_queue = f"; delay and loss are those of {queue}" if len(results.tested) > 1 else ""
    if "groups" in is_there:
        add(
            "groups",
            "What each group of flows got under each scheme: mean over replications with its 95 % interval. Bulk "
            "transfers are judged by their goodput, finite transfers by the 99th percentile of their completion "
            "time, all other flows by the 99th percentile of their one-way delay, which includes propagation.",
        )
    if "delay_throughput" in is_there:
        region = (
            "The projections of an ellipse on the axes are the 95 % intervals of the two means; its tilt shows "
            "their correlation over replications. Small points are the replications."
            if replications >= 3
            else "With fewer than three replications there is no uncertainty ellipse."
        )
        add(
            "delay_throughput",
            f"Mean queueing delay (sojourn time of packets that left {queue}) against total "
            f"goodput. Up and to the left is better. {region}",
        )
    if "sojourn_cdf" in is_there:
        add(
            "sojourn_cdf",
            f"Share of packets whose sojourn time was at most the value on the axis, averaged over replications: all "
            f"packets that left {queue} after the warm-up, of {flows} together.",
        )
    if "queue_over_time" in is_there:
        add(
            "queue_over_time",
            f"Packets waiting in {queue} over time, in the first replication only.",
        )
    if "capacity" in is_there:
        add(
            "capacity",
            "Above: what the link under test could send (grey), and the goodput of all flows. Below: the mean "
            f"queueing delay of the packets that left {queue} in each interval. The first replication only.",
        )
    if "flow_shares" in is_there:
        add(
            "flow_shares",
            f"Goodput of {flows}, averaged over replications; each point is one flow. Jain's index is that of all "
            "flows of a run, averaged over replications: it is 1 when all have the same goodput.",
        )
    if "differences" in is_there:
        add(
            "differences",
            f"Paired differences to {results.labels[0]}, each with its own 95 % interval{of_queue}. The table below "
            "says which are significant after the correction for their number.",
        )
    return found


def flow_groups(results: Results) -> str:
    """Name the groups of flows: ``the flows bulk and voice``."""
    begun = results.flows
    names = [str(group) for group in begun["group"].unique()] if not begun.empty else []
    if not names:
        return "all flows"
    return f"the flows {listed(names)}" if len(names) <= MANY else f"the flows of {len(names)} groups"


def busiest_queue(results: Results) -> str:
    """Name the queue that figures show: the only one under test, or the busiest of several."""
    busiest = "busiest " if len(results.tested) > 1 else ""
    return f"the {busiest}queue under test ({results.queue})" if results.queue else "the queues under test"


def tested_queues(results: Results) -> str:
    """Name the queues under test."""
    names = results.tested
    if len(names) > MANY:
        return f"the {len(names)} queues under test"
    return f"the queue{'s' * (len(names) > 1)} under test ({', '.join(names)})" if names else "the queues under test"


def waited(results: Results) -> bool:
    """Whether any packet waited in a queue under test."""
    return "sojourn_ms_mean" in results.runs and bool((results.runs["sojourn_ms_mean"] > 0).any())


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


def scheme_parameters(scheme: Scheme) -> list[tuple[str, str, bool]]:
    """Return a scheme's parameters: name, value, whether it is the default."""
    return [(p.name.replace("_", "_\u200b"), p.value, p.is_default) for p in scheme.parameters()]


def sections(results: Results, prefix: str = "") -> dict[str, Any]:
    """Return everything that the template's sections show of one set of results."""
    world = real.world(results)
    return {
        "results": results,
        "prefix": prefix,
        "is_real": world is not None,
        "headlines": headlines(results),
        "verdict": groups.verdict(results),
        "summary": summary_table(results),
        "drops": drops_table(results),
        "queues": queues_table(results),
        "differences": differences_table(results, results.labels[0]),
        "baseline": results.labels[0],
        "phases": phase_tables(results),
        "figures": figures(results, prefix),
        "facts": facts(results),
        "elements": words.elements(results.scenario if world is None else real.without_traffic(results.scenario)),
        "schemes": [
            (scheme, svg.swatch(results.plot.looks[scheme.label]), scheme_parameters(scheme))
            for scheme in results.schemes
        ],
        "command": command(results),
        "waited": waited(results),
        "queue": results.queue,
        "tested": tested_queues(results),
        "more_queues": text.more_queues(results),
        "has_intervals": results.replications > 1,
        "has_quantiles": any(
            metrics.find(name).resolution for name in metrics.MAIN if name in results.metric_names()
        ),
        "warnings": [*real.warnings(world or {}), *(found.text for found in results.warnings)],
    }


def definitions(results: Sequence[Results]) -> list[Metric]:
    """Return the definition of every metric that appears in the results, run scope first."""
    present = {name for found in results for name in found.metric_names()}
    return [metric for (scope, name), metric in metrics.catalogue().items() if scope == "run" and name in present]


def _says_something(results: Results, name: str) -> bool:
    """Return whether a metric exists and is worth a column."""
    return _is_there(results, name) and metrics.is_telling(text.frame_of_queues(results), metrics.split(name)[0])


def _is_there(results: Results, name: str) -> bool:
    """Return whether a run has a value of a metric, and its queue if the name has one."""
    return results.has(name) and metrics.split(name)[0] in results.metric_names()


def _is_time(text: object) -> bool:
    return text is not None and str(text).split()[0] not in ("0", "0s", "0ms", "0ns")
