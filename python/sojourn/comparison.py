"""A comparison in a folder. It is carried out as a plan, so runs are written as they finish.

The folder is a run folder (:mod:`sojourn.folder`) and a store (:mod:`sojourn.plan.store`) in one. Runs go to the
store as they finish, so the same comparison continues after an interruption. The files of the run folder are written
from the store when all runs are there, ``meta.json`` last.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sojourn import folder as folders
from sojourn import metrics, toml
from sojourn.core import Document, SojournError
from sojourn.plan import execute, expand, rows
from sojourn.plan.identity import SIMULATED, build
from sojourn.plan.model import Plan
from sojourn.plan.progress import Terminal, Watch
from sojourn.plan.store import Store
from sojourn.plan.text import dumps
from sojourn.results import Results
from sojourn.scheme import Scheme
from sojourn.tables import Tables

__all__ = ["PLAN", "run"]

PLAN: Final = "compare"
"""The name of a comparison's plan in its store."""

_OF_PHASES: Final = ("phase", "occurrence", "group", "queue", "from_s", "to_s", "measured_s")
_CONSERVED: Final = ("sent", "delivered", "dropped", "in_flight")
_FACTS: Final = ("seed", "replication", "duration_s", "warm_up_s", "measured_s", "events", "queue")


def run(
    scenario: Document,
    schemes: Sequence[Scheme],
    out: str | Path,
    *,
    replicates: int,
    seed: int,
    jobs: int,
    series: tuple[str | None, int],
    meta: Mapping[str, Any],
    force: bool = False,
    command: str | None = None,
    progress: bool | None = None,
    world: str = SIMULATED,
    watch: Watch | None = None,
    write: bool = True,
) -> Results:
    """Do the runs of a comparison that a folder does not hold yet, and write its run folder.

    Parameters
    ----------
    scenario
        Canonical.
    schemes
        In order.
    out
        The folder: new, empty, or one in which the same comparison was interrupted.
    replicates, seed
        Of each scheme.
    jobs
        Number of threads.
    series
        Sampling interval or None, and the number of replications that are sampled.
    meta
        What the results say of themselves.
    force
        Replace the results that the folder holds.
    command
        Goes into ``meta.json``.
    progress
        Whether to show a progress bar; by default if standard error is a terminal.
    world
        ``simulated`` or ``real``.
    watch
        Shows the progress in place of the bar.
    write
        Whether to write a run folder beside the store.

    Raises
    ------
    SojournError
        If the folder holds other results, cannot be written, or a run fails.
    """
    interval, sampled = series
    # Two texts may be one scheme: their runs are the same.
    different = {scheme.canonical: scheme for scheme in reversed(schemes)}
    plan = Plan(
        name=PLAN,
        scenario=toml.dumps(scenario),
        schemes=tuple(scheme for scheme in schemes if different[scheme.canonical] is scheme),
        seed=seed,
        replications=replicates,
        series=interval,
        series_replications=max(sampled, 1),
        source="the scenario",
        origin="compare",
        world=world,
    )
    cells = expand.cells(plan)
    place = Path(out).expanduser()
    _make_room(place, dumps(plan), force=force)
    shown = sys.stderr.isatty() if progress is None else progress
    outcome = execute.run(cells, place, jobs=jobs, watch=watch or (Terminal() if shown else None))
    if outcome.failures:
        first = outcome.failures[0]
        raise SojournError(
            f"{len(outcome.failures)} runs failed; the scenarios are in {place / 'failed'}; the first: {first.cell}, "
            f"replication {first.replication}: {first.why}"
        )
    by_scheme = {cell.scheme.canonical: [cell.run(k).id(build()) for k in range(replicates)] for cell in cells}
    found = dict(_reports(Store.open(place), [run for runs in by_scheme.values() for run in runs]))
    order = [(scheme.label, found[run]) for scheme in schemes for run in by_scheme[scheme.canonical]]
    results = Results(
        scenario=scenario,
        schemes=tuple(schemes),
        seed=seed,
        replications=replicates,
        frames=Tables([label for label, _ in order], [report for _, report in order]),
        kind="compare",
        meta={**meta, **_world(world, found, schemes, by_scheme)},
    )
    if not write:
        return results
    with _beside(place) as staging:
        folders.write(results, staging, command)
        # With meta.json the comparison is finished.
        for file in sorted(staging.iterdir(), key=lambda file: (file.name == "meta.json", file.name)):
            file.replace(place / file.name)
    return results


def _world(
    world: str,
    found: Mapping[str, Document],
    schemes: Sequence[Scheme],
    by_scheme: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return what the results say of runs on real packets: how late they were, and which are marked."""
    if world == SIMULATED:
        return {}
    ways, late = {}, []
    for scheme in schemes:
        for replication, run in enumerate(by_scheme[scheme.canonical]):
            told = found[run]["metrics"]
            name = f"{scheme.label}, replication {replication}"
            lateness = {key: told.get(f"lateness_ms_{key}") for key in ("mean", "p99", "max")}
            ways[name] = {
                "lateness_s": {f"{key}_s": None if ms is None else ms / 1e3 for key, ms in lateness.items()},
                "lost_rate_s": (told.get("late_ratio") or 0.0) * found[run]["measured_s"],
                "repeated": told.get("repeated_runs", 0),
            }
            if told.get("marked_late_runs"):
                late.append(name)
    return {"world": {"kind": world, "late": "; ".join(late) or None, "ways": ways}}


def _make_room(place: Path, text: str, *, force: bool) -> None:
    """Refuse a folder that holds anything but this comparison, unfinished; with `force`, remove earlier results."""
    folders.refuse_foreign(place)
    if not place.exists() or not any(place.iterdir()):
        return
    if force:
        _clear(place)
        return
    if (place / "meta.json").exists():
        folders.refuse_results(place, force=False)
    if Store.is_there(place):
        plans = Store.open(place).plans()
        if set(plans) - {PLAN}:
            raise SojournError(f"{place} is a store of plans: name another folder")
        if plans and plans != {PLAN: text}:
            raise SojournError(
                f"{place} holds an unfinished comparison with other settings: repeat the command that began it, "
                "name another folder, or start over with --force"
            )


def _clear(place: Path) -> None:
    try:
        for entry in place.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    except OSError as error:
        raise SojournError(f"cannot write {str(place)!r}: {error.strerror or error}") from None


@contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """Give a hidden folder on the same file system."""
    staging = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".partial", dir=place.parent))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _reports(store: Store, runs: Sequence[str]) -> Iterator[tuple[str, Document]]:
    """Return runs as the reports that the core gave."""
    by_run = {
        table: _grouped(store.read(table, runs=runs).to_pylist())
        for table in ("runs", "queues", "flows", *rows.OPTIONAL)
    }
    curves = {table: _curves(store, table, runs) for table in ("distributions", "series")}
    for run in dict.fromkeys(runs):
        (row,) = by_run["runs"][run]
        yield (
            run,
            {
                **{name: row[name] for name in _FACTS},
                "conservation": {name: row[f"packets_{name}"] for name in _CONSERVED},
                "metrics": _metrics("runs", row),
                "queues": [
                    {
                        "name": queue["queue"],
                        "under_test": queue["under_test"],
                        "scheme": queue["configured"],
                        "metrics": _metrics("queues", queue),
                    }
                    for queue in by_run["queues"].get(run, ())
                ],
                "flows": [
                    {
                        "name": flow["flow"],
                        **{name: flow[name] for name in ("group", "from", "to", "transport")},
                        "metrics": _metrics("flows", flow),
                    }
                    for flow in by_run["flows"].get(run, ())
                ],
                "groups": [
                    {"name": group["group"], "metrics": _metrics("groups", group)}
                    for group in by_run["groups"].get(run, ())
                ],
                "phases": [
                    {**{name: phase[name] for name in _OF_PHASES}, "metrics": _metrics(rows.PHASES, phase)}
                    for phase in by_run[rows.PHASES].get(run, ())
                ],
                "cells": _cells(by_run[rows.STATIONS].get(run, ())),
                "distributions": {
                    str(key[0]): {"value": values[0], "cumulative": values[1]}
                    for key, values in curves["distributions"].get(run, {}).items()
                },
                "series": [
                    {"name": key[0], "unit": key[1], "t_s": values[0], "value": values[1]}
                    for key, values in curves["series"].get(run, {}).items()
                ],
            },
        )


def _metrics(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in metrics.present(rows.metric_names(table), row)}


def _grouped(found: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        groups.setdefault(row.pop(rows.KEY), []).append(row)
    return groups


def _cells(stations: Sequence[Mapping[str, Any]]) -> list[Document]:
    cells: dict[str, list[Document]] = {}
    for station in stations:
        cells.setdefault(station["cell"], []).append(
            {name: value for name, value in station.items() if name != "cell"}
        )
    return [{"name": name, "stations": found} for name, found in cells.items()]


def _curves(store: Store, table: str, runs: Sequence[str]) -> dict[str, dict[tuple[str, ...], tuple[list[Any], ...]]]:
    """Return the points of every curve, by run and then by what names the curve."""
    names, points = (
        (("quantity",), ("value", "cumulative")) if table == "distributions" else (("name", "unit"), ("t_s", "value"))
    )
    found = store.read(table, columns=[*names, *points], runs=runs)
    columns = {name: found[name].to_pylist() for name in (rows.KEY, *names, *points)}
    curves: dict[str, dict[tuple[str, ...], tuple[list[Any], ...]]] = {}
    for place, run in enumerate(columns[rows.KEY]):
        key = tuple(columns[name][place] for name in names)
        curve = curves.setdefault(run, {}).setdefault(key, tuple([] for _ in points))
        for values, name in zip(curve, points, strict=True):
            values.append(columns[name][place])
    return curves
