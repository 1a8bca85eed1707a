"""Laws: what a report must be in itself."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final

from law import BIT_S, ROUNDING, Case, amount, is_near, law, require
from sojourn.base import core
from sojourn.base.core import Document


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
    *(effect["metric"] for effect in core.link_effects()),
    "marks_packets",
    "l4s_packets",
    "l4s_drops_packets",
    "classic_packets",
    "classic_drops_packets",
)


def _sum(tables: Iterable[Document], name: str) -> float | None:
    found = [one["metrics"][name] for one in tables if one["metrics"].get(name) is not None]
    return math.fsum(found) if found else None


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
            if not is_near(found, whole):
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
            if not is_near(found, whole["metrics"].get(name)):
                yield f"queues all: {name} is {whole['metrics'].get(name)}, of the queues under test {found}"
    for name, found, of in sums:
        if not is_near(found, report["metrics"][name]):
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
            if single and name in whole["metrics"] and not is_near(_sum(single, name), whole["metrics"][name]):
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
        rate = amount(link["rate"], BIT_S)
        for end, other, bit_s in (
            (link["to"], link["from"], rate),
            (link["from"], link["to"], amount(link.get("reverse_rate", link["rate"]), BIT_S)),
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
