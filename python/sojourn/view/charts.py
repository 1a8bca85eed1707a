"""The forms of charts that all pictures are made of: grids of panels, intervals, bars, lines, shares and clouds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from sojourn.stats import Estimate, Floats
from sojourn.view.canvas import WIDTH, Picture, is_wide, logarithmic, new_figure, points, row_text
from sojourn.view.palette import INK, MUTED, PAPER, Look

GOOD: Final = "#009e73"
BAD: Final = "#b0413e"
FIRST: Final = "#0072b2"
SECOND: Final = "#e69f00"
CHOSEN: Final = "#d55e00"
NEUTRAL: Final = "#6f7b86"

Share: TypeAlias = tuple[Look, Floats, Floats]
"""A distribution function: how it looks, values, and the share of what is at most each value."""


@contextmanager
def panels(
    count: int, columns: int, base: float, each: float, *, rows: int = 0, **shared: Any
) -> Iterator[tuple[Picture, list[Axes]]]:
    """Give a picture with a grid of panels, of which those after `count` are hidden.

    Its height is `base` and `each` for every line of panels, in inches; `rows` are the lines of text of each.
    """
    columns = max(1, min(columns, count))
    lines = math.ceil(count / columns)
    with new_figure(WIDTH, base + each * lines, rows=rows * lines) as figure:
        every = list(figure.subplots(lines, columns, squeeze=False, **shared).flat)
        for axes in every[count:]:
            axes.set_visible(False)
        yield figure, every


def names(axes: Axes, labels: Sequence[str], size: float | None = None) -> None:
    """Make the vertical axis a list of names, the first on top."""
    axes.set_yticks(range(len(labels)), [row_text(label) for label in labels], fontsize=size and points(size))
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def interval(
    axes: Axes,
    found: Estimate,
    row: float,
    color: str,
    scale: float = 1.0,
    marker: str = "o",
    size: float = 36,
    **edge: Any,
) -> None:
    """Draw a mean as a marker in a row and its interval as a bar; nothing where there is none."""
    if not math.isfinite(found.mean):
        return
    if found.low is not None and found.high is not None:
        axes.plot([found.low * scale, found.high * scale], [row, row], color=color, linewidth=2.2)
    look: dict[str, Any] = {"linewidths": 0, **edge}
    axes.scatter([found.mean * scale], [row], s=size, marker=marker, color=color, zorder=3, **look)


def bar(axes: Axes, mean: float, row: float, color: str, half: float = math.nan, height: float = 0.62) -> None:
    """Draw a bar from zero with the half-width of its interval."""
    axes.barh([row], [mean], height=height, color=color, linewidth=0)
    if math.isfinite(half):
        axes.plot([mean - half, mean + half], [row, row], color=INK, linewidth=1.3)


def curve(axes: Axes, x: Iterable[float], found: Sequence[Estimate], look: Look, scale: float = 1.0) -> None:
    """Draw means as a line through markers, with their intervals as bars."""
    arms = np.array([one.arms for one in found]).T * scale
    style: dict[str, Any] = {
        "color": look.color,
        "linestyle": look.dashes,
        "marker": look.marker,
        "label": look.short,
    }
    style |= {"markersize": 6, "markeredgecolor": PAPER, "capsize": 2.5, "elinewidth": 1.2}
    axes.errorbar(list(x), [one.mean * scale for one in found], yerr=arms, **style)


def shares(axes: Axes, curves: Sequence[Share]) -> None:
    """Draw distribution functions."""
    for look, value, share in curves:
        axes.step(value, share, where="post", color=look.color, linestyle=look.dashes, label=look.short)
    axes.set_ylim(0, 1.01)


def share_axis(axes: Axes, curves: Sequence[Share], *, least: float = 0.0, log: bool = True) -> None:
    """End the axis of distribution functions where next to all lies; logarithmic where they span decades."""
    right = max(_quantile(value, share, 0.999) for _, value, share in curves)
    typical = [_quantile(value, share, 0.9) for _, value, share in curves]
    if log and is_wide([value for value in typical if value > 0]):
        # Four decades show the shape; what is below them has the height of the left edge.
        first = min(_quantile(value, share, 0.02) for _, value, share in curves)
        axes.set_xlim(max(first, right / 1e4), right * 1.1)
        logarithmic(axes, "x")
    else:
        axes.set_xlim(least, right * 1.02 or 1.0)


def cloud(axes: Axes, x: Floats, y: Floats, look: Look, outline: Floats | None, spot: tuple[float, float]) -> None:
    """Draw pairs as small points, their region, and a marker in the middle."""
    if outline is not None:
        axes.fill(*outline.T, color=look.color, alpha=0.22, linewidth=0)
        axes.plot(*outline.T, color=look.color, linewidth=1.1)
    axes.scatter(x, y, s=7, color=look.color, alpha=0.45, linewidths=0)
    axes.scatter(
        *spot,
        s=42 * look.weight,
        marker=look.marker,
        color=look.color,
        edgecolors=PAPER,
        linewidths=0.8,
        zorder=3,
        label=look.short,
    )


def legend(figure: Picture, every: Iterable[Axes], columns: int = 6, **options: Any) -> None:
    """Draw a legend below all panels, with each of their entries once."""
    found = {label: handle for axes in every for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    options = {"loc": "outside lower center", "ncols": min(columns, max(len(found), 1)), **options}
    figure.legend(found.values(), found.keys(), **options)


def title(axes: Axes, text: str, *, faint: bool = False) -> None:
    """Write the title of a panel."""
    axes.set_title(text, color=MUTED if faint else INK, fontsize=points(9.5), pad=3)


def _quantile(value: Floats, share: Floats, wanted: float) -> float:
    return float(value[min(int(np.searchsorted(share, wanted)), value.size - 1)])
