"""Shu (2023): losses as its simulator counts them, and the future work of section 7.2 carried out."""

from __future__ import annotations

from types import ModuleType

from .distance import record, sections
from .modes import modes
from .monitor import columns

__all__ = ["addition", "columns", "modes", "record", "sections"]


def addition() -> ModuleType:
    """Return the module that runs section 7.2."""
    from . import part

    return part
