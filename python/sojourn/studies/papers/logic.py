"""Statements about means that confidence intervals decide, and statements that combine several others.

A :class:`Sign` states that the mean of one number per replication is above zero. Its interval by Student's t decides:
the statement is true if the interval is above zero, false if it is below, and undecided if it contains zero. A
:class:`Count` combines other statements.

The levels of the intervals are chosen so that the whole is decided wrongly with a probability of at most 5 %, for any
dependence between its parts. Suppose that "at least k of n statements are true" is decided wrongly. Then at least one
false statement was taken for true, and j more of them if n - k + 1 + j statements are false. If each has the level
a / (n - k + 1), Markov's inequality bounds the probability of this by a. So "each of them" needs no correction (k =
n: the intersection-union test, Berger 1982), and "any of them" needs Bonferroni's (k = 1). "Not each of them" also
needs Bonferroni's, because it means "any is not". A combined statement passes its level on to its parts. Holm's
method over all signs would keep the same bound and decide fewer statements: for "a is lower than each of seven" it
requires intervals of 99.3 %.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from sojourn import stats
from sojourn.stats import LEVEL, Floats

MANY: Final = 100_000
"""Larger numbers of replications are not reported."""

_ROUNDING: Final = 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class Sign:
    """The mean of the values, one per replication, is above zero; without `is_strict`, not below it."""

    values: Floats
    is_strict: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Count:
    """Of some statements at least `least` and at most `most` are true."""

    parts: tuple[Statement, ...]
    least: int
    most: int


Statement: TypeAlias = Sign | Count
Truth: TypeAlias = bool | None


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a statement.

    Parameters
    ----------
    replications
        The number of replications that would decide it if means and scatter stayed the same. None if it is decided,
        or if no number up to :data:`MANY` would decide it.
    """

    truth: Truth
    replications: int | None = None


def every(parts: Iterable[Statement]) -> Count:
    """All of them."""
    found = tuple(parts)
    return Count(found, len(found), len(found))


def some(parts: Iterable[Statement]) -> Count:
    """At least one of them."""
    return at_least(1, parts)


def most_of(parts: Iterable[Statement]) -> Count:
    """More than half of them."""
    found = tuple(parts)
    return Count(found, len(found) // 2 + 1, len(found))


def at_least(least: int, parts: Iterable[Statement]) -> Count:
    """No fewer than `least` of them."""
    found = tuple(parts)
    return Count(found, least, len(found))


def at_most(most: int, parts: Iterable[Statement]) -> Count:
    """No more than `most` of them."""
    return Count(tuple(parts), 0, most)


def exactly(count: int, parts: Iterable[Statement]) -> Count:
    """As many of them."""
    return Count(tuple(parts), count, count)


def contrary(part: Statement) -> Count:
    """Not this one."""
    return Count((part,), 0, 0)


def decide(statement: Statement, level: float = LEVEL) -> Decision:
    """Decide a statement by the intervals of its signs; the level of each follows from its place in the statement.

    `level` is the confidence level of the decision on the whole statement.

    Examples
    --------
    >>> decide(Sign(np.array([1.0, 2.0, 3.0, 2.0]))).truth
    True
    """
    evidence = _Evidence(statement, 1 - level)
    truth = evidence.truth()
    return Decision(truth, None if truth is not None else evidence.needed())


def two_looks(first: int, last: int, level: float = LEVEL) -> float:
    """Return how often a true mean of zero is decided after `first` replications, or else after `last`.

    The second look has the replications of the first, which are normal. A statement that the mean is above zero is
    decided wrongly half as often. The number is the share of 400,000 draws of the means and the sums of squares of
    both parts, with a standard error below 0.0005.

    Examples
    --------
    >>> round(two_looks(5, 20), 2)
    0.09
    """
    random, size, more = np.random.default_rng(1), 400_000, last - first
    parts = [
        (random.standard_normal(size) / math.sqrt(n), random.chisquare(max(n - 1, 1e-9), size)) for n in (first, more)
    ]
    (early, early_squares), (later, later_squares) = parts
    mean = (first * early + more * later) / last
    squares = early_squares + later_squares + first * more / last * (early - later) ** 2
    looks = ((first, early, early_squares), (last, mean, squares))
    decided = [abs(m) * math.sqrt(n * (n - 1)) > stats.quantile_t(n - 1, level) * np.sqrt(q) for n, m, q in looks]
    return float(np.mean(decided[0] | decided[1]))


@dataclass(frozen=True, slots=True)
class _Observation:
    """What replications say of a sign; `certain` where they are all the same, which needs no test."""

    mean: float
    deviation: float
    count: int
    total: int
    certain: Truth

    def truth(self, alpha: float, count: int | None) -> Truth:
        # Of more replications as large a part would have a value.
        n = self.count if count is None else count * self.count // max(self.total, 1)
        if self.count < 2 or n < 2 or abs(self.mean) * math.sqrt(n) <= _quantile(n - 1, alpha) * self.deviation:
            return None
        return self.mean > 0


@dataclass(frozen=True, slots=True)
class _Open:
    """The parts of a count that are not certain, how many are certainly true and false, and what follows of it."""

    parts: list[Statement]
    true: int
    false: int
    certain: Truth

    def count(self, truth: bool) -> int:
        return self.true if truth else self.false


@lru_cache(maxsize=65536)
def _quantile(degrees: int, alpha: float) -> float:
    return stats.quantile_t(degrees, 1 - alpha)


class _Evidence:
    """A statement with what is known of its parts."""

    def __init__(self, statement: Statement, alpha: float) -> None:
        self.statement, self.alpha = statement, alpha
        signs = list(dict.fromkeys(_signs(statement)))
        self.signs = dict(zip(map(id, signs), _measure(signs), strict=True))
        self.counts: dict[int, _Open] = {}
        self._follow(statement)

    def truth(self, count: int | None = None) -> Truth:
        """Return what is decided; with `count`, would be with as many replications."""
        if self._is(self.statement, True, self.alpha, count):
            return True
        return False if self._is(self.statement, False, self.alpha, count) else None

    def needed(self) -> int | None:
        """Return the least number of replications that decides; more of them never decide less."""
        if self.truth(MANY) is None:
            return None
        return bisect_left(range(MANY), True, lo=2, key=lambda count: self.truth(count) is not None)

    def _follow(self, statement: Statement) -> Truth:
        """Note what is certain of a statement."""
        if isinstance(statement, Sign):
            return self.signs[id(statement)].certain
        found = [self._follow(part) for part in statement.parts]
        parts = [part for part, one in zip(statement.parts, found, strict=True) if one is None]
        true, open_ = sum(one is True for one in found), len(parts)
        truth: Truth = None
        if true > statement.most or true + open_ < statement.least:
            truth = False
        elif true >= statement.least and true + open_ <= statement.most:
            truth = True
        self.counts[id(statement)] = _Open(parts, true, len(found) - true - open_, truth)
        return truth

    def _is(self, statement: Statement, wanted: bool, alpha: float, count: int | None) -> bool:
        """Return whether it is decided that the truth of a statement is as wanted."""
        if isinstance(statement, Sign):
            seen = self.signs[id(statement)]
            return (seen.truth(alpha, count) if seen.certain is None else seen.certain) is wanted
        total, known = len(statement.parts), self.counts[id(statement)]
        if known.certain is not None:
            return known.certain is wanted
        if wanted:
            # Both bounds: each without correction.
            enough = self._are(known, True, statement.least, alpha, count)
            return enough and self._are(known, False, total - statement.most, alpha, count)
        # Either too few are true or too many: the level is shared by what is possible.
        bounds = [(False, total - statement.least + 1), (True, statement.most + 1)]
        possible = [(truth, need) for truth, need in bounds if need <= known.count(truth) + len(known.parts)]
        return any(self._are(known, truth, need, alpha / len(possible), count) for truth, need in possible)

    def _are(self, known: _Open, wanted: bool, need: int, alpha: float, count: int | None) -> bool:
        """Return whether it is decided that the truth of at least `need` parts is as wanted."""
        need -= known.count(wanted)
        spare = len(known.parts) - need
        if need <= 0 or spare < 0:
            return need <= 0
        decided = (self._is(part, wanted, alpha / (spare + 1), count) for part in known.parts)
        # No part is looked at that cannot change the answer.
        failed = 0
        for is_so in decided:
            need, failed = need - is_so, failed + (not is_so)
            if need == 0 or failed > spare:
                break
        return need == 0


def _measure(signs: list[Sign]) -> list[_Observation]:
    """Return mean and deviation of each sign, without what is not finite; all of one length at once."""
    found: dict[int, _Observation] = {}
    by_length: dict[int, list[int]] = {}
    for place, sign in enumerate(signs):
        by_length.setdefault(sign.values.size, []).append(place)
    for length, places in by_length.items():
        if length == 0:
            found |= {place: _Observation(math.nan, math.nan, 0, 0, None) for place in places}
            continue
        table = np.vstack([signs[place].values for place in places])
        finite = np.isfinite(table)
        counts = finite.sum(axis=1)
        safe = np.where(finite, table, 0.0)
        means = safe.sum(axis=1) / np.maximum(counts, 1)
        squares = np.where(finite, (table - means[:, None]) ** 2, 0.0).sum(axis=1)
        deviations = np.sqrt(squares / np.maximum(counts - 1, 1))
        spread = np.where(finite, table, -np.inf).max(axis=1) - np.where(finite, table, np.inf).min(axis=1)
        # What differs by rounding errors only does not differ.
        deviations[spread <= _ROUNDING * np.abs(safe).max(axis=1)] = 0.0
        for place, mean, deviation, count in zip(places, means, deviations, counts, strict=True):
            is_true = bool(mean > 0 or (mean == 0 and not signs[place].is_strict))
            certain = is_true if count > 1 and deviation == 0 else None
            found[place] = _Observation(float(mean), float(deviation), int(count), length, certain)
    return [found[place] for place in range(len(signs))]


def _signs(statement: Statement) -> Iterable[Sign]:
    if isinstance(statement, Sign):
        yield statement
    else:
        for part in statement.parts:
            yield from _signs(part)
