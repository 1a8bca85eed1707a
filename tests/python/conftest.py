"""Fixtures: a small network, results of it, and the command line as a process."""

from __future__ import annotations

import io
import multiprocessing
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from shared import REPLICATIONS, SCHEMES, Command, small_network
from sojourn import cli


@pytest.fixture(scope="session")
def network() -> sj.Network:
    return small_network()


@pytest.fixture(scope="session")
def results() -> sj.Results:
    return sj.compare(small_network(), list(SCHEMES), replicates=REPLICATIONS, seed=3)


@pytest.fixture(scope="session")
def written(results: sj.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("written") / "run"
    results.to_parquet(place)
    return place


@pytest.fixture
def run_folder(written: Path, tmp_path: Path) -> Path:
    """The results as a run folder: a copy, because every writing draws a report."""
    return Path(shutil.copytree(written, tmp_path / "run"))


@pytest.fixture(scope="module")
def context() -> Any:
    """Processes that start in no time: they are forked from one that has everything loaded and no threads."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["plans"])
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A Dask cluster of two workers on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as found:
        yield found


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    """The small network as a scenario file."""
    file = tmp_path / "small.toml"
    file.write_text(small_network().to_toml())
    return file


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``sojourn ARGUMENTS`` in an empty folder, in this process: a new one would import everything again.

    With ``timeout`` in a process of its own, which is ended after so many seconds.
    """
    here = tmp_path / "here"
    here.mkdir()

    def run(*arguments: object, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
        words = list(map(str, arguments))
        if timeout is not None:
            process = [sys.executable, "-m", "sojourn", *words]
            return subprocess.run(process, cwd=here, capture_output=True, text=True, timeout=timeout, check=False)
        out, err = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(here)
            patch.setattr(sys, "argv", ["sojourn", *words])
            try:
                status: object = cli.main(words)
            except SystemExit as end:
                status = end.code
        return subprocess.CompletedProcess(
            words, status if isinstance(status, int) else 1, out.getvalue(), err.getvalue()
        )

    return run
