"""A small agent: a linear policy, found by the cross-entropy method (Rubinstein, 1999), on NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.base.core import SojournError
from sojourn.gym.episodes import Episodes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Policy:
    """A linear function of the observations, limited to -1 to 1 by a hyperbolic tangent.

    Parameters
    ----------
    weights
        Of shape (numbers of an action, observations + 1); the last column is the constant.
    """

    weights: Floats

    def __call__(self, observations: npt.ArrayLike) -> Floats:
        """Return the actions for observations of shape (environments, observations)."""
        seen = np.asarray(observations, np.float64)
        return np.tanh(seen @ self.weights[:, :-1].T + self.weights[:, -1])


def play(episodes: Episodes, policies: Sequence[Policy], begins: Sequence[tuple[int, int]]) -> Floats:
    """Play one episode in each environment, each with its policy: the mean reward of a step.

    `begins` has network and seed of each environment's episode.
    """
    episodes.begin([(number, *begin) for number, begin in enumerate(begins)])
    weights = np.stack([policy.weights for policy in policies])
    sums, steps = np.zeros(len(episodes)), np.zeros(len(episodes))
    alive = np.ones(len(episodes), np.bool_)
    # Every scenario ends.
    while alive.any():
        seen = episodes.observations.astype(np.float64)
        actions = np.tanh(np.einsum("kao,ko->ka", weights[:, :, :-1], seen) + weights[:, :, -1])
        episodes.step(actions)
        sums += np.where(alive, episodes.rewards, 0.0)
        steps += alive
        over = alive & episodes.ended
        alive &= ~over
        # The others still step: an episode that has ended begins again and is not counted.
        if over.any() and alive.any():
            again = np.flatnonzero(~alive & episodes.ended)
            episodes.begin([(number, *begins[number]) for number in again.tolist()])
    return sums / steps


def search(
    episodes: Episodes,
    *,
    rounds: int,
    candidates: int,
    seed: int,
    elite: float = 0.25,
    spread: float = 0.5,
    progress: Callable[[int, float], None] | None = None,
) -> Policy:
    """Train a linear policy by the cross-entropy method.

    In each round, candidates are drawn from a normal distribution around the present weights. All play the same
    episodes, as many as there are environments, so that they differ in the policy alone. The next distribution is
    that of the best. What is learnt depends on the seed and not on the number of threads.

    Parameters
    ----------
    episodes
        Where candidates play.
    rounds, candidates
        Rounds, and candidates in each.
    seed
        Of candidates, networks and traffic.
    elite
        The share of candidates that make the next distribution.
    spread
        Standard deviation of the first distribution.
    progress
        Called after each round with its number and the mean reward of the best.

    Returns
    -------
    The mean of the last distribution.
    """
    best = max(2, round(elite * candidates))
    if candidates < best or rounds < 1:
        raise SojournError(f"{candidates} candidates and {rounds} rounds; allowed: at least 2 candidates and 1 round")
    random = np.random.default_rng(seed)
    shape = (episodes.action.numbers, episodes.observations.shape[1] + 1)
    mean, deviation = np.zeros(shape), np.full(shape, spread)
    for number in range(rounds):
        draws = range(len(episodes))
        begins = [(int(random.integers(len(episodes.networks))), int(random.integers(2**63 - 1))) for _ in draws]
        drawn = [Policy(mean + deviation * random.standard_normal(shape)) for _ in range(candidates)]
        found = np.array([play(episodes, [one] * len(episodes), begins).mean() for one in drawn])
        chosen = np.stack([drawn[place].weights for place in np.argsort(-found, kind="stable")[:best]])
        mean, deviation = chosen.mean(axis=0), chosen.std(axis=0) + 0.02
        if progress is not None:
            progress(number, float(np.sort(found)[-best:].mean()))
    return Policy(mean)
