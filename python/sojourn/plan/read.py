"""What a store holds of a plan, as tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pandas as pd
import pyarrow as pa

from sojourn.base import suggest
from sojourn.base.errors import SchemeError, StoreError
from sojourn.base.units import NUMBER
from sojourn.plan import document, execute, expand, rows
from sojourn.plan.expand import Cell, Cells
from sojourn.plan.identity import build
from sojourn.plan.model import SCHEME, Value
from sojourn.plan.store import Store
from sojourn.results import export, headline, metrics, notices, tables
from sojourn.results.notices import Notice
from sojourn.results.results import Results

Levels: TypeAlias = dict[str, Value | None]
"""A value of every factor of a plan."""

_BASE: Final = {
    "ns": ("ms", 1e-6), "us": ("ms", 1e-3), "ms": ("ms", 1.0), "s": ("ms", 1e3), "min": ("ms", 6e4),
    "bit/s": ("bit_s", 1.0), "kbit/s": ("bit_s", 1e3), "Mbit/s": ("bit_s", 1e6), "Gbit/s": ("bit_s", 1e9),
    "bit": ("bit_s", 1.0), "kbit": ("bit_s", 1e3), "mbit": ("bit_s", 1e6), "gbit": ("bit_s", 1e9),
    "B": ("bytes", 1.0), "kB": ("bytes", 1e3), "MB": ("bytes", 1e6),
    "KiB": ("bytes", 1024.0), "MiB": ("bytes", 1048576.0),
    "p": ("packets", 1.0), "packets": ("packets", 1.0), "packet": ("packets", 1.0),
}  # fmt: skip
_QUANTITY: Final = re.compile(rf"\s*({NUMBER})\s*([A-Za-z/]+)\s*")

_CHECKED: Final = 500
"""Combinations of levels that are looked at for warnings: a large plan repeats them."""

UNITS: Final = {"ms": "ms", "bit_s": "bit/s", "bytes": "B", "packets": "packets"}


def plan_of(store: Store, name: str | None = None) -> Cells:
    """Return the cells of a plan that was run into a store, by default of the only one.

    Raises
    ------
    SojournError
        No such plan, or several and no name.
    """
    known = list(store.plans())
    if name is None and len(known) != 1:
        raise StoreError(
            f"{store.folder} holds {len(known)} plans: name one with --plan: {', '.join(known) or 'none'}"
        )
    return plans(store, name or known[0])[0]


def plans(store: Store, name: str | None = None) -> list[Cells]:
    """Return the cells of the plans that were run into a store, or of one of them."""
    texts = store.plans()
    if name is not None and name not in texts:
        listed = ", ".join(texts) or "none"
        raise StoreError(f"{store.folder}: there is no plan {name!r}{suggest.hint(name, texts)}; there are: {listed}")
    return [
        expand.cells(document.loads(text, source=f"{store.folder}/plans/{found}.toml"))
        for found, text in texts.items()
        if name in (None, found)
    ]


def code_of(cells: Cells, store: Store) -> str:
    """Return the build whose runs of a plan are in a store: this one if it has any, else the one with most."""
    first = {cell.run(k) for cell in cells for k in range(cells.plan.least)}
    there = store.identities()
    counts = {code: sum(run.id(code) in there for run in first) for code in store.builds()}
    if counts.get(build()) or not any(counts.values()):
        return build()
    return max(counts, key=lambda code: (counts[code], code))


def states(cells: Cells, store: Store, names: Sequence[str] = ()) -> list[execute.CellState]:
    """Return how far each cell is, with the values of some metrics."""
    plan = cells.plan
    found = [execute.CellState(cell, plan.least) for cell in cells]
    wanted = tuple(dict.fromkeys((*(goal.metric for goal in plan.precision), *plan.shown, *names)))
    execute.fill(found, store, wanted, code_of(cells, store), plan)
    execute.compare(found)
    return found


def members(cells: Cells, store: Store) -> pd.DataFrame:
    """Return which run is which replication of which cell.

    Returns
    -------
    pandas.DataFrame
        ``plan``, ``cell``, ``label``, a column for each factor, ``replication``, ``run``. A factor whose values are
        quantities has a second column in a base unit (``rate_bit_s``, ``delay_ms``).
    """
    code = code_of(cells, store)
    found = [
        (cells.plan.name, *_key(state), k, state.cell.run(k).id(code))
        for state in states(cells, store)
        for k in sorted(state.values)
    ]  # fmt: skip
    names = [factor.name for factor in cells.plan.factors]
    frame = pd.DataFrame(found, columns=["plan", "cell", "label", *names, "replication", "run"])
    for name in names:
        numbers = in_base_unit([cell.levels[name] for cell in cells])
        if numbers is not None:
            unit, values = numbers
            by_cell = dict(zip((cell.number for cell in cells), values, strict=True))
            frame.insert(
                frame.columns.tolist().index(name) + 1, f"{name}_{unit}", frame["cell"].map(by_cell).astype("float64")
            )
    return frame


def frame(cells: Cells, store: Store, table: str = "runs") -> pd.DataFrame:
    """Return a plan's runs with their cells: the columns of :func:`members`, then those of the table.

    The table is ``runs``, ``queues``, ``flows``, ``distributions`` or ``series``.
    """
    own = members(cells, store)
    data: pd.DataFrame = store.read(table, runs=own["run"]).to_pandas()
    if table == "runs":
        factors = [factor.name for factor in cells.plan.factors]
        family = own.groupby(factors, sort=False, dropna=False).ngroup() if factors else pd.Series(0, index=own.index)
        data = _of_headline(data, _tested(store, own["run"]), dict(zip(own["run"], family, strict=True)))
    return own.merge(
        data.drop(columns=["replication"], errors="ignore"), on="run", how="inner", suffixes=("", "_of_run")
    )


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def curves(cells: Cells, store: Store, table: str, column: str) -> pd.DataFrame:
    """Return a plan's ``series`` or ``distributions``; a curve without a queue's name is the headline queue's.

    `column` is that of the table with the names of curves.
    """
    found = frame(cells, store, table)
    if found.empty or not found[column].str.startswith(_OF_QUEUES).any():
        return found
    queue = found["run"].map(frame(cells, store).set_index("run")["queue"])
    stem = found[column].str.partition(":")[0]
    is_first = found[column].str.startswith(_OF_QUEUES) & (found[column] == stem + ":" + queue)
    return found.assign(**{column: found[column].where(~is_first, stem)})


_OF_QUEUES: Final = ("sojourn_ms:", "queue_packets:", "drops_packets_s:", "marks_packets_s:")
"""How the names of curves begin that are of one of several queues under test."""


def of_each_queue(cells: Cells, store: Store, names: Sequence[str]) -> pd.DataFrame:
    """Return metrics of each of several queues under test: a row for each run, a column ``metric@queue``.

    Only ``run`` where one is under test; of more than 8 the busiest of the plan.
    """
    wanted = list(filter(metrics.is_of_queues, names))
    own = members(cells, store)["run"]
    columns = list(dict.fromkeys(("queue", "under_test", "utilisation", *wanted)))
    queues: pd.DataFrame = store.read("queues", columns=columns, runs=own).to_pandas()
    queues = queues[queues["under_test"].astype(bool)]
    if not queues["run"].duplicated().any():
        return pd.DataFrame({"run": own})
    order = headline.tested(records(queues[["queue", "under_test", "utilisation"]]))[: headline.MANY]
    wide = queues[queues["queue"].isin(order)].pivot_table(index="run", columns="queue", values=wanted, sort=False)
    there = [(name, queue) for queue in order for name in wanted if (name, queue) in wide.columns]
    found = {headline.at(name, queue): wide[name][queue] for name, queue in there}
    return pd.DataFrame(found).reset_index()


def _tested(store: Store, runs: Iterable[str]) -> pd.DataFrame:
    """Return the metrics of the queues under test of some runs; nothing where no run has several of them."""
    columns = ["queue", "under_test", *filter(metrics.is_of_queues, rows.metric_names("queues"))]
    queues: pd.DataFrame = store.read("queues", columns=columns, runs=runs).to_pandas()
    queues = queues[queues["under_test"].astype(bool)]
    return queues if queues[rows.KEY].duplicated().any() else queues[:0]


def _of_headline(runs: pd.DataFrame, queues: pd.DataFrame, family: Mapping[str, int]) -> pd.DataFrame:
    """Return runs with the metrics of the headline queue of those that are compared.

    `queues` is what :func:`_tested` found of them; `family` has the same number for all runs that are compared.
    """
    if queues.empty:
        return runs
    queues = queues.assign(family=queues[rows.KEY].map(family))
    first = {
        number: headline.tested(records(part[["queue", "under_test", "utilisation"]]))[0]
        for number, part in queues.groupby("family", sort=False)
    }
    chosen = queues[queues["queue"] == queues["family"].map(first)].set_index(rows.KEY)
    found = runs.set_index(rows.KEY)
    names = [name for name in map(str, chosen) if metrics.is_of_queues(name) and name in found]
    found["queue"] = chosen["queue"].reindex(found.index)
    found[names] = chosen[names].reindex(found.index)
    return found.reset_index()


class Frames(tables.Frames):
    """The tables of results, see :mod:`sojourn.results.tables`, read from a store when they are first asked for.

    Parameters
    ----------
    members
        The label of a scheme, the seed, the replication and the identity of each run, in order.
    known
        The rows of these runs in the table ``runs`` by identity, and those of their queues under test, where they
        were read already.
    """

    def __init__(
        self,
        store: Store,
        members: Sequence[tuple[str, int, int, str]],
        known: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    ) -> None:
        self._store, self._known = store, known
        self._members = pd.DataFrame(members, columns=["scheme", "seed", "replication", rows.KEY])
        super().__init__()

    def _frame(self, name: str) -> pd.DataFrame:
        wanted = list(dict.fromkeys(self._members[rows.KEY]))
        found = self._headlines(wanted) if name == "runs" else self._store.read(name, runs=wanted).to_pandas()
        known = [column for column in found if column not in (*self._members, "build", "scenario", "sampled")]
        frame = self._members.merge(found[[rows.KEY, *known]], on=rows.KEY).drop(columns=rows.KEY)
        measured = rows.metric_names(name)
        kept = metrics.present(measured, {one: None if frame[one].isna().all() else True for one in measured})
        frame = frame[[column for column in frame if column not in measured or column in kept]]
        return frame.astype(dict.fromkeys(kept, "float64"))

    def _headlines(self, wanted: list[str]) -> pd.DataFrame:
        """Return ``runs`` with the metrics of the queue that is the busiest over all of them."""
        if self._known is None:
            runs, queues = self._store.read("runs", runs=wanted).to_pandas(), _tested(self._store, wanted)
        else:
            runs, queues = self._known[0].loc[wanted].reset_index(), self._known[1]
            queues = queues[queues[rows.KEY].isin(wanted)]
        return _of_headline(runs, queues, dict.fromkeys(wanted, 0))


def results(cells: Cells, store: Store) -> list[tuple[Levels, Results]]:
    """Return the results of a plan: for each combination of the factors' levels those of its schemes.

    They have every table, estimate, figure and report that a comparison has. The correction of p-values counts the
    comparisons of the whole plan. Combinations without a finished run are left out.
    """
    code, plan = code_of(cells, store), cells.plan
    own = {state.cell.number: state for state in states(cells, store)}
    family: list[Results] = []
    made = []
    every = [cell.run(k).id(code) for cell in cells for k in own[cell.number].finished]
    known = store.read("runs", runs=every).to_pandas().set_index(rows.KEY), _tested(store, every)
    for levels, group in combinations(cells):
        done = [cell for cell in group if own[cell.number].done]
        if not done:
            continue
        runs = [(cell.label, cell.seed, k, cell.run(k).id(code)) for cell in done for k in own[cell.number].finished]
        scenario = {**json.loads(cells.scenarios[done[0].scenario]), "name": _named(plan.name, levels)}
        one = Results(
            scenario=scenario,
            schemes=tuple(cell.scheme for cell in done),
            seed=done[0].seed,
            replications=max(own[cell.number].done for cell in done),
            frames=Frames(store, runs, known),
            kind="compare" if plan.schemes else "run",
            meta={"build": code, "version": code.partition("+")[0], "series": plan.series, "plan": plan.name},
            family=family,
        )
        family.append(one)
        made.append((levels, one))
    return made


def combinations(cells: Cells) -> list[tuple[Levels, list[Cell]]]:
    """Return every combination of the factors' levels with its cells, one for each scheme.

    A cell that leaves a factor open, because the factor is another scheme's, is in all combinations that it fits.
    """
    names = [factor.name for factor in cells.plan.factors]
    every = list(dict.fromkeys(tuple(cell.levels[name] for name in names) for cell in cells))
    whole = [one for one in every if None not in one or not any(other != one and fits(one, other) for other in every)]
    exact: dict[tuple[Value | None, ...], list[Cell]] = {}
    for cell in cells:
        exact.setdefault(tuple(cell.levels[name] for name in names), []).append(cell)
    open_ = [levels for levels in every if levels not in set(whole)]
    order = {scheme.label: place for place, scheme in enumerate(cells.plan.schemes)}
    found = []
    for levels in whole:
        own = [*exact[levels], *(cell for one in open_ if fits(one, levels) for cell in exact[one])]
        own.sort(key=lambda cell: order.get(cell.label, 0))
        found.append((dict(zip(names, levels, strict=True)), own))
    return found


def fits(one: Sequence[Value | None], panel: Sequence[Value | None]) -> bool:
    """Return whether levels are those of a combination, but for those that are open."""
    return all(mine in (None, theirs) for mine, theirs in zip(one, panel, strict=True))


def described(levels: Levels) -> str:
    """Return levels as messages have them: ``rate=10 Mbit/s, delay=5 ms``."""
    return ", ".join(f"{name}={value}" for name, value in levels.items() if value is not None)


def _named(name: str, levels: Levels) -> str:
    return f"{name}: {described(levels)}" if levels else name


def differences(cells: Cells, store: Store, names: Sequence[str] = (), baseline: str | None = None) -> pd.DataFrame:
    """Return the table of :func:`sojourn.plan.differences` from open files.

    Raises
    ------
    SojournError
        Unknown scheme.
    """
    known = dict.fromkeys(cell.label for cell in cells)
    if baseline is not None and baseline not in known:
        raise SchemeError(suggest.unknown("scheme", baseline, known))
    base = baseline or next(iter(known))
    wanted = tuple(names) or cells.plan.shown
    factors = [factor.name for factor in cells.plan.factors]
    found = [
        (*levels.values(), *row)
        for levels, one in results(cells, store)
        if base in one.labels
        for row in export.differences(one, base, list(filter(one.has, wanted)))
    ]
    return pd.DataFrame(found, columns=[*factors, *export.DIFFERENCES])


def warnings(cells: Cells, store: Store, states: Sequence[execute.CellState]) -> list[str]:
    """Return what to know before the numbers of a plan are used, a sentence each: see :attr:`Results.warnings`."""
    settings = {
        one.text: None
        for _, group in combinations(cells)[:_CHECKED]
        for one in notices.inert(json.loads(cells.scenarios[group[0].scenario]), [cell.scheme for cell in group])
    }
    repeated = [str(state.cell) for state in states if state.repeated()]
    same = [one.text for one in notices.repeated(repeated)]
    return [*settings, *same, *_of_runs(cells, store), *(one.text for one in _unsteady(cells, store, states))]


def _of_runs(cells: Cells, store: Store) -> Iterator[str]:
    """Yield a sentence for flows that deliver nothing, and for schemes whose runs are those of another scheme."""
    for levels, one in results(cells, store)[:_CHECKED]:
        where = f"{described(levels)}: " if levels else ""
        yield from (f"{where}{found.text}" for found in notices.silent(one))
        yield from (f"{where}{found.text}" for found in notices.alike_in(one))


def _unsteady(cells: Cells, store: Store, states: Sequence[execute.CellState]) -> tuple[Notice, ...]:
    """Return the cells whose warm-up is too short, or that reached no steady state, as far as they have series."""
    code = code_of(cells, store)
    cell_of = {
        state.cell.run(k).id(code): str(state.cell)
        for state in states[: expand.SAMPLED]
        for k in state.finished
        if state.cell.run(k).series is not None
    }
    if not cell_of:
        return ()
    runs = store.read("runs", columns=["warm_up_s"], runs=cell_of)
    warm_ups = {cell_of[run]: at for run, at in zip(*map(pa.ChunkedArray.to_pylist, runs.columns), strict=True)}
    first = {str(state.cell): state.tested[0] for state in states if len(state.tested) > 1}
    samples = store.read("series", runs=cell_of).to_pandas()
    found: dict[tuple[str, str], list[tables.Row]] = {}
    for (run, curve), part in samples.groupby([rows.KEY, "name"], sort=False):
        name, _, queue = str(curve).partition(":")
        if name in notices.SERIES and queue in ("", first.get(cell_of[run])):
            samples_of = {"t_s": part["t_s"].to_numpy(), "value": part["value"].to_numpy()}
            found.setdefault((cell_of[run], name), []).append(samples_of)
    order = {str(state.cell): state.cell.number for state in states}
    return notices.unsteady(dict(sorted(found.items(), key=lambda one: order[one[0][0]])), warm_ups)


def summary(cells: Cells, store: Store, names: Sequence[str] = ()) -> pd.DataFrame:
    """Return the estimates of some metrics in every cell, by default those that the plan shows.

    Returns
    -------
    pandas.DataFrame
        ``cell``, ``scheme``, a column for each factor, ``queue``, ``metric``, ``unit``, ``mean``, ``low``, ``high``
        (95 % interval), ``replications``. Where several queues are under test, metrics of queues have a row for each
        of the 8 busiest; the column ``queue`` is empty otherwise.
    """
    wanted = tuple(names) or cells.plan.shown
    made = []
    for state in states(cells, store, wanted):
        for name in headline.shown(state.tested, wanted):
            metric, queue = metrics.split(name)
            estimate = tables.limits(state.estimate(name))
            made.append((*_key(state), queue, metric, metrics.unit_of(name), *estimate))
    factors = [factor.name for factor in cells.plan.factors]
    columns = ["cell", SCHEME, *factors, "queue", "metric", "unit", "mean", "low", "high", "replications"]
    return pd.DataFrame(made, columns=columns)


def arrow(data: pd.DataFrame, table: str) -> pa.Table:
    """Return a frame as Arrow with each column's unit in its metadata."""
    schema = rows.schema(table)
    units = {field.name: field.metadata[b"unit"].decode() for field in schema if field.metadata}
    factors = [name for name in map(str, data) if name not in schema.names]
    units |= {name: unit for name in factors for ending, unit in UNITS.items() if name.endswith(f"_{ending}")}
    return tables.to_arrow(table, data, units)


def in_base_unit(values: Sequence[Value | None]) -> tuple[str, list[float]] | None:
    """Return quantities as numbers in a base unit, with the ending that names it; None where they are not all such.

    Examples
    --------
    >>> in_base_unit(["10 Mbit/s", "500 kbit/s"])
    ('bit_s', [10000000.0, 500000.0])
    """
    numbers: list[float] = []
    endings = set()
    for value in values:
        if value is None:
            numbers.append(math.nan)
            continue
        found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
        if not found or found[2] not in _BASE:
            return None
        ending, size = _BASE[found[2]]
        endings.add(ending)
        numbers.append(float(f"{float(found[1]) * size:.15g}"))
    return (endings.pop(), numbers) if len(endings) == 1 else None


def _key(state: execute.CellState) -> tuple[Value | None, ...]:
    return state.cell.number, state.cell.label, *state.cell.levels.values()


def is_number(value: Any) -> bool:
    """Whether a level is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
