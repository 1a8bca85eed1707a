"""Two kernels at the same drawn points: where a newer Linux differs from the one that the simulator follows.

Of held-out points only shares leave this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from crosscheck import drawn, linux, records
from crosscheck.compare import LEAST_DROPS, STANDARD_ERRORS, Metric, Outcome, Point, Row, Theirs

OLDER: Final = "6.1"
NEWER: Final = "6.12"
RECORD: Final = "linux_drawn_6.12.csv"

Table = Iterable[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric of a point, measured on both kernels.

    Parameters
    ----------
    spread
        Relative standard deviation of a single run; None where it is not known.
    """

    point: Point
    metric: Metric
    older: Theirs
    newer: Theirs
    spread: float | None

    @property
    def difference(self) -> float:
        """Newer minus older."""
        return self.newer.value - self.older.value

    @property
    def standard_error(self) -> float:
        """Of the difference, from the pooled spread; infinite where that is not known.

        A count's spread is at least that of a Poisson variable.
        """
        if self.spread is None:
            return math.inf
        mean = (abs(self.older.value) + abs(self.newer.value)) / 2
        spread = self.spread
        if self.metric.counts_drops:
            # Few drops scatter as a Poisson variable does.
            count = (self.older.drops or 0) + (self.newer.drops or 0)
            spread = max(spread, math.sqrt((self.older.runs + self.newer.runs) / max(count, 1)))
        return spread * mean * math.sqrt(1 / self.older.runs + 1 / self.newer.runs)

    @property
    def is_counted(self) -> bool:
        """Whether there are enough drops or marks on either kernel."""
        counts = [theirs.drops for theirs in (self.older, self.newer)]
        return not self.metric.counts_drops or max(count or 0 for count in counts) >= LEAST_DROPS

    @property
    def is_within_tolerance(self) -> bool:
        """Whether the kernels differ by no more than the simulator may differ from the older one."""
        return abs(self.difference) <= self.metric.tolerance(self.older.value)

    @property
    def is_beyond_spread(self) -> bool:
        """Whether the difference is more than the runs' spread explains."""
        return abs(self.difference) > STANDARD_ERRORS * self.standard_error


def pairs(chosen: str, *, older: Table | None = None, newer: Table | None = None) -> list[Pair]:
    """Return every metric of a set's points that both kernels have measured."""
    rows = [list(records.table(name) if given is None else given) for name, given in _tables(older, newer)]
    if not rows[1]:
        return []
    found = {point.name: point for point in drawn.points(chosen, rows=rows[1])}
    known = spreads([*drawn.points(drawn.DEVELOPMENT, rows=rows[0]), *drawn.points(drawn.HELD_OUT, rows=rows[0])])
    result = []
    for point in drawn.points(chosen, rows=rows[0]):
        other = found.get(point.name)
        if other is None:
            continue
        result += [
            Pair(point, metric, point.theirs[metric.key], other.theirs[metric.key], known.get(metric.key))
            for metric in point.metrics
        ]
    return result


def _tables(older: Table | None, newer: Table | None) -> list[tuple[str, Table | None]]:
    return [(drawn.RECORD, older), (RECORD, newer)]


def spreads(points: Sequence[Point] = ()) -> dict[str, float]:
    """Return the relative standard deviation of a run of Linux, by metric, pooled over points with several runs."""
    sums: dict[str, tuple[float, int]] = {}
    for point in [*linux.points(records.table(linux.RECORD)), *points]:
        for metric in point.metrics:
            theirs = point.theirs[metric.key]
            too_few = metric.counts_drops and (theirs.drops or 0) < LEAST_DROPS
            if theirs.sd is None or not theirs.value or too_few:
                continue
            total, freedom = sums.get(metric.key, (0.0, 0))
            more = theirs.runs - 1
            sums[metric.key] = total + more * (theirs.sd / theirs.value) ** 2, freedom + more
    # Marks are as many as drops would be.
    found = {key: math.sqrt(total / freedom) for key, (total, freedom) in sums.items()}
    return found | ({"marks": found["drops"]} if "drops" in found and "marks" not in found else {})


def against_newer(outcome: Outcome) -> list[tuple[Row, Row]]:
    """Return our rows of development points that both kernels measured: against the older and the newer one."""
    found = {point.name: point for point in drawn.points(drawn.DEVELOPMENT, rows=records.table(RECORD))}
    return [
        (row, replace(row, theirs=found[row.point.name].theirs[row.metric.key]))
        for row in outcome.rows
        if row.point.name in found
    ]
