"""Modules stand on each other in one direction, counted as a reader counts: there is no ring of imports.

An import inside a function counts, one for a type checker alone, and one of a name of a package by a module in it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "sojourn"


def modules(root: Path) -> dict[str, Path]:
    """Every module of the package by its name."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.Module, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that this one names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in known else node.module


def arrows(root: Path) -> dict[str, set[str]]:
    """What each module imports of the package; the package itself only re-exports."""
    known = modules(root)
    return {
        name: {each for each in imported(ast.parse(path.read_text(encoding="utf-8")), known) if each in known}
        - {name, root.name}
        for name, path in known.items()
        if name != root.name
    }


def ring(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of a ring of imports, none if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_there_is_no_ring_of_imports() -> None:
    found = ring(arrows(PACKAGE))
    assert not found, "modules that import each other: " + " <- ".join(found)


@pytest.mark.parametrize(
    ("back", "is_ring"),
    [
        ("def f():\n    from package.a import x\n", True),
        ("from package import a\n", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.a import x\n", True),
        ("import json\n", False),
    ],
)
def test_a_ring_is_noticed(tmp_path: Path, back: str, is_ring: bool) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from package.a import x\n")
    (package / "a.py").write_text("import package.b\nx = 1\n")
    (package / "b.py").write_text(back)
    assert bool(ring(arrows(package))) == is_ring


def test_a_child_that_uses_its_parent_is_noticed(tmp_path: Path) -> None:
    inner = tmp_path / "package" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("from package.inner.a import x\ny = 1\n")
    (inner / "a.py").write_text("x = 1\ndef f():\n    from package.inner import y\n")
    assert ring(arrows(inner.parent))
