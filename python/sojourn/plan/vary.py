"""Ways to vary: lists of values, ranges, lists that go together, Latin hypercubes."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn.base.errors import ScenarioError
from sojourn.base.units import NUMBER, Quantity
from sojourn.plan.model import Factor, Scale, Value, Variation

_QUANTITY: Final = re.compile(rf"\s*([+-]?{NUMBER}(?:[eE][+-]?[0-9]+)?)\s*(|[^\s0-9.].*?)\s*")

_PLACES: Final = {
    "ns": 0, "us": 3, "ms": 6, "s": 9, "bit/s": 0, "kbit/s": 3, "mbit/s": 6, "gbit/s": 9, "bit": 0, "kbit": 3,
    "mbit": 6, "gbit": 9, "b": 0, "kb": 3, "mb": 6, "kib": 0, "mib": 0, "p": 0, "packet": 0, "packets": 0,
}  # fmt: skip
"""Decimal places that leave whole nanoseconds, bits a second, bytes and packets."""
_MOST: Final = 1e300
"""The largest end of a range: the difference of two is a number, too."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A factor with its range, one side of a Latin hypercube."""

    factor: Factor
    low: float
    high: float
    unit: str
    whole: bool
    scale: Scale

    def at(self, share: float) -> Value:
        """Return the value at a share of the range, 0 to 1."""
        if self.scale == "log":
            found = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            found = self.low + share * (self.high - self.low)
        if self.whole:
            return round(found)
        # Six digits: more than any parameter needs, and no trace of the last bits of exp and log.
        rounded = round(float(f"{found:.6g}"), _PLACES.get(self.unit.lower(), 12))
        return f"{_plain(rounded)} {self.unit}" if self.unit else rounded


def factor(keys: str | Sequence[str], name: str = "") -> Factor:
    """Name what varies; by default by the last part of its first key."""
    paths = (keys,) if isinstance(keys, str) else tuple(keys)
    return Factor(paths, name or paths[0].rpartition(".")[2])


def grid(keys: str | Sequence[str], name: str = "", *, values: Sequence[Any]) -> Variation:
    """Vary over a list of values.

    Parameters
    ----------
    keys
        A dotted path of the scenario, or several that take the same value; ``scheme.target`` for a parameter of every
        scheme, ``schemes.LABEL.target`` for one.
    name
        In tables; by default the last part of the first key.
    values
        As the scenario has them: ``"10 Mbit/s"``, ``sj.mbit_s(10)``, 5.

    Raises
    ------
    SojournError
        No values, or one twice.

    Examples
    --------
    >>> grid("links.bottleneck.rate", values=["10 Mbit/s", "20 Mbit/s"]).factors[0].name
    'rate'
    """
    plain = [str(value) if isinstance(value, Quantity) else value for value in values]
    if not plain:
        raise ScenarioError("no values; name at least one")
    for value in plain:
        if not isinstance(value, str | int | float):
            raise ScenarioError(f"{value!r} is not a value; allowed: texts, numbers, true, false")
    return Variation((factor(keys, name),), tuple((value,) for value in plain))


def span(
    keys: str | Sequence[str], name: str = "", *, from_: Any, to: Any, steps: int, scale: Scale = "linear"
) -> Variation:
    """Vary over a range, both ends included.

    Parameters
    ----------
    keys, name
        See :func:`grid`.
    from_, to
        With the same unit; whole numbers give whole numbers.
    steps
        Number of values.
    scale
        ``linear``, or ``log`` for equal ratios.

    Examples
    --------
    >>> [point[0] for point in span("links.l.delay", from_="1 ms", to="100 ms", steps=3, scale="log").points]
    ['1 ms', '10 ms', '100 ms']
    """
    if steps < 2:
        raise ScenarioError(f"steps={steps}: a range has at least two")
    side = dimension(keys, name, from_=from_, to=to, scale=scale)
    values = [side.at(k / (steps - 1)) for k in range(steps)]
    # Whole numbers may fall together on a logarithmic scale.
    return grid(side.factor.keys, side.factor.name, values=list(dict.fromkeys(values)))


def zipped(*columns: Variation) -> Variation:
    """Vary factors together: the first values of all, then the second, ...

    Raises
    ------
    SojournError
        If the lists differ in length.
    """
    lengths = {len(column.points) for column in columns}
    if len(lengths) != 1:
        counts = ", ".join(f"{c.factors[0].name} has {len(c.points)}" for c in columns) or "there are none"
        raise ScenarioError(f"lists that go together need equal lengths: {counts}")
    rows = zip(*(column.points for column in columns), strict=True)
    factors = tuple(one for column in columns for one in column.factors)
    return Variation(factors, tuple(tuple(value for part in row for value in part) for row in rows))


def dimension(
    keys: str | Sequence[str], name: str = "", *, from_: Any, to: Any, scale: Scale = "linear"
) -> Dimension:
    """Give a factor a range, see :func:`span`."""
    if scale not in ("linear", "log"):
        raise ScenarioError(f"scale={scale!r} is unknown; allowed: linear, log")
    (low, unit), (high, other) = _number("from", from_), _number("to", to)
    if unit != other:
        raise ScenarioError(f"from={from_!s} and to={to!s} have different units; write both in the same")
    if not low < high:
        raise ScenarioError(f"from={from_!s} is not below to={to!s}")
    if scale == "log" and low <= 0:
        raise ScenarioError(f"from={from_!s} has no logarithm; allowed: above 0")
    whole = isinstance(from_, int) and isinstance(to, int)
    return Dimension(factor(keys, name), low, high, unit, whole, scale)


def latin_hypercube(*dimensions: Dimension, points: int, seed: int = 1) -> Variation:
    """Vary factors together over a Latin hypercube: each has one value in each of `points` equal parts of its range.

    Parameters
    ----------
    *dimensions
        See :func:`dimension`.
    points
        Number of cells.
    seed
        Of the sample; the same seed gives the same points on any machine.

    References
    ----------
    McKay, Beckman and Conover, Technometrics 21(2), 1979.
    """
    if not dimensions:
        raise ScenarioError("a Latin hypercube needs at least one factor")
    # Of Python's generator only `random()` promises the same numbers in every version, so the order is drawn with it.
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    columns = []
    for side in dimensions:
        order = sorted(range(points), key=[draw.random() for _ in range(points)].__getitem__)
        columns.append([side.at((part + draw.random()) / points) for part in order])
    return Variation(tuple(side.factor for side in dimensions), tuple(zip(*columns, strict=True)))


def _number(name: str, value: Any) -> tuple[float, str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number, unit = value, ""
    elif found := _QUANTITY.fullmatch(str(value)):
        number, unit = float(found[1]), found[2]
    else:
        raise ScenarioError(
            f'{name}={value!r} is not an end of a range; allowed: a number, or a number and a unit: "5 ms"'
        )
    # Also false for nan; a whole number may be too large for a float.
    if not abs(number) <= _MOST:
        raise ScenarioError(f"{name}: a range cannot end there; allowed: numbers up to {_MOST:.0e}")
    return float(number), unit


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.9f}".rstrip("0") if abs(value) < 1 else f"{value:.9g}"
