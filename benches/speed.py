#!/usr/bin/env python3
"""How fast the simulator is, and how fast ns-2 is at the same work in the same run.

Builds `benches/speed` in release mode, then runs it and `crosscheck/ns2/dumbbell.tcl` by turns: 100 TCP flows through
100 Mbit/s, base RTT 20 ms, tail drop at 250 packets. A figure is the slope between two run lengths: the difference of
their user CPU times over the difference of the packets that they forwarded. So neither side pays for its start, for
reading a scenario or for writing a report. A second table shows how our side scales. Needs nothing beyond Python,
cargo and, for the comparison, Debian's package ns2.

    python3 benches/speed.py [--seconds 300] [--rounds 5] [--json] [--floor 3]

With --floor the exit status is 1 when the median ratio to ns-2 lies below it.
"""
# It runs cargo, ns and its own program by name, with arguments of its own.
# ruff: noqa: S603, S607

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NS2_PROGRAM = ROOT / "crosscheck" / "ns2" / "dumbbell.tcl"

# flows, bottleneck in Mbit/s, access links in Mbit/s, simulated seconds
SCALING = [
    (1, 100, 1000, 300),
    (100, 100, 1000, 300),
    (1_000, 100, 1000, 300),
    (10_000, 100, 1000, 300),
    (100, 1000, 10_000, 60),
    (1_000, 1000, 10_000, 60),
    (10_000, 1000, 10_000, 60),
]


def build() -> Path:
    """The bench program, compiled as it is released."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "sojourn-bench-speed"]
    subprocess.run(command, cwd=ROOT, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(metadata.stdout)["target_directory"]) / "release" / "speed"


def measure(command: list[str]) -> dict[str, float]:
    """Runs `command`, which prints one line of JSON: that, with its user CPU seconds and peak memory in MB."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output)
        # wait4 gives the resources of this child alone.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
        output.seek(0)
        result: dict[str, float] = json.loads(output.read())
    result["cpu_s"] = usage.ru_utime
    # A child starts with the peak of its parent, this interpreter: our program tells its own.
    result["memory_mb"] = (result.get("peak_memory_kib") or usage.ru_maxrss) * 1024 / 1e6
    return result


def ours(program: Path, flows: int, rate: int, access: int, seconds: int) -> dict[str, float]:
    """One run of ours."""
    arguments = {"flows": flows, "rate-mbit-s": rate, "access-mbit-s": access, "seconds": seconds}
    return measure([str(program)] + [text for k, v in arguments.items() for text in (f"--{k}", str(v))])


def ns2(flows: int, rate: int, access: int, seconds: int) -> dict[str, float]:
    """One run of ns-2."""
    return measure(["ns", str(NS2_PROGRAM), *map(str, (flows, rate, seconds, access))])


def slope(run: Callable[..., dict[str, float]], *arguments: object, seconds: int) -> dict[str, float]:
    """What a run of `seconds` adds to one of a third of them; memory is that of the longer."""
    short, long = (run(*arguments, length) for length in (max(1, seconds // 3), seconds))
    kept = {key: value for key, value in long.items() if key == "memory_mb"}
    return {key: value - short[key] for key, value in long.items() if key in short} | kept


def ns_per_packet(run: dict[str, float]) -> float:
    """User CPU time that a forwarded packet cost."""
    return run["cpu_s"] * 1e9 / run["forwarded_packets"]


def spread(values: list[float], digits: int = 0) -> str:
    """Median (smallest to largest)."""
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def show(header: list[str], rows: list[list[str]]) -> None:
    """Prints a table."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = zip(row, widths, strict=True)
        print("  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(cells)))


def compare(program: Path, seconds: int, rounds: int) -> dict[str, object]:
    """Ours and ns-2 by turns, so that a change of the machine's speed meets both."""
    have_ns2 = shutil.which("ns") is not None
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(slope(ours, program, 100, 100, 1000, seconds=seconds))
        if have_ns2:
            theirs.append(slope(ns2, 100, 100, 1000, seconds=seconds))
    print(f"100 TCP flows, 100 Mbit/s, base RTT 20 ms, slope from {seconds // 3} to {seconds} s, {rounds} rounds:")
    print("median (min to max)")
    rows = []
    for name, runs in (("Sojourn", mine), ("ns-2", theirs)):
        if runs:
            rows.append(
                [
                    name,
                    spread([1e9 / ns_per_packet(run) for run in runs]),
                    spread([ns_per_packet(run) for run in runs]),
                    f"{runs[0]['forwarded_packets']:,.0f}",
                    f"{runs[0]['drops_packets']:,.0f}",
                    f"{max(run['memory_mb'] for run in runs):.1f}",
                ]
            )
    show(["", "packets/s", "ns/packet", "forwarded", "dropped", "peak MB"], rows)
    ratios = [ns_per_packet(b) / ns_per_packet(a) for a, b in zip(mine, theirs, strict=False)]
    if ratios:
        print(f"ratio ns-2 : Sojourn  {spread(ratios, 2)}")
    else:
        print("ns-2 is not installed (Debian: apt-get install ns2), so there is no ratio")
    return {"sojourn": mine, "ns2": theirs, "ratios": ratios}


def scale(program: Path, rounds: int) -> list[dict[str, float]]:
    """Ours alone, with more flows and a faster link."""
    print("\nSojourn alone: the best round")
    rows, results = [], []
    for flows, rate, access, seconds in SCALING:
        turns = (slope(ours, program, flows, rate, access, seconds=seconds) for _ in range(rounds))
        run = min(turns, key=ns_per_packet)
        run |= {"flows": flows, "rate_mbit_s": rate, "seconds": seconds}
        results.append(run)
        events = run["events"] / run["forwarded_packets"]
        rows.append(
            [
                f"{flows:,} flows, {rate:,} Mbit/s",
                f"{1e9 / ns_per_packet(run):,.0f}",
                f"{ns_per_packet(run):.0f}",
                f"{events:.2f}",
                f"{ns_per_packet(run) / events:.1f}",
                f"{100 * run['drops_packets'] / (run['drops_packets'] + run['forwarded_packets']):.1f} %",
                f"{run['memory_mb']:.1f}",
            ]
        )
    show(["", "packets/s", "ns/packet", "events/packet", "ns/event", "loss", "peak MB"], rows)
    return results


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Speed of the simulator, and of ns-2 at the same work.")
    parser.add_argument("--seconds", type=int, default=300, help="simulated time of the comparison (default 300)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement (default 5)")
    parser.add_argument("--no-scaling", action="store_true", help="leave out the second table")
    parser.add_argument("--floor", type=float, help="fail when the median ratio to ns-2 is below this")
    parser.add_argument("--json", type=Path, help="also write every measurement to this file")
    arguments = parser.parse_args()
    program = build()
    result = {"comparison": compare(program, arguments.seconds, arguments.rounds)}
    if not arguments.no_scaling:
        result["scaling"] = scale(program, min(arguments.rounds, 3))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    ratios = result["comparison"]["ratios"]
    if arguments.floor is not None and ratios and statistics.median(ratios) < arguments.floor:
        print(f"below the floor of {arguments.floor}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
