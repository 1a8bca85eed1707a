"""The laws hold of some hundred scenarios by chance, each law can be broken, and the generator reaches what there is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

import laws
from generator import Generated, generate, load
from laws import LAWS, Case, Law
from sojourn import core
from sojourn.core import Document

SCENARIOS: Final = 500
"""About 20 s of CPU time; `.ci/weekly laws` tries 100,000."""

NOT_DRAWN: Final = frozenset({"file", "ack_route"})
"""Keys that no scenario by chance has: names of files, and a way back that only networks with several ways have."""


def test_the_laws_hold() -> None:
    tally = laws.try_all(range(SCENARIOS))
    assert not tally.broken
    for one in LAWS:
        # Each says something about one scenario in eight at least of those it is tried on.
        assert tally.held[one.name] >= SCENARIOS / one.once_in / 8, one.name


def test_a_number_gives_one_scenario() -> None:
    assert generate(7) == generate(7)
    assert len({json.dumps(generate(number).document) for number in range(20)}) == 20


def keys(value: Any, of: str = "") -> Iterator[str]:
    """Every key of a document, with the one of its table."""
    if isinstance(value, list):
        for one in value:
            yield from keys(one, of)
    if isinstance(value, dict):
        for key, one in value.items():
            yield f"{of}.{key}" if of in {"transport", "traffic"} else key
            yield from keys(one, key)


def test_the_generator_reaches_every_scheme_kind_and_key() -> None:
    made = [generate(number) for number in range(2000)]
    written = [one.written for one in made]
    flows = [flow for one in written for flow in one["flows"]]
    schemes = {one.scheme.split()[0] for one in made}
    assert schemes == {one["name"] for one in core.aqms()}
    kinds = {flow["traffic"]["kind"] for flow in flows if "traffic" in flow}
    assert kinds == {one["name"] for one in core.traffic_kinds()}
    controls = {flow.get("transport", {}).get("congestion_control", "cubic") for flow in flows}
    assert controls == {one["name"] for one in core.congestion_controls()}
    found = {key.rpartition(".")[2] for one in written for key in keys(one)}
    tables = core.schema()["$defs"]
    known = set(core.schema()["properties"])
    for name in ("LinkTable", "BusTable", "CellTable", "FlowTable", "TransportTable", "TrafficTable", "ChangeTable"):
        for table in tables[name].get("oneOf", [tables[name]]):
            known |= set(table["properties"])
    assert known - found - NOT_DRAWN <= {"description"}


# Each law can be broken: the report of the scenario as written is falsified.


def every(report: Document, table: str, metric: str, change: Callable[[float], float]) -> None:
    for one in report[table]:
        value = one["metrics"].get(metric)
        if value is not None:
            one["metrics"][metric] = change(value)


def out_of_range(report: Document) -> None:
    every(report, "flows", "goodput_bit_s", lambda _: -1.0)


def one_more_sent(report: Document) -> None:
    report["conservation"]["sent"] += 1


def more_sent(report: Document) -> None:
    every(report, "flows", "sent_packets", lambda value: value + 1)
    every(report, "phases", "sent_packets", lambda value: value + 1)


def falling(report: Document) -> None:
    points = report["distributions"]["one_way_delay_ms"]
    points["value"] = [*points["value"], 0.0]


def too_fast(report: Document) -> None:
    every(report, "flows", "throughput_bit_s", lambda value: value + 1e12)


def other_queue(report: Document) -> None:
    every(report, "queues", "arrivals_packets", lambda value: value + 1)


def other_run(report: Document) -> None:
    other_queue(report)
    report["metrics"]["goodput_bit_s"] += 1.0


FALSIFIED: Final[dict[str, Callable[[Document], None]]] = {
    "range": out_of_range,
    "conservation": one_more_sent,
    "sums": more_sent,
    "phases": more_sent,
    "quantiles": falling,
    "capacity": too_fast,
    "limit": other_queue,
    "flows reordered": other_queue,
    "silent flow": other_queue,
}


@pytest.mark.parametrize("one", LAWS, ids=lambda one: one.name)
def test_a_law_can_be_broken(one: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Case.run_text
    falsify = FALSIFIED.get(one.name, other_run)
    first: list[str] = []

    def run_text(case: Case, document: Document, **task: Any) -> str:
        # Only the first run of a scenario, so that runs that should be the same differ.
        text = whole(case, document, **task)
        if first:
            return text
        first.append(text)
        report = json.loads(text)
        falsify(report)
        return json.dumps(report)

    monkeypatch.setattr(Case, "run_text", run_text)
    for number in range(60):
        first.clear()
        found = one.broken(Case(generate(number)))
        if found is not None and first:
            # A scenario without any such packet cannot show it.
            if found:
                return
    pytest.fail(f"nothing broke the law {one.name!r}")


def test_a_failure_is_shown_by_the_least_that_fails() -> None:
    made = next(one for one in map(generate, range(100)) if len(one.written["flows"]) > 2 and len(one.written["links"]) > 1)
    small = laws.shrunk(Law("", "", lambda case: ["a link"] if case.document["links"] else []), made)
    # Of what can be taken out, only the duration, name and seed are left besides a link and a flow, which a scenario needs.
    assert len(small.written["links"]) <= 2
    assert len(small.written["flows"]) == 1
    assert set(small.written) <= {"name", "links", "flows", "duration", "seed", "nodes"}
    assert Case(Generated(0, small.written, load(small.written), small.scheme)).report["conservation"]["sent"] >= 0
