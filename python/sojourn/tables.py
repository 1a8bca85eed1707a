"""Results as tables: one row a run, a queue, a flow, an 802.11 station, a distribution's point, a sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from sojourn import metrics
from sojourn.core import Document

NAMES: Final = ("runs", "queues", "flows", "stations", "distributions", "series")

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "runs": ("scheme", "seed", "replication"),
    "queues": ("scheme", "seed", "replication", "queue", "under_test", "configured"),
    "flows": ("scheme", "seed", "replication", "flow", "group", "from", "to", "transport"),
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

_SCOPES: Final = {"runs": "run", "queues": "queue", "flows": "flow"}


def from_documents(labels: Sequence[str], documents: Sequence[Document]) -> dict[str, pd.DataFrame]:
    """Make the tables from the core's result documents.

    Parameters
    ----------
    labels
        The scheme's label of each run.
    documents
        The result of each run.
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
    long: dict[str, list[pd.DataFrame]] = {"distributions": [], "series": []}
    for label, document in zip(labels, documents, strict=True):
        key = {"scheme": label, "seed": document["seed"], "replication": document["replication"]}
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
        for cell in document.get("cells") or ():
            rows["stations"].extend({**key, "cell": cell["name"], **station} for station in cell["stations"])
        for quantity, curve in (document.get("distributions") or {}).items():
            points = {"value": curve["value"], "cumulative": curve["cumulative"]}
            long["distributions"].append(pd.DataFrame({**key, "quantity": quantity, **points}))
        for series in document.get("series") or ():
            samples = {"t_s": series["t_s"], "value": series["value"]}
            long["series"].append(pd.DataFrame({**key, "name": series["name"], "unit": series["unit"], **samples}))
    frames = {name: _metric_frame(name, rows[name]) for name in _SCOPES}
    frames["stations"] = pd.DataFrame(rows["stations"], columns=no_stations().columns)
    for name, pieces in long.items():
        frame = pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=[*KEYS[name]])
        frames[name] = frame.astype(_long_types(name))
    return frames


def no_stations() -> pd.DataFrame:
    """Return the table of stations of results without 802.11 cells."""
    return pd.DataFrame(columns=[*KEYS["stations"], *_STATION])


def metric_columns(name: str, frame: pd.DataFrame) -> list[str]:
    """Return the columns of a table that are metrics."""
    others = {*KEYS[name], *(_FACTS if name == "runs" else ())}
    return [column for column in frame.columns if column not in others]


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


def _metric_frame(name: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows))
    if frame.empty:
        return pd.DataFrame(columns=[*KEYS[name]])
    columns = metrics.order(metric_columns(name, frame))
    facts = [column for column in _FACTS if column in frame and name == "runs"]
    return frame[[*KEYS[name], *facts, *columns]].astype(dict.fromkeys(columns, "float64"))


def _long_types(name: str) -> dict[str, str]:
    numbers = ("value", "cumulative") if name == "distributions" else ("t_s", "value")
    return {"seed": "int64", "replication": "int64", **dict.fromkeys(numbers, "float64")}
