#!/usr/bin/env python3
"""Attack a build of Sojourn from outside, and print what became of each attack.

The attacks are those of the first security review, and use nothing but commands, files, frames and HTTP, so they run
against any version: this one, or with ``--sojournd`` and ``--python`` an older one. Exit status 1 if one succeeded.

    sudo .venv/bin/python tests/device/attacks.py
    sudo .venv/bin/python tests/device/attacks.py --only documents starts

Needs root, and what :class:`sojourn.real.device.lab.Lab` needs.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.client
import os
import pwd
import re
import resource
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from packets import udp

from sojourn.real.device.lab import Lab, find_sojournd

#: What became of an attack: whether it was held off, and how.
Outcome = tuple[bool, str]
FRAMES = 400
#: Beyond what any command needs here that does what it should.
PATIENCE_S = 20.0
MEMORY_BYTES = 6 << 30


class Target:
    """The programs under attack."""

    def __init__(self, sojournd: Path, python: Path, trials: int) -> None:
        self.sojournd = sojournd
        self.python = python
        self.trials = trials

    def sojourn(self, *arguments: str) -> tuple[int | None, str]:
        """Run ``sojourn`` in a limit of time and memory: its status, None if it did not end, and its last message."""
        command = [str(self.python), "-m", "sojourn", *arguments]
        limit = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=PATIENCE_S, preexec_fn=limit
            )
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]


class Device:
    """A device that forwards a capture and then waits, in a folder of its own."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target = target
        self.folder = folder
        for name in ("data", "run"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        # libpcap's format, nanoseconds, Ethernet: a frame every half millisecond.
        frames = b"".join(struct.pack("<4I", 0, 500_000 * n, 1000, 1000) + bytes(1000) for n in range(FRAMES))
        (folder / "in.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) + frames)
        self.process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])

    def start(self, *, log: str = "log") -> None:
        """Start it; its log goes to a file."""
        (self.folder / "d.toml").write_text(
            '[ports.a]\nback_end = "pcap"\nread = "in.pcap"\n[ports.b]\nback_end = "pcap"\nwrite = "out.pcap"\n'
            '[a_to_b]\nscheme = "pfifo limit 1000p"\nrate = "100 Mbit/s"\n[windows]\nstore = "data/w.sqlite"\n'
            f'[control]\nlisten = "127.0.0.1:{self.port}"\nsocket = "run/c.sock"\ntoken_file = "data/token"\n'
            '[run]\nuser = "root"\n'
        )
        with (self.folder / log).open("wb") as file:
            command = [str(self.target.sojournd), "run", "d.toml"]
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=file)

    def lives(self) -> bool:
        """Whether the process is there."""
        return self.process is not None and self.process.poll() is None

    def forwards(self) -> bool:
        """Whether frames come out within some seconds."""
        until = time.monotonic() + PATIENCE_S
        out = self.folder / "out.pcap"
        while time.monotonic() < until and self.lives():
            if out.exists() and out.stat().st_size > 50 * 1000:
                return True
            time.sleep(0.02)
        return False

    def status(self) -> int:
        """Run ``sojournd status``; its exit status."""
        command = [str(self.target.sojournd), "status", "--config", "d.toml"]
        return subprocess.run(command, cwd=self.folder, capture_output=True, check=False, timeout=60).returncode

    def answers(self) -> bool:
        """Whether it answers on its Unix socket within some seconds."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.lives():
            if self.status() == 0:
                return True
            time.sleep(0.05)
        return False

    def ask(self, method: str, path: str, body: bytes) -> int:
        """Send a request over TCP with the token; the status of the answer, 0 if there was none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        token = (self.folder / "data/token").read_text().strip()
        try:
            connection.request(
                method, path, body, {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            )
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def end(self) -> None:
        """Kill it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Make an empty folder for an attack."""
    with tempfile.TemporaryDirectory(prefix="sojourn-attack-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextlib.contextmanager
def device(target: Target) -> Iterator[Device]:
    """Make a device, to be started."""
    with folder() as at:
        made = Device(target, at)
        try:
            yield made
        finally:
            made.end()


def nested_body(target: Target) -> Outcome:
    """PATCH with arrays nested 16,000 deep"""
    with device(target) as victim:
        victim.start()
        if not victim.answers():
            return False, "the device does not answer before the attack"
        answer = victim.ask("PATCH", "/directions/a_to_b", b'{"scheme":' + b"[" * 16_000 + b"]" * 16_000 + b"}")
        time.sleep(0.2)
        if not victim.lives():
            return False, f"the data plane ended, status {victim.process.wait() if victim.process else None}"
        return 400 <= answer < 500, f"answer {answer}, the device lives"


def nested_document(target: Target) -> Outcome:
    """A scenario with arrays nested 40,000 deep"""
    with folder() as at:
        (at / "deep.json").write_text('{"name":' + "[" * 40_000 + "]" * 40_000 + "}")
        (at / "deep.toml").write_text("name = " + "[" * 40_000 + "]" * 40_000 + "\n")
        found = [target.sojourn("run", str(at / name)) for name in ("deep.json", "deep.toml")]
    return all(status == 2 for status, _ in found), "; ".join(f"status {status}" for status, _ in found)


def links(target: Target) -> Outcome:
    """Store and token of a user replaced by links to a file of root's"""
    user = pwd.getpwnam("games")
    taken = []
    for name, contents in (("windows.sqlite", ""), ("token", "of-root-s-alone-and-longer-than-32-characters")):
        with folder() as at:
            users, secret = at / "users", at / "secret"
            users.mkdir()
            secret.write_text(contents)
            secret.chmod(0o600)
            (users / name).symlink_to(secret)
            shutil.chown(users, user.pw_uid, user.pw_gid)
            (at / "d.toml").write_text(
                '[ports]\na = { back_end = "loopback" }\nb = { back_end = "loopback" }\n'
                f'[windows]\nstore = "{users}/windows.sqlite"\n[control]\nlisten = "127.0.0.1:0"\n'
                f'socket = "{users}/c.sock"\ntoken_file = "{users}/token"\n[run]\nuser = "games"\n'
            )
            process = subprocess.Popen([str(target.sojournd), "run", str(at / "d.toml")], stderr=subprocess.DEVNULL)
            time.sleep(2)
            process.kill()
            process.wait()
            now = secret.stat()
            mode = now.st_mode & 0o777
            if (now.st_uid, mode, secret.read_bytes()) != (0, 0o600, contents.encode()):
                taken.append(f"{name}: root's file has owner {now.st_uid}, mode {mode:o}, {now.st_size} B")
    return not taken, "; ".join(taken) or "root's files are untouched"


def _foreign(at: Path) -> None:
    with contextlib.closing(sqlite3.connect(at / "data/w.sqlite")) as store:
        store.execute("CREATE TABLE t (x)")


def _token(text: str, mode: int) -> Callable[[Path], None]:
    def spoil(at: Path) -> None:
        (at / "data/token").write_text(text)
        (at / "data/token").chmod(mode)

    return spoil


STARTS: dict[str, Callable[[Path], object]] = {
    "a whole folder": Path.exists,
    "a damaged store": lambda at: (at / "data/w.sqlite").write_bytes(b"no database" * 500),
    "another program's store": _foreign,
    "a folder as the store": lambda at: (at / "data/w.sqlite").mkdir(),
    "no folder for store and token": lambda at: ((at / "data").rmdir(), (at / "data").write_text("")),
    "a token open to others": _token("0" * 64, 0o644),
    "a token that is none": _token("short", 0o600),
    "a folder as the token": lambda at: (at / "data/token").mkdir(),
    "no folder for the socket": lambda at: (at / "run").rmdir(),
}


def starts(target: Target) -> Outcome:
    """Starts with a spoilt store, token or socket, a taken port and a full disk"""
    down = []
    for name, spoil in STARTS.items():
        with device(target) as victim:
            spoil(victim.folder)
            victim.start()
            if not victim.forwards():
                down.append(name)
    with device(target) as victim, socket.create_server(("127.0.0.1", victim.port)):
        victim.start()
        if not victim.forwards():
            down.append("the port taken")
    with device(target) as victim:
        (victim.folder / "full").symlink_to("/dev/full")
        # Too small for a database.
        tmpfs = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(victim.folder / "data")]
        subprocess.run(tmpfs, check=True)
        try:
            victim.start(log="full")
            if not victim.forwards():
                down.append("log and store on a full disk")
        finally:
            victim.end()
            subprocess.run(["umount", str(victim.folder / "data")], check=True)
    count = len(STARTS) + 2
    return not down, f"the wire is up in {count - len(down)} of {count}" + (
        f"; down: {', '.join(down)}" if down else ""
    )


def stores(target: Target) -> Outcome:
    """Damaged stores of plans: a flipped bit, a truncation, a missing file, two swapped"""
    script = Path(__file__).resolve().parents[1] / "python" / "damage.py"
    command = [str(target.python), str(script), "--trials", str(target.trials)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0, (done.stdout.strip() or done.stderr.strip()).splitlines()[-1]


def slow_way_out(target: Target) -> Outcome:
    """24 Mbit/s for 4 s into an interface of 10 Mbit/s, the queue 50 packets"""
    with Lab(name="attack") as lab:
        lab.run(
            "device", "ip", "link", "add", "link", "port-b", "name", "slow-b", "type", "macvlan", "mode", "passthru"
        )
        lab.run("device", "ip", "link", "set", "slow-b", "up")
        tbf = ["tbf", "rate", "10mbit", "burst", "5kb", "limit", "10mb"]
        lab.run("device", "tc", "qdisc", "add", "dev", "port-b", "root", *tbf)
        toml = lab.toml(back_end="af_packet", scheme="pfifo limit 50p", rate="100 Mbit/s")
        lab.start_device(toml.replace('"port-b"', '"slow-b"'), program=target.sojournd)
        frames = [udp(lab, 1000, port=port) for port in range(1, 9)]
        flood = threading.Thread(target=lab.flood, args=(frames,), kwargs={"count": 12_000, "rate": 3000})
        flood.start()
        # The queue is full by then: 40 ms. The scheme drops 14 of 24 packets, pings among them.
        time.sleep(1.5)
        delays = lab.ping(count=20, interval_s=0.09)
        flood.join()
        dropped = lab.status()["directions"][0]["counts"]["dropped_overflow"]["packets"]
    longest = max(delays, default=0)
    said = f"{len(delays)} of 20 pings answered, in at most {longest:.0f} ms; the scheme dropped {dropped} packets"
    return dropped > 3000 and longest < 300, said


def half_open(target: Target) -> Outcome:
    """250 connections to the control port that send nothing, or half a request"""
    with device(target) as victim:
        victim.start()
        if not victim.answers():
            return False, "the device does not answer before the attack"
        silent = [socket.create_connection(("127.0.0.1", victim.port)) for _ in range(250)]
        for one in silent[::2]:
            one.sendall(b"GET /status HTTP/1.1\r\n")
        begun = time.monotonic()
        status = victim.status()
        took = time.monotonic() - begun
        for one in silent:
            one.close()
    return status == 0 and took < 1, f"`sojournd status` took {took:.2f} s, status {status}"


def absurd(target: Target) -> Outcome:
    """Rates of 1e308 packets/s and 1e18 bit/s, a series every nanosecond, memory for 4e9 frames"""
    with folder() as at:
        cases = {
            "rate 1e18": ("run", "dumbbell", "--set", "links.bottleneck.rate=1e18 bit/s"),
            "packets_per_second 1e308": ("run", "mm1", "--set", "flows.poisson.traffic.packets_per_second=1e308"),
            "series 1ns": ("run", "dumbbell", "--series", "1ns", "--out", str(at / "out")),
        }
        found = {name: target.sojourn(*words) for name, words in cases.items()}
        config = at / "d.toml"
        config.write_text(
            '[ports]\na = { back_end = "loopback" }\nb = { back_end = "loopback" }\n[frames]\ncount = 4000000000\n'
        )
        done = subprocess.run(
            [str(target.sojournd), "check", str(config)], capture_output=True, text=True, check=False
        )
        found["4e9 frames"] = done.returncode, done.stderr.strip()
    said = "; ".join(
        f"{name}: {'no end' if status is None else f'status {status}'}" for name, (status, _) in found.items()
    )
    return all(status == 2 and "allowed: " in line for status, line in found.values()), said


def full_bus(target: Target) -> Outcome:
    """A bus that is busy as its run ends: utilisation at most 1"""
    # Each frame holds the channel for 300 ms, so one is on it as the run ends.
    sets = ("duration=1 s", "warm_up=0.5 s", "buses.lan.delay=300 ms")
    words = ["run", "lan", "--json", *(f"--set={one}" for one in sets)]
    done = subprocess.run([str(target.python), "-m", "sojourn", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return False, done.stderr.strip()
    most = max(map(float, re.findall(r'"utilisation": ([0-9.e+-]+)', done.stdout)))
    return most <= 1, f"utilisation {most:g}"


def idle(target: Target) -> Outcome:
    """Commands to a device without traffic"""
    with Lab(name="attack") as lab:
        lab.start_device(lab.toml(scheme="pfifo limit 900p"), program=target.sojournd)
        time.sleep(0.5)
        times = []
        for n in range(20):
            begun = time.monotonic()
            lab.ask("PATCH", "/directions/a_to_b", {"scheme": f"pfifo limit {800 + n}p"})
            times.append(time.monotonic() - begun)
    median = sorted(times)[10]
    return median < 0.05, f"median of 20: {median * 1e3:.0f} ms"


ATTACKS: dict[str, tuple[Callable[[Target], Outcome], ...]] = {
    "documents": (nested_body, nested_document),
    "links": (links,),
    "starts": (starts,),
    "stores": (stores,),
    "back-pressure": (slow_way_out,),
    "connections": (half_open,),
    "bounds": (absurd, full_bus),
    "idle": (idle,),
}


def main() -> int:
    """Run the attacks, and print a line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS), metavar="NAME")
    parser.add_argument("--sojournd", type=Path, help="the program to attack; default: the release build")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="a Python that has the package")
    parser.add_argument("--trials", type=int, default=40, help="damaged stores")
    options = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("needs root")
    target = Target((options.sojournd or find_sojournd()).resolve(), options.python.absolute(), options.trials)
    taken = 0
    for name in options.only:
        for attack in ATTACKS[name]:
            held, said = attack(target)
            taken += not held
            print(f"{'held' if held else 'TAKEN':6} {attack.__doc__}: {said}", flush=True)
    print(f"{taken} of the attacks succeeded" if taken else "no attack succeeded")
    return 1 if taken else 0


if __name__ == "__main__":
    sys.exit(main())
