"""The notebooks: stored without output, and each runs from its first cell to its last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
#: `.ci/weekly` sets it; otherwise the first one alone is run.
ALL = os.environ.get("SOJOURN_TEST_NOTEBOOKS") == "all"


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_output(notebook: Path) -> None:
    document = json.loads(notebook.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    for cell in document["cells"]:
        assert cell["metadata"] == {}
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
    # Words come first, and every cell of code has words above it or in the cell before.
    assert document["cells"][0]["cell_type"] == "markdown"


@pytest.mark.parametrize("notebook", NOTEBOOKS if ALL else NOTEBOOKS[:1], ids=lambda path: path.stem)
def test_it_runs(notebook: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "run.py"), str(notebook)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{notebook.name}: " in done.stdout


def test_a_cell_that_fails_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.ipynb"
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": ["1 / 0"],
        "outputs": [],
        "execution_count": None,
    }
    broken.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "run.py"), str(broken)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "broken.ipynb, cell 1" in done.stderr
    assert "ZeroDivisionError" in done.stderr
