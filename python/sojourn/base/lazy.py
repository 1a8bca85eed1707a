"""Names of a package, each imported from its module when it is first used, so that commands start quickly."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def declared(file: str) -> dict[str, list[str]]:
    """Return the names that a package's stub imports (``from MODULE import NAME as NAME``), by module."""
    found: dict[str, list[str]] = {}
    text = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    for module, name in re.findall(r"^from (\S+) import (\w+) as \2$", text, re.MULTILINE):
        found.setdefault(module, []).append(name)
    return found


def names(package: str, home: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, from the names that each module has for it."""
    module_of = {name: module for module, of in home.items() for name in of}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # `draw` of `sojourn.model` is a module.
        home = import_module(module_of[name])
        value = getattr(home, name) if hasattr(home, name) else import_module(f"{home.__name__}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return get
