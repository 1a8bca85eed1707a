"""Run scenarios: replications, comparisons of schemes with the same traffic, on all cores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sojourn.base import core
from sojourn.base.core import Document
from sojourn.base.errors import RunError
from sojourn.base.processors import cores
from sojourn.base.units import Time, as_text, auto_interval_ns, from_ns
from sojourn.model.network import Network, load
from sojourn.model.scheme import Scheme, Schemes, as_schemes
from sojourn.plan import logs
from sojourn.results import tables
from sojourn.results.results import Results

Series: TypeAlias = Time | Literal["auto"] | None
"""Sampling interval of time series; ``auto`` samples the first replication only, for the pictures."""

Advance: TypeAlias = Callable[[int, float], None]

GREATEST_SEED: Final = 2**64 - 1

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
        return _execute(scenario, None, replicates, seed, jobs, series, progress, written)


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
) -> Results:
    """Compare schemes on a network: each replaces those of the queues under test, and all get the same traffic.

    Replication r has the same traffic for every scheme, so differences between schemes are paired.

    Parameters
    ----------
    network
        What to run: a :class:`Network`, the path of a scenario file, or the name of a ready-made scenario.
    schemes
        Texts as tc writes them (``"codel target 5ms"``), :class:`Scheme`, or a mapping of labels to these.
    replicates
        Number of replications; by default the scenario's own.
    seed
        Of the comparison; by default the scenario's own.
    jobs
        Number of threads; by default one per core. The results do not depend on it.
    series
        Sampling interval of time series (a time), ``"auto"``, or None for none.
    sets
        Overrides ``key=value`` of the scenario. An override of ``series.flows`` takes its interval from `series`.
    progress
        Whether to show a progress bar on standard error; by default if that is a terminal.
    out
        A folder. Runs are written to it as they finish, so the same call continues after an interruption; at the end
        it is a run folder with a report, and the store of a plan (``sojourn results export``).
    force
        Replace the results that `out` holds.
    command
        What ``meta.json`` names as the command; for programs that are one.

    Raises
    ------
    SojournError
        Bad scenario, scheme or option; `out` holds other results, or cannot be written.

    Examples
    --------
    >>> import sojourn as sj
    >>> results = sj.compare("dumbbell", ["codel", "pie"], replicates=1, sets=["duration=3 s", "warm_up=1 s"])
    >>> results.labels
    ('codel', 'pie')
    """
    chosen = as_schemes(schemes)
    scenario = canonical(network, sets, series)
    count = int(scenario.get("replications", 1)) if replicates is None else replicates
    if out is None:
        return _execute(scenario, chosen, count, seed, jobs, series, progress)
    first, threads = _checked(scenario, count, seed, jobs)
    sampled = _series(series, scenario, 0), count if _series(series, scenario, 1) else 1
    from sojourn.plan import comparison

    return comparison.run(
        scenario,
        chosen,
        out,
        replicates=count,
        seed=first,
        jobs=threads,
        series=sampled,
        meta=_meta(series),
        force=force,
        command=command,
        progress=progress,
    )


def canonical(network: Scenario, sets: Sequence[str] = (), series: Series = None) -> Document:
    """Return the canonical document of a network, a file or a ready-made scenario.

    Parameters
    ----------
    network
        The network to run.
    sets
        Overrides ``key=value``.
    series
        Sampling interval: also of the scenario's own series where an override asks for the flows' series.

    Raises
    ------
    SojournError
        Bad scenario or override.
    """
    keys = [one.partition("=")[0].strip() for one in sets]
    if series not in (None, "auto") and "series.flows" in keys and "series.interval" not in keys:
        interval = series if isinstance(series, str) else as_text("series", series, "time")
        # The interval first: without one there is nothing that each flow could have.
        sets = [f"series.interval={interval}", *sets]
    if isinstance(network, Network):
        return network.canonical(sets)
    return load(network, sets=sets).to_dict()


def _execute(
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
    with _progress_bar(progress, len(tasks)) as advance:
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


def _checked(scenario: Document, replicates: int, seed: int | None, jobs: int | None) -> tuple[int, int]:
    """Return the first seed and the number of threads."""
    first_seed = int(scenario.get("seed", 1)) if seed is None else seed
    whole("replicates", replicates, 1, 1_000_000)
    whole("seed", first_seed, 0, GREATEST_SEED)
    return first_seed, cores() if jobs is None else whole("jobs", jobs, 1, 4096)


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


def whole(name: str, value: int, least: int, greatest: int) -> int:
    """Return a whole number that lies between two others.

    Raises
    ------
    SojournError
        If it does not.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise RunError(f"{name}={value!r} is not a whole number")
    if not least <= value <= greatest:
        raise RunError(f"{name}={value} is impossible: allowed are {least} to {greatest}")
    return value


@contextmanager
def _progress_bar(wanted: bool | None, runs: int) -> Iterator[Advance | None]:
    """Show a bar with the time remaining on standard error."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("left,"),
        TimeElapsedColumn(),
        TextColumn("elapsed"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=1.0)

        def advance(finished: int, fraction: float) -> None:
            bar.update(task, completed=fraction, description=f"{finished} of {runs} run{'s' * (runs > 1)}")

        yield advance
