"""Decides when a cell has enough replications.

The precision is examined in steps that depend only on the results. So the number of replications is the same on every
machine and for any order of the runs. If replication stops when an interval happens to be narrow, the interval
contains the true mean slightly less often than its level says (Chow and Robbins, Annals of Mathematical Statistics
36, 1965). Three rules keep this effect small: at least 10 replications, few examinations, and a quarter more
replications after the goal is met, which were not selected by their results.

Replications that are one run repeated say nothing about precision. Their cell ends at the floor, and its goal counts
as not judged, never as met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from sojourn import stats
from sojourn.plan.model import Precision
from sojourn.results import metrics
from sojourn.stats.estimates import REPEATED

MORE: Final = 0.25
"""Share of additional replications after a cell has met its goals."""


def met(goal: Precision, found: stats.Estimate) -> bool:
    """Return whether an estimate is precise enough."""
    return found.half_width is not None and found.half_width <= goal.half_width(found.mean)


def unjudged(found: stats.Estimate) -> bool:
    """Return whether an estimate lacks an interval because its replications are identical."""
    return found.why == REPEATED


def target(
    goals: Sequence[Precision],
    count: int,
    values: Callable[[str, int], Sequence[float]],
    repeated: Callable[[int], bool] = lambda _: False,
) -> int:
    """Return how many replications a cell needs, estimated from `count` of them; `count` if these are sufficient.

    `values` returns a metric's values in the first n replications, `repeated` whether these are one run repeated.
    """
    if not goals:
        return count
    looked = max(goal.floor for goal in goals)
    most = max(goal.ceiling for goal in goals)
    while looked < most and looked <= count:
        found = [
            stats.estimate(values(goal.metric, looked), metrics.quantity(goal.metric), repeated=repeated(looked))
            for goal in goals
        ]
        if all(map(unjudged, found)):
            return looked
        needed = max(_needed(goal, one, looked) for goal, one in zip(goals, found, strict=True))
        if needed == looked:
            return min(looked + math.ceil(looked * MORE), most)
        looked = needed
    return looked


def _needed(goal: Precision, found: stats.Estimate, count: int) -> int:
    """Return how many replications one goal needs; `count` where it is met, cannot be judged or had its ceiling."""
    if count >= goal.ceiling or met(goal, found) or unjudged(found):
        return count
    return min(_guess(goal, found, count), goal.ceiling)


def _guess(goal: Precision, found: stats.Estimate, count: int) -> int:
    """Extrapolate how many are needed: the half-width falls with the root. A step adds at least two, at most half."""
    half, allowed = found.half_width, goal.half_width(found.mean) if math.isfinite(found.mean) else 0.0
    ratio = (half / allowed) ** 2 if half is not None and allowed > 0 else math.inf
    most = count + max(count // 2, 2)
    return max(math.ceil(count * ratio), count + 2) if ratio * count < most else most
