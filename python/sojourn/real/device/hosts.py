"""Hosts on one machine: clients, a device and a server in network namespaces, connected by veth pairs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from sojourn.base import systems

_TOOLS = {"ip": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping", "iperf3": "iperf3"}


class LabError(RuntimeError):
    """The laboratory cannot be set up, or a command in it failed."""


class Hosts:
    """Namespaces ``client`` (or ``client0``, ``client1``, ...), ``device`` and ``server``; a context manager.

    The device has the interfaces ``port-a`` (towards the clients) and ``port-b`` (towards the server). Every end host
    has ``eth0``. Several clients are connected to ``port-a`` by a bridge. At the end, all namespaces and files are
    removed. It needs root.

    Parameters
    ----------
    name
        The beginning of the names of the namespaces, so that several laboratories can exist at the same time.
    offloads
        Whether segmentation and checksum offload stay on, which is the kernel's default. TCP then does not pass a
        device in user space, and the device must detect this.
    bridge
        Whether ``port-a`` and ``port-b`` are in a bridge, which forwards traffic while no device receives it.
    queues
        Numbers of receive queues of ``port-a`` and of ``port-b``. The interfaces at the other end of the cables have
        as many transmit queues.
    """

    def __init__(
        self,
        *,
        name: str = "sojourn",
        clients: int = 1,
        mtu: int = 1500,
        offloads: bool = False,
        bridge: bool = False,
        queues: tuple[int, int] = (1, 1),
    ) -> None:
        if clients < 1:
            raise LabError(f"clients is {clients}; allowed: from 1")
        systems.need("a laboratory of network namespaces")
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
        self._queues = {"port-a": queues[0], "port-b": queues[1]}
        self._processes: list[subprocess.Popen[str]] = []
        self._namespaces: list[str] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    # Building

    def __enter__(self) -> Self:
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
            self._address(host)
        if self._bridge:
            self._make_bridge("device", ["port-a", "port-b"])

    def _address(self, host: str) -> None:
        for address in (self.address(host), self.address6(host)):
            prefix = [f"{address}/24"] if ":" not in address else [f"{address}/64", "nodad"]
            self.run(host, "ip", "address", "add", *prefix, "dev", "eth0")

    def _namespace(self, host: str) -> None:
        name = self.namespace(host)
        _system("ip", "netns", "add", name)
        self._namespaces.append(name)
        # Before the first interface exists. Otherwise the counters would include neighbour discovery of the device.
        quiet = host in ("device", "lan")
        if quiet:
            self.run(
                host, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv6.conf.all.disable_ipv6=1"
            )
        self.run(host, "ip", "link", "set", "lo", "up")

    def _cable(self, near: str, near_interface: str, far: str, far_interface: str) -> None:
        number = str(self._queues.get(near_interface, 1))
        queues = ["numrxqueues", number, "numtxqueues", number]
        ends = ["type", "veth", "peer", "name", far_interface, *queues, "netns", self.namespace(far)]
        self.run(near, "ip", "link", "add", near_interface, *queues, *ends)
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
        """The names of the hosts on side A."""
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

    # Running

    def run(self, host: str, *command: str, timeout_s: float = 120.0, stdin: str | None = None) -> str:
        """Run a command in a host, wait for it, and return what it wrote."""
        return _system(*self._inside(host), *command, timeout_s=timeout_s, stdin=stdin)

    def start(self, host: str, *command: str, stdout: IO[str] | int | None = None) -> subprocess.Popen[str]:
        """Start a command in a host; the laboratory stops it at the end if it still runs."""
        process = subprocess.Popen(
            [*self._inside(host), *command], stdout=stdout, stderr=stdout, stdin=subprocess.DEVNULL, text=True
        )
        self._processes.append(process)
        return process

    def stop(self, process: subprocess.Popen[str], *, kill: bool = False) -> None:
        """Stop a process of :meth:`start`: with SIGTERM and after 10 s with SIGKILL, or with SIGKILL at once."""
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


def _system(*command: str, timeout_s: float = 120.0, stdin: str | None = None) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout_s, input=stdin or ""
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"`{' '.join(command)}` did not end in {timeout_s:g} s") from error
    if done.returncode != 0:
        output = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise LabError(f"`{' '.join(command)}` ended with status {done.returncode}: {output}")
    return done.stdout
