"""Reports as the rows of a store: one row for each run, queue, flow, point of a distribution, or sample of a series.

The columns are the same in every file: all metrics that there are, empty where a run has none. There is also a row
for each group of flows, with changes for each phase, and with 802.11 cells for each station.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

from sojourn.plan.identity import Run
from sojourn.results import metrics
from sojourn.results.tables import FACTS, SCOPES, facts

NAMES: Final = ("runs", "queues", "flows", "distributions", "series")
STATIONS: Final = "stations"
PHASES: Final = "phases"
OPTIONAL: Final = ("groups", PHASES, STATIONS)
"""Data sets that a part of a store may lack: it was written before there were groups, or has no phases or cells."""
EVERY: Final = (*NAMES, *OPTIONAL)

KEY: Final = "run"

_TYPES: Final = {"text": pa.string(), "whole": pa.int64(), "flag": pa.bool_(), "number": pa.float64()}
_RUN: Final = {
    "build": pa.string(),
    "scenario": pa.string(),
    "scheme": pa.string(),
    "seed": pa.int64(),
    "replication": pa.int64(),
    "sampled": pa.string(),
}
"""What ``runs`` says of the making of a run."""


@cache
def metric_names(table: str) -> tuple[str, ...]:
    """Return the metrics that a table has a column for."""
    scope = SCOPES.get(table)
    found = {name for where, name in metrics.catalogue() if where == scope}
    if table == PHASES:
        # Groups of flows in a phase have those of their applications.
        found |= {name for _, name in metrics.catalogue() if metrics.family(name) is not None}
    return tuple(metrics.order(found))


@cache
def schema(table: str) -> pa.Schema:
    """Return a table's columns, each with its unit in the metadata (key ``unit``)."""
    # So are the files of stores.
    fields = [pa.field(KEY, pa.string(), nullable=table == PHASES)]
    fields += [pa.field(name, kind) for name, kind in (_RUN if table == "runs" else {}).items()]
    fields += [_with_unit(name, _TYPES[kind], unit) for name, (kind, unit) in facts(table).items()]
    for name in metric_names(table):
        fields.append(_with_unit(name, pa.float64(), metrics.unit_of(name, SCOPES[table])))
    return pa.schema(fields, metadata={"table": table})


def tables(done: Sequence[tuple[str, str, Run, str]]) -> dict[str, pa.Table]:
    """Make the tables of finished runs, each given as identity, build, run and report (JSON text)."""
    if not done:
        return {name: schema(name).empty_table() for name in EVERY}
    reports = _read([report for *_, report in done])
    ids = pa.array([identity for identity, *_ in done])
    runs = [run for _, _, run, _ in done]
    own: dict[str, pa.Array] = {
        KEY: ids,
        "build": pa.array([build for _, build, _, _ in done]),
        "scenario": pa.array([run.scenario for run in runs]),
        "scheme": pa.array([run.scheme or "" for run in runs]),
        "seed": pa.array([run.seed for run in runs], pa.int64()),
        "replication": pa.array([run.replication for run in runs], pa.int64()),
        "sampled": pa.array([run.series for run in runs], pa.string()),
    }
    conserved = {f"packets_{name}": column for name, column in _fields(reports["conservation"]).items()}
    known = {name: reports[name] if name in reports else conserved.get(name) for name in FACTS}
    made = {"runs": _table("runs", len(ids), {**own, **known, **_metrics("runs", reports["metrics"])})}
    for name, renamed in (
        ("queues", {"name": "queue", "scheme": "configured"}),
        ("flows", {"name": "flow"}),
        ("groups", {"name": "group"}),
        (PHASES, {}),
    ):
        if not _is_lists(reports.get(name)):
            made[name] = schema(name).empty_table()
            continue
        parents, rows = _flat(reports[name])
        columns = {renamed.get(key, key): column for key, column in _fields(rows).items()}
        kept = {key: columns.get(key) for key in facts(name)}
        every = _metrics(name, columns.get("metrics"))
        made[name] = _table(name, len(rows), {KEY: ids.take(parents), **kept, **every})
    made["distributions"] = _distributions(ids, _fields(reports.get("distributions")))
    made["series"] = _series(ids, reports.get("series"))
    made[STATIONS] = _stations(ids, reports.get("cells"))
    return made


def _read(texts: Sequence[str]) -> dict[str, pa.Array]:
    """Read reports into columns; Arrow does in one pass what Python would do number by number."""
    lines = "\n".join(texts).encode()
    options = json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    table = json.read_json(io.BytesIO(lines), read_options=options).combine_chunks()
    return {name: table[name].chunk(0) for name in table.column_names}


def _fields(column: pa.Array | None) -> dict[str, pa.Array]:
    """Return the fields of a struct; none where it is empty in every row."""
    if column is None or not pa.types.is_struct(column.type):
        return {}
    return {field.name: pc.struct_field(column, field.name) for field in column.type}


def _is_lists(column: pa.Array | None) -> bool:
    """Return whether some report has elements of a list that may be absent."""
    return column is not None and pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type)


def _flat(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the elements of lists, and which list each is from."""
    return pc.list_parent_indices(column), pc.list_flatten(column)


def _metrics(table: str, column: pa.Array | None) -> dict[str, pa.Array]:
    found = _fields(column)
    unknown = sorted(set(found) - set(metric_names(table)))
    if unknown:
        raise ValueError(f"a report has {', '.join(unknown)} for {table}, which the list of metrics does not have")
    return found


def _distributions(ids: pa.Array, quantities: dict[str, pa.Array]) -> pa.Table:
    pieces = []
    for quantity, curve in quantities.items():
        columns = _fields(curve)
        if columns:
            parents, values = _flat(columns["value"])
            own = {KEY: ids.take(parents), "quantity": pa.repeat(pa.scalar(quantity), len(values)), "value": values}
            pieces.append(
                _table("distributions", len(values), {**own, "cumulative": pc.list_flatten(columns["cumulative"])})
            )
    return pa.concat_tables(pieces) if pieces else schema("distributions").empty_table()


def _series(ids: pa.Array, column: pa.Array | None) -> pa.Table:
    if column is None or not pa.types.is_struct(column.type.value_type):
        return schema("series").empty_table()
    runs, one = _flat(column)
    fields = _fields(one)
    parents, times = _flat(fields["t_s"])
    own = {
        KEY: ids.take(runs.take(parents)),
        "name": fields["name"].take(parents),
        "unit": fields["unit"].take(parents),
    }
    return _table("series", len(times), {**own, "t_s": times, "value": pc.list_flatten(fields["value"])})


def _stations(ids: pa.Array, column: pa.Array | None) -> pa.Table:
    if not _is_lists(column):
        return schema(STATIONS).empty_table()
    runs, cells = _flat(column)
    fields = _fields(cells)
    parents, stations = _flat(fields["stations"])
    own = {KEY: ids.take(runs.take(parents)), "cell": fields["name"].take(parents)}
    return _table(STATIONS, len(stations), {**_fields(stations), **own})


def _table(name: str, count: int, columns: dict[str, pa.Array | None]) -> pa.Table:
    """Put columns in the table's order and types; a column that no row has is empty."""
    arrays = []
    for field in schema(name):
        found = columns.get(field.name)
        arrays.append(pa.nulls(count, field.type) if found is None else found.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema(name))


def _with_unit(name: str, kind: pa.DataType, unit: str) -> pa.Field:
    return pa.field(name, kind, metadata={"unit": unit} if unit else None)
