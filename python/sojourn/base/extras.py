"""Packages that only some commands need."""

from __future__ import annotations

import re
from importlib import import_module, metadata
from typing import Any

from sojourn.base.core import SojournError


def install(extra: str) -> str:
    """Return the command that installs what an extra adds: its packages, whatever Sojourn was installed from."""
    try:
        lines = metadata.requires("sojourn") or []
    except metadata.PackageNotFoundError:
        lines = []
    marker = re.compile(rf"""extra == ['"]{extra}['"]""")
    names = [re.split(r"[^\w.-]", line)[0] for line in lines if marker.search(line)]
    return f"python -m pip install {' '.join(names)}" if names else f"install Sojourn with the extra {extra}"


def need(what: str, package: str, extra: str, *modules: str) -> Any:
    """Import a package of an extra, and modules of it, for what needs it."""
    try:
        for module in modules:
            import_module(f"{package}.{module}")
        return import_module(package)
    except ImportError:
        raise SojournError(f"{what} needs {package}, which is not installed: {install(extra)}") from None
