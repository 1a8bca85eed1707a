"""The controller compared with fixed schemes, random choices, a clock that knows the traffic, and idle switching."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from sojourn import stats
from sojourn.stats import Estimate, Floats
from sojourn.studies.papers.execute import MODE
from sojourn.studies.papers.model import Paper
from sojourn.studies.papers.results import Keeper

from . import controller
from .controller import Thompson
from .episodes import Episode, Stage
from .model import Adaptive, Weights

Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Comparison:
    """All episodes: one per seed, in the same order for all controllers.

    Parameters
    ----------
    anew
        Schemes that are switched to themselves at every decision: by windows between decisions, then by arm.
    clock
        By weights: the arm of each kind of traffic that was best in training, and the episodes.
    learnt
        The controller's episodes, by weights and windows between decisions.
    """

    adaptive: Adaptive
    names: tuple[str, ...]
    fixed: tuple[list[Episode], ...]
    anew: Mapping[int, tuple[list[Episode], ...]]
    chance: Mapping[int, list[Episode]]
    clock: Mapping[str, tuple[tuple[int, ...], list[Episode]]]
    learnt: Mapping[tuple[str, int], list[Episode]]
    bandits: Mapping[tuple[str, int], Thompson]

    def best(self, weights: Weights) -> int:
        """Return the fixed scheme with the largest mean reward over the episodes: the best in hindsight."""
        return int(np.argmax([values(of, weights, "reward").mean() for of in self.fixed]))

    def hindsight(self, weights: Weights) -> Floats:
        """Return the reward of each episode's own best fixed scheme."""
        found: Floats = np.max([values(of, weights, "reward") for of in self.fixed], axis=0)
        return found

    def difference(self, episodes: Sequence[Episode], weights: Weights) -> Estimate:
        """Return the paired difference of rewards to the best fixed scheme."""
        return stats.paired(values(episodes, weights, "reward"), self._best(weights))

    def gain(self, weights: Weights) -> Estimate:
        """Return what each episode's own best fixed scheme would gain, compared with the best fixed scheme."""
        return stats.paired(self.hindsight(weights), self._best(weights))

    def _best(self, weights: Weights) -> Floats:
        return values(self.fixed[self.best(weights)], weights, "reward")

    def count(self) -> tuple[int, int, int]:
        """Return the number of cases, and in how many the controller is better and worse than the best fixed scheme.

        A case is a set of weights and a time between decisions. Better and worse are significant at the 5 % level
        after Holm's correction over all cases.
        """
        cases = product(self.adaptive.weights, self.adaptive.holds)
        pairs = [(values(self.learnt[one.name, hold], one, "reward"), self._best(one)) for one, hold in cases]
        corrected = stats.holm([stats.paired_p(*pair) for pair in pairs])
        decided = [float(np.mean(own - best)) for (own, best), p in zip(pairs, corrected, strict=True) if p < 0.05]
        return len(pairs), sum(of > 0 for of in decided), sum(of < 0 for of in decided)


def values(episodes: Sequence[Episode], weights: Weights, measure: str) -> Floats:
    """Return a measure of :meth:`Episode.measures`, one value per episode."""
    return np.array([one.measures(weights)[measure] for one in episodes], dtype=np.float64)


def run(paper: Paper, adaptive: Adaptive, keeper: Keeper, size: str, say: Say) -> Comparison:
    """Train and play the episodes that are not stored yet; the study's schemes are the arms."""
    count, holds = adaptive.episodes[size], adaptive.holds
    stage = Stage(adaptive, [paper.text_of(name).replace(MODE, "measured") for name in adaptive.arms], keeper)
    seeds = range(adaptive.evaluate_seed, adaptive.evaluate_seed + count["evaluate"])
    lessons = range(adaptive.train_seed, adaptive.train_seed + count["evaluate"])
    arms = range(len(stage.arms))

    def always(of: range, *, hold: int = 1, is_reset: bool = False) -> tuple[list[Episode], ...]:
        choosers = [({"always": arm}, partial(controller.always, arm)) for arm in arms]
        return tuple(stage.kept(*one, of, hold=hold, is_reset=is_reset) for one in choosers)

    evaluated, trained = always(seeds), always(lessons)
    say(f"section 7.2: {len(arms)} fixed schemes on {len(seeds)} episodes of traffic that changes")
    anew = {hold: always(seeds, hold=hold, is_reset=True) for hold in holds}
    who: dict[str, Any] = {"chance": controller.CHANCE_SEED}
    at_random = partial(controller.at_random, len(arms))
    chance = {hold: stage.kept(who, at_random, seeds, hold=hold) for hold in holds}
    say("section 7.2: switching each scheme to itself, and random switching")
    clock, learnt, bandits = {}, {}, {}
    for weights in adaptive.weights:
        told = by_kind(adaptive, trained, weights)
        by_clock = partial(controller.by_clock, told, adaptive.phase_s)
        clock[weights.name] = told, stage.kept({"clock": list(told)}, by_clock, seeds)
        for hold in holds:
            bandit = bandits[weights.name, hold] = stage.train(weights, hold, count["train"])
            every = f"weights {weights.name!r}, every {hold * adaptive.interval_s:g} s"
            say(f"section 7.2: a controller, {every}: has learnt from {count['train']} episodes")
            who, chooser = {"learnt": bandit.document()}, partial(controller.learnt, bandit)
            learnt[weights.name, hold] = stage.kept(who, chooser, seeds, hold=hold)
    names = tuple(paper.printed[name] for name in adaptive.arms)
    return Comparison(adaptive, names, evaluated, anew, chance, clock, learnt, bandits)


def by_kind(adaptive: Adaptive, fixed: Sequence[Sequence[Episode]], weights: Weights) -> tuple[int, ...]:
    """Return for each kind of traffic the scheme with the largest mean reward in its phases."""
    kinds = len(adaptive.traffic)
    length = round(adaptive.phase_s / adaptive.interval_s)
    found = []
    for kind in range(kinds):
        begins = [phase * length for phase in range(kind, kinds * adaptive.cycles, kinds)]
        means = [
            np.mean([one.rewards(weights)[begin : begin + length].mean() for one in of for begin in begins])
            for of in fixed
        ]
        found.append(int(np.argmax(means)))
    return tuple(found)
