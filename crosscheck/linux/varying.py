#!/usr/bin/env python3
"""Records what Linux does when the rate of htb changes: 10 and 100 Mbit/s by turns (RFC 7928, section 8.2.6).

    varying.py [--folder FOLDER] [--results FILE] [--runs N] [--only SCHEME] [--table FILE]

A run boots the machine of run.py once: 10 CUBIC flows, base RTT 50 ms, 20 s at 10 Mbit/s that do not count, then
CHANGES changes of the rate, one every 20 s. Runs that are in FILE already are left out. A row of the results is a
phase: the mean queueing delay in each 100 ms since the change. `--table` writes the results as CSV and records
nothing.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import resource
import sys
import time
from typing import Any

from rows import Key, Row, keep, main
from run import boot

FLOWS, RTT_MS = 10, 50
RATES = (10, 100)
TURN_S, CHANGES = 20, 10
BIN_S = 0.1
# The ping's packets are 0.8 % of 10 Mbit/s.
PING_S = 0.02
# A bandwidth-delay product at 100 Mbit/s in tail drop; the others' limits are Linux's defaults, except that of fewer
# packets than the product.
SCHEMES = {
    "pfifo": "pfifo limit 417",
    "codel": "codel limit 1000 noecn",
    "pie": "pie limit 1000",
    # htb shapes, so CAKE has no rate of its own.
    "cake": "cake besteffort",
}
# It puts the ping into a queue of its own, so the delay is that of the flows' smoothed RTT.
PER_FLOW = ("cake",)
CONTROL_BYTES = 5_000


def settings(scheme: str, run: int) -> dict[str, Any]:
    """What the machine is told. Runs differ in when the flows start."""
    start_s = random.Random(f"varying {scheme} {run}").uniform(0, PING_S)  # noqa: S311
    rates = [RATES[(k + 1) % 2] for k in range(CHANGES)]
    return {
        "FLOW_GROUPS": f"cubic {FLOWS} {RTT_MS} {start_s:.4f}",
        "BASE_RTT_MS": RTT_MS,
        "RATE": f"{RATES[0]}mbit",
        "QDISC": SCHEMES[scheme],
        "SECONDS_ALL": TURN_S * (CHANGES + 1) + 2,
        "SECONDS_WARM_UP": TURN_S,
        "INTERVAL": 1,
        "PING_INTERVAL": PING_S,
        "SOCKETS": BIN_S if scheme in PER_FLOW else 0,
        "SYSCTLS": "",
        "CHANGE_AT": TURN_S,
        "CHANGE_EVERY": TURN_S,
        "CHANGED_RATE": " ".join(f"{rate}mbit" for rate in rates),
        "RUN": run,
    }


def delays(scheme: str, files: dict[str, bytes]) -> list[tuple[float, float]]:
    """Times and queueing delays in ms: of every echo, when it left the queue, or of TCP's smoothed RTT."""
    if scheme in PER_FLOW:
        found: dict[float, list[float]] = {}
        at = 0.0
        for line in files["sockets"].decode().splitlines():
            if line.startswith("at "):
                at = float(line[3:])
                continue
            rtt, acked = re.search(r" rtt:([0-9.]+)/", line), re.search(r" bytes_acked:(\d+)", line)
            # The control connection has acknowledged some hundred bytes.
            if rtt and acked and int(acked[1]) > CONTROL_BYTES:
                found.setdefault(at, []).append(float(rtt[1]))
        return [(at, sum(rtts) / len(rtts) - RTT_MS) for at, rtts in found.items()]
    pings = re.findall(rb"\[([0-9.]+)\].*time=([0-9.]+) ms", files["ping"])
    # The way back takes the base RTT.
    return [(float(at) - RTT_MS / 1e3, float(ms) - RTT_MS) for at, ms in pings]


def phases(scheme: str, files: dict[str, bytes]) -> list[dict[str, Any]]:
    """The phases after the changes: their rates and the mean delay in each 100 ms; a dash where nothing was seen."""
    changes = [line.split() for line in files["changes"].decode().splitlines()]
    samples = delays(scheme, files)
    rows = []
    for number, (at, rate) in enumerate(changes, 1):
        bins: list[list[float]] = [[] for _ in range(round(TURN_S / BIN_S))]
        for t_s, delay in samples:
            place = math.floor((t_s - float(at)) / BIN_S)
            if 0 <= place < len(bins):
                bins[place].append(delay)
        texts = [f"{sum(one) / len(one):.1f}" if one else "-" for one in bins]
        rows.append({"phase": number, "rate_mbit_s": rate.removesuffix("mbit"), "delay_ms": " ".join(texts)})
    return rows


def run(given: argparse.Namespace, key: Key) -> tuple[list[Row], str]:
    """One run of the machine."""
    scheme, number = key
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    files = boot(given.folder, settings(scheme, number), shift=0, memory_mib=1024)
    keep(given.keep, key, files)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = f"{scheme}, run {number}: {cpu_s:.0f} s of processor time, {time.monotonic() - began:.0f} s"
    own = {"scheme": scheme, "qdisc": SCHEMES[scheme], "run": number}
    return [own | row for row in phases(scheme, files)], said


if __name__ == "__main__":
    sys.exit(main(__doc__, ("scheme", "run"), 2, lambda _: [(scheme,) for scheme in SCHEMES], run, list(SCHEMES)))
