"""Points of sweeps, their values, and overrides that follow from a point or stand for several keys."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any, Final

from sojourn.base.core import SojournError
from sojourn.plan.read import in_base_unit

MOST: Final = 1000
"""Points of one sweep."""

NEAR_PERCENT: Final = 10.0
"""How near "at 50 % of the range" is."""

_AT: Final = re.compile(r"\{at(?:\*([0-9.]+)| ?/ ?([0-9.]+)(?: ?- ?([0-9.]+))?)?\}")
_CHOICE: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_AMOUNT: Final = re.compile(r"([0-9.]+) ?([A-Za-z%/]*)")


def listed(given: list[str] | Mapping[str, Any], where: str) -> list[str]:
    """Return the points of a sweep: a list, or ``{from = "10 ms", to = "90 ms", step = "5 ms", except = ["15 ms"]}``.

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
    """Return a text in which ``{at}`` and functions of it are replaced by their values at a point.

    ``{at}`` is the point as it is written, a percentage as a fraction, and ``{at*20}`` is 20 times that fraction.
    ``{at / 2 - 5}`` is in the point's unit.

    Examples
    --------
    >>> filled("links.a.delay={at / 2 - 5}", "100 ms"), filled("threshold {at*20}", "5 %")
    ('links.a.delay=45 ms', 'threshold 1')
    """

    def value(found: re.Match[str]) -> str:
        factor, divisor, less = found.groups()
        if divisor:
            number, unit = amount(at)
            return f"{(number / Decimal(divisor) - Decimal(less or 0)).normalize():f} {unit}".strip()
        return f"{float(at.removesuffix('%')) / 100 * float(factor or 1):g}" if at.endswith("%") else at

    return _AT.sub(value, text)


def each(texts: Iterable[str]) -> tuple[str, ...]:
    """Return overrides, or patterns of names, with one entry for each choice in braces.

    Examples
    --------
    >>> each(["links.{a,b}.delay=1 ms"]), each(["{reno,cubic}-*"])
    (('links.a.delay=1 ms', 'links.b.delay=1 ms'), ('reno-*', 'cubic-*'))
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


def quantities(texts: Sequence[str]) -> tuple[str, list[float]] | None:
    """Return texts as numbers and their unit: %, none, or a base unit of plans; None if they are not of one kind."""
    plain = [one for text in texts if (one := re.fullmatch(r"\s*([0-9.]+)\s*(%?)\s*", text))]
    if len(plain) == len(texts) and len({one[2] for one in plain}) <= 1:
        return "".join({one[2] for one in plain}), [float(one[1]) for one in plain]
    return in_base_unit(list(texts))


def level_of(text: str) -> float:
    """Return the value of a point in its base unit; NaN for a text without a number.

    Examples
    --------
    >>> level_of("5 kbit/s"), level_of("99 %"), level_of("start")
    (5000.0, 99.0, nan)
    """
    found = quantities([text])
    return found[1][0] if found else math.nan


def part_of(at: str, levels: Sequence[float]) -> list[int]:
    """Return the places of the points that lie in a part of a range.

    Parameters
    ----------
    at
        ``0 % to 10 % of the range``, or ``50 % of the range``. The latter includes points within 10 % of the range
        on either side, and at least the nearest point.

    Examples
    --------
    >>> part_of("0 % to 10 % of the range", [0.0, 5.0, 50.0, 100.0])
    [0, 1]
    >>> part_of("50 % of the range", [0.0, 30.0, 45.0, 100.0])
    [2]
    """
    bounds = [float(text) for text in re.findall(r"([0-9.]+) %", at)]
    width = levels[-1] - levels[0]
    shares = [100 * (level - levels[0]) / width for level in levels]
    if len(bounds) == 2:
        return [place for place, share in enumerate(shares) if bounds[0] <= share <= bounds[1]]
    nearest = min(range(len(shares)), key=lambda place: abs(shares[place] - bounds[0]))
    near = [place for place, share in enumerate(shares) if abs(share - bounds[0]) <= NEAR_PERCENT]
    return sorted({nearest, *near})
