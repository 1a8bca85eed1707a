"""The parts of the Python package stand in layers. Every import goes down, those for types and in functions, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from test_imports import PACKAGE, modules

LAYERS = (
    ("base",),
    ("stats",),
    ("model",),
    ("results", "plugins", "tc"),
    ("plan",),
    ("view",),
    ("real", "gym", "theory"),
    ("studies",),
    ("scaffold",),
    ("cli",),
)
"""The lowest first. A part imports from its own layer only itself."""


def layer(part: str) -> int:
    return next(level for level, parts in enumerate(LAYERS) if part in parts)


def arrows(root: Path) -> Iterator[tuple[str, str, str]]:
    """The imports between parts: module, its part, the imported part."""
    known = modules(root)
    for name, path in known.items():
        if name.count(".") == 0 or name.endswith("__main__"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == root.name:
                is_root = node.module == root.name
                for one in {f"{root.name}.{each.name}" for each in node.names} if is_root else {node.module}:
                    other = one.split(".")[1]
                    if other != name.split(".")[1] and (root / other).is_dir():
                        yield name, name.split(".")[1], other


def test_every_import_between_parts_goes_down() -> None:
    up = {(module, part, other) for module, part, other in arrows(PACKAGE) if layer(other) >= layer(part)}
    assert not up, "\n".join(f"{module} imports from {other}" for module, _, other in sorted(up))
