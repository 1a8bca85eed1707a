"""Figures 1 and 4 to 8 of the study from our windows, with Table 1 at the middles of its ranges and Theorem 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from sojourn import theory
from sojourn.stats import Floats
from sojourn.view import charts, plot
from sojourn.view.palette import INK, MUTED, PAPER, Look, looks
from sojourn.view.plot import Picture

from . import analysis, datasets
from .document import Experiment, Scheme
from .switching import Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_DOTS: Final = 120
"""Most dots of a scheme in a panel; if it has more windows, only every n-th is drawn."""
_ACROSS: Final = 5
_SMALL: Final = 8.5
_GRID: Final = 61

TITLES: Final = {
    "mean_queue_packets": "mean queue, packets",
    "std_queue_packets": "deviation of the queue, packets",
    "loss_ratio": "loss ratio",
    "burst_ratio": "burst ratio",
    "impairment_c": "total impairment C",
}
FIGURES: Final = {metric: 4 + k for k, metric in enumerate(TITLES)}
"""By metric: the study's figure."""


def looks_of(paper: Experiment) -> dict[str, Look]:
    """Return the look of each scheme by id, the same in all pictures."""
    ids = [one.id for one in paper.schemes]
    return looks(ids, [one.text.split()[0] for one in paper.schemes])


def functions(paper: Experiment) -> Picture:
    """Draw the dropping functions (Figure 1)."""
    look = looks_of(paper)
    n = np.arange(60, 161)
    with plot.new_figure(plot.WIDTH, 3.4) as drawing:
        axes = drawing.add_subplot()
        for one in paper.study:
            if one.id != "none":
                law = theory.law(one.text)
                style = look[one.id]
                axes.step(n, [law.at(int(k)) for k in n], color=style.color, linestyle=style.dashes, where="mid",
                          label=one.printed, linewidth=1.3)  # fmt: skip
        axes.set(xlabel="queue length n, packets", ylabel="d(n)", xlim=(60, 160), ylim=(0, 1.03))
        drawing.legend(loc="outside right center", fontsize=_SMALL)
    return drawing


def together(paper: Experiment, frame: pd.DataFrame, metric: str) -> Picture:
    """Draw all schemes' fits in one panel, as the study does, its table's numbers as small diamonds."""
    look = looks_of(paper)
    grid = np.linspace(paper.low, paper.high, _GRID)
    with plot.new_figure(plot.WIDTH, 4.6) as drawing:
        axes = drawing.add_subplot()
        for one in paper.study:
            of = frame[frame["label"] == one.id]
            style = look[one.id]
            dots = _some(of)
            axes.scatter(dots["load"], dots[metric], s=4, color=style.color, alpha=0.25, linewidths=0)
            fitted = analysis.fit(of, metric, grid)
            load, mean = (fitted.load, fitted.mean) if fitted is not None else (grid[:0], grid[:0])
            axes.plot(load, mean, color=style.color, linestyle=style.dashes, label=one.printed)
            printed = paper.table1[paper.table1["scheme"] == one.id]
            middles = (printed["low"] + printed["high"]) / 2
            axes.scatter(middles, printed[metric], s=16, marker="D", facecolors="none", edgecolors=style.color,
                         linewidths=0.9)  # fmt: skip
        axes.set(xlabel="load", ylabel=TITLES[metric], xlim=(paper.low, paper.high))
        axes.set_ylim(bottom=1.0 if metric == "burst_ratio" else 0.0)
        drawing.legend(loc="outside right center", fontsize=_SMALL)
    return drawing


def apart(paper: Experiment, frame: pd.DataFrame, metric: str) -> Picture:
    """Draw each scheme in a separate panel: windows, cubic with its band, Table 1, Theorem 1; one axis for all."""
    look = looks_of(paper)
    grid = np.linspace(paper.low, paper.high, _GRID)
    with charts.panels(len(paper.study), _ACROSS, 0.75, 1.75, sharex=True, sharey=True) as (drawing, every):
        for axes, one in zip(every, paper.study, strict=False):
            _panel(paper, axes, frame[frame["label"] == one.id], one, metric, look[one.id], grid)
        inside = frame[(frame["load"] >= paper.low) & (frame["load"] <= paper.high)][metric]
        most = max(float(inside.quantile(0.995)) if len(inside) else 1.0, float(paper.table1[metric].max()))
        low = 0.9 if metric == "burst_ratio" else 0.0
        every[0].set(xlim=(paper.low, paper.high), ylim=(low, low + 1.06 * (most - low)))
        every[0].set_xticks([0.9, 1.0, 1.1, 1.2])
        drawing.supxlabel("load", fontsize=9.5)
        drawing.supylabel(TITLES[metric], fontsize=9.5)
        charts.legend(drawing, every, 4, loc="outside upper center", fontsize=_SMALL)
    return drawing


def _panel(
    paper: Experiment, axes: Axes, of: pd.DataFrame, one: Scheme, metric: str, look: Look, grid: Floats
) -> None:
    dots = _some(of)
    axes.scatter(dots["load"], dots[metric], s=5, color=look.color, alpha=0.45, linewidths=0, label="a window")
    fitted = analysis.fit(of, metric, grid)
    if fitted is not None:
        axes.fill_between(fitted.load, fitted.low, fitted.high, color=look.color, alpha=0.22, linewidth=0)
        axes.plot(fitted.load, fitted.mean, color=INK, linewidth=1.3, label="cubic fit, 95 % band")
    if not one.is_beside:
        printed = paper.table1[paper.table1["scheme"] == one.id]
        axes.scatter((printed["low"] + printed["high"]) / 2, printed[metric], s=20, marker="D", facecolors=PAPER,
                     edgecolors=INK, linewidths=1.0, zorder=3, label="the study's Table 1")  # fmt: skip
        predicted = [datasets.predicted(one.text, float(load))[metric] for load in grid[::3]]
        axes.plot(grid[::3], predicted, color=MUTED, linestyle=(0, (4, 1.5)), linewidth=1.2, label="Theorem 1")
    axes.set_title(one.printed, fontsize=_SMALL + 0.5, pad=3)
    axes.tick_params(labelsize=_SMALL)


def _some(of: pd.DataFrame) -> pd.DataFrame:
    return of.iloc[:: max(1, -(-len(of) // _MOST_DOTS))]


def carry_over(steps: Mapping[str, Sequence[Step]]) -> Picture:
    """Draw metrics after a change of scheme: differences to the second half of the slot, with 95 % intervals."""
    with charts.panels(len(steps), len(steps), 0.0, 2.4) as (drawing, panels):
        for axes, (metric, of) in zip(panels, steps.items(), strict=True):
            at, means = [(one.from_s + one.to_s) / 2 for one in of], [one.excess.mean for one in of]
            half = [one.excess.half_width or 0.0 for one in of]
            axes.errorbar(at, means, yerr=half, fmt="o", color=charts.FIRST, markersize=4, linewidth=1.2)
            axes.axhline(0, color=MUTED, linewidth=0.8)
            axes.set_title(TITLES[metric], fontsize=_SMALL + 0.5, pad=3)
            axes.tick_params(labelsize=_SMALL)
        drawing.supxlabel("seconds since the change of scheme", fontsize=9.5)
    return drawing
