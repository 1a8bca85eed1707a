"""The kinds of things that can be added, read from ``kinds.toml``: their places, and what is left to do.

The kinds that change Sojourn's sources are in the folder ``scaffold`` of a clone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from string import Template
from typing import Any, Final

from sojourn.base import sources

__all__ = ["KINDS", "OF_SOURCES", "POSITIONS", "Kind", "Left", "Place", "Taken", "fill", "kind"]

OF_SOURCES: Final = ("aqm", "congestion-control", "traffic", "link-key", "metric", "subcommand", "figure")
"""The kinds that change the sources, in the order of their ``kinds.toml``: a literal, as the help reads no file."""

KINDS: Final = (*OF_SOURCES, "paper", "scenario")
"""All kinds."""

POSITIONS: Final = ("sorted", "after", "before", "inside", "end")
"""Where a place in an existing file is; a place with none of them is a new file."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file that a new thing needs, or a line of one that exists.

    Parameters
    ----------
    file
        Relative to the source tree, or to the present folder; with ``${name}``.
    what
        What stands there, for people.
    content
        What is written, with ``${name}`` and the like.
    position
        One of :data:`POSITIONS`; empty: the file is new.
    pattern
        The regular expression of that position.
    within
        A regular expression for the part of the file that is searched; empty: all of it.
    times
        Of ``inside``: how many matches there must be.
    tree
        Whether the place is one of the source tree only.
    """

    file: str
    what: str
    content: str
    position: str = ""
    pattern: str = ""
    within: str = ""
    times: int = 1
    tree: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """A step that is left to the user: what to do, and the command for it, if there is one."""

    do: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """Where names are taken: `pattern` finds them in a `file`, or in the paths that `glob` finds."""

    pattern: str
    file: str = ""
    glob: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Names that a regular expression matches, and why they are refused."""

    pattern: str
    why: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of things that can be added.

    Parameters
    ----------
    name
        As in the command.
    what
        In a line.
    example
        A name.
    form
        ``identifier`` or ``file name``.
    longest
        Characters of a name at most.
    test
        The command that shows the failing test.
    fails
        The name of that test.
    taken
        Where the names are that others have.
    refused
        Further names that are refused.
    places, left
        What is written, and what is left to do.
    """

    name: str
    what: str
    example: str
    form: str
    test: str
    fails: str
    taken: tuple[Taken, ...]
    refused: tuple[Refused, ...]
    places: tuple[Place, ...]
    left: tuple[Left, ...]
    longest: int = 24

    @property
    def needs_tree(self) -> bool:
        """Whether it can only be added to the source tree."""
        return self.name in OF_SOURCES


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its ``${name}`` replaced; a name that is not there is an error of the template.

    Examples
    --------
    >>> fill("pub mod ${name};", {"name": "flow_red"})
    'pub mod flow_red;'
    """
    return Template(text).substitute(values)


@cache
def kind(name: str) -> Kind:
    """Return a kind of :data:`KINDS`; one of :data:`OF_SOURCES` needs a clone that this package is part of."""
    folder = _folder(name)
    table = _read(folder)[name]
    return Kind(
        name=name,
        **{key: table[key] for key in ("what", "example", "form", "test", "fails")},
        taken=tuple(Taken(**one) for one in table["taken"]),
        refused=tuple(Refused(**one) for one in table.get("refused", ())),
        places=tuple(_place(one, folder) for one in table["place"]),
        left=tuple(Left(**one) for one in table["left"]),
        longest=table.get("longest", 24),
    )


def _folder(name: str) -> Traversable:
    clone = sources.root()
    return clone / "scaffold" if name in OF_SOURCES and clone else resources.files("sojourn") / "scaffold"


def _read(folder: Traversable) -> dict[str, Any]:
    return tomllib.loads((folder / "kinds.toml").read_text(encoding="utf-8"))


def _place(table: Mapping[str, Any], folder: Traversable) -> Place:
    found = [one for one in POSITIONS if one in table]
    position = found[0] if found else ""
    rest = {key: table[key] for key in ("file", "what", "within", "times", "tree") if key in table}
    if set(table) - {one.name for one in fields(Place)} - {"text", "template", *found[:1]}:
        raise ValueError(f"kinds.toml: {table['file']}: {table['what']}: unknown keys, or two positions")
    template = folder / "templates" / table["template"] if "template" in table else None
    return Place(
        content=template.read_text(encoding="utf-8") if template else table["text"],
        position=position,
        pattern=table[position] if position not in ("", "end") else "",
        **rest,
    )
