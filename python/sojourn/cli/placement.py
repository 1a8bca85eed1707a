"""``sojourn place``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import core, toml
from sojourn.base.core import SojournError
from sojourn.base.processors import cores
from sojourn.cli import topology
from sojourn.cli.options import add_jobs, add_json, add_number, add_option, add_options, add_out, resumable
from sojourn.plan import folder
from sojourn.plan.progress import phases_bar
from sojourn.results import text

if TYPE_CHECKING:
    from sojourn.studies.placement import Found
    from sojourn.studies.topology import Case

FORMAT: Final = "sojourn place 1"
_OUT: Final = "out/place"
_FILES: Final = (
    "choices.csv",
    "tried.csv",
    "rankings.csv",
    "scenario.toml",
    "meta.json",
    folder.REPORT,
    "runs.jsonl",
)


def add(verbs: Any) -> None:
    """Add the verb ``place`` to `verbs`."""
    parser = verbs.add_parser(
        "place",
        description="Find the routers of a topology on which a scheme helps most. Candidates come from centralities "
        "and from a greedy and local search that runs the simulator; all are then compared on new seeds. The same "
        "command continues an interrupted search.",
        epilog="example: sojourn place --topology topohub:sndlib/abilene --budget 2 --objective p99_latency",
    )
    add_option(parser, "--topology", "TOPOLOGY", topology.SOURCE, required=True)
    add_option(parser, "--budget", "K", "number of routers that get the scheme", type=int, required=True)
    parser.add_argument(
        "--objective",
        choices=("mean_latency", "p99_latency", "loss", "fct"),
        default="mean_latency",
        help="what to minimise (default mean_latency; fct implies --tcp transfers unless --tcp is given)",
    )
    add_option(parser, "--scheme", "SCHEME", "scheme of the chosen routers' output queues", default="codel")
    names = (
        "a centrality to compare; repeatable (default: all): load, queued, flow_betweenness, katz_flow, katz, "
        "betweenness, closeness, degree, random"
    )
    add_options(parser, "--centrality", "NAME", names, dest="centralities")
    parser.add_argument(
        "--rule",
        action="store_true",
        help="print the routers that a rule chooses from topology and demands, without a simulation",
    )
    add_number(parser, "--runs", "number of runs that the search may use", default=240)
    add_number(parser, "--replicates", "replications of each placement in the search", default=3)
    add_number(parser, "--fresh", "replications of the final comparison", default=10)
    add_jobs(parser)
    topology.options(parser)
    add_out(parser, help="folder for results and report; the same search continues in it", default=_OUT)
    add_json(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Search a placement and print the table."""
    from sojourn.studies import placement
    from sojourn.studies.placement import evaluate, page

    if options.jobs is not None and not 1 <= options.jobs <= 4096:
        raise SojournError(f"--jobs is {options.jobs}; allowed: 1 to 4096")
    if options.tcp is None:
        options.tcp = "transfers" if options.objective == "fct" else "bulk"
    case, demands = topology.case(options)
    if options.rule:
        _by_rule(options, case)
        return
    plan = placement.Plan(
        budget=options.budget,
        objective=options.objective,
        scheme=core.parse_aqm(options.scheme),
        runs=options.runs,
        replications=options.replicates,
        fresh=options.fresh,
        seed=options.seed,
        names=tuple(dict.fromkeys(options.centralities)),
    )
    plan.check(case)
    question = _question(options)
    place = _open(options.out, question, force=options.force)
    runs = plan.runs + plan.fresh * (len(plan.names or placement.ALL) + 3)
    with resumable(place), phases_bar(None, runs) as bar:
        tick = partial(bar.advance, bar.task_ids[0])
        found = placement.search(case, plan, jobs=options.jobs or cores(), log=place / evaluate.LOG, tick=tick)
    _write(found, place, page.render(found, demands=demands, command=["sojourn", *sys.argv[1:]]), question)
    if options.json:
        print(json.dumps(document(found), ensure_ascii=False, allow_nan=False))
        return
    print(text.table(page.heads(found), page.rows(found), numbers=True))
    print("\n".join(text.paragraph(sentence) for sentence in page.headlines(found)))
    print(
        f"{len(found.tried)} placements searched with {plan.replications} replications, judged on {plan.fresh} fresh "
        "ones; ± half-width of the 95 % interval."
    )
    text.say(f"{found.runs} new runs; the others were already in the folder")
    print(f"Report: {Path(options.out) / folder.REPORT}")


def _by_rule(options: argparse.Namespace, case: Case) -> None:
    """Print the rule's choice, and the mean queueing delay that it expects."""
    from sojourn.studies.placement import relief

    most = len(case.topology.nodes) - 1
    if not 1 <= options.budget <= most:
        raise SojournError(f"--budget is {options.budget}; allowed: 1 to {most} on {most + 1} routers")
    if options.objective != "mean_latency":
        raise SojournError(f"--rule is about mean_latency; --objective is {options.objective}")
    if options.tcp != "bulk":
        raise SojournError("--rule is about bulk TCP, which fills buffers; --tcp is transfers")
    chosen = relief.choose(case, options.budget)
    names = [case.topology.nodes[k].name for k in sorted(chosen)]
    of = relief.Relief.of(case)
    flows = sum(case.tcp.values()) + sum(case.udp.values())
    before, after = (of.delay(routers) / flows for routers in (frozenset(), chosen))
    if options.json:
        print(json.dumps({"routers": names, "buffers_before": before, "buffers_after": after}, ensure_ascii=False))
        return
    print("Chosen by the rule: " + " and ".join(names))
    print(
        text.paragraph(
            f"Of the buffers on its path, a flow is expected to meet {after:.2f} full ones instead of {before:.2f} "
            "(mean over flows). Nothing was simulated."
        )
    )


def document(found: Found) -> core.Document:
    """Return what was found as a document: names of routers, means with intervals."""
    nodes = found.case.topology.nodes

    def interval(estimate: Any) -> list[float] | None:
        return None if estimate.low is None else [estimate.low, estimate.high]

    choices = []
    for choice in found.choices:
        value, behind, share = found.estimate(choice.name), found.behind(choice.name), found.share(choice.name)
        is_known = share.replications > 0 and math.isfinite(share.mean)
        choices.append(
            {
                "name": choice.name,
                "routers": [nodes[k].name for k in sorted(choice.routers)],
                "mean": value.mean,
                "interval": interval(value),
                "behind": behind.mean,
                "behind_interval": interval(behind),
                "share": share.mean if is_known else None,
                "share_interval": interval(share) if is_known else None,
            }
        )
    return {
        "topology": found.case.topology.name,
        "objective": found.plan.objective,
        "scheme": found.plan.scheme,
        "budget": found.plan.budget,
        "tried": len(found.tried),
        "exhausted": found.exhausted,
        "choices": choices,
        "rankings": {name: [nodes[k].name for k in order] for name, order in found.rankings.items()},
    }


def _question(options: argparse.Namespace) -> str:
    """Return what was asked for, without the options that change no result."""
    aside = ("command", "out", "force", "jobs", "json", "rule")
    given = {name: value for name, value in vars(options).items() if name not in aside}
    return json.dumps(given, sort_keys=True, ensure_ascii=False, default=str)


def _open(out: str, question: str, *, force: bool) -> Path:
    """Return the folder, made where it is not there, with nothing foreign in it and no other search's results."""
    place = Path(out)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SojournError(f"cannot write the folder {out!r}: {error.strerror}") from None
    foreign = [file.name for file in place.iterdir() if file.name not in _FILES and not file.name.startswith(".")]
    if foreign:
        raise SojournError(
            f"the folder {out!r} holds {sorted(foreign)[0]!r}, no file of a placement; allowed: a new folder, or one "
            "of `sojourn place`"
        )
    finished = folder.read_meta(place) if (place / "meta.json").exists() else {}
    if finished.get("question", question) != question and not force:
        raise SojournError(f"{out!r} holds another search: name another folder, or replace it with --force")
    return place


def _write(found: Found, place: Path, page: str, question: str) -> None:
    """Write every file of a finished search, each whole or not at all, the report last."""
    nodes = found.case.topology.nodes
    shown = document(found)
    heads = ["placement", "mean", "low", "high", "behind", "behind_low", "behind_high", "share", "routers"]
    table = [
        [
            each["name"],
            each["mean"],
            *(each["interval"] or ["", ""]),
            each["behind"],
            *(each["behind_interval"] or ["", ""]),
            "" if each["share"] is None else each["share"],
            " ".join(each["routers"]),
        ]
        for each in shown["choices"]
    ]
    folder.write_text(place / "choices.csv", text.as_csv(heads, table))
    tried = ((" ".join(nodes[k].name for k in sorted(routers)), score) for routers, score in found.tried.items())
    folder.write_text(place / "tried.csv", text.as_csv(["routers", found.plan.objective], tried))
    ranks = [[name, *order] for name, order in shown["rankings"].items()]
    folder.write_text(
        place / "rankings.csv", text.as_csv(["centrality", *(str(k + 1) for k in range(len(nodes)))], ranks)
    )
    best = found.case.placed(found.routers("best found"), found.plan.scheme)
    folder.write_text(place / "scenario.toml", toml.dumps({**best, "seed": found.plan.seed}))
    folder.write_text(place / "meta.json", folder.stamp(FORMAT, question=question))
    folder.write_text(place / folder.REPORT, page)
