#!/usr/bin/env python3
"""Count frames that leave a delay line before their time while the machine is busy.

Both hosts send numbered datagrams through a delay line of 20 ms in each direction. The kernel dates each frame at the
interfaces of both hosts, as it is sent and as it arrives. No frame may arrive sooner than after its time on the wire
and the delay. The lines below each back end compare the device's own account, of times in the queue and of what was
late, with the times seen from outside.

    sudo .venv/bin/python tests/device/early.py
    sudo .venv/bin/python tests/device/early.py --only af_xdp --frames 20000 --load 4 --link 10

Needs root, and what :class:`laboratory.Lab` needs. Exit status 1 if a frame was early, 77 where it
cannot be tried.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from namespaces import missing_for_the_shell

BACK_ENDS: Final = ("af_xdp", "af_packet", "shell")
PORTS: Final = {"client": 7001, "server": 7002}
"""UDP ports of what each host sends."""

DELAY_NS: Final = 20_000_000
DATA_BYTES: Final = 58
FRAME_BYTES: Final = 14 + 20 + 8 + DATA_BYTES
BURST: Final = 64
"""Most datagrams in a row: more would overload the link after a pause of the sender."""

END: Final = 1 << 63
"""Numbers from here on say that all is sent."""

# linux/if_packet.h, asm-generic/socket.h; Python's socket module has no names for them.
SO_RCVBUFFORCE, SO_TIMESTAMPNS, ETH_P_ALL, PACKET_OUTGOING = 33, 35, 3, 4


def send(host: str, peer: str, count: int, rate: float) -> None:
    """Send `count` numbered datagrams to `peer`, some `rate` a second, and then some that say that all is sent."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    to = (socket.gethostbyname(peer), PORTS[host])
    padding = bytes(DATA_BYTES - 8)
    sent, began = 0, time.monotonic()
    while sent < count:
        due = min(count, int((time.monotonic() - began) * rate) + 1)
        if due - sent > BURST:
            # What a pause of the sender left over is not made up.
            began += (due - sent - BURST) / rate
            due = sent + BURST
        for number in range(sent, due):
            # A full buffer of the interface loses the datagram, and it has no date then.
            with contextlib.suppress(OSError):
                out.sendto(struct.pack("<Q", number) + padding, to)
        sent = due
        time.sleep(0.001)
    for number in range(20):
        time.sleep(0.05)
        with contextlib.suppress(OSError):
            out.sendto(struct.pack("<Q", END + number) + padding, to)


def capture(host: str, seconds: float, file: str) -> None:
    """Write the kernel's dates of both hosts' datagrams at ``eth0`` to `file`, by number; print when ready."""
    # The kernel dates frames while a socket asks for it, and begins a little after the first one has asked.
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
    link.bind(("eth0", ETH_P_ALL))
    link.settimeout(1.0)
    time.sleep(0.2)
    print("ready", flush=True)
    dates = {port: array("q") for port in PORTS.values()}
    open_ports = set(dates)
    frame = bytearray(64)
    until = time.monotonic() + seconds
    while open_ports and time.monotonic() < until:
        try:
            _, control, _, address = link.recvmsg_into([frame], 64)
        except TimeoutError:
            continue
        if frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_UDP:
            continue
        port = frame[36] << 8 | frame[37]
        if port not in dates or (address[2] == PACKET_OUTGOING) != (port == PORTS[host]):
            continue
        (number,) = struct.unpack_from("<Q", frame, 42)
        if number >= END:
            open_ports.discard(port)
            continue
        seconds_, nanoseconds = struct.unpack("qq", control[0][2][:16])
        found = dates[port]
        if number >= len(found):
            found.extend([0] * (number + 1 - len(found)))
        found[number] = seconds_ * 1_000_000_000 + nanoseconds
    with Path(file).open("wb") as out:
        for port in PORTS.values():
            out.write(struct.pack("<Q", len(dates[port])))
            dates[port].tofile(out)


def read(file: Path) -> dict[int, array[int]]:
    """Return the dates of a capture by port and number; 0 where a datagram was not seen."""
    found = {}
    with file.open("rb") as source:
        for port in PORTS.values():
            (length,) = struct.unpack("<Q", source.read(8))
            found[port] = array("q")
            found[port].fromfile(source, length)
    return found


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was seen from outside, and what the device says."""

    sent: int
    ways: list[list[int]]
    """How much later than the earliest time allowed each frame arrived, ns, by direction; negative: it was early."""
    load: str
    directions: list[dict[str, Any]]
    """The device's status of the same directions."""

    @property
    def beyond_ns(self) -> list[int]:
        """The times of both directions, in order of size."""
        return sorted(one for way in self.ways for one in way)

    @property
    def early(self) -> int:
        """How many frames arrived too early."""
        return sum(one < 0 for way in self.ways for one in way)

    def text(self) -> str:
        """Return a line, and one for each direction."""
        times, count = self.beyond_ns, len(self.beyond_ns)

        def us(share: float) -> str:
            return f"{times[min(count - 1, int(share * count))] / 1e3:.1f}"

        lines = [
            f"{count} of {self.sent} frames arrived, {self.early} early; beyond their time: least {us(0)} us, "
            f"median {us(0.5)}, 99 % {us(0.99)}, most {us(1)}; load average {self.load}"
        ]
        for way, seen in zip(self.directions, self.ways, strict=True):

            def ms(name: str, key: str = "mean_s", way: dict[str, Any] = way) -> float:
                return float(way.get(name, {}).get(key) or 0.0) * 1e3

            sojourns = way["sojourn_totals"]
            beyond = sum(seen) / max(1, len(seen)) / 1e6
            lines.append(
                f"    {way['direction']}: left {ms('lateness'):.3f} to {ms('lateness_most'):.3f} ms late on average, "
                f"{ms('lateness_most', 'max_s'):.3f} at most; dated late by {ms('dated_late'):.3f} on average, "
                f"{ms('dated_late', 'max_s'):.3f} at most; in the queue for "
                f"{sojourns['sum_s'] * 1e3 / max(1, sojourns['packets']):.3f} on average, from outside "
                f"{beyond - ms('lateness_most') - ms('dated_late'):.3f} to {beyond - ms('lateness'):.3f}"
            )
        return "\n".join(lines)


def least_ns(frame_bytes: int, link: int) -> int:
    """Return the least time between the two dates of a frame: on the wire of `link` bit/s, and on the delay line."""
    return frame_bytes * 8 * 1_000_000_000 // link + DELAY_NS


@contextlib.contextmanager
def busy(processes: int, nice: int) -> Iterator[None]:
    """Keep the machine busy."""
    command = ["nice", "-n", str(nice), sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for one in running:
            one.send_signal(signal.SIGKILL)
            one.wait()


Start = Callable[..., Any]


def exchange(start: Start, addresses: dict[str, str], folder: Path, frames: int, rate: float) -> list[list[int]]:
    """Send `frames` datagrams, half of them in each direction, and return the dates of capture: sent, arrived."""
    each, limit_s = frames // 2, 60 + 10 * frames / rate
    files = {host: folder / f"{host}.dates" for host in PORTS}
    ready = [start(host, "capture", host, str(limit_s), str(files[host])) for host in PORTS]
    for wait in ready:
        wait()
    ends = [
        start(host, "send", host, addresses[peer], str(each), str(rate / 2), is_ready=True)
        for host, peer in (("client", "server"), ("server", "client"))
    ]
    for wait in [*ends, *ready]:
        wait(end=True)
    client, server = read(files["client"]), read(files["server"])
    pairs = [(client, server, PORTS["client"]), (server, client, PORTS["server"])]
    return [
        [
            there[port][number] - at if at and number < len(there[port]) and there[port][number] else 0
            for number, at in enumerate(here[port])
        ]
        for here, there, port in pairs
    ]


def found(took: list[list[int]], least: int, directions: list[dict[str, Any]]) -> Found:
    """Judge what was captured."""
    return Found(
        sent=sum(len(way) for way in took),
        ways=[[one - least for one in way if one] for way in took],
        load=Path("/proc/loadavg").read_text().split()[0],
        directions=directions,
    )


def in_lab(back_end: str, frames: int, rate: float, link: int, name: str, program: Path | None) -> Found:
    """Measure ``sojournd`` with a back end."""
    from laboratory import Lab

    with Lab(name=name) as lab:

        def start(host: str, *words: str, is_ready: bool = False) -> Callable[..., None]:
            process = lab.start(host, sys.executable, __file__, *words, stdout=subprocess.PIPE)

            def wait(*, end: bool = False) -> None:
                if process.stdout is not None and not end and not is_ready:
                    process.stdout.readline()
                    return
                # Closes the pipe.
                process.communicate()
                if process.returncode != 0:
                    raise SystemExit(f"early.py {' '.join(words)}: status {process.returncode}")

            return wait

        queue = f'scheme = "pfifo limit 5000p"\nrate = "{link} bit/s"\ndelay = "{DELAY_NS} ns"\n'
        text = lab.toml(back_end=back_end, scheme=None).replace('delay = "0 ms"\n', queue)
        lab.start_device(text, program=program)
        addresses = {host: lab.address(host) for host in PORTS}
        took = exchange(start, addresses, lab.folder, frames, rate)
        return found(took, least_ns(FRAME_BYTES, link), lab.settled()["directions"])


def in_shell(frames: int, rate: float, link: int) -> Found:
    """Measure the link of ``sojourn shell``."""
    from sojourn.real.shell.emulation import emulate

    rtt, speed = f"{2 * DELAY_NS} ns", f"{link} bit/s"
    # Only with root's capabilities may the captures have large buffers.
    queues = {"aqm": "pfifo limit 5000p", "up_aqm": "pfifo limit 5000p"}
    emulated = emulate(down=speed, up=speed, rtt=rtt, **queues, privileged=True)
    with tempfile.TemporaryDirectory(prefix="sojourn-early-") as folder, emulated as lab:

        def start(host: str, *words: str, is_ready: bool = False) -> Callable[..., None]:
            file = Path(folder) / f"{host}.{words[0]}"
            with file.open("w") as out, Path(os.devnull).open() as nothing:
                command = [sys.executable, __file__, *words]
                program = lab.start(host, command, streams=(nothing.fileno(), out.fileno(), 2))

            def wait(*, end: bool = False) -> None:
                while not end and not is_ready and program.poll() is None and not file.stat().st_size:
                    time.sleep(0.05)
                if (end or is_ready) and program.wait() != 0:
                    raise SystemExit(f"early.py {' '.join(words)}: status {program.poll()}")

            return wait

        lab.begin()
        took = exchange(start, {host: host for host in PORTS}, Path(folder), frames, rate)
        outcome = lab.finish()
        print(outcome.table())
        # The link counts IP packets. Its first direction is down, to the client.
        down, up = outcome.states[-1]["directions"]
        return found(took, least_ns(FRAME_BYTES - 14, link), [up, down])


def measure(
    back_end: str,
    frames: int,
    *,
    rate: float,
    link: int = 200_000_000,
    name: str = "early",
    program: Path | None = None,
) -> Found:
    """Send frames through a back end of :data:`BACK_ENDS` and a link of `link` bit/s."""
    if back_end == "shell":
        return in_shell(frames, rate, link)
    return in_lab(back_end, frames, rate, link, name, program)


def main() -> int:
    """Measure each back end, and print what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=BACK_ENDS, default=list(BACK_ENDS), metavar="BACK_END")
    parser.add_argument("--frames", type=int, default=1_000_000, help="frames of each (default 1000000)")
    parser.add_argument("--rate", type=float, default=10_000, help="frames a second (default 10000)")
    parser.add_argument("--link", type=int, default=200, help="rate of the link, Mbit/s (default 200)")
    parser.add_argument("--load", type=int, default=16, help="busy processes (default 16)")
    parser.add_argument("--nice", type=int, default=0, help="niceness of the busy processes (default 0)")
    parser.add_argument("--name", default="early", help="how the names of network namespaces begin")
    parser.add_argument("--sojournd", type=Path, help="the program; by default the release build")
    options = parser.parse_args()
    tools = [tool for tool in ("ip", "ethtool", "ping", "iperf3") if shutil.which(tool) is None]
    missing = "it is not root" if os.geteuid() != 0 else missing_for_the_shell() or " ".join(tools)
    if missing:
        print(f"not tried: {missing}")
        return 77
    early = 0
    with busy(options.load, options.nice):
        for back_end in options.only:
            one = measure(
                back_end,
                options.frames,
                rate=options.rate,
                link=options.link * 1_000_000,
                name=options.name,
                program=options.sojournd and options.sojournd.resolve(),
            )
            print(f"{back_end}: {one.text()}", flush=True)
            early += one.early
    return 1 if early else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["send"]:
        send(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
    elif sys.argv[1:2] == ["capture"]:
        capture(sys.argv[2], float(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(main())
