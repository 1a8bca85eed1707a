"""Rates of links over time: reading traces, looking at them, and making some like those of LTE and of Starlink.

:func:`read` takes a file, or the name of a trace that comes with Sojourn. :func:`lte` and :func:`starlink` make
traces from published models and measurements; they are random, and the same for the same seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from sojourn import _native
from sojourn.core import SojournError, read_beside
from sojourn.units import Rate, Time, to_bit_s, to_ns
from sojourn.wording import line

if TYPE_CHECKING:
    from sojourn.canvas import Picture
    from sojourn.stats import Floats

__all__ = ["Trace", "lte", "read", "starlink"]

BYTES: Final = 1500
"""Bytes of IP of one opportunity of a trace in Mahimahi's format."""
_MOST_CELLS: Final = 10_000_000
_TICK_S: Final = 0.02


@dataclass(frozen=True)
class Trace:
    r"""What a link can send over time.

    Parameters
    ----------
    name
        What reports call it.
    text
        In Mahimahi's format, or a table of time and rate.
    hold
        Whether the last rate of a table holds, in place of a repetition.

    Raises
    ------
    SojournError
        If the text is not a good trace; the message names the line.

    Examples
    --------
    >>> trace = Trace("steady", "2\n4\n6\n")
    >>> trace.mean_bit_s
    6000000.0
    >>> trace.longest_gap_s
    0.002
    """

    name: str
    text: str
    hold: bool = False

    def __post_init__(self) -> None:
        _ = self._facts

    @cached_property
    def _facts(self) -> tuple[float, int, str]:
        try:
            length, mean, kind, _ = _native.trace(self.text, self.hold, [])
        except SojournError as error:
            raise SojournError(f"{self.name}: {error}") from None
        return length, mean, kind

    @property
    def length_s(self) -> float:
        """The period in seconds; of a table whose last rate holds, the time of its last change."""
        return self._facts[0]

    @property
    def kind(self) -> str:
        """``opportunities`` (Mahimahi's format) or ``rates``."""
        return self._facts[2]

    @property
    def mean_bit_s(self) -> float:
        """The mean rate over a period in bit/s."""
        return float(self._facts[1])

    def bits(self, times_s: Sequence[float] | Floats) -> Floats:
        """Return how many bits the link can send from the start to each of some times in seconds."""
        return np.array(_native.trace(self.text, self.hold, [float(at) for at in times_s])[3])

    def rate_bit_s(self, window_s: float = 0.1) -> Floats:
        """Return the mean rate in bit/s of each window of a period; a last window that is not whole is left out."""
        count = max(int(self.length_s / window_s + 1e-9), 1)
        if count > _MOST_CELLS:
            raise SojournError(f"{self.name}: {count} windows of {window_s:g} s; allowed: up to {_MOST_CELLS}")
        rates: Floats = np.diff(self.bits(_times(count, window_s))) / window_s
        return rates

    @cached_property
    def longest_gap_s(self) -> float:
        """The longest time in seconds without an opportunity, or with a rate of 0, to 1 ms, over the end as well."""
        step = max(1e-3, 2 * self.length_s / _MOST_CELLS)
        count = max(round((self.length_s if self.hold else 2 * self.length_s) / step), 1)
        sends = np.flatnonzero(np.diff(self.bits(_times(count, step))) > 0)
        if sends.size < 2:
            return self.length_s
        between = int(np.diff(sends).max()) - (0 if self.kind == "opportunities" else 1)
        return between * step

    def plot(self, window_s: float = 0.1) -> Picture:
        """Draw the mean rate of each window over a period."""
        from sojourn.canvas import WIDTH, new_figure
        from sojourn.palette import INK

        rates = self.rate_bit_s(window_s) / 1e6
        with new_figure(WIDTH, 2.8, rows=10) as figure:
            axes = figure.add_subplot()
            axes.stairs(rates, np.arange(rates.size + 1) * window_s, color=INK, linewidth=0.9)
            axes.set_ylim(bottom=0)
            axes.margins(x=0)
            axes.set_xlabel("Time (s)")
            axes.set_ylabel(f"Rate over {window_s * 1e3:g} ms (Mbit/s)")
            axes.set_title(f"{self.name}: mean {self.mean_bit_s / 1e6:.3g} Mbit/s")
        return figure


def _times(count: int, step_s: float) -> Floats:
    """Return the edges of so many windows."""
    edges: Floats = np.arange(count + 1, dtype=np.float64) * np.float64(step_s)
    return edges


def read(name: str | Path, *, hold: bool = False) -> Trace:
    """Read a trace: a file, or the name of one that comes with Sojourn.

    Parameters
    ----------
    name
        ``my/cell.trace``, ``lte`` or ``starlink``.
    hold
        Whether the last rate of a table holds, in place of a repetition.

    Raises
    ------
    SojournError
        If there is no such file, or it is not a good trace.

    Examples
    --------
    >>> read("lte").length_s
    60.0
    """
    return Trace(line(Path(name).name), read_beside(str(name), Path()), hold)


def lte(*, duration: Time = "60 s", seed: int = 1, peak: Rate = "6 Mbit/s") -> Trace:
    """Make a trace like that of a cellular link, in Mahimahi's format.

    The numbers are those by which Sprout infers cellular links (Winstein, Sivaraman and Balakrishnan, "Stochastic
    forecasts achieve high throughput and low delay over cellular networks", NSDI 2013, section 3, and its program):
    opportunities are a Poisson process whose rate is a Brownian motion of 200 packets/s per root second in ticks of
    20 ms, between 0 and a peak; a rate of 0 is an outage, which ends at a rate of one per second. Our choices are
    that the rate is reflected at the peak, and that it is drawn uniformly after an outage.

    Parameters
    ----------
    duration
        Length of the trace.
    seed
        Another seed gives another trace.
    peak
        Bound of the rate. Sprout's own is 12 Mbit/s.

    Raises
    ------
    SojournError
        If the result has no opportunity.
    """
    draws = random.Random(seed)  # noqa: S311 - no secret
    most = to_bit_s("peak", peak) / 8 / BYTES
    step = 200.0 * math.sqrt(_TICK_S)
    now, at_ms = draws.uniform(0.0, most), []
    for tick in range(max(to_ns("duration", duration) // 20_000_000, 1)):
        at_ms += _poisson(draws, now, tick * _TICK_S)
        if now == 0.0:
            now = draws.uniform(0.0, most) if draws.random() < 1 - math.exp(-_TICK_S) else 0.0
            continue
        moved = now + draws.gauss(0.0, step)
        now = max(0.0, min(moved, 2 * most - moved))
    if not at_ms or at_ms[-1] == 0:
        raise SojournError(f"a trace of {duration} with seed {seed} has no opportunity; allowed: a longer one")
    return Trace(f"lte seed {seed}", "".join(f"{at}\n" for at in [*at_ms[:-1], _end(duration, at_ms[-1])]))


def _poisson(draws: random.Random, rate: float, start_s: float) -> list[int]:
    """Return the milliseconds of the opportunities of one tick."""
    found, at = [], 0.0
    while rate > 0:
        at += draws.expovariate(rate)
        if at >= _TICK_S:
            break
        found.append(int((start_s + at) * 1e3))
    return found


def _end(duration: Time, last_ms: int) -> int:
    """Return when the last opportunity is: at the end, so that the period is the duration."""
    return max(to_ns("duration", duration) // 1_000_000, last_ms, 1)


def starlink(*, duration: Time = "60 s", seed: int = 1) -> Trace:
    """Make a trace like that of a Starlink downlink, as a table of time and rate in steps of 100 ms.

    Every 15 s all links are reconfigured at once, with sharp changes of the rate (Mohan et al., "A multifaceted look
    at Starlink performance", ACM Web Conference 2024). Each interval has a level that is drawn uniformly from 50 to
    140 Mbit/s; its middle, 95 Mbit/s, lies among quarterly medians that Ookla's Speedtest reported for users in the
    USA, 87 Mbit/s (2021) to 105 Mbit/s (2025). The rest is our choice: within an interval the rate varies by 15 %
    around its level with a correlation of 0.9 from step to step, and the first 200 ms after a reconfiguration have a
    fifth of it.

    Parameters
    ----------
    duration
        Length of the trace.
    seed
        Another seed gives another trace.
    """
    draws = random.Random(seed)  # noqa: S311 - no secret
    lines, level, swing = ["time_s,rate_mbit_s"], 0.0, 0.0
    for step in range(max(to_ns("duration", duration) // 100_000_000, 1)):
        within = step % 150
        if within == 0:
            level = draws.uniform(50.0, 140.0)
        swing = 0.9 * swing + math.sqrt(1 - 0.9**2) * draws.gauss(0.0, 0.15)
        share = 0.2 if within < 2 else 1.0
        lines.append(f"{step / 10:g},{max(level * share * (1 + swing), 1.0):.2f}")
    return Trace(f"starlink seed {seed}", "\n".join([*lines, ""]))
