"""Writes the page on single flows' timelines, ours over Linux's, from recorded samples and runs of the library.

``docs/timelines.py`` runs all of it: half a minute of CPU time.
"""

from __future__ import annotations

import io
from typing import Final

from pictures import DOCS, reduce

from sojourn.crosscheck import timeline

NOTE: Final = (
    "<!-- Made by docs/timelines.py from runs of the library: change it there, or its words in docs/templates. -->\n"
)
POINTS: Final = ("p085", "p017", "p078", "p037", "p095", "p047")


def table(found: list[timeline.Timeline]) -> str:
    """Means of both sides as Markdown."""
    head = list(timeline.COLUMNS.values())
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for one in found:
        for row in timeline.summary(one):
            cells = [f"{value:.1f}" if isinstance(value, float) else str(value) for value in row.values()]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Writes the page and its pictures."""
    folder = DOCS / "images" / "timelines"
    folder.mkdir(exist_ok=True)
    found = timeline.timelines(POINTS)
    for one in found:
        drawn = io.BytesIO()
        timeline.draw(one).savefig(drawn, format="png", dpi=120, facecolor="white", metadata={"Software": None})
        reduce(drawn, folder / f"{one.key}.png")
    names = {one.key: one.point.name.split(": ", 1)[1] for one in found}
    template = (DOCS / "templates" / "timelines.md.in").read_text(encoding="utf-8")
    page = NOTE + template.format(table=table(found), **names)
    (DOCS / "concepts" / "timelines.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
