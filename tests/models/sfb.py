"""Stochastic fair BLUE: Feng et al. 2001; tc-sfb(8) and the rules of ALGORITHMS."""

from __future__ import annotations

from base import NEAR, SECOND, Model, Packet, Tie, Timer, less

MASK = 2**64 - 1


class Sfb(Model):
    """Eight levels of sixteen bins; the bins of each generation of the hash by (level, number)."""

    DEFAULTS = {
        "limit": "1000p",
        "target": "20p",
        "max": "25p",
        "increment": "0.001",
        "decrement": "0.00016666666666666666",
        "penalty_rate": "10",
        "penalty_burst": "20p",
        "rehash": "600s",
        "db": "60s",
        "ecn": "true",
    }
    TEXTS = (
        "limit 90p",
        "target 3p max 9p increment 0.1 decrement 0.05 noecn limit 60p",
        "target 2p max 12p increment 0.25 decrement 0.02 penalty_rate 200 penalty_burst 3p limit 40kB",
        "target 2p max 20p increment 0.3 decrement 0.01 rehash 30ms db 12ms penalty_rate 1000",
        "target 1p max 8p increment 0.2 rehash 5ms db 5ms limit 30p penalty_burst 1p",
        "target 4p max 15p increment 0.05 decrement 0.01 rehash 0ns",
    )
    SEEN = Model.SEEN | {"flow"}

    def setup(self) -> None:
        self.seed: int | None = None
        self.generation = 0
        self.timer = Timer(self.params.rehash)
        self.p: dict[tuple[int, int, int], float] = {}  # generation, level, bin
        self.packets: dict[tuple[int, int, int], int] = {}
        self.where: dict[int, list[tuple[int, int, int]]] = {}
        self.tokens = float(self.params.penalty_burst)
        self.filled = 0

    def bins(self, flow: int, generation: int) -> list[tuple[int, int, int]]:
        """Give a flow's bins: four bits of a 32-bit hash a level."""
        x = (self.seed + generation & MASK) ^ (flow * 0x9E3779B97F4A7C15 & MASK)
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        return [(generation, level, (x >> 32) >> (4 * level) & 15) for level in range(8)]

    def run_timers(self) -> None:
        while self.params.rehash and self.timer.due(self.world.now) is not None:
            left = self.generation
            self.generation += 1
            self.p = {key: p for key, p in self.p.items() if key[0] != left}
            self.packets = {key: n for key, n in self.packets.items() if key[0] != left}

    def learn(self, bins: list[tuple[int, int, int]]) -> tuple[float, int]:
        """Bins that are empty forgive, those at target tighten; give the least of both."""
        for key in bins:
            n, p = self.packets.get(key, 0), self.p.get(key, 0.0)
            if n == 0:
                self.p[key] = max(0.0, p - self.params.decrement)
            elif n >= self.params.target:
                self.p[key] = min(1.0, p + self.params.increment)
        return min(self.p.get(key, 0.0) for key in bins), min(self.packets.get(key, 0) for key in bins)

    def is_warming(self) -> bool:
        """Return whether the bins to come are being filled."""
        return bool(self.params.rehash) and self.world.now >= self.timer.next - self.params.db

    def excuses(self) -> bool:
        """Take a token of the penalty box, if there is one."""
        now = self.world.now
        gained = self.params.penalty_rate * (now - self.filled) / SECOND
        self.tokens = min(float(self.params.penalty_burst), self.tokens + gained)
        self.filled = now
        if less(self.tokens, 1.0):
            return False
        self.tokens -= 1
        return True

    def arrive(self, packet: Packet) -> None:
        if self.seed is None:
            self.seed = self.world.u64()
            self.filled = self.world.now
            self.timer.start(self.world.now)
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            return
        bins = self.bins(packet.flow, self.generation)
        p, n = self.learn(bins)
        if n >= self.params.max:
            self.world.drop(packet, "flow")
            return
        if not less(p, 1.0):
            if self.is_warming():
                later = self.bins(packet.flow, self.generation + 1)
                self.learn(later)
                bins += later
            if not self.excuses():
                self.world.drop(packet, "flow")
                return
        elif p > 0:
            if p < 1e-12:
                raise Tie
            draw = (self.world.u64() >> 11) / 2**53
            if abs(draw - p) <= NEAR or abs(draw - 2 * (p - 0.5)) <= NEAR:
                raise Tie
            # The share 2 (p - 1/2) is dropped even if it could be marked.
            if draw < p and not self.world.signal(packet, self.params.ecn and draw >= 2 * (p - 0.5)):
                return
        for key in bins:
            self.packets[key] = self.packets.get(key, 0) + 1
        self.where[packet.serial] = bins
        self.join(packet)

    def ask(self) -> Packet | None:
        packet = self.leave()
        if packet is not None:
            for key in self.where.pop(packet.serial):
                if key in self.packets:
                    self.packets[key] -= 1
        return packet

    def internals(self) -> dict[str, float]:
        now = [key for key in {*self.p, *self.packets} if key[0] == self.generation]
        return {
            "greatest_probability": max((self.p.get(key, 0.0) for key in now), default=0.0),
            "greatest_bin_packets": max((self.packets.get(key, 0) for key in now), default=0),
            "penalty_tokens": self.tokens,
            "rehashes": self.generation,
        }

    def instants(self) -> list[int]:
        following = self.timer.next or 0
        return [following, following - self.params.db] if self.params.rehash else []
