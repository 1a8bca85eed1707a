"""A laboratory on one machine: clients, a device and a server in network namespaces, joined by veth pairs.

Everything that crosses it is the Linux kernel's own: its TCP, its ``ping``, its interfaces. It needs root,
``iproute2``, ``ethtool``, and for the methods of their names ``iperf3`` and ``iputils-ping``.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

__all__ = ["Lab", "LabError", "find_sojournd"]

_TOOLS = {"ip": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping", "iperf3": "iperf3"}
_FLOOD = Path(__file__).with_name("flood.py")

# Prints a line when it is ready and every UDP frame as hexadecimal digits. The kernel takes the outermost tag out of
# a frame and hands it over beside it (tpacket_auxdata: status, lengths and offsets, then tag and its type).
_CAPTURE = """
import socket, struct, sys, time
count, seconds = int(sys.argv[1]), float(sys.argv[2])
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
link.setsockopt(263, 8, 1)
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
        print(frame.hex(), flush=True)
        count -= 1
"""


class LabError(RuntimeError):
    """The laboratory cannot be built, or a command in it failed."""


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
            f"$SOJOURND names {given}, which is no file" if given else f"it is neither at {beside} nor on the path"
        )
        raise LabError(f"sojournd was not found: {where}; `cargo build --release -p sojourn-device` builds it")
    return Path(found)


class Lab:
    """Namespaces ``client`` (or ``client0``, ``client1``, ...), ``device`` and ``server``; a context manager.

    The device's interfaces are ``port-a`` (towards the clients) and ``port-b`` (towards the server), every end host's
    is ``eth0``. Several clients reach ``port-a`` over a bridge of their own. Nothing is left behind at the end.

    Parameters
    ----------
    name
        Begins the names of the namespaces, so that laboratories can be side by side.
    clients
        End hosts on side A, from 1.
    mtu
        Of all interfaces, bytes.
    offloads
        Leave segmentation and checksum offload on, as a kernel has them at first: TCP then does not pass a device in
        user space, which must notice.
    bridge
        Put ``port-a`` and ``port-b`` in a bridge, over which traffic passes while no device takes it.

    Raises
    ------
    LabError
        Not root, or a tool is missing.

    Examples
    --------
    >>> with Lab(bridge=True) as lab:  # doctest: +SKIP
    ...     lab.start_device(toml)
    ...     lab.iperf(seconds=10, congestion="cubic")["end"]["sum_received"]["bits_per_second"]
    """

    def __init__(
        self,
        *,
        name: str = "sojourn",
        clients: int = 1,
        mtu: int = 1500,
        offloads: bool = False,
        bridge: bool = False,
    ) -> None:
        if clients < 1:
            raise LabError(f"clients is {clients}; allowed: from 1")
        if os.geteuid() != 0:
            raise LabError("network namespaces need root: run this as root or with sudo")
        missing = sorted({package for tool, package in _TOOLS.items() if shutil.which(tool) is None})
        if missing:
            raise LabError(f"tools are missing: apt-get install {' '.join(missing)}")
        self._name = f"{name}-{os.getpid()}"
        self._clients = clients
        self._mtu = mtu
        self._offloads = offloads
        self._bridge = bridge
        self._processes: list[subprocess.Popen[str]] = []
        self._namespaces: list[str] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._next_port = 5201

    # Building

    def __enter__(self) -> Lab:
        self._folder = tempfile.TemporaryDirectory(prefix="sojourn-lab-")
        try:
            self._build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _build(self) -> None:
        clients = self.clients
        for host in [*clients, "device", "server"]:
            self._namespace(host)
        if len(clients) == 1:
            self._cable("device", "port-a", clients[0], "eth0")
        else:
            self._namespace("lan")
            self._cable("device", "port-a", "lan", "uplink")
            self._make_bridge("lan", ["uplink"])
            for number, client in enumerate(clients):
                self._cable("lan", f"c{number}", client, "eth0")
                self.run("lan", "ip", "link", "set", f"c{number}", "master", "br0")
        self._cable("device", "port-b", "server", "eth0")
        for host in [*clients, "server"]:
            for address in (self.address(host), self.address6(host)):
                prefix = [f"{address}/24"] if ":" not in address else [f"{address}/64", "nodad"]
                self.run(host, "ip", "address", "add", *prefix, "dev", "eth0")
        if self._bridge:
            self._make_bridge("device", ["port-a", "port-b"])

    def _namespace(self, host: str) -> None:
        name = self.namespace(host)
        _system("ip", "netns", "add", name)
        self._namespaces.append(name)
        # Before there is an interface: neighbour discovery of the device itself would be in the counts.
        quiet = host in ("device", "lan")
        if quiet:
            self.run(
                host, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv6.conf.all.disable_ipv6=1"
            )
        self.run(host, "ip", "link", "set", "lo", "up")

    def _cable(self, near: str, near_interface: str, far: str, far_interface: str) -> None:
        ends = ["type", "veth", "peer", "name", far_interface, "netns", self.namespace(far)]
        self.run(near, "ip", "link", "add", near_interface, *ends)
        for host, interface in ((near, near_interface), (far, far_interface)):
            if not self._offloads:
                self.run(host, "ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "off")
            self.run(host, "ip", "link", "set", interface, "mtu", str(self._mtu), "up")

    def _make_bridge(self, host: str, interfaces: Sequence[str]) -> None:
        self.run(host, "ip", "link", "add", "br0", "type", "bridge", "mcast_snooping", "0", "forward_delay", "0")
        for interface in interfaces:
            self.run(host, "ip", "link", "set", interface, "master", "br0")
        self.run(host, "ip", "link", "set", "br0", "mtu", str(self._mtu), "up")

    def _remove(self) -> None:
        for process in reversed(self._processes):
            self.stop(process)
        for name in self._namespaces:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, timeout=30)
        self._namespaces.clear()
        if self._folder is not None:
            self._folder.cleanup()

    # Names

    @property
    def clients(self) -> list[str]:
        """Hosts on side A."""
        return ["client"] if self._clients == 1 else [f"client{number}" for number in range(self._clients)]

    @property
    def folder(self) -> Path:
        """A folder for files, removed at the end."""
        if self._folder is None:
            raise LabError("the laboratory is not built: use it in a `with` statement")
        return Path(self._folder.name)

    def namespace(self, host: str) -> str:
        """Return the network namespace of a host."""
        return f"{self._name}-{host}"

    def _number(self, host: str) -> int:
        return 1 if host == "server" else 10 + self.clients.index(host)

    def address(self, host: str) -> str:
        """Return the IPv4 address of an end host."""
        return f"10.77.0.{self._number(host)}"

    def address6(self, host: str) -> str:
        """Return the IPv6 address of an end host."""
        return f"fd77::{self._number(host)}"

    def mac(self, host: str, interface: str = "eth0") -> str:
        """Return the Ethernet address of an interface."""
        [link] = json.loads(self.run(host, "ip", "-json", "link", "show", interface))
        return str(link["address"])

    # Running

    def run(self, host: str, *command: str, timeout_s: float = 120.0, stdin: str | None = None) -> str:
        """Run a command in a host and wait for it.

        Parameters
        ----------
        host
            ``client``, ``device``, ``server``.
        command
            Program and arguments.
        timeout_s
            Longest wait, seconds.
        stdin
            What it reads.

        Returns
        -------
        str
            What it printed.

        Raises
        ------
        LabError
            It failed; with what it said.
        """
        return _system(*self._inside(host), *command, timeout_s=timeout_s, stdin=stdin)

    def start(self, host: str, *command: str, stdout: IO[str] | int | None = None) -> subprocess.Popen[str]:
        """Start a command in a host; it ends with the laboratory at the latest."""
        process = subprocess.Popen(
            [*self._inside(host), *command], stdout=stdout, stderr=stdout, stdin=subprocess.DEVNULL, text=True
        )
        self._processes.append(process)
        return process

    def stop(self, process: subprocess.Popen[str], *, kill: bool = False) -> None:
        """End a process that :meth:`start` began: politely and after 10 s by force, or by force at once."""
        if process.poll() is None:
            process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=30)
        if process in self._processes:
            self._processes.remove(process)

    def _inside(self, host: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace(host)]

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
    ) -> str:
        """Write a configuration for a device between ``port-a`` and ``port-b``.

        Parameters
        ----------
        back_end
            ``af_xdp`` or ``af_packet``.
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

        Returns
        -------
        str
            TOML for :meth:`start_device`.
        """
        port = f'back_end = "{back_end}"' + (f'\nmode = "{mode}"' if back_end == "af_xdp" else "")
        queue = "" if scheme is None else f'scheme = "{scheme}"\nrate = "{rate}"\noverhead = "{overhead}"\n'
        return (
            f'[ports.a]\ninterface = "port-a"\n{port}\n\n[ports.b]\ninterface = "port-b"\n{port}\n\n'
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

    def start_device(self, toml: str, *, wait: bool = True) -> subprocess.Popen[str]:
        """Start ``sojournd`` between ``port-a`` and ``port-b`` under a configuration.

        Parameters
        ----------
        toml
            The configuration's text; its ports are the interfaces ``port-a`` and ``port-b``.
        wait
            Return when it forwards (a client reaches the server), at most after 10 s.

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
            process = self.start("device", str(find_sojournd()), "run", str(path), stdout=log.fileno())
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
        self, frames: Sequence[bytes], *, count: int, rate: float = 0.0, client: str | None = None
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

    def capture(self, host: str, *, count: int, seconds: float = 5.0) -> Callable[[], list[bytes]]:
        """Begin to take UDP frames that arrive at a host as they are on the wire.

        Parameters
        ----------
        host
            Where.
        count
            Ends after this many.
        seconds
            Ends after this time.

        Returns
        -------
        callable
            Waits for the end and returns the frames.
        """
        process = self.start(host, sys.executable, "-c", _CAPTURE, str(count), str(seconds), stdout=subprocess.PIPE)
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


def _system(*command: str, timeout_s: float = 120.0, stdin: str | None = None) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout_s, input=stdin or ""
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"`{' '.join(command)}` did not end in {timeout_s:g} s") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise LabError(f"`{' '.join(command)}` ended with status {done.returncode}: {said}")
    return done.stdout
