"""Step through a run: measure a queue over windows of time, and switch its scheme during the run.

What a controller needs that chooses schemes while traffic runs, in the manner of a reinforcement-learning
environment: :meth:`Simulation.advance`, :meth:`Simulation.window` (what it sees), :meth:`Simulation.switch` (what it
does).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from sojourn._native import Stepper
from sojourn.base.core import Document
from sojourn.base.errors import RunError
from sojourn.base.units import Time, from_ns, to_ns
from sojourn.model.network import Network
from sojourn.model.scheme import Scheme, SchemeLike, as_schemes
from sojourn.plan.runner import GREATEST_SEED, whole_number
from sojourn.results import tables
from sojourn.results.results import Results

FEATURES: Final = ("s0", "s1", "s2", "s3", "q0", "q1", "q2", "q3")
"""dAQM's eight features: sojourn time and queue length with their first three derivatives."""


@dataclass(frozen=True, slots=True)
class Window:
    """Measurements of one queue over a window of time; NaN if there was nothing to measure.

    Parameters
    ----------
    from_s, to_s
        Begin and end, since the start of the run.
    arrivals_packets, departures_packets, drops_packets, marks_packets
        Offered to the queue, sent on, dropped for any reason, sent on with a CE mark that the queue set.
    queue_packets_mean
        Waiting packets, mean over time.
    backlog_packets, backlog_bytes
        Waiting at the end.
    sojourn_ms_mean, sojourn_ms_p50, sojourn_ms_p95, sojourn_ms_p99
        Time that packets which left had waited.
    throughput_bit_s
        Of packets that left, with their framing.
    goodput_bit_s
        Payload that reached applications, of all flows of the run.
    s0, s1, s2, s3, q0, q1, q2, q3
        The eight features of dAQM (section 4.1 of the thesis, equations 18 to 33): sojourn time (ms) and queue length
        (packets), and their first, second and third derivatives, per ms and per sample of 15 ms. Each is the mean,
        over the window's samples every 15 ms, of the absolute value, as dAQM compares absolute values. The sojourn
        derivatives are of the last five packets that left, over an average of the spacing of arrivals: dAQM's
        readings ``sojourn departures`` and ``interarrival measured``, which any scheme's queue allows.
    """

    from_s: float
    to_s: float
    arrivals_packets: int
    departures_packets: int
    drops_packets: int
    marks_packets: int
    queue_packets_mean: float
    backlog_packets: int
    backlog_bytes: int
    sojourn_ms_mean: float
    sojourn_ms_p50: float
    sojourn_ms_p95: float
    sojourn_ms_p99: float
    throughput_bit_s: float
    goodput_bit_s: float
    s0: float
    s1: float
    s2: float
    s3: float
    q0: float
    q1: float
    q2: float
    q3: float

    @property
    def features(self) -> tuple[float, ...]:
        """The eight features, in the order of :data:`FEATURES`."""
        return tuple(float(getattr(self, name)) for name in FEATURES)

    @property
    def loss_ratio(self) -> float:
        """Dropped packets divided by packets that left, sent or dropped; NaN if none left."""
        left = self.departures_packets + self.drops_packets
        return self.drops_packets / left if left else math.nan

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Window:
        values: dict[str, Any] = {**document, **dict(zip(FEATURES, document["features"], strict=True))}
        given: dict[str, Any] = {one.name: values[one.name] for one in fields(cls)}
        given |= {name: math.nan for name, value in given.items() if value is None}
        return cls(**given)


class Simulation:
    """A run that simulates only as far as it is told to.

    If nothing is switched, its report is that of an ordinary run with the same scheme, seed and replication, bit for
    bit.

    Parameters
    ----------
    network
        What to run.
    scheme
        Of the queues under test, at the start; by default as the scenario has them.
    seed
        By default the scenario's own.
    replication
        Another one draws other numbers from the same seed.
    series
        Sampling interval of time series in the report; none by default.

    Raises
    ------
    SojournError
        Bad scenario or scheme.

    Examples
    --------
    >>> import sojourn as sj
    >>> net = sj.dumbbell(flows=2, rate=sj.mbit_s(10), duration=sj.s(4), warm_up=sj.s(1))
    >>> simulation = sj.Simulation(net, "pfifo limit 200p", seed=1)
    >>> simulation.advance(sj.s(2))
    >>> before = simulation.window()
    >>> simulation.switch("codel")
    >>> simulation.advance(sj.s(2))
    >>> simulation.window().sojourn_ms_mean < before.sojourn_ms_mean, simulation.is_done
    (True, True)
    """

    def __init__(
        self,
        network: Network,
        scheme: SchemeLike | None = None,
        *,
        seed: int | None = None,
        replication: int = 0,
        series: Time | None = None,
    ) -> None:
        self._scenario: Document = network.canonical()
        self._scheme = None if scheme is None else as_schemes([scheme])[0]
        self._seed = int(self._scenario.get("seed", 1)) if seed is None else seed
        whole_number("seed", self._seed, 0, GREATEST_SEED)
        whole_number("replication", replication, 0, GREATEST_SEED)
        task = {
            "scheme": self._scheme and self._scheme.text,
            "seed": self._seed,
            "replication": replication,
            "series": None if series is None else str(from_ns(to_ns("series", series))),
        }
        self._stepper = Stepper(json.dumps(self._scenario), json.dumps(task))
        self._queues = tuple(name for name, is_tested in self._stepper.queues() if is_tested)

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of the queues under test."""
        return self._queues

    @property
    def time_s(self) -> float:
        """Seconds since the start of the run."""
        return self._stepper.times_ns()[0] / 1e9

    @property
    def is_done(self) -> bool:
        """Whether the scenario has ended."""
        now, end = self._stepper.times_ns()
        return now >= end

    def advance(self, time: Time) -> None:
        """Simulate for a time, at most to the end of the scenario.

        Raises
        ------
        TypeError
            If `time` is a bare number.
        """
        now, end = self._stepper.times_ns()
        self._stepper.run_until(min(now + to_ns("time", time), end))

    def window(self, queue: str | None = None) -> Window:
        """Return the measurements of a queue since the previous call, or since the start, and begin the next window.

        Parameters
        ----------
        queue
            One under test; by default the only one.

        Raises
        ------
        SojournError
            No such queue under test, or several and none named.
        """
        return Window._of(json.loads(self._stepper.window(self._one(queue))))

    def switch(self, scheme: SchemeLike, queue: str | None = None) -> None:
        """Switch the scheme of queues now; queued packets move to the new scheme and keep their age.

        What the new scheme cannot hold is dropped. What the old one had learnt is lost, also if the new one is the
        same.

        Parameters
        ----------
        scheme
            The new one.
        queue
            By default every queue under test.

        Raises
        ------
        SojournError
            Bad scheme, no such queue, or one whose scheme cannot change.
        """
        text = as_schemes([scheme])[0].text
        if queue is None and not self._queues:
            raise RunError("no queue is under test: name the queue that is to change")
        for name in self._queues if queue is None else (queue,):
            self._stepper.switch(name, text)

    def report(self) -> Results:
        """Return the whole run's results; its remaining time is simulated in a copy, with the present scheme."""
        document: Document = json.loads(self._stepper.report())
        scheme = self._scheme or Scheme("")
        return Results(
            scenario=self._scenario,
            schemes=(scheme,),
            seed=self._seed,
            replications=1,
            frames=tables.Tables([scheme.label], [document]),
            kind="run",
        )

    def _one(self, queue: str | None) -> str:
        if queue is not None:
            return queue
        if len(self._queues) != 1:
            known = ", ".join(self._queues[:8]) or "none"
            raise RunError(f"{len(self._queues)} queues are under test: name one; there are: {known}")
        return self._queues[0]

    def __repr__(self) -> str:
        now, end = self._stepper.times_ns()
        return f"<Simulation of {self._scenario['name']!r} at {now / 1e9:g} of {end / 1e9:g} s>"
