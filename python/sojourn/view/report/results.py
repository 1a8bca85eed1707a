"""The report of results: its sections, computed from them alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from sojourn.model.scheme import Scheme
from sojourn.results import groups, metrics, text
from sojourn.view.figures import FIGURES, MANY
from sojourn.view.report import live, real, svg
from sojourn.view.report.context import (
    again,
    command,
    definitions,
    differences_table,
    drawing,
    drops_table,
    headlines,
    network,
    phase_tables,
    queues_table,
    summary_table,
)
from sojourn.view.report.engine import notebook, page
from sojourn.view.report.sections import Details, Drawing, Section, items, joined, note, prose, tag

if TYPE_CHECKING:
    from sojourn.results.results import Results

OVER_TIME: Final = "queue_over_time"
"""The figure below which live figures are."""

TELEPHONE: Final = 3.3
"""Width in inches of the pictures for narrow screens: its text of 8 points is some 12 pixels at 390 pixels."""


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
    """Draw every picture with a caption that the results have data for."""
    from sojourn.view.plot import Plots, sheet

    plot, found = Plots(results), dict[str, Drawing]()
    for one in FIGURES:
        if one.caption is not None and one.is_there(results):
            with sheet(TELEPHONE):
                narrow = plot.draw(one.name)
            caption = one.caption(results)
            found[one.name] = Drawing(f"{one.name}-figure", plot.draw(one.name), caption, narrow=narrow)
    return found


def tested_queues(results: Results) -> str:
    """Name the queues under test."""
    names = results.tested
    if len(names) > MANY:
        return f"the {len(names)} queues under test"
    return f"the queue{'s' * (len(names) > 1)} under test ({', '.join(names)})" if names else "the queues under test"


def waited(results: Results) -> bool:
    """Whether any packet waited in a queue under test."""
    return "sojourn_ms_mean" in results.runs and bool((results.runs["sojourn_ms_mean"] > 0).any())


def scheme_parameters(scheme: Scheme) -> list[tuple[str, str, bool]]:
    """Return a scheme's parameters: name, value, whether it is the default."""
    return [(p.name.replace("_", "_\u200b"), p.value, p.is_default) for p in scheme.parameters()]


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
    sentences = [
        "Value ± half-width of the 95 % confidence interval of the mean (Student's t, "
        f"{results.replications} replications)."
    ]
    if len(results.labels) > 1:
        sentences.append(
            "Bold: better than every other scheme at the 5 % level, by the paired differences after Holm's "
            "correction."
        )
    if any(metrics.find(name).resolution for name in metrics.MAIN if name in results.metric_names()):
        sentences.append(
            "The interval of a quantile (p50, p99) also includes half of the histogram bucket that it is read from: "
            "0.4 % of the value on either side. Where the range of a metric cuts its interval, both limits are given."
        )
    return " ".join(sentences)


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
        "Each replication has the same traffic under every scheme, so the differences are computed pair by pair. "
        "Their intervals are narrower than those of independent runs where the correlation r of the pairs is above 0."
    )
    below = (
        f"Scheme minus {base}, ± half-width of the 95 % interval, r the correlation of the pairs. The line below "
        "each difference is Hedges' g, the difference divided by the standard deviation of the pairs. Differences in "
        f"bold are significant at the 5 % level{family}."
    )
    parts = (*_some(drawn, "differences"), drawing("differences", table, is_difference=True), note(below))
    return [Section("differences", f"Paired differences to {base}", (text,), parts, link="Differences")]


def _some(drawn: Mapping[str, Drawing], name: str) -> list[Drawing]:
    return [drawn[name]] if name in drawn else []


def _sections(results: Results, drawn: Mapping[str, Drawing]) -> Iterator[Section]:
    world, tested = real.world(results), tested_queues(results)
    warnings = [*real.warnings(world or {}), *(found.text for found in results.warnings)]
    parts: list[object] = [
        items(headlines(results)),
        items((f"{one}." for one in warnings), "headlines warnings"),
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
    for one in FIGURES:
        if one.section and one.name in drawn:
            name, title, link = one.section
            over_time = [at] if one.name == OVER_TIME and (at := live.figures(results)) else []
            yield Section(name, title, (), (drawn[one.name], *over_time), link=link)
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


def render(results: Results) -> str:
    """Return the report of results as an HTML page.

    The page depends on the results alone: the same run folder gives the same bytes.
    """
    count = len(results.schemes)
    title = results.name if results.kind == "run" else f"{results.name}: {count} scheme{'s' * (count > 1)} compared"
    drawn, meta = figures(results), results.meta
    sections = [*_sections(results, drawn)]
    is_live = any(isinstance(part, Details) and part.kind == live.KIND for one in sections for part in one.parts)
    verdict = groups.verdict(results)
    where = f", run on {meta['platform']}, Python {meta['python']}" if meta.get("platform") else ""
    return page(
        title,
        sections,
        lead=str(results.scenario.get("description") or ""),
        top=[*([tag("p", verdict, kind="verdict")] if verdict else []), *_some(drawn, "groups")],
        facts=facts(results),
        made=f"{results.build}{where}",
        is_live=is_live,
    )


def summary_html(results: Results) -> str:
    """Return the summary table for a notebook."""
    return notebook(drawing("summary", summary_table(results)), results.name, results.replications, results.seed)


def _is_time(text: object) -> bool:
    return text is not None and str(text).split()[0] not in ("0", "0s", "0ms", "0ns")
