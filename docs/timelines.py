"""Writes the page on single flows' timelines, ours over Linux's, from recorded samples and runs of the library.

``docs/timelines.py`` runs all of it: half a minute of CPU time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from pages import IMAGES, save_small, table, write

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crosscheck"))
from crosscheck import timeline

POINTS: Final = ("p085", "p017", "p078", "p037", "p095", "p047")


def means(found: list[timeline.Timeline]) -> str:
    """Means of both sides as Markdown."""
    rows = [
        [f"{value:.1f}" if isinstance(value, float) else str(value) for value in row.values()]
        for one in found
        for row in timeline.summary(one)
    ]
    return table(timeline.COLUMNS.values(), rows).rstrip("\n")


def main() -> None:
    """Writes the page and its pictures."""
    (IMAGES / "timelines").mkdir(exist_ok=True)
    found = timeline.timelines(POINTS)
    for one in found:
        save_small(timeline.draw(one), f"timelines/{one.key}.png")
    names = {one.key: one.point.name.split(": ", 1)[1] for one in found}
    write("concepts/timelines.md", {"table": means(found), **names})


if __name__ == "__main__":
    main()
