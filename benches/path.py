#!/usr/bin/env python3
"""Packets a second on one core through the device, without a network: parse, decide, queue, dequeue, measure.

Builds `benches/path` in release mode and runs it. Needs nothing beyond Python and cargo.

    python3 benches/path.py [--rounds 20] [--bytes 100] [--check] [SCHEME...]

With --check the exit status is 1 when a scheme with a goal is below it: 10 million packets a second with
`dropping_function`, 5 million with `fq_codel`, at either load.
"""
# It runs its own program, with arguments of its own.
# ruff: noqa: S603

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from built import build

SCHEMES = (
    "pfifo",
    "dropping_function",
    "red",
    "codel",
    "pie",
    "fq_codel",
    "cake",
)
GOALS = {"dropping_function": 10e6, "fq_codel": 5e6}


def main() -> int:
    """Prints a line for each scheme and load."""
    parser = argparse.ArgumentParser(description="Packets a second through the device on one core.")
    parser.add_argument("schemes", nargs="*", default=SCHEMES, help="as tc writes them")
    parser.add_argument("--rounds", type=int, default=20, help="of which the best counts, stretch by stretch")
    parser.add_argument("--bytes", type=int, default=100, help="of a frame, without FCS")
    parser.add_argument("--program", type=Path, help="built already")
    parser.add_argument("--check", action="store_true", help="exit with 1 below a goal")
    options = parser.parse_args()
    command = [
        options.program or build("path"),
        "--rounds",
        str(options.rounds),
        "--bytes",
        str(options.bytes),
        *options.schemes,
    ]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        return run.returncode
    results: list[dict[str, Any]] = json.loads(run.stdout)
    print(f"{'scheme':40} {'load':>5} {'ns/packet':>10} {'Mpackets/s':>11} {'goal':>5} {'dropped':>8} {'waiting':>8}")
    missed = False
    for result in results:
        goal = GOALS.get(result["scheme"].split()[0], 0.0)
        missed = missed or result["packets_s"] < goal
        print(
            f"{result['scheme']:40} {result['load']:5} {result['ns_packet']:10.1f} {result['packets_s'] / 1e6:11.1f} "
            f"{goal / 1e6 if goal else '':>5} {result['dropped']:8.1%} {result['waiting_packets']:8.0f}"
        )
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
