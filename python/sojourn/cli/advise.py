"""The command ``sojourn advise``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final

from sojourn.base.core import SojournError
from sojourn.cli.options import add_jobs, add_json, add_option, add_out
from sojourn.cli.quantity import RATES, TIMES, in_base_unit
from sojourn.model.scheme import Scheme
from sojourn.plan import folder
from sojourn.results import notices

_NEEDS: Final = "calls,games,web,video,bulk"


def add(verbs: Any) -> None:
    """Add the command to a parser's subcommands."""
    parser = verbs.add_parser(
        "advise",
        description="Simulate a home, an office or many subscribers behind a line whose provider and modem have long "
        "queues, try the schemes that the gateway's platform has at several rates of its shaper, and recommend one, "
        "with a rate for each direction, the evidence and the commands to paste. It says when nothing is to be "
        "gained.",
        epilog="example: sojourn advise --down 50Mbit/s --up 10Mbit/s --technology vdsl --rtt 15ms..120ms",
    )
    add_option(parser, "--down", "RATE", "rate of the download, framing included")
    add_option(parser, "--trace", "FILE", "a trace of the download's rate, in place of --down")
    add_option(parser, "--up", "RATE", "rate of the upload, framing included", required=True)
    technologies = "docsis, vdsl, adsl, fibre or ethernet (the default)"
    parser.add_argument("--technology", metavar="NAME", help=technologies, default="ethernet")
    add_option(parser, "--rtt", "RANGE", "base RTTs", default="20ms..60ms")
    add_option(parser, "--for", "NEEDS", "what users do", default=_NEEDS, dest="needs")
    add_option(parser, "--site", "SITE", "who is behind the line: home (default), office, isp", default="home")
    add_option(
        parser, "--on", "PLATFORM", "what the gateway runs: linux (default), openwrt, sojournd", default="linux"
    )
    add_option(parser, "--isp-buffer", "TIME", "the provider's and the modem's queue", default="200ms")
    add_out(parser, metavar="FILE", help="write the answer as an HTML page, too")
    add_json(parser)
    add_jobs(parser)
    parser.set_defaults(command=_advise)


def _advise(options: argparse.Namespace) -> None:
    from sojourn.results import text
    from sojourn.studies.advise import answer, search
    from sojourn.studies.advise.household import network
    from sojourn.studies.advise.line import Line

    if (options.down is None) == (options.trace is None):
        raise SojournError("give either --down or --trace")
    if options.out:
        folder.refuse_results(options.out, force=options.force)
    common: dict[str, Any] = {
        "up_mbit_s": in_base_unit("--up", options.up, RATES) / 1e6,
        "technology": options.technology,
        "rtt_ms": _range(options.rtt),
        "needs": tuple(need.strip() for need in options.needs.split(",") if need.strip()),
        "site": options.site,
        "isp_buffer_ms": in_base_unit("--isp-buffer", options.isp_buffer, TIMES) * 1e3,
    }
    if options.trace:
        line = Line.following(options.trace, **common)
    else:
        line = Line(in_base_unit("--down", options.down, RATES) / 1e6, **common)
    advice = search.advise(line, options.on, jobs=options.jobs, say=text.say)
    simulated = network(line, advice.best.shaper if advice.best else None, options.on)
    notices.tell(notices.inert(simulated.canonical(), [Scheme("")]))
    print(json.dumps(answer.data(advice)) if options.json else answer.text(advice))
    if options.out:
        folder.write_text(Path(options.out), answer.html(advice))
        text.say(options.out)


def _range(given: str) -> tuple[float, float]:
    """Return the ends of ``15ms..120ms`` in ms; one time is both."""
    first, dots, last = given.partition("..")
    least = in_base_unit("--rtt", first, TIMES) * 1e3
    return least, in_base_unit("--rtt", last, TIMES) * 1e3 if dots else least
