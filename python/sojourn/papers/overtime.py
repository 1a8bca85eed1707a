"""Time series of a paper's figures. They have separate runs, because the store treats a sampled run as another run.

A study of kinds of flows has each flow's throughput over time, and claims about what that shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pandas as pd

from sojourn.core import SojournError
from sojourn.papers import figures
from sojourn.papers.execute import Measured, Raw, plan_of, schemes_of
from sojourn.papers.figures import Figure
from sojourn.papers.model import Condition, Paper, Reading
from sojourn.plan import execute, expand, read
from sojourn.plan.store import Store
from sojourn.stats import Floats

START_S: Final = 2.0
"""What a study's "slow start" is judged on: its flows begin within one second, and reach their window in the next."""

_KIND: Final = r":([^_\[]+)"
"""Of a series of one flow: its group up to the first underscore, as in :mod:`sojourn.papers.groups`."""


@dataclass(frozen=True)
class Trace:
    """One time series of one scheme.

    Parameters
    ----------
    t_s
        Ends of the intervals, in seconds.
    values
        One row per replication. For the flows of a kind (``goodput_bit_s@tcp``), one row per flow of the first
        replication. NaN where nothing was measured.
    """

    t_s: Floats
    values: Floats


Key: TypeAlias = tuple[str, str, str]
"""Name of the figure, of the run's reading and of the condition."""


@dataclass(frozen=True)
class Traces:
    """The time series of figures, by series and scheme.

    Parameters
    ----------
    of
        By figure, reading and condition: traces by series and scheme.
    metrics
        What claims are judged on, by reading and condition; see :func:`of_time`.
    ran, found
        Runs made now, and found in the store.
    """

    of: Mapping[Key, Mapping[tuple[str, str], Trace]] = field(default_factory=dict)
    metrics: Mapping[tuple[str, str], Raw] = field(default_factory=dict)
    ran: int = 0
    found: int = 0


def run(
    paper: Paper,
    measured: Measured,
    store: Path,
    *,
    jobs: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Traces:
    """Run the time series of the figures whose conditions were run, under the readings that are shown.

    A figure on which claims are judged is run under every reading of the simulation.

    Parameters
    ----------
    paper
        The study.
    measured
        The results of its runs. Their inter-arrival times are used, and at most as many replications.
    store
        Folder of finished runs.
    jobs
        Number of threads; by default one per core.
    say
        Called with lines that describe the progress.

    Raises
    ------
    SojournError
        If runs fail.
    """
    of: dict[Key, Mapping[tuple[str, str], Trace]] = {}
    metrics: dict[tuple[str, str], Raw] = {}
    ran = found = 0
    for figure in figures.load(paper):
        if figure.kind != "series":
            continue
        for condition in figures.of(figure, measured.conditions):
            for reading in paper.readings:
                is_shown = reading.is_shown or reading is paper.readings[0]
                if not (is_shown or figure.judged) or (reading.name, condition.name) not in measured.raw:
                    continue
                samples, label_of, outcome = _one(paper, measured, figure, condition, reading, store, jobs)
                if is_shown:
                    of[figure.name, reading.name, condition.name] = _traces(figure, samples, label_of)
                if figure.judged:
                    metrics[reading.name, condition.name] = of_time(samples, label_of, paper.kinds)
                ran, found = ran + outcome.ran, found + outcome.found
                say(f"{figure.name}, {condition.name}, {reading.name}: {outcome.ran} runs, {outcome.found} found")
    return Traces(of, metrics, ran, found)


def joined(measured: Measured, traces: Traces) -> Measured:
    """Return what was measured with the metrics of time series."""
    return replace(measured, raw={key: of | traces.metrics.get(key, {}) for key, of in measured.raw.items()})


def _one(
    paper: Paper,
    measured: Measured,
    figure: Figure,
    condition: Condition,
    reading: Reading,
    store: Path,
    jobs: int | None,
) -> tuple[pd.DataFrame, Mapping[str, str], execute.Outcome]:
    """Return samples, the label that they have of each scheme, and what was run."""
    own = tuple(one for one in paper.schemes(figure.schemes) if one in condition.schemes)
    count = min(figure.replications, measured.replications)
    mode = measured.modes.get((reading.name, condition.name), "")
    condition = replace(condition, schemes=own, beside=())
    usual = plan_of(paper, reading, condition, mode, count)
    # All figures of a paper with kinds have the series of flows, so that they share their runs.
    of_flows = (f"series.interval={figure.every}", "series.flows=true") if paper.kinds else ()
    plan = replace(
        usual,
        name=f"{usual.name}-{figure.slug}",
        sets=(*usual.sets, *of_flows),
        series=figure.every,
        series_replications=count,
        replications=count,
    )
    outcome = execute.run(plan, store, jobs=jobs)
    if outcome.failures:
        first = outcome.failures[0]
        raise SojournError(f"{plan.name}: {len(outcome.failures)} runs failed; the first: {first.cell}: {first.why}")
    samples = read.frame(expand.cells(plan), Store.open(store), "series")
    samples["kind"] = samples["name"].str.extract(_KIND, expand=False)
    # A plan has schemes of one text once.
    labels = {scheme.canonical: str(scheme.label) for scheme in plan.schemes}
    schemes = schemes_of(paper, reading, condition, mode)
    return samples, {name: labels[scheme.canonical] for name, scheme in schemes.items()}, outcome


def _traces(
    figure: Figure, samples: pd.DataFrame, label_of: Mapping[str, str]
) -> Mapping[tuple[str, str], Trace]:  # fmt: skip
    found: dict[tuple[str, str], Trace] = {}
    for label, part in samples.groupby("label", sort=False):
        for series in figure.series:
            name, _, kind = series.partition("@")
            if kind and name == "goodput_total_bit_s":
                trace = _over_flows(part, kind, "sum")
            elif kind:
                trace = _trace(part[(part["kind"] == kind) & (part["replication"] == 0)], "name")
            else:
                trace = _trace(part[part["name"] == name], "replication")
            found |= {(series, scheme): trace for scheme in _of_label(label_of, label)}
    return found


def _of_label(label_of: Mapping[str, str], label: object) -> list[str]:
    return [scheme for scheme, of in label_of.items() if of == str(label)]


def _over_flows(samples: pd.DataFrame, kind: str, what: str) -> Trace:
    """Return the sum or the mean over the flows of a kind."""
    own = samples[samples["kind"] == kind].groupby(["replication", "t_s"], sort=True)["value"]
    return _trace(own.agg(what).reset_index(), "replication")


def _trace(samples: pd.DataFrame, rows: str) -> Trace:
    table = samples.pivot_table(index=rows, columns="t_s", values="value", dropna=False)
    return Trace(table.columns.to_numpy(dtype=np.float64), table.to_numpy(dtype=np.float64))


def of_time(samples: pd.DataFrame, label_of: Mapping[str, str], kinds: Sequence[str]) -> Raw:
    """Return what time series say of two kinds of flows, by metric and scheme: one value per replication.

    ``goodput_ratio@start``: throughput of a flow of the first kind over that of the second, in the first
    :data:`START_S` seconds. ``time_above@udp``: the share of the intervals in which a flow of the second kind,
    ``udp``, has more than one of the first; flows of a kind by their mean.

    Parameters
    ----------
    samples
        Time series of each flow: columns ``label``, ``kind``, ``replication``, ``t_s``, ``value``.
    label_of
        The label of each scheme.
    kinds
        Of flows; nothing is said of other than two.
    """
    if len(kinds) != 2:
        return {}
    above = f"time_above@{kinds[1]}"
    found: Raw = {"goodput_ratio@start": {}, above: {}}
    for label, part in samples.groupby("label", sort=False):
        traces = [_over_flows(part, kind, "mean") for kind in kinds]
        at_first = traces[0].t_s <= START_S
        first, second = (one.values for one in traces)  # noqa: PD011 - no data frame
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = first[:, at_first].mean(axis=1) / second[:, at_first].mean(axis=1)
        for scheme in _of_label(label_of, label):
            found["goodput_ratio@start"][scheme] = ratio
            found[above][scheme] = (second > first).mean(axis=1)
    return found


def shown(traces: Traces, figure: Figure, conditions: Sequence[Condition]) -> list[tuple[str, Condition]]:
    """Return the readings and conditions of which a figure has time series."""
    by_name = {one.name: one for one in conditions}
    return [(reading, by_name[of]) for name, reading, of in traces.of if name == figure.name and of in by_name]
