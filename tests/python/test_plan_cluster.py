"""The same plan on a Dask cluster: the same bytes, and nobody of another build."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from plans import LONG, become_foreign, become_ours, check_store, drive_long, results_of, small_plan
from sojourn import plan
from sojourn.base import core
from sojourn.plan import execute, executors, worker

distributed = pytest.importorskip("distributed")

# Dask's own warnings are not ours: ports that are taken, clocks of a busy machine.
pytestmark = pytest.mark.filterwarnings("default")


def test_a_cluster_gives_the_same_bytes_as_threads(cluster: Any, tmp_path: Path) -> None:
    goal = plan.Precision("sojourn_ms_mean", "25 %", floor=3, ceiling=40)
    for name, one in (
        ("fixed", small_plan(replications=20)),
        ("goal", small_plan(precision=(goal,), series="500 ms")),
    ):
        here = execute.run(one, tmp_path / name, jobs=1)
        there = execute.run(one, tmp_path / f"{name}_there", scheduler=cluster.scheduler_address)
        assert here.ran == there.ran
        assert results_of(tmp_path / name) == results_of(tmp_path / f"{name}_there")


def test_workers_of_another_build_are_refused(cluster: Any, tmp_path: Path) -> None:
    address = cluster.scheduler_address
    with distributed.Client(address, set_as_default=False) as client:
        # One of the two workers takes on another build.
        (first, *_) = client.scheduler_info(n_workers=-1)["workers"]
        client.run(become_foreign, workers=[first])
        try:
            with pytest.raises(sj.SojournError, match=r"1 of 2 workers have another build.*\n.*9.9.9\+feed"):
                execute.run(small_plan(), tmp_path / "store", scheduler=address)
            # A worker that comes later is found out by its first batch, and writes nothing.
            batch = worker.Batch(core.build(), (), ((0, plan.cells(small_plan()).cells[0].run(0)),))
            late = client.submit(worker.run, batch, workers=[first], pure=False).result()
            assert (late.build, late.tables) == ("9.9.9+feed", {})
        finally:
            client.run(become_ours, workers=[first])
    assert execute.run(small_plan(), tmp_path / "store", scheduler=address).ran == 12


def test_an_answer_of_another_build_ends_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = worker.run

    def run(batch: worker.Batch, stop: core.Stop | None = None) -> worker.Done:
        return worker.Done("9.9.9+feed", {}, {}, 0.0) if len(batch.runs) else real(batch, stop)

    monkeypatch.setattr(executors.worker, "run", run)
    with pytest.raises(sj.SojournError, match=r"another build of Sojourn.*\n  a worker: 9.9.9\+feed"):
        execute.run(small_plan(), tmp_path)


def test_a_scheduler_that_goes_away_ends_the_plan_with_what_it_has(tmp_path: Path) -> None:
    # A process each: the scheduler, one worker and the plan.
    with ExitStack() as stack:
        commands = (
            ["dask_scheduler", "--port", "0", "--scheduler-file"],
            ["dask_worker", "--nthreads", "1", "--no-nanny", "--scheduler-file"],
        )
        file = tmp_path / "scheduler.json"
        processes = []
        for command, *options in commands:
            whole = [sys.executable, "-m", f"distributed.cli.{command}", "--no-dashboard", *options, str(file)]
            processes.append(stack.enter_context(subprocess.Popen(whole, stderr=subprocess.DEVNULL, cwd=tmp_path)))
            stack.callback(processes[-1].kill)
            while not file.exists():
                time.sleep(0.05)
        context = multiprocessing.get_context("spawn")
        said = context.Queue()
        plan_ = context.Process(target=drive_long, args=(tmp_path / "store", str(file), said))
        plan_.start()
        while not list((tmp_path / "store" / "runs").glob("*.parquet")):
            assert plan_.is_alive()
            time.sleep(0.02)
        processes[0].kill()
        assert "is gone; finished runs are in the store, the same command continues" in said.get(timeout=90)
        plan_.join()
    cells = plan.cells(small_plan(replications=LONG))
    found = check_store(tmp_path / "store", {cell.run(k).id(core.build()) for cell in cells for k in range(LONG)})
    assert 0 < len(found) < 4 * LONG


def test_no_scheduler_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(sj.SojournError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        executors.Cluster("tcp://127.0.0.1:9", timeout_s=2)
    assert not (tmp_path / "store").exists()


def test_a_run_that_takes_its_worker_along_has_failed_and_the_others_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = plan.cells(small_plan()).cells[1].run(2)
    real = worker.run

    def run(batch: worker.Batch, stop: core.Stop | None = None) -> worker.Done:
        if any(run == bad for _, run in batch.runs):
            raise MemoryError("the worker died")
        return real(batch, stop)

    monkeypatch.setattr(executors.worker, "run", run)
    done = execute.run(small_plan(), tmp_path)
    assert done.ran == 11
    (failure,) = done.failures
    assert "its worker was lost 3 times: MemoryError" in failure.why
