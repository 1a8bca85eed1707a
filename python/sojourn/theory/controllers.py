"""Controllers of queues in fluid form: a loss probability from queue and arrival rate, vectorised over links.

Each has a state of shape (states, links) that it differentiates. Parameters are the simulator's, in packets and s.
Sources: RED and PI: Misra, Gong and Towsley 2000, Hollot et al. 2001; PIE: RFC 8033; REM: Athuraliya et al. 2001;
AVQ: Kunniyur and Srikant 2004; CoDel: RFC 8289, as its control law alone; threshold: Raina, Towsley and Wischik 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from sojourn.base.by_name import by_name
from sojourn.base.core import SojournError
from sojourn.stats import Floats


class Controller(Protocol):
    """An algorithm in the fluid model; arrays have the shape (links,), the state has (states, links)."""

    states: ClassVar[int] = 1
    """Numbers of state that each link has."""
    has_queue: ClassVar[bool] = True
    """Whether the queue is a state; otherwise it is so short that its mean follows the rate at once."""
    initial: ClassVar[float] = 0.0
    """The state that a run starts from."""

    def probability(self, state: Floats, queue: Floats, arriving: Floats, capacity: Floats) -> Floats:
        """Return the loss probability: by default the state."""
        return np.asarray(np.clip(state[0], 0.0, 1.0), dtype=np.float64)

    def derivative(self, state: Floats, queue: Floats, filling: Floats, arriving: Floats, capacity: Floats) -> Floats:
        """Return the state's derivative, 1/s, by default 0; `filling` is that of the queue, packets/s."""
        return np.zeros_like(state)

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the queue, the used share of the capacity, and the state at which `p` is constant."""
        ...


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Red(Controller):
    """RED: p from an average of the queue.

    `spaced`: losses are spread evenly over 1/p arrivals (RED's count), which makes their rate 2p/(1 + p).
    """

    min_packets: float
    max_packets: float
    max_p: float = 0.1
    w: float = 0.002
    gentle: bool = True
    spaced: bool = True

    def __post_init__(self) -> None:
        if not (0 <= self.min_packets < self.max_packets and 0 < self.max_p <= 1 and 0 < self.w < 1):
            raise SojournError(f"{self}: allowed: 0 <= min < max, max_p up to 1, w between 0 and 1")

    def probability(self, state: Floats, queue: Floats, arriving: Floats, capacity: Floats) -> Floats:
        average = state[0]
        first = (average - self.min_packets) / (self.max_packets - self.min_packets) * self.max_p
        if self.gentle:
            second = self.max_p + (average - self.max_packets) / self.max_packets * (1 - self.max_p)
            p = np.where(average < self.max_packets, first, second)
        else:
            p = np.where(average < self.max_packets, first, 1.0)
        p = np.clip(p, 0.0, 1.0)
        return np.asarray(2 * p / (1 + p) if self.spaced else p, dtype=np.float64)

    def derivative(self, state: Floats, queue: Floats, filling: Floats, arriving: Floats, capacity: Floats) -> Floats:
        # One sample an arrival; at a busy link these come at the rate of the link.
        return np.asarray(-np.log1p(-self.w) * capacity * (queue - state), dtype=np.float64)

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        wanted = p / (2 - p) if self.spaced else p
        first = self.min_packets + wanted / self.max_p * (self.max_packets - self.min_packets)
        over = (wanted - self.max_p) / max(1 - self.max_p, 1e-12) if self.gentle else 0.0
        queue = np.where(wanted <= self.max_p, first, self.max_packets * (1 + over))
        return queue, np.ones_like(p), queue[None, :]


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Pi(Controller):
    """PI: p follows the queue's excess and its change."""

    a: float = 1.822e-5
    b: float = 1.816e-5
    q_ref_packets: float = 50.0
    tupdate_s: float = 1 / 160

    def derivative(self, state: Floats, queue: Floats, filling: Floats, arriving: Floats, capacity: Floats) -> Floats:
        rate = (self.a - self.b) / self.tupdate_s * (queue - self.q_ref_packets) + self.b * filling
        return _held(state, rate[None, :], 0.0, 1.0)

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        return np.full_like(p, self.q_ref_packets), np.ones_like(p), p[None, :]


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Pie(Controller):
    """PIE: PI of the queueing delay with gains that follow p (RFC 8033, section 4.2 and 5.1's steps)."""

    target_s: float = 0.015
    tupdate_s: float = 0.015
    alpha: float = 0.125
    beta: float = 1.25

    _STEPS: ClassVar[Floats] = np.array([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1])
    _SCALES: ClassVar[Floats] = 1.0 / np.array([2048, 512, 128, 32, 8, 2, 1])

    def derivative(self, state: Floats, queue: Floats, filling: Floats, arriving: Floats, capacity: Floats) -> Floats:
        scale = self._SCALES[np.searchsorted(self._STEPS, state[0], side="right")]
        excess = queue / capacity - self.target_s
        rate = scale * (self.alpha / self.tupdate_s * excess + self.beta * filling / capacity)
        return _held(state, rate[None, :], 0.0, 1.0)

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        return self.target_s * capacity, np.ones_like(p), p[None, :]


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Rem(Controller):
    """REM: p exponential in a price of backlog and rate."""

    gamma: float = 0.001
    alpha: float = 0.1
    phi: float = 1.001
    b_ref_packets: float = 20.0
    tupdate_s: float = 0.002

    def probability(self, state: Floats, queue: Floats, arriving: Floats, capacity: Floats) -> Floats:
        return np.asarray(-np.expm1(-np.log(self.phi) * np.maximum(state[0], 0.0)), dtype=np.float64)

    def derivative(self, state: Floats, queue: Floats, filling: Floats, arriving: Floats, capacity: Floats) -> Floats:
        mismatch = (arriving - capacity) + self.alpha * (queue - self.b_ref_packets) / self.tupdate_s
        return _held(state, self.gamma * mismatch[None, :], 0.0, np.inf)

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        # Lost packets also arrive, so the backlog is below b_ref by the price of these arrivals.
        queue = self.b_ref_packets - self.tupdate_s * capacity * p / (1 - p) / self.alpha
        return np.maximum(queue, 0.0), np.ones_like(p), (-np.log1p(-p) / np.log(self.phi))[None, :]


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Avq(Controller):
    """AVQ: packets that do not fit into a slower virtual queue are lost; that queue is short for the link's delay."""

    gamma: float = 0.98
    alpha: float = 0.15

    initial: ClassVar[float] = 1.0

    def probability(self, state: Floats, queue: Floats, arriving: Floats, capacity: Floats) -> Floats:
        virtual = np.clip(state[0], 0.0, 1.0) * capacity
        return np.asarray(np.clip(1 - virtual / np.maximum(arriving, 1e-9), 0.0, 1.0), dtype=np.float64)

    def derivative(self, state: Floats, queue: Floats, filling: Floats, arriving: Floats, capacity: Floats) -> Floats:
        # The state is the virtual capacity over the link's; lost packets change nothing.
        p = self.probability(state, queue, arriving, capacity)
        rate = self.alpha * (self.gamma - arriving * (1 - p) / capacity)
        return _held(state, rate[None, :], 0.0, 1.0)

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        return np.zeros_like(p), np.full_like(p, self.gamma), np.full((1, len(p)), self.gamma)


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Codel(Controller):
    """CoDel's control law: while the delay is above target, the rate of losses, sqrt(count)/interval, increases."""

    target_s: float = 0.005
    interval_s: float = 0.1

    def probability(self, state: Floats, queue: Floats, arriving: Floats, capacity: Floats) -> Floats:
        losses = np.sqrt(np.maximum(state[0], 0.0)) / self.interval_s
        return np.asarray(np.clip(losses / np.maximum(arriving, 1e-9), 0.0, 1.0), dtype=np.float64)

    def derivative(self, state: Floats, queue: Floats, filling: Floats, arriving: Floats, capacity: Floats) -> Floats:
        count = np.maximum(state[0], 0.0)
        rising = np.sqrt(np.maximum(count, 1.0)) / self.interval_s
        # Below target nothing is dropped, and the count of a later state starts near the old one for 16 intervals.
        falling = -count / (16 * self.interval_s)
        excess = queue / capacity - self.target_s
        share = 0.5 * (1 + np.tanh(excess / (0.1 * self.target_s)))
        return np.asarray((share * rising + (1 - share) * falling)[None, :], dtype=np.float64)

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        count = (p * capacity / (1 - p) * self.interval_s) ** 2
        rising, falling = np.sqrt(np.maximum(count, 1.0)), count / 16
        excess = 0.1 * np.arctanh(np.clip(2 * falling / (rising + falling) - 1, -0.999999, 0.999999))
        return capacity * self.target_s * (1 + excess), np.ones_like(p), count[None, :]


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold(Controller):
    """A threshold so low that the queue forms and drains within a round trip: p = rho^b (1 - rho)/(1 - rho^(b + 1)).

    That is the loss of a queue of Poisson arrivals with room for `q_th_packets` (Raina, Towsley and Wischik 2005).
    """

    q_th_packets: float = 15.0

    states: ClassVar[int] = 0
    has_queue: ClassVar[bool] = False

    def probability(self, state: Floats, queue: Floats, arriving: Floats, capacity: Floats) -> Floats:
        rho = np.maximum(arriving / capacity, 1e-9)
        # At rho = 1 it is 1/(b + 1); near it the closed form divides by almost zero.
        safe = np.where(np.abs(rho - 1) < 1e-6, 1 + 1e-6, rho)
        log = self.q_th_packets * np.log(safe)
        return np.where(
            log > 0,
            (1 - 1 / safe) / (1 - np.exp(-np.maximum(log, 0.0)) / safe),
            np.exp(np.minimum(log, 0.0)) * (1 - safe) / (1 - np.exp(np.minimum(log, 0.0)) * safe),
        )

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        low, high = np.full_like(p, 1e-6), np.full_like(p, 1e6)
        for _ in range(80):
            middle = np.sqrt(low * high)
            is_low = self.probability(np.zeros((0, len(p))), p, middle * capacity, capacity) < p
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        return np.zeros_like(p), np.minimum(low * (1 - p), 1.0), np.zeros((0, len(p)))


@dataclass(frozen=True, slots=True)
class TailDrop(Controller):
    """Tail drop: losses only when the buffer is full."""

    states: ClassVar[int] = 0

    def probability(self, state: Floats, queue: Floats, arriving: Floats, capacity: Floats) -> Floats:
        return np.zeros_like(queue)

    def steady(self, p: Floats, capacity: Floats) -> tuple[Floats, Floats, Floats]:
        return np.full_like(p, np.inf), np.ones_like(p), np.zeros((0, len(p)))


def _held(state: Floats, rate: Floats, low: float, high: float) -> Floats:
    """Return a derivative that does not leave the bounds."""
    return np.where(((state <= low) & (rate < 0)) | ((state >= high) & (rate > 0)), 0.0, rate)
