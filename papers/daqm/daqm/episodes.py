"""Episodes: traffic that changes, a controller that chooses schemes, and the measurements of every window."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from sojourn.base.units import Quantity, to_ns
from sojourn.model.network import Network
from sojourn.plan.stepping import Simulation, Window
from sojourn.stats import Floats
from sojourn.studies.papers.checks import as_tuples
from sojourn.studies.papers.results import Keeper

from . import traffic
from .controller import Chooser, Thompson, context
from .model import Adaptive, Weights

SPREAD: Final = 0.3
"""Standard deviation of a window's reward around its prediction; it scales the bandit's draws while it learns."""
CHECKPOINT: Final = 10
"""Training episodes between two states that are kept."""

Learner: TypeAlias = Callable[[Window, int, Sequence[Window]], None]


@dataclass(frozen=True, slots=True)
class Episode:
    """The measurements of one episode, one value per window.

    Parameters
    ----------
    queue_packets, sojourn_ms, arrivals, departures, drops
        As in :class:`sojourn.plan.stepping.Window`; the sojourn time is 0 where nothing left.
    switches
        Number of switches to another scheme, or to the same scheme with a new state.
    """

    arm: tuple[int, ...]
    goodput: tuple[float, ...]
    delay: tuple[float, ...]
    loss: tuple[float, ...]
    queue_packets: tuple[float, ...]
    sojourn_ms: tuple[float, ...]
    arrivals: tuple[int, ...]
    departures: tuple[int, ...]
    drops: tuple[int, ...]
    switches: int

    def rewards(self, weights: Weights) -> Floats:
        """Return the reward of each window."""
        found: Floats = weights.of(np.asarray(self.goodput), np.asarray(self.delay), np.asarray(self.loss))
        return found

    def measures(self, weights: Weights) -> dict[str, float]:
        """Return the episode's reward, mean sojourn time over packets (ms), loss ratio and goodput over the rate."""
        left, came = np.asarray(self.departures), sum(self.arrivals)
        return {
            "reward": float(self.rewards(weights).mean()),
            "sojourn_ms": float((np.asarray(self.sojourn_ms) * left).sum() / max(left.sum(), 1)),
            "loss_ratio": sum(self.drops) / max(came, 1),
            "goodput": float(np.mean(self.goodput)),
            "switches": float(self.switches),
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Episode:
        """Return a stored episode."""
        return cls(**as_tuples(document))


def worth(window: Window, adaptive: Adaptive) -> tuple[float, float, float]:
    """Return goodput over the rate, delay over its unit (at most 1) and loss ratio of a window.

    If no packet left in a window, the delay is 0 if no packet waits, and the largest value otherwise. The goodput of
    a window may exceed the rate, because a retransmission releases data that had arrived out of order before.
    """
    goodput = _number(window.goodput_bit_s) / (adaptive.rate_mbit_s * 1e6)
    delay = min(window.sojourn_ms_mean / adaptive.delay_unit_ms, 1.0)
    if math.isnan(delay):
        delay = 1.0 if window.backlog_packets else 0.0
    return goodput, delay, min(_number(window.loss_ratio), 1.0)


@dataclass(frozen=True)
class Stage:
    """The traffic, the schemes (`arms`) among which a controller chooses, and the store of finished work."""

    adaptive: Adaptive
    arms: Sequence[str]
    keeper: Keeper

    @cached_property
    def net(self) -> Network:
        """The network with its traffic."""
        return traffic.network(self.adaptive)

    def play(
        self, chooser: Chooser, seed: int, *, hold: int = 1, is_reset: bool = False, learn: Learner | None = None
    ) -> Episode:
        """Play an episode.

        Parameters
        ----------
        is_reset
            Whether to switch at every decision, even to the same scheme, to measure the cost of a switch.
        learn
            Called with the window before a decision, the arm, and the windows up to the next decision.
        """
        adaptive = self.adaptive
        simulation = Simulation(self.net, "pfifo limit 2000p", seed=seed)
        step = Quantity(to_ns("interval", adaptive.interval), "ns")
        seen, present, switches = simulation.window(), -1, -1
        rows: list[tuple[Any, ...]] = []
        while not simulation.is_done:
            arm = chooser(seen, present)
            # The first choice is no switch: nothing has arrived yet.
            if arm != present or is_reset:
                simulation.switch(self.arms[arm])
                switches += 1
            present = arm
            held = []
            for _ in range(hold):
                simulation.advance(step)
                held.append(simulation.window())
                if simulation.is_done:
                    break
            if learn is not None:
                learn(seen, arm, held)
            rows += [(arm, *_row(window, adaptive)) for window in held]
            seen = held[-1]
        columns = dict(zip(Episode.__slots__[:-1], zip(*rows, strict=True), strict=True))
        return Episode.of({**columns, "switches": switches})

    def kept(
        self,
        who: Mapping[str, Any],
        chooser: Callable[[int], Chooser],
        seeds: Sequence[int],
        *,
        hold: int = 1,
        is_reset: bool = False,
    ) -> list[Episode]:
        """Return one episode per seed of the traffic; only those that are not stored yet are played.

        `who` is everything that the choices depend on, except the seed. The others are as for :meth:`play`.
        """

        def one(seed: int) -> Episode:
            of = self._settings(hold) | {"who": dict(who), "seed": seed, "is_reset": is_reset}

            def make() -> dict[str, Any]:
                return asdict(self.play(chooser(seed), seed, hold=hold, is_reset=is_reset))

            return Episode.of(self.keeper.get("episode", of, make))

        return [one(seed) for seed in seeds]

    def train(self, weights: Weights, hold: int, episodes: int) -> Thompson:
        """Return a bandit that has learnt from `episodes` episodes, whose seeds no evaluation uses."""
        first = self.adaptive.train_seed
        bandit = Thompson.new(len(self.arms), 9, SPREAD)

        def lesson(number: int) -> None:
            random = np.random.default_rng([first, number])

            def learn(before: Window, arm: int, after: Sequence[Window]) -> None:
                rewards = [weights.of(*worth(window, self.adaptive)) for window in after]
                bandit.learn(arm, context(before), sum(rewards) / len(rewards))

            def choose(window: Window, _present: int) -> int:
                return bandit.explore(context(window), random)

            self.play(choose, first + number, hold=hold, learn=learn)

        def more() -> dict[str, Any]:
            for number in range(begin, end):
                lesson(number)
            return bandit.document()

        for begin in range(0, episodes, CHECKPOINT):
            end = min(begin + CHECKPOINT, episodes)
            of = self._settings(hold) | {"weights": asdict(weights), "episodes": end, "seed": first, "spread": SPREAD}
            bandit = Thompson.of(self.keeper.get("bandit", of, more))
        return bandit

    def _settings(self, hold: int) -> dict[str, Any]:
        """Return what every result depends on."""
        every = {"every": self.adaptive.interval, "delay_unit_ms": self.adaptive.delay_unit_ms}
        return every | {"arms": list(self.arms), "scenario": self.net.canonical(), "hold": hold}


def _row(window: Window, adaptive: Adaptive) -> tuple[float, ...]:
    own = (window.queue_packets_mean, _number(window.sojourn_ms_mean))
    return *worth(window, adaptive), *own, window.arrivals_packets, window.departures_packets, window.drops_packets


def _number(value: float) -> float:
    return 0.0 if math.isnan(value) else value
