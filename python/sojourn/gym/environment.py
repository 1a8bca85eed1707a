"""Gymnasium's interface: one environment, and many on native threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sojourn.base import extras
from sojourn.base.core import Document, SojournError
from sojourn.base.units import Time
from sojourn.gym.actions import Action
from sojourn.gym.episodes import OBSERVATIONS, REWARD, Episodes
from sojourn.model.network import Network
from sojourn.model.scheme import SchemeLike

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as _error:
    raise ImportError(f"Gymnasium is not installed: {extras.install('gym')}") from _error

_SEEDS: Final = 2**63 - 1


def _spaces(episodes: Episodes) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
    """Return the spaces of one environment."""
    seen = spaces.Box(-np.inf, np.inf, (episodes.observations.shape[1],), np.float32)
    if episodes.action.choices is not None:
        return seen, spaces.Discrete(episodes.action.choices)
    return seen, spaces.Box(-1.0, 1.0, (episodes.action.numbers,), np.float32)


class Environment(gymnasium.Env[npt.NDArray[np.float32], Any]):
    """One environment; an episode is one run of one of the networks, with traffic of its own.

    Parameters and errors are those of :class:`Episodes`. An episode ends because the scenario does, so its end is
    ``truncated`` and never ``terminated``: bootstrap the value of the last state. ``reset(seed=...)`` makes the
    sequence of networks and traffic repeatable. ``reset(options={"network": 0, "seed": 7})`` names both for one
    episode.

    Examples
    --------
    >>> import sojourn as sj
    >>> from sojourn import gym
    >>> net = sj.dumbbell(flows=2, rate=sj.mbit_s(10), duration=sj.s(3), warm_up=sj.s(1))
    >>> env = gym.Environment(net, action=gym.parameters(target=(sj.ms(1), sj.ms(100))), scheme="pie")
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> observation.shape, terminated, truncated
    ((5,), False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        networks: Sequence[Network] | Network,
        *,
        action: Action,
        scheme: SchemeLike | None = None,
        observations: Sequence[str] = OBSERVATIONS,
        reward: str = REWARD,
        step: Time | None = None,
        queue: str | None = None,
    ) -> None:
        self.episodes = Episodes(
            networks, action=action, scheme=scheme, observations=observations, reward=reward, step=step, queue=queue
        )
        self.observation_space, self.action_space = _spaces(self.episodes)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        network, run_seed = _drawn(self.np_random, len(self.episodes.networks), options)
        self.episodes.begin([(0, network, run_seed)])
        return self.episodes.observations[0].copy(), {"network": network, "seed": run_seed}

    def step(self, action: Any) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act and simulate a window."""
        self.episodes.step(action)
        seen = self.episodes.observations[0].copy()
        return seen, float(self.episodes.rewards[0]), False, bool(self.episodes.ended[0]), {}

    def report(self) -> Document:
        """Return the whole run's report of the last episode that ended."""
        return self.episodes.report()


class Vector(gymnasium.vector.VectorEnv[npt.NDArray[np.float32], Any, npt.NDArray[Any]]):
    """Many environments of one kind on native threads.

    Parameters and errors are those of :class:`Episodes`. Environments are independent, and their results do not
    depend on `threads`. The autoreset mode is ``SAME_STEP``: where an episode ends, the observation is that of the
    next one, and ``info["final_obs"]`` has the last of the one that ended.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        networks: Sequence[Network] | Network,
        count: int,
        *,
        action: Action,
        scheme: SchemeLike | None = None,
        observations: Sequence[str] = OBSERVATIONS,
        reward: str = REWARD,
        step: Time | None = None,
        queue: str | None = None,
        threads: int = 1,
    ) -> None:
        self.episodes = Episodes(
            networks,
            action=action,
            scheme=scheme,
            observations=observations,
            reward=reward,
            step=step,
            queue=queue,
            count=count,
            threads=threads,
        )
        self.num_envs = count
        self.single_observation_space, self.single_action_space = _spaces(self.episodes)
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self._random = [np.random.default_rng() for _ in range(count)]

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in every environment; environment k has the seed `seed` + k."""
        seeds = seed if isinstance(seed, list) else [None if seed is None else seed + k for k in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise SojournError(f"{len(seeds)} seeds; allowed: one for each of {self.num_envs} environments")
        for number, one in enumerate(seeds):
            if one is not None:
                self._random[number] = np.random.default_rng(one)
        info = self._begin(range(self.num_envs), options)
        return self.episodes.observations.copy(), info

    def step(
        self, actions: Any
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Act and simulate a window in every environment."""
        episodes = self.episodes
        episodes.step(actions)
        rewards, truncated = episodes.rewards.copy(), episodes.ended.copy()
        info: dict[str, Any] = {}
        if truncated.any():
            final = np.full(self.num_envs, None, dtype=object)
            over = np.flatnonzero(truncated)
            for number in over:
                final[number] = episodes.observations[number].copy()
            info = {"final_obs": final, "_final_obs": truncated.copy(), **self._begin(over.tolist(), None)}
        return episodes.observations.copy(), rewards, np.zeros(self.num_envs, np.bool_), truncated, info

    def report(self, environment: int) -> Document:
        """Return the whole run's report of the last episode of an environment that ended."""
        return self.episodes.report(environment)

    def _begin(self, numbers: Sequence[int] | range, options: dict[str, Any] | None) -> dict[str, Any]:
        count = len(self.episodes.networks)
        drawn = [(number, *_drawn(self._random[number], count, options)) for number in numbers]
        self.episodes.begin(drawn)
        networks, seeds = np.zeros(self.num_envs, np.int64), np.zeros(self.num_envs, np.int64)
        mask = np.zeros(self.num_envs, np.bool_)
        for number, network, seed in drawn:
            networks[number], seeds[number], mask[number] = network, seed, True
        return {"network": networks, "_network": mask, "seed": seeds, "_seed": mask}


def _drawn(random: np.random.Generator, networks: int, options: dict[str, Any] | None) -> tuple[int, int]:
    """Draw network and seed of an episode, as far as `options` leave them open."""
    network, seed = int(random.integers(networks)), int(random.integers(_SEEDS))
    given = options or {}
    if unknown := set(given) - {"network", "seed"}:
        raise SojournError(f"options: {', '.join(sorted(unknown))} is unknown; allowed: network, seed")
    network, seed = int(given.get("network", network)), int(given.get("seed", seed))
    if not 0 <= network < networks:
        raise SojournError(f"options: network is {network}; allowed: 0 to {networks - 1}")
    return network, seed
