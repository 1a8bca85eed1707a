"""Names and addresses in texts: no placeholder, and nobody is sent to a package that is somebody else's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = "tests/house/test_names.py"
WRONG = re.compile(
    r"example\.invalid|\b(pip3?|pipx|uv tool|uv) (install|add|run) [^|`]*(?<![\w/.*-])sojourn(?![\w./*-])"
    r"|\bcargo (add|install) sojourn(?![\w-])"
)


def test_no_text_has_a_placeholder_or_sends_to_a_name_that_is_not_ours() -> None:
    """The name `sojourn` on crates.io belongs to somebody else, and no release is on PyPI."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = []
    for name in listed:
        file = ROOT / name
        if file.is_symlink() or file.suffix in {".gz", ".lock", ".png", ".zst", ".bin"} or name == HERE:
            continue
        lines = file.read_text(errors="replace").splitlines()
        found += [f"{name}: {line.strip()[:100]}" for line in lines if WRONG.search(line)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("pip install sojourn", True),
        ("python -m pip install --user 'sojourn[tune]'", True),
        ("pipx install sojourn", True),
        ("uv tool install sojourn==0.1.0", True),
        ("cargo add sojourn", True),
        ("https://example.invalid/sojourn", True),
        ("cargo add sojourn-aqm", False),
        ("pipx install dist/sojourn-*.whl", False),
        ('pip install "$(ls dist/sojourn-*.whl)[notebooks]"', False),
        ("pip install ./sojourn-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl", False),
    ],
)
def test_what_sends_to_a_foreign_name(text: str, is_wrong: bool) -> None:
    assert bool(WRONG.search(text)) is is_wrong
