"""Episodes: many runs that are stepped together, each on the thread that has it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sojourn._native import Environments
from sojourn.base.core import Document, SojournError
from sojourn.base.units import Time, from_ns, ms, to_ns
from sojourn.gym.actions import Action
from sojourn.model.network import Network
from sojourn.model.scheme import SchemeLike, as_schemes
from sojourn.plan.runner import GREATEST_SEED, whole_number

OBSERVATIONS: Final = (
    "sojourn_ms_mean / 50",
    "queue_packets_mean / 100",
    "utilisation",
    "loss_ratio * 10",
    "arrivals_packets / (departures_packets + 1) - 1",
)
"""What an agent sees by default: five numbers of about 1."""

REWARD: Final = "utilisation - min(1, sojourn_ms_mean / 100) - loss_ratio"
"""The reward by default: high if the link is busy, waiting is short and losses are rare."""


class Episodes:
    """Environments that are stepped together, without Gymnasium.

    Parameters
    ----------
    networks
        What an episode may be of.
    action
        What an agent changes.
    scheme
        Of the queues under test at the start of an episode; by default as the scenario has it. A drop probability
        needs a ``dropping_function``, by default one with room for 1000 packets.
    observations, reward
        Formulas of the metrics that the guide lists, as in ``"sojourn_ms_mean / 50"``. What could not be measured in
        a window is 0, and so is a result that is not finite.
    step
        Length of a window; 10 ms by default.
    queue
        The one that is observed and acted on; by default the only one under test.
    count, threads
        Environments, and the threads that they run on. The results do not depend on `threads`.

    Attributes
    ----------
    observations : ndarray of shape (count, number of observations), float32
    rewards : ndarray of shape (count,)
    ended : ndarray of shape (count,), bool

    Raises
    ------
    SojournError
        Bad formulas, bounds or schemes, or no such queue.

    Examples
    --------
    >>> import sojourn as sj
    >>> from sojourn import gym
    >>> net = sj.dumbbell(flows=2, rate=sj.mbit_s(10), duration=sj.s(3), warm_up=sj.s(1))
    >>> episodes = gym.Episodes([net], action=gym.parameters(target=(sj.ms(1), sj.ms(100))), scheme="pie")
    >>> episodes.begin([(0, 0, 1)])
    >>> steps = 0
    >>> while not episodes.ended[0]:
    ...     episodes.step(np.zeros((1, 1)))
    ...     steps += 1
    >>> steps
    200
    """

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
        count: int = 1,
        threads: int = 1,
    ) -> None:
        nets = [networks] if isinstance(networks, Network) else list(networks)
        if not nets:
            raise SojournError("there is no network; allowed: one or more")
        whole_number("count", count, 1, 4096)
        whole_number("threads", threads, 1, 1024)
        if scheme is None and "probability" in action.document:
            scheme = "dropping_function table 0:0 limit 1000p"
        scenarios = [net.canonical() for net in nets]
        document = {
            "scheme": None if scheme is None else as_schemes([scheme])[0].text,
            "queue": queue or _only_queue(scenarios[0]),
            "step": str(from_ns(to_ns("step", ms(10) if step is None else step))),
            "observations": list(observations),
            "reward": reward,
            "action": action.document,
        }
        self.action = action
        self.networks = tuple(nets)
        self._native = Environments(json.dumps(document), [json.dumps(one) for one in scenarios], count, threads)
        self.observations: npt.NDArray[np.float32] = np.zeros((count, len(observations)), np.float32)
        self.rewards: npt.NDArray[np.float64] = np.zeros(count)
        self._ended = np.zeros(count, np.uint8)
        self.ended: npt.NDArray[np.bool_] = self._ended.view(np.bool_)

    def __len__(self) -> int:
        return len(self.rewards)

    def begin(self, episodes: Sequence[tuple[int, int, int]]) -> None:
        """Begin episodes, and simulate the scenario's warm-up.

        Parameters
        ----------
        episodes
            Environment, network and seed of each.
        """
        for _, _, seed in episodes:
            whole_number("seed", seed, 0, GREATEST_SEED)
        self._native.begin([(environment, net, seed, 0) for environment, net, seed in episodes], self.observations)
        for environment, _, _ in episodes:
            self._ended[environment] = 0

    def step(self, actions: npt.ArrayLike) -> None:
        """Act, simulate a window, and measure it in every environment.

        Parameters
        ----------
        actions
            Of shape (count, numbers of an action).
        """
        given = np.ascontiguousarray(actions, np.float64).reshape(len(self), self.action.numbers)
        self._native.step(given, self.observations, self.rewards, self._ended)

    def report(self, environment: int = 0) -> Document:
        """Return the whole run's report of the last episode of an environment that ended.

        Raises
        ------
        SojournError
            None has ended.
        """
        document: Document = json.loads(self._native.report(environment))
        return document


def _only_queue(scenario: Document) -> str:
    """Return the name of the only queue under test."""
    from sojourn._native import Stepper

    task = json.dumps({"scheme": None, "seed": 1, "replication": 0})
    tested = [name for name, is_tested in Stepper(json.dumps(scenario), task).queues() if is_tested]
    if len(tested) != 1:
        known = ", ".join(tested[:8]) or "none"
        raise SojournError(f"{len(tested)} queues are under test: name one with `queue`; there are: {known}")
    return tested[0]


def from_plan(plan: str | Path) -> list[Network]:
    """Return the scenarios of a plan, to draw episodes from; its schemes are left out.

    A Latin hypercube in the plan makes them a sample of a distribution.

    Raises
    ------
    SojournError
        The plan has an error.
    """
    from sojourn.plan import document, expand

    cells = expand.cells(document.load(plan))
    used = dict.fromkeys(cell.scenario for cell in cells)
    return [Network.from_dict(json.loads(cells.scenarios[one])) for one in used]
