"""Goodput of single flows over short intervals: how even it is (RFC 5166, section 2.4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from sojourn.base import suggest
from sojourn.base.errors import RunError
from sojourn.results import tables
from sojourn.results.fairness import SERIES
from sojourn.stats.estimates import Floats

if TYPE_CHECKING:
    from sojourn.results.results import Results

ROUND_TRIPS: Final = 10.0
"""Base RTTs of an interval."""

QUANTILES: Final = (0.05, 0.5, 0.95)
_NAMES: Final = ("goodput_bit_s_mean", *(f"goodput_bit_s_p{round(100 * share)}" for share in QUANTILES), "variation")


def of_intervals(goodputs: Floats) -> dict[str, float]:
    """Return mean, quantiles and coefficient of variation of one flow's goodput over its intervals.

    The coefficient of variation is the standard deviation (of the sample) over the mean; NaN with fewer than two
    intervals or without traffic.

    Examples
    --------
    Mean 2, deviations -1, -1, 0, 2: variance 6 / 3 = 2.

    >>> round(of_intervals(np.array([1.0, 1.0, 2.0, 4.0]))["variation"] ** 2, 6)
    0.5
    """
    mean = float(goodputs.mean()) if goodputs.size else math.nan
    quantiles = [float(np.quantile(goodputs, share)) if goodputs.size else math.nan for share in QUANTILES]
    spread = float(goodputs.std(ddof=1)) / mean if goodputs.size > 1 and mean > 0 else math.nan
    return dict(zip(_NAMES, (mean, *quantiles, spread), strict=True))


def goodput_over_intervals(
    results: Results, group: str | None = None, round_trips: float = ROUND_TRIPS
) -> pd.DataFrame:
    """Return how even the goodput of flows is over intervals of ten base RTTs, with 95 % intervals.

    Needs each flow's goodput as a time series in every replication: ``series.interval``, of ten base RTTs or less,
    and ``series.flows=true`` of the scenario.

    Parameters
    ----------
    results
        Of a run or a comparison.
    group
        A group of flows; by default all that began.
    round_trips
        Base RTTs of an interval. The interval is rounded up to a multiple of the series' interval.

    Returns
    -------
    pandas.DataFrame
        Columns ``scheme``, ``group``, ``measure``, ``mean``, ``low``, ``high`` and ``replications``. The measures are
        ``goodput_bit_s_mean``, ``goodput_bit_s_p5``, ``goodput_bit_s_p50``, ``goodput_bit_s_p95`` (over the
        intervals, in bit/s; higher is better) and ``variation`` (the coefficient of variation, a ratio; lower is
        better). Each is computed for a flow, and is the mean over the flows of the group.

    Raises
    ------
    SojournError
        Unknown group, no such series, or an interval of the series that is too long.

    Notes
    -----
    A flow counts in the intervals after its start and before its end, within the measured time. RFC 5166,
    section 2.4, names the coefficient of variation of a flow's throughput as a measure of smoothness.
    """
    flows = results.flows[results.flows["flow_start_s"].notna()]
    if group is not None and group not in set(results.flows["group"]):
        raise RunError(suggest.unknown("group of flows", group, results.flows["group"]))
    if group is not None:
        flows = flows[flows["group"] == group]
    samples = results.series
    samples = samples[samples["name"].str.startswith(SERIES)]
    if samples.empty:
        raise RunError(
            "the results have no series of single flows: set the scenario's `series.flows=true` and `series.interval`"
        )
    samples = samples.assign(flow=samples["name"].str.removeprefix(SERIES))
    warm_up_s = float(results.runs["warm_up_s"].iloc[0])
    curves = {key: (part["t_s"].to_numpy(), part["value"].to_numpy()) for key, part in _by_flow(samples)}
    rows = []
    for label in results.labels:
        of_scheme = flows[flows["scheme"] == label]
        for name in dict.fromkeys(of_scheme["group"]):
            runs = []
            for replication, part in of_scheme[of_scheme["group"] == name].groupby("replication", sort=True):
                measured = [
                    _of_flow(flow, curves[label, replication, flow["flow"]], round_trips, warm_up_s)
                    for _, flow in part.iterrows()
                    if (label, replication, flow["flow"]) in curves
                ]
                runs.append({key: _known_mean([one[key] for one in measured]) for key in _NAMES})
            for measure in _NAMES:
                one = results.mean(label, [run[measure] for run in runs])
                rows.append((label, name, measure, *tables.limits(one)))
    columns = ["scheme", "group", "measure", "mean", "low", "high", "replications"]
    return tables.frame(columns, rows, 3)


def _by_flow(samples: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    return [(key, part.sort_values("t_s")) for key, part in samples.groupby(["scheme", "replication", "flow"])]


def _known_mean(values: list[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def _of_flow(flow: pd.Series, curve: tuple[Floats, Floats], round_trips: float, warm_up_s: float) -> dict[str, float]:
    t_s, values = curve
    # A value is of the interval that ends at its instant.
    step_s = float(np.diff(t_s, prepend=0.0).max())
    length_s = round_trips * float(flow["base_rtt_ms"]) / 1e3
    if not 0 < step_s <= length_s * (1 + 1e-9):
        raise RunError(
            f"series.interval: is {step_s:g} s; allowed: {length_s:g} s ({round_trips:g} base RTTs of "
            f"{flow['flow']}) or less"
        )
    took = float(flow["flow_completion_s"])
    start_s = max(float(flow["flow_start_s"]), warm_up_s)
    end_s = math.inf if math.isnan(took) else float(flow["flow_start_s"]) + took
    # A flow that was stopped has no values after its end.
    alive = (t_s - step_s >= start_s - 1e-9) & (t_s <= end_s + 1e-9) & np.isfinite(values)
    each = math.ceil(length_s / step_s - 1e-9)
    kept = values[alive]
    whole = kept.size // each
    return of_intervals(kept[: whole * each].reshape(whole, each).mean(axis=1))
