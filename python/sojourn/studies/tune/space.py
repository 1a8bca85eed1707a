"""What a tuning may vary: ranges of an algorithm's parameters, and how a point in them is written as a scheme."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.model.scheme import Scheme, entry_of, with_parameters

Point: TypeAlias = dict[str, float | int | str]
"""A value for each factor: a number in the factor's unit, or the text of a choice."""

_INTEGERS: Final = {"packets", "packets or bytes", "bytes", "count"}
_DIGITS: Final = 4
"""Significant digits of a drawn number: what a person would write, and far below what a simulation can tell apart."""
_NUMBER: Final = re.compile(r"(?P<number>[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?) *(?P<unit>[A-Za-z%/]*)")
_SPAN: Final = {"probability": (10.0, 10.0), "packets": (5.0, 10.0)}
"""Default ranges: this much below the default and above it."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One parameter with its range in `unit`, or the texts to choose from.

    The limits of a choice are 0 and the number of choices less one. With `is_log` it is drawn evenly in its
    logarithm.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    is_log: bool = False
    is_whole: bool = False
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.choices:
            return f"{self.name}={'|'.join(self.choices)}"
        scale = ":log" if self.is_log else ""
        return f"{self.name}={self.low:g}{self.unit}..{self.high:g}{self.unit}{scale}"

    def at(self, share: float) -> float | int | str:
        """Return the value at a share of the range, 0 to 1, on its own scale."""
        if self.choices:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        if self.is_whole and not self.is_log:
            return min(int(self.low + share * (self.high - self.low + 1)), int(self.high))
        low, high = (math.log(self.low), math.log(self.high)) if self.is_log else (self.low, self.high)
        value = low + share * (high - low)
        return self.rounded(math.exp(value) if self.is_log else value)

    def rounded(self, value: float) -> float | int:
        """Return a drawn number as it is written: whole, or with four significant digits."""
        if self.is_whole:
            return min(max(round(value), math.ceil(self.low)), math.floor(self.high))
        return float(f"{value:.{_DIGITS}g}")


def parse(algorithm: str, text: str) -> Factor:
    """Read ``min=5p..50p``, ``max_p=0.01..0.5:log``, ``gentle=on|off``, or a name alone for its default range.

    Unknown parameters and what is no range are refused.
    """
    name, _, span = (part.strip() for part in text.partition("="))
    known = {str(parameter["name"]): parameter for parameter in entry_of(algorithm)["parameters"]}
    if name not in known:
        raise SojournError(f"vary {text!r}: {algorithm} has no parameter `{name}`; it has: {', '.join(known)}")
    parameter = known[name]
    if not span:
        return default(algorithm, parameter)
    if "|" in span or parameter["kind"] in ("flag", "choice"):
        return Factor(name, 0, span.count("|"), choices=_choices(text, parameter, span))
    span, _, scale = span.partition(":")
    ends = [_NUMBER.fullmatch(end.strip()) for end in span.split("..")]
    if len(ends) != 2 or scale not in ("", "log", "linear"):
        raise SojournError(f"vary {text!r} is not a range; allowed: {name}=LOW..HIGH, LOW..HIGH:log, or A|B|C")
    low, high = ends
    if low is None or high is None:
        raise SojournError(f"vary {text!r}: an end is not a number with its unit; allowed: {parameter['allowed']}")
    unit = high["unit"]
    if low["unit"] not in ("", unit):
        raise SojournError(f"vary {text!r}: both ends need one unit, not `{low['unit']}` and `{unit}`")
    first, last = float(low["number"]), float(high["number"])
    if not first < last or (scale == "log" and first <= 0):
        least = " above 0" if scale == "log" else ""
        raise SojournError(f"vary {text!r}: the range is empty; allowed: LOW{least} < HIGH")
    if math.isinf(last):
        raise SojournError(f"vary {text!r}: an end is too large; allowed: {parameter['allowed']}")
    factor = Factor(name, first, last, unit, scale == "log", parameter["kind"] in _INTEGERS)
    for end in (first, last):
        _alone(algorithm, factor, end)
    return factor


def default(algorithm: str, parameter: Mapping[str, Any]) -> Factor:
    """Return the range of a parameter for which none is given: around its default, by its kind.

    Probabilities, times and numbers go from a tenth of the default to ten times it on a logarithmic scale
    (probabilities to 1 at most), packets, bytes and counts from a fifth to ten times; a flag is on or off, a choice
    any of its texts. A kind or a default that gives no range is refused.
    """
    name, kind = str(parameter["name"]), str(parameter["kind"])
    if kind == "flag":
        return Factor(name, 0, 1, choices=("off", "on"))
    if kind == "choice":
        choices = tuple(text.strip() for text in str(parameter["allowed"]).split(","))
        return Factor(name, 0, len(choices) - 1, choices=choices)
    found = _NUMBER.fullmatch(str(parameter["default"]))
    if found is None or float(found["number"]) == 0:
        raise SojournError(
            f"{algorithm}'s `{name}` has no range of its own (default: {parameter['default']}); "
            f"write {name}=LOW..HIGH; allowed: {parameter['allowed']}"
        )
    middle = float(found["number"])
    below, above = _SPAN.get("packets" if kind in _INTEGERS else "probability", (10.0, 10.0))
    low, high = middle / below, middle * above
    if kind == "probability":
        high = min(high, 1.0)
    if kind in _INTEGERS:
        low, high = max(round(low), 1), max(round(high), 2)
    return Factor(name, low, high, found["unit"], is_log=True, is_whole=kind in _INTEGERS)


def scheme_text(base: str, factors: tuple[Factor, ...], point: Point) -> str:
    """Write the scheme at a point: the base scheme with the point's values."""
    values = {factor.name: _written(factor, point[factor.name]) for factor in factors}
    return with_parameters(Scheme(base), values).canonical


def _written(factor: Factor, value: float | str) -> str:
    return value if isinstance(value, str) else f"{_plain(value)}{factor.unit}"


def _plain(value: float) -> str:
    text = f"{value:.10f}".rstrip("0").rstrip(".")
    return text or "0"


def _choices(text: str, parameter: Mapping[str, Any], span: str) -> tuple[str, ...]:
    choices = tuple(choice.strip() for choice in span.split("|"))
    if len(set(choices)) < 2:
        raise SojournError(f"vary {text!r} has nothing to choose; allowed: {parameter['name']}=A|B")
    if parameter["kind"] == "flag" and set(choices) != {"on", "off"}:
        raise SojournError(f"vary {text!r}: a flag is on|off")
    return choices


def _alone(algorithm: str, factor: Factor, end: float) -> None:
    """Refuse an end in a unit that the parameter does not take; whether values go together is seen later."""
    try:
        core.parse_aqm(f"{algorithm} {factor.name} {_plain(factor.rounded(end))}{factor.unit}")
    except SojournError as error:
        if "is refused" in str(error) or "unit" in str(error):
            raise SojournError(f"vary {factor}: {error}") from None
