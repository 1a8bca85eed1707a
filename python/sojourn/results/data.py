"""The data of a run or a comparison: tables, values of metrics, and estimates of them with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sojourn import stats
from sojourn.base import suggest
from sojourn.base.core import Document, build, version
from sojourn.base.errors import RunError, SchemeError
from sojourn.model.scheme import Scheme
from sojourn.results import headline, metrics, tables
from sojourn.stats import BatchMeans, Effect, Estimate, Floats

if TYPE_CHECKING:
    # Slow to import: what needs them imports them where it does.
    import pandas as pd
    import pyarrow as pa

    from sojourn._native import Table


@dataclass(frozen=True, eq=False)
class ResultData:
    """What was measured in one run or comparison, and its estimates; :class:`sojourn.Results` adds what users ask.

    Parameters
    ----------
    scenario
        The canonical scenario document.
    schemes
        In the order in which they were named.
    seed
        Of the first replication.
    replications
        Runs of each scheme.
    frames
        The tables by name, see :mod:`sojourn.results.tables`.
    kind
        ``compare``, or ``run`` for the scenario as written.
    meta
        Facts about the execution that do not change a number: date, platform, command.
    family
        The results with which these are compared together, as those of a plan are, these included. The correction
        for the number of comparisons counts all of them. By default these alone.
    """

    scenario: Document
    schemes: tuple[Scheme, ...]
    seed: int
    replications: int
    frames: Mapping[str, pd.DataFrame] = field(repr=False)
    kind: str = "compare"
    meta: Mapping[str, Any] = field(default_factory=dict, repr=False)
    family: Sequence[ResultData] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.scenario["name"])

    @property
    def labels(self) -> tuple[str, ...]:
        """The schemes' labels, in order."""
        return tuple(scheme.label for scheme in self.schemes)

    @property
    def code_version(self) -> str:
        """The version of Sojourn that made the runs."""
        return str(self.meta.get("version", version()))

    @property
    def build(self) -> str:
        """The build of Sojourn that made the runs: version and digest of its sources.

        Two builds of one name give the same numbers bit for bit. Results of folders that do not name it have the
        version alone.
        """
        return str(self.meta.get("build") or self.meta.get("version") or build())

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run, one column per metric; those of queues are of the one in the column ``queue``."""
        return self.frames["runs"]

    @cached_property
    def tested(self) -> tuple[str, ...]:
        """The names of the queues under test, the busiest first.

        The first one is the headline queue: where no queue is named, metrics of queues are of it. It has the highest
        utilisation, averaged over the runs of all schemes.
        """
        found = headline.tested(tables.rows(self.frames, "queues"))
        first = str(self._rows[0]["queue"]) if self._rows else ""
        return tuple(sorted(found, key=lambda name: name != first))

    @property
    def queue(self) -> str:
        """The name of the headline queue: the first of :attr:`tested`, or empty."""
        return self.tested[0] if self.tested else ""

    def at_queues(self, names: Iterable[str]) -> list[str]:
        """Return names of metrics with those of queues once for each queue under test (at most 8), the busiest first.

        With one queue under test the names stay as they are; else those of queues become ``metric@queue``. Names that
        have a queue keep it.
        """
        if len(self.tested) < 2:
            return list(names)
        queues = self.tested[: headline.MANY]
        every = (
            [headline.at(name, queue) for queue in queues] if metrics.is_of_queues(name) else [name] for name in names
        )
        return [name for several in every for name in several]

    def curve(self, quantity: str, queue: str | None = None) -> str:
        """Return the name that a quantity of a queue has among distributions and time series.

        It is ``sojourn_ms``, or ``sojourn_ms:left->right`` where several queues are under test.

        Parameters
        ----------
        quantity
            ``sojourn_ms``, ``queue_packets``, ``drops_packets_s`` or ``marks_packets_s``; others keep their name.
        queue
            By default the headline queue.
        """
        is_of_queues = quantity in ("sojourn_ms", "queue_packets", "drops_packets_s", "marks_packets_s")
        if not is_of_queues or len(self.tested) < 2:
            return quantity
        return f"{quantity}:{self.queue if queue is None else queue}"

    @property
    def queues(self) -> pd.DataFrame:
        """One row per queue and run; ``under_test`` marks the queues that a comparison replaces."""
        return self.frames["queues"]

    @property
    def flows(self) -> pd.DataFrame:
        """One row per flow and run."""
        return self.frames["flows"]

    @property
    def groups(self) -> pd.DataFrame:
        """One row per group of flows and run: metrics over all flows of one ``[[flows]]`` table."""
        return self.frames["groups"]

    @property
    def phases(self) -> pd.DataFrame:
        """The statistics of phases between changes, one row per phase and run; empty without changes.

        Columns ``phase`` (its name), ``occurrence`` (which of this name, from 1; 0 for all of them together),
        ``group`` (a group of flows; empty for all traffic), ``queue``, ``from_s``, ``to_s``, ``measured_s``, and
        metrics: of all flows and the queue under test, or of a group. Where several queues are under test, the first
        row of a phase has the one that was the busiest in the run, and each other one has a row of its own. Groups
        are reported for all phases of one name together.
        """
        return self.frames["phases"]

    @property
    def phase_names(self) -> tuple[str, ...]:
        """The names of the phases in the order of their first occurrence; empty without changes."""
        return tuple(dict.fromkeys(str(row["phase"]) for row in tables.rows(self.frames, "phases")))

    @property
    def stations(self) -> pd.DataFrame:
        """One row per station of an 802.11 cell and run, each cell's access point first; empty without cells.

        Columns ``cell``, ``node``, ``attempts`` (transmissions begun: of data, of an A-MPDU, or of an RTS),
        ``retries`` and ``collisions`` of these, ``frame_errors``, ``retry_drops`` (packets dropped at the retry
        limit), ``air_time_share`` (of the measured time, for transmissions that it began) and ``air_time_both_share``
        (for these and those that the access point sent to it; the access point's is of all).
        """
        return self.frames["stations"]

    @property
    def distributions(self) -> pd.DataFrame:
        """Distribution functions of queues and flows: share ``cumulative`` at or below ``value``.

        Where several queues are under test, each of the 16 busiest of a run has its own: ``sojourn_ms:left->right``.
        """
        return self.frames["distributions"]

    @property
    def series(self) -> pd.DataFrame:
        """Sampled time series, empty unless they were asked for."""
        return self.frames["series"]

    def time_series(self, name: str, scheme: str | None = None, replication: int | None = None) -> pd.DataFrame:
        """Return a time series of one run, a column for each flow or queue that has it.

        A flow that has not begun or has ended has no values: NaN.

        Parameters
        ----------
        name
            As in the table of series, without a flow's or queue's name: ``cwnd_packets``, ``drop_probability``.
        scheme, replication
            By default the first, and the first that has time series.

        Returns
        -------
        pandas.DataFrame
            Index ``t_s``; columns are flows or queues, or the name itself where it is of the whole run.

        Raises
        ------
        SojournError
            No such series.
        """
        found = self.series
        found = found[found["scheme"] == self._known(self.labels[0] if scheme is None else scheme)]
        wanted = found["replication"].min() if replication is None else replication
        is_named = (found["name"] == name) | found["name"].str.startswith(f"{name}:")
        found = found[is_named & (found["replication"] == wanted)]
        if found.empty:
            known = self.series["name"].unique() if len(self.series) else ()
            raise RunError(suggest.unknown("time series", name, tables.stems(known)))
        of = found["name"].str.removeprefix(f"{name}:")
        wide = found.assign(of=of).pivot_table(index="t_s", columns="of", values="value", sort=False, dropna=False)
        return wide.rename_axis(columns=None)

    def only(self, labels: Sequence[str]) -> Self:
        """Return the results of some schemes only, in the given order; the first is the baseline.

        Raises
        ------
        SojournError
            Unknown scheme.
        """
        by_label = {scheme.label: scheme for scheme in self.schemes}
        chosen = tuple(by_label[self._known(label)] for label in labels)
        frames = {name: frame[frame["scheme"].isin(list(labels))] for name, frame in self.frames.items()}
        return replace(self, schemes=chosen, frames=frames, family=())

    def metric_names(self) -> list[str]:
        """Return the metrics that at least one run has."""
        return [name for name, values in self._metrics.items() if np.isfinite(values).any()]

    def values(
        self, label: str, metric: str, group: str | None = None, *, phase: str | None = None, queue: str | None = None
    ) -> Floats:
        """Return a metric's values of one scheme, by replication.

        Parameters
        ----------
        label
            Of the scheme.
        metric
            Of run scope; with `group` of group scope. ``sojourn_ms_mean@left->right`` has the queue in its name.
        group
            A group of flows (the name of a ``[[flows]]`` table); by default all traffic together.
        phase
            The name of a phase, of which all occurrences count together; by default the whole measured time.
        queue
            The queue that a metric of queues is of; by default the headline queue (:attr:`queue`). ``all`` are those
            under test together, which a scenario with ``pooled = true`` measures.

        Raises
        ------
        SojournError
            Unknown scheme, group, phase, queue or metric.

        Examples
        --------
        >>> import sojourn as sj
        >>> net = sj.dumbbell(flows=1, duration=sj.s(4), warm_up=sj.s(1))
        >>> results = sj.run(net.change(at=sj.s(2), rate=sj.mbit_s(5), phase="slow"), series=None)
        >>> bool(results.values(results.labels[0], "goodput_bit_s", phase="slow")[0] < 5e6)
        True
        """
        return self._values(label, _at(metric, queue), group, phase)[1]

    def pairs(
        self,
        label: str,
        baseline: str,
        metric: str,
        group: str | None = None,
        *,
        phase: str | None = None,
        queue: str | None = None,
    ) -> tuple[Floats, Floats]:
        """Return a metric's :meth:`values` of two schemes in the replications that both have, in the same order."""
        metric = _at(metric, queue)
        (ours, values), (theirs, base) = (self._values(one, metric, group, phase) for one in (label, baseline))
        if ours == theirs:
            return values, base
        both = sorted({*ours} & {*theirs})
        return values[[ours.index(one) for one in both]], base[[theirs.index(one) for one in both]]

    def _values(self, label: str, metric: str, group: str | None, phase: str | None) -> tuple[list[int], Floats]:
        """Return the replications of a scheme, and its values of a metric in them."""
        self._known(label)
        name, queue = metrics.split(metric)
        if phase is not None:
            rows = self._phase_rows(metric, group, phase)
            name = name if group is None and metrics.is_of_queues(name) else metric
        elif group is not None:
            rows, name = self._group_rows(metric, group), metric
        elif queue:
            rows = self._of_queues.get((label, headline.named(metric, self.tested, self._queue_names)), [])
        else:
            if metric not in self._metrics:
                raise RunError(suggest.unknown("metric", metric, self.metric_names()))
            places = self._places[label]
            return [self._rows[place]["replication"] for place in places], self._metrics[metric][places]
        own = sorted((row for row in rows if row["scheme"] == label), key=lambda row: int(row["replication"]))
        values = np.array([row.get(name, math.nan) for row in own], dtype=np.float64)
        return [row["replication"] for row in own], values

    def has(self, metric: str) -> bool:
        """Return whether the results have a metric, and its queue if its name has one."""
        name, queue = metrics.split(metric)
        return name in self._metrics and (not queue or queue in self._queue_names)

    @cached_property
    def _of_queues(self) -> dict[tuple[str, str], list[tables.Row]]:
        """The rows of each scheme and queue."""
        found: dict[tuple[str, str], list[tables.Row]] = {}
        for row in tables.rows(self.frames, "queues"):
            found.setdefault((str(row["scheme"]), str(row["queue"])), []).append(row)
        return found

    @cached_property
    def _queue_names(self) -> dict[str, None]:
        return dict.fromkeys(queue for _, queue in self._of_queues)

    def _group_rows(self, metric: str, group: str | None) -> list[tables.Row]:
        rows = tables.rows(self.frames, "groups")
        names = dict.fromkeys(str(row["group"]) for row in rows)
        if group not in names:
            raise RunError(f"unknown group of flows `{group}`; there are: {', '.join(names)}")
        known = tables.metric_names("groups", rows[0])
        if metric not in known:
            raise RunError(f"unknown metric `{metric}` of a group of flows; there are: {', '.join(known)}")
        return [row for row in rows if row["group"] == group]

    def _phase_rows(self, metric: str, group: str | None, phase: str) -> list[tables.Row]:
        if phase not in self.phase_names:
            raise RunError(suggest.unknown("phase", phase, self.phase_names))
        rows = [row for row in tables.rows(self.frames, "phases") if row["phase"] == phase and not row["occurrence"]]
        groups = dict.fromkeys(str(row["group"]) for row in rows)
        # The first row of a run has what is of all flows.
        first: dict[tuple[Any, ...], tables.Row] = {}
        of_queues = metrics.is_of_queues(metrics.split(metric)[0]) and group is None
        queue = (
            headline.named(metric, self.tested, dict.fromkeys(str(row["queue"]) for row in rows)) if of_queues else ""
        )
        metric = metrics.split(metric)[0] if of_queues else metric
        for row in rows:
            if not queue or row["queue"] == queue:
                first.setdefault((row["scheme"], row["replication"], row["group"]), row)
        rows = list(first.values())
        if group is not None and group not in groups:
            raise RunError(suggest.unknown("group of flows", group, [name for name in groups if name]))
        known = [*tables.metric_names("phases", rows[0]), "measured_s"]
        if metric not in known:
            raise RunError(f"unknown metric `{metric}` of a phase; there are: {', '.join(known)}")
        return [row for row in rows if row["group"] == (group or "")]

    @cached_property
    def _rows(self) -> list[tables.Row]:
        return tables.rows(self.frames, "runs")

    @cached_property
    def _metrics(self) -> dict[str, Floats]:
        """Every metric of the runs, a value per row."""
        names = tables.metric_names("runs", self._rows[0]) if self._rows else []
        return {name: np.array([row[name] for row in self._rows], dtype=np.float64) for name in names}

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Each scheme's rows, by replication."""
        places: dict[str, list[int]] = {label: [] for label in self.labels}
        for place in sorted(range(len(self._rows)), key=lambda place: self._rows[place]["replication"]):
            places[self._rows[place]["scheme"]].append(place)
        return places

    def estimate(
        self, label: str, metric: str, group: str | None = None, *, phase: str | None = None, queue: str | None = None
    ) -> Estimate:
        """Return a metric's mean over replications with its 95 % interval (Student's t).

        The interval of a quantile (``sojourn_ms_p99``) includes half of the bucket that it is read from, on either
        side: 0.4 % of the value. That of a metric with a range lies in it. Identical replications (:attr:`repeated`)
        have no interval. See :mod:`sojourn.stats.estimates`. `queue` is that of :meth:`values`.
        """
        metric = _at(metric, queue)
        return self.mean(label, self.values(label, metric, group, phase=phase), metrics.quantity(metric))

    def mean(self, label: str, values: Sequence[float] | Floats, of: stats.Quantity = stats.EXACT) -> Estimate:
        """Return the mean of numbers that are computed from a scheme's results, one a replication, with its interval.

        The interval is as :meth:`estimate` gives it; `of` is what is known of the numbers beforehand.
        """
        return stats.estimate(values, of, repeated=label in self.repeated)

    def difference(
        self,
        label: str,
        metric: str,
        baseline: str,
        group: str | None = None,
        *,
        phase: str | None = None,
        queue: str | None = None,
    ) -> Estimate:
        """Return the mean of the paired differences to `baseline` with its 95 % interval.

        That of a quantile includes half of the bucket of each of the two values. It has no interval where the
        replications of both schemes are identical (:attr:`repeated`). `queue` is that of :meth:`values`.
        """
        both = self.pairs(label, baseline, metric, group, phase=phase, queue=queue)
        return stats.paired(*both, metrics.quantity(metric), repeated={label, baseline} <= self.repeated)

    def effect(self, label: str, metric: str, baseline: str) -> Effect:
        """Return the effect size (Hedges' g of the pairs) of the difference to `baseline`, and its p-value.

        Both are NaN where the replications of both schemes are identical (:attr:`repeated`).
        """
        both = self.pairs(label, baseline, metric)
        return stats.effect(*both, metrics.quantity(metric), repeated={label, baseline} <= self.repeated)

    def p_value(self, label: str, metric: str, baseline: str, group: str | None = None) -> float:
        """Return the p-value of the paired t test of a difference; NaN where both schemes are :attr:`repeated`."""
        both = self.pairs(label, baseline, metric, group)
        return stats.paired_p(*both, metrics.quantity(metric), repeated={label, baseline} <= self.repeated)

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Schemes whose replications are all identical, because nothing in their runs is random.

        Such replications are one run, which says nothing about how much runs differ.
        """
        prints: dict[str, list[str]] = {label: [] for label in self.labels}
        for row in self._rows:
            prints[str(row["scheme"])].append(tables.fingerprint(row))
        return frozenset(label for label, found in prints.items() if tables.is_one_run(found))

    def corrected(self, metric: str, baseline: str | None = None) -> dict[str, float]:
        """Return each scheme's p-value of its difference to a baseline, corrected for their number (Holm).

        The family is one metric's differences of all other schemes to the baseline, in all results of
        :attr:`family`. If values below 0.05 count as significant, the chance of even one false positive in this
        family is at most 5 %.
        """
        base = self.labels[0] if baseline is None else self._known(baseline)
        others = [label for label in self.labels if label != base]
        # These first, so that their p-values are the first ones.
        family = [self, *(one for one in self.family if one is not self)]
        found = stats.holm([p for one in family for p in one._p_values(base, metric)])
        return dict(zip(others, map(float, found), strict=False))

    def _p_values(self, baseline: str, metric: str) -> list[float]:
        key = baseline, metric
        if key not in self._known_p:
            others = self.labels_beside(baseline, metric)
            self._known_p[key] = [self.p_value(label, metric, baseline) for label in others]
        return self._known_p[key]

    @cached_property
    def _known_p(self) -> dict[tuple[str, str], list[float]]:
        return {}

    def labels_beside(self, baseline: str, metric: str) -> list[str]:
        """Return the labels of all schemes but the baseline; none where there is no baseline or no such metric."""
        if baseline not in self.labels or not self.has(metric):
            return []
        return [label for label in self.labels if label != baseline]

    def quantile(self, label: str, quantity: str, share: float) -> Estimate:
        """Return a quantile of the pooled distribution of all replications, with a BCa bootstrap interval over runs.

        The interval includes half of the bucket that the quantile is read from, on either side. Of the distribution,
        `share` is below the quantile.

        Parameters
        ----------
        quantity
            ``sojourn_ms`` or ``queue_packets`` of the headline queue (``sojourn_ms:left->right`` of another one under
            test), or ``one_way_delay_ms``; ``one_way_delay_ms:NAME`` of a group of flows.

        Raises
        ------
        SojournError
            Unknown scheme, or a quantity that the results have no distribution of.
        """
        points, quantity = self.distributions, self.curve(quantity)
        points = points[(points["scheme"] == self._known(label)) & (points["quantity"] == quantity)]
        if points.empty:
            raise RunError(f"the results have no distribution of {quantity}")
        curves = [
            (part["value"].to_numpy(dtype=np.float64), part["cumulative"].to_numpy(dtype=np.float64))
            for _, part in points.groupby("replication")
        ]
        of = metrics.quantity(f"{quantity.partition(':')[0]}_p99")
        return stats.pooled_quantile(curves, share, of, seed=self.seed)

    def batch_means(self, label: str, name: str = "queue_packets", replication: int = 0) -> BatchMeans:
        """Return the mean of a time series of one run after its warm-up, with an interval from batch means.

        ``queue_packets`` and ``sojourn_ms`` are of the headline queue.

        Raises
        ------
        SojournError
            Unknown scheme, or no such series.
        """
        part, name = self.series, self.curve(name)
        part = part[
            (part["scheme"] == self._known(label)) & (part["name"] == name) & (part["replication"] == replication)
        ]
        if part.empty:
            raise RunError(f"the results have no time series of {name}: ask for them with series=...")
        part = part[part["t_s"] > float(self.runs["warm_up_s"].iloc[0])].sort_values("t_s")
        return stats.batch_means(part["value"].to_numpy(dtype=np.float64))

    def delay_variation(self, label: str, group: str | None = None, share: float = 0.99) -> Estimate:
        """Return a quantile of the packet delay variation in ms (RFC 5481, section 4.2), a mean over replications.

        The variation of a packet is its one-way delay minus the least delay of the replication. Both are read from
        buckets of 1/128 of the delay. It is that of all traffic, or of a group of flows; a `share` of the packets is
        below it.

        Raises
        ------
        SojournError
            Unknown scheme or group.
        """
        quantity = "one_way_delay_ms" if group is None else f"one_way_delay_ms:{group}"
        points = self.distributions
        points = points[(points["scheme"] == self._known(label)) & (points["quantity"] == quantity)]
        if points.empty:
            raise RunError(f"the results have no distribution of {quantity}")
        found = []
        for _, part in points.groupby("replication"):
            place = min(int(np.searchsorted(part["cumulative"], share)), len(part) - 1)
            found.append(float(part["value"].iloc[place] - part["value"].iloc[0]))
        return self.mean(label, found)

    def best(self, metric: str) -> str | None:
        """Return the scheme that is better than every other, if the paired differences say so.

        Better than each other scheme, that is: with p-values of the paired differences below 0.05 after the
        correction for the number of schemes (:meth:`corrected`). None otherwise, and for metrics without a better
        side.
        """
        better = metrics.find(metric).better
        if not better or len(self.labels) < 2:
            return None
        means = {label: self.estimate(label, metric).mean for label in self.labels}
        known = {label: mean for label, mean in means.items() if math.isfinite(mean)}
        if not known:
            return None
        first = (min if better == "lower" else max)(known, key=lambda label: known[label])
        return first if all(p < 1 - stats.LEVEL for p in self.corrected(metric, first).values()) else None

    def arrow(self, name: str = "runs") -> pa.Table:
        """Return a table as Arrow: every column's unit is in its field's metadata, key ``unit``.

        Arrow tables implement the PyCapsule interface (``__arrow_c_stream__``), so polars, DuckDB and
        others take them without a copy.

        Parameters
        ----------
        name
            ``runs``, ``queues``, ``flows``, ``groups``, ``phases``, ``stations``, ``distributions`` or ``series``.
        """
        stream = self._stream(name)
        if stream is None:
            return tables.to_arrow(name, self.frames[name])
        import pyarrow as pa

        return pa.table(stream)

    def _stream(self, name: str) -> Table | None:
        """Return a table of the compiled core, if it has these results."""
        if name not in self.frames:
            raise RunError(suggest.unknown("table", name, self.frames))
        return self.frames.stream(name) if isinstance(self.frames, tables.Tables) else None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export ``runs`` through the Arrow PyCapsule interface; results of a run just made need no other package."""
        table = self._stream("runs") or self.arrow("runs")
        return table.__arrow_c_stream__(requested_schema)

    def _known(self, label: str) -> str:
        if label not in self.labels:
            raise SchemeError(suggest.unknown("scheme", label, self.labels))
        return label


def _at(metric: str, queue: str | None) -> str:
    """Return the name of a metric with the queue that it is of."""
    return metric if queue is None else headline.at(metric, queue)
