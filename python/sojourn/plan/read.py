"""What a store holds of a plan, as tables."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from sojourn import headline, metrics, suggest
from sojourn.core import SojournError
from sojourn.plan import document, execute, expand, rows
from sojourn.plan.expand import Cells
from sojourn.plan.identity import build
from sojourn.plan.parts import SCHEME, Value
from sojourn.plan.store import Store
from sojourn.units import NUMBER

_BASE: Final = {
    "ns": ("ms", 1e-6), "us": ("ms", 1e-3), "ms": ("ms", 1.0), "s": ("ms", 1e3), "min": ("ms", 6e4),
    "bit/s": ("bit_s", 1.0), "kbit/s": ("bit_s", 1e3), "Mbit/s": ("bit_s", 1e6), "Gbit/s": ("bit_s", 1e9),
    "bit": ("bit_s", 1.0), "kbit": ("bit_s", 1e3), "mbit": ("bit_s", 1e6), "gbit": ("bit_s", 1e9),
    "B": ("bytes", 1.0), "kB": ("bytes", 1e3), "MB": ("bytes", 1e6),
    "KiB": ("bytes", 1024.0), "MiB": ("bytes", 1048576.0),
    "p": ("packets", 1.0), "packets": ("packets", 1.0), "packet": ("packets", 1.0),
}  # fmt: skip
_QUANTITY: Final = re.compile(rf"\s*({NUMBER})\s*([A-Za-z/]+)\s*")

UNITS: Final = {"ms": "ms", "bit_s": "bit/s", "bytes": "B", "packets": "packets"}


def plans(store: Store, name: str | None = None) -> list[Cells]:
    """Return the cells of the plans that were run into a store, or of one of them."""
    texts = store.plans()
    if name is not None and name not in texts:
        listed = ", ".join(texts) or "none"
        raise SojournError(
            f"{store.folder}: there is no plan {name!r}{suggest.hint(name, texts)}; there are: {listed}"
        )
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

    Parameters
    ----------
    cells
        Of the plan.
    store
        Where the runs are.
    table
        ``runs``, ``queues``, ``flows``, ``distributions`` or ``series``.
    """
    own = members(cells, store)
    data: pd.DataFrame = store.read(table, runs=own["run"]).to_pandas()
    if table == "runs":
        data = _of_headline(data, own, cells, store)
    return own.merge(
        data.drop(columns=["replication"], errors="ignore"), on="run", how="inner", suffixes=("", "_of_run")
    )


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def curves(cells: Cells, store: Store, table: str, column: str) -> pd.DataFrame:
    """Return a plan's ``series`` or ``distributions``; a curve without a queue's name is the headline queue's.

    Parameters
    ----------
    cells, store
        Of the plan.
    table, column
        The table, and its column with the names of curves.
    """
    found = frame(cells, store, table)
    if found.empty or not found[column].str.startswith(_OF_QUEUES).any():
        return found
    queue = found["run"].map(frame(cells, store).set_index("run")["queue"])
    stem = found[column].str.partition(":")[0]
    is_first = found[column].str.startswith(_OF_QUEUES) & (found[column] == stem + ":" + queue)
    return found.assign(**{column: found[column].where(~is_first, stem)})


_OF_QUEUES: Final = ("sojourn_ms:", "queue_packets:", "drops_packets_s:")
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


def _of_headline(data: pd.DataFrame, own: pd.DataFrame, cells: Cells, store: Store) -> pd.DataFrame:
    """Return runs with the metrics of the headline queue of the cells that differ in their scheme alone."""
    columns = ["queue", "under_test", *filter(metrics.is_of_queues, rows.metric_names("queues"))]
    queues: pd.DataFrame = store.read("queues", columns=columns, runs=own["run"]).to_pandas()
    queues = queues[queues["under_test"].astype(bool)]
    if not queues["run"].duplicated().any():
        return data
    factors = [factor.name for factor in cells.plan.factors]
    family = own.groupby(factors, sort=False, dropna=False).ngroup() if factors else pd.Series(0, index=own.index)
    queues = queues.assign(family=queues["run"].map(dict(zip(own["run"], family, strict=True))))
    first = {
        number: headline.tested(records(part[["queue", "under_test", "utilisation"]]))[0]
        for number, part in queues.groupby("family", sort=False)
    }
    chosen = queues[queues["queue"] == queues["family"].map(first)].set_index("run")
    data = data.set_index("run")
    names = [name for name in columns[2:] if name in data]
    data["queue"] = chosen["queue"].reindex(data.index)
    data[names] = chosen[names].reindex(data.index)
    return data.reset_index()


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
            found, (metric, queue) = state.estimate(name), metrics.split(name)
            low, high = (math.nan if end is None else end for end in (found.low, found.high))
            made.append(
                {
                    "cell": state.cell.number,
                    SCHEME: state.cell.label,
                    **state.cell.levels,
                    "queue": queue,
                    "metric": metric,
                    "unit": metrics.unit_of(name),
                    "mean": found.mean,
                    "low": low,
                    "high": high,
                    "replications": found.replications,
                }
            )
    return pd.DataFrame(made)


def arrow(data: pd.DataFrame, table: str) -> pa.Table:
    """Return a frame as Arrow with each column's unit in its metadata."""
    made = pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata({"table": table})
    own = {field.name: field.metadata for field in rows.schema(table) if field.metadata}
    fields = []
    for field in made.schema:
        plain = field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field
        unit = next((unit for ending, unit in UNITS.items() if field.name.endswith(f"_{ending}")), None)
        marked = own.get(field.name) or (
            {"unit": unit} if unit and field.name not in rows.schema(table).names else None
        )
        fields.append(plain.with_metadata(marked) if marked else plain)
    return made.cast(pa.schema(fields, metadata={"table": table}))


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
