"""Empty pictures in the project's style, for a page or for a column of a paper, and helpers for all pictures."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from sojourn.base import escape
from sojourn.view.palette import INK, MUTED, RULE

_STYLE: Final[Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.minor.pad": 7.0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.6,
    # Text stays text: SVG as it is, PDF and PostScript with TrueType fonts (publishers refuse Type 3).
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.hashsalt": "sojourn",
    "path.simplify_threshold": 0.3,
    # A name with dollar signs is a name.
    "text.parse_math": False,
}

WIDTH: Final = 9.4
NARROW: Final = 5.5

_SHEET: ContextVar[float | None] = ContextVar("sheet", default=None)
"""Width in inches that pictures are drawn for, where that is not :data:`WIDTH`."""

PAPER_POINTS: Final = 8.0
"""Size of the text of a figure for a paper."""
_LINE: Final = 0.17
"""Height in inches of a row in a figure for a paper."""


_ROW_CHARACTERS: Final = 22
"""Longest line of a row's text in a column."""


@contextmanager
def sheet(width: float) -> Iterator[None]:
    """Draw pictures for a given width in inches, as for a column of a paper, with text of 8 points."""
    token = _SHEET.set(width)
    try:
        yield
    finally:
        _SHEET.reset(token)


def is_narrow() -> bool:
    """Whether pictures are drawn for a column: too narrow for a legend at the side."""
    width = _SHEET.get()
    return width is not None and width < NARROW


def points(size: float) -> float:
    """Return the size of a text: the given one, or at most that of a paper inside :func:`sheet`."""
    return size if _SHEET.get() is None else min(size, PAPER_POINTS)


def _style() -> Any:
    if _SHEET.get() is None:
        return _STYLE
    sizes = dict.fromkeys(
        ("font.size", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"),
        PAPER_POINTS,
    )
    return {**_STYLE, **sizes, "lines.linewidth": 1.1}


class Picture(Figure):
    """A figure that draws itself in a notebook."""

    style: Any = _STYLE
    """With which it was drawn, and is written."""

    @property
    def agg(self) -> FigureCanvasAgg:
        """The canvas that measures texts."""
        return self.canvas if isinstance(self.canvas, FigureCanvasAgg) else FigureCanvasAgg(self)

    def savefig(self, fname: Any, *arguments: Any, **options: Any) -> None:
        """Write the picture as matplotlib does, in the house style: text stays text in SVG, PDF and EPS."""
        with mpl.rc_context(self.style):
            if options.get("format") == "svg":
                # As a text first, for characters in labels that XML forbids.
                text = io.StringIO()
                super().savefig(text, *arguments, **options)
                write = fname.write if hasattr(fname, "write") else partial(Path.write_text, Path(fname))
                write(escape.svg(text.getvalue()))
                return
            super().savefig(fname, *arguments, **options)

    def svg(self) -> str:
        """Return the picture as SVG text, the same for the same data."""
        text = io.StringIO()
        self.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        return text.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()


@contextmanager
def new_figure(width: float, height: float, rows: int = 0) -> Iterator[Picture]:
    """Give an empty figure in the house style, of a size in inches.

    `rows` are the lines of text that a figure for a paper must have room for.
    """
    wanted = _SHEET.get()
    if wanted is not None:
        scale = PAPER_POINTS / _STYLE["font.size"]
        height = max(min(height * scale, 0.75 * wanted), 0.7 + _LINE * rows)
        width = wanted * width / WIDTH
    with mpl.rc_context(_style()):
        figure = Picture(figsize=(width, height), layout="constrained")
        figure.style = _style()
        FigureCanvasAgg(figure)
        yield figure


def row_text(label: str) -> str:
    """Return the name of a scheme as pictures show it: in a column, two lines at most, to leave room for the axes."""
    if not is_narrow():
        return label
    return "\n".join(textwrap.wrap(label, _ROW_CHARACTERS, max_lines=2, placeholder=" …"))


def logarithmic(axes: Axes, which: str) -> None:
    """Make the axis ``x`` or ``y`` logarithmic, with enough ticks to read values."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    # With few decades, ticks only at the powers of ten are too few to read values.
    subs = (2.0, 3.0, 5.0) if high / max(low, 1e-12) < 100 else ()
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(LogLocator(subs=subs) if subs else NullLocator())
    axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


_WIDE: Final = 12.0


def is_wide(values: Sequence[float]) -> bool:
    """Return whether values, all of them positive, span so much that they need a logarithmic axis."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > _WIDE


_PLACES: Final = (
    (8, 0, "left", "center"),
    (-8, 0, "right", "center"),
    (0, 9, "center", "bottom"),
    (0, -9, "center", "top"),
    (8, 8, "left", "bottom"),
    (8, -8, "left", "top"),
    (-8, 8, "right", "bottom"),
    (-8, -8, "right", "top"),
)


def label_spots(figure: Picture, axes: Axes, spots: dict[str, tuple[float, float]]) -> None:
    """Write each label beside its spot, where it covers no other label and no other spot."""
    figure.draw_without_rendering()
    renderer: Any = figure.agg.get_renderer()  # type: ignore[no-untyped-call]
    pixels = {label: axes.transData.transform(spot) for label, spot in spots.items()}
    frame = axes.get_window_extent(renderer)
    placed: list[Any] = []
    for label, spot in spots.items():
        best: tuple[float, Any] | None = None
        for distance in (1.0, 2.2, 3.6):
            for dx, dy, ha, va in _PLACES:
                text = axes.annotate(
                    row_text(label),
                    spot,
                    (dx * distance, dy * distance),
                    textcoords="offset points",
                    ha=ha,
                    va=va,
                    fontsize=points(9),
                )
                box = text.get_window_extent(renderer)
                hidden = sum(box.overlaps(other.get_window_extent(renderer)) for other in placed)
                near = box.padded(6.0)
                hidden += sum(near.contains(*at) for name, at in pixels.items() if name != label)
                outside = not (frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1))
                cost = 3.0 * hidden + 5.0 * outside + 0.3 * distance
                text.remove()
                if best is None or cost < best[0] - 1e-9:
                    best = (cost, (dx * distance, dy * distance, ha, va))
        if best is not None:
            dx, dy, ha, va = best[1]
            far = math.hypot(dx, dy) > 14
            line = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.6} if far else None
            written = axes.annotate(
                row_text(label),
                spot,
                (dx, dy),
                textcoords="offset points",
                ha=ha,
                va=va,
                fontsize=points(9),
                arrowprops=line,
            )
            # Places were chosen in the axes as they are; a layout that makes room for labels would move the spots.
            written.set_in_layout(False)
            placed.append(written)
