"""RED's averaging weight as tc takes it: a burst, from which tc computes a power of one half."""

from __future__ import annotations

import math


def exponent(burst: int, least: float) -> int | None:
    """Return n of the weight 2^-n that tc computes from `burst` and RED's min in mean packets; None without one.

    Notes
    -----
    The largest 2^-n with ``burst + 1 - min <= (1 - (1 - w)^burst) / w``, Floyd and Jacobson 1993, section 6.
    """
    excess = burst + 1 - least
    if excess < 1:
        return None
    return next((n for n in range(1, 32) if excess <= -math.expm1(burst * math.log1p(-(0.5**n))) * 2**n), None)


def burst_for(wanted: int, least: float) -> int | None:
    """Return the smallest burst from which tc computes 2^-wanted or, where it skips that, the next smaller weight.

    None where tc computes no such weight.

    Examples
    --------
    >>> burst_for(5, 30)
    45
    >>> exponent(44, 30), exponent(45, 30)
    (4, 5)
    """
    low, high = math.ceil(least), 2**40
    # The excess grows by 1 with each packet of burst, the sum by less: the exponent never falls.
    while low < high:
        middle = (low + high) // 2
        found = exponent(middle, least)
        too_small = middle + 1 - least < 1 if found is None else found < wanted
        low, high = (middle + 1, high) if too_small else (low, middle)
    return None if exponent(low, least) is None else low
