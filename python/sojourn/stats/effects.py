"""Paired differences among many: p-values, effect sizes, Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sojourn.stats.estimates import EXACT, LEVEL, Floats, Pairs, Quantity, pairs

_NODES: Final = 250
"""Points of the integral over the sample's standard deviation; more change no limit in its fourth digit."""
_BISECTIONS: Final = 45


@dataclass(frozen=True, slots=True)
class Effect:
    """The size of paired differences relative to their scatter, and the test whether their mean is zero.

    Parameters
    ----------
    size
        Hedges' g of the pairs: mean difference over standard deviation of the differences (Cohen's d_z), times the
        factor that takes out the bias of small samples. NaN without three pairs, since that of two has no mean to
        correct, and where no value differs from another; infinite where every difference is the same.
    low, high
        95 % interval of the true mean over standard deviation; None without one.
    p
        Two-sided, of the paired t test that the mean difference is zero. NaN without two pairs. Where neither
        scheme's values differ between replications, there is no t: it is that of the sign test, 2^(1 - pairs).
    pairs
        Number of pairs.
    """

    size: float
    low: float | None
    high: float | None
    p: float
    pairs: int


def effect(
    values: Sequence[float] | Floats,
    baseline: Sequence[float] | Floats,
    of: Quantity = EXACT,
    level: float = LEVEL,
    *,
    repeated: bool = False,
) -> Effect:
    """Return the effect size and p-value of paired differences.

    Parameters
    ----------
    values, baseline
        One per replication, in the same order; a pair counts when both exist.
    of
        What is known of the quantity. What its buckets hide widens the interval and enlarges the p-value.
    level
        Of the interval.
    repeated
        Whether the replications of both are one run repeated, which has neither.

    Raises
    ------
    ValueError
        If the lengths differ.

    Notes
    -----
    Cohen's d_z = m / s, m and s the mean and standard deviation of the differences. t = d_z sqrt(n) has a noncentral
    t distribution with n - 1 degrees of freedom and noncentrality delta sqrt(n), delta the true value: the interval
    holds those delta for which t is no surprise. E[d_z] = delta / J with
    J = Gamma(f/2) / (sqrt(f/2) Gamma((f-1)/2)), f = n - 1 (Hedges 1981), so g = J d_z has the mean delta.

    Examples
    --------
    >>> found = effect([5.0, 7.0, 9.0, 8.0], [4.0, 5.0, 6.0, 6.0])
    >>> round(found.size, 2), round(found.p, 3)
    (1.77, 0.016)
    """
    known = pairs(values, baseline, of)
    n, p = known.count, _p(known, repeated=repeated)
    deviation = max(known.deviation, known.rounding)
    if repeated or n < 2:
        return Effect(math.nan, None, None, p, n)
    if deviation == 0:
        if known.mean == 0:
            return Effect(0.0, 0.0, 0.0, p, n)
        return Effect(math.copysign(math.inf, known.mean) if known.varies else math.nan, None, None, p, n)
    root = math.sqrt(n)
    low, _ = _noncentralities((known.mean - known.error) / deviation * root, n - 1, level)
    _, high = _noncentralities((known.mean + known.error) / deviation * root, n - 1, level)
    return Effect(_unbiased(n - 1) * known.mean / deviation, low / root, high / root, p, n)


def paired_p(
    values: Sequence[float] | Floats,
    baseline: Sequence[float] | Floats,
    of: Quantity = EXACT,
    *,
    repeated: bool = False,
) -> float:
    """Return the two-sided p-value of the paired t test alone: that of :func:`effect`, at a hundredth of its cost.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    return _p(pairs(values, baseline, of), repeated=repeated)


def _p(known: Pairs, *, repeated: bool) -> float:
    from scipy import special

    n = known.count
    if n < 2 or repeated:
        return math.nan
    deviation = max(known.deviation, known.rounding)
    if deviation == 0:
        return 1.0 if known.mean == 0 else 0.0 if known.varies else 2.0 ** (1 - n)
    # What the buckets may hide of the difference does not count for it.
    t = max(abs(known.mean) - known.error, 0.0) / deviation * math.sqrt(n)
    return 2 * float(special.stdtr(n - 1, -t))


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Return p-values corrected for their number by Holm's step-down method.

    Rejecting those below alpha keeps the probability of even one false rejection in the family below alpha, whatever
    the dependence between the tests (Holm 1979). Missing ones (NaN) stay and do not count.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    result: Floats = np.full(given.shape, math.nan)
    exists = np.isfinite(given)
    known = given[exists]
    # The k-th smallest of m counts m - k + 1 times, and no less than any smaller one.
    order = np.argsort(known, kind="stable")
    stepped = np.maximum.accumulate(known[order] * np.arange(known.size, 0, -1))
    known[order] = np.minimum(stepped, 1.0)
    result[exists] = known
    return result


def _unbiased(degrees: int) -> float:
    """Return Hedges' factor J; NaN for one degree of freedom, where the mean of d_z does not exist."""
    from scipy import special

    if degrees < 2:
        return math.nan
    half = degrees / 2
    return math.exp(special.gammaln(half) - special.gammaln(half - 0.5)) / math.sqrt(half)


def _noncentralities(t: float, degrees: int, level: float) -> tuple[float, float]:
    """Return the noncentralities at which `t` is the upper and the lower quantile.

    T = (Z + delta) / S with S^2 chi-square over degrees: P(T <= t) = E[Phi(t S - delta)], which falls with delta.
    The mean over S is taken at its quantiles (the midpoint rule in probability), and delta found by bisection: this
    holds where libraries' noncentral t gives up, t in the hundreds.
    """
    from scipy import special

    share = (np.arange(_NODES) + 0.5) / _NODES
    spread = np.sqrt(2 * special.gammaincinv(degrees / 2, share) / degrees)

    def solve(wanted: float) -> float:
        low, high = float((t * spread).min()) - 9.0, float((t * spread).max()) + 9.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if float(special.ndtr(t * spread - middle).mean()) > wanted:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    tail = (1 - level) / 2
    return solve(1 - tail), solve(tail)
