"""Run a paper's conditions as plans, and read its metrics from their store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pandas as pd

from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.model.network import read_text
from sojourn.model.scheme import Scheme
from sojourn.plan import execute, expand
from sojourn.plan.expand import Cell, Cells
from sojourn.plan.identity import build
from sojourn.plan.model import Factor, Outcome, Plan, Variation
from sojourn.plan.rows import KEY
from sojourn.plan.store import Store
from sojourn.results import headline, metrics
from sojourn.stats import Floats
from sojourn.studies.papers import extension
from sojourn.studies.papers.judge import Values
from sojourn.studies.papers.model import Condition, Paper, Reading
from sojourn.studies.papers.runs import slug

if TYPE_CHECKING:
    from sojourn.plan.execute import Watch

MODE: Final = "{interarrival}"
"""In the text of a scheme: what a paper computes for each condition."""
PLACEMENT: Final = "placement"
"""The factor that names the scheme where schemes stand on chosen links; every other link keeps its queue. It is
written into the scenario's description, which changes no result."""

Raw: TypeAlias = dict[str, dict[str, Floats]]
Runs: TypeAlias = Sequence[tuple[str, list[str]]]
"""Scenario and runs, of each scenario of each condition: a scheme on chosen links makes a scenario of its own."""
Key: TypeAlias = tuple[str, str]
"""Names of the run's reading and of the condition."""


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


Traces: TypeAlias = dict[tuple[str, str, str], Mapping[tuple[str, str], Trace]]
"""By name of the figure, of the run's reading and of the condition: time series by series and scheme."""


@dataclass(frozen=True)
class Measured:
    """The results of a paper's runs.

    Parameters
    ----------
    raw
        By name of the run's reading and of the condition: metrics by scheme, one value per replication. Not every
        condition is run under every reading.
    modes
        Likewise: dAQM's inter-arrival time.
    """

    raw: dict[Key, Raw]
    modes: dict[Key, str]
    replications: int
    conditions: tuple[Condition, ...] = ()
    traces: Traces = field(default_factory=dict)

    def conditions_of(self, reading: str) -> tuple[Condition, ...]:
        """Return the conditions that were run under a reading."""
        return tuple(one for one in self.conditions if (reading, one.name) in self.raw)

    def values(self, reading: str, condition: str, chosen: Mapping[str, str]) -> Values:
        """Return the metrics of a condition under a reading of the run, as readings of metrics choose them.

        `chosen` has ``queue``, ``throughput``, ``fct``, ``plr`` and ``fairness`` of ``readings.toml``.
        """
        raw = self.raw[reading, condition]
        found = {name: of for name, of in raw.items() if " " not in name}
        if chosen.get("queue", "busiest") == "busiest":
            found |= {name: raw[f"busiest {name}"] for name in _OF_QUEUES}
        if chosen.get("fct") == "completion":
            found["flow_duration_s_mean"] = raw["flow_completion_s_mean"]
        if chosen.get("plr") == "flowmonitor":
            found["loss_ratio"] = raw["flow loss_ratio"]
        if chosen.get("fairness", "all") != "all":
            found["jain_index"] = raw[f"jain_index@{chosen['fairness']}"]
        monitored = chosen.get("throughput") == "flowmonitor"
        return found | {"goodput_bit_s": raw[f"flow {'throughput_bit_s' if monitored else 'goodput_bit_s'}"]}


_OF_QUEUES: Final = ("queue_packets_mean", "sojourn_ms_mean")
_OF_FLOWS: Final = ("goodput_bit_s", "throughput_bit_s")


@dataclass
class Runner:
    """Runs a paper's conditions as plans; those of one reading together.

    `store` is the folder of finished runs; `jobs` is the number of threads, by default one per core; `scheduler` is a
    Dask cluster to run on instead; `say` is called with lines on the progress; `ran` and `found` count runs;
    `cells` are those that were run.
    """

    paper: Paper
    store: Path
    jobs: int | None = None
    scheduler: str | None = None
    watch: Watch | None = None
    say: Callable[[str], None] = lambda _: None
    ran: int = 0
    found: int = 0
    cells: list[Cells] = field(default_factory=list)

    def run(
        self,
        replications: int,
        size: str = "full",
        conditions: Sequence[Condition] | None = None,
        readings: str = "*",
    ) -> Measured:
        """Run what the store does not hold yet of a paper, and read its metrics; SojournError if runs fail.

        `size` is ``quick`` or ``full``: which of the conditions, by default of all, are run under which reading, of
        those whose name matches `readings`.
        """
        given = self.paper.conditions if conditions is None else conditions
        chosen = tuple(one for one in given if size in (*one.sizes, "full"))
        names = {one.name for one in chosen}
        keys = [
            (reading.name, name)
            for reading in self.paper.readings
            for name in (reading.conditions[size] if reading.is_run else ())
            if name in names and fnmatchcase(reading.name, readings)
        ]
        return self.more(Measured({}, {}, replications, chosen), keys, replications)

    def more(self, measured: Measured, keys: Sequence[Key], replications: int) -> Measured:
        """Return what was measured with runs (by reading and condition) that have so many replications."""
        raw, modes = dict(measured.raw), dict(measured.modes)
        work = [(reading, own) for reading in self.paper.readings
                if (own := [one for one in measured.conditions if (reading.name, one.name) in keys])]  # fmt: skip
        for number, (reading, own) in enumerate(work, 1):
            self.say(f"{number} of {len(work)}: {reading.name}: {len(own)} conditions, {replications} replications")
            modes |= self.modes(reading, own)
            raw |= self.measure(reading, own, modes, replications)
        return replace(measured, raw=raw, modes=modes, replications=max(measured.replications, replications))

    def drive(self, reading: Reading, plans: Sequence[Plan]) -> tuple[Outcome, list[Cells]]:
        """Run plans together, and return the outcome and the cells of each; SojournError if runs fail."""
        several = [expand.cells(plan) for plan in plans]
        whole = expand.combined(f"{self.paper.name}, {reading.name}", several)
        outcome = execute.run(whole, self.store, jobs=self.jobs, scheduler=self.scheduler, watch=self.watch)
        if outcome.failures:
            first = outcome.failures[0]
            raise SojournError(
                f"{outcome.plan.name}: {len(outcome.failures)} runs failed; the first: {first.cell}, replication "
                f"{first.replication}: {first.why}; their scenarios are in {outcome.folder / 'failed'}"
            )
        self.ran += outcome.ran
        self.found += outcome.found
        self.cells += several
        return outcome, several

    def modes(self, reading: Reading, conditions: Sequence[Condition]) -> dict[Key, str]:
        """Return by condition what stands for :data:`MODE` in the texts of schemes, if the paper has such texts."""
        hook = extension.hook(self.paper.folder, "modes")
        return hook(self, reading, conditions) if hook else {}

    def measure(
        self, reading: Reading, conditions: Sequence[Condition], modes: Mapping[Key, str], replications: int
    ) -> dict[Key, Raw]:
        """Run the schemes of conditions, and return their metrics."""
        plans = [plan_of(self.paper, reading, one, modes, replications) for one in conditions]
        outcome, several = self.drive(reading, plans)
        states = {state.cell.run(0): state for state in outcome.cells}
        code, store = build(), Store.open(self.store)
        runs: list[dict[str, list[str]]] = []
        each: list[tuple[str, list[str]]] = []
        for condition, cells in zip(conditions, several, strict=True):
            own: dict[str, list[str]] = {}
            by_scenario: dict[str, list[str]] = {}
            for name, cell in cells_of(self.paper, reading, condition, modes, cells).items():
                own[name] = [cell.run(k).id(code) for k in sorted(states[cell.run(0)].values)]
                by_scenario.setdefault(cell.scenario, []).extend(own[name])
            runs.append(own)
            each += [(cells.scenarios[scenario], ids) for scenario, ids in by_scenario.items()]
        wanted = sorted({run for _, ids in each for run in ids})
        table, more = _table(store, wanted), extension.hook(self.paper.folder, "columns")
        if more is not None:
            table = table.join(more(self.paper, store, each, wanted, is_base=reading is self.paper.readings[0]))
        columns = {str(name): table[name].to_numpy(dtype=np.float64) for name in table.columns}
        found: dict[Key, Raw] = {}
        for condition, of in zip(conditions, runs, strict=True):
            rows = {name: table.index.get_indexer(pd.Index(ids)) for name, ids in of.items()}
            found[reading.name, condition.name] = {
                metric: {name: values[own] for name, own in rows.items()} for metric, values in columns.items()
            }
        return found


def plan_of(
    paper: Paper, reading: Reading, condition: Condition, modes: Mapping[Key, str], replications: int
) -> Plan:
    """Return the plan of one condition under one reading of the simulation; schemes of one text are there once."""
    scenario = scenario_of(paper, reading, condition)
    usual = Plan(
        name=plan_name(paper, reading, condition, "schemes"),
        scenario=scenario,
        sets=reading.sets_of(condition),
        replications=replications,
        series=condition.series or None,
        series_replications=replications,
        metrics=("sojourn_ms_mean", "goodput_bit_s"),
        description=f"{paper.title}: {condition.title}; {reading.name}",
    )
    if condition.schemes[0] in paper.on:
        return replace(usual, vary=(_variation(paper, reading, condition, scenario),))
    texts: dict[str | None, Scheme] = {}
    for scheme in schemes_of(paper, reading, condition, modes).values():
        texts.setdefault(scheme.canonical, scheme)
    return replace(usual, schemes=tuple(texts.values()))


def _variation(paper: Paper, reading: Reading, condition: Condition, scenario: str) -> Variation:
    """Return the variation of a condition's plan with a point for each scheme, which stands on chosen links."""
    schemes = (*condition.schemes, *condition.beside)
    document = core.load(scenario, source=condition.name, sets=reading.sets_of(condition))
    own = {one["name"]: one["queue"] for one in document["links"]}
    links = list(dict.fromkeys(link for scheme in schemes for link in paper.on[scheme]))
    for link in links:
        if link not in own:
            raise SojournError(
                f"condition {condition.name}: a scheme is on the link {link!r}, which the scenario does not have"
            )
    factors = (
        Factor(("description",), PLACEMENT),
        *(Factor((f"links.{link}.queue",), f"queue of {link}") for link in links),
    )
    points = tuple(
        (scheme, *(paper.text_of(scheme, reading) if link in paper.on[scheme] else own[link] for link in links))
        for scheme in schemes
    )
    return Variation(factors, points)


def cells_of(
    paper: Paper, reading: Reading, condition: Condition, modes: Mapping[Key, str], cells: Cells
) -> dict[str, Cell]:
    """Return the cell of each scheme of a condition by id, of the cells of its plan."""
    if condition.schemes[0] in paper.on:
        return {str(cell.levels[PLACEMENT]): cell for cell in cells}
    by_text = {cell.scheme.canonical: cell for cell in cells}
    schemes = schemes_of(paper, reading, condition, modes)
    return {name: by_text[scheme.canonical] for name, scheme in schemes.items()}


def scenario_of(paper: Paper, reading: Reading, condition: Condition) -> str:
    """Return the text of a scenario: of the paper's folder, or of those that come with Sojourn."""
    name = condition.scenario or reading.scenario or paper.scenario
    own = paper.folder / f"{name}.toml"
    return read_text(own if own.is_file() else name)[0]


def schemes_of(paper: Paper, reading: Reading, condition: Condition, modes: Mapping[Key, str]) -> dict[str, Scheme]:
    """Return the schemes of a condition by id."""
    found, mode = {}, modes.get((reading.name, condition.name), "")
    for name in (*condition.schemes, *condition.beside):
        text = paper.text_of(name, reading).replace(MODE, mode)
        found[name] = Scheme(condition.appended(name, text), name)
    return found


def plan_name(paper: Paper, reading: Reading, condition: Condition, what: str) -> str:
    """Return the name of a plan of one condition under one reading."""
    return f"{paper.name}-{condition.name}-{slug(reading.name)}-{what}"


def _table(store: Store, runs: Sequence[str]) -> pd.DataFrame:
    """Return a row per run: its metrics, those of its busiest queue, and means over its flows during their lives."""
    known = [name for scope, name in metrics.catalogue() if scope == "run"]
    whole: pd.DataFrame = store.read("runs", ["measured_s", *known], runs).to_pandas().set_index(KEY)
    of_queues = list(filter(metrics.is_of_queues, known))
    queues = store.read("queues", ["queue", "under_test", *of_queues], runs).to_pandas()
    # Where a study asks for its queues together, these are what it means unless it says the busiest.
    together = queues[queues["queue"] == headline.ALL].set_index(KEY)[of_queues]
    whole.loc[together.index, of_queues] = together
    queues = queues[queues["under_test"]].sort_values("queue_packets_mean", kind="stable")
    busiest = queues.groupby(KEY, sort=False)[list(_OF_QUEUES)].last()
    flows = store.read("flows", ["flow_duration_s", *_OF_FLOWS], runs).to_pandas()
    flows = flows[flows["flow_duration_s"] > 0]
    # Over the life of the flow, not of the run.
    life = whole["measured_s"].reindex(flows[KEY]).to_numpy() / flows["flow_duration_s"].to_numpy()
    own = flows[[KEY]].assign(**{name: flows[name].to_numpy() * life for name in _OF_FLOWS})
    of_flows = own.groupby(KEY, sort=False)[list(_OF_FLOWS)].mean()
    return whole[known].assign(
        **{f"busiest {name}": busiest[name].reindex(whole.index) for name in _OF_QUEUES},
        **{f"flow {name}": of_flows[name].reindex(whole.index) for name in _OF_FLOWS},
    )
