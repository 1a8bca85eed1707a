"""Comparisons of schemes in one condition: each a statement about means.

Schemes see the same traffic in the same replication, so every statement is about one number per replication: a
difference, or one value minus a share of another. ``claims.toml`` defines each comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from sojourn.base.core import SojournError
from sojourn.stats import Floats
from sojourn.studies.papers.logic import Count, Sign, Statement, at_most, contrary, every, some
from sojourn.studies.papers.model import Claim

Values: TypeAlias = Mapping[str, Mapping[str, Floats]]
"""By metric, then by scheme: one value per replication, paired over schemes."""

HIGHER_IS_BETTER: Final = ("goodput_bit_s", "throughput_bit_s", "jain_index")


@dataclass(frozen=True, slots=True)
class Words:
    """The meaning of words as numbers: the readings of judgement.

    Parameters
    ----------
    margin
        The largest difference that is "comparable", "about" or "slightly", relative to the larger value.
    side
        ``median`` or ``third``: what "relatively low" means.
    across
        ``each``, ``most`` or ``mean``: in which of several conditions a sentence must hold.
    percent
        ``of_highest`` or ``of_other``: the value of which "80 % higher" is a share.
    """

    margin: float = 0.10
    side: str = "median"
    across: str = "each"
    percent: str = "of_highest"


@dataclass(frozen=True, slots=True)
class At:
    """A condition that was measured.

    Parameters
    ----------
    level
        Of the swept factor; NaN where none is swept.
    """

    name: str
    values: Values
    level: float = np.nan


@dataclass(frozen=True)
class Setting:
    """The schemes of a claim and the measured values.

    Parameters
    ----------
    points
        What was measured in the condition that the claim is about, at the points of a sweep in ascending order of its
        factor, or in the claim's own conditions for a comparison of conditions.
    others
        The conditions with which a comparison of conditions compares; several conditions count as one by their mean.
    """

    subject: tuple[str, ...]
    against: tuple[str, ...]
    figure: tuple[str, ...]
    points: tuple[At, ...]
    words: Words = field(default_factory=Words)
    others: tuple[tuple[At, ...], ...] = ()
    traffic: tuple[str, ...] = ()

    @property
    def values(self) -> Values:
        """Measured in the condition that the claim is about, or in the first one."""
        return self.points[0].values


Maker: TypeAlias = Callable[[Claim, Setting, str], Statement]
"""From a claim, what was measured and a metric to a statement; `is_negated` is not its business, but for ``best``."""


def mean_over(points: tuple[At, ...], metric: str, scheme: str) -> Floats:
    """Return the mean over conditions of one value per replication; as many as the shortest has."""
    return np.asarray(np.mean(common(*(one.values[metric][scheme] for one in points)), axis=0))


def common(*columns: Floats) -> tuple[Floats, ...]:
    """Return columns cut to the length of the shortest: replications that all conditions have."""
    count = min(column.size for column in columns)
    return tuple(column[:count] for column in columns)


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
    return of_each(claim, [part(scheme) for scheme in one.subject])


def of_each(claim: Claim, parts: Sequence[Statement], *, negates: bool = False) -> Statement:
    """State a statement on each subject of all of them, or of one; a comparison that `negates` itself: of none."""
    if negates and claim.is_negated:
        return at_most(0, parts)
    return some(parts) if claim.is_best_of else every(parts)


def against_each(claim: Claim, one: Setting, part: Callable[[str, str], Statement]) -> Statement:
    """State something of each subject beside each scheme that it is compared with."""
    return for_subjects(
        claim, one, lambda scheme: every(part(scheme, other) for other in one.against if other != scheme)
    )


def _pairs(claim: Claim, one: Setting, metric: str, part: Callable[[Floats, Floats], Statement]) -> Statement:
    of = one.values[metric]
    return against_each(claim, one, lambda scheme, other: part(of[scheme], of[other]))


def _ordered(claim: Claim, one: Setting, metric: str, *, is_lower: bool) -> Statement:
    """State that subjects are lower, or higher; "slightly" is by no more than the margin."""

    def part(subject: Floats, against: Floats) -> Statement:
        low, high = (subject, against) if is_lower else (against, subject)
        apart = above(high, low)
        return every([apart, above(low, high, 1 - one.words.margin, is_strict=False)]) if claim.is_slight else apart

    return _pairs(claim, one, metric, part)


def _alike(claim: Claim, one: Setting, metric: str) -> Statement:  # noqa: ARG001 - one form for all
    of = one.values[metric]
    return every(near(of[a], of[b], one.words.margin) for a, b in combinations(one.subject, 2))


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


def _higher_by(claim: Claim, one: Setting, metric: str) -> Statement:
    of = one.values[metric]
    highest = max((of[name] for name in one.figure if name in of), key=lambda values: float(np.mean(values)))

    def part(subject: Floats, against: Floats) -> Statement:
        whole = highest if one.words.percent == "of_highest" else against
        return _share(claim, subject - against, whole, one.words.margin)

    return _pairs(claim, one, metric, part)


def _those_below(one: Setting, metric: str, scheme: str, others: Iterable[str], sign: float = 1.0) -> list[Statement]:
    """Return a statement for each other scheme: that it is lower; with a `sign` of -1, higher."""
    of = one.values[metric]
    return [above(sign * of[scheme], sign * of[other]) for other in others if other != scheme]


def _ranked(claim: Claim, one: Setting, metric: str, *, least: int | None) -> Statement:
    if claim.rank is None:
        raise SojournError(f"claim {claim.id}: {claim.comparison} needs a rank")
    most, together = claim.rank - 1, tuple(dict.fromkeys((*one.subject, *one.against)))

    def part(scheme: str) -> Statement:
        return Count(tuple(_those_below(one, metric, scheme, together)), most if least is None else least, most)

    return for_subjects(claim, one, part)


def _extreme(claim: Claim, one: Setting, metric: str, *, sign: float) -> Statement:
    """State that so many of the figure's schemes lie on the other side that the subject is in its half, or third.

    Of n schemes, one is below the median if at least n - n // 2 others are above it, and among the lowest third if
    n - n // 3 are. Equal values are on no side.
    """
    count = len(one.figure)
    least = count - count // (3 if one.words.side == "third" else 2)
    return for_subjects(
        claim, one, lambda scheme: Count(tuple(_those_below(one, metric, scheme, one.figure, sign)), least, count)
    )


def _best(claim: Claim, one: Setting, metric: str) -> Statement:
    sign = 1.0 if metric in HIGHER_IS_BETTER else -1.0
    each = [every(_those_below(one, metric, scheme, one.against, sign)) for scheme in one.subject]
    return of_each(claim, each, negates=True)


def _below(claim: Claim, one: Setting, metric: str) -> Statement:
    bound = number_of(claim.value)
    return for_subjects(claim, one, lambda scheme: Sign(bound - one.values[metric][scheme]))


def _equals(claim: Claim, one: Setting, metric: str) -> Statement:
    wanted = number_of(claim.value)

    def part(scheme: str) -> Statement:
        values = one.values[metric][scheme]
        return (
            near(values, np.full_like(values, wanted), one.words.margin) if wanted else contrary(Sign(np.abs(values)))
        )

    return for_subjects(claim, one, part)


def of_one_sign(one: Floats, other: Floats) -> Statement:
    """State that two means have one sign: that of (a - b) and (a + b) if |a| > |b|."""
    return some(every([Sign(sign * one), Sign(sign * other)]) for sign in (1.0, -1.0))


def _farther(claim: Claim, one: Setting, metric: str) -> Statement:
    """State that |s - r| > |a - r|, r being the first that is named beside the subject, of every other a."""
    of = one.values[metric]
    first, *others = one.against

    def part(scheme: str) -> Statement:
        ours, base = of[scheme], of[first]
        return every(of_one_sign(ours - of[other], ours + of[other] - 2 * base) for other in others)

    return for_subjects(claim, one, part)


OF_SCHEMES: Final[Mapping[str, Maker]] = {
    "lower": partial(_ordered, is_lower=True),
    "higher": partial(_ordered, is_lower=False),
    "lowest": partial(_ordered, is_lower=True),
    "highest": partial(_ordered, is_lower=False),
    "nth_lowest": partial(_ranked, least=None),
    "among_lowest": partial(_ranked, least=0),
    "lower_by": lambda claim, one, metric: _pairs(
        claim, one, metric, lambda s, a: _share(claim, a - s, a, one.words.margin)
    ),
    "higher_by": _higher_by,
    "comparable": lambda claim, one, metric: _pairs(
        claim, one, metric, lambda subject, against: near(subject, against, one.words.margin)
    ),
    "alike": _alike,
    "better": lambda claim, one, metric: _ordered(claim, one, metric, is_lower=metric not in HIGHER_IS_BETTER),
    "best": _best,
    "below": _below,
    "equals": _equals,
    "farther": _farther,
    "low": partial(_extreme, sign=-1.0),
    "high": partial(_extreme, sign=1.0),
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


def number_of(text: str) -> float:
    """Return the number that a value begins with."""
    found = re.match(r"[0-9.]+", text)
    if not found:
        raise SojournError(f"value={text!r} does not begin with a number")
    return float(found[0])
