"""Options that several commands have, each declared once."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_SEEDS: Final = 2**64 - 1


def number(text: str) -> float:
    """Read the value of an option: a number, neither infinite nor ``nan``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; allowed: a finite number, as in 0.5")
    return value


def seed(text: str) -> int:
    """Read a seed: a whole number of 64 bits."""
    if not text.isascii() or not text.isdecimal() or int(text[:30]) > _SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; allowed: whole numbers from 0 to {_SEEDS}")
    return int(text)


def add_group(verbs: Any, name: str, description: str, what: str = "action") -> Any:
    """Add a verb that consists of actions, or what they are called, and return the place where these are added."""
    top = verbs.add_parser(name, description=description)
    return top.add_subparsers(title=f"{what}s", metavar=what.upper(), required=True)


@contextmanager
def resumable(place: str | Path | None) -> Iterator[None]:
    """Say that the same command continues after an interruption, if this folder is there."""
    try:
        yield
    except KeyboardInterrupt:
        if place is None or not Path(place).exists():
            raise
        raise KeyboardInterrupt(f"finished runs are in {place}, the same command continues") from None


def add_option(parser: Any, name: str, metavar: str | None, text: str, **more: Any) -> None:
    """Add an option with a value; its help text names a default that the text does not name."""
    default = more.get("default")
    is_named = default is None or "(default" in text
    parser.add_argument(name, metavar=metavar, help=text if is_named else f"{text} (default {default})", **more)


def add_options(parser: Any, name: str, metavar: str, text: str, **more: Any) -> None:
    """Add an option that may be given several times."""
    parser.add_argument(name, metavar=metavar, help=text, action="append", default=[], **more)


class _Plugin(argparse.Action):
    """Adds the algorithms of a file as soon as the option is read, so that every text after it may name them."""

    def __call__(self, _parser: Any, namespace: Any, values: Any, _option: str | None = None) -> None:
        from sojourn.plugins.loading import Named

        files = getattr(namespace, self.dest) or Named()
        setattr(namespace, self.dest, files)
        files.load(values)


def add_plugins(parser: argparse.ArgumentParser) -> None:
    """Add ``--plugin`` to a command, or to each of its actions."""
    actions = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    for action in actions:
        for inner in action.choices.values():
            add_plugins(inner)
    if not actions:
        parser.add_argument(
            "--plugin",
            action=_Plugin,
            metavar="FILE",
            help="an algorithm of your own, repeatable: a Python file or a shared library, which runs not confined "
            "(see `sojourn new aqm NAME --language python` and `sojourn check aqm`)",
        )


def add_out(
    parser: argparse.ArgumentParser,
    *,
    help: str,  # noqa: A002
    metavar: str = "DIR",
    required: bool = False,
    default: str | None = None,
) -> None:
    """Add ``--out``, and ``--force``, without which the command does not replace anything."""
    text = help if default is None else f"{help} (default {default})"
    parser.add_argument("--out", metavar=metavar, required=required, default=default, help=text)
    add_force(parser)


def add_force(parser: argparse.ArgumentParser, what: str = "--out") -> None:
    """Add ``--force`` alone, to a command whose option for its output has another name or a default."""
    add_flag(parser, "--force", f"replace what {what} names, if it exists already")


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


def add_flag(parser: Any, name: str, help: str) -> None:  # noqa: A002
    """Add an option without a value."""
    parser.add_argument(name, action="store_true", help=help)


def add_json(parser: argparse.ArgumentParser, what: str = "print one JSON document and nothing else") -> None:
    """Add ``--json``."""
    add_flag(parser, "--json", what)


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add the scenario as an argument."""
    known = "a scenario file (TOML or JSON), or a name that `sojourn list scenarios` shows"
    parser.add_argument("file", metavar="FILE", help=known)


def add_number(parser: Any, name: str, text: str, **more: Any) -> None:
    """Add an option that takes a whole number."""
    add_option(parser, name, "N", text, type=int, **more)


def add_seed(parser: Any, of: str = "seed of the runs", *, default: int | None = None) -> None:
    """Add ``--seed``; without a default the scenario's."""
    text = f"{of} (default{': the seed of the scenario' if default is None else f' {default}'})"
    parser.add_argument("--seed", type=seed, default=default, metavar="S", help=text)


def add_sets(parser: argparse.ArgumentParser, of: str = "the scenario", *, example: str = "") -> None:
    """Add ``--set``, which overrides values of scenarios."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="sets",
        metavar="KEY=VALUE",
        help=f"override a value of {of}; repeatable{example}",
    )
