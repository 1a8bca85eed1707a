"""``sojourn responsiveness``: round trips per minute under load."""

from __future__ import annotations

import argparse
import json
from typing import Any

from sojourn.cli.options import add_jobs, add_json, add_number, add_option, add_options, add_scenario, add_seed

REPLICATES = 3


def add(verbs: Any) -> None:
    """Add the verb ``responsiveness``."""
    parser = verbs.add_parser(
        "responsiveness",
        description="Run the test of draft-ietf-ippm-responsiveness-09 on a scenario: open more and more connections "
        "and print the round trips a minute of new connections (foreign) and of requests on loaded connections "
        "(means over replications with 95 % intervals). The scenario's own flows compete with the test.",
        epilog="example: sojourn responsiveness dumbbell --from left --to right --aqm 'pfifo limit 100p' --aqm codel",
    )
    add_scenario(parser)
    add_option(parser, "--from", "NODE", "sends the load: the server of a download", dest="from_", required=True)
    add_option(parser, "--to", "NODE", "receives it", required=True)
    add_options(
        parser,
        "--aqm",
        "SCHEME",
        "a scheme as tc writes it, or LABEL=SCHEME, repeatable (default: the queues as written)",
    )
    limit = "longest duration of the test, which checks its stability every 5 s (80s)"
    parser.add_argument("--time-limit", metavar="TIME", help=limit, default="80s")
    add_option(parser, "--capacity", "RATE", "capacity of the path (default: lowest rate of a link under test)")
    add_option(
        parser, "--congestion-control", "NAME", "congestion control of the test's connections", default="cubic"
    )
    add_number(parser, "--replicates", "number of replications", default=REPLICATES)
    add_seed(parser)
    add_jobs(parser)
    add_json(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Run the test, and print its table."""
    from sojourn.model.scheme import labelled
    from sojourn.studies.working_conditions import ResponsivenessTest, responsiveness

    found = responsiveness(
        options.file,
        [labelled(text) for text in options.aqm] or None,
        from_=options.from_,
        to=options.to,
        test=ResponsivenessTest(time_limit=options.time_limit),
        capacity=options.capacity,
        congestion_control=options.congestion_control,
        replicates=options.replicates,
        seed=options.seed,
        jobs=options.jobs,
    )
    if not options.json:
        print(found)
        return
    rows = found.table().astype(object)
    print(json.dumps({"tests": rows.where(rows.notna(), None).to_dict("records")}))
