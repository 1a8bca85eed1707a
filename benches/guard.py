#!/usr/bin/env python3
"""Instructions a packet beside the recorded ones: a change that makes packets dearer is noticed on any machine.

Builds `benches/speed` and `benches/cost` in the plain release profile and runs them under valgrind's callgrind:

* a simulated packet, on the dumbbell of `benches/speed.py`: the difference of 12 and 6 simulated seconds, divided by
  the packets forwarded in between; of NewReno and CUBIC, of a sender as Linux has it, and under CAKE and FQ-CoDel;
* an enqueue and a dequeue of every algorithm, hot, below and above capacity, on the packets of `benches/cost.py`.

    python3 benches/guard.py             exit status 1 when a figure is above the recorded one by more than 1 % (a
                                         simulated packet) or 3 % (an algorithm), or when an algorithm is above its
                                         limit that the record has below it
    python3 benches/guard.py --brief     the same, and prints less; counts nothing with tools other than the record's
    python3 benches/guard.py --record    writes benches/instructions.json

The record is of one compiler and one valgrind. With others the figures are not judged.
"""
# It runs cargo, valgrind and its own programs by name, with arguments of its own.
# ruff: noqa: S603

from __future__ import annotations

import argparse
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import cost
from built import ROOT, build, show
from instructions import slope

RECORD = Path(__file__).with_name("instructions.json")
#: Allowed growth, of simulated packets and of algorithms.
GROWTH_SIMULATED, GROWTH_ALGORITHM = 0.01, 0.03
#: Measured besides the example of every algorithm.
VARIANTS = {"dropping_function formula": "dropping_function formula min(1,max(0,(sojourn-5ms)/50ms))"}
LINUX_TCP = runpy.run_path(str(ROOT / "python" / "sojourn" / "model" / "linux_tcp.py"))["KEYS"]
#: Options of `benches/speed`, by the name of the figure.
SIMULATED = {
    "newreno": ["--congestion-control", "newreno"],
    "cubic": ["--congestion-control", "cubic"],
    "linux": [
        *("--congestion-control", "cubic", "--transport"),
        "\n".join(f"{key} = {json.dumps(value)}" for key, value in LINUX_TCP.items()),
    ],
    "cake in a run": ["--congestion-control", "cubic", "--queue", "cake bandwidth 99mbit"],
    "fq_codel in a run": ["--congestion-control", "cubic", "--queue", "fq_codel"],
}
#: Of `benches/cost`: packets that one call of its function counts.
COUNTED = 32 * 2048
FUNCTION = "cost::Measurement::measured"


def tools() -> dict[str, str]:
    """What the figures depend on."""
    return {name: cost.output(name, "--version").strip() for name in ("rustc", "valgrind")}


def simulated() -> dict[str, float]:
    """Instructions of a simulated packet, by figure."""
    program = build("speed")
    return {name: slope(program, options, cache=False)[0]["instructions"] for name, options in SIMULATED.items()}


def algorithms() -> dict[str, dict[str, float]]:
    """Instructions of an enqueue and a dequeue by algorithm and load."""
    about = tomllib.loads((ROOT / "docs" / "algorithms.toml").read_text(encoding="utf-8"))
    examples = {name: entry["example"] for name, entry in about.items()} | VARIANTS
    program = build("cost")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [f"--zero-before={FUNCTION}", f"--dump-after={FUNCTION}"]
        command += [str(program), "--rounds", "0", "--loads", ",".join(map(str, cost.LOADS))]
        subprocess.run([*command, *examples.values()], check=True, capture_output=True)
        # A dump a call: every algorithm at the first load, then at the next.
        calls = [(load, name) for load in cost.LOADS for name in examples]
        found: dict[str, dict[str, float]] = {name: {} for name in examples}
        for number, (load, name) in enumerate(calls, start=1):
            text = out.with_name(f"out.{number}").read_text(encoding="utf-8")
            found[name][str(load)] = int(text.rpartition("totals:")[2]) / COUNTED
    return found


def above_pfifo(figures: dict[str, float]) -> dict[str, float]:
    """By algorithm, what it takes above pfifo at the same load: the higher of the loads; from figures of `flat`."""
    found: dict[str, float] = {}
    for key, count in figures.items():
        name, _, load = key.rpartition(" ")
        found[name] = max(found.get(name, 0.0), count - figures[f"pfifo {load}"])
    return found


def over(above: dict[str, float]) -> list[str]:
    """The algorithms above their limits."""
    return [name for name, count in above.items() if count > cost.limit(name)]


def flat(figures: dict[str, object], name: str = "") -> dict[str, float]:
    """Every figure under one name."""
    rows: dict[str, float] = {}
    for key, value in figures.items():
        place = f"{name} {key}".strip()
        rows |= flat(value, place) if isinstance(value, dict) else {place: float(str(value))}
    return rows


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Instructions a packet, compared with the recorded ones.")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name} in place of comparing")
    parser.add_argument("--brief", action="store_true", help="print the simulator's figures and what is dearer")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is not installed (Debian: apt-get install valgrind): nothing was counted")
        return 0
    # The plain release build, whatever profile the caller has set.
    for key in [key for key in os.environ if key.startswith("CARGO_PROFILE_RELEASE_") or key == "RUSTFLAGS"]:
        del os.environ[key]
    if (
        options.brief
        and not options.record
        and (of := json.loads(RECORD.read_text(encoding="utf-8"))["tools"]) != tools()
    ):
        print(f"the record is of {of}, this is {tools()}: nothing was counted")
        return 0
    new = {"simulated": simulated(), "algorithms": algorithms()}
    if options.record:
        sorted_ = {group: dict(sorted(flat(rows).items())) for group, rows in new.items()}
        above = {name: round(count) for name, count in above_pfifo(sorted_["algorithms"]).items()}
        limits = {name: cost.limit(name) for name in above}
        record = {"tools": tools(), **sorted_, "above_pfifo": above, "limits_above_pfifo": limits}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    old, now = ({**rows["simulated"], **flat(rows["algorithms"])} for rows in (record, new))
    same = record["tools"] == tools()
    rows, dearer = [], []
    for key in now:
        growth = now[key] / old[key] - 1 if key in old else float("nan")
        if growth > (GROWTH_SIMULATED if key in SIMULATED else GROWTH_ALGORITHM):
            dearer.append(key)
        elif options.brief and key not in SIMULATED:
            continue
        rows.append([key, f"{now[key]:.1f}", f"{growth:+.1%}" if key in old else "new"])
    show(["", "instructions a packet", "beside the record"], rows)
    was, above = above_pfifo(record["algorithms"]), above_pfifo(flat(new["algorithms"]))
    newly = [name for name in over(above) if name not in over(was)]
    rows = [[name, f"{count:.0f}", str(cost.limit(name))] for name, count in above.items()]
    if not options.brief:
        print("\nabove pfifo, the higher of the loads")
        show(["", "instructions a packet", "limit", ""], [[*row, "over" * (row[0] in over(above))] for row in rows])
    if not same:
        print(f"the record is of {record['tools']}, this is {tools()}: not judged")
    elif dearer:
        limits = f"{GROWTH_SIMULATED:.0%} (simulated packets) or {GROWTH_ALGORITHM:.0%} (algorithms)"
        print(f"more than {limits} above the record: {', '.join(dearer)}")
        print("make it cheaper, or change the record on purpose: python3 benches/guard.py --record")
    if same and newly:
        print(f"above its limit and not so in the record: {', '.join(newly)}")
    return 1 if (dearer or newly) and same else 0


if __name__ == "__main__":
    sys.exit(main())
