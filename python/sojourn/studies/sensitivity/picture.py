"""The picture of a sensitivity analysis: a bar with its interval for each parameter and metric."""

from __future__ import annotations

import math

from sojourn.results import metrics
from sojourn.studies.sensitivity.analysis import Sensitivity
from sojourn.view import charts
from sojourn.view.canvas import Picture
from sojourn.view.palette import MUTED


def bars(found: Sensitivity) -> Picture:
    """Draw the indices, a panel for each metric."""
    is_sobol = found.method == "sobol"
    labels = ("alone", "with interactions") if is_sobol else ("µ*", "σ")
    with charts.panels(len(found.metrics), 2, 0.3, 0.9 + 0.42 * len(found.factors), sharey=True) as (figure, every):
        for axes, metric in zip(every, map(metrics.find, found.metrics), strict=False):
            scale = 1.0 if is_sobol else metric.scale
            for row, index in enumerate(found.indices[metric.name]):
                half = index.total_half if is_sobol else math.nan
                for at, value, own, color in (
                    (row - 0.19, index.first, index.first_half, charts.FIRST),
                    (row + 0.19, index.total, half, charts.SECOND),
                ):
                    charts.bar(axes, value * scale, at, color, own * scale, height=0.34)
            axes.axvline(0, color=MUTED, linewidth=1)
            charts.title(axes, metric.title)
            unit = f" ({metric.shown_unit})" if metric.shown_unit else ""
            axes.set_xlabel("share of the variance" if is_sobol else f"mean size of the change{unit}")
            charts.names(axes, [factor.name for factor in found.factors])
        for color, label in zip((charts.FIRST, charts.SECOND), labels, strict=True):
            every[0].barh(0, 0, color=color, label=label)
        charts.legend(figure, every)
    return figure
