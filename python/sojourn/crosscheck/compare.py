"""The rule of the comparison: points, metrics, tolerances."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from sojourn.core import Document

STANDARD_ERRORS: Final = 3.0
"""A difference of up to this many standard errors of both sides together counts as noise."""

SHARE: Final = 0.9
"""Share of the points that must pass, for each metric."""

_NORMAL_95: Final = 1.96


@dataclass(frozen=True, slots=True)
class Run:
    """One replication of ours.

    Parameters
    ----------
    measured
        Result over the measured time.
    whole
        Result of the same run over all its time, the slow start included; None where nobody asks for it.
    """

    measured: Document
    whole: Document | None = None


Value: TypeAlias = Callable[[Run], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a comparison.

    Parameters
    ----------
    key
        As in the recorded results.
    title, unit, digits
        For tables.
    ours
        Our value of one run.
    relative, absolute
        Tolerance: the greater of a share of the peer's value and an amount in `unit`.
    quantum
        What a single drop adds to the value, in `unit`; None where the metric does not count drops. Drops are
        counted, so even runs that agree to the last packet are known no better than a count is.
    errors
        A difference of so many standard errors of both sides together may be chance; 0 leaves only the tolerance.
    """

    key: str
    title: str
    unit: str
    digits: int
    ours: Value
    relative: float = 0.0
    absolute: float = 0.0
    quantum: Value | None = None
    errors: float = STANDARD_ERRORS

    def tolerance(self, theirs: float) -> float:
        """Return the largest difference that passes independently of the noise."""
        return max(self.relative * abs(theirs), self.absolute)

    def rule(self) -> str:
        """Return the tolerance in words."""
        parts = []
        if self.relative:
            parts.append(f"{self.relative:.0%}".replace("%", " %"))
        if self.absolute:
            parts.append(f"{self.absolute:g} {self.unit}".strip())
        if self.errors not in {0.0, STANDARD_ERRORS}:
            parts.append(f"{self.errors:g} standard errors")
        return " or ".join(parts)


@dataclass(frozen=True, slots=True)
class Theirs:
    """A measurement of the peer.

    Parameters
    ----------
    value
        Mean over its runs.
    runs
        The number of runs.
    sd
        Standard deviation over its runs; None where there was one run only. The spread of our runs then stands for
        it: both sides say that they run the same random experiment.
    """

    value: float
    runs: int = 1
    sd: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The same work on both sides.

    Parameters
    ----------
    name
        Unique among the points of a peer.
    scenario
        Our document.
    scheme
        Our text of the discipline.
    theirs
        What the peer measured, by metric.
    is_quick
        Whether it is one of the few of ``--quick``.
    no_reference
        Why the peer's numbers are shown but not counted; None where they count.
    series
        Interval of the time series that the metrics need; None for none.
    needs_whole
        Whether a metric looks at the run from its beginning.
    recipe
        What the peer's program is told, to measure it again.
    replications
        Of ours, where they are not as many as asked for in all points.
    """

    name: str
    scenario: Document
    scheme: str
    theirs: Mapping[str, Theirs]
    metrics: tuple[Metric, ...]
    is_quick: bool = False
    no_reference: str | None = None
    series: str | None = None
    needs_whole: bool = False
    recipe: Mapping[str, Any] = field(default_factory=dict)
    replications: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one point, both sides."""

    point: Point
    metric: Metric
    ours: float
    theirs: float
    standard_error: float
    replications: int

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours - self.theirs

    @property
    def half_width(self) -> float:
        """Half the length of the 95 % interval of the difference."""
        return _NORMAL_95 * self.standard_error

    @property
    def is_within_tolerance(self) -> bool:
        """Whether the difference is within the tolerance."""
        return abs(self.difference) <= self.metric.tolerance(self.theirs)

    @property
    def is_within_noise(self) -> bool:
        """Whether the difference is within the noise."""
        return abs(self.difference) <= self.metric.errors * self.standard_error

    @property
    def passes(self) -> bool:
        """Whether the point passes this metric."""
        return self.is_within_tolerance or self.is_within_noise


def row(point: Point, metric: Metric, runs: Sequence[Run]) -> Row:
    """Compare one metric of one point.

    The variance of a run is that over the replications or, for metrics that count drops, that of a count where it is
    greater (a Poisson count of mean n has variance n).
    """
    theirs = point.theirs[metric.key]
    values = np.array([metric.ours(run) for run in runs])
    ours = float(values.mean())
    our_variance = float(values.var(ddof=1)) if len(runs) > 1 else 0.0
    counting = 0.0
    if metric.quantum is not None:
        quantum = float(np.mean([metric.quantum(run) for run in runs]))
        counting = quantum * max((ours + theirs.value) / 2, quantum)
    ours_of_run = max(our_variance, counting)
    theirs_of_run = max(our_variance if theirs.sd is None else theirs.sd**2, counting)
    error = math.sqrt(ours_of_run / len(runs) + theirs_of_run / theirs.runs)
    return Row(point, metric, ours, theirs.value, error, len(runs))


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of points that pass one metric."""

    title: str
    rule: str
    passed: int
    points: int

    @property
    def is_enough(self) -> bool:
        """Whether enough of the points agree: at least :data:`SHARE` of them."""
        return self.passed >= SHARE * self.points


@dataclass(frozen=True, slots=True)
class Outcome:
    """A peer's comparison.

    Parameters
    ----------
    peer
        ``linux``, ``ns3`` or ``ns2``.
    rows
        One for each metric of each point that both sides ran.
    left_out
        Points that were not compared, and why.
    """

    peer: str
    rows: tuple[Row, ...]
    left_out: tuple[tuple[Point, str], ...] = field(default=())

    def metrics(self) -> list[Tally]:
        """Count, for each metric, the points that pass, without those that have a reason not to be counted."""
        found: dict[str, list[Row]] = {}
        for entry in self.rows:
            if entry.point.no_reference is None:
                found.setdefault(entry.metric.title, []).append(entry)
        return [
            Tally(title, rows[0].metric.rule(), sum(entry.passes for entry in rows), len(rows))
            for title, rows in found.items()
        ]

    @property
    def agrees(self) -> bool:
        """Whether at least :data:`SHARE` of the points pass for every metric; False if no point was compared."""
        tallies = self.metrics()
        return bool(tallies) and all(tally.is_enough for tally in tallies)
