"""Examples in docstrings run, and generated pages are up to date; test_code_blocks.py runs those on pages."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["sojourn", *(module.name for module in pkgutil.walk_packages(sojourn.__path__, "sojourn."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith(("__main__", "_native"))])
def test_docstring_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_there_are_docstring_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(name) for name in ("sojourn", "sojourn.network", "sojourn.units")]
    assert all(any(test.examples for test in finder.find(module)) for module in modules)


def test_generated_pages_are_what_the_library_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
