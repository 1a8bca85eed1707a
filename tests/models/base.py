"""What all models share: packets, the host's side of a decision, and the reading of parameters.

A model is the plain, slow second implementation of an algorithm, written from its source text. It keeps time in whole
nanoseconds, runs its timers one by one, and holds its packets in a list.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3
MILLISECOND = 1_000_000
SECOND = 1_000_000_000

#: How close two real numbers may come before rounding, and not the algorithm, decides which is larger.
NEAR = 1e-9


class Tie(Exception):
    """Two numbers that are compared lie within rounding of each other: either decision is right."""


class Ns(int):
    """A time in whole nanoseconds; among internals it is compared exactly."""


class Packets(int):
    """An amount in packets."""


class Bytes(int):
    """An amount in bytes."""


class Rate(int):
    """Bits a second."""


@dataclass
class Packet:
    """An arrival."""

    serial: int
    bytes: int
    flow: int = 0
    source: int = 0
    destination: int = 0
    ecn: int = NOT_ECT
    dscp: int = 0
    window: int = 0
    ack: tuple[bool, bool, int] = (False, False, 0)
    enqueued: int = 0


@dataclass
class World:
    """The host of a model: clock, rate, random numbers, and the record of what was done."""

    rate: int
    draws: list[int]
    now: int = 0
    used: int = 0
    outcomes: list[tuple[str, int, str]] = field(default_factory=list)

    def u64(self) -> int:
        """64 random bits."""
        self.used += 1
        return self.draws[self.used - 1]

    def below(self, n: int) -> int:
        """A number in 0..n: multiply and shift."""
        return (self.u64() * n) >> 64

    def chance(self, p: float) -> bool:
        """Return true with probability ``p``; draws where ``p`` is neither 0 nor 1."""
        if p <= 0:
            return False
        if p >= 1:
            return True
        if p < 1e-300 or 1 - p < 1e-12:
            raise Tie
        u = (self.u64() >> 11) / 2**53
        if abs(u - p) <= NEAR:
            raise Tie
        return u < p

    def drop(self, packet: Packet, reason: str) -> None:
        """Give ``packet`` away."""
        self.outcomes.append(("drop", packet.serial, reason))

    def mark(self, packet: Packet) -> bool:
        """Set CE where the packet allows it; false where it does not."""
        if packet.ecn == NOT_ECT:
            return False
        if packet.ecn != CE:
            packet.ecn = CE
            self.outcomes.append(("mark", packet.serial, ""))
        return True

    def signal(self, packet: Packet, ecn: bool, reason: str = "early") -> bool:
        """Mark the packet, where ``ecn`` and it allow that (true), or drop it (false)."""
        if ecn and self.mark(packet):
            return True
        self.drop(packet, reason)
        return False


def less(a: float, b: float) -> bool:
    """``a < b`` of computed numbers, where rounding does not decide it."""
    if a != b and math.isclose(a, b, rel_tol=NEAR, abs_tol=1e-15):
        raise Tie
    return a < b


_TIMES = {"ns": 1, "us": 1000, "ms": MILLISECOND, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}
_BYTES = {"B": 1, "kB": 1000, "MB": 10**6, "KiB": 1024, "MiB": 1 << 20, "GiB": 1 << 30}
_RATES = {"bit": 1, "kbit": 1000, "mbit": 10**6, "gbit": 10**9}
_RATES |= {"bit/s": 1, "kbit/s": 1000, "Mbit/s": 10**6, "Gbit/s": 10**9}


def value(text: str) -> Any:
    """Read one value: a time in ns, packets, bytes, a rate, a number, or a word as it is."""
    if text in {"true", "false"}:
        return text == "true"
    found = re.fullmatch(r"([0-9.]+(?:e-?[0-9]+)?) ?([a-zA-Z/]*)", text)
    if not found:
        return text
    number, unit = found.groups()
    for units, kind in ((_TIMES, Ns), (_BYTES, Bytes), (_RATES, Rate)):
        if unit in units:
            return kind(round(float(number) * units[unit]))
    if unit == "Hz":
        return float(number)
    if unit in {"p", "packets"}:
        return Packets(number)
    return text if unit else float(number)


def parameters(defaults: dict[str, str], words: list[str]) -> SimpleNamespace:
    """Read ``target 5ms ecn nogentle`` over ``defaults``."""
    given = dict(defaults)
    rest = iter(words)
    for word in rest:
        if given.get(word) in {"true", "false"}:
            given[word] = "true"
        elif word.startswith("no") and given.get(word[2:]) in {"true", "false"}:
            given[word[2:]] = "false"
        else:
            assert word in given, word
            given[word] = next(rest)
    return SimpleNamespace(**{name: value(text) for name, text in given.items()})


class Timer:
    """Instants at whole multiples of a period, after the first arrival."""

    def __init__(self, period: int) -> None:
        self.period = max(period, 1)
        self.next: int | None = None

    def start(self, now: int) -> None:
        """At the first arrival."""
        if self.next is None:
            self.next = (now // self.period + 1) * self.period

    def due(self, now: int) -> int | None:
        """Take the next instant up to and including ``now``."""
        if self.next is None or self.next > now:
            return None
        at = self.next
        self.next += self.period
        return at


class Model:
    """One queue under one algorithm. Subclasses say what ``arrive`` and ``ask`` do."""

    #: Parameter names as in the library, with the defaults that the sources give, as texts.
    DEFAULTS: dict[str, str] = {}
    #: Named sets that replace defaults.
    PRESETS: dict[str, str] = {}
    #: Schemes under which both sides are compared (without the name).
    TEXTS: tuple[str, ...] = ("",)
    #: Outcomes that the histories must bring about, or the comparison says little.
    SEEN: frozenset[str] = frozenset({"overflow", "early", "mark"})
    #: Parameters (or presets) that no model covers, and why.
    LEFT_OUT: dict[str, str] = {}
    #: Largest gap between events, where timers are taken one by one.
    LONGEST = 200 * SECOND

    def __init__(self, world: World, words: list[str]) -> None:
        self.world = world
        self.queue: list[Packet] = []
        if words[:1] == ["preset"]:
            words = self.PRESETS[words[1]].split() + words[2:]
        self.params = parameters(self.DEFAULTS, words)
        self.setup()

    def setup(self) -> None:
        """Initialise the state."""

    @property
    def bytes(self) -> int:
        """Bytes that wait."""
        return sum(packet.bytes for packet in self.queue)

    @property
    def memory(self) -> int:
        """What Linux's memory limits count: 256 B of descriptor and half a page, of which 384 B are not for data."""
        return self.memory_of(len(self.queue), self.bytes)

    @staticmethod
    def memory_of(packets: int, size: int) -> int:
        """The same for so many packets of `size` bytes together."""
        return 640 * packets + max(1664 * packets, size)

    def bytes_beside(self) -> int:
        """Bytes that wait in the other queues of the same container."""
        return 0

    def is_full(self, packet: Packet) -> bool:
        """Return whether ``limit`` leaves no room for ``packet``."""
        limit = self.params.limit
        if isinstance(limit, Bytes):
            return self.bytes + packet.bytes > limit
        return len(self.queue) >= limit

    def join(self, packet: Packet) -> None:
        """Append at the tail."""
        self.queue.append(packet)

    def leave(self) -> Packet | None:
        """Take the head."""
        return self.queue.pop(0) if self.queue else None

    def run_timers(self) -> None:
        """Perform what falls due up to and including now."""

    def arrive(self, packet: Packet) -> None:
        """Handle an arrival."""
        raise NotImplementedError

    def ask(self) -> Packet | None:
        """Give the next packet to send."""
        return self.leave()

    def rate_changes(self) -> None:
        """Handle a new service rate, which ``world.rate`` becomes right after this."""

    def overflowed(self, packets: int) -> None:
        """Hear that a container dropped ``packets`` from the head."""

    def internals(self) -> dict[str, float]:
        """Give the named internals."""
        return {}

    def instants(self) -> list[int]:
        """Give instants at which something is due, for adversarial timing."""
        return []


class Host:
    """One model, asked the way a discipline is."""

    def __init__(self, model: type[Model], words: list[str], rate: int, draws: list[int]) -> None:
        self.world = World(rate=rate, draws=draws)
        self.model = model(self.world, words)

    def _outcomes(self) -> list[tuple[str, int, str]]:
        done, self.world.outcomes = self.world.outcomes, []
        return done

    def enqueue(self, now: int, packet: Packet) -> list[tuple[str, int, str]]:
        """Offer a packet."""
        self.world.now = packet.enqueued = now
        self.model.run_timers()
        self.model.arrive(packet)
        return self._outcomes()

    def dequeue(self, now: int) -> tuple[int | None, int, int | None, list[tuple[str, int, str]]]:
        """Ask for a packet: its serial number, ECN codepoint, until when a shaper holds, and what was done."""
        self.world.now = now
        self.model.run_timers()
        packet = self.model.ask()
        if isinstance(packet, int):
            return None, 0, packet, self._outcomes()
        if packet is None:
            return None, 0, None, self._outcomes()
        return packet.serial, packet.ecn, None, self._outcomes()

    def set_rate(self, now: int, rate: int) -> None:
        """Change the service rate."""
        self.world.now = now
        self.model.run_timers()
        self.model.rate_changes()
        self.world.rate = rate

    def backlog(self) -> tuple[int, int]:
        """Packets and bytes that wait."""
        return len(self.model.queue), self.model.bytes

    def internals(self, now: int) -> dict[str, float]:
        """Give the named internals, timers brought up to now."""
        self.world.now = now
        self.model.run_timers()
        return self.model.internals()
