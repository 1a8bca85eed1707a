"""What a tuning found: its trials, its candidates on fresh seeds, and the one to recommend."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from sojourn import stats
from sojourn.results import metrics
from sojourn.stats import Estimate, Floats, Quantity
from sojourn.stats.front import LIMITS, Criterion, Standing, fifo, standings
from sojourn.studies.tune.plan import Objective, Plan
from sojourn.studies.tune.settings import Setting
from sojourn.studies.tune.space import Point

_MOST_CANDIDATES: Final = 16
ALL: Final = "all scenarios learnt from, with one limit"
_BESIDES: Final = (
    Objective("sojourn_ms_p99", "lower"),
    Objective("goodput_bit_s", "higher"),
    Objective("loss_ratio", "lower"),
    Objective("jain_index", "higher"),
)


@dataclass(frozen=True)
class Trial:
    """One point of the search, as values and as a scheme.

    It has a score for each objective: the mean over the training scenarios, relative to the scheme as given where
    that is above 0.
    """

    number: int
    point: Point
    text: str
    scores: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Tuning:
    """The result of a tuning.

    Parameters
    ----------
    plan
        The question: schemes, parameters, objectives.
    trials
        All that were run, in order.
    refused
        Number of points drawn that are no scheme.
    searched
        Metrics by replication of the search, by scheme and setting's label.
    final
        The same of the final comparison, on fresh seeds: candidates, rivals and tail drop with each limit, on every
        setting.
    runs
        Simulated by this process; what a resumed tuning found in its folder does not count.
    """

    plan: Plan
    trials: tuple[Trial, ...]
    refused: int
    searched: Mapping[tuple[str, str], Mapping[str, Floats]] = field(repr=False)
    final: Mapping[tuple[str, str], Mapping[str, Floats]] = field(repr=False)
    runs: int = 0

    @cached_property
    def candidates(self) -> tuple[Trial, ...]:
        """The Pareto front of the search, thinned to 16 points where it has more."""
        return candidates(self.trials, self.plan.objectives)

    @cached_property
    def base(self) -> str:
        """The scheme as given."""
        return self.plan.base

    def settings(self, *, held_out: bool) -> tuple[Setting, ...]:
        """The scenarios to learn from, or those held out."""
        return tuple(setting for setting in self.plan.settings if setting.is_held_out == held_out)

    def is_relative(self, objective: Objective) -> bool:
        """Whether an objective's scores are relative to the scheme as given."""
        return is_relative(self.searched, self.plan, objective)

    def composite(self, text: str, objective: Objective) -> Floats:
        """Return an objective's score by replication, over the training scenarios, on fresh seeds."""
        parts = []
        for setting in self.settings(held_out=False):
            values = self.final[text, setting.label][objective.name]
            if self.is_relative(objective):
                values = values / float(np.nanmean(self.final[self.base, setting.label][objective.name]))
            parts.append(values)
        total: Floats = np.mean(parts, axis=0)
        return total

    def score(self, text: str, objective: Objective) -> Estimate:
        """Return an objective's score on fresh seeds with its 95 % interval."""
        return stats.estimate(self.composite(text, objective), self._of(objective), repeated=self._repeated(text))

    def gain(self, text: str, objective: Objective) -> Estimate:
        """Return the paired difference of a score to that of the scheme as given, on fresh seeds."""
        both = self.composite(text, objective), self.composite(self.base, objective)
        return stats.paired(*both, self._of(objective), repeated=self._repeated(text, self.base))

    def estimate(self, text: str, setting: Setting, metric: str) -> Estimate:
        """Return the estimate of a metric on one scenario, on fresh seeds."""
        values = self.final[text, setting.label][metric]
        return stats.estimate(values, metrics.quantity(metric), repeated=self._repeated(text, setting=setting))

    def _of(self, objective: Objective) -> Quantity:
        """Return what is known of a score: its buckets, and its range where it is not relative."""
        of = objective.metric.quantity
        return Quantity(of.resolution) if self.is_relative(objective) else of

    def _repeated(self, *texts: str, setting: Setting | None = None) -> bool:
        """Whether all replications of some schemes are one run repeated, by default on all training scenarios.

        Quantiles may agree because of their buckets, so other metrics decide.
        """
        settings = self.settings(held_out=False) if setting is None else (setting,)
        known = [
            values
            for text in texts
            for one in settings
            for name, values in self.final[text, one.label].items()
            if not metrics.find(name).resolution
        ]
        return bool(known) and all(np.unique(values[np.isfinite(values)]).size <= 1 for values in known)

    @cached_property
    def best(self) -> Trial:
        """The candidate to recommend, chosen without a look at the scenarios held out.

        Of the candidates that are not significantly worse than the scheme as given in any objective (of all, where
        there is none): the one nearest to the ideal point, each objective scaled to its range over the candidates on
        fresh seeds.
        """
        objectives = self.plan.objectives
        scores = np.array(
            [[self.score(trial.text, each).mean * each.sign for each in objectives] for trial in self.candidates]
        )
        width = np.ptp(scores, axis=0)
        far = np.linalg.norm((scores - scores.min(axis=0)) / np.where(width > 0, width, 1.0), axis=1)
        safe = [place for place, trial in enumerate(self.candidates) if not self._is_worse(trial.text)]
        return self.candidates[min(safe or range(len(self.candidates)), key=lambda place: float(far[place]))]

    def _is_worse(self, text: str) -> bool:
        found = [(self.gain(text, each), each.sign) for each in self.plan.objectives]
        return any(gain.excludes_zero and gain.mean * sign > 0 for gain, sign in found)

    def difference(self, text: str, rival: str, setting: Setting, objective: Objective) -> Estimate:
        """Return the paired difference of an objective in its own unit, on fresh seeds."""
        ours, theirs = (self.final[each, setting.label][objective.name] for each in (text, rival))
        repeated = self._repeated(text, rival, setting=setting)
        return stats.paired(ours, theirs, objective.metric.quantity, repeated=repeated)

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], int]:
        """1 if the best is significantly better than the scheme as given, -1 if significantly worse, 0 otherwise.

        The keys are a setting's label and an objective. The level is 5 % with Holm's correction over all objectives
        and scenarios of a kind (learnt from, held out).
        """
        return self._judged(self.plan.objectives)

    @cached_property
    def besides(self) -> tuple[Objective, ...]:
        """Metrics that are not objectives, and that may have become worse in exchange."""
        asked = {objective.name for objective in self.plan.objectives}
        return tuple(each for each in _BESIDES if each.name not in asked)

    @cached_property
    def side_effects(self) -> dict[tuple[str, str], int]:
        """Like :attr:`verdicts`, for the metrics of :attr:`besides`."""
        return self._judged(self.besides)

    @cached_property
    def fronts(self) -> dict[str, dict[str, Standing]]:
        """Where the recommended scheme and the given one lie beside the front of tail drop, by scenario.

        The measures are the objectives. Where there are several scenarios to learn from, those with one limit of tail
        drop for all of them are under :data:`ALL`.
        """
        texts = dict.fromkeys((self.best.text, self.base))
        measures = [
            Criterion(each.name, each.better == "lower", each.metric.quantity) for each in self.plan.objectives
        ]

        def judged(values: Callable[[str, Objective], Floats]) -> dict[str, Standing]:
            own = {text: [values(text, each) for each in self.plan.objectives] for text in texts}
            points = {limit: [values(fifo(limit), each) for each in self.plan.objectives] for limit in LIMITS}
            return standings(own, points, measures)

        def reading(label: str) -> Callable[[str, Objective], Floats]:
            return lambda text, each: self.final[text, label][each.name]

        found = {setting.label: judged(reading(setting.label)) for setting in self.plan.settings}
        if len(self.settings(held_out=False)) > 1:
            measures = [
                replace(one, of=self._of(each)) for one, each in zip(measures, self.plan.objectives, strict=True)
            ]
            found[ALL] = judged(self.composite)
        return found

    def _p(self, setting: Setting, objective: Objective) -> float:
        """Return the p-value of the difference between the best and the scheme as given."""
        ours, theirs = (self.final[text, setting.label][objective.name] for text in (self.best.text, self.base))
        repeated = self._repeated(self.best.text, self.base, setting=setting)
        return stats.paired_p(ours, theirs, objective.metric.quantity, repeated=repeated)

    def _judged(self, objectives: Sequence[Objective]) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for held_out in (False, True):
            pairs = [(setting, each) for setting in self.settings(held_out=held_out) for each in objectives]
            p = [self._p(setting, each) for setting, each in pairs]
            for (setting, each), corrected in zip(pairs, stats.holm(p), strict=True):
                mean = self.difference(self.best.text, self.base, setting, each).mean * each.sign
                # The p value is not a number where a metric does not exist: the difference is not significant.
                told = bool(corrected < 1 - stats.LEVEL)
                found[setting.label, each.name] = (1 if mean < 0 else -1) if told else 0
        return found


def is_relative(searched: Mapping[tuple[str, str], Mapping[str, Floats]], plan: Plan, objective: Objective) -> bool:
    """Whether the scheme as given scores above 0 in every training scenario, so that scores are relative to it."""
    train = [setting for setting in plan.settings if not setting.is_held_out]
    return all(_mean(searched[plan.base, setting.label][objective.name]) > 0 for setting in train)


def scores(searched: Mapping[tuple[str, str], Mapping[str, Floats]], plan: Plan, text: str) -> tuple[float, ...]:
    """Return the scores of a scheme, one an objective: the mean over the training scenarios."""
    scores = []
    for objective in plan.objectives:
        parts = []
        for setting in plan.settings:
            if setting.is_held_out:
                continue
            value = _mean(searched[text, setting.label][objective.name])
            if is_relative(searched, plan, objective):
                value /= _mean(searched[plan.base, setting.label][objective.name])
            parts.append(value)
        scores.append(float(np.mean(parts)))
    return tuple(scores)


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def candidates(trials: Sequence[Trial], objectives: Sequence[Objective]) -> tuple[Trial, ...]:
    """Return the Pareto front of some trials, thinned where it has many points."""
    first: dict[str, Trial] = {}
    for trial in trials:
        first.setdefault(trial.text, trial)
    signs = np.array([objective.sign for objective in objectives])
    known = list(first.values())
    scores = np.array([trial.scores for trial in known]) * signs
    front = [trial for trial, own in zip(known, scores, strict=True) if not _is_dominated(own, scores)]
    if len(objectives) == 1:
        # One objective has one winner; the next best show how sure it is.
        front = sorted(known, key=lambda trial: (trial.scores[0] * signs[0], trial.number))[:5]
    front.sort(key=lambda trial: (trial.scores[0] * signs[0], trial.number))
    if len(front) > _MOST_CANDIDATES:
        places = np.unique(np.linspace(0, len(front) - 1, _MOST_CANDIDATES).round().astype(int))
        front = [front[place] for place in places]
    return tuple(front)


def _is_dominated(own: Floats, scores: Floats) -> bool:
    return bool(((scores <= own).all(axis=1) & (scores < own).any(axis=1)).any())
