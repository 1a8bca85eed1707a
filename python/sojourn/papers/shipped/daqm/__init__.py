"""Shu (2023): the future work of section 7.2, measured inter-arrival times and switching of schemes, carried out."""

from __future__ import annotations

from types import ModuleType


def addition() -> ModuleType:
    """Return the module that runs section 7.2."""
    from sojourn.papers.shipped.daqm import part

    return part
