"""Decisions that another host of ``sojourn_aqm.h`` wrote down, such as ns-3 (``crosscheck/ns3/plugged.h``).

The same arrivals, requests and random numbers go to the algorithm here, and every call has to end with the same
decisions and as many random numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn import _native
from sojourn.base import foreign
from sojourn.base.core import SojournError
from sojourn.base.errors import SchemeError
from sojourn.plugins import table

_HEAD: Final = re.compile(r"sojourn_aqm=(\d+) rate_bit_s=([1-9]\d{0,18}) aqm=(\S+)(.*)")
_CALL: Final = re.compile(
    r"(?:\+((?: \d{1,19}){7})|-( \d{1,19})) \|((?: [0-9a-f]{1,16})*) \|((?: (?:drop|mark|send):\d+)*)"
)


@dataclass(frozen=True, slots=True)
class Repeated:
    """How an algorithm decides where another host wrote its decisions (drops and marks) down."""

    calls: int
    decisions: int
    differ: int
    first: str


@dataclass(frozen=True, slots=True)
class _Call:
    line: int
    at_ns: int
    packet: tuple[int, ...]
    """Bytes, ECN, DSCP, hashes of flow, source and destination; empty of a request."""
    draws: list[int]
    decided: str


def _calls(file: Path, lines: Iterator[str]) -> Iterator[_Call]:
    for number, line in enumerate(lines, start=2):
        found = _CALL.fullmatch(line.rstrip("\n"))
        if not found:
            raise SchemeError(
                f"{file}, line {number}: is no call; allowed: + TIME BYTES ECN DSCP FLOW SOURCE DESTINATION | RANDOM "
                "NUMBERS | DECISIONS, or - TIME | RANDOM NUMBERS | DECISIONS"
            )
        arrival, request, draws, decided = found.groups()
        at_ns, *packet = map(int, (arrival or request).split())
        if packet and (packet[1] > 3 or packet[2] > 63 or max(packet) >= 1 << 32):
            raise SchemeError(f"{file}, line {number}: a value is too large; allowed: ECN up to 3, DSCP up to 63")
        yield _Call(number, at_ns, tuple(packet), [int(one, 16) for one in draws.split()], decided.strip())


def _here(driver: _native.Driver, call: _Call) -> str:
    """Return what is decided here, in the words of the file."""
    if call.packet:
        size, ecn, dscp, flow, source, destination = call.packet
        outcome = driver.enqueue(
            call.at_ns, size, ecn=ecn, dscp=dscp, flow=flow, source=source, destination=destination
        )
        sent = None
    else:
        sent, _, _, outcome = driver.dequeue(call.at_ns)
    words = [f"{what}:{serial}" for what, serial, _ in outcome]
    return " ".join([*words, *([] if sent is None else [f"send:{sent}"])])


def read(path: str | Path) -> list[str]:
    """Return the lines of a file of decisions, for :func:`repeat`."""
    try:
        return list(foreign.lines(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is no text"
        raise SchemeError(f"{path}: {why}; allowed: a file of decisions, as crosscheck/ns3 writes it") from None


def repeat(name: str, path: str | Path, lines: Iterable[str]) -> Repeated:
    """Give an algorithm the arrivals, requests and random numbers of a file, and compare its decisions.

    The file is as ``crosscheck/ns3/plugged.h`` writes it.
    """
    return _repeat(name, Path(path), iter(lines))


def _repeat(name: str, file: Path, lines: Iterator[str]) -> Repeated:
    head = _HEAD.fullmatch(next(lines, "").rstrip("\n"))
    if not head:
        raise SchemeError(f"{file}, line 1: is no head; allowed: sojourn_aqm=1 rate_bit_s=NUMBER aqm=NAME PARAMETERS")
    if int(head[1]) != table.VERSION:
        raise SchemeError(f"{file}: interface version {head[1]}; allowed: {table.VERSION}")
    driver = _native.Driver(name + head[4], int(head[2]))
    calls = decisions = differ = before_ns = 0
    first = ""
    for call in _calls(file, lines):
        if call.at_ns < before_ns:
            raise SchemeError(f"{file}, line {call.line}: {call.at_ns} ns is before the call above")
        before_ns = call.at_ns
        calls += 1
        decisions += "drop" in call.decided or "mark" in call.decided
        driver.feed(call.draws)
        before = driver.drawn()
        try:
            here = _here(driver, call)
            drawn = driver.drawn() - before
        except SojournError:
            # It wants more numbers than the file has.
            here, drawn = "", len(call.draws) + 1
        if drawn != len(call.draws):
            what = f"line {call.line}: draws {'more' if drawn > len(call.draws) else 'fewer'} random numbers"
            return Repeated(calls, decisions, differ + 1, first or f"{what}; the rest was not compared")
        if here != call.decided:
            differ += 1
            first = first or f"line {call.line}: {here or 'accepts'}; the file: {call.decided or 'accepts'}"
    return Repeated(calls, decisions, differ, first)
