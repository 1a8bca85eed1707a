"""A comparison in a folder. It is carried out as a plan, so runs are written as they finish.

The folder is a run folder (:mod:`sojourn.plan.folder`) and a store (:mod:`sojourn.plan.store`) in one. Runs go to the
store as they finish, so the same comparison continues after an interruption. The files of the run folder are written
from the store when all runs are there, ``meta.json`` last.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import toml
from sojourn.base.core import Document
from sojourn.base.errors import StoreError
from sojourn.model.scheme import Scheme
from sojourn.plan import execute, expand
from sojourn.plan import folder as folders
from sojourn.plan.identity import SIMULATED, build
from sojourn.plan.model import Plan
from sojourn.plan.progress import Terminal, Watch
from sojourn.plan.read import Frames
from sojourn.plan.store import Store
from sojourn.plan.text import dumps
from sojourn.results import tables
from sojourn.results.results import Results

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PLAN", "run"]

PLAN: Final = "compare"
"""The name of a comparison's plan in its store."""


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
        raise StoreError(
            f"{len(outcome.failures)} runs failed; the scenarios are in {place / 'failed'}; the first: {first.cell}, "
            f"replication {first.replication}: {first.why}"
        )
    own = {cell.scheme.canonical: cell for cell in cells}
    runs = [
        (scheme.label, own[scheme.canonical].seed, k, own[scheme.canonical].run(k).id(build()))
        for scheme in schemes
        for k in range(replicates)
    ]
    # All of them now: the folder may go.
    frames = dict(Frames(Store.open(place), runs))
    results = Results(
        scenario=scenario,
        schemes=tuple(schemes),
        seed=seed,
        replications=replicates,
        frames=frames,
        kind="compare",
        meta={**meta, **_world(world, frames["runs"])},
    )
    if not write:
        return results
    with _beside(place) as staging:
        folders.write(results, staging, command)
        # With meta.json the comparison is finished.
        for file in sorted(staging.iterdir(), key=lambda file: (file.name == "meta.json", file.name)):
            file.replace(place / file.name)
    return results


def _world(world: str, runs: pd.DataFrame) -> dict[str, Any]:
    """Return what the results say of runs on real packets: how late they were, and which are marked."""
    if world == SIMULATED:
        return {}
    ways, late = {}, []
    for told in tables.rows({"runs": runs}, "runs"):

        def of(metric: str, told: tables.Row = told) -> float | None:
            value = told.get(metric)
            return None if value is None or math.isnan(value) else value

        name = f"{told['scheme']}, replication {told['replication']}"
        ways[name] = {
            "lateness_s": {
                f"{key}_s": None if (ms := of(f"lateness_ms_{key}")) is None else ms / 1e3
                for key in ("mean", "p99", "max")
            },
            "dated_late_s": {"mean_s": None if (ms := of("dated_late_ms_mean")) is None else ms / 1e3},
            "lost_rate_s": (of("late_ratio") or 0.0) * told["measured_s"],
            "repeated": int(of("repeated_runs") or 0),
        }
        if of("marked_late_runs"):
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
            raise StoreError(f"{place} is a store of plans: name another folder")
        if plans and plans != {PLAN: text}:
            raise StoreError(
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
        raise StoreError(f"cannot write {str(place)!r}: {error.strerror or error}") from None


@contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """Give a hidden folder on the same file system."""
    staging = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".partial", dir=place.parent))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
