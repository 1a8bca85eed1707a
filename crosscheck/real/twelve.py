#!/usr/bin/env python3
"""Compare goodput and queueing delay of real packets and of the simulation at twelve drawn points.

    twelve.py --list              the points
    twelve.py                     run what is missing, and write the table; on a machine that does nothing else
    twelve.py --points 3 7        some points
    twelve.py --quick             short runs, to see that all works; its table is no result

Everything follows from SEED. Rate, base RTT and number of flows are a Latin hypercube; each scheme comes twice, and
each congestion control four times. Runs go to stores in the folder of `--out`, so the same command continues after
an interruption. A run that the machine was late for is repeated, three times at once and in up to ROUNDS rounds;
it is never dropped. A point that still has marked runs is not judged.

`--world both` of `sojourn compare` does the same for a single scenario.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import math
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sojourn.base import core, toml
from sojourn.model.scheme import Scheme
from sojourn.plan import execute, expand
from sojourn.plan.identity import REAL, SIMULATED, build
from sojourn.plan.model import Plan
from sojourn.plan.progress import for_stderr
from sojourn.plan.store import Store
from sojourn.real.shell.flows import congestion_controls
from sojourn.stats import estimate, unpaired

SEED = 20261124
SCHEMES = ("pfifo", "codel", "pie", "fq_codel", "fq_pie", "cake")
CONTROLS = ("reno", "cubic", "bbr")
POINTS = 12
FLOWS = (1, 16)
RATE_MBIT_S = (5.0, 200.0)
RTT_MS = (10.0, 100.0)
# Tail drop has one bandwidth-delay product, the others Linux's limits.
LEAST_BUFFER_PACKETS = 40
PACKET_BYTES = 1514
RUNS = 5
WARM_UP_S, DURATION_S = 10, 40
QUICK_S = (1, 4)
# Of a run besides its duration: namespaces, programs, the device.
OVERHEAD_S = 2.0
ROUNDS = 3
GOODPUT_SHARE, DELAY_SHARE = 0.03, 0.2
NEEDED = 10
METRICS = ("goodput_bit_s", "sojourn_ms_mean")
TABLE = Path(__file__).with_name("twelve.csv")


@dataclass(frozen=True)
class Point:
    """One drawn point."""

    point: int
    scheme: str
    congestion_control: str
    flows: int
    rate_mbit_s: float
    base_rtt_ms: float

    @property
    def text(self) -> str:
        """The scheme as tc writes it."""
        if self.scheme == "pfifo":
            packets = self.rate_mbit_s * 1e6 * self.base_rtt_ms / 1e3 / 8 / PACKET_BYTES
            return f"pfifo limit {max(LEAST_BUFFER_PACKETS, math.ceil(packets))}p"
        return self.scheme

    def scenario(self, warm_up_s: int, duration_s: int) -> str:
        """The scenario as TOML."""
        document = {
            "name": f"point {self.point}",
            "duration": f"{duration_s} s",
            "warm_up": f"{warm_up_s} s",
            "links": [
                {
                    "name": "link",
                    "from": "server",
                    "to": "client",
                    "rate": f"{self.rate_mbit_s} Mbit/s",
                    "delay": f"{self.base_rtt_ms / 2} ms",
                    "under_test": True,
                }
            ],
            "flows": [
                {
                    "name": "bulk",
                    "from": "server",
                    "to": "client",
                    "count": self.flows,
                    "start": {"uniform": ["0 s", "1 s"]},
                    "transport": {"kind": "tcp", "congestion_control": self.congestion_control},
                }
            ],
        }
        return toml.dumps(document)


def drawn() -> list[Point]:
    """Draw the points."""
    random = np.random.default_rng(SEED)

    def spread(low: float, high: float) -> list[float]:
        """One value in each of equal parts on a logarithmic scale, shuffled."""
        shares = (random.permutation(POINTS) + random.random(POINTS)) / POINTS
        return [float(low * (high / low) ** share) for share in shares]

    schemes = random.permutation(np.repeat(SCHEMES, POINTS // len(SCHEMES)))
    controls = random.permutation(np.repeat(CONTROLS, POINTS // len(CONTROLS)))
    flows, rates, rtts = spread(FLOWS[0], FLOWS[1] + 1), spread(*RATE_MBIT_S), spread(*RTT_MS)
    return [
        Point(
            number + 1,
            str(schemes[number]),
            str(controls[number]),
            min(FLOWS[1], int(flows[number])),
            round(rates[number], 1),
            round(rtts[number], 1),
        )
        for number in range(POINTS)
    ]


def plan_of(point: Point, world: str, runs: int, times_s: tuple[int, int]) -> Plan:
    """The plan of a point in one world."""
    return Plan(
        name=f"point-{point.point}",
        scenario=point.scenario(*times_s),
        schemes=(Scheme(point.text),),
        seed=SEED + point.point,
        replications=runs,
        world=world,
        metrics=METRICS,
    )


def carried(plan: Plan, place: Path) -> tuple[dict[str, list[float]], int, int]:
    """Run what is missing; return the metrics by replication, marked runs, and repetitions."""
    for _ in range(ROUNDS):
        outcome = execute.run(plan, place, watch=for_stderr())
        if outcome.failures:
            raise core.SojournError(f"{outcome.failures[0].cell}: {outcome.failures[0].why}")
        marked = [run for run, row in rows_of(plan, place).items() if row.get("marked_late_runs")]
        if not marked:
            break
        print(f"{plan.name}: {len(marked)} runs are marked late and are repeated", flush=True)
        with Store.writing(place) as store:
            store.remove(set(marked))
    outcome = execute.run(plan, place)
    rows = list(rows_of(plan, place).values())
    values = {name: [row[name] for row in rows] for name in METRICS}
    late = sum(bool(row.get("marked_late_runs")) for row in rows)
    return values, late, int(sum(row.get("repeated_runs") or 0 for row in rows))


def rows_of(plan: Plan, place: Path) -> dict[str, dict[str, float]]:
    """The runs of a plan that a store holds, in the order of replications."""
    wanted = [cell.run(k).id(build()) for cell in expand.cells(plan) for k in range(plan.replications)]
    columns = [*METRICS, "marked_late_runs", "repeated_runs"]
    found = {row.pop("run"): row for row in Store.open(place).read("runs", columns=columns, runs=wanted).to_pylist()}
    return {run: found[run] for run in wanted if run in found}


def compared(point: Point, options: argparse.Namespace, times_s: tuple[int, int]) -> dict[str, object]:
    """One line of the table."""
    place = Path(options.out)
    real, late, repeated = carried(plan_of(point, REAL, options.runs, times_s), place / "real")
    simulated, _, _ = carried(plan_of(point, SIMULATED, options.runs, times_s), place / "simulated")
    row: dict[str, object] = {**asdict(point), "runs": options.runs, "seconds": times_s[1] - times_s[0]}
    within = []
    for name, short, scale, share in (
        ("goodput_bit_s", "goodput_mbit_s", 1e-6, GOODPUT_SHARE),
        ("sojourn_ms_mean", "delay_ms", 1.0, DELAY_SHARE),
    ):
        sides = [np.asarray(side[name], dtype=float) * scale for side in (simulated, real)]
        for title, side in zip(("simulated", "real"), sides, strict=True):
            found = estimate(list(side))
            row[f"{title}_{short}"] = round(found.mean, 4)
            row[f"{title}_{short}_half_width"] = None if found.half_width is None else round(found.half_width, 4)
        apart = unpaired(sides[1], sides[0])
        row[f"difference_{short}"] = round(apart.mean, 4)
        row[f"difference_{short}_half_width"] = None if apart.half_width is None else round(apart.half_width, 4)
        relative = float(sides[1].mean() / sides[0].mean() - 1)
        row[f"{short}_relative"] = round(relative, 4)
        within.append(abs(relative) <= share)
    row["within"] = "marked late" if late else "yes" if all(within) else "no"
    row["repeated"], row["marked"] = repeated, late
    row["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    row["build"], row["kernel"] = build(), os.uname().release
    print(
        f"point {point.point}: goodput {100 * float(str(row['goodput_mbit_s_relative'])):+.1f} %, "
        f"delay {100 * float(str(row['delay_ms_relative'])):+.1f} %: {row['within']}",
        flush=True,
    )
    return row


def main() -> int:
    """Run the comparison; the exit status is 1 where too few of twelve points agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the points")
    parser.add_argument("--points", nargs="+", type=int, metavar="N", help="some points (default: all)")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each point and world (default {RUNS})")
    parser.add_argument("--quick", action="store_true", help="runs of some seconds; no table is written")
    parser.add_argument("--out", default="out/twelve", help="folder of the stores (default out/twelve)")
    options = parser.parse_args()
    points = [point for point in drawn() if options.points is None or point.point in options.points]
    if options.list:
        for point in points:
            print(*asdict(point).values(), sep="\t")
        return 0
    times_s = QUICK_S if options.quick else (WARM_UP_S, DURATION_S)
    missing = sorted({point.congestion_control for point in points} - set(congestion_controls()))
    if missing:
        print(f"this kernel lacks {', '.join(missing)}: modprobe tcp_{missing[0]}", file=sys.stderr)
        return 2
    wall_min = len(points) * options.runs * (times_s[1] + OVERHEAD_S) / 60
    print(f"{len(points)} points; at most {wall_min:.0f} min if no run is repeated", flush=True)
    rows = [compared(point, options, times_s) for point in points]
    if options.quick or options.points is not None:
        return 0
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    agree = sum(row["within"] == "yes" for row in rows)
    goodput, delay = 100 * GOODPUT_SHARE, 100 * DELAY_SHARE
    print(f"{agree} of {len(rows)} points agree within {goodput:g} % in goodput and {delay:g} % in delay: {TABLE}")
    return 0 if agree >= NEEDED else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except core.SojournError as error:
        print(f"twelve.py: {error}", file=sys.stderr)
        sys.exit(2)
