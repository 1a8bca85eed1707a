"""The store of windows: SQLite, one table ``windows`` for simulation and device.

The device writes its own tables ``windows`` and ``classes``. A simulation adds the columns that name the run of a
window. A run is written in one transaction, so only complete runs remain if the process is killed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from sojourn.device import windows as device_windows

SIMULATION: Final = "simulation"
DEVICE: Final = "device"

MEASURES: Final = (
    "arrived",
    "arrived_bytes",
    "dropped_overflow",
    "dropped_early",
    "dropped_flow",
    "marked",
    "forwarded",
    "load",
    "mean_size_bytes",
    "std_size_bytes",
    "mean_queue_packets",
    "std_queue_packets",
    "mean_queue_arrivals_packets",
    "std_queue_arrivals_packets",
    "loss_ratio",
    "burst_ratio",
    "impairment_i",
    "impairment_c",
    "sojourn_p50_s",
    "sojourn_p95_s",
    "sojourn_p99_s",
    "sojourn_mean_s",
)
"""Columns that the device's windows have as well."""

_OF_WINDOW: Final = ("started_ns", "ended_ns", "scheme", "label", "slot", *MEASURES)
_OF_RUN: Final = ("part", "block", "demand", "cpu_s")
_OF_CLASS: Final = ("arrived", "arrived_bytes", "dropped", "marked")
GROUP: Final = ("transport", "kind", "rtt_ms", "rate_bin", "life_bin")
"""What similar flows have in common."""
_OF_FLOWS: Final = (*GROUP, "flows", "sent", "dropped", "runs")
_TABLES: Final = {
    "runs": ("key TEXT PRIMARY KEY", "build TEXT", "label TEXT", *_OF_RUN),
    "windows": ("window INTEGER PRIMARY KEY", "key TEXT", *_OF_WINDOW),
    "classes": ("window INTEGER", "class TEXT", *_OF_CLASS),
    "flows": ("key TEXT", *_OF_FLOWS),
}


class Store:
    """Windows of simulations of one build.

    Parameters
    ----------
    file
        Made if it is not there.
    build
        The build of the library; windows of another build are kept but not read.
    """

    def __init__(self, file: Path, build: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._build = build
        self._open = sqlite3.connect(file, timeout=60)
        self._open.execute("PRAGMA journal_mode=WAL")
        with self._open as base:
            for table, columns in _TABLES.items():
                base.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(columns)})")

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def keys(self) -> set[str]:
        """Return the keys of the stored runs."""
        return {key for (key,) in self._open.execute("SELECT key FROM runs WHERE build = ?", (self._build,))}

    def add(
        self, key: str, run: Mapping[str, Any], windows: Iterable[Mapping[str, Any]], flows: pd.DataFrame
    ) -> None:
        """Write a run: all of it or nothing.

        Parameters
        ----------
        key
            Of the run.
        run
            ``label`` and the run's columns.
        windows
            Rows with the windows' columns, and ``classes``: counts by name.
        flows
            Sums over groups of similar flows.
        """
        with self._open:
            self._insert("runs", {**run, "key": key, "build": self._build})
            for row in windows:
                window = self._insert("windows", {**{name: row[name] for name in _OF_WINDOW}, "key": key})
                for name, counts in row["classes"].items():
                    self._insert("classes", {**counts, "window": window, "class": name})
            for one in flows.to_dict("records"):
                self._insert("flows", {**one, "key": key})

    def _insert(self, table: str, row: Mapping[Any, Any]) -> int | None:
        marks = ", ".join("?" * len(row))
        query = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"  # noqa: S608 - our own names
        return self._open.execute(query, list(row.values())).lastrowid

    def windows(self, keys: Sequence[str]) -> pd.DataFrame:
        """Return the windows of runs, one per row, with the columns of their run, and ``tcp_share`` of the bytes."""
        frame = self._read(
            "SELECT windows.*, part, block, demand FROM windows JOIN runs USING (key) WHERE build = ? "
            "ORDER BY part, block, demand, key, started_ns",
            keys,
        )
        frame["world"] = SIMULATION
        classes = pd.read_sql("SELECT window, class, arrived, arrived_bytes, dropped FROM classes", self._open)
        return _with_classes(frame, classes)

    def flows(self, keys: Sequence[str]) -> pd.DataFrame:
        """Return the sums over groups of similar flows, with the columns of their run."""
        return self._read(
            "SELECT flows.*, label, part, block, demand FROM flows JOIN runs USING (key) WHERE build = ?", keys
        )

    def cpu_s(self, keys: Sequence[str]) -> float:
        """Return the processor time that runs took."""
        return float(self._read("SELECT key, cpu_s FROM runs WHERE build = ?", keys)["cpu_s"].sum())

    def _read(self, query: str, keys: Sequence[str]) -> pd.DataFrame:
        frame = pd.read_sql(query, self._open, params=(self._build,))
        return frame[frame["key"].isin(set(keys))].reset_index(drop=True)


def _with_classes(frame: pd.DataFrame, classes: pd.DataFrame) -> pd.DataFrame:
    of = {str(name): own.set_index("window") for name, own in classes.groupby("class")}
    for name in ("tcp", "udp"):
        own = of.get(name, classes[:0].set_index("window"))
        frame[f"loss_ratio_{name}"] = frame["window"].map(own["dropped"] / own["arrived"].where(own["arrived"] > 0))
        if name == "tcp":
            frame["tcp_share"] = frame["window"].map(own["arrived_bytes"]) / frame["arrived_bytes"]
    return frame


def read_device(file: Path) -> pd.DataFrame:
    """Return the whole windows that a device stored, in the form of :meth:`Store.windows`.

    Each slot of the schedule is one entry of `slot`; windows without a schedule, and those that a change of scheme
    ended, are left out.

    Raises
    ------
    SojournError
        It is not a store of windows.
    """
    store = device_windows.read(file, complete=True)
    frame = store.windows.dropna(subset=["slot"]).sort_values("started_ns", kind="stable", ignore_index=True)
    return _with_classes(frame.assign(world=DEVICE), store.classes)
