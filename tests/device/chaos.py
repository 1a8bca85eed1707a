#!/usr/bin/env python3
"""Let everything around ``sojournd`` go wrong, a mishap at a time, and account for every frame.

Two hosts send to each other through the device without a pause. In every round one thing happens to the device:
links flap at the far and at the near end, the MTU changes, an interface is deleted and comes back, the host's date
is changed, the process runs out of memory or is killed, the disk is full or read-only, the API is loaded, many flows
or a flood of short frames arrive. Then the hosts fall silent, and both sides are counted:

* The frames that the hosts sent are those that the other host received, that the device dropped or counted as lost
  for a reason, and those of a restart: sent after the last look at the process that ended, and before the first at
  the next.
* Nothing is down for longer than the mishap and a restart. Every 20 ms each host looks whether frames still arrive.
* The log of a round has few lines, however long the mishap lasts.

The totals are printed at the end. The exit status is 1 if a frame is unaccounted for, or the wire was down for too
long; else 77 if a mishap could not be tried here. Needs root, and what :class:`sojourn.real.device.lab.Lab` needs;
the clock needs libfaketime.

    sudo .venv/bin/python tests/device/chaos.py --seconds 3600 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from packets import assert_conserved, udp
from soak import BACK_ENDS

from sojourn.real.device.lab import Lab, LabError, find_sojournd

HOSTS = ("client", "server")
#: The host and the port of the device where the frames of a direction begin, and those where they end.
WAYS = (("client", 0, "server", 1), ("server", 1, "client", 0))
#: Reasons for which a port counts a frame that arrived and that the pipeline never got.
MISSED = ("missed", "oversize")
#: Lines of the log that a round may have, beside those of a start.
LINES = 60
#: Packets per second of each host.
PACE = 200

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


class Chaos:
    """One laboratory, its traffic, and what happened to it."""

    def __init__(self, lab: Lab, seed: int, restart_s: float) -> None:
        self.lab = lab
        self.random = random.Random(seed)  # noqa: S311
        self.restart_s = restart_s
        self.begun = time.monotonic()
        self.rounds: Counter[str] = Counter()
        self.not_tried: dict[str, str] = {}
        self.violations: list[str] = []
        self.longest: dict[str, float] = {}
        self.lives = 0
        self.seen: Counter[str] = Counter()
        self.totals: Counter[str] = Counter({"unaccounted for": 0})
        self.counts: dict[str, dict[str, int]] = {host: {} for host in HOSTS}
        self.lock = threading.RLock()
        self.environment: list[str] = []
        self.cgroup: Path | None = None
        self.name = "start"
        self.disk = lab.folder / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(self.disk)], check=True)
        for host in HOSTS:
            # Questions for routers would go on while the hosts are to be silent.
            quiet = [f"net.ipv6.conf.{name}.router_solicitations=0" for name in ("eth0", "default")]
            lab.run(host, "sysctl", "-qw", *quiet)
        self.neighbours()
        self.start()
        if not self.wait_for(lambda _: True, 60):
            raise LabError(f"no answer after the first start: {self.lines()[-5:]}")
        self.watchers = {host: self.watch(host) for host in HOSTS}

    # The device

    def configuration(self) -> str:
        """Return the configuration of the next life: both directions shaped, windows on a small disk."""
        back_end = BACK_ENDS[self.lives % len(BACK_ENDS)]
        toml = self.lab.toml(**back_end, rate="20 Mbit/s", delay="2 ms", window=500)
        upload = '[b_to_a]\nscheme = "cake"\nrate = "10 Mbit/s"\n'
        store = str(self.lab.folder / "windows.sqlite")
        toml = toml.replace("[b_to_a]\n", upload).replace(store, str(self.disk / "windows.sqlite"))
        return toml + "seed = 7\n"

    def start(self) -> None:
        """Begin a life of the program, as a service manager does: again until it stays."""
        path = self.lab.folder / "sojournd.toml"
        path.write_text(self.configuration())
        self.lives += 1
        self.log = self.lab.folder / f"{self.lives}.log"
        command = [*self.environment, str(find_sojournd()), "run", str(path)]
        with _within(self.cgroup), self.log.open("w") as log:
            self.device = self.lab.start("device", *command, stdout=log.fileno())
        self.last: dict[str, Any] | None = None

    def lines(self) -> list[str]:
        """Return the log of this life."""
        return self.log.read_text().splitlines()

    def restart(self, *, environment: list[str] | None = None, politely: bool = False) -> None:
        """End the process, and start it with words before its command."""
        self.look()
        self.environment = environment or []
        self.device.send_signal(signal.SIGTERM if politely else signal.SIGKILL)
        self.device.wait(timeout=60)
        self.revive()

    def revive(self, limit_s: float = 60.0) -> None:
        """Start the process until it answers, after the 0.1 s of the unit."""
        until = time.monotonic() + limit_s
        while True:
            self.ended()
            time.sleep(0.1)
            self.start()
            while self.device.poll() is None:
                if self.look() is not None:
                    self.begin_life()
                    return
                if time.monotonic() > until:
                    raise LabError(f"no answer after a start: {self.lines()[-5:]}")
                time.sleep(0.02)

    # Counting

    def host_counts(self) -> None:
        """Add what the hosts' interfaces counted since the last time. One that was made anew begins at 0."""
        for host in HOSTS:
            try:
                now = self.lab.counters(host)
            except LabError:
                continue
            before = self.counts[host]
            for key in ("tx_packets", "rx_packets"):
                old = before.get(key, 0)
                self.seen[f"{host} {key}"] += now[key] - old if now[key] >= old else now[key]
            self.counts[host] = now

    def look(self) -> dict[str, Any] | None:
        """Look at the process; None if it does not answer. What it tells is kept as its last word."""
        try:
            status = self.lab.status()
        except LabError:
            return None
        try:
            assert_conserved(status)
        except AssertionError as error:
            self.wrong(f"conservation: {str(error)[:2000]}")
        self.last = status
        self.host_counts()
        return status

    def begin_life(self) -> None:
        """What the hosts sent until now without a device is lost with the restart."""
        self.totals["restarts"] += 1
        self.restarted = True

    def ended(self) -> None:
        """Add the counts of a life that is over."""
        if self.last is not None:
            self.add(self.last)
        self.last = None

    def add(self, status: dict[str, Any]) -> None:
        """Add the counts of a life to those of the round."""
        for number, (_, into, _, out) in enumerate(WAYS):
            way, ports = status["directions"][number], [port["counters"] for port in status["ports"]]
            known = Counter({f"{key} {number}": ports[into][key] for key in ("received", *MISSED)})
            known.update({f"{key} {number}": ports[out][key] for key in ("sent", "send_failed", "link_dropped")})
            known.update({f"{key} {number}": way[key] for key in ("stale", "no_room")})
            for reason in ("overflow", "early", "flow"):
                known[f"dropped_{reason} {number}"] += way["counts"][f"dropped_{reason}"]["packets"]
            known[f"runt {number}"] += way["faults"]["runt"]
            self.known.update(known)

    def quiet(self) -> None:
        """Wait until no frame is under way, and look."""
        until = time.monotonic() + 60
        before: object = None
        while time.monotonic() < until:
            status = self.look()
            if status is not None:
                ways = status["directions"]
                inside = sum(way["backlog"]["packets"] + way["delayed"] + way["ready"] for way in ways)
                leaving = sum(port["counters"]["leaving"] for port in status["ports"])
                now = ([port["counters"] for port in status["ports"]], {**self.seen})
                if now == before and inside == leaving == 0:
                    return
                before = now
            time.sleep(0.6)
        self.wrong(f"frames are still under way after 60 s: {self.last}")

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
        self.violations.append(what)
        print(
            f"VIOLATION after {time.monotonic() - self.begun:.0f} s, life {self.lives}, {self.name}: {what}",
            flush=True,
        )

    # Mishaps: each returns for how long nothing can pass because of it

    def far_link(self) -> float:
        """Links flap at the far ends."""
        return self.flap([(host, "eth0") for host in HOSTS])

    def near_link(self) -> float:
        """Ports of the device are set down and up."""
        return self.flap([("device", "port-a"), ("device", "port-b")])

    def flap(self, ends: list[tuple[str, str]]) -> float:
        """Set an interface down and up some times; the device must have seen it."""
        host, interface = self.random.choice(ends)
        lost = sum(port["link"]["lost"] for port in (self.last or {})["ports"])
        times = self.random.randint(1, 4)
        longest = 0.0
        for _ in range(times):
            begun = time.monotonic()
            self.lab.run(host, "ip", "link", "set", interface, "down")
            time.sleep(self.random.uniform(0.1, 1.5))
            self.lab.run(host, "ip", "link", "set", interface, "up")
            self.neighbours()
            longest = max(longest, time.monotonic() - begun)
            time.sleep(0.5)
        time.sleep(1)
        status = self.look()
        if status is None or sum(port["link"]["lost"] for port in status["ports"]) - lost < times:
            self.wrong(
                f"{interface} of {host} was down {times} times: {status and [p['link'] for p in status['ports']]}"
            )
        # The kernel says that a carrier is back up to a second later.
        return times * (longest + 1)

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
        self.counts[host] = {}
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
        group = self.memory_group()
        self.cgroup = group
        try:
            self.restart()
        finally:
            self.cgroup = None
        # The first to be killed, as it would be where it is the largest.
        Path(f"/proc/{self.device.pid}/oom_score_adj").write_text("1000")
        usage, limit = (
            ("memory.current", "memory.max")
            if (group / "memory.current").exists()
            else ("memory.usage_in_bytes", "memory.limit_in_bytes")
        )
        used = int((group / usage).read_text())
        (group / limit).write_text(str(used + (4 << 20)))
        # Somebody else in the group takes what is left and more.
        take = f"import time; taken = b'x' * {8 << 20}; time.sleep(60)"
        with _within(group):
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

    def memory_group(self) -> Path:
        """Return a control group of its own."""
        for root in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")):
            has = (root / "memory.limit_in_bytes").exists() or "memory" in _text(root / "cgroup.subtree_control")
            if not has:
                continue
            group = root / f"sojourn-chaos-{self.device.pid}"
            try:
                group.mkdir()
            except OSError:
                continue
            return group
        raise CannotBeTriedError("no control group for memory can be made here")

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
        before = 0 if self.restarted else len(self.lines())
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

    def wait_for(self, state: Callable[[dict[str, Any]], bool], limit_s: float) -> bool:
        """Wait for a state of the device."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            status = self.look()
            if status is not None and state(status):
                return True
            time.sleep(0.25)
        return False

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

    def flows(self) -> float:
        """More flows arrive than any scheme has queues, drawn at random, as the key of the hash is a secret."""
        scheme = self.random.choice(("fq_codel", "sfb", "sfq", "cake"))
        self.lab.ask("PATCH", "/directions/a_to_b", {"scheme": scheme, "rate": "5 Mbit/s"})
        base = bytearray(udp(self.lab, 200))
        frames = []
        for _ in range(20_000):
            # Ports alone: the checksum of UDP over IPv4 is left out, that of IP does not have them.
            base[34:38] = self.random.randbytes(4)
            frames.append(bytes(base))
        self.lab.flood(frames, count=40_000, rate=8_000)
        self.totals[f"flood of flows: {scheme}"] += 1
        status = self.look()
        if status is not None and scheme not in str(status["directions"][0]["scheme"]):
            self.wrong(f"{scheme} is not in force")
        self.lab.ask("PATCH", "/directions/a_to_b", {"scheme": "fq_codel", "rate": "20 Mbit/s"})
        return 0.0

    def short(self) -> float:
        """Short frames arrive as fast as the host can send them."""
        sent, seconds = self.lab.flood([udp(self.lab, 60, port=port) for port in range(1, 9)], count=300_000)
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
        self.known: Counter[str] = Counter()
        self.restarted = False
        before, first = Counter(self.seen), self.last
        lines = len(self.lines())
        # What this life counted before belongs to the rounds before.
        assert first is not None
        self.add(first)
        earlier, self.known = self.known, Counter()
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
        for sender in senders:
            self.lab.stop(sender, kill=True)
        gap = self.gaps(since)
        self.quiet()
        if self.last is not None:
            self.add(self.last)
        self.known.subtract(earlier)
        self.rounds[self.name] += 1
        self.longest[self.name] = max(self.longest.get(self.name, 0.0), gap - interruption)
        if gap > interruption + self.restart_s:
            self.wrong(f"nothing arrived for {gap:.1f} s; the mishap took {interruption:.1f} s")
        said = len(self.lines()) - (0 if self.restarted else lines)
        if said > LINES:
            self.wrong(f"{said} lines of log: {self.lines()[-5:]}")
        self.account(before)

    def account(self, before: Counter[str]) -> None:
        """What the hosts sent must be somewhere."""
        for number, (sender, _, receiver, _) in enumerate(WAYS):
            known = {key.split()[0]: value for key, value in self.known.items() if key.endswith(f" {number}")}
            into = self.seen[f"{sender} tx_packets"] - before[f"{sender} tx_packets"]
            out = self.seen[f"{receiver} rx_packets"] - before[f"{receiver} rx_packets"]
            reasons = {key: value for key, value in known.items() if key not in ("received", "sent", "link_dropped")}
            # The interface dropped some of those that it took as sent.
            behind = known["sent"] - out
            lost = into - out - sum(reasons.values())
            self.totals["frames in"] += into
            self.totals["frames out"] += out
            for key, value in reasons.items():
                self.totals[f"lost: {key}"] += value
            if self.restarted:
                # All that came between the last look and the first at most: no count of the life that ended has it.
                self.totals["lost: with a restart"] += lost
                if lost < 0:
                    self.wrong(f"{-lost} frames more than were sent: {known}, in {into}, out {out}")
                continue
            dropped = max(0, min(behind, known["link_dropped"]))
            self.totals["lost: link_dropped"] += dropped
            self.totals["unaccounted for"] += abs(lost - dropped)
            if lost != dropped:
                self.wrong(f"{lost - dropped} frames unaccounted for from {sender}: in {into}, out {out}, {known}")

    def mishaps(self) -> dict[str, Callable[[], float]]:
        """Return every mishap by its name."""
        every = [
            self.far_link, self.near_link, self.mtu, self.deletion, self.clock, self.out_of_memory, self.full,
            self.read_only, self.api, self.flows, self.short, self.kill,
        ]  # fmt: skip
        return {mishap.__name__: mishap for mishap in every}

    def run(self, seconds: float, only: list[str]) -> None:
        """Let everything happen once, then at random for a time."""
        mishaps = self.mishaps()
        first = list(only)
        self.random.shuffle(first)
        self.quiet()
        while first or time.monotonic() - self.begun < seconds:
            name = first.pop() if first else self.random.choice(only)
            if name in self.not_tried:
                if not first and set(only) <= set(self.not_tried):
                    return
                continue
            self.round(mishaps[name])
            if self.rounds.total() % 20 == 0:
                self.tell()

    def tell(self) -> None:
        """Say how it stands."""
        lost = self.totals["unaccounted for"]
        print(
            f"{(time.monotonic() - self.begun) / 60:5.1f} min  rounds {self.rounds.total()}, lives {self.lives}, "
            f"frames in {self.totals['frames in']}, unaccounted for {lost}, violations {len(self.violations)}",
            flush=True,
        )

    def end(self) -> None:
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
        for name, total in sorted(self.totals.items()):
            print(f"{name:34}{total:12}")
        print(f"{'violations':34}{len(self.violations):12}")


@contextlib.contextmanager
def _within(group: Path | None) -> Iterator[None]:
    """Be in a control group, for children; None: where this process is."""
    if group is None:
        yield
        return
    own = next((line for line in _text(Path("/proc/self/cgroup")).splitlines() if ":memory:" in line), None)
    own = own or _text(Path("/proc/self/cgroup")).splitlines()[-1]
    procs = group.parent / own.split(":", 2)[2].lstrip("/") / "cgroup.procs"
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        procs.write_text(str(os.getpid()))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@contextlib.contextmanager
def chaos(seed: int, restart_s: float) -> Iterator[Chaos]:
    """Make a laboratory for chaos."""
    with Lab(name="ch") as lab:
        made = Chaos(lab, seed, restart_s)
        try:
            yield made
        finally:
            made.end()


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
    names = [
        "far_link", "near_link", "mtu", "deletion", "clock", "out_of_memory", "full", "read_only", "api", "flows",
        "short", "kill",
    ]  # fmt: skip
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="MISHAP")
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
