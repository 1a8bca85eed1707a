"""Results as tables: one row for each run, queue, flow, group of flows, phase, 802.11 station, point, or sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import core
from sojourn.base.core import Document
from sojourn.results import headline, metrics

if TYPE_CHECKING:
    # Slow to import: `sojourn run --json` must do without.
    import pandas as pd
    import pyarrow as pa

    from sojourn._native import Reports, Table
    from sojourn.stats.estimates import Estimate

NAMES: Final = ("runs", "queues", "flows", "groups", "phases", "stations", "distributions", "series")

_RUN: Final = {"scheme": "text", "seed": "whole", "replication": "whole"}

KEYS: Final[dict[str, dict[str, str]]] = {
    "runs": _RUN,
    "queues": {**_RUN, "queue": "text", "under_test": "flag", "configured": "text"},
    "flows": {**_RUN, **dict.fromkeys(("flow", "group", "from", "to", "transport"), "text")},
    "groups": {**_RUN, "group": "text"},
    "phases": {
        **_RUN,
        "phase": "text",
        "occurrence": "whole",
        "group": "text",
        "queue": "text",
        **dict.fromkeys(("from_s", "to_s", "measured_s"), "number"),
    },
    "stations": {**_RUN, "cell": "text", "node": "text"},
    "distributions": {**_RUN, "quantity": "text", "value": "number", "cumulative": "number"},
    "series": {**_RUN, "name": "text", "unit": "text", "t_s": "number", "value": "number"},
}
"""The columns of each table that are not metrics, with their kinds."""

FACTS: Final = {
    **dict.fromkeys(("duration_s", "warm_up_s", "measured_s"), ("number", "s")),
    "events": ("whole", ""),
    "queue": ("text", ""),
    **{f"packets_{what}": ("whole", "packets") for what in ("sent", "delivered", "dropped", "in_flight")},
}
"""Columns of `runs` about the run itself, with their kinds and units."""

_STATION: Final = {
    **dict.fromkeys(("attempts", "retries", "collisions", "frame_errors"), ("whole", "")),
    "retry_drops": ("whole", "packets"),
    **dict.fromkeys(("air_time_share", "air_time_both_share"), ("number", "")),
}
"""What a station of an 802.11 cell reports, with kinds and units; the access point is the first of a cell."""

SCOPES: Final = {"runs": "run", "queues": "queue", "flows": "flow", "groups": "group", "phases": "run"}
"""The scope of the metrics in each table that has metrics."""

Row = dict[str, Any]


class Frames(Mapping[str, "pd.DataFrame"]):
    """The tables of results by name; each becomes a frame when it is first asked for, by :meth:`_frame`."""

    def __init__(self) -> None:
        self._frames: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in NAMES:
            raise KeyError(name)
        if name not in self._frames:
            self._frames[name] = self._frame(name)
        return self._frames[name]

    def __contains__(self, name: object) -> bool:
        # The inherited one would make the frame.
        return name in NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)

    def _frame(self, name: str) -> pd.DataFrame:
        raise NotImplementedError


class Tables(Frames):
    """The tables of results that are in memory, as documents or in the compiled core."""

    def __init__(self, labels: Sequence[str], documents: Sequence[Document]) -> None:
        def section(document: Document) -> Callable[[str], Any]:
            return lambda name: document if name == "run" else document.get(name)

        self._start(labels, [section(document) for document in documents])

    @classmethod
    def of_reports(cls, labels: Sequence[str], reports: core.Reports, order: Sequence[int]) -> Tables:
        """Make the tables of reports in the compiled core: run k is report ``order[k]``."""
        self = cls.__new__(cls)
        self._start(labels, [reports[index].section for index in order])
        self._native = (reports.native, list(order))
        return self

    def _start(self, labels: Sequence[str], sections: Sequence[Callable[[str], Any]]) -> None:
        self._runs = list(zip(labels, sections, strict=True))
        self._native: tuple[Reports, list[int]] | None = None
        self._rows: dict[str, list[Row]] = {}
        super().__init__()

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a table; ``distributions`` and ``series`` have one row per curve, with lists."""
        if name not in self._rows:
            found: list[Row] = []
            for label, section in self._runs:
                run = section("run")
                key = {"scheme": label, "seed": run["seed"], "replication": run["replication"]}
                found.extend(_rows(name, key, section))
            if name == "runs" and self.tested:
                headline.resolve(found, self.rows("queues"), self.tested[0])
            self._rows[name] = _complete(name, found) if name in SCOPES else found
        return self._rows[name]

    @cached_property
    def tested(self) -> tuple[str, ...]:
        """The queues under test, the one of the metrics of ``runs`` first: see :mod:`sojourn.results.headline`."""
        return headline.tested(self.rows("queues"))

    def stream(self, name: str) -> Table | None:
        """Return a table as an object with ``__arrow_c_stream__``, if the compiled core has the results.

        Neither pandas nor pyarrow takes part. Columns, types and units are those of :func:`to_arrow`.
        """
        if self._native is None:
            return None
        native, order = self._native
        columns = [(column, kind, "") for column, kind in _RUN.items()]
        columns += [(column, kind, unit) for column, (kind, unit) in facts(name).items()]
        found = metrics.order(native.metric_names(name)) if name in SCOPES else []
        columns += [(column, "number", metrics.unit_of(column, SCOPES[name])) for column in found]
        queue = self.tested[0] if name == "runs" and len(self.tested) > 1 else None
        return native.table(name, order, [label for label, _ in self._runs], columns, queue)

    def _frame(self, name: str) -> pd.DataFrame:
        import pandas as pd

        rows = self.rows(name)
        if name == "stations":
            return pd.DataFrame(rows, columns=empty(name).columns)
        if name in SCOPES:
            frame = pd.DataFrame(rows) if rows else empty(name)
            return frame.astype(dict.fromkeys(metric_columns(name, frame), "float64"))
        pieces = [pd.DataFrame(row) for row in rows]
        frame = pd.concat(pieces, ignore_index=True) if pieces else empty(name)
        return frame.astype(_long_types(name))


def facts(name: str) -> dict[str, tuple[str, str]]:
    """Return kind and unit of a table's columns that are no metrics and do not say which run it is."""
    own = {column: kind for column, kind in KEYS[name].items() if column not in _RUN}
    more = {"runs": FACTS, "stations": _STATION}.get(name, {})
    return {**{column: (kind, "s" if column.endswith("_s") else "") for column, kind in own.items()}, **more}


def _rows(name: str, key: Row, section: Callable[[str], Any]) -> Iterator[Row]:
    """Yield the rows that one run has in a table."""
    if name == "runs":
        run = section("run")
        conservation = {f"packets_{what}": count for what, count in run["conservation"].items()}
        about = {fact: run.get(fact, conservation.get(fact)) for fact in FACTS}
        yield {**key, **about, "queue": run.get("queue") or "", **run["metrics"]}
    elif name == "queues":
        for queue in section("queues"):
            own = {"queue": queue["name"], "under_test": queue["under_test"], "configured": queue["scheme"]}
            yield {**key, **own, **queue["metrics"]}
    elif name == "flows":
        for flow in section("flows"):
            own = {"flow": flow["name"], **{what: flow[what] for what in ("group", "from", "to", "transport")}}
            yield {**key, **own, **flow["metrics"]}
    elif name == "groups":
        for group in section("groups") or ():
            yield {**key, "group": group["name"], **group["metrics"]}
    elif name == "phases":
        for phase in section("phases") or ():
            own = {what: phase.get(what, "") for what in facts("phases")}
            yield {**key, **own, **phase["metrics"]}
    elif name == "stations":
        for cell in section("cells") or ():
            yield from ({**key, "cell": cell["name"], **station} for station in cell["stations"])
    else:
        yield from _curves(name, key, section(name) or ())


def _curves(name: str, key: Row, curves: Any) -> Iterator[Row]:
    """Yield a row for each distribution or time series."""
    if name == "distributions":
        for quantity, curve in dict(curves).items():
            yield {**key, "quantity": quantity, "value": curve["value"], "cumulative": curve["cumulative"]}
        return
    for series in curves:
        samples = {"t_s": series["t_s"], "value": series["value"]}
        yield {**key, "name": series["name"], "unit": series["unit"], **samples}


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
    fixed = [*KEYS[name], *(FACTS if name == "runs" else ())]

    def number(value: Any) -> float:
        return math.nan if value is None else float(value)

    return [
        {**{column: row[column] for column in fixed}, **{column: number(row.get(column)) for column in names}}
        for row in rows
    ]


_NOT_COMPARED: Final = frozenset({"scheme", "replication", "seed", "events", "run", "build", "scenario", "sampled"})
"""Columns of runs that differ in any case, or measure the simulator."""


def fingerprint(run: Mapping[str, Any]) -> str:
    """Return a text that two rows of ``runs`` share if all their metrics are equal."""
    # As text, in which two missing values are equal.
    return repr([value for name, value in run.items() if name not in _NOT_COMPARED])


def is_one_run(fingerprints: Sequence[str]) -> bool:
    """Return whether several runs have the same fingerprint, so that they are one run repeated."""
    return len(fingerprints) > 1 and len(set(fingerprints)) == 1


def limits(found: Estimate) -> tuple[float, float, float, int]:
    """Return mean, low, high and replications of an estimate, as tables have them: NaN where there is no interval."""
    low, high = (math.nan if limit is None else limit for limit in (found.low, found.high))
    return found.mean, low, high, found.replications


def frame(columns: Sequence[str], rows: Iterable[Sequence[Any]], first: int) -> pd.DataFrame:
    """Make a table whose columns from `first` on are numbers, all but ``replications`` with fractions."""
    import pandas as pd

    numbers = [name for name in columns[first:] if name != "replications"]
    return pd.DataFrame(list(rows), columns=list(columns)).astype(dict.fromkeys(numbers, "float64"))


def empty(name: str) -> pd.DataFrame:
    """Return a table without rows, as that of stations is without 802.11 cells."""
    import pandas as pd

    return pd.DataFrame(columns=[*KEYS[name], *(_STATION if name == "stations" else ())])


def stems(names: Iterable[str]) -> list[str]:
    """Return the names of curves without what follows a colon, the flow, group or queue; each once."""
    return list(dict.fromkeys(str(name).partition(":")[0] for name in names))


def metric_columns(name: str, frame: pd.DataFrame) -> list[str]:
    """Return the columns of a table that are metrics."""
    return metric_names(name, frame.columns)


def metric_names(name: str, columns: Iterable[str]) -> list[str]:
    """Return those of a table's columns that are metrics."""
    others = {*KEYS[name], *(FACTS if name == "runs" else ())}
    return [column for column in columns if column not in others]


def units(name: str, frame: pd.DataFrame) -> dict[str, str]:
    """Return the unit of every column that has one."""
    found = {column: unit for column, (_, unit) in facts(name).items() if column in frame}
    if name in SCOPES:
        found |= {column: metrics.unit_of(column, SCOPES[name]) for column in metric_columns(name, frame)}
    return {column: unit for column, unit in found.items() if unit}


def to_arrow(name: str, frame: pd.DataFrame, known: Mapping[str, str] | None = None) -> pa.Table:
    """Return a table as Arrow, with each column's unit in its field's metadata (key ``unit``)."""
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({"table": name})
    known = units(name, frame) if known is None else known
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
