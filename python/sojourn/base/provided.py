"""What modules of a higher layer give to lower ones, by name: pictures and pages of results, executors of runs.

A lower module asks for a name and does not import its place. The package itself, which knows all layers, says where
each is. A place is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_PLACES: Final[dict[str, str]] = {}


def register(name: str, place: str) -> None:
    """Say where something is: ``module``, or ``module:attribute``."""
    _PLACES[name] = place


def get(name: str) -> Any:
    """Return what is registered under a name."""
    module, _, attribute = _PLACES[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def names() -> list[str]:
    """Return all names."""
    return sorted(_PLACES)
