"""The command ``sojourn characterize``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from sojourn.base.core import SojournError
from sojourn.cli.options import add_jobs, add_number, add_option, add_options, resumable
from sojourn.cli.quantity import RATES, TIMES, in_base_unit
from sojourn.model.scheme import as_schemes

AGAINST: Final = "pfifo,codel,fq_codel"
PLANS: Final = "replace plans in the folder that differ from those of this command"


def add(verbs: Any) -> None:
    """Add the command to a parser's subcommands."""
    parser = verbs.add_parser(
        "characterize",
        description="Characterise a scheme by RFC 7928: run the RFC's scenarios with the scheme and others, and "
        "write a report whose sections are those of the RFC. Plans and finished runs are kept in the folder, so the "
        "same "
        "command continues after an interruption.",
        epilog='example: sojourn characterize "pie target 10ms" --against codel,fq_codel --quick --out out/pie',
    )
    parser.add_argument("scheme", metavar="SCHEME", help='the scheme, as in "codel" or "pie target 10ms"')
    against = f"schemes beside it, separated by commas (default {AGAINST}); tail drop is always there"
    add_option(parser, "--against", "SCHEMES", against, default=AGAINST)
    add_option(parser, "--out", "DIR", "folder of plans, finished runs and report", required=True)
    add_options(parser, "--section", "N", "only this section of the RFC, as in 8.2.6; repeatable (default: all)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="5 replications, fewer values: some 2 minutes")
    how.add_argument("--full", action="store_true", help="10 replications and all values (the default)")
    add_option(parser, "--rate", "RATE", "of the bottleneck", default="20 Mbit/s")
    add_option(parser, "--rtt", "TIME", "base round-trip time", default="100 ms")
    add_number(parser, "--buffer", "buffer in packets (default: the bandwidth-delay product)")
    parser.add_argument("--no-cost", action="store_true", help="do not measure CPU time and memory (section 11)")
    parser.add_argument("--force", action="store_true", help=PLANS)
    add_jobs(parser, cluster=True)
    parser.set_defaults(command=_characterize)


def _characterize(options: argparse.Namespace) -> None:
    from sojourn.results import text
    from sojourn.studies.characterize import execute, suite
    from sojourn.studies.characterize.networks import Setting

    subject, *more = as_schemes([options.scheme])
    if more:
        raise SojournError(f"{options.scheme!r} is more than one scheme; allowed: one, and others with --against")
    others = as_schemes([one.strip() for one in options.against.split(",") if one.strip()])
    setting = Setting(
        rate_mbit_s=in_base_unit("--rate", options.rate, RATES) / 1e6,
        rtt_ms=in_base_unit("--rtt", options.rtt, TIMES) * 1e3,
        buffer_packets=options.buffer,
    )
    with resumable(Path(options.out) / execute.STORE):
        page = execute.characterize(
            subject,
            [one for one in others if one.text != subject.text],
            options.out,
            scenarios=suite.chosen(options.section),
            setting=setting,
            is_quick=options.quick,
            with_cost=not options.no_cost and not options.section,
            jobs=options.jobs,
            scheduler=options.scheduler,
            force=options.force,
            say=text.say,
        )
    print(page)
