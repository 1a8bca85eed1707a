#!/usr/bin/env python3
"""Records what the commands of `sojourn advise` do: a household behind a line with queues of its own, on Linux.

    advice.py [--folder FOLDER] [--results FILE] [--runs N] [--only HOUSEHOLD] [--setting SETTING] [--line LINE]
              [--scripts CLONE] [--table FILE]

A run boots the machine of run.py once. The households are those of `crosscheck.advised`, so this takes the
project's own Python. On OpenWrt, sqm-scripts run as sqm.py has them. Runs that are in FILE already are left out.
`--table` writes the results as CSV and records nothing.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from measured import lateness, reports
from rows import Key, Row, keep, main
from run import LEAST_IDLE_SHARE, boot
from sqm import scripts

from sojourn.studies.advise import answer
from sojourn.studies.advise.line import SITES

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from crosscheck.advised import HOUSEHOLDS, LINES, RECOMMENDED, TODAY, Household

RUNS = 3
NAMES = ("household", "setting", "line", "run")
"""The columns that tell runs apart."""
PING_S, PING_BYTES = 0.05, 64
# How many times as fast the machine is, up to a rate of the line in Mbit/s. At 1 ns an instruction it computes some
# 20,000 packets/s.
FASTER = {100: 1, 400: 4, 1600: 8}
# PPPoE's header leaves so much of Ethernet's 1500 B.
MTU_BYTES = {"pppoe-ptm": 1492, "pppoe-llcsnap": 1492}


def settings(household: Household, setting: str, run: int, line_is: str = LINES[0]) -> dict[str, Any]:
    """What the machine is told. Runs differ in when the flows start: within the first second, as on our side."""
    line, shaper = household.line, household.settings()[setting]
    options, share = answer.stab(line)
    site = SITES[line.site]
    draw = random.Random(f"advice {household.name} {setting} {run}")  # noqa: S311
    flows = [
        f"{direction} {1 + server} {draw.uniform(0, 1):.4f}"
        for direction, number in (("down", site.downloads), ("up", site.uploads))
        for server in (0, 1)
        for _ in range(number // 2)
    ]
    warm_up, measured = line.seconds
    return {
        "LINE_IS": line_is,
        "LINE": "\n".join(
            f"{round(rate * share * 1e6)}bit {line.buffer_packets(rate)} {options}"
            for rate in (line.down_mbit_s, line.up_mbit_s)
        ),
        "MTU": MTU_BYTES.get(line.framing, 1500),
        "RTT_MS": " ".join(f"{rtt:g}" for rtt in line.rtt_ms),
        "FLOWS": "\n".join(flows),
        "COMMANDS": "\n".join(answer.commands(line, household.platform, shaper) if shaper else []),
        "SECONDS_ALL": round(warm_up + measured),
        "SECONDS_WARM_UP": round(warm_up),
        "PING_INTERVAL": PING_S,
        "PING_BYTES": PING_BYTES,
    }


def row(household: Household, files: dict[str, bytes]) -> dict[str, Any]:
    """What a run's files say, over the measured time."""
    line = household.line
    warm_up, measured = line.seconds
    start = float(files["start"])
    base_ms, downloads = line.rtt_ms[0], SITES[line.site].downloads
    delays = [
        float(reply) - base_ms
        for at, reply in re.findall(rb"\[([0-9.]+)\].*time=([0-9.]+) ms", files["ping"])
        if warm_up <= float(at) - start < warm_up + measured
    ]
    goodputs = []
    for report, late_s in zip(reports(files, "server"), lateness(files), strict=True):
        # iperf3's clock begins with its stream, which is some tenths of a second after the first one's.
        rows = [
            one["sum"]
            for one in report["intervals"]
            if one["sum"]["start"] > warm_up - late_s - 0.5 and one["sum"]["end"] < warm_up + measured - late_s + 0.05
        ]
        goodputs.append(sum(one["bytes"] for one in rows) * 8e-6 / (rows[-1]["end"] - rows[0]["start"]))
    idle = [
        [int(word) for word in re.search(rb"^cpu  (.*)$", files[name], re.MULTILINE)[1].split()]  # type: ignore[index]
        for name in ("counters.1", "counters.2")
    ]
    passed = [after - before for before, after in zip(*idle, strict=True)]
    return {
        "latency_p99_ms": round(float(np.quantile(delays, 0.99)), 3),
        "latency_mean_ms": round(statistics.fmean(delays), 3),
        "down_mbit_s": round(sum(goodputs[:downloads]), 4),
        "up_mbit_s": round(sum(goodputs[downloads:]), 4),
        "pings": len(delays),
        "idle_share": round(passed[3] / sum(passed), 3),
    }


def keys(given: argparse.Namespace) -> Iterable[Key]:
    """The households and settings that are asked for."""
    for household in HOUSEHOLDS:
        for setting in household.settings():
            if given.setting in {None, setting}:
                yield household.name, setting, given.line


def run(given: argparse.Namespace, key: Key) -> tuple[list[Row], str]:
    """One run of the machine."""
    name, setting, line, number = key
    (household,) = [one for one in HOUSEHOLDS if one.name == name]
    with tempfile.TemporaryDirectory() as scratch:
        files = boot(
            given.folder,
            settings(household, setting, number, line),
            "line.sh",
            shift=0,
            memory_mib=1024,
            faster=next(times for most, times in FASTER.items() if household.line.down_mbit_s <= most),
            modules=scripts(given.scripts, Path(scratch)) if household.platform == "openwrt" else (),
        )
    keep(given.keep, key, files)
    said, found = " ".join(map(str, key)), row(household, files)
    if found["idle_share"] < LEAST_IDLE_SHARE:
        raise SystemExit(f"{said}: the machine had no time left ({found}): see FASTER")
    return [dict(zip(NAMES, key, strict=True)) | found], said


OPTIONS: dict[str, dict[str, Any]] = {
    "--setting": {"metavar": "SETTING", "help": f"one setting of the gateway: {TODAY}, {RECOMMENDED}"},
    "--line": {
        "choices": LINES,
        "default": LINES[0],
        "help": "what the line is in the machine (default %(default)s)",
    },
    "--scripts": {"type": Path, "metavar": "CLONE", "help": "of the repository of sqm-scripts"},
}


if __name__ == "__main__":
    sys.exit(main(__doc__, NAMES, RUNS, keys, run, [one.name for one in HOUSEHOLDS], OPTIONS))
