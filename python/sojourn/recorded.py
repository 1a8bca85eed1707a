"""Own traffic: packets of given times and sizes, from a program, an array or a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn.core import SojournError, read_beside
from sojourn.traffic import Traffic, replay
from sojourn.units import Time, to_ns

if TYPE_CHECKING:
    from sojourn.stats import Floats

_MOST: Final = 1_000_000
"""Packets of one source."""


def source(
    packets: str | Path | Iterable[tuple[float, int]] | Floats,
    count: int | None = None,
    /,
    *,
    until: Time | None = None,
    period: Time | None = None,
) -> Traffic:
    """Send packets of one's own: an array, an iterator or a file of times and sizes.

    The packets become part of the scenario, so results say what they are of.

    Parameters
    ----------
    packets
        Pairs of time since the start of the flow in seconds and payload in bytes, in the order of time: an array of
        shape (n, 2), or anything that yields pairs. Or the name of a file: a table with the columns ``time_s`` and
        ``bytes``, or a capture (``.pcap``, ``.pcapng``), of which every IP packet is taken.
    count
        Number of flows that send them, for :meth:`Network.add`; by default 1.
    until
        Packets from this time on are left out. An iterator without end needs it.
    period
        Time after which the packets start again; without it they are sent once.

    Raises
    ------
    SojournError
        If there is no packet, more than a million, a time that falls or is below 0, or a size that is no whole number
        of bytes.

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.source([(0.0, 1200), (0.02, 160), (0.04, 160)])["packets"]
    '0:1200 20000000:160x2'
    >>> from itertools import count
    >>> sj.source(((k / 50, 160) for k in count()), until=sj.s(1))["packets"]
    '0:160 20000000:160x49'
    """
    if isinstance(packets, str | Path):
        packets = _pairs(Path(packets))
    end = math.inf if until is None else to_ns("until", until)
    gaps, before = [], 0
    for place, pair in enumerate(packets):
        at, size = _one(place, pair)
        if at >= end:
            break
        if at < before:
            raise SojournError(f"packet {place}: the time falls to {at / 1e9:g} s; allowed: times that do not fall")
        if place >= _MOST:
            raise SojournError(f"there are more than {_MOST} packets; allowed: up to that, or until=...")
        gaps.append((at - before, size))
        before = at
    if not gaps:
        raise SojournError("there is no packet; allowed: one or more")
    runs = [(gap, size, len(list(same))) for (gap, size), same in groupby(gaps)]
    text = " ".join(f"{gap}:{size}" + (f"x{times}" if times > 1 else "") for gap, size, times in runs)
    return Traffic(replay(packets=text, period=period), count)


def _one(place: int, pair: Sequence[Any]) -> tuple[int, int]:
    """Return the time of a packet in nanoseconds, and its size."""
    try:
        at, size = (float(value) for value in pair)
    except (TypeError, ValueError):
        raise SojournError(f"packet {place} is {pair!r}; allowed: a time in seconds and a size in bytes") from None
    if not 0 <= at < math.inf:
        raise SojournError(f"packet {place}: the time is {at:g} s; allowed: 0 s and later")
    if not (1 <= size < math.inf and size == int(size)):
        raise SojournError(f"packet {place}: the size is {size:g} B; allowed: a whole number of bytes from 1")
    return round(at * 1e9), int(size)


def _pairs(file: Path) -> list[tuple[float, int]]:
    """Read a table or a capture."""
    text = read_beside(str(file), Path())
    head, *lines = text.splitlines() or [""]
    if [cell.strip() for cell in head.split(",")] != ["time_s", "bytes"]:
        raise SojournError(f"{file}: line 1: is not the head of a table; allowed: time_s,bytes")
    found = []
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        try:
            at, size = line.split(",")
            found.append((float(at), int(size)))
        except ValueError:
            raise SojournError(f"{file}: line {number}: {line!r} is no packet; allowed: a time, a size") from None
    return found
