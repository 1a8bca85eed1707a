"""The command ``sojourn crosscheck``."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Any

from sojourn import crosscheck
from sojourn.base.core import SojournError
from sojourn.cli.options import add_force, add_jobs, add_json, add_seed
from sojourn.crosscheck import heldout, page, text
from sojourn.plan import folder
from sojourn.results.text import table

DISAGREES = 1
EVERYONE = "all"


def add(verbs: Any) -> None:
    """Add the command to a parser's subcommands."""
    parser = verbs.add_parser(
        "crosscheck",
        description="Compare the simulator with recorded measurements of Linux, ns-3 or ns-2 under the "
        "same conditions. "
        "The exit status is 1 if fewer than 95 % of the points agree for any metric, or fewer than the peer agrees "
        "with itself less 2 %, where that is less.",
    )
    parser.add_argument(
        "peer",
        choices=(*crosscheck.PEERS, EVERYONE, *crosscheck.OF_COMMANDS),
        help="the system to compare with, or all; advice and atlas compare what these commands say with Linux",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a subset of the points with 3 replications instead of 5 or more"
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="run the other system, if it is installed, instead of reading its recorded results",
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="run the held-out points of Linux instead: prints shares only, adds them to the committed file, and is "
        f"possible {heldout.ALLOWED} times; {100 * heldout.SHARE:g} %% of them must agree",
    )
    parser.add_argument(
        "--timelines",
        metavar="FOLDER",
        help="instead, draw congestion window, threshold and smoothed RTT of single flows over Linux's, one picture "
        "per point, and print their means (needs the peer `linux` and a checkout)",
    )
    parser.add_argument(
        "--point",
        action="append",
        default=[],
        metavar="POINT",
        help="with --timelines: only this point, such as p017 (may be repeated)",
    )
    add_seed(parser, "seed of the simulator's runs", default=1)
    add_jobs(parser)
    parser.add_argument(
        "--page", metavar="FILE", help="also write the page that compares all systems (needs the peer `all`)"
    )
    add_force(parser, "--page or --timelines")
    add_json(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Compare, print, and say by the exit status whether both sides agree."""
    if options.point and not options.timelines:
        raise SojournError("--point: chooses timelines; use it with --timelines FOLDER")
    if options.timelines:
        return _timelines(options)
    if options.held_out:
        return _held_out(options)
    peers = crosscheck.PEERS if options.peer == EVERYONE else (options.peer,)
    if options.page and (options.peer != EVERYONE or options.quick or options.live):
        raise SojournError("--page: the page shows every recorded point of every peer; use it with `all` alone")
    if options.page:
        folder.refuse_results(options.page, force=options.force)
    outcomes = [
        crosscheck.check(
            peer,
            quick=options.quick,
            live=options.live,
            jobs=options.jobs,
            seed=options.seed,
            progress=_show if sys.stderr.isatty() else None,
        )
        for peer in peers
    ]
    if sys.stderr.isatty():
        _show("")
    if options.page:
        folder.write_text(Path(options.page), page.page(outcomes))
    if options.json:
        documents = [text.document(outcome) for outcome in outcomes]
        print(json.dumps(documents if options.peer == EVERYONE else documents[0], ensure_ascii=False))
    else:
        print("\n\n".join(text.terminal(outcome) for outcome in outcomes))
    return 0 if all(outcome.agrees for outcome in outcomes) else DISAGREES


def _held_out(options: argparse.Namespace) -> int:
    if options.peer != "linux" or options.quick or options.live or options.page:
        raise SojournError("--held-out: only Linux has held-out points; use it with `linux` alone")
    heldout.refuse()
    outcome = crosscheck.held_out(jobs=options.jobs, seed=options.seed)
    # Before anybody sees a number.
    heldout.append(heldout.entry(outcome))
    run_number = len(heldout.history())
    if options.json:
        print(json.dumps(text.held_out_document(outcome, run_number)))
    else:
        print(text.held_out(outcome, run_number))
    return 0 if all(counted.is_enough for counted in heldout.shares(outcome).values()) else DISAGREES


def _timelines(options: argparse.Namespace) -> int:
    if options.peer != "linux" or options.quick or options.live or options.page or options.held_out:
        raise SojournError("--timelines: only Linux has samples of single flows; use it with `linux` alone")
    # Matplotlib is slow to import.
    from sojourn.crosscheck import timeline

    folder.refuse_results(options.timelines, force=options.force)
    found = timeline.timelines(options.point, jobs=options.jobs, seed=options.seed)
    for one in found:
        picture = io.BytesIO()
        timeline.draw(one).savefig(picture, format="png", dpi=120, facecolor="white", metadata={"Software": None})
        folder.write_bytes(Path(options.timelines) / f"{one.key}.png", picture.getvalue())
    rows = [row for one in found for row in timeline.summary(one)]
    if options.json:
        print(json.dumps(rows, ensure_ascii=False))
    else:
        cells = [
            [f"{value:.1f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows
        ]
        print(table(list(timeline.COLUMNS.values()), cells, numbers=True, texts=2))
    return 0


def _show(name: str) -> None:
    print(f"\r\x1b[K{name}", end="", file=sys.stderr, flush=True)
