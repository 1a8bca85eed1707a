"""DualPI2: RFC 9332's appendix A, appendix B's time-shifted FIFO, RFC 9956's traffic class, and Linux's preset."""

from __future__ import annotations

import math

from base import CE, ECT1, NEAR, NOT_ECT, SECOND, Bytes, Model, Ns, Packet, Packets, Tie, Timer, less


class DualPi2(Model):
    """Both queues."""

    DEFAULTS = {
        "limit": "250ms",
        "memlimit": "none",
        "coupling_factor": "2",
        "target": "15ms",
        "tupdate": "15ms",
        "alpha": "0.15",
        "beta": "3",
        "max_rtt": "none",
        "typical_rtt": "none",
        "l4s_aqm": "ramp",
        "min_th": "800us",
        "range": "400us",
        "th_len": "1p",
        "step_thresh": "1ms",
        "min_qlen_step": "0p",
        "any_ect": "false",
        "nqb": "NQB",
        "nqb_limit": "10ms",
        "drop_on_overload": "true",
        "drop_enqueue": "false",
        "scheduler": "wrr",
        "classic_protection": "0.0625",
        "tshift": "50ms",
        "marking": "recurrent",
        "mtu": "1514B",
        "split_gso": "true",
    }
    PRESETS = {
        "rfc": "",
        "linux-7.2": "limit 10000p tupdate 16ms alpha 0.16015625 beta 3.19921875"
        " l4s_aqm step classic_protection 0.1 marking random nqb none",
    }
    TEXTS = (
        "preset rfc",
        "target 2ms tupdate 3ms alpha 2 beta 40 limit 80p",
        "target 2ms tupdate 3ms alpha 2 beta 40 scheduler ts_fifo tshift 5ms limit 60kB",
        "target 1ms tupdate 2ms alpha 5 beta 60 coupling_factor 3 nodrop_on_overload mtu 0B limit 20ms",
        "target 1ms tupdate 2ms alpha 5 beta 60 drop_enqueue marking random memlimit 150kB",
        "preset linux-7.2 target 2ms tupdate 3ms beta 50",
        "preset linux-7.2 beta 40 step_thresh 3p min_qlen_step 5p any_ect drop_enqueue classic_protection 0.5"
        " limit 40p",
        "max_rtt 12ms classic_protection 0.3 th_len 0p min_th 100us range 5ms",
        "typical_rtt 3ms marking random l4s_aqm step step_thresh 2ms any_ect nosplit_gso limit 100p",
        "max_rtt 20ms typical_rtt 2ms mtu 300B coupling_factor 1",
        "target 1ms tupdate 2ms alpha 5 beta 60 mtu 0B nqb 0 nqb_limit 2ms",
        "target 1ms tupdate 2ms alpha 5 beta 60 nqb CS0 nqb_limit 20ms drop_enqueue marking random l4s_aqm step",
    )
    LONGEST = 50 * SECOND

    def setup(self) -> None:
        x = self.params
        self.target, self.tupdate, self.alpha, self.beta = x.target, x.tupdate, x.alpha, x.beta
        if x.max_rtt != "none" or x.typical_rtt != "none":
            # Appendix A.1, lines 8 to 14.
            most = 6 * x.typical_rtt if x.max_rtt == "none" else x.max_rtt
            typical = x.max_rtt // 6 if x.typical_rtt == "none" else x.typical_rtt
            self.target, self.tupdate = typical, min(typical, most // 3)
            self.alpha = 0.1 * (self.tupdate / SECOND) / (most / SECOND) ** 2
            self.beta = 0.3 / (most / SECOND)
        self.lq: list[Packet] = []
        self.cq: list[Packet] = []
        self.may_step: dict[int, bool] = {}
        self.p = 0.0
        self.prevq = 0
        self.timer = Timer(self.tupdate)
        self.recurring = {"lq": 0.0, "cq": 0.0}
        self.computed = {"lq": False, "cq": False}
        self.wc = round(x.classic_protection * 1e6)
        self.wl = 1_000_000 - self.wc
        self.credit = x.mtu * (self.wc - self.wl)
        self.max_link_rate = 0
        codepoints = {"none": -1, "NQB": 45, "CS0": 0, "EF": 46}
        self.nqb = codepoints[x.nqb] if isinstance(x.nqb, str) else int(x.nqb)

    def settle(self) -> None:
        """Bring the list of all that waits up to date."""
        self.queue = self.lq + self.cq

    def dualpi2_update(self, at: int) -> None:
        """Lines 1 to 7."""
        curq = max((at - queue[0].enqueued for queue in (self.lq, self.cq) if queue), default=0)
        step = self.alpha * (curq - self.target) / SECOND + self.beta * (curq - self.prevq) / SECOND
        most = 1.0 if self.params.drop_on_overload else 1 / self.params.coupling_factor
        self.p = min(max(self.p + step, 0.0), most)
        if 0 < self.p < 1e-12:
            raise Tie
        self.prevq = curq

    def run_timers(self) -> None:
        while (at := self.timer.due(self.world.now)) is not None:
            self.dualpi2_update(at)

    @property
    def p_cl(self) -> float:
        """The coupled probability."""
        return self.params.coupling_factor * self.p

    def recur(self, queue: str, likelihood: float) -> bool:
        """Lines 23 to 30, or a draw."""
        if self.params.marking == "random":
            return self.world.chance(likelihood)
        self.recurring[queue] += min(likelihood, 1.0)
        self.computed[queue] |= likelihood not in (0.0, 1.0)
        due = self.recurring[queue]
        # What sums up to 1 in computed parts may be more or less; whole ones are exact.
        if math.isclose(due, 1.0, rel_tol=NEAR) and self.computed[queue]:
            raise Tie
        if less(1.0, due):
            self.recurring[queue] -= 1
            return True
        return False

    def recur_squared(self, queue: str) -> bool:
        """With p_C = p'^2: two draws of p', as Linux, where draws decide."""
        if self.params.marking == "random":
            return self.world.chance(self.p) and self.world.chance(self.p)
        return self.recur(queue, self.p**2)

    def is_saturated(self) -> bool:
        """p_CL has reached p_Lmax."""
        return bool(self.params.drop_on_overload) and not less(self.p_cl, 1.0)

    def acts(self) -> bool:
        """No PI2 action under two packets of the largest size."""
        return sum(packet.bytes for packet in self.lq + self.cq) >= 2 * self.params.mtu

    def drops_classic(self, packet: Packet) -> bool:
        """Squared drop or mark."""
        if self.acts() and self.recur_squared("cq"):
            if packet.ecn == NOT_ECT or self.is_saturated():
                return True
            self.world.mark(packet)
        return False

    def has_scalable_ecn(self, packet: Packet) -> bool:
        """ECT(1) and CE, or every ECN-capable packet."""
        return packet.ecn in (ECT1, CE) or (self.params.any_ect and packet.ecn != NOT_ECT)

    def drops_l4s(self, packet: Packet, native: float, coupled: float) -> bool:
        """Linear mark; classic drops under saturation. What is here by its DSCP is not marked."""
        if coupled > 0 and self.is_saturated() and self.recur_squared("lq"):
            return True
        if not self.has_scalable_ecn(packet):
            return False
        if self.recur("lq", max(native, coupled)):
            self.world.mark(packet)
        return False

    def laqm(self, packet: Packet) -> float:
        """The native probability of a packet that has just left the L4S queue."""
        x, wait, behind = self.params, self.world.now - packet.enqueued, len(self.lq)
        if x.l4s_aqm == "ramp":
            if behind <= x.th_len:
                return 0.0
            if wait >= x.min_th + x.range:
                return 1.0
            return max(0.0, (wait - x.min_th) / x.range)
        beyond = behind > x.step_thresh if isinstance(x.step_thresh, Packets) else wait > x.step_thresh
        return 1.0 if beyond and self.may_step[packet.serial] else 0.0

    def is_full(self, packet: Packet) -> bool:
        x, waiting, size = self.params, self.bytes, max(packet.bytes, self.params.mtu)
        if x.memlimit != "none" and self.memory_of(len(self.queue) + 1, waiting + packet.bytes) > x.memlimit:
            return True
        if isinstance(x.limit, Packets):
            return len(self.queue) >= x.limit
        if isinstance(x.limit, Bytes):
            return waiting + size > x.limit
        return bool(self.queue) and waiting + size > self.max_link_rate * x.limit // (8 * SECOND)

    def arrive(self, packet: Packet) -> None:
        x = self.params
        self.timer.start(self.world.now)
        self.max_link_rate = max(self.max_link_rate, self.world.rate)
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            return
        is_l4s = self.has_scalable_ecn(packet)
        if not is_l4s and packet.dscp == self.nqb:
            is_l4s = True
            ahead = sum(other.bytes for other in self.lq)
            if self.lq and ahead + packet.bytes > self.world.rate * x.nqb_limit // (8 * SECOND):
                self.world.drop(packet, "overflow")
                return
        if x.drop_enqueue:
            coupled = self.p_cl if self.acts() else 0.0
            if self.drops_l4s(packet, 0.0, coupled) if is_l4s else self.drops_classic(packet):
                self.world.drop(packet, "early")
                return
        if is_l4s:
            self.may_step[packet.serial] = len(self.lq) >= x.min_qlen_step
        (self.lq if is_l4s else self.cq).append(packet)
        self.settle()

    def scheduler(self) -> str:
        """Say whose turn it is."""
        if not (self.lq and self.cq):
            return "lq" if self.lq else "cq"
        if self.params.scheduler == "wrr":
            return "lq" if self.credit <= 0 else "cq"
        now = self.world.now
        lq_time, cq_time = now - self.lq[0].enqueued, now - self.cq[0].enqueued
        return "lq" if lq_time + self.params.tshift >= cq_time else "cq"

    def ask(self) -> Packet | None:
        packet = self.dualpi2_dequeue()
        self.settle()
        return packet

    def dualpi2_dequeue(self) -> Packet | None:
        """Lines 1 to 22."""
        at_departure = not self.params.drop_enqueue
        while self.lq or self.cq:
            both = bool(self.lq and self.cq)
            if self.scheduler() == "lq":
                packet = self.lq.pop(0)
                coupled = self.p_cl if at_departure and self.acts() else 0.0
                dropped = self.drops_l4s(packet, self.laqm(packet), coupled)
                cost = packet.bytes * self.wc
            else:
                packet = self.cq.pop(0)
                dropped = at_departure and self.drops_classic(packet)
                cost = -packet.bytes * self.wl
            if dropped:
                self.world.drop(packet, "early")
                continue
            if both:
                self.credit += cost
            return packet
        self.credit = self.params.mtu * (self.wc - self.wl)
        return None

    def internals(self) -> dict[str, float]:
        return {
            "base_probability": self.p,
            "classic_probability": self.p**2,
            "coupled_probability": min(1.0, self.p_cl),
            "delay_s": Ns(self.prevq),
            "classic_packets": len(self.cq),
            "classic_bytes": sum(packet.bytes for packet in self.cq),
            "l4s_packets": len(self.lq),
            "l4s_bytes": sum(packet.bytes for packet in self.lq),
            "credit_bytes": self.credit / 1e6,
        }

    def instants(self) -> list[int]:
        heads = [queue[0].enqueued for queue in (self.lq, self.cq) if queue]
        return [self.timer.next or 0, *(head + self.params.min_th + self.params.range for head in heads)]
