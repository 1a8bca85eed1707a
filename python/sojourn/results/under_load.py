"""What Flent shows of a line under its test RRUL, of our results.

>>> import sojourn as sj
>>> line = sj.access(down=sj.mbit_s(20), up=sj.mbit_s(4), rtt=sj.ms(30), technology="docsis", duration=sj.s(12))
>>> results = sj.compare(line.add_flows(sj.rrul()), ["pfifo limit 1000p", "fq_codel"], replicates=2, seed=1)
>>> latency = sj.RrulSummary(results).latency_ms
>>> latency("fq_codel").mean < latency("pfifo limit 1000p").mean
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sojourn import stats
from sojourn.base import provided, suggest
from sojourn.base.errors import RunError
from sojourn.model.lines import CLASSES, PINGS, rrul
from sojourn.results import metrics

if TYPE_CHECKING:
    from sojourn.results.drawing import Picture
    from sojourn.results.results import Results


@dataclass(frozen=True)
class RrulSummary:
    """What Flent's plots of a test ``rrul`` show, of results with the flows of :func:`rrul`.

    Parameters
    ----------
    results
        Of a run or a comparison.

    Raises
    ------
    SojournError
        If the results have other flows.

    Notes
    -----
    ``print`` writes a table with Flent's names: goodput of each direction, and round-trip times of each ping, as
    means over replications with 95 % intervals. Flent's own summary has medians and means over the points of one run.
    """

    results: Results

    def __post_init__(self) -> None:
        known = {str(flow["name"]) for flow in self.results.scenario["flows"]}
        if not {str(flow["name"]) for flow in rrul()} <= known:
            raise RunError(f"the results of {self.results.name!r} have no flows of sj.rrul()")

    def goodput_mbit_s(self, label: str, way: str) -> stats.Estimate:
        """Return the sum of the TCP flows of ``download`` or ``upload``, with its 95 % interval."""
        if way not in ("download", "upload"):
            raise RunError(suggest.unknown("direction", way, ("download", "upload")))
        each = [self.results.values(label, "goodput_bit_s", f"{way}-{name}") for name in CLASSES]
        return self.results.mean(label, np.sum(each, axis=0) / 1e6)

    def latency_ms(self, label: str, ping: str | None = None) -> stats.Estimate:
        """Return the mean round-trip time of a ping while TCP sends, with its 95 % interval.

        The ping is ``UDP EF``, ``UDP BK``, ``UDP BE`` or ``ICMP``; by default it is the mean of all.
        """
        names = list(PINGS) if ping is None else [ping]
        if unknown := [name for name in names if name not in PINGS]:
            raise RunError(suggest.unknown("ping", unknown[0], PINGS))
        each = [self.results.values(label, "rtt_ms_mean", f"ping-{name.replace(' ', '-')}") for name in names]
        return self.results.mean(label, np.mean(each, axis=0))

    def rows(self, label: str) -> list[tuple[str, str, stats.Estimate]]:
        """Return Flent's name, unit and estimate of each line of the table."""
        ways = [(f"TCP {way} sum", "Mbit/s", self.goodput_mbit_s(label, way)) for way in ("download", "upload")]
        pings = [(f"Ping (ms) {name}", "ms", self.latency_ms(label, name)) for name in PINGS]
        return [*ways, *pings, ("Ping (ms) avg", "ms", self.latency_ms(label))]

    def __str__(self) -> str:
        columns = {label: self.rows(label) for label in self.results.labels}
        names = [name for name, _, _ in next(iter(columns.values()))]
        units = [unit for _, unit, _ in next(iter(columns.values()))]
        texts = {label: [metrics.written(estimate) for _, _, estimate in rows] for label, rows in columns.items()}
        widths = {label: max(len(label), *map(len, column)) for label, column in texts.items()}
        first = max(map(len, names))
        lines = [" " * (first + 9) + "  ".join(label.rjust(width) for label, width in widths.items())]
        for place, (name, unit) in enumerate(zip(names, units, strict=True)):
            values = "  ".join(texts[label][place].rjust(width) for label, width in widths.items())
            lines.append(f"{name.ljust(first)} {unit.rjust(6)}  {values}")
        return "\n".join(lines)

    def plot(self, label: str | None = None) -> Picture:
        """Draw Flent's plot ``all_scaled`` of the first replication: downloads, uploads and pings over time.

        Parameters
        ----------
        label
            Of the scheme; by default the first.

        Raises
        ------
        SojournError
            If the results have no time series of each flow (``series.flows``), which :func:`access` asks for.

        Notes
        -----
        As in Flent, a point stands for 200 ms, the average is smoothed over 10 points, and the vertical axes reach
        from the 5 % to the 95 % quantile of what is drawn, and a little further.
        """
        drawn: Picture = provided.get("picture of rrul")(
            self.results, self.results.labels[0] if label is None else label
        )
        return drawn
