"""Comparisons over sweeps and between conditions: each a statement about means.

A quantity that is linear in the means (a trend, a peak, a difference) has one number per replication, as within a
condition. Between conditions, the k-th replications form the pair, whether they share random numbers or not.

A ratio or a product of means is not linear: the mean of the replications' ratios is not the ratio of the means. Such
a statement is about the means, and its number per replication is the jackknife's pseudo-value (Tukey 1958), whose
mean is unbiased for products.

The largest, smallest, best and a rank are not read from the measured means, because that would favour values with a
large scatter. They are expressed by comparisons of all pairs that may decide them.

What each comparison means is said in ``claims.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise, permutations, product
from typing import Final

import numpy as np
from scipy import stats as scipy_stats

from sojourn.stats import Floats
from sojourn.studies.papers.comparisons import (
    HIGHER_IS_BETTER,
    At,
    Maker,
    Setting,
    above,
    against_each,
    amount_of_times,
    common,
    for_subjects,
    mean_over,
    near,
    of_each,
    of_one_sign,
)
from sojourn.studies.papers.logic import Sign, Statement, at_least, at_most, every, exactly, some
from sojourn.studies.papers.model import Claim
from sojourn.studies.papers.points import part_of

_ROUNDING: Final = 1e-12
FEWEST_RANKED: Final = 3
FEWEST_POINTS: Final = 5
"""Replications and points with fewer of which ranks agree by chance too often for Student's t."""


def _contrast(terms: Iterable[tuple[float, Floats]]) -> Floats:
    """Return a weighted sum of columns, one number per replication; zero where only rounding keeps it from zero."""
    weights, columns = zip(*terms, strict=True)
    table = np.stack(common(*columns)) * np.array(weights)[:, None]
    summed: Floats = table.sum(axis=0)
    return np.where(np.abs(summed) <= _ROUNDING * np.abs(table).sum(axis=0), 0.0, summed)


def _difference_of_products(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Return one number per replication; their mean estimates E[a] E[b] - E[c] E[d] without bias.

    The jackknife's pseudo-value is n f(all) - (n - 1) f(all but this one), for a function f of means. For a product
    of means it is unbiased even if the two depend on each other: the expectation of n mean(a) mean(b) - (n - 1) times
    the same with one replication left out is E[a] E[b].
    """
    columns = np.stack(common(a, b, c, d))

    def of(means: Floats) -> tuple[Floats, Floats]:
        first, second = means[0] * means[1], means[2] * means[3]
        return first - second, np.abs(first) + np.abs(second)

    count = columns.shape[1]
    whole, scale = of(columns.mean(axis=1, keepdims=True))
    if count < 2:
        return whole
    left, _ = of((columns.sum(axis=1, keepdims=True) - columns) / (count - 1))
    found = count * whole - (count - 1) * left
    return np.where(np.abs(found) <= _ROUNDING * count * scale, 0.0, found)


def _series(one: Setting, metric: str, scheme: str) -> list[Floats]:
    return list(common(*(point.values[metric][scheme] for point in one.points)))


def slope(columns: Sequence[Floats]) -> Floats:
    """Return the trend over the ranks of the points: the sum of (i - mean of i) x_i, above zero where they rise.

    It uses ranks because the study does not list the points of its sweeps, and its axes are percentages of a range.
    So the trend is the same on a linear and a logarithmic axis, and a straight line, a step and a saturating curve
    all rise.
    """
    middle = (len(columns) - 1) / 2
    return _contrast((place - middle, column) for place, column in enumerate(columns))


def _rises(columns: Sequence[Floats], margin: float) -> Statement:
    """State that values rise: the trend rises, and no step falls by more than the margin of the larger value.

    A plateau is not a fall. A peak followed by a fall of more than the margin is one.
    """
    steps = [above(after, before, 1 - margin, is_strict=False) for before, after in pairwise(columns)]
    return every([Sign(slope(columns)), *steps])


def _monotone(claim: Claim, one: Setting, metric: str, *, step: int) -> Statement:
    return for_subjects(claim, one, lambda scheme: _rises(_series(one, metric, scheme)[::step], one.words.margin))


def _insensitive_to(claim: Claim, one: Setting, metric: str) -> Statement:
    def part(scheme: str) -> Statement:
        columns = _series(one, metric, scheme)
        return every(near(a, b, one.words.margin) for a, b in combinations(columns, 2))

    return for_subjects(claim, one, part)


def _gaps(one: Setting, metric: str, scheme: str, other: str) -> list[Floats]:
    ours, theirs = _series(one, metric, scheme), _series(one, metric, other)
    return [_contrast([(1.0, a), (-1.0, b)]) for a, b in zip(ours, theirs, strict=True)]


def _gap_with(claim: Claim, one: Setting, metric: str, *, widens: bool) -> Statement:
    """State that |d|, d the difference, is greater at the last point than at the first (or less), as its trend says.

    |last| > |first| is (last - first)(last + first) > 0: the difference of the two and their sum have one sign. The
    trend stands for the difference, so that the points between count.
    """

    def part(scheme: str, other: str) -> Statement:
        gaps = _gaps(one, metric, scheme, other)
        trend, both = slope(gaps), _contrast([(1.0, gaps[0]), (1.0, gaps[-1])])
        return of_one_sign(trend, both if widens else -both)

    return against_each(claim, one, part)


def _peaks_at(claim: Claim, one: Setting, metric: str) -> Statement:
    levels = [point.level for point in one.points]
    inside = part_of(claim.at, levels) if claim.at else list(range(len(levels)))
    candidates = [place for place in inside if 0 < place < len(levels) - 1]

    def part(scheme: str) -> Statement:
        columns = _series(one, metric, scheme)
        outside = [place for place in range(len(columns)) if place not in candidates]
        return some(every(above(columns[place], columns[other]) for other in outside) for place in candidates)

    return of_each(claim, [part(scheme) for scheme in one.subject], negates=True)


def _peak_greater(claim: Claim, one: Setting, metric: str) -> Statement:
    """State that max(s) - s(end) > max(a) - a(end): a point of s is further above its end than every point of a."""

    def part(scheme: str, other: str) -> Statement:
        ours, theirs = _series(one, metric, scheme), _series(one, metric, other)
        return some(
            every(Sign(_contrast([(1.0, s), (-1.0, ours[-1]), (-1.0, a), (1.0, theirs[-1])])) for a in theirs)
            for s in ours
        )

    return against_each(claim, one, part)


def _elsewhere(
    claim: Claim, one: Setting, part: Callable[[str, tuple[At, ...], tuple[At, ...]], Statement]
) -> Statement:
    """State something of each subject here beside each other condition."""
    return for_subjects(claim, one, lambda scheme: every(part(scheme, one.points, group) for group in one.others))


def _mean_in(claim: Claim, one: Setting, metric: str, *, is_alike: bool) -> Statement:
    def part(scheme: str, here: tuple[At, ...], there: tuple[At, ...]) -> Statement:
        ours, theirs = common(mean_over(here, metric, scheme), mean_over(there, metric, scheme))
        if is_alike:
            return near(ours, theirs, one.words.margin)
        return near(ours, amount_of_times(claim) * theirs, one.words.margin) if claim.amount else above(ours, theirs)

    return _elsewhere(claim, one, part)


def _ratio_above(a: Floats, b: Floats, c: Floats, d: Floats) -> Sign:
    """State that a / b > c / d of means that are not negative."""
    return Sign(_difference_of_products(a, d, c, b))


def _better_in(claim: Claim, one: Setting, metric: str) -> Statement:
    """State that the subject over the best of the others is lower here (of goodput: higher).

    Lower: s / min(a) = max(s / a), so for every a here some b there has s_here / a < s_there / b. Higher: s / max(a)
    = min(s / a), so some b there is such that for every a here s_here / a > s_there / b.
    """

    def part(scheme: str, here: tuple[At, ...], there: tuple[At, ...]) -> Statement:
        ours, theirs = mean_over(here, metric, scheme), mean_over(there, metric, scheme)
        best_of = [other for other in one.against if other != scheme]
        a = {other: mean_over(here, metric, other) for other in best_of}
        b = {other: mean_over(there, metric, other) for other in best_of}
        if metric in HIGHER_IS_BETTER:
            return some(every(_ratio_above(ours, a[x], theirs, b[y]) for x in best_of) for y in best_of)
        return every(some(_ratio_above(theirs, b[y], ours, a[x]) for y in best_of) for x in best_of)

    return _elsewhere(claim, one, part)


def _gap_greater_in(claim: Claim, one: Setting, metric: str) -> Statement:
    """State that |log(s / a)| is greater here than there, the relative distance that is the same from either side.

    |x| > |y| is (x - y)(x + y) > 0, of x = log(s / a) here and y = log(s / a) there: s a' - s' a and s s' - a a' have
    one sign (s', a' there). Two zeros are no distance, as two ones.
    """

    def part(scheme: str, other: str) -> Statement:
        def beside(group: tuple[At, ...]) -> Statement:
            s, a = _not_nothing(mean_over(one.points, metric, scheme), mean_over(one.points, metric, other))
            s2, a2 = _not_nothing(mean_over(group, metric, scheme), mean_over(group, metric, other))
            return of_one_sign(_difference_of_products(s, a2, s2, a), _difference_of_products(s, s2, a, a2))

        return every(beside(group) for group in one.others)

    return against_each(claim, one, part)


def _not_nothing(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    return (one, other) if np.any(one) or np.any(other) else (np.ones_like(one), np.ones_like(other))


def _better_ones(one: Setting, group: tuple[At, ...], metric: str, scheme: str) -> list[Statement]:
    """Return a statement for each other scheme of the figure: that it is better."""
    sign = 1.0 if metric in HIGHER_IS_BETTER else -1.0
    ours = mean_over(group, metric, scheme)
    return [above(sign * mean_over(group, metric, other), sign * ours) for other in one.figure if other != scheme]


def _rank_better_in(claim: Claim, one: Setting, metric: str) -> Statement:
    """State that for some k no more than k schemes are better here, and more than k there."""

    def part(scheme: str, here: tuple[At, ...], there: tuple[At, ...]) -> Statement:
        ours, theirs = _better_ones(one, here, metric, scheme), _better_ones(one, there, metric, scheme)
        return some(every([at_most(k, ours), at_least(k + 1, theirs)]) for k in range(len(ours)))

    return _elsewhere(claim, one, part)


def _rank_alike_in(claim: Claim, one: Setting, metric: str) -> Statement:
    """State that for some k exactly k schemes are better in every condition."""
    groups = [*((point,) for point in one.points), *one.others]

    def part(scheme: str) -> Statement:
        better = [_better_ones(one, group, metric, scheme) for group in groups]
        return some(every(exactly(k, of) for of in better) for k in range(len(better[0]) + 1))

    return for_subjects(claim, one, part)


def _spread_lower_in(claim: Claim, one: Setting, metric: str) -> Statement:  # noqa: ARG001 - one form for all
    """State that 1 - min / max over the subjects is lower here than there.

    min / max is the least ratio of two of them: for some pair there, every pair here has a greater ratio.
    """

    def beside(group: tuple[At, ...]) -> Statement:
        here = {scheme: mean_over(one.points, metric, scheme) for scheme in one.subject}
        there = {scheme: mean_over(group, metric, scheme) for scheme in one.subject}
        return some(
            every(_ratio_above(here[a], here[b], there[c], there[d]) for a, b in _pairs(here))
            for c, d in _pairs(there)
        )

    return every(beside(group) for group in one.others)


def _pairs(of: Mapping[str, Floats]) -> list[tuple[str, str]]:
    """Return all ordered pairs, the furthest apart first: what decides is found early, no outcome is changed."""
    means = {name: float(values.mean()) for name, values in of.items()}
    return sorted(permutations(of, 2), key=lambda pair: (means[pair[0]] - means[pair[1]], pair))


def rank_correlation(drivers: Sequence[Floats], values: Sequence[Floats]) -> Floats:
    """Return Spearman's rank correlation over points, one per replication.

    Parameters
    ----------
    drivers, values
        One column a point.

    Returns
    -------
    Floats
        Each of the second half of the replications: its values, ranked, beside the ranks of the means that the driver
        has in the first half; NaN in the first half. Within a replication chance moves both (a run with more losses
        has more retransmissions under every scheme), which would correlate them where the means are unrelated; and
        with the mean of all other replications each would be used on both sides. Scatter brings the correlation
        nearer to zero, so its size is biased and its sign is what is judged. Zero where driver or values are the same
        at all points; NaN throughout with fewer than :data:`FEWEST_RANKED` replications in the second half, or
        :data:`FEWEST_POINTS` points.
    """
    x, y = np.stack(common(*drivers, *values)).reshape(2, len(drivers), -1)
    count = x.shape[1]
    half = count // 2
    found = np.full(count, np.nan)
    if count - half < FEWEST_RANKED or len(drivers) < FEWEST_POINTS:
        return found
    means = x[:, :half].mean(axis=1)
    if np.ptp(means) <= _ROUNDING * np.abs(means).max():
        means = np.zeros_like(means)
    a = scipy_stats.rankdata(means)[:, None]
    b = scipy_stats.rankdata(y[:, half:], axis=0)
    a, b = a - a.mean(), b - b.mean(axis=0)
    size = np.sqrt((a**2).sum() * (b**2).sum(axis=0))
    found[half:] = np.divide((a * b).sum(axis=0), size, out=np.zeros(count - half), where=size > 0)
    return found


def _correlated(claim: Claim, one: Setting, metric: str, *, sign: float) -> Sign:
    pairs = list(product(one.points, one.subject))
    drivers = [point.values[claim.driver][scheme] for point, scheme in pairs]
    values = [point.values[metric][scheme] for point, scheme in pairs]
    # No quantity named: that it gets better.
    better = -1.0 if claim.metric == "any" and metric not in HIGHER_IS_BETTER else 1.0
    return Sign(sign * better * rank_correlation(drivers, values))


OVER_SWEEPS: Final[Mapping[str, Maker]] = {
    "increases_with": partial(_monotone, step=1),
    "decreases_with": partial(_monotone, step=-1),
    "insensitive_to": _insensitive_to,
    "gap_increases_with": partial(_gap_with, widens=True),
    "gap_decreases_with": partial(_gap_with, widens=False),
    "peaks_at": _peaks_at,
    "peak_greater": _peak_greater,
}
"""By name, those over the points of one sweep."""

BETWEEN_CONDITIONS: Final[Mapping[str, Maker]] = {
    "higher_in": partial(_mean_in, is_alike=False),
    "alike_in": partial(_mean_in, is_alike=True),
    "better_in": _better_in,
    "gap_greater_in": _gap_greater_in,
    "rank_better_in": _rank_better_in,
    "spread_lower_in": _spread_lower_in,
}
"""By name, those of one condition beside others."""

POOLED: Final[Mapping[str, Maker]] = {
    "follows": partial(_correlated, sign=1.0),
    "opposes": partial(_correlated, sign=-1.0),
    "rank_alike_in": _rank_alike_in,
}
"""By name, those over all conditions at once."""
