"""Fairness of an allocation among flows: measures of one run's goodputs, and their estimates over replications.

Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984) says how even an allocation is and nothing of who gets it; the
others say who. Allocations are arrays with a value for each flow, in any one unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from sojourn.base import suggest
from sojourn.base.errors import RunError
from sojourn.base.units import Time, from_ns, to_ns
from sojourn.results import tables
from sojourn.stats.estimates import EXACT, Floats, Quantity, jain

if TYPE_CHECKING:
    from sojourn.results.data import ResultData

SERIES: Final = "goodput_bit_s:"
"""How the name of a flow's series begins; the flow's name follows."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of fairness: its definition in words, and its value in a fair allocation (None where none is)."""

    name: str
    definition: str
    fair: float | None
    quantity: Quantity


_SHARE: Final = Quantity(least=0.0, most=1.0)
_RATIO: Final = Quantity(least=0.0)

MEASURES: Final = (
    Measure("jain_index", "Jain's index over the flows.", 1.0, _SHARE),
    Measure("max_min_share", "Smallest goodput over the fair share, the mean goodput of the flows.", 1.0, _SHARE),
    Measure(
        "proportional_index",
        "Geometric over arithmetic mean of the goodputs: proportional fairness; 0 with a starved flow.",
        1.0,
        _SHARE,
    ),
    Measure(
        "rtt_slope",
        "Slope of ln goodput over ln mean RTT where these differ; -1 where goodput falls as 1/RTT.",
        0.0,
        EXACT,
    ),
    Measure(
        "early_over_late", "Mean goodput of the half that started first over that of the other half.", 1.0, _RATIO
    ),
    Measure(
        "short_over_long",
        "Mean rate while alive of transfers that completed over that of flows that lasted.",
        1.0,
        _RATIO,
    ),
    Measure("unresponsive_share", "Share of the delivered traffic, headers included, that is UDP.", None, _SHARE),
)
"""What :func:`table` computes."""

_MEASURES: Final = {one.name: one for one in MEASURES}

_SPREAD: Final = 1.2
"""Smallest ratio of the largest to the smallest round-trip time for which a slope over them is computed."""


def max_min_share(shares: Floats) -> float:
    """Return the smallest share over the mean: 1 when all are equal, 0 when one has nothing; NaN without traffic."""
    mean = float(shares.mean()) if shares.size else 0.0
    return float(shares.min()) / mean if mean > 0 else math.nan


def proportional_index(shares: Floats) -> float:
    """Return geometric over arithmetic mean: 1 when all are equal, 0 when one has nothing; NaN without traffic.

    Its logarithm is the utility of proportional fairness, the mean of ln x (Kelly, European Transactions on
    Telecommunications 8(1), 1997), minus the utility of the equal allocation of the same sum.
    """
    mean = float(shares.mean()) if shares.size else 0.0
    if mean <= 0:
        return math.nan
    return float(np.exp(np.log(shares / mean).mean())) if (shares > 0).all() else 0.0


def max_min_allocation(capacity: float, demands: Floats) -> Floats:
    """Return the max-min fair allocation of a link's capacity (Bertsekas and Gallager, Data Networks, section 6.5.2).

    Nobody gets more than its demand, and who gets less than it has as much as anyone. Demands are in the unit of the
    capacity; infinite for a flow that takes what it gets.
    """
    given = np.zeros(demands.size)
    left = capacity
    order = np.argsort(demands, kind="stable")
    for place, flow in enumerate(order):
        given[flow] = min(float(demands[flow]), left / (demands.size - place))
        left -= given[flow]
    return given


def demands(flows: pd.DataFrame) -> Floats:
    """Return what each flow asks for in bit/s: one of UDP what it sends, one of TCP as much as it gets (infinite).

    `flows` are rows of the table of flows. What UDP sends is its goodput without its losses, in payload.
    """
    kept = 1 - flows["dropped_packets"].to_numpy(np.float64) / flows["sent_packets"].to_numpy(np.float64)
    is_udp = (flows["transport"] == "udp").to_numpy() & (kept > 0)
    found = np.full(kept.size, np.inf)
    np.divide(flows["goodput_bit_s"].to_numpy(np.float64), kept, out=found, where=is_udp)
    return found


def fair_share_index(goodput: Floats, demands: Floats) -> float:
    """Return Jain's index of goodputs over the max-min fair shares of their sum; NaN without traffic.

    It is 1 where who asks for less than the others have gets it, and the others are equal, where Jain's index of the
    goodputs is below 1 (Jain, "Throughput fairness index: an explanation", ATM Forum 99-0045, 1999).
    """
    shares = max_min_allocation(float(goodput.sum()), demands)
    asks = shares > 0
    return jain(goodput[asks] / shares[asks])


OVER_TIME: Final[dict[str, Callable[[Floats], float]]] = {
    "jain_index": jain,
    "max_min_share": max_min_share,
    "proportional_index": proportional_index,
}
"""The measures that :func:`over_time` computes."""


def log_slope(shares: Floats, against: Floats) -> float:
    """Return the least-squares slope of ln share over ln of something: RTT, say.

    NaN where that something lies within a ratio of 1.2. Flows without a share or without that something are left out.
    """
    known = (shares > 0) & (against > 0)
    x, y = np.log(against[known]), np.log(shares[known])
    if x.size < 2 or np.ptp(x) < np.log(_SPREAD):
        return math.nan
    x = x - x.mean()
    return float((x * y).sum() / (x * x).sum())


def early_over_late(shares: Floats, starts: Floats) -> float:
    """Return the mean share of the half that started first over that of the half that started last.

    The flow in the middle of an odd number belongs to neither. NaN with fewer than two flows, where all started
    together, or where the last have nothing.
    """
    half = shares.size // 2
    if half < 1 or np.ptp(starts) <= 0:
        return math.nan
    order = np.argsort(starts, kind="stable")
    late = float(shares[order[-half:]].mean())
    return float(shares[order[:half]].mean()) / late if late > 0 else math.nan


def table(results: ResultData, flows: str | None = None) -> pd.DataFrame:
    """Return every measure of a set of results, see :meth:`sojourn.Results.fairness`."""
    chosen = _chosen(results, flows)
    # The same in all runs.
    warm_up_s, end_s = (float(results.runs[name].iloc[0]) for name in ("warm_up_s", "duration_s"))
    rows = []
    for label in results.labels:
        everything = results.flows[results.flows["scheme"] == label]
        own = chosen[chosen["scheme"] == label]
        found = [
            _of_run(own[own["replication"] == replication], part, warm_up_s, end_s)
            for replication, part in everything.groupby("replication", sort=True)
        ]
        rows += [
            (label, one.name, *tables.limits(results.mean(label, [run[one.name] for run in found], one.quantity)))
            for one in MEASURES
        ]
    return tables.frame(["scheme", "measure", "mean", "low", "high", "replications"], rows, 2)


def over_time(results: ResultData, window: Time, flows: str | None = None) -> pd.DataFrame:
    """Return the measures of an allocation in windows of time, see :meth:`sojourn.Results.fairness_over_time`."""
    chosen = _chosen(results, flows)
    samples = results.series
    samples = samples[samples["name"].str.startswith(SERIES)]
    if samples.empty:
        raise RunError(
            "the results have no series of single flows: set the scenario's `series.flows=true` and `series.interval`"
        )
    length_s = to_ns("window", window) / 1e9
    times: Floats = np.unique(samples["t_s"].to_numpy(dtype=np.float64))
    interval_s = float(np.diff(times, prepend=0.0).max())
    if round(length_s / interval_s) < 1 or abs(math.remainder(length_s, interval_s)) > 1e-6 * interval_s:
        asked = from_ns(to_ns("window", window))
        raise RunError(f"a window of {asked} is not a multiple of the series' interval of {interval_s:g} s")
    # A value is of the interval that ends at its instant; a last window that lacks some is left out.
    windows = int(times[-1] / length_s + 1e-9)
    places = np.ceil(samples["t_s"].to_numpy(dtype=np.float64) / length_s - 1e-9).astype(int) - 1
    samples = samples.assign(flow=samples["name"].str.removeprefix(SERIES), window=places)
    keys = ["scheme", "replication", "flow"]
    samples = samples.merge(chosen[[*keys, "flow_start_s"]], on=keys)
    samples = samples[samples["flow_start_s"] <= samples["window"] * length_s]
    by_flow = samples.groupby(["scheme", "window", "replication", "flow"], sort=False)["value"]
    means = by_flow.agg(["mean", "count", "size"]).reset_index()
    # A flow that has ended has no values.
    means = means[means["count"] == means["size"]]
    rows = []
    for label in results.labels:
        of_scheme = means[means["scheme"] == label]
        for place in range(windows):
            of_window = of_scheme[of_scheme["window"] == place]
            parts = [part["mean"].to_numpy(dtype=np.float64) for _, part in of_window.groupby("replication")]
            for name, measure in OVER_TIME.items():
                limits = tables.limits(
                    results.mean(label, [measure(part) for part in parts], _MEASURES[name].quantity)
                )
                rows.append((label, place * length_s, (place + 1) * length_s, name, *limits))
    return tables.frame(["scheme", "from_s", "to_s", "measure", "mean", "low", "high", "replications"], rows, 4)


def _chosen(results: ResultData, flows: str | None) -> pd.DataFrame:
    """Return the rows of flows that began, of one transport or group where it is named."""
    begun = results.flows[results.flows["flow_start_s"].notna()]
    if flows is None:
        return begun
    known = (*sorted(set(results.flows["transport"])), *dict.fromkeys(results.flows["group"]))
    if flows not in known:
        raise RunError(suggest.unknown("flows", flows, known))
    return begun[(begun["transport"] == flows) | (begun["group"] == flows)]


def _of_run(part: pd.DataFrame, everything: pd.DataFrame, warm_up_s: float, end_s: float) -> dict[str, float]:
    goodput = part["goodput_bit_s"].to_numpy(dtype=np.float64)
    starts = part["flow_start_s"].to_numpy(dtype=np.float64)
    rtts = part["rtt_ms_mean"].to_numpy(dtype=np.float64)
    delivered = everything.groupby("transport")["throughput_bit_s"].sum()
    total = float(delivered.sum())
    return {
        "jain_index": jain(goodput) if goodput.size else math.nan,
        "max_min_share": max_min_share(goodput),
        "proportional_index": proportional_index(goodput),
        "rtt_slope": log_slope(goodput, rtts),
        "early_over_late": early_over_late(goodput, starts),
        "short_over_long": _short_over_long(part, warm_up_s, end_s),
        "unresponsive_share": float(delivered.get("udp", 0.0)) / total if total > 0 else math.nan,
    }


def _short_over_long(part: pd.DataFrame, warm_up_s: float, end_s: float) -> float:
    """Compare rates while alive, within the measured time."""
    starts = part["flow_start_s"].to_numpy(dtype=np.float64)
    took = part["flow_completion_s"].to_numpy(dtype=np.float64)
    ends = np.where(np.isnan(took), end_s, starts + took)
    alive = ends - np.maximum(starts, warm_up_s)
    rates = part["goodput_bit_s"].to_numpy(dtype=np.float64) * (end_s - warm_up_s)
    short, long = ~np.isnan(took) & (alive > 0), np.isnan(took) & (alive > 0)
    if not short.any() or not long.any():
        return math.nan
    lasting = float((rates[long] / alive[long]).mean())
    return float((rates[short] / alive[short]).mean()) / lasting if lasting > 0 else math.nan
