"""Packages that only some commands need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sojourn.base.core import SojournError


def need(what: str, package: str, extra: str, *modules: str) -> Any:
    """Import a package of an extra, and modules of it, for what needs it."""
    try:
        for module in modules:
            import_module(f"{package}.{module}")
        return import_module(package)
    except ImportError:
        raise SojournError(
            f"{what} needs {package}, which is not installed: python -m pip install 'sojourn[{extra}]'"
        ) from None
