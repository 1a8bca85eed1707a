"""The published numbers beside the measured ones, and what may be said of their agreement."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats as scipy_stats

from sojourn import stats
from sojourn.stats import Estimate, Floats

if TYPE_CHECKING:
    from sojourn.results import Results

RANK_THRESHOLD: Final = 0.738
"""Spearman's rank correlation of eight pairs that chance exceeds in one case of twenty (two-sided)."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A published metric and what it is compared with.

    Parameters
    ----------
    key
        As in the data file.
    title, unit
        For tables and pictures; the units are inferred.
    ours
        What is measured, in words.
    values
        Our value of each replication of a scheme, in `unit`.
    """

    key: str
    title: str
    unit: str
    ours: str
    values: Callable[[Results, str], Floats]


def _column(name: str) -> Callable[[Results, str], Floats]:
    return lambda results, label: results.values(label, name)


def flow_throughput_kbit_s(results: Results, label: str) -> Floats:
    """Return the mean over flows of goodput over the flow's own lifetime, by replication, in kbit/s."""
    flows = results.flows[(results.flows["scheme"] == label) & (results.flows["flow_duration_s"] > 0)]
    measured_s = float(results.runs["measured_s"].iloc[0])
    own = flows["goodput_bit_s"] * measured_s / flows["flow_duration_s"] / 1e3
    by_run: Floats = own.groupby(flows["replication"]).mean().sort_index().to_numpy(dtype=np.float64)
    return by_run


METRICS: Final = (
    Metric(
        "queue_length_packets",
        "Queue length",
        "packets",
        "time-weighted mean of the packets waiting in the schemes' queues, all interfaces together",
        _column("queue_packets_mean"),
    ),
    Metric(
        "sojourn_time_ms",
        "Sojourn time",
        "ms",
        "mean time in the scheme's queue, of packets that left it",
        _column("sojourn_ms_mean"),
    ),
    Metric(
        "end_to_end_delay_ms",
        "End-to-end delay",
        "ms",
        "mean time from sending a data packet to its arrival",
        _column("one_way_delay_ms_mean"),
    ),
    Metric(
        "packet_loss_ratio",
        "Loss ratio",
        "",
        "drops over arrivals at the schemes' queues",
        _column("loss_ratio"),
    ),
    Metric(
        "throughput_kbps",
        "Flow throughput",
        "kbit/s",
        "mean over flows of goodput over the flow's lifetime",
        flow_throughput_kbit_s,
    ),
    Metric(
        "flow_completion_time_s",
        "Completion time",
        "s",
        "mean time from a flow's first packet to the last that arrived",
        _column("flow_duration_s_mean"),
    ),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One published number beside ours."""

    published: float
    measured: Estimate
    further_run: tuple[float, float] | None

    @property
    def is_in_interval(self) -> bool:
        """Whether the published number lies in the 95 % interval of our mean."""
        low, high = self.measured.low, self.measured.high
        return low is not None and high is not None and low <= self.published <= high

    @property
    def is_one_of_ours(self) -> bool:
        """Whether it could be one further run of ours: inside the 95 % prediction interval."""
        return self.further_run is not None and self.further_run[0] <= self.published <= self.further_run[1]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What may be said of one metric over all schemes."""

    schemes: int
    in_interval: int
    one_of_ours: int
    rank: float
    least_ratio: float
    greatest_ratio: float

    @property
    def verdict(self) -> str:
        """The statement, by a rule fixed beforehand."""
        if self.one_of_ours == self.schemes:
            return "agrees"
        ranks = math.isfinite(self.rank) and self.rank >= RANK_THRESHOLD
        if ranks:
            return "agrees in the order of the schemes, not in size"
        if self.one_of_ours:
            return f"does not agree, but for {self.one_of_ours} of {self.schemes} schemes"
        return "does not agree"


@cache
def numbers() -> dict[tuple[str, str], float]:
    """Return the published numbers by (scheme, metric)."""
    file = resources.files("sojourn") / "data" / "daqm_table8.csv"
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {
        (row["scheme"].replace("dAQM_", "dAQM "), row["metric"]): float(row["published"])
        for row in csv.DictReader(lines)
    }


def pair(results: Results, label: str, metric: Metric) -> Pair:
    """Return a scheme's published number of a metric beside ours."""
    values = metric.values(results, label)
    return Pair(numbers()[label, metric.key], stats.estimate(values), stats.prediction(values))


def agreement(results: Results, metric: Metric) -> Agreement:
    """Compare all schemes by one metric."""
    pairs = [pair(results, label, metric) for label in results.labels]
    ours = np.array([found.measured.mean for found in pairs])
    theirs = np.array([found.published for found in pairs])
    ratios = [ours_ / theirs_ for ours_, theirs_ in zip(ours, theirs, strict=True) if theirs_ > 0]
    # Constant values have no order to compare.
    is_constant = np.ptp(ours) == 0 or np.ptp(theirs) == 0 or not np.isfinite(ours).all()
    return Agreement(
        schemes=len(pairs),
        in_interval=sum(found.is_in_interval for found in pairs),
        one_of_ours=sum(found.is_one_of_ours for found in pairs),
        rank=math.nan if is_constant else float(scipy_stats.spearmanr(ours, theirs).statistic),
        least_ratio=min(ratios, default=math.nan),
        greatest_ratio=max(ratios, default=math.nan),
    )


def implied_rate(label: str) -> float:
    """Return the packets a second that Little's law implies for a scheme's published queue and sojourn time."""
    queue, sojourn_ms = numbers()[label, "queue_length_packets"], numbers()[label, "sojourn_time_ms"]
    return queue / (sojourn_ms / 1e3)
