"""Kills at random moments: the same command continues, and nothing is missing, double or half there."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from plans import SWEEP, check_store, drive, results_of
from sojourn import plan
from sojourn.plan import execute
from sojourn.plan.identity import build

KILLS = int(os.environ.get("SOJOURN_TEST_KILLS", "8"))
WORKER_KILLS = max(KILLS // 5, 1)

ALL_RUNS = {cell.run(k).id(build()) for cell in plan.cells(SWEEP) for k in range(SWEEP.replications)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("undisturbed") / "store"
    execute.run(SWEEP, folder, jobs=1)
    return folder


@pytest.mark.long
def test_the_driver_is_killed_at_random_moments(context: Any, undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    draw = random.Random(20)  # noqa: S311
    start = time.monotonic()
    whole = context.Process(target=drive, args=(tmp_path / "timed",))
    whole.start()
    whole.join()
    length_s = time.monotonic() - start
    killed = had_some = 0
    while killed < KILLS:
        process = context.Process(target=drive, args=(folder,))
        process.start()
        if killed % 2:
            # However fast the machine is: as soon as a second file is begun, as the first is then in the store.
            seen: set[Path] = set()
            while process.is_alive() and len(seen) < 2:
                seen |= set((folder / "runs").glob("*.parquet"))
                time.sleep(0.001)
        else:
            process.join(draw.uniform(0, length_s))
        if process.exitcode is not None:
            # It was done before: from the beginning, so that the next kill meets a plan that runs.
            assert process.exitcode == 0
            assert check_store(folder, ALL_RUNS) == ALL_RUNS
            assert results_of(folder) == results_of(undisturbed)
            shutil.rmtree(folder)
            continue
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += 1
        if (folder / "store.json").exists():
            had_some += 0 < len(check_store(folder, ALL_RUNS)) < len(ALL_RUNS)
    assert had_some >= KILLS // 5, "the kills came too early or too late to say anything"
    drive(folder)
    assert check_store(folder, ALL_RUNS) == ALL_RUNS
    assert results_of(folder) == results_of(undisturbed)


def worker_pid(cluster: Any, which: int) -> int | None:
    # A worker that was killed is being replaced, and may have no process for a moment.
    found = [int(nanny.pid) for nanny in cluster.workers.values() if nanny.pid]
    return found[which % len(found)] if found else None


@pytest.mark.filterwarnings("default")
def test_workers_and_the_driver_of_a_cluster_are_killed(
    context: Any, cluster: Any, undisturbed: Path, tmp_path: Path
) -> None:
    draw = random.Random(7)  # noqa: S311
    hit = 0
    for k in range(WORKER_KILLS):
        folder = tmp_path / str(k)
        cluster.scale(2)
        process = context.Process(target=drive, args=(folder, cluster.scheduler_address))
        process.start()
        # Once the first runs are there, the cluster is at work.
        while process.is_alive() and not list((folder / "runs").glob("*.parquet")):
            time.sleep(0.01)
        process.join(draw.uniform(0, 0.2))
        if pid := worker_pid(cluster, k):
            os.kill(pid, signal.SIGKILL)
            hit += process.is_alive()
        if k % 2:
            process.join(draw.uniform(0, 0.3))
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
            process.join()
            check_store(folder, ALL_RUNS)
            drive(folder, cluster.scheduler_address)
        else:
            process.join()
            assert process.exitcode == 0
        assert check_store(folder, ALL_RUNS) == ALL_RUNS
        assert results_of(folder) == results_of(undisturbed)
    assert hit >= WORKER_KILLS / 2, "the plans were over before their workers were killed"
