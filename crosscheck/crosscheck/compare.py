"""The rule of the comparison: points, metrics, tolerances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from sojourn.base.core import Document

STANDARD_ERRORS: Final = 3.0
"""A difference of up to this many standard errors of the peer's mean counts as noise."""

NOISE_LIMIT: Final = 1.5
"""Noise excuses a difference of up to this many tolerances."""

LEAST_DROPS: Final = 100
"""Drops of fewer than these, in all runs of the peer together, are too few to judge."""

SHARE: Final = 0.95
"""Share of the points that must pass, for each metric."""

BELOW_CEILING: Final = 0.02
"""Where the ceiling less this is below :data:`SHARE`, it takes its place."""

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
    streams
        Result of the same run over the time that iperf3 counts, which begins with its streams; None where that is the
        measured time.
    """

    measured: Document
    whole: Document | None = None
    streams: Document | None = None


Value: TypeAlias = Callable[[Run], float]


def of_run(name: str, scale: float = 1.0) -> Value:
    """Return the value of a metric of the run."""
    return lambda run: float(run.measured["metrics"][name]) * scale


def of_group(name: str, metric: str, scale: float = 1.0, less: float = 0.0) -> Value:
    """Return the value of a metric of a group of flows, above what the path alone takes."""

    def value(run: Run) -> float:
        (own,) = [group for group in run.measured["groups"] if group["name"] == name]
        return float(own["metrics"][metric]) * scale - less

    return value


def rate_of(metric: str, *, whole: bool = False) -> Value:
    """Return the value of a count a second."""

    def value(run: Run) -> float:
        document = (run.whole if whole else None) or run.measured
        return float(document["metrics"][metric]) / float(document["measured_s"])

    return value


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a comparison.

    Parameters
    ----------
    relative, absolute
        Tolerance: the greater of a share of the peer's value and an amount in `unit`.
    counts_drops
        Whether the value counts drops or marks, which may be too few to judge.
    errors
        A difference of so many standard errors of the peer's mean may be chance; 0 leaves only the tolerance.
    """

    key: str
    title: str
    unit: str
    digits: int
    ours: Value
    relative: float = 0.0
    absolute: float = 0.0
    counts_drops: bool = False
    errors: float = STANDARD_ERRORS

    def tolerance(self, theirs: float) -> float:
        """Return the largest difference that passes independently of the noise."""
        return max(self.relative * abs(theirs), self.absolute)

    def allowed(self, theirs: Theirs) -> float:
        """Return the largest difference that passes: the tolerance or, up to a limit, the peer's noise."""
        tolerance = self.tolerance(theirs.value)
        return max(tolerance, min(self.errors * (theirs.standard_error or 0.0), NOISE_LIMIT * tolerance))

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
    sd
        Standard deviation over its runs; None where there was one run only, which is judged by the tolerance alone.
    values
        Of its runs, where they are known one by one.
    drops
        What the runs together counted, where the value is a rate or a ratio of that; None where it is not.
    """

    value: float
    runs: int = 1
    sd: float | None = None
    values: tuple[float, ...] = ()
    drops: float | None = None

    @property
    def standard_error(self) -> float | None:
        """Of the mean; None where there was one run only."""
        return None if self.sd is None or self.runs < 2 else self.sd / math.sqrt(self.runs)


def theirs(values: Sequence[float], drops: float | None = None) -> Theirs:
    """Return the mean of the peer's runs, with their spread where there are several."""
    n = len(values)
    mean = sum(values) / n
    sd = (sum((value - mean) ** 2 for value in values) / (n - 1)) ** 0.5 if n > 1 else None
    return Theirs(mean, n, sd, tuple(values), drops)


def measured(metrics: Iterable[Metric], rows: Sequence[Mapping[str, str]]) -> dict[str, Theirs]:
    """Return what the peer measured, from rows of its runs with a column for each metric."""
    return {metric.key: theirs([float(row[metric.key]) for row in rows]) for metric in metrics}


@dataclass(frozen=True, slots=True)
class Point:
    """The same work on both sides.

    Parameters
    ----------
    name
        Unique among the points of a peer.
    scheme
        Our text of the discipline; None for those that the scenario names.
    group
        Points of different groups are counted apart.
    no_reference
        Why the peer's numbers are shown but not counted; None where they count.
    series
        Interval of the time series that the metrics need; None for none.
    needs_whole
        Whether a metric looks at the run from its beginning.
    streams_s
        How much later than the run iperf3's clock begins, in s; None where no metric has that clock.
    recipe
        What the peer's program is told, to measure it again.
    replications
        Of ours, where they are not as many as asked for in all points.
    """

    name: str
    scenario: Document
    scheme: str | None
    theirs: Mapping[str, Theirs]
    metrics: tuple[Metric, ...]
    is_quick: bool = False
    group: str = ""
    no_reference: str | None = None
    series: str | None = None
    needs_whole: bool = False
    streams_s: float | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict)
    replications: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one point, both sides.

    Parameters
    ----------
    ours
        Mean over our replications; NaN where the point was not judged.
    our_error
        Its standard error.
    """

    point: Point
    metric: Metric
    ours: float
    theirs: Theirs
    our_error: float
    replications: int

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours - self.theirs.value

    @property
    def half_width(self) -> float:
        """Half the length of the 95 % interval of the difference; of a single run of the peer, of ours alone."""
        return _NORMAL_95 * math.hypot(self.our_error, self.theirs.standard_error or 0.0)

    @property
    def is_too_few(self) -> bool:
        """Whether the peer counted too few drops to be judged; ours does not matter."""
        return is_too_few(self.metric, self.theirs)

    @property
    def is_counted(self) -> bool:
        """Whether the row counts in the shares."""
        return self.point.no_reference is None and not self.is_too_few

    @property
    def is_within_tolerance(self) -> bool:
        """Whether the difference is within the tolerance."""
        return abs(self.difference) <= self.metric.tolerance(self.theirs.value)

    @property
    def passes(self) -> bool:
        """Whether the point passes this metric."""
        return abs(self.difference) <= self.metric.allowed(self.theirs)

    @property
    def ceiling(self) -> float | None:
        """The share of the peer's own runs that pass; None where there was one run only.

        Each run is compared with the mean of the others. That difference has the variance n/(n - 1) of a run's; ours
        would have 1/n + 1/r with r replications if it were drawn from the same distribution. The difference is
        scaled by the ratio of both. Where only mean and standard deviation are known, the share is a normal
        distribution's.
        """
        theirs, n = self.theirs, self.theirs.runs
        if theirs.sd is None or n < 2:
            return None
        spread = 1 / n + 1 / max(self.replications, 1)
        allowed = self.metric.allowed(theirs)
        if len(theirs.values) < 2:
            scale = theirs.sd * math.sqrt(2 * spread)
            return math.erf(allowed / scale) if scale > 0 else 1.0
        # A run less the mean of the others is n/(n - 1) times the run less the mean of all.
        factor = n / (n - 1) * math.sqrt(spread / (n / (n - 1)))
        return sum(factor * abs(value - theirs.value) <= allowed for value in theirs.values) / n


def is_too_few(metric: Metric, theirs: Theirs) -> bool:
    """Return whether the peer counted too few drops for a judgement."""
    return metric.counts_drops and theirs.drops is not None and theirs.drops < LEAST_DROPS


def row(point: Point, metric: Metric, runs: Sequence[Run]) -> Row:
    """Compare one metric of one point."""
    values = np.array([metric.ours(run) for run in runs])
    error = float(values.std(ddof=1)) / math.sqrt(len(runs)) if len(runs) > 1 else 0.0
    return Row(point, metric, float(values.mean()), point.theirs[metric.key], error, len(runs))


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of points that pass one metric.

    Parameters
    ----------
    too_few
        Points that do not count because the peer counted too few drops.
    ceiling
        Share of the peer's own runs that pass; None where no point has several runs.
    least
        Share of the points that must pass, unless the ceiling is lower.
    """

    title: str
    rule: str
    passed: int
    points: int
    too_few: int = 0
    ceiling: float | None = None
    ceiling_points: int = 0
    least: float = SHARE

    @property
    def share(self) -> float:
        """Share of the points that pass; NaN if there are none."""
        return self.passed / self.points if self.points else math.nan

    @property
    def needed(self) -> float:
        """Share of the points that must pass."""
        return self.least if self.ceiling is None else min(self.least, self.ceiling - BELOW_CEILING)

    @property
    def is_enough(self) -> bool:
        """Whether enough of the points agree."""
        return self.passed >= self.needed * self.points


def tally(title: str, rows: Sequence[Row], least: float = SHARE) -> Tally:
    """Count the points of one metric that pass, without those that do not count; a share of `least` must."""
    counted = [entry for entry in rows if entry.is_counted]
    ceilings = [entry.ceiling for entry in counted if entry.ceiling is not None]
    return Tally(
        title,
        rows[0].metric.rule(),
        sum(entry.passes for entry in counted),
        len(counted),
        sum(entry.is_too_few for entry in rows if entry.point.no_reference is None),
        sum(ceilings) / len(ceilings) if ceilings else None,
        len(ceilings),
        least,
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """A peer's comparison."""

    peer: str
    rows: tuple[Row, ...]
    left_out: tuple[tuple[Point, str], ...] = field(default=())

    def metrics(self) -> list[Tally]:
        """Count, for each metric of each group, the points that pass, without those that do not count."""
        found: dict[str, list[Row]] = {}
        for entry in self.rows:
            title = f"{entry.point.group}: {entry.metric.title}" if entry.point.group else entry.metric.title
            found.setdefault(title, []).append(entry)
        return [counted for title, rows in found.items() if (counted := tally(title, rows)).points or counted.too_few]

    @property
    def agrees(self) -> bool:
        """Whether enough of the points pass for every metric; False if no point was compared."""
        tallies = [counted for counted in self.metrics() if counted.points]
        return bool(tallies) and all(counted.is_enough for counted in tallies)
