"""Estimates from windows: cubic fits over the load, ranges of load, and paired differences.

The fit is the study's (section 5): a generalised additive model with one term, a third-degree polynomial of the load,
for each scheme. Without inner knots and penalty that is least squares on a cubic, which needs no iteration. Windows
of one run, or of one slot of a schedule, depend on each other, so a band's covariance is clustered by these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd
import statsmodels.api as sm

from sojourn import stats
from sojourn.stats import LEVEL, Estimate, Floats
from sojourn.studies.papers.comparisons import common

from .document import Experiment

METRICS: Final = (
    "mean_queue_packets",
    "std_queue_packets",
    "loss_ratio",
    "burst_ratio",
    "impairment_i",
    "impairment_c",
    "mean_queue_arrivals_packets",
    "std_queue_arrivals_packets",
    "sojourn_mean_s",
    "sojourn_p99_s",
)
"""Of windows, as they are analysed."""

FEWEST_CELLS: Final = 3
"""Pairs of the same traffic in a range of load."""
FEWEST_BLOCKS: Final = 3
PER_TERM: Final = 3
"""Windows for each coefficient of a fit."""
NEAR: Final = 0.02
"""How far beyond the windows of a scheme a fit is looked at, in load."""

ByScheme = dict[str, Floats]
Values = dict[str, ByScheme]


@dataclass(frozen=True)
class Fit:
    """A cubic over the load with its 95 % band; arrays of one shape."""

    load: Floats
    mean: Floats
    low: Floats
    high: Floats


def degree(count: int) -> int:
    """Return the degree of a fit to a number of windows: 3, or less if they are few."""
    return int(np.clip(count // PER_TERM - 1, 0, 3))


def _basis(x: Floats, bounds: tuple[float, float], order: int) -> Floats:
    """Return the columns of a polynomial of a degree, shape (len(x), order + 1)."""
    low, high = bounds
    return np.vander((x - low) / (high - low if high > low else 1.0), order + 1)


def fit(frame: pd.DataFrame, metric: str, load: Floats) -> Fit | None:
    """Return the cubic fit of a metric over the load; None for fewer windows than a line needs.

    `frame` has windows of one scheme: `load`, the metric and `cluster`. Beyond the windows the fit is NaN.
    """
    of = frame[["load", metric, "cluster"]].dropna()
    order = degree(len(of))
    if order < 1 or of["load"].nunique() <= order:
        return None
    x = of["load"].to_numpy()
    bounds = (float(x.min()), float(x.max()))
    model = sm.OLS(of[metric].to_numpy(), _basis(x, bounds, order))
    clusters = pd.factorize(of["cluster"])[0]
    count = clusters.max() + 1
    found = model.fit(cov_type="cluster", cov_kwds={"groups": clusters}) if count > 2 else model.fit()
    rows = _basis(load, bounds, order)
    mean = rows @ found.params
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, found.cov_params(), rows), 0))
    half = stats.quantile_t(max(int(count) - 1, 1), LEVEL) * error
    outside = (load < bounds[0]) | (load > bounds[1])
    mean, half = np.where(outside, np.nan, mean), np.where(outside, np.nan, half)
    return Fit(load, mean, mean - half, mean + half)


def value_at(frame: pd.DataFrame, metric: str, centres: Floats) -> Floats:
    """Return the fit's values at loads; NaN more than :data:`NEAR` beyond the windows."""
    of = frame[["load", metric]].dropna()
    x = of["load"].to_numpy()
    if x.size == 0:
        return np.full(centres.size, np.nan)
    order = min(degree(len(of)), np.unique(x).size - 1)
    low, high = bounds = (float(x.min()), float(x.max()))
    params = np.linalg.lstsq(_basis(x, bounds, order), of[metric].to_numpy(), rcond=None)[0]
    outside = (centres < low - NEAR) | (centres > high + NEAR)
    return np.where(outside, np.nan, _basis(centres, bounds, order) @ params)


def at_load(paper: Experiment, frame: pd.DataFrame) -> dict[float, Values]:
    """Return values at the middles of the ranges, at the same load for all schemes: one a block.

    The value of a block is the jackknife's pseudo-value of the fit (Tukey 1958), from all blocks and from all but
    this one. The mean of these values is the fit, corrected for its bias, and their scatter is the scatter between
    blocks. `frame` has windows with `label`, `load`, `block_of` (what is left out together) and the metrics.
    """
    centres = np.asarray(paper.centres)
    blocks = sorted(frame["block_of"].unique())
    count = len(blocks)
    found: dict[float, Values] = {centre: {} for centre in paper.centres}
    if count < FEWEST_BLOCKS:
        return {}
    for label, of in frame.groupby("label"):
        for metric in METRICS:
            whole = value_at(of, metric, centres)
            without = np.stack([value_at(of[of["block_of"] != block], metric, centres) for block in blocks])
            pseudo = count * whole - (count - 1) * without
            for k, centre in enumerate(paper.centres):
                if np.isfinite(pseudo[:, k]).all():
                    found[centre].setdefault(metric, {})[str(label)] = pseudo[:, k]
    return {centre: derived(of) for centre, of in found.items() if of}


def same_traffic(paper: Experiment, frame: pd.DataFrame) -> tuple[dict[float, Values], Values]:
    """Return values by range and over all ranges, one per traffic, which was sent through every scheme.

    The load differs between schemes, because TCP reacts to them. So a traffic belongs to the range of its mean load
    over the schemes. `frame` has windows of paired runs.
    """
    ids = [one.id for one in paper.study]
    wide = frame.pivot_table(index=["block", "demand"], columns="label", values=["load", *METRICS])
    wide = wide.dropna(subset=[("load", one) for one in ids if ("load", one) in wide.columns])
    if any(("load", one) not in wide.columns for one in ids):
        return {}, {}
    load = wide["load"][ids].to_numpy().mean(axis=1)
    found: dict[float, Values] = {}

    def values(rows: pd.DataFrame) -> Values:
        return derived({metric: {one: rows[metric][one].to_numpy() for one in ids} for metric in METRICS})

    for centre, (low, high) in zip(paper.centres, paper.ranges, strict=True):
        rows = wide[(load > low) & (load <= high)]
        if len(rows) >= FEWEST_CELLS:
            found[centre] = values(rows)
    inside = wide[(load > paper.bounds[0]) & (load <= paper.bounds[-1])]
    return found, values(inside) if len(inside) >= FEWEST_CELLS else {}


def derived(values: Mapping[str, Mapping[str, Floats]]) -> Values:
    """Add metrics that claims need: C minus that of d4, the reduction of C, and the burst ratio minus 1."""
    found: Values = {metric: dict(of) for metric, of in values.items()}
    if "burst_ratio" in found:
        found["burst_excess"] = {name: of - 1 for name, of in found["burst_ratio"].items()}
    total = found.get("impairment_c", {})
    if "d4" in total:
        found["impairment_c_above_d4"] = {name: of - total["d4"] for name, of in total.items()}
    if "none" in total:
        found["gain_c"] = {name: total["none"] - of for name, of in total.items() if name != "none"}
    return found


def mean_of(ranges: Mapping[float, Values]) -> Values:
    """Return the mean over ranges that have the same blocks; only what all of them have."""
    of = list(ranges.values())
    if not of:
        return {}
    metrics = set.intersection(*(set(one) for one in of))
    found: Values = {}
    for metric in sorted(metrics):
        for name in set.intersection(*(set(one[metric]) for one in of)):
            found.setdefault(metric, {})[name] = np.mean(common(*(one[metric][name] for one in of)), axis=0)
    return found


def differences(values: Values, metric: str, names: Sequence[str]) -> dict[tuple[str, str], tuple[Estimate, float]]:
    """Return the difference of a metric of each pair of schemes, and the p value of its paired t test after Holm."""
    of = values.get(metric, {})
    pairs = list(combinations([name for name in names if name in of], 2))
    corrected = stats.holm([stats.paired_p(of[a], of[b]) for a, b in pairs])
    return {(a, b): (stats.paired(of[a], of[b]), float(p)) for (a, b), p in zip(pairs, corrected, strict=True)}
