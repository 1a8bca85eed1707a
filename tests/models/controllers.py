"""Single queues under a controller: PI, REM, AVQ, BLUE, GREEN."""

from __future__ import annotations

import math

from base import SECOND, Bytes, Model, Packet, Tie, Timer, less


class Pi(Model):
    """Hollot et al. 2001: p <- p + a (q - q_ref) - b (q_old - q_ref), 160 times a second."""

    DEFAULTS = {
        "limit": "1000p",
        "a": "0.00001822",
        "b": "0.00001816",
        "q_ref": "50p",
        "tupdate": "6.25ms",
        "ecn": "false",
    }
    TEXTS = (
        "a 0.01 b 0.008 q_ref 8p ecn limit 60p",
        "a 0.002 b 0.001 q_ref 3p tupdate 1ms",
        "a 0.05 b 0.05 q_ref 10p tupdate 3ms limit 25kB ecn",
        "",
    )

    def setup(self) -> None:
        self.p = 0.0
        self.q_old = 0
        self.timer = Timer(self.params.tupdate)

    def run_timers(self) -> None:
        q_ref = self.params.q_ref
        while self.timer.due(self.world.now) is not None:
            q = len(self.queue)
            p = self.p + self.params.a * (q - q_ref) - self.params.b * (self.q_old - q_ref)
            self.p = min(max(p, 0.0), 1.0)
            self.q_old = q

    def arrive(self, packet: Packet) -> None:
        self.timer.start(self.world.now)
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
        elif not self.world.chance(self.p) or self.world.signal(packet, self.params.ecn):
            self.join(packet)

    def internals(self) -> dict[str, float]:
        return {"drop_probability": self.p, "excess_packets": self.q_old - self.params.q_ref}

    def instants(self) -> list[int]:
        return [self.timer.next or 0]


class Rem(Model):
    """Athuraliya et al. 2001; with ``form queue`` equation 8 of Hassan, Hassan and Arif."""

    DEFAULTS = {
        "limit": "1000p",
        "gamma": "0.001",
        "alpha": "0.1",
        "phi": "1.001",
        "b_ref": "20p",
        "tupdate": "2ms",
        "w": "1",
        "avpkt": "1000B",
        "form": "rate",
        "ecn": "false",
    }
    TEXTS = (
        "gamma 0.1 phi 1.5 ecn limit 80p",
        "gamma 0.05 phi 1.2 alpha 0.5 b_ref 5p tupdate 5ms w 0.3 ecn",
        "form queue gamma 0.05 phi 1.3 alpha 0.3 b_ref 6p limit 25kB",
        "form queue gamma 0.5 phi 1.1 tupdate 1ms ecn limit 40p",
        "gamma 1 phi 2 avpkt 300B limit 20p",
        "",
    )
    LONGEST = 60 * SECOND

    def setup(self) -> None:
        self.price = 0.0
        self.x = 0.0
        self.arrived = 0
        self.q_old = 0
        self.timer = Timer(self.params.tupdate)

    def run_timers(self) -> None:
        x = self.params
        while self.timer.due(self.world.now) is not None:
            b = len(self.queue)
            if x.form == "rate":
                self.x = (1 - x.w) * self.x + x.w * self.arrived
                c = self.world.rate / 8 / x.avpkt * x.tupdate / SECOND
                mismatch = self.x + x.alpha * (b - x.b_ref) - c
            else:
                mismatch = b - (1 - x.alpha) * self.q_old - x.alpha * x.b_ref
            self.price = max(0.0, self.price + x.gamma * mismatch)
            if 0 < self.price < 1e-12 * x.gamma:
                raise Tie
            self.arrived, self.q_old = 0, b

    @property
    def p(self) -> float:
        """Equation 9."""
        return -math.expm1(-self.price * math.log(self.params.phi))

    def arrive(self, packet: Packet) -> None:
        self.timer.start(self.world.now)
        self.arrived += 1
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
        elif not self.world.chance(self.p) or self.world.signal(packet, self.params.ecn):
            self.join(packet)

    def internals(self) -> dict[str, float]:
        return {"price": self.price, "drop_probability": self.p, "input_packets": self.x}

    def instants(self) -> list[int]:
        return [self.timer.next or 0]


class Avq(Model):
    """Kunniyur and Srikant 2004, in bytes (or packets)."""

    DEFAULTS = {
        "limit": "1000p",
        "buffer": "none",
        "gamma": "0.98",
        "alpha": "0.15",
        "initial": "0.8",
        "unit": "bytes",
        "avpkt": "1000B",
        "ecn": "false",
    }
    PRESETS = {"hassan": "alpha 0.8"}
    TEXTS = (
        "limit 20p ecn",
        "limit 20kB alpha 0.8 gamma 0.9",
        "limit 50p buffer 10p unit packets avpkt 500B ecn initial 0.5",
        "limit 9p buffer 40kB alpha 2 ecn",
        "limit 30p buffer 12p alpha 5 initial 1",
        "preset hassan limit 15p",
    )

    def setup(self) -> None:
        self.virtual = 0.0
        self.capacity: float | None = None  # units a second, from the first arrival on
        self.drained = 0
        self.earned = 0.0  # the integral of C since t_c, up to ``since``
        self.since = 0

    def units(self, amount: int, is_bytes: bool) -> float:
        """Give an amount of packets or bytes in the unit of the virtual queue."""
        if self.params.unit == "bytes":
            return float(amount) if is_bytes else float(amount * self.params.avpkt)
        return amount / self.params.avpkt if is_bytes else float(amount)

    @property
    def link(self) -> float:
        """C, in units a second."""
        bytes_s = self.world.rate / 8
        return bytes_s if self.params.unit == "bytes" else bytes_s / self.params.avpkt

    @property
    def buffer(self) -> float:
        """B."""
        size = self.params.limit if self.params.buffer == "none" else self.params.buffer
        return self.units(size, isinstance(size, Bytes))

    def rate_changes(self) -> None:
        if self.capacity is not None:
            self.earned += self.link * (self.world.now - self.since) / SECOND
            self.since = self.world.now

    def arrive(self, packet: Packet) -> None:
        now = self.world.now
        if self.capacity is None:
            self.capacity = self.params.initial * self.link
            self.drained = self.since = now
        b = float(packet.bytes) if self.params.unit == "bytes" else 1.0
        self.virtual = max(self.virtual - self.capacity * (now - self.drained) / SECOND, 0.0)
        self.drained = now
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
            return
        if less(self.buffer, self.virtual + b):
            if not self.world.signal(packet, self.params.ecn):
                return
        else:
            self.virtual += b
        earned = self.earned + self.link * (now - self.since) / SECOND
        capacity = self.capacity + self.params.alpha * (self.params.gamma * earned - b)
        self.capacity = min(max(capacity, 0.0), self.link)
        self.earned, self.since = 0.0, now
        self.join(packet)

    def internals(self) -> dict[str, float]:
        scale = 8 if self.params.unit == "bytes" else 8 * self.params.avpkt
        return {
            "virtual_capacity_bit_s": math.nan if self.capacity is None else self.capacity * scale,
            "virtual_queue": self.virtual,
            "virtual_buffer": self.buffer,
        }


class Blue(Model):
    """Feng et al. 2002, section 3."""

    DEFAULTS = {
        "limit": "1000p",
        "d1": "0.0025",
        "d2": "0.00025",
        "freeze_time": "100ms",
        "idle": "event",
        "raise_above": "none",
        "ecn": "false",
    }
    TEXTS = (
        "limit 8p d1 0.2 d2 0.1 freeze_time 3ms ecn",
        "limit 9kB d1 0.05 d2 0.02 freeze_time 1ms idle lasting",
        "limit 30p d1 0.3 d2 0.1 freeze_time 0ns raise_above 6p ecn",
        "limit 12p d1 0.4 d2 0.07 freeze_time 10ms idle lasting raise_above 3p",
        "limit 5p",
    )
    LONGEST = 20 * SECOND

    def setup(self) -> None:
        self.p = 0.0
        self.moved: int | None = None
        self.is_idle = False

    def run_timers(self) -> None:
        # While idle lasts, p falls as soon as the last change is freeze_time ago.
        while self.is_idle and self.params.idle == "lasting" and self.moved is not None and not self.is_frozen():
            self.moved += self.params.freeze_time
            self.p = max(0.0, self.p - self.params.d2)

    def is_frozen(self) -> bool:
        """Return whether the last change was within freeze_time."""
        return self.moved is not None and self.world.now - self.moved <= self.params.freeze_time

    def move(self, by: float) -> None:
        """Change p, if it is not frozen."""
        if not self.is_frozen():
            self.p = min(max(self.p + by, 0.0), 1.0)
            self.moved = self.world.now

    def arrive(self, packet: Packet) -> None:
        above = self.params.raise_above
        if self.is_full(packet):
            self.move(self.params.d1)
            self.world.drop(packet, "overflow")
            return
        if above != "none" and len(self.queue) > above:
            self.move(self.params.d1)
        if not self.world.chance(self.p) or self.world.signal(packet, self.params.ecn):
            self.join(packet)

    def ask(self) -> Packet | None:
        packet = self.leave()
        self.is_idle = packet is None
        if packet is None:
            self.move(-self.params.d2)
        return packet

    def overflowed(self, packets: int) -> None:
        self.move(self.params.d1)

    def internals(self) -> dict[str, float]:
        return {"probability": self.p}

    def instants(self) -> list[int]:
        return [] if self.moved is None else [self.moved + self.params.freeze_time]


class Green(Model):
    """Both schemes of the name."""

    DEFAULTS = {
        "limit": "1000p",
        "scheme": "flows",
        "rtt": "100ms",
        "mss": "1460B",
        "c": "0.93",
        "window": "1s",
        "flows": "4096",
        "c_t": "0.97",
        "dp": "0.001",
        "interval": "10ms",
        "time_constant": "100ms",
        "ecn": "false",
    }
    TEXTS = (
        "limit 30p ecn",
        "limit 20p rtt 10ms mss 500B c 1.2 window 20ms flows 3 ecn",
        "rtt 20ms window 2ms",
        "scheme rate dp 0.05 limit 40p ecn",
        "scheme rate dp 0.2 interval 3ms time_constant 5ms c_t 0.5 limit 30kB",
    )

    def setup(self) -> None:
        self.last: dict[int, int] = {}  # flow: its last arrival, in that order
        self.p = 0.0
        self.x = 0.0  # bit/s
        self.bits = 0
        self.timer = Timer(self.params.interval)

    def run_timers(self) -> None:
        x = self.params
        if x.scheme == "flows":
            self.count_flows()
            return
        while self.timer.due(self.world.now) is not None:
            keep = math.exp(-x.interval / x.time_constant)
            self.x = (1 - keep) * self.bits / (x.interval / SECOND) + keep * self.x
            self.bits = 0
            target = x.c_t * self.world.rate
            if self.x != target:
                self.p = min(max(self.p + (-x.dp if less(self.x, target) else x.dp), 0.0), 1.0)

    def count_flows(self) -> None:
        """Forget who is silent for longer than the window; p = (N mss c/(C rtt))^2."""
        x = self.params
        self.last = {flow: at for flow, at in self.last.items() if self.world.now - at <= x.window}
        link = self.world.rate / 8 * x.rtt / SECOND
        n = len(self.last)
        self.p = min(1.0, (n * x.mss * x.c / link) ** 2) if link else float(n > 0)

    def arrive(self, packet: Packet) -> None:
        x, now = self.params, self.world.now
        if x.scheme == "rate":
            self.timer.start(now)
            self.bits += 8 * packet.bytes
        else:
            self.last.pop(packet.flow, None)
            self.last[packet.flow] = now
            while len(self.last) > x.flows:
                self.last.pop(next(iter(self.last)))
            self.count_flows()
        if self.is_full(packet):
            self.world.drop(packet, "overflow")
        elif not self.world.chance(self.p) or self.world.signal(packet, x.ecn):
            self.join(packet)

    def internals(self) -> dict[str, float]:
        if self.params.scheme == "rate":
            return {"probability": self.p, "arrival_rate_bit_s": self.x}
        return {"probability": self.p, "active_flows": len(self.last)}

    def instants(self) -> list[int]:
        return [self.timer.next or 0] + [at + self.params.window for at in list(self.last.values())[:2]]
