"""Printed and measured numbers of a table as a picture: a panel for each row of the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn import plot
from sojourn.palette import INK, PAPER
from sojourn.plot import Picture

if TYPE_CHECKING:
    from sojourn.papers.model import Paper
    from sojourn.papers.page import Pair

_COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
_MARKERS = "os^v"


def table(paper: Paper, pairs: Sequence[Pair], readings: Sequence[str]) -> Picture:
    """Draw a table's rows as panels and its schemes as lines in them.

    Parameters
    ----------
    paper
        For the names of its rows and schemes.
    pairs
        Printed and measured.
    readings
        Names of the readings of the simulation, in the order of the pairs' estimates.
    """
    titles = {row.name: row.title for row in paper.rows}
    names = list(dict.fromkeys(one.row for one in pairs))
    schemes = list(dict.fromkeys(one.scheme for one in pairs))
    with plot.new_figure(plot.WIDTH, 1.6 + 0.6 * len(schemes)) as drawing:
        panels = drawing.subplots(2, 3, sharey=True)
        for axes, name in zip(panels.flat, names, strict=False):
            own = [one for one in pairs if one.row == name]
            spots = [schemes.index(one.scheme) for one in own]
            printed = [(one, spot) for one, spot in zip(own, spots, strict=True) if math.isfinite(one.published)]
            axes.scatter(
                [one.published for one, _ in printed],
                [spot - 0.2 for _, spot in printed],
                s=36,
                marker="D",
                facecolors=PAPER,
                edgecolors=INK,
                linewidths=1.3,
                zorder=3,
                label="printed" if printed else None,
            )
            for k, reading in enumerate(readings):
                color, marker = _COLORS[k % 4], _MARKERS[k % 4]
                offset = 0.08 + 0.22 * k
                for one, spot in zip(own, spots, strict=True):
                    of = one.measured[k]
                    if of.low is not None and of.high is not None:
                        axes.plot([of.low, of.high], [spot + offset] * 2, color=color, linewidth=1.8)
                seen = [
                    (one.measured[k].mean, spot + offset)
                    for one, spot in zip(own, spots, strict=True)
                    if math.isfinite(one.measured[k].mean)
                ]
                axes.scatter(
                    [mean for mean, _ in seen],
                    [at for _, at in seen],
                    s=26,
                    marker=marker,
                    color=color,
                    zorder=3,
                    label=reading,
                )
            unit = own[0].unit.split(",")[0]
            title = titles[name][:1].upper() + titles[name][1:]
            axes.set_title(f"{title} ({unit})" if unit != "ratio" else title, fontsize=9.5)
            axes.locator_params(axis="x", nbins=5)
            axes.set_xlim(left=0)
        for row in panels:
            row[0].set_yticks(range(len(schemes)), [paper.printed[name] for name in schemes])
            row[0].set_ylim(len(schemes) - 0.4, -0.6)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside upper left", ncols=len(labels), frameon=False)
    return drawing
