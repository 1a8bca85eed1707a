"""An adapter to Stable-Baselines3, whose vector interface differs from Gymnasium's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sojourn.gym.environment import Vector


def stable_baselines(vector: Vector) -> Any:
    """Return a ``VecEnv`` of Stable-Baselines3 that steps `vector`.

    The end of an episode is reported as ``done`` with ``info["TimeLimit.truncated"]`` true and
    ``info["terminal_observation"]``, by which the algorithms of Stable-Baselines3 bootstrap the value of the last
    state.

    Raises
    ------
    ImportError
        Stable-Baselines3 is not installed.
    """
    try:
        from stable_baselines3.common.vec_env import VecEnv  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("Stable-Baselines3 is not installed: pip install stable-baselines3") from error

    class Adapter(VecEnv):  # type: ignore[misc, unused-ignore]
        """Steps the environments of a :class:`Vector`."""

        def __init__(self) -> None:
            super().__init__(vector.num_envs, vector.single_observation_space, vector.single_action_space)
            self._actions: Any = None
            self._seed: int | None = None

        def reset(self) -> Any:
            observations, _ = vector.reset(seed=self._seed)
            self._seed = None
            return observations

        def seed(self, seed: int | None = None) -> Sequence[int | None]:
            """Seed the next reset."""
            self._seed = seed
            return [None if seed is None else seed + k for k in range(vector.num_envs)]

        def step_async(self, actions: Any) -> None:
            self._actions = actions

        def step_wait(self) -> Any:
            observations, rewards, _, truncated, info = vector.step(self._actions)
            infos: list[dict[str, Any]] = [{"TimeLimit.truncated": bool(over)} for over in truncated]
            for number in np.flatnonzero(truncated):
                infos[number]["terminal_observation"] = info["final_obs"][number]
            return observations, rewards.astype(np.float32), truncated, infos

        def close(self) -> None:
            vector.close()

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            return [getattr(vector, attr_name) for _ in self._numbers(indices)]

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:  # noqa: ARG002
            setattr(vector, attr_name, value)

        def env_method(self, method_name: str, *args: Any, indices: Any = None, **options: Any) -> list[Any]:
            return [getattr(vector, method_name)(*args, **options) for _ in self._numbers(indices)]

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ARG002
            return [False for _ in self._numbers(indices)]

        def get_images(self) -> Sequence[Any]:
            return [None] * vector.num_envs

        def _numbers(self, indices: Any) -> list[int]:
            if indices is None:
                return list(range(vector.num_envs))
            return [indices] if isinstance(indices, int) else list(indices)

    return Adapter()
