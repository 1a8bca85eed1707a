"""Tail drop and the two rules that look at the queue length alone."""

from __future__ import annotations

from base import Model, Packet, Packets


class Pfifo(Model):
    """tc-pfifo(8): at most ``limit`` packets wait."""

    DEFAULTS = {"limit": "1000p"}
    TEXTS = ("limit 7p", "limit 0p", "limit 40p", "")
    SEEN = frozenset({"overflow"})

    def arrive(self, packet: Packet) -> None:
        if len(self.queue) + 1 > self.params.limit:
            self.world.drop(packet, "overflow")
        else:
            self.join(packet)


class Bfifo(Model):
    """tc-bfifo(8): at most ``limit`` bytes wait."""

    DEFAULTS = {"limit": "1514000B"}
    TEXTS = ("limit 9kB", "limit 1514B", "limit 0B", "")
    SEEN = frozenset({"overflow"})

    def arrive(self, packet: Packet) -> None:
        if self.bytes + packet.bytes > self.params.limit:
            self.world.drop(packet, "overflow")
        else:
            self.join(packet)


class Threshold(Model):
    """Drop when the queue reaches (or exceeds) q_th, counted before the arrival joins."""

    DEFAULTS = {"limit": "1000p", "q_th": "15p", "at": "reaches", "ecn": "false"}
    TEXTS = ("", "q_th 5p at exceeds limit 20p ecn", "q_th 0p", "q_th 4p limit 9kB ecn", "limit 9p ecn q_th 30p")

    def arrive(self, packet: Packet) -> None:
        most = self.params.q_th + (1 if self.params.at == "exceeds" else 0)
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
        elif len(self.queue) < most or self.world.signal(packet, self.params.ecn):
            self.join(packet)

    def internals(self) -> dict[str, float]:
        return {"q_th": Packets(self.params.q_th)}
