"""Pictures of results (matplotlib). Each method returns a new figure that a notebook shows by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from sojourn import stats
from sojourn.base import suggest
from sojourn.base.errors import RunError
from sojourn.results import drawing, groups, metrics, tables
from sojourn.stats import Floats
from sojourn.view import capacity, charts
from sojourn.view.canvas import (
    NARROW,
    PAPER_POINTS,
    WIDTH,
    Picture,
    is_narrow,
    is_wide,
    label_spots,
    logarithmic,
    new_figure,
    points,
    sheet,
)
from sojourn.view.figures import FIGURES, OWN_DELAY
from sojourn.view.palette import INK, MUTED, PAPER, RULE, Look, looks

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.results.results import Results

__all__ = [
    "NARROW",
    "PAPER_POINTS",
    "WIDTH",
    "Picture",
    "Plots",
    "is_narrow",
    "label_spots",
    "new_figure",
    "points",
    "sheet",
]

_MOST_LABELS: Final = 13
"""More points than this get a legend: their labels would cover each other."""
_GROUP_MARKERS: Final = "os^Dv"
_GROUP_BAND: Final = 0.75
"""Share of a scheme's row in which its groups of flows are drawn."""
_SERIES: Final = "series:"
"""Before the name of a time series, the name of its picture."""
_MOST_CURVES: Final = 12
"""More curves in a panel get no legend."""
_SHORT: Final = 18
"""Longest labels, in characters, of which a column holds two side by side."""


class Plots(drawing.Plots):
    """The pictures of one set of results."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._looks = looks(results.labels, [scheme.algorithm for scheme in results.schemes])

    @property
    def looks(self) -> dict[str, Look]:
        """Each scheme's colour, marker, dashes and short label."""
        return self._looks

    def draw(self, name: str) -> Picture:
        """Draw one of the pictures that :meth:`names` lists.

        Raises
        ------
        SojournError
            Unknown name, or the results have no data for it.
        """
        names = self.names()
        if name.startswith(_SERIES) and name in names:
            return self.over_time(stem := name.removeprefix(_SERIES), self._title(stem))
        if name not in names:
            raise RunError(suggest.unknown("figure", name, names))
        return next(one for one in FIGURES if one.name == name).draw(self._results, self)

    def names(self) -> list[str]:
        """Return the names of the pictures that the results have data for."""
        series = tables.stems(self._results.series["name"].unique())
        return [
            *(one.name for one in FIGURES if one.is_there(self._results)),
            *(f"{_SERIES}{stem}" for stem in series),
        ]

    def _height(self, least: float) -> float:
        """Return the height, in inches, of a picture with a legend of every scheme beside it."""
        return max(least, 0.8 + 0.21 * len(self._looks))

    def delay_throughput(self) -> Picture:
        """Draw mean queueing delay against goodput, with an uncertainty ellipse for each scheme.

        The queueing delay is the mean sojourn time of the packets that left the headline queue. The
        shadows of an ellipse on the axes are the 95 % intervals of the two means and its tilt is their
        correlation over replications; it needs three replications. Small points are the replications.
        """
        delay, goodput = metrics.find("sojourn_ms_mean"), metrics.find("goodput_bit_s")
        is_crowded = len(self._looks) > _MOST_LABELS
        with new_figure(WIDTH, self._height(4.6) if is_crowded else 4.6) as figure:
            axes = figure.add_subplot()
            spots = {}
            for label, look in self._looks.items():
                x = self._results.values(label, delay.name) * delay.scale
                y = self._results.values(label, goodput.name) * goodput.scale
                if not np.isfinite(x * y).any():
                    continue
                spots[label] = (float(np.nanmean(x)), float(np.nanmean(y)))
                charts.cloud(axes, x, y, look, stats.ellipse(x, y), spots[label])
            if spots and is_wide([x for x, _ in spots.values() if x > 0]):
                logarithmic(axes, "x")
            axes.margins(0.08)
            axes.set_xlabel(self._named(f"Mean queueing delay ({delay.shown_unit})"))
            axes.set_ylabel(f"Goodput ({goodput.shown_unit})")
            axes.set_title("↖ better", color=MUTED, fontsize=points(9.5))
            if is_crowded:
                _legend(axes)
            else:
                label_spots(figure, axes, {self._looks[label].short: spot for label, spot in spots.items()})
        return figure

    def sojourn_cdf(self) -> Picture:
        """Draw the distribution function of the sojourn time, averaged over replications."""
        return self.cdf("sojourn_ms", self._named("Sojourn time (ms)"))

    def cdf(self, quantity: str, title: str) -> Picture:
        """Draw the distribution function of a quantity, of the headline queue.

        Parameters
        ----------
        quantity
            ``sojourn_ms`` or ``queue_packets`` (``sojourn_ms:left->right`` of another queue under test than the
            headline queue), or ``one_way_delay_ms``.
        title
            Of the axis.

        Raises
        ------
        SojournError
            If the results have no such distribution.
        """
        points, quantity = self._results.distributions, self._results.curve(quantity)
        points = points[points["quantity"] == quantity]
        if points.empty:
            raise RunError(f"the results have no distribution of {quantity}")
        curves = []
        for label, look in self._looks.items():
            if found := mean_share(points[points["scheme"] == label]):
                curves.append((look, *found))
        with new_figure(WIDTH, self._height(4.0), rows=9 + len(self._looks)) as figure:
            axes = figure.add_subplot()
            charts.shares(axes, curves)
            charts.share_axis(axes, curves)
            axes.set_xlabel(title)
            axes.set_ylabel("Share of packets" if is_narrow() else "Share of packets at or below")
            _legend(axes)
        return figure

    def delay_cdf_by_group(self) -> Picture:
        """Draw the distribution function of the one-way delay of each group of flows, a panel for each scheme.

        Raises
        ------
        SojournError
            If the scenario has one group of flows, or more than 16.
        """
        found = self._results.distributions
        found = found[found["quantity"].str.startswith(OWN_DELAY)]
        if found.empty:
            raise RunError("delays by group of flows need a scenario with 2 to 16 groups")
        names = [str(name) for name in found["quantity"].str.removeprefix(OWN_DELAY).unique()]
        own = looks(names, names)
        shown = [label for label in self._looks if (found["scheme"] == label).any()]
        drawn: list[charts.Share] = []
        with charts.panels(len(shown), 2, 0.9, 1.9, rows=6, sharex=True, sharey=True) as (figure, panels):
            for axes, label in zip(panels, shown, strict=False):
                curves = []
                for name, look in own.items():
                    part = found[(found["scheme"] == label) & (found["quantity"] == f"{OWN_DELAY}{name}")]
                    if mean := mean_share(part):
                        curves.append((replace(look, short=name), *mean))
                charts.shares(axes, curves)
                charts.title(axes, self._looks[label].short)
                drawn += curves
            charts.share_axis(panels[0], drawn, log=False)
            figure.supxlabel("One-way delay (ms)", fontsize=points(9.5))
            figure.supylabel("Share of packets at or below", fontsize=points(9.5))
            _legend(panels[min(len(shown), 2) - 1])
        return figure

    def _title(self, stem: str) -> str:
        """Return the words for the axis of a time series."""
        samples = self._results.series
        named = samples[(samples["name"] == stem) | samples["name"].str.startswith(f"{stem}:")]
        unit = str(named["unit"].iloc[0])
        words = stem.removesuffix("_bit_s").removesuffix("_packets_s").removesuffix("_packets").removesuffix("_ms")
        return f"{words.replace('_', ' ')}{f' ({unit})' if unit else ''}"

    def queue_over_time(self) -> Picture:
        """Draw the number of waiting packets over time, a panel for each scheme, of the first replication.

        Raises
        ------
        SojournError
            If the results have no time series.
        """
        return self.over_time(self._results.curve("queue_packets"), self._named("Packets waiting"))

    def _named(self, title: str) -> str:
        """Return the title of an axis of queues: with the queue's name, where several are under test."""
        return f"{title}\nat {self._results.queue}" if len(self._results.tested) > 1 else title

    def capacity(self) -> Picture:
        """Draw capacity, goodput and queueing delay over time where the rate of a link under test changes.

        Two panels for each scheme, of the first replication.

        Raises
        ------
        SojournError
            If the results have no time series of a capacity.
        """
        if "capacity" not in self.names():
            raise RunError(
                "the results have no time series of a capacity, which needs series=... and a link under test whose "
                "rate changes"
            )
        return capacity.draw(self._results, self._looks)

    def over_time(self, name: str, title: str) -> Picture:
        """Draw a time series of the first replication, a panel for each scheme; `title` is that of the vertical axis.

        Without the name of a flow or queue in `name`, all that have the series are drawn.

        Raises
        ------
        SojournError
            If the results have no such series.
        """
        samples = self._results.series
        is_named = (samples["name"] == name) | samples["name"].str.startswith(f"{name}:")
        samples = samples[is_named & (samples["replication"] == samples["replication"].min())]
        if samples.empty:
            raise RunError(f"the results have no time series of {name}: ask for them with series=...")
        shown = [label for label in self._looks if (samples["scheme"] == label).any()]
        with charts.panels(len(shown), 2, 0.7, 1.15, rows=4, sharex=True, sharey=True) as (figure, panels):
            peaks = []
            for axes, label in zip(panels, shown, strict=False):
                own = samples[samples["scheme"] == label]
                look = self._looks[label]
                parts = list(own.groupby("name", sort=False))
                several = looks(names := [_of(str(of)) for of, _ in parts], names) if len(parts) > 1 else {}
                for of, part in parts:
                    one = several.get(_of(str(of)), look)
                    axes.plot(part["t_s"], part["value"], color=one.color, linewidth=1.0, label=one.short)
                    dots = part[_alone(part["value"].to_numpy(dtype=np.float64))]
                    if not dots.empty:
                        axes.plot(dots["t_s"], dots["value"], ".", color=one.color, markersize=2.0)
                if 1 < len(parts) <= _MOST_CURVES:
                    axes.legend(fontsize=points(7), loc="upper right", ncols=2, handlelength=1.0)
                charts.title(axes, look.short)
                peaks.append(float(own["value"].quantile(0.95)))
            first = panels[0]
            is_log = is_wide([value for value in peaks if value > 0])
            if is_log:
                first.set_yscale("symlog", linthresh=1.0)
                first.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            if not (samples["value"] < 0).any():
                first.set_ylim(bottom=0)
            warm_up = float(self._results.runs["warm_up_s"].iloc[0])
            for axes in panels:
                if warm_up > 0:
                    axes.axvspan(0, warm_up, color=RULE, alpha=0.45, linewidth=0)
                axes.margins(x=0)
            # A panel above an empty place needs the labels of the axis that would be below it.
            for axes in panels[-2 if len(shown) == len(panels) else -4 :]:
                axes.tick_params(labelbottom=True)
            figure.supxlabel("Time (s)" + (", warm-up shaded" if warm_up > 0 else ""), fontsize=points(9.5))
            figure.supylabel(title + (", logarithmic" if is_log else ""), fontsize=points(9.5))
        return figure

    def flow_shares(self) -> Picture:
        """Draw every flow's goodput, averaged over replications, a row for each scheme, groups of flows apart."""
        flows = self._results.flows
        # Flows that would have started after the end have no share.
        # Real flows do not say what they sent.
        if "sent_packets" in flows:
            flows = flows[flows.groupby("flow")["sent_packets"].transform("sum") > 0]
        scale, unit = (1e-6, "Mbit/s") if flows["goodput_bit_s"].mean() >= 1e6 else (1e-3, "kbit/s")
        jain = metrics.find("jain_index")
        groups = [str(group) for group in flows["group"].unique()]
        # Room for a legend of several rows.
        more = math.ceil(len(groups) / 4) - 1
        with new_figure(WIDTH, 0.8 + 0.36 * len(self._looks) + 0.25 * more, len(self._looks) + more) as figure:
            axes = figure.add_subplot()
            for row, (label, look) in enumerate(self._looks.items()):
                for place, group in enumerate(groups):
                    at = row + _GROUP_BAND * ((place + 0.5) / len(groups) - 0.5)
                    chosen = flows[(flows["scheme"] == label) & (flows["group"] == group)]
                    own = chosen.groupby("flow", sort=False)["goodput_bit_s"].mean() * scale
                    marker = _GROUP_MARKERS[place % len(_GROUP_MARKERS)]
                    axes.scatter(
                        own, np.full(len(own), at), s=26, marker=marker, color=look.color, alpha=0.6, linewidths=0
                    )
                    half = 0.4 * _GROUP_BAND / len(groups)
                    axes.plot([own.mean()] * 2, [at - half, at + half], color=INK, linewidth=1.4)
                if "jain_index" in self._results.runs and not is_narrow():
                    found = self._results.estimate(label, jain.name)
                    axes.annotate(
                        f"Jain {metrics.written(found)}",
                        (1.01, row),
                        xycoords=("axes fraction", "data"),
                        va="center",
                        fontsize=points(8.5),
                        color=MUTED,
                    )
            charts.names(axes, [look.short for look in self._looks.values()])
            axes.set_xlim(left=0)
            axes.set_xlabel(f"Goodput of each flow ({unit})" + ("" if is_narrow() else "; the bar is the mean"))
            for place, group in enumerate(groups):
                marker = _GROUP_MARKERS[place % len(_GROUP_MARKERS)]
                axes.scatter([], [], s=26, marker=marker, color=MUTED, linewidths=0, label=group)
            figure.legend(loc="outside upper left", ncols=4, handletextpad=0.2)
        return figure

    def differences(
        self,
        baseline: str | None = None,
        names: Sequence[str] = ("sojourn_ms_mean", "sojourn_ms_p99", "goodput_bit_s", "loss_ratio"),
    ) -> Picture:
        """Draw paired differences of metrics to a baseline with their 95 % intervals, a panel for each metric.

        The baseline is the label of a scheme, by default the first.
        """
        base = self._results.labels[0] if baseline is None else baseline
        shown = {label: look for label, look in self._looks.items() if label != base}
        present = [name for name in names if metrics.split(name)[0] in self._results.metric_names()]
        columns = min(len(present), 2) if is_narrow() else len(present)
        height, rows = 1.0 + 0.33 * len(shown), len(shown) + 3
        with charts.panels(len(present), columns, 0.0, height, rows=rows, sharey=True) as (figure, panels):
            for axes, name in zip(panels, present, strict=False):
                metric = metrics.find(name)
                axes.axvline(0, color=MUTED, linewidth=1)
                for row, (label, look) in enumerate(shown.items()):
                    found = self._results.difference(label, name, base)
                    size, edge = 36 * look.weight, {"edgecolors": PAPER, "linewidths": 0.7}
                    charts.interval(axes, found, row, look.color, metric.scale, look.marker, size, **edge)
                unit = metric.difference_unit
                title = metric.title.replace(", ", ",\n") if is_narrow() else metric.title
                title = self._named(title) if metrics.is_of_queues(name) else title
                axes.set_title(title, fontsize=points(9.5))
                axes.set_xlabel(unit if unit and is_narrow() else f"difference ({unit})" if unit else "difference")
                axes.locator_params(axis="x", nbins=4)
            for axes in panels[::columns]:
                charts.names(axes, [look.short for look in shown.values()])
        return figure

    def groups(self) -> Picture:
        """Draw the main metric of each group of flows, a panel for each group: see :mod:`sojourn.results.groups`."""
        known = groups.of(self._results)
        columns, count = 1 if is_narrow() else 2, len(self._looks)
        with charts.panels(len(known), columns, 0.0, 0.9 + 0.3 * count, rows=3 + count, sharey=True) as (
            figure,
            panels,
        ):
            for axes, group in zip(panels, known, strict=False):
                for row, (label, look) in enumerate(self._looks.items()):
                    _bar(axes, groups.estimate(self._results, label, group), row, look, group.metric.scale)
                unit = f" ({group.metric.shown_unit})" if group.metric.shown_unit else ""
                axes.set_title(f"{group.name}: {group.metric.phrase}{unit}", fontsize=points(10))
                # Room for the numbers at the ends of the bars.
                axes.set_xlim(0, 1.25 * axes.dataLim.x1 or 1.0)
                axes.locator_params(axis="x", nbins=5)
                charts.names(axes, [look.short for look in self._looks.values()])
        return figure


def mean_share(points: pd.DataFrame) -> tuple[Floats, Floats] | None:
    """Return the mean of the distribution functions of all replications; None without any."""
    curves = [
        (run["value"].to_numpy(dtype=np.float64), run["cumulative"].to_numpy(dtype=np.float64))
        for _, run in points.groupby("replication")
    ]
    curves = [one for one in curves if one[0].size]
    return stats.mean_cdf(curves) if curves else None


def _bar(axes: Axes, found: stats.Estimate, row: float, look: Look, scale: float) -> None:
    """Draw an estimate as a bar from zero, with its number and its interval."""
    if not math.isfinite(found.mean):
        return
    mean, end = found.mean * scale, found.mean * scale
    axes.barh([row], [mean], height=0.62, color=look.color)
    if found.low is not None and found.high is not None:
        end = found.high * scale
        axes.plot([found.low * scale, end], [row, row], color=INK, linewidth=1.4)
    axes.annotate(f"{mean:.3g}", (end, row), (5, 0), textcoords="offset points", va="center", fontsize=points(9))


def _alone(values: Floats) -> npt.NDArray[np.bool_]:
    """Return which values have none before and behind them, so that a line does not show them."""
    known = np.isfinite(np.concatenate(([np.nan], values, [np.nan])))
    return known[1:-1] & ~known[:-2] & ~known[2:]


def _of(name: str) -> str:
    """Return the flow or queue that a time series is of."""
    return name.partition(":")[2] or "all"


def _legend(axes: Axes) -> None:
    figure = axes.get_figure(root=True)
    if is_narrow() and figure is not None:
        longest = max((len(text) for text in axes.get_legend_handles_labels()[1]), default=0)
        figure.legend(
            loc="outside upper left", ncols=2 if longest <= _SHORT else 1, handlelength=2.0, columnspacing=1.0
        )
    else:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=2.4)
