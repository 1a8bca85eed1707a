"""Running a paper's conditions as plans, and reading its metrics from their store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pandas as pd

from sojourn import metrics
from sojourn.core import SojournError
from sojourn.network import read_text
from sojourn.papers.judge import Values
from sojourn.papers.model import Condition, Paper, Reading
from sojourn.plan import execute, expand, read
from sojourn.plan.model import Plan
from sojourn.plan.store import Store
from sojourn.scheme import Scheme
from sojourn.stats import Floats

MODE: Final = "{mode}"
MODE_RUNS: Final = 5
"""Runs of the FIFO whose mode is taken, quick or full, so that both run the same schemes."""

Raw: TypeAlias = dict[str, dict[str, Floats]]
Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """What came of a paper's runs.

    Parameters
    ----------
    raw
        By name of the run's reading and of the condition: metrics by scheme, one value a replication.
    modes
        Likewise: dAQM's inter-arrival time.
    replications
        Of every scheme.
    ran, found
        Runs made now, and found in the store.
    """

    raw: dict[tuple[str, str], Raw]
    modes: dict[tuple[str, str], str]
    replications: int
    ran: int = 0
    found: int = 0
    conditions: tuple[Condition, ...] = field(default=())

    def values(self, reading: str, condition: str, chosen: Mapping[str, str]) -> Values:
        """Return the metrics of a condition as readings of metrics choose them.

        Parameters
        ----------
        reading
            Of the run.
        condition
            By name.
        chosen
            ``queue`` and ``throughput`` of ``readings.toml``.
        """
        raw = self.raw[reading, condition]
        found = {name: of for name, of in raw.items() if " " not in name}
        if chosen.get("queue", "busiest") == "busiest":
            found |= {name: raw[f"busiest {name}"] for name in _OF_QUEUES}
        monitored = chosen.get("throughput") == "flowmonitor"
        return found | {"goodput_bit_s": raw[f"flow {'throughput_bit_s' if monitored else 'goodput_bit_s'}"]}


_OF_QUEUES: Final = ("queue_packets_mean", "sojourn_ms_mean")
_OF_FLOWS: Final = ("goodput_bit_s", "throughput_bit_s")


def run(
    paper: Paper,
    store: Path,
    *,
    replications: int,
    conditions: Sequence[Condition] | None = None,
    jobs: int | None = None,
    say: Say = lambda _: None,
) -> Measured:
    """Run what a store does not hold yet of a paper, and read its metrics.

    Parameters
    ----------
    paper
        Which.
    store
        Folder of finished runs, made if it is not there.
    replications
        Of every scheme.
    conditions
        By default all.
    jobs
        Number of threads; by default one a core. It changes no number.
    say
        Told how far it is.

    Raises
    ------
    SojournError
        Impossible scenarios, and runs that fail.
    """
    chosen = tuple(paper.conditions if conditions is None else conditions)
    raw: dict[tuple[str, str], Raw] = {}
    modes: dict[tuple[str, str], str] = {}
    ran = found = 0
    parts = [(reading, condition) for reading in paper.readings if reading.is_run for condition in chosen]
    for number, (reading, condition) in enumerate(parts, 1):
        key = reading.name, condition.name
        needs_mode = any(MODE in paper.texts[name] for name in condition.schemes)
        if needs_mode:
            fifo = Plan(
                scenario=read_text(paper.scenario)[0],
                name=_plan_name(paper, reading, condition, "fifo"),
                schemes=(Scheme(paper.mode, "fifo"),),
                sets=(*reading.sets, *condition.sets),
                replications=MODE_RUNS,
                metrics=("interarrival_ms_mode",),
            )
            outcome = _whole(execute.run(fifo, store, jobs=jobs))
            ran, found = ran + outcome.ran, found + outcome.found
            modes[key] = mode(outcome.cells[0].series("interarrival_ms_mode", MODE_RUNS))
        plan = plan_of(paper, reading, condition, modes.get(key, ""), replications)
        outcome = _whole(execute.run(plan, store, jobs=jobs))
        ran, found = ran + outcome.ran, found + outcome.found
        raw[key] = _metrics_of(plan, Store.open(store))
        say(f"{number} of {len(parts)}: {condition.name}, {reading.name}: {outcome.ran} runs, {outcome.found} found")
    return Measured(raw, modes, replications, ran, found, chosen)


def plan_of(paper: Paper, reading: Reading, condition: Condition, interarrival: str, replications: int) -> Plan:
    """Return the plan of one condition under one reading of the simulation."""
    return Plan(
        name=_plan_name(paper, reading, condition, "schemes"),
        scenario=read_text(paper.scenario)[0],
        schemes=tuple(Scheme(_text(paper, name, condition, interarrival), name) for name in condition.schemes),
        sets=(*reading.sets, *condition.sets),
        replications=replications,
        metrics=("sojourn_ms_mean", "goodput_bit_s"),
        description=f"{paper.title}: {condition.title}; {reading.name}",
    )


def mode(values: Sequence[float]) -> str:
    """Return the mode of most runs, in whole ms; ``measured`` where it is 0 or there is none.

    A mode of 0 ms makes dAQM divide by zero; then the scheme measures its own.

    Examples
    --------
    >>> mode([2.0, 2.0, 3.0])
    '2ms'
    >>> mode([0.0, 0.0])
    'measured'
    """
    found = Counter(int(value) for value in values if np.isfinite(value))
    if not found:
        return "measured"
    most, _ = min(found.items(), key=lambda item: (-item[1], item[0]))
    return f"{most}ms" if most > 0 else "measured"


def _text(paper: Paper, name: str, condition: Condition, interarrival: str) -> str:
    text = paper.texts[name].replace(MODE, interarrival)
    return f"{text} {condition.append}" if condition.append and text.startswith("daqm") else text


def _plan_name(paper: Paper, reading: Reading, condition: Condition, what: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", reading.name.lower()).strip("-")
    return f"{paper.name}-{condition.name}-{slug}-{what}"


def _whole(outcome: execute.Outcome) -> execute.Outcome:
    if outcome.failures:
        first = outcome.failures[0]
        raise SojournError(
            f"{outcome.plan.name}: {len(outcome.failures)} runs failed; the first: {first.cell}, replication "
            f"{first.replication}: {first.why}; their scenarios are in {outcome.folder / 'failed'}"
        )
    return outcome


def _metrics_of(plan: Plan, store: Store) -> Raw:
    cells = expand.cells(plan)
    runs = read.frame(cells, store)
    known = [name for scope, name in metrics.catalogue() if scope == "run" and name in runs]
    raw: Raw = {name: _by_scheme(runs, name) for name in known}
    queues = read.frame(cells, store, "queues")
    queues = queues[queues["under_test"]].sort_values("queue_packets_mean", kind="stable")
    busiest = queues.groupby(["label", "replication"], as_index=False, sort=True).last()
    for name in _OF_QUEUES:
        raw[f"busiest {name}"] = _by_scheme(busiest, name)
    flows = read.frame(cells, store, "flows")
    flows = flows[flows["flow_duration_s"] > 0].merge(runs[["run", "measured_s"]], on="run")
    for name in _OF_FLOWS:
        # Over the life of the flow, not of the run.
        own = flows.assign(own=flows[name] * flows["measured_s"] / flows["flow_duration_s"])
        mean = own.groupby(["label", "replication"], as_index=False).agg(own=("own", "mean"))
        raw[f"flow {name}"] = _by_scheme(mean, "own")
    return raw


def _by_scheme(frame: pd.DataFrame, name: str) -> dict[str, Floats]:
    return {
        str(label): part.sort_values("replication")[name].to_numpy(dtype=np.float64)
        for label, part in frame.groupby("label")
    }
