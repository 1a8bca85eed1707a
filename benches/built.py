"""What the benches share: building a program of theirs, and printing a table."""
# It runs cargo by name, with arguments of its own.
# ruff: noqa: S603, S607

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(name: str) -> Path:
    """The program of `benches/NAME`, compiled as it is released."""
    package = f"sojourn-bench-{name}"
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", package], cwd=ROOT, check=True)
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return Path(metadata["target_directory"]) / "release" / name


def show(header: list[str], rows: list[list[str]]) -> None:
    """Prints a table."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = zip(row, widths, strict=True)
        print("  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(cells)))
