"""What a store holds of a characterisation: estimates, differences and points of graphs, a scenario at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from sojourn import stats
from sojourn.base.core import SojournError
from sojourn.plan import Plan, expand, read
from sojourn.plan.store import Store
from sojourn.results import metrics
from sojourn.results.results import Results
from sojourn.stats import Estimate, Floats
from sojourn.studies.characterize import measures
from sojourn.studies.characterize.suite import Scenario
from sojourn.view.plot import mean_share

DELAY: Final = "sojourn_ms_mean"
GOODPUT: Final = "goodput_bit_s"


@dataclass(frozen=True)
class Found:
    """One scenario with its plan and the runs that a store holds of it."""

    scenario: Scenario
    plan: Plan
    store: Store

    @cached_property
    def results(self) -> dict[Any, Results]:
        """The results by the value of what varies; by None where nothing does."""
        found = read.results(expand.cells(self.plan), self.store)
        # Differences are corrected for the number of schemes, not for that of values.
        return {next(iter(levels.values()), None): measures.added(replace(one, family=())) for levels, one in found}

    @property
    def labels(self) -> list[str]:
        """The schemes' labels, in the order of the plan."""
        return [one.label for one in self.plan.schemes]

    @property
    def factor(self) -> str | None:
        """The name of what varies beside the scheme."""
        return self.plan.factors[0].name if self.plan.factors else None

    @property
    def levels(self) -> list[Any]:
        """The values of what varies; one None where nothing does."""
        return [*self.results]

    def values(self, label: str, metric: str, level: Any = None, **where: str) -> Floats:
        """Return a metric of a scheme by replication, of a ``group`` or ``phase``; nothing where no run has it."""
        try:
            return self.results[level].values(label, metric, **where)
        except SojournError:
            return np.array([], dtype=np.float64)

    def estimate(self, label: str, metric: str, level: Any = None, **where: str) -> Estimate:
        """Return the estimate of a metric; of no observation where no run has it."""
        return self.results[level].mean(label, self.values(label, metric, level, **where), metrics.quantity(metric))

    def text(self, label: str, metric: str, level: Any = None, **where: str) -> str:
        """Return an estimate with its half-width, in the metric's shown unit; a dash where there is none."""
        return metrics.shown(self.estimate(label, metric, level, **where), metrics.find(metric).scale)

    def has(self, metric: str, **where: str) -> bool:
        """Return whether any run has a metric."""
        own = (self.values(label, metric, level, **where) for level in self.levels for label in self.labels)
        return any(np.isfinite(values).any() for values in own)

    def points(self, label: str, level: Any = None, group: str = "") -> tuple[Floats, Floats]:
        """Return queueing delay in ms and goodput in Mbit/s of every run (RFC 7928, section 2.7), or the plane.

        The delay of the run is the mean sojourn time in the queue under test, of several in the busiest. That of a
        group is the mean one-way delay of its packets, less the smallest that any packet of it had under any scheme.
        """
        if self.scenario.plane is not None:
            x, y = (self.values(label, name, level) for name in self.scenario.plane)
            return x, y
        if not group:
            return self.values(label, DELAY, level), self.values(label, GOODPUT, level) / 1e6
        delays = self.values(label, "one_way_delay_ms_mean", level, group=group)
        every = self.results[level].distributions
        least = every.loc[every["quantity"] == f"one_way_delay_ms:{group}", "value"].min()
        return delays - np.nan_to_num(least), self.values(label, GOODPUT, level, group=group) / 1e6

    def differences(self, subject: str, metric: str, level: Any = None) -> dict[str, str]:
        """Return where the subject is ``lower`` or ``higher`` than each other scheme, or ``tied``.

        Paired differences at the 5 % level, after Holm's correction over the other schemes.
        """
        one = self.results[level]
        if one.replications < 2:
            return {}
        found = {}
        for label, p in one.corrected(metric, subject).items():
            is_lower = one.difference(subject, metric, label).mean < 0
            found[label] = "tied" if not p < 1 - stats.LEVEL else "lower" if is_lower else "higher"
        return found

    def curves(self, quantity: str, level: Any = None) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
        """Yield the distribution function of a quantity under each scheme, averaged over replications."""
        one = self.results[level]
        every = one.distributions[one.distributions["quantity"] == one.curve(quantity)]
        for label in self.labels:
            curve = mean_share(every[every["scheme"] == label])
            if curve is not None:
                yield label, curve


Values = Callable[[Found, str], Floats]
"""One number a run of a scheme, in the order of replications."""


def reading(metric: str, scale: float = 1.0, level: int = 0, **where: str) -> Values:
    """Return what reads a metric at the level of this number, of a ``group`` or ``phase``."""
    return lambda found, label: found.values(label, metric, found.levels[level], **where) * scale


def worst(metric: str, *, lower: bool, scale: float = 1.0) -> Values:
    """Return what reads the worst value of all levels."""

    def read(found: Found, label: str) -> Floats:
        every = [found.values(label, metric, level) for level in found.levels]
        if not every or len({own.shape for own in every}) > 1:
            return np.array([], dtype=np.float64)
        stacked = np.stack(every)
        of_all: Floats = (stacked.max(axis=0) if lower else stacked.min(axis=0)) * scale
        return of_all

    return read


def unequal(found: Found, label: str, level: int = 1) -> Floats:
    """Return the larger of the two flows' goodputs at the base RTT of this number, divided by the smaller."""
    first, second = (found.values(label, GOODPUT, found.levels[level], group=name) for name in ("first", "second"))
    ratio = np.divide(second, first, out=np.full(second.shape, np.nan), where=(first > 0) & (second > 0))
    larger: Floats = np.maximum(ratio, 1 / ratio)
    return larger
