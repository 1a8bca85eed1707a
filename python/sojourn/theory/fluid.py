"""Fluid models of TCP over links with active queue management.

Misra, Gong and Towsley 2000: windows grow by one packet a round trip and fall with the indications of loss that come
back after it; queues fill with what the windows send and drain at the link's rate. Here over any links and routes in
sparse form; CUBIC as Vardoyan, Hollot and Towsley 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy import sparse

from sojourn.base.by_name import by_name
from sojourn.base.core import SojournError
from sojourn.stats import Floats
from sojourn.theory.controllers import Controller

RENO: Final = "reno"
CUBIC: Final = "cubic"
_C, _BETA = 0.4, 0.7

_NO_LOSS: Final = 1e-9
"""A smaller loss probability of a link counts as zero."""

_SLIGHT: Final = 1e-6
"""Below this loss a queue has a share of what its controller holds: without loss nothing says how much waits."""

SAWTOOTH: Final = 4 / 3
"""How much above W p/2 a mean window falls when losses come evenly: a saw-tooth between W and W/2 has the mean square
root of 3/(2p) (Mathis et al. 1997), where the mean-field equation alone gives that of 2/p."""


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link with its queue.

    Parameters
    ----------
    capacity_packets_s
        Packets/s.
    controller
        Of :mod:`sojourn.theory.controllers`. Links with equal controllers are computed together.
    buffer_packets
        Beyond which everything is lost.
    """

    capacity_packets_s: float
    controller: Controller
    buffer_packets: float = np.inf


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class FlowClass:
    """Flows that share a route and a base round-trip time.

    Parameters
    ----------
    flows
        Their number.
    base_rtt_s
        Without queueing.
    route
        Indices of links.
    tcp
        ``reno`` or ``cubic``.
    packets_per_ack
        Of delayed acknowledgements: the window grows by 1/b a round trip (Reno).
    closure
        :data:`SAWTOOTH`, or 1 for the mean-field equation alone.
    """

    flows: float
    base_rtt_s: float
    route: Sequence[int] = (0,)
    tcp: str = RENO
    packets_per_ack: float = 1.0
    closure: float = 1.0


@dataclass(frozen=True)
class Run:
    """A solution over time.

    Parameters
    ----------
    time_s
        Shape (samples,).
    queue_packets
        Shape (samples, links).
    window_packets
        Shape (samples, classes).
    probability
        Loss probability of each link, shape (samples, links).
    """

    time_s: Floats
    queue_packets: Floats
    window_packets: Floats
    probability: Floats


@dataclass(frozen=True)
class Steady:
    """A fixed point.

    Parameters
    ----------
    queue_packets, probability
        Shape (links,).
    window_packets, rtt_s, rate_packets_s
        Shape (classes,); the rate is that of one flow.
    state
        The whole state vector.
    """

    queue_packets: Floats
    probability: Floats
    window_packets: Floats
    rtt_s: Floats
    rate_packets_s: Floats
    state: Floats = field(repr=False)


class Fluid:
    """A network in fluid form.

    The state is one vector: windows (Reno: W; CUBIC: the last maximum and the time since the last loss), queues, and
    the controllers' states.

    Parameters
    ----------
    links, classes
        At least one each.

    Raises
    ------
    SojournError
        Routes over links that are not there, and quantities that are not above zero.
    """

    def __init__(self, links: Sequence[Link], classes: Sequence[FlowClass]) -> None:
        if not links or not classes:
            raise SojournError("a fluid model needs at least one link and one class of flows")
        for number, one in enumerate(classes):
            if not one.route or not all(0 <= at < len(links) for at in one.route):
                raise SojournError(f"class {number}: route {list(one.route)}; allowed: links 0 to {len(links) - 1}")
            if not (one.flows > 0 and one.base_rtt_s > 0 and one.packets_per_ack > 0 and one.closure > 0):
                raise SojournError(f"class {number}: flows, base_rtt_s, packets_per_ack, closure: allowed: above 0")
            if one.tcp not in (RENO, CUBIC):
                raise SojournError(f"class {number}: tcp={one.tcp!r}; allowed: {RENO}, {CUBIC}")
        if not all(link.capacity_packets_s > 0 and link.buffer_packets > 0 for link in links):
            raise SojournError("links: capacity_packets_s and buffer_packets: allowed: above 0")
        self.links, self.classes = tuple(links), tuple(classes)
        self.capacity = np.array([link.capacity_packets_s for link in links])
        self.buffer = np.array([link.buffer_packets for link in links])
        self.flows = np.array([one.flows for one in classes], dtype=np.float64)
        self.base = np.array([one.base_rtt_s for one in classes], dtype=np.float64)
        self._growth = 1 / np.array([one.packets_per_ack for one in classes])
        self._fall = 0.5 * np.array([one.closure for one in classes])
        self.is_cubic = np.array([one.tcp == CUBIC for one in classes])
        rows = [at for one in classes for at in one.route]
        columns = [k for k, one in enumerate(classes) for _ in one.route]
        shape = (len(links), len(classes))
        self.routes = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        self._back = self.routes.T.tocsr()
        groups: dict[Controller, list[int]] = {}
        for at, link in enumerate(links):
            groups.setdefault(link.controller, []).append(at)
        self.groups = [(controller, np.array(of)) for controller, of in groups.items()]
        self._has_queue = np.array([link.controller.has_queue for link in links])
        n, m = len(classes), len(links)
        self._windows, self._ages = slice(0, n), slice(n, 2 * n)
        self._queues = slice(2 * n, 2 * n + m)
        self._states: list[slice] = []
        at = 2 * n + m
        for controller, of in self.groups:
            self._states.append(slice(at, at + controller.states * len(of)))
            at += controller.states * len(of)
        self.size = at

    def _on(self, of_classes: Floats) -> Floats:
        """Return sums over the classes that cross each link."""
        return np.asarray(self.routes @ of_classes, dtype=np.float64)

    def _along(self, of_links: Floats) -> Floats:
        """Return sums over the links of each class's route."""
        return np.asarray(self._back @ of_links, dtype=np.float64)

    def window(self, x: Floats) -> Floats:
        """Return the windows, shape (classes,), packets."""
        own = np.maximum(x[self._windows], 1e-3)
        if not self.is_cubic.any():
            return own
        k = np.cbrt(own * (1 - _BETA) / _C)
        cubic = np.maximum(own + _C * (x[self._ages] - k) ** 3, 1.0)
        return np.where(self.is_cubic, cubic, own)

    def queue(self, x: Floats) -> Floats:
        """Return the queues, shape (links,), packets."""
        return np.clip(x[self._queues], 0.0, self.buffer)

    def rtt(self, x: Floats) -> Floats:
        """Return the round-trip times, shape (classes,), s."""
        return self.base + self._along(self.queue(x) / self.capacity)

    def arriving(self, x: Floats) -> Floats:
        """Return what arrives at each link, shape (links,), packets/s."""
        return self._on(self.flows * self.window(x) / self.rtt(x))

    def flow(self, x: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Return what a flow of each class loses, 1/s, and dx/dt as a function of the losses that it hears of.

        The first is the rate of a flow times the losses along its route; it is heard of one round trip later.
        """
        window, rtt, queue = self.window(x), self.rtt(x), self.queue(x)
        rate = window / rtt
        arriving = self._on(self.flows * rate)
        p = np.zeros(len(self.links))
        for (controller, of), place in zip(self.groups, self._states, strict=True):
            state = x[place].reshape(controller.states, len(of))
            p[of] = controller.probability(state, queue[of], arriving[of], self.capacity[of])
        entering = np.maximum(arriving * (1 - p), 1e-12)
        p += (1 - p) * np.where(queue >= self.buffer, np.maximum(1 - self.capacity / entering, 0.0), 0.0)

        def derivative(indications: Floats) -> Floats:
            found = np.zeros_like(x)
            reno = self._growth / rtt - self._fall * window * indications
            # CUBIC: at a loss the maximum becomes the window and the clock starts again.
            found[self._windows] = np.where(self.is_cubic, (window - x[self._windows]) * indications, reno)
            found[self._ages] = np.where(self.is_cubic, 1 - x[self._ages] * indications, 0.0)
            filling = np.where(self._has_queue, arriving * (1 - p) - self.capacity, 0.0)
            filling = np.where((x[self._queues] <= 0) & (filling < 0), 0.0, filling)
            found[self._queues] = filling
            for (controller, of), place in zip(self.groups, self._states, strict=True):
                state = x[place].reshape(controller.states, len(of))
                own = controller.derivative(state, queue[of], filling[of], arriving[of], self.capacity[of])
                found[place] = own.ravel()
            return found

        return rate * np.minimum(self._along(p), 1.0), derivative

    def probability(self, x: Floats) -> Floats:
        """Return the loss probability of each link but for its buffer's end."""
        queue, arriving = self.queue(x), self.arriving(x)
        p = np.zeros(len(self.links))
        for (controller, of), place in zip(self.groups, self._states, strict=True):
            state = x[place].reshape(controller.states, len(of))
            p[of] = controller.probability(state, queue[of], arriving[of], self.capacity[of])
        return p

    def initial(self) -> Floats:
        """Return a state to start from: windows that fill the links, empty queues."""
        x = np.zeros(self.size)
        users = self._on(self.flows)
        fair = self.capacity / np.maximum(users, 1e-12)
        share = np.array([min(fair[at] for at in one.route) for one in self.classes])
        x[self._windows] = np.maximum(share * self.base, 1.0)
        x[self._ages] = np.where(self.is_cubic, np.cbrt(x[self._windows] * (1 - _BETA) / _C), 0.0)
        for (controller, _), place in zip(self.groups, self._states, strict=True):
            x[place] = controller.initial
        return x

    @by_name
    def run(
        self, *, duration_s: float, step_s: float | None = None, start: Floats | None = None, samples: int = 2000
    ) -> Run:
        """Integrate from `start`, by Heun's method with the history of indications interpolated.

        Parameters
        ----------
        duration_s
            Simulated time, s.
        step_s
            By default a fortieth of the shortest base round-trip time: halving it moves no published picture of
            ours by the width of its line.
        start
            A state; by default :meth:`initial`, with its indications as the past.
        samples
            In the result, at most.

        Raises
        ------
        SojournError
            A step that is not below the shortest round-trip time.
        """
        step = float(self.base.min()) / 40 if step_s is None else step_s
        if not 0 < step < float(self.base.min()):
            raise SojournError(f"step_s={step}; allowed: above 0, below the shortest base RTT {self.base.min():g} s")
        x = self.initial() if start is None else start.copy()
        count = max(1, round(duration_s / step))
        longest = float(np.max(self.base + self._along(np.minimum(self.buffer, 1e5) / self.capacity)))
        depth = min(int(longest / step) + 3, count + 2)
        past = np.tile(self.flow(x)[0], (depth, 1))
        columns = np.arange(len(self.classes))

        def heard(at: int, rtt: Floats) -> Floats:
            """What left one round trip before step `at`, from a ring of steps."""
            back = np.minimum(rtt / step, depth - 2)
            whole = back.astype(np.int64)
            part = back - whole
            newer, older = (at - whole) % depth, (at - whole - 1) % depth
            return (1 - part) * past[newer, columns] + part * past[older, columns]

        every = max(1, count // samples)
        kept: list[tuple[float, Floats]] = []
        for at in range(count + 1):
            past[at % depth], derivative = self.flow(x)
            if at % every == 0:
                kept.append((at * step, x.copy()))
            first = derivative(heard(at, self.rtt(x)))
            guess = self._bounded(x + step * first)
            past[(at + 1) % depth], derivative = self.flow(guess)
            second = derivative(heard(at + 1, self.rtt(guess)))
            x = self._bounded(x + 0.5 * step * (first + second))
        states = [state for _, state in kept]
        return Run(
            np.array([time for time, _ in kept]),
            np.array([self.queue(state) for state in states]),
            np.array([self.window(state) for state in states]),
            np.array([self.probability(state) for state in states]),
        )

    def _bounded(self, x: Floats) -> Floats:
        x[self._windows] = np.maximum(x[self._windows], 1e-3)
        x[self._queues] = np.clip(x[self._queues], 0.0, self.buffer)
        return x

    def steady(self, *, within: float = 1e-9) -> Steady:
        """Return the fixed point, stable or not.

        Loss probabilities are moved until each link carries what its controller wants or, with no loss, less: they
        act as prices of a network whose flows' rates fall with them (Kelly, Maulloo and Tan 1998).

        Parameters
        ----------
        within
            Share of its rate that a link may be off. Tens of thousands of links come within 1e-3 in seconds.

        Raises
        ------
        SojournError
            Where none is found in 20,000 steps.
        """
        p = np.full(len(self.links), 1e-2)
        step, last = np.ones_like(p), np.zeros_like(p)
        for _ in range(20_000):
            queue, wanted = self._held_by(p)
            window, rtt = self._windows_at(p, queue)
            arriving = self._on(self.flows * window / rtt)
            excess = np.log(np.maximum(arriving * (1 - p), 1e-12) / (wanted * self.capacity))
            error = float(np.max(np.where(p > _NO_LOSS, np.abs(excess), np.maximum(excess, 0.0))))
            if error < within:
                break
            # A rate that falls with the root of the loss is met by twice the excess; overshoot shortens the step.
            step = np.clip(np.where(excess * last < 0, 0.6 * step, 1.05 * step), 0.01, 1.0)
            last = excess
            p = np.clip(p * np.exp(np.clip(step * excess, -2.0, 2.0)), 0.1 * _NO_LOSS, 0.9)
        else:
            raise SojournError(f"no fixed point found: after 20,000 steps a link is {error:.2g} off its rate")
        lost = np.where(p > _NO_LOSS, p, 0.0)
        return self._state_at(lost, np.where(lost > 0, queue, 0.0), window, rtt)

    def _held_by(self, p: Floats) -> tuple[Floats, Floats]:
        """Return the queues and the shares of capacity at which loss probabilities stand still."""
        queue, wanted = np.zeros_like(p), np.ones_like(p)
        for controller, of in self.groups:
            queue[of], wanted[of], _ = controller.steady(p[of], self.capacity[of])
        # A link without loss is not full and nothing waits there; between both the queue rises at almost no loss.
        return np.minimum(queue, self.buffer) * np.minimum(p / _SLIGHT, 1.0), wanted

    def _windows_at(self, p: Floats, queue: Floats) -> tuple[Floats, Floats]:
        rtt = self.base + self._along(queue / self.capacity)
        loss = np.clip(self._along(p), 1e-15, 1.0)
        reno = np.sqrt(self._growth / (self._fall * loss))
        # The time between losses, R/(W p), is that to come back to the maximum: cbrt(W (1 - beta)/C).
        cubic = (rtt / loss) ** 0.75 * (_C / (1 - _BETA)) ** 0.25
        return np.where(self.is_cubic, cubic, reno), rtt

    def _state_at(self, p: Floats, queue: Floats, window: Floats, rtt: Floats) -> Steady:
        x = np.zeros(self.size)
        x[self._windows] = window
        x[self._ages] = np.where(self.is_cubic, np.cbrt(window * (1 - _BETA) / _C), 0.0)
        x[self._queues] = queue
        for (controller, of), place in zip(self.groups, self._states, strict=True):
            x[place] = controller.steady(p[of], self.capacity[of])[2].ravel()
        return Steady(queue, p, window, rtt, window / rtt, x)
