"""The commands ``run``, ``compare``, ``list``, ``demo``, ``report`` and ``schema``."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.cli.options import add_flag, add_jobs, add_json, add_number, add_out, add_scenario, add_seed, add_sets

if TYPE_CHECKING:
    from sojourn.results.results import Results

INTERRUPTED: Final = 130
DEMO: Final = "out/demo"
WORLDS: Final = ("simulated", "real", "both")
NONE: Final = "none"
"""What ``--series`` says for no time series at all."""


def add(verbs: Any) -> None:
    """Add the verbs ``run``, ``compare``, ``list``, ``demo``, ``report`` and ``schema`` to `verbs`."""
    one = verbs.add_parser("run", description="Run a scenario with the schemes that it names.")
    add_scenario(one)
    _options_of(one, replicates="number of replications (default 1: no intervals)")
    add_flag(
        one,
        "--tc",
        "print only the state of the queues under test at the end of one run, as JSON in the form of "
        "`tc -s -j qdisc show`",
    )
    _traces_of(one)
    one.set_defaults(command=run)

    several = verbs.add_parser(
        "compare",
        description="Compare schemes on a scenario. Each scheme replaces those of the queues under "
        "test; the traffic is the "
        "same for all. With --out, runs are written as they finish, and the same command continues after an "
        "interruption.",
        epilog='example: sojourn compare dumbbell --aqm codel --aqm "red min 30p max 90p limit 1000p" --out results',
    )
    add_scenario(several)
    several.add_argument(
        "--aqm",
        action="append",
        metavar="SCHEME",
        help='a scheme as tc writes it, or LABEL=SCHEME, repeatable: --aqm codel --aqm "slow=pie target 20ms" '
        "(default: one of each family; see `sojourn list aqms`)",
    )
    _options_of(several, replicates="number of replications (default: as in the scenario)")
    several.add_argument(
        "--world",
        choices=WORLDS,
        default=WORLDS[0],
        help="real: on real packets and the kernel's own TCP and UDP, for scenarios of one link; "
        "both: the simulation beside it, with the differences (default simulated)",
    )
    several.set_defaults(command=compare)

    listed = verbs.add_parser(
        "list",
        description="List the algorithms, the congestion controls or the kinds of traffic with their parameters, the "
        "ready-made scenarios, or the metrics.",
    )
    listed.add_argument(
        "what", choices=("aqms", "congestion-controls", "traffic", "scenarios", "metrics"), help="what to list"
    )
    add_json(listed, "print one JSON document")
    listed.set_defaults(command=listing)

    demonstration = verbs.add_parser(
        "demo",
        description="Compare five schemes on a home's access link, where downloads share the queue with a video "
        "call, an online game and web objects. Print a table and a conclusion, and write a report.",
    )
    add_flag(demonstration, "--quick", "3 replications in place of 10")
    add_number(demonstration, "--replicates", "number of replications (default: 10, with --quick 3)")
    add_seed(demonstration, "seed of all runs", default=1)
    add_jobs(demonstration)
    add_out(demonstration, help=f"folder for results and report (default {DEMO}, which is replaced)")
    demonstration.set_defaults(command=demo)

    drawn = verbs.add_parser(
        "report",
        description="Draw report.html again from the results in a folder; nothing is simulated.",
    )
    drawn.add_argument("folder", metavar="DIR", help="a folder that `run`, `compare` or `demo` wrote")
    drawn.set_defaults(command=report)

    described = verbs.add_parser("schema", description="Print the JSON Schema of scenario files.")
    described.set_defaults(command=schema)


def _options_of(parser: argparse.ArgumentParser, *, replicates: str) -> None:
    add_number(parser, "--replicates", replicates)
    add_seed(parser)
    add_jobs(parser)
    add_sets(parser, example=': --set "links.bottleneck.rate=50 Mbit/s"')
    parser.add_argument(
        "--series",
        metavar="INTERVAL",
        help="sample time series in every run, as in --series 50ms (default: in the first "
        "replication); none: in no run",
    )
    add_out(parser, help="write a run folder: tables (Parquet), scenario, report.html")
    add_json(parser)


def _traces_of(parser: argparse.ArgumentParser) -> None:
    traces = parser.add_argument_group("packet traces and decision logs")
    traces.add_argument(
        "--pcapng",
        metavar="DIR",
        help="write the packets that arrive at each queue under test as pcapng; a comment says what the queue did "
        "with each",
    )
    traces.add_argument(
        "--pcapng-at",
        action="append",
        default=[],
        metavar="QUEUE",
        help="the queues for --pcapng, repeatable: a name, as in --pcapng-at 'left->right', or all",
    )
    traces.add_argument(
        "--pcapng-snaplen",
        type=int,
        metavar="BYTES",
        help="bytes of each packet that are kept, Ethernet header included (default 128)",
    )
    add_flag(
        traces,
        "--pcapng-departures",
        "write a second file of each queue with the packets as they leave it, with CE where they were marked",
    )
    traces.add_argument(
        "--decisions",
        metavar="DIR",
        help="write each arrival, drop, mark and departure at queues under test as a row of a Parquet file",
    )
    traces.add_argument(
        "--decisions-at",
        action="append",
        default=[],
        metavar="QUEUE",
        help="the queues for --decisions, repeatable: a name or all",
    )


def _traced(options: argparse.Namespace) -> dict[str, Any]:
    """Return the traces that are asked for."""
    needs = {"pcapng": ("at", "snaplen", "departures"), "decisions": ("at",)}
    for name, parts in needs.items():
        for part in parts:
            if getattr(options, f"{name}_{part}") and not getattr(options, name):
                raise SojournError(f"--{name}-{part} needs a folder for what is written; add --{name} DIR")
    if not (options.pcapng or options.decisions):
        return {}
    from sojourn.plan.logs import DecisionLogs, PacketTraces

    packets = options.pcapng and PacketTraces(
        folder=options.pcapng,
        at=options.pcapng_at,
        snaplen_bytes=128 if options.pcapng_snaplen is None else options.pcapng_snaplen,
        departures=options.pcapng_departures,
        force=options.force,
    )
    decisions = options.decisions and DecisionLogs(
        folder=options.decisions, at=options.decisions_at, force=options.force
    )
    return {"pcapng": packets or None, "decisions": decisions or None}


def run(options: argparse.Namespace) -> int:
    """Run a scenario as it is written."""
    if options.tc:
        if _traced(options):
            raise SojournError("--tc prints the state of queues and nothing else: leave out --pcapng and --decisions")
        from sojourn.cli import tc

        tc.run(options)
        return 0
    from sojourn.plan import folder, runner

    with ExitStack() as stack:
        if options.out:
            # Before the runs, so that a folder that cannot be written is not found only after an hour.
            staging = stack.enter_context(folder.staged(options.out, force=options.force))
        replicates = 1 if options.replicates is None else options.replicates
        results = runner.run(options.file, replicates=replicates, **_simulated(options), **_traced(options))
        if options.out:
            folder.write(results, staging, command=_command())
    _print(options, results)
    return 0


def _simulated(options: argparse.Namespace) -> dict[str, Any]:
    # The warm-up is judged by time series: one run of each scheme always has them.
    series = None if options.series == NONE else options.series or "auto"
    return {"seed": options.seed, "jobs": options.jobs, "series": series, "sets": options.sets}


def _command() -> str:
    return shlex.join(["sojourn", *sys.argv[1:]])


def compare(options: argparse.Namespace) -> int:
    """Compare schemes on a scenario."""
    from sojourn.model.scheme import DEFAULT_SCHEMES, labelled
    from sojourn.plan import runner

    schemes = [labelled(text) for text in options.aqm or DEFAULT_SCHEMES]
    given: dict[str, Any] = {"replicates": options.replicates, "seed": options.seed, "sets": options.sets}
    own = {**given, **_simulated(options)}
    if is_real := options.world != WORLDS[0]:
        from sojourn.plan.progress import for_stderr

        own = {**given, "world": "real", "watch": for_stderr()}
    try:
        results = runner.compare(
            options.file, schemes, out=options.out, force=options.force, command=_command(), **own
        )
    except KeyboardInterrupt:
        # The same command continues, where something is kept.
        if not options.out or not Path(options.out).exists():
            raise
        print(
            f"sojourn: interrupted; finished runs are in {options.out}, the same command continues", file=sys.stderr
        )
        return INTERRUPTED
    if is_real and (late := results.meta["world"]["late"]):
        print(f"sojourn: warning: MARKED late: {late}", file=sys.stderr)
    _print(options, results)
    if options.world == "both":
        from sojourn.real.shell.flows import unlike_the_kernel
        from sojourn.results import beside

        simulated = runner.compare(options.file, schemes, jobs=options.jobs, **given)
        print(f"\n{beside.table(results, simulated)}")
        if unlike := unlike_the_kernel(runner.canonical(options.file, options.sets)):
            print(f"\nThe kernel's TCP has settings that the scenario's flows do not have: {unlike}.")
    return 0


def _print(options: argparse.Namespace, results: Results) -> None:
    from sojourn.results import notices

    notices.tell(results.warnings)
    if options.json:
        asked = bool(options.series or options.out or results.scenario.get("series"))
        print(json.dumps(results.to_document(series=asked), ensure_ascii=False, allow_nan=False))
        return
    from sojourn.results import groups, text

    print(text.single(results) if results.kind == "run" else text.comparison(results))
    if results.phase_names:
        print(f"\n{text.phases(results)}")
        if results.kind == "run":
            print()
    if differences := text.differences(results):
        print(f"\n{differences}\n")
    if len(results.labels) > 1 and len(groups.of(results)) > 1:
        print(f"{text.groups(results)}\n")
        if verdict := groups.verdict(results):
            print(f"{text.paragraph(verdict)}\n")
    if results.kind != "run" and (queues := text.queues(results)):
        print(f"{queues}\n")
    print(text.footnote(results))
    if options.out:
        from sojourn.plan import folder

        print(f"Report: {Path(options.out) / folder.REPORT}")


def listing(options: argparse.Namespace) -> None:
    """List algorithms, congestion controls, kinds of traffic, scenarios or metrics."""
    from sojourn.model.network import bundled_scenarios
    from sojourn.results import text

    match options.what:
        case "aqms":
            rows = list(core.aqms())
            shown = "\n".join(_aqm(row) for row in rows)
        case "congestion-controls":
            rows = list(core.congestion_controls())
            shown = "\n".join(_with_keys(row) for row in rows)
        case "traffic":
            rows = list(core.traffic_kinds())
            shown = "\n".join(_with_keys(row) for row in rows)
        case "scenarios":
            rows = [_scenario(name, toml) for name, toml in bundled_scenarios().items()]
            shown = text.table(["name", "description"], [[row["name"], row["description"]] for row in rows])
        case _:
            rows = list(core.metrics())
            shown = text.table(
                ["metric", "unit", "of", "estimator"],
                [[row["name"], row["unit"], ", ".join(row["scopes"]), row["estimator"]] for row in rows],
            )
    print(json.dumps(rows, ensure_ascii=False) if options.json else shown)


def _scenario(name: str, toml: str) -> core.Document:
    document = core.load(toml, source=f"{name}.toml")
    return {"name": name, "description": document.get("description") or "", "scenario": document}


def _aqm(row: core.Document) -> str:
    from sojourn.results import text

    lines = [f"{row['name']}  ({row['title']})", text.paragraph(str(row["summary"]), "    ")]
    if row["presets"]:
        lines.append(f"    preset: {', '.join(row['presets'])}")
    for parameter in row["parameters"]:
        default = "" if parameter["default"] in (None, "") else f" [{parameter['default']}]"
        lines.append(text.paragraph(f"{parameter['name']}{default}  {parameter['doc']}", "      "))
    lines.append(text.paragraph(f"Source: {row['source']}", "    "))
    return "\n".join(lines) + "\n"


def _with_keys(row: core.Document) -> str:
    from sojourn.results import text

    lines = [str(row["name"]), text.paragraph(str(row["summary"]), "    ")]
    for key in row["keys"]:
        default = "" if key["default"] is None else f" [{json.dumps(key['default'])}]"
        lines.append(text.paragraph(f"{key['name']}{default}  {key['doc']}", "      "))
    return "\n".join(lines) + "\n"


def report(options: argparse.Namespace) -> None:
    """Draw a run folder's report again."""
    from sojourn.plan import folder
    from sojourn.studies import tune

    place = Path(options.folder)
    meta = folder.read_meta(place)
    if meta["format"] == folder.FORMAT:
        page = _page(place)
    elif meta["format"] == tune.FORMAT:
        # Its runs are in its log: nothing is simulated, and every file is written again.
        tune.run(tune.Plan.read(place / "tune.toml"), place)
        print(place / folder.REPORT)
        return
    else:
        raise SojournError(f"{place}: not a folder of this version (format {meta['format']!r})")
    folder.write_text(place / folder.REPORT, page)
    print(place / folder.REPORT)


def _page(place: Path) -> str:
    from sojourn.results.results import Results
    from sojourn.view.report import render

    return render(Results.read(place))


def demo(options: argparse.Namespace) -> None:
    """Run the demonstration."""
    from sojourn.plan import folder
    from sojourn.studies import demo as demonstration

    if options.out:
        folder.refuse_results(options.out, force=options.force)
    print(
        demonstration.run(
            options.out or DEMO,
            quick=options.quick,
            replicates=options.replicates,
            seed=options.seed,
            jobs=options.jobs,
            command=_command(),
        )
    )


def schema(_: argparse.Namespace) -> None:
    """Print the JSON Schema of scenarios."""
    print(json.dumps(core.schema(), indent=2, ensure_ascii=False))
