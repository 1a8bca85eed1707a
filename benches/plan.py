"""What a plan costs beside its runs.

The processor time of 2,000 short runs as a plan, over that of the same runs in one process. All sides run by turns;
the ratio is of the sums over all turns. Everything counts: checking the plan, reading reports, writing the store;
with a cluster, starting and ending its scheduler and two workers, too. A run is the dumbbell of 60 s that comes with
Sojourn, some 20 ms of processor time. Dask's profiler and ticker are off: they cost by the hour, not by the run.

    python benches/plan.py [--turns N] [--no-cluster]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 2000
GOAL = {"threads": 1.05, "cluster": 1.15}

PLAN = """
name = "short"
scenario = "dumbbell"
schemes = ["pfifo limit 100p", "codel", "pie", "fq_codel"]
replications = 100

[[vary]]
key = "links.bottleneck.rate"
values = ["10 Mbit/s", "15 Mbit/s", "20 Mbit/s", "25 Mbit/s", "30 Mbit/s"]
"""

PLAIN = """
import json, sys
from sojourn.base import core
from sojourn import plan
cells = plan.cells(plan.load(sys.argv[1]))
by_scenario = {}
for cell in cells:
    tasks = (json.loads(cell.run(k).task) for k in range(cells.plan.replications))
    by_scenario.setdefault(cell.scenario, []).extend(tasks)
count = sum(len(core.run_many(json.loads(cells.scenarios[s]), tasks, jobs=2)) for s, tasks in by_scenario.items())
assert count == int(sys.argv[3]), count
"""

CLUSTER = """
import sys
import dask
from distributed import LocalCluster
from sojourn import plan
from sojourn.plan import execute
if __name__ == "__main__":
    dask.config.set({"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        outcome = execute.run(plan.load(sys.argv[1]), sys.argv[2], scheduler=cluster.scheduler_address)
    assert outcome.ran == int(sys.argv[3]), outcome.ran
"""

THREADS = """
import sys
from sojourn import plan
from sojourn.plan import execute
outcome = execute.run(plan.load(sys.argv[1]), sys.argv[2], jobs=2)
assert outcome.ran == int(sys.argv[3]), outcome.ran
"""


def main() -> int:
    """Run all sides by turns and print the ratios; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--no-cluster", action="store_true")
    options = parser.parse_args()
    sides = {"plain": PLAIN, "threads": THREADS} | ({} if options.no_cluster else {"cluster": CLUSTER})
    cpu = dict.fromkeys(sides, 0.0)
    wall = dict.fromkeys(sides, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "short.toml"
        plan.write_text(PLAN)
        for turn in range(options.turns):
            for side, program in sides.items():
                script = Path(folder) / f"{side}.py"
                script.write_text(program)
                used, gone = measure([sys.executable, str(script), str(plan), f"{folder}/{side}{turn}", str(RUNS)])
                cpu[side] += used
                wall[side] += gone
                print(f"{side:8} {used:7.2f} s processor, {gone:7.2f} s on the clock", flush=True)
        same = {side: content(Path(folder) / f"{side}0") for side in sides if side != "plain"}
    good = True
    for side, goal in GOAL.items():
        if side in sides:
            ratio = cpu[side] / cpu["plain"]
            good &= ratio <= goal
            clock = wall[side] / wall["plain"]
            print(
                f"{side}: processor time {ratio:.3f} times that of the runs alone (goal {goal}), "
                f"time on the clock {clock:.3f} times"
            )
    if len(same) == 2:
        equal = same["threads"] == same["cluster"]
        good &= equal
        print(f"stores of threads and cluster: {'the same bytes' if equal else 'DIFFERENT'}")
    return 0 if good else 1


def measure(command: list[str]) -> tuple[float, float]:
    """Return the processor time of a process and all its children, and the time on the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, check=True, env=os.environ, stderr=subprocess.DEVNULL)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - start


def content(store: Path) -> dict[str, bytes]:
    """Return every file of results in a store."""
    return {str(file.relative_to(store)): file.read_bytes() for file in sorted(store.rglob("*.parquet"))}


if __name__ == "__main__":
    sys.exit(main())
