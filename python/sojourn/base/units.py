"""Quantities with units, for every place where a bare number would be ambiguous.

The builders take a :class:`Quantity` (``sj.ms(5)``), a :class:`datetime.timedelta` where a time is meant,
or text with a unit (``"5 ms"``). A bare number is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from sojourn._native import SojournError

NUMBER: Final = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
"""A regular expression for a number without sign and exponent."""

Dimension: TypeAlias = Literal["time", "rate", "data", "packets"]

_DIMENSIONS: Final[dict[str, Dimension]] = {
    "ns": "time",
    "us": "time",
    "ms": "time",
    "s": "time",
    "bit/s": "rate",
    "kbit/s": "rate",
    "Mbit/s": "rate",
    "Gbit/s": "rate",
    "B": "data",
    "kB": "data",
    "MB": "data",
    "KiB": "data",
    "MiB": "data",
    "packets": "packets",
}

BIT_S: Final = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
"""The units of a rate, each in bit/s."""

_EXAMPLES: Final[dict[Dimension, str]] = {
    "time": 'sj.ms(5), "5 ms" or datetime.timedelta(milliseconds=5)',
    "rate": 'sj.mbit_s(10) or "10 Mbit/s"',
    "data": 'sj.bytes_(1500) or "1500 B"',
    "packets": 'sj.packets(100) or "100 packets"',
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit.

    Parameters
    ----------
    value
        The number; finite and not negative.
    unit
        One of ``ns us ms s bit/s kbit/s Mbit/s Gbit/s B kB MB KiB MiB packets``
        (k and M are powers of 1000, Ki and Mi of 1024).

    Raises
    ------
    TypeError
        If `value` is not a number.
    SojournError
        If `value` is negative or not finite, or `unit` unknown.

    Examples
    --------
    >>> str(Quantity(2.5, "Mbit/s"))
    '2.5 Mbit/s'
    """

    value: float
    unit: str

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise TypeError(f"a quantity needs a number, not {self.value!r}")
        if self.unit not in _DIMENSIONS:
            raise SojournError(f"unknown unit {self.unit!r}; allowed: {', '.join(_DIMENSIONS)}")
        if not math.isfinite(self.value) or self.value < 0:
            raise SojournError(f"{self.value!r} {self.unit}: a quantity must be finite and not negative")

    @property
    def dimension(self) -> Dimension:
        """What the unit measures: ``time``, ``rate``, ``data`` or ``packets``."""
        return _DIMENSIONS[self.unit]

    def __str__(self) -> str:
        return f"{_plain(self.value)} {self.unit}"


Time: TypeAlias = Quantity | timedelta | str
"""A time: ``sj.ms(5)``, ``timedelta(milliseconds=5)`` or ``"5 ms"``."""
Rate: TypeAlias = Quantity | str
"""A bit rate: ``sj.mbit_s(10)`` or ``"10 Mbit/s"``."""
Data: TypeAlias = Quantity | str
"""An amount of data: ``sj.bytes_(1500)`` or ``"1500 B"``."""
Packets: TypeAlias = Quantity | str
"""A number of packets: ``sj.packets(100)`` or ``"100 packets"``."""


def ns(value: float) -> Quantity:
    """Return a time in nanoseconds."""
    return Quantity(value, "ns")


def us(value: float) -> Quantity:
    """Return a time in microseconds."""
    return Quantity(value, "us")


def ms(value: float) -> Quantity:
    """Return a time in milliseconds."""
    return Quantity(value, "ms")


def s(value: float) -> Quantity:
    """Return a time in seconds."""
    return Quantity(value, "s")


def bit_s(value: float) -> Quantity:
    """Return a bit rate in bit/s."""
    return Quantity(value, "bit/s")


def kbit_s(value: float) -> Quantity:
    """Return a bit rate in kbit/s (1000 bit/s)."""
    return Quantity(value, "kbit/s")


def mbit_s(value: float) -> Quantity:
    """Return a bit rate in Mbit/s (1,000,000 bit/s)."""
    return Quantity(value, "Mbit/s")


def gbit_s(value: float) -> Quantity:
    """Return a bit rate in Gbit/s."""
    return Quantity(value, "Gbit/s")


def bytes_(value: float) -> Quantity:
    """Return an amount of data in bytes."""
    return Quantity(value, "B")


def kib(value: float) -> Quantity:
    """Return an amount of data in KiB (1024 bytes)."""
    return Quantity(value, "KiB")


def mib(value: float) -> Quantity:
    """Return an amount of data in MiB (1,048,576 bytes)."""
    return Quantity(value, "MiB")


def packets(value: int) -> Quantity:
    """Return a number of packets."""
    return Quantity(value, "packets")


_AUTO_SAMPLES: Final = 400
_NANOSECONDS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}
_WHOLE_BIT_S: Final = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12}


def from_ns(nanoseconds: int) -> Quantity:
    """Return a time in the largest unit that writes it as a whole number.

    Examples
    --------
    >>> str(from_ns(5_000_000))
    '5 ms'
    """
    unit = next(unit for unit, size in _NANOSECONDS.items() if nanoseconds % size == 0)
    return Quantity(nanoseconds // _NANOSECONDS[unit], unit)


def to_ns(name: str, value: Time) -> int:
    """Return a time as whole nanoseconds; errors as of :func:`as_text`."""
    text = as_text(name, value, "time")
    found = re.fullmatch(rf"({NUMBER}) *(ns|us|ms|s)", text)
    if not found:
        raise SojournError(f"{name}={text!r} is not a time: write {_EXAMPLES['time']}")
    nanoseconds = Decimal(found[1]) * _NANOSECONDS[found[2]]
    if nanoseconds != nanoseconds.to_integral_value():
        raise SojournError(f"{name}={text!r} is not a whole number of nanoseconds")
    return int(nanoseconds)


def to_bit_s(name: str, value: Rate) -> float:
    """Return a rate in bit/s; errors as of :func:`as_text`."""
    text = as_text(name, value, "rate")
    found = re.fullmatch(rf"({NUMBER}) *(\S+)", text)
    if not found or found[2] not in BIT_S:
        raise SojournError(f"{name}={text!r} is not a rate: write {_EXAMPLES['rate']}; units: {', '.join(BIT_S)}")
    return float(found[1]) * BIT_S[found[2]]


def as_text(name: str, value: object, dimension: Dimension) -> str:
    """Write a quantity as a scenario document has it; messages call it `name`.

    A bare number, and what is no quantity, is a TypeError; a unit of another dimension, the text of a bare number,
    and a negative timedelta are a SojournError.
    """
    match value:
        case Quantity():
            if value.dimension != dimension:
                raise SojournError(
                    f"{name}={value} is a quantity of {value.dimension}, not of {dimension}: "
                    f"write {_EXAMPLES[dimension]}"
                )
            return str(value)
        case timedelta() if dimension == "time":
            if value < timedelta(0):
                raise SojournError(f"{name}={value} is negative")
            return str(from_ns(1000 * (value // timedelta(microseconds=1))))
        case str():
            if _is_number(value):
                raise SojournError(f"{name}={value!r} has no unit: write {_EXAMPLES[dimension]}")
            return value
        case bool():
            raise TypeError(f"{name}={value!r} is not a quantity: write {_EXAMPLES[dimension]}")
        case int() | float():
            raise TypeError(f"{name}={value!r} has no unit: write {_EXAMPLES[dimension]}")
        case _:
            raise TypeError(f"{name}={value!r} is not a quantity: write {_EXAMPLES[dimension]}")


def _plain(value: float) -> str:
    """Write a number without an exponent and without a needless fraction."""
    if float(value).is_integer():
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def auto_interval_ns(duration: str) -> int:
    """Return a round sampling interval that gives a few hundred samples of a run."""
    least = max(-(-to_ns("duration", duration) // _AUTO_SAMPLES), 1)
    sizes = (int(f"{digit}{'0' * zeros}") for zeros in range(19) for digit in (1, 2, 5))
    return next(size for size in sizes if size >= least)


def rate_bit_s(text: str, where: str) -> int:
    """Return a rate above 0, such as ``10 Mbit/s``, in bit/s."""
    return _quantity(text, _WHOLE_BIT_S, where, 'a rate above 0 with its unit, as in "10 Mbit/s"')


def time_ns(text: str, where: str) -> int:
    """Return a time above 0, such as ``5 ms``, in nanoseconds."""
    return _quantity(text, _NANOSECONDS, where, 'a time above 0 with its unit, as in "5 ms"')


def _quantity(text: str, units: Mapping[str, int], where: str, allowed: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?) *([A-Za-z/]+)\s*", text)
    if found and found[2] in units:
        value = int(Decimal(found[1]) * units[found[2]])
        if value > 0:
            return value
    raise SojournError(f"{where} is {text!r}; allowed: {allowed}")
