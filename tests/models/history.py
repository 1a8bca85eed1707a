"""Histories of a queue, made by Hypothesis, and their comparison with a model step by step."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass

from hypothesis import strategies as st
from sojourn import _native

from base import CE, ECT0, ECT1, NOT_ECT, SECOND, Host, Model, Ns, Packet, Tie

RATES = (1_000_000, 10_000_000, 100_000_000)
SIZES = (40, 300, 576, 1000, 1500, 1514, 9000)
CODEPOINTS = (NOT_ECT, ECT0, ECT1, CE)
REAL_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Phase:
    """A stretch of events of one kind."""

    kind: str
    n: int = 1
    gap: int = 0
    sizes: int = 0
    flows: int = 1
    ecn: int = 0


@dataclass(frozen=True)
class Case:
    """A whole history under one scheme."""

    text: str
    phases: tuple[Phase, ...]
    rate: int
    #: Seed of the random numbers and of what varies within a phase; how strongly draws lean to 0.
    seed: int
    lean: int
    #: Internals are read after every so many events.
    look: int


def gaps(longest: int) -> st.SearchStrategy[int]:
    """Times from nothing over a nanosecond to ``longest``."""
    within = st.integers(0, max(1, longest.bit_length() - 1)).map(lambda bits: min(1 << bits, longest))
    return st.one_of(st.just(0), st.sampled_from((1, 1000, 120_000, 1_000_000, 1_200_000, 5_000_000)), within)


def phases(longest: int) -> st.SearchStrategy[Phase]:
    """One phase."""
    few, flows, sizes = st.integers(1, 40), st.sampled_from((1, 2, 3, 8, 40)), st.integers(0, 2**16)
    short, ecn = st.sampled_from((0, 0, 1, 10_000, 120_000, 400_000, 1_200_000)), st.integers(0, 15)
    return st.one_of(
        st.builds(Phase, st.just("arrive"), few, short, sizes, flows, ecn),
        st.builds(Phase, st.just("depart"), few, short),
        st.builds(Phase, st.just("both"), few, short, sizes, flows, ecn),
        st.builds(Phase, st.just("heavy"), few, short, sizes, flows, ecn),
        st.builds(Phase, st.just("near"), st.integers(1, 6), st.just(0), sizes, flows, ecn),
        st.builds(Phase, st.just("idle"), st.just(1), gaps(longest)),
        st.builds(Phase, st.just("rate"), st.integers(0, 5)),
    )


def cases(model: type[Model], text: str) -> st.SearchStrategy[Case]:
    """Histories under the scheme ``text``."""
    return st.builds(
        Case,
        st.just(text),
        st.lists(phases(model.LONGEST), min_size=4, max_size=24).map(tuple),
        st.sampled_from(RATES),
        st.integers(0, 2**32),
        st.sampled_from((1, 1, 2, 4, 8)),
        st.sampled_from((1, 1, 3, 17)),
    )


class Both:
    """The library and a model under one history."""

    def __init__(self, model: type[Model], case: Case, seen: Counter[str]) -> None:
        self.case, self.seen = case, seen
        self.random = random.Random(case.seed)
        self.draws: list[int] = []
        self.rust = _native.Driver(case.text, case.rate)
        self.host = Host(model, case.text.split()[1:], case.rate, self.draws)
        self.now = 0
        self.serial = 0
        self.events = 0

    def feed(self) -> None:
        """Give both sides draws enough for one event: uniform, or leaning to 0, and at times an extreme."""
        while len(self.draws) < self.host.world.used + 600:
            u = self.random.random() ** self.case.lean
            extreme = self.random.random()
            bits = 0 if extreme < 0.01 else 2**64 - 1 if extreme > 0.99 else int(u * 2**53) << 11
            more = [bits | self.random.getrandbits(11)]
            self.draws += more
            self.rust.feed(more)

    def agree(self, what: str, rust: object, model: object) -> None:
        """Fail where the two differ."""
        assert rust == model, f"{what} at {self.now} ns, event {self.events}: library {rust}, model {model}"

    def after(self) -> None:
        """Compare what is compared after every event."""
        self.events += 1
        self.agree("backlog", self.rust.backlog(), self.host.backlog())
        self.agree("draws", self.rust.drawn(), self.host.world.used)
        if self.events % self.case.look:
            return
        rust, model = self.rust.internals(self.now), self.host.internals(self.now)
        self.agree("names of internals", sorted(rust), sorted(model))
        for name, expected in model.items():
            got = rust[name]
            if isinstance(expected, Ns):
                is_same = round(got * SECOND) == expected
            elif isinstance(expected, int):
                is_same = got == expected
            else:
                is_same = math.isclose(got, expected, rel_tol=REAL_TOLERANCE, abs_tol=1e-15)
                is_same = is_same or (math.isnan(got) and math.isnan(expected))
            assert is_same, (
                f"{name} at {self.now} ns, event {self.events}: library {got!r}, model {float(expected)!r}"
            )

    def arrive(self, phase: Phase, n: int) -> None:
        """One arrival, the ``n``-th of its phase."""
        self.feed()
        mixed = (phase.sizes + n * 7919) & 0xFFFF
        size = SIZES[phase.sizes % 7] if phase.sizes & 8 else SIZES[mixed % 7]
        flow = self.random.randrange(phase.flows)
        ecn = CODEPOINTS[phase.ecn & 3] if phase.ecn & 4 else CODEPOINTS[(phase.ecn + n) % 4]
        facts = {
            "flow": flow,
            "source": flow % 3,
            "destination": flow % 5,
            "ecn": ecn,
            "dscp": (mixed >> 4) % 64,
            "window": (mixed >> 3) % 40 if flow % 4 else 0,
            "ack": (True, bool(mixed & 32), mixed * 97) if mixed & 16 else (False, False, 0),
        }
        packet = Packet(self.serial, size, **facts)
        self.serial += 1
        rust = self.rust.enqueue(self.now, size, **facts)
        model = self.host.enqueue(self.now, packet)
        self.agree("outcome of an arrival", rust, model)
        self.count(model)
        self.after()

    def depart(self) -> None:
        """The link asks."""
        self.feed()
        rust, model = self.rust.dequeue(self.now), self.host.dequeue(self.now)
        self.agree("outcome of a request", rust, model)
        self.count(model[3])
        if model[2] is not None:
            self.seen["held"] += 1
        self.after()

    def count(self, outcomes: list[tuple[str, int, str]]) -> None:
        """Note what happened, for the test that enough happened."""
        for kind, _, reason in outcomes:
            self.seen[reason or kind] += 1

    def phase(self, phase: Phase) -> None:
        """Play one phase."""
        if phase.kind == "idle":
            self.now += phase.gap
        elif phase.kind == "rate":
            rate = (0, *RATES, 20_000_000, 1_000_000_000)[phase.n]
            self.rust.set_rate(self.now, rate)
            self.host.set_rate(self.now, rate)
            self.after()
        for n in range(phase.n):
            if phase.kind == "arrive":
                self.arrive(phase, n)
            elif phase.kind == "depart":
                self.depart()
            elif phase.kind in {"both", "heavy"}:
                self.arrive(phase, n)
                if phase.kind == "both" or n % 3 == 0:
                    self.depart()
            elif phase.kind == "near":
                self.near(phase, n)
            self.now += phase.gap

    def near(self, phase: Phase, n: int) -> None:
        """An event exactly at something due, or a nanosecond before or after it."""
        most = self.now + self.host.model.LONGEST
        due = sorted({at for at in self.host.model.instants() if self.now < at <= most})
        if due:
            at = due[(phase.sizes >> 4) % len(due)]
            self.now = max(self.now, at + (phase.sizes + n) % 3 - 1)
        if phase.sizes & 4:
            self.arrive(phase, n)
        else:
            self.depart()


def compare(model: type[Model], case: Case, seen: Counter[str]) -> None:
    """Play ``case`` on both sides, until rounding decides something."""
    both = Both(model, case, seen)
    seen["cases"] += 1
    try:
        for phase in case.phases:
            both.phase(phase)
        while both.host.backlog()[0] and both.events < 3000:
            both.now += 1_200_000
            both.depart()
    except Tie:
        seen["ties"] += 1
    seen["events"] += both.events
