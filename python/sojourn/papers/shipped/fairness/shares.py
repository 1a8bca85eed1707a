"""Sections of a paper that compares shares of flows: what Jain's index can show, paired differences, every flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes

from sojourn import metrics, plot, stats
from sojourn.palette import MUTED, Look
from sojourn.papers import picture
from sojourn.papers.groups import JAIN
from sojourn.papers.section import Drawing, Section
from sojourn.stats import Estimate, Floats

if TYPE_CHECKING:
    from sojourn.papers.execute import Measured, Raw
    from sojourn.papers.model import Condition, Paper, Reading

_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_DIFFERENCES: Final = (
    (JAIN, "Jain's index", 1.0),
    ("utilisation", "Utilisation", 1.0),
    ("goodput_bit_s@{}", "{} flow (kbit/s)", 1e3),
    ("queue_packets_mean", "Mean queue (packets)", 1.0),
)
_OF_SHARES: Final = (
    ("goodput_bit_s@{0}", "{0} flow, kbit/s", 1e3),
    ("goodput_bit_s@{1}", "{1} flow, kbit/s", 1e3),
    ("", "Index of these two", 1.0),
    (JAIN, "Jain's index", 1.0),
    (f"{JAIN}@{{0}}", "of {0} alone", 1.0),
    ("utilisation", "Utilisation", 1.0),
)


def structural(tcp: Floats, udp: float, tcp_flows: int, udp_flows: int) -> Floats:
    """Return Jain's index if all flows of a kind have the same throughput; the rest is the effect of the scheme.

    Parameters
    ----------
    tcp, udp
        Throughput of a flow of each kind, in one unit.
    tcp_flows, udp_flows
        The number of flows of each kind.
    """
    total = tcp_flows * tcp + udp_flows * udp
    squares = tcp_flows * tcp**2 + udp_flows * udp**2
    return np.asarray(total**2 / ((tcp_flows + udp_flows) * squares), dtype=np.float64)


def sections(paper: Paper, measured: Measured) -> list[Section]:
    """Return the sections on the paper's first condition; none where it was not run, nor without two kinds."""
    condition = paper.conditions[0]
    runs = [one for one in paper.readings if one.is_run and (one.name, condition.name) in measured.raw]
    if len(paper.kinds) != 2 or not runs:
        return []
    shown = [one for one in runs if one.is_shown or one is paper.readings[0]]
    return [
        _arithmetic(paper, measured, condition, runs, shown),
        _differences(paper, measured, condition, shown),
        _every_flow(paper, measured, condition, shown),
    ]


def _counts(paper: Paper, raw: Raw) -> tuple[int, int]:
    """Return how many flows each kind has."""
    # A table of several conditions has as many columns as the one with most flows.
    first, second = (
        sum(
            name.startswith(f"goodput_bit_s@{kind}-") and bool(np.isfinite(next(iter(of.values()))).any())
            for name, of in raw.items()
        )
        for kind in paper.kinds
    )
    return first, second


def _arithmetic(
    paper: Paper, measured: Measured, condition: Condition, runs: Sequence[Reading], shown: Sequence[Reading]
) -> Section:
    first, second = (kind.upper() for kind in paper.kinds)
    base = measured.raw[runs[0].name, condition.name]
    m, n = _counts(paper, base)
    looks = picture.looks_of(paper)
    seen: list[float] = []
    with plot.new_figure(plot.WIDTH, 4.2) as drawing:
        axes = drawing.subplots()
        for reading in runs:
            raw = measured.raw[reading.name, condition.name]
            is_shown = reading in shown
            color = _COLORS[shown.index(reading) % len(_COLORS)] if is_shown else MUTED
            for scheme in condition.schemes:
                x, y = float(np.mean(raw["goodput_ratio"][scheme])), float(np.mean(raw[JAIN][scheme]))
                seen.append(x)
                axes.scatter([x], [y], color=color, marker=looks[scheme].marker, s=30 if is_shown else 13,
                             zorder=3 if is_shown else 2)  # fmt: skip
            if is_shown:
                axes.plot([], [], color=color, linewidth=5, label=reading.name)
        ratio = np.geomspace(0.8 * min(seen), 1.25 * max(seen), 200)
        axes.plot(ratio, structural(ratio, 1.0, m, n), color=MUTED, linewidth=1.1, zorder=1,
                  label=f"{m} and {n} flows, equal within each kind")  # fmt: skip
        for scheme in condition.schemes:
            axes.scatter([], [], color=MUTED, marker=looks[scheme].marker, s=24, label=paper.printed[scheme])
        axes.set_xscale("log")
        ticks = [one for one in (0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10) if ratio[0] <= one <= ratio[-1]]
        axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
        axes.minorticks_off()
        axes.set_xlabel(f"Throughput of a {first} flow divided by that of a {second} flow")
        axes.set_ylabel("Jain's index, all flows")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8.5)
    caption = (
        f"{condition.title}: means over {measured.replications} replications. Each colour is a reading (grey: the "
        f"other {len(runs) - len(shown)} readings), each mark a scheme. The line is the index if all flows of a kind "
        f"have the same throughput, with r the ratio of the two: ({m} r + {n})² / ({m + n} ({m} r² + {n}))."
    )
    heads = ("Reading and scheme", *(label.format(first, second) for _, label, _ in _OF_SHARES))
    rows = tuple(
        (
            f"{reading.name}; {paper.printed[scheme]}",
            *(
                _text(_values(paper, measured.raw[reading.name, condition.name], metric, scheme, (m, n)) / scale)
                for metric, _, scale in _OF_SHARES
            ),
        )
        for reading in shown
        for scheme in condition.schemes
    )
    own = base["goodput_bit_s@" + paper.kinds[0]], base["goodput_bit_s@" + paper.kinds[1]]
    levels = [float(np.mean(one[condition.schemes[0]])) / 1e3 for one in own]
    text = (
        f"{n} of the {m + n} flows send at a constant rate, and no scheme can give them more than they send. Under "
        f"{paper.printed[condition.schemes[0]]} and {runs[0].name}, a {first} flow has {levels[0]:.0f} kbit/s and a "
        f"{second} flow {levels[1]:.0f} kbit/s. With these rates the index is {_structural(levels, m, n):.3f} under "
        "any scheme, so every scheme that fills the link has nearly this index. A scheme that leaves the link idle "
        f"takes throughput from {first}, which raises the index. So the utilisation is shown beside the index.",
    )
    return Section("arithmetic", "What Jain's index can show here", text,
                   (Drawing("arithmetic-figure", drawing, caption, heads, rows),))  # fmt: skip


def _structural(levels: Sequence[float], m: int, n: int) -> float:
    return float(structural(np.array([levels[0]]), levels[1], m, n)[0])


def _values(paper: Paper, raw: Raw, metric: str, scheme: str, counts: tuple[int, int]) -> Floats:
    if metric:
        return raw[metric.format(*paper.kinds)][scheme]
    return structural(raw["goodput_ratio"][scheme], 1.0, *counts)


def _differences(paper: Paper, measured: Measured, condition: Condition, shown: Sequence[Reading]) -> Section:
    reference, *others = condition.schemes
    looks = picture.looks_of(paper)
    lines = [(reading, scheme) for reading in shown for scheme in others]
    labels = [label.format(paper.kinds[0].upper()) for _, label, _ in _DIFFERENCES]
    table = []
    with plot.new_figure(plot.WIDTH, 0.6 + 0.23 * (len(lines) + len(shown))) as drawing:
        panels = drawing.subplots(1, len(_DIFFERENCES), sharey=True)
        spots = [k + k // len(others) for k in range(len(lines))]
        for axes, (metric, _, scale), label in zip(panels, _DIFFERENCES, labels, strict=True):
            axes.axvline(0, color=MUTED, linewidth=0.9)
            for spot, (reading, scheme) in zip(spots, lines, strict=True):
                _interval(
                    axes, _difference(paper, measured, reading, condition, metric, scheme, scale), spot, looks[scheme]
                )
            axes.set_title(label, fontsize=9.5)
            axes.tick_params(labelsize=8)
            axes.locator_params(axis="x", nbins=4)
        panels[0].set_yticks(
            spots,
            [
                f"{reading.name}: {paper.printed[scheme]}" if scheme == others[0] else paper.printed[scheme]
                for reading, scheme in lines
            ],
        )
        panels[0].set_ylim(max(spots) + 0.7, -0.7)
    for reading, scheme in lines:
        found = [
            _difference(paper, measured, reading, condition, metric, scheme, scale)
            for metric, _, scale in _DIFFERENCES
        ]
        table.append((f"{reading.name}; {paper.printed[scheme]}",
                      *(metrics.rounded(one.mean, one.half_width) for one in found)))  # fmt: skip
    caption = (
        f"{condition.title}: each scheme minus {paper.printed[reference]}, paired by replication "
        f"({measured.replications} replications); bars: 95 % intervals of the mean difference."
    )
    return Section(
        "differences",
        "Index and utilisation, scheme by scheme",
        (),
        (Drawing("differences-figure", drawing, caption, ("Reading and scheme", *labels), tuple(table)),),
    )


def _difference(
    paper: Paper, measured: Measured, reading: Reading, condition: Condition, metric: str, scheme: str, scale: float
) -> Estimate:
    of = measured.raw[reading.name, condition.name][metric.format(paper.kinds[0])]
    return stats.estimate((of[scheme] - of[condition.schemes[0]]) / scale)


def _every_flow(paper: Paper, measured: Measured, condition: Condition, shown: Sequence[Reading]) -> Section:
    counts = _counts(paper, measured.raw[shown[0].name, condition.name])
    with plot.new_figure(plot.WIDTH, 0.8 + 1.35 * len(shown)) as drawing:
        panels = drawing.subplots(len(shown), len(condition.schemes), sharex=True, sharey="row", squeeze=False)
        for row, reading in enumerate(shown):
            raw = measured.raw[reading.name, condition.name]
            for column, scheme in enumerate(condition.schemes):
                _flows(panels[row, column], paper, raw, scheme, counts)
                if row == 0:
                    panels[row, column].set_title(paper.printed[scheme], fontsize=9.5)
            panels[row, 0].set_ylabel(f"{reading.name}\nkbit/s", fontsize=8)
        for axes in panels[-1]:
            axes.set_xlabel("Flow", fontsize=9)
    first, second = (kind.upper() for kind in paper.kinds)
    caption = (
        f"{condition.title}: throughput of every flow (blue: {first}; orange: {second}). In each replication the "
        f"flows of a kind are sorted by throughput; the points are means over {measured.replications} replications. "
        "Line: the fair share, which is the mean over all flows."
    )
    return Section("every-flow", "Throughput of every flow", (), (Drawing("every-flow-figure", drawing, caption),))


def _flows(axes: Axes, paper: Paper, raw: Raw, scheme: str, counts: tuple[int, int]) -> None:
    spot = 0
    for kind, count, color in zip(paper.kinds, counts, _COLORS, strict=False):
        heights = [float(np.mean(raw[f"goodput_bit_s@{kind}-{k}"][scheme])) / 1e3 for k in range(1, count + 1)]
        axes.bar(np.arange(spot, spot + count), heights, color=color, width=0.8)
        spot += count
    axes.axhline(float(np.mean(raw["goodput_total_bit_s@all"][scheme])) / 1e3 / spot, color=MUTED, linewidth=0.9)
    axes.set_xticks([])
    axes.tick_params(labelsize=8)
    axes.locator_params(axis="y", nbins=4)


def _interval(axes: Axes, of: Estimate, spot: float, look: Look) -> None:
    if of.low is not None and of.high is not None:
        axes.plot([of.low, of.high], [spot, spot], color=look.color, linewidth=2)
    axes.scatter([of.mean], [spot], color=look.color, marker=look.marker, s=20, zorder=3)


def _text(values: Floats) -> str:
    of = stats.estimate(values)
    return metrics.rounded(of.mean, of.half_width)
