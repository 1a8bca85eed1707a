"""What a smaller buffer alone gives: the front of tail drop over its limit, and where a scheme lies beside it.

Tail drop with a limit of few packets has a short delay, at the cost of goodput, so that delay and goodput together
reward a small buffer. A scheme does something that no buffer does where it lies off that front.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from sojourn.stats.effects import holm, paired_p
from sojourn.stats.estimates import EXACT, LEVEL, Floats, Quantity

LIMITS: Final = (3, 4, 5, 6, 8, 12, 20, 32, 50, 80, 125, 200, 400, 800, 1600)
"""Limits of tail drop in packets, the points of the front. Those above 200 are for fast and long paths."""
MARGIN: Final = 0.01
"""A difference of at most this share of the front's value is none."""
_BETWEEN: Final = (0.25, 0.5, 0.75)
"""Places between two neighbouring points of the front that are also tried, as mixtures of the two."""

Place = Literal["off", "on", "behind"]
Test = Callable[[Floats, Floats, Quantity], float]
"""Two-sided p-value of the mean difference of pairs."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One of the measures that are judged together, its better side, and what is known of it beforehand."""

    name: str
    lower: bool
    of: Quantity = EXACT


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a scheme lies beside the front, at the 5 % level.

    Parameters
    ----------
    place
        ``off`` the front: better than every point of it, and than mixtures of neighbours, in some measure, by more
        than :data:`MARGIN`. ``behind`` it: a point is better in some measure by more than the margin, and in no
        other measure worse by more. ``on`` it: neither is shown.
    p_off, p_behind
        The two p-values, after Holm's correction over the schemes that were judged together.
    limit
        Of the point that is hardest to beat, or that beats the scheme.
    """

    place: Place
    p_off: float
    p_behind: float
    limit: int

    def __str__(self) -> str:
        match self.place:
            case "off":
                return f"off (p = {self.p_off:.1g})"
            case "behind":
                return f"behind {fifo(self.limit)} (p = {self.p_behind:.1g})"
            case _:
                return "on"


def fifo(limit: int) -> str:
    """Return the scheme of a point."""
    return f"pfifo limit {limit}p"


def standings(
    values: Mapping[str, Sequence[Floats]],
    points: Mapping[int, Sequence[Floats]],
    measures: Sequence[Criterion],
    test: Test = paired_p,
) -> dict[str, Standing]:
    """Say of each scheme whether it lies off, on or behind the front of tail drop.

    Parameters
    ----------
    values
        By scheme, the values of each measure: arrays of one length, a value a replication or a network.
    points
        The same by the limit of tail drop in packets, paired with those of the schemes.
    measures
        What is judged together.
    test
        By default the paired t test.

    Notes
    -----
    *Off* is an intersection-union test (Berger 1982): the hypothesis that some point of the front is at least as good
    in each of m measures, up to the margin, is refused where it is refused for every point, so its p-value is the
    greatest of the points'. That of one point is the smallest one-sided p-value of its measures, times m
    (Bonferroni). *Behind* is Bonferroni over points and measures.

    Examples
    --------
    >>> delay, goodput = Criterion("delay", lower=True), Criterion("goodput", lower=False)
    >>> front = {5: [np.array([2.0, 2.1, 2.2]), np.array([8.0, 8.1, 8.0])],
    ...          50: [np.array([20.0, 21.0, 22.0]), np.array([9.9, 9.9, 9.8])]}
    >>> good = {"good": [np.array([2.0, 2.1, 2.2]), np.array([9.8, 9.8, 9.9])]}
    >>> standings(good, front, (delay, goodput))["good"].place
    'off'
    """
    limits = sorted(points)
    exact = [[np.asarray(own, dtype=np.float64) for own in points[limit]] for limit in limits]
    tried = [*zip(limits, exact, strict=True)]
    for (limit, here), (_, there) in pairwise(tuple(tried)):
        tried += [
            (limit, [(1 - share) * a + share * b for a, b in zip(here, there, strict=True)]) for share in _BETWEEN
        ]
    found: dict[str, Standing] = {}
    for name, own in values.items():
        ours = [np.asarray(one, dtype=np.float64) for one in own]
        off, hardest = max((_off(ours, point, measures, test), limit) for limit, point in tried)
        behind, better = min(
            (_behind(ours, point, measures, test) * len(limits), limit)
            for limit, point in zip(limits, exact, strict=True)
        )
        found[name] = Standing("on", off, min(behind, 1.0), better if behind < off else hardest)
    corrected = [holm([getattr(one, which) for one in found.values()]) for which in ("p_off", "p_behind")]
    return {
        name: replace(one, place=_place(off, behind), p_off=float(off), p_behind=float(behind))
        for (name, one), off, behind in zip(found.items(), *corrected, strict=True)
    }


def _place(off: float, behind: float) -> Place:
    if off < 1 - LEVEL:
        return "off"
    return "behind" if behind < 1 - LEVEL else "on"


def _off(ours: Sequence[Floats], point: Sequence[Floats], measures: Sequence[Criterion], test: Test) -> float:
    """Return the p-value of a point being at least as good in every measure."""
    several = (_better(a, b, one, test) for a, b, one in zip(ours, point, measures, strict=True))
    return min(1.0, len(measures) * min(several))


def _behind(ours: Sequence[Floats], point: Sequence[Floats], measures: Sequence[Criterion], test: Test) -> float:
    """Return the p-value of a point being no better in any measure; 1 where it is worse in one."""
    if any(_gain(a, b, one) > 0 for a, b, one in zip(ours, point, measures, strict=True)):
        return 1.0
    several = (_better(b, a, one, test) for a, b, one in zip(ours, point, measures, strict=True))
    return min(1.0, len(measures) * min(several))


def _gain(ours: Floats, theirs: Floats, measure: Criterion) -> float:
    """Return by how much the mean of one is better than that of the other beyond the margin."""
    differences = ours - _shifted(theirs, measure)
    known = differences[np.isfinite(differences)]
    mean = float(known.mean()) if known.size else 0.0
    return -mean if measure.lower else mean


def _shifted(values: Floats, measure: Criterion) -> Floats:
    return values * (1 - MARGIN if measure.lower else 1 + MARGIN)


def _better(ours: Floats, theirs: Floats, measure: Criterion, test: Test) -> float:
    """Return the one-sided p-value of one being no better than the other by more than the margin."""
    if not _gain(ours, theirs, measure) > 0:
        return 1.0
    p = test(ours, _shifted(theirs, measure), measure.of)
    # Replications that are one run repeated have no p-value, and show nothing.
    return p / 2 if math.isfinite(p) else 1.0
