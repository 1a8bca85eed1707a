"""Environments for reinforcement learning, with Gymnasium's interface (extra ``gym``).

A step is a window of time. After it the agent gets observations and a reward, both formulas of measurements, and
acts: it sets parameters of the scheme (:func:`parameters`), a drop probability (:func:`probability`), or the scheme
(:func:`schemes`). An episode is one run of a scenario, with a seed of its own; :func:`from_plan` gives the scenarios
of a plan to draw episodes from.

* :class:`Environment` is a ``gymnasium.Env``, :class:`Vector` a ``gymnasium.vector.VectorEnv`` whose environments run
  on native threads. Both need Gymnasium.
* :class:`Episodes` is what both use. It needs NumPy alone.
* :func:`stable_baselines` adapts a :class:`Vector` to Stable-Baselines3.
* :func:`search` trains a small linear policy without any of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.base import lazy
from sojourn.gym.actions import Action, parameters, probability, schemes
from sojourn.gym.episodes import OBSERVATIONS, REWARD, Episodes, from_plan
from sojourn.gym.search import Policy, search

if TYPE_CHECKING:
    from sojourn.gym.environment import Environment, Vector
    from sojourn.gym.stable import stable_baselines

__all__ = [
    "OBSERVATIONS",
    "REWARD",
    "Action",
    "Environment",
    "Episodes",
    "Policy",
    "Vector",
    "from_plan",
    "parameters",
    "probability",
    "schemes",
    "search",
    "stable_baselines",
]


__getattr__ = lazy.names(
    __name__,
    # Gymnasium is an optional extra, and slow to import.
    {"sojourn.gym.environment": ("Environment", "Vector"), "sojourn.gym.stable": ("stable_baselines",)},
)
