"""``sojourn tune``."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from sojourn.base.core import SojournError
from sojourn.cli.options import add_jobs, add_number, add_option, add_options, add_out, add_sets, resumable, seed
from sojourn.model.scheme import Scheme
from sojourn.plan import folder
from sojourn.results import notices, text

_OUT = "out/tune"


def add(verbs: Any) -> None:
    """Add the verb ``tune`` to `verbs`."""
    tune = verbs.add_parser(
        "tune",
        description="Search the parameters of an algorithm for one or several objectives. The best schemes are then "
        "run on new seeds and on held-out scenarios, and compared with the given scheme and the published presets. "
        "The same command continues an interrupted search.",
        epilog='example: sojourn tune "red gentle" --scenario dumbbell --vary min=5p..50p --vary max=20p..200p '
        "--vary max_p=0.01..0.5:log --minimise sojourn_ms_p99 --maximise goodput_bit_s --holdout flows=5,50",
    )
    tune.add_argument("what", metavar="SCHEME|FILE", help="a scheme as tc writes it, or a tuning in TOML (tune.toml)")
    common(tune)
    add_options(tune, "--minimise", "METRIC", "a metric as an objective; repeatable")
    add_options(tune, "--maximise", "METRIC", "a metric as an objective; repeatable")
    add_options(tune, "--train", "KEY=A,B", "search on these variants of the scenario; repeatable")
    variants = "variants for the final comparison only, as in flows=5,50; repeatable"
    add_options(tune, "--holdout", "KEY=A,B", variants)
    add_number(tune, "--trials", "number of parameter sets to try (default 60)")
    add_number(tune, "--replicates", "replications of each trial (default 3)", dest="replications")
    add_number(tune, "--fresh", "replications of the final comparison (default 10)")
    samplers = ("tpe", "nsga2", "random")
    tune.add_argument("--sampler", choices=samplers, help="how parameter sets are chosen (default tpe)")
    add_out(tune, help="folder for results and report; the same tuning continues in it", default=_OUT)
    tune.set_defaults(command=run)


def common(parser: argparse.ArgumentParser) -> None:
    """Add the options that a tuning shares with a sensitivity analysis."""
    add_option(parser, "--scenario", "FILE", "a scenario file, or the name of a ready-made scenario")
    add_sets(parser)
    ranges = (
        "a parameter and its range; repeatable: min=5p..50p, max_p=0.01..0.5:log, gentle=on|off, "
        "or a name alone for a range around its default"
    )
    add_options(parser, "--vary", "NAME=RANGE", ranges)
    add_option(parser, "--seed", "S", "seed of the search and of the runs (default 1)", type=seed)
    add_jobs(parser)


def run(options: argparse.Namespace) -> None:
    """Run a tuning and print its result."""
    from sojourn.studies import tune
    from sojourn.studies.tune import page

    names = {field.name for field in fields(tune.Plan)}
    given = {name: value for name, value in vars(options).items() if name in names and value not in (None, [])}
    if options.what.endswith(".toml"):
        plan = tune.Plan.read(options.what, **given)
    else:
        for name, wanted in (("scenario", "--scenario dumbbell"), ("vary", "--vary min=5p..50p")):
            if name not in given:
                raise SojournError(f"{wanted.split()[0]} is missing, as in {wanted}")
        plan = tune.Plan.from_document({"scheme": options.what, **given})
    with resumable(options.out):
        found = tune.run(plan, options.out, jobs=options.jobs, force=options.force)
    # Under one label: what acts with some values of the varied parameters is not told.
    tried = [Scheme(one.text, found.base) for one in found.trials if one.text != found.base]
    notices.tell(notices.inert_everywhere((one.document, [scheme]) for one in plan.settings for scheme in tried))
    print(_table(found))
    print("\n".join(text.paragraph(sentence) for sentence in page.headlines(found)))
    text.say(f"{found.runs} new runs; the others were already in the folder")
    print(f"Report: {Path(options.out) / folder.REPORT}")


def _table(found: Any) -> str:
    """Return the recommended scheme beside the scheme as given, a row for each scenario."""
    from sojourn.results import metrics

    objectives = found.plan.objectives
    rows = []
    for setting in found.plan.settings:
        row = [f"{setting.label}{' (held out)' if setting.is_held_out else ''}"]
        for each in objectives:
            difference, scale = found.difference(found.best.text, found.base, setting, each), each.metric.scale
            base = found.final[found.base, setting.label][each.name].mean() * scale
            number = metrics.written(difference, scale)
            verdict = {1: "better", 0: "", -1: "worse"}[found.verdicts[setting.label, each.name]]
            sign = "+" if difference.mean > 0 else ""
            row += [metrics.rounded(base, None), f"{sign}{number}", verdict]
        rows.append(row)
    heads = ["scenario", *(part for each in objectives for part in (each.metric.heading, "difference", ""))]
    return text.table(heads, rows, numbers=True)
