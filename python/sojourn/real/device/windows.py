"""The windows that ``sojournd`` measured, as tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa

from sojourn.base import foreign
from sojourn.base.errors import StoreError

VERSION: Final = 1
"""Of the tables that this module reads (``SCHEMA_VERSION`` of crates/device/src/store)."""

_APPLICATION: Final = 0x534A5244
_TABLES: Final = ("windows", "classes", "slots", "runs")


@dataclass(frozen=True)
class Store:
    """What a store holds.

    Parameters
    ----------
    windows
        A row each window, in the order of their ends; columns and units as `meanings` says. ``complete`` is boolean,
        ``slot`` a nullable integer, ``started_at`` a UTC time.
    classes
        A row each window and class of packet (tcp, udp, icmp, other): ``arrived``, ``arrived_bytes``, ``dropped``,
        ``marked``.
    slots
        The schedule as carried out: ``slot``, ``label``, ``scheme``, when it was due and began, ``seed``,
        ``design``.
    runs
        A row each process that measured: ``version``, ``config``, ``seed``, ``rate_bit_s``, ``overhead_bytes``,
        begin.
    meanings
        What each column of `windows` means.
    units
        The unit of each column of `windows` that has one.
    """

    windows: pd.DataFrame
    classes: pd.DataFrame
    slots: pd.DataFrame
    runs: pd.DataFrame
    meanings: Mapping[str, str]
    units: Mapping[str, str]

    def to_arrow(self) -> pa.Table:
        """Return the windows as Arrow, with each column's ``unit`` and ``meaning`` in its field's metadata."""
        table = pa.Table.from_pandas(self.windows, preserve_index=False)
        fields = [
            field.with_metadata(
                {
                    **({"unit": self.units[field.name]} if field.name in self.units else {}),
                    "meaning": self.meanings[field.name],
                }
            )
            for field in table.schema
        ]
        return table.cast(pa.schema(fields, metadata={"table": "windows"}))


def read(path: str | Path, *, direction: str | None = None, complete: bool = False) -> Store:
    """Read a store, also while ``sojournd`` writes it.

    Parameters
    ----------
    path
        The SQLite file of the configuration's ``windows.store``.
    direction
        ``a_to_b`` or ``b_to_a``; by default both.
    complete
        Leave out windows that a switch or the end of the process ended early.

    Raises
    ------
    SojournError
        There is no such file, or it is not a store of this version.
    """
    path = Path(path)
    try:
        place = foreign.locate(path, most=None)
    except FileNotFoundError:
        raise StoreError(f"store {path}: no such file; sojournd makes it where `windows.store` says") from None
    except OSError as error:
        raise StoreError(f"store {path}: {error.strerror}") from None
    if direction not in {None, "a_to_b", "b_to_a"}:
        raise StoreError(f'direction "{direction}": allowed: a_to_b, b_to_a')
    try:
        with closing(sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)) as connection:
            _check(path, connection)
            # One state of all tables, whatever is being written.
            connection.execute("BEGIN")
            frames = {name: pd.read_sql_query(f"SELECT * FROM {name}", connection) for name in _TABLES}  # noqa: S608
            columns = connection.execute("SELECT name, unit, meaning FROM columns").fetchall()
    except sqlite3.Error as error:
        raise StoreError(f"store {path}: {error}") from error
    windows = frames["windows"]
    if direction is not None:
        windows = windows[windows["direction"] == direction]
    if complete:
        windows = windows[windows["complete"] == 1]
    windows = windows.reset_index(drop=True)
    names = list(windows.columns)
    reals = [name for name in names[names.index("complete") + 1 :] if not _whole(name)]
    windows = windows.astype({"complete": bool, "slot": "Int64", **dict.fromkeys(reals, "float64")})
    windows["started_at"] = pd.to_datetime(windows["started_at"], utc=True, format="ISO8601")
    classes = frames["classes"]
    return Store(
        windows=windows,
        classes=classes[classes["window"].isin(windows["window"])].reset_index(drop=True),
        slots=frames["slots"],
        runs=frames["runs"],
        meanings={name: meaning for name, _, meaning in columns},
        units={name: unit for name, unit, _ in columns if unit},
    )


def _whole(name: str) -> bool:
    return name in {"arrived", "arrived_bytes", "marked", "forwarded"} or name.startswith("dropped_")


def _check(path: Path, connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise StoreError(f"store {path}: a SQLite file, but not one of sojournd")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise StoreError(f"store {path}: its tables are of version {version}; this version reads {VERSION}")
    connection.execute("PRAGMA trusted_schema = OFF")
    for name in (*_TABLES, "columns"):
        # A view, or a column that is computed, is a program of whoever made the file, and may have no end.
        made = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        is_stored = made is not None and made[0] == "table" and not made[1].upper().startswith("CREATE VIRTUAL")
        columns = connection.execute(f"PRAGMA table_xinfo({name})").fetchall() if is_stored else ()
        if not columns or any(column[-1] for column in columns):
            raise StoreError(f"store {path}: {name} is not a table of stored rows, so it is not one of sojournd")
