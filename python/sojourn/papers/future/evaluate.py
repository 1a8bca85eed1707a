"""The controller compared with fixed schemes, random choices, a clock that knows the traffic, and idle switching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sojourn import stats
from sojourn.papers.execute import MODE
from sojourn.papers.future import controller
from sojourn.papers.future.controller import Thompson
from sojourn.papers.future.episodes import Episode, Say, kept, train
from sojourn.papers.future.finished import Keeper
from sojourn.papers.future.model import Adaptive, Weights
from sojourn.papers.model import Paper
from sojourn.stats import Estimate, Floats

MEASURES: Final = ("reward", "sojourn_ms", "loss_ratio", "goodput", "switches")
CHANCE_SEED: Final = 500_000
"""First seed of the random controller, distant from the seeds of the traffic."""


@dataclass(frozen=True)
class Comparison:
    """All episodes: one per seed, in the same order for all controllers.

    Parameters
    ----------
    adaptive
        The settings.
    names
        Printed names of the arms.
    fixed
        Fixed schemes, by arm.
    anew
        Schemes that are switched to themselves at every decision: by windows between decisions, then by arm.
    chance
        Random choices, by windows between decisions.
    clock
        By weights: the arm of each kind of traffic that was best in training, and the episodes.
    learnt
        The controller's episodes, by weights and windows between decisions.
    bandits
        The trained bandits, by weights and windows between decisions.
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

    def difference(self, episodes: Sequence[Episode], weights: Weights, arm: int) -> Estimate:
        """Return the paired difference of rewards to a fixed scheme."""
        return stats.paired(values(episodes, weights, "reward"), values(self.fixed[arm], weights, "reward"))

    def count(self) -> tuple[int, int, int]:
        """Return the number of cases, and in how many the controller is better and worse than the best fixed scheme.

        A case is a set of weights and a time between decisions. Better and worse are significant at the 5 % level
        after Holm's correction over all cases.
        """
        pairs = [
            (values(self.learnt[one.name, hold], one, "reward"), values(self.fixed[self.best(one)], one, "reward"))
            for one in self.adaptive.weights
            for hold in self.adaptive.holds
        ]
        corrected = stats.holm([stats.paired_p(*pair) for pair in pairs])
        decided = [float(np.mean(own - best)) for (own, best), p in zip(pairs, corrected, strict=True) if p < 0.05]
        return len(pairs), sum(of > 0 for of in decided), sum(of < 0 for of in decided)


def values(episodes: Sequence[Episode], weights: Weights, measure: str) -> Floats:
    """Return a measure of :data:`MEASURES`, one value per episode."""
    return np.array([one.measures(weights)[measure] for one in episodes], dtype=np.float64)


def run(paper: Paper, adaptive: Adaptive, keeper: Keeper, size: str, say: Say) -> Comparison:
    """Train and play the episodes that are not stored yet.

    Parameters
    ----------
    paper
        The study, whose schemes are the arms.
    adaptive
        The settings.
    keeper
        Stores finished work.
    size
        ``quick`` or ``full``.
    say
        Called with lines that describe the progress.
    """
    count = adaptive.episodes[size]
    arms = [paper.texts[name].replace(MODE, "measured") for name in adaptive.arms]
    seeds = range(adaptive.evaluate_seed, adaptive.evaluate_seed + count["evaluate"])
    lessons = range(adaptive.train_seed, adaptive.train_seed + count["evaluate"])

    def fixed(of: range) -> tuple[list[Episode], ...]:
        return tuple(
            kept(keeper, adaptive, arms, {"always": arm}, lambda _seed, arm=arm: controller.always(arm), of)  # type: ignore[misc]
            for arm in range(len(arms))
        )

    evaluated, trained = fixed(seeds), fixed(lessons)
    say(f"section 7.2: {len(arms)} fixed schemes on {len(seeds)} episodes of traffic that changes")
    anew, chance = {}, {}
    for hold in adaptive.holds:
        anew[hold] = tuple(
            kept(
                keeper,
                adaptive,
                arms,
                {"always": arm},
                lambda _seed, arm=arm: controller.always(arm),  # type: ignore[misc]
                seeds,
                hold=hold,
                is_reset=True,
            )
            for arm in range(len(arms))
        )
        chance[hold] = kept(
            keeper,
            adaptive,
            arms,
            {"chance": CHANCE_SEED},
            lambda seed: controller.at_random(len(arms), CHANCE_SEED + seed),
            seeds,
            hold=hold,
        )
    say("section 7.2: switching each scheme to itself, and random switching")
    clock, learnt, bandits = {}, {}, {}
    for weights in adaptive.weights:
        told = by_kind(adaptive, trained, weights)
        own = kept(
            keeper,
            adaptive,
            arms,
            {"clock": list(told)},
            lambda _seed, told=told: controller.by_clock(told, adaptive.phase_s),  # type: ignore[misc]
            seeds,
        )
        clock[weights.name] = (told, own)
        for hold in adaptive.holds:
            key = weights.name, hold
            bandit = train(keeper, adaptive, arms, weights, hold, count["train"], say)
            bandits[key] = bandit
            learnt[key] = kept(
                keeper,
                adaptive,
                arms,
                {"learnt": bandit.document()},
                lambda _seed, bandit=bandit: controller.learnt(bandit),  # type: ignore[misc]
                seeds,
                hold=hold,
            )
    names = tuple(paper.printed[name] for name in adaptive.arms)
    return Comparison(adaptive, names, evaluated, anew, chance, clock, learnt, bandits)


def by_kind(adaptive: Adaptive, fixed: Sequence[Sequence[Episode]], weights: Weights) -> tuple[int, ...]:
    """Return for each kind of traffic the scheme with the largest mean reward in its phases."""
    kinds = len(adaptive.traffic)
    length = round(adaptive.phase_s / adaptive.interval_s)
    found = []
    for kind in range(kinds):
        means = [
            np.mean(
                [
                    one.rewards(weights)[phase * length : (phase + 1) * length].mean()
                    for one in of
                    for phase in range(kind, kinds * adaptive.cycles, kinds)
                ]
            )
            for of in fixed
        ]
        found.append(int(np.argmax(means)))
    return tuple(found)
