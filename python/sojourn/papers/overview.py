"""The sections of a paper whose metrics are of places: routers and routes over the RTT, placements, saw-teeth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes

from sojourn import metrics, plot, stats
from sojourn.papers import katz, shares
from sojourn.papers.conditions import level_of
from sojourn.papers.section import Drawing, Section
from sojourn.plot import Picture
from sojourn.stats import Estimate

if TYPE_CHECKING:
    from sojourn.papers.execute import Measured
    from sojourn.papers.model import Condition, Paper

_COLORS: Final = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_MARKERS: Final = "os^Dvh"
_OF_ROUTERS: Final = (
    ("queue_packets_mean", "Mean queue (packets)", 1.0),
    ("queue_packets_sd", "Std. deviation (packets)", 1.0),
    ("loss_ratio", "Loss (%)", 1e-2),
    ("utilisation", "Utilisation", 1.0),
)
_OF_ROUTES: Final = (("latency_ms", "Latency (ms)", 1.0), ("goodput_bit_s", "Throughput (Mbit/s)", 1e6))
_OF_TEETH: Final = (
    ("queue_cv@{}", "Std. deviation / mean", 1.0),
    ("queue_amplitude_packets", "Amplitude (packets)", 1.0),
    ("period_s", "Period (s)", 1.0),
    ("tooth_share", "Share of the strongest line", 1.0),
    ("synchronisation", "Synchronisation, upper bound", 1.0),
    ("utilisation@{}", "Utilisation", 1.0),
)
_OF_PLACEMENTS: Final = (
    ("latency_ms", "Latency, formula (ms)", 1.0),
    ("one_way_delay_ms_mean", "One-way delay (ms)", 1.0),
    ("loss_ratio@all", "Loss, all flows (%)", 1e-2),
    ("goodput_bit_s@all", "Throughput, all (Mbit/s)", 1e6),
)
_OF_READINGS: Final = (
    ("queue_packets_mean@R2", "Queue R2", 1.0),
    ("queue_packets_mean@R3", "Queue R3", 1.0),
    ("queue_packets_mean@R6", "Queue R6", 1.0),
    ("loss_ratio@R6", "Loss R6, %", 1e-2),
    ("utilisation@R6", "Utilisation R6", 1.0),
    ("latency_ms", "Latency, ms", 1.0),
)


def sections(paper: Paper, measured: Measured) -> list[Section]:
    """Return the sections that a paper's page has beside claims and tables: of kinds of flows, or of places."""
    if paper.kinds:
        return shares.sections(paper, measured)
    if not paper.places:
        return []
    found = [
        _over_rtt(paper, measured),
        _placements(paper, measured),
        _readings(paper, measured),
        _teeth(paper, measured),
    ]
    study = katz.read(paper.folder)
    return [one for one in found if one is not None] + ([katz.section(study)] if study else [])


def _sweeps(measured: Measured, base: str, has: str, *, sweep: str = "rtt") -> list[list[Condition]]:
    """Return the conditions of each traffic's sweep that were run and have a metric, ascending."""
    own = [
        one
        for one in measured.conditions
        if one.sweep == sweep
        and (base, one.name) in measured.raw
        and _is_measured(measured, base, one, has, one.schemes[0])
    ]
    traffic = list(dict.fromkeys((one.flow, one.model) for one in own))
    return [
        sorted((one for one in own if (one.flow, one.model) == key), key=lambda one: level_of(one.at))
        for key in traffic
    ]


def _is_measured(measured: Measured, reading: str, one: Condition, metric: str, scheme: str) -> bool:
    values = measured.raw[reading, one.name].get(metric, {}).get(scheme)
    return values is not None and bool(np.isfinite(values).any())


def _estimate(measured: Measured, reading: str, one: Condition, metric: str, scheme: str, scale: float) -> Estimate:
    return stats.estimate(measured.raw[reading, one.name][metric][scheme] / scale)


def _lines(
    axes: Axes, measured: Measured, reading: str, points: Sequence[Condition], metric: str, scale: float, paper: Paper
) -> None:
    """Draw a line for each scheme over the base RTT, with the 95 % intervals of its means."""
    at = [level_of(one.at) * 1e3 for one in points]
    for k, scheme in enumerate(points[0].schemes):
        of = [_estimate(measured, reading, one, metric, scheme, scale) for one in points]
        means = [one.mean for one in of]
        low = [one.mean if one.low is None else one.low for one in of]
        high = [one.mean if one.high is None else one.high for one in of]
        axes.fill_between(at, low, high, color=_COLORS[k], alpha=0.22, linewidth=0)
        many = len(at) > 12
        axes.plot(at, means, color=_COLORS[k], marker="" if many else _MARKERS[k], markersize=3.5, linewidth=1.3,
                  label=paper.printed[scheme])  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=8)
    axes.locator_params(nbins=4)


def _legend(drawing: Picture, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside upper left", ncols=len(labels), frameon=False)


def _over_rtt(paper: Paper, measured: Measured) -> Section | None:
    base = paper.readings[0].name
    drawings = []
    for points in _sweeps(measured, base, "queue_packets_mean@R6"):
        title = points[0].title.split(",")[0]
        name = points[0].name.rsplit("-", 2)[0]
        routers = [f"R{k}" for k in range(1, 7)]
        with plot.new_figure(plot.WIDTH, 7.2) as drawing:
            panels = drawing.subplots(len(_OF_ROUTERS), len(routers), sharex=True, squeeze=False)
            for row, (metric, label, scale) in enumerate(_OF_ROUTERS):
                for column, router in enumerate(routers):
                    axes = panels[row, column]
                    _lines(axes, measured, base, points, f"{metric}@{router}", scale, paper)
                    if row == 0:
                        axes.set_title(router)
                    if metric == "utilisation":
                        axes.set_ylim(0, 1.05)
                panels[row, 0].set_ylabel(label, fontsize=9)
            for axes in panels[-1]:
                axes.set_xlabel("Base RTT (ms)", fontsize=9)
            _legend(drawing, panels[0, 0])
        caption = (
            f"{title}: mean and standard deviation over time of the queue, loss and utilisation of the six routers, "
            f"over the base RTT. Bands: 95 % intervals of the mean over {measured.replications} replications."
        )
        drawings.append(Drawing(f"{name}-routers", drawing, caption))
        with plot.new_figure(plot.WIDTH, 7.2) as drawing:
            panels = drawing.subplots(4, 4, sharex=True, squeeze=False)
            for which, (metric, label, scale) in enumerate(_OF_ROUTES):
                for k in range(8):
                    axes = panels[2 * which + k // 4, k % 4]
                    _lines(axes, measured, base, points, f"{metric}@route{k + 1}", scale, paper)
                    axes.set_title(f"Route {k + 1}", fontsize=9)
                    if k % 4 == 0:
                        axes.set_ylabel(label, fontsize=9)
            for axes in panels[-1]:
                axes.set_xlabel("Base RTT (ms)", fontsize=9)
            _legend(drawing, panels[0, 0])
        caption = (
            f"{title}: latency and throughput of the eight routes. The latency follows the study's formula and adds "
            "the queues of all routers of a route. Routes 2, 3, 4, 6 and 7 pass R6."
        )
        drawings.append(Drawing(f"{name}-routes", drawing, caption, *_delays(paper, measured, base, points)))
    if not drawings:
        return None
    return Section("over-rtt", "Routers and routes over the base RTT", (), tuple(drawings))


def _delays(
    paper: Paper, measured: Measured, base: str, points: Sequence[Condition]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return a table of the formula beside the measured one-way delay, at the middle RTT."""
    middle = points[len(points) // 2]
    heads = (
        "Route",
        *(f"{paper.printed[one]}: {what}, ms" for one in middle.schemes for what in ("formula", "one-way")),
    )
    rows = []
    for k in range(1, 9):
        of = [
            _text(_estimate(measured, base, middle, f"{metric}@route{k}", scheme, 1.0))
            for scheme in middle.schemes
            for metric in ("latency_ms", "one_way_delay_ms_mean")
        ]
        rows.append((f"{k}, at {middle.at}", *of))
    return heads, tuple(rows)


def _placements(paper: Paper, measured: Measured) -> Section | None:
    base = paper.readings[0].name
    drawings = []
    for points in _sweeps(measured, base, "latency_ms", sweep="rtt_of_placements"):
        middle = points[len(points) // 2]
        names = middle.schemes
        with plot.new_figure(plot.WIDTH, 4.4) as drawing:
            panels = drawing.subplots(1, len(_OF_PLACEMENTS), sharey=True)
            for axes, (metric, label, scale) in zip(panels, _OF_PLACEMENTS, strict=True):
                for spot, scheme in enumerate(names):
                    of = _estimate(measured, base, middle, metric, scheme, scale)
                    color = _COLORS[0] if scheme == names[0] else _COLORS[2] if scheme.endswith("_15") else _COLORS[1]
                    if of.low is not None and of.high is not None:
                        axes.plot([of.low, of.high], [spot] * 2, color=color, linewidth=2)
                    axes.scatter([of.mean], [spot], color=color, s=22, zorder=3)
                axes.set_title(label, fontsize=9.5)
                axes.locator_params(axis="x", nbins=5)
            panels[0].set_yticks(range(len(names)), [paper.printed[name] for name in names])
            panels[0].set_ylim(len(names) - 0.4, -0.6)
        heads = ("Placement", *(f"{label}, {one.at}" for one in points for _, label, _ in _OF_PLACEMENTS[:1]),
                 *(f"{label}, {middle.at}" for _, label, _ in _OF_PLACEMENTS[1:]))  # fmt: skip
        rows = tuple(
            (
                paper.printed[scheme],
                *(_text(_estimate(measured, base, one, "latency_ms", scheme, 1.0)) for one in points),
                *(
                    _text(_estimate(measured, base, middle, name, scheme, scale))
                    for name, _, scale in _OF_PLACEMENTS[1:]
                ),
            )
            for scheme in names
        )
        title = middle.title.split(",")[0]
        caption = f"{title}, base RTT {middle.at}: the threshold on each router and on all; bars: 95 % intervals."
        drawings.append(Drawing(f"{middle.name}-placements", drawing, caption, heads, rows))
    if not drawings:
        return None
    text = (
        "The study puts the threshold on R6 only. Here it is put on each other router instead, and on all routers, "
        "in the same network with the same traffic.",
    )
    return Section("placements", "The threshold on other routers", text, tuple(drawings))


def _readings(paper: Paper, measured: Measured) -> Section | None:
    drawings = []
    for flow in dict.fromkeys(one.flow for one in measured.conditions):
        own = [
            (reading.name, one)
            for reading in paper.readings
            for one in measured.conditions
            if reading.is_run and one.flow == flow and one.sweep == "rtt" and level_of(one.at) == 0.1
            and (reading.name, one.name) in measured.raw
            and _is_measured(measured, reading.name, one, "queue_packets_mean@R6", one.schemes[0])
        ]  # fmt: skip
        if not own:
            continue
        heads = ("Reading and scheme", *(label for _, label, _ in _OF_READINGS))
        rows = tuple(
            (
                f"{reading}; {paper.printed[scheme]}",
                *(_text(_estimate(measured, reading, one, name, scheme, scale)) for name, _, scale in _OF_READINGS),
            )
            for reading, one in own
            for scheme in one.schemes
        )
        title = own[0][1].title
        caption = f"{title}: queues, loss and utilisation under each reading."
        drawings.append(Drawing(f"{flow}-readings", None, caption, heads, rows))
    if not drawings:
        return None
    return Section("compared", "What the readings change", (), tuple(drawings))


def _teeth(paper: Paper, measured: Measured) -> Section | None:
    base = paper.readings[0].name
    place = "bottleneck"
    drawings = []
    for points in _sweeps(measured, base, "tooth_share"):
        title = points[0].title.split(", round")[0].split(", rtt")[0]
        name = points[0].name.rsplit("-", 2)[0]
        with plot.new_figure(plot.WIDTH, 4.8) as drawing:
            panels = drawing.subplots(2, 3, sharex=True)
            for axes, (metric, label, scale) in zip(panels.flat, _OF_TEETH, strict=True):
                _lines(axes, measured, base, points, metric.format(place), scale, paper)
                axes.set_title(label, fontsize=9.5)
            for axes in panels[1]:
                axes.set_xlabel("Base RTT (ms)", fontsize=9)
            _legend(drawing, panels[0, 0])
        caption = (
            f"{title}: how the queue varies over time. The amplitude is the difference between its 5th and 95th "
            "percentiles. The period is that of the strongest line of the spectrum; the larger this line's share of "
            "the variance, the more regular the saw-tooth. Synchronisation is the number of drops in an episode of "
            "loss divided by the number of flows, at most 1. Bands: 95 % intervals."
        )
        drawings.append(Drawing(f"{name}-teeth", drawing, caption))
    drawn = [one for one in measured.conditions if (one.name, one.schemes[0]) in measured.samples]
    for flow in dict.fromkeys(one.flow for one in drawn):
        own = sorted((one for one in drawn if one.flow == flow), key=lambda one: level_of(one.at))
        ends = [own[0], own[len(own) // 2], own[-1]] if len(own) > 2 else own
        with plot.new_figure(plot.WIDTH, 4.8) as drawing:
            panels = drawing.subplots(len(ends), len(ends[0].schemes), sharex=True, squeeze=False)
            for row, one in enumerate(ends):
                for column, scheme in enumerate(one.schemes):
                    axes = panels[row, column]
                    axes.plot(*measured.samples[one.name, scheme], color=_COLORS[column], linewidth=0.8)
                    axes.set_ylim(bottom=0)
                    axes.locator_params(nbins=4)
                    if row == 0:
                        axes.set_title(paper.printed[scheme], fontsize=9.5)
                panels[row, 0].set_ylabel(f"Queue, {one.at}", fontsize=9)
            for axes in panels[-1]:
                axes.set_xlabel("Time (s)", fontsize=9)
        title = own[0].title.split(", rtt")[0]
        caption = (
            f"{title}: the queue in packets in the last minute of the first replication. Each value is a mean over "
            "100 ms."
        )
        drawings.append(Drawing(f"{flow}-samples", drawing, caption))
    if not drawings:
        return None
    text = (
        "The study's introduction says that local stability changes with the RTT under drop tail, and does not "
        "change under the threshold policy. These runs examine a single bottleneck with R6's capacity and queue, "
        "without the first 50 s.",
    )
    return Section("saw-tooth", "Saw-tooth and stability over the base RTT", text, tuple(drawings))


def _text(of: Estimate) -> str:
    return metrics.rounded(of.mean, of.half_width)
