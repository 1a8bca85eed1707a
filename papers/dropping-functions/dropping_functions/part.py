"""``sojourn papers run`` of a paper of windows: simulation, device, analysis, report."""

from __future__ import annotations

import argparse
import time
from typing import Final

from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.plan import folder
from sojourn.results.text import say
from sojourn.studies.papers import record
from sojourn.studies.papers.ledger import Ledger
from sojourn.studies.papers.model import Reading
from sojourn.studies.papers.results import Keeper

from . import datasets, device, page, simulate, store
from .document import Experiment

HOURS: Final = 1.0
"""Hours that a call with ``--full`` simulates."""

PARTS: Final = ("simulation", "device", "report")
"""What ``--only`` may name; ``report`` runs nothing."""


def run(paper: Experiment, options: argparse.Namespace) -> str:
    """Do the runs of the paper that are not stored yet, judge every claim, write the report; return what to print."""
    if options.scheduler is not None:
        raise SojournError(
            "--scheduler is not available for a study of measurement windows; use --only, --hours, --jobs or --out"
        )
    if options.hours is not None and not options.hours > 0:
        raise SojournError(f"--hours {options.hours}: must be above 0")
    only = options.only and options.only.casefold()
    if only is not None and only not in PARTS:
        raise SojournError(f"--only {options.only!r} is not a part of this study; use one of: {', '.join(PARTS)}")
    size_name, place = "full" if options.full else "quick", options.out
    size = paper.sizes[size_name]
    hours = HOURS if options.hours is None and options.full else options.hours
    start = time.monotonic()
    keeper, is_simulated = Keeper(place / "windows"), only in (None, "simulation")
    if is_simulated:
        simulate.simulate(paper, size, keeper, hours=hours, jobs=options.jobs, say=say)
    wanted = [simulate.settings(paper, size, one) for one in simulate.runs_of(paper, size)]
    runs = [found for of in wanted if (found := keeper.find(simulate.WINDOWS, of)) is not None]
    windows, flows, cpu_s = store.windows(runs), store.flows(runs), sum(run["cpu_s"] for run in runs)
    left_out = ""
    if only in ("simulation", "report"):
        left_out = "the option --only leaves it out"
    elif only is None and not options.full:
        # The quick device part takes 160 s by itself.
        left_out = "only --full or --only device runs it"
    found = device.run(paper, size_name, place, say, left_out=left_out)
    say("analysis")
    columns = [*datasets.simulated(paper, size.switchback, windows), datasets.on_device(paper, found)]
    columns += [datasets.theoretical(paper), datasets.printed(paper)]
    judged = datasets.judge_all(paper, columns)
    names = [world.name for world in columns]
    verdicts = {key: dict(zip(names, (one.verdict for one in of), strict=True)) for key, of in judged.items()}
    fresh = Ledger(paper, tuple(Reading(name, {}, is_run=False) for name in names), verdicts)
    if options.record:
        record.write(fresh, size_name)
    ledger = record.filled(fresh)
    facts = (
        ("Windows, simulation", f"{len(windows):,} of {size.packets:,} packets (switchback: "
                                f"{size.switchback.packets:,})"),
        ("Windows, device", f"{len(found.windows):,}" if len(found.windows) else f"none: {found.why}"),
        ("Runs", f"{len(runs):,} of {len(wanted):,} ({size_name})"),
        ("Processor time", f"{cpu_s / 3600:.2f} h"),
        ("Claims", str(len(paper.claims))),
        ("Sojourn", core.version()),
    )  # fmt: skip
    report = place / "report.html"
    results = page.Results(size, windows, flows, found, columns, judged, ledger, facts)
    folder.write_text(report, page.render(paper, results))
    count = len(wanted) - len(runs)
    left = f"; {count} runs are left, the same command continues" if is_simulated and count else ""
    return "\n".join(
        [
            f"{keeper.made} runs made, {len(runs) - keeper.made} found, in {time.monotonic() - start:.0f} s{left}",
            f"simulation: {len(windows)} windows, which took {cpu_s / 3600:.2f} hours of processor time; "
            f"device: {f'{len(found.windows)} windows' if len(found.windows) else found.why}",
            f"Report: {report}",
            "",
            ledger.as_text(),
        ]
    )
