"""Small multiples: a grid of panels of one size, and what its axes have in common."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from sojourn.view import plot
from sojourn.view.plot import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL: Final = 8.5
"""Size of text in panels, points."""
_BELOW: Final = 0.3
"""Room for the labels of the horizontal axis, inches."""
_WIDE: Final = 30.0
"""Values that span more than this ratio get a logarithmic axis."""


@contextmanager
def grid(
    count: int,
    columns: int,
    *,
    panel: float,
    left: float,
    between: float,
    above: float,
    top: float,
    bottom: float = 0.0,
    **shared: Any,
) -> Iterator[tuple[Picture, list[Axes]]]:
    """Make a picture with a grid of panels, of which those after `count` are hidden; lengths in inches.

    Panels are placed by hand, because a layout that measures every text takes seconds.
    """
    rows = math.ceil(count / columns)
    height = top + rows * (panel + above) - above + _BELOW + bottom
    width = (plot.WIDTH - left - 0.1 - (columns - 1) * between) / columns
    places = {
        "left": left / plot.WIDTH,
        "right": 1 - 0.1 / plot.WIDTH,
        "top": 1 - top / height,
        "bottom": (_BELOW + bottom) / height,
        "wspace": between / width,
        "hspace": above / panel,
    }
    with plot.new_figure(plot.WIDTH, height) as drawing:
        drawing.set_layout_engine(None)
        every = list(drawing.subplots(rows, columns, squeeze=False, gridspec_kw=places, **shared).flat)
        for axes in every[count:]:
            axes.set_visible(False)
        yield drawing, every


def width(labels: Sequence[str]) -> float:
    """Return the room that labels need, in inches: a character is about 0.075 wide."""
    return 0.18 + 0.075 * max(len(label) for label in labels)


def legend(drawing: Picture, axes: Axes, columns: int) -> None:
    """Draw a legend above all panels, with the entries of one of them."""
    handles, labels = axes.get_legend_handles_labels()
    style = {"fontsize": SMALL, "markerscale": 1.3, "borderaxespad": 0.1, "columnspacing": 1.6}
    drawing.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.0, 1.0), ncols=columns, **style)


def scale(axes: Axes, values: Sequence[float]) -> None:
    """Begin the vertical axis at zero; make it logarithmic above the least value where values span decades."""
    positive = [value for value in values if math.isfinite(value) and value > 0]
    _, top = axes.get_ylim()
    if positive and max(positive) > _WIDE * min(positive):
        # Four decades show the shape; what is below them is near zero.
        first = math.floor(math.log10(max(min(positive), max(positive) / 1e4)))
        last = math.floor(math.log10(max(positive)))
        step = math.ceil((last - first + 1) / 4)
        axes.set_yscale("symlog", linthresh=10.0**first, linscale=0.4)
        axes.yaxis.set_major_locator(FixedLocator([0.0, *(10.0**k for k in range(first, last + 1, step))]))
        axes.yaxis.set_minor_locator(NullLocator())
    elif not positive:
        axes.set_yticks([0])
    axes.yaxis.set_major_formatter(FuncFormatter(short))
    axes.set_ylim(0, 1.05 * max(top, *positive) if positive else 1.0)


def short(value: float, _: object) -> str:
    """Write a tick: 0, 0.05, 12, 1500, 20k."""
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
