"""``sojourn crosscheck``, which is in a clone of Sojourn's sources: see ``crosscheck/`` there."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any, NoReturn

from sojourn.base import sources
from sojourn.base.core import SojournError


def add(verbs: Any) -> None:
    """Add the verb ``crosscheck`` to `verbs`."""
    clone = sources.root()
    if clone is None:
        parser = verbs.add_parser(
            "crosscheck",
            description="In a clone of Sojourn's sources: compare the simulator with Linux, ns-3 or ns-2.",
        )
        parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        parser.set_defaults(command=_refuse)
        return
    folder = str(clone / "crosscheck")
    if folder not in sys.path:
        sys.path.append(folder)
    import_module("crosscheck.command").add(verbs)


def _refuse(_: argparse.Namespace) -> NoReturn:
    raise SojournError(
        "crosscheck: it is not in this package, but in the folder crosscheck/ of Sojourn's sources; in a clone, "
        "`make native` and then `.venv/bin/sojourn crosscheck`"
    )
