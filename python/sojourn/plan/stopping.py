"""When a cell has been repeated often enough.

The number of replications is looked at in steps that depend on the results alone, so it is the same wherever and in
whatever order runs ran. Stopping when an interval happens to be narrow makes it cover a little less often than it
says (Chow and Robbins, Annals of Mathematical Statistics 36, 1965); a floor of 10 and few looks keep the loss small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sojourn import stats
from sojourn.plan.model import Precision


def met(goal: Precision, found: stats.Estimate) -> bool:
    """Whether an estimate is precise enough."""
    return found.half_width is not None and found.half_width <= goal.half_width(found.mean)


def target(goals: Sequence[Precision], count: int, values: Callable[[str], Sequence[float]]) -> int:
    """Return how many replications a cell needs as far as one can tell from `count` of them; `count` if these do.

    Parameters
    ----------
    goals
        All of them are to be met.
    count
        Replications made.
    values
        A metric's values in these.
    """
    needed = count
    for goal in goals:
        found = stats.estimate(values(goal.metric))
        least, most = goal.floor, goal.ceiling
        if count < least:
            needed = max(needed, least)
        elif count < most and not met(goal, found):
            needed = max(needed, min(_guess(goal, found, count), most))
    return needed


def _guess(goal: Precision, found: stats.Estimate, count: int) -> int:
    """Guess how many are needed: the half-width shrinks with the root; a step adds two at least and half at most."""
    half, allowed = found.half_width, goal.half_width(found.mean) if math.isfinite(found.mean) else 0.0
    ratio = (half / allowed) ** 2 if half is not None and allowed > 0 else math.inf
    most = count + max(count // 2, 2)
    return max(math.ceil(count * ratio), count + 2) if ratio * count < most else most
