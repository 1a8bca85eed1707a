"""The conditions that a claim is about, and those of them that are missing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from sojourn.papers.model import Claim, Condition
from sojourn.papers.points import amount

OF_SWEEPS: Final = (
    "increases_with",
    "decreases_with",
    "insensitive_to",
    "gap_increases_with",
    "gap_decreases_with",
    "peaks_at",
    "peak_greater",
)
"""Comparisons over the points of one sweep."""

OF_CONDITIONS: Final = (
    "higher_in",
    "better_in",
    "alike_in",
    "gap_greater_in",
    "rank_better_in",
    "rank_alike_in",
    "spread_lower_in",
)
"""Comparisons of conditions."""

POOLED: Final = ("follows", "opposes", "rank_alike_in")
"""Comparisons over all conditions at once."""

MODELS: Final = "traffic_model"
"""The sweep whose points are the claim's traffic models."""

EACH: Final = "each point"
NO_SWEEP: Final = "no sweep"
FEWEST: Final = 3
"""Points that show a sweep."""
NEAR_PERCENT: Final = 10.0
"""How near "at 50 % of the range" is."""

_PARTS: Final = {"low load": False, "small packets": False, "high load": True, "large packets": True}
"""Words for the lower third of a sweep's points, and (true) the upper one."""

_UNITS: Final = {"": 1.0, "%": 1.0, "B": 1.0, "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "ms": 1e-3,
                 "s": 1.0}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Conditions on which a claim is to hold; see :class:`sojourn.papers.setting.Setting`."""

    points: tuple[Condition, ...]
    others: tuple[tuple[Condition, ...], ...] = ()

    @property
    def groups(self) -> tuple[tuple[Condition, ...], ...]:
        """The points, and the groups that they are compared with."""
        return (self.points, *self.others)


class NotThereError(Exception):
    """A condition that a claim needs was not run; the message names it."""


def places_of(claim: Claim, conditions: Sequence[Condition]) -> list[Place]:
    """Return the places in which a claim is judged.

    Parameters
    ----------
    claim
        The claim.
    conditions
        The conditions that were run.

    Raises
    ------
    NotThereError
        If a condition that the claim needs was not run.

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
    if kind in OF_SWEEPS:
        if claim.sweep == (MODELS,):
            return [Place(tuple(of.plain(flow, model) for model in claim.model)) for flow in claim.flow]
        places = [Place(of.sweep(flow, model, claim.sweep[0])) for flow, model in of.traffic]
        if kind == "peaks_at" and claim.at:
            for place in places:
                _check_peak(claim, place)
        return places
    if kind in OF_CONDITIONS:
        places = [Place(of.side(flow, model, claim.at), of.others(flow, model)) for flow, model in of.traffic]
        if kind not in POOLED:
            return places
        together = tuple(dict.fromkeys(one for place in places for one in place.points))
        return [Place(together, tuple(dict.fromkeys(group for place in places for group in place.others)))]
    points = [one for flow, model in of.traffic for one in of.each(flow, model)]
    if kind in POOLED:
        return [Place(tuple(points))]
    return [Place((one,)) for one in points]


def level_of(text: str) -> float:
    """Return the value of a point: ``20 %`` is 20, ``5 kbit/s`` is 5000; NaN for a text without a number.

    Examples
    --------
    >>> level_of("5 kbit/s"), level_of("99 %"), level_of("start")
    (5000.0, 99.0, nan)
    """
    try:
        value, unit = amount(text)
    except ValueError:
        return math.nan
    return float(value) * _UNITS.get(unit, math.nan)


def part_of(at: str, levels: Sequence[float]) -> list[int]:
    """Return the places of the points that lie in a part of a range.

    Parameters
    ----------
    at
        ``0 % to 10 % of the range``, or ``50 % of the range``. The latter includes points within 10 % of the range
        on either side, and at least the nearest point.
    levels
        Of the swept factor, ascending.

    Examples
    --------
    >>> part_of("0 % to 10 % of the range", [0.0, 5.0, 50.0, 100.0])
    [0, 1]
    >>> part_of("50 % of the range", [0.0, 30.0, 45.0, 100.0])
    [2]
    """
    bounds = [float(text) for text in re.findall(r"([0-9.]+) %", at)]
    width = levels[-1] - levels[0]
    shares = [100 * (level - levels[0]) / width for level in levels]
    if len(bounds) == 2:
        return [place for place, share in enumerate(shares) if bounds[0] <= share <= bounds[1]]
    nearest = min(range(len(shares)), key=lambda place: abs(shares[place] - bounds[0]))
    return [
        place
        for place, share in enumerate(shares)
        if place == nearest or abs(share - bounds[0]) <= NEAR_PERCENT
    ]  # fmt: skip


class _Conditions:
    """The conditions, as one claim sees them."""

    def __init__(self, claim: Claim, conditions: Sequence[Condition]) -> None:
        self.claim, self.conditions = claim, conditions
        self.known = {(one.flow, one.model, one.sweep, one.at): one for one in conditions}

        self.traffic = self._traffic()

    def _traffic(self) -> list[tuple[str, str]]:
        claim = self.claim
        if claim.flow and claim.model:
            return list(product(claim.flow, claim.model))
        schemes, sweep = {*claim.subject, *claim.against}, (*claim.sweep, "")[0]
        found = [
            (one.flow, one.model)
            for one in self.conditions
            if schemes <= {*one.schemes, *one.beside} and one.sweep == sweep
        ]
        if not found:
            raise NotThereError(f"no traffic has been run with {' and '.join(sorted(schemes))}")
        return list(dict.fromkeys(found))

    def plain(self, flow: str, model: str) -> Condition:
        """The traffic without a sweep."""
        return self.at(flow, model, "", "")

    def at(self, flow: str, model: str, sweep: str, at: str) -> Condition:
        exact = self.known.get((flow, model, sweep, at))
        if exact is not None:
            return exact
        level = level_of(at)
        for one in self.conditions:
            if (one.flow, one.model, one.sweep) == (flow, model, sweep) and level_of(one.at) == level:
                return one
        point = f"{sweep.replace('_', ' ')} {at}, ".lstrip() if sweep or at else ""
        raise NotThereError(f"{point}{flow} {model} has not been run")

    def sweep(self, flow: str, model: str, sweep: str) -> tuple[Condition, ...]:
        """The points of a sweep within the claim's range, ascending."""
        factor = f"{sweep} of {' '.join(self.claim.features)}"
        if not any((one.flow, one.model, one.sweep) == (flow, model, factor) for one in self.conditions):
            # As it was run: of all features at once (reading `drop_rate`), or of those that the claims name.
            factor = sweep
        points = sorted(
            (one for one in self.conditions if (one.flow, one.model, one.sweep) == (flow, model, factor)),
            key=lambda one: level_of(one.at),
        )
        ends = [level_of(text) for text in self.claim.sweep_range.split(" to ")] if self.claim.sweep_range else []
        if len(ends) == 2 and self._has_own_range(flow, sweep):
            for text in self.claim.sweep_range.split(" to "):
                self.at(flow, model, factor, text)
            points = [one for one in points if ends[0] <= level_of(one.at) <= ends[1]]
        if len(points) < FEWEST:
            count = f"only {len(points)}" if points else "none"
            raise NotThereError(
                f"the sweep of {factor.replace('_', ' ')}, {flow} {model}: {count} of its points have been run"
            )
        return tuple(points)

    def _has_own_range(self, flow: str, sweep: str) -> bool:
        # The range of a sentence is that of its own flow and factor; another flow has another (section 6.3).
        return flow in self.claim.flow and self.claim.sweep == (sweep,)

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
        return tuple(
            self.side(other_flow, other_model, claim.instead_at or claim.at)
            for other_flow in claim.instead_flow or (flow,)
            for other_model in claim.instead_model or (model,)
        )


def _check_peak(claim: Claim, place: Place) -> None:
    levels = [level_of(one.at) for one in place.points]
    if not [one for one in part_of(claim.at, levels) if 0 < one < len(levels) - 1]:
        first = place.points[0]
        raise NotThereError(
            f"no point of {first.sweep.replace('_', ' ')}, {first.flow} {first.model}, lies at {claim.at}"
        )
