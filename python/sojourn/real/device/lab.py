"""A laboratory on one machine: clients, a device and a server in network namespaces, connected by veth pairs.

The hosts use the Linux kernel's TCP/IP stack and interfaces. The laboratory needs root, ``iproute2`` and
``ethtool``; :meth:`Lab.iperf` needs ``iperf3``, and :meth:`Lab.ping` and :meth:`Lab.watch` need ``iputils-ping``.
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

from sojourn.real.device.hosts import Hosts, LabError

__all__ = ["Lab", "LabError", "find_sojournd", "find_sojournd_dpdk"]

_FLOOD = Path(__file__).with_name("flood.py")
_FORWARDS_WITHIN_S = 10.0


def find_sojournd() -> Path:
    """Find ``sojournd``: the file that ``$SOJOURND`` names, the release build of these sources, or one on the path.

    Returns
    -------
    Path
        The program.

    Raises
    ------
    LabError
        If it is not found.
    """
    given = os.environ.get("SOJOURND")
    beside = Path(__file__).resolve().parents[3] / "target" / "release" / "sojournd"
    found = given or (str(beside) if beside.is_file() else shutil.which("sojournd"))
    if found is None or not Path(found).is_file():
        where = (
            f"$SOJOURND names {given}, which is not a file" if given else f"it is neither at {beside} nor on the path"
        )
        raise LabError(
            f"sojournd was not found: {where}; in the sources `make sojournd` builds it, and a wheel for Linux has it"
        )
    return Path(found)


def find_sojournd_dpdk() -> Path | None:
    """Find a ``sojournd`` built with the feature ``dpdk``: ``$SOJOURND_DPDK``, or ``target/dpdk`` of these sources.

    Returns
    -------
    Path or None
        The program, or None if there is none.

    Raises
    ------
    LabError
        If ``$SOJOURND_DPDK`` does not name a file.
    """
    given = os.environ.get("SOJOURND_DPDK")
    if given is not None and not Path(given).is_file():
        raise LabError(f"sojournd was not found: $SOJOURND_DPDK names {given}, which is not a file")
    beside = Path(__file__).resolve().parents[3] / "target" / "dpdk" / "sojournd"
    found = Path(given) if given else beside
    return found if found.is_file() else None


class Lab(Hosts):
    """Hosts with ``sojournd`` between them, and tools that measure traffic; a context manager like :class:`Hosts`.

    Examples
    --------
    >>> with Lab(bridge=True) as lab:  # doctest: +SKIP
    ...     lab.start_device(toml)
    ...     lab.iperf(seconds=10, congestion="cubic")["end"]["sum_received"]["bits_per_second"]
    """

    # The port of the next iperf3 server.
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
            The scheme from A to B, as tc writes it. None: frames are forwarded in both directions without a queue.
        rate
            The rate from A to B, for example ``"100 Mbit/s"``.
        delay, return_delay
            The lengths of the delay lines from A to B and from B to A.
        overhead
            Bytes that every frame takes on the link in addition to its own.
        frame
            Memory for one frame: ``"2048 B"``, ``"4096 B"``; for jumbo frames with ``af_packet``: ``"16384 B"``.
        idle
            What the packet thread does without traffic: ``wait`` or ``spin``.
        window
            Number of arrivals in a measurement window. Windows are stored in ``windows.sqlite`` in :attr:`folder`.
        mode
            Where the XDP program runs: ``auto``, ``native`` or ``generic``.
        cores
            The CPUs that ``dpdk`` uses: first the packet thread's, then those that receive and send.

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
        """Send a request to the device's control interface over its Unix socket.

        Parameters
        ----------
        method, path
            For example ``"GET", "/status"``.
        body
            Sent as JSON, unless it is None.

        Returns
        -------
        object
            The parsed JSON of the answer; None if the answer is empty.

        Raises
        ------
        LabError
            If the device refuses the request or does not answer.
        """
        text = self.text(path, method=method, body=body)
        return json.loads(text) if text else None

    def text(self, path: str, *, method: str = "GET", body: object = None) -> str:
        """Return the answer to a request as :meth:`ask` makes it, as it is: ``/metrics`` is no JSON."""
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
        return text

    def status(self) -> dict[str, Any]:
        """Return the status that the device published last; its counters all belong to the same instant."""
        status: dict[str, Any] = self.ask("GET", "/status")
        return status

    def settled(self, *, limit_s: float = 10.0) -> dict[str, Any]:
        """Return the status when no frame is left in the device: equal counters twice in succession, and no backlog.

        Raises
        ------
        LabError
            If frames are still being forwarded after `limit_s`.
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
            # Longer than the time between two publications of the status.
            time.sleep(0.5)
        raise LabError(f"the device is still forwarding frames after {limit_s:g} s")

    def start_device(self, toml: str, *, wait: bool = True, program: Path | None = None) -> subprocess.Popen[str]:
        """Start ``sojournd`` between ``port-a`` and ``port-b`` with a configuration.

        Parameters
        ----------
        toml
            The text of the configuration, whose ports must be the interfaces ``port-a`` and ``port-b``.
        wait
            Whether to wait, for at most 10 s, until a client reaches the server through the device.
        program
            The program to run; by default :func:`find_sojournd` finds it.

        Returns
        -------
        Popen
            The process; :meth:`device_log` returns its log.

        Raises
        ------
        LabError
            If the process ends or does not forward.
        """
        path = self.folder / "sojournd.toml"
        path.write_text(toml)
        with (self.folder / "sojournd.log").open("w") as log:
            process = self.start("device", str(program or find_sojournd()), "run", str(path), stdout=log.fileno())
        if wait:
            self.wait_until_forwarding(process)
        return process

    def wait_until_forwarding(self, process: subprocess.Popen[str]) -> None:
        """Wait until the device answers and a client reaches the server.

        Raises
        ------
        LabError
            If the process ends before, or this takes longer than 10 s.
        """
        until = time.monotonic() + _FORWARDS_WITHIN_S
        while time.monotonic() < until:
            if process.poll() is not None:
                raise LabError(f"the device ended with status {process.returncode}:\n{self.device_log()}")
            try:
                # With a status its ports are open. The ping alone proves nothing: a bridge forwards it before that.
                self.status()
                self.run(self.clients[0], "ping", "-c1", "-W1", self.address("server"))
            except LabError:
                time.sleep(0.05)
                continue
            return
        raise LabError(f"the device has not begun to forward within {_FORWARDS_WITHIN_S} s:\n{self.device_log()}")

    def device_log(self) -> str:
        """Return the device's log so far."""
        path = self.folder / "sojournd.log"
        return path.read_text() if path.exists() else ""

    # Traffic and measurements

    def ping(
        self,
        *,
        count: int = 10,
        interval_s: float = 0.2,
        data_bytes: int = 56,
        ipv6: bool = False,
    ) -> list[float]:
        """Measure round-trip times from the first client to the server.

        Parameters
        ----------
        count, interval_s
            The number of requests and the time between two of them.
        data_bytes
            Data in each request, without the 28 B of headers of ICMP and IPv4 (48 B with IPv6).
        ipv6
            Whether to use IPv6.

        Returns
        -------
        list of float
            Round-trip times in milliseconds, only of requests that were answered.
        """
        address = self.address6("server") if ipv6 else self.address("server")
        command = ["ping", "-n", "-c", str(count), "-i", str(interval_s), "-W", "1", "-s", str(data_bytes), address]
        limit_s = count * (interval_s + 1) + 30
        done = subprocess.run(
            [*self._inside(self.clients[0]), *command], capture_output=True, text=True, check=False, timeout=limit_s
        )
        if done.returncode > 1:
            raise LabError(f"ping failed: {done.stderr.strip()}")
        return [float(line.split("time=")[1].split()[0]) for line in done.stdout.splitlines() if "time=" in line]

    def watch(self, *, interval_s: float = 0.01) -> Callable[[], list[int]]:
        """Ping the server in the background, to see when the device does not forward.

        Parameters
        ----------
        interval_s
            Time between two requests.

        Returns
        -------
        callable
            Ends the pings and returns the numbers of the answered requests in order, counted from 1. A missing number
            means that the device did not forward during this interval.
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
        ipv6: bool = False,
        client: str | None = None,
        extra: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Run ``iperf3`` from a client to the server.

        Parameters
        ----------
        seconds
            For how long to send, in whole seconds.
        congestion
            The kernel's congestion control; None for the kernel's default.
        flows
            Number of parallel connections.
        ipv6
            Whether to use IPv6.
        client
            The client that connects; by default the first.
        extra
            Further arguments of ``iperf3``.

        Returns
        -------
        dict
            The JSON document of ``iperf3``; ``["end"]["sum_received"]["bits_per_second"]`` is the goodput.

        Raises
        ------
        LabError
            If ``iperf3`` fails, for example because the connection is not established.
        """
        process, port = self.start_iperf_server()
        address = self.address6("server") if ipv6 else self.address("server")
        command = ["iperf3", "--json", "-c", address, "-p", str(port), "-t", f"{seconds:g}", "-P", str(flows)]
        command += ["--connect-timeout", "3000"]
        command += ["-C", congestion] if congestion else []
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
            The process, which is listening, and its port.
        """
        port = self._next_port
        self._next_port += 1
        process = self.start("server", "iperf3", "-s", "-1", "-p", str(port), stdout=subprocess.DEVNULL)
        # It prints nothing when it is ready, but its socket is listed then.
        for _ in range(200):
            if f":{port} " in self.run("server", "ss", "-Hltn"):
                return process, port
            time.sleep(0.01)
        raise LabError(f"iperf3 does not listen on port {port}")

    def flood(
        self,
        frames: Sequence[bytes],
        *,
        count: int,
        rate: float = 0.0,
    ) -> tuple[int, float]:
        """Send Ethernet frames from the first client: all of a list, then again from its beginning.

        Parameters
        ----------
        frames
            Each begins with the destination address and has no frame check sequence.
        count
            Number of frames to send in total.
        rate
            Frames per second; 0 sends as fast as possible.

        Returns
        -------
        tuple of int and float
            The number of frames that the kernel accepted, and the seconds from the first to the last.
        """
        text = "\n".join(frame.hex() for frame in frames)
        command = [sys.executable, str(_FLOOD), "eth0", "--rate", str(rate), "--count", str(count)]
        sent, seconds = self.run(self.clients[0], *command, stdin=text).split()
        return int(sent), float(seconds)

    def counters(self, host: str, interface: str = "eth0") -> dict[str, int]:
        """Return the kernel's counters of an interface: ``rx_packets``, ``tx_packets``, ``rx_dropped``, ...

        On an interface that the device receives from by XDP, the kernel does not count every frame. On end hosts it
        does.
        """
        [link] = json.loads(self.run(host, "ip", "-json", "-statistics", "link", "show", interface))
        return {f"{way}_{key}": int(value) for way in ("rx", "tx") for key, value in link["stats64"][way].items()}
