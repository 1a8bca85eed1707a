"""``sojourn papers``."""

from __future__ import annotations

import argparse
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sojourn.base import suggest
from sojourn.base.core import SojournError
from sojourn.cli import interarrival
from sojourn.cli.options import add_group, add_jobs, add_number, number
from sojourn.results import text
from sojourn.studies.papers import documents, extension, figures, guests
from sojourn.studies.papers.conditions import conditions_of
from sojourn.studies.papers.model import Condition, Paper

INTERRUPTED = 130
MAIN = "main conclusions"


def add(verbs: Any) -> None:
    """Add the verb ``papers`` to `verbs`."""
    actions = add_group(
        verbs, "papers", "Repeat published studies, which are stored as data, and judge their claims one by one."
    )
    listing = actions.add_parser(
        "list", help="list the papers", description="List the published studies that can be repeated."
    )
    listing.set_defaults(command=_list)
    run = actions.add_parser(
        "run",
        help="run a study, judge its claims, write the report",
        description="Run the parts of a study that are missing from its store, judge every claim, and write the "
        "report. Where the study is ambiguous, each interpretation (a reading) is tried. The same "
        "command continues after an interruption.",
    )
    run.add_argument(
        "name",
        metavar="NAME",
        help="name of the paper, as `sojourn papers list` shows it, or the path of your own, as in ./my-study",
    )
    size = run.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", action="store_true", help="the main conclusions under the base reading (the default)"
    )
    size.add_argument(
        "--full",
        action="store_true",
        help="every condition under every reading, with more replications where an interval is open",
    )
    run.add_argument(
        "--only",
        metavar="FIGURE",
        help='run figures, tables or conditions, as in --only "Table 4, http-*", or those of the "main conclusions"; '
        "other claims are not run",
    )
    run.add_argument(
        "--readings",
        metavar="PATTERN",
        help='with --full, run only the readings whose name matches, as in --readings "joint reading *"; others have '
        "their recorded outcomes",
    )
    add_number(
        run,
        "--replicates",
        "replications of every run (default: the study's; --full then runs more of them where an interval is open)",
    )
    run.add_argument(
        "--aqm",
        action="append",
        default=[],
        metavar="SCHEME",
        help="also run this scheme under every condition and show it in tables and figures, repeatable: with "
        "--plugin, an algorithm of your own; write the study's limit, as in my_pie limit 2000p",
    )
    run.add_argument(
        "--record",
        action="store_true",
        help="store every outcome in the study's folder (recorded.json); later reports show it where they run less",
    )
    run.add_argument(
        "--trust",
        action="store_true",
        help="run the code that your own study has in its folder; without it, such a study is refused",
    )
    add_jobs(run, cluster=True)
    run.add_argument(
        "--hours",
        type=number,
        metavar="H",
        help="studies of measurement windows only: simulate for this time, then report the results so far "
        "(default 1 with --full); the same command continues",
    )
    run.add_argument(
        "--store",
        metavar="FILE",
        help="studies of measurement windows only: judge what sojournd stored on a network of yours, and run nothing",
    )
    run.add_argument("--out", metavar="DIR", help="folder for the store and the report (default out/papers/NAME)")
    run.set_defaults(command=_run)
    interarrival.add(actions)


def _list(options: argparse.Namespace) -> None:  # noqa: ARG001 - the form of a command
    rows = []
    for name in documents.names():
        summary = extension.hook(documents.folder() / name, "summary") or _summary
        try:
            rows.append([name, *map(str, summary(name))])
        except SojournError as error:
            rows.append([name, "", "", str(error)])
    print(text.table(["paper", "claims", "printed numbers", "title"], rows))


def _summary(name: str) -> tuple[int, int, str]:
    paper = documents.load(name)
    return len(paper.claims), len(paper.published), paper.title


def chosen(paper: Paper, only: str | None, size: str = "full") -> list[Condition]:
    """Return the conditions of figures, tables or names, separated by commas, which a name may have, too.

    Without names: all, of ``quick`` those of main conclusions.
    """
    main = {one.name for claim in paper.claims if claim.is_main for one in conditions_of(claim, paper.conditions)}
    if only is None:
        return [one for one in paper.conditions if size == "full" or not main or one.name in main]
    found: set[str] = set()
    parts = [part.strip() for part in only.split(",")]
    while parts:
        longest = (count for count in range(len(parts), 0, -1) if _named(paper, ", ".join(parts[:count]), main))
        count = next(longest, 0)
        if not count:
            alone = (one for one in paper.conditions if one.table or not one.sweep)
            known = [figure.name for figure in figures.load(paper)]
            known += [f"Table {one.table}" if one.table else one.name for one in alone] + [MAIN] * bool(main)
            meant = suggest.hint(parts[0], known)
            raise SojournError(
                f"--only {parts[0]!r}: this study runs no figure or table of that name{meant}; "
                f"use one of: {'; '.join(known)}"
            )
        found |= _named(paper, ", ".join(parts[:count]), main)
        parts = parts[count:]
    return [one for one in paper.conditions if one.name in found]


def _named(paper: Paper, name: str, main: set[str]) -> set[str]:
    """Return the names of the conditions of one figure, table or condition; none where there is no such name."""
    wanted = name.casefold()
    found = {one.name for one in paper.conditions if wanted == f"table {one.table}" or fnmatchcase(one.name, wanted)}
    found = found or (main if wanted == MAIN else set())
    found = found or {one.name for one in figures.conditions_of(paper, name)}
    if not found:
        found = {
            one.name
            for claim in paper.claims
            if wanted in [part.strip().casefold() for part in claim.place.split(";")]
            for one in conditions_of(claim, paper.conditions)
        }
        # A figure over a sweep is all of its points.
        sweeps = {one.traffic for one in paper.conditions if one.name in found and one.sweep}
        found |= {one.name for one in paper.conditions if one.traffic in sweeps}
    return found


def _run(options: argparse.Namespace) -> int:
    name, where = documents.located(options.name)
    place = Path(options.out or Path("out") / "papers" / name)
    options.out = place
    if options.trust:
        extension.trust(where / name)
    run = extension.hook(where / name, "run")
    try:
        for option, value in (
            ("--aqm", options.aqm),
            ("--replicates", options.replicates),
            ("--readings", options.readings),
        ):
            if run and value not in (None, []):
                raise SojournError(
                    f"{option}: this study runs programs of its own; allowed: any study with runs.toml"
                )
        print(run(options, name, where) if run else _run_paper(options, documents.load(name, where)))
    except KeyboardInterrupt:
        print(f"sojourn: interrupted; {place} keeps the finished runs, the same command continues", file=sys.stderr)
        return INTERRUPTED
    return 0


def _run_paper(options: argparse.Namespace, paper: Paper) -> str:
    if options.store is not None:
        raise SojournError("--store is only for studies of measurement windows, such as dropping-functions")
    if options.hours is not None:
        raise SojournError(
            "--hours is only for studies of measurement windows; this study runs until it is finished, and the same "
            "command continues after an interruption"
        )
    if options.replicates is not None and options.replicates < 2:
        raise SojournError(f"--replicates {options.replicates}: allowed: 2 or more, because intervals decide")
    from sojourn.plan import expand, folder, progress
    from sojourn.results import notices
    from sojourn.studies.papers import execute, ledger, overtime, page, record

    paper = guests.invited(paper, options.aqm)
    size, place = "full" if options.full else "quick", options.out
    start = time.monotonic()

    runner = execute.Runner(paper, place / "store", options.jobs, options.scheduler, progress.for_stderr(), text.say)
    hook = extension.hook(paper.folder, "addition")
    addition = hook() if hook else None
    is_alone = addition is not None and (options.only or "").casefold() == addition.name_of(paper).casefold()
    own = [] if is_alone else chosen(paper, options.only, size)
    names, pattern = [one.name for one in paper.readings if one.is_run], options.readings or "*"
    if options.readings is not None and not options.full:
        raise SojournError("--readings: --quick runs the base reading only; allowed: with --full")
    if not any(fnmatchcase(name, pattern) for name in names):
        meant = suggest.hint(pattern, names)
        raise SojournError(
            f"--readings {pattern!r}: no reading has such a name{meant}; use one of: {'; '.join(names)}"
        )
    measured = runner.run(options.replicates or paper.replications["quick"], size, own, pattern)
    if size == "full" and options.replicates is None:
        pilot = ledger.make(paper, measured)
        if options.record:
            record.write(pilot, f"{size}, pilot")
        measured = runner.more(measured, pilot.open_runs(measured), paper.replications[size])
    # Further parts and time series are small: they run here, one after the other, without a bar.
    runner.scheduler = runner.watch = None
    is_added = is_alone or (size == "full" and options.only is None and pattern == "*")
    added = addition.run(runner, size) if addition is not None and is_added else None
    measured = overtime.run(runner, measured)
    judged = ledger.make(paper, measured)
    if options.record:
        part = [options.only] if options.only else []
        record.write(judged, ", ".join([size, *part, f"{measured.replications} replications"]))
        keep = extension.hook(paper.folder, "record")
        if keep:
            keep(paper, measured)
    judged = record.filled(judged)
    notices.tell(expand.inert(runner.cells))
    report = place / "report.html"
    more = added.sections if added else ()
    folder.write_text(report, page.render(paper, measured, judged, size, more=more))
    said = f"{runner.ran} runs made, {runner.found} found, in {time.monotonic() - start:.0f} s; {size}: "
    said += f"{measured.replications} replications"
    return "\n".join([said, f"Report: {report}", *(added.said if added else ()), "", judged.as_text()])
