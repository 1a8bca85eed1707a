"""Open-loop decisions: two implementations get the same arrivals and requests, and must drop the same packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from crosscheck import records
from sojourn import _native

CODEL: Final = "codel limit 1000p control_law newton mtu 1499"
"""Our text for ns-3's CoDel queue disc with its defaults; it stops below 1500 B, ours at so much."""

RECORD: Final = "codel_ns3.csv"

PFIFO: Final = "pfifo limit 50p"
"""Our text for ns-3's FIFO queue disc of 50 packets."""

PFIFO_RECORD: Final = "pfifo_ns3.csv"
PFIFO_EVENTS: Final = 20_000

COBALT: Final = "cobalt preset ns3 limit 1000p"
"""Our text for ns-3's COBALT queue disc with its defaults."""

COBALT_RECORD: Final = "cobalt_ns3.csv"
COBALT_UNTIL_S: Final = 4
"""ns-3 3.37 stores the time of BLUE's last change in 32 bits of nanoseconds; later changes follow without a pause."""

_RATE_BIT_S: Final = 10_000_000
_EVENTS: Final = 40_000


class Event(NamedTuple):
    """An arrival, or with zero bytes a request for the next packet."""

    at_ns: int
    size_bytes: int


class Drop(NamedTuple):
    """A packet dropped: its number among the arrivals, and when."""

    serial: int
    at_ns: int


def trace(seed: int = 1) -> Iterator[Event]:
    """Yield a trace: loads from a half to twice the service rate by turns, so that CoDel starts, works and stops.

    Packets are 64 B to 1500 B long; requests come every 0.8 ms in the mean, whatever waits. Times between events are
    uniform. All of it follows from integers alone, so it is the same everywhere.
    """
    state = seed
    at_ns = [0, 0]
    # Mean spacing of arrivals in units of 10 us, a phase a second.
    loads = (160, 75, 60, 40, 90, 70)
    for _ in range(_EVENTS):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        draw = state >> 33
        kind = 0 if at_ns[0] <= at_ns[1] else 1
        now = at_ns[kind]
        load = loads[now // 1_000_000_000 % len(loads)] if kind == 0 else 80
        # Uniform between zero and twice the mean; not a multiple of anything.
        at_ns[kind] = now + draw % (2 * load * 10_000) + 1
        yield Event(now, 64 + draw % 1437 if kind == 0 else 0)


def beginning(events: int) -> Iterator[Event]:
    """Yield the first events of the trace."""
    return islice(trace(), events)


def until(seconds: int) -> Iterator[Event]:
    """Yield the trace's events before an instant."""
    return (event for event in trace() if event.at_ns < seconds * 1_000_000_000)


def recorded(record: str = RECORD) -> list[Drop]:
    """Return what ns-3's CoDel, or that of another record, dropped of the trace."""
    return [Drop(int(row["serial"]), int(row["at_ns"])) for row in records.table(record)]


def recorded_counts() -> list[list[int]]:
    """Return how many packets ns-3's COBALT dropped in each second, a list for each of its seeds."""
    rows = records.table(COBALT_RECORD)
    return [[int(row[f"s{second}"]) for second in range(COBALT_UNTIL_S)] for row in rows]


def counts(drops: Iterable[Drop], seconds: int) -> list[int]:
    """Return how many packets were dropped in each of the first seconds."""
    found = [0] * seconds
    for drop in drops:
        if drop.at_ns < seconds * 1_000_000_000:
            found[drop.at_ns // 1_000_000_000] += 1
    return found


def ours(scheme: str, events: Iterator[Event], *, seed: int | None = None) -> list[Drop]:
    """Return what our discipline drops; one that draws random numbers needs a seed."""
    driver = _native.Driver(scheme, _RATE_BIT_S)
    if seed is not None:
        driver.feed(np.random.default_rng(seed).integers(0, 2**64, _EVENTS, dtype=np.uint64).tolist())
    drops = []
    for event in events:
        if event.size_bytes:
            outcome = driver.enqueue(event.at_ns, event.size_bytes)
        else:
            *_, outcome = driver.dequeue(event.at_ns)
        drops += [Drop(serial, event.at_ns) for what, serial, _ in outcome if what == "drop"]
    return drops


def lines(events: Iterator[Event]) -> Iterator[str]:
    """Yield the lines that crosscheck/ns3/disc reads."""
    for event in events:
        yield f"+ {event.at_ns} {event.size_bytes}\n" if event.size_bytes else f"- {event.at_ns}\n"
