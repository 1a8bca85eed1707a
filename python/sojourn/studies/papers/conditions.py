"""The conditions that a claim is about, and those of them that are missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from sojourn.studies.papers.model import Claim, Condition
from sojourn.studies.papers.points import level_of, part_of
from sojourn.studies.papers.trends import BETWEEN_CONDITIONS, OVER_SWEEPS, POOLED

MODELS: Final = "traffic_model"
"""The sweep whose points are the claim's traffic models."""

EACH: Final = "each point"
NO_SWEEP: Final = "no sweep"
FEWEST: Final = 3
"""Points that show a sweep."""

_PARTS: Final = {"low load": False, "small packets": False, "high load": True, "large packets": True}
"""Words for the lower third of a sweep's points, and (true) the upper one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Conditions on which a claim is to hold; see :class:`sojourn.studies.papers.comparisons.Setting`."""

    points: tuple[Condition, ...]
    others: tuple[tuple[Condition, ...], ...] = ()

    @property
    def groups(self) -> tuple[tuple[Condition, ...], ...]:
        """The points, and the groups that they are compared with."""
        return (self.points, *self.others)


class NotThereError(Exception):
    """A condition that a claim needs was not run; the message names it."""


def places_of(claim: Claim, conditions: Sequence[Condition]) -> list[Place]:
    """Return the places in which a claim is judged, of the conditions that were run.

    Notes
    -----
    * A claim without a sweep is about its traffic in the study's tables.
    * A claim with a sweep and a point is about that point.
    * A claim with a sweep and no point, or ``each point``, is about each point of each sweep.
    * A trend is about the whole sweep; `at` then concerns only the other claims of the sentence.
    * A sentence that names no traffic is about all traffic without a sweep with which its schemes were run.
    * A sentence that names features is about the sweep of these features alone, if there is one.

    A sweep needs both ends of its range and at least three points.
    """
    of = _Conditions(claim, conditions)
    kind = claim.comparison
    if kind in OVER_SWEEPS:
        if claim.sweep == (MODELS,):
            return [Place(tuple(of.plain(flow, model) for model in claim.model)) for flow in claim.flow]
        places = [Place(of.sweep(flow, model, claim.sweep[0])) for flow, model in of.traffic]
        if kind == "peaks_at" and claim.at:
            for place in places:
                _check_peak(claim, place)
        return places
    if kind in BETWEEN_CONDITIONS or kind == "rank_alike_in":
        places = [Place(of.side(flow, model, claim.at), of.others(flow, model)) for flow, model in of.traffic]
        if kind not in POOLED:
            return places
        together = tuple(dict.fromkeys(one for place in places for one in place.points))
        return [Place(together, tuple(dict.fromkeys(group for place in places for group in place.others)))]
    points = [one for flow, model in of.traffic for one in of.each(flow, model)]
    if kind in POOLED:
        return [Place(tuple(points))]
    return [Place((one,)) for one in points]


def conditions_of(claim: Claim, conditions: Sequence[Condition], *, ends: bool = False) -> tuple[Condition, ...]:
    """Return the conditions that a claim is about, with `ends` both ends of a trend; none if any is missing."""
    try:
        groups = [group for place in places_of(claim, conditions) for group in place.groups]
    except NotThereError:
        return ()
    if ends and claim.comparison in OVER_SWEEPS:
        groups = [(group[0], group[-1]) for group in groups]
    return tuple(dict.fromkeys(one for group in groups for one in group))


class _Conditions:
    """The conditions, as one claim sees them."""

    def __init__(self, claim: Claim, conditions: Sequence[Condition]) -> None:
        self.claim, self.conditions = claim, conditions
        self.traffic = self._traffic()

    def _traffic(self) -> list[tuple[str, str]]:
        claim = self.claim
        if claim.flow and claim.model:
            return list(product(claim.flow, claim.model))
        schemes, sweep = {*claim.subject, *claim.against}, (*claim.sweep, "")[0]
        own = [one for one in self.conditions if one.sweep == sweep and schemes <= {*one.schemes, *one.beside}]
        found = [(one.flow, one.model) for one in own]
        if not found:
            raise NotThereError(f"no traffic has been run with {' and '.join(sorted(schemes))}")
        return list(dict.fromkeys(found))

    def plain(self, flow: str, model: str) -> Condition:
        """The traffic without a sweep."""
        return self.at(flow, model, "", "")

    def at(self, flow: str, model: str, sweep: str, at: str) -> Condition:
        own = [one for one in self.conditions if one.traffic == (flow, model, sweep)]
        found = [one for one in own if one.at == at] or [one for one in own if level_of(one.at) == level_of(at)]
        if found:
            return found[0]
        point = f"{sweep.replace('_', ' ')} {at}, ".lstrip() if sweep or at else ""
        raise NotThereError(f"{point}{flow} {model} has not been run")

    def sweep(self, flow: str, model: str, sweep: str) -> tuple[Condition, ...]:
        """The points of a sweep within the claim's range, ascending."""
        factor = f"{sweep} of {' '.join(self.claim.features)}"
        if not any(one.traffic == (flow, model, factor) for one in self.conditions):
            # As it was run: of all features at once (reading `drop_rate`), or of those that the claims name.
            factor = sweep
        own = [one for one in self.conditions if one.traffic == (flow, model, factor)]
        points = sorted(own, key=lambda one: level_of(one.at))
        ends = self.claim.sweep_range.split(" to ")
        # The range of a sentence is that of its own flow and factor; another flow has another (section 6.3).
        if len(ends) == 2 and flow in self.claim.flow and self.claim.sweep == (sweep,):
            first, last = (level_of(self.at(flow, model, factor, end).at) for end in ends)
            points = [one for one in points if first <= level_of(one.at) <= last]
        if len(points) < FEWEST:
            count = f"only {len(points)}" if points else "none"
            raise NotThereError(
                f"the sweep of {factor.replace('_', ' ')}, {flow} {model}: {count} of its points have been run"
            )
        return tuple(points)

    def each(self, flow: str, model: str) -> tuple[Condition, ...]:
        """Each condition of this traffic that a comparison of schemes is about."""
        claim = self.claim
        if not claim.sweep and not claim.at:
            return (self.plain(flow, model),)
        if claim.at and claim.at != EACH:
            return self.side(flow, model, claim.at)
        return tuple(one for sweep in claim.sweep for one in self.sweep(flow, model, sweep))

    def side(self, flow: str, model: str, at: str) -> tuple[Condition, ...]:
        """The conditions at a point or a part of a sweep, or of all of it."""
        sweep = self.claim.sweep[0] if self.claim.sweep else ""
        if at == NO_SWEEP or (not sweep and not at):
            return (self.plain(flow, model),)
        if not at or at == EACH:
            return self.sweep(flow, model, sweep)
        if at in _PARTS:
            points = self.sweep(flow, model, sweep)
            third = max(len(points) // 3, 1)
            return points[-third:] if _PARTS[at] else points[:third]
        if math.isnan(level_of(at)):
            raise NotThereError(f"no condition represents {at!r}")
        return (self.at(flow, model, sweep, at),)

    def others(self, flow: str, model: str) -> tuple[tuple[Condition, ...], ...]:
        claim = self.claim
        others = product(claim.instead_flow or (flow,), claim.instead_model or (model,))
        return tuple(self.side(*other, claim.instead_at or claim.at) for other in others)


def _check_peak(claim: Claim, place: Place) -> None:
    levels = [level_of(one.at) for one in place.points]
    if not [one for one in part_of(claim.at, levels) if 0 < one < len(levels) - 1]:
        first = place.points[0]
        raise NotThereError(
            f"no point of {first.sweep.replace('_', ' ')}, {first.flow} {first.model}, lies at {claim.at}"
        )
