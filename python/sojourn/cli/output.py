"""Options that several commands have: ``--out``, ``--force``, ``--jobs`` and ``--scheduler``."""

from __future__ import annotations

import argparse


def output(parser: argparse.ArgumentParser, *, help: str, metavar: str = "DIR", required: bool = False) -> None:  # noqa: A002
    """Add ``--out``, and ``--force``, without which the command does not replace anything.

    Parameters
    ----------
    parser
        The command's.
    help
        Help text: what is written.
    metavar
        ``DIR`` or ``FILE``.
    required
        Whether ``--out`` must be given.
    """
    parser.add_argument("--out", metavar=metavar, required=required, help=help)
    add_force(parser)


def add_force(parser: argparse.ArgumentParser, what: str = "--out") -> None:
    """Add ``--force`` alone, to a command whose option for its output has another name or a default."""
    parser.add_argument("--force", action="store_true", help=f"replace what {what} names, if it exists already")


def add_jobs(parser: argparse.ArgumentParser, *, cluster: bool = False) -> None:
    """Add the option ``--jobs``, and with `cluster` also ``--scheduler``."""
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of threads (default: one per core); the results do not depend on it",
    )
    if cluster:
        parser.add_argument(
            "--scheduler",
            metavar="ADDRESS",
            help="run on a Dask cluster: tcp://HOST:8786, or the path of a scheduler file",
        )
