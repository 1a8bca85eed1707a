"""SRED: Ott, Lakshman and Wong 1999, sections II to V."""

from __future__ import annotations

from base import Bytes, Model, Packet


class Sred(Model):
    """A list of seen flows, the frequency of hits in it, and p_zap."""

    DEFAULTS = {
        "limit": "1000p",
        "zombies": "1000",
        "replace": "0.25",
        "max_p": "0.15",
        "flows": "256",
        "variant": "full",
        "ecn": "false",
    }
    TEXTS = (
        "limit 20p zombies 4 flows 4 ecn",
        "limit 12p zombies 7 replace 1 flows 2 variant simple max_p 0.5 ecn",
        "limit 30kB zombies 3 replace 0.5 flows 9 max_p 0.9 ecn",
        "limit 40p zombies 1 ecn",
        "limit 25p ecn",
    )

    def setup(self) -> None:
        self.zombies: list[int] = []
        self.hit_frequency = self.probability = 0.0

    def arrive(self, packet: Packet) -> None:
        room = int(self.params.zombies)
        hit = False
        if len(self.zombies) < room:
            self.zombies.append(packet.flow)
        else:
            at = self.world.below(room)
            hit = self.zombies[at] == packet.flow
            if not hit and self.world.chance(self.params.replace):
                self.zombies[at] = packet.flow
            a = 1 / room
            self.hit_frequency = (1 - a) * self.hit_frequency + a * hit
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            return
        self.probability = min(1.0, self.p_sred() * self.share() * self.factor(hit))
        if not self.world.chance(self.probability) or self.world.signal(packet, self.params.ecn):
            self.join(packet)

    def p_sred(self) -> float:
        """Steps at a sixth and a third of the buffer (equation 4.3)."""
        q = self.bytes if isinstance(self.params.limit, Bytes) else len(self.queue)
        if q >= self.params.limit / 3:
            return self.params.max_p
        return self.params.max_p / 4 if q >= self.params.limit / 6 else 0.0

    def share(self) -> float:
        """min(1, 1/(256 P)^2)."""
        return min(1.0, (self.params.flows * self.hit_frequency) ** -2) if self.hit_frequency else 1.0

    def factor(self, hit: bool) -> float:
        """1 + Hit/P (section IV)."""
        return 1 + 1 / self.hit_frequency if hit and self.params.variant == "full" else 1.0

    def internals(self) -> dict[str, float]:
        p = self.hit_frequency
        return {
            "probability": self.probability,
            "hit_frequency": p,
            "n_flows": 1 / p if p else 0.0,
            "zombies": len(self.zombies),
        }
