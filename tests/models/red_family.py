"""Algorithms on top of RED: NLRED, CHOKe, FRED, BLACK, SHRED."""

from __future__ import annotations

from base import Packet, less
from red import Red

PLAIN = {name: Red.DEFAULTS[name] for name in ("limit", "min", "max", "max_p", "w", "avpkt", "ecn")}
FLAGS = dict.fromkeys(("gentle", "wait", "bytemode", "harddrop"), "false")


class Nlred(Red):
    """RED with p_b = 1.5 max_p ((avg - min)/(max - min))^2."""

    DEFAULTS = PLAIN | FLAGS
    PRESETS = {}
    TEXTS = (
        "w 0.3 ecn",
        "w 0.1 limit 12p gentle max_p 0.5",
        "w 0.4 min 2p max 20p max_p 0.9 ecn gentle harddrop",
        "w 0.2 wait max_p 0.4 ecn",
        "w 0.4 min 3kB max 30kB max_p 0.3 bytemode avpkt 700B",
    )

    def p_b(self) -> float | None:
        top = min(1.0, 1.5 * self.max_p)
        if less(self.avg, self.max):
            return min(1.0, 1.5 * self.max_p * ((self.avg - self.min) / (self.max - self.min)) ** 2)
        if self.has("gentle") and less(self.avg, 2 * self.max):
            return top + (1 - top) * (self.avg - self.max) / self.max
        return None


class Choke(Red):
    """Above min, compare with a queued packet drawn at random: one flow, both are dropped; else RED."""

    DEFAULTS = PLAIN
    PRESETS = {}
    TEXTS = ("w 0.3", "w 0.2 ecn min 3p max 12p max_p 0.4", "w 1 limit 9p", "w 0.5 avpkt 300B max 40p limit 25p ecn")
    SEEN = Red.SEEN | {"flow"}

    def setup(self) -> None:
        super().setup()
        self.matches = 0

    def decide(self, packet: Packet) -> None:
        # "If avg <= min_th, admit": at min itself there is no comparison.
        if less(self.min, self.avg) and self.queue:
            at = self.world.below(len(self.queue))
            if self.queue[at].flow == packet.flow:
                self.matches += 1
                self.world.drop(self.queue.pop(at), "flow")
                self.world.drop(packet, "flow")
                return
        super().decide(packet)

    def internals(self) -> dict[str, float]:
        names = ("avg", "count", "probability")
        return {name: v for name, v in super().internals().items() if name in names} | {"matches": self.matches}


class Fred(Red):
    """Lin and Morris 1997, as ALGORITHMS and the file's readings have it."""

    DEFAULTS = PLAIN | {"minq": "2p"}
    PRESETS = {}
    TEXTS = (
        "w 0.3 ecn",
        "w 0.2 min 3p max 12p max_p 0.5 minq 1p ecn",
        "w 0.5 min 4p max 30p limit 20p minq 4p",
        "w 0.1 min 10p max 20p max_p 0.9 avpkt 400B",
    )
    SEEN = Red.SEEN | {"flow"}

    def setup(self) -> None:
        super().setup()
        self.strikes: dict[int, int] = {}

    def queued(self, flow: int) -> int:
        """Give qlen_i."""
        return sum(packet.flow == flow for packet in self.queue)

    def avgcq(self) -> float:
        """Give the average share of a flow with packets queued."""
        active = len({packet.flow for packet in self.queue})
        return max(1.0, self.avg / active) if active else max(1.0, self.avg)

    def arrive(self, packet: Packet) -> None:
        before = len(self.queue)
        if before == 0:
            self.average()
        if self.judge(packet):
            if before:
                self.average()
            self.join(packet)

    def judge(self, packet: Packet) -> bool:  # noqa: PLR0911 (one rule, one return)
        """Return whether the packet is accepted."""
        if self.is_full(packet):
            self.restart()
            self.world.drop(packet, "overflow")
            return False
        flow, share = packet.flow, self.avgcq()
        qlen, strikes = self.queued(flow), self.strikes.get(flow, 0)
        is_above = not less(self.avg, self.max)
        maxq = 2 if is_above else self.min
        breaks = qlen >= maxq or (is_above and less(2 * share, qlen))
        if breaks or (not less(qlen, share) and strikes > 1):
            self.strikes[flow] = strikes + 1
            self.world.drop(packet, "flow")
            return False
        if less(self.avg, self.min):
            self.count, self.probability = -1, 0.0
            return True
        if is_above:
            self.probability = 1.0
            self.restart()
            self.world.drop(packet, "early")
            return False
        self.count += 1
        self.probability = 0.0
        if less(qlen, max(self.params.minq, share)):
            return True
        self.probability = self.p_a(self.p_b(), packet)
        if not self.world.chance(self.probability):
            return True
        self.restart()
        return self.world.signal(packet, self.params.ecn)

    def ask(self) -> Packet | None:
        packet = super().ask()
        if packet is not None:
            self.avg = (1 - self.w) * self.avg + self.w * len(self.queue)
            if not self.queued(packet.flow):
                self.strikes.pop(packet.flow, None)
        return packet

    def internals(self) -> dict[str, float]:
        return {
            "avg": self.avg,
            "avgcq": self.avgcq(),
            "active_flows": len({packet.flow for packet in self.queue}),
            "count": self.count,
            "probability": self.probability,
        }


class Black(Red):
    """Hassan, Hassan and Arif, section III.D, equations 3 and 4."""

    DEFAULTS = PLAIN | {"q_th": "5p", "m": "1000", "cache": "20", "hit": "drawn"}
    PRESETS = {}
    TEXTS = (
        "w 0.3 m 20",
        "w 0.2 min 3p max 25p max_p 0.3 q_th 2p m 7 cache 2 ecn",
        "w 0.4 m 11 hit matched max 30p limit 25p ecn",
        "w 0.2 min 2p max 40p q_th 0p m 1 avpkt 500B",
    )
    SEEN = Red.SEEN | {"flow"}

    def setup(self) -> None:
        super().setup()
        self.samples = self.last_samples = 0
        self.matches = self.last_matches = 0
        self.hits: dict[int, int] = {}
        self.last_hits: dict[int, int] = {}

    def sample(self, packet: Packet) -> None:
        """Draw a queued packet, and end the period with the last sample."""
        drawn = self.queue[self.world.below(len(self.queue))].flow
        self.samples += 1
        is_match = drawn == packet.flow
        self.matches += is_match
        if is_match and drawn not in self.hits and len(self.hits) < self.params.cache:
            self.hits[drawn] = 0
        if drawn in self.hits and (is_match or self.params.hit == "drawn"):
            self.hits[drawn] += 1
        if self.samples == self.params.m:
            self.last_hits = {flow: hits for flow, hits in self.hits.items() if hits}
            self.hits = dict.fromkeys(self.last_hits, 0)
            self.last_samples, self.samples = self.samples, 0
            self.last_matches, self.matches = self.matches, 0

    def fraction(self, flow: int) -> float:
        """Give (Hit_i + H_i m)/(m' + m), H_i m the hits of the last period."""
        both = self.samples + self.last_samples
        return (self.hits[flow] + self.last_hits.get(flow, 0)) / both if both else 0.0

    def decide(self, packet: Packet) -> None:
        if len(self.queue) > self.params.q_th:
            self.sample(packet)
        is_between = not less(self.avg, self.min) and less(self.avg, self.max)
        if self.is_full(packet) or packet.flow not in self.hits or not is_between:
            super().decide(packet)
            return
        matches = self.matches + self.last_matches
        p = 0.0
        if matches:
            share = matches / (self.samples + self.last_samples)
            p = min(max((self.fraction(packet.flow) - share) / share, 0.0), 1.0)
        self.probability = p * (self.avg - self.min) / (self.max - self.min)
        if self.world.chance(self.probability):
            self.world.drop(packet, "flow")
        else:
            self.join(packet)

    def internals(self) -> dict[str, float]:
        samples, matches = self.samples + self.last_samples, self.matches + self.last_matches
        return {
            "avg": self.avg,
            "count": self.count,
            "probability": self.probability,
            "samples": self.samples,
            "n_act": samples / matches if matches else 0.0,
            "cached_flows": len(self.hits),
            "largest_hit_fraction": max((self.fraction(flow) for flow in self.hits), default=0.0),
        }


class Shred(Red):
    """RED with min' and max_p' for packets of small windows."""

    DEFAULTS = PLAIN | FLAGS | {"window_w": "0.002"}
    PRESETS = {}
    TEXTS = (
        "w 0.3 window_w 0.1 ecn",
        "w 0.2 limit 12p gentle max_p 0.5 window_w 0.5",
        "w 0.4 min 2p max 20p max_p 0.9 ecn gentle harddrop window_w 1",
        "w 0.2 wait max_p 0.4 ecn",
        "w 0.4 min 3kB max 30kB max_p 0.3 bytemode avpkt 700B window_w 0.3",
    )

    def setup(self) -> None:
        super().setup()
        self.window_avg: float | None = None
        self.share = 1.0

    @property
    def min(self) -> float:
        low, high = float(self.params.min), float(self.params.max)
        return low + (high - low) * (1 - self.share)

    def arrive(self, packet: Packet) -> None:
        self.share = 1.0
        if packet.window:
            old = packet.window if self.window_avg is None else self.window_avg
            self.window_avg = old + self.params.window_w * (packet.window - old)
            self.share = min(1.0, packet.window / self.window_avg)
        self.max_p = self.params.max_p * self.share
        super().arrive(packet)

    def internals(self) -> dict[str, float]:
        names = ("avg", "count", "probability")
        kept = {name: v for name, v in super().internals().items() if name in names}
        return kept | {"window_avg": self.window_avg or 0.0}
