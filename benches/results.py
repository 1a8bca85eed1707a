"""What Python adds to a run, and two threads to one: ``.venv/bin/python benches/results.py [--rounds 7]``.

The first table has the CPU time of `sojourn.run` beside that of the simulation in it, and of each table of its
results: as Arrow from the compiled core, and as a pandas frame. The second has the CPU time of the same runs on one
thread and on two, by turns. Other work on the machine, or cores that share their units, make two threads dearer.
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import time
from collections.abc import Callable
from typing import Final

import sojourn as sj
from sojourn.base import core
from sojourn.results import tables

CASES: Final = {
    "2 flows, 3 s": sj.dumbbell(flows=2, duration=sj.s(3), warm_up=sj.s(1)),
    "1,000 flows, 10 s": sj.dumbbell(flows=1000, duration=sj.s(10), warm_up=sj.s(1)),
}
#: Flows, simulated seconds and runs of a batch.
BATCHES: Final = ((2, 3, 400), (100, 10, 24))


def cpu_ms(call: Callable[[], object], rounds: int) -> float:
    """Return the median CPU time of a call."""
    call()
    times = []
    for _ in range(rounds):
        before = time.process_time()
        call()
        times.append(time.process_time() - before)
    return 1e3 * statistics.median(times)


def show_results(rounds: int) -> None:
    """Print what a run's results cost."""
    print(f"CPU time (ms), median of {rounds} rounds")
    print(f"{'':<20}{'sj.run':>10}{'simulation':>12}{'table':>16}{'Arrow':>10}{'pandas':>10}")
    for name, net in CASES.items():
        scenario = net.canonical()
        task = {"scheme": None, "seed": 1, "replication": 0, "series": None}

        def simulate(scenario: core.Document = scenario, task: core.Document = task) -> core.Reports:
            return core.run_reports(scenario, [task], jobs=1)

        whole = cpu_ms(lambda net=net: sj.run(net, replicates=1, seed=1, progress=False), rounds)  # type: ignore[misc]
        print(f"{name:<20}{whole:>10.2f}{cpu_ms(simulate, rounds):>12.2f}")
        reports = simulate()
        for table in ("runs", "queues", "flows", "distributions"):

            def fresh(reports: core.Reports = reports) -> tables.Tables:
                return tables.Tables.of_reports(["x"], core.Reports(reports.native), [0])

            arrow = cpu_ms(lambda table=table, fresh=fresh: fresh().stream(table), rounds)  # type: ignore[misc]
            frame = cpu_ms(lambda table=table, fresh=fresh: fresh()[table], rounds)  # type: ignore[misc]
            print(f"{'':<42}{table:>16}{arrow:>10.2f}{frame:>10.2f}")


def used_s() -> float:
    """Return the CPU time of this process, all threads and the system's work for it included."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def show_threads(rounds: int) -> None:
    """Print what a second thread costs."""
    print(f"\nCPU time of the same runs (s), median of {rounds} rounds by turns")
    print(f"{'':<30}{'1 thread':>10}{'2 threads':>11}{'ratio (min to max)':>28}")
    for flows, seconds, runs in BATCHES:
        scenario = sj.dumbbell(flows=flows, duration=sj.s(seconds), warm_up=sj.s(1)).canonical()
        tasks = [{"scheme": None, "seed": 1, "replication": k, "series": None} for k in range(runs)]
        core.run_reports(scenario, tasks[:2], jobs=2)
        times: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(rounds):
            for threads, found in times.items():
                gc.collect()
                before = used_s()
                core.run_reports(scenario, tasks, jobs=threads)
                found.append(used_s() - before)
        ratios = [two / one for one, two in zip(times[1], times[2], strict=True)]
        one, two = (statistics.median(found) for found in times.values())
        spread = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        print(f"{f'{runs} runs: {flows} flows, {seconds} s':<30}{one:>10.3f}{two:>11.3f}{spread:>28}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each measurement (default 7)")
    rounds = parser.parse_args().rounds
    show_results(rounds)
    show_threads(rounds)


if __name__ == "__main__":
    main()
