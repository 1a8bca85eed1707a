"""The command line: ``sojourn VERB``; the verbs are in :func:`parser`.

Standard output carries results alone: a table, or with ``--json`` one JSON document. Progress and messages go to
standard error. Exit status: 0 done, 1 a crosscheck that does not agree or a plan with failed runs, 2 bad input (one
message, nothing written), 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sojourn.cli import commands, interarrival, tc
from sojourn.core import SojournError, version
from sojourn.crosscheck import command as crosscheck
from sojourn.device import command as device
from sojourn.papers import command as papers
from sojourn.placement import command as placement
from sojourn.plan import command as plan
from sojourn.sensitivity import command as sensitivity
from sojourn.theory import command as theory
from sojourn.topology import command as topology
from sojourn.tune import command as tune

__all__ = ["main", "parser"]

BAD_INPUT = 2
INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and a hint, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"sojourn: {message} (`{self.prog} --help` says more)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    arguments
        Without the program's name; by default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parser().parse_args(given)
        status: int = options.command(options) or 0
        sys.stdout.flush()
    except SojournError as error:
        print(f"sojourn: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("sojourn: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has gone (`sojourn list aqms | head`); Python would complain when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = _Parser(prog="sojourn", description="A laboratory for active queue management.")
    top.add_argument("--version", action="version", version=f"sojourn {version()}")
    verbs = top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)

    run = verbs.add_parser(
        "run", help="run a scenario as it is written", description="Run a scenario as it is written."
    )
    _scenario(run)
    _options(run, replicates="number of replications (default 1: no intervals)")
    run.set_defaults(command=commands.run)

    compare = verbs.add_parser(
        "compare",
        help="compare schemes on a scenario",
        description="Compare schemes on a scenario. Each scheme replaces the queues under test, on the same traffic.",
        epilog='example: sojourn compare dumbbell --aqm codel --aqm "red min 30p max 90p limit 1000p" --out results',
    )
    _scenario(compare)
    compare.add_argument(
        "--aqm",
        action="append",
        metavar="SCHEME",
        help='a scheme as tc writes it, repeatable: --aqm codel --aqm "pie target 20ms" '
        "(default: one of each family; see `sojourn list aqms`)",
    )
    _options(compare, replicates="number of replications (default: the scenario's own)")
    compare.set_defaults(command=commands.compare)

    listing = verbs.add_parser(
        "list", help="list algorithms, scenarios or metrics", description="List what there is."
    )
    listing.add_argument("what", choices=("aqms", "scenarios", "metrics"))
    listing.add_argument("--json", action="store_true", help="one JSON document on standard output")
    listing.set_defaults(command=commands.listing)

    demo = verbs.add_parser(
        "demo",
        help="eight schemes on a LAN beside the numbers published for them, and a dumbbell",
        description="Run the LAN experiment of the dAQM thesis on its eight schemes beside its published numbers, "
        "and all schemes on a plain dumbbell; write one report.",
    )
    demo.add_argument("--quick", action="store_true", help="3 replications and a shorter dumbbell")
    demo.add_argument(
        "--replicates", type=int, metavar="N", help="number of replications (default 10, with --quick 3)"
    )
    demo.add_argument("--seed", type=int, default=1, metavar="S", help="seed of all runs (default 1)")
    demo.add_argument("--jobs", type=int, metavar="N", help="number of threads (default: one a core)")
    demo.add_argument(
        "--out", default="out/demo", metavar="DIR", help="folder for results and report (default out/demo)"
    )
    demo.set_defaults(command=commands.demo)

    report = verbs.add_parser(
        "report",
        help="draw a run folder's report again",
        description="Draw a run folder's report.html again from the folder alone: the same bytes every time.",
    )
    report.add_argument("folder", metavar="DIR", help="a run folder, or the demo's")
    report.set_defaults(command=commands.report)

    plan.add(verbs)
    crosscheck.add(verbs)
    tune.add(verbs)
    sensitivity.add(verbs)
    papers.add(verbs)
    interarrival.add(verbs)
    theory.add(verbs)
    topology.add(verbs)
    placement.add(verbs)
    device.add(verbs)
    tc.add(verbs, run)

    schema = verbs.add_parser(
        "schema", help="print the JSON Schema of scenarios", description="Print the JSON Schema of scenarios."
    )
    schema.set_defaults(command=commands.schema)
    return top


def _scenario(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a scenario (TOML or JSON), or the name of one that `sojourn list scenarios` shows",
    )


def _options(parser: argparse.ArgumentParser, *, replicates: str) -> None:
    parser.add_argument("--replicates", type=int, metavar="N", help=replicates)
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the runs (default: the scenario's own)")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="number of threads (default: one a core); it changes no number"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="sets",
        metavar="KEY=VALUE",
        help='override a value of the scenario, repeatable: --set "links.bottleneck.rate=50 Mbit/s"',
    )
    parser.add_argument("--series", metavar="INTERVAL", help="sample time series in every run: --series 50ms")
    parser.add_argument("--out", metavar="DIR", help="write a run folder: tables (Parquet), scenario, report.html")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, nothing else")
