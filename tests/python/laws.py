"""What holds of every scenario: the laws, each with its reason, and a command that tries them on scenarios by chance.

    python tests/python/laws.py 100000              runs of that many scenarios, on all cores
    python tests/python/laws.py 1 --first 4711      the scenario of a number again
    python tests/python/laws.py FILE                a scenario from a file: what this prints when a law fails

A law that fails prints the smallest scenario found that still breaks it.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import sojourn as sj
from generator import Draw, Generated, generate, load, smaller
from sojourn import _native, core, plan, toml
from sojourn.core import Document, SojournError
from sojourn.plan import execute
from sojourn.plan.store import Store

ROUNDING: Final = 1e-9
"""Sums of floating-point numbers in another order."""
NANOSECONDS: Final = 1e-6
"""Times that were rounded to whole nanoseconds, halved."""
_SHRINKS: Final = 400
"""Smaller scenarios that are tried for a failure."""


class Case:
    """A scenario under the laws: what was run of it is kept."""

    def __init__(self, made: Generated) -> None:
        self.made = made
        self.document = made.document

    @property
    def draw(self) -> Draw:
        """Chance, the same for each law."""
        return Draw(self.made.number)

    @cached_property
    def text(self) -> str:
        """The report of the scenario as written, as text."""
        return self.run_text(self.document)

    @cached_property
    def report(self) -> Document:
        """The report of the scenario as written."""
        found: Document = json.loads(self.text)
        return found

    def task(self, *, scheme: str | None = None, replication: int = 0, **more: object) -> str:
        """Return a task of the compiled core."""
        return json.dumps({"scheme": scheme, "seed": self.document["seed"], "replication": replication, **more})

    def run_text(self, document: Document, **task: Any) -> str:
        """Run a scenario; return its report as text."""
        series = (document.get("series") or {}).get("interval")
        done, text = _native.run_batch([json.dumps(document)], [(0, self.task(series=series, **task))])[0]
        if not done:
            raise Broken(text)
        return text

    def run(self, document: Document, **task: Any) -> Document:
        """Run a scenario; return its report."""
        found: Document = json.loads(self.run_text(document, **task))
        return found

    @cached_property
    def apart(self) -> Document:
        """The scenario without coincidences."""
        return _apart(self)

    @cached_property
    def apart_report(self) -> Document:
        """Its report."""
        return self.run(self.apart)

    @cached_property
    def with_scheme(self) -> Document | None:
        """The scenario with the other scheme in its queues under test; None if that cannot be."""
        other = _copy(self.document)
        for table, key in _marks(other):
            if table.get(key):
                table[_QUEUE_OF[key]] = self.made.scheme
        try:
            return load(other) if self.tested else None
        except SojournError:
            return None

    @cached_property
    def tested(self) -> list[str]:
        """Names of the queues under test."""
        return [queue["name"] for queue in self.report["queues"] if queue["under_test"]]


class Broken(Exception):  # noqa: N818, not every one is an error of ours
    """A run ended with an error."""


class Unmet(Exception):  # noqa: N818
    """A law says nothing of a scenario."""


Check = Callable[[Case], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Law:
    """Something that holds of every scenario.

    Parameters
    ----------
    name
        A few words.
    reason
        Why it holds.
    check
        Yields what breaks it; raises :class:`Unmet` where it says nothing.
    once_in
        It is tried on one of so many scenarios, because it is slow.
    """

    name: str
    reason: str
    check: Check
    once_in: int = 1

    def broken(self, case: Case) -> list[str] | None:
        """Return what breaks it in a scenario; None where it says nothing."""
        found: list[str] = []
        try:
            found.extend(self.check(case))
        except Unmet:
            return found or None
        except (Broken, SojournError) as error:
            found.append(str(error))
        return found


LAWS: list[Law] = []


def law(name: str, reason: str, *, once_in: int = 1) -> Callable[[Check], Check]:
    """Make a function a law."""

    def register(check: Check) -> Check:
        LAWS.append(Law(name, reason, check, once_in))
        return check

    return register


def require(condition: object) -> None:
    """Say nothing where a condition is not met."""
    if not condition:
        raise Unmet


# What a report must be in itself.


def parts(report: Document) -> Iterator[tuple[str, Document]]:
    """Yield every set of metrics of a report with its place."""
    yield "run", report["metrics"]
    for table in ("queues", "flows", "groups"):
        for one in report[table]:
            yield f"{table} {one['name']}", one["metrics"]
    for one in report.get("phases", ()):
        yield f"phase {one['phase']} {one['occurrence']} {one['group']}", one["metrics"]


@cache
def _ranges() -> dict[str, tuple[float, float]]:
    def end(metric: Document, name: str, otherwise: float) -> float:
        value = metric.get(name)
        return otherwise if value is None else float(value)

    return {one["name"]: (end(one, "least", -math.inf), end(one, "most", math.inf)) for one in core.metrics()}


@law("range", "The catalogue of metrics declares the least and the greatest value that each can have.")
def values_lie_in_their_range(case: Case) -> Iterator[str]:
    for place, metrics in parts(case.report):
        for name, value in metrics.items():
            least, most = _ranges()[name]
            if value is not None and not least - ROUNDING <= value <= most * (1 + ROUNDING):
                yield f"{place}: {name} is {value}; allowed: {least} to {most}"


@law(
    "conservation", "A packet is delivered, dropped or on its way; a queue has forwarded, dropped, or still holds it."
)
def packets_are_conserved(case: Case) -> Iterator[str]:
    books = case.report["conservation"]
    if books["sent"] + books.get("duplicated", 0) != books["delivered"] + books["dropped"] + books["in_flight"]:
        yield f"{books}"
    for queue in case.report["queues"]:
        counts = queue.get("counts")
        out = ("forwarded", "dropped_overflow", "dropped_early", "dropped_flow", "waiting")
        for unit in ("packets", "bytes"):
            if counts and counts["arrived"][unit] != sum(counts[one][unit] for one in out):
                yield f"{queue['name']}: {unit}: {counts}"


_OF_FLOWS: Final = (
    "goodput_bit_s",
    "throughput_bit_s",
    "sent_packets",
    "delivered_packets",
    "dropped_packets",
    "retransmissions_segments",
    "timeouts",
)
_OF_GROUPS: Final = (*(name for name in _OF_FLOWS if name != "dropped_packets"), "flows_completed", "flows_started")
_OF_QUEUES: Final = (
    "arrivals_packets",
    "drops_packets",
    "drops_overflow_packets",
    "drops_early_packets",
    "drops_flow_packets",
    "link_losses_packets",
    "link_overtakes_packets",
    "link_duplicates_packets",
    "marks_packets",
    "l4s_packets",
    "l4s_drops_packets",
    "classic_packets",
    "classic_drops_packets",
)


def _sum(tables: Iterable[Document], name: str) -> float | None:
    found = [one["metrics"][name] for one in tables if one["metrics"].get(name) is not None]
    return math.fsum(found) if found else None


def _is_near(a: float | None, b: float | None, relative: float = ROUNDING) -> bool:
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=relative, abs_tol=relative))


@law(
    "sums",
    "Flows make up their group, groups the run, kinds of drops all drops; the run has the metrics of the queue that "
    "it names, and the row `all` counts the queues under test.",
)
def parts_add_up(case: Case) -> Iterator[str]:
    report = case.report
    for group in report["groups"]:
        flows = [flow for flow in report["flows"] if flow["group"] == group["name"]]
        for name in _OF_FLOWS:
            found, whole = _sum(flows, name), group["metrics"][name]
            if not _is_near(found, whole):
                yield f"group {group['name']}: {name} is {whole}, the sum of its flows {found}"
    sums = [(name, _sum(report["groups"], name), "groups") for name in _OF_GROUPS]
    tested = [queue for queue in report["queues"] if queue["under_test"]]
    sums += [
        (name, _sum([queue], name), "its queue")
        for queue in tested
        if queue["name"] == report.get("queue")
        for name in _OF_QUEUES
    ]
    for whole in (queue for queue in report["queues"] if queue["name"] == "all"):
        for name in _OF_QUEUES:
            found = _sum(tested, name)
            if not _is_near(found, whole["metrics"].get(name)):
                yield f"queues all: {name} is {whole['metrics'].get(name)}, of the queues under test {found}"
    for name, found, of in sums:
        if not _is_near(found, report["metrics"][name]):
            yield f"run: {name} is {report['metrics'][name]}, the sum of {of} {found}"
    for place, metrics in parts(report):
        kinds = [metrics.get(f"drops_{kind}_packets", 0) for kind in ("overflow", "early", "flow")]
        if "drops_packets" in metrics and sum(kinds) != metrics["drops_packets"]:
            yield f"{place}: drops_packets is {metrics['drops_packets']}, its kinds {kinds}"


_PHASE: Final = ("phase", "group", "queue")
"""What tells the rows of phases apart."""

_OF_PHASES: Final = (
    "arrivals_packets",
    "drops_packets",
    "marks_packets",
    "sent_packets",
    "delivered_packets",
    "timeouts",
)


@law("phases", "The occurrences of a phase make up the phase; phases do not overlap and lie in the measured time.")
def phases_add_up(case: Case) -> Iterator[str]:
    report = case.report
    phases = report.get("phases") or []
    require(phases)
    for whole in (one for one in phases if one["occurrence"] == 0):
        single = [
            one for one in phases if one["occurrence"] and all(one.get(key) == whole.get(key) for key in _PHASE)
        ]
        for name in _OF_PHASES:
            if single and name in whole["metrics"] and not _is_near(_sum(single, name), whole["metrics"][name]):
                found = _sum(single, name)
                place = f"{whole['phase']} {whole['group']}"
                yield f"{place}: {name} is {whole['metrics'][name]}, of its occurrences {found}"
    queue = report.get("queue")
    of_all = [one for one in phases if one["occurrence"] == 0 and not one["group"] and one.get("queue") == queue]
    if sum(one["measured_s"] for one in of_all) > report["measured_s"] * (1 + ROUNDING):
        yield f"phases are longer than the measured time, {report['measured_s']} s"
    for name in _OF_PHASES:
        found, most = _sum(of_all, name), report["metrics"][name]
        if found is not None and most is not None and found > most:
            yield f"{name} of all phases is {found}, of the run {most}"


@law("quantiles", "A quantile does not fall as its probability rises, and a distribution function rises to 1.")
def quantiles_are_in_order(case: Case) -> Iterator[str]:
    for place, metrics in parts(case.report):
        for name, value in metrics.items():
            if not name.endswith("_p50"):
                continue
            above = metrics.get(name.replace("_p50", "_p99"))
            if value is not None and above is not None and value > above:
                yield f"{place}: {name} is {value}, p99 {above}"
    for name, points in case.report["distributions"].items():
        values, shares = points["value"], points["cumulative"]
        for what, series in (("values", values), ("shares", shares)):
            if any(b < a for a, b in pairwise(series)):
                yield f"distribution {name}: its {what} fall"
        if shares and not math.isclose(shares[-1], 1.0, rel_tol=ROUNDING):
            yield f"distribution {name} ends in {shares[-1]}"


def _number(quantity: str, unit: Mapping[str, float]) -> float:
    value, _, name = quantity.partition(" ")
    return float(value) * unit[name]


_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BIT_S: Final = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_BYTES: Final = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 2.0**20, "GiB": 2.0**30}


@law("capacity", "What a node receives has passed the links to it, at their rate.")
def goodput_is_at_most_capacity(case: Case) -> Iterator[str]:
    document, report = case.document, case.report
    # Shared channels, rates that change and packets that arrive twice have no one capacity; delays that change let
    # packets arrive together that were sent one after another.
    require(not document["buses"] and not document.get("cells") and not document.get("changes"))
    into: defaultdict[str, float] = defaultdict(float)
    groups = {one["name"]: one.get("count") for one in document["nodes"]}
    for link in document["links"]:
        require(not any(word in key for key in link for word in ("trace", "jitter", "duplicate", "burst")))
        rate = _number(link["rate"], _BIT_S)
        for end, other, bit_s in (
            (link["to"], link["from"], rate),
            (link["from"], link["to"], _number(link.get("reverse_rate", link["rate"]), _BIT_S)),
        ):
            for node in [end] if groups.get(end) is None else [f"{end}{i}" for i in range(groups[end])]:
                into[node] += bit_s * (groups.get(other) or 1 if groups.get(end) is None else 1)
    # A packet whose transmission began before the measured time.
    slack = 8 * 66_000 / report["measured_s"]
    for node, most in into.items():
        received = [flow for flow in report["flows"] if flow["to"] == node]
        found = _sum(received, "throughput_bit_s") or 0.0
        if found > most * (1 + ROUNDING) + slack:
            yield f"{node} receives {found} bit/s over links of {most} bit/s"
    for place, metrics in parts(report):
        goodput, throughput = metrics.get("goodput_bit_s", 0.0), metrics.get("throughput_bit_s", 0.0)
        # Before the measured time a hole may have held back what TCP delivers in order.
        if place.startswith("flows") and report["warm_up_s"] == 0 and goodput > throughput:
            yield f"{place}: goodput {goodput} above throughput {throughput}"


# What must not matter.


def differences(a: Document, b: Document, *, flows: Iterable[str] | None = None, near: float = 0.0) -> Iterator[str]:
    """Yield what two reports have in common and say differently."""
    if a["conservation"] != b["conservation"] and flows is None:
        yield f"conservation: {a['conservation']}, {b['conservation']}"
    for table in ("queues", "flows", "groups"):
        others = {one["name"]: one for one in b[table]}
        # The row of the queues under test together says which these are.
        for one in (one for one in a[table] if (table, one["name"]) != ("queues", "all")):
            other = others.get(one["name"])
            if other is None or (flows is not None and table == "groups" and one["name"] not in flows):
                continue
            yield from _differing(f"{table} {one['name']}", one["metrics"], other["metrics"], near)
            for key in ("counts", "internals", "switched"):
                if one.get(key) and other.get(key) and one[key] != other[key]:
                    yield f"{table} {one['name']}: {key}: {one[key]}, {other[key]}"
            for mine, theirs in zip(one.get("windows", ()), other.get("windows", ()), strict=False):
                yield from _differing(
                    f"{table} {one['name']}, a window", mine, {**theirs, "scheme": mine["scheme"]}, near
                )
    if a.get("cells") != b.get("cells"):
        yield f"cells: {a.get('cells')}, {b.get('cells')}"


def _differing(place: str, a: Document, b: Document, near: float) -> Iterator[str]:
    for name in a.keys() & b.keys():
        x, y = a[name], b[name]
        if x != y and not (isinstance(x, float) and isinstance(y, float) and math.isclose(x, y, rel_tol=near)):
            yield f"{place}: {name}: {x}, {y}"


@law("order", "A run depends on scenario, seed, replication and scheme, not on threads or on what ran before it.")
def order_and_threads_do_not_matter(case: Case) -> Iterator[str]:
    series = (case.document.get("series") or {}).get("interval")
    first = case.task(series=series)
    other = case.task(series=series, scheme=case.made.scheme if case.with_scheme else None, replication=1)
    text = json.dumps(case.document)
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


def _copy(document: Document) -> Document:
    found: Document = json.loads(json.dumps(document))
    return found


def _marks(document: Document) -> Iterator[tuple[Document, str]]:
    """Yield every table with its key that puts a queue under test."""
    for link in document["links"]:
        yield link, "under_test"
        yield link, "reverse_under_test"
    for bus in document["buses"]:
        yield bus, "under_test"
        for port in bus.get("ports", ()):
            yield port, "under_test"
    for cell in document.get("cells", ()):
        yield cell, "under_test"
        yield cell, "access_point_under_test"


def _named(document: Document, tested: list[str]) -> None:
    """Give every change that is of the queues under test their names."""
    changes = []
    for change in document.get("changes", ()):
        own = {"scheme", "parameters", "rate", "delay", "loss"} & {
            key for key, value in change.items() if value is not None
        }
        if own and not change.get("queue") and not change.get("link"):
            changes += [{**change, "queue": name} for name in tested]
        else:
            changes.append(change)
    document["changes"] = changes


@law("observed", "Whoever looks changes nothing: queues under test, series, windows, phases, captures, decisions.")
def observation_changes_nothing(case: Case) -> Iterator[str]:
    document, draw = _copy(case.document), case.draw
    _named(document, case.tested)
    # Not always all: a queue that is the only one under test is computed otherwise than one of several.
    everything = draw.once_in(2)
    for table, key in _marks(document):
        table[key] = table.get(key) or everything or draw.once_in(3)
    document["windows"] = document.get("windows") or draw.packets(3, 100)
    measured = case.report["duration_s"] * 1e6
    document["series"] = {"interval": f"{2 * round(measured / 61)} us", "flows": True, "internals": True}
    at = 2 * round(measured * draw.random() * 0.48)
    document["changes"].append({"at": f"{at} us", "phase": "looked at"})
    with tempfile.TemporaryDirectory(prefix="laws-", dir=_scratch()) as folder:
        written: Document = {}
        if draw.once_in(10):
            packets = {"folder": f"{folder}/packets", "at": [], "snaplen_bytes": 94, "departures": True}
            written = {"packets": packets, "decisions": {"folder": f"{folder}/decisions", "at": []}}
            for one in written.values():
                Path(one["folder"]).mkdir()
        yield from differences(case.report, case.run(document, **written))


@cache
def _scratch() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108


@law(
    "unobserved",
    "Whoever does not look changes nothing: no queue under test, no series, no windows, no named phases.",
)
def absence_changes_nothing(case: Case) -> Iterator[str]:
    document = _copy(case.document)
    _named(document, case.tested)
    for table, key in _marks(document):
        table[key] = False
    for key in ("windows", "series"):
        document.pop(key, None)
    # All but what acts.
    changes = [{key: value for key, value in one.items() if key != "phase"} for one in document.pop("changes")]
    document["changes"] = [
        one for one in changes if any(value for key, value in one.items() if key not in ("at", "every"))
    ]
    yield from differences(case.report, case.run(document))


@law("stepped", "A run that a program steps through is the same run.", once_in=3)
def stepping_changes_nothing(case: Case) -> Iterator[str]:
    series = (case.document.get("series") or {}).get("interval")
    stepper = _native.Stepper(json.dumps(case.document), case.task(series=series))
    _, end = stepper.times_ns()
    draw = case.draw
    for at in sorted(draw.randrange(end + 1) for _ in range(4)):
        stepper.run_until(at)
        for name in case.tested:
            stepper.window(name)
    stepped = json.loads(stepper.report())
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
    document = _copy(case.document)
    for number, link in enumerate(document["links"]):
        for key, odd in (("delay", 2 * number), ("reverse_delay", 2 * number + 1)):
            nanoseconds = round(_number(link.get(key, link["delay"]), _SECONDS) * 1e9)
            link[key] = f"{nanoseconds + 1009 + 211 * odd} ns"
    for number, flow in enumerate(document["flows"]):
        flow["start"] = {"uniform": ["0 s", f"{20 + number} ms"]}
        # Ticks of several hosts are at the same instants.
        flow["transport"].pop("timer_tick", None)
    return load(document)


@law("flows reordered", "Names, not places, choose a flow's random numbers.")
def order_of_flows_does_not_matter(case: Case) -> Iterator[str]:
    require(len(case.document["flows"]) > 1)
    other = {**case.apart, "flows": case.apart["flows"][::-1]}
    yield from differences(case.apart_report, case.run(other), near=ROUNDING)


def _with_link(document: Document) -> Document:
    link = {"name": "unused", "from": "nobody", "to": "nowhere", "rate": "1 Mbit/s", "delay": "1 ms"}
    place = len(document["links"]) // 2
    return {**document, "links": [*document["links"][:place], link, *document["links"][place:]]}


@law("idle link", "A link that carries nothing changes nothing.")
def an_idle_link_changes_nothing(case: Case) -> Iterator[str]:
    other = case.run(_with_link(case.document))
    yield from differences(case.report, other)
    yield from _differing("run", case.report["metrics"], other["metrics"], 0.0)


@law("silent flow", "A flow that has sent nothing by the end changes nothing of the others.")
def a_silent_flow_changes_nothing(case: Case) -> Iterator[str]:
    first = case.report["flows"][0]
    # With more than 16 flows, single ones have no quantiles.
    require(len(case.report["flows"]) < 16)
    late = {
        "name": "silent",
        "from": first["from"],
        "to": first["to"],
        "transport": {"kind": "udp"},
        "traffic": {"kind": "replay", "packets": "3600000000000:100"},
    }
    other = {**case.document, "flows": [late, *case.document["flows"]]}
    yield from differences(case.report, case.run(other), flows=[flow["name"] for flow in case.document["flows"]])


LIMIT_IN_LAW: Final = {
    "avq": "Its virtual buffer is as large as the real one.",
    "fq_avq": "Its virtual buffer is as large as the real one.",
    "sred": "Its probability changes at a third and a sixth of the buffer.",
    "cake": "It has no limit in packets.",
}
"""Schemes in which a limit does more than to drop, and what."""


@law("limit", "A limit that is never reached changes nothing.")
def a_limit_that_is_never_reached_changes_nothing(case: Case) -> Iterator[str]:
    document = _copy(case.document)
    queues = {one["name"]: one for one in case.report["queues"]}
    raised = False
    for link in document["links"]:
        text = link["queue"]
        ends = {name for name in queues if name in case.tested and not queues[name].get("switched")}
        counts = [queues[name]["counts"] for name in ends if name == f"{link['from']}->{link['to']}"]
        if not link["under_test"] or text.split()[0] in LIMIT_IN_LAW or not counts:
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
    yield from _differing("run", given["metrics"], own["metrics"], 0.0)
    yield from _differing("run as written", given["metrics"], case.run(document, scheme=scheme)["metrics"], 0.0)


_QUEUE_OF: Final = {
    "under_test": "queue",
    "reverse_under_test": "reverse_queue",
    "access_point_under_test": "access_point_queue",
}


# Twice as slow.


NOT_SCALING: Final = {
    "ared": "Its weight is 1 - exp(-1/C), with C in packets a second: a second is in the law.",
}
"""Schemes that time of another unit changes, and why."""

_PER_TIME: Final[dict[str, dict[str, int]]] = {
    "pie": {"alpha": 1, "beta": 1},
    "fq_pie": {"alpha": 1, "beta": 1},
    "dualpi2": {"alpha": 1, "beta": 1},
    "avq": {"alpha": 1},
    "fq_avq": {"alpha": 1},
    "daqm": {"s2": 1, "s3": 2},
    "fq_daqm": {"s2": 1, "s3": 2},
    "sfb": {"penalty_rate": 1},
}
"""Parameters that are bare numbers and mean something for each second or millisecond, and the power of that."""

_NOT_SCALING_METRICS: Final = ("_p50", "_p99", "_mode", "cwnd_growth_segments")
"""Quantiles are of bins, modes of whole milliseconds, and the window's growth of a second."""

_TIME: Final = re.compile(r"[\d.]+(ns|us|ms|s)")


@law("twice as slow", "With all rates halved and all times doubled the same packets come, wait and go.")
def units_of_time_do_not_matter(case: Case) -> Iterator[str]:
    document = _exact(case)
    slow = _slower(document, key="")
    fast, slow_report = case.run(document), case.run(slow)
    for table in ("queues", "flows"):
        for one, other in zip(fast[table], slow_report[table], strict=True):
            for name, value in one["metrics"].items():
                unit = _units()[name]
                factor = {"ms": 2.0, "s": 2.0, "bit/s": 0.5}.get(unit, 1.0)
                expected = None if value is None else value * factor
                found = other["metrics"][name]
                if name.endswith(_NOT_SCALING_METRICS) and unit != "packets":
                    continue
                if not _is_near(expected, found, NANOSECONDS):
                    yield f"{table} {one['name']}: {name}: {value}, twice as slow {found}"


@cache
def _units() -> dict[str, str]:
    return {one["name"]: one["unit"] for one in core.metrics()}


def _exact(case: Case) -> Document:
    """The scenario with deterministic traffic, in which a byte takes a whole number of nanoseconds."""
    written = _copy(case.made.written)
    require("buses" not in written and "cells" not in written and written.get("links"))
    require("changes" not in written and "nodes" not in written)
    draw = case.draw
    for link in written["links"]:
        # No delays by chance, which are rounded, and no rate by chance; losses by chance are of packets.
        for key in [key for key in link if any(word in key for word in ("trace", "jitter", "burst", "framing"))]:
            del link[key]
        for key in ("rate", "reverse_rate"):
            link[key] = draw.choice(_WHOLE)
        for key in ("queue", "reverse_queue"):
            text = link.pop(key, "pfifo")
            # A formula may have times in it.
            scales = isinstance(text, str) and text.split()[0] not in NOT_SCALING and " formula " not in text
            link[key] = text if scales else "pfifo limit 30p"
    written["flows"] = [
        {
            "name": f"exact{number}",
            "from": flow["from"],
            "to": flow["to"],
            "start": draw.time(0.1, 50),
            "transport": {"kind": "udp"},
            "traffic": {
                "kind": "replay",
                "packets": f"{2 * draw.randrange(50_000, 10**6)}:{draw.randrange(50, 1400)}x{draw.randrange(5, 300)}",
            },
        }
        for number, flow in enumerate(written["flows"])
    ]
    for flow in written["flows"]:
        if draw.once_in(2):
            flow["transport"] = {
                "kind": "tcp",
                "congestion_control": draw.choice(BY_ROUND_TRIPS),
                "ecn": draw.once_in(2),
            }
            flow["traffic"] = draw.choice(({"kind": "bulk"}, {"kind": "transfer", "size": draw.data(1, 200_000)}))
    for key in ("windows", "series"):
        written.pop(key, None)
    try:
        return load(written)
    except SojournError:
        raise Unmet from None


BY_ROUND_TRIPS: Final = ("newreno", "reno", "ns2_reno", "ns3_reno", "bic", "westwood", "veno", "compound", "ledbat")
"""Congestion controls that know round trips and the transport's times only; the others have constants in seconds."""

_WHOLE: Final = ("500 kbit/s", "1 Mbit/s", "2 Mbit/s", "4 Mbit/s", "8 Mbit/s", "10 Mbit/s", "20 Mbit/s", "40 Mbit/s")
"""Rates at which a byte takes a whole number of nanoseconds, also when halved."""


def _slower(value: Any, key: str) -> Any:
    """Return a canonical document with times doubled and rates halved."""
    if isinstance(value, dict):
        return {name: _slower(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_slower(one, key) for one in value]
    return _slower_text(value, key) if isinstance(value, str) else value


def _slower_text(text: str, key: str) -> str:
    unit = text.partition(" ")[2]
    if key in ("queue", "reverse_queue"):
        return _slower_scheme(text)
    if key == "packets":
        gap, _, rest = text.partition(":")
        return f"{2 * int(gap)}:{rest}"
    if unit in _SECONDS:
        return f"{2 * round(_number(text, _SECONDS) * 1e9)} ns"
    return f"{round(_number(text, _BIT_S)) // 2} bit/s" if unit in _BIT_S else text


def _slower_scheme(text: str) -> str:
    name = text.split(maxsplit=1)[0]
    known = {one["name"]: one for one in core.aqms()}[name]
    words = text
    for one in known["parameters"]:
        given = _parameter_of(text, one["name"]) or str(one["default"])
        if "time" in one["kind"] and _TIME.fullmatch(given):
            words += f" {one['name']} {2 * round(_time_ns(given))}ns"
        elif one["name"] in _PER_TIME.get(name, {}) and given != "none":
            words += f" {one['name']} {float(given) / 2 ** _PER_TIME[name][one['name']]!r}"
        elif one["kind"] == "rate" and given != "none":
            words += f" {one['name']} {_slower_text(_spaced(given), '').replace(' ', '')}"
    return core.parse_aqm(words)


def _spaced(text: str) -> str:
    digits = text.rstrip("kMGmgbit/s")
    return f"{digits} {text[len(digits) :]}"


def _parameter_of(text: str, name: str) -> str | None:
    # The last word may be a flag.
    words = [*text.split(), ""]
    return words[words.index(name) + 1] if name in words else None


def _time_ns(text: str) -> float:
    digits = text.rstrip("nmush")
    return float(digits) * _SECONDS[text[len(digits) :]] * 1e9


# One answer on every road.


@law("one answer", "compare, plan and Python's run give the same numbers for the same runs.", once_in=200)
def every_command_says_the_same(case: Case) -> Iterator[str]:
    require(case.with_scheme)
    scheme = core.parse_aqm(case.made.scheme)
    network = sj.Network.from_dict(case.document)
    compared = sj.compare(network, {"a": scheme}, replicates=2, jobs=1, series=None, progress=False)
    with tempfile.TemporaryDirectory(prefix="laws-", dir=_scratch()) as folder:
        written = plan.Plan(
            name="laws",
            scenario=toml.dumps(case.document),
            schemes=(plan.Scheme(scheme, "a"),),
            replications=2,
            seed=case.document["seed"],
        )
        execute.run(written, Path(folder), jobs=1)
        stored = Store.open(Path(folder)).read("runs").to_pylist()
    stored.sort(key=lambda row: row["replication"])
    for number in range(2):
        expected = case.run(case.document, scheme=scheme, replication=number)["metrics"]
        for road, row in (("compare", compared.runs.iloc[number].to_dict()), ("plan", stored[number])):
            for name, value in expected.items():
                if name not in row:
                    continue
                found = row[name]
                found = None if found is None or math.isnan(found) else found
                if found != value:
                    yield f"{road}: replication {number}: {name} is {found}, of the run itself {value}"


# Trying them.


@dataclass(slots=True)
class Tally:
    """What became of the laws."""

    scenarios: int = 0
    held: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    cpu_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, other: Tally) -> None:
        self.scenarios += other.scenarios
        self.held += other.held
        for name, spent in other.cpu_s.items():
            self.cpu_s[name] += spent
        for name, found in other.broken.items():
            self.broken.setdefault(name, []).extend(found)


def try_all(numbers: Iterable[int], names: Iterable[str] | None = None) -> Tally:
    """Try the laws on the scenarios of some numbers."""
    tally = Tally()
    chosen = [one for one in LAWS if names is None or one.name in set(names)]
    for number in numbers:
        began = time.process_time()
        case = Case(generate(number))
        tally.scenarios += 1
        tally.cpu_s["generator"] += time.process_time() - began
        for one in chosen:
            if Draw(number ^ 0x5EED).randrange(one.once_in):
                continue
            began = time.process_time()
            found = one.broken(case)
            tally.cpu_s[one.name] += time.process_time() - began
            if found:
                tally.broken.setdefault(one.name, []).append((number, found[0]))
            elif found is not None:
                tally.held[one.name] += 1
    return tally


def shrunk(one: Law, made: Generated) -> Generated:
    """Return the smallest scenario found that still breaks a law."""
    tries = 0
    while tries < _SHRINKS:
        for written in smaller(made.written):
            tries += 1
            try:
                other = Generated(made.number, written, load(written), made.scheme)
            except SojournError:
                continue
            if one.broken(Case(other)):
                made = other
                break
            if tries >= _SHRINKS:
                return made
        else:
            return made
    return made


def _table(tally: Tally, wall_s: float) -> str:
    rows = [f"{'law':<18}{'held':>9}{'broken':>8}{'CPU, s':>9}  reason"]
    for one in LAWS:
        broken = len(tally.broken.get(one.name, ()))
        rows.append(
            f"{one.name:<18}{tally.held[one.name]:>9,}{broken:>8,}{tally.cpu_s[one.name]:>9.1f}  {one.reason}"
        )
    total = sum(tally.cpu_s.values())
    rows.append(
        f"{tally.scenarios:,} scenarios, {total:.0f} s of CPU in {wall_s:.0f} s; "
        f"{1e3 * total / max(1, tally.scenarios):.1f} ms a scenario"
    )
    return "\n".join(rows)


def _chunk(numbers: range) -> Tally:
    return try_all(numbers)


def main() -> int:
    """Try the laws on many scenarios, or on one."""
    about, _, usage = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", help="how many scenarios, or the file of one")
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario (0)")
    parser.add_argument("--law", action="append", help="only this law; again for more")
    parser.add_argument("--show", type=int, default=3, help="failures of a law that are shown (3)")
    given = parser.parse_args()
    began = time.monotonic()
    if not given.what.isdigit():
        written = json.loads(Path(given.what).read_text(encoding="utf-8"))
        scheme = written.pop("scheme", "codel")
        made = Generated(given.first, written, load(written), scheme)
        failed = 0
        for one in LAWS:
            for what in one.broken(Case(made)) or ():
                failed = 1
                print(f"{one.name}: {what}")
        return failed
    count = int(given.what)
    tally = Tally()
    chunks = [
        range(first, min(first + 100, given.first + count)) for first in range(given.first, given.first + count, 100)
    ]
    if given.law or count <= 100:
        tally = try_all(range(given.first, given.first + count), given.law)
    else:
        with multiprocessing.get_context("forkserver").Pool() as pool:
            for done in pool.imap_unordered(_chunk, chunks):
                tally.add(done)
    for one in LAWS:
        found = sorted(tally.broken.get(one.name, ()))
        for number, what in found[: given.show]:
            small = shrunk(one, generate(number))
            print(f"{one.name}, scenario {number}: {what}")
            print(f"  smallest: {(one.broken(Case(small)) or [what])[0]}")
            print(f"  {json.dumps({**small.written, 'scheme': small.scheme})}")
        if len(found) > given.show:
            print(f"{one.name}: also {' '.join(str(number) for number, _ in found[given.show :][:20])}")
    print(_table(tally, time.monotonic() - began))
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
