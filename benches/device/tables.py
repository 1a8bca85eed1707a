"""Tables in Markdown."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    print(f"\n{title}\n")
    for row in [header, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
    sys.stdout.flush()


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Return the median and, in brackets, the least and the greatest of some runs."""
    least, most = min(values), max(values)
    return f"{statistics.median(values):{form}} ({least:{form}} to {most:{form}})"
