"""Controllers that choose the scheme: a contextual bandit, and those with which it is compared.

The bandit is linear Thompson sampling (Agrawal and Goyal 2013), with a Bayesian linear regression of the reward on
the context for each arm. While it learns, it draws coefficients from each arm's posterior distribution and takes the
arm with the largest predicted reward. In the evaluation it no longer learns and predicts with the posterior means.
Its context consists of dAQM's eight features over the last window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from sojourn.plan.stepping import Window
from sojourn.stats import Floats

Chooser: TypeAlias = Callable[[Window, int], int]
"""From the last window and the present arm to the next."""

CHANCE_SEED: Final = 500_000
"""First seed of the random controller, distant from the seeds of the traffic."""


def context(window: Window) -> Floats:
    """Return the context: 1, and log(1 + f) of the eight features; a feature without a value counts as 0."""
    features = np.nan_to_num(np.asarray(window.features, dtype=np.float64), nan=0.0)
    return np.concatenate(([1.0], np.log1p(features)))


@dataclass
class Thompson:
    """Linear Thompson sampling.

    Parameters
    ----------
    precision
        Of each arm's coefficients, arms x d x d: the identity, plus the outer products of contexts seen.
    moment
        Of each arm, arms x d: contexts times rewards, summed.
    """

    precision: Floats
    moment: Floats
    spread: float

    @classmethod
    def new(cls, arms: int, dimensions: int, spread: float) -> Thompson:
        """Return a bandit that has not learnt anything yet."""
        return cls(np.stack([np.eye(dimensions)] * arms), np.zeros((arms, dimensions)), spread)

    def mean(self) -> Floats:
        """Return the coefficients, arms x d."""
        solved = np.linalg.solve(self.precision, self.moment[..., None])[..., 0]
        return np.asarray(solved, dtype=np.float64)

    def learn(self, arm: int, seen: Floats, reward: float) -> None:
        """Learn from the reward of an arm after a context."""
        self.precision[arm] += np.outer(seen, seen)
        self.moment[arm] += reward * seen

    def explore(self, seen: Floats, random: np.random.Generator) -> int:
        """Choose by a draw from the posterior."""
        # The score of an arm is normal: variance x' P^-1 x about its mean.
        variance = np.linalg.solve(self.precision, np.broadcast_to(seen, self.moment.shape)[..., None])[..., 0] @ seen
        scores = self.mean() @ seen + self.spread * np.sqrt(np.maximum(variance, 0)) * random.standard_normal(
            len(variance)
        )
        return int(np.argmax(scores))

    def best(self, seen: Floats) -> int:
        """Choose by the mean; the first of equals."""
        return int(np.argmax(self.mean() @ seen))

    def document(self) -> dict[str, Any]:
        """Return its state as JSON has it."""
        return {"precision": self.precision.tolist(), "moment": self.moment.tolist(), "spread": self.spread}

    @classmethod
    def of(cls, document: dict[str, Any]) -> Thompson:
        """Return one in a state that :meth:`document` gave."""
        return cls(np.asarray(document["precision"]), np.asarray(document["moment"]), document["spread"])


def always(arm: int, _seed: int = 0) -> Chooser:
    """Return the controller that always takes one arm."""
    return lambda _window, _present: arm


def at_random(arms: int, seed: int) -> Chooser:
    """Return the controller that takes every arm with the same probability."""
    random = np.random.default_rng(CHANCE_SEED + seed)
    return lambda _window, _present: int(random.integers(arms))


def by_clock(arms: Sequence[int], phase_s: float, _seed: int = 0) -> Chooser:
    """Return the controller that knows the kind of traffic and takes the arm given for it."""
    return lambda window, _present: arms[int((window.to_s + 1e-9) // phase_s) % len(arms)]


def learnt(bandit: Thompson, _seed: int = 0) -> Chooser:
    """Return the controller that takes the arm with a bandit's largest mean prediction, and does not learn."""
    return lambda window, _present: bandit.best(context(window))
