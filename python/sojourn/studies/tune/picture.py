"""The pictures of a tuning's report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sojourn.stats.front import LIMITS, fifo
from sojourn.studies.tune.plan import Objective
from sojourn.studies.tune.result import Tuning
from sojourn.view import charts
from sojourn.view.canvas import Picture, label_spots, logarithmic
from sojourn.view.palette import INK, MUTED, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_VERDICT: Final = {1: charts.GOOD, 0: charts.NEUTRAL, -1: charts.BAD}


def front(tuning: Tuning) -> Picture:
    """Draw the Pareto front: the search's points, the candidates run again with intervals, the rivals."""
    first, *others = tuning.plan.objectives
    if not others:
        return progress(tuning)
    with charts.panels(len(others), 2, 1.0, 3.6) as (figure, every):
        labelled = [_front(axes, tuning, first, other) for axes, other in zip(every, others, strict=False)]
        charts.legend(figure, every)
        for axes, names in zip(every, labelled, strict=False):
            label_spots(figure, axes, names)
    return figure


def _front(axes: Axes, tuning: Tuning, first: Objective, other: Objective) -> dict[str, tuple[float, float]]:
    """Draw two objectives; return the positions of the rivals that need a label."""
    both = [(tuning.plan.objectives.index(each), scale_of(tuning, each)) for each in (first, other)]
    points = [[scale * trial.scores[at] for trial in tuning.trials] for at, scale in both]
    axes.scatter(
        points[0], points[1], s=9, color=charts.NEUTRAL, alpha=0.5, linewidths=0, label="trials (search's seeds)"
    )

    def again(text: str, color: str, **look: Any) -> tuple[float, float]:
        """Draw a scheme that was run again, with its intervals."""
        found = [tuning.score(text, each) for each in (first, other)]
        x, y = (of.mean * scale for of, (_, scale) in zip(found, both, strict=True))
        arms = [np.array([of.arms]).T * scale for of, (_, scale) in zip(found, both, strict=True)]
        axes.errorbar(x, y, xerr=arms[0], yerr=arms[1], color=color, linewidth=1.1, alpha=0.8, zorder=3)
        axes.scatter(x, y, color=color, linewidths=0, **look)
        return x, y

    line = [
        [tuning.score(fifo(limit), each).mean * scale for each, (_, scale) in zip((first, other), both, strict=True)]
        for limit in LIMITS
    ]
    axes.plot(
        *np.array(line).T,
        color=INK,
        linewidth=0.9,
        marker=".",
        markersize=4,
        label=f"tail drop, {LIMITS[0]} to {LIMITS[-1]} packets",
    )
    spots = []
    for trial in tuning.candidates:
        is_best = trial is tuning.best
        color, marker, size, order = (charts.CHOSEN, "*", 110, 6) if is_best else (charts.FIRST, "o", 24, 4)
        label = "recommended" if is_best else "front, run again on fresh seeds"
        spots.append(again(trial.text, color, marker=marker, s=size, zorder=order, label=label))
        then = [trial.scores[at] * scale for at, scale in both]
        axes.plot(*zip(then, spots[-1], strict=True), color=color, linewidth=0.7, alpha=0.6, zorder=2)
    far, names = outside(tuning), {}
    for name, text in tuning.plan.rivals.items():
        spot = again(text, INK, marker="D", s=34, zorder=4)
        if name not in far:
            names[name] = spot
    for which, values, known in zip(("xlim", "ylim"), points, zip(*spots, *names.values(), strict=True), strict=True):
        # Trials far from the front are cut off, because the picture is about the front.
        width = max(known) - min(known)
        near = [value for value in values if min(known) - 0.5 * width <= value <= max(known) + 0.5 * width]
        low, high = min([*known, *near]), max([*known, *near])
        margin = 0.07 * (high - low) or 0.05
        limits: dict[str, Any] = {which: (low - margin, high + margin)}
        axes.set(**limits)
    axes.set_xlabel(_title(tuning, first))
    axes.set_ylabel(_title(tuning, other))
    return names


def outside(tuning: Tuning) -> list[str]:
    """Return the rivals so far from the front and the scheme as given that a picture would show nothing else."""
    known = [tuning.base, *(trial.text for trial in tuning.candidates)]
    found = []
    for name, text in tuning.plan.rivals.items():
        for each in tuning.plan.objectives:
            near = [tuning.score(other, each).mean for other in known]
            away = max(min(near) - (mean := tuning.score(text, each).mean), mean - max(near), 0.0)
            if away > 0.75 * (max(near) - min(near)):
                found.append(name)
                break
    return found


def progress(tuning: Tuning) -> Picture:
    """Draw a single objective over the trials, with the best so far."""
    (objective,) = tuning.plan.objectives
    scale = scale_of(tuning, objective)
    values = np.array([trial.scores[0] for trial in tuning.trials]) * scale
    best = np.minimum.accumulate(values * objective.sign) * objective.sign
    with charts.panels(1, 1, 0.0, 3.4) as (figure, (axes,)):
        axes.scatter(range(len(values)), values, s=12, color=charts.NEUTRAL, linewidths=0, label="trials")
        axes.step(range(len(values)), best, where="post", color=charts.FIRST, label="best so far")
        axes.set_xlabel("Trial")
        axes.set_ylabel(_title(tuning, objective))
        low, high = float(best.min()), float(np.quantile(values, 0.9 if objective.sign > 0 else 0.1))
        if objective.sign < 0:
            low, high = high, float(best.max())
        margin = 0.08 * (high - low) or 0.05
        if low > 0 and high > 20 * low:
            logarithmic(axes, "y")
        else:
            axes.set_ylim(low - margin, high + margin)
        charts.legend(figure, [axes])
    return figure


def gains(tuning: Tuning) -> Picture:
    """Draw the recommended scheme minus the scheme as given on every scenario, in percent of the latter."""
    settings, objectives = tuning.plan.settings, tuning.plan.objectives
    with charts.panels(len(objectives), len(objectives), 1.0, 0.32 * len(settings), sharey=True) as (figure, every):
        for axes, objective in zip(every, objectives, strict=True):
            axes.axvline(0, color=MUTED, linewidth=1)
            for at, setting in enumerate(settings):
                if setting.is_held_out:
                    axes.axhspan(at - 0.5, at + 0.5, color=RULE, alpha=0.35, linewidth=0)
                found = tuning.difference(tuning.best.text, tuning.base, setting, objective)
                base = float(np.nanmean(tuning.final[tuning.base, setting.label][objective.name]))
                scale = 100 / abs(base) if base else math.nan
                charts.interval(axes, found, at, _VERDICT[tuning.verdicts[setting.label, objective.name]], scale)
            charts.title(axes, f"{objective.metric.title} ({objective.better} is better)")
            axes.set_xlabel("difference (% of the scheme as given)")
            axes.locator_params(axis="x", nbins=5)
            charts.names(axes, [setting.label for setting in settings])
    return figure


def scale_of(tuning: Tuning, objective: Objective) -> float:
    """Return the factor from a score to its axis: per cent where scores are relative."""
    return 100.0 if tuning.is_relative(objective) else objective.metric.scale


def _title(tuning: Tuning, objective: Objective) -> str:
    if tuning.is_relative(objective):
        return f"{objective.metric.title} (% of the scheme as given)"
    return objective.metric.heading
