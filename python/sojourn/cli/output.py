"""Where a command writes: ``--out`` and ``--force``."""

from __future__ import annotations

import argparse


def output(parser: argparse.ArgumentParser, *, help: str, metavar: str = "DIR", required: bool = False) -> None:  # noqa: A002
    """Add ``--out``, and ``--force``, without which it replaces nothing.

    Parameters
    ----------
    parser
        Of the command.
    help
        Says what is written.
    metavar
        ``DIR`` or ``FILE``.
    required
        Whether ``--out`` must be given.
    """
    parser.add_argument("--out", metavar=metavar, required=required, help=help)
    add_force(parser)


def add_force(parser: argparse.ArgumentParser, what: str = "--out") -> None:
    """Add ``--force`` alone, to a command whose option for its output has another name or a default."""
    parser.add_argument("--force", action="store_true", help=f"replace what {what} names, where it is there already")
