"""The warm-up: where a series settles (MSER), and whether its beginning biases the mean (Schruben's test)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sojourn.stats.estimates import Floats

BATCH: Final = 5
"""Of MSER-5: single values are averaged by five before the truncation point is sought (White 1997)."""
_TAIL_BATCHES: Final = 8
_LEAST: Final = 4 * _TAIL_BATCHES


@dataclass(frozen=True, slots=True)
class Bias:
    """Whether the beginning of a series differs from its rest: Student's t under the hypothesis that it does not.

    Negative where the series starts low; NaN of a series that is too short to tell.
    """

    statistic: float

    @property
    def p(self) -> float:
        """The two-sided p-value; 1 where it cannot be told."""
        from scipy import special

        if math.isnan(self.statistic):
            return 1.0
        return 2 * float(special.stdtr(_TAIL_BATCHES - 1, -abs(self.statistic)))


def mser(values: Sequence[float] | Floats, batch: int = BATCH) -> int | None:
    """Return the number of values to leave out at the start, by the marginal standard error rule.

    MSER leaves out d values so that the standard error of the mean of the rest, as if it were independent, is
    smallest: d minimises sum((y_i - mean)^2) / (n - d)^2 over the values after d (White 1997; with `batch` 5 it is
    MSER-5). A biased start is worth leaving out while it costs more in deviations than it gives in number.

    Parameters
    ----------
    values
        The whole series from the start, at equal distances.
    batch
        Values averaged first; the result is a multiple of it.

    Returns
    -------
    int or None
        None where the minimum lies in the second half (the series has not settled), or with fewer than ten batches.
    """
    series = np.asarray(values, dtype=np.float64)
    n = series.size // batch
    if n < 10:
        return None
    means = series[: n * batch].reshape(n, batch).mean(axis=1)
    means = means - means.mean()
    # Sums over what remains after d, for every d at once; the last batches alone have no meaningful spread.
    left = np.arange(n, 0, -1, dtype=np.float64)
    total, squares = np.cumsum(means[::-1])[::-1], np.cumsum(means[::-1] ** 2)[::-1]
    spread = np.clip(squares - total**2 / left, 0.0, None)
    best = int(np.argmin((spread / left**2)[: n - 5]))
    return best * batch if best <= n // 2 else None


def initial_bias(values: Sequence[float] | Floats) -> Bias:
    """Test whether the mean of a series is biased by its beginning.

    Parameters
    ----------
    values
        The series whose mean is used: after the warm-up, at equal distances.

    Notes
    -----
    Schruben, Singh and Tierney (1983). With mean_k the mean of the first k of n values, k (mean_n - mean_k) / (sigma
    sqrt(n)) tends to a Brownian bridge B(k/n) where the series is stationary, whatever its correlations; sigma^2 is
    the variance of sqrt(n) times the mean. Weighted by 1 - k/n, as fits a bias that decays, its sum tends to
    n^(3/2) sigma times the integral of (1 - t) B(t), whose variance is
    2 int (1-t)^2 int_0^t s (1-s) ds dt = 1/45. So sqrt(45) sum (1 - k/n) k (mean_n - mean_k) / (n^(3/2) sigma) is
    standard normal; it is positive where the series starts low, and the sign is turned here. sigma^2 comes from eight
    batch means of the second half, where a bias at the start has died out: t with 7 degrees of freedom.
    """
    series = np.asarray(values, dtype=np.float64)
    series = series[np.isfinite(series)]
    n = series.size
    if n < _LEAST:
        return Bias(math.nan)
    size = n // 2 // _TAIL_BATCHES
    tail = series[n - size * _TAIL_BATCHES :].reshape(_TAIL_BATCHES, size).mean(axis=1)
    sigma = math.sqrt(float(tail.var(ddof=1)) * size)
    k = np.arange(1, n + 1)
    bridge = k * series.mean() - np.cumsum(series)
    weighted = float(((1 - k / n) * bridge).sum())
    scale = sigma * n**1.5 / math.sqrt(45)
    if scale <= 1e-12 * abs(weighted) or scale == 0:
        # The second half is constant, so any other beginning differs from it.
        differs = abs(weighted) > 1e-9 * n * n * (abs(float(series.mean())) or 1.0)
        return Bias(math.copysign(math.inf, -weighted) if differs else 0.0)
    statistic = -weighted / scale
    return Bias(statistic)
