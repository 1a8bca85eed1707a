"""Pictures of a paper: small multiples of estimates, of lines over a swept factor, and of time series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from sojourn.stats import Estimate, Floats
from sojourn.view import multiples
from sojourn.view.palette import INK, MUTED, PAPER, Look, looks
from sojourn.view.plot import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.studies.papers.execute import Trace
    from sojourn.studies.papers.model import Paper

_COLORS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
_MARKERS: Final = "os^vP"
_ACROSS: Final = 3
"""Entries of a legend in a row."""


@dataclass(frozen=True, slots=True)
class Dots:
    """A panel of estimates: `measured` by reading, then by row; `printed` by row, NaN where nothing is printed."""

    title: str
    measured: Sequence[Sequence[Estimate]]
    printed: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Lines:
    """A panel of lines over a swept factor, and of `levels`, which the factor does not concern, by label.

    A line consists of points of the factor and the estimate at each.
    """

    title: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[Estimate]]]
    levels: Mapping[str, Estimate]


def looks_of(paper: Paper) -> dict[str, Look]:
    """Return the look of each scheme of a paper by id, the same in all its pictures.

    What most conditions run comes first: these never share a colour.
    """
    counts = {name: sum(name in one.schemes for one in paper.conditions) for name in paper.texts}
    names = sorted(paper.texts, key=lambda name: -counts[name])
    return looks(names, [paper.texts[name].split()[0] for name in names])


def in_threes(panels: Sequence[Dots]) -> list[Sequence[Dots]]:
    """Return panels in rows of three."""
    return [panels[k : k + 3] for k in range(0, len(panels), 3)]


def dots(panels: Sequence[Sequence[Dots]], rows: Sequence[str], readings: Sequence[str], most: int = 5) -> Picture:
    """Draw a grid of panels with the same rows; each has its own axis, from zero.

    Parameters
    ----------
    most
        Readings with a mark of their own; the means of others are ticks.
    """
    own = min(len(readings), most)
    columns = max(len(line) for line in panels)
    pitch = 0.11 + 0.07 * own if columns > 3 else 0.12 + 0.085 * own
    flat = [panel for line in panels for panel in line]
    more = 0.14 if any("\n" in panel.title for panel in flat) else 0.0
    has_printed = any(math.isfinite(value) for panel in flat for value in panel.printed)
    entries = own + (len(readings) > own) + has_printed
    top = 0.36 + 0.16 * math.ceil(entries / _ACROSS) + more
    lengths = {"panel": pitch * len(rows), "left": multiples.width(rows), "between": 0.14}
    lengths |= {"above": 0.5 + more, "top": top}
    with multiples.grid(len(flat), columns, **lengths, sharey=True) as (drawing, every):
        for axes, panel in zip(every, flat, strict=False):
            _dots(axes, panel, readings, own)
        every[0].set_yticks(range(len(rows)), rows)
        every[0].set_ylim(len(rows) - 0.5, -0.5)
        multiples.legend(drawing, every[0], _ACROSS)
    return drawing


def _dots(axes: Axes, panel: Dots, readings: Sequence[str], own: int) -> None:
    printed = [(value, row) for row, value in enumerate(panel.printed) if math.isfinite(value)]
    # Printed numbers and readings share the height of a row, from top to bottom.
    lanes = own + bool(printed)
    lane = {k: (k + 0.5) / lanes * 0.84 - 0.42 for k in range(lanes)}

    def marks(points: Sequence[tuple[float, float]], size: float, marker: str, **look: Any) -> None:
        if points:
            x, y = zip(*points, strict=True)
            axes.scatter(x, y, s=size, marker=marker, **look)

    spots = [(value, row + lane[0]) for value, row in printed]
    marks(spots, 26, "D", facecolors=PAPER, edgecolors=INK, linewidths=1.2, zorder=3, label="printed")
    more = f"{len(panel.measured) - own} other readings (means)"
    others = [(of.mean, float(row)) for of_row in panel.measured[own:] for row, of in enumerate(of_row)]
    others = [one for one in others if math.isfinite(one[0])]
    marks(others, 48, "|", color=MUTED, linewidths=0.9, label=more)
    for k, name in enumerate(readings[:own]):
        seen = [(of, row + lane[k + bool(printed)]) for row, of in enumerate(panel.measured[k])]
        ends = [(at, of.low, of.high) for of, at in seen if of.low is not None and of.high is not None]
        if ends:
            axes.hlines(*zip(*ends, strict=True), color=_COLORS[k], linewidth=1.6)
        means = [(of.mean, at) for of, at in seen]
        marks(means, 15, _MARKERS[k], color=_COLORS[k], linewidths=0, zorder=3, label=name)
    between = [row + 0.5 for row in range(len(panel.measured[0]) - 1)]
    axes.hlines(between, 0, 1, transform=axes.get_yaxis_transform(), color=MUTED, linewidth=0.25)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0, labelsize=multiples.SMALL)
    axes.set_title(panel.title, fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
    axes.xaxis.set_major_formatter(FuncFormatter(multiples.short))
    axes.tick_params(axis="x", labelsize=multiples.SMALL)
    tops = [of.mean if of.high is None else of.high for of_row in panel.measured for of in of_row]
    right = max((top for top in (*tops, *panel.printed) if math.isfinite(top)), default=0.0) or 1.0
    axes.set_xlim(-0.03 * right, 1.05 * right)


def lines(
    panels: Sequence[Lines], seen: Mapping[str, Look], labels: Mapping[str, str], x: str, *, log: bool
) -> Picture:
    """Draw panels over a swept factor, three in a row: a line a scheme through its means, 95 % intervals as a band.

    `seen` and `labels` are look and name of each scheme, `x` is the title of the horizontal axis.
    """
    columns = min(3, len(panels))
    lengths = {"panel": 1.75, "left": 0.55, "between": 0.58, "above": 0.55, "top": 0.52, "bottom": 0.2}
    with multiples.grid(len(panels), columns, **lengths, sharex=True) as (drawing, every):
        x_of = [x for panel in panels for line, _ in panel.lines.values() for x in line]
        if log:
            every[0].set_xscale("log")
        for axes, panel in zip(every, panels, strict=False):
            _lines(axes, panel, seen, labels)
            axes.set_title(panel.title, fontsize=9.5)
            axes.tick_params(axis="both", labelsize=multiples.SMALL, labelbottom=True)
            if log and x_of:
                # Over few decades their ends alone would leave a reader without a scale.
                subs = (1.0, 2.0, 5.0) if max(x_of) < 100 * min(x_of) else (1.0,)
                axes.xaxis.set_major_locator(LogLocator(subs=subs))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(multiples.short))
        multiples.legend(drawing, every[0], 8)
        every[-columns].set_xlabel(x, loc="left", fontsize=9.5)
    return drawing


def _lines(axes: Axes, panel: Lines, seen: Mapping[str, Look], labels: Mapping[str, str]) -> None:
    means = []
    for name, level in panel.levels.items():
        look = seen[name]
        axes.axhline(level.mean, color=look.color, linestyle=look.dashes, linewidth=1.3, label=labels[name])
        if level.low is not None and level.high is not None:
            axes.axhspan(level.low, level.high, color=look.color, alpha=0.13, linewidth=0)
        means.append(level.mean)
    for name, (x, estimates) in panel.lines.items():
        look = seen[name]
        mean = np.array([of.mean for of in estimates])
        low = np.array([of.mean if of.low is None else of.low for of in estimates])
        high = np.array([of.mean if of.high is None else of.high for of in estimates])
        axes.fill_between(x, low, high, color=look.color, alpha=0.15, linewidth=0)
        if len(x) == 1:
            axes.plot([x[0], x[0]], [low[0], high[0]], color=look.color, linewidth=1.6)
        style: dict[str, Any] = {"color": look.color, "linestyle": look.dashes, "linewidth": 1.3}
        axes.plot(x, mean, marker=look.marker, markersize=4.2, markeredgewidth=0, label=labels[name], **style)
        means += mean.tolist()
    multiples.scale(axes, means)


def series(
    traces: Mapping[str, Trace], seen: Mapping[str, Look], labels: Mapping[str, str], title: str, faint: Sequence[str]
) -> Picture:
    """Draw time series, a panel for each scheme: one replication as a line, the range of all as a band.

    `seen` and `labels` are look and name of each scheme, `title` is that of the vertical axis, and `faint` are
    schemes to be drawn in grey.
    """
    # Five panels are three and two, not four and one.
    columns = 3 if len(traces) in (5, 6, 9) else min(4, len(traces))
    lengths = {"panel": 0.85, "left": 0.75, "between": 0.16, "above": 0.3, "top": 0.22, "bottom": 0.2}
    with multiples.grid(len(traces), columns, **lengths, sharex=True, sharey=True) as (drawing, every):
        tops: list[float] = []
        for axes, (name, trace) in zip(every, traces.items(), strict=False):
            color = MUTED if name in faint else seen[name].color
            low, high = _range(trace)
            axes.fill_between(trace.t_s, low, high, color=color, alpha=0.28, linewidth=0)
            axes.plot(trace.t_s, trace.values[0], color=color, linewidth=0.9)
            axes.set_title(labels[name], fontsize=9, pad=2)
            axes.tick_params(axis="both", labelsize=multiples.SMALL)
            axes.margins(x=0)
            tops.append(float(np.nanmax(high, initial=0.0)))
        for axes in every[max(len(traces) - columns, 0) : len(traces)]:
            axes.tick_params(labelbottom=True)
        multiples.scale(every[0], tops)
        every[-columns].set_xlabel("Time (s)", loc="left", fontsize=9.5)
        drawing.supylabel(title, fontsize=9.5, x=0.004, ha="left")
    return drawing


def _range(trace: Trace) -> tuple[Floats, Floats]:
    """Return the least and the greatest value at each instant; NaN where no replication saw any."""
    is_seen = np.isfinite(trace.values).any(axis=0)
    low, high = np.full(trace.t_s.size, math.nan), np.full(trace.t_s.size, math.nan)
    low[is_seen] = np.nanmin(trace.values[:, is_seen], axis=0)
    high[is_seen] = np.nanmax(trace.values[:, is_seen], axis=0)
    return low, high
