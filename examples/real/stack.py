#!/usr/bin/env python3
"""Try a congestion control of a user-space stack under ten schemes and a trace, and give a verdict for each.

    stack.py                                     all of them, ten seconds each
    stack.py --seconds 3 --aqm codel             one of them
    stack.py --command 'my-sender server'        another stack: it sends from the host `client` for --seconds

The stack here is small: numbered datagrams, an acknowledgement for each, and a window that grows by a packet in a
round trip and halves at a loss. Put your own rule into `Window`. A verdict compares it with the kernel's CUBIC on the
same link: at least THROUGHPUT of its throughput, at most DELAY of its queueing delay.
"""

from __future__ import annotations

import argparse
import shlex
import socket
import struct
import sys
import time

PORT = 5000
PAYLOAD = 1400
RATE, RTT = "10 Mbit/s", "40 ms"
SCHEMES = (
    *("pfifo limit 100p", "red", "codel", "pie", "cobalt"),
    *("fq_codel", "fq_pie", "sfq", "cake", "dualpi2"),
)
TRACE = "lte"
THROUGHPUT, DELAY, LEAST_DELAY_MS = 0.7, 1.5, 5.0
NUMBER = struct.Struct("!I")


class Window:
    """How many packets may be under way: Reno's congestion avoidance after a slow start."""

    def __init__(self) -> None:
        self.packets = 10.0
        self.threshold = float("inf")

    def acknowledged(self) -> None:
        """A packet has arrived."""
        self.packets += 1.0 if self.packets < self.threshold else 1.0 / self.packets

    def lost(self) -> None:
        """Packets of one round trip were lost."""
        self.threshold = self.packets = max(2.0, self.packets / 2)


def send(host: str, seconds: float) -> None:
    """Send for some time; a gap of three acknowledgements is a loss, and so is silence."""
    there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    there.connect((host, PORT))
    window, sent, cut_until = Window(), 0, 0
    flying: dict[int, float] = {}
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        while len(flying) < window.packets:
            there.send(NUMBER.pack(sent).ljust(PAYLOAD, b"\0"))
            flying[sent] = now
            sent += 1
        there.settimeout(0.3)
        try:
            (number,) = NUMBER.unpack_from(there.recv(64))
        except OSError:
            flying.clear()
            window.lost()
            continue
        if flying.pop(number, None) is not None:
            window.acknowledged()
        gone = [one for one in flying if one < number - 3]
        for one in gone:
            del flying[one]
        if gone and max(gone) >= cut_until:
            # At most once in a round trip.
            cut_until = sent
            window.lost()


def receive() -> None:
    """Acknowledge every datagram."""
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind(("", PORT))
    while True:
        data, address = here.recvfrom(2048)
        here.sendto(data[: NUMBER.size], address)


# The kernel's CUBIC, for comparison.
KERNEL_SENDS = """
import socket, sys, time
there = socket.socket()
there.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
there.connect(("server", 5001))
end = time.monotonic() + float(sys.argv[1])
there.settimeout(0.5)
while time.monotonic() < end:
    try:
        there.send(bytes(65536))
    except OSError:
        pass
"""
KERNEL_TAKES = """
import socket
connection = socket.create_server(("", 5001)).accept()[0]
while connection.recv(65536):
    pass
"""


def measured(aqm: str, trace: str | None, receiver: list[str], sender: list[str]) -> tuple[float, float]:
    """Return throughput in Mbit/s and mean queueing delay in ms of what the client sends."""
    import sojourn as sj

    up = {"trace_up": trace} if trace else {"up": RATE}
    with sj.emulate(down="100 Mbit/s", rtt=RTT, up_aqm=aqm, seed=1, **up) as lab:
        lab.serve(receiver)
        done = lab.run("client", sender, timeout_s=300)
        outcome = lab.finish()
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    way = outcome.ways["up"]
    return way.throughput_bit_s / 1e6, way.metrics["sojourn_ms_mean"] or 0.0


def main() -> int:
    """Print a verdict for each scheme; the exit status is 1 if one is bad."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aqm", action="append", help="a scheme, repeatable (default: ten, and a trace)")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--command", help="the sender of another stack")
    parser.add_argument("--receiver", help="its receiver")
    parser.add_argument("--send", metavar="HOST", help=argparse.SUPPRESS)
    parser.add_argument("--receive", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.receive:
        receive()
    if options.send:
        send(options.send, options.seconds)
        return 0
    own = [sys.executable, __file__]
    receiver = shlex.split(options.receiver) if options.receiver else [*own, "--receive"]
    sender = [*own, "--send", "server", "--seconds", str(options.seconds)]
    sender = shlex.split(options.command) if options.command else sender
    cases = [(one, None) for one in options.aqm or SCHEMES] + ([] if options.aqm else [("codel", TRACE)])
    bad = 0
    for aqm, trace in cases:
        ours = measured(aqm, trace, receiver, sender)
        kernel = measured(
            aqm,
            trace,
            [sys.executable, "-c", KERNEL_TAKES],
            [sys.executable, "-c", KERNEL_SENDS, str(options.seconds)],
        )
        is_good = ours[0] >= THROUGHPUT * kernel[0] and ours[1] <= DELAY * max(kernel[1], LEAST_DELAY_MS)
        bad += not is_good
        name = f"{aqm}, trace {trace}" if trace else aqm
        sides = (f"{side[0]:6.2f} Mbit/s {side[1]:7.1f} ms" for side in (ours, kernel))
        print(f"{name:20s} {'   CUBIC '.join(sides)}   {'good' if is_good else 'bad'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
