"""``sojourn theory``."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from sojourn.base.core import SojournError
from sojourn.base.units import NUMBER
from sojourn.cli.options import add_flag, add_group, add_json, number
from sojourn.cli.quantity import RATES, SIZES, TIMES, in_base_unit
from sojourn.results import text

if TYPE_CHECKING:
    from sojourn.theory import Queue


def add(verbs: Any) -> None:
    """Add the verb ``theory`` to `verbs`."""
    actions = add_group(verbs, "theory", "What theory says, without a simulation.", what="question")

    queue = actions.add_parser(
        "queue",
        help="the steady state of a queue with a dropping function",
        description="The steady state of a queue whose losses depend on its length alone: dropping_function, "
        "threshold, pfifo.",
        epilog='example: sojourn theory queue "dropping_function function d1 count system" --load 1.0',
    )
    queue.add_argument("scheme", metavar="SCHEME", help="as tc writes it")
    _load(queue)
    queue.add_argument(
        "--scv",
        type=number,
        default=1.0,
        metavar="C2",
        help="squared coefficient of variation of the service time: 1 exponential (default), 0 fixed",
    )
    queue.add_argument(
        "--bursts",
        metavar="RATIO,BUSY,CYCLE",
        help="arrivals that switch between two rates: their ratio, the busy share of time, mean service times of a "
        "busy phase",
    )
    queue.add_argument(
        "--quantile",
        type=number,
        action="append",
        default=[],
        metavar="Q",
        help="a quantile of the delay, repeatable",
    )
    add_flag(queue, "--buffer", "let a dropping function end at its limit (default: it goes on without end)")
    _service(queue)
    queue.set_defaults(command=_queue)

    design = actions.add_parser(
        "design",
        help="compute the parameters of a dropping function for a goal",
        description="Solve for the location of a dropping function, so that the queue meets a goal.",
        epilog="example: sojourn theory design red --mean 50",
    )
    design.add_argument(
        "shape",
        metavar="SHAPE",
        help="small_buffer, red, gred, nlred, tred, rem, s, exponential, constant, or a formula in n with an x to "
        "solve for",
    )
    _load(design)
    goal = design.add_mutually_exclusive_group(required=True)
    goal.add_argument("--mean", type=number, metavar="PACKETS", help="mean number in the system")
    goal.add_argument("--loss", type=number, metavar="RATIO", help="loss ratio")
    goal.add_argument("--response", type=number, metavar="SERVICES", help="mean time in the system")
    goal.add_argument(
        "--delay", metavar="Q,SERVICES", help="a quantile of the time in the system, and its value: 0.99,120"
    )
    design.add_argument("--d-max", type=number, default=0.5, metavar="P", help="largest probability (default 0.5)")
    design.add_argument("--width", type=number, metavar="PACKETS", help="width of the rise (default: as published)")
    design.set_defaults(command=_design)

    optimal = actions.add_parser(
        "optimal",
        help="compute the best of all dropping functions for an objective",
        description="Compute the dropping function with the least cost of delay and losses, or with the least total "
        "impairment C of Barczyk and Chydzinski (2022) at a utilisation, and compare it with their nine.",
        epilog='example: sojourn theory optimal --loss-cost 1000 --batch "1:0.5,10:0.5"',
    )
    _load(optimal)
    goal = optimal.add_mutually_exclusive_group(required=True)
    goal.add_argument(
        "--loss-cost",
        type=number,
        metavar="PACKETS",
        help="cost of a loss; a packet in the system costs 1 in a mean service time",
    )
    goal.add_argument(
        "--utilisation",
        type=number,
        metavar="SHARE",
        help="find the least C among functions with at least this utilisation",
    )
    optimal.add_argument("--bursts", metavar="RATIO,BUSY,CYCLE", help="as for `sojourn theory queue`")
    optimal.add_argument("--batch", metavar="SIZE:SHARE,...", help="packets that arrive together, and how often")
    optimal.add_argument("--room", type=int, default=120, metavar="PACKETS", help="largest queue (default 120)")
    optimal.set_defaults(command=_optimal)

    stability = actions.add_parser(
        "stability",
        help="compute the fixed point and stability of TCP over one link",
        description="Compute the fixed point of Reno flows over one link in the fluid model, and "
        "whether it is stable.",
        epilog='example: sojourn theory stability "red min 50p max 150p" --flows 50 --rate "75 Mbit/s" --rtt 100ms',
    )
    stability.add_argument("scheme", metavar="SCHEME", help="red, pi, pie, rem, avq, codel or threshold")
    stability.add_argument("--flows", type=number, required=True, metavar="N", help="number of flows")
    _link(stability)
    stability.set_defaults(command=_stability)

    buffer = actions.add_parser(
        "rules",
        help="rules of thumb for a link: BDP, buffer, windows, congestion levels",
        description="Compute rules of thumb for a link: bandwidth-delay product, windows and losses of Reno, "
        "buffers, and the number of flows for levels of congestion.",
        epilog='example: sojourn theory rules --flows 20 --rate "20 Mbit/s" --rtt 40ms --queue-delay 17ms',
    )
    buffer.add_argument("--flows", type=int, required=True, metavar="N", help="number of flows")
    _link(buffer)
    buffer.add_argument(
        "--queue-delay",
        metavar="TIME",
        help="mean time in the queue, which makes windows larger (default: no queue)",
    )
    buffer.set_defaults(command=_rules)


def _load(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--load", type=number, default=1.0, metavar="RHO", help="arrivals over capacity (default 1)")
    add_json(parser)


def _link(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", required=True, metavar="RATE", help="rate of the link, as in 75 Mbit/s")
    parser.add_argument("--rtt", required=True, metavar="TIME", help="base round-trip time")
    parser.add_argument("--packet", default="1500 B", metavar="SIZE", help="packet size on the wire (default 1500 B)")
    add_json(parser)


def _service(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", metavar="RATE", help="rate of the link; times are then also printed in ms")
    parser.add_argument("--packet", default="1500 B", metavar="SIZE", help="mean packet size (default 1500 B)")


def _packets_s(rate: str, packet: str) -> float:
    """Return the packets/s of a rate."""
    return in_base_unit("--rate", rate, RATES) / 8 / in_base_unit("--packet", packet, SIZES)


def _numbers(name: str, given: str, count: int) -> list[float]:
    try:
        found = [float(one) for one in given.split(",")]
    except ValueError:
        found = []
    if len(found) != count:
        raise SojournError(f"{name}={given!r}; allowed: {count} numbers with commas between them")
    return found


def _print(options: argparse.Namespace, model: str, answer: str, document: Mapping[str, Any]) -> None:
    """Print an answer, as a text or as JSON, and what its model assumes."""
    from sojourn.theory import MODELS

    of = MODELS[model]
    if options.json:
        print(json.dumps({**document, "model": asdict(of)}, allow_nan=False, default=float, ensure_ascii=False))
        return
    print(answer)
    for title, lines in (
        ("Formulas", [f"{one.quantity}: {one.formula} ({one.source})" for one in of.formulas]),
        ("Assumptions", of.assumptions),
        ("Where the simulation departs", of.departures),
    ):
        print(f"\n{title}")
        for line in lines:
            print(f"  * {text.paragraph(line.replace('`', ''), '    ').lstrip()}")


_Rows: TypeAlias = list[tuple[str, float | str, str]]
"""What, its value, and its unit; a value with the unit % is a share."""


def _table(rows: _Rows) -> str:
    def shown(value: float | str, unit: str) -> str:
        return value if isinstance(value, str) else f"{100 * value if unit == '%' else value:.6g}"

    return text.table(["", "value", "unit"], [[name, shown(value, unit), unit] for name, value, unit in rows])


_STEADY: Final = {
    "mean_packets": ("mean number in the system", "packets"),
    "sd_packets": ("standard deviation", "packets"),
    "waiting_packets": ("mean number waiting", "packets"),
    "loss_ratio": ("loss ratio", "%"),
    "utilisation": ("utilisation", "%"),
    "response": ("mean time in the system", "service times"),
}


def _steady(found: Queue, *names: str) -> _Rows:
    """Return rows for some numbers of a steady state, and for its quantiles."""
    quantiles = [(f"{q:g} quantile of it", value, "service times") for q, value in found.quantiles.items()]
    return [*((_STEADY[name][0], getattr(found, name), _STEADY[name][1]) for name in names), *quantiles]


def _queue(options: argparse.Namespace) -> None:
    from sojourn import theory

    arrivals = theory.poisson()
    if options.bursts:
        ratio, busy, cycle = _numbers("--bursts", options.bursts, 3)
        arrivals = theory.switched(ratio=ratio, busy=busy, cycle=cycle)
    if options.scv == 0:
        service = theory.fixed()
    elif options.scv == 1:
        service = theory.exponential()
    else:
        service = theory.phase_type(scv=options.scv)
    found = theory.queue(
        options.scheme,
        load=options.load,
        arrivals=arrivals,
        service=service,
        quantiles=options.quantile,
        endless=not options.buffer,
    )
    runs = None
    if options.scv > 0:
        runs = theory.loss_runs(
            options.scheme, load=options.load, arrivals=arrivals, service=service, endless=not options.buffer
        )
    rows = _steady(found, "mean_packets", "sd_packets", "waiting_packets", "loss_ratio", "utilisation", "response")
    if runs is not None and math.isfinite(runs.burst_ratio):
        rows.append(("burst ratio", runs.burst_ratio, ""))
    if options.rate:
        each = 1e3 / _packets_s(options.rate, options.packet)
        rows.append(("mean time in the system", found.response * each, "ms"))
        rows += [(f"{q:g} quantile of it", value * each, "ms") for q, value in found.quantiles.items()]
    document = {key: value for key, value in asdict(found).items() if key != "distribution"}
    document["distribution"] = found.distribution.tolist()
    if runs is not None and math.isfinite(runs.burst_ratio):
        document["burst_ratio"] = runs.burst_ratio
    _print(options, "queue", _table(rows), document)


def _design(options: argparse.Namespace) -> None:
    from sojourn import theory

    level = _numbers("--delay", options.delay, 2) if options.delay else None
    goal = theory.Goal(
        mean_packets=options.mean,
        loss_ratio=options.loss,
        response=options.response,
        quantile=(level[0], level[1]) if level else None,
    )
    found = theory.design(options.shape, goal, load=options.load, d_max=options.d_max, width=options.width)
    names = ("mean_packets", "sd_packets", "loss_ratio", "response")
    numbers = {name: getattr(found.found, name) for name in names}
    document = {"scheme": found.scheme, "location": found.location, **numbers}
    document["quantiles"] = dict(found.found.quantiles)
    rows: _Rows = [("location", found.location, "packets"), *_steady(found.found, *names)]
    _print(options, "design", f"{_table(rows)}\n\n{found.scheme}", document)


def _optimal(options: argparse.Namespace) -> None:
    from sojourn.theory import optimal

    batch = (options.batch or "1:1").replace(" ", "")
    sizes = dict(re.findall(rf"([0-9]+):({NUMBER})", batch))
    if ",".join(f"{size}:{share}" for size, share in sizes.items()) != batch:
        raise SojournError(f"--batch={options.batch!r}; allowed: sizes with their shares, as in 1:0.5,10:0.5")
    ratio, busy, cycle = _numbers("--bursts", options.bursts, 3) if options.bursts else (1.0, 0.5, 1.0)
    of = optimal.model(
        load=options.load,
        room=options.room,
        bursts=(ratio, busy, cycle) if options.bursts else None,
        batch={int(size): float(share) for size, share in sizes.items()},
    )
    if options.loss_cost is not None:
        best = optimal.cheapest(of, options.loss_cost)
    else:
        best = optimal.least_impairment(of, utilisation=options.utilisation)
    nine = {f"d{k}": optimal.of_scheme(of, f"dropping_function function d{k} count system") for k in range(9)}

    def numbers(one: optimal.Steady) -> dict[str, Any]:
        cost = (
            {}
            if options.loss_cost is None
            else {"cost": one.mean_packets + options.loss_cost * one.loss_ratio * of.rate}
        )
        return {
            **cost,
            "mean_packets": one.mean_packets,
            "loss_ratio": one.loss_ratio,
            "burst_ratio": one.burst_ratio if math.isfinite(one.burst_ratio) else 1.0,
            "utilisation": one.utilisation,
            "impairment": one.impairment,
        }

    found = {"best": numbers(best), **{name: numbers(one) for name, one in nine.items()}}
    heads = ["", *(key.replace("_", " ") for key in found["best"])]
    answer = text.table(heads, [[name, *(f"{value:.5g}" for value in of.values())] for name, of in found.items()])
    if best.threshold is not None:
        answer += f"\n\nThe best function drops nothing below {best.threshold} packets and everything from there on."
    else:
        turns = [n for n in range(of.room) if n == 0 or abs(best.d[n + 1] - 2 * best.d[n] + best.d[n - 1]) > 1e-4]
        table = ",".join(f"{n}:{best.d[n]:.4g}" for n in turns)
        answer += f"\n\nThe best function found: dropping_function table {table} count system"
    _print(options, "optimal", answer, {**found, "d": best.d.tolist(), "threshold": best.threshold})


def _stability(options: argparse.Namespace) -> None:
    from sojourn.theory import stability
    from sojourn.theory.fluid import FlowClass, Fluid, Link
    from sojourn.theory.translate import controller

    own, limit = controller(options.scheme)
    capacity = _packets_s(options.rate, options.packet)
    rtt = in_base_unit("--rtt", options.rtt, TIMES)

    def model(base: float) -> Fluid:
        link = Link(capacity_packets_s=capacity, controller=own, buffer_packets=limit)
        return Fluid([link], [FlowClass(flows=options.flows, base_rtt_s=base)])

    linear = stability.linearise(model(rtt))
    growth = float(stability.roots(linear)[0].real)
    margin = stability.delay_margin(linear)
    hopf = stability.hopf(model, min(rtt, 0.001), max(rtt, 1.0))
    steady = linear.steady
    rows: _Rows = [
        ("window", float(steady.window_packets[0]), "packets"),
        ("queue", float(steady.queue_packets[0]), "packets"),
        ("loss probability", float(steady.probability[0]), "%"),
        ("round-trip time", float(steady.rtt_s[0]) * 1e3, "ms"),
        ("fixed point", "stable" if growth < 0 else "unstable", ""),
        ("growth of a disturbance", growth, "1/s"),
        ("delay margin", margin.delay_s * 1e3 if math.isfinite(margin.delay_s) else "none limits it", "ms"),
    ]
    if hopf is not None:
        rows += [
            ("changes stability at a base RTT of", hopf.value * 1e3, "ms"),
            ("period of the oscillation there", hopf.period_s, "s"),
        ]
    document: dict[str, Any] = {
        "window_packets": float(steady.window_packets[0]),
        "queue_packets": float(steady.queue_packets[0]),
        "loss_probability": float(steady.probability[0]),
        "rtt_s": float(steady.rtt_s[0]),
        "growth_per_s": growth,
        "delay_margin_s": margin.delay_s if math.isfinite(margin.delay_s) else None,
        "hopf": None if hopf is None else asdict(hopf),
    }
    _print(options, "stability", _table(rows), document)


def _rules(options: argparse.Namespace) -> None:
    from sojourn import theory

    capacity = _packets_s(options.rate, options.packet)
    rtt = in_base_unit("--rtt", options.rtt, TIMES)
    loaded = rtt + (in_base_unit("--queue-delay", options.queue_delay, TIMES) if options.queue_delay else 0)
    bdp = capacity * rtt
    if not options.flows > 0:
        raise SojournError(f"--flows={options.flows:g}; allowed: above 0")
    window = capacity * loaded / options.flows
    loss = 1.5 / window**2 if window > 1.3 else math.nan
    with_timeouts = theory.padhye_loss_ratio(window=window, rtt_s=loaded)
    rows: _Rows = [
        ("bandwidth-delay product", bdp, "packets"),
        ("window of a flow when the link is full", window, "packets"),
        ("loss ratio at which Reno has it", loss if loss < 1 else "timeouts rule", "%" if loss < 1 else ""),
        ("the same with timeouts", with_timeouts, "%"),
        (
            "buffer for many flows, BDP / sqrt(n)",
            theory.appenzeller_buffer(bdp_packets=bdp, flows=options.flows),
            "packets",
        ),
        *(
            (
                f"flows of {level} congestion, buffer = BDP",
                float(theory.congestion_flows(level, room_packets=2 * bdp)),
                "",
            )
            for level in ("mild", "medium", "heavy")
        ),
    ]
    document = {name: value if isinstance(value, str) or np.isfinite(value) else None for name, value, _ in rows}
    _print(options, "rules", _table(rows), document)
