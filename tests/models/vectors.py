"""Replays `vectors/` on an implementation that is not the library: what vectors/README.md says is enough for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from base import SECOND, Host, Model, Ns, Packet, Tie, value

CODEPOINTS = {"not": 0, "ect1": 1, "ect0": 2, "ce": 3}
FOLDER = Path(__file__).resolve().parents[2] / "vectors"


class Differs(Exception):
    """An expectation that does not hold."""


@dataclass
class Section:
    """A scheme with its draws and the lines that follow, each with its number."""

    scheme: str
    draws: list[int] = field(default_factory=list)
    rate: int = 10_000_000
    lines: list[tuple[int, list[str]]] = field(default_factory=list)


def sections(text: str) -> Iterator[Section]:
    """Split a file at its schemes."""
    section: Section | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = re.split(r"#(?= )|^#", line, maxsplit=1)[0].split()
        if not words:
            continue
        if words[0] == "scheme":
            if section is not None:
                yield section
            section = Section(" ".join(words[1:]))
            continue
        assert section is not None, f"line {number}: no scheme yet"
        if words[0] == "draws":
            section.draws += [bits for word in words[1:] for bits in drawn(word)]
        elif words[0] == "rate":
            section.rate = int(value(words[1]))
        else:
            section.lines.append((number, words))
    if section is not None:
        yield section


def drawn(word: str) -> list[int]:
    """Return the 64 bits that a draw stands for, once or several times."""
    one, _, times = word.partition("*")
    bits = int(one[1:], 16) if one.startswith("#") else math.floor(Decimal(one) * 2**53) << 11
    return [bits] * int(times or 1)


def time(text: str) -> int:
    """Read seconds as whole nanoseconds."""
    return int(Decimal(text) * SECOND)


def arrivals(words: list[str]) -> Iterator[Packet]:
    """Read the packets of a line `+ SERIAL BYTES FACTS`."""
    serials, size, *facts = words
    first, _, last = serials.partition("..")
    given: dict[str, Any] = {}
    for fact in facts:
        key, _, what = fact.partition("=")
        if key == "ecn":
            given[key] = CODEPOINTS[what]
        elif key == "ack":
            given[key] = (True, what.endswith("+"), int(what.rstrip("+")))
        else:
            given[key] = int(what)
    for serial in range(int(first), int(last or first) + 1):
        yield Packet(serial, int(size), **given)


def replay(model: type[Model], section: Section) -> int:
    """Play a section: how many expectations held.

    It ends early where two numbers lie within rounding of each other, which the models leave open.

    Raises
    ------
    Differs
        Another outcome than is written, or an internal with another value.
    """
    name, *words = section.scheme.split()
    host = Host(model, words, section.rate, section.draws)
    held = 0
    try:
        for found in steps(host, name, section):
            held += found
    except Tie:
        pass
    return held


def steps(host: Host, name: str, section: Section) -> Iterator[int]:
    """Play a section line by line: how many expectations held in each."""
    outcomes: list[str] = []
    for number, (at, what, *rest) in section.lines:
        now = time(at)
        if what in {"+", "?", "rate"} and outcomes:
            raise Differs(f"{name}, before line {number}: {outcomes[0]} is not expected")
        if what == "+":
            for packet in arrivals(rest):
                outcomes += written(host.enqueue(now, packet))
        elif what == "?":
            serial, ecn, until, done = host.dequeue(now)
            outcomes += written(done)
            left = "e" if until is None else f"n {until}"
            outcomes.append(left if serial is None else f"- {serial}" + " ce" * (ecn == CODEPOINTS["ce"]))
        elif what == "rate":
            host.set_rate(now, int(value(rest[0])))
        elif what == "=":
            yield internals(host, now, number, rest)
        else:
            wanted = f"n {time(rest[0])}" if what == "n" else " ".join([what, *rest])
            got = outcomes.pop(0) if outcomes else "nothing"
            if got != wanted:
                raise Differs(f"{name}, line {number}: {wanted} is expected, not {got}")
            yield 1
    if outcomes:
        raise Differs(f"{name}, at the end: {outcomes[0]} is not expected")
    if host.world.used != len(section.draws):
        raise Differs(f"{name}: {host.world.used} of {len(section.draws)} draws were used")


def written(done: list[tuple[str, int, str]]) -> list[str]:
    """Write outcomes of a model as the format does."""
    return [f"d {serial} {reason}" if kind == "drop" else f"m {serial}" for kind, serial, reason in done]


def internals(host: Host, now: int, number: int, words: list[str]) -> int:
    """Compare the internals of a line `= NAME VALUE ...` that the implementation has."""
    packets, size = host.backlog()
    known = {"packets": packets, "bytes": size, **host.internals(now)}
    held = 0
    rest = iter(words)
    pairs: list[list[str]] = []
    for word in rest:
        if word.startswith("~"):
            pairs[-1].append(word[1:])
        else:
            pairs.append([word, next(rest)])
    for name, wanted, *tolerance in pairs:
        if name not in known:
            continue
        got = known[name] / SECOND if isinstance(known[name], Ns) else float(known[name])
        within = float(tolerance[0]) if tolerance else max(1e-12, 1e-9 * abs(float(wanted)))
        both_none = math.isnan(got) and math.isnan(float(wanted))
        if not both_none and not abs(got - float(wanted)) <= within:
            raise Differs(f"line {number}: {name} is {got}, not {wanted}")
        held += 1
    return held
