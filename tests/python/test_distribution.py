"""The tests of a file share a process: what one of them has built, the others need not build again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_the_tests_of_a_file_run_in_one_process() -> None:
    words = (ROOT / "Makefile").read_text()
    options = re.findall(r"--dist \S+(?: --\S*reorder)?", words)
    assert len(options) == 1
    files = ["tests/python/test_units.py", "tests/python/test_fairness.py", "tests/python/test_scheme.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-n", "2", *options[0].split(), *files],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=True,
    )
    ran = re.findall(r"^\[(gw\d)\] .* PASSED ([^:]+)::", done.stdout, re.MULTILINE)
    assert {file for _, file in ran} == set(files)
    assert len(set(ran)) == len(files)
    # More than one process was there.
    assert len({worker for worker, _ in ran}) == 2


def test_all_tests_that_use_the_machines_network_run_in_one_process() -> None:
    """Namespaces and devices have names that two laboratories would share."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("conftest_of_tests", ROOT / "tests" / "conftest.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class Configuration:
        option = type("Option", (), {"tx": ["2*popen"], "maxschedchunk": None, "loadscopereorder": False})

        def getvalue(self, name: str) -> object:
            return getattr(self.option, name)

        getoption = getvalue

    scheduler = module.pytest_xdist_make_scheduler(Configuration(), None)
    names = ["tests/device/test_page.py::a", "tests/device/test_traffic.py::b[x/y]"]
    assert {scheduler._split_scope(name) for name in names} == {"tests/device"}
    assert scheduler._split_scope("tests/python/test_units.py::a") == "tests/python/test_units.py"
