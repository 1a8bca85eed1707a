"""Statements about means, decided by intervals, and what follows from several of them.

A :class:`Sign` says that the mean of one number a replication is above zero. Its 95 % interval decides: above zero it
is true, below it is false, and with zero inside it is open. A :class:`Count` is built from others; it is true or
false as soon as those that are decided leave no choice. The signs of one claim are a family: Holm's method keeps the
probability of even one wrong decision among them at 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from sojourn import stats
from sojourn.stats import LEVEL, Floats

MANY: Final = 100_000
"""More replications than this are not named."""


@dataclass(frozen=True, eq=False, slots=True)
class Sign:
    """The mean of the values is above zero; without `is_strict`, not below it.

    Parameters
    ----------
    values
        One a replication.
    is_strict
        Whether zero itself is false.
    """

    values: Floats
    is_strict: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Count:
    """Of some statements at least `least` and at most `most` are true.

    Parameters
    ----------
    parts
        The statements.
    least, most
        How many of them.
    """

    parts: tuple[Statement, ...]
    least: int
    most: int


Statement: TypeAlias = Sign | Count
Truth: TypeAlias = bool | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What the data say of a statement.

    Parameters
    ----------
    truth
        None: undecided.
    replications
        How many would decide it if their means and scatter stayed as they are. None where it is decided, and where no
        number up to :data:`MANY` would.
    """

    truth: Truth
    replications: int | None = None


def every(parts: Iterable[Statement]) -> Count:
    """All of them."""
    found = tuple(parts)
    return Count(found, len(found), len(found))


def some(parts: Iterable[Statement]) -> Count:
    """At least one of them."""
    found = tuple(parts)
    return Count(found, 1, len(found))


def most_of(parts: Iterable[Statement]) -> Count:
    """More than half of them."""
    found = tuple(parts)
    return Count(found, len(found) // 2 + 1, len(found))


def at_most(most: int, parts: Iterable[Statement]) -> Count:
    """No more than `most` of them."""
    found = tuple(parts)
    return Count(found, 0, most)


def contrary(part: Statement) -> Count:
    """Not this one."""
    return Count((part,), 0, 0)


def decide(statement: Statement, level: float = LEVEL) -> Decision:
    """Decide a statement by the intervals of its signs, corrected for their number by Holm's method.

    Parameters
    ----------
    statement
        What is claimed.
    level
        Of confidence.

    Examples
    --------
    >>> decide(Sign(np.array([1.0, 2.0, 3.0, 2.0]))).truth
    True
    """
    signs = list(dict.fromkeys(_signs(statement)))
    # A family's correction counts the tests; equal values in every replication need none.
    tested = stats.holm([_p(sign) for sign in signs])
    known: dict[int, Truth] = {id(sign): _truth(sign, p, 1 - level) for sign, p in zip(signs, tested, strict=True)}
    truth = _follows(statement, lambda sign: known[id(sign)])
    if truth is not None:
        return Decision(truth)
    return Decision(None, _needed(statement, signs, known, level))


def _needed(statement: Statement, signs: Sequence[Sign], known: dict[int, Truth], level: float) -> int | None:
    """Return the least number of replications at which the signs that it decides decide the whole."""
    family = 1 - (1 - level) / max(sum(math.isfinite(_p(sign)) for sign in signs), 1)
    open_ = {id(sign): (needed(sign.values, family), _mean(sign) > 0) for sign in signs if known[id(sign)] is None}
    for count in sorted({n for n, _ in open_.values() if n is not None}):
        then = dict(known)
        then.update({key: is_above for key, (n, is_above) in open_.items() if n is not None and n <= count})
        if _follows(statement, lambda sign, then=then: then[id(sign)]) is not None:  # type: ignore[misc]
            return count
    return None


def needed(values: Floats, level: float = LEVEL) -> int | None:
    """Return how many replications give an interval of the mean that misses zero, mean and scatter staying.

    The least n with t(n - 1) s / sqrt(n) < |m|. None without two values, and above :data:`MANY`.
    """
    observed = values[np.isfinite(values)]
    if observed.size < 2:
        return None
    mean, deviation = abs(float(observed.mean())), float(observed.std(ddof=1))
    if mean == 0:
        return None

    def is_enough(n: int) -> bool:
        return stats.quantile_t(n - 1, level) * deviation / math.sqrt(n) < mean

    low, high = 2, MANY
    if not is_enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def _signs(statement: Statement) -> Iterable[Sign]:
    if isinstance(statement, Sign):
        yield statement
    else:
        for part in statement.parts:
            yield from _signs(part)


def _mean(sign: Sign) -> float:
    observed = sign.values[np.isfinite(sign.values)]
    return float(observed.mean()) if observed.size else math.nan


def _is_constant(sign: Sign) -> bool:
    observed = sign.values[np.isfinite(sign.values)]
    return observed.size > 1 and bool(np.ptp(observed) <= 1e-12 * np.abs(observed).max())


def _p(sign: Sign) -> float:
    return math.nan if _is_constant(sign) else stats.paired_p(sign.values, np.zeros_like(sign.values))


def _truth(sign: Sign, p: float, alpha: float) -> Truth:
    mean = _mean(sign)
    if _is_constant(sign):
        return mean > 0 or (mean == 0 and not sign.is_strict)
    return mean > 0 if p < alpha else None


def _follows(statement: Statement, truth_of: Callable[[Sign], Truth]) -> Truth:
    if isinstance(statement, Sign):
        return truth_of(statement)
    found = [_follows(part, truth_of) for part in statement.parts]
    true, open_ = sum(one is True for one in found), sum(one is None for one in found)
    if true > statement.most or true + open_ < statement.least:
        return False
    return True if true >= statement.least and true + open_ <= statement.most else None
