"""The commands ``sojourn plan`` and ``sojourn results``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, Final

from sojourn.base.core import SojournError
from sojourn.base.processors import cores
from sojourn.cli.options import add_flag, add_group, add_jobs, add_json, add_number, add_out
from sojourn.plan import document, export, folder, rows
from sojourn.plan.identity import REAL
from sojourn.plan.store import Store
from sojourn.results.text import frame_as_csv

FAILED: Final = 1
INTERRUPTED: Final = 130
STORE: Final = "out/store"
SHOWN: Final = 100


def add(verbs: Any) -> None:
    """Add the commands to a parser's subcommands."""
    _add_plan(verbs)
    _add_results(verbs)


def _add_plan(verbs: Any) -> None:
    actions = add_group(
        verbs,
        "plan",
        "A plan (TOML) names a scenario, what varies, and the number of replications or the precision "
        "that is wanted. Finished runs are kept in a store and are not repeated, so the same command continues "
        "after an interruption.",
    )
    check = actions.add_parser(
        "check",
        help="check every cell; print the number of runs and the expected time",
        description="Check every cell of a plan, time a few runs, and estimate how long the plan takes. Nothing is "
        "written.",
    )
    _plan_and_store(check)
    add_number(check, "--jobs", "number of threads to assume (default: one per core)")
    add_flag(check, "--no-pilot", "do not time any run")
    check.set_defaults(command=_check)
    run = actions.add_parser(
        "run",
        help="run the runs that are missing from the store",
        description="Run the runs that are missing from the store. The exit status is 1 if runs failed; the other "
        "runs are kept.",
    )
    _plan_and_store(run)
    add_jobs(run, cluster=True)
    add_flag(run, "--force", "repeat runs that the store holds, including those of another build of Sojourn")
    add_number(run, "--max-runs", "stop after N runs; the same command continues")
    run.set_defaults(command=_run)
    for name, help_, command in (
        ("status", "print the progress of a plan", _status),
        ("show", "print the estimates of a plan", _show),
        ("report", "write the table and figures of a plan as one HTML page", _report),
    ):
        action = actions.add_parser(name, help=help_, description=f"{help_[0].upper()}{help_[1:]}.")
        _plan_and_store(action)
        if name == "report":
            add_out(action, metavar="FILE", required=True, help="the page to write")
        if name in ("status", "show"):
            add_json(action)
        action.set_defaults(command=command)
    verify = actions.add_parser(
        "verify",
        help="compare every file of a store with its manifest; repair it",
        description="Compare every file of a store with the manifest that was written with it. "
        "The exit status is 0 if the store is intact, 1 if a file is damaged.",
    )
    verify.add_argument("folder", metavar="DIR", help="the store")
    how = verify.add_mutually_exclusive_group()
    add_flag(
        how,
        "--repair",
        "move damaged files into DIR/damaged and restore what they held: results by repeating their runs",
    )
    add_flag(
        how, "--adopt", "write a manifest for a store of an earlier version, or for one that has lost its manifest"
    )
    add_flag(
        verify,
        "--drop",
        "with --repair: take out of the store what cannot be restored, such as runs of another build",
    )
    verify.add_argument(
        "--jobs", type=int, metavar="N", help="number of threads for --repair (default: one per core)"
    )
    verify.set_defaults(command=_verify)


def _plan_and_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a plan (TOML)")
    parser.add_argument("--store", default=STORE, metavar="DIR", help=f"folder of finished runs (default {STORE})")


def _add_results(verbs: Any) -> None:
    actions = add_group(verbs, "results", "Query a store of runs, or export it for other programs.")
    query = actions.add_parser(
        "query",
        help="query a store in SQL",
        description="Query a store in SQL (DuckDB). Views: results (cells with the metrics of their runs), cells, "
        "runs, queues, flows, distributions, series, groups, phases, stations.",
        epilog="example: sojourn results query out/store "
        "'SELECT label, rate, avg(sojourn_ms_mean) FROM results GROUP BY ALL'",
    )
    query.add_argument("folder", metavar="DIR", help="the store")
    query.add_argument("sql", metavar="SQL", help="a statement that returns rows")
    query.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="format of the answer (default table)"
    )
    add_flag(
        query,
        "--external",
        "let the query read and write files, load extensions and change settings (default: it reads the store's "
        "tables alone)",
    )
    query.set_defaults(command=_query)
    out = actions.add_parser(
        "export",
        help="export the runs of a plan as CSV, Parquet, NetCDF or for Flent",
        description="Export the runs of a plan, or of a comparison made with --out. NetCDF has a dimension for each "
        "factor. Flent takes the time series of a plan that has `series`, one .flent.gz file per run.",
    )
    out.add_argument("folder", metavar="DIR", help="the store")
    out.add_argument("--format", choices=export.FORMATS, default="csv", help="format (default csv)")
    out.add_argument("--plan", metavar="NAME", help="which plan (default: the only one)")
    out.add_argument(
        "--table", choices=rows.EVERY, default="runs", help="table to export as CSV or Parquet (default runs)"
    )
    add_out(out, metavar="PATH", required=True, help="the file to write (for Flent a folder)")
    out.set_defaults(command=_export)


def _check(options: argparse.Namespace) -> None:
    from sojourn.plan import execute, expand
    from sojourn.plan.execute import pilot
    from sojourn.plan.progress import duration

    cells = expand.cells(document.load(options.plan))
    plan = cells.plan
    least, most = len(cells) * plan.least, len(cells) * plan.most
    found = 0
    if Store.exists(options.store):
        from sojourn.plan import read

        store = Store.open(options.store)
        execute.refuse_other_builds(cells, store)
        found = sum(state.done for state in read.states(cells, store))
    factors = [f"{len(plan.schemes)} schemes"] if plan.schemes else []
    factors += [f"{'+'.join(f.name for f in one.factors)} {len(one.points)}" for one in plan.vary]
    print(f"{plan.name}: {len(cells)} cells ({' × '.join(factors) or 'the scenario as written'})")
    print(f"{least} runs" if least == most else f"{least} to {most} runs, as the precision goal needs")
    if found:
        print(f"{found} of them are in the store {options.store}")
    if plan.world == REAL:
        from sojourn.real.shell.executor import check

        check(cells)
    if options.no_pilot or found == most:
        return
    seen = pilot(cells)
    jobs = 1 if plan.world == REAL else options.jobs or cores()
    times = [duration(math.ceil(max(runs - found, 0) * seen.run_s / jobs)) for runs in (least, most)]
    span = times[0] if least == most else f"{times[0]} to {times[1]}"
    where = "real packets" if plan.world == REAL else f"{jobs} threads"
    print(f"about {span} on {where}: a run takes {_brief(seen.run_s)} ({seen.runs} timed)")


def _brief(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _run(options: argparse.Namespace) -> int:
    from sojourn.plan import execute, expand, progress, show

    cells = expand.cells(document.load(options.plan))
    try:
        outcome = execute.run(
            cells,
            options.store,
            jobs=options.jobs,
            scheduler=options.scheduler,
            force=options.force,
            max_runs=options.max_runs,
            watch=progress.for_stderr(),
        )
    except KeyboardInterrupt:
        print(
            f"sojourn: interrupted; finished runs are in {options.store}, the same command continues", file=sys.stderr
        )
        return INTERRUPTED
    print(show.terminal(cells, Store.open(options.store), outcome.cells, SHOWN))
    if outcome.stopped:
        print(f"Stopped after {outcome.ran} runs; the same command continues.")
    for failure in outcome.failures[:10]:
        print(f"sojourn: failed: {failure.cell}, replication {failure.replication}: {failure.why}", file=sys.stderr)
    if outcome.failures:
        place = Path(options.store) / "failed"
        print(f"sojourn: {len(outcome.failures)} runs failed; their scenarios are in {place}", file=sys.stderr)
        return FAILED
    return 0


def _status(options: argparse.Namespace) -> None:
    from sojourn.plan import expand, read

    cells, store = expand.cells(document.load(options.plan)), Store.open(options.store)
    states = read.states(cells, store)
    code = read.code_of(cells, store)
    mine = {state.cell.run(k).id(code) for state in states for k in range(state.target)}
    failed = {identity: why for identity, why in store.failures().items() if identity in mine}
    status = {
        "plan": cells.plan.name,
        "cells": len(states),
        "cells_finished": sum(state.is_complete for state in states),
        "runs_done": sum(state.done for state in states),
        "runs_expected": sum(state.target for state in states),
        "runs_failed": len(failed),
        "builds": store.builds(),
    }
    if options.json:
        print(json.dumps(status))
        return
    open_ended = "+" if cells.plan.precision and status["cells_finished"] != len(states) else ""
    print(
        f"{status['plan']}: {status['runs_done']} of {status['runs_expected']}{open_ended} runs, "
        f"{status['cells_finished']} of {len(states)} cells finished"
    )
    for code, count in store.builds().items():
        print(f"the store holds {count} runs of {code}")
    for why in failed.values():
        print(f"failed: {why}", end="")


def _show(options: argparse.Namespace) -> None:
    from sojourn.plan import expand, read, show

    cells, store = expand.cells(document.load(options.plan)), Store.open(options.store)
    if options.json:
        frame = read.summary(cells, store)
        print(frame.to_json(orient="records", double_precision=15))
        for found in read.warnings(cells, store, read.states(cells, store)):
            print(f"sojourn: warning: {found}", file=sys.stderr)
    else:
        print(show.terminal(cells, store))


def _report(options: argparse.Namespace) -> None:
    from sojourn.plan import expand
    from sojourn.view import plans

    folder.refuse_results(options.out, force=options.force)
    cells, store = expand.cells(document.load(options.plan)), Store.open(options.store)
    folder.write_text(Path(options.out), plans.page(cells, store))
    print(options.out)


def _verify(options: argparse.Namespace) -> int:
    from sojourn.plan import verify

    if options.drop and not options.repair:
        raise SojournError("--drop needs --repair")
    if options.adopt:
        count = verify.adopt(options.folder)
        print(
            f"{options.folder}: a manifest of {count} files has been written; damage from before cannot be detected"
        )
        return 0
    found = verify.verify(options.folder)
    for one in found.damaged:
        print(f"{one.file}: {one.problem}")
    if found.unfinished:
        print(
            f"{len(found.unfinished)} unfinished files of an interrupted command are not part of the "
            f"store; the next command removes them"
        )
    if not found.damaged:
        print(f"{options.folder}: intact: {found.files} files, {_bytes(found.size)}")
        return 0
    if not options.repair:
        print(f"{options.folder}: {len(found.damaged)} of {found.files} files damaged; --repair restores them")
        return FAILED
    repaired = verify.repair(
        options.folder,
        jobs=options.jobs,
        drop=options.drop,
        say=lambda line: print(f"sojourn: {line}", file=sys.stderr, flush=True),
    )
    for file, how in repaired.restored.items():
        print(f"{file}: {how}")
    for file, why in repaired.lost.items():
        print(f"{file}: {'taken out of the store' if repaired.dropped else 'not restored'}: {why}")
    is_whole = not repaired.lost or repaired.dropped
    print(
        f"{options.folder}: {'intact again' if is_whole else 'still damaged'}; "
        f"damaged files are in {Path(options.folder) / verify.ASIDE}"
    )
    return 0 if is_whole else FAILED


def _bytes(size: int) -> str:
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"


def _query(options: argparse.Namespace) -> None:
    from sojourn.plan import query, show

    frame = query.query(Store.open(options.folder), options.sql, external=options.external).to_pandas()
    match options.format:
        case "csv":
            print(frame_as_csv(frame), end="")
        case "json":
            print(frame.to_json(orient="records", double_precision=15))
        case _:
            print(show.frame_text(frame))


def _export(options: argparse.Namespace) -> None:
    from sojourn.plan import read

    folder.refuse_results(options.out, force=options.force)
    store = Store.open(options.folder)
    cells = read.plan_of(store, options.plan)
    written = export.write(cells, store, options.format, Path(options.out), table=options.table)
    print("\n".join(map(str, written)))
