#!/usr/bin/env python3
"""Instructions that a simulated packet costs, counted by valgrind's callgrind: a busy machine does not change them.

Builds `benches/speed` in the plain release profile and runs it for 6 and for 12 simulated seconds under callgrind
with a stated cache. The difference divided by the packets forwarded in between leaves out reading the scenario,
building the network and writing the report. The dumbbell is that of `benches/speed.py`.

    python3 benches/instructions.py [--flows 100] [--congestion-control newreno cubic] [--functions 25] [--json FILE]
"""
# It runs cargo, valgrind and its own program by name, with arguments of its own.
# ruff: noqa: S603

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from built import build, show

CACHE = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64", "--cache-sim=yes", "--branch-sim=yes")
SECONDS = (6, 12)
Costs = Counter[str]


def count(
    program: Path, arguments: list[str], seconds: int, folder: Path, *, cache: bool = True
) -> tuple[float, Costs, dict[str, Costs]]:
    """Forwarded packets, events of the whole run, and those of each function (its own, not its callees')."""
    out = folder / f"callgrind.{seconds}"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *(CACHE if cache else ()), str(program)]
    command += [*arguments, "--seconds", str(seconds)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    packets = float(json.loads(run.stdout)["forwarded_packets"])
    return packets, *read(out)


def read(out: Path) -> tuple[Costs, dict[str, Costs]]:
    """Sums of a callgrind file: of the whole run, and of each function's own lines."""
    names: dict[str, str] = {}
    events: list[str] = []
    functions: dict[str, Costs] = {}
    function, called = Counter[str](), False
    for line in out.read_text().splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("fn="):
            number, name = re.match(r"fn=(\(\d+\))(?: (.*))?", line).groups()  # type: ignore[union-attr]
            if name:
                names[number] = name
            function = functions.setdefault(names[number], Counter())
        elif line.startswith(("cfn=",)):
            number, name = re.match(r"cfn=(\(\d+\))(?: (.*))?", line).groups()  # type: ignore[union-attr]
            if name:
                names[number] = name
        elif line.startswith("calls="):
            called = True
        elif re.match(r"[+\-*\d]", line):
            # The line after `calls=` is what the callee cost.
            if not called:
                function.update({event: int(value) for event, value in zip(events, line.split()[1:], strict=False)})
            called = False
    total: Costs = Counter()
    for own in functions.values():
        total.update(own)
    return total, functions


def figures(costs: Costs, packets: float) -> dict[str, float]:
    """Per packet: instructions, first-level misses of data and of instructions, mispredicted branches."""
    return {
        "instructions": costs["Ir"] / packets,
        "data misses": (costs["D1mr"] + costs["D1mw"]) / packets,
        "code misses": costs["I1mr"] / packets,
        "mispredictions": (costs["Bcm"] + costs["Bim"]) / packets,
    }


def slope(
    program: Path, arguments: list[str], *, cache: bool = True
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Figures a packet between the two run lengths, of all and of each function."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [count(program, arguments, seconds, Path(folder), cache=cache) for seconds in SECONDS]
    (packets, total, functions), (more, longer, fuller) = runs
    packets = more - packets
    longer.subtract(total)
    for name, own in functions.items():
        fuller.setdefault(name, Counter()).subtract(own)
    return figures(longer, packets), {name: figures(own, packets) for name, own in fuller.items()}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Instructions that a simulated packet costs.")
    parser.add_argument("--flows", type=int, default=100)
    parser.add_argument("--rate-mbit-s", type=int, default=100)
    parser.add_argument("--access-mbit-s", type=int, default=1000)
    parser.add_argument("--queue", default="pfifo limit 250p")
    parser.add_argument("--congestion-control", nargs="+", default=["newreno", "cubic"])
    parser.add_argument("--functions", type=int, default=0, help="also print so many functions")
    parser.add_argument("--program", type=Path, help="the bench program, built already")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args()
    program = options.program or build("speed")
    result = {}
    for algorithm in options.congestion_control:
        arguments = ["--flows", str(options.flows), "--rate-mbit-s", str(options.rate_mbit_s)]
        arguments += ["--access-mbit-s", str(options.access_mbit_s), "--queue", options.queue]
        whole, functions = slope(program, [*arguments, "--congestion-control", algorithm])
        result[algorithm] = {"whole": whole, "functions": functions}
        rows = [(algorithm, whole)]
        costly = sorted(functions.items(), key=lambda item: -item[1]["instructions"])
        rows += costly[: options.functions]
        header = ["", *whole]
        show(header, [[name[:90], *(f"{cost[key]:.1f}" for key in whole)] for name, cost in rows])
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
