"""Reading TOML documents and their tables: an error names the file, the table and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sojourn.base import foreign, nesting
from sojourn.base.core import SojournError


def read_toml(file: Path) -> dict[str, Any]:
    """Read a document; an error names the file."""
    try:
        return nesting.loads_toml(foreign.read_text(file), file)
    except UnicodeDecodeError as error:
        raise SojournError(f"{file}: {error}") from None


def need(table: Mapping[str, Any], key: str, where: object) -> Any:
    """Return a value that a table must have."""
    if key not in table:
        raise SojournError(f"{where}: `{key}` is missing")
    return table[key]


def check(table: Mapping[str, Any], allowed: Iterable[str], where: str, *, needed: Iterable[str] = ()) -> None:
    """Refuse unknown keys and missing ones."""
    known = list(allowed)
    unknown = [key for key in table if key not in known]
    if unknown:
        raise SojournError(f"{where}: unknown key `{unknown[0]}`; allowed: {', '.join(known)}")
    for key in needed:
        need(table, key, where)


def choose(given: Iterable[str], allowed: Iterable[str], where: str, why: str = "") -> None:
    """Refuse values that are not among those allowed; `why` is said of the first of them."""
    known = list(allowed)
    wrong = next((one for one in given if one not in known), None)
    if wrong is not None:
        raise SojournError(f"{where}: {wrong!r}{why}; allowed: {', '.join(known)}")


def as_tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with its lists as tuples, as records have them."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
