"""The command ``sojourn atlas``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sojourn.cli.characterize import PLANS
from sojourn.cli.options import add_jobs, add_number, add_option, add_options, resumable
from sojourn.model.scheme import as_schemes, labelled


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
    add_option(parser, "--out", "DIR", "folder of plans, finished runs, pages and data", required=True)
    only = "only this scheme, with a label if you like (LABEL=SCHEME); repeatable (default: every algorithm)"
    add_options(parser, "--aqm", "SCHEME", only)
    add_number(parser, "--replicates", "replications of every network", default=10)
    parser.add_argument("--no-cost", action="store_true", help="do not measure CPU time")
    parser.add_argument("--force", action="store_true", help=PLANS)
    add_jobs(parser, cluster=True)
    parser.set_defaults(command=_atlas)


def _atlas(options: argparse.Namespace) -> None:
    from sojourn.results import text
    from sojourn.studies.atlas import execute

    schemes = as_schemes([labelled(text) for text in options.aqm]) if options.aqm else ()
    with resumable(options.out):
        execute.atlas(
            options.out,
            schemes=schemes,
            with_cost=not options.no_cost,
            replications=options.replicates,
            jobs=options.jobs,
            scheduler=options.scheduler,
            force=options.force,
            say=text.say,
        )
    print(Path(options.out) / execute.PAGE)
