"""When a cell has been repeated often enough.

The number of replications is looked at in steps that depend on the results alone, so it is the same wherever and in
whatever order runs ran. Stopping when an interval happens to be narrow makes it cover a little less often than it
says (Chow and Robbins, Annals of Mathematical Statistics 36, 1965). A floor of 10, few looks, and a quarter more once
the goal is met keep the loss small: the runs of that quarter were not chosen for their calm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from sojourn import stats
from sojourn.plan.model import Precision

MORE: Final = 0.25
"""Share of replications that a cell makes more once its goals are met."""


def met(goal: Precision, found: stats.Estimate) -> bool:
    """Whether an estimate is precise enough."""
    return found.half_width is not None and found.half_width <= goal.half_width(found.mean)


def target(goals: Sequence[Precision], count: int, values: Callable[[str, int], Sequence[float]]) -> int:
    """Return how many replications a cell needs as far as one can tell from `count` of them; `count` if these do.

    Parameters
    ----------
    goals
        All of them are to be met.
    count
        Replications made.
    values
        A metric's values in the first so many.
    """
    if not goals:
        return count
    looked = max(goal.floor for goal in goals)
    most = max(goal.ceiling for goal in goals)
    while looked < most and looked <= count:
        needed = max(_needed(goal, stats.estimate(values(goal.metric, looked)), looked) for goal in goals)
        if needed == looked:
            return min(looked + math.ceil(looked * MORE), most)
        looked = needed
    return looked


def _needed(goal: Precision, found: stats.Estimate, count: int) -> int:
    """Return how many replications one goal needs; `count` where it is met or has had its ceiling."""
    if count >= goal.ceiling or met(goal, found):
        return count
    return min(_guess(goal, found, count), goal.ceiling)


def _guess(goal: Precision, found: stats.Estimate, count: int) -> int:
    """Guess how many are needed: the half-width shrinks with the root; a step adds two at least and half at most."""
    half, allowed = found.half_width, goal.half_width(found.mean) if math.isfinite(found.mean) else 0.0
    ratio = (half / allowed) ** 2 if half is not None and allowed > 0 else math.inf
    most = count + max(count // 2, 2)
    return max(math.ceil(count * ratio), count + 2) if ratio * count < most else most
