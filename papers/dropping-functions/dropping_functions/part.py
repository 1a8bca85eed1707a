"""``sojourn papers run`` of a paper of windows: simulation, device, analysis, report."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.plan import folder
from sojourn.results import text
from sojourn.results.text import say
from sojourn.studies.papers import record
from sojourn.studies.papers.ledger import Ledger
from sojourn.studies.papers.model import Reading
from sojourn.studies.papers.results import Keeper

from . import datasets, device, fitted, page, simulate, store
from .document import Experiment, Size

HOURS: Final = 1.0
"""Hours that a call with ``--full`` simulates."""

PARTS: Final = ("simulation", "device", "report", "fit")
"""What ``--only`` may name; ``report`` runs nothing, and ``fit`` applies the rule of a second mix."""


def run(paper: Experiment, options: argparse.Namespace) -> str:
    """Do the runs of the paper that are not stored yet, judge every claim, write the report; return what to print."""
    only = _checked(options)
    size_name, place = "full" if options.full else "quick", options.out
    size = paper.sizes[size_name]
    hours = HOURS if options.hours is None and options.full else options.hours
    start = time.monotonic()
    keeper, is_simulated = Keeper(place / "windows"), only in (None, "simulation") and options.store is None
    settings: dict[str, Any] = {"hours": hours, "jobs": options.jobs, "say": say}
    if only == "fit":
        return _fit(paper, size, keeper, settings)
    second = fitted.judged_of(paper, size)
    parts = [(paper, size, simulate.runs_of(paper, size)), *([second] if second and options.full else [])]
    if is_simulated:
        for of in parts:
            simulate.simulate(*of[:2], keeper, of[2], **settings)
    wanted = [[simulate.settings(*of[:2], one) for one in of[2]] for of in parts if options.store is None]
    runs, other = (_stored(keeper, wanted[k]) if k < len(wanted) else [] for k in range(2))
    windows, flows, cpu_s = store.windows(runs), store.flows(runs), sum(run["cpu_s"] for run in (*runs, *other))
    mixes = {page.OWN: (windows, flows), page.FITTED: (store.windows(other), store.flows(other))}
    if options.store is not None:
        found = device.of_store(paper, Path(options.store))
    else:
        left_out = ""
        if only in ("simulation", "report"):
            left_out = "the option --only leaves it out"
        elif only is None and not options.full:
            # The quick device part takes 160 s by itself.
            left_out = "only --full or --only device runs it"
        found = device.run(paper, size_name, place, say, left_out=left_out)
    say("analysis")
    columns = datasets.simulated(paper, size.switchback, windows)
    columns += [*datasets.paired(paper, mixes[page.FITTED][0], "fitted mix"), datasets.on_device(paper, found)]
    columns += [datasets.theoretical(paper), datasets.printed(paper)]
    judged = datasets.judge_all(paper, columns)
    names = [world.name for world in columns]
    verdicts = {key: dict(zip(names, (one.verdict for one in of), strict=True)) for key, of in judged.items()}
    fresh = Ledger(paper, tuple(Reading(name, {}, is_run=False) for name in names), verdicts)
    if options.record:
        record.write(fresh, size_name)
    ledger = record.filled(fresh)
    count, made = sum(map(len, wanted)), len(runs) + len(other)
    facts = (
        ("Windows, simulation", f"{len(windows):,} of {size.packets:,} packets (switchback: "
                                f"{size.switchback.packets:,})"),
        ("Windows, device", f"{len(found.windows):,}" if len(found.windows) else f"none: {found.why}"),
        ("Runs", f"{made:,} of {count:,} ({size_name})"),
        ("Processor time", f"{cpu_s / 3600:.2f} h"),
        ("Claims", str(len(paper.claims))),
        ("Sojourn", core.version()),
    )  # fmt: skip
    report = place / "report.html"
    results = page.Results(size, mixes, found, columns, judged, ledger, facts)
    folder.write_text(report, page.render(paper, results))
    left = f"; {count - made} runs are left, the same command continues" if is_simulated and count > made else ""
    return "\n".join(
        [
            f"{keeper.made} runs made, {made - keeper.made} found, in {time.monotonic() - start:.0f} s{left}",
            f"simulation: {len(windows)} windows, which took {cpu_s / 3600:.2f} hours of processor time; "
            f"device: {f'{len(found.windows)} windows' if len(found.windows) else found.why}",
            f"Report: {report}",
            "",
            ledger.as_text(),
        ]
    )


def _checked(options: argparse.Namespace) -> str | None:
    """Refuse options that make no sense; return the part that ``--only`` names."""
    if options.scheduler is not None:
        raise SojournError(
            "--scheduler is not available for a study of measurement windows; use --only, --hours, --jobs or --out"
        )
    if options.hours is not None and not options.hours > 0:
        raise SojournError(f"--hours {options.hours}: must be above 0")
    only: str | None = options.only and options.only.casefold()
    if only is not None and only not in PARTS:
        raise SojournError(f"--only {options.only!r} is not a part of this study; use one of: {', '.join(PARTS)}")
    if options.store is not None and only not in (None, "report"):
        raise SojournError(f"--store with --only {options.only}: a store is only read; allowed: --store alone")
    if options.store is not None and options.record:
        raise SojournError(
            "--store with --record: outcomes of another network are not recorded; allowed: one of both"
        )
    return only


def _stored(keeper: Keeper, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [found for of in wanted if (found := keeper.find(simulate.WINDOWS, of)) is not None]


def _fit(paper: Experiment, size: Size, keeper: Keeper, settings: Mapping[str, Any]) -> str:
    """Run the candidates of the second mix, and return what the rule says of them."""
    of, fits = paper.fitted["fit"], []
    own = fitted.size_of(size, of)
    runs = fitted.runs_of(paper, of["blocks"], of["demands"], paper.fitted["schemes"])
    for candidate in fitted.candidates(paper):
        mixed = fitted.mixed(paper, candidate)
        simulate.simulate(mixed, own, keeper, runs, **settings)
        found = _stored(keeper, [simulate.settings(mixed, own, one) for one in runs])
        if len(found) < len(runs):
            return f"{len(found)} of {len(runs)} runs of {candidate}; the same command continues"
        fits.append(fitted.judge(mixed, candidate, store.windows(found)))
    names = [one.name for one in fields(fitted.Fit)][1:-1]
    rows = [
        [f"{one.candidate.speed:g}", f"{one.candidate.udp:g}", *(f"{getattr(one, name):.4g}" for name in names)]
        for one in fits
    ]
    best = fitted.chosen(fits)
    table = text.table(["speed", "udp", *names], rows, numbers=True)
    return f"{table}\nchosen: {best.candidate}, demands {list(best.demands)}"
