"""Flows of a scenario through the kernel's network stack; run as a script in a host: ``python traffic.py PLAN``.

It needs only the standard library. PLAN is a JSON document with the flows that this host sends and receives. The
program prints, for each flow that it receives, the payload that arrived between the end of the warm-up and the end.
Times are of the monotonic clock, which all hosts share.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import sys
import time
from typing import Any

CHUNK = 1 << 16
TCP_NOTSENT_LOWAT = 25
CONNECT_S = 0.01


class Host:
    """What one host sends and receives."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.begin = float(plan["begin_s"])
        self.warm = self.begin + float(plan["warm_up_s"])
        self.end = self.begin + float(plan["duration_s"])
        self.peer = str(plan["peer"])
        self.sent = list(plan["sends"])
        self.counts = {int(flow["port"]): 0 for flow in plan["receives"]}
        self.selector = selectors.DefaultSelector()
        for flow in plan["receives"]:
            kind = socket.SOCK_STREAM if flow["transport"] == "tcp" else socket.SOCK_DGRAM
            there = socket.socket(socket.AF_INET, kind)
            there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            there.bind(("", int(flow["port"])))
            there.setblocking(False)
            if kind == socket.SOCK_STREAM:
                there.listen(16)
            self.selector.register(there, selectors.EVENT_READ, ("accept" if kind == 1 else "take", flow["port"]))

    def run(self) -> dict[int, int]:
        """Send and receive until the end."""
        agenda = sorted((self.begin + float(flow["start_s"]), number) for number, flow in enumerate(self.sent))
        streams: list[list[Any]] = []
        while (now := time.monotonic()) < self.end:
            while agenda and agenda[0][0] <= now:
                streams.extend(self._start(self.sent[agenda.pop(0)[1]], now))
            due = [agenda[0][0]] if agenda else []
            for stream in streams:
                # A constant bit rate: each packet at its time, late ones at once.
                while stream[0] <= now:
                    self._datagram(stream)
                due.append(stream[0])
            wait = max(0.0, min([self.end, *due]) - now)
            for key, _ in self.selector.select(min(wait, 0.1)):
                getattr(self, f"_{key.data[0]}")(key.fileobj, key.data[1])
        return self.counts

    def _start(self, flow: dict[str, Any], now: float) -> list[list[Any]]:
        port = int(flow["port"])
        if flow["transport"] == "udp":
            there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            there.connect((self.peer, port))
            return [[now, flow["interval_s"], there, bytes(flow["packet_bytes"])]]
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, str(flow["congestion"]).encode())
        connection.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, CHUNK)
        connection.setblocking(False)
        connection.connect_ex((self.peer, port))
        self.selector.register(connection, selectors.EVENT_WRITE, ("feed", port))
        return []

    @staticmethod
    def _datagram(stream: list[Any]) -> None:
        # A full interface queue drops it, as it would for any user.
        with contextlib.suppress(OSError):
            stream[2].send(stream[3])
        stream[0] += stream[1]

    @staticmethod
    def _feed(connection: Any, _: int) -> None:
        with contextlib.suppress(BlockingIOError):
            connection.send(bytes(CHUNK))

    def _accept(self, listener: Any, port: int) -> None:
        connection, _ = listener.accept()
        connection.setblocking(False)
        self.selector.register(connection, selectors.EVENT_READ, ("take", port))

    def _take(self, connection: Any, port: int) -> None:
        try:
            data = connection.recv(CHUNK)
        except BlockingIOError:
            return
        if not data and connection.type == socket.SOCK_STREAM:
            self.selector.unregister(connection)
            return
        if time.monotonic() >= self.warm:
            self.counts[port] += len(data)


if __name__ == "__main__":
    print(json.dumps(Host(json.loads(sys.argv[1])).run()))
