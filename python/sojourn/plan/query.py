"""SQL over a store, by DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from sojourn.core import SojournError
from sojourn.plan import read, rows
from sojourn.plan.store import Store

if TYPE_CHECKING:
    import duckdb


def connect(store: Store) -> duckdb.DuckDBPyConnection:
    """Return a connection of DuckDB to a store.

    Its views: ``runs``, ``queues``, ``flows``, ``distributions``, ``series``, ``groups``, ``phases`` and ``stations``
    as they are stored;
    ``runs`` has the metrics of queues of the busiest queue under test of each run, which its column ``queue`` names;
    ``cells`` with a row for each run of each plan (plan, cell, label, factors, replication, run); ``results``, which
    is ``cells`` with the columns of ``runs``.
    """
    import duckdb

    connection = duckdb.connect(":memory:")
    for table in rows.EVERY:
        files = [str(file) for file in store.files(table)]
        if files:
            # A view takes no parameters; a quote in a path is doubled.
            listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet([{listed}])")  # noqa: S608
        else:
            connection.register(table, rows.schema(table).empty_table())
    found = [read.members(cells, store) for cells in read.plans(store)]
    whole = pd.concat(found, ignore_index=True) if found else pd.DataFrame({"plan": [], "run": []})
    connection.register("cells", _arrow(whole))
    connection.execute(
        "CREATE VIEW results AS SELECT cells.*, runs.* EXCLUDE (run, replication) FROM cells JOIN runs USING (run)"
    )
    return connection


def query(store: Store, sql: str) -> pa.Table:
    """Run an SQL query on a store and return the result as Arrow.

    Raises
    ------
    SojournError
        If DuckDB refuses the query.
    """
    import duckdb

    try:
        return connect(store).sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise SojournError(f"DuckDB: {error}") from None
    except AttributeError:
        raise SojournError(
            "DuckDB: the text is not a query; allowed: statements that return rows, such as SELECT, DESCRIBE and SHOW"
        ) from None


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
