"""Rates of links over time: reading traces, looking at them, and making some like those of LTE and of Starlink.

:func:`read` takes a file, or the name of a trace that comes with Sojourn. :func:`summary` sums up a trace or a
capture of any length, which it reads as a stream. :func:`lte` and :func:`starlink` make traces from published models
and measurements; they are random, and the same for the same seed.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sojourn import _native
from sojourn.base.core import CAPTURES, SojournError, file_beside, read_beside
from sojourn.base.errors import ScenarioError
from sojourn.base.units import Rate, Time, to_bit_s, to_ns
from sojourn.base.wording import line

if TYPE_CHECKING:
    from sojourn.stats import Floats
    from sojourn.view.canvas import Picture

__all__ = ["Summary", "Trace", "lte", "read", "starlink", "summary"]

BYTES: Final = 1500
"""Bytes of IP of one opportunity of a trace in Mahimahi's format."""
_TICK_S: Final = 0.02
_ONE_WINDOW: Final = (1 << 63) - 1
"""Nanoseconds of a window that any trace fits in."""


@dataclass(frozen=True)
class Summary:
    """What a trace or a capture comes to.

    Parameters
    ----------
    name
        The file's.
    kind
        ``opportunities`` (Mahimahi's format), ``rates``, or ``packets`` of a capture.
    length_s
        The period; of a table whose last rate holds, the time of its last change; of a capture, the time from its
        first to its last packet.
    mean_bit_s
        The mean rate over this length in bit/s; of a capture, that of its IP packets.
    window_s
        Length of a window. A trace that is shorter is one window.
    rate_bit_s
        The mean rate in bit/s of each window; a last window that is not whole is left out.
    longest_gap_s
        The longest time without an opportunity or a packet, or with a rate of 0; over the end as well where a trace
        repeats.
    account
        Of a capture, what became of its frames: ``frames``, ``taken``, ``ip_bytes``, and where there are some,
        ``skipped`` by reason, ``out_of_order``, and ``cut``.
    """

    name: str
    kind: str
    length_s: float
    mean_bit_s: float
    window_s: float
    rate_bit_s: Floats
    longest_gap_s: float
    account: dict[str, Any] | None = None

    def plot(self) -> Picture:
        """Draw the mean rate of each window."""
        from sojourn.view.canvas import WIDTH, new_figure
        from sojourn.view.palette import INK

        rates = self.rate_bit_s / 1e6
        with new_figure(WIDTH, 2.8, rows=10) as figure:
            axes = figure.add_subplot()
            axes.stairs(rates, np.arange(rates.size + 1) * self.window_s, color=INK, linewidth=0.9)
            axes.set_ylim(bottom=0)
            axes.margins(x=0)
            axes.set_xlabel("Time (s)")
            axes.set_ylabel(f"Rate over {self.window_s * 1e3:g} ms (Mbit/s)")
            axes.set_title(f"{self.name}: mean {self.mean_bit_s / 1e6:.3g} Mbit/s")
        return figure


def _summed(name: str, found: _native.Summed) -> Summary:
    kind, length, mean, bits, window, gap, account = found
    rates = np.frombuffer(bits) / window
    return Summary(
        name, kind, length, float(mean), window, rates, gap, None if account is None else json.loads(account)
    )


def _window_ns(window_s: float) -> int:
    window = round(window_s * 1e9)
    if not 1 <= window <= _ONE_WINDOW:
        raise ScenarioError(f"a window of {window_s:g} s; allowed: 1 ns or more")
    return window


def summary(name: str | Path, *, window_s: float = 0.1, hold: bool = False) -> Summary:
    """Sum up a trace or a capture, which is read as a stream: memory grows with the number of windows alone.

    Parameters
    ----------
    name
        A file: a trace as of :func:`read`, or a capture (``.pcap``, ``.pcapng``). Or the name of a trace that comes
        with Sojourn.
    window_s
        Length of a window.
    hold
        Whether the last rate of a table holds, in place of a repetition.

    Raises
    ------
    SojournError
        If there is no such file, or it is neither a good trace nor a capture.

    Examples
    --------
    >>> summary("lte").longest_gap_s < 5
    True
    """
    file, window = file_beside(str(name), Path()), _window_ns(window_s)
    if file.suffix in CAPTURES:
        return _summed(file.name, _native.summary_of_capture(str(file), window))
    try:
        return _summed(Path(name).name, _native.summary_of_file(str(file), hold, window))
    except SojournError as error:
        raise ScenarioError(f"{Path(name).name}: {error}") from None


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
    def _facts(self) -> Summary:
        return self._summary(_ONE_WINDOW)

    def _summary(self, window_ns: int) -> Summary:
        try:
            return _summed(self.name, _native.summary_of_text(self.text, self.hold, window_ns))
        except SojournError as error:
            raise ScenarioError(f"{self.name}: {error}") from None

    @property
    def length_s(self) -> float:
        """The period in seconds; of a table whose last rate holds, the time of its last change."""
        return self._facts.length_s

    @property
    def kind(self) -> str:
        """``opportunities`` (Mahimahi's format) or ``rates``."""
        return self._facts.kind

    @property
    def mean_bit_s(self) -> float:
        """The mean rate over a period in bit/s."""
        return self._facts.mean_bit_s

    @property
    def longest_gap_s(self) -> float:
        """The longest time in seconds without an opportunity, or with a rate of 0, over the end as well."""
        return self._facts.longest_gap_s

    def bits(self, times_s: Sequence[float] | Floats) -> Floats:
        """Return how many bits the link can send from the start to each of some times in seconds."""
        return np.array(_native.trace(self.text, self.hold, [float(at) for at in times_s]))

    def rate_bit_s(self, window_s: float = 0.1) -> Floats:
        """Return the mean rate in bit/s of each window of a period; a last window that is not whole is left out."""
        return self._summary(_window_ns(window_s)).rate_bit_s

    def plot(self, window_s: float = 0.1) -> Picture:
        """Draw the mean rate of each window over a period."""
        return self._summary(_window_ns(window_s)).plot()


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
    """Make a trace like that of a cellular link, in Mahimahi's format; another seed gives another trace.

    The numbers are those by which Sprout infers cellular links (Winstein, Sivaraman and Balakrishnan, "Stochastic
    forecasts achieve high throughput and low delay over cellular networks", NSDI 2013, section 3, and its program):
    opportunities are a Poisson process whose rate is a Brownian motion of 200 packets/s per root second in ticks of
    20 ms, between 0 and a peak (Sprout's own is 12 Mbit/s); a rate of 0 is an outage, which ends at a rate of one per
    second. Our choices are that the rate is reflected at the peak, and that it is drawn uniformly after an outage.

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
        raise ScenarioError(f"a trace of {duration} with seed {seed} has no opportunity; allowed: a longer one")
    return Trace(
        f"lte seed {seed}",
        "".join(f"{at}\n" for at in [*at_ms[:-1], max(to_ns("duration", duration) // 1_000_000, at_ms[-1], 1)]),
    )


def _poisson(draws: random.Random, rate: float, start_s: float) -> list[int]:
    """Return the milliseconds of the opportunities of one tick."""
    found, at = [], 0.0
    while rate > 0:
        at += draws.expovariate(rate)
        if at >= _TICK_S:
            break
        found.append(int((start_s + at) * 1e3))
    return found


def starlink(*, duration: Time = "60 s", seed: int = 1) -> Trace:
    """Make a trace like that of a Starlink downlink, as a table of time and rate in steps of 100 ms.

    Every 15 s all links are reconfigured at once, with sharp changes of the rate (Mohan et al., "A multifaceted look
    at Starlink performance", ACM Web Conference 2024). Each interval has a level that is drawn uniformly from 50 to
    140 Mbit/s; its middle, 95 Mbit/s, lies among quarterly medians that Ookla's Speedtest reported for users in the
    USA, 87 Mbit/s (2021) to 105 Mbit/s (2025). The rest is our choice: within an interval the rate varies by 15 %
    around its level with a correlation of 0.9 from step to step, and the first 200 ms after a reconfiguration have a
    fifth of it. Another seed gives another trace.
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
