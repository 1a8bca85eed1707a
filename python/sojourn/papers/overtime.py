"""Time series of a paper's figures: runs of their own, because a sampled run is another run in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from sojourn.core import SojournError
from sojourn.papers import figures
from sojourn.papers.execute import Measured, plan_of, schemes_of
from sojourn.papers.figures import Figure
from sojourn.papers.model import Condition, Paper, Reading
from sojourn.plan import execute, expand, read
from sojourn.plan.store import Store
from sojourn.stats import Floats


@dataclass(frozen=True)
class Trace:
    """One time series of one scheme.

    Parameters
    ----------
    t_s
        Ends of the intervals, in seconds.
    values
        A row a replication; NaN where nothing was seen.
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
    ran, found
        Runs made now, and found in the store.
    """

    of: Mapping[Key, Mapping[tuple[str, str], Trace]] = field(default_factory=dict)
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
    """Run, under every reading of the simulation, the time series of the figures whose conditions were run.

    Parameters
    ----------
    paper
        Which.
    measured
        What was run of it; its inter-arrival times are used, and no more replications than it has.
    store
        Folder of finished runs.
    jobs
        Number of threads; by default one a core.
    say
        Told how far it is.

    Raises
    ------
    SojournError
        If runs fail.
    """
    of: dict[Key, Mapping[tuple[str, str], Trace]] = {}
    ran = found = 0
    for figure in figures.load(paper):
        if figure.kind != "series":
            continue
        for condition in figures.of(figure, measured.conditions):
            for reading in paper.readings:
                if not (reading.is_shown or reading is paper.readings[0]):
                    continue
                if (reading.name, condition.name) not in measured.raw:
                    continue
                traces, outcome = _one(paper, measured, figure, condition, reading, store, jobs)
                of[figure.name, reading.name, condition.name] = traces
                ran, found = ran + outcome.ran, found + outcome.found
                say(f"{figure.name}, {condition.name}, {reading.name}: {outcome.ran} runs, {outcome.found} found")
    return Traces(of, ran, found)


def _one(
    paper: Paper,
    measured: Measured,
    figure: Figure,
    condition: Condition,
    reading: Reading,
    store: Path,
    jobs: int | None,
) -> tuple[Mapping[tuple[str, str], Trace], execute.Outcome]:
    own = tuple(one for one in paper.schemes(figure.schemes) if one in condition.schemes)
    count = min(figure.replications, measured.replications)
    mode = measured.modes.get((reading.name, condition.name), "")
    condition = replace(condition, schemes=own, beside=())
    usual = plan_of(paper, reading, condition, mode, count)
    plan = replace(
        usual, name=f"{usual.name}-{figure.slug}", series=figure.every, series_replications=count, replications=count
    )
    outcome = execute.run(plan, store, jobs=jobs)
    if outcome.failures:
        first = outcome.failures[0]
        raise SojournError(f"{plan.name}: {len(outcome.failures)} runs failed; the first: {first.cell}: {first.why}")
    samples = read.frame(expand.cells(plan), Store.open(store), "series")
    by_text: dict[str, dict[str, Trace]] = {}
    for (name, label), part in samples[samples["name"].isin(figure.series)].groupby(["name", "label"], sort=False):
        table = part.pivot_table(index="replication", columns="t_s", values="value", dropna=False)
        trace = Trace(table.columns.to_numpy(dtype=np.float64), table.to_numpy(dtype=np.float64))
        by_text.setdefault(str(label), {})[str(name)] = trace
    # A plan has schemes of one text once.
    label_of = {scheme.canonical: str(scheme.label) for scheme in plan.schemes}
    schemes = schemes_of(paper, reading, condition, mode)
    return {
        (series, name): trace
        for name, scheme in schemes.items()
        for series, trace in by_text[label_of[scheme.canonical]].items()
    }, outcome


def shown(traces: Traces, figure: Figure, conditions: Sequence[Condition]) -> list[tuple[str, Condition]]:
    """Return the readings and conditions of which a figure has time series."""
    by_name = {one.name: one for one in conditions}
    return [(reading, by_name[of]) for name, reading, of in traces.of if name == figure.name and of in by_name]
