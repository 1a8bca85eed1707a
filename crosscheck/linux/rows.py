"""Rows of recordings: JSON lines while they come, CSV when they are committed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_table(results: Path, file: Path, order: Callable[[dict[str, Any]], Any]) -> None:
    """Writes the results as CSV."""
    rows = sorted(map(json.loads, results.read_text().splitlines()), key=order)
    with file.open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
