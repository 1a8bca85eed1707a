"""Flent's picture of its test RRUL, of our results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sojourn import stats
from sojourn.base.errors import RunError
from sojourn.model.lines import CLASSES, PINGS
from sojourn.view.canvas import WIDTH, new_figure, points

if TYPE_CHECKING:
    from sojourn.results.results import Results
    from sojourn.view.plot import Picture

_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def draw(results: Results, label: str) -> Picture:
    """Draw downloads, uploads and pings of a scheme over time, see :meth:`sojourn.RrulSummary.plot`."""
    panels = {
        "TCP download (Mbit/s)": {name: f"goodput_bit_s:download-{name}[0]" for name in CLASSES},
        "TCP upload (Mbit/s)": {name: f"goodput_bit_s:upload-{name}[0]" for name in CLASSES},
        "Ping (ms)": {name: f"rtt_ms:ping-{name.replace(' ', '-')}[0]" for name in PINGS},
    }
    with new_figure(WIDTH, 6.6) as figure:
        all_axes = figure.subplots(len(panels), 1, sharex=True)
        for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
            scale = 1.0 if title.startswith("Ping") else 1e-6
            drawn = {name: _curve(results, label, series, scale) for name, series in curves.items()}
            for (name, (at, values)), color in zip(drawn.items(), _COLORS, strict=True):
                axes.plot(at, values, color=color, linewidth=0.9, label=name)
            at = next(iter(drawn.values()))[0]
            mean = _smoothed(np.array([values for _, values in drawn.values()]))
            axes.plot(at, mean, color="black", linewidth=1.8, label="Avg")
            low, high = np.nanquantile(np.concatenate([values for _, values in drawn.values()]), (0.05, 0.95))
            axes.set_ylim(max(low - 0.15 * (high - low), 0.0), high + 0.15 * (high - low) + 1e-9)
            axes.set_ylabel(title)
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=points(8))
        all_axes[0].set_title(f"{results.name}: {label}", loc="left")
        all_axes[-1].set_xlabel("Time (s)")
        return figure


def _curve(results: Results, label: str, name: str, scale: float) -> tuple[stats.Floats, stats.Floats]:
    part = results.series
    part = part[(part["scheme"] == label) & (part["name"] == name) & (part["replication"] == 0)]
    if part.empty:
        raise RunError(f"the results have no time series {name} of {label}: set series.flows=true")
    part = part.sort_values("t_s")
    return part["t_s"].to_numpy(np.float64), part["value"].to_numpy(np.float64) * scale


def _smoothed(curves: stats.Floats, over: int = 10) -> stats.Floats:
    """Return the mean of curves, smoothed over so many points; NaN where no curve has a value near."""
    seen = np.isfinite(curves)
    sums = np.convolve(np.where(seen, curves, 0.0).sum(axis=0), np.ones(over), mode="same")
    counts = np.convolve(seen.sum(axis=0), np.ones(over), mode="same")
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0.5)
