"""A plan: a scenario, what varies, replications, precision goals, and the metrics and figures to show."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from sojourn.base import provided, suggest
from sojourn.base.errors import ScenarioError
from sojourn.base.wording import one_line
from sojourn.model.scheme import Scheme
from sojourn.plan.identity import SIMULATED
from sojourn.results import metrics

if TYPE_CHECKING:
    from pathlib import Path

Value: TypeAlias = str | int | float | bool
Scale: TypeAlias = Literal["linear", "log"]

SCHEME: Final = "scheme"
FLOOR: Final = 10
CEILING: Final = 200
AUTO: Final = "auto"
"""The default sampling of time series, as in a comparison."""
NAME: Final = "a line of text without `/`, not empty, no dot in front"
"""What the name of a plan may be, which is that of a file in its store."""


def is_name(name: str) -> bool:
    """Whether a plan may have this name."""
    return bool(name) and not one_line(name) and not any(mark in name for mark in "/\\") and name[0] != "."


@dataclass(frozen=True, slots=True)
class Factor:
    """One thing that varies.

    Parameters
    ----------
    keys
        Paths of the scenario that take its value (``links.bottleneck.rate``), or ``scheme.PARAMETER`` for a parameter
        of every scheme, ``schemes.LABEL.PARAMETER`` for one of them.
    name
        In tables; by default the last part of the first key.
    """

    keys: tuple[str, ...]
    name: str

    def __post_init__(self) -> None:
        if why := one_line(self.name):
            raise ScenarioError(f"the name {self.name!r} {why}")


@dataclass(frozen=True, slots=True)
class Variation:
    """Factors that vary together, and the points they take; variations cross each other.

    Parameters
    ----------
    factors
        In order.
    points
        One value a factor at each point.
    """

    factors: tuple[Factor, ...]
    points: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        for value in (value for point in self.points for value in point if isinstance(value, str)):
            if why := one_line(value):
                raise ScenarioError(f"the level {value!r} {why}")


@dataclass(frozen=True, slots=True)
class Precision:
    """Replicate until the 95 % interval of a metric is narrow enough.

    Parameters
    ----------
    metric
        Of the run.
    within
        Half-width of the interval: ``"5 %"`` of the mean, or absolute with the metric's unit: ``"0.2 ms"``.
    floor, ceiling
        Least and greatest number of replications.
    """

    metric: str
    within: str
    floor: int = FLOOR
    ceiling: int = CEILING

    def __post_init__(self) -> None:
        if ("run", metrics.split(self.metric)[0]) not in metrics.catalogue():
            known = [name for scope, name in metrics.catalogue() if scope == "run"]
            raise ScenarioError(suggest.unknown("metric", self.metric, known))
        if self.floor < 2:
            raise ScenarioError(f"floor={self.floor} gives no interval; allowed: 2 or more, 10 or more is wise")
        if self.ceiling < self.floor:
            raise ScenarioError(f"ceiling={self.ceiling} is below floor={self.floor}")
        self.half_width(1.0)

    def half_width(self, mean: float) -> float:
        """Return the half-width that is allowed at a mean."""
        number, _, unit = self.within.strip().partition(" ")
        own = metrics.unit_of(self.metric)
        if number.endswith("%"):
            number, unit = number[:-1], "%"
        try:
            size = float(number)
        except ValueError:
            size = math.nan
        if not (math.isfinite(size) and size > 0) or unit.strip() not in ("%", own):
            absolute = f'"0.1 {own}"'.replace(' "', '"')
            raise ScenarioError(
                f'within={self.within!r} is not a precision of {self.metric}; allowed: "5 %", {absolute}'
            )
        return abs(mean) * size / 100 if unit.strip() == "%" else size


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture: a metric over a factor, a line for each scheme."""

    y: str
    x: str


def derived_seed(seed: int, levels: Sequence[tuple[str, Any]]) -> int:
    """Return the seed of cells that do not share traffic with others: it depends on the levels alone."""
    if not levels:
        return seed
    text = repr((seed, [(name, value) for name, value in levels]))
    # 63 bits: a seed that every format can hold.
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


USUAL: Final = ("sojourn_ms_mean", "sojourn_ms_p99", "goodput_bit_s")
"""The metrics that a plan shows unless it names others."""


@dataclass(frozen=True)
class Plan:
    """A sweep: a scenario, what varies, how often it is repeated.

    Parameters
    ----------
    name
        In tables, and of the plan in a store.
    scenario
        Text of the scenario document, TOML or JSON.
    schemes
        Each replaces the queues under test; empty: the scenario as it is written.
    vary
        Crossed with each other and with the schemes.
    sets
        Overrides ``key=value`` for every cell.
    seed
        Of every run.
    replications
        Of every cell, where there is no precision goal.
    precision
        Goals; a cell ends when it meets all.
    paired
        The factors, ``scheme`` among them, whose levels see the same traffic in the same replication. None: all.
    series
        Sampling interval of time series. ``"auto"``: that of the scenario in every replication, else some hundred
        samples of the first replication, which show whether a steady state was reached; none in plans of more than
        1000 cells. None: no series.
    series_replications
        How many replications of each cell are sampled, with another interval than ``"auto"``.
    metrics
        The metrics to show, in order.
    figures
        To draw.
    description
        A sentence for reports.
    world
        ``simulated``, or ``real`` for real packets through the kernel's own TCP and UDP.
    source
        What messages call the scenario.
    origin
        What messages call the plan.
    """

    name: str
    scenario: str
    schemes: tuple[Scheme, ...] = ()
    vary: tuple[Variation, ...] = ()
    sets: tuple[str, ...] = ()
    seed: int = 1
    replications: int = 10
    precision: tuple[Precision, ...] = ()
    paired: tuple[str, ...] | None = None
    series: str | None = AUTO
    series_replications: int = 1
    metrics: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    description: str = ""
    world: str = SIMULATED
    source: str = field(default="scenario", compare=False)
    origin: str = field(default="plan", compare=False)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Everything that varies but the scheme."""
        return tuple(factor for variation in self.vary for factor in variation.factors)

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics to show: those of the plan, else those of its goals, else the usual ones."""
        goals = tuple(goal.metric for goal in self.precision)
        return self.metrics or (
            *goals,
            *(name for name in USUAL if name not in goals),
        )

    @property
    def least(self) -> int:
        """Replications that every cell has at least."""
        return max((goal.floor for goal in self.precision), default=self.replications)

    @property
    def most(self) -> int:
        """Replications that a cell has at most."""
        return max((goal.ceiling for goal in self.precision), default=self.replications)

    def check(self) -> Plan:
        """Raise :class:`SojournError` unless every cell of the plan is possible; return the plan."""
        provided.get("cells of a plan")(self)
        return self

    def run(
        self, store: str | Path, *, jobs: int | None = None, force: bool = False, progress: bool | None = None
    ) -> Outcome:
        """Run what a store does not hold yet.

        Parameters
        ----------
        store
            Folder, made if it is not there.
        jobs
            Number of threads; by default one per core. The results do not depend on it.
        force
            Repeat what the store holds.
        progress
            Whether to show how far it is on standard error; by default if that is a terminal.
        """
        outcome: Outcome = provided.get("driver of plans")(self, store, jobs=jobs, force=force, progress=progress)
        return outcome


@dataclass(frozen=True)
class Failure:
    """A run that failed."""

    run: str
    cell: str
    replication: int
    why: str


@dataclass(frozen=True)
class Outcome:
    """The result of running a plan: runs made now (`ran`), runs that were there before (`found`), and failures.

    `cells` says how far each cell is, a :class:`sojourn.plan.execute.CellState` each.
    """

    plan: Plan
    folder: Path
    cells: tuple[Any, ...]
    ran: int
    found: int
    failures: tuple[Failure, ...]
    stopped: bool
