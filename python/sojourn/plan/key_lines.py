"""The line of a key in a TOML text, for messages."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_LONGEST = 4096
"""Longer lines are not searched: the time that a pattern takes grows with the square of a line's length."""
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"))*)\s*=""")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def lines(text: str) -> dict[Path, int]:
    r"""Return the line, from 1, of every table and every key that starts a line.

    Examples
    --------
    >>> lines('name = "x"\n[[vary]]\nkey = "a.b"')
    {('name',): 1, ('vary', 0): 2, ('vary', 0, 'key'): 3}
    """
    found: dict[Path, int] = {}
    counts: defaultdict[Path, int] = defaultdict(int)
    here: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > _LONGEST:
            continue
        if header := _HEADER.match(line):
            here = _parts(header[2])
            if header[1] == "[[":
                here = (*here, counts[here])
                counts[here[:-1]] += 1
            found.setdefault(here, number)
        elif key := _KEY.match(line):
            found.setdefault((*here, *_parts(key[1])), number)
    return found


def line_of(known: dict[Path, int], path: Path) -> int | None:
    """Return the line of a key, or of the nearest table around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in known:
            return known[path[:length]]
    return None


def written(path: Path) -> str:
    """Write a path as messages have it: ``vary[0].key``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(text))
