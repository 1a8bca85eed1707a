"""Barczyk and Chydzinski (2022): windows of so many packets, measured at a queue in simulation and on the device."""

from __future__ import annotations

import argparse
from pathlib import Path

from sojourn.base import extras
from sojourn.base.core import SojournError

from . import document


def run(options: argparse.Namespace, name: str, where: Path) -> str:
    """Run the study as ``sojourn papers run`` says, and return what the command prints."""
    try:
        from . import part
    except ModuleNotFoundError as error:
        raise SojournError(f"this paper needs {error.name}: {extras.install('papers')}") from None
    return part.run(document.load(name, where), options)


def summary(name: str) -> tuple[int, int, str]:
    """Return how many claims and printed numbers the study has, and its title."""
    study = document.load(name)
    count = int(study.table1[[row.metric for row in study.rows]].notna().sum().sum())
    return len(study.claims), count, study.title
