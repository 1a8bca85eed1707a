"""dAQM: Shu (2023), section 4: equations 18 to 33, Algorithms 1 to 3, and the library's readings."""

from __future__ import annotations

import itertools
import math

from base import MILLISECOND, Model, Packet, less

ORDER = ("s3", "q3", "s2", "q2", "s1", "q1", "s0", "q0")


def derivative(order: int, v: list[float], d: float) -> float:
    """Equations 18 to 25; 26 to 33 with a step of 1."""
    v1, v2, v3, v4, v5 = v
    if order == 1:
        return (v1 - v2) / d
    a, b, c = (v3 - v1) / (2 * d), (v4 - v2) / (2 * d), (v5 - v3) / (2 * d)
    if order == 2:
        return (b - a) / d
    return ((c - b) / d - (b - a) / d) / d


class Daqm(Model):
    """One queue under dAQM."""

    DEFAULTS = {
        "limit": "2000p",
        "target": "0ns",
        "min_queue": "6p",
        "in_hand": "counts",
        "interarrival": "none",
        "sojourn": "instant",
        "inspect": "peek",
        "sample": "15ms",
        "ring": "slides",
        "flags": "phase",
        "drop_rate": "0.9",
        "drop_duration": "200ms",
        "s0": "200ms",
        "s1": "none",
        "s2": "none",
        "s3": "none",
        "q0": "none",
        "q1": "none",
        "q2": "none",
        "q3": "none",
    } | {f"{f}{n}_drop_{what}": "none" for f in "sq" for n in range(4) for what in ("rate", "duration")}
    _ALONE = "s0 none {} drop_rate 0.9 drop_duration 200ms"
    _ALL = "s0 {}ms s1 {} s2 {} s3 {} q0 {}p q1 {} q2 {} q3 {} drop_rate {} drop_duration 400ms"
    PRESETS = {
        "f1": "s0 200ms drop_rate 0.9 drop_duration 200ms",
        "f2": _ALONE.format("s1 0.01"),
        "f3": _ALONE.format("s2 0.01"),
        "f4": _ALONE.format("s3 0.01"),
        "f5": _ALONE.format("q0 20p"),
        "f6": _ALONE.format("q1 0.01"),
        "f7": _ALONE.format("q2 0.01"),
        "f8": _ALONE.format("q3 0.01"),
        "c1": _ALL.format(1000, 10, 10, 10, 120, 1, 10, 10, 0.05),
        "c2": _ALL.format(600, 0.1, 0.1, 0.1, 80, 0.1, 0.1, 0.1, 0.5),
        "c3": _ALL.format(100, 0.01, 0.01, 0.01, 20, 0.01, 0.01, 0.01, 0.98),
    }
    _OWN = " ".join(
        f"{feature}_drop_rate 0.{k + 1} {feature}_drop_duration {k + 1}ms" for k, feature in enumerate(ORDER)
    )
    TEXTS = (
        "preset f1",
        "preset f2 interarrival 1ms drop_duration 5ms",
        "preset f3 interarrival measured drop_duration 5ms limit 30p",
        "preset f4 interarrival 2ms drop_duration 3ms inspect lose",
        "preset f5 drop_duration 10ms limit 25p",
        "preset f6 drop_duration 10ms sample 2ms",
        "preset f7 drop_duration 10ms sample 2ms ring restarts",
        "preset f8 drop_duration 10ms sample 1ms",
        "preset c1 interarrival 1ms drop_duration 20ms limit 130p",
        "preset c2 interarrival measured inspect deliver drop_duration 4ms",
        "preset c3 interarrival 1ms inspect lose drop_duration 4ms sojourn departures",
        "s0 none s1 1.5 s2 0.9 s3 1 interarrival measured sojourn departures drop_duration 3ms",
        "s0 none s1 1.5 s2 2 interarrival 1ms inspect deliver drop_duration 2ms drop_rate 0.5",
        "s0 5ms q0 9p flags enqueue drop_duration 3ms drop_rate 0.4 s0_drop_rate 0.9",
        "s0 2ms target 300ms drop_duration 1ms limit 40kB",
        "preset c3 interarrival 1ms inspect deliver drop_duration 3ms min_queue 5p",
        "preset c2 interarrival measured inspect deliver drop_duration 2ms in_hand apart sample 2ms ring array",
        "preset c3 interarrival measured inspect lose drop_duration 3ms in_hand apart min_queue 5p",
        "s0 1ms q0 9p drop_duration 2ms in_hand apart min_queue 8p",
        "preset f8 drop_duration 10ms sample 1ms ring array",
        f"s0 8ms s1 2 s2 3 s3 4 q0 12p q1 2 q2 3 q3 4 interarrival 1ms sample 3ms {_OWN}",
    )
    SEEN = frozenset({"overflow", "early"})

    def setup(self) -> None:
        self.until: int | None = None
        self.drop_rate = 0.0
        self.flag = False
        self.is_stuck = False
        self.cleared = 0
        self.samples = [0.0]
        self.next_sample = self.params.sample
        self.left: list[tuple[int, float]] = []
        self.seen: dict[str, float] = {}
        self.hits = self.head_drops = 0

    def run_timers(self) -> None:
        now = self.world.now
        if self.until is not None and now >= self.until:
            self.until = None
            # Algorithm 1 to the letter resets the flag at an arrival only.
            self.is_stuck = self.params.flags == "enqueue" and self.flag
        while self.next_sample <= now:
            self.samples.append(float(len(self.queue)))
            self.next_sample += self.params.sample

    def five_samples(self) -> list[float] | None:
        """Give the five queue lengths that count, in the order of the equations."""
        end = len(self.samples)
        if self.params.ring == "restarts":
            end -= end % 5
        if end < 5:
            return None
        if self.params.ring == "array":
            # Sample n lies in place n mod 5.
            return [self.samples[max(n for n in range(end) if n % 5 == place)] for place in range(5)]
        return self.samples[end - 5 : end]

    def behind(self) -> list[Packet]:
        """Give the packets that count as waiting: without the one in hand if it is apart."""
        return self.queue[1:] if self.params.in_hand == "apart" else self.queue

    def spacing_ms(self) -> float | None:
        """D."""
        if self.params.interarrival != "measured":
            return None if self.params.interarrival == "none" else self.params.interarrival / MILLISECOND
        left = self.left
        if self.params.sojourn == "departures":
            # Never from the five that are looked at.
            left = left[:-5] if len(left) > 5 else []
        mean = None
        for (one, _), (other, _) in itertools.pairwise(left):
            spacing = (other - one) / MILLISECOND
            mean = spacing if mean is None else mean + (spacing - mean) / 16
        return mean

    def waits(self) -> list[float] | None:
        """s1 to s5, in ms."""
        if self.params.sojourn == "departures":
            return [wait for _, wait in self.left[-5:]] if len(self.left) >= 5 else None
        return [(self.world.now - packet.enqueued) / MILLISECOND for packet in self.behind()[:5]]

    def value(self, feature: str) -> float | None:
        """Compute a feature now."""
        order = int(feature[1])
        if feature == "s0":
            return (self.world.now - self.behind()[0].enqueued) / MILLISECOND
        if feature == "q0":
            return float(len(self.behind()))
        if feature[0] == "q":
            five = self.five_samples()
            return None if five is None else derivative(order, five, 1)
        waits, d = self.waits(), self.spacing_ms()
        return None if waits is None or not d else derivative(order, waits, d)

    def threshold(self, feature: str) -> float | None:
        """Give a feature's threshold in its unit."""
        given = getattr(self.params, feature)
        if given == "none":
            return None
        return given / MILLISECOND if feature == "s0" else float(given)

    def look(self) -> str | None:
        """Algorithm 3."""
        self.seen = {}
        for feature in ORDER:
            threshold = self.threshold(feature)
            if threshold is None or (now := self.value(feature)) is None:
                continue
            self.seen[feature] = now
            if less(threshold, abs(now)):
                return feature
        return None

    def arrive(self, packet: Packet) -> None:
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            return
        if self.until is not None:
            dropped = self.world.chance(self.drop_rate)
            if self.params.flags == "enqueue":
                self.flag, self.drop_rate = False, self.params.drop_rate
            if dropped:
                self.world.drop(packet, "early")
                return
        self.join(packet)

    def depart(self) -> Packet | None:
        """Take the head, and remember when it came and how long it waited."""
        packet = self.leave()
        if packet is not None:
            self.left.append((packet.enqueued, (self.world.now - packet.enqueued) / MILLISECOND))
        return packet

    def discard(self) -> None:
        """Drop the head."""
        packet = self.depart()
        if packet is not None:
            self.head_drops += 1
            self.world.drop(packet, "early")

    def taken(self) -> int:
        """Give how many packets section 4.1.1 dequeues to look at them."""
        if self.params.sojourn == "departures":
            return 0
        return max(
            (n for name, n in (("s1", 2), ("s2", 4), ("s3", 5)) if self.threshold(name) is not None), default=0
        )

    def ask(self) -> Packet | None:
        if self.cleared:
            self.cleared -= 1
            return self.depart()
        is_watching = self.until is None and not self.is_stuck and self.world.now > self.params.target
        if is_watching and len(self.behind()) >= self.params.min_queue:
            return self.inspect()
        return self.depart()

    def inspect(self) -> Packet | None:
        """Look, do what a hit asks for, and give the packet that leaves."""
        hit = self.look()
        if hit:
            rate, duration = (getattr(self.params, f"{hit}_drop_{what}") for what in ("rate", "duration"))
            self.drop_rate = self.params.drop_rate if rate == "none" else rate
            self.until = self.world.now + (self.params.drop_duration if duration == "none" else duration)
            self.flag = True
            self.hits += 1
        taken = self.taken()
        sent = taken if self.params.inspect == "deliver" else 0
        lost = taken if self.params.inspect == "lose" else 0
        if self.params.in_hand == "apart":
            packet = self.depart()
            for _ in range(lost):
                self.discard()
            self.cleared = sent
            if hit is None:
                return packet
            self.head_drops += 1
            self.world.drop(packet, "early")
            self.cleared = max(sent - 1, 0)
            return self.depart()
        for _ in range(lost):
            self.discard()
        if hit and len(self.queue) > sent:
            if sent:
                self.head_drops += 1
                self.world.drop(self.queue.pop(sent), "early")
            else:
                self.discard()
        self.cleared = max(sent - 1, 0)
        return self.depart()

    def internals(self) -> dict[str, float]:
        names = {"s0": "s0_ms", "q0": "q0_packets"}
        seen = {names.get(f, f): self.seen.get(f, math.nan) for f in ("s0", "s1", "s2", "s3", "q0", "q1", "q2", "q3")}
        spacing = self.spacing_ms()
        return seen | {
            "dropping": int(self.until is not None),
            "drop_rate": self.drop_rate if self.until is not None else 0.0,
            "interarrival_ms": spacing if spacing else math.nan,
            "hits": self.hits,
            "head_drops": self.head_drops,
        }

    def instants(self) -> list[int]:
        return [self.next_sample, self.until or 0, self.params.target]
