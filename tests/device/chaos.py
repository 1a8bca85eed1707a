#!/usr/bin/env python3
"""Let everything around ``sojournd`` go wrong, a mishap at a time, and account for every frame.

Two hosts send to each other through the device without a pause. In every round one thing happens to the device:
links flap at the far and at the near end, the MTU changes, an interface is deleted and comes back, the host's date
is changed, the process runs out of memory or is killed, the disk is full or read-only, the API is loaded, flows that
collide with a victim's flood the link, or short frames arrive as fast as the host can send them. Then the hosts fall
silent, and both sides are counted:

* Every frame that the hosts sent is accounted for (``ledger.py``).
* Nothing is down for longer than the mishap and a restart. Every 20 ms each host looks whether frames still arrive.
* The log of a round has few lines, however long the mishap lasts.

The totals are printed at the end, with the shares of victims and of honest flows beside floods of colliding flows
(``collisions.py``). The exit status is 1 if a frame is unaccounted for, or the wire was down for too long; else 77 if
a mishap could not be tried here. Needs root, and what :class:`laboratory.Lab` needs; the clock needs
libfaketime.

    sudo .venv/bin/python tests/device/chaos.py --seconds 3600 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import memory
from collisions import EVERY_BIN, RATE_BIT_S, SCHEMES, TRIED, WANTED, Flow, Shares, find, flow_of, shares
from laboratory import Lab, LabError
from ledger import Ledger
from lives import HOSTS, PATIENCE_S, Lives
from packets import udp

#: Lines of the log that a round may have, beside those of a start.
LINES = 60
#: Packets per second of each host.
PACE = 200
#: How long short frames arrive, s.
SHORT_S = 5.0

# Sends datagrams to all ports in turn at a pace, until it is stopped. A host without a link tries again.
_SEND = """
import socket, sys, time
to, pace = sys.argv[1], float(sys.argv[2])
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
due, n = time.monotonic(), 0
while True:
    try:
        link.sendto(bytes(200), (to, 4000 + n % 8))
    except OSError:
        pass
    n += 1
    due = max(due + 1 / pace, time.monotonic() - 0.1)
    time.sleep(max(0.0, due - time.monotonic()))
"""

# Prints begin and length of every time without frames. Only looks that found nothing new count: it may be late too.
_WATCH = """
import sys, time
path, last, begin, end = "/sys/class/net/eth0/statistics/rx_packets", None, None, None
while True:
    try:
        now = int(open(path).read())
    except OSError:
        now = last
    at = time.monotonic()
    if now != last:
        if begin is not None and end - begin > 0.2:
            print(begin, end - begin, flush=True)
        last, begin = now, None
    else:
        begin, end = at if begin is None else begin, at
    time.sleep(0.02)
"""


class CannotBeTriedError(Exception):
    """This machine does not have what the mishap needs."""


class Chaos(Lives):
    """One laboratory, its traffic, and what happened to it."""

    def __init__(self, lab: Lab, seed: int, restart_s: float) -> None:
        super().__init__(lab, seed)
        self.restart_s = restart_s
        self.ledger = Ledger(lab)
        self.rounds: Counter[str] = Counter()
        self.not_tried: dict[str, str] = {}
        self.longest: dict[str, float] = {}
        self.totals: Counter[str] = Counter()
        #: Of each scheme: flows that collided in an earlier life, and the shares beside floods.
        self.former: dict[str, tuple[int, list[Flow]]] = {}
        self.floods: list[tuple[str, str, int, Shares]] = []
        self.cgroup: Path | None = None
        self.name = "start"
        self.disk = lab.folder / "disk"
        self.disk.mkdir()
        # An hour of floods stores some 60 MB of windows.
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(self.disk)], check=True)
        for host in HOSTS:
            # Questions for routers would go on while the hosts are to be silent.
            quiet = [f"net.ipv6.conf.{name}.router_solicitations=0" for name in ("eth0", "default")]
            lab.run(host, "sysctl", "-qw", *quiet)
        self.neighbours()
        if not self.begin():
            raise LabError(f"no answer after the first start: {self.lines()[-5:]}")
        self.watchers = {host: self.watch(host) for host in HOSTS}

    # The device

    def configuration(self) -> str:
        """Return the configuration of this life: both directions shaped, windows on a small disk."""
        toml = self.lab.toml(**self.back_end, rate=f"{RATE_BIT_S} bit/s", delay="2 ms", window=500)
        upload = '[b_to_a]\nscheme = "cake"\nrate = "10 Mbit/s"\n'
        store = str(self.lab.folder / "windows.sqlite")
        toml = toml.replace("[b_to_a]\n", upload).replace(store, str(self.disk / "windows.sqlite"))
        return toml + "seed = 7\n"

    def around(self) -> contextlib.AbstractContextManager[None]:
        """Return the control group in which the process is started."""
        return memory.within(self.cgroup)

    def look(self) -> dict[str, Any] | None:
        """Look at the process, and at the hosts."""
        status = super().look()
        if status is not None:
            self.ledger.hosts()
        return status

    def restart(self, *, environment: list[str] | None = None, politely: bool = False) -> None:
        """End the process, and start it with words before its command."""
        self.environment = environment or []
        self.end(kill=not politely)
        self.revive()

    def revive(self) -> None:
        """Start the process until it answers, as a service manager does: after the 0.1 s of the unit."""
        until = time.monotonic() + PATIENCE_S
        while True:
            if self.last is not None:
                self.ledger.add(self.last)
            time.sleep(0.1)
            if self.begin():
                break
            if time.monotonic() > until:
                raise LabError(f"no answer after a start: {self.lines()[-5:]}")
        # What the hosts sent until now without a device is lost with the restart.
        self.totals["restarts"] += 1
        self.ledger.restarted = True

    def quiet(self) -> None:
        """Wait until no frame is under way, and look."""
        until = time.monotonic() + PATIENCE_S
        before: object = None
        while time.monotonic() < until:
            status = self.look()
            if status is not None:
                ways = status["directions"]
                inside = sum(way["backlog"]["packets"] + way["delayed"] + way["ready"] for way in ways)
                leaving = sum(port["counters"]["leaving"] for port in status["ports"])
                now = ([port["counters"] for port in status["ports"]], {**self.ledger.seen})
                if now == before and inside == leaving == 0:
                    return
                before = now
            time.sleep(0.6)
        self.wrong(f"frames are still under way after {PATIENCE_S:g} s: {self.last}")

    # Traffic

    def neighbours(self) -> None:
        """The hosts know each other: under a flood no question would pass."""
        for host, other in (HOSTS, HOSTS[::-1]):
            with contextlib.suppress(LabError):
                address = self.lab.run(other, "cat", "/sys/class/net/eth0/address").strip()
                entry = [self.lab.address(other), "lladdr", address, "dev", "eth0", "nud", "permanent"]
                self.lab.run(host, "ip", "neigh", "replace", *entry)

    def send(self) -> list[subprocess.Popen[str]]:
        """Let both hosts send."""
        pairs = (HOSTS, HOSTS[::-1])
        return [
            self.lab.start(host, sys.executable, "-c", _SEND, self.lab.address(other), str(PACE))
            for host, other in pairs
        ]

    def watch(self, host: str) -> Path:
        """Watch what arrives at a host; the file that has the gaps."""
        path = self.lab.folder / f"gaps-{host}"
        with path.open("w") as file:
            self.lab.start(host, sys.executable, "-c", _WATCH, stdout=file.fileno())
        return path

    def gaps(self, since: float) -> float:
        """Return the longest time since an instant in which nothing arrived at one of the hosts."""
        lines = (line.split() for path in self.watchers.values() for line in path.read_text().splitlines())
        found = [(float(words[0]), float(words[1])) for words in lines if len(words) == 2]
        return max(
            (min(length, begin + length - since) for begin, length in found if begin + length > since), default=0
        )

    def wrong(self, what: str) -> None:
        """Note something that must not be."""
        super().wrong(f"{self.name}: {what}")

    # Mishaps: each returns for how long nothing can pass because of it

    def far_link(self) -> float:
        """Links flap at the far ends."""
        return self.flap([(host, "eth0") for host in HOSTS])

    def near_link(self) -> float:
        """Ports of the device are set down and up."""
        return self.flap([("device", "port-a"), ("device", "port-b")])

    def flap(self, ends: list[tuple[str, str]]) -> float:
        """Set an interface down and up some times; the device must have seen it.

        Linux tells of a lost carrier once a second at most, and not at all of one that is back by then.
        """
        host, interface = self.random.choice(ends)
        lost = sum(port["link"]["lost"] for port in (self.last or {})["ports"])
        count, times, longest = self.random.randint(1, 4), 0, 0.0
        for _ in range(count):
            begun = time.monotonic()
            self.lab.run(host, "ip", "link", "set", interface, "down")
            down_s = self.random.uniform(0.1, 1.8)
            times += down_s > 1.1
            time.sleep(down_s)
            self.lab.run(host, "ip", "link", "set", interface, "up")
            self.neighbours()
            longest = max(longest, time.monotonic() - begun)
            time.sleep(1.1)
        time.sleep(1)
        status = self.look()
        if status is None or sum(port["link"]["lost"] for port in status["ports"]) - lost < times:
            self.wrong(
                f"{interface} of {host} was down {times} times for more than 1.1 s: "
                f"{status and [p['link'] for p in status['ports']]}"
            )
        # The kernel says that a carrier is back up to a second later.
        return count * (longest + 1)

    def mtu(self) -> float:
        """The MTU changes at one end."""
        ends = [("client", "eth0"), ("server", "eth0"), ("device", "port-a"), ("device", "port-b")]
        host, interface = self.random.choice(ends)
        for size in (self.random.choice((576, 1280, 1400)), 1500):
            self.lab.run(host, "ip", "link", "set", interface, "mtu", str(size))
            time.sleep(0.5)
        return 0.0

    def deletion(self) -> float:
        """An interface is deleted, and comes back."""
        port = self.random.choice(("port-a", "port-b"))
        host = "client" if port == "port-a" else "server"
        self.look()
        begun = time.monotonic()
        self.lab.unplug(port)
        self.ledger.anew(host)
        if self.device.wait(timeout=30) != 2:
            self.wrong(f"status {self.device.returncode} after its interface was deleted")
        if not any("the interface is gone" in line for line in self.lines()):
            self.wrong(f"the log says nothing of a deleted interface: {self.lines()[-5:]}")
        time.sleep(self.random.uniform(0, 1))
        self.lab.plug(port)
        self.neighbours()
        took = time.monotonic() - begun
        self.revive()
        return took

    def clock(self) -> float:
        """The host's date is changed."""
        library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
        if library is None:
            raise CannotBeTriedError("libfaketime is missing: apt-get install libfaketime")
        file = self.lab.folder / "date"
        file.write_text("+0\n")
        variables = [f"LD_PRELOAD={library}", f"FAKETIME_TIMESTAMP_FILE={file}", "FAKETIME_NO_CACHE=1"]
        self.restart(environment=["env", *variables, "FAKETIME_DONT_FAKE_MONOTONIC=1"], politely=True)
        for step in ("+1h", "-2h", "+3650d", "+0"):
            file.write_text(f"{step}\n")
            time.sleep(1.5)
            self.look()
        # It looks every 5 s.
        time.sleep(4)
        self.restart(politely=True)
        return 0.0

    def out_of_memory(self) -> float:
        """The control group has no more memory."""
        group = memory.make(f"sojourn-chaos-{self.device.pid}")
        if group is None:
            raise CannotBeTriedError("no control group for memory can be made here")
        self.cgroup = group
        try:
            self.restart()
        finally:
            self.cgroup = None
        # The first to be killed, as it would be where it is the largest.
        Path(f"/proc/{self.device.pid}/oom_score_adj").write_text("1000")
        memory.limit(group, more=4 << 20)
        # Somebody else in the group takes what is left and more.
        take = f"import time; taken = b'x' * {8 << 20}; time.sleep(60)"
        with memory.within(group):
            hog = subprocess.Popen([sys.executable, "-c", take])
        self.load(5.0, until=lambda: self.device.poll() is not None)
        hog.kill()
        hog.wait()
        killed = self.device.poll() is not None
        self.totals["killed without memory"] += killed
        if killed:
            self.revive()
        else:
            self.restart(politely=True)
        with contextlib.suppress(OSError):
            group.rmdir()
        return 0.0

    def full(self) -> float:
        """The disk is full."""
        # The store's log has room of its own for a while, and none when it is new.
        self.restart(politely=True)
        filler = self.disk / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        self.store_fails(filler.unlink)
        return 0.0

    def read_only(self) -> float:
        """The disk is read-only."""
        # A mount of its own, as the other has files that are open for writing.
        disk = str(self.disk)
        subprocess.run(["mount", "--bind", disk, disk], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", disk], check=True)

        def writable() -> None:
            # The process has mounts of its own, as `ip netns exec` gives it /sys.
            inside = ["nsenter", "--mount", f"--target={self.device.pid}"]
            subprocess.run([*inside, "mount", "-o", "remount,bind,rw", disk], check=True)

        try:
            self.restart()
            self.store_fails(writable)
        finally:
            subprocess.run(["umount", disk], check=True)
        return 0.0

    def store_fails(self, mend: Callable[[], object]) -> None:
        """Wait until the store fails, let it fail for a while, mend it, and wait until it works."""
        before = 0 if self.ledger.restarted else len(self.lines())
        failed = self.wait_for(lambda status: not status["store"]["up"], 30)
        if not failed:
            self.wrong("the store does not notice that it cannot be written")
        self.totals["stores that failed"] += failed
        time.sleep(6)
        mend()
        if failed and not self.wait_for(lambda status: status["store"]["up"], 40):
            self.wrong(f"the store does not work again: {(self.last or {}).get('store')}")
        said = self.lines()[before:]
        bad, good = (sum(text in line for line in said) for text in ("nothing can be stored", "the store works"))
        self.totals["log lines of a store that fails"] += bad + good
        if failed and (not 1 <= bad <= 4 or good != 1):
            self.wrong(f"{bad} lines say that nothing can be stored, {good} that the store works: {said}")

    def api(self) -> float:
        """The API has much to do."""
        self.load(8.0)
        if self.look() is None:
            self.wrong("no answer after the load")
        return 0.0

    def load(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Ask as much as goes through several connections, right and wrong, and leave some half open."""
        end = time.monotonic() + seconds
        path = str(self.lab.folder / "control.sock")
        requests = [
            b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET /windows?limit=256 HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"PATCH /directions/a_to_b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 60000\r\n\r\n" + b"[" * 60_000,
            b"GET /status HTTP/1.1\r\nHost: loc",
        ]

        def ask(number: int) -> None:
            while time.monotonic() < end and not until():
                with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(1)
                    connection.connect(path)
                    connection.sendall(requests[number % len(requests)])
                    connection.recv(1 << 16)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def collisions(self) -> float:
        """Flows that share the victim's queue flood the link, after others that share none."""
        scheme = SCHEMES[self.rounds[self.name] % len(SCHEMES)]
        rate = {"rate": f"{RATE_BIT_S} bit/s"}
        self.lab.ask("PATCH", "/directions/a_to_b", {"scheme": scheme} | rate)
        draw = self.random.randrange(10**8)
        life, control = self.former.get(scheme, (0, []))
        # Those of an earlier life are like any, as the key of the hash is another one.
        what = "of an earlier life" if control and life != self.lives else "drawn"
        if what == "drawn":
            control = [flow_of(self.random.randrange(10**8)) for _ in range(WANTED)]
        if scheme in TRIED:
            crafted = find(self.lab, scheme, draw)
            self.former[scheme] = self.lives, crafted
        else:
            crafted = [flow_of(draw + number) for number in range(EVERY_BIN)]
        for kind, flows in ((what, control), ("colliding", crafted)):
            if not flows:
                self.wrong(f"{scheme}: no flow was found that collides")
                continue
            found = shares(self.lab, flows, self.random)
            self.floods.append((scheme, kind, len(flows), found))
            self.totals["frames of floods"] += found.sent
            print(
                f"    {scheme} beside {len(flows)} flows {kind}, {found.rate:.0f} frames/s: "
                f"victim {found.victim:.0%}, honest flow {found.honest:.0%}",
                flush=True,
            )
            if scheme in TRIED and found.honest < 0.5:
                self.wrong(f"{scheme}: the honest flow got {found.honest:.0%}")
        status = self.look()
        if status is not None and scheme not in str(status["directions"][0]["scheme"]):
            self.wrong(f"{scheme} is not in force")
        self.lab.ask("PATCH", "/directions/a_to_b", {"scheme": "fq_codel"} | rate)
        return 0.0

    def short(self) -> float:
        """Short frames arrive as fast as the host can send them."""
        frames = [udp(self.lab, 60, port=port) for port in range(1, 9)]
        sent, seconds = self.lab.flood(frames, count=20_000)
        sent, seconds = self.lab.flood(frames, count=round(SHORT_S * sent / seconds))
        self.totals["short frames"] += sent
        self.totals["milliseconds of short frames"] += round(seconds * 1000)
        return 0.0

    def kill(self) -> float:
        """The process is killed, or told to end."""
        self.restart(politely=self.random.random() < 0.3)
        return 0.0

    # Rounds

    def round(self, mishap: Callable[[], float]) -> None:
        """Let one thing happen, heal it, and count."""
        self.name = mishap.__name__
        lines = len(self.lines())
        assert self.last is not None
        self.ledger.open(self.last)
        since = time.monotonic()
        senders = self.send()
        interruption = 0.0
        try:
            time.sleep(0.7)
            interruption = mishap()
            time.sleep(1)
        except CannotBeTriedError as error:
            self.not_tried[self.name] = str(error)
        except (LabError, subprocess.SubprocessError) as error:
            self.wrong(f"{str(error)[:600]}")
        if self.device.poll() is not None:
            self.wrong(f"sojournd ended with status {self.device.returncode}: {self.lines()[-5:]}")
            self.revive()
        self.stop(senders)
        gap = self.gaps(since)
        self.quiet()
        if self.last is not None:
            self.ledger.add(self.last)
        self.rounds[self.name] += 1
        self.longest[self.name] = max(self.longest.get(self.name, 0.0), gap - interruption)
        if gap > interruption + self.restart_s:
            self.wrong(f"nothing arrived for {gap:.1f} s; the mishap took {interruption:.1f} s")
        said = len(self.lines()) - (0 if self.ledger.restarted else lines)
        if said > LINES:
            self.wrong(f"{said} lines of log: {self.lines()[-5:]}")
        for what in self.ledger.close():
            self.wrong(what)

    def run(self, seconds: float, only: list[str]) -> None:
        """Let everything happen once, then at random for a time."""
        first = list(only)
        self.random.shuffle(first)
        self.quiet()
        while first or self.age_s < seconds:
            name = first.pop() if first else self.random.choice(only)
            if name in self.not_tried:
                if not first and set(only) <= set(self.not_tried):
                    return
                continue
            self.round(getattr(self, name))
            if self.rounds.total() % 20 == 0:
                self.tell()

    def tell(self) -> None:
        """Say how it stands."""
        totals = self.ledger.totals
        print(
            f"{self.age_s / 60:5.1f} min  rounds {self.rounds.total()}, lives {self.lives}, frames in "
            f"{totals['frames in']}, unaccounted for {totals['unaccounted for']}, violations {len(self.violations)}",
            flush=True,
        )

    def close(self) -> None:
        """Remove what is outside of the laboratory."""
        if self.device.poll() is None:
            self.lab.stop(self.device)
        subprocess.run(["umount", "-l", str(self.disk)], check=False, capture_output=True)

    def report(self) -> None:
        """Print the totals."""
        print(f"\n{'mishap':16}{'rounds':>8}  longest time without frames beside the mishap")
        for name, count in sorted(self.rounds.items()):
            print(f"{name:16}{count:8}  {max(0.0, self.longest[name]):.2f} s")
        for name, why in self.not_tried.items():
            print(f"{name:16}  not tried: {why}")
        print(f"\n{'lives of the program':34}{self.lives:12}")
        for name, total in sorted((self.ledger.totals + self.totals).items()):
            print(f"{name:34}{total:12}")
        print(f"{'unaccounted for':34}{self.ledger.totals['unaccounted for']:12}")
        print(f"{'violations':34}{len(self.violations):12}")
        print(f"\n{'scheme':10}{'flows of the flood':30}{'floods':>8}  victim's and honest flow's share, mean")
        kinds: dict[tuple[str, str], list[Shares]] = {}
        for scheme, kind, count, found in self.floods:
            kinds.setdefault((scheme, f"{count} {kind}"), []).append(found)
        for (scheme, kind), every in sorted(kinds.items()):
            victim, honest = (
                sum(values) / len(every) for values in ([s.victim for s in every], [s.honest for s in every])
            )
            print(f"{scheme:10}{kind:30}{len(every):8}  {victim:.1%}  {honest:.1%}")


MISHAPS = (
    "far_link", "near_link", "mtu", "deletion", "clock", "out_of_memory", "full", "read_only", "api", "collisions",
    "short", "kill",
)  # fmt: skip
"""Names of methods of :class:`Chaos`."""


@contextlib.contextmanager
def chaos(seed: int, restart_s: float) -> Iterator[Chaos]:
    """Make a laboratory for chaos."""
    with Lab(name="ch") as lab:
        made = Chaos(lab, seed, restart_s)
        try:
            yield made
        finally:
            made.close()


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="how long, after every mishap once (default 3600)"
    )
    parser.add_argument("--seed", type=int, help="of all that is random; drawn and printed by default")
    parser.add_argument(
        "--restart-s", type=float, default=5.0, help="what a restart may take on this machine (default 5)"
    )
    parser.add_argument("--only", nargs="+", choices=MISHAPS, default=list(MISHAPS), metavar="MISHAP")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"chaos: {options.seconds:g} s, --seed {seed}", flush=True)
    with chaos(seed, options.restart_s) as world:
        world.run(options.seconds, options.only)
        world.report()
    if world.violations:
        return 1
    return 77 if world.not_tried else 0


if __name__ == "__main__":
    sys.exit(main())
