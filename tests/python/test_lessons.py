"""The lessons of the page (`web/lessons.json`): each one's command runs, and its answer says what the run gives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shared import Command
from sojourn.results import metrics

LESSONS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "web" / "lessons.json").read_text("utf-8"))
KEYS = ["id", "title", "scenario", "set", "aqms", "seed", "watch", "text", "question", "choices", "correct"]
KEYS += ["answer", "facts"]
#: How the unit of a metric is said in an answer: what a number there is multiplied by.
SAID: dict[str, dict[str, float]] = {
    "bit/s": {"Mbit/s": 1e6},
    "": {"%": 0.01},
    "ms": {"ms": 1, "s": 1000},
    "s": {"s": 1},
}


def arguments(lesson: dict[str, Any]) -> list[str]:
    """The words behind `sojourn` that repeat the lesson's run."""
    sets = [word for one in lesson["set"] for word in ("--set", one)]
    aqms = [word for one in lesson["aqms"] for word in ("--aqm", one)]
    return ["compare", lesson["scenario"], *sets, *aqms, "--seed", str(lesson["seed"])]


def said(fact: dict[str, Any]) -> tuple[str, float]:
    """The number of an answer as written, and the factor to the metric's unit."""
    number, word = fact["digits"].split(" ")
    unit = metrics.unit_of(fact["metric"], "run" if fact["group"] is None else "group")
    # Counts are said with any noun: packets, segments, timeouts.
    return number, SAID[unit][word] if unit in SAID else 1


def test_there_are_ten_in_the_agreed_form() -> None:
    assert len(LESSONS) == len({lesson["id"] for lesson in LESSONS}) == 10
    for lesson in LESSONS:
        assert list(lesson) == KEYS, lesson["id"]
        assert re.fullmatch("[a-z][a-z0-9-]*", lesson["id"])
        assert len(lesson["aqms"]) == 2
        assert lesson["watch"] in {"backlog", "delay", "goodput", "signals", "queue"}
        assert 2 <= len(lesson["text"]) <= 4
        assert 1 <= len(lesson["answer"]) <= 3
        assert len(set(lesson["choices"])) == 3
        assert lesson["correct"] in range(3)
        # Plain text: the page shows it as it is.
        assert not re.search(r"[`*_]{2}|`|<[a-z]", " ".join([*lesson["text"], *lesson["answer"]])), lesson["id"]


def test_the_position_of_the_right_choice_tells_nothing() -> None:
    assert {lesson["correct"] for lesson in LESSONS} == {0, 1, 2}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson["id"])
def test_its_answer_is_what_the_run_gives(lesson: dict[str, Any], command: Command) -> None:
    done = command(*arguments(lesson), "--replicates", 1, "--series", "none", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["scenario"]["name"] == lesson["scenario"]
    assert [one["text"] for one in document["schemes"]] == lesson["aqms"]
    answer = " ".join([lesson["question"], *lesson["answer"]])
    for fact in lesson["facts"]:
        run = document["runs"][fact["aqm"]]
        scope = run if fact["group"] is None else next(g for g in run["groups"] if g["group"] == fact["group"])
        value = scope["metrics"][fact["metric"]]
        number, factor = said(fact)
        where = f"{lesson['id']}: {fact}, which is {value}"
        assert float(f"{value:.6g}") == fact["value"], where
        assert f"{value / factor:.{len(number.partition('.')[2])}f}" == number, where
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.]*\d)", answer), where


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson["id"])
def test_its_facts_compare_the_schemes(lesson: dict[str, Any]) -> None:
    """In every lesson some number differs between the schemes, except where the lesson is that none does."""
    pairs: dict[tuple[str, str | None], dict[int, str]] = {}
    for fact in lesson["facts"]:
        assert fact["aqm"] not in pairs.setdefault((fact["metric"], fact["group"]), {})
        pairs[fact["metric"], fact["group"]][fact["aqm"]] = fact["digits"]
    both = [pair for pair in pairs.values() if len(pair) == 2]
    assert both
    assert any(pair[0] != pair[1] for pair in both) != (lesson["id"] == "wifi-cell")
