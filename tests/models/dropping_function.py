"""Dropping functions: Barczyk and Chydzinski 2022, section 2."""

from __future__ import annotations

import math
from fractions import Fraction

from base import SECOND, Model, Packet

# The printed pieces: (n from, n up to but without, d).
SHAPES = {
    "d0": [(100, math.inf, lambda _: 1.0)],
    "d1": [
        (91, 121, lambda n: float(Fraction("0.016666") * n - Fraction("1.506666"))),
        (121, math.inf, lambda _: 0.5),
    ],
    "d2": [
        (87, 102, lambda n: float(Fraction("0.008333") * n - Fraction("0.722833"))),
        (102, 117, lambda n: float(Fraction("0.025") * n - Fraction("2.4185"))),
        (117, math.inf, lambda _: 0.5),
    ],
    "d3": [
        (81, 121, lambda n: float(Fraction("0.000312") * (n - Fraction("80.88")) ** 2)),
        (121, math.inf, lambda _: 0.5),
    ],
    "d4": [
        (89, 99, lambda n: float(Fraction("4.5") * ((n - Fraction("88.05")) / 30) ** 3)),
        (99, 109, lambda n: float(Fraction("0.016666") * n - Fraction("1.467499"))),
        (109, 119, lambda n: float(Fraction("4.5") * ((n - Fraction("118.05")) / 30) ** 3 + Fraction("0.5"))),
        (119, math.inf, lambda _: 0.5),
    ],
    "d5": [(94, math.inf, lambda n: 0.5 - 0.5 * math.exp(-(n - 93.86) / 10))],
    "d6": [
        (0, 101, lambda n: 0.25 * math.exp((n - 100.74) / 3)),
        (101, math.inf, lambda n: 0.5 - 0.25 * math.exp((100.74 - n) / 3)),
    ],
    "d7": [(0, 108, lambda n: 0.5 * math.exp((n - 107.3) / 5)), (108, math.inf, lambda _: 0.5)],
    "d8": [(99, math.inf, lambda _: 0.5)],
}


#: Formulas of signals beyond the length, as the same in Python: seconds, bytes, bytes a second.
FORMULAS = {
    "min(1,max(0,(sojourn-1ms)/50ms))": lambda s: (s["sojourn"] - 0.001) / 0.05,
    "(head>2ms)*0.3+bytes/1MB": lambda s: (s["head"] > 0.002) * 0.3 + s["bytes"] / 1e6,
    "abs(delay-3ms)/20ms-size/15kB": lambda s: abs(s["delay"] - 0.003) / 0.02 - s["size"] / 15000,
    "sqrt(n/30)*exp(-rate/40Mbit/s)": lambda s: math.sqrt(s["n"] / 30) * math.exp(-s["rate"] * 8 / 40e6),
    "average/20+utilisation/9": lambda s: s["average"] / 20 + s["busy"] / 9,
    # Those of the vectors; what is not a number counts as 0.
    "min(1,max(0,(sojourn-5ms)/50ms))": lambda s: (s["sojourn"] - 0.005) / 0.05,
    "bytes/6kB": lambda s: s["bytes"] / 6000,
    "size/6kB": lambda s: s["size"] / 6000,
    "head/8ms": lambda s: s["head"] / 0.008,
    "delay/4.8ms": lambda s: s["delay"] / 0.0048,
    "(rate>8Mbit/s)*0.5": lambda s: (s["rate"] > 1e6) * 0.5,
    "average/4": lambda s: s["average"] / 4,
    "utilisation": lambda s: s["busy"],
    "bytes/bytes": lambda s: float(s["bytes"] > 0),
    "1kB/bytes": lambda s: 1000 / s["bytes"] if s["bytes"] else math.inf,
}


class DroppingFunction(Model):
    """Drop with probability d(n), n what the arrival finds."""

    DEFAULTS = {
        "limit": "300p",
        "function": "d1",
        "table": "none",
        "between": "linear",
        "formula": "none",
        "count": "queue",
        "window": "100ms",
        "ecn": "false",
    }
    TEXTS = (
        *(f"function d{k}" for k in range(9)),
        "table 0:0,3:0.25,20:1 ecn",
        "table 0:0.5,2:0,4:0.1,9:0.9 between step count system limit 12p",
        "formula min(1,(n/20)^2) ecn count system limit 15p",
        "function d8 count system limit 120p",
        *(f"formula {text} limit 30p" for text in list(FORMULAS)[:5]),
        "formula average/20+utilisation/9 window 3ms count system ecn",
    )

    def setup(self) -> None:
        self.in_service = False
        self.last = 0.0
        self.sojourn = self.average = self.busy = 0.0
        self.sampled = self.switched = 0

    def d(self, n: int) -> float:
        """Evaluate d(n)."""
        p = self.params
        if p.formula == "min(1,(n/20)^2)":
            return min(1.0, n * n / 400)
        if p.table != "none":
            points = [(int(a), float(b)) for a, b in (point.split(":") for point in p.table.split(","))]
            before = max(point for point in points if point[0] <= n)
            after = min((point for point in points if point[0] > n), default=None)
            if after is None or p.between == "step":
                return before[1]
            return before[1] + (after[1] - before[1]) * (n - before[0]) / (after[0] - before[0])
        return next((d(n) for low, high, d in SHAPES[p.function] if low <= n < high), 0.0)

    def busy_until(self, now: int) -> None:
        """Bring the mean of the time in service up to now."""
        share = math.exp(-(now - self.switched) / self.params.window)
        self.busy = self.in_service + (self.busy - self.in_service) * share
        self.switched = now

    def of_signals(self, packet: Packet, n: int) -> float:
        """Evaluate a formula that names more than n."""
        now, p = self.world.now, self.params
        self.average = n + (self.average - n) * math.exp(-(now - self.sampled) / p.window)
        self.sampled = now
        self.busy_until(now)
        rate = self.world.rate / 8
        signals = {
            "n": n,
            "bytes": self.bytes,
            "size": packet.bytes,
            "sojourn": self.sojourn,
            "head": (now - self.queue[0].enqueued) / SECOND if self.queue else 0.0,
            "delay": 0.0 if not self.bytes else self.bytes / rate if rate else math.inf,
            "rate": rate,
            "average": self.average,
            "busy": self.busy,
        }
        return min(1.0, max(0.0, FORMULAS[p.formula](signals)))

    def arrive(self, packet: Packet) -> None:
        n = len(self.queue) + (self.in_service and self.params.count == "system")
        # Beyond the limit the packet is lost whatever d says; d is not defined there.
        if self.params.formula in FORMULAS:
            self.last = self.of_signals(packet, n)
        else:
            self.last = self.d(min(n, self.params.limit))
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
        elif not self.world.chance(self.last) or self.world.signal(packet, self.params.ecn):
            self.join(packet)

    def ask(self) -> Packet | None:
        self.busy_until(self.world.now)
        packet = self.leave()
        self.sojourn = 0.0 if packet is None else (self.world.now - packet.enqueued) / SECOND
        self.in_service = packet is not None
        return packet

    def internals(self) -> dict[str, float]:
        return {"probability": self.last, "in_service": int(self.in_service)}
