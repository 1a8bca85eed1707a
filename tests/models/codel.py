"""CoDel: the pseudocode of RFC 8289 section 5; ECN and ce_threshold as in tc-codel(8).

With Linux's Newton step all times are in whole units of 1024 ns, and the interval must be over: "after", not "at".
"""

from __future__ import annotations

import math

from base import MILLISECOND, Model, Ns, Packet


class Law:
    """``interval / sqrt(count)`` in whole nanoseconds, or a Newton step in 16 bits a change of count and 1024 ns."""

    def __init__(self, law: str, interval: int) -> None:
        self.newton = law == "newton"
        self.interval = self.whole(interval)
        self.inverse = 0xFFFF

    def whole(self, time: int) -> int:
        """Round down to the law's unit of time."""
        return time >> 10 << 10 if self.newton else time

    def restart(self) -> None:
        """Count is 1."""
        self.inverse = 0xFFFF

    def step(self, count: int) -> None:
        """One step: y (3 - count y^2)/2 with y in the upper 16 of 32 bits."""
        y = self.inverse << 16
        square = (y * y) >> 32
        half = (((3 << 32) - count * square) & (2**64 - 1)) >> 2  # a quarter: the doubled product is taken by >> 31
        self.inverse = (((half * y) & (2**64 - 1)) >> 31 & 0xFFFFFFFF) >> 16

    def spacing(self, count: int) -> int:
        """Give the time to the next drop."""
        if self.newton:
            return ((self.interval >> 10) * self.inverse >> 16) << 10
        exact = self.interval / math.sqrt(count)
        return math.floor(exact + 0.5)


class Codel(Model):
    """RFC 8289 section 5."""

    DEFAULTS = {
        "limit": "1000p",
        "target": "5ms",
        "interval": "100ms",
        "ecn": "false",
        "ce_threshold": "none",
        "ce_threshold_selector": "none",
        "mtu": "1514B",
        "mtu_counts": "queue",
        "control_law": "exact",
        "count_overflow": "false",
        "stale_first_above": "false",
    }
    PRESETS = {"linux-6.12": "control_law newton mtu_counts all count_overflow"}
    TEXTS = (
        "",
        "ecn",
        "target 1ms interval 10ms limit 60p ecn",
        "target 500us interval 5ms limit 40kB ce_threshold 300us",
        "target 100us interval 1ms mtu 0B limit 25p count_overflow",
        "control_law newton ecn ce_threshold 20ms",
        "control_law newton target 1ms interval 8ms limit 90p",
        "control_law newton mtu_counts all target 1ms interval 4ms",
        "control_law newton mtu_counts all stale_first_above target 1ms interval 4ms",
        "preset linux-6.12 ecn target 300us interval 2ms",
        "target 0ns interval 3ms mtu 3000B",
        "ce_threshold 200us ce_threshold_selector 0x1/0x3",
        "ce_threshold 100us ce_threshold_selector 0x28/0x2a ecn target 1ms interval 10ms",
    )

    def setup(self) -> None:
        self.first_above_time: int | None = None
        self.drop_next = 0
        self.count = 0
        self.lastcount = 0
        self.dropping = False
        self.law = Law(self.params.control_law, self.params.interval)

    def arrive(self, packet: Packet) -> None:
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            self.overflowed(1)
        else:
            self.join(packet)

    def overflowed(self, packets: int) -> None:
        if self.params.count_overflow:
            self.count += packets

    def dodequeue(self) -> tuple[Packet | None, bool]:
        """Section 5.5."""
        now = self.law.whole(self.world.now)
        packet = self.leave()
        if packet is None:
            self.first_above_time = None
            return None, False
        sojourn = self.law.whole(self.world.now - packet.enqueued)
        waiting = self.bytes + (self.bytes_beside() if self.params.mtu_counts == "all" else 0)
        if sojourn < self.law.whole(self.params.target) or waiting <= self.params.mtu:
            self.first_above_time = None
            return packet, False
        if self.first_above_time is None:
            self.first_above_time = now + self.law.interval
            return packet, False
        return packet, now > self.first_above_time if self.law.newton else now >= self.first_above_time

    def dequeue(self) -> Packet | None:
        """Section 5.6."""
        if self.params.stale_first_above and not self.queue:
            # Linux before its fix of 2026 and ns-3 leave their dequeue before they look at the sojourn time.
            self.dropping = False
            return None
        now = self.law.whole(self.world.now)
        packet, ok_to_drop = self.dodequeue()
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                self.count += 1
                self.law.step(self.count)
                if self.world.signal(packet, self.params.ecn):
                    # Marked in place of dropped: it leaves.
                    self.drop_next += self.law.spacing(self.count)
                    return packet
                packet, ok_to_drop = self.dodequeue()
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next += self.law.spacing(self.count)
        elif ok_to_drop:
            if not self.world.signal(packet, self.params.ecn):
                packet, _ = self.dodequeue()
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * self.law.interval:
                self.count = delta
                self.law.step(self.count)
            else:
                self.law.restart()
            self.drop_next = now + self.law.spacing(self.count)
            self.lastcount = self.count
        return packet

    def ask(self) -> Packet | None:
        packet = self.dequeue()
        threshold = self.params.ce_threshold
        if packet and threshold != "none" and self.world.now - packet.enqueued > threshold and self.selects(packet):
            self.world.mark(packet)
        return packet

    def selects(self, packet: Packet) -> bool:
        """VALUE/MASK over the byte of DSCP and ECN."""
        if self.params.ce_threshold_selector == "none":
            return True
        wanted, mask = (int(text, 16) for text in self.params.ce_threshold_selector.split("/"))
        return (packet.dscp * 4 + packet.ecn) & mask == wanted

    def internals(self) -> dict[str, float]:
        above = self.first_above_time
        return {
            "count": self.count,
            "dropping": int(self.dropping),
            "drop_next_s": Ns(self.drop_next),
            "first_above_s": math.nan if above is None else Ns(above),
        }

    def instants(self) -> list[int]:
        due = [self.drop_next, self.first_above_time or 0, self.drop_next + 16 * self.params.interval]
        return (
            due + [packet.enqueued + self.params.target for packet in self.queue[:3]] + [self.world.now + MILLISECOND]
        )
