"""Pictures of the atlas: ranks as a table of colours, and two numbers of every scheme without overlaps."""

from __future__ import annotations

import math
from typing import Final

from matplotlib.colors import LinearSegmentedColormap, to_rgba

from sojourn.studies.atlas.ranks import Atlas
from sojourn.view import charts
from sojourn.view.canvas import Picture, is_wide, logarithmic, new_figure, points
from sojourn.view.palette import INK, PAPER

_COLOURS: Final = LinearSegmentedColormap.from_list("ranks", ["#7fc6a4", "#f4f1e6", "#e0a58c"])
_ROW: Final = 0.235


def ranks(whole: Atlas) -> Picture:
    """Draw a row a scheme and a column a need: the number, and the rank as a colour."""
    labels = whole.ordered()
    needs = whole.needs
    with new_figure(11.5, 1.5 + _ROW * len(labels)) as figure:
        axes = figure.add_subplot()
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        for x, need in enumerate(needs):
            cells = whole.cells[need.name]
            for y, label in enumerate(labels):
                cell = cells[label]
                if cell.rank is None:
                    text, colour = "–", to_rgba(PAPER)
                else:
                    text = f"{cell.estimate.mean:.{need.digits}f}".replace("-", "−")
                    colour = _COLOURS((cell.rank - 1) / max(1, len(labels) - 1))
                axes.fill_between([x - 0.5, x + 0.5], y - 0.5, y + 0.5, color=colour, linewidth=0)
                is_first = cell.rank == 1
                axes.text(x, y, text, ha="center", va="center", color=INK, fontsize=points(7.5),
                          fontweight="bold" if is_first else "normal")  # fmt: skip
        axes.set_xlim(-0.5, len(needs) - 0.5)
        axes.xaxis.tick_top()
        heads = [f"{need.title}\n({need.unit})" if need.unit else need.title for need in needs]
        axes.set_xticks(range(len(needs)), heads, rotation=40, ha="left", fontsize=points(7.5))
        charts.names(axes, labels, 8)
        axes.tick_params(length=0)
    return figure


def two(whole: Atlas, left: str, right: str) -> Picture:
    """Draw two needs beside each other, a row a scheme, with intervals: no marker covers another."""
    by_name = {need.name: need for need in whole.needs}
    means = {one.label: whole.cells[left][one.label].estimate.mean for one in whole.schemes}
    labels = sorted((label for label, mean in means.items() if math.isfinite(mean)), key=lambda label: means[label])
    with charts.panels(2, 2, 1.0, _ROW * len(labels), sharey=True) as (figure, every):
        for axes, name in zip(every, (left, right), strict=True):
            found = [whole.cells[name][label].estimate for label in labels]
            for row, one in enumerate(found):
                charts.interval(axes, one, row, INK, size=16)
            if is_wide([one.mean for one in found]):
                logarithmic(axes, "x")
            charts.names(axes, labels, 8)
            axes.grid(visible=True, axis="y")
            axes.set_xlabel(f"{by_name[name].title} ({by_name[name].unit})")
    return figure
