"""Many users' traffic through the kernel's own TCP; run as a script inside a network namespace.

Needs only the standard library, so that it starts at once. ``python traffic.py receive`` discards what arrives;
``python traffic.py send FILE`` sends what the JSON document in FILE says, until its end, and prints what it did.

Transfers arrive as a Poisson process; their sizes have a bounded Pareto distribution (heavy-tailed: Crovella and
Bestavros, 1997); a user gives up after an exponential time. UDP streams of a constant rate come and go likewise. The
demand, a factor on both arrival rates, swings between two values along a triangle, so that each value in between is
as frequent as any other.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import random
import selectors
import socket
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PORT = 9000
_CHUNK = bytes(1 << 17)
_TCP_NOTSENT_LOWAT = 25


def pareto(uniform: float, *, shape: float, least: float, most: float) -> float:
    """Return the quantile of a bounded Pareto distribution.

    Examples
    --------
    >>> round(pareto(0.0, shape=1.2, least=10, most=1000)), round(pareto(1.0, shape=1.2, least=10, most=1000))
    (10, 1000)
    """
    kept = 1.0 - uniform * (1.0 - (least / most) ** shape)
    return float(least * kept ** (-1.0 / shape))


def pareto_mean(*, shape: float, least: float, most: float) -> float:
    """Return the mean of a bounded Pareto distribution, of a shape other than 1.

    Examples
    --------
    >>> round(pareto_mean(shape=2.0, least=1, most=1e9), 6)  # shape / (shape - 1)
    2.0
    """
    density = shape * least**shape / (1.0 - (least / most) ** shape)
    return float(density * (most ** (1.0 - shape) - least ** (1.0 - shape)) / (1.0 - shape))


def demand(elapsed_s: float, *, period_s: float, low: float, high: float) -> float:
    """Return the factor on arrival rates: `low` at first, `high` half a period later.

    Examples
    --------
    >>> [demand(t, period_s=8, low=1.0, high=2.0) for t in (0, 2, 4, 6, 8)]
    [1.0, 1.5, 2.0, 1.5, 1.0]
    """
    phase = elapsed_s / period_s % 1.0
    return low + (high - low) * (2.0 * phase if phase < 0.5 else 2.0 - 2.0 * phase)


@dataclass(slots=True)
class _Transfer:
    socket: socket.socket
    left: int
    is_done: bool = False


@dataclass(slots=True)
class _Stream:
    packet: bytes
    interval_s: float
    ends_s: float


class Sender:
    """One client's users.

    Parameters
    ----------
    plan
        ``server``, ``begin_s`` and ``end_s`` (monotonic clock), ``seed``; ``demand``: ``period_s``, ``low``,
        ``high``; ``transfers``: ``a_second``, ``shape``, ``least_bytes``, ``most_bytes``, ``patience_s``,
        ``congestion_control`` (name to share); ``streams``: a list of ``a_second``, ``life_s``, ``rate_bit_s``,
        ``packet_bytes``.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._random = random.Random(plan["seed"])  # noqa: S311
        self._selector = selectors.DefaultSelector()
        # Due time, a number that decides ties, what is done.
        self._agenda: list[tuple[float, int, str, Any]] = []
        self._order = itertools.count()
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.setblocking(False)
        self._server = (plan["server"], PORT)
        self.counts = {"transfers": 0, "finished": 0, "given_up": 0, "failed": 0, "streams": 0, "datagrams": 0}

    def run(self) -> dict[str, int]:
        """Send until the end, and return what was done."""
        self._at(self._next(self._plan["begin_s"], self._plan["transfers"]["a_second"]), "transfer", None)
        for kind in self._plan["streams"]:
            self._at(self._next(self._plan["begin_s"], kind["a_second"]), "stream", kind)
            # As many as there are in the steady state: lives are exponential, so they need not be old.
            expected = kind["a_second"] * kind["life_s"] * self._plan["demand"]["low"]
            for _ in range(self._poisson(expected)):
                self._start_stream(self._plan["begin_s"], kind)
        while (now := time.monotonic()) < self._plan["end_s"]:
            while self._agenda and self._agenda[0][0] <= now:
                due, _, what, of = heapq.heappop(self._agenda)
                getattr(self, f"_do_{what}")(due, of)
            due = self._agenda[0][0] if self._agenda else now + 1.0
            for key, _ in self._selector.select(max(0.0, min(due - time.monotonic(), 0.5))):
                self._feed(key.data)
        self.close()
        return self.counts

    def close(self) -> None:
        """Close every socket; what is under way is left."""
        for key in list(self._selector.get_map().values()):
            key.data.socket.close()
        self._selector.close()
        self._datagrams.close()

    def _at(self, due: float, what: str, of: Any) -> None:
        heapq.heappush(self._agenda, (due, next(self._order), what, of))

    def _next(self, after: float, a_second: float) -> float:
        of = self._plan["demand"]
        factor = demand(
            max(0.0, after - self._plan["begin_s"]), period_s=of["period_s"], low=of["low"], high=of["high"]
        )
        return after + self._random.expovariate(a_second * factor)

    def _do_transfer(self, due: float, _: None) -> None:
        of = self._plan["transfers"]
        self._at(self._next(due, of["a_second"]), "transfer", None)
        size = pareto(self._random.random(), shape=of["shape"], least=of["least_bytes"], most=of["most_bytes"])
        names, shares = zip(*of["congestion_control"].items(), strict=True)
        congestion = self._random.choices(names, shares)[0]
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        connection.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, len(_CHUNK))
        with contextlib.suppress(BlockingIOError):
            connection.connect(self._server)
        transfer = _Transfer(connection, int(size))
        self._selector.register(connection, selectors.EVENT_WRITE, transfer)
        self._at(due + self._random.expovariate(1.0 / of["patience_s"]), "give_up", transfer)
        self.counts["transfers"] += 1

    def _feed(self, transfer: _Transfer) -> None:
        try:
            transfer.left -= transfer.socket.send(_CHUNK[: transfer.left])
        except BlockingIOError:
            return
        except OSError:
            self._end(transfer, "failed")
            return
        if transfer.left <= 0:
            self._end(transfer, "finished")

    def _do_give_up(self, _: float, transfer: _Transfer) -> None:
        if not transfer.is_done:
            # Reset: what is in its buffer is of no use to anybody.
            transfer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._end(transfer, "given_up")

    def _end(self, transfer: _Transfer, how: str) -> None:
        self._selector.unregister(transfer.socket)
        transfer.socket.close()
        transfer.is_done = True
        self.counts[how] += 1

    def _do_stream(self, due: float, kind: dict[str, Any]) -> None:
        self._at(self._next(due, kind["a_second"]), "stream", kind)
        self._start_stream(due, kind)

    def _poisson(self, mean: float) -> int:
        # Arrivals of a Poisson process of rate 1 until `mean`.
        count = 0
        time_left = mean - self._random.expovariate(1.0)
        while time_left > 0.0:
            count += 1
            time_left -= self._random.expovariate(1.0)
        return count

    def _start_stream(self, due: float, kind: dict[str, Any]) -> None:
        life = self._random.expovariate(1.0 / kind["life_s"])
        interval = kind["packet_bytes"] * 8 / kind["rate_bit_s"]
        stream = _Stream(bytes(kind["packet_bytes"]), interval, due + life)
        self._at(due + self._random.random() * interval, "datagram", stream)
        self.counts["streams"] += 1

    def _do_datagram(self, due: float, stream: _Stream) -> None:
        # A full interface queue drops it, as it would for any user.
        with contextlib.suppress(OSError):
            self._datagrams.sendto(stream.packet, self._server)
            self.counts["datagrams"] += 1
        if due + stream.interval_s < stream.ends_s:
            self._at(due + stream.interval_s, "datagram", stream)


def receive() -> None:
    """Take connections and discard what they bring, until the process is ended."""
    selector = selectors.DefaultSelector()
    listener = socket.create_server(("0.0.0.0", PORT), backlog=1024)  # noqa: S104
    listener.setblocking(False)
    selector.register(listener, selectors.EVENT_READ)
    # Datagrams are dropped by the kernel as its buffer is full; without the socket it would answer with ICMP.
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("0.0.0.0", PORT))  # noqa: S104
    buffer = bytearray(1 << 20)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setblocking(False)
                selector.register(connection, selectors.EVENT_READ)
                continue
            connection = key.fileobj  # type: ignore[assignment]
            try:
                is_open = connection.recv_into(buffer) > 0
            except BlockingIOError:
                continue
            except OSError:
                is_open = False
            if not is_open:
                selector.unregister(connection)
                connection.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["receive"]:
        receive()
    else:
        print(json.dumps(Sender(json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))).run()))
