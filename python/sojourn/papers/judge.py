"""From a claim and measured values to a statement, and to an outcome."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

import numpy as np

from sojourn.core import SojournError
from sojourn.papers import logic
from sojourn.papers.logic import Sign, Statement, at_most, contrary, every, most_of, some
from sojourn.papers.model import Claim
from sojourn.stats import LEVEL, Floats

Values: TypeAlias = Mapping[str, Mapping[str, Floats]]
"""By metric, then by scheme: one value a replication, paired over schemes."""

HIGHER_IS_BETTER: Final = ("goodput_bit_s", "throughput_bit_s")


class Outcome(Enum):
    """What came of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNJUDGEABLE = "no run can decide"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a claim under a reading.

    Parameters
    ----------
    outcome
        Which.
    replications
        Where undecided: how many would decide; None if more than can be named.
    why
        Where not run: what is missing.
    """

    outcome: Outcome
    replications: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """How words become numbers: the readings of judgement.

    Parameters
    ----------
    margin
        How near "comparable", "about" and "slightly" are, relative to the larger.
    side
        ``median`` or ``third``: what "relatively low" is.
    across
        ``each``, ``most`` or ``mean``: how a sentence about several conditions is to hold.
    percent
        ``of_highest`` or ``of_other``: what "80 % higher" is a share of.
    """

    margin: float = 0.10
    side: str = "median"
    across: str = "each"
    percent: str = "of_highest"


@dataclass(frozen=True)
class Setting:
    """One claim's schemes, resolved, and the values of one condition.

    Parameters
    ----------
    subject, against, figure
        Schemes; `figure`: all of the figure.
    values
        Measured.
    words
        How to read the claim's words.
    """

    subject: tuple[str, ...]
    against: tuple[str, ...]
    figure: tuple[str, ...]
    values: Values
    words: Words = field(default_factory=Words)


Maker: TypeAlias = Callable[[Claim, Setting, str], Statement]


def judge(claim: Claim, settings: Sequence[Setting], rows: Sequence[str], level: float = LEVEL) -> Verdict:
    """Judge a claim over the conditions that it is about.

    Parameters
    ----------
    claim
        Which.
    settings
        One a condition; none: they have not been run.
    rows
        The metrics that ``any`` stands for.
    level
        Of confidence.
    """
    if claim.comparison == "unjudgeable":
        return Verdict(Outcome.UNJUDGEABLE, why=claim.reason)
    if claim.comparison not in MAKERS:
        return Verdict(Outcome.NOT_RUN, why=f"the comparison {claim.comparison} is not evaluated yet")
    if not settings:
        return Verdict(Outcome.NOT_RUN, why="its traffic has not been run")
    for one in settings:
        missing = _missing(claim, one, rows)
        if missing:
            return Verdict(Outcome.NOT_RUN, why=missing)
    found = logic.decide(statement(claim, settings, rows), level)
    if found.truth is None:
        return Verdict(Outcome.UNDECIDED, found.replications)
    return Verdict(Outcome.HOLDS if found.truth else Outcome.FAILS)


def statement(claim: Claim, settings: Sequence[Setting], rows: Sequence[str]) -> Statement:
    """Return what a claim states of measured values."""
    if len(settings) == 1:
        return _in_one(claim, settings[0], rows)
    across = settings[0].words.across if "across" in claim.readings else "each"
    if across == "mean" and claim.comparison not in ("equals", "below"):
        return _in_one(claim, _averaged(settings), rows)
    parts = [_in_one(claim, one, rows) for one in settings]
    return most_of(parts) if across == "most" else every(parts)


def _missing(claim: Claim, one: Setting, rows: Sequence[str]) -> str:
    names = rows if claim.metric == "any" else (claim.metric,)
    for name in names:
        if name not in one.values:
            return f"{name} is not measured yet"
        for scheme in {*one.subject, *one.against, *(one.figure if claim.comparison in _OF_FIGURE else ())}:
            if scheme not in one.values[name]:
                return f"{scheme} has not been run"
    return ""


def _in_one(claim: Claim, one: Setting, rows: Sequence[str]) -> Statement:
    maker = MAKERS[claim.comparison]
    if claim.metric != "any":
        found = maker(claim, one, claim.metric)
        return contrary(found) if claim.is_negated and claim.comparison != "best" else found
    parts = [maker(claim, one, name) for name in rows]
    if claim.comparison == "best" and claim.is_negated:
        # In none of the six; each part is the contrary for its metric.
        return every(parts)
    if claim.comparison == "alike":
        return contrary(every(parts)) if claim.is_negated else every(parts)
    return contrary(most_of(parts)) if claim.is_negated else most_of(parts)


def _averaged(settings: Sequence[Setting]) -> Setting:
    """Return the mean over conditions of values normalised to the highest mean of each, by replication."""
    first = settings[0]
    count = min(len(next(iter(of.values()))) for one in settings for of in one.values.values() if of)
    averaged: dict[str, dict[str, Floats]] = {}
    for name in set.intersection(*(set(one.values) for one in settings)):
        schemes = set.intersection(*(set(one.values[name]) for one in settings))
        averaged[name] = {scheme: np.zeros(count) for scheme in schemes}
        for one in settings:
            highest = max((float(np.mean(one.values[name][scheme])) for scheme in schemes), default=0.0) or 1.0
            for scheme in schemes:
                averaged[name][scheme] += one.values[name][scheme][:count] / highest / len(settings)
    return Setting(first.subject, first.against, first.figure, averaged, first.words)


def _above(high: Floats, low: Floats, share: float = 1.0, *, is_strict: bool = True) -> Sign:
    """State that the mean of `high` is above a share of that of `low`; over pairs, so it is one number each."""
    return Sign(high - share * low, is_strict)


def _near(one: Floats, other: Floats, margin: float) -> Statement:
    """State that two means differ by no more than the margin of the larger.

    |a - b| <= g max(a, b) for positive means is a >= (1 - g) b and b >= (1 - g) a: two linear statements.
    """
    return every([_above(one, other, 1 - margin, is_strict=False), _above(other, one, 1 - margin, is_strict=False)])


def _for_subjects(claim: Claim, one: Setting, part: Callable[[str], Statement]) -> Statement:
    parts = [part(scheme) for scheme in one.subject]
    return some(parts) if claim.is_best_of else every(parts)


def _pairs(claim: Claim, one: Setting, metric: str, part: Callable[[Floats, Floats], Statement]) -> Statement:
    of = one.values[metric]
    return _for_subjects(
        claim, one, lambda scheme: every(part(of[scheme], of[other]) for other in one.against if other != scheme)
    )


def _lower(claim: Claim, one: Setting, metric: str) -> Statement:
    def part(subject: Floats, against: Floats) -> Statement:
        below = _above(against, subject)
        if not claim.is_slight:
            return below
        return every([below, _above(subject, against, 1 - one.words.margin, is_strict=False)])

    return _pairs(claim, one, metric, part)


def _higher(claim: Claim, one: Setting, metric: str) -> Statement:
    def part(subject: Floats, against: Floats) -> Statement:
        above = _above(subject, against)
        if not claim.is_slight:
            return above
        return every([above, _above(against, subject, 1 - one.words.margin, is_strict=False)])

    return _pairs(claim, one, metric, part)


def _comparable(claim: Claim, one: Setting, metric: str) -> Statement:
    return _pairs(claim, one, metric, lambda subject, against: _near(subject, against, one.words.margin))


def _alike(claim: Claim, one: Setting, metric: str) -> Statement:  # noqa: ARG001 - one form for all
    of = one.values[metric]
    return every(
        _near(of[a], of[b], one.words.margin) for k, a in enumerate(one.subject) for b in one.subject[k + 1 :]
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
    return [_above(of[scheme], of[other]) for other in others if other != scheme]


def _nth_lowest(claim: Claim, one: Setting, metric: str) -> Statement:
    together = tuple(dict.fromkeys((*one.subject, *one.against)))

    def part(scheme: str) -> Statement:
        return logic.Count(tuple(_that_are_lower(one, metric, scheme, together)), _rank(claim) - 1, _rank(claim) - 1)

    return _for_subjects(claim, one, part)


def _among_lowest(claim: Claim, one: Setting, metric: str) -> Statement:
    together = tuple(dict.fromkeys((*one.subject, *one.against)))
    return _for_subjects(
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
    return _for_subjects(
        claim,
        one,
        lambda scheme: _further(one, [_above(of[other], of[scheme]) for other in one.figure if other != scheme]),
    )


def _high(claim: Claim, one: Setting, metric: str) -> Statement:
    return _for_subjects(claim, one, lambda scheme: _further(one, _that_are_lower(one, metric, scheme, one.figure)))


def _better(claim: Claim, one: Setting, metric: str) -> Statement:
    return (_higher if metric in HIGHER_IS_BETTER else _lower)(claim, one, metric)


def _best(claim: Claim, one: Setting, metric: str) -> Statement:
    of, sign = one.values[metric], 1.0 if metric in HIGHER_IS_BETTER else -1.0
    each = [
        every(_above(sign * of[scheme], sign * of[other]) for other in one.against if other != scheme)
        for scheme in one.subject
    ]
    if claim.is_negated:
        return at_most(0, each)
    return some(each) if claim.is_best_of else every(each)


def _below(claim: Claim, one: Setting, metric: str) -> Statement:
    bound = _number(claim.value)
    return _for_subjects(claim, one, lambda scheme: Sign(bound - one.values[metric][scheme]))


def _equals(claim: Claim, one: Setting, metric: str) -> Statement:
    wanted = _number(claim.value)
    return _for_subjects(
        claim,
        one,
        lambda scheme: (
            _near(one.values[metric][scheme], np.full_like(one.values[metric][scheme], wanted), one.words.margin)
            if wanted
            else contrary(Sign(np.abs(one.values[metric][scheme])))
        ),
    )


_OF_FIGURE: Final = ("low", "high")

MAKERS: Final[Mapping[str, Maker]] = {
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
"""The comparisons that are evaluated."""


def amount(claim: Claim) -> tuple[float, float]:
    """Return the amount of a claim as shares: ``8 % to 23 %`` is (0.08, 0.23), ``60 %`` is (0.6, 0.6)."""
    found = [float(text) / 100 for text in re.findall(r"([0-9.]+) %", claim.amount)]
    if not found:
        raise SojournError(f"claim {claim.id}: amount={claim.amount!r} is no share; allowed: 60 %, 8 % to 23 %")
    return found[0], found[-1]


def _rank(claim: Claim) -> int:
    if claim.rank is None:
        raise SojournError(f"claim {claim.id}: {claim.comparison} needs a rank")
    return claim.rank


def _number(text: str) -> float:
    found = re.match(r"[0-9.]+", text)
    if not found:
        raise SojournError(f"value={text!r} does not begin with a number")
    return float(found[0])
