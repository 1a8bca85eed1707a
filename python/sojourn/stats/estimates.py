"""Estimates with their uncertainty, from independent replications. Every command takes its intervals from here.

A run is one observation: its metrics are numbers, and replications with different seeds are independent.
Intervals are Student's t over replications. Runs of two schemes with the same seed and replication see the
same traffic, so their difference is one observation too, and its interval is that of the paired differences.

:class:`Quantity` says what is known of a metric beforehand, and the functions here allow for it:

* A quantile is the middle of a bucket of a histogram. The interval of its mean is half a bucket longer on either
  side, and that of a difference half a bucket of each of the two values. p-values and effect sizes of differences
  that scatter less than the buckets can show take the standard deviation of two rounded values.
* A metric with a range, such as Jain's index, has an interval inside it: Student's interval is cut at the end of the
  range. The true mean lies in the range, so the cut removes no interval's true mean and the coverage remains.
* Replications that are one run repeated, because nothing in it is random, say nothing about how much runs differ.
  They have no interval, no p-value and no effect size, and :attr:`Estimate.why` says so. Nor has the difference of
  two schemes an interval if neither's values differ between replications.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

LEVEL: Final = 0.95
"""Confidence level of every interval."""

Floats: TypeAlias = NDArray[np.float64]

NOTHING: Final = "no replication has a value"
ONE: Final = "one replication"
REPEATED: Final = "all replications are identical"
CONSTANT: Final = "neither scheme's values differ between replications"
"""Reasons why an estimate has no interval."""

_ROUNDING: Final = 1e-12
"""Numbers that differ by so small a share are the same but for the rounding of their arithmetic."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is known of a quantity before it is measured.

    Parameters
    ----------
    resolution
        Width of the buckets of the histogram that it is read from, as a share of the value; 0 where there are none.
    offset
        What was subtracted from the value that was read, such as the base RTT.
    least, most
        The range of its values.
    """

    resolution: float = 0.0
    offset: float = 0.0
    least: float = -math.inf
    most: float = math.inf

    def times(self, scale: float) -> Quantity:
        """Return the quantity in another unit, whose numbers are `scale` times as large."""
        return replace(self, offset=scale * self.offset, least=scale * self.least, most=scale * self.most)

    def half_bucket(self, value: float) -> float:
        """Return half the width of the bucket that a value is read from."""
        return self.resolution / 2 * abs(value + self.offset)


EXACT: Final = Quantity()
"""A quantity without buckets and without a range."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its confidence interval.

    Parameters
    ----------
    mean
        NaN without a single observation.
    low, high
        Limits of the interval; None where there is none.
    replications
        Number of observations.
    left_out
        Number of replications without a value (say, the burst ratio of a run without a loss).
    why
        Why there is no interval: :data:`NOTHING`, :data:`ONE`, :data:`REPEATED` or :data:`CONSTANT`; else empty.
    is_cut
        Whether the interval ends at the end of the quantity's range, so that it is not symmetric.
    correlation
        Of a difference of pairs: :attr:`Pairs.correlation`; NaN for other estimates.
    """

    mean: float
    low: float | None
    high: float | None
    replications: int
    left_out: int = field(default=0, compare=False)
    why: str = field(default="", compare=False)
    is_cut: bool = field(default=False, compare=False)
    correlation: float = field(default=math.nan, compare=False)

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval, or the longer side of one that was cut; None without one."""
        if self.low is None or self.high is None:
            return None
        return max(self.arms) if self.is_cut else (self.high - self.low) / 2

    @property
    def arms(self) -> tuple[float, float]:
        """How far the limits lie below and above the mean, for error bars; zeros without an interval."""
        return (0.0, 0.0) if self.low is None or self.high is None else (self.mean - self.low, self.high - self.mean)

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies wholly on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def covers(self, value: float) -> bool:
        """Return whether a value lies in the interval; false without one."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


def quantile_t(degrees: int, level: float = LEVEL) -> float:
    """Return Student's t quantile for a two-sided interval.

    Examples
    --------
    >>> round(quantile_t(4), 3)
    2.776
    """
    from scipy import special

    return float(special.stdtrit(degrees, 0.5 + level / 2))


def estimate(
    values: Sequence[float] | Floats, of: Quantity = EXACT, level: float = LEVEL, *, repeated: bool = False
) -> Estimate:
    """Estimate a mean from independent observations.

    Observations that do not exist (None, NaN) are left out; ``replications`` counts those that remain.

    Parameters
    ----------
    values
        One per replication.
    of
        What is known of the quantity.
    level
        Of confidence.
    repeated
        Whether the replications are one run repeated, which gives no interval.

    Examples
    --------
    >>> estimate([1.0, 2.0, 3.0]).mean
    2.0
    """
    given = np.asarray(values, dtype=np.float64)
    observed = given[np.isfinite(given)]
    n = observed.size
    if n == 0:
        return Estimate(math.nan, None, None, 0, given.size, NOTHING)
    mean = float(observed.mean())
    if why := _without(n, repeated=repeated):
        return Estimate(mean, None, None, n, given.size - n, why)
    half = quantile_t(n - 1, level) * spread(observed) / math.sqrt(n)
    low, high = mean - half, mean + half
    return _cut(
        Estimate(mean, low - of.half_bucket(low), high + of.half_bucket(high), n, given.size - n), of.least, of.most
    )


def paired(
    values: Sequence[float] | Floats,
    baseline: Sequence[float] | Floats,
    of: Quantity = EXACT,
    level: float = LEVEL,
    *,
    repeated: bool = False,
) -> Estimate:
    """Estimate the mean of ``values - baseline`` from pairs with the same traffic.

    Parameters
    ----------
    values, baseline
        One per replication, in the same order; a pair counts when both exist.
    of
        What is known of the quantity.
    level
        Of confidence.
    repeated
        Whether the replications of both are one run repeated.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    known = pairs(values, baseline, of)
    if known.count == 0:
        return Estimate(math.nan, None, None, 0, known.left_out, NOTHING)
    if why := _without(known.count, repeated=repeated, constant=not (known.varies or of.resolution)):
        return Estimate(known.mean, None, None, known.count, known.left_out, why)
    half = quantile_t(known.count - 1, level) * known.deviation / math.sqrt(known.count) + known.error
    found = Estimate(
        known.mean,
        known.mean - half,
        known.mean + half,
        known.count,
        known.left_out,
        correlation=known.correlation,
    )
    return _cut(found, of.least - of.most, of.most - of.least)


def unpaired(
    values: Sequence[float] | Floats, baseline: Sequence[float] | Floats, of: Quantity = EXACT, level: float = LEVEL
) -> Estimate:
    """Estimate the difference of two means of independent runs (Welch, 1947).

    ``replications`` is the smaller number of the two.

    Examples
    --------
    The variance of one mean is 1, with one degree of freedom.

    >>> found = unpaired([2.0, 4.0], [1.0, 1.0, 1.0])
    >>> found.mean, round(found.half_width, 2)
    (2.0, 12.71)
    """
    both = [np.asarray(one, dtype=np.float64) for one in (values, baseline)]
    known = [one[np.isfinite(one)] for one in both]
    count = min(one.size for one in known)
    left_out = sum(one.size for one in both) - sum(one.size for one in known)
    if count == 0:
        return Estimate(math.nan, None, None, 0, left_out, NOTHING)
    means = [float(one.mean()) for one in known]
    mean = means[0] - means[1]
    halves = [of.half_bucket(one) for one in means]
    parts = [spread(one) ** 2 / one.size for one in known]
    variance = sum(parts)
    if why := _without(count, constant=variance == 0 and not of.resolution):
        return Estimate(mean, None, None, count, left_out, why)
    freedom = sum(part**2 / (one.size - 1) for part, one in zip(parts, known, strict=True))
    # Rounded down, which makes the interval longer.
    degrees = max(1, math.floor(variance**2 / freedom + 1e-9)) if freedom else count - 1
    half = quantile_t(degrees, level) * math.sqrt(variance) + sum(halves)
    return _cut(Estimate(mean, mean - half, mean + half, count, left_out), of.least - of.most, of.most - of.least)


@dataclass(frozen=True, slots=True)
class Pairs:
    """What differences of pairs say, with what buckets hide of them.

    Parameters
    ----------
    mean
        Of the differences.
    deviation
        Their standard deviation; 0 where every difference is the same.
    varies
        Whether the values themselves differ between replications. If they do and their difference does not, it is
        known; if neither does, nothing is known of its scatter.
    rounding
        The standard deviation that rounding two values to their buckets gives their difference.
    error
        What the mean may be wrong by because of the buckets: half a bucket of each of the two means.
    correlation
        Of the two values over replications (:func:`correlation`), r. The variance of the differences is
        s^2 + t^2 - 2 r s t, s and t the standard deviations of the values: pairs say more than independent runs where
        r is above 0, and less where it is below.
    count, left_out
        Number of pairs, and of those that lack a value.
    """

    mean: float
    deviation: float
    varies: bool
    rounding: float
    error: float
    correlation: float
    count: int
    left_out: int


def pairs(values: Sequence[float] | Floats, baseline: Sequence[float] | Floats, of: Quantity) -> Pairs:
    """Return what the differences ``values - baseline`` say.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    ours, theirs = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if ours.shape != theirs.shape:
        raise ValueError(f"pairs need equal lengths, not {ours.size} and {theirs.size}")
    exists = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = ours[exists], theirs[exists]
    n, left_out = int(exists.sum()), int(exists.size - exists.sum())
    if n == 0:
        return Pairs(math.nan, 0.0, False, 0.0, 0.0, math.nan, 0, left_out)
    halves = [of.half_bucket(float(one.mean())) for one in (ours, theirs)]
    differences = ours - theirs
    # A value is spread evenly over its bucket: the variance is a third of the square of half its width.
    rounding = math.hypot(*halves) / math.sqrt(3)
    deviation = spread(differences, max(float(np.abs(one).max()) for one in (ours, theirs)))
    varies, r = any(spread(one) > 0 for one in (ours, theirs)), correlation(ours, theirs)
    return Pairs(float(differences.mean()), deviation, varies, rounding, sum(halves), r, n, left_out)


def correlation(ours: Floats, theirs: Floats) -> float:
    """Return Pearson's correlation of pairs; NaN with fewer than three, and where one side does not vary.

    Examples
    --------
    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0])), 3)
    0.5
    """
    if ours.size < 3 or not (spread(ours) and spread(theirs)):
        return math.nan
    one, other = ours - ours.mean(), theirs - theirs.mean()
    return float(np.clip(one @ other / math.sqrt((one @ one) * (other @ other)), -1.0, 1.0))


def spread(values: Floats, size: float | None = None) -> float:
    """Return the standard deviation; 0 where the values differ by the rounding of numbers of a size only."""
    if values.size < 2:
        return 0.0
    known = float(np.abs(values).max()) if size is None else size
    return 0.0 if float(np.ptp(values)) <= _ROUNDING * known else float(values.std(ddof=1))


def _without(count: int, *, repeated: bool = False, constant: bool = False) -> str:
    """Return why there is no interval; empty where there is one."""
    if count == 1:
        return ONE
    return REPEATED if repeated else CONSTANT if constant else ""


def _cut(found: Estimate, least: float, most: float) -> Estimate:
    """Return an estimate whose interval ends where the range of its quantity does."""
    if found.low is None or found.high is None or not least <= found.mean <= most:
        return found
    low, high = max(found.low, least), min(found.high, most)
    return replace(found, low=low, high=high, is_cut=(low, high) != (found.low, found.high))


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
    known = np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    known = known[np.isfinite(known).all(axis=1)]
    n = len(known)
    if n < 3:
        return None
    covariance = np.cov(known, rowvar=False, ddof=1)
    # Eigenvalues of a covariance are never negative but for rounding.
    sizes, directions = np.linalg.eigh(covariance)
    root = directions @ np.diag(np.sqrt(np.clip(sizes, 0.0, None)))
    angle = np.linspace(0.0, 2 * math.pi, points)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    radius = quantile_t(n - 1) / math.sqrt(n)
    outline: Floats = known.mean(axis=0) + radius * (root @ circle).T
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
