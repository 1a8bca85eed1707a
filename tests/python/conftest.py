"""Fixtures: a small network, results of it, and the command line as a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj
from shared import REPLICATIONS, SCHEMES, Command, small_network


@pytest.fixture(scope="session")
def network() -> sj.Network:
    return small_network()


@pytest.fixture(scope="session")
def results() -> sj.Results:
    return sj.compare(small_network(), list(SCHEMES), replicates=REPLICATIONS, seed=3)


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    """The small network as a scenario file."""
    file = tmp_path / "small.toml"
    file.write_text(small_network().to_toml())
    return file


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Run ``sojourn ARGUMENTS`` in an empty folder."""
    here = tmp_path / "here"
    here.mkdir()

    def run(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sojourn", *map(str, arguments)],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
