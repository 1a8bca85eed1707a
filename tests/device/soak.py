#!/usr/bin/env python3
"""Run ``sojournd`` for hours between network namespaces while everything around it changes.

TCP and UDP pass both ways. At random instants the scheme is switched, the configuration reloaded, rate and delay
changed, a far end's link taken down or given another MTU, and the program killed and started again, each time on the
next back end. The interfaces have several receive queues. This program looks about twice a second and ends with
status 1 if one of these did not hold:

* Conservation: every frame received is sent, dropped by the scheme, counted as failed, or in a known place.
* Flat memory: the resident memory of a process stays within a bound of what it was after its warm-up.
* Lateness is counted: while a queue is never empty, the rate times the time, less ``late_s``, was forwarded.
* The program neither ends by itself nor stops answering, and its store passes SQLite's integrity check.

Needs root and a release build of ``sojournd`` (or ``$SOJOURND``).

    sudo .venv/bin/python tests/device/soak.py --seconds 3600 --seed 1
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from laboratory import Lab, LabError
from lives import HOSTS, PATIENCE_S, Lives
from packets import assert_conserved

from sojourn.base.core import aqms

#: Time after the start of a process when its memory is taken as its own, s.
WARM_UP_S = 15.0
#: More than that is growth.
GROWTH_BYTES = 6 << 20
LOOK_S = 0.5
#: Rate and queue of a measurement of lateness: the queue fills within seconds and lasts longer than it takes.
HELD_BIT_S = 8_000_000
HELD_SCHEME = "pfifo limit 4000p"
HELD_PACKETS = 2_500
#: The packet thread may be behind by its burst at one look and not at the other.
BURST_S = 0.03


class Soak(Lives):
    """One laboratory, its traffic, and what happened to it."""

    def __init__(self, lab: Lab, seed: int) -> None:
        super().__init__(lab, seed)
        self.done: Counter[str] = Counter()
        self.totals: Counter[str] = Counter()
        self.growth_bytes = 0
        self.late_s = 0.0
        self.memory: list[tuple[float, int]] = []
        self.streams: list[tuple[list[str], subprocess.Popen[str] | None, subprocess.Popen[str] | None]] = []
        for host in HOSTS:
            # Neighbour discovery would come and go with the link.
            lab.run(host, "sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=1")
        for load in (
            ["-u", "-b", "15M", "-l", "1000"],
            ["-P", "2"],
            ["-R", "-b", "20M"],
            ["-u", "-b", "2M", "-R"],
        ):
            self.streams.append((load, None, None))
        self.start()

    # The device

    def configuration(self) -> str:
        """Return a configuration that differs from the last in what a reload can change."""
        schemes = "".join(f'{entry["name"]} = "{entry["name"]}"\n' for entry in aqms())
        rate = f"{self.random.randint(5, 50)} Mbit/s"
        delay, back = (f"{self.random.choice((0, 1, 5, 20))} ms" for _ in range(2))
        toml = self.lab.toml(
            **self.back_end, scheme=self.scheme(), rate=rate, delay=delay, return_delay=back, window=5_000
        )
        return toml + f'\n[schedule]\nseed = 1\nevery = "200 ms"\nstart = false\n[schedule.schemes]\n{schemes}'

    def scheme(self) -> str:
        """Return the name of a scheme."""
        return str(self.random.choice(aqms())["name"])

    def start(self) -> None:
        """Begin a life of the program, until it answers."""
        if not self.begin():
            self.wrong(f"no answer {PATIENCE_S:g} s after a start, or it ended: {self.lines()[-5:]}")
        self.born = time.monotonic()
        self.memory.clear()

    def ended(self) -> None:
        """Add the counts of a life that is over."""
        if self.last is None:
            return
        for port in self.last["ports"]:
            for key in ("received", "sent", "missed", "send_failed"):
                self.totals[key] += port["counters"].get(key, 0)
        for way in self.last["directions"]:
            self.totals["dropped"] += sum(
                count["packets"] for name, count in way["counts"].items() if name.startswith("dropped_")
            )
            self.late_s += way["late_s"]
        self.last = None

    # Traffic

    def keep_traffic(self) -> None:
        """Start again what has ended: connections do not outlive every outage."""
        for number, (load, client, server) in enumerate(self.streams):
            if client is not None and client.poll() is None:
                continue
            self.stop([process for process in (client, server) if process is not None])
            listener, port = self.lab.start_iperf_server()
            command = ["iperf3", "-c", self.lab.address("server"), "-p", str(port), "-t", "60", *load]
            sender = self.lab.start("client", *command, "--connect-timeout", "3000", stdout=subprocess.DEVNULL)
            self.streams[number] = (load, sender, listener)

    # What must hold

    def check(self) -> dict[str, Any] | None:
        """Look at the device, which must answer; one that ended is started again."""
        if self.device.poll() is not None:
            said = self.lines()[-5:]
            self.wrong(f"sojournd ended with status {self.device.returncode}: {said}")
            self.ended()
            if self.lives > 100:
                raise SystemExit(f"it does not stay up: {said}")
            self.start()
            return None
        status = self.look()
        if status is None:
            self.wrong("no answer")
            return None
        self.done["looks"] += 1
        for way in status["directions"]:
            counts = {name: count["packets"] for name, count in way["counts"].items()}
            dropped = sum(number for name, number in counts.items() if name.startswith("dropped_"))
            known = counts["forwarded"] + dropped + way["backlog"]["packets"]
            if counts["arrived"] != known:
                self.wrong(f"queue {way['direction']}: arrived {counts['arrived']}, known {known}: {counts}")
        self.weigh()
        return status

    def weigh(self) -> None:
        """Compare the memory of the program with what it was after its warm-up."""
        text = Path(f"/proc/{self.device.pid}/status").read_text()
        resident = int(re.findall(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE)[0]) * 1024
        age_s = time.monotonic() - self.born
        if age_s < WARM_UP_S:
            return
        self.memory.append((age_s, resident))
        growth = resident - self.memory[0][1]
        if growth > GROWTH_BYTES >= self.growth_bytes:
            self.wrong(f"memory grew by {growth / 2**20:.1f} MiB to {resident / 2**20:.1f} MiB in {age_s:.0f} s")
        self.growth_bytes = max(self.growth_bytes, growth)

    def lateness(self) -> None:
        """Measure whether the rate that was not served is counted as lost.

        The queue cannot become empty between two looks if at the first it holds more than the rate serves in between.
        """
        self.lab.ask("PATCH", "/directions/a_to_b", {"scheme": HELD_SCHEME, "rate": f"{HELD_BIT_S} bit/s"})
        until = time.monotonic() + 15
        while True:
            self.wait(LOOK_S)
            status = self.check()
            if status is None or time.monotonic() > until:
                self.done["lateness not measured"] += 1
                return
            if status["directions"][0]["backlog"]["packets"] > HELD_PACKETS:
                break
        first, last = status, status
        for _ in range(4):
            self.wait(LOOK_S)
            status = self.check()
            if status is None:
                return
            span_s = status["uptime_s"] - last["uptime_s"]
            if last["directions"][0]["backlog"]["bytes"] * 8 <= HELD_BIT_S * span_s:
                self.done["lateness not measured"] += 1
                return
            last = status
        one, two = (look["directions"][0] for look in (first, last))
        span_s = last["uptime_s"] - first["uptime_s"]
        lost_s = sum(two[key] - one[key] for key in ("late_s", "blocked_s") if key in two)
        served = (two["counts"]["forwarded"]["bytes"] - one["counts"]["forwarded"]["bytes"]) * 8
        due = HELD_BIT_S * (span_s - lost_s)
        self.done["lateness measured"] += 1
        slack = HELD_BIT_S * BURST_S + 2 * 1514 * 8
        if abs(served - due) > slack:
            self.wrong(
                f"in {span_s:.3f} s with {lost_s:.3f} s counted as late {served} bit were served, due were {due:.0f}"
            )

    # What happens

    def wait(self, seconds: float) -> None:
        """Let it run, with traffic."""
        time.sleep(seconds)
        self.keep_traffic()

    def switch(self) -> None:
        """Switch the scheme."""
        self.lab.ask("PATCH", "/directions/a_to_b", {"scheme": self.scheme()})

    def change_rate(self) -> None:
        """Change the rate."""
        self.lab.ask("PATCH", "/directions/a_to_b", {"rate": f"{self.random.randint(2, 60)} Mbit/s"})

    def change_delay(self) -> None:
        """Change a delay line."""
        way = self.random.choice(("a_to_b", "b_to_a"))
        self.lab.ask("PATCH", f"/directions/{way}", {"delay": f"{self.random.choice((0, 1, 10, 50))} ms"})

    def reload(self) -> None:
        """Write another configuration and reload it."""
        (self.lab.folder / "sojournd.toml").write_text(self.configuration())
        self.lab.ask("POST", "/reload")

    def schedule(self) -> None:
        """Let the schedule switch for a while."""
        self.lab.ask("POST", "/schedule/start")
        for _ in range(4):
            self.wait(LOOK_S)
            self.check()
        self.lab.ask("POST", "/schedule/stop")

    def flap(self) -> None:
        """Take a far end down, and up again."""
        host = self.random.choice(HOSTS)
        self.lab.run(host, "ip", "link", "set", "eth0", "down")
        self.wait(self.random.uniform(0.05, 2.0))
        self.check()
        self.lab.run(host, "ip", "link", "set", "eth0", "up")

    def change_mtu(self) -> None:
        """Give a far end another MTU."""
        size = self.random.choice((576, 1280, 1400, 1500))
        self.lab.run(self.random.choice(HOSTS), "ip", "link", "set", "eth0", "mtu", str(size))

    def kill(self) -> None:
        """End the program in the hard way, or politely, and start it."""
        self.end(kill=self.random.random() < 0.7)
        self.ended()
        with closing(sqlite3.connect(self.lab.folder / "windows.sqlite")) as store:
            [[answer]] = store.execute("PRAGMA integrity_check").fetchall()
        if answer != "ok":
            self.wrong(f"the store after a kill: {answer}")
        self.start()

    def run(self, seconds: float) -> None:
        """Run for a time."""
        common: list[tuple[Callable[[], None], float]] = [
            (self.switch, 10), (self.change_rate, 4), (self.reload, 3), (self.change_delay, 2),
            (self.schedule, 1), (self.flap, 2), (self.change_mtu, 1.5), (self.lateness, 0.7),
        ]  # fmt: skip
        # Few, so that a process lives long enough to show a leak; at least one of each, however short the run is.
        kills = sorted(self.random.uniform(0.1, 0.9) * seconds for _ in range(max(2, round(seconds / 400))))
        first: list[Callable[[], None]] = [act for act, _ in common]
        self.random.shuffle(first)
        minute = 1
        while (age_s := self.age_s) < seconds:
            if kills and age_s > kills[0]:
                kills.pop(0)
                act: Callable[[], None] = self.kill
            elif first:
                act = first.pop()
            else:
                [act] = self.random.choices([act for act, _ in common], [weight for _, weight in common])
            self.done[act.__name__] += 1
            try:
                act()
            except LabError as error:
                self.wrong(f"{act.__name__}: {str(error)[:1000]}")
            for _ in range(self.random.randint(1, 4)):
                self.wait(LOOK_S)
                self.check()
            if age_s > 60 * minute:
                self.tell(minute)
                minute = int(age_s // 60) + 1
        for host in HOSTS:
            self.lab.run(host, "ip", "link", "set", "eth0", "mtu", "1500")
        self.stop([process for _, *ends in self.streams for process in ends if process is not None])
        try:
            assert_conserved(self.lab.settled(limit_s=60))
        except (AssertionError, LabError) as error:
            self.wrong(f"at the end: {error}")
        self.check()
        self.lab.stop(self.device)
        self.ended()

    def tell(self, minute: int) -> None:
        """Say how it stands."""
        resident = f"{self.memory[-1][1] / 2**20:.1f} MiB" if self.memory else "warming up"
        print(
            f"{minute:4d} min  looks {self.done['looks']}, lives {self.lives}, switches {self.done['switch']}, "
            f"flaps {self.done['flap']}, memory {resident} (most growth {self.growth_bytes / 2**20:.1f} MiB), "
            f"violations {len(self.violations)}",
            flush=True,
        )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long (default 3600)")
    parser.add_argument("--seed", type=int, help="of all that is random; drawn and printed by default")
    parser.add_argument("--queues", type=int, default=4, help="receive queues of port A; B has half of them")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"soak: {options.seconds:g} s, --seed {seed}", flush=True)
    with Lab(name="soak", queues=(options.queues, max(1, options.queues // 2))) as lab:
        soak = Soak(lab, seed)
        soak.run(options.seconds)
    print(f"\n{'looks':24}{soak.done.pop('looks')}\n{'lives of the program':24}{soak.lives}")
    for name, count in [*sorted(soak.done.items()), *sorted(soak.totals.items())]:
        print(f"{name.replace('_', ' '):24}{count}")
    print(f"{'late, s':24}{soak.late_s:.3f}\n{'most growth, MiB':24}{soak.growth_bytes / 2**20:.2f}")
    print(f"{'violations':24}{len(soak.violations)}  (--seed {seed})")
    return 1 if soak.violations else 0


if __name__ == "__main__":
    sys.exit(main())
