"""The picture of a sensitivity analysis: a bar with its interval for each parameter and metric."""

from __future__ import annotations

import math
from typing import Final

from sojourn.results import metrics
from sojourn.studies.sensitivity.analysis import Index, Sensitivity
from sojourn.view.palette import INK, MUTED
from sojourn.view.plot import WIDTH, Picture, new_figure

FIRST: Final = "#0072b2"
TOTAL: Final = "#e69f00"


def bars(found: Sensitivity) -> Picture:
    """Draw the indices, a panel for each metric."""
    columns = min(len(found.metrics), 2)
    rows = math.ceil(len(found.metrics) / columns)
    with new_figure(WIDTH, (0.9 + 0.42 * len(found.factors)) * rows + 0.3) as figure:
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for axes, name in zip(panels.flat, found.metrics, strict=False):
            metric = metrics.find(name)
            is_sobol = found.method == "sobol"
            scale = 1.0 if is_sobol else metric.scale
            for row, index in enumerate(found.indices[name]):
                for place, (value, half, color) in enumerate(_pairs(index, is_sobol)):
                    at = row + (0.19 if place else -0.19)
                    axes.barh(at, value * scale, height=0.34, color=color, linewidth=0)
                    if math.isfinite(half):
                        ends = [(value - half) * scale, (value + half) * scale]
                        axes.plot(ends, [at, at], color=INK, linewidth=1.3)
            axes.axvline(0, color=MUTED, linewidth=1)
            axes.set_title(metric.title, fontsize=9.5)
            unit = f" ({metric.shown_unit})" if metric.shown_unit else ""
            axes.set_xlabel("share of the variance" if is_sobol else f"mean size of the change{unit}")
            axes.grid(visible=False, axis="y")
        for axes in list(panels.flat)[len(found.metrics) :]:
            axes.set_visible(False)
        first = panels[0, 0]
        first.set_yticks(range(len(found.factors)), [factor.name for factor in found.factors])
        first.set_ylim(len(found.factors) - 0.5, -0.5)
        first.tick_params(axis="y", length=0)
        labels = ("alone", "with interactions") if found.method == "sobol" else ("µ*", "σ")
        handles = [
            first.barh(0, 0, color=color, label=label) for color, label in zip((FIRST, TOTAL), labels, strict=True)
        ]
        figure.legend(handles=handles, loc="outside upper right", ncols=2, fontsize=8.5)
    return figure


def _pairs(index: Index, is_sobol: bool) -> list[tuple[float, float, str]]:
    return [(index.first, index.first_half, FIRST), (index.total, index.total_half if is_sobol else math.nan, TOTAL)]
