"""Quantities of options as numbers in a base unit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from sojourn.base.core import SojournError
from sojourn.base.units import BIT_S, NUMBER

RATES: Final = BIT_S
SIZES: Final = {"B": 1.0, "kB": 1e3, "KiB": 1024.0}
TIMES: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def in_base_unit(name: str, given: str, units: Mapping[str, float]) -> float:
    """Return the value of an option above 0, as in ``20 Mbit/s``, in the unit whose factor is 1.

    Examples
    --------
    >>> in_base_unit("--rtt", "20 ms", TIMES)
    0.02
    """
    found = re.fullmatch(rf"\s*({NUMBER}(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z/]+)\s*", given)
    value = float(found[1]) * units.get(found[2], 0.0) if found else 0.0
    if not 0 < value < math.inf:
        raise SojournError(f"{name}={given!r}; allowed: a number above 0 with a unit: {', '.join(units)}")
    return value
