"""CARE: Chan and Hamdi 2003, read as in the library's header; Burnham and Overton 1978 for the number of flows."""

from __future__ import annotations

from collections import Counter

from base import Model, Packet, less


class Care(Model):
    """A list of captured arrivals, the jackknife, and the excess over a fair share."""

    DEFAULTS = {"limit": "1000p", "p_cap": "0.04", "captures": "200", "q_th": "5p"}
    TEXTS = (
        "limit 20p p_cap 0.5 captures 30",
        "limit 12p p_cap 1 captures 9 q_th 2p",
        "limit 30kB p_cap 0.2 captures 3 q_th 0p",
        "limit 25p p_cap 0.3",
    )
    SEEN = frozenset({"overflow", "flow"})

    def setup(self) -> None:
        self.list: list[int] = []
        self.probability = 0.0

    def flows(self) -> float:
        """Distinct flows, and for those captured once (c - 1)/c each."""
        times = Counter(self.list)
        c = len(self.list)
        return len(times) + sum(n == 1 for n in times.values()) * (c - 1) / c if c else 0.0

    def arrive(self, packet: Packet) -> None:
        if self.world.chance(self.params.p_cap):
            self.list = [*self.list, packet.flow][-int(self.params.captures) :]
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            return
        self.probability = 0.0
        n = self.list.count(packet.flow)
        if len(self.queue) > self.params.q_th and n:
            c, most = len(self.list), self.flows() * n
            self.probability = 1 - c / most if less(c, most) else 0.0
        if self.world.chance(self.probability):
            self.world.drop(packet, "flow")
        else:
            self.join(packet)

    def internals(self) -> dict[str, float]:
        times = Counter(self.list)
        return {
            "probability": self.probability,
            "captures": len(self.list),
            "captured_flows": len(times),
            "captured_once": sum(n == 1 for n in times.values()),
            "n_flows": self.flows(),
        }
