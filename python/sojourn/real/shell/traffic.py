"""Flows of a scenario through the kernel's network stack; run as a script in a host.

Standard input is a socket. The program reads a plan, a line of JSON, says that it is ready, and is told when the run
begins. Generators of packets, clients of applications and receivers that judge what they
hear are those of the simulator, with its random streams (``Users`` of the compiled library). This program opens
connections, keeps the times, and carries bytes. Besides that library it needs only the standard library.

Times are nanoseconds since the begin, of the monotonic clock, which all hosts share. When something arrived is the
kernel's time stamp, so a late program measures no later arrival. At the end it prints what it measured.
"""

from __future__ import annotations

import contextlib
import heapq
import importlib.util
import itertools
import json
import resource
import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

CHUNK = 1 << 16
TCP_NOTSENT_LOWAT = 25
TCP_INFO_BYTES, TOTAL_RETRANSMISSIONS_AT = 104, 100
SO_TIMESTAMPNS = 35
GRACE_NS = 500_000_000
"""Datagrams that were sent by the end may arrive so long after it."""

STAMP = struct.Struct("!IQ")
"""The first bytes of a datagram: its number, and when it was sent."""

REQUEST = struct.Struct("!IQ")
"""The first bytes of a request: its length, and that of the answer."""

LONGEST_DATAGRAM = 1472
READS = 16
"""Reads of one socket before the others have their turn."""


class Flow:
    """What is known of one flow in this host."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        self.number = int(about["number"])
        self.port = int(about["port"])
        self.received = 0
        self.received_all = 0
        self.first_sent: int | None = None
        self.first_heard: int | None = None
        self.completed: int | None = None
        self.sent = self.arrived = self.ordinal = 0
        self.seen: set[int] = set()
        self.delays: list[int] = []
        self.retransmissions = [0, 0]
        self.connection: socket.socket | None = None

    def measured(self) -> dict[str, Any]:
        """Return what this host knows of the flow."""
        return {
            "received": self.received,
            "first_sent_ns": self.first_sent,
            "first_heard_ns": self.first_heard,
            "completed_ns": self.completed,
            "sent": self.sent,
            "arrived": self.arrived,
            "delays_ns": self.delays,
            "retransmissions": self.retransmissions[1] - self.retransmissions[0],
        }


class Connection:
    """A connection of a client, in the client's host."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.socket: socket.socket | None = None
        self.to_come = 0
        self.request = b""


class Host:
    """What one host sends and receives.

    Parameters
    ----------
    plan
        ``host``, ``peer``, ``scenario`` (text), ``seed``, ``replication``, ``native`` (file), ``warm_ns``,
        ``end_ns``, and ``flows``: those of the library with ``number``, ``transport``, ``port``, ``congestion``,
        ``sender`` and ``receiver``.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.host, self.peer = str(plan["host"]), str(plan["peer"])
        self.warm, self.end = int(plan["warm_ns"]), int(plan["end_ns"])
        self.users = _native(plan["native"]).Users(plan["scenario"], plan["seed"], plan["replication"])
        self.flows = [Flow(about) for about in plan["flows"]]
        self.begin = time.monotonic_ns()
        self.selector = selectors.DefaultSelector()
        self.agenda: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.order = itertools.count()
        self.clients: dict[int, list[Connection]] = {}
        self.wakes: dict[int, int] = {}
        self.late_ns = self.late_count = 0
        self.is_warm = False
        # Dates of the kernel's time stamps against the monotonic clock.
        self.since_1970 = min(time.time_ns() - time.monotonic_ns() for _ in range(5))
        for flow in self.flows:
            self._listen(flow)

    # Setting up

    def _listen(self, flow: Flow) -> None:
        about = flow.about
        is_client = about["kind"] == "client"
        # The side that waits for packets: a receiver, or the server of a client.
        if about["sender" if is_client else "receiver"] != self.host:
            return
        if about["transport"] == "udp":
            there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            there.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            # Bursts must not be lost at this program's own buffer.
            there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            there.bind(("", flow.port))
            there.setblocking(False)
            self._register(there, selectors.EVENT_READ, self._datagrams, flow, there)
            return
        there = self._tcp(flow)
        there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        there.bind(("", flow.port))
        there.listen(64)
        self._register(there, selectors.EVENT_READ, self._accept, flow, there)

    def _tcp(self, flow: Flow) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, str(flow.about["congestion"]).encode())
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, CHUNK)
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(flow.about["dscp"]) << 2)
        made.setblocking(False)
        return made

    def _register(self, of: socket.socket, events: int, what: Callable[..., None], *arguments: Any) -> None:
        self.selector.register(of, events, (what, arguments))

    def _forget(self, of: socket.socket) -> None:
        with contextlib.suppress(KeyError):
            self.selector.unregister(of)
        of.close()

    # Running

    def run(self, begin_ns: int) -> dict[str, Any]:
        """Send and receive until the end, and return what was measured."""
        self.begin = begin_ns
        for flow in self.flows:
            about = flow.about
            if about["kind"] == "client":
                if about["receiver"] == self.host and about["connection"] == 0:
                    self._at(about["start_ns"], self._wake, flow, about["start_ns"])
            elif about["sender"] == self.host:
                self._at(about["start_ns"], self._start, flow)
        self._at(self.warm, self._warm)
        while (now := self._now()) < self.end + GRACE_NS:
            while self.agenda and self.agenda[0][0] <= now:
                _, _, what, arguments = heapq.heappop(self.agenda)
                what(*arguments)
            due = self.agenda[0][0] if self.agenda else self.end + GRACE_NS
            wait_s = max(0, min(due, self.end + GRACE_NS) - self._now()) / 1e9
            for key, _ in self.selector.select(wait_s):
                what, arguments = key.data
                what(*arguments)
        return self._results()

    def _results(self) -> dict[str, Any]:
        groups: dict[str, list[int]] = {}
        for flow in self.flows:
            # Receivers hear, and clients are at the receivers of their data.
            if flow.about["kind"] in {"heard", "client"} and flow.about["receiver"] == self.host:
                groups.setdefault(flow.about["group"], []).append(flow.number)
        return {
            "flows": {flow.number: flow.measured() for flow in self.flows},
            "groups": {name: json.loads(self.users.measured(numbers, self.end)) for name, numbers in groups.items()},
            "late_s": self.late_ns / self.late_count / 1e9 if self.late_count else 0.0,
        }

    def _now(self) -> int:
        return time.monotonic_ns() - self.begin

    def _at(self, due: int, what: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self.agenda, (due, next(self.order), what, arguments))

    def _warm(self) -> None:
        if self.is_warm:
            return
        self.is_warm = True
        self.users.restart(self.warm)
        for flow in self.flows:
            flow.retransmissions[0] = self._retransmissions(flow)

    def _retransmissions(self, flow: Flow) -> int:
        if flow.connection is None or flow.about["kind"] != "bulk":
            return 0
        with contextlib.suppress(OSError):
            tcp_info = flow.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
            return int(struct.unpack_from("=I", tcp_info, TOTAL_RETRANSMISSIONS_AT)[0])
        return 0

    def _was_due(self, due: int) -> None:
        self.late_ns += max(0, self._now() - due)
        self.late_count += 1

    def _arrived(self, ancillary: list[tuple[int, int, bytes]]) -> int:
        """Return when something arrived: the kernel's time stamp, or now."""
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                seconds, nanoseconds = struct.unpack_from("@ll", data)
                at: int = seconds * 1_000_000_000 + nanoseconds - self.since_1970 - self.begin
                break
        else:
            at = self._now()
        if at >= self.warm:
            self._warm()
        return max(0, at)

    # Senders

    def _start(self, flow: Flow) -> None:
        about = flow.about
        if about["stop_ns"] is not None:
            self._at(about["stop_ns"], self._stop, flow)
        if about["transport"] == "udp":
            there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            there.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(about["dscp"]) << 2)
            there.connect((self.peer, flow.port))
            there.setblocking(False)
            flow.connection = there
            self._next_datagram(flow, int(about["start_ns"]))
            return
        flow.connection = connection = self._tcp(flow)
        flow.first_sent = self._now()
        connection.connect_ex((self.peer, flow.port))
        if about["kind"] in {"bulk", "transfer"}:
            left = [about["bytes"]]
            self._register(connection, selectors.EVENT_WRITE, self._feed, flow, connection, left)
        else:
            left = [0]
            self._register(connection, selectors.EVENT_READ, self._drain, connection)
            self._next_write(flow, int(about["start_ns"]), left)

    def _stop(self, flow: Flow) -> None:
        if flow.connection is not None:
            flow.retransmissions[1] = self._retransmissions(flow)
            self._forget(flow.connection)
            flow.connection = None

    def _feed(self, flow: Flow, connection: socket.socket, left: list[int | None]) -> None:
        size = CHUNK if left[0] is None else min(CHUNK, left[0])
        try:
            sent = connection.send(bytes(size)) if size else 0
        except BlockingIOError:
            return
        except OSError:
            self._forget(connection)
            return
        flow.retransmissions[1] = self._retransmissions(flow) if self.is_warm else 0
        if left[0] is None:
            return
        left[0] -= sent
        if left[0] <= 0:
            self.selector.unregister(connection)
            connection.shutdown(socket.SHUT_WR)
            self._register(connection, selectors.EVENT_READ, self._drain, connection)

    def _drain(self, connection: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            if connection.recv(CHUNK):
                return
            self._forget(connection)

    def _next_datagram(self, flow: Flow, last: int) -> None:
        gap, size = self.users.next_packet(flow.number)
        if last + gap < self.end:
            self._at(last + gap, self._datagram, flow, last + gap, size)

    def _datagram(self, flow: Flow, due: int, size: int) -> None:
        if flow.connection is None:
            return
        self._was_due(due)
        now = self._now()
        data = STAMP.pack(flow.ordinal & 0xFFFFFFFF, now).ljust(min(size, LONGEST_DATAGRAM), b"\0")
        flow.ordinal += 1
        flow.first_sent = now if flow.first_sent is None else flow.first_sent
        flow.sent += self.warm <= now < self.end
        # A full interface queue drops it, as it would for any user.
        with contextlib.suppress(OSError):
            flow.connection.send(data)
        self._next_datagram(flow, due)

    def _next_write(self, flow: Flow, last: int, left: list[int]) -> None:
        gap, size = self.users.next_packet(flow.number)
        if last + gap < self.end:
            self._at(last + gap, self._write, flow, last + gap, size, left)

    def _write(self, flow: Flow, due: int, size: int, left: list[int]) -> None:
        """Hand data of a generator to TCP; what does not fit into its buffer waits."""
        connection = flow.connection
        if connection is None:
            return
        self._was_due(due)
        left[0] += size
        self._pump(connection, left)
        self._next_write(flow, due, left)

    def _pump(self, connection: socket.socket, left: list[int]) -> None:
        """Send what waits."""
        with contextlib.suppress(OSError):
            left[0] -= connection.send(bytes(min(left[0], 1 << 20)))
        if left[0] > 0:
            self.selector.modify(connection, selectors.EVENT_WRITE, (self._pump, (connection, left)))
        else:
            self.selector.modify(connection, selectors.EVENT_READ, (self._drain, (connection,)))

    # Receivers

    def _accept(self, flow: Flow, listener: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            connection, _ = listener.accept()
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if flow.about["kind"] == "client":
                self._register(connection, selectors.EVENT_READ, self._serve, connection, bytearray(), [0])
            else:
                self._register(connection, selectors.EVENT_READ, self._take, flow, connection)

    def _take(self, flow: Flow, connection: socket.socket) -> None:
        for _ in range(READS):
            try:
                data, ancillary, _, _ = connection.recvmsg(CHUNK, 64)
            except BlockingIOError:
                return
            except OSError:
                self._forget(connection)
                return
            if not data:
                self._forget(connection)
                return
            self._payload(flow, len(data), self._arrived(ancillary))

    def _payload(self, flow: Flow, size: int, at: int) -> None:
        flow.first_heard = at if flow.first_heard is None else flow.first_heard
        flow.received_all += size
        if self.warm <= at <= self.end:
            flow.received += size
        if flow.about["kind"] == "transfer" and flow.received_all >= flow.about["bytes"] and at <= self.end:
            flow.completed = at

    def _datagrams(self, flow: Flow, there: socket.socket) -> None:
        for _ in range(READS):
            try:
                data, ancillary, _, _ = there.recvmsg(CHUNK, 64)
            except BlockingIOError:
                return
            at = self._arrived(ancillary)
            number, sent = STAMP.unpack_from(data)
            flow.first_heard = at if flow.first_heard is None else flow.first_heard
            if number in flow.seen:
                # A copy that the link made.
                continue
            flow.seen.add(number)
            if at <= self.end:
                self.users.hear(flow.number, at, number, sent)
            flow.arrived += self.warm <= sent < self.end
            if self.warm <= at <= self.end:
                flow.received += len(data)
                flow.delays.append(at - sent)

    # Servers of clients

    def _serve(self, connection: socket.socket, heard: bytearray, left: list[int]) -> None:
        try:
            data = connection.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._forget(connection)
            return
        heard += data
        if len(heard) >= REQUEST.size:
            length, answer = REQUEST.unpack_from(heard)
            if len(heard) >= length:
                del heard[:length]
                left[0] = answer
                self.selector.modify(connection, selectors.EVENT_WRITE, (self._answer, (connection, heard, left)))

    def _answer(self, connection: socket.socket, heard: bytearray, left: list[int]) -> None:
        try:
            left[0] -= connection.send(bytes(min(CHUNK, left[0])))
        except BlockingIOError:
            return
        except OSError:
            self._forget(connection)
            return
        if left[0] <= 0:
            self.selector.modify(connection, selectors.EVENT_READ, (self._serve, (connection, heard, left)))

    # Clients

    def _wake(self, flow: Flow, due: int) -> None:
        stop = flow.about["stop_ns"]
        if self.wakes.get(flow.number, due) != due or due >= self.end or (stop is not None and due >= stop):
            return
        self._was_due(due)
        if flow.number not in self.clients:
            own = self.flows[flow.number : flow.number + int(flow.about["connections"])]
            self.clients[flow.number] = [Connection(one) for one in own]
        self._obey(flow, *self.users.on_time(flow.number, self._now()))

    def _obey(self, flow: Flow, gets: list[tuple[int, int, int, bool]], wake_ns: int) -> None:
        self.wakes[flow.number] = wake_ns
        if wake_ns < self.end:
            self._at(wake_ns, self._wake, flow, wake_ns)
        for number, request, answer, anew in gets:
            connection = self.clients[flow.number][number]
            connection.to_come = answer
            connection.request = REQUEST.pack(max(request, REQUEST.size), answer).ljust(request, b"\0")
            if anew and connection.socket is not None:
                self._forget(connection.socket)
                connection.socket = None
            own = connection.flow
            own.first_sent = self._now() if own.first_sent is None else own.first_sent
            if connection.socket is None:
                connection.socket = self._tcp(own)
                connection.socket.connect_ex((self.peer, own.port))
                self._register(connection.socket, selectors.EVENT_WRITE, self._ask, flow, connection)
            else:
                connection.socket.send(connection.request)

    def _ask(self, flow: Flow, connection: Connection) -> None:
        """The connection is open."""
        if connection.socket is None:
            return
        with contextlib.suppress(OSError):
            connection.socket.send(connection.request)
        self.selector.modify(connection.socket, selectors.EVENT_READ, (self._hear, (flow, connection)))

    def _hear(self, flow: Flow, connection: Connection) -> None:
        if connection.socket is None:
            return
        try:
            data, ancillary, _, _ = connection.socket.recvmsg(CHUNK, 64)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if not data:
            self._forget(connection.socket)
            connection.socket = None
            return
        at = self._arrived(ancillary)
        self._payload(connection.flow, len(data), at)
        connection.to_come -= len(data)
        if connection.to_come <= 0 and at <= self.end:
            number = connection.flow.number - flow.number
            self._obey(flow, *self.users.on_answer(flow.number, at, number))


def _native(file: str) -> Any:
    """Load the compiled library alone: the package around it takes a second on a busy machine."""
    spec = importlib.util.spec_from_file_location("_native", file)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Take a plan, say that all is ready, and run it when told to."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    user = socket.socket(fileno=0)
    requests = user.makefile("r", encoding="utf-8")
    host = Host(json.loads(requests.readline()))
    user.sendall(b"ready\n")
    begin = requests.readline()
    if begin:
        print(json.dumps(host.run(int(begin))))


if __name__ == "__main__":
    main()
