"""What Jain's index can show of two kinds of flows, differences of schemes, and the throughput of every flow."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.axes import Axes

from sojourn import stats
from sojourn.results import metrics
from sojourn.stats import Estimate, Floats
from sojourn.studies.papers import picture
from sojourn.studies.papers.evidence import number
from sojourn.studies.papers.section import Drawing, Section, Words
from sojourn.view import charts, plot
from sojourn.view.palette import MUTED, Look
from sojourn.view.plot import Picture

from .kinds import JAIN

if TYPE_CHECKING:
    from sojourn.studies.papers.execute import Measured, Raw
    from sojourn.studies.papers.model import Condition, Paper, Reading

_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_DIFFERENCES: Final = (
    (JAIN, "Jain's index", 1.0),
    ("utilisation", "Utilisation", 1.0),
    ("goodput_bit_s@{}", "{} flow (kbit/s)", 1e3),
    ("queue_packets_mean", "Mean queue (packets)", 1.0),
)
_OF_SHARES: Final = (
    ("goodput_bit_s@{0}", "{0} flow, kbit/s", 1e3),
    ("goodput_bit_s@{1}", "{1} flow, kbit/s", 1e3),
    ("", "Index of these two", 1.0),
    (JAIN, "Jain's index", 1.0),
    (f"{JAIN}@{{0}}", "of {0} alone", 1.0),
    ("utilisation", "Utilisation", 1.0),
)


def structural(tcp: Floats, udp: float, tcp_flows: int, udp_flows: int) -> Floats:
    """Return Jain's index if all flows of a kind have the same throughput; the rest is the effect of the scheme.

    Parameters
    ----------
    tcp, udp
        Throughput of a flow of each kind, in one unit.
    """
    total = tcp_flows * tcp + udp_flows * udp
    squares = tcp_flows * tcp**2 + udp_flows * udp**2
    return np.asarray(total**2 / ((tcp_flows + udp_flows) * squares), dtype=np.float64)


def sections(paper: Paper, measured: Measured) -> list[Section]:
    """Return the sections on the paper's first condition; none where it was not run, nor without two kinds."""
    condition = paper.conditions[0]
    runs = [one for one in paper.readings if one.is_run and (one.name, condition.name) in measured.raw]
    if len(paper.kinds) != 2 or not runs:
        return []
    shown = [one for one in runs if one.is_shown or one is paper.readings[0]]
    of = _Shares(paper, measured, condition, runs, shown)
    return [of.arithmetic(), of.differences(), of.every_flow()]


@dataclass(frozen=True)
class _Shares:
    """The results of one condition under the readings of the simulation, and those that are shown."""

    paper: Paper
    measured: Measured
    condition: Condition
    runs: list[Reading]
    shown: list[Reading]

    def raw(self, reading: Reading) -> Raw:
        return self.measured.raw[reading.name, self.condition.name]

    @property
    def kinds(self) -> tuple[str, str]:
        """The two kinds for people."""
        first, second = (kind.upper() for kind in self.paper.kinds)
        return first, second

    @property
    def looks(self) -> dict[str, Look]:
        return picture.looks_of(self.paper)

    @property
    def counts(self) -> tuple[int, int]:
        """How many flows each kind has."""
        # A table of several conditions has as many columns as the one with most flows.
        raw = self.raw(self.runs[0])
        there = [name for name, of in raw.items() if np.isfinite(next(iter(of.values()))).any()]
        first, second = (sum(f"goodput_bit_s@{kind}-" in name for name in there) for kind in self.paper.kinds)
        return first, second

    @property
    def words(self) -> Words:
        return Words(self.paper.folder)

    def drawn(self, name: str, drawn: Picture, *table: Any, **values: Any) -> Drawing:
        values |= {"condition": self.condition.title, "replications": self.measured.replications}
        return self.words.drawing(name, drawn, *table, **values)

    def row(self, reading: Reading, scheme: str) -> str:
        return f"{reading.name}; {self.paper.printed[scheme]}"

    def values(self, reading: Reading, metric: str, scheme: str) -> Floats:
        raw = self.raw(reading)
        if metric:
            return raw[metric.format(*self.paper.kinds)][scheme]
        return structural(raw["goodput_ratio"][scheme], 1.0, *self.counts)

    def arithmetic(self) -> Section:
        """Return what the index can show: its value by the ratio of the two kinds' throughput."""
        (first, second), (m, n) = self.kinds, self.counts
        schemes, base = self.condition.schemes, self.raw(self.runs[0])
        seen: list[float] = []
        with plot.new_figure(plot.WIDTH, 4.2) as drawing:
            axes = drawing.subplots()
            for reading in self.runs:
                raw, is_shown = self.raw(reading), reading in self.shown
                color = _COLORS[self.shown.index(reading) % len(_COLORS)] if is_shown else MUTED
                for scheme in schemes:
                    x, y = float(np.mean(raw["goodput_ratio"][scheme])), float(np.mean(raw[JAIN][scheme]))
                    seen.append(x)
                    axes.scatter([x], [y], color=color, marker=self.looks[scheme].marker, s=30 if is_shown else 13,
                                 zorder=3 if is_shown else 2)  # fmt: skip
                if is_shown:
                    axes.plot([], [], color=color, linewidth=5, label=reading.name)
            ratio = np.geomspace(0.8 * min(seen), 1.25 * max(seen), 200)
            axes.plot(ratio, structural(ratio, 1.0, m, n), color=MUTED, linewidth=1.1, zorder=1,
                      label=f"{m} and {n} flows, equal within each kind")  # fmt: skip
            for scheme in schemes:
                label = self.paper.printed[scheme]
                axes.scatter([], [], color=MUTED, marker=self.looks[scheme].marker, s=24, label=label)
            axes.set_xscale("log")
            ticks = [one for one in (0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10) if ratio[0] <= one <= ratio[-1]]
            axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
            axes.minorticks_off()
            axes.set_xlabel(f"Throughput of a {first} flow divided by that of a {second} flow")
            axes.set_ylabel("Jain's index, all flows")
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8.5)
        heads = ("Reading and scheme", *(label.format(first, second) for _, label, _ in _OF_SHARES))
        rows = []
        for reading, scheme in product(self.shown, schemes):
            cells = [
                stats.estimate(
                    self.values(reading, metric, scheme) / scale, metrics.quantity(metric).times(1 / scale)
                )
                for metric, _, scale in _OF_SHARES
            ]
            rows.append((self.row(reading, scheme), *map(number, cells)))
        tcp, udp = (float(np.mean(base[f"goodput_bit_s@{kind}"][schemes[0]])) / 1e3 for kind in self.paper.kinds)
        own = {"scheme": self.paper.printed[schemes[0]], "reading": self.runs[0].name, "tcp": tcp, "udp": udp}
        filled: dict[str, Any] = own | {"m": m, "n": n, "all": m + n, "first": first, "second": second}
        filled["index"] = structural(np.array([tcp]), udp, m, n)[0]
        filled["others"] = len(self.runs) - len(self.shown)
        shown = self.drawn("arithmetic-figure", drawing, heads, rows, **filled)
        return self.words.section("arithmetic", [shown], **filled)

    def difference(self, reading: Reading, metric: str, scheme: str, scale: float) -> Estimate:
        """Return the paired difference of a scheme to the first."""
        first = self.condition.schemes[0]
        ours, theirs = (self.values(reading, metric, one) / scale for one in (scheme, first))
        return stats.paired(ours, theirs, metrics.quantity(metric).times(1 / scale))

    def differences(self) -> Section:
        """Return index, utilisation, throughput and queue of each scheme minus those of the first."""
        reference, *others = self.condition.schemes
        lines = list(product(self.shown, others))
        labels = [label.format(self.kinds[0]) for _, label, _ in _DIFFERENCES]
        found = [[self.difference(line[0], metric, line[1], scale) for metric, _, scale in _DIFFERENCES]
                 for line in lines]  # fmt: skip
        with plot.new_figure(plot.WIDTH, 0.6 + 0.23 * (len(lines) + len(self.shown))) as drawing:
            panels = drawing.subplots(1, len(_DIFFERENCES), sharey=True)
            spots = [k + k // len(others) for k in range(len(lines))]
            for column, (axes, label) in enumerate(zip(panels, labels, strict=True)):
                axes.axvline(0, color=MUTED, linewidth=0.9)
                for spot, of, (_, scheme) in zip(spots, found, lines, strict=True):
                    look = self.looks[scheme]
                    charts.interval(axes, of[column], spot, look.color, marker=look.marker, size=20)
                axes.set_title(label, fontsize=9.5)
                axes.tick_params(labelsize=8)
                axes.locator_params(axis="x", nbins=4)
            names = [f"{reading.name}: " * (scheme == others[0]) + self.paper.printed[scheme]
                     for reading, scheme in lines]  # fmt: skip
            panels[0].set_yticks(spots, names)
            panels[0].set_ylim(max(spots) + 0.7, -0.7)
        rows = tuple((self.row(*line), *map(number, of)) for line, of in zip(lines, found, strict=True))
        heads = ("Reading and scheme", *labels)
        shown = self.drawn("differences-figure", drawing, heads, rows, reference=self.paper.printed[reference])
        return self.words.section("differences", [shown])

    def every_flow(self) -> Section:
        """Return the throughput of every flow."""
        shown, schemes = self.shown, self.condition.schemes
        with plot.new_figure(plot.WIDTH, 0.8 + 1.35 * len(shown)) as drawing:
            panels = drawing.subplots(len(shown), len(schemes), sharex=True, sharey="row", squeeze=False)
            for row, reading in enumerate(shown):
                for column, scheme in enumerate(schemes):
                    self._flows(panels[row, column], self.raw(reading), scheme)
                    if row == 0:
                        panels[row, column].set_title(self.paper.printed[scheme], fontsize=9.5)
                panels[row, 0].set_ylabel(f"{reading.name}\nkbit/s", fontsize=8)
            for axes in panels[-1]:
                axes.set_xlabel("Flow", fontsize=9)
        first, second = self.kinds
        figure = self.drawn("every-flow-figure", drawing, first=first, second=second)
        return self.words.section("every-flow", [figure])

    def _flows(self, axes: Axes, raw: Raw, scheme: str) -> None:
        spot = 0
        for kind, count, color in zip(self.paper.kinds, self.counts, _COLORS, strict=False):
            heights = [float(np.mean(raw[f"goodput_bit_s@{kind}-{k}"][scheme])) / 1e3 for k in range(1, count + 1)]
            axes.bar(np.arange(spot, spot + count), heights, color=color, width=0.8)
            spot += count
        axes.axhline(float(np.mean(raw["goodput_total_bit_s@all"][scheme])) / 1e3 / spot, color=MUTED, linewidth=0.9)
        axes.set_xticks([])
        axes.tick_params(labelsize=8)
        axes.locator_params(axis="y", nbins=4)
