"""The sawtooth of a congestion window, or of the queue that it fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_FALL: Final = 0.15
"""A tooth ends where the value falls by this share of the greatest range seen."""


@dataclass(frozen=True, slots=True)
class Teeth:
    """The measures of a sawtooth.

    Parameters
    ----------
    period_s
        Mean time from one peak to the next.
    amplitude
        Mean height from a trough to the peak that follows.
    count
        Teeth seen whole.
    """

    period_s: float
    amplitude: float
    count: int


def teeth(t_s: Sequence[float], values: Sequence[float]) -> Teeth:
    """Measure a sawtooth.

    Only whole teeth count: from the first trough after a peak to the last peak.

    Raises
    ------
    ValueError
        If there is no whole tooth: fewer than two peaks.

    Examples
    --------
    >>> teeth(list(range(40)), [10 + k % 10 for k in range(40)])
    Teeth(period_s=10.0, amplitude=9.0, count=2)
    """
    fall = _FALL * (max(values) - min(values))
    peaks: list[tuple[float, float]] = []
    troughs: list[float] = []
    high, low, at, falling = values[0], values[0], t_s[0], False
    for time, value in zip(t_s, values, strict=True):
        if falling:
            low = min(low, value)
            if value > low + fall:
                troughs.append(low)
                high, at, falling = value, time, False
        elif value > high:
            high, at = value, time
        elif value < high - fall:
            peaks.append((at, high))
            low, falling = value, True
    # troughs[k] lies between peaks k and k + 1; the last may have no peak after it.
    count = min(len(peaks) - 1, len(troughs))
    if count < 1:
        raise ValueError(f"a sawtooth needs at least two peaks, this has {len(peaks)}")
    heights = [peaks[k + 1][1] - troughs[k] for k in range(count)]
    return Teeth((peaks[count][0] - peaks[0][0]) / count, sum(heights) / count, count)
