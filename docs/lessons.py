"""The notebook of the ten lessons, made from `web/lessons.json`; ``docs/generate.py`` writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LESSONS = Path(__file__).parent.parent / "web" / "lessons.json"
NOTEBOOK = "examples/02-ten-lessons.ipynb"
FIRST = """\
# Ten lessons on queues

Each lesson asks a question, runs two schemes on a ready-made scenario, and answers with the numbers of that run.
Choose your answer before you run the cell. All of them take a few seconds.
"""


def listed(texts: Iterable[str]) -> str:
    """The texts as a Python list, a line each where they are long."""
    items = [json.dumps(one, ensure_ascii=False) for one in texts]
    short = f"[{', '.join(items)}]"
    return short if len(short) <= 80 else "[\n" + "".join(f"    {one},\n" for one in items) + "]"


def code(lesson: Mapping[str, Any]) -> Iterable[str]:
    """The cells of a lesson: the run with its picture, and the numbers that the answer names."""
    yield "\n".join(
        [
            f'net = sj.load("{lesson["scenario"]}", sets={listed(lesson["set"])})',
            f"schemes = {listed(lesson['aqms'])}",
            f"results = sj.compare(net, schemes, replicates=1, seed={lesson['seed']})",
            "results.plot.queue_over_time()",
        ]
    )
    for table, index in (("runs", '"scheme"'), ("groups", '["group", "scheme"]')):
        facts = [one for one in lesson["facts"] if (one["group"] is None) == (table == "runs")]
        if facts:
            names = listed(dict.fromkeys(one["metric"] for one in facts))
            yield f"results.{table}.set_index({index})[{names}]"


def cells() -> Iterable[tuple[str, str]]:
    """Kind and text of each cell."""
    yield "markdown", FIRST
    yield "code", "import sojourn as sj"
    for lesson in json.loads(LESSONS.read_text(encoding="utf-8")):
        choices = "".join(f"{letter}. {one}\n" for letter, one in zip("abc", lesson["choices"], strict=True))
        words = [f"## {lesson['title']}", *lesson["text"], f"**{lesson['question']}**", choices]
        yield "markdown", "\n\n".join(words)
        yield from (("code", text) for text in code(lesson))
        yield "markdown", "\n\n".join([f"Answer: **{'abc'[lesson['correct']]}**.", *lesson["answer"]])


def notebook() -> str:
    """The notebook without output."""
    made: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(cells(), 1):
        cell = {"cell_type": kind, "id": f"02-{number:02}", "metadata": {}, "source": text.rstrip().splitlines(True)}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
