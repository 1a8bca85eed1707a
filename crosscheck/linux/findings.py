#!/usr/bin/env python3
"""Records findings of the atlas on Linux: the schemes of `crosscheck.findings`, in the atlas's networks.

    findings.py [--folder FOLDER] [--results FILE] [--runs N] [--only FINDING] [--table FILE]

A run boots the machine of run.py once. Runs that are in FILE already are left out. `--table` writes the results as
CSV and records nothing.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from measured import lateness, reports
from rows import Key, Row, keep, main
from run import boot

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from crosscheck.findings import FINDINGS, SCHEMES, TRANSFER_BYTES, TRANSFER_EVERY_S, Finding

RUNS = 2
NAMES = ("finding", "scheme", "run")
"""The columns that tell runs apart."""
RATE_MBIT_S, RTT_MS = 20, 100
# iperf3 opens a group's streams together; so many groups start at different times, as our flows do.
GROUPS = 4


def settings(finding: Finding, scheme: str, run: int) -> dict[str, Any]:
    """What the machine is told. Runs differ in when the flows start: within a second, as on our side."""
    draw = random.Random(f"atlas {finding.name} {scheme} {run}")  # noqa: S311
    groups = []
    for control, number, words in finding.groups:
        parts = min(GROUPS, number)
        for k in range(parts):
            flows = number // parts + (k < number % parts)
            # UDP first, so that TCP's slow start does not lose iperf3's first datagram.
            start_s = draw.uniform(0, 0.1) if control == "udp" else 1 + draw.uniform(0, 1)
            groups.append(f"{control} {flows} {RTT_MS} {start_s:.4f} {words}".rstrip())
    return {
        "FLOW_GROUPS": "\n".join(groups),
        "BASE_RTT_MS": RTT_MS,
        "RATE": f"{RATE_MBIT_S}mbit",
        "QDISC": SCHEMES[scheme][0],
        # Our link counts IP packets.
        "STAB": "overhead -14 linklayer ethernet",
        "SECONDS_ALL": finding.warm_up_s + finding.measured_s,
        "SECONDS_WARM_UP": finding.warm_up_s,
        "INTERVAL": 0.5,
        "SOCKETS": 0,
        # Connections learn nothing from those before.
        "SYSCTLS": "net.ipv4.tcp_no_metrics_save=1",
        "TRANSFER_BYTES": TRANSFER_BYTES if finding.name == "transfer" else 0,
        "TRANSFER_EVERY": TRANSFER_EVERY_S,
    }


def value(finding: Finding, files: dict[str, bytes]) -> float:
    """What a run's files say, over the measured time."""
    if finding.name == "transfer":
        times = {
            (what, port): float(at)
            for what, port, at in re.findall(r"(begin|end) (\d+) ([0-9.]+)", files["transfers"].decode())
        }
        return statistics.fmean(at - times["begin", port] for (what, port), at in times.items() if what == "end")
    late = lateness(files)
    tcp = [k for k, one in enumerate(reports(files, "client")) if one["start"]["test_start"]["protocol"] == "TCP"]
    side = "client" if finding.name == "fq_pie" else "server"
    rows = [
        row
        for k, report in enumerate(reports(files, side))
        if k in tcp
        for row in report["intervals"]
        if row["sum"]["start"] > finding.warm_up_s - late[k] - 0.3
        and row["sum"]["end"] < finding.warm_up_s + finding.measured_s - late[k] - 0.3
    ]
    if finding.name == "fq_pie":
        rtts = [stream["rtt"] / 1e3 for row in rows for stream in row["streams"]]
        return statistics.fmean(rtts) - RTT_MS
    last, first = max(row["sum"]["end"] for row in rows), min(row["sum"]["start"] for row in rows)
    return sum(row["sum"]["bytes"] for row in rows) * 8e-6 / (last - first)


def run(given: argparse.Namespace, key: Key) -> tuple[list[Row], str]:
    """One run of the machine."""
    name, scheme, number = key
    (finding,) = [one for one in FINDINGS if one.name == name]
    files = boot(given.folder, settings(finding, scheme, number), memory_mib=1024)
    keep(given.keep, key, files)
    found = {"value": round(value(finding, files), 4), "qdisc": SCHEMES[scheme][0]}
    return [dict(zip(NAMES, key, strict=True)) | found], " ".join(map(str, (*key, found["value"])))


if __name__ == "__main__":
    every = [(finding.name, scheme) for finding in FINDINGS for scheme in finding.schemes]
    sys.exit(main(__doc__, NAMES, RUNS, lambda _: every, run, [one.name for one in FINDINGS]))
