"""PIE: RFC 8033 sections 4 and 5 with the pseudocode of its appendices; Linux's and ns-3's differences by name."""

from __future__ import annotations

from base import SECOND, Bytes, Model, Ns, Packet, Timer, less


class Pie(Model):
    """Underscored names of the RFC without the underscore."""

    DEFAULTS = {
        "limit": "1000p",
        "target": "15ms",
        "tupdate": "15ms",
        "alpha": "0.125",
        "beta": "1.25",
        "max_burst": "150ms",
        "ecn": "false",
        "mark_ecnth": "0.1",
        "bytemode": "false",
        "avpkt": "1024B",
        "delay": "timestamps",
        "dq_threshold": "16384B",
        "derandomize": "false",
        "activate": "false",
        "variant": "rfc",
    }
    PRESETS = {
        "linux-6.12": "variant linux delay departures derandomize avpkt 1514B",
        "ns3": "variant ns3 delay departures limit 25p avpkt 1000B",
        "shu2023": "variant ns3 delay departures limit 2000p avpkt 1000B dq_threshold 20B",
    }
    TEXTS = (
        "",
        "ecn limit 60p",
        "target 2ms tupdate 3ms max_burst 9ms ecn mark_ecnth 0.3",
        "target 1ms tupdate 2ms alpha 2Hz beta 20Hz max_burst 0ns bytemode limit 40kB",
        "target 2ms tupdate 3ms max_burst 6ms derandomize alpha 1Hz beta 10Hz ecn",
        "target 2ms tupdate 3ms max_burst 6ms derandomize bytemode avpkt 300B",
        "delay departures target 3ms tupdate 4ms max_burst 20ms ecn",
        "delay departure_rate target 3ms tupdate 4ms max_burst 20ms dq_threshold 5kB alpha 1Hz",
        "delay departure_rate variant linux target 3ms tupdate 4ms max_burst 20ms dq_threshold 5kB beta 5Hz",
        "activate limit 30p target 5ms tupdate 5ms max_burst 10ms beta 8Hz",
        "activate limit 30kB delay departure_rate dq_threshold 4kB target 5ms tupdate 5ms max_burst 10ms ecn",
        "preset linux-6.12 target 4ms tupdate 5ms max_burst 20ms beta 8Hz",
        "preset ns3 tupdate 5ms target 2ms max_burst 20ms beta 8Hz",
        "preset shu2023 limit 30p tupdate 5ms",
        "variant linux target 5ms tupdate 5ms ecn",
    )
    # With few updates left out: more than 4096 of the default 15 ms.
    LONGEST = 100 * SECOND

    def setup(self) -> None:
        self.drop_prob = 0.0
        self.qdelay_old = 0.0
        self.burst_allowance = self.params.max_burst
        # ns-3's m_burstState and m_burstReset.
        self.burst, self.burst_reset = "protecting", 0
        self.accu_prob = 0.0
        self.active = not self.params.activate
        self.timer = Timer(self.params.tupdate)
        self.last_sojourn = 0.0
        # Section 5.2.
        self.in_measurement = False
        self.dq_count = 0
        self.dq_start = 0
        self.rate = 0.0  # DQ_THRESHOLD / avg_dq_time, bytes a second

    def current_qdelay(self, at: int) -> float:
        """Give the delay in seconds."""
        if self.params.delay == "timestamps":
            return (at - self.queue[0].enqueued) / SECOND if self.queue else 0.0
        if self.params.delay == "departures":
            return self.last_sojourn
        return self.bytes / self.rate if self.rate > 0 else 0.0

    def calculate_drop_prob(self, qdelay: float) -> None:
        """Sections 4.2, 4.4 and 5.5."""
        p, x = self.drop_prob, self.params
        target = x.target / SECOND
        step = x.alpha * (qdelay - target) + x.beta * (qdelay - self.qdelay_old)
        for bound, divisor in ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2)):
            if less(p, bound):
                step /= divisor
                break
        if not less(p, 0.1) and less(0.02, step):
            step = 0.02
        if x.variant == "linux" and qdelay > 0.25:
            step += 0.02
        p = 0.0 if x.variant == "ns3" and self.burst_allowance > 0 else p + step
        if qdelay == 0 and self.qdelay_old == 0:
            if x.variant != "linux":
                p *= 0.98
            elif not self.queue:
                p -= p / 64
        # Linux notices only that its 64 bits overflow, of which 56 are the fraction.
        self.drop_prob = max(p, 0.0) if x.variant == "linux" else min(max(p, 0.0), 1.0)
        if self.drop_prob >= 256:
            self.drop_prob = 1.0
        is_low = less(qdelay, target / 2) and less(self.qdelay_old, target / 2)
        self.qdelay_old = qdelay
        self.burst_allowance = max(0, self.burst_allowance - x.tupdate)
        if x.variant == "ns3":
            self.calm(is_low and self.drop_prob == 0 and self.burst_allowance == 0)

    def calm(self, is_calm: bool) -> None:
        """ns-3's states of the burst allowance: back after more than 1.5 s of calm updates in a row."""
        if not is_calm:
            if self.burst == "in":
                self.burst_reset = 0
        elif self.burst == "protecting":
            self.burst, self.burst_reset = "in", 0
        elif self.burst == "in":
            self.burst_reset += 1
            if self.burst_reset > 1_500_000_000 // self.params.tupdate:
                self.burst = "no"

    def run_timers(self) -> None:
        while (at := self.timer.due(self.world.now)) is not None:
            if self.active:
                self.calculate_drop_prob(self.current_qdelay(at))

    def drop_early(self, packet: Packet) -> bool:
        """Sections 4.1 and 5.4."""
        x = self.params
        half_target = x.target / SECOND / 2
        # Linux keeps the delay of the last update and of the last departure in the same place.
        sees_departures = x.variant == "linux" and x.delay == "departures"
        qdelay = self.last_sojourn if sees_departures else self.qdelay_old
        if less(qdelay, half_target) and less(self.drop_prob, 0.2):
            return False
        if x.variant == "ns3" and not isinstance(x.limit, Bytes):
            if len(self.queue) <= 2:
                return False
        # Linux spares less than two packets, the RFC up to two.
        elif less(self.bytes, 2 * x.avpkt) if x.variant == "linux" else self.bytes <= 2 * x.avpkt:
            return False
        p = self.drop_prob * packet.bytes / x.avpkt if x.bytemode else self.drop_prob
        if x.derandomize:
            if self.drop_prob == 0:
                self.accu_prob = 0.0
            self.accu_prob += p
            if less(self.accu_prob, 0.85):
                return False
            if not less(self.accu_prob, 8.5):
                return True
        return self.world.chance(p)

    def congestion_is_over(self, qdelay: float) -> bool:
        """Section 4.4 and 5.3."""
        half_target = self.params.target / SECOND / 2
        return self.drop_prob == 0 and less(qdelay, half_target) and less(self.qdelay_old, half_target)

    def is_third_full(self) -> bool:
        """Section 5.3."""
        limit = self.params.limit
        return 3 * (self.bytes if isinstance(limit, Bytes) else len(self.queue)) >= limit

    def arrive(self, packet: Packet) -> None:
        self.timer.start(self.world.now)
        qdelay = self.current_qdelay(self.world.now)
        if self.params.variant == "ns3":
            if self.burst == "no":
                self.burst, self.burst_allowance = "protecting", self.params.max_burst
        elif self.congestion_is_over(qdelay):
            self.burst_allowance = self.params.max_burst
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            self.accu_prob = 0.0
        elif self.active and self.burst_allowance == 0 and self.drop_early(packet):
            self.accu_prob = 0.0
            if self.world.signal(packet, self.params.ecn and less(self.drop_prob, self.params.mark_ecnth)):
                self.join(packet)
        else:
            self.join(packet)
        if self.params.activate:
            if not self.active and self.is_third_full():
                self.active = True
                self.qdelay_old = self.drop_prob = self.accu_prob = 0.0
                self.burst_allowance = self.params.max_burst
                self.in_measurement, self.rate = False, 0.0
            elif self.active and self.congestion_is_over(qdelay) and not self.is_third_full():
                self.active = False

    def ask(self) -> Packet | None:
        packet = self.leave()
        if packet is None:
            return None
        now = self.world.now
        self.last_sojourn = (now - packet.enqueued) / SECOND if self.queue else 0.0
        if self.params.delay == "departure_rate":
            self.measure(packet, now)
        return packet

    def measure(self, packet: Packet, now: int) -> None:
        """Section 5.2."""
        threshold = self.params.dq_threshold
        if not self.in_measurement and self.bytes >= threshold:
            self.in_measurement, self.dq_start, self.dq_count = True, now, 0
        if not self.in_measurement:
            return
        self.dq_count += packet.bytes
        time = (now - self.dq_start) / SECOND
        if self.dq_count < threshold or time == 0:
            return
        self.in_measurement = False
        if self.params.variant == "rfc":
            if self.rate == 0:
                self.rate = threshold / time
            else:
                weight = min(1.0, threshold / 2**16)
                avg_dq_time = weight * time + (1 - weight) * threshold / self.rate
                self.rate = threshold / avg_dq_time
            return
        # Linux and ns-3 average rates, and measure on at once.
        weight = {"linux": 1 / 8, "ns3": 1 / 2}[self.params.variant]
        rate = self.dq_count / time
        self.rate = rate if self.rate == 0 else (1 - weight) * self.rate + weight * rate
        if self.bytes >= threshold:
            self.in_measurement, self.dq_start, self.dq_count = True, now, 0

    def internals(self) -> dict[str, float]:
        return {
            "drop_probability": min(self.drop_prob, 1.0),
            "delay_s": self.qdelay_old,
            "burst_allowance_s": Ns(self.burst_allowance),
            "accumulated_probability": self.accu_prob,
            "active": int(self.active),
            "departure_rate_bytes_s": self.rate,
        }

    def instants(self) -> list[int]:
        return [self.timer.next or 0]
