"""From a claim and measured values to a statement, and to an outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np

from sojourn.stats import LEVEL, Floats
from sojourn.studies.papers import logic
from sojourn.studies.papers.comparisons import OF_SCHEMES, At, Maker, Setting, Values, Words, number_of
from sojourn.studies.papers.logic import Statement, contrary, every, most_of, some
from sojourn.studies.papers.model import Claim
from sojourn.studies.papers.trends import BETWEEN_CONDITIONS, OVER_SWEEPS, POOLED

__all__ = ["MAKERS", "At", "Outcome", "Setting", "Values", "Verdict", "Words", "judge", "statement"]

MAKERS: Final[Mapping[str, Maker]] = {**OF_SCHEMES, **OVER_SWEEPS, **BETWEEN_CONDITIONS, **POOLED}
"""The comparisons that are evaluated."""

_OF_FIGURE: Final = ("low", "high", "rank_better_in", "rank_alike_in")
OF_EACH: Final = ("alike", "alike_in", "insensitive_to")
"""Where no quantity is named, these must hold of each of them, others of most."""
OF_NONE: Final = ("best", "peaks_at")
"""Negated, these say that no subject is so; of others, that not all are."""

EMPTY_PACKETS: Final = 0.01
"""A queue that holds less on average, and loses nothing, is empty."""
UNLOADED: Final = (0.5, 1.0)
"""A link that is used less, and whose queue holds less on average and loses nothing, is not loaded."""


class Outcome(Enum):
    """The outcome of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    NOT_REACHED = "condition not reached"
    UNJUDGEABLE = "no run can decide"
    NOT_RUN = "not run"

    @property
    def key(self) -> str:
        """Its class on a page."""
        return self.name.lower().replace("_", "-")

    @property
    def sign(self) -> str:
        """Its sign on a page."""
        return "✓✗?○–·"[list(Outcome).index(self)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a claim under a reading.

    Parameters
    ----------
    replications
        If undecided: the number of replications that would decide it; None if that number is too large.
    why
        If not run: what is missing; if the condition was not reached: what showed that.
    is_recorded
        Whether it is the outcome of an earlier run (:mod:`sojourn.studies.papers.record`).
    """

    outcome: Outcome
    replications: int | None = None
    why: str = ""
    is_recorded: bool = False

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

    A place in which nothing happened (:func:`idle`) decides nothing: a claim is judged on the others. If it holds
    there, and under one kind of traffic nothing happened anywhere, its condition was not reached.
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
    return _judged(claim, settings, rows, level)


def _judged(claim: Claim, settings: Sequence[Setting], rows: Sequence[str], level: float) -> Verdict:
    quiet = [idle(claim, one, rows) for one in settings]
    live = [one for one, why in zip(settings, quiet, strict=True) if not why]
    if not live:
        return Verdict(Outcome.NOT_REACHED, why=quiet[0])
    found = logic.decide(statement(claim, live, rows), level)
    if found.truth is None:
        return Verdict(Outcome.UNDECIDED, found.replications)
    if found.truth and {one.traffic for one in settings} != {one.traffic for one in live}:
        return Verdict(Outcome.NOT_REACHED, why=f"{next(filter(None, quiet))}, and it holds elsewhere")
    return Verdict(Outcome.HOLDS if found.truth else Outcome.FAILS)


def idle(claim: Claim, one: Setting, rows: Sequence[str]) -> str:
    """Return what shows that nothing happened in a place, so that there is nothing to compare; else an empty text.

    At every point the claim's schemes have the same values of all `rows` in every replication, or the queue is empty,
    or its link is not loaded. That a value is below a bound, or zero, needs no such condition.
    """
    if claim.comparison == "below" or (claim.comparison == "equals" and not number_of(claim.value)):
        return ""
    schemes = tuple(
        dict.fromkeys((*one.subject, *one.against, *(one.figure if claim.comparison in _OF_FIGURE else ())))
    )
    points = (*one.points, *(other for group in one.others for other in group))
    names = [name for name in dict.fromkeys((*rows, claim.metric)) if name != "any"]
    found = [_idle(at.values, schemes, names, claim.metric.partition("@")[2]) for at in points]
    return found[0] if all(found) else ""


def _idle(values: Values, schemes: Sequence[str], rows: Sequence[str], place: str) -> str:
    known = [values[name] for name in rows if set(schemes) <= values.get(name, {}).keys()]
    first = schemes[0]
    if len(schemes) > 1 and len(known) == len(rows) and all(
        np.array_equal(of[first], of[scheme], equal_nan=True) for of in known for scheme in schemes[1:]
    ):  # fmt: skip
        return "all schemes are equal in every replication"

    def most(name: str) -> float:
        of = values.get(f"{name}@{place}", values.get(name, {}))
        return max((float(np.max(of[scheme])) if scheme in of else np.inf for scheme in schemes), default=np.inf)

    queue, loss, used = most("queue_packets_mean"), most("loss_ratio"), most("utilisation")
    if loss == 0 and queue < EMPTY_PACKETS:
        return "the queue is empty"
    return "the link is not loaded" if loss == 0 and used < UNLOADED[0] and queue < UNLOADED[1] else ""


def statement(claim: Claim, settings: Sequence[Setting], rows: Sequence[str]) -> Statement:
    """Return what a claim states of measured values."""
    if len(settings) == 1:
        return _in_one(claim, settings[0], rows)
    across = claim.across or (settings[0].words.across if "across" in claim.readings else "each")
    has_scale = claim.comparison not in ("equals", "below", *BETWEEN_CONDITIONS)
    if across == "mean" and has_scale and len({len(one.points) for one in settings}) == 1:
        return _in_one(claim, _averaged(settings), rows)
    parts = [_in_one(claim, one, rows) for one in settings]
    return {"most": most_of, "some": some}.get(across, every)(parts)


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
    negates_itself = claim.comparison in OF_NONE
    if claim.metric != "any":
        found = maker(claim, one, claim.metric)
        return contrary(found) if claim.is_negated and not negates_itself else found
    parts = [maker(claim, one, name) for name in rows]
    if negates_itself and claim.is_negated:
        # In none of the six; each part is the contrary for its metric.
        return every(parts)
    whole = every(parts) if claim.comparison in OF_EACH else most_of(parts)
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
