"""Fair queueing over any model of one queue: RFC 8290 sections 4.1 and 4.2."""

from __future__ import annotations

from base import Model, Packet, World, parameters

MASK = 2**64 - 1


def place(flow: int, seed: int, queues: int) -> int:
    """Hash a flow: splitmix64's finaliser over flow and seed, scaled to the number of queues."""
    x = seed ^ (flow * 0x9E3779B97F4A7C15 & MASK)
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    x ^= x >> 31
    return x * queues >> 64


FAIR = {"limit": "10240p", "flows": "1024", "quantum": "1514B", "memory_limit": "33554432B", "drop_batch": "64p"}


class FairQueue(Model):
    """``INNER`` runs in every queue, without a limit of its own."""

    INNER: type[Model]
    #: Defaults of the inner algorithm that differ here.
    INNER_DEFAULTS: dict[str, str] = {}

    def __init__(self, world: World, words: list[str]) -> None:
        inner = self.INNER
        self.inner_defaults = {k: v for k, v in (inner.DEFAULTS | self.INNER_DEFAULTS).items() if k != "limit"}
        both = FAIR | self.inner_defaults
        given = parameters(both, words)
        self.inner_words = []
        for name, text in self.inner_defaults.items():
            value = getattr(given, name)
            if isinstance(value, bool):
                self.inner_words.append(name if value else f"no{name}")
            else:
                unit = {"Ns": "ns", "Packets": "p", "Bytes": "B", "Rate": "bit"}.get(type(value).__name__, "")
                self.inner_words += [name, f"{int(value) if unit else value}{unit}"]
            del text
        self.world = world
        self.params = given
        self.seed: int | None = None
        self.flows: dict[int, Model] = {}  # in the order of their first packets
        self.credits: dict[int, int] = {}
        self.new: list[int] = []
        self.old: list[int] = []

    def fresh(self) -> Model:
        """One more queue."""
        words = [*self.inner_words]
        # One beyond what the container can let it hold: never met.
        if self.INNER.DEFAULTS["limit"].endswith("B"):
            words += ["limit", f"{self.params.memory_limit + 2**32 - 1}B"]
        else:
            words += ["limit", f"{self.params.limit + 1}p"]
        return self.INNER(self.world, words)

    @property
    def queue(self) -> list[Packet]:
        return [packet for flow in self.flows.values() for packet in flow.queue]

    def run_timers(self) -> None:
        for flow in self.flows.values():
            flow.run_timers()

    def rate_changes(self) -> None:
        for flow in self.flows.values():
            flow.rate_changes()

    def fattest(self) -> Model | None:
        """The queue with the most bytes; among equals the one first used."""
        most = max((flow.bytes for flow in self.flows.values()), default=0)
        return next((flow for flow in self.flows.values() if flow.bytes == most), None) if most else None

    def arrive(self, packet: Packet) -> None:
        if self.seed is None:
            self.seed = self.world.u64()
        at = place(packet.flow, self.seed, int(self.params.flows))
        if at not in self.flows:
            flow = self.fresh()
            flow.bytes_beside = lambda: self.bytes - flow.bytes
            self.flows[at] = flow
            flow.run_timers()
        self.flows[at].arrive(packet)
        if self.flows[at].queue and at not in self.new and at not in self.old:
            self.new.append(at)
            self.credits[at] = self.params.quantum
        while len(self.queue) > self.params.limit or self.memory > self.params.memory_limit:
            flow = self.fattest()
            drops = min((len(flow.queue) + 1) // 2, self.params.drop_batch)
            for _ in range(drops):
                self.world.drop(flow.queue.pop(0), "overflow")
            flow.overflowed(drops)

    def ask(self) -> Packet | None:
        while self.new or self.old:
            lane = self.new or self.old
            at = lane[0]
            if self.credits[at] <= 0:
                self.credits[at] += self.params.quantum
                self.old.append(lane.pop(0))
                continue
            packet = self.flows[at].ask()
            if packet is not None:
                self.credits[at] -= packet.bytes
                return packet
            lane.pop(0)
            if lane is self.new:
                self.old.append(at)
        return None

    def internals(self) -> dict[str, float]:
        flow = self.fattest()
        shown = flow or self.fresh()
        return {
            "queues": len(self.flows),
            "new_queues": len(self.new),
            "old_queues": len(self.old),
            "fattest_packets": len(flow.queue) if flow else 0,
            "fattest_bytes": flow.bytes if flow else 0,
        } | shown.internals()

    def instants(self) -> list[int]:
        return [instant for flow in list(self.flows.values())[:3] for instant in flow.instants()]


def over(inner: type[Model], *texts: str, defaults: dict[str, str] | None = None) -> type[FairQueue]:
    """Make the fair queue over ``inner``."""
    changed = defaults or {}
    members = {
        "__doc__": f"Fair queueing over {inner.__name__}.",
        "INNER": inner,
        "INNER_DEFAULTS": changed,
        "DEFAULTS": {k: v for k, v in (inner.DEFAULTS | changed).items() if k != "limit"} | FAIR,
        "LEFT_OUT": inner.LEFT_OUT | dict.fromkeys(inner.PRESETS, "set inside a queue"),
        "TEXTS": texts,
        "SEEN": frozenset({"overflow"}) | inner.SEEN,
        "LONGEST": min(inner.LONGEST, 20_000_000_000),
    }
    return type(f"Fair{inner.__name__}", (FairQueue,), members)
