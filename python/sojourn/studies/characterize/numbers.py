"""What a store holds of a characterisation: estimates, differences and points of graphs, a scenario at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from sojourn import stats
from sojourn.plan import Cells, Plan, expand, read, rows
from sojourn.plan.store import Store
from sojourn.results import headline, metrics, tables
from sojourn.stats import Estimate, Floats
from sojourn.studies.characterize.suite import Scenario

DELAY: Final = "sojourn_ms_mean"
GOODPUT: Final = "goodput_bit_s"
OWN_DELAY: Final = "one_way_delay_ms_mean"
_OF_GROUP: Final = "one_way_delay_ms:"


@dataclass(frozen=True)
class Found:
    """One scenario with its plan and the runs that a store holds of it."""

    scenario: Scenario
    plan: Plan
    store: Store

    @cached_property
    def cells(self) -> Cells:
        """The cells of the plan."""
        return expand.cells(self.plan)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row a run."""
        return read.frame(self.cells, self.store)

    @cached_property
    def queues(self) -> pd.DataFrame:
        """A row a run and queue under test."""
        found = read.frame(self.cells, self.store, "queues")
        return found[found["under_test"].astype(bool)]

    def tested(self, level: Any = None) -> tuple[str, ...]:
        """Return the queues under test at a level, the busiest under all schemes first."""
        own = self.queues
        if level is not None and self.factor is not None:
            own = own[own[self.factor] == level]
        return headline.tested(read.records(own))

    @cached_property
    def groups(self) -> pd.DataFrame:
        """A row a run and group of flows."""
        return read.frame(self.cells, self.store, "groups")

    @cached_property
    def phases(self) -> pd.DataFrame:
        """A row a run and phase: all its occurrences together, and all traffic."""
        every = read.frame(self.cells, self.store, "phases")
        found = every[(every["occurrence"] == 0) & (every["group"] == "")] if len(every) else every
        # The first of the rows of several queues under test has what is of all traffic, too.
        return found.drop_duplicates(["run", "phase"])

    @cached_property
    def distributions(self) -> pd.DataFrame:
        """Points of the distribution functions."""
        return read.curves(self.cells, self.store, "distributions", "quantity")

    @property
    def labels(self) -> list[str]:
        """The schemes' labels, in the order of the plan."""
        return [one.label for one in self.plan.schemes]

    @property
    def factor(self) -> str | None:
        """The name of what varies beside the scheme."""
        return self.plan.factors[0].name if self.plan.factors else None

    def levels(self) -> list[Any]:
        """The values of what varies; one None where nothing does."""
        if self.factor is None:
            return [None]
        return list(dict.fromkeys(cell.levels[self.factor] for cell in self.cells))

    def part(self, frame: pd.DataFrame, label: str, level: Any = None, **equal: str) -> pd.DataFrame:
        """Return the rows of a scheme, at a level, in the order of replications."""
        chosen = frame["label"] == label
        if level is not None and self.factor is not None:
            chosen &= frame[self.factor] == level
        for column, value in equal.items():
            chosen &= frame[column] == value
        return frame[chosen].sort_values("replication")

    def estimate(self, frame: pd.DataFrame, label: str, metric: str, level: Any = None, **equal: str) -> Estimate:
        """Return the estimate of a metric; of no observation where the frame has none.

        ``metric@queue`` is read from the table of queues in place of `frame`.
        """
        metric, queue = metrics.split(metric)
        if queue:
            frame, equal = self.queues, {**equal, "queue": queue}
        if metric not in frame.columns:
            return stats.estimate([])
        values = self.part(frame, label, level, **equal)[metric].to_numpy(dtype=np.float64)
        return self.mean(label, level, values, metrics.quantity(metric))

    def mean(self, label: str, level: Any, values: Floats, of: stats.Quantity = stats.EXACT) -> Estimate:
        """Return the estimate of one number a run of a scheme at a level."""
        return stats.estimate(values, of, repeated=self.repeated(label, level))

    def repeated(self, label: str, level: Any = None) -> bool:
        """Return whether all runs of a scheme at a level are one run repeated."""
        known = (label, level)
        if known not in self._repeated:
            own = self.part(self.runs, label, level)
            names = [name for name in (*tables.FACTS, *rows.metric_names("runs")) if name in own]
            self._repeated[known] = tables.is_one_run(
                [*map(tables.fingerprint, tables.rows({"runs": own[names]}, "runs"))]
            )
        return self._repeated[known]

    @cached_property
    def _repeated(self) -> dict[tuple[str, Any], bool]:
        return {}

    def points(self, label: str, level: Any = None, group: str = "") -> tuple[Floats, Floats]:
        """Return queueing delay in ms and goodput in Mbit/s of every run (RFC 7928, section 2.7).

        The delay of the run is the mean sojourn time in the queue under test, of several in the busiest. That of a
        group is the mean one-way delay of its packets, less the smallest that any packet of it had under any scheme.
        """
        if not group:
            own = self.part(self.runs, label, level)
            return own[DELAY].to_numpy(np.float64), own[GOODPUT].to_numpy(np.float64) / 1e6
        own = self.part(self.groups, label, level, group=group)
        delays = own[OWN_DELAY].to_numpy(np.float64) - self.least_delay_ms(group, level)
        return delays, own[GOODPUT].to_numpy(np.float64) / 1e6

    def least_delay_ms(self, group: str, level: Any = None) -> float:
        """Return the smallest one-way delay of a packet of a group under any scheme; 0 where none is known."""
        frame = self.distributions
        own = frame[frame["quantity"] == f"{_OF_GROUP}{group}"]
        if level is not None and self.factor is not None:
            own = own[own[self.factor] == level]
        return float(own["value"].min()) if len(own) else 0.0

    def differences(self, subject: str, metric: str, level: Any = None) -> dict[str, str]:
        """Return where the subject is ``lower`` or ``higher`` than each other scheme, or ``tied``.

        Paired differences at the 5 % level, after Holm's correction over the other schemes.
        """
        others = [label for label in self.labels if label != subject]
        ours = self.part(self.runs, subject, level)[metric].to_numpy(np.float64)
        found: dict[str, str] = {}
        pairs = {label: self.part(self.runs, label, level)[metric].to_numpy(np.float64) for label in others}
        whole = {label: theirs for label, theirs in pairs.items() if theirs.shape == ours.shape and ours.size > 1}
        if not whole:
            return {}
        same = self.repeated(subject, level)
        p = stats.holm(
            [
                stats.paired_p(ours, theirs, metrics.quantity(metric), repeated=same and self.repeated(label, level))
                for label, theirs in whole.items()
            ]
        )
        for (label, theirs), one in zip(whole.items(), p, strict=True):
            gap = float(np.nanmean(ours - theirs))
            found[label] = "tied" if not one < 0.05 else "lower" if gap < 0 else "higher"
        return found

    def curves(self, quantity: str, level: Any = None) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
        """Yield the distribution function of a quantity under each scheme, averaged over replications."""
        frame = self.distributions
        for label in self.labels:
            own = self.part(frame[frame["quantity"] == quantity], label, level)
            curves = [
                (run["value"].to_numpy(np.float64), run["cumulative"].to_numpy(np.float64))
                for _, run in own.groupby("run", sort=False)
            ]
            if curves:
                yield label, stats.mean_cdf(curves)


def written(found: Estimate, metric: str) -> str:
    """Return an estimate with its half-width, in the metric's shown unit; a dash where there is none."""
    if found.replications == 0:
        return "–"
    return metrics.written(found, metrics.find(metric).scale).replace("-", "−")


def head(metric: str) -> str:
    """Return the title of a metric with its shown unit."""
    one = metrics.find(metric)
    return f"{one.title} ({one.shown_unit})" if one.shown_unit else one.title
