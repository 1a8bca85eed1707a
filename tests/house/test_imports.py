"""Modules stand on each other in one direction: no ring of imports, not even through imports inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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


def imported(tree: ast.Module, known: dict[str, Path]) -> Iterator[str]:
    """The modules that this one runs; what is imported for a type checker alone is none."""
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in known else node.module


def ring(root: Path) -> list[str]:
    """The modules of a ring of imports, none if there is none; the package itself only re-exports."""
    known = modules(root)
    graph = {
        name: {each for each in imported(ast.parse(path.read_text(encoding="utf-8")), known) if each in known}
        - {name}
        for name, path in known.items()
        if name != root.name
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_there_is_no_ring_of_imports() -> None:
    assert not ring(PACKAGE), "modules that import each other: " + " <- ".join(ring(PACKAGE))


@pytest.mark.parametrize(
    ("back", "is_ring"),
    [
        ("def f():\n    from package.a import x\n", True),
        ("from package import a\n", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.a import x\n", False),
    ],
)
def test_a_ring_is_noticed(tmp_path: Path, back: str, is_ring: bool) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from package.a import x\n")
    (package / "a.py").write_text("import package.b\nx = 1\n")
    (package / "b.py").write_text(back)
    assert bool(ring(package)) == is_ring
