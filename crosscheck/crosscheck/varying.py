"""A rate that changes between 10 and 100 Mbit/s (RFC 7928, section 8.2.6) on Linux and here: settling and peak."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from crosscheck import linux, records
from crosscheck.compare import Metric, Point, Run, theirs
from sojourn.base.core import Document
from sojourn.stats import Floats

RECORD: Final = "linux_varying.csv"
GROUP: Final = "rate changes"

# As crosscheck/linux/varying.py.
FLOWS: Final = 10
RTT_MS: Final = 50
RATES: Final = (10, 100)
TURN_S: Final = 20
CHANGES: Final = 10
BIN_S: Final = 0.1
_PING_S: Final = 0.02
_PER_FLOW: Final = ("cake",)
_SCHEMES: Final = {
    "pfifo": "pfifo limit 417p",
    "codel": "codel preset linux-6.1 limit 1000p noecn",
    "pie": "pie preset linux-6.1 limit 1000p",
    "cake": "cake besteffort",
}

WINDOW_S: Final = 1.0
"""Length of the means that settle."""
LAST_S: Final = 5.0
"""What of a phase's end they settle to."""
BAND: Final = 0.2
"""Share of that by which they may differ."""


def settling(delays_ms: Floats) -> float:
    """Return the first time after which the mean over the last second stays within 20 % of the last 5 s' mean, in s.

    Parameters
    ----------
    delays_ms
        Mean delay in each 100 ms since the change; NaN where nothing was seen.

    Examples
    --------
    1 s of 50 ms and then 10 ms: after 1.9 s one value of ten is 50, so the mean is 14; after 2 s it is 10.

    >>> settling(np.array([50.0] * 10 + [10.0] * 190))
    2.0
    """
    width = round(WINDOW_S / BIN_S)
    final = float(np.nanmean(delays_ms[-round(LAST_S / BIN_S) :]))
    windows = np.lib.stride_tricks.sliding_window_view(delays_ms, width)
    seen = np.isfinite(windows).sum(axis=1)
    means = np.nansum(windows, axis=1) / np.maximum(seen, 1)
    outside = np.flatnonzero((seen > 0) & (np.abs(means - final) > BAND * final))
    first = 0 if outside.size == 0 else int(outside[-1]) + 1
    # A phase that never settles has all of its time.
    return min((first + width) * BIN_S, delays_ms.size * BIN_S)


def peak(delays_ms: Floats) -> float:
    """Return the highest mean over 100 ms, in ms."""
    return float(np.nanmax(delays_ms))


_MEASURES: Final[dict[str, tuple[str, str, int, Callable[[Floats], float]]]] = {
    "settling": ("settling", "s", 2, settling),
    "peak": ("peak delay", "ms", 1, peak),
}


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return a point for each scheme that has recordings, with what Linux measured."""
    found = []
    for scheme, own in records.grouped(RECORD, rows, lambda row: row["scheme"]).items():
        metrics = _metrics(scheme)
        measured = {}
        for metric in metrics:
            key, _, rate = metric.key.partition(" ")
            phases = [_bins(row["delay_ms"]) for row in own if row["rate_mbit_s"] == rate]
            measured[metric.key] = theirs([_MEASURES[key][3](phase) for phase in phases])
        changes = len({(row["run"], row["phase"]) for row in own})
        found.append(
            Point(
                name=f"cubic, {FLOWS} flows, {RTT_MS} ms, {RATES[0]} and {RATES[1]} Mbit/s, {changes} changes, "
                f"{scheme}",
                scenario=scenario(scheme),
                scheme=_SCHEMES[scheme],
                theirs=measured,
                metrics=metrics,
                group=GROUP,
                series="100 ms",
            )
        )
    return found


def _metrics(scheme: str) -> tuple[Metric, ...]:
    """Return settling and peak after a change to each of the rates, means over the changes of a run."""

    def metric(key: str, rate: int) -> Metric:
        title, unit, digits, measure = _MEASURES[key]
        return Metric(
            f"{key} {rate}",
            f"{title} at {rate} Mbit/s",
            unit,
            digits,
            lambda run: _mean([measure(bins) for at, bins in phases(run, scheme) if at == rate]),
            relative=0.2,
        )

    return tuple(metric(key, rate) for key in _MEASURES for rate in RATES)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _bins(text: str) -> Floats:
    return np.array([math.nan if value == "-" else float(value) for value in text.split(" ")])


def phases(run: Run, scheme: str) -> list[tuple[int, Floats]]:
    """Return the rate of each of our phases and its mean delays in ms, as the recorded ones.

    The delay is that of the ping, or that of the flows' smoothed RTT at schemes that give the ping its own queue.
    """
    is_rtt = scheme in _PER_FLOW
    # A smoothed RTT is that of an instant, and the change is half an interval before a point of the series.
    first_s = -BIN_S / 2 if is_rtt else BIN_S / 2
    name = f"srtt_ms:{linux.BULK}" if is_rtt else "rtt_ms:ping"
    chosen = [series for series in run.measured["series"] if series["name"].startswith(name)]
    t_s = np.array(chosen[0]["t_s"], dtype=np.float64)
    values = np.array([series["value"] for series in chosen], dtype=np.float64)
    seen = np.isfinite(values).sum(axis=0)
    sums = np.nansum(values, axis=0)
    rtts = np.divide(sums, seen, out=np.full(sums.shape, math.nan), where=seen > 0)
    found = []
    for number in range(1, CHANGES + 1):
        rate = RATES[number % 2]
        inside = (t_s > number * TURN_S + first_s) & (t_s < (number + 1) * TURN_S + first_s)
        found.append((rate, rtts[inside] - RTT_MS))
    return found


def scenario(scheme: str) -> Document:
    """Return our form of the machine's network, with the changes of the rate."""
    length_s = TURN_S * (CHANGES + 1)
    network: dict[str, Any] = linux.network(
        [linux.Flows("cubic", FLOWS, RTT_MS)],
        RTT_MS,
        RATES[1],
        length_s + 1,
        TURN_S,
        told_s=_PING_S / 2,
    )
    # A point of the series is of what came back in 100 ms, half a base RTT after it left the queue. That of a
    # smoothed RTT is of an instant; Linux's are sampled at any instant of an interval, in its middle on average.
    lead_ms = round(BIN_S * 1000 / 2) if scheme in _PER_FLOW else RTT_MS // 2
    network["changes"] = [
        {"at": f"{number * TURN_S * 1000 - lead_ms} ms", "rate": f"{RATES[number % 2]} Mbit/s"}
        for number in range(1, CHANGES + 1)
    ]
    network["links"][0]["rate"] = f"{RATES[0]} Mbit/s"
    ping = network["flows"][-1]
    ping["transport"] = {"kind": "udp", "echo": True}
    ping["traffic"] = {**ping["traffic"], "rate": f"{56 * 8 / _PING_S:g} bit/s"}
    return network
