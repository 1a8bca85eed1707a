#!/usr/bin/env python3
"""What each algorithm costs: CPU time of an enqueue and a dequeue, hot, below and above capacity.

Builds `benches/cost` in release mode and runs it on the `example` of every algorithm in docs/algorithms.toml; `pfifo`
is measured in the same run, by turns with the others, and subtracted. Where Debian's libdpdk-dev and a C compiler
are installed, DPDK's rte_red and rte_pie are measured on the same packets with `benches/dpdk/cost.c`, above that
program's own tail drop. Needs nothing beyond Python and cargo.

    python3 benches/cost.py [--repetitions 7] [--rounds 40] [--json benches/cost.json] [NAME...]

A time is the median over repetitions, with their least and greatest value: how far a number would differ if it was
measured again. A repetition is a process of its own for our schemes and one for DPDK's, by turns, so that addresses
and the machine's state differ between repetitions.

The time depends on the machine and is information only. Limits are in instructions: `benches/guard.py` checks them.
"""
# It runs cargo, cc, pkg-config and its own programs by name, with arguments of its own.
# ruff: noqa: S603, S607

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, TypeAlias

from built import ROOT, build, show

Rows: TypeAlias = list[dict[str, Any]]

LOADS = (0.7, 1.2)

# Instructions a packet above pfifo: single queues, those that look at flows, fair queueing, one of its own kind,
# and a formula that is evaluated at each arrival.
# These were 10, 30, 40 and 100 ns. They were converted once, with the ratio measured over the algorithms: about 10
# instructions a nanosecond (RED: 140 instructions and 13 ns, FQ-PIE: 477 and 55, on an older processor). Instructions
# do not depend on the machine; `benches/guard.py` checks them. Nanoseconds are information.
SINGLE = 100
LIMITS = {
    **dict.fromkeys(("fred", "choke", "black", "sred", "care", "sfb", "dualpi2"), 300),
    **dict.fromkeys(("drr", "sfq"), 400),
    "cake": 1000,
    "dropping_function formula": 500,
}
FAIR = 400


def limit(name: str) -> int:
    """How many instructions `name` may take above pfifo."""
    return LIMITS.get(name, FAIR if name.startswith("fq_") else SINGLE)


def output(*command: str) -> str:
    """What `command` prints."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def build_dpdk(folder: Path) -> Path | None:
    """The C program, or None where DPDK is absent."""
    if not (shutil.which("cc") and shutil.which("pkg-config")):
        return None
    if subprocess.run(["pkg-config", "--exists", "libdpdk"], check=False).returncode != 0:
        return None
    program = folder / "dpdk"
    # rte_pie is marked experimental. The two libraries alone, of the hundred that pkg-config would link.
    flags = [*output("pkg-config", "--cflags", "libdpdk").split(), "-DALLOW_EXPERIMENTAL_API"]
    libraries = [*output("pkg-config", "--libs-only-L", "libdpdk").split(), "-lrte_sched", "-lrte_eal"]
    source = ROOT / "benches" / "dpdk" / "cost.c"
    subprocess.run(["cc", "-O3", str(source), "-o", str(program), *flags, *libraries], check=True)
    return program


def measure(program: Path, schemes: list[str], rounds: int, repetitions: int) -> tuple[Rows, Rows]:
    """Our schemes, and DPDK's two on the same packets (none where DPDK is absent), by turns."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dpdk, sequence = build_dpdk(folder), folder / "sequence"
        output(str(program), "--sequence", str(sequence))
        for _ in range(repetitions):
            ours.append(above(json.loads(output(str(program), "--rounds", str(rounds), *schemes)), schemes[0]))
            if dpdk is not None:
                rows = json.loads(output(str(dpdk), str(sequence), str(rounds), *map(str, LOADS)))
                theirs.append(above(rows, "fifo"))
    return over(ours), over(theirs)


def above(rows: Rows, baseline: str) -> Rows:
    """Every row with what it costs above `baseline` at the same load."""
    base = {row["load"]: row["ns_per_packet"] for row in rows if row["scheme"] == baseline}
    return [{**row, "above_ns": row["ns_per_packet"] - base[row["load"]]} for row in rows]


def over(repetitions: list[Rows]) -> Rows:
    """Every row with the median of its times over repetitions, and their range: `above_ns_low`, `above_ns_high`.

    Drops and marks are the same in every repetition: so are the packets.
    """
    found = []
    for same in zip(*repetitions, strict=True):
        row = dict(same[0])
        for name in ("ns_per_packet", "above_ns"):
            times = [one[name] for one in same]
            row |= {name: statistics.median(times), f"{name}_low": min(times), f"{name}_high": max(times)}
        found.append(row)
    return found


def machine() -> dict[str, str]:
    """Where this was measured."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    model, family, number = (facts.get(key, "unknown") for key in ("model name", "cpu family", "model"))
    return {
        "processor": f"{model} (family {family}, model {number})",
        "processors": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": output("rustc", "--version").strip(),
    }


def worst(rows: Rows, scheme: str) -> dict[str, str]:
    """The cost above the baseline at the load where its median is highest: median, least and greatest."""
    row = max((row for row in rows if row["scheme"] == scheme), key=lambda row: float(row["above_ns"]))
    keys = {"median": "above_ns", "low": "above_ns_low", "high": "above_ns_high"}
    return {name: f"{max(0.0, row[key]):.1f}" for name, key in keys.items()}


def said(cost: dict[str, str]) -> str:
    """A cost with its range."""
    return f"{cost['median']} ({cost['low']} to {cost['high']})"


def columns(rows: Rows, scheme: str) -> list[str]:
    """Time, time above the baseline with its range, and share dropped or marked at each load."""
    by_load = {row["load"]: row for row in rows if row["scheme"] == scheme}
    return [
        text
        for load in LOADS
        for row in (by_load[load],)
        for text in (
            f"{row['ns_per_packet']:.1f}",
            f"{row['above_ns']:+.1f} ({row['above_ns_low']:+.1f} to {row['above_ns_high']:+.1f})",
            f"{100 * (row['dropped'] + row.get('marked', 0)):.1f} %",
        )
    ]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="CPU time of every algorithm, above tail drop.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="algorithms (default: all)")
    parser.add_argument(
        "--rounds", type=int, default=40, help="rounds, of which the smallest times count (default 40)"
    )
    parser.add_argument("--repetitions", type=int, default=7, help="how often to measure, by turns (default 7)")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    arguments = parser.parse_args()
    about = tomllib.loads((ROOT / "docs" / "algorithms.toml").read_text(encoding="utf-8"))
    unknown = [name for name in arguments.names if name not in about]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    schemes = {name: about[name]["example"] for name in arguments.names or about}
    schemes = {"pfifo": about["pfifo"]["example"], **schemes}
    program = build("cost")
    rows, dpdk = measure(program, list(schemes.values()), arguments.rounds, arguments.repetitions)
    cost = {name: worst(rows, scheme) for name, scheme in schemes.items()}

    loads = [text for load in LOADS for text in (f"ns at {load}", "above", "acts")]
    table = [[name, *columns(rows, scheme), said(cost[name])] for name, scheme in schemes.items()]
    print(
        f"CPU time a packet (enqueue and dequeue), {arguments.rounds} rounds; above: above pfifo at the same load; "
        f"medians of {arguments.repetitions} repetitions (and their range)"
    )
    show(["", *loads, "worst"], table)
    if dpdk:
        print("\nDPDK, above its program's own tail drop")
        names = list(dict.fromkeys(row["scheme"] for row in dpdk))
        show(["", *loads, "worst"], [[name, *columns(dpdk, name), said(worst(dpdk, name))] for name in names])
    else:
        print("\nDPDK is not installed (Debian: apt-get install libdpdk-dev), so there is nothing beside")
    if arguments.json:
        result: dict[str, Any] = {
            "machine": machine(),
            "repetitions": arguments.repetitions,
            "above_pfifo_ns": cost,
            "measurements": rounded(rows),
            "dpdk": rounded(dpdk),
        }
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def rounded(rows: Rows) -> Rows:
    """With as many digits as mean something."""
    return [
        {k: round(v, 4 if k in {"dropped", "marked"} else 1) if isinstance(v, float) else v for k, v in row.items()}
        for row in rows
    ]


if __name__ == "__main__":
    sys.exit(main())
