"""Results as tables: one row for each run, queue, flow, group of flows, 802.11 station, point, or sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sojourn import metrics
from sojourn.core import Document

if TYPE_CHECKING:
    # Slow to import: `sojourn run --json` must do without.
    import pandas as pd
    import pyarrow as pa

NAMES: Final = ("runs", "queues", "flows", "groups", "stations", "distributions", "series")

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "runs": ("scheme", "seed", "replication"),
    "queues": ("scheme", "seed", "replication", "queue", "under_test", "configured"),
    "flows": ("scheme", "seed", "replication", "flow", "group", "from", "to", "transport"),
    "groups": ("scheme", "seed", "replication", "group"),
    "stations": ("scheme", "seed", "replication", "cell", "node"),
    "distributions": ("scheme", "seed", "replication", "quantity", "value", "cumulative"),
    "series": ("scheme", "seed", "replication", "name", "unit", "t_s", "value"),
}
"""The columns of each table that are not metrics."""

_FACTS: Final[dict[str, str]] = {
    "duration_s": "s",
    "warm_up_s": "s",
    "measured_s": "s",
    "events": "",
    "packets_sent": "packets",
    "packets_delivered": "packets",
    "packets_dropped": "packets",
    "packets_in_flight": "packets",
}
"""Columns of `runs` about the run itself, with their units."""

_STATION: Final[dict[str, str]] = {
    "attempts": "",
    "retries": "",
    "collisions": "",
    "frame_errors": "",
    "retry_drops": "packets",
    "air_time_share": "",
}
"""What a station of an 802.11 cell reports, with its units; the access point is the first of a cell."""

_SCOPES: Final = {"runs": "run", "queues": "queue", "flows": "flow", "groups": "group"}


Row = dict[str, Any]


class Tables(Mapping[str, "pd.DataFrame"]):
    """The tables of the core's result documents; each becomes a frame when it is first asked for.

    Parameters
    ----------
    labels
        The scheme's label of each run.
    documents
        The result of each run.
    """

    def __init__(self, labels: Sequence[str], documents: Sequence[Document]) -> None:
        self._rows: dict[str, list[Row]] = {name: [] for name in NAMES}
        self._frames: dict[str, pd.DataFrame] = {}
        for label, document in zip(labels, documents, strict=True):
            self._add({"scheme": label, "seed": document["seed"], "replication": document["replication"]}, document)
        for name in _SCOPES:
            self._rows[name] = _complete(name, self._rows[name])

    def _add(self, key: Row, document: Document) -> None:
        rows = self._rows
        conservation = {f"packets_{name}": count for name, count in document["conservation"].items()}
        facts = {name: document.get(name, conservation.get(name)) for name in _FACTS}
        rows["runs"].append({**key, **facts, **document["metrics"]})
        for queue in document["queues"]:
            own = {"queue": queue["name"], "under_test": queue["under_test"], "configured": queue["scheme"]}
            rows["queues"].append({**key, **own, **queue["metrics"]})
        for flow in document["flows"]:
            own = {
                "flow": flow["name"],
                **{name: flow[name] for name in ("group", "from", "to", "transport")},
            }
            rows["flows"].append({**key, **own, **flow["metrics"]})
        for group in document.get("groups") or ():
            rows["groups"].append({**key, "group": group["name"], **group["metrics"]})
        for cell in document.get("cells") or ():
            rows["stations"].extend({**key, "cell": cell["name"], **station} for station in cell["stations"])
        for quantity, curve in (document.get("distributions") or {}).items():
            points = {"value": curve["value"], "cumulative": curve["cumulative"]}
            rows["distributions"].append({**key, "quantity": quantity, **points})
        for series in document.get("series") or ():
            samples = {"t_s": series["t_s"], "value": series["value"]}
            rows["series"].append({**key, "name": series["name"], "unit": series["unit"], **samples})

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a table; ``distributions`` and ``series`` have one row per curve, with lists."""
        return self._rows[name]

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._frames:
            self._frames[name] = self._frame(name)
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)

    def _frame(self, name: str) -> pd.DataFrame:
        import pandas as pd

        rows = self._rows[name]
        if name == "stations":
            return pd.DataFrame(rows, columns=empty(name).columns)
        if name in _SCOPES:
            frame = pd.DataFrame(rows) if rows else empty(name)
            return frame.astype(dict.fromkeys(metric_columns(name, frame), "float64"))
        pieces = [pd.DataFrame(row) for row in rows]
        frame = pd.concat(pieces, ignore_index=True) if pieces else empty(name)
        return frame.astype(_long_types(name))


def rows(frames: Mapping[str, pd.DataFrame], name: str) -> list[Row]:
    """Return the rows of a table, in the shape of :meth:`Tables.rows`."""
    if isinstance(frames, Tables):
        return frames.rows(name)
    frame = frames[name]
    if name not in ("distributions", "series"):
        return [{str(column): value for column, value in row.items()} for row in frame.to_dict("records")]
    *by, points, values = KEYS[name]
    return [
        {**dict(zip(by, key, strict=True)), points: part[points].tolist(), values: part[values].tolist()}
        for key, part in frame.groupby(by, sort=False)
    ]


def _complete(name: str, rows: list[Row]) -> list[Row]:
    """Give every row every metric, in the documentation's order; NaN where a run does not have one."""
    names = metrics.order(metric_names(name, {column for row in rows for column in row}))
    fixed = [*KEYS[name], *(_FACTS if name == "runs" else ())]

    def number(value: Any) -> float:
        return math.nan if value is None else float(value)

    return [
        {**{column: row[column] for column in fixed}, **{column: number(row.get(column)) for column in names}}
        for row in rows
    ]


def empty(name: str) -> pd.DataFrame:
    """Return a table without rows, as that of stations is without 802.11 cells."""
    import pandas as pd

    return pd.DataFrame(columns=[*KEYS[name], *(_STATION if name == "stations" else ())])


def metric_columns(name: str, frame: pd.DataFrame) -> list[str]:
    """Return the columns of a table that are metrics."""
    return metric_names(name, frame.columns)


def metric_names(name: str, columns: Iterable[str]) -> list[str]:
    """Return those of a table's columns that are metrics."""
    others = {*KEYS[name], *(_FACTS if name == "runs" else ())}
    return [column for column in columns if column not in others]


def units(name: str, frame: pd.DataFrame) -> dict[str, str]:
    """Return the unit of every column that has one."""
    found = {column: unit for column, unit in _FACTS.items() if unit and column in frame}
    if name in _SCOPES:
        found |= {column: metrics.unit_of(column, _SCOPES[name]) for column in metric_columns(name, frame)}
    elif name == "stations":
        found |= _STATION
    elif name == "series":
        found |= {"t_s": "s"}
    return {column: unit for column, unit in found.items() if unit}


def to_arrow(name: str, frame: pd.DataFrame) -> pa.Table:
    """Return a table as Arrow, with each column's unit in its field's metadata (key ``unit``)."""
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({"table": name})
    known = units(name, frame)
    fields = [
        field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field for field in table.schema
    ]
    fields = [field.with_metadata({"unit": known[field.name]}) if field.name in known else field for field in fields]
    return table.cast(pa.schema(fields, metadata={"table": name}))


def from_arrow(name: str, table: pa.Table) -> pd.DataFrame:
    """Return the frame of a table that :func:`to_arrow` made."""
    frame: pd.DataFrame = table.to_pandas()
    return frame.astype(_long_types(name)) if name in ("distributions", "series") else frame


def _long_types(name: str) -> dict[str, str]:
    numbers = ("value", "cumulative") if name == "distributions" else ("t_s", "value")
    return {"seed": "int64", "replication": "int64", **dict.fromkeys(numbers, "float64")}
