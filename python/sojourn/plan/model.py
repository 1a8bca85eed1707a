"""A plan: a scenario, what varies, replications, precision goals, and the metrics and figures to show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import provided
from sojourn.model.scheme import Scheme
from sojourn.plan.identity import SIMULATED
from sojourn.plan.parts import AUTO, Factor, Figure, Precision, Variation

if TYPE_CHECKING:
    from pathlib import Path


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
    ) -> Any:
        """Run what a store does not hold yet, and return the :class:`sojourn.plan.execute.Outcome`.

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
        return provided.get("driver of plans")(self, store, jobs=jobs, force=force, progress=progress)
