"""COBALT, from what sch_cake and CobaltQueueDisc do (no RFC exists): CoDel whose count decays, BLUE beside."""

from __future__ import annotations

from base import SECOND, Bytes, Model, Ns, Packet
from codel import Law


class CobaltLaw(Law):
    """Newton: converged values below count 16 (four steps a count from 1 on), one step a change from there on."""

    def settle(self, count: int) -> None:
        """Count became ``count``."""
        if count >= 16:
            self.step(count)
        else:
            self.restart()
            for n in range(2, count + 1):
                for _ in range(4):
                    self.step(n)

    def spacing(self, count: int) -> int:
        """Give the time to the next change, in ns under either law; the values for 0 and 1 are the same."""
        if self.newton:
            return (self.interval * self.inverse) >> 16
        return super().spacing(max(count, 1))


class Control:
    """State and decisions for one queue."""

    def __init__(self, params: object, target: int, interval: int, *, is_spaced: bool = True) -> None:
        self.params = params
        # sch_cake's reciprocal root is 0 before the count has changed for the first time (1 for none counts as none).
        self.is_spaced = is_spaced
        self.target = target
        self.law = CobaltLaw(params.control_law, interval)
        self.law.interval = self.interval = interval
        self.count = 0
        self.dropping = False
        self.drop_next = 0
        self.p = 0.0
        self.blue_moved = 0

    def _count(self, by: int) -> None:
        self.count = min(self.count + by, 2**32 - 1)
        self.is_spaced = True
        self.law.settle(self.count)

    def _next(self, start: int) -> None:
        self.drop_next = start + (self.law.spacing(self.count) if self.is_spaced else 0)

    def _may_move(self, now: int) -> bool:
        """At most once per target."""
        if now - self.blue_moved > self.target:
            self.blue_moved = now
            return True
        return False

    def _raise(self, now: int) -> None:
        if self._may_move(now):
            self.p = min(1.0, self.p + self.params.p_inc)

    def full(self, now: int) -> None:
        """Hear of an overflow."""
        self._raise(now)
        self.dropping, self.drop_next = True, now
        self.count = max(self.count, 1)

    def empty(self, now: int) -> None:
        """Hear that nothing waits."""
        if self.p > 0 and self._may_move(now):
            self.p = max(0.0, self.p - self.params.p_dec)
        self.dropping = False
        if self.count and now >= self.drop_next:
            self._count(-1)
            self._next(self.drop_next)

    def drops(self, world: object, packet: Packet, least: int) -> bool:
        """Judge the head."""
        now = world.now
        waited = now - packet.enqueued
        is_due = self.count > 0 and now >= self.drop_next
        is_behind = now > self.drop_next
        if waited > self.target and waited > least:
            if not self.dropping:
                self._next(now)
            self.dropping = True
            self.count = max(self.count, 1)
        else:
            self.dropping = False
        drop = False
        if is_due:
            if self.dropping:
                drop = not (self.params.ecn and world.mark(packet))
                self._count(1)
                self._next(self.drop_next)
            else:
                while self.count and now >= self.drop_next:
                    self._count(-1)
                    self._next(self.drop_next)
            is_behind = now > self.drop_next
        blue_threshold = getattr(self.params, "blue_threshold", "none")
        if blue_threshold != "none" and waited > blue_threshold:
            self._raise(now)
        if world.chance(self.p):
            drop = True
        if self.count == 0:
            self.drop_next = now + self.interval
        elif is_behind and not drop:
            self.drop_next = now
        return drop

    def internals(self) -> dict[str, float]:
        """Give the named internals."""
        return {
            "count": self.count,
            "dropping": int(self.dropping),
            "drop_next_s": Ns(self.drop_next),
            "drop_probability": self.p,
        }


class Cobalt(Model):
    """One queue under COBALT."""

    DEFAULTS = {
        "limit": "1000p",
        "target": "5ms",
        "interval": "100ms",
        "ecn": "false",
        "ce_threshold": "none",
        "p_inc": "0.00390625",
        "p_dec": "0.000244140625",
        "blue_threshold": "none",
        "mtu": "none",
        "control_law": "exact",
    }
    PRESETS = {
        "ns3": "blue_threshold 400ms",
        "shu2023": "blue_threshold 400ms p_inc 0.08 p_dec 0.04",
    }
    TEXTS = (
        "",
        "ecn limit 20p",
        "target 1ms interval 10ms limit 30p p_inc 0.1 p_dec 0.05 ecn",
        "target 200us interval 2ms limit 20kB ce_threshold 100us control_law newton",
        "control_law newton target 2ms interval 8ms ecn",
        "target 1ms interval 5ms p_inc 0.3 p_dec 0.2 blue_threshold 20ms mtu 1514B",
        "preset shu2023 target 1ms interval 20ms",
        "preset ns3",
    )
    LONGEST = 100 * SECOND

    def setup(self) -> None:
        self.control = Control(self.params, self.params.target, self.params.interval)

    def arrive(self, packet: Packet) -> None:
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            self.control.full(self.world.now)
        else:
            self.join(packet)

    def overflowed(self, packets: int) -> None:
        self.control.full(self.world.now)

    def ask(self) -> Packet | None:
        least = 0
        if isinstance(self.params.mtu, Bytes):
            # Four times what one such packet takes on the link, in whole ns; at rate 0 it never goes.
            time = self.params.mtu * 8 * SECOND // self.world.rate if self.world.rate else 1 << 62
            least = 4 * time
        while (packet := self.leave()) is not None:
            if self.control.drops(self.world, packet, least):
                self.world.drop(packet, "early")
                continue
            threshold = self.params.ce_threshold
            if threshold != "none" and self.world.now - packet.enqueued > threshold:
                self.world.mark(packet)
            return packet
        self.control.empty(self.world.now)
        return None

    def internals(self) -> dict[str, float]:
        return self.control.internals()

    def instants(self) -> list[int]:
        head = [self.queue[0].enqueued + self.params.target] if self.queue else []
        return [self.control.drop_next, self.control.blue_moved + self.params.target, *head]
