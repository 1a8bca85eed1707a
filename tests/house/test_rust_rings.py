"""Rust modules, children and parents among them, need each other in one direction, but for the ring in DESIGN.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"
ALLOWED = "crates/transport/src/sender/core.rs"
"""A file of the ring that may be: the sender, whose parts are one type."""
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
COMMENT = re.compile(r"//[^\n]*")
USE = re.compile(r"^\s*(?P<public>pub(?:\([^)]*\))? )?use (?P<tree>[^;]+);", re.MULTILINE)
PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")
Name = tuple[str, ...]


def branches(tree: str) -> Iterator[str]:
    """The paths of a `use`, braces taken apart."""
    depth, parts, part = 0, [], ""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree.split(" as ", maxsplit=1)[0].strip()
        return
    for letter in rest:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if (letter == "," and depth == 0) or depth < 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    for inner in filter(str.strip, parts):
        yield from branches(head + inner.strip())


class Crate:
    """The modules of a crate, each with its file, what it re-exports and what it names."""

    def __init__(self, root: Path) -> None:
        self.files: dict[Name, Path] = {}
        self.named: dict[Name, set[Name]] = {}
        self.exports: dict[Name, dict[str, Name]] = {}
        for path in sorted(root.rglob("*.rs")):
            parts = path.relative_to(root).with_suffix("").parts
            if "tests" not in parts and parts[-1] not in ("main", "test_host"):
                self.files[() if parts == ("lib",) else parts] = path
        for module, path in self.files.items():
            text = TESTS.sub("", COMMENT.sub("", path.read_text(encoding="utf-8")))
            self.exports[module], self.named[module] = {}, set()
            for use in USE.finditer(text):
                for branch in branches(" ".join(use["tree"].split())):
                    if target := self.absolute(module, branch):
                        if use["public"]:
                            self.exports[module][target[-1]] = target
                        else:
                            self.named[module].add(target)
            self.named[module] |= {
                target for path in PATH.findall(USE.sub("", text)) if (target := self.absolute(module, path))
            }

    def absolute(self, module: Name, path: str) -> Name | None:
        """A path from the crate's root, if it is of this crate."""
        first, *rest = path.split("::")
        if first == "crate":
            return tuple(rest)
        if first == "self" or (*module, first) in self.files:
            return (*module, *(rest if first == "self" else path.split("::")))
        at = module
        parts = path.split("::")
        while parts and parts[0] == "super":
            at, parts = at[:-1], parts[1:]
        return (*at, *parts) if at != module or first == "super" else None

    def home(self, target: Name) -> Name:
        """The module that defines what a path names."""
        for _ in range(8):
            at = max((m for m in self.files if target[: len(m)] == m), key=len, default=())
            if len(at) == len(target) or (there := self.exports[at].get(target[len(at)])) is None:
                return at
            target = (*there, *target[len(at) + 1 :])
        return at

    def edges(self) -> dict[Name, set[Name]]:
        """What each module needs of others, its parent and its children included."""
        return {
            module: {there for target in named if (there := self.home(target)) != module}
            for module, named in self.named.items()
        }


def rings(edges: dict[Name, set[Name]]) -> list[set[Name]]:
    """Modules that reach each other."""

    def reach(start: Name) -> set[Name]:
        found, open_ = set[Name](), [start]
        while open_:
            for there in edges.get(open_.pop(), ()):
                if there not in found:
                    found.add(there)
                    open_.append(there)
        return found

    reached = {module: reach(module) for module in edges}
    found = {
        frozenset({other for other in there if module in reached.get(other, ())})
        for module, there in reached.items()
        if module in there
    }
    return sorted((set(ring) for ring in found), key=len)


@pytest.mark.parametrize("name", sorted(path.name for path in CRATES.iterdir() if (path / "src").is_dir()))
def test_there_is_no_other_ring_of_modules(name: str) -> None:
    crate = Crate(CRATES / name / "src")
    for ring in rings(crate.edges()):
        files = sorted(crate.files[module].relative_to(CRATES.parent).as_posix() for module in ring)
        assert ALLOWED in files, "modules that need each other: " + ", ".join(files)


def folders(edges: dict[Name, set[Name]]) -> dict[Name, set[Name]]:
    """What each folder of a crate needs of the others, and of the files beside it."""
    found: dict[Name, set[Name]] = {}
    for module, named in edges.items():
        found.setdefault(module[:1], set()).update({there[:1] for there in named} - {module[:1]})
    return found


def test_folders_of_algorithms_stand_on_each_other_in_one_direction() -> None:
    assert rings(folders(Crate(CRATES / "aqm" / "src").edges())) == []


def test_a_ring_of_folders_is_noticed() -> None:
    edges = {("a", "one"): {("b", "two")}, ("b", "three"): {("a", "four")}, ("a", "four"): set(), ("b", "two"): set()}
    assert not rings(edges)
    assert rings(folders(edges)) == [{("a",), ("b",)}]


def test_a_ring_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\npub use a::One;\n")
    (tmp_path / "a.rs").write_text("use crate::{b::{Two, Three}};\npub struct One;\n")
    (tmp_path / "b.rs").write_text("pub struct Two;\n#[cfg(test)]\nmod tests {\n    use crate::One;\n}\n")
    assert not rings(Crate(tmp_path).edges())
    (tmp_path / "b.rs").write_text("pub struct Two;\nfn f(_: super::One) {}\n")
    assert rings(Crate(tmp_path).edges()) == [{("a",), ("b",)}]


def test_a_child_that_uses_its_parent_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a.rs").write_text("mod part;\nuse part::Part;\npub struct Whole(Part);\n")
    (tmp_path / "a" / "part.rs").write_text("use super::Whole;\npub struct Part;\n")
    assert rings(Crate(tmp_path).edges()) == [{("a",), ("a", "part")}]
    # What the parent only re-exports it does not need.
    (tmp_path / "a.rs").write_text("mod part;\npub use part::Part;\npub struct Whole;\n")
    assert not rings(Crate(tmp_path).edges())
