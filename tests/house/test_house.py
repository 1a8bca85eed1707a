"""The pictures of DESIGN.md: drawn from the code as it is now, and refused where the code says otherwise."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "docs" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks for its module there.
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


def test_the_pictures_are_those_of_the_code(house: ModuleType) -> None:
    old = [path.name for path, text in house.pictures().items() if path.read_text(encoding="utf-8") != text]
    assert not old, f"run docs/house.py: {', '.join(old)} are out of date"
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    assert all(f"docs/images/{path.name}" in text for path in house.pictures())


def test_every_arrow_is_a_dependency_and_none_follows_from_others(house: ModuleType) -> None:
    assert house.reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": {"b"}, "b": {"c"}, "c": set()}
    whole = house.crates()
    assert whole["sojourn-aqm"] == {"sojourn-units"}
    # A dependency of its tests alone.
    assert "sojourn-sim" not in whole["sojourn-device"]
    assert "plan" in house.packages()["studies"]


def test_the_name_of_a_build_depends_on_every_crate_that_makes_a_run(house: ModuleType) -> None:
    whole, found = house.crates(), {"sojourn-python"}
    open_ = ["sojourn-sim"]
    while open_:
        found.add(crate := open_.pop())
        open_ += whole[crate]
    text = (ROOT / "crates" / "python" / "build.rs").read_text(encoding="utf-8")
    named = re.findall(r'"(\w+)"', text.split("for name in [")[1].split("]")[0])
    assert {f"sojourn-{name}" for name in named} == found


def test_a_module_in_no_part_is_named(house: ModuleType) -> None:
    with pytest.raises(house.HouseError, match=r"^fluxes\.py is in no part of the package"):
        house.part_of("sojourn.fluxes")


def test_hooks_run_what_make_quick_runs() -> None:
    """A hook without its files fails for everyone who commits, and nothing else runs it."""
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    quick = re.search(r"(?m)^quick:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert quick
    (tests,) = re.findall(r"(?m)^        entry: \.venv/(bin/python -m pytest .*)$", hooks)
    assert f"\t$(BIN){tests.removeprefix('bin')}\n" in quick[1]


@pytest.mark.parametrize(
    ("function", "calls", "message"),
    [
        ("pump", "lunch", "crates/sim: pump does not call lunch: a packet's way has changed"),
        ("pomp", "launch", "crates/sim has no function pomp: a packet's way has changed"),
    ],
)
def test_a_way_that_the_code_does_not_take_is_refused(
    house: ModuleType, monkeypatch: pytest.MonkeyPatch, function: str, calls: str, message: str
) -> None:
    monkeypatch.setattr(house, "WAY", ((house.Step("sim", function, "sends", calls), None),))
    with pytest.raises(house.HouseError, match=message):
        house.way(960)
