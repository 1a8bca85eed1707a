"""Shu (2023): losses as its simulator counts them, and the future work of section 7.2 carried out."""

from __future__ import annotations

from types import ModuleType

from sojourn.studies.papers.shipped.daqm.distance import record, sections
from sojourn.studies.papers.shipped.daqm.modes import modes
from sojourn.studies.papers.shipped.daqm.monitor import columns

__all__ = ["addition", "columns", "modes", "record", "sections"]


def addition() -> ModuleType:
    """Return the module that runs section 7.2."""
    from sojourn.studies.papers.shipped.daqm import part

    return part
