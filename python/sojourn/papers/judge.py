"""From a claim and measured values to a statement, and to an outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np

from sojourn.papers import logic
from sojourn.papers.comparisons import OF_SCHEMES, At, Maker, Setting, Values, Words
from sojourn.papers.logic import Statement, contrary, every, most_of
from sojourn.papers.model import Claim
from sojourn.papers.trends import BETWEEN_CONDITIONS, OVER_SWEEPS, POOLED
from sojourn.stats import LEVEL, Floats

__all__ = ["MAKERS", "At", "Outcome", "Setting", "Values", "Verdict", "Words", "judge", "statement"]

MAKERS: Final[Mapping[str, Maker]] = {**OF_SCHEMES, **OVER_SWEEPS, **BETWEEN_CONDITIONS, **POOLED}
"""The comparisons that are evaluated."""

_OF_FIGURE: Final = ("low", "high", "rank_better_in", "rank_alike_in")
_ALIKE: Final = ("alike", "alike_in", "insensitive_to")
_NEGATED_THEMSELVES: Final = ("best", "peaks_at")


class Outcome(Enum):
    """The outcome of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNJUDGEABLE = "no run can decide"
    NOT_RUN = "not run"

    @property
    def key(self) -> str:
        """Its class on a page."""
        return self.name.lower().replace("_", "-")

    @property
    def sign(self) -> str:
        """Its sign on a page."""
        return "✓✗?–·"[list(Outcome).index(self)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a claim under a reading.

    Parameters
    ----------
    outcome
        The outcome.
    replications
        If undecided: the number of replications that would decide it; None if that number is too large.
    why
        If not run: what is missing.
    """

    outcome: Outcome
    replications: int | None = None
    why: str = ""

    @property
    def said(self) -> str:
        """The outcome in words: with the replications that would decide it, or with what is missing."""
        if self.outcome is Outcome.UNDECIDED:
            count = f"about {self.replications}" if self.replications else "no practical number of"
            return f"undecided: {count} replications would decide it"
        return f"{self.outcome.value}: {self.why}" if self.why else self.outcome.value


def judge(claim: Claim, settings: Sequence[Setting], rows: Sequence[str], level: float = LEVEL) -> Verdict:
    """Judge a claim over the conditions that it is about.

    `settings` has one for each place in which the claim must hold; it is empty if they have not been run. `rows` are
    the metrics that ``any`` stands for, and `level` is that of confidence.
    """
    if claim.comparison == "unjudgeable":
        return Verdict(Outcome.UNJUDGEABLE, why=claim.reason)
    if claim.comparison not in MAKERS:
        return Verdict(Outcome.NOT_RUN, why=f"the comparison {claim.comparison} is not evaluated yet")
    if not settings:
        return Verdict(Outcome.NOT_RUN, why="its traffic has not been run")
    missing = next(filter(None, (_missing(claim, one, rows) for one in settings)), "")
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
    has_scale = claim.comparison not in ("equals", "below", *BETWEEN_CONDITIONS)
    if across == "mean" and has_scale and len({len(one.points) for one in settings}) == 1:
        return _in_one(claim, _averaged(settings), rows)
    parts = [_in_one(claim, one, rows) for one in settings]
    return most_of(parts) if across == "most" else every(parts)


def _missing(claim: Claim, one: Setting, rows: Sequence[str]) -> str:
    names = [name for name in (*(rows if claim.metric == "any" else (claim.metric,)), claim.driver) if name]
    schemes = (*one.subject, *one.against, *(one.figure if claim.comparison in _OF_FIGURE else ()))
    for condition in (*one.points, *(other for group in one.others for other in group)):
        where = f" in {condition.name}" if condition.name else ""
        for name in names:
            if name not in condition.values:
                return f"{name} is not measured yet"
            lacking = next((scheme for scheme in schemes if scheme not in condition.values[name]), None)
            if lacking:
                return f"{lacking} has not been run{where}"
    return ""


def _in_one(claim: Claim, one: Setting, rows: Sequence[str]) -> Statement:
    maker = MAKERS[claim.comparison]
    negates_itself = claim.comparison in _NEGATED_THEMSELVES
    if claim.metric != "any":
        found = maker(claim, one, claim.metric)
        return contrary(found) if claim.is_negated and not negates_itself else found
    parts = [maker(claim, one, name) for name in rows]
    if negates_itself and claim.is_negated:
        # In none of the six; each part is the contrary for its metric.
        return every(parts)
    whole = every(parts) if claim.comparison in _ALIKE else most_of(parts)
    return contrary(whole) if claim.is_negated else whole


def _averaged(settings: Sequence[Setting]) -> Setting:
    """Return the mean over places of values normalised to the highest mean of each, by replication.

    Of sweeps point by point, the highest being that of the whole sweep, as the figures are normalised (section 6.3).
    """
    columns = [one.points for one in settings]
    every_one = [at.values for of in columns for at in of]
    count = min(values.size for one in every_one for metric in one.values() for values in metric.values())
    totals: list[dict[str, dict[str, Floats]]] = [{} for _ in columns[0]]
    for name in set.intersection(*(set(one) for one in every_one)):
        schemes = set.intersection(*(set(one[name]) for one in every_one))
        for total in totals:
            total[name] = {scheme: np.zeros(count) for scheme in schemes}
        for of in columns:
            means = [float(np.mean(at.values[name][scheme])) for at in of for scheme in schemes]
            highest = max(means, default=0.0) or 1.0
            for total, at in zip(totals, of, strict=True):
                for scheme in schemes:
                    total[name][scheme] += at.values[name][scheme][:count] / highest / len(settings)
    points = tuple(At(at.name, values, at.level) for at, values in zip(columns[0], totals, strict=True))
    return replace(settings[0], points=points)
