"""Error messages for an unknown name: a suggestion, and the allowed names."""

from __future__ import annotations

from collections.abc import Iterable

_NEAR = 0.6
_SHOWN = 60
"""More names than this are not listed."""


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a given one; None where none is.

    Examples
    --------
    >>> nearest("goodput", ["sojourn_ms_mean", "goodput_bit_s"])
    'goodput_bit_s'
    """
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    lower = {name.lower(): name for name in reversed(names)}
    text = given.lower()
    starts = [name for name in names if text and name.lower().startswith(text)]
    found = get_close_matches(text, list(lower), n=1, cutoff=_NEAR)
    return starts[0] if starts else lower[found[0]] if found else None


def hint(given: str, known: Iterable[str]) -> str:
    """Return `` (did you mean `NAME`?)``, or nothing where no known name is like the given one."""
    found = nearest(given, known)
    return f" (did you mean `{found}`?)" if found is not None else ""


def unknown(what: str, given: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name.

    Examples
    --------
    >>> unknown("scheme", "cdel", ["codel", "pie"])
    'unknown scheme `cdel` (did you mean `codel`?); allowed: codel, pie'
    """
    names = list(dict.fromkeys(known))
    listed = ", ".join(names) if len(names) <= _SHOWN else f"{', '.join(names[:_SHOWN])}, ..."
    return f"unknown {what} `{given}`{hint(given, names)}; allowed: {listed or 'none'}"
