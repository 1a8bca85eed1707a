"""Algorithms of users, in a process of its own: a registry does not shrink, and other tests walk over it."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["plugins", "mutants"])
def test_algorithms_of_users(name: str) -> None:
    pytest.importorskip("numba")
    tests = Path(__file__).parent / "apart" / f"{name}.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert " passed" in done.stdout
