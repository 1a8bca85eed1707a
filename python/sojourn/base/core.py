"""The compiled core with documents as Python objects: conversion only."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeAlias, overload

from sojourn import _native
from sojourn._native import SojournError, Stop
from sojourn.base import errors, foreign, nesting

__all__ = ["SojournError", "Stop"]

Document: TypeAlias = dict[str, Any]

CAPTURES: Final = (".pcap", ".pcapng")
"""Endings of files of captured packets."""
_LONGEST_TEXT: Final = 256 << 20
"""Bytes of a text that becomes part of a scenario: ten million lines, which is what one may have, are shorter."""


def version() -> str:
    """Return the version of the compiled core."""
    return _native.version()


def build() -> str:
    """Return the version of the compiled core and a hash of its sources.

    Two builds with the same name give the same results bit for bit.
    """
    return _native.build()


@cache
def aqms() -> tuple[Document, ...]:
    """Return every algorithm of the registry: names, sources, presets, parameters with their defaults."""
    return tuple(json.loads(_native.aqms()))


@cache
def congestion_controls() -> tuple[Document, ...]:
    """Return every congestion control of TCP: name, summary, and its own keys with their defaults."""
    return tuple(json.loads(_native.congestion_controls()))


@cache
def traffic_kinds() -> tuple[Document, ...]:
    """Return every kind of traffic: name, title, summary, and its keys with their defaults."""
    tables = {one["properties"]["kind"]["const"]: one for one in schema()["$defs"]["TrafficTable"]["oneOf"]}
    rows = json.loads(_native.traffic_kinds())
    return tuple(
        {**row, "summary": tables[row["name"]]["description"], "keys": _keys(tables[row["name"]])} for row in rows
    )


def _keys(table: Document) -> list[Document]:
    keys: Document = table["properties"]
    order = dict.fromkeys([*table["required"], *keys])
    return [
        {"name": name, "default": keys[name].get("default"), "doc": keys[name]["description"]}
        for name in order
        if name != "kind"
    ]


@cache
def metrics() -> tuple[Document, ...]:
    """Return every metric.

    A metric has name, unit, scopes, cohort, range (``least`` and ``most``, None where there is no bound), title,
    which direction is better, estimator and definition.
    """
    rows = json.loads(_native.metrics())
    return tuple({**row, "scopes": row.get("scopes") or [row["scope"]]} for row in rows)


@cache
def link_effects() -> tuple[Document, ...]:
    """Return what a link may do to packets besides carrying them.

    An effect has its keys in scenarios (``key``, ``reverse``), its name in the device's state (``count``), its
    ``metric``, its ``words`` in reports, and in ``option`` the kind of value and help of the shell's two options.
    """
    return tuple(json.loads(_native.link_effects()))


def schema() -> Document:
    """Return the JSON Schema of the scenario document."""
    document: Document = json.loads(_native.schema())
    return document


def parse_aqm(text: str) -> str:
    """Return the canonical form of a tc-style text."""
    with errors.of_kind(errors.SchemeError):
        return _native.parse_aqm(text)


def load(text: str, *, source: str, sets: Sequence[str] = ()) -> Document:
    """Parse and check a scenario document: TOML, or JSON if it starts with a brace.

    The content of files that it names (traces, changes) becomes part of it. They are found from the folder of
    `source` if that is a file, else from the working folder; a trace may also be one of :func:`shipped_traces`.
    Messages name `source`, line, key and what is allowed. `sets` are overrides ``key=value`` with dotted paths.
    """
    read = partial(_content, folder=Path(source).parent if Path(source).is_file() else Path())
    with errors.of_kind(errors.ScenarioError):
        document: Document = json.loads(_native.load(text, source, list(sets), read))
    return document


def inert(
    scenario: Mapping[str, Any], schemes: Sequence[tuple[str, str]], *, on_device: bool
) -> list[dict[str, str]]:
    """Return the settings that have no effect in the runs of a canonical scenario: where, what, and a sentence.

    `schemes` has label and text of each in the queues under test; an empty text stands for the queues as they are
    written. `on_device`: a device has the link, and its traffic is not that of the scenario.
    """
    found: list[dict[str, str]] = json.loads(_native.inert(json.dumps(scenario), list(schemes), on_device))
    return found


def shipped_traces() -> dict[str, Path]:
    """Return the files of the traces that come with the package, by name."""
    folder = Path(str(resources.files("sojourn"))) / "model" / "traces"
    return {file.stem: file for file in sorted(folder.glob("*.trace"))}


def file_beside(name: str, folder: Path) -> Path:
    """Return a file that a scenario names, or that of the trace that comes with the package."""
    shipped = shipped_traces()
    file = folder / name
    if name in shipped and not file.is_file():
        file = shipped[name]
    if not file.is_file():
        known = ", ".join(shipped)
        raise errors.ScenarioError(f"there is no file {str(file)!r}; allowed: a file, or a trace of {known}")
    return file


def read_beside(name: str, folder: Path) -> str:
    """Return the text of a file that a scenario names, or of the trace that comes with the package; no capture."""
    file = file_beside(name, folder)
    if file.suffix in CAPTURES:
        raise errors.ScenarioError(f"{str(file)!r} is a capture; allowed: text (`sojourn trace` sums up captures)")
    try:
        return foreign.read_text(file, most=_LONGEST_TEXT)
    except OSError as error:
        raise errors.ScenarioError(f"cannot read {str(file)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise errors.ScenarioError(f"cannot read {str(file)!r}: it is not UTF-8 text") from None


def _content(name: str, folder: Path) -> str | Path:
    """Return what a scenario takes of a file that it names: text, or the capture to be read."""
    file = file_beside(name, folder)
    return file if file.suffix in CAPTURES else read_beside(name, folder)


def run_many(
    scenario: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    *,
    jobs: int,
    progress: Callable[[int, float], None] | None = None,
) -> list[Document]:
    """Run tasks of one canonical scenario on `jobs` threads; result k belongs to task k.

    A task has ``scheme`` (text or None for the scenario as written), ``seed``, ``replication`` and ``series``
    (sampling interval or None). `progress` is called with the number of finished tasks and the fraction of all work
    done.
    """
    reports = run_reports(scenario, tasks, jobs=jobs, progress=progress)
    return [report.document() for report in reports]


def run_reports(
    scenario: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    *,
    jobs: int,
    progress: Callable[[int, float], None] | None = None,
) -> Reports:
    """Run tasks as :func:`run_many` does; the results stay in the compiled core until they are asked for."""
    nesting.check(scenario, "the scenario")
    return Reports(_native.run_many(json.dumps(scenario), [json.dumps(task) for task in tasks], jobs, progress))


SECTIONS: Final = ("queues", "flows", "groups", "phases", "cells", "distributions", "series")
"""The lists of a report: the parts that grow with the scenario."""


class Report:
    """The report of one run in the compiled core; a section becomes Python objects when it is first asked for."""

    def __init__(self, native: _native.Reports, index: int) -> None:
        self._native, self._index = native, index
        self._sections: dict[str, Any] = {}

    def section(self, name: str) -> Any:
        """Return one of :data:`SECTIONS`, or ``run``: what is of the run as a whole."""
        if name not in self._sections:
            self._sections[name] = json.loads(self._native.section(self._index, name))
        return self._sections[name]

    def document(self) -> Document:
        """Return the report as one document."""
        absent = [name for name in ("phases", "cells") if not self.section(name)]
        return {**self.section("run"), **{name: self.section(name) for name in SECTIONS if name not in absent}}


class Reports(Sequence[Report]):
    """The reports of a batch in the compiled core; report k is of task k."""

    def __init__(self, native: _native.Reports) -> None:
        self.native = native
        self._reports = [Report(native, index) for index in range(len(native))]

    @overload
    def __getitem__(self, index: int) -> Report: ...
    @overload
    def __getitem__(self, index: slice) -> list[Report]: ...
    def __getitem__(self, index: int | slice) -> Report | list[Report]:
        return self._reports[index]

    def __len__(self) -> int:
        return len(self._reports)


def run_batch(
    scenarios: Sequence[str], tasks: Sequence[tuple[int, str]], stop: Stop | None = None
) -> list[tuple[bool, str]]:
    """Run tasks of several scenarios one after the other in this thread; a failing run stops no other.

    Tasks name the place of their scenario; all are JSON texts, as in :func:`run_many`. When `stop` is set the batch
    ends at once; what had not finished then failed as ``stopped``. For each task the result says whether it went
    well, and has its report as JSON text or what went wrong.
    """
    return _native.run_batch(list(scenarios), list(tasks), stop)
