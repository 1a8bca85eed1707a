"""Estimates with their uncertainty, from independent replications.

A run is one observation: its metrics are numbers, and replications with different seeds are independent.
Intervals are Student's t over replications. Runs of two schemes with the same seed and replication see the
same traffic, so their difference is one observation too, and its interval is that of the paired differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

LEVEL: Final = 0.95
"""Confidence level of every interval."""

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its confidence interval.

    Parameters
    ----------
    mean
        NaN without a single observation.
    low, high
        Limits of the interval; None with fewer than two observations, or if all are of one run.
    replications
        Number of observations.
    """

    mean: float
    low: float | None
    high: float | None
    replications: int

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval, None without one."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies wholly on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def covers(self, value: float) -> bool:
        """Return whether a value lies in the interval; false without one."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    def without_interval(self) -> Estimate:
        """Return the mean alone."""
        return replace(self, low=None, high=None)


def quantile_t(degrees: int, level: float = LEVEL) -> float:
    """Return Student's t quantile for a two-sided interval.

    Examples
    --------
    >>> round(quantile_t(4), 3)
    2.776
    """
    from scipy import special

    return float(special.stdtrit(degrees, 0.5 + level / 2))


def estimate(values: Sequence[float] | Floats, level: float = LEVEL) -> Estimate:
    """Estimate a mean from independent observations.

    Observations that do not exist (None, NaN: say, the burst ratio of a run without a loss) are left out;
    ``replications`` counts those that remain.

    Parameters
    ----------
    values
        One per replication.
    level
        Of confidence.

    Examples
    --------
    >>> estimate([1.0, 2.0, 3.0]).mean
    2.0
    """
    observed = np.asarray(values, dtype=np.float64)
    observed = observed[np.isfinite(observed)]
    n = observed.size
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    mean = float(observed.mean())
    if n == 1:
        return Estimate(mean, None, None, 1)
    half = quantile_t(n - 1, level) * float(observed.std(ddof=1)) / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)


def paired(values: Sequence[float] | Floats, baseline: Sequence[float] | Floats, level: float = LEVEL) -> Estimate:
    """Estimate the mean of ``values - baseline`` from pairs with the same traffic.

    Parameters
    ----------
    values, baseline
        One per replication, in the same order; a pair counts when both exist.
    level
        Of confidence.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    ours, theirs = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if ours.shape != theirs.shape:
        raise ValueError(f"pairs need equal lengths, not {ours.size} and {theirs.size}")
    return estimate(ours - theirs, level)


def prediction(values: Sequence[float] | Floats, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the interval in which one further replication falls with probability `level`.

    It assumes that replications are normal. None with fewer than two observations.
    """
    observed = np.asarray(values, dtype=np.float64)
    observed = observed[np.isfinite(observed)]
    n = observed.size
    if n < 2:
        return None
    half = quantile_t(n - 1, level) * float(observed.std(ddof=1)) * math.sqrt(1 + 1 / n)
    mean = float(observed.mean())
    return mean - half, mean + half


def ellipse(x: Sequence[float] | Floats, y: Sequence[float] | Floats, points: int = 120) -> Floats | None:
    """Return the uncertainty ellipse of the mean of pairs.

    Its shadows on the axes are the confidence intervals of the two means; its tilt is their correlation over
    replications: the points v with ``(v - m)' S^-1 (v - m) = t^2 / n``, S the sample covariance.

    Parameters
    ----------
    x, y
        One per replication; a pair counts when both exist.
    points
        Of the polygon.

    Returns
    -------
    numpy.ndarray or None
        Shape (points, 2); None with fewer than three pairs, which have no ellipse.
    """
    pairs = np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    n = len(pairs)
    if n < 3:
        return None
    covariance = np.cov(pairs, rowvar=False, ddof=1)
    # Eigenvalues of a covariance are never negative but for rounding.
    sizes, directions = np.linalg.eigh(covariance)
    root = directions @ np.diag(np.sqrt(np.clip(sizes, 0.0, None)))
    angle = np.linspace(0.0, 2 * math.pi, points)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    radius = quantile_t(n - 1) / math.sqrt(n)
    outline: Floats = pairs.mean(axis=0) + radius * (root @ circle).T
    return outline


def jain(shares: Sequence[float] | Floats) -> float:
    """Return Jain's fairness index: 1 when all shares are equal, 1/n when one has all."""
    values = np.asarray(shares, dtype=np.float64)
    total = float((values**2).sum())
    return float(values.sum()) ** 2 / (values.size * total) if total > 0 else math.nan


def mean_cdf(curves: Sequence[tuple[Floats, Floats]], points: int = 400) -> tuple[Floats, Floats]:
    """Average distribution functions: at each value the mean over runs of the share at or below it.

    Parameters
    ----------
    curves
        ``(value, cumulative)`` of each run, both ascending.
    points
        Upper bound on the length of the result.

    Returns
    -------
    tuple of numpy.ndarray
        ``value`` and ``cumulative``.
    """
    values = np.unique(np.concatenate([value for value, _ in curves]))
    if values.size > points:
        values = np.unique(np.quantile(values, np.linspace(0.0, 1.0, points), method="nearest"))
    shares = np.stack([share_at(values, value, cumulative) for value, cumulative in curves])
    mean: Floats = shares.mean(axis=0)
    return values, mean


def share_at(at: Floats, value: Floats, cumulative: Floats) -> Floats:
    """Return a distribution function's values at `at`; `value` and `cumulative` ascend."""
    place = np.searchsorted(value, at, side="right")
    padded = np.concatenate([[0.0], cumulative])
    result: Floats = padded[place]
    return result
