"""Warnings about runs whose warm-up is too short, or that have not reached a steady state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sojourn.results import tables
from sojourn.stats.estimates import Floats
from sojourn.stats.steady import initial_bias, mser

if TYPE_CHECKING:
    from sojourn.results.results import Results

SERIES: Final = ("queue_packets", "goodput_bit_s")
"""The series that are examined, of the headline queue and of all flows. Each value is a mean over an interval."""
_ERROR: Final = 0.01
"""Probability of a false warning of a whole comparison, as far as the test's theory holds."""


@dataclass(frozen=True, slots=True)
class Warning:  # noqa: A001 - read as warmup.Warning
    """One scheme's series that is biased by its beginning.

    Parameters
    ----------
    scheme
        Its label, or the cell of a plan.
    series
        ``queue_packets`` or ``goodput_bit_s``.
    warm_up_s
        The warm-up that was chosen.
    settled_s
        Where the series settles; None where it has not.
    starts_low
        Whether the beginning is below the rest.
    p
        Of the test that there is no bias, before the correction for the number of tests.
    """

    scheme: str
    series: str
    warm_up_s: float
    settled_s: float | None
    starts_low: bool
    p: float

    @property
    def text(self) -> str:
        """One sentence."""
        what = {"queue_packets": "the queue", "goodput_bit_s": "goodput"}.get(self.series, self.series)
        side = "low" if self.starts_low else "high"
        if self.settled_s is None:
            return (
                f"{self.scheme}: {what} has not reached a steady state (it starts {side} and has not settled "
                "half-way); simulate a longer time, or take the means as those of a transient"
            )
        return (
            f"{self.scheme}: the warm-up of {self.warm_up_s:g} s is too short: {what} starts {side} and settles near "
            f"{self.settled_s:.3g} s"
        )


def check(results: Results) -> tuple[Warning, ...]:
    """Examine the sampled time series of results; without any there is nothing to look at, and no warning."""
    curves: dict[tuple[str, str], list[tables.Row]] = {}
    examined = {results.curve(name): name for name in SERIES}
    for row in tables.rows(results.frames, "series"):
        if row["name"] in examined:
            curves.setdefault((row["scheme"], examined[row["name"]]), []).append(row)
    if not curves:
        return ()
    warm_up = float(tables.rows(results.frames, "runs")[0]["warm_up_s"])
    return examine(curves, dict.fromkeys(results.labels, warm_up))


def examine(
    curves: Mapping[tuple[str, str], Sequence[tables.Row]], warm_up_s: Mapping[str, float]
) -> tuple[Warning, ...]:
    """Examine time series, averaged over the replications that have them.

    A warning needs both: the beginning of the measured time biases its mean (:func:`initial_bias`, corrected for the
    number of tests), and MSER-5 on the whole run finds that the series settles after the warm-up, or not at all.

    Parameters
    ----------
    curves
        ``t_s`` and ``value`` of every replication, by scheme or cell and by name of the series.
    warm_up_s
        The warm-up of every scheme or cell.
    """
    tests = len(warm_up_s) * len(SERIES)
    return tuple(found for found in _found(curves, warm_up_s) if found.p * tests < _ERROR)


def _found(
    curves: Mapping[tuple[str, str], Sequence[tables.Row]], warm_up_s: Mapping[str, float]
) -> Iterator[Warning]:
    for (label, name), rows in curves.items():
        times, values = _mean(rows)
        place = mser(values)
        settled = None if place is None else float(times[place - 1]) if place else 0.0
        if settled is None or settled > warm_up_s[label]:
            bias = initial_bias(values[times > warm_up_s[label]])
            yield Warning(label, name, warm_up_s[label], settled, bias.statistic < 0, bias.p)


def _mean(rows: Sequence[tables.Row]) -> tuple[Floats, Floats]:
    """Return the instants at which any replication has a sample, and the mean of those that have one."""
    times = np.concatenate([np.array(row["t_s"], dtype=np.float64) for row in rows])
    values = np.concatenate([np.array(row["value"], dtype=np.float64) for row in rows])
    known = np.isfinite(values)
    instants, place = np.unique(times, return_inverse=True)
    counts = np.bincount(place, known, instants.size)
    sums = np.bincount(place, np.where(known, values, 0.0), instants.size)
    means = np.full(instants.size, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return instants, means
