"""A laboratory on one machine: clients, a device and a server in network namespaces, joined by veth pairs.

Everything that crosses it is the Linux kernel's own: its TCP, its ``ping``, its interfaces. It needs root,
``iproute2``, ``ethtool``, and for the methods of their names ``iperf3`` and ``iputils-ping``.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sojourn.device.hosts import Hosts, LabError

__all__ = ["Lab", "LabError", "find_sojournd", "find_sojournd_dpdk"]

_FLOOD = Path(__file__).with_name("flood.py")

# Prints a line when it is ready and every UDP frame as hexadecimal digits. The kernel takes the outermost tag out of
# a frame and hands it over beside it (tpacket_auxdata: status, lengths and offsets, then tag and its type). The
# receive buffer (SO_RCVBUFFORCE) holds more frames than a test sends.
_CAPTURE = """
import socket, struct, sys, time
count, seconds, last = int(sys.argv[1]), float(sys.argv[2]), bytes.fromhex(sys.argv[3])
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
link.setsockopt(263, 8, 1)
link.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)
link.bind(("eth0", 3))
print("ready", flush=True)
until = time.monotonic() + seconds
while count > 0 and (left := until - time.monotonic()) > 0:
    link.settimeout(left)
    try:
        frame, control, _, address = link.recvmsg(65536, 64)
    except TimeoutError:
        break
    status, *_, tag, kind = struct.unpack("IIIHHHH", control[0][2][:20])
    if status & 16:
        frame = frame[:12] + struct.pack("!HH", kind, tag) + frame[12:]
    at = 12
    while frame[at : at + 2] in (b"\\x81\\x00", b"\\x88\\xa8"):
        at += 4
    if address[2] != 4 and frame[at : at + 2] == b"\\x08\\x00" and frame[at + 11] == 17:
        if frame == last:
            break
        print(frame.hex(), flush=True)
        count -= 1
"""


def find_sojournd() -> Path:
    """Find the program: ``$SOJOURND``, beside these sources, or on the path.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    LabError
        It is nowhere.
    """
    given = os.environ.get("SOJOURND")
    beside = Path(__file__).resolve().parents[3] / "target" / "release" / "sojournd"
    found = given or (str(beside) if beside.is_file() else shutil.which("sojournd"))
    if found is None or not Path(found).is_file():
        where = (
            f"$SOJOURND names {given}, which is not a file" if given else f"it is neither at {beside} nor on the path"
        )
        raise LabError(f"sojournd was not found: {where}; `cargo build --release -p sojourn-device` builds it")
    return Path(found)


def find_sojournd_dpdk() -> Path | None:
    """Find a build of the program with the feature ``dpdk``: ``$SOJOURND_DPDK``, or beside these sources.

    Returns
    -------
    Path or None
        Where it is; ``None``: there is none.

    Raises
    ------
    LabError
        ``$SOJOURND_DPDK`` names no file.
    """
    given = os.environ.get("SOJOURND_DPDK")
    if given is not None and not Path(given).is_file():
        raise LabError(f"sojournd was not found: $SOJOURND_DPDK names {given}, which is not a file")
    beside = Path(__file__).resolve().parents[3] / "target" / "dpdk" / "sojournd"
    found = Path(given) if given else beside
    return found if found.is_file() else None


class Lab(Hosts):
    """Hosts with ``sojournd`` between them, and what is measured there; a context manager, as :class:`Hosts` says.

    Examples
    --------
    >>> with Lab(bridge=True) as lab:  # doctest: +SKIP
    ...     lab.start_device(toml)
    ...     lab.iperf(seconds=10, congestion="cubic")["end"]["sum_received"]["bits_per_second"]
    """

    # Of the next iperf3 server.
    _next_port = 5201

    def toml(
        self,
        *,
        back_end: str = "af_xdp",
        scheme: str | None = "fq_codel",
        rate: str = "100 Mbit/s",
        delay: str = "0 ms",
        return_delay: str = "0 ms",
        overhead: str = "0 B",
        frame: str = "2048 B",
        idle: str = "wait",
        window: int = 2_000_000,
        mode: str = "auto",
        cores: Sequence[int] = (),
    ) -> str:
        """Write a configuration for a device between ``port-a`` and ``port-b``.

        Parameters
        ----------
        back_end
            ``af_xdp``, ``af_packet``, or ``dpdk`` with its driver ``net_af_packet``.
        scheme
            From A to B, as tc writes it; ``None``: both directions are forwarded at once.
        rate
            From A to B, as in ``"100 Mbit/s"``.
        delay, return_delay
            Delay lines from A to B and back.
        overhead
            Counted on the link with every frame.
        frame
            Frame memory of one frame: ``"2048 B"``, ``"4096 B"``; for jumbo frames with ``af_packet``: ``"16384 B"``.
        idle
            ``wait`` or ``spin``.
        window
            Arrivals in a measurement window; windows are kept in ``windows.sqlite`` in :attr:`folder`.
        mode
            Where the XDP program runs: ``auto``, ``native`` or ``generic``.
        cores
            CPUs of ``dpdk``: the packet thread's, then those that receive and send.

        Returns
        -------
        str
            TOML for :meth:`start_device`.
        """
        own = f'mode = "{mode}"\n' if back_end == "af_xdp" else ""
        ports = "".join(
            f'[ports.{side}]\nback_end = "{back_end}"\n{own}'
            + (
                f'device = "net_af_packet{number},iface=port-{side}"\n\n'
                if back_end == "dpdk"
                else f'interface = "port-{side}"\n\n'
            )
            for number, side in enumerate("ab")
        )
        if cores:
            ports += f"[dpdk]\ncores = {list(cores)}\n\n"
        queue = "" if scheme is None else f'scheme = "{scheme}"\nrate = "{rate}"\noverhead = "{overhead}"\n'
        return (
            f"{ports}"
            f'[a_to_b]\n{queue}delay = "{delay}"\n\n[b_to_a]\ndelay = "{return_delay}"\n\n'
            f'[frames]\nsize = "{frame}"\n\n'
            f'[windows]\npackets = {window}\nstore = "{self.folder / "windows.sqlite"}"\n\n'
            f'[control]\nlisten = "none"\nsocket = "{self._socket}"\ntoken_file = "{self.folder / "token"}"\n\n'
            f'[run]\nidle = "{idle}"\nuser = "root"\n'
        )

    @property
    def _socket(self) -> Path:
        return self.folder / "control.sock"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Ask the device's control interface over its Unix socket.

        Parameters
        ----------
        method, path
            As ``"GET", "/status"``.
        body
            Sent as JSON, where there is one.

        Returns
        -------
        object
            The JSON of the answer.

        Raises
        ------
        LabError
            It refused, or does not answer.
        """
        connection = http.client.HTTPConnection("localhost", timeout=5)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(5)
        try:
            connection.sock.connect(str(self._socket))
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise LabError(f"the device does not answer: {error}\n{self.device_log()}") from error
        finally:
            connection.close()
        if answer.status >= 300:
            raise LabError(f"{method} {path}: {answer.status} {text}")
        return json.loads(text) if text else None

    def status(self) -> dict[str, Any]:
        """Return the device's status, consistent to the packet, as its last publication has it."""
        status: dict[str, Any] = self.ask("GET", "/status")
        return status

    def settled(self, *, limit_s: float = 10.0) -> dict[str, Any]:
        """Return the status once no frame is under way: two equal publications of the counters, and no backlog.

        Raises
        ------
        LabError
            Frames still move when the time is over.
        """
        until = time.monotonic() + limit_s
        before: object = None
        while time.monotonic() < until:
            status = self.status()
            counters = [port["counters"] for port in status["ports"]]
            waits = sum(way["backlog"]["packets"] + way["delayed"] + way["ready"] for way in status["directions"])
            if counters == before and waits == 0:
                return status
            before = counters
            # Longer than the time between two publications.
            time.sleep(0.5)
        raise LabError(f"frames still move after {limit_s:g} s")

    def start_device(self, toml: str, *, wait: bool = True, program: Path | None = None) -> subprocess.Popen[str]:
        """Start ``sojournd`` between ``port-a`` and ``port-b`` under a configuration.

        Parameters
        ----------
        toml
            The configuration's text; its ports are the interfaces ``port-a`` and ``port-b``.
        wait
            Return when it forwards (a client reaches the server), at most after 10 s.
        program
            The build that runs; ``None``: that of :func:`find_sojournd`.

        Returns
        -------
        Popen
            The process; its log is :meth:`device_log`.

        Raises
        ------
        LabError
            It ended, or does not forward.
        """
        path = self.folder / "sojournd.toml"
        path.write_text(toml)
        with (self.folder / "sojournd.log").open("w") as log:
            process = self.start("device", str(program or find_sojournd()), "run", str(path), stdout=log.fileno())
        if wait:
            self.wait_until_forwarding(process)
        return process

    def wait_until_forwarding(self, process: subprocess.Popen[str], *, limit_s: float = 10.0) -> None:
        """Wait until the device answers and a client reaches the server.

        Raises
        ------
        LabError
            The process ended before, or the time is over.
        """
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            if process.poll() is not None:
                raise LabError(f"the device ended with status {process.returncode}:\n{self.device_log()}")
            try:
                # Its ports are open then; a bridge would answer the ping before.
                self.status()
                self.run(self.clients[0], "ping", "-c1", "-W1", self.address("server"))
            except LabError:
                time.sleep(0.05)
                continue
            return
        raise LabError(f"the device does not forward after {limit_s} s:\n{self.device_log()}")

    def device_log(self) -> str:
        """Return what the device wrote so far."""
        path = self.folder / "sojournd.log"
        return path.read_text() if path.exists() else ""

    # Traffic and its measures

    def ping(
        self,
        *,
        count: int = 10,
        interval_s: float = 0.2,
        data_bytes: int = 56,
        ipv6: bool = False,
        client: str | None = None,
    ) -> list[float]:
        """Measure round-trip times from a client to the server.

        Parameters
        ----------
        count, interval_s
            How many requests, and the time between two.
        data_bytes
            Their data; 28 B of ICMP and IPv4 (48 B with IPv6) come on top.
        ipv6
            Over IPv6.
        client
            Which one.

        Returns
        -------
        list of float
            Milliseconds, one for each answer; the unanswered are missing.
        """
        client = client or self.clients[0]
        address = self.address6("server") if ipv6 else self.address("server")
        command = ["ping", "-n", "-c", str(count), "-i", str(interval_s), "-W", "1", "-s", str(data_bytes), address]
        limit_s = count * (interval_s + 1) + 30
        done = subprocess.run(
            [*self._inside(client), *command], capture_output=True, text=True, check=False, timeout=limit_s
        )
        if done.returncode > 1:
            raise LabError(f"ping failed: {done.stderr.strip()}")
        return [float(line.split("time=")[1].split()[0]) for line in done.stdout.splitlines() if "time=" in line]

    def watch(self, *, interval_s: float = 0.01) -> Callable[[], list[int]]:
        """Ask the server for an answer again and again, to see when nothing passes.

        Parameters
        ----------
        interval_s
            Time between two requests.

        Returns
        -------
        callable
            Ends it and returns the numbers of the requests that were answered, from 1, in their order. Each number
            that is missing is an interval without forwarding.
        """
        path = self.folder / "watch.txt"
        with path.open("w") as file:
            command = ["ping", "-n", "-i", str(interval_s), self.address("server")]
            process = self.start(self.clients[0], *command, stdout=file.fileno())

        def finish() -> list[int]:
            self.stop(process)
            words = (word for line in path.read_text().splitlines() if "time=" in line for word in line.split())
            return [int(word.removeprefix("icmp_seq=")) for word in words if word.startswith("icmp_seq=")]

        return finish

    def iperf(
        self,
        *,
        seconds: float = 2.0,
        congestion: str | None = None,
        flows: int = 1,
        reverse: bool = False,
        ipv6: bool = False,
        udp_bit_s: int | None = None,
        client: str | None = None,
        extra: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Run ``iperf3`` from a client to the server.

        Parameters
        ----------
        seconds
            How long it sends, whole seconds.
        congestion
            The kernel's congestion control; ``None``: the kernel's own choice.
        flows
            Connections side by side.
        reverse
            The server sends.
        ipv6
            Over IPv6.
        udp_bit_s
            Send UDP at this rate in place of TCP.
        client
            Which one.
        extra
            Further arguments of ``iperf3``.

        Returns
        -------
        dict
            Its JSON document; ``["end"]["sum_received"]["bits_per_second"]`` is the goodput.

        Raises
        ------
        LabError
            It failed, as when the connection was not established.
        """
        process, port = self.start_iperf_server()
        address = self.address6("server") if ipv6 else self.address("server")
        command = ["iperf3", "--json", "-c", address, "-p", str(port), "-t", f"{seconds:g}", "-P", str(flows)]
        command += ["--connect-timeout", "3000"]
        command += ["-C", congestion] if congestion else []
        command += ["-R"] if reverse else []
        command += ["-u", "-b", str(udp_bit_s)] if udp_bit_s else []
        try:
            text = self.run(client or self.clients[0], *command, *extra, timeout_s=seconds + 30)
        finally:
            self.stop(process, kill=True)
        document: dict[str, Any] = json.loads(text)
        if "error" in document:
            raise LabError(f"iperf3: {document['error']}")
        return document

    def start_iperf_server(self) -> tuple[subprocess.Popen[str], int]:
        """Start an ``iperf3`` server for one test.

        Returns
        -------
        tuple of Popen and int
            The process, listening, and its port.
        """
        port = self._next_port
        self._next_port += 1
        process = self.start("server", "iperf3", "-s", "-1", "-p", str(port), stdout=subprocess.DEVNULL)
        # It says nothing when it is ready; its socket shows.
        for _ in range(200):
            if f":{port} " in self.run("server", "ss", "-Hltn"):
                return process, port
            time.sleep(0.01)
        raise LabError(f"iperf3 does not listen at port {port}")

    def flood(
        self,
        frames: Sequence[bytes],
        *,
        count: int,
        rate: float = 0.0,
        client: str | None = None,
    ) -> tuple[int, float]:
        """Send whole Ethernet frames from a client, in turn.

        Parameters
        ----------
        frames
            From the destination address on, without FCS.
        count
            Frames in all.
        rate
            Frames a second; 0 as fast as it goes.
        client
            Which one.

        Returns
        -------
        tuple of int and float
            Frames that the kernel took, and the time from first to last, seconds.
        """
        text = "\n".join(frame.hex() for frame in frames)
        command = [sys.executable, str(_FLOOD), "eth0", "--rate", str(rate), "--count", str(count)]
        sent, seconds = self.run(client or self.clients[0], *command, stdin=text).split()
        return int(sent), float(seconds)

    def capture(self, host: str, *, count: int, seconds: float = 5.0, last: bytes = b"") -> Callable[[], list[bytes]]:
        """Begin to take UDP frames that arrive at a host as they are on the wire.

        Parameters
        ----------
        host
            Where.
        count
            Ends after this many.
        seconds
            Ends after this time.
        last
            Ends with this frame, which is not returned; empty: with no frame.

        Returns
        -------
        callable
            Waits for the end and returns the frames.
        """
        command = [sys.executable, "-c", _CAPTURE, str(count), str(seconds), last.hex()]
        process = self.start(host, *command, stdout=subprocess.PIPE)
        if process.stdout is not None:
            process.stdout.readline()

        def finish() -> list[bytes]:
            text, _ = process.communicate(timeout=seconds + 20)
            return [bytes.fromhex(line) for line in text.split()]

        return finish

    def counters(self, host: str, interface: str = "eth0") -> dict[str, int]:
        """Return the kernel's counts of an interface: ``rx_packets``, ``tx_packets``, ``rx_dropped``, ...

        At an interface that a device takes over by XDP the kernel does not count every frame; at end hosts it does.
        """
        [link] = json.loads(self.run(host, "ip", "-json", "-statistics", "link", "show", interface))
        return {f"{way}_{key}": int(value) for way in ("rx", "tx") for key, value in link["stats64"][way].items()}
