"""One long run: an interval from the means of its batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sojourn.stats.estimates import LEVEL, Estimate, Floats, estimate

_BATCHES: Final = (30, 20, 15, 10)
"""Numbers of batches to try. More than 30 narrow the interval little, fewer than 10 widen it (Schmeiser 1982)."""
_FEWEST: Final = 3
_SURPRISE: Final = 0.842
"""80 % quantile of the normal distribution: signs of correlation are taken seriously early."""


@dataclass(frozen=True, slots=True)
class BatchMeans:
    """The mean of one long run.

    Parameters
    ----------
    estimate
        The mean with its interval; ``replications`` counts the batches.
    batches, size
        Number of batches, and of observations in each.
    lag_1
        Correlation of neighbouring batches' means; NaN without an interval.
    is_independent
        Whether that is small enough to believe the interval. If not, the run is too short for one.
    """

    estimate: Estimate
    batches: int
    size: int
    lag_1: float
    is_independent: bool


def batch_means(values: Sequence[float] | Floats, level: float = LEVEL) -> BatchMeans:
    """Estimate the mean of a stationary series whose values depend on each other.

    The series is cut into equal batches; long batches' means are nearly independent, so Student's interval holds for
    them. The number of batches is the largest of 30, 20, 15 and 10 whose means show no correlation of neighbours
    (lag 1); where 10 still do, the interval is given with ``is_independent`` False: it is too narrow.

    Parameters
    ----------
    values
        In order, after the warm-up, at equal distances in time. What does not divide is left off at the start.
    level
        Of confidence.

    Notes
    -----
    Of b independent batches the lag-1 correlation has mean -1/b and standard deviation near 1/sqrt(b): larger than
    -1/b + 0.84/sqrt(b) counts as a sign of dependence, which independent batches show once in five times.
    """
    series = np.asarray(values, dtype=np.float64)
    series = series[np.isfinite(series)]
    found = BatchMeans(estimate(series[:0]), 0, 0, math.nan, False)
    for batches in _BATCHES:
        if series.size < batches * _FEWEST:
            continue
        size = series.size // batches
        means = series[series.size - batches * size :].reshape(batches, size).mean(axis=1)
        lag = lag_1(means)
        is_independent = lag <= -1 / batches + _SURPRISE / math.sqrt(batches)
        found = BatchMeans(estimate(means, level=level), batches, size, lag, is_independent)
        if is_independent:
            break
    return found


def lag_1(values: Floats) -> float:
    """Return the correlation of neighbours; 0 for a constant series."""
    centred = values - values.mean()
    total = float((centred**2).sum())
    return float((centred[1:] * centred[:-1]).sum()) / total if total > 0 else 0.0
