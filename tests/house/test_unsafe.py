"""Every use of `unsafe` is listed in docs/concepts/unsafe.md with what tests it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "concepts" / "unsafe.md"
ITEM = re.compile(r"\bfn (\w+)|\bimpl(?:<.*?>)? (?:\w+(?:<.*?>)? for )?([\w:]+)|\btrait (\w+)")


def uses() -> Counter[tuple[str, str]]:
    """Count uses of the keyword by file and by the function, implementation or trait that they are in."""
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        item = ""
        for line in path.read_text().splitlines():
            code = line.split("//")[0]
            if name := ITEM.search(code):
                item = next(group for group in name.groups() if group)
            if re.search(r"\bunsafe\b", code):
                found[str(path.relative_to(ROOT)), item] += 1
    return found


def listed() -> Counter[tuple[str, str]]:
    """Read the tables of the page: a heading names the file, a row an item and its number of uses."""
    found: Counter[tuple[str, str]] = Counter()
    file = ""
    for line in PAGE.read_text().splitlines():
        if heading := re.match(r"## `(.*)`", line):
            file = heading[1]
        elif row := re.match(r"\| `(\S+)` \| (\d+) \| .+ \| .+ \|$", line):
            found[file, row[1]] += int(row[2])
    return found


def test_every_use_of_unsafe_is_listed_with_what_tests_it() -> None:
    assert listed() == uses(), "write into docs/concepts/unsafe.md what differs, with its purpose and test"
    stated = re.search(r"(\d+) uses of `unsafe`", PAGE.read_text())
    assert stated is not None
    assert int(stated[1]) == uses().total()
