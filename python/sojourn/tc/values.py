"""Values of parameters as the library prints them, as whole numbers of tc's units."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from sojourn.base.errors import SchemeError

_TIMES: Final = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000}
_SIZES: Final = {"B": 1, "kB": 1000, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_RATES: Final = {
    "bit": 1,
    "kbit": 10**3,
    "mbit": 10**6,
    "gbit": 10**9,
    "tbit": 10**12,
}


def nanoseconds(text: str) -> int | None:
    """Read ``5ms``; None if it is not a time."""
    return _read(text, _TIMES)


def size(text: str) -> int | None:
    """Read ``32MiB`` as bytes; None if it is not a size."""
    return _read(text, _SIZES)


def packets(text: str) -> int | None:
    """Read ``1000p``; None if it is not a number of packets."""
    return _read(text, {"p": 1})


def rate(text: str) -> int:
    """Read a bit rate above 0, ``20 Mbit/s`` or ``20mbit``, as bit/s.

    Examples
    --------
    >>> rate("20 Mbit/s")
    20000000
    """
    bit_s = _read(text.lower().removesuffix("/s"), _RATES)
    if not bit_s:
        raise SchemeError(f'rate={text!r} is not a rate: write "20 Mbit/s" or "20mbit"')
    return bit_s


def time_text(name: str, text: str) -> str:
    """Write a time as tc reads it: whole microseconds."""
    exact = nanoseconds(text)
    if exact is None:
        raise SchemeError(f"{name} {text} is not a time")
    if exact % 1000:
        nearest = max(round(exact / 1000), 1)
        raise SchemeError(f"{name} {text} is finer than tc's microseconds; the nearest is {name} {nearest}us")
    return f"{exact // 1_000_000}ms" if exact % 1_000_000 == 0 else f"{exact // 1000}us"


def _read(text: str, units: dict[str, int]) -> int | None:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]+)", text)
    if not found or found[2] not in units:
        return None
    exact = Decimal(found[1]) * units[found[2]]
    return int(exact) if exact == exact.to_integral_value() else None
