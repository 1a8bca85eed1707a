"""Round robins over hashed flows: DRR (Shreedhar and Varghese 1995) and SFQ (McKenney 1990; tc-sfq(8))."""

from __future__ import annotations

from base import Model, Packet, less
from fair import place


class Drr(Model):
    """The paper's enqueuing and dequeuing modules, with buffer stealing from the queue with the most bytes."""

    DEFAULTS = {"limit": "1000p", "flows": "1024", "quantum": "1514B", "headdrop": "false"}
    TEXTS = ("limit 40p", "limit 20p flows 4 quantum 300B", "limit 30p flows 3 headdrop", "quantum 9000B limit 12p")
    SEEN = frozenset({"overflow"})

    def setup(self) -> None:
        self.seed: int | None = None
        self.queues: dict[int, list[Packet]] = {}  # in the order of their first packets
        self.deficit: dict[int, int] = {}
        self.round: list[int] = []
        self.has_quantum = False

    @property
    def everything(self) -> list[Packet]:
        """All that waits."""
        return [packet for queue in self.queues.values() for packet in queue]

    def arrive(self, packet: Packet) -> None:
        if self.seed is None:
            self.seed = self.world.u64()
        at = place(packet.flow, self.seed, int(self.params.flows))
        self.queues.setdefault(at, []).append(packet)
        if at not in self.round:
            self.round.append(at)
            self.deficit[at] = 0
        self.queue = self.everything
        if len(self.queue) > self.params.limit:
            # The first used among equals.
            fattest = max(self.queues.values(), key=lambda queue: sum(packet.bytes for packet in queue))
            self.world.drop(fattest.pop(0 if self.params.headdrop else -1), "overflow")
            self.queue = self.everything

    def ask(self) -> Packet | None:
        while self.round:
            at = self.round[0]
            queue = self.queues[at]
            if queue:
                if not self.has_quantum:
                    self.deficit[at] += self.params.quantum
                    self.has_quantum = True
                if queue[0].bytes > self.deficit[at]:
                    self.round.append(self.round.pop(0))
                    self.has_quantum = False
                    continue
                packet = queue.pop(0)
                self.deficit[at] -= packet.bytes
                self.queue = self.everything
                if not queue:
                    self.retire()
                return packet
            self.retire()  # overflow emptied it
        return None

    def retire(self) -> None:
        """The queue whose turn it is leaves the round and forgets its deficit."""
        self.round.pop(0)
        self.has_quantum = False

    def internals(self) -> dict[str, float]:
        fattest = max((sum(packet.bytes for packet in queue) for queue in self.queues.values()), default=0)
        return {"queues": len(self.queues), "active_queues": len(self.round), "fattest_bytes": fattest}


class Sfq(Model):
    """Linux's SFQ: ``depth`` and ``flows``, a hash that changes, the longest queue loses, RED in each queue."""

    DEFAULTS = {
        "limit": "127p",
        "depth": "127p",
        "flows": "127",
        "divisor": "1024",
        "quantum": "1514B",
        "perturb": "0ns",
        "headdrop": "false",
        "min": "none",
        "max": "none",
        "max_p": "0.02",
        "w": "0.015625",
        "ecn": "false",
        "harddrop": "false",
    }
    # RED's thresholds are odd ones, so that no probability is 1 but for rounding.
    TEXTS = (
        "limit 30p",
        "limit 20p depth 6p flows 3 divisor 16 quantum 300B",
        "limit 25p depth 8p divisor 4 headdrop perturb 20ms",
        "limit 60p flows 5 perturb 3ms quantum 3000B depth 20p",
        "limit 60p divisor 4 min 1511B max 6011B max_p 0.31 w 0.5 ecn",
        "limit 60p divisor 3 min 1013B max 5003B max_p 0.53 w 0.5 ecn headdrop perturb 20ms",
        "limit 80p divisor 2 min 2011B max 8017B max_p 0.23 w 0.25",
        "limit 80p divisor 2 depth 12p min 1019B max 4001B max_p 0.29 w 1 ecn harddrop headdrop",
        "",
    )

    def setup(self) -> None:
        self.average: dict[int, float] = {}
        self.count_of: dict[int, int] = {}
        self.acted = {f"{kind}_{what}": 0 for kind in ("prob", "forced") for what in ("mark", "mark_head", "drop")}
        self.seed: int | None = None
        self.generation = 0
        self.next_perturb = 0
        self.free = list(range(int(self.params.flows)))[::-1]
        self.of_bucket: dict[int, int] = {}
        self.waiting: dict[int, list[Packet]] = {}
        self.allotment: dict[int, int] = {}
        self.round: list[int] = []

    def count(self) -> None:
        """Bring the list of all that waits up to date."""
        self.queue = [packet for queue in self.waiting.values() for packet in queue]

    def lose(self, at: int, reason: str = "overflow") -> None:
        """Drop the queue's last packet, or its first."""
        self.world.drop(self.waiting[at].pop(0 if self.params.headdrop else -1), reason)

    def refuses(self, at: int, packet: Packet) -> bool:
        """RED of one queue, Floyd and Jacobson 1993, figure 2: whether it drops a packet of the queue."""
        avg, least, most = self.average[at], float(self.params.min), float(self.params.max)
        if less(avg, least):
            self.count_of[at] = -1
            return False
        forced = not less(avg, most)
        if not forced:
            self.count_of[at] += 1
            p_b = self.params.max_p * (avg - least) / (most - least)
            expected = self.count_of[at] * p_b
            if not self.world.chance(min(1.0, p_b / (1 - expected)) if less(expected, 1) else 1.0):
                return False
        self.count_of[at] = 0
        outcome = "drop"
        if self.params.ecn and not (forced and self.params.harddrop):
            if self.params.headdrop and self.world.mark(self.waiting[at][0]):
                outcome = "mark_head"
            elif self.world.mark(packet):
                outcome = "mark"
        self.acted[f"{'forced' if forced else 'prob'}_{outcome}"] += 1
        return outcome == "drop"

    def put(self, packet: Packet, *, moves: bool = False) -> None:
        """Join the queue of the packet's bucket."""
        bucket = place(packet.flow, (self.seed + self.generation) % 2**64, int(self.params.divisor))
        begins = bucket not in self.of_bucket
        if begins:
            if not self.free:
                self.world.drop(packet, "overflow")
                return
            at = self.free.pop()
            self.of_bucket[bucket], self.waiting[at] = at, []
            self.allotment[at] = self.params.quantum
            self.average[at], self.count_of[at] = 0.0, -1
            self.round.append(at)
        at = self.of_bucket[bucket]
        reason = None
        if self.params.max != "none" and (moves or not begins):
            q = sum(waiting.bytes for waiting in self.waiting[at])
            self.average[at] = (1 - self.params.w) * self.average[at] + self.params.w * q
            if not moves and self.refuses(at, packet):
                reason = "early"
        if reason is None and len(self.waiting[at]) >= self.params.depth:
            reason = "overflow"
        if reason is not None:
            if not self.params.headdrop:
                self.world.drop(packet, reason)
                return
            self.lose(at, reason)
        self.waiting[at].append(packet)

    def retire(self, at: int) -> None:
        """An empty queue leaves the round."""
        self.round.remove(at)
        del self.waiting[at]
        self.of_bucket = {bucket: queue for bucket, queue in self.of_bucket.items() if queue != at}
        self.free.append(at)

    def perturb(self) -> None:
        """Change the hash where that is due, and move what waits."""
        now, period = self.world.now, self.params.perturb
        if not period or self.seed is None or now < self.next_perturb:
            return
        while self.next_perturb <= now:
            self.next_perturb += period
            self.generation += 1
        moving = []
        for at in list(self.round):
            moving += self.waiting[at]
            self.retire(at)
        for packet in moving:
            self.put(packet, moves=True)

    def arrive(self, packet: Packet) -> None:
        if self.seed is None:
            self.seed = self.world.u64()
            if self.params.perturb:
                self.next_perturb = (self.world.now // self.params.perturb + 1) * self.params.perturb
        self.perturb()
        self.put(packet)
        self.count()
        if len(self.queue) > self.params.limit:
            longest = max(len(queue) for queue in self.waiting.values())
            if longest == 1:
                at = self.round[0]
                self.lose(at)
                self.retire(at)
            else:
                self.lose(min(at for at, queue in self.waiting.items() if len(queue) == longest))
        self.count()

    def ask(self) -> Packet | None:
        self.perturb()
        while self.round and self.allotment[self.round[0]] <= 0:
            self.allotment[self.round[0]] += self.params.quantum
            self.round.append(self.round.pop(0))
        packet = None
        if self.round:
            at = self.round[0]
            packet = self.waiting[at].pop(0)
            self.allotment[at] -= packet.bytes
            if not self.waiting[at]:
                self.retire(at)
        self.count()
        return packet

    def internals(self) -> dict[str, float]:
        return {
            "active_queues": len(self.round),
            "longest_packets": max((len(queue) for queue in self.waiting.values()), default=0),
            "perturbations": self.generation,
            **self.acted,
        }

    def instants(self) -> list[int]:
        return [self.next_perturb]
