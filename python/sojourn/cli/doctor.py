"""``sojourn doctor``."""

from __future__ import annotations

import argparse
import json
from typing import Any, Final

from sojourn.cli.options import add_flag, add_json
from sojourn.real.shell import doctor

UNABLE: Final = 1


def add(verbs: Any) -> None:
    """Add the verb ``doctor`` to `verbs`."""
    parser = verbs.add_parser(
        "doctor",
        description="Say whether `sojourn shell` can run on this machine, and measure the fastest link. "
        "For the configuration of a forwarder between real interfaces there is `sojournd doctor FILE`.",
        epilog="example: sojourn doctor",
    )
    add_flag(parser, "--no-measure", "leave out the measurement, which takes 2 s")
    add_json(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Print what was found; 1 if the shell cannot run."""
    found = doctor.examine(measure=not options.no_measure)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for name, (good, what) in found.items():
            print(f"{'ok  ' if good else 'no  '} {name}: {what}")
    return 0 if all(good for good, _ in found.values()) else UNABLE
