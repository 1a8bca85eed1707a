"""The command ``sojourn characterize``."""

from __future__ import annotations

import argparse
from dataclasses import replace
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
        "write a report whose sections are those of the RFC; with --wlan, by a suite for fairness in a WLAN. Plans "
        "and finished runs are kept in the folder, so the same command continues after an interruption.",
        epilog='example: sojourn characterize "pie target 10ms" --against codel,fq_codel --quick --out out/pie',
    )
    one = 'the scheme, as in "codel" or "pie target 10ms"; those that follow are beside it'
    parser.add_argument("schemes", metavar="SCHEME", nargs="+", help=one)
    against = f"schemes beside it, separated by commas (default {AGAINST}); tail drop is always there"
    add_option(parser, "--against", "SCHEMES", against)
    suite = "in cells of 802.11g: data rates, distances, TCP and UDP, both directions, moving stations, air time"
    parser.add_argument("--wlan", action="store_true", help=suite)
    add_option(parser, "--out", "DIR", "folder of plans, finished runs and report", required=True)
    add_options(parser, "--section", "N", "only this section of the suite, as in 8.2.6; repeatable (default: all)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="5 replications, fewer values: some 4 minutes")
    how.add_argument("--full", action="store_true", help="10 replications and all values (the default)")
    add_option(parser, "--rate", "RATE", "of the bottleneck (default 20 Mbit/s); not with --wlan")
    add_option(parser, "--rtt", "TIME", "base round-trip time (default 100 ms, with --wlan 40 ms)")
    add_number(parser, "--buffer", "buffer in packets (default: the bandwidth-delay product)")
    parser.add_argument("--no-cost", action="store_true", help="do not measure CPU time and memory (section 11)")
    parser.add_argument("--force", action="store_true", help=PLANS)
    add_jobs(parser, cluster=True)
    parser.set_defaults(command=_characterize)


def _characterize(options: argparse.Namespace) -> None:
    from sojourn.results import text
    from sojourn.studies.characterize import execute, wlan
    from sojourn.studies.characterize.suite import RFC

    suite = wlan.SUITE if options.wlan else RFC
    first, *beside = options.schemes
    subject, *more = as_schemes([first])
    if more:
        raise SojournError(f"{first!r} is more than one scheme; allowed: one, and others behind it or with --against")
    if beside and options.against is not None:
        raise SojournError(f"{beside[0]!r} and --against both name schemes beside {first!r}; use one of the two")
    against = AGAINST if options.against is None else options.against
    others = as_schemes(beside or [one.strip() for one in against.split(",") if one.strip()])
    if options.wlan and options.rate is not None:
        raise SojournError("--rate does not go with --wlan, whose sections have the data rates of stations")
    setting = replace(suite.setting, buffer_packets=options.buffer)
    if options.rate is not None:
        setting = setting.at(in_base_unit("--rate", options.rate, RATES) / 1e6)
    if options.rtt is not None:
        setting = replace(setting, rtt_ms=in_base_unit("--rtt", options.rtt, TIMES) * 1e3)
    with resumable(Path(options.out) / execute.STORE):
        page = execute.characterize(
            subject,
            [one for one in others if one.text != subject.text],
            options.out,
            suite=suite,
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
