"""Run scenarios: replications, and comparisons of schemes with the same traffic.

A comparison is a plan with one combination of levels. With a folder, or on real packets, :mod:`sojourn.plan.execute`
carries it out as it does every plan: runs go to the folder as they finish, so the same comparison continues after an
interruption, and the files of a run folder are written when all are there, ``meta.json`` last. Without a folder there
is nothing to continue: the compiled core does all runs at once and keeps their results.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from sojourn.base import core, toml
from sojourn.base.core import Document
from sojourn.base.errors import RunError, StoreError
from sojourn.base.processors import cores
from sojourn.base.units import Time, as_text, auto_interval_ns, from_ns
from sojourn.model.network import Network, load
from sojourn.model.scheme import Scheme, Schemes, as_schemes
from sojourn.plan import logs
from sojourn.plan.identity import REAL, SIMULATED, WORLDS, build
from sojourn.plan.progress import Terminal, for_stderr, fraction_bar, is_shown
from sojourn.results import tables
from sojourn.results.results import Results

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.plan.execute import Watch
    from sojourn.plan.expand import Cells
    from sojourn.plan.model import Outcome, Plan

Series: TypeAlias = Time | Literal["auto"] | None
"""Sampling interval of time series; ``auto`` samples the first replication only, for the pictures."""

GREATEST_SEED: Final = 2**64 - 1

PLAN: Final = "compare"
"""The name of a comparison's plan in its store."""

_SERIES_OF_REAL: Final = "100 ms"
"""The sampling of real packets, which is what the device reports."""

Scenario: TypeAlias = Network | str | Path
"""A network, a scenario file's path, or the name of a scenario that comes with the package."""


def run(
    network: Scenario,
    *,
    replicates: int = 1,
    seed: int | None = None,
    jobs: int | None = None,
    series: Series = "auto",
    sets: Sequence[str] = (),
    progress: bool | None = None,
    pcapng: logs.Packets = None,
    decisions: logs.Decisions = None,
) -> Results:
    """Run a network with the schemes that it names.

    Parameters
    ----------
    network
        What to run: a :class:`Network`, the path of a scenario file, or the name of a ready-made scenario.
    replicates
        Number of replications. With one there are no intervals.
    seed
        Of the runs; by default the scenario's own. Replications differ in their random streams.
    jobs
        Number of threads; by default one per core. The results do not depend on it.
    series
        Sampling interval of time series (a time), ``"auto"``, or None for none.
    sets
        Overrides ``key=value`` of the scenario. An override of ``series.flows`` takes its interval from `series`.
    progress
        Whether to show a progress bar on standard error; by default if that is a terminal.
    pcapng
        A new folder for the packets of the queues under test, as pcapng, or :class:`PacketTraces`.
    decisions
        A new folder for the decision logs of the queues under test, as Parquet, or :class:`DecisionLogs`.

    Raises
    ------
    SojournError
        Bad scenario or option; a folder for traces that is not new or empty.

    Examples
    --------
    >>> import sojourn as sj
    >>> results = sj.run(sj.dumbbell(flows=2, duration=sj.s(3), warm_up=sj.s(1)), seed=7)
    >>> len(results.runs)
    1
    """
    scenario = canonical(network, sets, series)
    with logs.writing(pcapng, decisions) as written:
        return _in_memory(scenario, None, replicates, seed, jobs, series, progress, written)


def compare(
    network: Scenario,
    schemes: Schemes,
    *,
    replicates: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    series: Series = "auto",
    sets: Sequence[str] = (),
    progress: bool | None = None,
    out: str | Path | None = None,
    force: bool = False,
    command: str | None = None,
    world: str = SIMULATED,
    watch: Watch | None = None,
) -> Results:
    """Compare schemes on a network: each replaces those of the queues under test, and all get the same traffic.

    Replication r has the same traffic for every scheme, so differences between schemes are paired. Parameters that
    are not listed are those of :func:`run`.

    Parameters
    ----------
    schemes
        Texts as tc writes them (``"codel target 5ms"``), :class:`Scheme`, or a mapping of labels to these.
    replicates
        Number of replications; by default the scenario's own.
    out
        A folder. Runs are written to it as they finish, so the same call continues after an interruption; at the end
        it is a run folder with a report, and the store of a plan (``sojourn results export``).
    force
        Replace the results that `out` holds.
    command
        What ``meta.json`` names as the command; for programs that are one.
    world
        ``simulated``, or ``real`` for real packets through the kernel's own TCP and UDP, of scenarios with one link.
        Flows have the same random starts, sizes and times in both. Real runs follow each other, and one that the
        machine was too late for is repeated; `jobs`, `series` and `progress` do not apply to them.
    watch
        Shows the progress of real runs, or of runs into a folder, in place of the bar.

    Raises
    ------
    SojournError
        Bad scenario, scheme or option; `out` holds other results, or cannot be written. Of real packets also a
        scenario that has no counterpart there, or a machine without namespaces for this user.

    Examples
    --------
    >>> import sojourn as sj
    >>> results = sj.compare("dumbbell", ["codel", "pie"], replicates=1, sets=["duration=3 s", "warm_up=1 s"])
    >>> results.labels
    ('codel', 'pie')
    """
    if world not in WORLDS:
        raise RunError(f"world={world!r} is not known; allowed: {', '.join(WORLDS)}")
    is_real = world == REAL
    chosen = as_schemes(schemes)
    scenario = canonical(network, sets, None if is_real else series)
    count = int(scenario.get("replications", 1)) if replicates is None else replicates
    if out is None and not is_real:
        return _in_memory(scenario, chosen, count, seed, jobs, series, progress)
    from sojourn.plan import execute, expand
    from sojourn.plan.model import Plan

    first, threads = _checked(scenario, count, seed, jobs)
    # Two texts may be one scheme: their runs are the same.
    different = {scheme.canonical: scheme for scheme in reversed(chosen)}
    plan = Plan(
        name=PLAN,
        scenario=toml.dumps(scenario),
        schemes=tuple(scheme for scheme in chosen if different[scheme.canonical] is scheme),
        seed=first,
        replications=count,
        series=None if is_real else _series(series, scenario, 0),
        series_replications=count if not is_real and _series(series, scenario, 1) else 1,
        source="the scenario",
        origin="compare",
        world=world,
    )
    cells = expand.cells(plan)
    if watch is None and not is_real and is_shown(progress):
        watch = Terminal()
    with ExitStack() as stack:
        if out is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sojourn-real-"))) / "runs"
        else:
            place = Path(out).expanduser()
            _make_room(place, plan, force=force)
        outcome = execute.run(cells, place, jobs=threads, watch=watch)
        meta = _meta(_SERIES_OF_REAL if is_real else series)
        results = _of_store(outcome, cells, scenario, chosen, meta)
        if out is not None:
            _write(results, place, command)
        return results


def run_plan(plan: Plan, store: str | Path, *, jobs: int | None, force: bool, progress: bool | None) -> Outcome:
    """Run what a store does not hold yet of a plan, see :meth:`sojourn.plan.Plan.run`."""
    from sojourn.plan import execute

    return execute.run(plan, store, jobs=jobs, force=force, watch=for_stderr() if is_shown(progress) else None)


def canonical(network: Scenario, sets: Sequence[str] = (), series: Series = None) -> Document:
    """Return the canonical document of a network, a file or a ready-made scenario.

    `series` is also the interval of the scenario's own series where an override asks for the flows' series.
    """
    keys = [one.partition("=")[0].strip() for one in sets]
    if series not in (None, "auto") and "series.flows" in keys and "series.interval" not in keys:
        interval = series if isinstance(series, str) else as_text("series", series, "time")
        # The interval first: without one there is nothing that each flow could have.
        sets = [f"series.interval={interval}", *sets]
    if isinstance(network, Network):
        return network.canonical(sets)
    return load(network, sets=sets).to_dict()


def _in_memory(
    scenario: Document,
    schemes: tuple[Scheme, ...] | None,
    replicates: int,
    seed: int | None,
    jobs: int | None,
    series: Series,
    progress: bool | None,
    written: logs.Writing | None = None,
) -> Results:
    first_seed, threads = _checked(scenario, replicates, seed, jobs)
    texts: list[str | None] = [None] if schemes is None else [scheme.exact for scheme in schemes]
    tasks = [
        {
            "scheme": text,
            "seed": first_seed,
            "replication": replication,
            "series": _series(series, scenario, replication),
            **(written.task(replication, replicates) if written else {}),
        }
        for replication in range(replicates)
        for text in texts
    ]
    with fraction_bar(progress, len(tasks)) as advance:
        reports = core.run_reports(scenario, tasks, jobs=threads, progress=advance)
    if written:
        written.finish(scenario, tasks, reports)
    if schemes is None:
        under_test = reports.native.under_test(0)
        # One scheme in all queues under test names the run; otherwise it is the scenario as written.
        schemes = (Scheme(under_test.pop() if len(under_test) == 1 else ""),)
    labels = [scheme.label for scheme in schemes] * replicates
    # By scheme, then by replication: the order in which people read them.
    order = sorted(range(len(tasks)), key=lambda k: (k % len(schemes), k))
    frames = tables.Tables.of_reports([labels[k] for k in order], reports, order)
    return Results(
        scenario=scenario,
        schemes=schemes,
        seed=first_seed,
        replications=replicates,
        frames=frames,
        kind="run" if texts == [None] else "compare",
        meta=_meta(series),
    )


def _of_store(
    outcome: Outcome, cells: Cells, scenario: Document, schemes: tuple[Scheme, ...], meta: Mapping[str, Any]
) -> Results:
    """Return the results of a comparison whose runs are in a store."""
    from sojourn.plan.read import Frames
    from sojourn.plan.store import Store

    place, plan = outcome.folder, cells.plan
    if outcome.failures:
        first = outcome.failures[0]
        raise RunError(
            f"{len(outcome.failures)} runs failed; the scenarios are in {place / 'failed'}; the first: {first.cell}, "
            f"replication {first.replication}: {first.why}"
        )
    own = {cell.scheme.canonical: cell for cell in cells}
    runs = [
        (scheme.label, own[scheme.canonical].seed, k, own[scheme.canonical].run(k).id(build()))
        for scheme in schemes
        for k in range(plan.replications)
    ]
    # All of them now: the folder may go.
    frames = dict(Frames(Store.open(place), runs))
    return Results(
        scenario=scenario,
        schemes=schemes,
        seed=plan.seed,
        replications=plan.replications,
        frames=frames,
        kind="compare",
        meta={**meta, **_world(plan.world, frames["runs"])},
    )


def _write(results: Results, place: Path, command: str | None) -> None:
    """Write the files of a run folder into a store."""
    from sojourn.plan import folder

    # On the same file system.
    with tempfile.TemporaryDirectory(
        prefix=f".{place.name}.", suffix=".partial", dir=place.parent, ignore_cleanup_errors=True
    ) as temporary:
        staging = Path(temporary)
        folder.write(results, staging, command)
        # With meta.json the comparison is finished.
        for file in sorted(staging.iterdir(), key=lambda file: (file.name == "meta.json", file.name)):
            file.replace(place / file.name)


def _world(world: str, runs: pd.DataFrame) -> dict[str, Any]:
    """Return what the results say of runs on real packets: how late they were, and which are marked."""
    if world == SIMULATED:
        return {}
    ways, late = {}, []
    for run in tables.rows({"runs": runs}, "runs"):

        def of(metric: str, run: tables.Row = run) -> float | None:
            value = run.get(metric)
            return None if value is None or math.isnan(value) else value

        name = f"{run['scheme']}, replication {run['replication']}"
        ways[name] = {
            "lateness_s": {
                f"{key}_s": None if (ms := of(f"lateness_ms_{key}")) is None else ms / 1e3
                for key in ("mean", "p99", "max")
            },
            "dated_late_s": {"mean_s": None if (ms := of("dated_late_ms_mean")) is None else ms / 1e3},
            "lost_rate_s": (of("late_ratio") or 0.0) * run["measured_s"],
            "repeated": int(of("repeated_runs") or 0),
        }
        if of("marked_late_runs"):
            late.append(name)
    return {"world": {"kind": world, "late": "; ".join(late) or None, "ways": ways}}


def _make_room(place: Path, plan: Plan, *, force: bool) -> None:
    """Refuse a folder that holds anything but this comparison, unfinished; with `force`, remove earlier results."""
    from sojourn.plan import folder
    from sojourn.plan.document import dumps
    from sojourn.plan.store import Store

    folder.refuse_foreign(place)
    if not place.exists() or not any(place.iterdir()):
        return
    if force:
        _clear(place)
        return
    if (place / "meta.json").exists():
        folder.refuse_results(place, force=False)
    if Store.exists(place):
        plans = Store.open(place).plans()
        if set(plans) - {PLAN}:
            raise StoreError(f"{place} is a store of plans: name another folder")
        if plans and plans != {PLAN: dumps(plan)}:
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


def _checked(scenario: Document, replicates: int, seed: int | None, jobs: int | None) -> tuple[int, int]:
    """Return the first seed and the number of threads."""
    first_seed = int(scenario.get("seed", 1)) if seed is None else seed
    whole_number("replicates", replicates, 1, 1_000_000)
    whole_number("seed", first_seed, 0, GREATEST_SEED)
    return first_seed, cores() if jobs is None else whole_number("jobs", jobs, 1, 4096)


def _meta(series: Series) -> dict[str, str | None]:
    """Return the options on time series for the command that repeats the runs."""
    return {"series": series if series is None or isinstance(series, str) else as_text("series", series, "time")}


def _series(series: Series, scenario: Document, replication: int) -> str | None:
    if series == "auto" and scenario.get("series"):
        return str(scenario["series"]["interval"])
    if series is None or (series == "auto" and replication > 0):
        return None
    if series != "auto":
        # Text is passed to the core unchanged; its error message is suitable for a command line, too.
        return series if isinstance(series, str) else as_text("series", series, "time")
    return str(from_ns(auto_interval_ns(str(scenario["duration"]))))


def whole_number(name: str, value: int, least: int, greatest: int) -> int:
    """Return a whole number that lies between two others; refuse another."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise RunError(f"{name}={value!r} is not a whole number")
    if not least <= value <= greatest:
        raise RunError(f"{name}={value} is impossible: allowed are {least} to {greatest}")
    return value
