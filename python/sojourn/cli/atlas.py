"""The command ``sojourn atlas``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from sojourn.cli.options import add_jobs, add_number
from sojourn.model.scheme import as_schemes, labelled

INTERRUPTED: Final = 130


def add(verbs: Any) -> None:
    """Add the command to a parser's subcommands."""
    parser = verbs.add_parser(
        "atlas",
        description="Run every scheme in seven networks of RFC 7928 and in four more, and rank them by need: low "
        "delay, goodput, calls, web pages, fairness, floods, changing rates, small buffers, ECN, CPU time. The "
        "pages, and "
        "the data as CSV and Parquet, are written into a folder. The same command continues after an interruption.",
        epilog='example: sojourn atlas --out out/atlas --aqm pie --aqm codel --aqm "mine=pie target 5ms"',
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="folder of plans, finished runs, pages and data")
    parser.add_argument(
        "--aqm",
        action="append",
        default=[],
        metavar="SCHEME",
        help="only this scheme, with a label if you like (LABEL=SCHEME); repeatable (default: every algorithm)",
    )
    add_number(parser, "--replicates", "replications of every network", default=10)
    parser.add_argument("--no-cost", action="store_true", help="do not measure CPU time")
    parser.add_argument(
        "--force", action="store_true", help="replace plans in the folder that differ from those of this command"
    )
    add_jobs(parser, cluster=True)
    parser.set_defaults(command=_atlas)


def _atlas(options: argparse.Namespace) -> int:
    from sojourn.studies.atlas import execute

    schemes = as_schemes([labelled(text) for text in options.aqm]) if options.aqm else ()
    try:
        execute.atlas(
            options.out,
            schemes=schemes,
            with_cost=not options.no_cost,
            replications=options.replicates,
            jobs=options.jobs,
            scheduler=options.scheduler,
            force=options.force,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except KeyboardInterrupt:
        print("sojourn: interrupted; finished runs are kept, the same command continues", file=sys.stderr)
        return INTERRUPTED
    print(Path(options.out) / execute.PAGE)
    return 0
