"""The clone of Sojourn's sources, where the package is part of one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_MARKS: Final = ("Cargo.toml", "crates/aqm/src/registry.rs", "python/sojourn/__init__.py", "scaffold/kinds.toml")
"""Files by which a clone is recognised."""


def tree(start: Path) -> Path | None:
    """Return the clone that a folder belongs to; None where it belongs to none."""
    return next((one for one in (start, *start.parents) if all((one / mark).is_file() for mark in _MARKS)), None)


def root() -> Path | None:
    """Return the clone that this package is part of; None where it is installed without its sources."""
    found = Path(__file__).resolve().parents[3]
    return found if tree(found) == found else None
