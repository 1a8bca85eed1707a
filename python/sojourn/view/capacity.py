"""A picture of links whose rate changes: capacity and goodput, and below them queueing delay, over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes

from sojourn.view.canvas import WIDTH, Picture, is_narrow, new_figure, points
from sojourn.view.figures import CAPACITY
from sojourn.view.palette import INK, MUTED, RULE, Look

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.results.results import Results

_HEIGHTS: Final = (1.3, 1.0)
_LOG_FROM: Final = 20.0
"""Delays that span more than this ratio get a logarithmic axis."""
_HIGHEST: Final = 1.25
"""Peaks of goodput this far above the largest capacity are cut off: data that a gap had held back."""


def draw(results: Results, schemes: Mapping[str, Look]) -> Picture:
    """Draw two panels for each scheme, of the first replication.

    The upper panel has the capacity of the links under test whose rate changes, and the goodput of all flows. The
    lower one has the mean queueing delay of the packets that left the headline queue in each interval, with a gap
    where none left.
    """
    samples = results.series
    samples = samples[samples["replication"] == samples["replication"].min()]
    shown = [label for label in schemes if (samples["scheme"] == label).any()]
    columns = 1 if len(shown) == 1 or is_narrow() else 2
    rows = math.ceil(len(shown) / columns)
    delay = results.curve("sojourn_ms")
    delays = samples[samples["name"] == delay]["value"].dropna()
    spread = float(delays.quantile(0.98)) / max(float(delays.quantile(0.1)), 1e-3) if delays.size else 1.0
    with new_figure(WIDTH, 0.7 + 2.5 * rows, rows=9 * rows) as figure:
        panels = figure.subplots(
            2 * rows, columns, sharex=True, squeeze=False, gridspec_kw={"height_ratios": _HEIGHTS * rows}
        )
        highest = 0.0
        for place, label in enumerate(shown):
            row, column = 2 * (place // columns), place % columns
            own = samples[samples["scheme"] == label]
            highest = max(highest, _rates(panels[row, column], own, schemes[label]))
            _delay(panels[row + 1, column], own[own["name"] == delay], schemes[label])
            if column == 0:
                panels[row, column].set_ylabel("Mbit/s")
                panels[row + 1, column].set_ylabel("delay (ms)")
        top = float(delays.max()) if delays.size else 1.0
        for place in range(rows * columns):
            row, column = 2 * (place // columns), place % columns
            upper, lower = panels[row, column], panels[row + 1, column]
            upper.set_ylim(0, highest * _HIGHEST)
            if spread > _LOG_FROM:
                lower.set_yscale("symlog", linthresh=10)
                powers = [10.0**power for power in range(1, math.ceil(math.log10(max(top, 10.0))) + 1)]
                lower.set_yticks([0, *powers], ["0", *(f"{tick:g}" for tick in powers)])
            lower.set_ylim(0, top * 1.1 or 1.0)
            for axes in (upper, lower):
                axes.margins(x=0)
                axes.set_visible(place < len(shown))
        warm_up = float(results.runs["warm_up_s"].iloc[0])
        for axes in panels.flat if warm_up > 0 else ():
            axes.axvspan(0, warm_up, color=RULE, alpha=0.45, linewidth=0)
        panels[0, 0].legend(loc="upper left", ncols=3, fontsize=points(7.5), handlelength=1.2)
        # The panel above an empty place needs the labels of the axis that would be below it.
        if len(shown) < rows * columns:
            panels[-3, -1].tick_params(labelbottom=True)
        figure.supxlabel("Time (s)" + (", warm-up shaded" if warm_up > 0 else ""), fontsize=points(9.5))
    return figure


def _rates(axes: Axes, own: pd.DataFrame, look: Look) -> float:
    """Draw capacities and goodput; return the largest capacity in Mbit/s."""
    highest = 0.0
    links = [str(name) for name in own["name"].unique() if str(name).startswith(CAPACITY)]
    for name in links:
        link = own[own["name"] == name]
        edges = np.concatenate([[0.0], link["t_s"].to_numpy()])
        capacity = link["value"].to_numpy() / 1e6
        title = "capacity" if len(links) == 1 else f"capacity {name.removeprefix(CAPACITY)}"
        axes.stairs(capacity, edges, fill=True, color=MUTED, alpha=0.3, linewidth=0, label=title)
        highest = max(highest, float(capacity.max()))
    goodput = own[own["name"] == "goodput_bit_s"]
    axes.plot(goodput["t_s"], goodput["value"] / 1e6, color=look.color, linewidth=1.0, label="goodput")
    axes.set_title(look.short, color=INK, fontsize=points(9.5), pad=3)
    return highest


def _delay(axes: Axes, delay: pd.DataFrame, look: Look) -> None:
    axes.plot(delay["t_s"], delay["value"], color=look.color, linewidth=1.0)
