"""Pictures of theory (matplotlib); each returns a new figure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sojourn.stats import Floats
from sojourn.theory.queue import Law
from sojourn.theory.stability import Chart, Linear, gain
from sojourn.view import plot
from sojourn.view.palette import INK, MUTED
from sojourn.view.plot import Picture

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31", "#7b4173")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (8, 2)), (0, (2, 3)))


def dropping_functions(laws: Mapping[str, Law], *, lengths: tuple[int, int]) -> Picture:
    """Draw d(n) of several laws between two lengths."""
    n = np.arange(lengths[0], lengths[1] + 1)
    with plot.new_figure(plot.WIDTH, 3.6) as drawing:
        axes = drawing.subplots()
        for k, (name, law) in enumerate(laws.items()):
            axes.plot(n, [law.at(int(at)) for at in n], color=COLORS[k % 9], linestyle=_DASHES[k % 9], label=name)
        axes.set_xlabel("packets that an arrival finds")
        axes.set_ylabel("probability of loss")
        drawing.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
    return drawing


def stable_region(chart: Chart, *, first: str, second: str) -> Picture:
    """Draw the stable region; the line is where the roots reach the axis, and both axes are logarithmic."""
    with plot.new_figure(plot.WIDTH * 0.75, 3.8) as drawing:
        axes = drawing.subplots()
        most = float(np.nanmax(np.abs(chart.growth_per_rtt)))
        drawn = axes.pcolormesh(
            chart.first, chart.second, chart.growth_per_rtt.T, cmap="PuOr_r", vmin=-most, vmax=most, shading="gouraud"
        )
        values = chart.growth_per_rtt[np.isfinite(chart.growth_per_rtt)]
        if values.min() < 0 < values.max():
            axes.contour(chart.first, chart.second, chart.growth_per_rtt.T, levels=[0.0], colors=INK, linewidths=1.8)
        drawing.colorbar(drawn, ax=axes, label="growth in a round trip (stable below 0)")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(first)
        axes.set_ylabel(second)
        axes.grid(visible=False)
    return drawing


def nyquist(loops: Mapping[str, Linear], *, reach: float = 3.0) -> Picture:
    """Draw the loops' gains in the complex plane; one that passes to the left of -1 is unstable."""
    with plot.new_figure(plot.WIDTH * 0.55, 4.4) as drawing:
        axes = drawing.subplots()
        for k, (name, linear) in enumerate(loops.items()):
            omega: Floats = np.geomspace(1e-2 / linear.delay_s, 1e2 / linear.delay_s, 4000)
            curve = gain(linear, omega)
            near = np.abs(curve) < 2 * reach
            axes.plot(
                np.where(near, curve.real, np.nan), np.where(near, curve.imag, np.nan), color=COLORS[k], label=name
            )
        axes.scatter([-1], [0], marker="x", color=INK, zorder=4)
        axes.axhline(0, color=MUTED, linewidth=0.8)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        axes.set_xlim(-reach, reach / 2)
        axes.set_ylim(-reach, reach)
        axes.set_aspect("equal")
        axes.set_xlabel("real part of the gain")
        axes.set_ylabel("imaginary part")
        drawing.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return drawing
