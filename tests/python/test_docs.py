"""Examples in docstrings run, and generated pages are up to date; test_code_blocks.py runs those on pages."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

import sojourn
from shared import script
from sojourn.base import core

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["sojourn", *(module.name for module in pkgutil.walk_packages(sojourn.__path__, "sojourn."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith(("__main__", "_native"))])
def test_docstring_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_there_are_docstring_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(name) for name in ("sojourn", "sojourn.model.network", "sojourn.base.units")]
    assert all(any(test.examples for test in finder.find(module)) for module in modules)


def test_generated_pages_are_what_the_library_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


SCENARIO: list[dict[str, str]] = script("docs/generate.py").SECTIONS
COMPLETE: dict[str, Any] = tomllib.loads(SCENARIO[0]["example"])


def accepted(example: str) -> dict[str, Any]:
    """The canonical scenario of an example: the complete one with the example's keys in place of its own."""
    document = COMPLETE | tomllib.loads(example)
    return core.load(json.dumps(document), source="example")


@pytest.mark.parametrize("section", SCENARIO, ids=[section["title"] for section in SCENARIO])
def test_examples_of_the_scenario_are_valid_and_show_their_table(section: dict[str, str]) -> None:
    canonical = json.dumps(accepted(section["example"]))
    for name in ("kind", "key"):
        if name in section:
            assert f'"{section[name]}"' in canonical, section["title"]
    if "key" in section:
        assert section["key"] in section["example"]


def test_every_table_of_the_scenario_has_a_section_with_an_example() -> None:
    # Two tables that differ only in the quantity they hold share a section; quantities and schemes have their own.
    tables = {name.rstrip("2") for name in core.schema()["$defs"] if name[0].isupper()}
    assert {section["table"] for section in SCENARIO} == tables | {""}
    for name in ("TransportTable", "TrafficTable"):
        kinds = {one["properties"]["kind"]["const"] for one in core.schema()["$defs"][name]["oneOf"]}
        assert {section["kind"] for section in SCENARIO if section["table"] == name} == kinds
    page = (ROOT / "docs" / "reference" / "scenario.md").read_text(encoding="utf-8")
    for heading in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title = heading.partition("\n")[0]
        assert "```toml" in heading or title in ("Quantities", "Bounds"), title


def test_the_reference_has_no_names_of_the_source() -> None:
    names = {name for name in core.schema()["$defs"] if name[0].isupper()}
    for page in sorted((ROOT / "docs" / "reference").rglob("*.md")):
        text = page.read_text(encoding="utf-8").partition("\n")[2]
        found = set(re.findall(r"\b[A-Z][A-Za-z]+2?\b", text)) & (names - {"Profile", "Recovery"})
        assert not found, (page.name, found)
        for pattern in (r"\w::\w", r"crates/", r"\.rs\b", r"(?i)seed ?00\d", r"[Ff]unction names below"):
            assert not re.search(pattern, text), (page.name, pattern)


def test_pages_of_algorithms_begin_with_what_the_algorithm_does() -> None:
    for entry in core.aqms():
        text = (ROOT / "docs" / "reference" / "algorithms" / f"{entry['name']}.md").read_text(encoding="utf-8")
        beginning, _, rest = text.partition("**When to use it.**")
        sentences = re.findall(r"[.:](?:\s|$)", beginning.partition("\n# ")[2])
        assert len(sentences) >= 3, entry["name"]
        for part in ("## Parameters", "## Work per packet", "## References"):
            assert part in rest, (entry["name"], part)
        assert ("## Presets" in rest) == bool(entry["presets"])
        assert all(f"| `preset {preset}` |" in rest for preset in entry["presets"])


def test_pages_that_count_the_algorithms_count_the_registered_ones() -> None:
    for page in ("README.md", "docs/index.md", "docs/comparison.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        counts = re.findall(r"(\d+) (?:queue management )?algorithms", text)
        assert set(counts) == {str(len(core.aqms()))}, f"{page} says {counts}"


def test_former_names_of_presets_warn_once_and_name_the_present_one() -> None:
    with pytest.warns(FutureWarning, match='red: "preset seed000" is now called "preset shu2023"') as seen:
        text = core.parse_aqm("red preset seed000")
    assert len(seen) == 1
    assert text == core.parse_aqm("red preset shu2023")
    document = COMPLETE | {"changes": [{"at": "30 s", "scheme": "avq preset seed004"}]}
    with pytest.warns(FutureWarning, match=r"office.toml: key `changes\[0\].scheme`: avq: .*preset hassan"):
        loaded = core.load(json.dumps(document), source="office.toml")
    assert loaded["changes"][0]["scheme"] == core.parse_aqm("avq preset hassan")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        core.load(json.dumps(loaded), source="office.toml")


FORMER_TWICE = """
import warnings
from sojourn.base import core
core.parse_aqm("red preset seed000")
# As plotting libraries do: Python then forgets which warnings it has shown.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
core.parse_aqm("red preset seed000")
core.parse_aqm("avq preset seed004")
"""


def test_a_former_name_of_a_preset_warns_once_in_a_process() -> None:
    done = subprocess.run([sys.executable, "-c", FORMER_TWICE], capture_output=True, text=True, check=True)
    shown = [line for line in done.stderr.splitlines() if "is now called" in line]
    assert len(shown) == 2, done.stderr
    assert ["red:" in shown[0], "avq:" in shown[1]] == [True, True]
