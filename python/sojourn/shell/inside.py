"""The process that holds a world of network namespaces; run as a script: ``python inside.py SOCKET`` with a plan.

It needs only the standard library, so it starts quickly. It makes a PID namespace, and in it a process 1 that makes
the hosts' network namespaces, which have no names. Everything runs below process 1, so the kernel ends all of it, and
with it all interfaces, when process 1 ends. Process 1 ends when the socket to its user closes, or its parent dies.

Requests and answers are JSON documents over a sequential-packet socket; a request to start a program comes with its
standard input, output and error as descriptors.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import fcntl
import importlib.util
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from typing import Any, NoReturn

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1
SIOCETHTOOL = 0x8946
OFFLOADS = {"transmit checksums": 0x17, "TSO": 0x1F, "GSO": 0x24, "GRO": 0x2C}
"""Commands of the ethtool ioctl that switch each off (``ETHTOOL_STXCSUM``, ``STSO``, ``SGSO``, ``SGRO``)."""

LONGEST = 1 << 20
TOOLS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_libc = ctypes.CDLL(None, use_errno=True)


class ImpossibleError(Exception):
    """The world cannot be made; the message says why and what to do."""


def _call(name: str, *arguments: Any) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _unshare(flags: int) -> None:
    _call("unshare", flags)


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    _call("mount", source.encode(), target.encode(), kind.encode() if kind else None, flags, None)


def _enter_user_namespace() -> None:
    """Become root of a user namespace, with the rights of the user outside of it."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        _unshare(CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
                file.write(text)
    except OSError as error:
        raise ImpossibleError(
            f"this system does not let an ordinary user make user namespaces ({error.strerror or error}); "
            "allowed: root, or a system with kernel.unprivileged_userns_clone = 1, user.max_user_namespaces above 0 "
            "and kernel.apparmor_restrict_unprivileged_userns = 0"
        ) from None


def _isolate(*, machine: bool) -> None:
    """Leave the namespaces of the user; `machine` says that the machine's own network must remain in reach."""
    # Root of a container may lack the right to make namespaces, and gain it in a user namespace.
    if os.geteuid() != 0:
        _enter_user_namespace()
    flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC
    try:
        _unshare(flags)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise ImpossibleError(f"this system makes no namespaces: {error}") from None
        if machine:
            raise ImpossibleError(
                "root may make no namespaces here, so the machine's own network is out of reach; allowed: root with "
                "the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN, or no --host"
            ) from None
        _enter_user_namespace()
        _unshare(flags)


def _run(command: list[str], *, stdin: str = "", pass_fds: tuple[int, ...] = ()) -> None:
    path = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{TOOLS}"}
    try:
        done = subprocess.run(
            command, input=stdin, text=True, capture_output=True, check=False, pass_fds=pass_fds, env=path
        )
    except FileNotFoundError:
        raise ImpossibleError(f"{command[0]} was not found: apt-get install iproute2") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise ImpossibleError(f"`{' '.join(command)}` failed: {said[0] if said else done.returncode}")


class World:
    """The hosts: each a network namespace, held open by this process alone."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.net: dict[str, int] = {}
        self.translation: socket.socket | None = None

    def build(self) -> None:
        """Make namespaces, interfaces, addresses and names."""
        outside = os.open("/proc/self/ns/net", os.O_RDONLY)
        attached = bool(self.plan["attached"])
        for host in ("client", "device", *(() if attached else ("server",))):
            _unshare(CLONE_NEWNET)
            self.net[host] = os.open("/proc/self/ns/net", os.O_RDONLY)
        if attached:
            self.net["server"] = outside
        self._cables()
        for end in self.plan["ends"]:
            self._address(end)
        if self.plan["translated"]:
            self._translate(*self.plan["translated"])
        _mount("none", "/", None, MS_REC | MS_PRIVATE)
        self._names()
        # Without a /proc of its own, which some containers refuse, programs see the processes outside as well.
        try:
            _mount("proc", "/proc", "proc", 0)
        except OSError:
            self.plan["own_proc"] = False

    def _translate(self, network: str, prefix: int, interface: str) -> None:
        """Give what leaves the server's network an address of that network, while this process lives."""
        spec = importlib.util.spec_from_file_location("nat", os.path.join(os.path.dirname(__file__), "nat.py"))  # noqa: PTH118, PTH120
        if spec is None or spec.loader is None:
            raise ImpossibleError("the file nat.py of this package is missing; allowed: a whole installation")
        nat = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(nat)
        self.enter("server")
        try:
            self.translation = nat.masquerade(network, prefix, interface)
        except OSError as error:
            raise ImpossibleError(
                f"the kernel does not translate addresses ({error.strerror or error}); allowed: a kernel with "
                "nf_tables and its NAT (modules nft_masq and nft_chain_nat), or no --host"
            ) from None

    def enter(self, host: str) -> None:
        """Make the network of a host that of this process."""
        _call("setns", self.net[host], CLONE_NEWNET)

    def _ip(self, host: str, lines: list[str], *, pass_fds: tuple[int, ...] = ()) -> None:
        self.enter(host)
        _run(["ip", "-batch", "-"], stdin="\n".join(lines) + "\n", pass_fds=pass_fds)

    def _cables(self) -> None:
        mtu = self.plan["mtu"]
        for end in self.plan["ends"]:
            host, port, name = end["host"], end["port"], end["interface"]
            there = f"/proc/self/fd/{self.net[host]}"
            lines = [
                f"link add name {port} type veth peer name {name} netns {there}",
                f"link set dev {port} mtu {mtu} addrgenmode none",
                f"link set dev {port} up",
            ]
            self._ip("device", lines, pass_fds=(self.net[host],))
            self._offloads_off(port)
        self._ip("device", ["link set dev lo up"])

    def _offloads_off(self, interface: str) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            for name, command in OFFLOADS.items():
                value = array.array("I", [command, 0])
                request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
                try:
                    fcntl.ioctl(any_socket, SIOCETHTOOL, request)
                except OSError as error:
                    raise ImpossibleError(f"{name} of {interface} cannot be switched off: {error.strerror}") from None

    def _address(self, end: dict[str, Any]) -> None:
        name = end["interface"]
        lines = [] if end["is_outside"] else ["link set dev lo up"]
        lines += [
            f"link set dev {name} address {end['mac']} mtu {self.plan['mtu']} addrgenmode none",
            f"link set dev {name} up",
            f"address add {end['address']}/24 dev {name}",
            f"neighbour replace {end['peer']} lladdr {end['peer_mac']} dev {name} nud permanent",
        ]
        lines += [f"route add {route} dev {name}" for route in end["routes"]]
        self._ip(end["host"], lines)
        self._offloads_off(name)
        try:
            more = [
                f"address add {end['address6']}/64 dev {name} nodad",
                f"neighbour replace {end['peer6']} lladdr {end['peer_mac']} dev {name} nud permanent",
            ]
            self._ip(end["host"], more)
        except ImpossibleError:
            # A kernel without IPv6.
            pass
        for key, value in end["sysctls"].items():
            with open(f"/proc/sys/{key}", "w", encoding="ascii") as file:  # noqa: PTH123
                file.write(value)

    def _names(self) -> None:
        """Give the hosts their names, for programs in here alone."""
        texts = {name: text for name, text in self.plan["files"].items() if os.path.isfile(name)}  # noqa: PTH113
        # Over a folder that always exists; taken away again when the files have their places.
        _mount("tmpfs", "/tmp", "tmpfs", 0)  # noqa: S108
        try:
            for number, (name, text) in enumerate(texts.items()):
                with open(f"/tmp/{number}", "w", encoding="utf-8") as file:  # noqa: PTH123, S108
                    file.write(text)
                _mount(f"/tmp/{number}", os.path.realpath(name), None, MS_BIND)  # noqa: S108
        finally:
            _call("umount2", b"/tmp", MNT_DETACH)


class Server:
    """Starts programs in the hosts and says when they end."""

    def __init__(self, world: World, user: socket.socket) -> None:
        self.world = world
        self.user = user
        self.children: set[int] = set()

    def tell(self, **what: Any) -> None:
        """Send an answer."""
        self.user.send(json.dumps(what).encode())

    def serve(self) -> NoReturn:
        """Answer until the user is gone."""
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker)
        while True:
            sources: list[Any] = [self.user, woken]
            ready = select.select(sources, [], [])[0]
            if woken in ready:
                os.read(woken, 4096)
            self._reap()
            if self.user in ready:
                data, fds, _, _ = socket.recv_fds(self.user, LONGEST, 3)
                if not data:
                    os._exit(0)
                self._answer(json.loads(data), fds)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.children:
                self.children.discard(pid)
                self.tell(ended=pid, status=os.waitstatus_to_exitcode(status))

    def _answer(self, request: dict[str, Any], fds: list[int]) -> None:
        try:
            if request["do"] == "start":
                self.tell(started=self._start(request, fds))
            elif request["do"] == "signal":
                pid = request["pid"]
                if pid in self.children:
                    os.kill(pid, request["signal"])
            elif request["do"] == "listening":
                self.tell(listening=self._listening(request["pid"]))
        except OSError as error:
            self.tell(failed=error.strerror or str(error), errno=error.errno)
        finally:
            for fd in fds:
                os.close(fd)

    def _start(self, request: dict[str, Any], fds: list[int]) -> int:
        host = request["host"]

        def prepare() -> None:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            self.world.enter(host)

        try:
            process = subprocess.Popen(
                request["command"],
                stdin=fds[0],
                stdout=fds[1],
                stderr=fds[2],
                cwd=request.get("cwd"),
                env=request.get("env"),
                preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
                restore_signals=True,
            )
        except subprocess.SubprocessError as error:
            raise OSError(errno.EPERM, str(error)) from None
        self.children.add(process.pid)
        # Reaped above, and never by its object.
        process.returncode = 0
        return process.pid

    def _listening(self, pid: int) -> bool:
        """Whether anything accepts connections in the network namespace of a process, or has a UDP port."""
        for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
            try:
                with open(f"/proc/{pid}/net/{name}", encoding="ascii") as file:  # noqa: PTH123
                    if any(line.split()[3] == state for line in list(file)[1:]):
                        return True
            except OSError:
                continue
        return False


def _first(plan: dict[str, Any], user: socket.socket, parent: int) -> NoReturn:
    """Be process 1."""
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have gone before that: its end of the pipe is closed then.
    if select.select([parent], [], [], 0)[0]:
        os._exit(1)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    world = World(plan)
    server = Server(world, user)
    try:
        world.build()
    except (ImpossibleError, OSError) as error:
        server.tell(impossible=str(error))
        os._exit(2)
    server.tell(built=True)
    server.serve()


def main(fd: int) -> int:
    """Hold process 1 until it ends."""
    user = socket.socket(fileno=fd)
    user.set_inheritable(False)
    plan = json.loads(user.recv(LONGEST))
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        _isolate(machine=bool(plan["machine"]))
    except (ImpossibleError, OSError) as error:
        user.send(json.dumps({"impossible": str(error)}).encode())
        return 2
    watched, held = os.pipe2(os.O_CLOEXEC)
    first = os.fork()
    if first == 0:
        os.close(held)
        _first(plan, user, watched)
    os.close(watched)
    user.close()
    while True:
        try:
            _, status = os.waitpid(first, 0)
        except InterruptedError:
            continue
        # The files of a user that dies are closed before its children have another parent.
        until = time.monotonic() + 5.0
        while _left(plan["leftovers"]) and os.getppid() == plan["user"] and time.monotonic() < until:
            time.sleep(0.01)
        if plan["leftovers"] and os.getppid() != plan["user"]:
            _remove(plan["leftovers"])
        return os.waitstatus_to_exitcode(status) & 0xFF


def _left(leftovers: dict[str, Any]) -> list[str]:
    """Return what the user is writing, or an empty folder that it made."""
    try:
        names = os.listdir(leftovers["parent"]) if leftovers else []  # noqa: PTH208
    except OSError:
        return []
    if leftovers and leftovers["made"] and not names:
        return [leftovers["parent"]]
    return [
        os.path.join(leftovers["parent"], name)  # noqa: PTH118
        for name in names
        if name.startswith(leftovers["prefix"]) and name.endswith(leftovers["suffix"])
    ]


def _remove(leftovers: dict[str, Any]) -> None:
    """Remove results that the user was writing when it was killed."""
    with contextlib.suppress(OSError):
        for folder in _left(leftovers):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in leftovers["made"]:
            # Only an empty one.
            os.rmdir(folder)  # noqa: PTH106


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
