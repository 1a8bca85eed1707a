"""The process that holds a world of network namespaces; run as a script: ``python inside.py SOCKET`` with a plan.

It needs only the standard library, so it starts quickly. It makes a PID namespace, and in it a process 1 that makes
the hosts' network namespaces, which have no names. Everything runs below process 1, so the kernel ends all of it, and
with it all interfaces, when process 1 ends. Process 1 ends when the socket to its user closes, or its parent dies.

The programs of the hosts run in a user namespace of their own, which owns the hosts' networks and nothing else. Those
of root see the file system through mounts that they cannot change (:meth:`World._view`).

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
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
MNT_DETACH = 2
SYS_MOUNT_SETATTR = 442
"""The same number on every architecture."""
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY = 1
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "net/tun")
"""Those that programs of root see; a disk is not among them."""
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


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    _call("mount", source.encode(), target.encode(), kind.encode() if kind else None, flags, options.encode() or None)


def _read_only(place: str, *, on: bool, flags: int = 0) -> None:
    """Set or clear "read-only" of a mount, and with ``AT_RECURSIVE`` of those below it."""
    wanted = struct.pack("=4Q", MOUNT_ATTR_RDONLY if on else 0, 0 if on else MOUNT_ATTR_RDONLY, 0, 0)
    _call("syscall", SYS_MOUNT_SETATTR, AT_FDCWD, place.encode(), flags, wanted, len(wanted))


def _covered(place: str) -> None:
    """Make a place read-only by a mount of its own."""
    _mount(place, place, None, MS_BIND | MS_REC)
    _read_only(place, on=True, flags=AT_RECURSIVE)


def _written(places: list[str]) -> tuple[list[str], list[str]]:
    """Return those of the places that can be written, and the mounts below them that can."""
    kept = [place for place in places if os.path.isdir(place) and not os.statvfs(place).f_flag & os.ST_RDONLY]  # noqa: PTH112
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        mounts = [line.split()[4:6] for line in file]
    below = [
        point.encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1").decode()
        if "\\" in point
        else point
        for point, options in mounts
        if "rw" in options.split(",") and any(point.startswith(f"{place}/") for place in kept)
    ]
    return kept, below


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
        output = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise ImpossibleError(f"`{' '.join(command)}` failed: {output[0] if output else done.returncode}")


def _made_apart(make: Callable[[], None], kind: str, meanwhile: Callable[[], None] | None = None) -> int:
    """Let a child make a namespace, call `meanwhile` while it does, and return the namespace's descriptor."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            make()
            socket.send_fds(theirs, [b"made"], [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY)])
        except (OSError, ImpossibleError) as error:
            theirs.send(str(error).encode())
        os._exit(0)
    theirs.close()
    try:
        with ours:
            if meanwhile is not None:
                meanwhile()
            output, found, _, _ = socket.recv_fds(ours, 4096, 1)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    if not found:
        raise ImpossibleError(output.decode() or "a child ended")
    return found[0]


class World:
    """The hosts: each a network namespace, held open by this process alone."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.net: dict[str, int] = {}
        self.translation: socket.socket | None = None
        self.users: int | None = None
        self.view: int | None = None

    def build(self) -> None:
        """Make namespaces, interfaces, addresses and names."""
        outside = os.open("/proc/self/ns/net", os.O_RDONLY)
        attached = bool(self.plan["attached"])
        _mount("none", "/", None, MS_REC | MS_PRIVATE)
        # Without a /proc of its own, which some containers refuse, programs see the processes outside as well.
        try:
            _mount("proc", "/proc", "proc", 0)
        except OSError:
            self.plan["own_proc"] = False
        if self.plan["confined"]:
            self.users = self._user_namespace()
        for host in ("client", "device", *(() if attached else ("server",))):
            self.net[host] = self._network(host)
        if attached:
            self.net["server"] = outside
        self._cables()
        for end in self.plan["ends"]:
            self._address(end)
        if self.plan["translated"]:
            self._translate(*self.plan["translated"])
        self._names()
        if self.plan["viewed"]:
            self.view = _made_apart(self._view, "mnt")

    def _network(self, host: str) -> int:
        """Return a network namespace, which the programs' user namespace owns where there is one."""
        if self.users is None or host == "device":
            _unshare(CLONE_NEWNET)
            return os.open("/proc/self/ns/net", os.O_RDONLY)
        users = self.users

        def make() -> None:
            _call("setns", users, CLONE_NEWUSER)
            _unshare(CLONE_NEWNET)

        return _made_apart(make, "net")

    def _user_namespace(self) -> int:
        """Return a user namespace with the users of this one, whose root has no right outside of it."""
        ours, theirs = socket.socketpair()

        def make() -> None:
            _unshare(CLONE_NEWUSER)
            # Its number in the /proc that is seen here.
            theirs.send(os.readlink("/proc/self").encode())  # noqa: PTH115
            theirs.recv(1)

        def write_maps() -> None:
            number = ours.recv(64).decode()
            for name in ("uid_map", "gid_map"):
                with open(f"/proc/self/{name}", encoding="ascii") as known:  # noqa: PTH123
                    lines = [line.split() for line in known]
                with open(f"/proc/{number}/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
                    file.write("".join(f"{inside} {inside} {count}\n" for inside, _, count in lines))
            ours.send(b"x")

        try:
            return _made_apart(make, "user", write_maps)
        except OSError as error:
            raise ImpossibleError(
                f"the system makes no user namespace for the programs ({error.strerror or error}); allowed: "
                "user.max_user_namespaces above 0, or as root --privileged, which confines nothing"
            ) from None

    def _view(self) -> None:
        """See the file system as the programs of root do.

        It is read-only but for the places that the plan names, and the user's home in a copy. /run, with the sockets
        of the system's services, and /dev are empty but for :data:`DEVICES`. Of the kernel's settings, those of the
        network can be written.
        """
        _unshare(CLONE_NEWNS)
        writable, below = _written(self.plan["writable"])
        kept = {}
        for name in ("/etc/hosts", "/etc/resolv.conf"):
            place = os.path.realpath(name)
            if place.startswith("/run/") and os.path.isfile(place):  # noqa: PTH113
                with open(place, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                    kept[place] = file.read()
        self._devices()
        try:
            _read_only("/", on=True, flags=AT_RECURSIVE)
        except OSError as error:
            raise ImpossibleError(
                f"the file system cannot be made read-only ({error.strerror}); allowed: Linux 5.12 or later, or "
                "--privileged, which confines nothing"
            ) from None
        _mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
        os.mkdir("/run/lock", 0o1777)  # noqa: PTH102
        for place, text in kept.items():
            os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
            with open(place, "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write(text)
        _read_only("/dev", on=False)
        _read_only("/dev/shm", on=False)  # noqa: S108
        _read_only("/dev/pts", on=False)
        opened = {place: os.open(place, os.O_PATH) for place in writable}
        self._home(writable)
        for place, fd in opened.items():
            _mount(f"/proc/self/fd/{fd}", place, None, MS_BIND | MS_REC)
            _read_only(place, on=False)
            os.close(fd)
        for place in below:
            # One may lie under another.
            with contextlib.suppress(OSError):
                _read_only(place, on=False)
        if self.plan.get("own_proc", True):
            _read_only("/proc", on=False)
            for name in os.listdir("/proc"):  # noqa: PTH208
                place = f"/proc/{name}"
                known = os.lstat(place).st_mode
                if not name.isdecimal() and (stat.S_ISDIR(known) or (stat.S_ISREG(known) and known & 0o222)):
                    _covered(place)
        _mount("/proc/sys/net", "/proc/sys/net", None, MS_BIND)
        _read_only("/proc/sys/net", on=False)

    def _home(self, writable: list[str]) -> None:
        """Let programs write in the user's home; what they write there ends with the world."""
        home = self.plan["home"]
        if home == "/" or not os.path.isdir(home) or any(f"{home}/".startswith(f"{one}/") for one in writable):  # noqa: PTH112
            return
        there = "/run/home"
        os.mkdir(there)  # noqa: PTH102
        _mount("tmpfs", there, "tmpfs", 0, "mode=700")
        for name in ("upper", "work"):
            os.mkdir(f"{there}/{name}", 0o700)  # noqa: PTH102
        # Where the kernel lets nobody lay a file system over another, it stays read-only.
        with contextlib.suppress(OSError):
            options = f"lowerdir={home},upperdir={there}/upper,workdir={there}/work"
            _mount("overlay", home, "overlay", 0, options)
        _call("umount2", there.encode(), MNT_DETACH)
        os.rmdir(there)  # noqa: PTH106

    def _devices(self) -> None:
        """Put few devices in the place of all."""
        there = "/tmp"  # noqa: S108 - it always exists
        _mount("tmpfs", there, "tmpfs", 0, "mode=755")
        for name in ("net", "pts", "shm"):
            os.mkdir(f"{there}/{name}")  # noqa: PTH102
        for name in DEVICES:
            if os.path.exists(f"/dev/{name}"):  # noqa: PTH110
                os.close(os.open(f"{there}/{name}", os.O_CREAT | os.O_WRONLY))
                _mount(f"/dev/{name}", f"{there}/{name}", None, MS_BIND)
        _mount("devpts", f"{there}/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0620")
        _mount("tmpfs", f"{there}/shm", "tmpfs", 0, "mode=1777")
        links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd"}
        links |= {name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))}
        for name, target in links.items():
            os.symlink(target, f"{there}/{name}")  # noqa: PTH211
        _mount(there, "/dev", None, MS_MOVE)

    def confine(self, cwd: str) -> None:
        """Give this process the view and the rights of a program."""
        if self.users is None:
            return
        if self.view is not None:
            _call("setns", self.view, CLONE_NEWNS)
        _call("setns", self.users, CLONE_NEWUSER)
        # The kernel locks what is read-only in a copy for another user namespace.
        _unshare(CLONE_NEWNS)
        os.chdir(cwd)

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
        self.children: dict[int, str] = {}

    def tell(self, **what: Any) -> None:
        """Send an answer; without a user everything ends."""
        try:
            self.user.send(json.dumps(what).encode())
        except OSError:
            os._exit(0)

    def serve(self) -> NoReturn:
        """Answer until the user is gone."""
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        for which in (signal.SIGCHLD, signal.SIGINT, signal.SIGQUIT):
            signal.signal(which, lambda *_: None)
        signal.set_wakeup_fd(waker)
        while True:
            sources: list[Any] = [self.user, woken]
            ready = select.select(sources, [], [])[0]
            if woken in ready:
                for number in os.read(woken, 4096):
                    if number != signal.SIGCHLD:
                        self.tell(heard=number)
            self._reap()
            if self.user in ready:
                try:
                    data, fds, _, _ = socket.recv_fds(self.user, LONGEST, 3)
                except OSError:
                    # It was killed with an answer unread.
                    data = b""
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
                del self.children[pid]
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
            if host == "device":
                # The terminal's signals are not for it.
                os.setpgrp()
            else:
                self.world.confine(request["cwd"])

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
        self.children[process.pid] = host
        # Reaped above, and never by its object.
        process.returncode = 0
        return process.pid

    def _listening(self, pid: int) -> bool:
        """Whether anything accepts connections in the host of a process, or has a UDP port."""
        if pid not in self.children:
            return False
        self.world.enter(self.children[pid])
        for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
            try:
                with open(f"/proc/self/net/{name}", encoding="ascii") as file:  # noqa: PTH123
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
    ignored = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU, signal.SIGHUP)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    # They waited while this program started.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ignored)
    asked = user.recv(LONGEST)
    if not asked:
        return 1
    plan = json.loads(asked)
    try:
        _isolate(machine=bool(plan["machine"]))
    except (ImpossibleError, OSError) as error:
        with contextlib.suppress(OSError):
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
