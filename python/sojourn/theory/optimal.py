"""The best of all dropping functions for an objective, with Poisson, switched or batch arrivals.

A dropping function d(n) sees the number n in the system that a packet finds, and nothing else: neither the phase of
the arrivals nor how many packets of a batch are still to come. Service is exponential; time is in mean service times.

* With a cost that is linear in the steady state (delay and losses), the best d(n) for Poisson arrivals drops
  everything from some length on (Naor 1969; Stidham 1985). Changing one d(n) changes the cost as a ratio of two
  linear functions does, so the best value is 0 or 1; and a packet that finds more
  packets delays more of those that follow.
* The total impairment C of Barczyk and Chydzinski (2022) is not linear: it depends on the burst ratio, which a
  threshold raises. The best d(n) then rises gradually.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import linalg, optimize

from sojourn.base.core import SojournError
from sojourn.stats import Floats
from sojourn.theory.queue import law

MOST: Final = 1200
"""States, lengths times phases: one steady state then takes less than a second."""
_MOST_LOAD: Final = 1000.0
"""Far beyond it the equations of the steady state are singular."""
MOST_GRADUAL: Final = 0.999
"""The largest value of a gradual function before its end: with 1 everywhere nothing would be served."""
_BETTER: Final = 1e-9
_PENALTY: Final = 1e6
"""Of the square of a lack of utilisation: 0.001 below the bound costs as much as a packet."""


@dataclass(frozen=True)
class Steady:
    """A queue under a dropping function.

    Parameters
    ----------
    d
        The function: the probability that a packet which finds n is dropped; shape (lengths,), the last is 1.
    mean_packets
        In the system, over time.
    loss_ratio, burst_ratio
        Of packets; the second is the mean length of a run of losses times 1 - loss ratio (NaN where
        nothing is lost, or everything).
    utilisation
        Share of time that the server works, which is the goodput.
    """

    d: Floats
    mean_packets: float
    loss_ratio: float
    burst_ratio: float
    utilisation: float

    @property
    def impairment(self) -> float:
        """C of Barczyk and Chydzinski (2022): the mean queue plus their equation 6."""
        loss = 100 * self.loss_ratio
        # Losses that are independent have a burst ratio of 1 however many they are.
        burst_ratio = self.burst_ratio if math.isfinite(self.burst_ratio) else 1.0
        return self.mean_packets + 95 * loss / (loss / burst_ratio + 4.3)

    @property
    def threshold(self) -> int | None:
        """The length from which everything is dropped and below which nothing is; None if it is gradual."""
        first = int(np.argmax(self.d > 0.5))
        is_step = bool(np.all(self.d[:first] <= _BETTER) and np.all(self.d[first:] >= 1 - _BETTER))
        return first if is_step else None


@dataclass(frozen=True)
class Model:
    """Arrivals in batches, their rate governed by phases, at a server with exponential service of mean 1.

    Parameters
    ----------
    silent, arriving
        Rates of phase changes without and with a batch, shape (phases, phases).
    batch
        P(size of a batch), from size 1; shape (sizes,).
    room
        The largest number in the system: a packet that finds it is dropped.
    """

    silent: Floats
    arriving: Floats
    batch: Floats
    room: int

    def __post_init__(self) -> None:
        if not 2 <= self.room * len(self.silent) <= MOST:
            raise SojournError(f"room={self.room} with {len(self.silent)} phases; allowed: 2 to {MOST} states")

    @property
    def rate(self) -> float:
        """Packets in a mean service time."""
        phases = _stationary(self.silent + self.arriving)
        return float(phases @ self.arriving.sum(axis=1) * (self.batch @ np.arange(1, len(self.batch) + 1)))

    def solve(self, d: Floats) -> Steady:
        """Return the steady state under a dropping function."""
        return self._parts(d)[0]

    def _parts(self, d: Floats) -> tuple[Steady, Floats, Floats]:
        """Return the steady state, the rates at which each length decides on packets, and the whole generator."""
        size, phases = self.room + 1, len(self.silent)
        after = _after(d)
        events = np.zeros((size, size))
        step = np.eye(size)
        for share in self.batch:
            step = step @ after
            events += share * step
        service = np.diag(np.ones(self.room), -1)
        service -= np.diag(np.r_[0.0, np.ones(self.room)])
        quiet = np.kron(np.eye(size), self.silent) + np.kron(service, np.eye(phases))
        generator = quiet + np.kron(events, self.arriving)
        pi = _stationary(generator)
        # Decisions on the first, second, ... packet of a batch, by what it finds and the phase after the arrival.
        found = (pi.reshape(size, phases) @ self.arriving).T
        tail = np.cumsum(self.batch[::-1])[::-1]
        first_lost = linalg.solve(-quiet, np.kron(d, self.arriving.sum(axis=1))).reshape(size, phases)
        decided, both = np.zeros((phases, size)), 0.0
        for number, more in enumerate(tail):
            decided += more * found
            following = tail[number + 1] if number + 1 < len(tail) else 0.0
            lost = found * d
            both += float(following * (lost @ d).sum() + (more - following) * (lost.T * first_lost).sum())
            found = found @ after
        rate = float(decided.sum())
        losses = float((decided @ d).sum())
        lengths = pi.reshape(size, phases).sum(axis=1)
        runs = losses / max(losses - both, 1e-300)
        burst = runs * (1 - losses / rate) if 0 < losses < rate else math.nan
        mean = float(lengths @ np.arange(size))
        return Steady(d, mean, losses / rate, burst, float(1 - lengths[0])), decided, generator

    def improved(self, d: Floats, loss_cost: float) -> Floats:
        """Return d with 1 where more drops lower the linear cost, to first order, and 0 elsewhere."""
        steady, decided, generator = self._parts(d)
        size, phases = self.room + 1, len(self.silent)
        losses = steady.loss_ratio * decided.sum()
        mean = steady.mean_packets + loss_cost * losses
        # Relative values: what beginning in a state costs beyond the mean, losses of its own batches included.
        loses, step, after = np.zeros(size), np.eye(size), _after(d)
        tail = np.cumsum(self.batch[::-1])[::-1]
        for more in tail:
            loses += more * (step @ d)
            step = step @ after
        cost = np.kron(np.arange(size), np.ones(phases)) + loss_cost * np.kron(loses, self.arriving.sum(axis=1))
        system = generator.copy()
        system[:, 0] = 1.0
        values = linalg.solve(system, mean - cost)
        values[0] = 0.0
        # Of a packet with r still to come after it: dropped at n, or accepted, which makes n + 1.
        value = values.reshape(size, phases).T
        gain = np.zeros(size)
        pi = _stationary(generator).reshape(size, phases)
        for number, share in enumerate(self.batch):
            # A batch of number + 1 packets, from its last packet to its first.
            found = [share * (pi @ self.arriving).T]
            for _ in range(number):
                found.append(found[-1] @ after)
            behind = value
            for at in reversed(found):
                accepted = np.c_[behind[:, 1:], behind[:, -1:]]
                gain += (at * (loss_cost + behind - accepted)).sum(axis=0)
                behind = (loss_cost + behind) * d + accepted * (1 - d)
        better = (gain < 0).astype(np.float64)
        better[-1] = 1.0
        return better


def model(
    *,
    load: float,
    room: int = 150,
    bursts: tuple[float, float, float] | None = None,
    batch: Mapping[int, float] | None = None,
) -> Model:
    """Return a model of arrivals.

    Parameters
    ----------
    load
        Packets in a mean service time.
    room
        The largest number in the system.
    bursts
        Ratio of a busy rate to the other, share of time that is busy, and mean service times of a busy phase.
    batch
        Share of batches by size; by default each packet comes alone.

    Raises
    ------
    SojournError
        Impossible values.

    Examples
    --------
    >>> found = model(load=0.8, room=60).solve(step(20, 60))
    >>> round(found.mean_packets, 3), round(found.loss_ratio, 5)  # M/M/1/20
    (3.805, 0.00233)
    """
    sizes = dict(batch or {1: 1.0})
    if not 0 < load <= _MOST_LOAD or min(sizes) < 1 or max(sizes) > MOST or not np.isclose(sum(sizes.values()), 1.0):
        allowed = f"a load above 0 and up to {_MOST_LOAD:g}, sizes from 1 to {MOST}, shares that sum to 1"
        raise SojournError(f"load={load}, batch={sizes}; allowed: {allowed}")
    shares = np.array([sizes.get(size, 0.0) for size in range(1, max(sizes) + 1)])
    rate = load / float(shares @ np.arange(1, len(shares) + 1))
    if bursts is None:
        return Model(np.array([[-rate]]), np.array([[rate]]), shares, room)
    ratio, busy, cycle = bursts
    if not (ratio >= 1 and 0 < busy < 1 and cycle > 0):
        raise SojournError(
            f"bursts={bursts}; allowed: a ratio of at least 1, a share between 0 and 1, a time above 0"
        )
    low = rate / (busy * ratio + 1 - busy)
    rates = np.diag([ratio * low, low])
    change = np.array([[-1 / cycle, 1 / cycle], [busy / (1 - busy) / cycle, -busy / (1 - busy) / cycle]])
    return Model(change - rates, rates, shares, room)


def step(length: int, room: int) -> Floats:
    """Return the dropping function that drops everything from a length on."""
    return (np.arange(room + 1) >= length).astype(np.float64)


def cheapest(of: Model, loss_cost: float) -> Steady:
    """Return the best dropping function for the mean number in the system plus `loss_cost` times the rate of losses.

    It repeats policy improvement, over all lengths at once and then over single ones, until no change of one length
    lowers the cost. For Poisson arrivals that is the optimum. With phases or batches a better function that differs
    at several lengths may exist.

    Raises
    ------
    SojournError
        If losses cost less than nothing.
    """
    if not loss_cost >= 0:
        raise SojournError(f"loss_cost={loss_cost:g}; allowed: at least 0")

    def cost(one: Steady) -> float:
        return one.mean_packets + loss_cost * one.loss_ratio * of.rate

    best = min((of.solve(step(length, of.room)) for length in range(1, of.room + 1)), key=cost)
    for _ in range(of.room):
        found = of.solve(of.improved(best.d, loss_cost))
        if cost(found) >= cost(best) - _BETTER:
            break
        best = found
    place = 0
    while place < of.room:
        other = best.d.copy()
        other[place] = 1 - other[place]
        found = of.solve(other)
        is_better = cost(found) < cost(best) - _BETTER
        best, place = (found, 0) if is_better else (best, place + 1)
    return best


def least_impairment(of: Model, *, utilisation: float = 0.0, knots: int = 16) -> Steady:
    """Return the dropping function with the least C among those that keep the server so busy.

    It is linear between knots, found by a quasi-Newton method with a penalty from two starts: a local optimum.
    Without a bound on the utilisation, C can be least where most packets are dropped, because equation 6 is bounded.
    """
    places = np.unique(np.round(np.linspace(0, of.room - 1, knots)).astype(int))

    def function(values: Floats) -> Floats:
        found: Floats = np.r_[np.interp(np.arange(of.room), places, np.clip(values, 0.0, 1.0)), 1.0]
        return found

    def lack(values: Floats) -> float:
        found = of.solve(function(values))
        return found.impairment + _PENALTY * max(0.0, utilisation - found.utilisation) ** 2

    starts = [np.clip((places - low) / (of.room / 3), 0.0, MOST_GRADUAL) for low in (of.room / 10, of.room / 3)]
    bounds = [(0.0, MOST_GRADUAL)] * len(places)
    found = [optimize.minimize(lack, start, method="L-BFGS-B", bounds=bounds) for start in starts]
    return of.solve(function(min(found, key=lambda one: float(one.fun)).x))


def of_scheme(of: Model, scheme: str) -> Steady:
    """Return the steady state of a scheme whose losses depend on the queue length alone, in the model's room."""
    own = law(scheme)
    d = np.array([own.at(n) for n in range(of.room + 1)])
    d[-1] = 1.0
    return of.solve(d)


def _after(d: Floats) -> Floats:
    """Return P(length after a packet), by the length that it finds."""
    found: Floats = np.diag(d) + np.diag(1 - d[:-1], 1)
    return found


def _stationary(generator: Floats) -> Floats:
    system = generator.T.copy()
    system[-1] = 1.0
    right = np.zeros(len(system))
    right[-1] = 1.0
    found: Floats = linalg.solve(system, right)
    return np.maximum(found, 0.0)
