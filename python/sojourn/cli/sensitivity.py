"""``sojourn sensitivity``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from sojourn.base import toml
from sojourn.base.core import SojournError
from sojourn.cli.options import add_number, add_options, add_out
from sojourn.cli.tune import common
from sojourn.plan import folder
from sojourn.results import text

FORMAT: Final = "sojourn sensitivity 1"
_PARTS: Final = ("indices.csv", "points.csv")
_METRICS: Final = ("sojourn_ms_p99", "goodput_bit_s")
_SAMPLES: Final = {"sobol": 128, "morris": 32}


def add(verbs: Any) -> None:
    """Add the verb ``sensitivity`` to `verbs`."""
    parser = verbs.add_parser(
        "sensitivity",
        description="Find which parameters of an algorithm affect a metric on a scenario, by Sobol "
        "indices (shares of "
        "the variance) or Morris indices (mean size of the change), with their intervals.",
        epilog="example: sojourn sensitivity red --scenario dumbbell --vary min=5p..20p --vary max=30p..100p "
        "--vary max_p=0.01..0.5:log --vary w --metric sojourn_ms_p99",
    )
    given = "a scheme as tc writes it; parameters that are not varied stay as given"
    parser.add_argument("scheme", metavar="SCHEME", help=given)
    common(parser)
    metric = f"a metric; repeatable (default: {' and '.join(_METRICS)})"
    add_options(parser, "--metric", "METRIC", metric, dest="metrics")
    parser.add_argument("--method", choices=tuple(_SAMPLES), default="sobol", help="(default sobol)")
    add_number(parser, "--samples", "number of base samples, a power of 2 for Sobol (default: Sobol 128, Morris 32)")
    add_number(parser, "--replicates", "replications of each point", default=2)
    add_out(parser, help="write a folder: indices, points, scenario, report.html")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Run an analysis and print its indices."""
    from contextlib import ExitStack

    from sojourn.studies import sensitivity
    from sojourn.studies.sensitivity import page

    if options.scenario is None or not options.vary:
        raise SojournError("--scenario and --vary are needed, as in --scenario dumbbell --vary min --vary max_p")
    with ExitStack() as stack:
        staging = stack.enter_context(folder.staged(options.out, force=options.force)) if options.out else None
        found = sensitivity.run(
            options.scheme,
            options.scenario,
            vary=options.vary,
            metrics=options.metrics or _METRICS,
            method=options.method,
            samples=options.samples or _SAMPLES[options.method],
            replications=options.replicates,
            sets=options.sets,
            seed=1 if options.seed is None else options.seed,
            jobs=options.jobs,
        )
        if staging:
            write(found, staging)
    for name in found.metrics:
        print(text.table([name, *page.heads(found)], page.rows(found, name), numbers=True))
        print()
    print("\n".join(page.headlines(found)))
    print(f"{found.points} points, {found.replications} replications each; ± half-width of the 95 % interval.")
    if options.out:
        print(f"Report: {Path(options.out) / folder.REPORT}")


def write(found: Any, place: Path) -> None:
    """Write the files of an analysis into an empty folder."""
    from sojourn.studies.sensitivity.page import render

    (place / "meta.json").write_text(folder.stamp(FORMAT, parts=_PARTS), encoding="utf-8")
    (place / "scenario.toml").write_text(toml.dumps(found.setting.document), encoding="utf-8")
    heads = ["metric", "parameter", "first", "first_half_width", "total", "total_half_width"]
    table = [
        [name, index.name, index.first, index.first_half, index.total, index.total_half]
        for name, indices in found.indices.items()
        for index in indices
    ]
    (place / "indices.csv").write_text(text.as_csv(heads, table), encoding="utf-8")
    points = zip(*found.values.values(), strict=True)
    (place / "points.csv").write_text(text.as_csv(found.metrics, points), encoding="utf-8")
    (place / folder.REPORT).write_text(render(found), encoding="utf-8")
