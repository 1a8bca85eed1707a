"""The compiled core with documents as Python objects: conversion only."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from sojourn import _native, nesting
from sojourn._native import SojournError, Stop

__all__ = [
    "Document",
    "SojournError",
    "Stop",
    "aqms",
    "build",
    "load",
    "metrics",
    "parse_aqm",
    "run_batch",
    "run_many",
    "schema",
    "version",
]

Document: TypeAlias = dict[str, Any]


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
def metrics() -> tuple[Document, ...]:
    """Return every metric: name, unit, scopes, estimator, definition."""
    rows = json.loads(_native.metrics())
    return tuple({**row, "scopes": row.get("scopes") or [row["scope"]]} for row in rows)


def schema() -> Document:
    """Return the JSON Schema of the scenario document."""
    document: Document = json.loads(_native.schema())
    return document


def parse_aqm(text: str) -> str:
    """Return the canonical form of a tc-style text.

    Raises
    ------
    SojournError
        Unknown algorithm or parameter, missing unit, impossible value.
    """
    return _native.parse_aqm(text)


def load(text: str, *, source: str, sets: Sequence[str] = ()) -> Document:
    """Parse and check a scenario document.

    Parameters
    ----------
    text
        TOML, or JSON if it starts with a brace.
    source
        What messages call it: a file name.
    sets
        Overrides ``key=value`` with dotted paths.

    Raises
    ------
    SojournError
        Anything that the schema does not allow; the message names file, line, key and what is allowed.
    """
    document: Document = json.loads(_native.load(text, source, list(sets)))
    return document


def run_many(
    scenario: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    *,
    jobs: int,
    progress: Callable[[int, float], None] | None = None,
) -> list[Document]:
    """Run tasks of one scenario on `jobs` threads; result k belongs to task k.

    Parameters
    ----------
    scenario
        A canonical scenario, from :func:`load`.
    tasks
        ``scheme`` (text or None for the scenario as written), ``seed``, ``replication``,
        ``series`` (sampling interval or None).
    jobs
        Number of threads.
    progress
        Called with the number of finished tasks and the fraction of all work done.
    """
    nesting.check(scenario, "the scenario")
    texts = _native.run_many(json.dumps(scenario), [json.dumps(task) for task in tasks], jobs, progress)
    return [json.loads(text) for text in texts]


def run_batch(
    scenarios: Sequence[str], tasks: Sequence[tuple[int, str]], stop: Stop | None = None
) -> list[tuple[bool, str]]:
    """Run tasks of several scenarios one after the other in this thread; a failing run stops no other.

    Parameters
    ----------
    scenarios
        Canonical scenarios as JSON text.
    tasks
        Which scenario, and the task as JSON text, see :func:`run_many`.
    stop
        Ends the batch at once when it is set; what had not finished then failed as ``stopped``.

    Returns
    -------
    list of tuple
        For each task whether it went well, and its report as JSON text or what went wrong.
    """
    return _native.run_batch(list(scenarios), list(tasks), stop)
