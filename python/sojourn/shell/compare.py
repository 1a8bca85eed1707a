"""``sojourn compare --world real``: a scenario's flows on the kernel's own TCP and UDP, over an emulated link."""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from sojourn import metrics, runner, stats, tables
from sojourn.cli import text
from sojourn.core import Document, SojournError
from sojourn.scheme import Schemes, as_schemes
from sojourn.shell.emulation import Emulation
from sojourn.shell.link import the_link
from sojourn.shell.outcome import Outcome, measured
from sojourn.stats.estimates import quantile_t
from sojourn.units import to_ns

if TYPE_CHECKING:
    from sojourn.results import Results
    from sojourn.stats import Floats

KERNEL: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PORT: Final = 9000
LEAD_S: Final = 0.7
"""So long before the first flow its programs are started."""

ATTEMPTS: Final = 3
"""A run that the machine was late for is repeated until it has been tried so often."""

BOTH: Final = ("goodput_bit_s", "sojourn_ms_mean", "queue_packets_mean", "loss_ratio", "jain_index")
"""The metrics that are compared between simulation and real packets."""

_TRAFFIC: Final = Path(__file__).with_name("traffic.py")
_HOSTS: Final = {"from": "server", "to": "client"}


def flows(scenario: Document, *, seed: int) -> list[dict[str, Any]]:
    """Return the single flows of a scenario, as the program that sends them reads them.

    Parameters
    ----------
    scenario
        In canonical form.
    seed
        Of random starts.

    Raises
    ------
    SojournError
        A flow that has no counterpart in the kernel; the message says which are possible.
    """
    link = the_link(scenario)
    ends = {link[end]: host for end, host in _HOSTS.items()}
    known = KERNEL.read_text(encoding="ascii").split()
    found: list[dict[str, Any]] = []
    for table in scenario["flows"]:
        transport, traffic = table["transport"], table["traffic"]

        def refuse(what: str, allowed: str, name: str = table["name"]) -> SojournError:
            return SojournError(f"flow {name!r} cannot run for real: it {what}; allowed: {allowed}")

        if table["from"] not in ends or table["to"] not in ends:
            raise refuse("has ends that are not those of the link", " and ".join(ends))
        own: dict[str, Any] = {"transport": transport["kind"]}
        if transport["kind"] == "tcp":
            if traffic["kind"] != "bulk" or traffic.keys() - {"kind"}:
                raise refuse(f"sends {traffic['kind']} over TCP", "bulk without further keys")
            if transport["ecn"]:
                raise refuse("asks for ECN", "ecn = false")
            own["congestion"] = transport["congestion_control"]
            if own["congestion"] not in known:
                what = f"uses {own['congestion']}, which this kernel does not have"
                raise refuse(what, ", ".join(sorted(known)))
        elif transport["kind"] == "udp":
            if traffic["kind"] != "cbr":
                raise refuse(f"sends {traffic['kind']} over UDP", "cbr")
            own |= _constant(traffic)
        else:
            raise refuse(f"uses {transport['kind']}", "tcp, udp")
        for number in range(int(table.get("count") or 1)):
            name = f"{table['name']}[{number}]"
            start_s = _start_s(table.get("start", "0 s"), f"{seed} {name}")
            if start_s is None:
                raise refuse(
                    "has a start that is neither a time nor uniform", '"1 s" or { uniform = ["0 s", "1 s"] }'
                )
            port = PORT + len(found)
            sender, receiver = ends[table["from"]], ends[table["to"]]
            place = {"name": name, "group": table["name"], "from": table["from"], "to": table["to"]}
            found.append({**own, **place, "start_s": start_s, "port": port, "sender": sender, "receiver": receiver})
    return found


def _constant(traffic: Mapping[str, Any]) -> dict[str, Any]:
    from sojourn.topology.model import rate_bit_s

    size = int(str(traffic["packet_size"]).removesuffix(" B"))
    return {"packet_bytes": size, "interval_s": size * 8 / rate_bit_s(str(traffic["rate"]), "rate")}


def _start_s(start: Any, name: str) -> float | None:
    if isinstance(start, str):
        return to_ns("start", start) / 1e9
    if isinstance(start, Mapping) and set(start) == {"uniform"}:
        low, high = (to_ns("start", one) / 1e9 for one in start["uniform"])
        return random.Random(name).uniform(low, high)  # noqa: S311 - when a flow starts
    return None


def compare(
    scenario: runner.Scenario,
    schemes: Schemes,
    *,
    replicates: int | None = None,
    seed: int | None = None,
    sets: Sequence[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Results:
    """Compare schemes on a scenario with one link, on real packets.

    Replication r of every scheme has the same random starts and the same seed of losses and drops. Runs follow each
    other, so they do not disturb each other.

    Parameters
    ----------
    scenario
        A network, a file or the name of a scenario.
    schemes
        Each takes the place of the scheme under test.
    replicates, seed, sets
        As for :func:`sojourn.compare`.
    say
        Told about each run, a line.

    Raises
    ------
    SojournError
        Something in the scenario has no counterpart on real packets, or the machine has no namespaces for this user.
    """
    from sojourn.results import Results

    canonical = runner.canonical(scenario, sets)
    chosen = as_schemes(schemes)
    link = the_link(canonical)
    key = "queue" if link.get("under_test") else "reverse_queue"
    if not link.get("under_test") and not link.get("reverse_under_test"):
        raise SojournError("no queue of the link is under test; allowed: under_test = true at the link")
    count = int(canonical.get("replications", 1)) if replicates is None else replicates
    first = int(canonical.get("seed", 1)) if seed is None else seed
    runner.whole("replicates", count, 1, 1_000_000)
    # Before anything starts.
    flows(canonical, seed=first)
    documents, labels, ways, late = [], [], {}, []
    runs = [(scheme, replication) for scheme in chosen for replication in range(count)]
    for number, (scheme, replication) in enumerate(runs):
        tried = {**canonical, "links": [{**link, key: scheme.text}]}
        outcome, document = _run(tried, first + replication, replication)
        attempts = 1
        while outcome.late and attempts < ATTEMPTS:
            say(f"{scheme.label}, replication {replication}: {outcome.late}; it is repeated")
            outcome, document = _run(tried, first + replication, replication)
            attempts += 1
        if outcome.late:
            late.append(f"{scheme.label}, replication {replication}: {outcome.late}")
        say(f"{number + 1} of {len(runs)}: {scheme.label}, replication {replication}")
        documents.append({**document, "seed": first})
        labels.append(scheme.label)
        ways[f"{scheme.label}, replication {replication}, down"] = {
            "lateness_s": dict(outcome.ways["down"].lateness_s),
            "lost_rate_s": outcome.ways["down"].lost_rate_s,
            "missed_frames": outcome.ways["down"].missed,
        }
    return Results(
        scenario=canonical,
        schemes=chosen,
        seed=first,
        replications=count,
        frames=tables.Tables(labels, documents),
        kind="compare",
        meta={"series": "100 ms", "world": {"kind": "real", "late": "; ".join(late) or None, "ways": ways}},
    )


def _run(scenario: Document, seed: int, replication: int) -> tuple[Outcome, Document]:
    """Carry out one run, and return what the device measured, and the run's report."""
    duration_s = to_ns("duration", scenario["duration"]) / 1e9
    warm_up_s = to_ns("warm_up", scenario["warm_up"]) / 1e9
    wanted = flows(scenario, seed=seed)
    with ExitStack() as files, Emulation(scenario, seed=seed) as lab:
        nothing = files.enter_context(tempfile.TemporaryFile())
        begin = time.monotonic() + LEAD_S
        said: dict[str, IO[bytes]] = {}
        programs = []
        for host, peer in (("client", "server"), ("server", "client")):
            plan = {
                "begin_s": begin,
                "warm_up_s": warm_up_s,
                "duration_s": duration_s,
                "peer": peer,
                "sends": [flow for flow in wanted if flow["sender"] == host],
                "receives": [flow for flow in wanted if flow["receiver"] == host],
            }
            said[host] = files.enter_context(tempfile.TemporaryFile())
            streams = (nothing.fileno(), said[host].fileno(), 2)
            programs.append(
                lab.start(host, [sys.executable, "-I", "-S", str(_TRAFFIC), json.dumps(plan)], streams=streams)
            )
        lab.begin()
        if any(program.wait(duration_s + 30.0) != 0 for program in programs):
            raise SojournError("a program that sends the flows failed; its message is above")
        received: dict[str, int] = {}
        for file in said.values():
            file.seek(0)
            received |= json.load(file)
        times = lab.state_times
        states = lab.states()
    span = duration_s - warm_up_s
    inside = [
        state for at, state in zip(times, states, strict=False) if begin + warm_up_s <= at <= begin + duration_s
    ]
    if len(inside) < 2:
        raise SojournError(f"the measured time, {span:g} s, is too short for real packets; allowed: 0.5 s and more")
    shown_s = inside[-1]["uptime_s"] - inside[0]["uptime_s"]
    outcome = measured(scenario, inside, first=0, seed=seed, duration_s=shown_s, status=0)
    goodputs = {flow["name"]: received[str(flow["port"])] * 8 / span for flow in wanted}
    return outcome, _document(outcome, wanted, goodputs, replication, duration_s, warm_up_s)


def _document(
    outcome: Outcome,
    wanted: Sequence[Mapping[str, Any]],
    goodputs: Mapping[str, float],
    replication: int,
    duration_s: float,
    warm_up_s: float,
) -> Document:
    """Return the run as a report of the simulator has it, with its flows."""
    document = outcome.document()
    groups: dict[str, float] = {}
    for flow in wanted:
        groups[flow["group"]] = groups.get(flow["group"], 0.0) + goodputs[flow["name"]]
    if warm_up_s > 0:
        # Quantiles of the device are of all times since its start.
        for part in (document, *document["queues"]):
            part["metrics"] = {**part["metrics"], "sojourn_ms_p50": None, "sojourn_ms_p99": None}
    document["metrics"] = {
        **document["metrics"],
        "goodput_bit_s": sum(goodputs.values()),
        "jain_index": stats.jain(list(goodputs.values())) if len(goodputs) > 1 else None,
    }
    return {
        **document,
        "replication": replication,
        "duration_s": duration_s,
        "warm_up_s": warm_up_s,
        "flows": [
            {
                **{key: flow[key] for key in ("name", "group", "from", "to", "transport")},
                "metrics": {"goodput_bit_s": goodputs[flow["name"]], "flow_start_s": flow["start_s"]},
            }
            for flow in wanted
        ],
        "groups": [{"name": name, "metrics": {"goodput_bit_s": goodput}} for name, goodput in groups.items()],
    }


def difference(real: Floats, simulated: Floats) -> stats.Estimate:
    """Return the difference of two means of independent runs with its interval (Welch, 1947).

    Examples
    --------
    >>> found = difference(np.array([2.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    >>> found.mean, round(found.half_width, 2)  # the variance of one mean is 1, with one degree of freedom
    (2.0, 12.71)
    """
    ours, theirs = real[np.isfinite(real)], simulated[np.isfinite(simulated)]
    count = min(ours.size, theirs.size)
    if count == 0:
        return stats.Estimate(math.nan, None, None, 0)
    mean = float(ours.mean() - theirs.mean())
    if count < 2:
        return stats.Estimate(mean, None, None, count)
    parts = [float(values.var(ddof=1)) / values.size for values in (ours, theirs)]
    variance = sum(parts)
    if variance == 0.0:
        return stats.Estimate(mean, mean, mean, count)
    freedom = variance**2 / sum(
        part**2 / (values.size - 1) for part, values in zip(parts, (ours, theirs), strict=True)
    )
    half = _quantile(freedom) * math.sqrt(variance)
    return stats.Estimate(mean, mean - half, mean + half, count)


def _quantile(freedom: float) -> float:
    # Rounded down, which makes the interval wider.
    return quantile_t(max(1, math.floor(freedom + 1e-9)))


def beside(real: Results, simulated: Results) -> str:
    """Return the table of both worlds, metric by metric, with the differences and their 95 % intervals."""
    rows = []
    for label in real.labels:
        for name in BOTH:
            if name not in real.metric_names() or name not in simulated.metric_names():
                continue
            metric = metrics.find(name)
            values = [found.values(label, name) for found in (simulated, real)]
            shown = []
            estimates = simulated.estimate(label, name), real.estimate(label, name)
            for found in (*estimates, difference(values[1], values[0])):
                half = None if found.half_width is None else found.half_width * metric.scale
                shown.append(metrics.rounded(found.mean * metric.scale, half))
            base = float(np.nanmean(values[0]))
            share = f"{100 * (float(np.nanmean(values[1])) / base - 1):+.1f} %" if base else ""
            rows.append([label, metric.title, metric.shown_unit, *shown, share])
    return text.table(
        ["scheme", "metric", "unit", "simulated", "real", "real - simulated", ""], rows, numbers=True, texts=3
    )
