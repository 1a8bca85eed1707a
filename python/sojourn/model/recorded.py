"""Own traffic: packets of given times and sizes, from a program, an array or a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn import _native
from sojourn.base.core import CAPTURES, file_beside, read_beside
from sojourn.base.errors import ScenarioError, SojournError
from sojourn.base.units import Time, to_ns
from sojourn.model.parts import Traffic
from sojourn.model.traffic import replay

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
        If there is no packet, more than a million (of a file, ten million), a time that falls or is below 0, or a
        size that is no whole number of bytes.

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.source([(0.0, 1200), (0.02, 160), (0.04, 160)])["packets"]
    '0:1200 20000000:160x2'
    >>> from itertools import count
    >>> sj.source(((k / 50, 160) for k in count()), until=sj.s(1))["packets"]
    '0:160 20000000:160x49'
    """
    capture = None
    if isinstance(packets, str | Path):
        text, capture = _of_file(str(packets))
        if until is None:
            return Traffic(replay(packets=text, capture=capture, period=period), count)
        packets = _pairs(text)
    end = math.inf if until is None else to_ns("until", until)
    gaps, before = [], 0
    for place, pair in enumerate(packets):
        at, size = _one(place, pair)
        if at >= end:
            break
        if at < before:
            raise ScenarioError(f"packet {place}: the time falls to {at / 1e9:g} s; allowed: times that do not fall")
        if place >= _MOST:
            raise ScenarioError(f"there are more than {_MOST} packets; allowed: up to that, or until=...")
        gaps.append((at - before, size))
        before = at
    if not gaps:
        raise ScenarioError("there is no packet; allowed: one or more")
    runs = [(gap, size, len(list(same))) for (gap, size), same in groupby(gaps)]
    text = " ".join(f"{gap}:{size}" + (f"x{times}" if times > 1 else "") for gap, size, times in runs)
    return Traffic(replay(packets=text, capture=capture, period=period), count)


def words(account: Mapping[str, Any]) -> dict[str, str]:
    """Return what became of the frames of a capture, in words: what is counted, and the count."""
    if not account:
        return {}
    skipped = account.get("skipped", {})
    reasons = ", ".join(f"{why} {count:,}" for why, count in skipped.items())
    return {
        "frames": f"{account['frames']:,}",
        "IP packets taken": f"{account['taken']:,}, {account['ip_bytes']:,} B",
        "skipped": f"{sum(skipped.values()):,} ({reasons})" if skipped else "0",
        **({"out of order": f"{account['out_of_order']:,}"} if account.get("out_of_order") else {}),
        **({"end": "in the middle of a frame, which is not counted"} if account.get("cut") else {}),
    }


def left_out(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what flows of a canonical scenario send otherwise than their captures have it: the flow, a sentence."""
    for flow in scenario.get("flows", ()):
        if capture := (flow.get("traffic") or {}).get("capture"):
            for what in _left_out(capture):
                yield str(flow["name"]), f"flow `{flow['name']}`: {capture['file']}: {what}."


def _left_out(capture: Mapping[str, Any]) -> Iterator[str]:
    account = capture["account"]
    facts = words(account)
    if account.get("skipped"):
        yield f"of {facts['frames']} frames these were skipped: {facts['skipped']}"
    if account.get("out_of_order"):
        found = facts["out of order"]
        yield f"{found} packets have a time before that of a packet above them; they were put into order"
    if account.get("cut"):
        yield "the file ends in the middle of a frame; what is whole was taken"
    if capture.get("split"):
        yield f"{capture['split']:,} packets are longer than 65,535 B, and each is sent as several at the same time"
    if capture.get("raised"):
        yield f"{capture['raised']:,} packets are shorter than 29 B, and are sent with 29 B"


def _one(place: int, pair: Sequence[Any]) -> tuple[int, int]:
    """Return the time of a packet in nanoseconds, and its size."""
    try:
        at, size = (float(value) for value in pair)
    except (TypeError, ValueError):
        raise ScenarioError(f"packet {place} is {pair!r}; allowed: a time in seconds and a size in bytes") from None
    if not 0 <= at < math.inf:
        raise ScenarioError(f"packet {place}: the time is {at:g} s; allowed: 0 s and later")
    if not (1 <= size < math.inf and size == int(size)):
        raise ScenarioError(f"packet {place}: the size is {size:g} B; allowed: a whole number of bytes from 1")
    return round(at * 1e9), int(size)


def _of_file(name: str) -> tuple[str, dict[str, Any] | None]:
    """Return the packets of a table or a capture, and what became of the frames of a capture."""
    file = file_beside(name, Path())
    if file.suffix in CAPTURES:
        packets, account = _native.captured(str(file))
        return packets, json.loads(account)
    try:
        return _native.listed(read_beside(name, Path())), None
    except SojournError as error:
        raise ScenarioError(f"{file}: {error}") from None


def _pairs(text: str) -> Iterator[tuple[float, int]]:
    """Yield time and size of each packet of a list as a scenario has it."""
    at = 0
    for run in text.split():
        gap, _, rest = run.partition(":")
        size, _, times = rest.partition("x")
        for _ in range(int(times or 1)):
            at += int(gap)
            yield at / 1e9, int(size)
