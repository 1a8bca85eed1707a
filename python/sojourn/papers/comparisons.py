"""Comparisons of schemes in one condition: each a statement about means.

Schemes see the same traffic in the same replication, so every statement is about one number per replication: a
difference, or one value minus a share of another. ``claims.toml`` defines each comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from sojourn.core import SojournError
from sojourn.papers import logic
from sojourn.papers.logic import Sign, Statement, at_most, contrary, every, some
from sojourn.papers.model import Claim
from sojourn.papers.setting import HIGHER_IS_BETTER, Setting
from sojourn.stats import Floats

Maker: TypeAlias = Callable[[Claim, Setting, str], Statement]
"""From a claim, what was measured and a metric to a statement; `is_negated` is not its business, but for ``best``."""


def above(high: Floats, low: Floats, share: float = 1.0, *, is_strict: bool = True) -> Sign:
    """State that the mean of `high` is above a share of that of `low`; over pairs, so it is one number each."""
    return Sign(high - share * low, is_strict)


def near(one: Floats, other: Floats, margin: float) -> Statement:
    """State that two means differ by no more than the margin of the larger.

    |a - b| <= g max(a, b) for positive means is a >= (1 - g) b and b >= (1 - g) a: two linear statements.
    """
    return every([above(one, other, 1 - margin, is_strict=False), above(other, one, 1 - margin, is_strict=False)])


def for_subjects(claim: Claim, one: Setting, part: Callable[[str], Statement]) -> Statement:
    """State something of each subject, or of the best of them."""
    parts = [part(scheme) for scheme in one.subject]
    return some(parts) if claim.is_best_of else every(parts)


def _pairs(claim: Claim, one: Setting, metric: str, part: Callable[[Floats, Floats], Statement]) -> Statement:
    of = one.values[metric]
    return for_subjects(
        claim, one, lambda scheme: every(part(of[scheme], of[other]) for other in one.against if other != scheme)
    )


def _lower(claim: Claim, one: Setting, metric: str) -> Statement:
    def part(subject: Floats, against: Floats) -> Statement:
        below = above(against, subject)
        if not claim.is_slight:
            return below
        return every([below, above(subject, against, 1 - one.words.margin, is_strict=False)])

    return _pairs(claim, one, metric, part)


def _higher(claim: Claim, one: Setting, metric: str) -> Statement:
    def part(subject: Floats, against: Floats) -> Statement:
        over = above(subject, against)
        if not claim.is_slight:
            return over
        return every([over, above(against, subject, 1 - one.words.margin, is_strict=False)])

    return _pairs(claim, one, metric, part)


def _comparable(claim: Claim, one: Setting, metric: str) -> Statement:
    return _pairs(claim, one, metric, lambda subject, against: near(subject, against, one.words.margin))


def _alike(claim: Claim, one: Setting, metric: str) -> Statement:  # noqa: ARG001 - one form for all
    of = one.values[metric]
    return every(
        near(of[a], of[b], one.words.margin) for k, a in enumerate(one.subject) for b in one.subject[k + 1 :]
    )


def _share(claim: Claim, excess: Floats, whole: Floats, margin: float) -> Statement:
    """State that the mean excess is at least, about or between a share of the mean whole: linear, so over pairs."""
    low, high = amount(claim)
    if claim.bound == "about":
        low, high = low * (1 - margin), high / (1 - margin)
    # Without the first, 0 would be 60 % lower than 0.
    bounds = [Sign(excess), Sign(excess - low * whole, is_strict=False)]
    if claim.bound != "at_least":
        bounds.append(Sign(high * whole - excess, is_strict=False))
    return every(bounds)


def _lower_by(claim: Claim, one: Setting, metric: str) -> Statement:
    return _pairs(claim, one, metric, lambda s, a: _share(claim, a - s, a, one.words.margin))


def _higher_by(claim: Claim, one: Setting, metric: str) -> Statement:
    of = one.values[metric]
    highest = of[
        max((scheme for scheme in one.figure if scheme in of), key=lambda scheme: float(np.mean(of[scheme])))
    ]

    def part(subject: Floats, against: Floats) -> Statement:
        whole = highest if one.words.percent == "of_highest" else against
        return _share(claim, subject - against, whole, one.words.margin)

    return _pairs(claim, one, metric, part)


def _that_are_lower(one: Setting, metric: str, scheme: str, others: Iterable[str]) -> list[Statement]:
    of = one.values[metric]
    return [above(of[scheme], of[other]) for other in others if other != scheme]


def _nth_lowest(claim: Claim, one: Setting, metric: str) -> Statement:
    together = tuple(dict.fromkeys((*one.subject, *one.against)))

    def part(scheme: str) -> Statement:
        return logic.Count(tuple(_that_are_lower(one, metric, scheme, together)), _rank(claim) - 1, _rank(claim) - 1)

    return for_subjects(claim, one, part)


def _among_lowest(claim: Claim, one: Setting, metric: str) -> Statement:
    together = tuple(dict.fromkeys((*one.subject, *one.against)))
    return for_subjects(
        claim, one, lambda scheme: at_most(_rank(claim) - 1, _that_are_lower(one, metric, scheme, together))
    )


def _further(one: Setting, parts: Sequence[Statement]) -> Statement:
    """State that so many of the figure's schemes lie on the other side that the subject is in its half, or third.

    Of n schemes, one is below the median if at least n - n // 2 others are above it, and among the lowest third if
    n - n // 3 are. Equal values are on no side.
    """
    count = len(one.figure)
    return logic.Count(tuple(parts), count - count // (3 if one.words.side == "third" else 2), count)


def _low(claim: Claim, one: Setting, metric: str) -> Statement:
    of = one.values[metric]
    return for_subjects(
        claim,
        one,
        lambda scheme: _further(one, [above(of[other], of[scheme]) for other in one.figure if other != scheme]),
    )


def _high(claim: Claim, one: Setting, metric: str) -> Statement:
    return for_subjects(claim, one, lambda scheme: _further(one, _that_are_lower(one, metric, scheme, one.figure)))


def _better(claim: Claim, one: Setting, metric: str) -> Statement:
    return (_higher if metric in HIGHER_IS_BETTER else _lower)(claim, one, metric)


def _best(claim: Claim, one: Setting, metric: str) -> Statement:
    of, sign = one.values[metric], 1.0 if metric in HIGHER_IS_BETTER else -1.0
    each = [
        every(above(sign * of[scheme], sign * of[other]) for other in one.against if other != scheme)
        for scheme in one.subject
    ]
    if claim.is_negated:
        return at_most(0, each)
    return some(each) if claim.is_best_of else every(each)


def _below(claim: Claim, one: Setting, metric: str) -> Statement:
    bound = _number(claim.value)
    return for_subjects(claim, one, lambda scheme: Sign(bound - one.values[metric][scheme]))


def _equals(claim: Claim, one: Setting, metric: str) -> Statement:
    wanted = _number(claim.value)
    return for_subjects(
        claim,
        one,
        lambda scheme: (
            near(one.values[metric][scheme], np.full_like(one.values[metric][scheme], wanted), one.words.margin)
            if wanted
            else contrary(Sign(np.abs(one.values[metric][scheme])))
        ),
    )


OF_SCHEMES: Final[Mapping[str, Maker]] = {
    "lower": _lower,
    "higher": _higher,
    "lowest": _lower,
    "highest": _higher,
    "nth_lowest": _nth_lowest,
    "among_lowest": _among_lowest,
    "lower_by": _lower_by,
    "higher_by": _higher_by,
    "comparable": _comparable,
    "alike": _alike,
    "better": _better,
    "best": _best,
    "below": _below,
    "equals": _equals,
    "low": _low,
    "high": _high,
}
"""By name."""


def amount(claim: Claim) -> tuple[float, float]:
    """Return the amount of a claim as shares: ``8 % to 23 %`` is (0.08, 0.23), ``60 %`` is (0.6, 0.6)."""
    found = [float(text) / 100 for text in re.findall(r"([0-9.]+) %", claim.amount)]
    if not found:
        raise SojournError(f"claim {claim.id}: amount={claim.amount!r} is not a share; allowed: 60 %, 8 % to 23 %")
    return found[0], found[-1]


def amount_of_times(claim: Claim) -> float:
    """Return the amount of a claim as a factor: ``6 times`` is 6.0."""
    found = re.fullmatch(r"([0-9.]+) times", claim.amount)
    if not found:
        raise SojournError(f"claim {claim.id}: amount={claim.amount!r} is not a factor; allowed: 6 times")
    return float(found[1])


def _rank(claim: Claim) -> int:
    if claim.rank is None:
        raise SojournError(f"claim {claim.id}: {claim.comparison} needs a rank")
    return claim.rank


def _number(text: str) -> float:
    found = re.match(r"[0-9.]+", text)
    if not found:
        raise SojournError(f"value={text!r} does not begin with a number")
    return float(found[0])
