"""Writes the page on single flows' timelines, ours over Linux's, from recorded samples and runs of the library.

``docs/timelines.py`` runs all of it: half a minute of CPU time.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Final

from pages import IMAGES, table, write
from pictures import reduce

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crosscheck"))
from crosscheck import timeline

NOTE: Final = (
    "<!-- Made by docs/timelines.py from runs of the library: change it there, or its words in docs/templates. -->\n"
)
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
    folder = IMAGES / "timelines"
    folder.mkdir(exist_ok=True)
    found = timeline.timelines(POINTS)
    for one in found:
        drawn = io.BytesIO()
        timeline.draw(one).savefig(drawn, format="png", dpi=120, facecolor="white", metadata={"Software": None})
        reduce(drawn, folder / f"{one.key}.png")
    names = {one.key: one.point.name.split(": ", 1)[1] for one in found}
    write("concepts/timelines.md", NOTE, {"table": means(found), **names})


if __name__ == "__main__":
    main()
