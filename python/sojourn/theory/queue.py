"""Queues that drop an arrival with a probability d(n): steady states, runs of losses, changes of load.

Governing text: Barczyk and Chydzinski, "AQM based on the queue length: A real-network study", PLoS ONE 17(2) e0263407
(2022), section 2; its Theorem 1 is :func:`queue` with :func:`poisson` arrivals and :func:`exponential` service.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn import _native
from sojourn.base.by_name import by_name
from sojourn.base.core import SojournError
from sojourn.stats import Floats

Document: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Arrivals:
    """How packets arrive; :func:`poisson`, :func:`switched` and :func:`markovian` make it."""

    document: Document


@dataclass(frozen=True)
class Service:
    """How long a packet is served, with mean 1; :func:`exponential`, :func:`fixed` and others make it."""

    document: Document


def poisson() -> Arrivals:
    """Return Poisson arrivals."""
    return Arrivals({"kind": "poisson"})


def switched(*, ratio: float, busy: float, cycle: float) -> Arrivals:
    """Return a Poisson process that switches between two rates.

    Parameters
    ----------
    ratio
        Of the busy rate to the other; at least 1.
    busy
        Share of time in the busy phase, between 0 and 1.
    cycle
        Mean service times that a busy phase lasts.
    """
    return Arrivals({"kind": "switched", "ratio": ratio, "busy": busy, "cycle": cycle})


def markovian(silent: ArrayLike, arriving: ArrayLike) -> Arrivals:
    """Return a Markovian arrival process (Lucantoni 1991), scaled to the load that is asked for.

    Parameters
    ----------
    silent, arriving
        D0 and D1, shape (phases, phases), up to 64: rates of phase changes without and with an arrival.
    """
    return Arrivals({"kind": "map", "silent": np.asarray(silent).tolist(), "arriving": np.asarray(arriving).tolist()})


def exponential() -> Service:
    """Return exponential service."""
    return Service({"kind": "exponential"})


def fixed() -> Service:
    """Return a fixed service time: packets of one size."""
    return Service({"kind": "deterministic"})


def sizes(values: Sequence[float], shares: Sequence[float]) -> Service:
    """Return service in proportion to packet sizes that occur with given shares.

    Parameters
    ----------
    values, shares
        Sizes in any unit and how often each occurs; the mean is scaled to 1.
    """
    return Service({"kind": "sizes", "sizes": [list(pair) for pair in zip(values, shares, strict=True)]})


def phase_type(
    start: ArrayLike | None = None, silent: ArrayLike | None = None, *, scv: float | None = None
) -> Service:
    """Return phase-type service of mean 1.

    Parameters
    ----------
    start, silent
        Initial distribution, shape (phases,), and sub-generator, shape (phases, phases), up to 64.
    scv
        Instead of both: a squared coefficient of variation. Below 1 the Erlang distribution of the nearest 1/k,
        above 1 two exponential branches with balanced means.

    Raises
    ------
    SojournError
        Neither or both are given, or `scv` is below 1/64.
    """
    if (start is None) != (silent is None) or (start is None) == (scv is None):
        raise SojournError("phase_type: allowed: start and silent, or scv")
    if start is not None and silent is not None:
        return Service({"kind": "phased", "start": np.asarray(start).tolist(), "silent": np.asarray(silent).tolist()})
    assert scv is not None  # noqa: S101 - the line above
    if not scv >= 1 / 64:
        raise SojournError(f"phase_type: scv={scv}; allowed: at least 1/64 (fixed() is 0)")
    if scv > 1:
        return Service({"kind": "hyperexponential", "scv": scv})
    return Service({"kind": "erlang", "stages": round(1 / scv)})


@dataclass(frozen=True)
class Law:
    """d(n), the probability that an arrival which finds n packets in the system is lost.

    Parameters
    ----------
    table
        d(0), d(1), ...; shape (lengths,).
    beyond
        What holds after the table; 1 where the buffer ends.
    """

    table: Floats
    beyond: float = 1.0

    def at(self, n: int) -> float:
        """Return d(n)."""
        return float(self.table[n]) if n < len(self.table) else self.beyond

    def _document(self) -> Document:
        return {"table": np.asarray(self.table, dtype=np.float64).tolist(), "beyond": self.beyond}


def law(scheme: str | Law, *, endless: bool = True) -> Law:
    """Return the d(n) of a scheme, as the simulator's compiled code has it.

    Parameters
    ----------
    scheme
        ``dropping_function ...``, ``pfifo ...`` or ``threshold ...`` as tc writes it.
    endless
        Leave out the buffer's end of a dropping function: its last value holds for ever, as in Theorem 1.

    Raises
    ------
    SojournError
        If the scheme's drop probability does not depend on the queue length alone, or the scheme is unknown.
    """
    if isinstance(scheme, Law):
        return scheme
    found = _ask("law", law={"scheme": scheme, "endless": endless})
    return Law(np.asarray(found["table"]), float(found["beyond"]))


@dataclass(frozen=True)
class Queue:
    """A steady state.

    Parameters
    ----------
    load
        Arrival rate times mean service time.
    distribution
        P(n in the system), shape (lengths,), over time.
    mean_packets, sd_packets
        Of the number in the system.
    waiting_packets
        Mean number waiting, without the one in service.
    loss_ratio
        Lost over arrived.
    response
        Mean time of an accepted packet in the system, in mean service times.
    utilisation
        Share of time that the server works.
    quantiles
        Of the time in the system of accepted packets, by level, in mean service times.
    """

    load: float
    distribution: Floats
    mean_packets: float
    sd_packets: float
    waiting_packets: float
    loss_ratio: float
    response: float
    utilisation: float
    quantiles: Mapping[float, float] = field(default_factory=dict)


@by_name
def queue(
    scheme: str | Law,
    *,
    load: float,
    arrivals: Arrivals | None = None,
    service: Service | None = None,
    quantiles: Sequence[float] = (),
    endless: bool = True,
) -> Queue:
    """Return the steady state of a queue with a dropping function.

    Parameters
    ----------
    scheme
        A scheme's text, or a :class:`Law`.
    load
        Arrival rate times mean service time, above 0.
    arrivals, service
        By default Poisson and exponential: Theorem 1. Poisson arrivals go with any service, Markovian ones with those
        that have phases.
    quantiles
        Levels between 0 and 1 for the time in the system (Poisson and exponential alone).
    endless
        As for :func:`law`.

    Raises
    ------
    SojournError
        No steady state (load times 1 - d(infinity) is 1 or more and the buffer has no end), or impossible input.
    """
    found = _ask(
        "steady",
        load=float(load),
        law=_law(scheme, endless),
        arrivals=dict((arrivals or poisson()).document),
        service=dict((service or exponential()).document),
        quantiles=[float(q) for q in quantiles],
    )
    return Queue(
        float(load),
        np.asarray(found["p"]),
        found["mean"],
        found["sd"],
        found["waiting"],
        found["loss"],
        found["response"],
        found["utilisation"],
        dict(zip(map(float, quantiles), found.get("quantiles", ()), strict=True)),
    )


@dataclass(frozen=True)
class LossRuns:
    """How losses cluster.

    Parameters
    ----------
    mean_packets
        Lost in a row, on average.
    burst_ratio
        Over that of independent losses, 1/(1 - L); NaN where nothing is lost.
    lengths
        P(a run has 1, 2, ... packets), shape (longest,).
    """

    mean_packets: float
    burst_ratio: float
    lengths: Floats


@by_name
def loss_runs(
    scheme: str | Law,
    *,
    load: float,
    arrivals: Arrivals | None = None,
    service: Service | None = None,
    longest: int = 50,
    endless: bool = True,
) -> LossRuns:
    """Return the runs of losses (governing text, section 2: the burst ratio); parameters as for :func:`queue`.

    Parameters
    ----------
    longest
        Run in the distribution of lengths.
    """
    found = _ask(
        "runs",
        load=float(load),
        law=_law(scheme, endless),
        arrivals=dict((arrivals or poisson()).document),
        service=dict((service or exponential()).document),
        longest=int(longest),
    )
    nan = float("nan")
    mean, ratio = (nan if found[key] is None else float(found[key]) for key in ("mean", "ratio"))
    return LossRuns(mean, ratio, np.asarray(found["lengths"], dtype=np.float64))


@dataclass(frozen=True)
class Change:
    """A queue after a change of load; all arrays have the shape (times,).

    Parameters
    ----------
    time
        Mean service times since the change.
    mean_packets, sd_packets, loss_ratio
        At each of them.
    """

    time: Floats
    mean_packets: Floats
    sd_packets: Floats
    loss_ratio: Floats


def after_change(
    scheme: str | Law,
    *,
    before: float,
    load: float,
    times: ArrayLike,
    arrivals: Arrivals | None = None,
    service: Service | None = None,
) -> Change:
    """Return the transition of a queue from its steady state at one load to that at another (uniformisation).

    Parameters
    ----------
    scheme
        With a buffer's end: a dropping function's own ``limit`` holds here.
    before, load
        Until and from time 0.
    times
        Ascending, in mean service times.
    """
    found = _ask(
        "change",
        before=float(before),
        load=float(load),
        law=_law(scheme, endless=False),
        arrivals=dict((arrivals or poisson()).document),
        service=dict((service or exponential()).document),
        times=np.asarray(times, dtype=np.float64).tolist(),
    )
    return Change(*(np.asarray(found[key]) for key in ("time", "mean", "sd", "loss")))


@dataclass(frozen=True, slots=True)
class Admission:
    """The best d(n) for stated costs: 0 below a length, 1 from it on.

    Parameters
    ----------
    length
        An arrival that finds this many packets in the system is dropped.
    cost
        Per mean service time.
    """

    length: int
    cost: float


@by_name
def admission(*, load: float, delay_cost: float, loss_cost: float) -> Admission:
    """Return the best of all d(n) for Poisson arrivals and exponential service, by policy iteration.

    Parameters
    ----------
    load
        Above 0.
    delay_cost
        Of a packet in the system for one mean service time.
    loss_cost
        Of a lost packet. Only the ratio of both decides the law.
    """
    found = _ask("admission", load=float(load), delay=float(delay_cost), loss=float(loss_cost))
    return Admission(found["length"], found["cost"])


def _law(scheme: str | Law, endless: bool) -> Document:
    return scheme._document() if isinstance(scheme, Law) else {"scheme": scheme, "endless": endless}


def _ask(what: str, **parts: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_native.theory(json.dumps({"ask": what, **parts})))
    return found
