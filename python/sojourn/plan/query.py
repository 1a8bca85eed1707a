"""SQL over a store, by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import dataset

from sojourn.base import foreign
from sojourn.base.errors import StoreError
from sojourn.plan import read, rows
from sojourn.plan.store import Store

if TYPE_CHECKING:
    import duckdb


def connect(store: Store, *, external: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a connection of DuckDB to a store.

    A query reads these views and nothing else: it neither reads nor writes files, loads no extension and changes no
    setting, unless `external` allows all of this.

    Its views: ``runs``, ``queues``, ``flows``, ``distributions``, ``series``, ``groups``, ``phases`` and ``stations``
    as they are stored;
    ``runs`` has the metrics of queues of the busiest queue under test of each run, which its column ``queue`` names;
    ``cells`` with a row for each run of each plan (plan, cell, label, factors, replication, run); ``results``, which
    is ``cells`` with the columns of ``runs``.
    """
    import duckdb

    connection = duckdb.connect(":memory:")
    for table in rows.EVERY:
        files = store.files(table)
        # Arrow opens the files. DuckDB would have to be allowed to, and then COPY could write them.
        connection.register(table, _dataset(files) if files else rows.schema(table).empty_table())
    found = [read.members(cells, store) for cells in read.plans(store)]
    whole = pd.concat(found, ignore_index=True) if found else pd.DataFrame({"plan": [], "run": []})
    connection.register("cells", _arrow(whole))
    connection.execute(
        "CREATE VIEW results AS SELECT cells.*, runs.* EXCLUDE (run, replication) FROM cells JOIN runs USING (run)"
    )
    if not external:
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    return connection


def _dataset(files: Sequence[Path]) -> dataset.Dataset:
    """Return files as one table, with the columns of all."""
    found = [foreign.locate(file, most=None) for file in files]
    return dataset.dataset(found, schema=pa.unify_schemas([pq.read_schema(file) for file in found]))


def query(store: Store, sql: str, *, external: bool = False) -> pa.Table:
    """Run an SQL query on a store and return the result as Arrow."""
    import duckdb

    try:
        return connect(store, external=external).sql(sql).to_arrow_table()
    except duckdb.Error as error:
        hint = "; --external allows files, extensions and settings" if _is_confined(error) and not external else ""
        raise StoreError(f"DuckDB: {error}{hint}") from None
    except AttributeError:
        raise StoreError(
            "DuckDB: the text is not a query; allowed: statements that return rows, such as SELECT, DESCRIBE and SHOW"
        ) from None


def _is_confined(error: Exception) -> bool:
    """Whether DuckDB refuses what a connection is not allowed."""
    return any(words in str(error) for words in ("by configuration", "through configuration", "has been locked"))


def _arrow(frame: pd.DataFrame) -> pa.Table:
    """Take the frame over column by column: a factor may have numbers in one plan and texts in another."""
    columns = {}
    for name in frame.columns:
        values = frame[name].astype(object).where(frame[name].notna(), None).tolist()
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[name] = pa.array([None if value is None else str(value) for value in values])
    return pa.table(columns)
