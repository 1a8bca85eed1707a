"""A world of two hosts with ``sojournd`` between them, in network namespaces without names.

A process that :mod:`sojourn.real.shell.inside` describes holds the namespaces. Everything ends with it, and it ends
with this process, however that happens.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from sojourn.base import systems
from sojourn.base.errors import RunError
from sojourn.real.device.lab import LabError, find_sojournd

LEVEL: Final = "SOJOURN_SHELL_LEVEL"
"""How deep a program is in shells that were started in shells; absent outside."""

HOST: Final = "SOJOURN_SHELL_HOST"
"""Set for programs whose outermost far side is a machine's own network."""

HOSTS: Final = ("client", "server")
MTU: Final = 1500
_DEEPEST: Final = 8
_NETWORK: Final = "10.77"
_FIRST_OF_MACHINE: Final = 128
"""Networks 10.77.128.0/24 and up are links to the machine's own network; those below, links within shells."""
_START_S: Final = 120.0
"""Nothing takes so long on a machine that works; a busy one takes seconds to start a program."""

_SYSTEM: Final = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr", "var")

_INSIDE: Final = Path(__file__).with_name("inside.py")
_STOP_S: Final = 60.0
_ENDED: Final = "the process that holds the network was ended; everything in it ended with it"


class WorldError(RunError):
    """The world cannot be made here, or something that holds it has ended."""


class World:
    """Two hosts, ``client`` and ``server``, and the device between them; a context manager.

    Parameters
    ----------
    configuration
        The device's configuration, with the ports ``port-a`` towards the server and ``port-b`` towards the client.
    leftovers
        What a kill of this process would leave of results, as :func:`sojourn.plan.folder.leftovers` says it.
    ecn
        Whether TCP of both hosts asks for ECN (``tcp_ecn`` 1); by default it takes it when asked (``tcp_ecn`` 2). A
        machine's own network stays as it is.
    privileged
        Whether programs that root starts keep its capabilities, and see the file system as it is.
    """

    def __init__(
        self,
        configuration: str,
        *,
        attached: bool = False,
        leftovers: Mapping[str, Any] | None = None,
        ecn: bool = False,
        privileged: bool = False,
    ) -> None:
        systems.need("an emulated link with real programs")
        if privileged and os.geteuid() != 0:
            raise RunError(
                "--privileged keeps the capabilities of root, and this user has none; allowed: sudo, or a shell "
                "without it"
            )
        self._leftovers = leftovers
        self._privileged = privileged
        self._ecn = ecn
        self._configuration = configuration
        self.level = own_level()
        self.attached = attached or self.level > 0
        self._to_machine = HOST in os.environ or (attached and self.level == 0)
        self._third = _free_network() if self.attached and self.level == 0 else self.level
        self._holder: subprocess.Popen[bytes] | None = None
        self._device = 0
        self._lines: list[bytes] = []
        self._times: list[float] = []
        self._ended: dict[int, int] = {}
        self._heard: list[int] = []
        self._reader: threading.Thread | None = None
        self._device_output: IO[bytes] | None = None

    def __enter__(self) -> World:
        try:
            program = find_sojournd()
        except LabError as error:
            raise WorldError(str(error)) from None
        try:
            self._build()
            self._start_device(program)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Building

    def _build(self) -> None:
        if self.level > _DEEPEST:
            raise WorldError(f"shells are {self.level} deep; allowed: up to {_DEEPEST} within each other")
        if sys.platform != "linux":
            raise WorldError(f"the shell needs network namespaces, and this is {sys.platform}; allowed: Linux")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._user = ours
            # Until it can, it does not answer to the terminal.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGQUIT))
            try:
                self._holder = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_INSIDE), str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._ask(self._plan())
        answer = self._answer("built", "impossible", limit_s=_START_S)
        if "impossible" in answer:
            raise WorldError(f"cannot make the network: {answer['impossible']}")

    def _plan(self) -> dict[str, Any]:
        level, third = self.level, self._third
        client, server = self.address("client"), self.address("server")
        client6, server6 = f"fd77:{third:x}::10", f"fd77:{third:x}::1"
        macs = {"client": f"02:00:00:4d:{third:02x}:10", "server": f"02:00:00:4d:{third:02x}:01"}
        outside = self.attached
        names = [("127.0.0.1", "localhost"), ("::1", "localhost"), (client, "client"), (client6, "client")]
        if outside:
            names += [(server, "far")]
            if level == 0:
                names += [(server, "server"), (server6, "server")]
        else:
            names += [(server, "server"), (server6, "server")]
        files = {"/etc/hosts": "".join(f"{address}\t{name}\n" for address, name in names) + _foreign_names(level)}
        if not outside:
            files["/etc/resolv.conf"] = "# Only the names in /etc/hosts are known here.\n"
        inner = f"inner{os.getpid()}" if outside else "eth0"
        # A namespace takes the machine's own setting over.
        tcp = {"net/ipv4/tcp_ecn": "1" if self._ecn else "2"}
        return {
            "attached": outside,
            "confined": not self._privileged,
            # Within a shell the mounts are those of that shell already.
            "viewed": os.geteuid() == 0 and level == 0 and not self._privileged,
            "writable": _writable(),
            "home": os.path.realpath(Path("~").expanduser()),
            "machine": outside and level == 0,
            "user": os.getpid(),
            "leftovers": self._leftovers,
            "translated": [f"{_NETWORK}.{third}.0", 24, inner[:15]] if self._to_machine else None,
            "mtu": MTU,
            "files": files,
            "ends": [
                {
                    "host": "server",
                    "port": "port-a",
                    "interface": inner[:15],
                    "is_outside": outside,
                    "address": server,
                    "address6": server6,
                    "mac": macs["server"],
                    "peer": client,
                    "peer6": client6,
                    "peer_mac": macs["client"],
                    # What is in shells within the client.
                    "routes": [] if outside else [f"{_NETWORK}.0.0/16 via {client}"],
                    # Of a shell around this one. The machine's own network stays as it is.
                    "sysctls": ({"net/ipv4/ip_forward": "1"} if level > 0 else {}) | ({} if outside else tcp),
                },
                {
                    "host": "client",
                    "port": "port-b",
                    "interface": "eth0",
                    "is_outside": False,
                    "address": client,
                    "address6": client6,
                    "mac": macs["client"],
                    "peer": server,
                    "peer6": server6,
                    "peer_mac": macs["server"],
                    "routes": [f"default via {server}"] if outside else [],
                    "sysctls": tcp,
                },
            ],
        }

    def address(self, host: str) -> str:
        """Return the IPv4 address of a host."""
        return f"{_NETWORK}.{self._third}.{10 if host == 'client' else 1}"

    def _start_device(self, program: Path) -> None:
        status, written = os.pipe()
        self._device_output = os.fdopen(os.memfd_create("sojournd.log"), "rb")
        with os.fdopen(os.memfd_create("sojournd.toml"), "w+b", buffering=0) as configuration:
            configuration.write(self._configuration.encode())
            configuration.seek(0)
            try:
                self._device = self.start(
                    "device",
                    [str(program), "run", "/dev/stdin"],
                    streams=(configuration.fileno(), written, self._device_output.fileno()),
                )
            finally:
                os.close(written)
        self._reader = threading.Thread(target=self._read, args=(status,), name="sojournd", daemon=True)
        self._reader.start()
        until = time.monotonic() + _START_S
        while not self._lines:
            self._events(0.01)
            self._check_device()
            if time.monotonic() > until:
                raise WorldError(f"sojournd has not begun to forward within {_START_S:g} s: {self._log()}")

    def _read(self, status: int) -> None:
        with os.fdopen(status, "rb") as lines:
            for line in lines:
                self._times.append(time.monotonic())
                self._lines.append(line)

    def _log(self) -> str:
        if self._device_output is None:
            return ""
        self._device_output.seek(0)
        lines = self._device_output.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def _check_device(self) -> None:
        if self._device in self._ended:
            raise WorldError(f"sojournd ended with status {self._ended[self._device]}: {self._log()}")

    # Running

    def start(
        self,
        host: str,
        command: Sequence[str],
        *,
        streams: tuple[int, int, int] = (0, 1, 2),
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> int:
        """Start a program in a host, and return its number for :meth:`wait` and :meth:`signal`.

        `streams` are descriptors of its standard input, output and error; environment and folder are this process's
        unless they are given.
        """
        environment = dict(os.environ if env is None else env)
        environment[LEVEL] = str(self.level + 1)
        if self._to_machine:
            environment[HOST] = "1"
        request = {
            "do": "start",
            "host": host,
            "command": list(command),
            "env": environment,
            "cwd": cwd or os.getcwd(),  # noqa: PTH109
        }
        self._ask(request, streams)
        answer = self._answer("started", "failed", limit_s=_START_S)
        if "failed" in answer:
            raise RunError(f"cannot start {command[0]!r}: {answer['failed']}")
        return int(answer["started"])

    def poll(self, number: int) -> int | None:
        """Return the exit status of a program, negative for a signal; None while it runs."""
        self._events(0.0)
        return self._ended.get(number)

    def wait(self, number: int, *, limit_s: float | None = None) -> int | None:
        """Wait for a program, and return its exit status; None if it still runs after `limit_s`."""
        until = None if limit_s is None else time.monotonic() + limit_s
        while number not in self._ended:
            self._events(0.2 if until is None else max(0.0, min(0.2, until - time.monotonic())))
            if number != self._device:
                self._check_device()
            if until is not None and time.monotonic() >= until:
                break
        return self._ended.get(number)

    def signal(self, number: int, which: int) -> None:
        """Send a signal to a program."""
        self._ask({"do": "signal", "pid": number, "signal": which})

    def heard(self, which: int) -> bool:
        """Whether a signal came to the processes of the world, too; each is answered for once."""
        self._events(0.0)
        if which not in self._heard:
            return False
        self._heard.remove(which)
        return True

    def is_listening(self, number: int) -> bool:
        """Whether anything accepts connections in the host in which a program runs."""
        self._ask({"do": "listening", "pid": number})
        return bool(self._answer("listening", "failed", limit_s=_START_S).get("listening"))

    def finish(self) -> list[dict[str, Any]]:
        """End the device, and return every state that it showed, the last one at its end."""
        if self._device and self._device not in self._ended:
            self.signal(self._device, signal.SIGTERM)
            if self.wait(self._device, limit_s=_STOP_S) is None:
                raise WorldError(f"sojournd has not ended within {_STOP_S:g} s")
        if self._reader is not None:
            self._reader.join(_STOP_S)
        if self._ended.get(self._device) != 0:
            self._check_device()
        return [json.loads(line) for line in self._lines]

    @property
    def times(self) -> list[float]:
        """When each state came, by the monotonic clock."""
        return list(self._times)

    @property
    def states(self) -> int:
        """How many states the device has shown so far."""
        return len(self._lines)

    def close(self) -> None:
        """End everything; nothing remains."""
        if self._holder is None:
            return
        # Process 1 ends as its socket closes, and the kernel ends everything below it.
        self._user.close()
        try:
            self._holder.wait(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            self._holder.kill()
            self._holder.wait()
        self._holder = None
        if self._device_output is not None:
            self._device_output.close()

    # The socket

    def _ask(self, request: Mapping[str, Any], streams: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self._user, [json.dumps(request).encode()], list(streams))
        except OSError as error:
            # A broken pipe would pass for a reader of our output that has gone.
            raise WorldError(_ENDED) from error

    def _answer(self, *names: str, limit_s: float) -> dict[str, Any]:
        """Return the next message that has one of these names."""
        until = time.monotonic() + limit_s
        while True:
            message = self._message(max(0.0, until - time.monotonic()))
            if message is None:
                raise WorldError(f"the process that holds the network does not answer within {limit_s:g} s")
            if any(name in message for name in names):
                return message

    def _events(self, wait_s: float) -> None:
        """Take in what has ended, and wait for it at most so long."""
        while self._message(wait_s) is not None:
            wait_s = 0.0

    def _message(self, wait_s: float) -> dict[str, Any] | None:
        if not select.select([self._user], [], [], wait_s)[0]:
            return None
        try:
            data = self._user.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        if not data:
            raise WorldError(_ENDED)
        message: dict[str, Any] = json.loads(data)
        if "ended" in message:
            self._ended[message["ended"]] = message["status"]
        if "heard" in message:
            self._heard.append(message["heard"])
        return message


def _writable() -> list[str]:
    """Return the folders in which programs of root may write: the current one and those of temporary files.

    A folder of the system is none of them, although it may be the current one.
    """
    places = [os.path.realpath(place) for place in (Path.cwd(), tempfile.gettempdir(), "/tmp", "/var/tmp")]  # noqa: S108
    is_system = [place == "/" or place.split("/")[1] in _SYSTEM for place in places]
    return [
        place
        for place, of_system in zip(places, is_system, strict=True)
        if not of_system or place.startswith("/var/tmp")  # noqa: S108
    ]


def own_level() -> int:
    """Return how deep this process is in shells: 0 outside of all."""
    text = os.environ.get(LEVEL, "0")
    return int(text) if text.isdecimal() else 0


def _free_network() -> int:
    """Return a network of the machine that none of its interfaces has; two shells at once begin at different ones."""
    try:
        routes = Path("/proc/net/fib_trie").read_text(encoding="ascii")
    except OSError:
        routes = ""
    count = 255 - _FIRST_OF_MACHINE
    tried = [_FIRST_OF_MACHINE + (os.getpid() + number) % count for number in range(count)]
    return next((third for third in tried if f"{_NETWORK}.{third}." not in routes), tried[0])


def machine_forwards() -> bool:
    """Return whether this machine forwards packets, so that addresses beyond it are reached."""
    try:
        return Path("/proc/sys/net/ipv4/ip_forward").read_text(encoding="ascii").strip() != "0"
    except OSError:
        return False


def _foreign_names(level: int) -> str:
    """Return what the hosts file says besides, without the names of before."""
    try:
        lines = Path("/etc/hosts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    own = {"client", "far", *(() if level else ("server",))}
    kept = [line for line in lines if own.isdisjoint(line.split("#")[0].split()[1:])]
    return "".join(f"{line}\n" for line in kept)


def check_command(command: Sequence[str], what: str) -> None:
    """Refuse a program that is neither on the path nor a file that can be run."""
    if shutil.which(command[0]) is None:
        found = Path(command[0])
        why = "may not be run" if found.is_file() else "was not found"
        raise RunError(f"{what}: {command[0]!r} {why}; allowed: a program on the path, or a file that can be run")
