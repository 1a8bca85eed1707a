"""Points of sweeps, and overrides that follow from a point or stand for several keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import product
from typing import Any, Final

from sojourn.core import SojournError

MOST: Final = 1000
"""Points of one sweep."""

_PART: Final = re.compile(r"\{at ?/ ?([0-9.]+)(?: ?- ?([0-9.]+))?\}")
_CHOICE: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_AMOUNT: Final = re.compile(r"([0-9.]+) ?([A-Za-z%/]*)")


def listed(given: list[str] | Mapping[str, Any], where: str) -> list[str]:
    """Return the points of a sweep: a list, or ``{from = "10 ms", to = "90 ms", step = "5 ms", except = ["15 ms"]}``.

    Raises
    ------
    SojournError
        If it is neither.

    Examples
    --------
    >>> listed({"from": "10 ms", "to": "20 ms", "step": "5 ms", "except": ["15 ms"]}, "sweep")
    ['10 ms', '20 ms']
    """
    if isinstance(given, list):
        return given
    try:
        (start, unit), (end, _), (step, _) = (amount(given[key]) for key in ("from", "to", "step"))
    except (AttributeError, KeyError, ValueError):
        start, unit, end, step = Decimal(0), "", Decimal(-1), Decimal(0)
    count = int((end - start) / step) + 1 if step > 0 else 0
    if not 0 < count <= MOST:
        raise SojournError(
            f'{where}: points: {dict(given)}; allowed: a list, or {{from = "10 ms", to = "300 ms", step = "5 ms"}} '
            f"with up to {MOST} points"
        )
    points = [f"{(start + k * step).normalize():f} {unit}".strip() for k in range(count)]
    return [point for point in points if point not in given.get("except", ())]


def filled(text: str, at: str) -> str:
    """Return a text in which ``{at / 2 - 5}`` is replaced by that function of a point's value, in the point's unit.

    Examples
    --------
    >>> filled("links.a.delay={at / 2 - 5}", "100 ms")
    'links.a.delay=45 ms'
    """

    def part(found: re.Match[str]) -> str:
        value, unit = amount(at)
        return f"{(value / Decimal(found[1]) - Decimal(found[2] or 0)).normalize():f} {unit}".strip()

    return _PART.sub(part, text)


def each(texts: Iterable[str]) -> tuple[str, ...]:
    """Return overrides with one entry for each choice in braces.

    Examples
    --------
    >>> each(["links.{a,b}.delay=1 ms"])
    ('links.a.delay=1 ms', 'links.b.delay=1 ms')
    """
    found: list[str] = []
    for text in texts:
        key, sign, value = text.partition("=")
        parts = _CHOICE.split(key)
        # Every second part was between braces.
        choices = [part.split(",") if k % 2 else [part] for k, part in enumerate(parts)]
        found += ["".join((*one, sign, value)) for one in product(*choices)]
    return tuple(found)


def amount(text: str) -> tuple[Decimal, str]:
    """Return the number and the unit of a text; ValueError if it has none."""
    found = _AMOUNT.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is not a number with a unit")
    return Decimal(found[1]), found[2]
