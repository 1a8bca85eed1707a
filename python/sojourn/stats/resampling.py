"""Intervals of quantiles by the bootstrap, bias-corrected and accelerated (BCa; Efron 1987)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sojourn.stats.estimates import EXACT, LEVEL, Estimate, Floats, Quantity, share_at

RESAMPLES: Final = 2000
SEED: Final = 1


def bootstrap(
    values: Sequence[float] | Floats,
    statistic: Callable[[Floats], float],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """Estimate any statistic of independent observations, with its BCa interval.

    Parameters
    ----------
    values
        The observations; those that do not exist (NaN) are left out.
    statistic
        Of an array of them.
    level
        Of confidence.
    resamples
        Number of samples drawn with replacement.
    seed
        Of the resampling: the same seed gives the same interval.
    """
    observed = np.asarray(values, dtype=np.float64)
    observed = observed[np.isfinite(observed)]
    return _by_index(observed.size, lambda chosen: statistic(observed[chosen]), level, resamples, seed)


def quantile_interval(
    values: Sequence[float] | Floats,
    share: float,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """Estimate a quantile of independent observations, with its BCa interval where the sample can have one.

    Parameters
    ----------
    values
        One an observation.
    share
        Of the distribution below the quantile, between 0 and 1: 0.5 is the median.
    level, resamples, seed
        As for :func:`bootstrap`.

    Raises
    ------
    ValueError
        If `share` is not between 0 and 1.

    Notes
    -----
    A sample whose every value lies below the quantile, which happens with probability share^n, says nothing of an
    upper limit, and the bootstrap would not notice. Where that, or the same on the other side, is more probable than
    what the interval may miss, there is no interval: the median needs 6 observations at 95 %, the 90 % quantile 36,
    the 99 % quantile 368.

    Examples
    --------
    >>> quantile_interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.5).low is None
    True
    """
    if not 0 < share < 1:
        raise ValueError(f"share={share} is impossible: allowed is between 0 and 1")
    observed = np.asarray(values, dtype=np.float64)
    observed = observed[np.isfinite(observed)]
    n = observed.size
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    if max(share, 1 - share) ** n > (1 - level) / 2:
        return Estimate(float(np.quantile(observed, share)), None, None, n)

    def quantiles(chosen: NDArray[np.int64], axis: int = -1) -> Floats:
        found: Floats = np.quantile(observed[chosen], share, axis=axis)
        return found

    return _by_index(n, quantiles, level, resamples, seed, vectorized=True)


def pooled_quantile(
    curves: Sequence[tuple[Floats, Floats]],
    share: float,
    of: Quantity = EXACT,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """Estimate a quantile of the pooled distribution of all runs, with an interval from resampling whole runs.

    Observations inside a run depend on each other, runs do not: so runs are what is drawn again.

    Parameters
    ----------
    curves
        ``(value, cumulative)`` of each run, both ascending, as in ``results.distributions``.
    share
        Of the pooled distribution below the quantile, between 0 and 1.
    of
        What is known of the values: the interval includes half a bucket on either side.
    level, resamples, seed
        As for :func:`bootstrap`.

    Raises
    ------
    ValueError
        If `share` is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"share={share} is impossible: allowed is between 0 and 1")
    if not curves:
        return Estimate(math.nan, None, None, 0)
    grid = np.unique(np.concatenate([value for value, _ in curves]))
    shares = np.stack([share_at(grid, value, cumulative) for value, cumulative in curves])

    def quantile(chosen: NDArray[np.int64]) -> float:
        return float(grid[min(int(np.searchsorted(shares[chosen].mean(axis=0), share)), grid.size - 1)])

    found = _by_index(len(curves), quantile, level, resamples, seed)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=found.low - of.half_bucket(found.low), high=found.high + of.half_bucket(found.high))


def _by_index(
    n: int, statistic: Callable[..., Any], level: float, resamples: int, seed: int, *, vectorized: bool = False
) -> Estimate:
    """Return the BCa interval of a statistic of indices into the observations."""
    everyone = np.arange(n)
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    found = float(statistic(everyone))
    if n < 3:
        return Estimate(found, None, None, n)
    from scipy.stats import bootstrap as resample

    with warnings.catch_warnings():
        # Identical resamples have no acceleration; their interval is determined below.
        warnings.simplefilter("ignore")
        result = resample(
            (everyone,),
            statistic,
            vectorized=vectorized,
            n_resamples=resamples,
            confidence_level=level,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = map(float, result.confidence_interval)
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = map(float, np.quantile(result.bootstrap_distribution, [(1 - level) / 2, (1 + level) / 2]))
    return Estimate(found, low, high, n)
