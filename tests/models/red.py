"""RED: Floyd and Jacobson 1993, figure 2; gentle: Floyd 2000; adaptive: Floyd, Gummadi and Shenker 2001."""

from __future__ import annotations

import math

from base import NOT_ECT, SECOND, Bytes, Model, Packet, Timer, less


class Red(Model):
    """Figure 2 with ``count`` as printed: -1 below min_th, 0 at a signal, one more before each decision."""

    DEFAULTS = {
        "limit": "1000p",
        "min": "5p",
        "max": "15p",
        "max_p": "0.1",
        "w": "0.002",
        "avpkt": "1000B",
        "gentle": "false",
        "wait": "false",
        "bytemode": "false",
        "ecn": "false",
        "harddrop": "false",
        "nodrop": "false",
        "adaptive": "false",
        "target": "5ms",
        "interval": "500ms",
        "alpha": "0.01",
        "beta": "0.9",
    }
    PRESETS = {
        # ns-3's RedQueueDisc by default.
        "ns3": "limit 25p min 5p max 15p max_p 0.02 w 0.002 avpkt 500B gentle wait harddrop",
        # The example of tc-red(8).
        "linux-6.12": "limit 400kB min 30kB max 90kB max_p 0.02 w 0.03125 avpkt 1000B",
        # Shu (2023), Tables 2 and 3, over ns-3's.
        "shu2023": "limit 2000p min 500p max 1000p max_p 0.02 w 0.002 avpkt 500B gentle wait harddrop",
    }
    TEXTS = (
        "w 0.3 ecn",
        "w 0.1 limit 30p gentle",
        "w 0.5 min 2p max 9p max_p 0.4 gentle ecn harddrop",
        "w 0.2 min 3p max 12p max_p 0.3 wait gentle ecn",
        "w 0.4 min 3kB max 30kB max_p 0.2 bytemode limit 60kB",
        "w 0.4 min 3kB max 30kB max_p 0.2 bytemode wait avpkt 300B ecn",
        "w 1 min 1p max 8p max_p 0.5 limit 40p",
        "min none max none w none ecn",
        "w 0.25 adaptive interval 100ms alpha 0.05 beta 0.8 max_p 0.05",
        "w 0.25 min 4p max none adaptive interval 20ms target 1ms ecn gentle",
        "w 0.5 min 2p max 6p max_p 0.5 ecn nodrop limit 30p",
        "w 0.5 min 2p max 6p max_p 0.5 ecn nodrop harddrop gentle",
        "preset ns3 w 0.2",
        "preset linux-6.12 w 0.2",
        "preset shu2023",
    )

    def setup(self) -> None:
        self.avg = 0.0
        self.count = -1
        self.count_bytes = 0
        self.idle_since: int | None = None
        self.max_p = self.params.max_p
        self.probability = 0.0
        self.timer = Timer(getattr(self.params, "interval", SECOND))

    def has(self, flag: str) -> bool:
        """Return whether ``flag`` is on; algorithms built on RED lack some."""
        return bool(getattr(self.params, flag, False))

    # What Adaptive RED sets by itself (section 5).

    @property
    def packets_s(self) -> float:
        """C, the link's rate in mean packets a second."""
        return self.world.rate / 8 / self.params.avpkt

    @property
    def w(self) -> float:
        """Weight of one arrival."""
        if self.params.w != "none":
            return self.params.w
        return 1.0 if self.packets_s == 0 else -math.expm1(-1 / self.packets_s)

    @property
    def min(self) -> float:
        """min_th."""
        if self.params.min != "none":
            return float(self.params.min)
        return max(5.0, self.params.target / SECOND * self.packets_s / 2)

    @property
    def max(self) -> float:
        """max_th."""
        return 3 * self.min if self.params.max == "none" else float(self.params.max)

    def decayed(self, at: int) -> float:
        """Give the average at ``at``: (1 - w)^m of it after m mean packet times of idleness."""
        if self.idle_since is None:
            return self.avg
        m = (at - self.idle_since) / SECOND * self.packets_s
        return self.avg * (1 - self.w) ** m

    def is_adaptive(self) -> bool:
        """Return whether max_p adapts."""
        return self.has("adaptive")

    def run_timers(self) -> None:
        while self.is_adaptive() and (at := self.timer.due(self.world.now)) is not None:
            avg, width = self.decayed(at), self.max - self.min
            if not less(avg, self.min + 0.6 * width) and avg != self.min + 0.6 * width:
                if self.max_p <= 0.5:
                    self.max_p = min(0.5, self.max_p + min(self.params.alpha, self.max_p / 4))
            elif less(avg, self.min + 0.4 * width) and self.max_p >= 0.01:
                self.max_p = max(0.01, self.max_p * self.params.beta)

    def p_b(self) -> float | None:
        """Give the probability before spreading; none where every arrival is signalled."""
        if less(self.avg, self.max):
            return self.max_p * (self.avg - self.min) / (self.max - self.min)
        if self.has("gentle") and less(self.avg, 2 * self.max):
            return self.max_p + (1 - self.max_p) * (self.avg - self.max) / self.max
        return None

    def p_a(self, p_b: float, packet: Packet) -> float:
        """Spread by the arrivals since the last signal."""
        count = self.count_bytes / self.params.avpkt if self.has("bytemode") else self.count
        if self.has("wait"):
            if less(count * p_b, 1):
                return 0.0
            p = p_b / (2 - count * p_b) if less(count * p_b, 2) else 1.0
        else:
            p = p_b / (1 - count * p_b) if less(count * p_b, 1) else 1.0
        p = min(p, 1.0)
        if self.has("bytemode") and p < 1:
            p = min(1.0, p * packet.bytes / self.params.avpkt)
        return p

    def average(self) -> None:
        """Compute the new average queue size at an arrival."""
        q = self.bytes if isinstance(self.params.min, Bytes) else len(self.queue)
        if q == 0 and self.idle_since is not None:
            self.avg = self.decayed(self.world.now)
            self.idle_since = self.world.now
        else:
            self.idle_since = None
            self.avg = (1 - self.w) * self.avg + self.w * q

    def restart(self) -> None:
        """Count from this signal on."""
        self.count = self.count_bytes = 0

    def arrive(self, packet: Packet) -> None:
        self.timer.start(self.world.now)
        self.average()
        self.decide(packet)

    def decide(self, packet: Packet) -> None:
        """Everything after the average."""
        if self.is_full(packet):
            self.restart()
            self.world.drop(packet, "overflow")
            return
        ecn = self.params.ecn
        if less(self.avg, self.min):
            self.count, self.count_bytes, self.probability = -1, 0, 0.0
            self.join(packet)
            return
        p_b = self.p_b()
        if p_b is None:
            self.probability = 1.0
            ecn = ecn and not self.has("harddrop")
        else:
            # Bytes count from the first packet after the one that left -1.
            self.count_bytes = 0 if self.count < 0 else self.count_bytes + packet.bytes
            self.count += 1
            self.probability = self.p_a(p_b, packet)
        if p_b is not None and not self.world.chance(self.probability):
            self.join(packet)
            return
        self.restart()
        # tc's nodrop: what cannot be marked is queued; harddrop goes before it.
        if (ecn and self.has("nodrop") and packet.ecn == NOT_ECT) or self.world.signal(packet, ecn):
            self.join(packet)

    def ask(self) -> Packet | None:
        packet = self.leave()
        if packet is not None:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = self.world.now
        return packet

    def internals(self) -> dict[str, float]:
        return {
            "avg": self.avg,
            "count": self.count,
            "probability": self.probability,
            "max_p": self.max_p,
            "min": self.min,
            "max": self.max,
            "w": self.w,
        }

    def instants(self) -> list[int]:
        return [self.timer.next or 0] if self.is_adaptive() else []


class Ared(Red):
    """RED with ``adaptive`` on and thresholds and weight from the link."""

    DEFAULTS = {name: text for name, text in Red.DEFAULTS.items() if name not in {"adaptive", "nodrop"}} | {
        "min": "none",
        "max": "none",
        "w": "none",
        "gentle": "true",
    }
    PRESETS = {"shu2023": Red.PRESETS["shu2023"]}
    TEXTS = (
        "ecn",
        "w 0.3 target 2ms interval 50ms",
        "w 0.3 min 3p max 12p interval 50ms alpha 0.1 beta 0.5 limit 9p",
        "nogentle w 0.2 avpkt 300B wait ecn harddrop interval 30ms",
        "w 0.4 min 3kB max 30kB max_p 0.2 bytemode interval 10ms",
        "preset shu2023 w 0.5",
    )

    def is_adaptive(self) -> bool:
        return True
