"""The allowed depth of documents, which is that of the native reader."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from sojourn._native import SojournError

DEEPEST: Final = 128
"""Most levels of tables and lists; the document itself is the first."""
TOO_DEEP: Final = f"is nested too deeply; allowed: at most {DEEPEST} levels of tables and lists"

# tomllib takes quadratic time for a key of many parts: half a minute for 40,000 of them.
_PART: Final = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY: Final = re.compile(rf"(?:^|[\[{{,])[ \t]*{_PART}(?:[ \t]*\.[ \t]*{_PART}){{{DEEPEST}}}", re.MULTILINE)


def check(document: object, what: str) -> None:
    """Refuse a document with more than 128 levels of tables and lists.

    Examples
    --------
    >>> check({"a": [[1]]}, "the plan")
    """
    # Level by level, so that neither depth nor a list within itself can exhaust the stack.
    level = [document]
    for _ in range(DEEPEST):
        level = [inner for outer in level if isinstance(outer, (Mapping, list, tuple)) for inner in _inner(outer)]
        if not level:
            return
    if any(isinstance(inner, (Mapping, list, tuple)) for inner in level):
        raise SojournError(f"{what} {TOO_DEEP}")


def _inner(outer: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> Any:
    return outer.values() if isinstance(outer, Mapping) else outer


def loads_toml(text: str, source: object) -> dict[str, Any]:
    """Read a document in TOML of at most 128 levels."""
    if _LONG_KEY.search(text):
        raise SojournError(f"{source}: the document {TOO_DEEP}")
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        # Beside what is no TOML, a number of thousands of digits.
        raise SojournError(f"{source}: {error}") from None
    except RecursionError:
        raise SojournError(f"{source}: the document {TOO_DEEP}") from None
    check(document, f"{source}: the document")
    return document


def loads_json(text: str, source: object) -> Any:
    """Read a document in JSON of at most 128 levels; what is no JSON raises a json.JSONDecodeError."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise SojournError(f"{source}: the document {TOO_DEEP}") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        # A number of thousands of digits.
        raise json.JSONDecodeError(str(error), text, 0) from None
    check(document, f"{source}: the document")
    return document
