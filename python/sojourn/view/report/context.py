"""The report of results: its sections, computed from them alone."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from sojourn.view.report import real, sections, svg, words
from sojourn.view.report.engine import notebook, page
from sojourn.view.report.sections import Drawing, Section, code, items, joined, note, prose, tag

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

    def unit(metric: Metric) -> str:
        return "points" if is_difference and metric.shown_unit == "%" else metric.shown_unit

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
    heads = [sections.cell(head(metric, unit(metric)), title=metric.name) for metric in table.columns]
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


def figures(results: Results) -> dict[str, Drawing]:
    """Draw every picture that the results have data for."""
    from sojourn.view.plot import sheet

    plot = results.plot
    replications = results.replications
    found: dict[str, Drawing] = {}

    def add(name: str, caption: str) -> None:
        with sheet(TELEPHONE):
            narrow = plot.draw(name)
        found[name] = Drawing(f"{name}-figure", plot.draw(name), caption, narrow=narrow)

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


def _schemes(results: Results) -> Drawing:
    rows = []
    for scheme in results.schemes:
        text = tag("div", tag("code", scheme.text), kind="details") if scheme.text != scheme.label else ""
        parameters = [
            tag("span", tag("span", name, kind="name"), " ", value, kind=None if is_default else "set")
            for name, value, is_default in scheme_parameters(scheme)
        ]
        swatch = svg.swatch(results.plot.looks[scheme.label])
        label = joined("", [swatch, scheme.label, text])
        rows.append((label, tag("div", *(Markup("\n") + one for one in parameters), kind="parameters")))
    heads = ("Scheme", "Parameters (bold: set in the scheme; others: defaults)")
    return Drawing("schemes", None, "", heads, rows, kind="")


def _intervals(results: Results) -> str:
    """Return what the numbers of the summary are."""
    if results.replications < 2:
        if real.world(results) is not None:
            return (
                "One run on the kernel's own network stack. Other runs differ, so repeat it before you draw "
                "conclusions from a difference."
            )
        return (
            "One replication gives no intervals. Repeat the run with `--replicates 5` or more before you draw "
            "conclusions from a difference."
        )
    said = [
        "Value ± half-width of the 95 % confidence interval of the mean (Student's t, "
        f"{results.replications} replications)."
    ]
    if len(results.labels) > 1:
        said.append(
            "Bold: better than every other scheme at the 5 % level, by the paired differences after Holm's "
            "correction."
        )
    if any(metrics.find(name).resolution for name in metrics.MAIN if name in results.metric_names()):
        said.append(
            "The interval of a quantile (p50, p99) also includes half of the histogram bucket that it is read from: "
            "0.4 % of the value on either side. Where the range of a metric cuts its interval, both limits are given."
        )
    return " ".join(said)


def _queues(results: Results) -> str:
    """Return which queue the numbers are of."""
    if len(results.tested) > 1:
        return (
            "Several queues are under test: each has a row, the busiest first (highest utilisation, averaged over "
            f"all runs). Figures and sentences without a queue are of {results.queue}. Goodput and other columns "
            f"that are not of queues are in the first row of a scheme. {text.more_queues(results)}"
        ).strip()
    return f"The queue under test is {results.queue}." if results.queue else ""


def _differences(results: Results, drawn: Mapping[str, Drawing]) -> list[Section]:
    """Return the section of paired differences; none with one scheme or one replication."""
    base = results.labels[0]
    table = differences_table(results, base)
    if table is None:
        return []
    family = (
        f" after Holm's correction for the family of comparisons: the {len(results.labels) - 1} schemes of a column"
        if len(results.labels) > 2
        else ""
    )
    text = (
        "Replication r has the same traffic under every scheme. The differences are therefore computed pair by pair, "
        "which gives narrower intervals than comparing the means above."
    )
    below = (
        f"Scheme minus {base}, ± half-width of the 95 % interval of the paired differences. The line below each "
        "difference is Hedges' g, the difference divided by the standard deviation of the pairs. Differences in bold "
        f"are significant at the 5 % level{family}."
    )
    parts = (*_some(drawn, "differences"), drawing("differences", table, is_difference=True), note(below))
    return [Section("differences", f"Paired differences to {base}", (text,), parts, link="Differences")]


def _some(drawn: Mapping[str, Drawing], name: str) -> list[Drawing]:
    return [drawn[name]] if name in drawn else []


def _sections(results: Results, drawn: Mapping[str, Drawing]) -> Iterator[Section]:
    world, tested = real.world(results), tested_queues(results)
    told = [*real.warnings(world or {}), *(found.text for found in results.warnings)]
    parts: list[object] = [
        items(headlines(results)),
        items((f"{one}." for one in told), "headlines warnings"),
        drawing("summary", summary_table(results)),
        note(_intervals(results)),
        *([note(which)] if (which := _queues(results)) else []),
    ]
    if not waited(results):
        parts.append(prose("No packet waited in a queue under test, so there is no delay to show."))
    yield Section("summary", "Summary", (), parts)
    if waited(results):
        yield Section("delay", "Delay and goodput", (), _some(drawn, "delay_throughput"))
        yield Section(
            "sojourn", "Distribution of the sojourn time", (), _some(drawn, "sojourn_cdf"), link="Sojourn time"
        )
    for name, figure, title, link in (
        ("queue", "queue_over_time", "Queue over time", ""),
        ("capacity", "capacity", "Capacity over time", ""),
        ("flows", "flow_shares", "Shares of the flows", "Flows"),
    ):
        if figure in drawn:
            yield Section(name, title, (), (drawn[figure],), link=link)
    if phases := phase_tables(results):
        parts = [prose("Changes divide the run into phases. These are the statistics of each; all phases of one name "
                       "count together.")]  # fmt: skip
        for number, (name, when, table) in enumerate(phases, 1):
            parts += [tag("h3", name), note(f"{when}, at {tested} and over all flows.")]
            parts.append(drawing(f"phase-{number}", table))
        yield Section("phases", "Phases", (), parts)
    yield from _differences(results, drawn)
    below = note(f"Mean over replications, at {tested}, after the warm-up.")
    yield Section("drops", "Drops and marks", (), (drawing("drops", drops_table(results)), below), link="Drops")
    if (queues := queues_table(results)).rows:
        text = (
            "Mean over replications, after the warm-up. The coupling is the share of marks in the L4S queue "
            "divided by the root of the share of marks and early drops in the classic queue: RFC 9332's k where "
            "the coupling alone marks."
        )
        yield Section("queues", "The two queues of DualPI2", (), (drawing("queues", queues), note(text)))
    yield _run(results)
    yield again(
        command(results),
        "This command made the run:"
        if world is not None
        else "Run this command in the folder of this report, which holds the whole scenario:",
        (
            "Real packets are never the same twice, so the numbers of a repetition differ."
            if world is not None
            else "The same seed gives the same numbers, bit for bit, on any machine and any number of threads."
        )
        + " `sojourn report .` draws this page again without any simulation. `sojourn plot . --figure NAME --width "
        "85mm` writes one figure for a paper, `sojourn table .` the summary as LaTeX or CSV.",
    )
    present = results.metric_names()
    yield definitions(
        metric for (scope, name), metric in metrics.catalogue().items() if scope == "run" and name in present
    )


def _run(results: Results) -> Section:
    """Return what was run."""
    text = ""
    if results.kind == "compare":
        text = "Each scheme replaced the schemes of the queues under test; nothing else changed."
        if len(results.tested) > 1:
            text += (
                " Statistics of queues are of the one that is named; where none is named, of "
                f"{results.queue}, the busiest."
            )
        elif results.queue:
            text += f" Statistics of queues are of {results.queue}."
    is_real = real.world(results) is not None
    elements = network(real.without_traffic(results.scenario) if is_real else results.scenario)
    return Section("run", "What was run", (), (elements, *([prose(text)] if text else []), _schemes(results)))


def again(command: str, before: str = "Run this command in the folder of this report:", after: str = "") -> Section:
    """Return the section with the command that repeats what a page shows."""
    return Section("again", "Run it again", (before, code(command), *([after] if after else [])))


def render(results: Results) -> str:
    """Return the report of results as an HTML page.

    The page depends on the results alone: the same run folder gives the same bytes.
    """
    count = len(results.schemes)
    title = results.name if results.kind == "run" else f"{results.name}: {count} scheme{'s' * (count > 1)} compared"
    drawn, meta = figures(results), results.meta
    verdict = groups.verdict(results)
    where = f", run on {meta['platform']}, Python {meta['python']}" if meta.get("platform") else ""
    return page(
        title,
        _sections(results, drawn),
        lead=str(results.scenario.get("description") or ""),
        top=[*([tag("p", verdict, kind="verdict")] if verdict else []), *_some(drawn, "groups")],
        facts=facts(results),
        made=f"{results.build}{where}",
    )


def summary_html(results: Results) -> str:
    """Return the summary table for a notebook."""
    return notebook(drawing("summary", summary_table(results)), results.name, results.replications, results.seed)


def _says_something(results: Results, name: str) -> bool:
    """Return whether a metric exists and is worth a column."""
    return _is_there(results, name) and metrics.is_telling(text.frame_of_queues(results), metrics.split(name)[0])


def _is_there(results: Results, name: str) -> bool:
    """Return whether a run has a value of a metric, and its queue if the name has one."""
    return results.has(name) and metrics.split(name)[0] in results.metric_names()


def _is_time(text: object) -> bool:
    return text is not None and str(text).split()[0] not in ("0", "0s", "0ms", "0ns")
