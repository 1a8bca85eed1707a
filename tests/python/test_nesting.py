"""Documents that nest too deeply are an ordinary error, whichever way they come in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn import plan
from sojourn.base import core, nesting
from sojourn.base.core import SojournError
from sojourn.plan import folder
from sojourn.studies.tune.plan import Plan as Tuning

DEPTH = 40_000
WHY = "is nested too deeply; allowed: at most 128 levels of tables and lists"
JSON = '{"name": "deep", "flows": ' + "[" * DEPTH + "]" * DEPTH + "}"
TOML = 'name = "deep"\nflows = ' + "[" * DEPTH + "]" * DEPTH + "\n"
DOTTED = ".".join(["a"] * DEPTH) + " = 1\n"


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [JSON, JSON[: DEPTH + 30], TOML, DOTTED])
def test_the_native_reader_refuses_a_deep_scenario(text: str) -> None:
    with pytest.raises(SojournError, match=f"^deep:[12]:[0-9]+: {WHY}$"):
        core.load(text, source="deep")


def test_an_override_cannot_make_a_scenario_deep() -> None:
    for sets in (["x=" + "[" * DEPTH + "]" * DEPTH], [".".join(["x"] * DEPTH) + "=1"]):
        with pytest.raises(SojournError, match=WHY):
            sj.load("dumbbell", sets=sets)


@pytest.mark.parametrize(
    "read",
    [
        lambda place: sj.load(file(place, "deep.json", JSON)),
        lambda place: sj.load(file(place, "deep.toml", TOML)),
        lambda place: plan.loads(TOML, source="deep"),
        lambda place: plan.loads(DOTTED, source="deep"),
        lambda place: plan.loads("x = {y = 1, " + DOTTED[:-1] + "}", source="deep"),
        lambda place: plan.loads("[" + DOTTED[:-5] + "]", source="deep"),
        lambda place: Tuning.read(file(place, "deep.toml", TOML)),
        lambda place: folder.read_meta(file(place, "meta.json", JSON).parent),
        lambda place: sj.Network.from_dict({"name": "deep", "flows": deep(DEPTH)}),
        lambda place: sj.Network.from_dict({"name": "deep", "flows": deep(500)}),
        lambda place: core.run_many({"name": "deep", "flows": deep(DEPTH)}, [], jobs=1),
    ],
)
def test_every_way_in_gives_the_same_error(read: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(SojournError, match=WHY):
        read(tmp_path)


def test_128_levels_are_allowed_and_a_list_within_itself_is_not() -> None:
    nesting.check(deep(128), "the list")
    nesting.loads_toml(f"a = {'[' * 127}{']' * 127}", "deep")
    nesting.loads_toml(".".join(["a"] * 127) + " = 1", "deep")
    with pytest.raises(SojournError, match=f"^the list {WHY}$"):
        nesting.check(deep(129), "the list")
    with pytest.raises(SojournError, match=f"^deep: the document {WHY}$"):
        nesting.loads_toml(f"a = {'[' * 128}{']' * 128}", "deep")
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(SojournError, match=WHY):
        nesting.check(endless, "the list")
