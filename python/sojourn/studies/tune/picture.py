"""The pictures of a tuning's report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import FuncFormatter

from sojourn.stats import Estimate
from sojourn.studies.tune.plan import Objective
from sojourn.studies.tune.result import Trial, Tuning
from sojourn.view.palette import INK, MUTED, RULE
from sojourn.view.plot import WIDTH, Picture, label_spots, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FRONT: Final = "#0072b2"
BEST: Final = "#d55e00"
RIVAL: Final = "#6f7b86"
_VERDICT: Final = {1: "#009e73", 0: RIVAL, -1: "#b0413e"}


def front(tuning: Tuning) -> Picture:
    """Draw the Pareto front: the search's points, the candidates run again with intervals, the rivals."""
    first, *others = tuning.plan.objectives
    if not others:
        return progress(tuning)
    height = 4.6 if len(others) == 1 else 3.6 * math.ceil(len(others) / 2)
    with new_figure(WIDTH, height) as figure:
        panels = figure.subplots(math.ceil(len(others) / 2), min(len(others), 2), squeeze=False)
        labelled: list[tuple[Axes, dict[str, tuple[float, float]]]] = []
        for place, (axes, other) in enumerate(zip(panels.flat, others, strict=False)):
            names = _front(axes, tuning, first, other, has_legend=place == 0)
            labelled.append((axes, names))
        for axes in list(panels.flat)[len(others) :]:
            axes.set_visible(False)
        for axes, names in labelled:
            label_spots(figure, axes, names)
    return figure


def _front(
    axes: Axes, tuning: Tuning, first: Objective, other: Objective, *, has_legend: bool
) -> dict[str, tuple[float, float]]:
    """Draw two objectives; return the positions of the rivals that need a label."""
    x_at, y_at = (tuning.plan.objectives.index(each) for each in (first, other))
    xs = [scale_of(tuning, first) * trial.scores[x_at] for trial in tuning.trials]
    ys = [scale_of(tuning, other) * trial.scores[y_at] for trial in tuning.trials]
    axes.scatter(xs, ys, s=9, color=RIVAL, alpha=0.5, linewidths=0, label="trials (search's seeds)")
    spots = []
    for trial in tuning.candidates:
        x, y = (tuning.score(trial.text, each) for each in (first, other))
        is_best = trial is tuning.best
        color, marker = (BEST, "*") if is_best else (FRONT, "o")
        then = (trial.scores[x_at] * scale_of(tuning, first), trial.scores[y_at] * scale_of(tuning, other))
        now = (x.mean * scale_of(tuning, first), y.mean * scale_of(tuning, other))
        axes.plot(*zip(then, now, strict=True), color=color, linewidth=0.7, alpha=0.6, zorder=2)
        _cross(axes, x, y, scale_of(tuning, first), scale_of(tuning, other), color)
        label = "recommended" if is_best else "front, run again on fresh seeds"
        size, order = (110, 6) if is_best else (24, 4)
        axes.scatter(*now, s=size, marker=marker, color=color, zorder=order, linewidths=0, label=label)
        spots.append(now)
    far, names = outside(tuning), {}
    for name, text in tuning.plan.rivals.items():
        x, y = (tuning.score(text, each) for each in (first, other))
        now = (x.mean * scale_of(tuning, first), y.mean * scale_of(tuning, other))
        _cross(axes, x, y, scale_of(tuning, first), scale_of(tuning, other), INK)
        axes.scatter(*now, s=34, marker="D", color=INK, zorder=4, linewidths=0)
        if name not in far:
            spots.append(now)
            names[name] = now
    for which, values, part in (("x", xs, 0), ("y", ys, 1)):
        # Trials far from the front are cut off, because the picture is about the front.
        known = [spot[part] for spot in spots]
        width = max(known) - min(known)
        near = [value for value in values if min(known) - 0.5 * width <= value <= max(known) + 0.5 * width]
        low, high = min(known + near), max(known + near)
        margin = 0.07 * (high - low) or 0.05
        (axes.set_xlim if which == "x" else axes.set_ylim)(low - margin, high + margin)
    axes.set_xlabel(_title(tuning, first))
    axes.set_ylabel(_title(tuning, other))
    if has_legend:
        handles, labels = axes.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))
        axes.legend(once.values(), once.keys(), loc="best", fontsize=8.5)
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
    with new_figure(WIDTH, 3.4) as figure:
        axes = figure.add_subplot()
        axes.scatter(range(len(values)), values, s=12, color=RIVAL, linewidths=0, label="trials")
        axes.step(range(len(values)), best, where="post", color=FRONT, label="best so far")
        axes.set_xlabel("Trial")
        axes.set_ylabel(_title(tuning, objective))
        low, high = float(best.min()), float(np.quantile(values, 0.9 if objective.sign > 0 else 0.1))
        if objective.sign < 0:
            low, high = high, float(best.max())
        margin = 0.08 * (high - low) or 0.05
        if low > 0 and high > 20 * low:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            axes.set_ylim(low - margin, high + margin)
        axes.legend(loc="best", fontsize=8.5)
    return figure


def gains(tuning: Tuning) -> Picture:
    """Draw the recommended scheme minus the scheme as given on every scenario, in percent of the latter."""
    settings, objectives = tuning.plan.settings, tuning.plan.objectives
    with new_figure(WIDTH, 1.0 + 0.32 * len(settings)) as figure:
        panels = figure.subplots(1, len(objectives), sharey=True, squeeze=False)[0]
        for axes, objective in zip(panels, objectives, strict=True):
            axes.axvline(0, color=MUTED, linewidth=1)
            for row, setting in enumerate(settings):
                if setting.is_held_out:
                    axes.axhspan(row - 0.5, row + 0.5, color=RULE, alpha=0.35, linewidth=0)
                found, scale = share(tuning, tuning.best, setting.label, objective)
                if not math.isfinite(found.mean):
                    continue
                color = _VERDICT[tuning.verdicts[setting.label, objective.name]]
                if found.low is not None and found.high is not None:
                    axes.plot([found.low * scale, found.high * scale], [row, row], color=color, linewidth=2.2)
                axes.scatter([found.mean * scale], [row], s=34, color=color, zorder=3, linewidths=0)
            axes.set_title(f"{objective.metric.title} ({objective.better} is better)", fontsize=9.5)
            axes.set_xlabel("difference (% of the scheme as given)")
            axes.locator_params(axis="x", nbins=5)
            axes.grid(visible=False, axis="y")
        panels[0].set_yticks(range(len(settings)), [setting.label for setting in settings])
        panels[0].set_ylim(len(settings) - 0.5, -0.5)
        panels[0].tick_params(axis="y", length=0)
    return figure


def share(tuning: Tuning, trial: Trial, label: str, objective: Objective) -> tuple[Estimate, float]:
    """Return a paired difference on one scenario and the factor that makes it per cent of the scheme as given."""
    setting = next(setting for setting in tuning.plan.settings if setting.label == label)
    base = float(np.nanmean(tuning.final[tuning.base, label][objective.name]))
    found = tuning.difference(trial.text, tuning.base, setting, objective)
    return found, 100 / abs(base) if base else math.nan


def scale_of(tuning: Tuning, objective: Objective) -> float:
    """Return the factor from a score to its axis: per cent where scores are relative."""
    return 100.0 if tuning.is_relative(objective) else objective.metric.scale


def _title(tuning: Tuning, objective: Objective) -> str:
    if tuning.is_relative(objective):
        return f"{objective.metric.title} (% of the scheme as given)"
    return objective.metric.heading


def _cross(axes: Axes, x: Estimate, y: Estimate, x_scale: float, y_scale: float, color: str) -> None:
    for found, other, scale, other_scale, is_x in ((x, y, x_scale, y_scale, True), (y, x, y_scale, x_scale, False)):
        if found.low is None or found.high is None:
            continue
        ends, at = [found.low * scale, found.high * scale], [other.mean * other_scale] * 2
        axes.plot(*((ends, at) if is_x else (at, ends)), color=color, linewidth=1.1, alpha=0.8, zorder=3)
