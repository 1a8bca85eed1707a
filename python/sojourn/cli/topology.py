"""``sojourn topology show`` and ``sojourn topology export``, and the options that ``sojourn place`` shares."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from sojourn.base import core, toml
from sojourn.base.core import SojournError
from sojourn.cli.options import add_group, add_json, add_number, add_option, add_seed, number

if TYPE_CHECKING:
    from sojourn.studies.topology import Case

SOURCE = "a file (GraphML, CAIDA as-rel, edge list) or topohub:GROUP/NAME, as in topohub:sndlib/abilene"


def add(verbs: Any) -> None:
    """Add the verb ``topology`` to `verbs`."""
    actions = add_group(verbs, "topology", "Show a real topology, or convert it to a scenario.")
    show = actions.add_parser(
        "show",
        help="print routers, links and offered traffic",
        description="Print a topology's links with the traffic that its demands offer them.",
    )
    show.add_argument("topology", metavar="TOPOLOGY", help=SOURCE)
    options(show)
    add_json(show, "print one JSON document")
    show.set_defaults(command=run_show)
    export = actions.add_parser(
        "export",
        help="print the topology as a scenario",
        description="Print a topology with its traffic as a scenario for `sojourn run` and `sojourn compare`.",
        epilog="example: sojourn topology export topohub:sndlib/abilene > abilene.toml; "
        "sojourn compare abilene.toml --aqm pfifo --aqm codel",
    )
    export.add_argument("topology", metavar="TOPOLOGY", help=SOURCE)
    options(export)
    export.add_argument(
        "--under-test",
        metavar="ROUTERS",
        help="routers whose output queues a comparison replaces, separated by commas (default: all)",
    )
    export.set_defaults(command=run_export)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the traffic on a topology."""
    links = parser.add_argument_group("links")
    add_option(
        links, "--capacity", "RATE", 'rate of links whose speed the source does not give (default "20 Mbit/s")'
    )
    links.add_argument(
        "--capacity-rule",
        choices=("uniform", "degree", "betweenness"),
        default="uniform",
        help="uniform: all these links have --capacity (default); degree, betweenness: it is multiplied by 1, 2, 4, "
        "8 or 16, the nearest to the square root of the product of the two routers' degrees, or of the link's "
        "betweenness, relative to the smallest",
    )
    add_option(links, "--scale", "X", "multiply given speeds, as in 0.001 (default 1)", type=number, default=1.0)
    places = (
        'delay of links where the source gives neither a delay nor places (default "5 ms"); with places it is the '
        "great-circle distance at two thirds of the speed of light"
    )
    add_option(links, "--delay", "TIME", places)
    traffic = parser.add_argument_group("traffic")
    kinds = "own, gravity, uniform or a CSV file of from, to, value (default: the topology's own, else gravity)"
    add_option(traffic, "--demands", "WHAT", kinds)
    metrics = ("hops", "delay", "weight")
    traffic.add_argument(
        "--routing", choices=metrics, default="delay", help="what the shortest routes minimise (default delay)"
    )
    add_option(
        traffic, "--routes", "FILE", "routes from a file: a line for each route, its routers separated by commas"
    )
    load = "offered traffic of the busiest link over its capacity"
    add_option(traffic, "--load", "X", load, type=number, default=0.9)
    add_number(traffic, "--flows", "number of flows", default=100)
    add_option(traffic, "--udp", "X", "share of UDP flows", type=number, default=0.2)
    carried = "bulk: TCP flows send without end (default); transfers: they are finite transfers that make up the load"
    traffic.add_argument("--tcp", choices=("bulk", "transfers"), help=carried)
    queues = parser.add_argument_group("queues and runs")
    add_option(
        queues, "--base", "SCHEME", "scheme of every queue (default pfifo, whose limit is --buffer)", default="pfifo"
    )
    add_option(queues, "--buffer", "TIME", 'limit of --base pfifo as a time (default "100 ms")', default="100 ms")
    add_option(queues, "--duration", "TIME", 'duration of a run (default "12 s")', default="12 s")
    add_option(queues, "--warm-up", "TIME", 'warm-up of a run (default "4 s")', default="4 s")
    add_seed(queues, "of the flows' choice and the runs", default=1)


def case(given: argparse.Namespace) -> tuple[Case, str]:
    """Return what the options ask for, and in words where the demands come from."""
    from sojourn.base.units import rate_bit_s, time_ns
    from sojourn.studies import topology

    raw = topology.load(given.topology)
    net = topology.fill(
        raw,
        capacity_bit_s=rate_bit_s(given.capacity or "20 Mbit/s", "--capacity"),
        rule=given.capacity_rule,
        scale=given.scale,
        delay_ns=time_ns(given.delay or "5 ms", "--delay"),
    )
    wanted, words = topology.demands(net, given.demands)
    made = topology.build(
        net,
        wanted,
        routes=topology.read_routes(given.routes, net) if given.routes else None,
        metric=given.routing,
        load=given.load,
        flows=given.flows,
        udp=given.udp,
        tcp=given.tcp or "bulk",
        base=given.base,
        buffer_ns=time_ns(given.buffer, "--buffer"),
        duration_ns=time_ns(given.duration, "--duration"),
        warm_up_ns=time_ns(given.warm_up, "--warm-up"),
        seed=given.seed,
    )
    # The loader checks what is left: schemes, and that the warm-up is shorter than the run.
    core.load(json.dumps(made.document), source=given.topology)
    return made, words


def run_show(given: argparse.Namespace) -> None:
    """Print routers, links and offered traffic."""
    from sojourn.results import text

    made, demands = case(given)
    net = made.topology
    names = ("from", "to", "rate_bit_s", "delay_ms", "offered_bit_s", "load")
    rows = [
        (net.nodes[a].name, net.nodes[b].name, link.rate_bit_s or 0, (link.delay_ns or 0) / 1e6, made.offered[a, b],
         made.utilisation((a, b)))
        for link in net.links
        for a, b in (link.ends, link.ends[::-1])
    ]  # fmt: skip
    rows.sort(key=lambda row: -row[-1])
    if given.json:
        links = [dict(zip(names, row, strict=True)) for row in rows]
        print(json.dumps({"name": net.name, "nodes": len(net.nodes), "notes": [*net.notes], "links": links}))
        return
    shown = [
        [a, b, f"{rate / 1e6:g}", f"{delay:.2f}", f"{offered / 1e6:.2f}", f"{load:.2f}"]
        for a, b, rate, delay, offered, load in rows
    ]
    print(text.table(["from", "to", "Mbit/s", "delay, ms", "offered, Mbit/s", "load"], shown, numbers=True))
    for note in (f"{net.name}: {len(net.nodes)} routers, {len(net.links)} links", demands, *net.notes, *made.words):
        print(f"{note}.")


def run_export(given: argparse.Namespace) -> None:
    """Print the scenario."""
    made, demands = case(given)
    net = made.topology
    routers = [*range(len(net.nodes))]
    if given.under_test is not None:
        routers = [net.index(name.strip()) for name in given.under_test.split(",")]
    document = made.under_test(routers)
    for note in (f"{net.name}, {demands}", *net.notes, *made.words):
        print(f"# {note}.")
    try:
        print(toml.dumps({**document, "seed": given.seed}), end="")
    except TypeError as error:
        raise SojournError(str(error)) from None
    for node in net.nodes:
        if node.name != node.label:
            print(f"sojourn: note: {node.label!r} is called {node.name}", file=sys.stderr)
