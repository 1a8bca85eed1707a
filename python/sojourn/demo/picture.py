"""The picture of published and measured numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sojourn import plot
from sojourn.demo import published, setting
from sojourn.palette import INK, PAPER
from sojourn.plot import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.results import Results

_OFFSETS = (0.12, 0.34)


def comparison(readings: Mapping[setting.Reading, Results]) -> Picture:
    """Draw a panel for each metric, a row for each scheme: published and measured with 95 % intervals.

    Parameters
    ----------
    readings
        The results of each reading.
    """
    first = next(iter(readings.values()))
    looks = first.plot.looks
    with plot.new_figure(plot.WIDTH, 6.4) as drawing:
        panels = drawing.subplots(2, 3, sharey=True)
        for axes, metric in zip(panels.flat, published.METRICS, strict=True):
            _panel(axes, metric, readings)
            axes.set_title(metric.title + (f" ({metric.unit})" if metric.unit else ""), fontsize=9.5)
            axes.locator_params(axis="x", nbins=5)
            axes.set_xlim(left=0)
        for row in panels:
            plot.scheme_rows(row[0], [looks[label] for label in first.labels])
        handles, labels = panels[0, 0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside upper left", ncols=len(labels), frameon=False)
    return drawing


def _panel(axes: Axes, metric: published.Metric, readings: Mapping[setting.Reading, Results]) -> None:
    first = next(iter(readings.values()))
    theirs = [published.numbers()[label, metric.key] for label in first.labels]
    rows = range(len(theirs))
    axes.scatter(
        theirs,
        [row - 0.18 for row in rows],
        s=40,
        marker="D",
        facecolors=PAPER,
        edgecolors=INK,
        linewidths=1.3,
        zorder=3,
        label="published",
    )
    colors = ("#0072b2", "#e69f00")
    markers = ("o", "s")
    for (reading, results), offset, color, marker in zip(readings.items(), _OFFSETS, colors, markers, strict=True):
        found = [published.pair(results, label, metric).measured for label in results.labels]
        for row, one in zip(rows, found, strict=True):
            if one.low is not None and one.high is not None:
                axes.plot([one.low, one.high], [row + offset] * 2, color=color, linewidth=1.8)
        seen = [(one.mean, row + offset) for row, one in zip(rows, found, strict=True) if math.isfinite(one.mean)]
        axes.scatter(
            [mean for mean, _ in seen],
            [at for _, at in seen],
            s=28,
            marker=marker,
            color=color,
            label=f"measured, {reading.short}",
            zorder=3,
        )
