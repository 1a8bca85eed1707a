"""``sojourn export tc`` and ``sojourn run --tc``."""

from __future__ import annotations

import argparse
import json
from typing import Any

from sojourn import tc
from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.base.processors import cores
from sojourn.cli.options import add_group
from sojourn.model.network import load


def add(verbs: Any) -> None:
    """Add the verb ``export`` to `verbs`."""
    formats = add_group(verbs, "export", "Write a scheme in the form that another program reads.", what="format")
    to_tc = formats.add_parser(
        "tc",
        help="print the commands that install a scheme on Linux",
        description="Print the commands that install a scheme on a Linux network interface. A scheme that Linux "
        "does not have is refused, and the message names the nearest one. Comments say where Linux behaves "
        "differently, and which words the simulator ignores.",
        epilog='example: sojourn export tc "fq_codel target 10ms" --dev eth0 --rate "20 Mbit/s" | sudo sh',
    )
    to_tc.add_argument("scheme", metavar="SCHEME", help='as tc writes it: "codel target 10ms", or a whole line of tc')
    to_tc.add_argument(
        "--dev",
        metavar="DEV",
        help="the network interface, such as eth0 (default: the one that SCHEME names, else the word DEV)",
    )
    to_tc.add_argument("--rate", metavar="RATE", help='shape to this rate, such as "20 Mbit/s" (default: no shaping)')
    to_tc.set_defaults(command=export_tc)


def export_tc(options: argparse.Namespace) -> None:
    """Print the commands that install a scheme."""
    print("\n".join(tc.commands(options.scheme, dev=options.dev, rate=options.rate)))


def run(options: argparse.Namespace) -> None:
    """Run one replication and print its queues as tc does."""
    for name in ("out", "json", "series", "replicates"):
        if getattr(options, name):
            raise SojournError(f"--tc prints the queues of one run and nothing else: it does not go with --{name}")
    scenario = load(options.file, sets=options.sets).canonical()
    seed = int(scenario.get("seed", 1)) if options.seed is None else options.seed
    task = {"scheme": None, "seed": seed, "replication": 0, "series": None}
    (document,) = core.run_many(scenario, [task], jobs=options.jobs or cores())
    print(json.dumps(tc.statistics(document), ensure_ascii=False, allow_nan=False))
