"""Laws: what must not matter, and one answer on every road."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import sojourn as sj
from generator import load
from law import ROUNDING, SECONDS, Case, Unmet, amount, copied, differences, differing, law, marks, named, require
from sojourn import _native, plan
from sojourn.base import core, toml
from sojourn.base.core import Document
from sojourn.plan import execute
from sojourn.results import metrics


@law("order", "A run depends on scenario, seed, replication and scheme, not on threads or on what ran before it.")
def order_and_threads_do_not_matter(case: Case) -> Iterator[str]:
    series = (case.document.get("series") or {}).get("interval")
    first = case.task(series=series)
    other = case.task(series=series, scheme=case.made.scheme if case.with_scheme else None, replication=1)
    text = json.dumps(case.document)
    case.runs += 3
    both = _native.run_many(text, [other, first], 2, None)
    alone = _native.run_batch([text], [(0, other)])[0][1]
    for index, report in ((1, case.report), (0, json.loads(alone))):
        for name in ("run", *core.SECTIONS):
            found = json.loads(both.section(index, name))
            expected = report.get(name, [])
            if name == "run":
                # A report leaves out what it does not have.
                found = {key: one for key, one in found.items() if one is not None}
                expected = {key: one for key, one in report.items() if key not in core.SECTIONS and one is not None}
            if found != expected:
                yield f"task {index}, {name}: {str(found)[:300]}, alone {str(expected)[:300]}"


@law("observed", "Whoever looks changes nothing: queues under test, series, windows, phases, captures, decisions.")
def observation_changes_nothing(case: Case) -> Iterator[str]:
    draw = case.draw
    # Not always all: a queue that is the only one under test is computed otherwise than one of several.
    everything = draw.once_in(2)
    measured = case.report["duration_s"] * 1e6
    chosen = [everything or draw.once_in(3) for _ in marks(case.document)]
    windows, at = draw.packets(3, 100), 2 * round(measured * draw.random() * 0.48)

    def looked_at(document: Document) -> Document:
        named(document, case.tested)
        for (table, key), also in zip(marks(document), chosen, strict=True):
            table[key] = table.get(key) or also
        document["windows"] = document.get("windows") or windows
        document["series"] = {"interval": f"{2 * round(measured / 61)} us", "flows": True, "internals": True}
        document["changes"].append({"at": f"{at} us", "phase": "looked at"})
        return document

    with tempfile.TemporaryDirectory(prefix="laws-", dir=_scratch()) as folder:
        written: Document = {}
        if everything and draw.once_in(5):
            packets = {"folder": f"{folder}/packets", "at": [], "snaplen_bytes": 94, "departures": True}
            written = {"packets": packets, "decisions": {"folder": f"{folder}/decisions", "at": []}}
            for one in written.values():
                Path(one["folder"]).mkdir()
        yield from _changed_by(case, looked_at, written)


@cache
def _scratch() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108


def _changed_by(case: Case, watch: Callable[[Document], Document], written: Document) -> Iterator[str]:
    """Yield what another way to look at a scenario changes.

    One case is left out (DESIGN.md, Simulator): acknowledgements of equal hosts that enter a line at one instant. If
    flows end at equal hosts, and the difference is gone when they start at random times, the law says nothing.
    """
    found = list(differences(case.report, case.run(watch(copied(case.document)), **written)))
    if found and _has_equal_receivers(case.document):
        apart = _apart(case)
        require(any(differences(case.run(apart), case.run(watch(copied(apart))))))
    yield from found


def _has_equal_receivers(document: Document) -> bool:
    groups = {one["name"] for one in document["nodes"] if one.get("count", 1) > 1}
    return any(flow["to"] in groups and flow.get("count", 1) > 1 for flow in document["flows"])


@law(
    "unobserved",
    "Whoever does not look changes nothing: no queue under test, no series, no windows, no named phases.",
)
def absence_changes_nothing(case: Case) -> Iterator[str]:
    def unwatched(document: Document) -> Document:
        named(document, case.tested)
        for table, key in marks(document):
            table[key] = False
        for key in ("windows", "series"):
            document.pop(key, None)
        # All but what acts.
        changes = [{key: value for key, value in one.items() if key != "phase"} for one in document.pop("changes")]
        document["changes"] = [
            one for one in changes if any(value for key, value in one.items() if key not in ("at", "every"))
        ]
        return document

    yield from _changed_by(case, unwatched, {})


@law("stepped", "A run that a program steps through is the same run.", once_in=3)
def stepping_changes_nothing(case: Case) -> Iterator[str]:
    series = (case.document.get("series") or {}).get("interval")
    case.runs += 1
    stepper = _native.Stepper(json.dumps(case.document), case.task(series=series))
    _, end = stepper.times_ns()
    draw = case.draw
    for at in sorted(draw.randrange(end + 1) for _ in range(4)):
        stepper.run_until(at)
        for name in case.tested:
            stepper.window(name)
    # Not the number of events, which is what the simulator had to do. A window brings every port up to the present.
    # What ports computed late have sent is then known earlier, and comes in before fewer others at the next port,
    # whose ring refuses a packet before more than 16 (DESIGN.md, Simulator).
    stepped = {**json.loads(stepper.report()), "events": case.report["events"]}
    if stepped != case.report:
        found = list(differences(case.report, stepped))
        yield (
            found[0]
            if found
            else f"other than metrics: {[key for key in stepped if stepped[key] != case.report.get(key)]}"
        )


def _apart(case: Case) -> Document:
    """Return the scenario with packets that meet nowhere at the same instant.

    Of events of one instant, those of the flow that stands first in the document come first. So flows start at random
    times, and every link has its own delay of odd nanoseconds.
    """
    document = copied(case.document)
    for number, link in enumerate(document["links"]):
        for key, odd in (("delay", 2 * number), ("reverse_delay", 2 * number + 1)):
            nanoseconds = round(amount(link.get(key, link["delay"]), SECONDS) * 1e9)
            link[key] = f"{nanoseconds + 1009 + 211 * odd} ns"
    for number, flow in enumerate(document["flows"]):
        flow["start"] = {"uniform": ["0 s", f"{20 + number} ms"]}
        # Ticks of several hosts are at the same instants.
        flow["transport"].pop("timer_tick", None)
    return load(document)


@law("flows reordered", "Names, not places, choose a flow's random numbers.")
def order_of_flows_does_not_matter(case: Case) -> Iterator[str]:
    require(len(case.document["flows"]) > 1)
    apart = _apart(case)
    other = {**apart, "flows": apart["flows"][::-1]}
    yield from differences(case.run(apart), case.run(other), near=ROUNDING)


def _with_link(document: Document) -> Document:
    link = {"name": "unused", "from": "nobody", "to": "nowhere", "rate": "1 Mbit/s", "delay": "1 ms"}
    place = len(document["links"]) // 2
    return {**document, "links": [*document["links"][:place], link, *document["links"][place:]]}


@law("idle link", "A link that carries nothing changes nothing.")
def an_idle_link_changes_nothing(case: Case) -> Iterator[str]:
    other = case.run(_with_link(case.document))
    yield from differences(case.report, other)
    yield from differing("run", case.report["metrics"], other["metrics"], 0.0)


@law("silent flow", "A flow that has sent nothing by the end changes nothing of the others.")
def a_silent_flow_changes_nothing(case: Case) -> Iterator[str]:
    first = case.report["flows"][0]
    # With more than 16 flows, single ones have no quantiles.
    require(len(case.report["flows"]) < 16)
    late = {
        "name": "silent",
        "from": first["from"],
        "to": first["to"],
        # Not smaller than an acknowledgement, which has 52 B. Up to the least time that the flows' smallest packet
        # takes from a host, a line takes packets of one instant in the order of sending (DESIGN.md, Simulator).
        "transport": {"kind": "udp", "header": "60 B"},
        "traffic": {"kind": "replay", "packets": "3600000000000:100"},
    }
    other = {**case.document, "flows": [late, *case.document["flows"]]}
    yield from differences(case.report, case.run(other), flows=[flow["name"] for flow in case.document["flows"]])


LIMIT_IN_LAW: Final = {
    "avq": "Its virtual buffer is as large as the real one.",
    "fq_avq": "Its virtual buffer is as large as the real one.",
    "sred": "Its probability changes at a third and a sixth of the buffer.",
    "cake": "It has no limit in packets.",
    "activate": "PIE begins when a third of its buffer is full.",
}
"""Schemes and parameters with which a limit does more than to drop, and what."""


@law("limit", "A limit that is never reached changes nothing.")
def a_limit_that_is_never_reached_changes_nothing(case: Case) -> Iterator[str]:
    document = copied(case.document)
    queues = {one["name"]: one for one in case.report["queues"]}
    raised = False
    for link in document["links"]:
        text = link["queue"]
        ends = {name for name in queues if name in case.tested and not queues[name].get("switched")}
        counts = [queues[name]["counts"] for name in ends if name == f"{link['from']}->{link['to']}"]
        if not link["under_test"] or LIMIT_IN_LAW.keys() & text.split() or not counts:
            continue
        if counts[0]["dropped_overflow"]["packets"] == 0:
            link["queue"] = _with_limit(text)
            raised = True
    require(raised and not any(one.get("parameters") for one in document.get("changes", ())))
    found = case.run(document)
    # What a scheme tells of itself may include its limit.
    plain = (
        {**report, "queues": [{**one, "internals": None} for one in report["queues"]]}
        for report in (case.report, found)
    )
    yield from differences(*plain)


def _with_limit(text: str) -> str:
    return core.parse_aqm(f"{text} limit {'1GB' if text.startswith('bfifo') else '1000000p'}")


@law(
    "two names",
    "A scheme's written and canonical text, TOML and JSON, and a scheme given to a run or written in it, are one.",
)
def two_names_are_one_scheme(case: Case) -> Iterator[str]:
    document, scheme = case.document, case.made.scheme
    again = load(document)
    if again != document:
        yield f"the canonical form reads back as {json.dumps(again)}"
    written = core.load(toml.dumps(case.made.written), source="generated.toml")
    if written != document:
        yield f"as TOML: {json.dumps(written)}"
    if case.with_scheme is None:
        raise Unmet
    given, own = case.run(document, scheme=core.parse_aqm(scheme)), case.run(case.with_scheme)
    if given["scheme"] != core.parse_aqm(scheme):
        yield f"the report's scheme is {given['scheme']}"
    yield from differences(given, own)
    yield from differing("run", given["metrics"], own["metrics"], 0.0)
    yield from differing("run as written", given["metrics"], case.run(document, scheme=scheme)["metrics"], 0.0)


@law("one answer", "compare, plan and Python's run give the same numbers for the same runs.", once_in=200)
def every_command_says_the_same(case: Case) -> Iterator[str]:
    require(case.with_scheme)
    scheme = core.parse_aqm(case.made.scheme)
    reports = [case.run(case.document, scheme=scheme, replication=number) for number in range(2)]
    case.runs += 4
    network = sj.Network.from_dict(case.document)
    compared = sj.compare(network, {"a": scheme}, replicates=2, jobs=1, series=None, progress=False)
    yield from _otherwise("compare", compared, reports)
    with tempfile.TemporaryDirectory(prefix="laws-", dir=_scratch()) as folder:
        written = plan.Plan(
            name="laws",
            scenario=toml.dumps(case.document),
            schemes=(plan.Scheme(scheme, "a"),),
            replications=2,
            seed=case.document["seed"],
        )
        execute.run(written, Path(folder), jobs=1)
        [(_, planned)] = plan.results(folder)
        yield from _otherwise("plan", planned, reports)


def _otherwise(road: str, results: sj.Results, reports: list[Document]) -> Iterator[str]:
    """Yield what results say of runs and of their queues under test, and the reports of these runs do not."""
    queues = [{one["name"]: one["metrics"] for one in report["queues"]} for report in reports]
    tested = [one["name"] for one in reports[0]["queues"] if one["under_test"]]
    # A run's report is of its own busiest queue; results are of the one that is the busiest over all of their runs.
    busy = {name: math.fsum(own[name].get("utilisation") or 0.0 for own in queues) for name in tested}
    busiest = max(tested, key=lambda name: busy[name])
    for number, own in enumerate(queues):
        expected = dict(reports[number]["metrics"])
        if len(tested) > 1:
            expected |= {name: own[busiest].get(name) for name in expected if metrics.is_of_queues(name)}
        rows = [("run", results.runs, {**expected, "queue": busiest})]
        rows += [(name, results.queues[results.queues["queue"] == name], own[name]) for name in tested]
        for what, frame, values in rows:
            row = frame.set_index("replication").loc[number].to_dict()
            for name in row.keys() & values.keys():
                found = None if isinstance(row[name], float) and math.isnan(row[name]) else row[name]
                if found != values[name]:
                    yield f"{road}: replication {number}, {what}: {name} is {found}, in its report {values[name]}"
