"""Time series of a paper's figures. They have separate runs, because the store treats a sampled run as another run.

A study of kinds of flows has each flow's throughput over time, and claims about what that shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np
import pandas as pd

from sojourn.base.units import to_ns
from sojourn.plan import read
from sojourn.plan.model import Plan
from sojourn.plan.store import Store
from sojourn.results import fairness, headline
from sojourn.studies.papers import extension, figures
from sojourn.studies.papers.execute import Key, Measured, Runner, Trace, Traces, cells_of, plan_of
from sojourn.studies.papers.figures import Figure
from sojourn.studies.papers.model import Condition, Paper, Reading

_KIND: Final = rf"^{fairness.SERIES}([^_\[]+)"
"""Of a flow's series of goodput: its group up to the first underscore, which is the kind."""


def run(runner: Runner, measured: Measured) -> Measured:
    """Run the time series of the figures whose conditions were run, and return what was measured with them.

    They are run under the readings that are shown; a figure on which claims are judged under every reading of the
    simulation. `measured` gives their inter-arrival times and the largest number of replications.
    """
    traces: Traces = {}
    raw, paper = dict(measured.raw), runner.paper
    more = extension.hook(paper.folder, "over_time")
    for figure in figures.load(paper):
        if figure.kind != "series":
            continue
        for condition in figures.of(figure, measured.conditions):
            for reading in paper.readings:
                is_shown = reading.is_shown or reading is paper.readings[0]
                if not (is_shown or figure.judged) or (reading.name, condition.name) not in measured.raw:
                    continue
                before = runner.ran, runner.found
                samples = _one(runner, measured, figure, condition, reading)
                if is_shown:
                    traces[figure.name, reading.name, condition.name] = _traces(figure, samples)
                if figure.judged and more is not None:
                    key = reading.name, condition.name
                    raw[key] = raw[key] | more(samples, paper.kinds)
                ran, found = runner.ran - before[0], runner.found - before[1]
                runner.say(f"{figure.name}, {condition.name}, {reading.name}: {ran} runs, {found} found")
    return replace(measured, raw=raw, traces=traces)


def plan(
    paper: Paper, figure: Figure, condition: Condition, reading: Reading, modes: Mapping[Key, str], most: int
) -> Plan:
    """Return the plan of a figure's schemes in a condition, with at most so many replications."""
    usual = plan_of(paper, reading, _shown(paper, figure, condition), modes, min(figure.replications, most))
    # All figures of a paper with kinds have the series of flows, so that they share their runs.
    of_flows = (f"series.interval={figure.every}", "series.flows=true") if paper.kinds else ()
    return replace(usual, name=f"{usual.name}-{figure.slug}", sets=(*usual.sets, *of_flows), series=figure.every)


def _shown(paper: Paper, figure: Figure, condition: Condition) -> Condition:
    own = tuple(one for one in paper.drawn(figure.schemes) if one in condition.schemes)
    return replace(condition, schemes=own, beside=())


def _one(
    runner: Runner, measured: Measured, figure: Figure, condition: Condition, reading: Reading
) -> dict[str, pd.DataFrame]:
    """Run a figure's schemes, and return the samples of each."""
    paper, modes = runner.paper, measured.modes
    _, (cells,) = runner.drive(reading, [plan(paper, figure, condition, reading, modes, measured.replications)])
    samples = read.curves(cells, Store.open(runner.store), "series", "name")
    samples["kind"] = samples["name"].str.extract(_KIND, expand=False)
    if figure.last:
        samples = samples[samples["t_s"] > samples["t_s"].max() - to_ns("last", figure.last) / 1e9].copy()
    schemes = cells_of(paper, reading, _shown(paper, figure, condition), modes, cells)
    return {name: samples[samples["cell"] == cell.number] for name, cell in schemes.items()}


def _traces(figure: Figure, samples: Mapping[str, pd.DataFrame]) -> dict[tuple[str, str], Trace]:
    found: dict[tuple[str, str], Trace] = {}
    for (scheme, part), series in product(samples.items(), figure.series):
        name, _, kind = series.partition("@")
        if kind and name == "goodput_total_bit_s":
            found[series, scheme] = over_flows(part, kind, "sum")
        elif kind:
            found[series, scheme] = _trace(part[(part["kind"] == kind) & (part["replication"] == 0)], "name")
        else:
            together = part[part["name"] == f"{name}:{headline.ALL}"]
            # Of all queues under test where the study asks for them together, else of the busiest.
            own = part[part["name"] == name] if together.empty else together
            found[series, scheme] = _trace(own, "replication")
    return found


def over_flows(samples: pd.DataFrame, kind: str, what: str) -> Trace:
    """Return the sum or the mean over the flows of a kind."""
    own = samples[samples["kind"] == kind].groupby(["replication", "t_s"], sort=True)["value"]
    return _trace(own.agg(what).reset_index(), "replication")


def _trace(samples: pd.DataFrame, rows: str) -> Trace:
    table = samples.pivot_table(index=rows, columns="t_s", values="value", dropna=False)
    return Trace(table.columns.to_numpy(dtype=np.float64), table.to_numpy(dtype=np.float64))


def shown(measured: Measured, figure: Figure, conditions: Sequence[Condition]) -> list[tuple[str, Condition]]:
    """Return the readings and conditions of which a figure has time series."""
    by_name = {one.name: one for one in conditions}
    return [(reading, by_name[of]) for name, reading, of in measured.traces if name == figure.name and of in by_name]
