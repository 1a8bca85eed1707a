"""CAKE: what sch_cake does, as Høiland-Jørgensen, Täht and Morton 2018 and tc-cake(8) tell it, with our readings."""

from __future__ import annotations

from types import SimpleNamespace

from base import MILLISECOND, SECOND, Model, Packet
from cobalt import Control

MASK = 2**64 - 1
MTU = 1514
RTTS = {
    "datacentre": "100us",
    "lan": "1ms",
    "metro": "10ms",
    "regional": "30ms",
    "internet": "100ms",
    "oceanic": "300ms",
    "satellite": "1s",
    "interplanetary": "1000s",
}

# Codepoints by name (RFC 2474, 2597, 3246, 5865, 8622).
CS = [8 * n for n in range(8)]
AF = {f"{x}{y}": 8 * x + 2 * y for x in range(1, 5) for y in range(1, 4)}
EF, VA, LE = 46, 44, 1


def tins(diffserv: str) -> list[int]:
    """Give the tin of each of the 64 codepoints, as tc-cake(8) lists them."""
    by_code = [0] * 64
    if diffserv == "precedence":
        return [code >> 3 for code in range(64)]
    if diffserv == "diffserv3":
        named = {1: [CS[1], LE], 2: [CS[7], CS[6], EF, VA, 4]}
    elif diffserv == "diffserv4":
        streaming = [CS[3], CS[2], 4, *(code for name, code in AF.items() if name[0] in "234")]
        named = {1: [CS[1], LE], 2: streaming, 3: [CS[7], CS[6], EF, VA, CS[5], CS[4]]}
    elif diffserv == "diffserv8":
        by_code = [2] * 64
        named = {
            0: [CS[1], LE],
            1: [2, AF["11"], AF["12"], AF["13"]],
            3: [CS[3], *(code for name, code in AF.items() if name[0] in "34")],
            4: [4, AF["21"], AF["22"], AF["23"]],
            5: [CS[2]],
            6: [EF, VA, CS[5], CS[4]],
            7: [CS[7], CS[6]],
        }
    else:
        named = {}
    for tin, codes in named.items():
        for code in codes:
            by_code[code] = tin
    return by_code


def shares(diffserv: str) -> list[tuple[int, int, int]]:
    """Give each tin's part of the bandwidth (of how many) and its weight without a shaper."""
    if diffserv == "besteffort":
        return [(1, 1, 65535)]
    if diffserv == "diffserv3":
        return [(1, 1, 1024), (1, 16, 64), (1, 4, 256)]
    if diffserv == "diffserv4":
        return [(1, 1, 1024), (1, 16, 64), (1, 2, 512), (1, 4, 256)]
    weights = [256]
    for _ in range(7):
        weights.append(weights[-1] * 7 // 8)
    return [(7**n, 8**n, weight) for n, weight in enumerate(weights)]


class Flow:
    """One queue."""

    def __init__(self, control: Control) -> None:
        self.packets: list[Packet] = []
        self.control = control
        self.deficit = 0
        self.state = "idle"
        self.hosts = [0, 0]

    @property
    def bytes(self) -> int:
        """What waits here."""
        return sum(packet.bytes for packet in self.packets)


class Tin:
    """One tin: a rate, queues in 128 sets of eight, and their rotations."""

    def __init__(self, params: SimpleNamespace, share: tuple[int, int, int]) -> None:
        part, of, self.weight = share
        self.rate = None if params.bandwidth == "none" else max(512, params.bandwidth * part // of)
        self.frame = MTU * 8 * SECOND // self.rate if self.rate else 0
        least = params.rtt // 20
        self.target = max(self.frame * 3 // 2, least)
        self.interval = max(params.rtt + self.target - least, 2 * self.target)
        self.quantum = min(max(self.rate // 8 // 4096, 300), 1514) if self.rate else 1514
        self.next = 0
        self.deficit = 0
        self.tags: dict[int, int] = {}
        self.queues: dict[int, Flow] = {}
        self.host_tags: list[dict[int, int]] = [{}, {}]
        self.host_bulk: list[dict[int, int]] = [{}, {}]
        self.new: list[Flow] = []
        self.old: list[Flow] = []
        self.decaying: list[Flow] = []
        self.seen = dict.fromkeys(("sent", "drops", "marks", "ack_drops", "hits", "misses", "collisions"), 0)
        self.delays = {"average": 0.0, "peak": 0.0, "base": 0.0}

    def flows(self) -> list[Flow]:
        """All queues ever used."""
        return list(self.queues.values())

    def counted(self, *states: str) -> int:
        """How many queues are in one of these states."""
        return sum(flow.state in states for flow in self.flows())

    def unlink(self, flow: Flow) -> None:
        """Take a queue out of its rotation."""
        for rotation in (self.new, self.old, self.decaying):
            if flow in rotation:
                rotation.remove(flow)

    def become(self, flow: Flow, state: str) -> None:
        """Change what a queue counts as; bulk ones count for their hosts."""
        for at, by in ((flow.state, -1), (state, 1)):
            if at == "bulk":
                for side in (0, 1):
                    place = flow.hosts[side]
                    self.host_bulk[side][place] = max(0, self.host_bulk[side].get(place, 0) + by)
        flow.state = state


def places(code: int) -> list[int]:
    """Give the eight places of a hash, its own first."""
    own = code % 1024
    return [own - own % 8 + (own + way) % 8 for way in range(8)]


class Cake(Model):
    """The whole discipline."""

    DEFAULTS = {
        "bandwidth": "none",
        "rtt": "100ms",
        "diffserv": "diffserv3",
        "flowmode": "triple-isolate",
        "ack_filter": "off",
        "wash": "false",
        "ingress": "false",
        "overhead": "0",
        "mpu": "0B",
        "framing": "noatm",
        "memlimit": "none",
        "ecn": "true",
        "control_law": "exact",
    }
    PRESETS = {name: f"rtt {rtt}" for name, rtt in RTTS.items()}
    TEXTS = (
        "",
        "bandwidth 10mbit rtt 4ms",
        "bandwidth 5mbit diffserv diffserv4 rtt 2ms ingress",
        "bandwidth 20mbit diffserv diffserv8 flowmode dual-srchost memlimit 180kB rtt 1ms",
        "diffserv precedence flowmode dual-dsthost rtt 500us memlimit 90kB noecn",
        "diffserv besteffort flowmode flows ack_filter on rtt 1ms wash",
        "bandwidth 3mbit diffserv besteffort flowmode hosts ack_filter aggressive overhead 40 framing atm mpu 96B",
        "bandwidth 50mbit flowmode srchost framing ptm overhead -4 rtt 1ms control_law newton ingress",
        "bandwidth 8mbit flowmode dsthost memlimit 60kB rtt 1ms ingress",
        "flowmode flowblind rtt 300us ack_filter on",
        *(f"preset {name}" for name in RTTS),
    )
    SEEN = frozenset({"overflow", "early", "mark", "flow", "held"})
    LEFT_OUT = {}
    LONGEST = 20 * SECOND

    def setup(self) -> None:
        x = self.params
        self.seed: int | None = None
        self.by_code = tins(x.diffserv)
        self.tins = [Tin(x, share) for share in shares(x.diffserv)]
        self.current = 0
        self.next = self.failsafe = 0
        self.remainder = 0
        self.order: list[Flow] = []  # queues in the order of their first packets
        most = 10240 * MTU
        if x.memlimit != "none":
            self.memory_limit = x.memlimit
        elif x.bandwidth == "none":
            self.memory_limit = most
        else:
            self.memory_limit = min(max(int(4 * (x.bandwidth / 8) * (x.rtt / SECOND)), 4 << 20), most)

    @property
    def queue(self) -> list[Packet]:
        return [packet for flow in getattr(self, "order", []) for packet in flow.packets]

    @queue.setter
    def queue(self, packets: list[Packet]) -> None:
        assert not packets

    def tin_of(self, flow: Flow) -> Tin:
        """The tin that a queue belongs to."""
        return next(tin for tin in self.tins if any(flow is own for own in tin.flows()))

    # Classification.

    def mix(self, name: int, kind: int) -> int:
        """32 bits of a host or flow: splitmix64's finaliser."""
        x = self.seed ^ ((name | kind << 32) * 0x9E3779B97F4A7C15 & MASK)
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        return x >> 32

    def isolated(self) -> tuple[bool, bool]:
        """Return whether sources and whether destinations share."""
        mode = self.params.flowmode
        return mode in {"dual-srchost", "triple-isolate"}, mode in {"dual-dsthost", "triple-isolate"}

    def classify(self, tin: Tin, packet: Packet) -> Flow:
        """Find or make the packet's queue."""
        hosts = [self.mix(packet.source, 1), self.mix(packet.destination, 2)]
        code = {
            "flowblind": 0,
            "srchost": hosts[0],
            "dsthost": hosts[1],
            "hosts": hosts[0] ^ hosts[1],
        }.get(self.params.flowmode, self.mix(packet.flow, 0))
        here = places(code)

        def is_idle(at: int) -> bool:
            return at not in tin.queues or tin.queues[at].state == "idle"

        mine = [at for at in here if at in tin.queues and tin.tags[at] == code]
        if here[0] in mine and not is_idle(here[0]):
            return tin.queues[here[0]]
        if mine:
            at = mine[0]
            tin.seen["hits"] += at != here[0]
            look_up = is_idle(at)
        else:
            free = [at for at in here if is_idle(at)]
            tin.seen["misses" if free else "collisions"] += 1
            at, look_up = (free or here)[0], True
            tin.tags[at] = code
        if at not in tin.queues:
            x = SimpleNamespace(
                control_law=self.params.control_law, ecn=self.params.ecn, p_inc=1 / 256, p_dec=1 / 4096
            )
            tin.queues[at] = Flow(Control(x, tin.target, tin.interval, is_spaced=False))
            self.order.append(tin.queues[at])
        flow = tin.queues[at]
        if look_up:
            state = flow.state
            tin.become(flow, "moving")
            for side, isolates in enumerate(self.isolated()):
                if isolates:
                    flow.hosts[side] = self.host_place(tin, side, hosts[side])
            tin.become(flow, state)
        return flow

    def host_place(self, tin: Tin, side: int, code: int) -> int:
        """A host's own place, or one that no bulk flow needs, or that of another host."""
        tags, bulk, here = tin.host_tags[side], tin.host_bulk[side], places(code)
        own = [at for at in here if tags.get(at, 0) == code]
        unused = [at for at in here if not bulk.get(at, 0)]
        at = (own or unused or here)[0]
        tags[at] = code
        return at

    def quantum(self, tin: Tin, flow: Flow) -> int:
        """The tin's quantum over the bulk flows of the busier host, rounded at random."""
        load = 1
        for side, isolates in enumerate(self.isolated()):
            if isolates:
                load = max(load, tin.host_bulk[side].get(flow.hosts[side], 0))
        if load == 1:
            return tin.quantum
        return ((tin.quantum << 16) // load + (self.world.u64() & 0xFFFF)) >> 16

    # The shaper.

    def size(self, packet: Packet) -> int:
        """Bytes on the link below."""
        size = max(packet.bytes + int(self.params.overhead), 0, self.params.mpu)
        if self.params.framing == "atm":
            return -(-size // 48) * 53
        return size + -(-size // 64) if self.params.framing == "ptm" else size

    def charge(self, tin: Tin, packet: Packet, sent: bool) -> int:
        """Move the shapers on by a packet's time."""
        size = self.size(packet)
        if tin.rate:
            parts = size * 8 * SECOND + self.remainder
            time, self.remainder = divmod(parts, self.params.bandwidth)
            self.next += time
            if sent:
                self.failsafe += time + time // 2
            byte = (8 * SECOND << 32) // tin.rate
            own, now = byte * size >> 32, self.world.now
            tin.next = tin.next + own if tin.next < now else max(tin.next, now + own)
        return size

    def held(self) -> int | None:
        """Until when nothing may go."""
        until = min(self.next, self.failsafe)
        return until if self.params.bandwidth != "none" and until > self.world.now else None

    # Arrivals.

    def arrive(self, packet: Packet) -> None:
        now = self.world.now
        if self.seed is None:
            self.seed = self.world.u64()
        tin = self.tins[self.by_code[packet.dscp]]
        flow = self.classify(tin, packet)
        if not any(own.packets for own in tin.flows()):
            tin.next = max(tin.next, now)
        if not self.queue and self.next < now:
            self.next = self.failsafe = now
            self.remainder = 0
        flow.packets.append(packet)
        if self.params.ack_filter != "off":
            self.filter_acks(tin, flow)
        if flow.state in {"idle", "decaying"}:
            tin.unlink(flow)
            tin.new.append(flow)
            tin.become(flow, "sparse")
            flow.deficit = self.quantum(tin, flow)
        elif flow.state == "sparse_wait":
            tin.become(flow, "bulk")
        while self.memory > self.memory_limit:
            self.overflow()

    def filter_acks(self, tin: Tin, flow: Flow) -> None:
        """The first of two earlier pure ACKs goes; aggressive: also an only one directly before."""
        new = flow.packets[-1]
        if not new.ack[0]:
            return
        earlier: list[int] = []
        for at, packet in enumerate(flow.packets[:-1]):
            if packet.flow != new.flow or not packet.ack[0]:
                continue
            if packet.ack[1]:
                earlier = []
            elif 0 < (new.ack[2] - packet.ack[2]) % 2**32 < 2**31:
                earlier.append(at)
                if len(earlier) == 2:
                    break
        last = len(flow.packets) - 2
        is_only = self.params.ack_filter == "aggressive" and earlier == [last] and not new.ack[1]
        if len(earlier) == 2 or is_only:
            self.world.drop(flow.packets.pop(earlier[0]), "flow")
            tin.seen["ack_drops"] += 1

    def overflow(self) -> None:
        """The queue with the most bytes loses its head."""
        most = max(flow.bytes for flow in self.order)
        flow = next(flow for flow in self.order if flow.bytes == most)
        tin = self.tin_of(flow)
        packet = flow.packets.pop(0)
        flow.control.full(self.world.now)
        tin.seen["drops"] += 1
        if self.params.ingress:
            self.charge(tin, packet, False)
        self.world.drop(packet, "overflow")

    # Departures.

    def choose(self) -> Tin:
        """The highest tin within its share, or the one that is within it first; or by deficits."""
        busy = [tin for tin in self.tins if tin.counted("sparse", "sparse_wait", "bulk")]
        if self.params.bandwidth != "none":
            ready = [tin for tin in busy if tin.next <= self.world.now]
            if ready:
                return ready[-1]
            return min(reversed(busy), key=lambda tin: tin.next)
        while True:
            tin = self.tins[self.current]
            if tin in busy and tin.deficit >= 0:
                return tin
            if tin.deficit <= 0:
                tin.deficit += tin.weight
            self.current = (self.current + 1) % len(self.tins)

    def ask(self) -> Packet | int | None:
        if not self.queue:
            return None
        if (until := self.held()) is not None:
            return until
        is_first = True
        while True:
            tin = self.choose()
            rotations = [tin.new, tin.old, tin.decaying]
            if is_first:
                rotations = [tin.decaying, tin.new, tin.old]
            is_first = False
            flow = next((rotation[0] for rotation in rotations if rotation), None)
            if flow is None:
                continue
            if flow.deficit <= 0:
                if flow.state == "sparse":
                    tin.become(flow, "bulk" if flow.packets else "sparse_wait")
                flow.deficit += self.quantum(tin, flow)
                tin.unlink(flow)
                tin.old.append(flow)
            elif not flow.packets:
                self.emptied(tin, flow)
            elif (packet := self.judge(tin, flow)) is not None:
                return packet

    def emptied(self, tin: Tin, flow: Flow) -> None:
        """A queue without packets decays until COBALT is at rest."""
        control = flow.control
        control.empty(self.world.now)
        tin.unlink(flow)
        if control.p == 0 and control.count == 0 and self.world.now >= control.drop_next:
            tin.become(flow, "idle")
        else:
            tin.decaying.append(flow)
            tin.become(flow, "decaying")

    def judge(self, tin: Tin, flow: Flow) -> Packet | None:
        """COBALT's verdicts from the head on; the last packet of a queue is sent."""
        while True:
            packet = flow.packets.pop(0)
            load = 2 * tin.counted("bulk") if self.params.ingress else 0
            marks = sum(kind == "mark" for kind, _, _ in self.world.outcomes)
            drop = flow.control.drops(self.world, packet, tin.frame * max(4, load))
            tin.seen["marks"] += sum(kind == "mark" for kind, _, _ in self.world.outcomes) - marks
            if not drop or not flow.packets:
                size = self.charge(tin, packet, True)
                flow.deficit -= size
                tin.deficit -= size
                self.note(tin, packet)
                return packet
            tin.seen["drops"] += 1
            self.world.drop(packet, "early")
            if self.params.ingress:
                size = self.charge(tin, packet, False)
                flow.deficit -= size
                tin.deficit -= size
                return None

    def note(self, tin: Tin, packet: Packet) -> None:
        """Smooth the delays that the statistics show."""
        delay = (self.world.now - packet.enqueued) / SECOND
        tin.seen["sent"] += 1
        quick = {"average": False, "peak": delay > tin.delays["peak"], "base": delay < tin.delays["base"]}
        for name, old in tin.delays.items():
            tin.delays[name] = old + (delay - old) / (4 if quick[name] else 256)

    def internals(self) -> dict[str, float]:
        until = self.held()
        shown: dict[str, float] = {
            "queues": len(self.order),
            "fattest_bytes": max((flow.bytes for flow in self.order), default=0),
            "memory_limit_bytes": int(self.memory_limit),
            "shaper_holds_s": 0.0 if until is None else (until - self.world.now) / SECOND,
        }
        for n, tin in enumerate(self.tins):
            waiting = [packet for flow in tin.flows() for packet in flow.packets]
            values = {
                "backlog_packets": len(waiting),
                "backlog_bytes": sum(packet.bytes for packet in waiting),
                "sparse_flows": tin.counted("sparse", "sparse_wait"),
                "bulk_flows": tin.counted("bulk"),
                "decaying_flows": tin.counted("decaying"),
                "quantum_bytes": tin.quantum,
            }
            values |= {f"{name}_delay_s": value for name, value in tin.delays.items()}
            names = ("sent", "drops", "marks", "ack_drops")
            values |= {f"{name}_packets": tin.seen[name] for name in names}
            values |= {f"way_{name}": tin.seen[name] for name in ("hits", "misses", "collisions")}
            shown |= {f"tin{n}_{name}": value for name, value in values.items()}
        return shown

    def instants(self) -> list[int]:
        controls = [flow.control for flow in self.order[:3]]
        return [self.next, self.failsafe, self.world.now + MILLISECOND, *(control.drop_next for control in controls)]
