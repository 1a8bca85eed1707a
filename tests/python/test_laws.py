"""The laws hold of some hundred scenarios, each law can be broken, and the generator reaches what there is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

import laws
import laws_of_time
from generator import Generated, generate, load
from laws import LAWS, Case, Law
from sojourn.base import core
from sojourn.base.core import Document

SCENARIOS: Final = 250
"""About 10 s of CPU time; `.ci/weekly laws` tries 100,000."""

NOT_DRAWN: Final = frozenset({"file", "capture", "ack_route", "description", "replications"})
"""Keys that no scenario by chance has: of files, of networks with several ways back, and without effect on a run."""


def test_the_laws_hold() -> None:
    tally = laws.try_all(range(SCENARIOS))
    assert not tally.broken
    for one in LAWS:
        # Each says something about one scenario in ten at least of those it is tried on.
        assert tally.held[one.name] >= SCENARIOS / one.once_in / 10, one.name


UDP: Final = {"kind": "udp"}
ONE_WAY: Final = {"from": "r0", "to": "r2"}
WEB: Final = {"kind": "web", "objects": 11, "object_size": "345 B", "connections": 6}
STEADY: Final = {"kind": "cbr", "rate": "900 kbit/s", "packet_size": "1472 B"}
BOTTLENECK: Final = {"name": "bottleneck", "from": "r0", "to": "r2"}
LAST: Final = {"name": "out", "from": "r2", "to": "d", "delay": "0 s"}
ALL: Final = {"from": "s", "to": "d"}
FOUND: Final[dict[str, tuple[str, Document]]] = {
    "a lower rate made more time of the tokens in a bucket": (
        "range",
        {
            "name": "bucket",
            "duration": "2218852 us",
            "links": [
                {"name": "hop0", "from": "r0", "to": "r1", "rate": "800 kbit/s", "delay": "0 s"},
                {
                    "name": "hop1",
                    "from": "r1",
                    "to": "r2",
                    "rate": "1334 kbit/s",
                    "delay": "0 s",
                    "under_test": True,
                    "burst": "10398 B",
                },
                {"name": "hop2", "from": "r2", "to": "r3", "rate": "800 kbit/s", "delay": "13924 us"},
            ],
            "flows": [{"name": "f", "from": "r0", "to": "r3", "start": "3036 us"}],
            "changes": [{"at": "828998 us", "rate": "200 kbit/s"}],
            "seed": 203745875,
        },
    ),
    "a change in an idle time left one packet in the system for ever": (
        "observed",
        {
            "name": "idle",
            "duration": "500 ms",
            "links": [
                {"name": "a", "from": "r0", "to": "r1", "rate": "10 Mbit/s", "delay": "0 s"},
                {"name": "b", "from": "r1", "to": "r2", "rate": "20 Mbit/s", "delay": "2 ms", "under_test": True},
            ],
            "flows": [
                {"name": "f", **ONE_WAY, "transport": UDP, "traffic": {"kind": "gaming", "interval": "10 ms"}},
            ],
            "changes": [
                {"at": "100 ms", "phase": "early"},
                {"at": "305 ms", "queue": "r1->r2", "scheme": "codel"},
            ],
        },
    ),
    "a series told AVQ the rate of a trace more often": (
        "observed",
        {
            "name": "trace",
            "duration": "2105322 us",
            "seed": 553225483,
            "links": [
                {
                    "name": "wire",
                    "from": "r0",
                    "to": "r2",
                    "delay": "2638 us",
                    "reverse_queue": "avq unit packets",
                    "reverse_under_test": True,
                    "trace": {"rates": [["0 s", "840 kbit/s"], ["768 ms", "2358 kbit/s"], ["990 ms", "1814 kbit/s"]]},
                },
            ],
            "flows": [{"name": "x", **ONE_WAY}],
        },
    ),
    "a queue that is not under test counted packets to come": (
        "unobserved",
        {
            "name": "chain",
            "duration": "400 ms",
            "links": [
                {"name": "a", "from": "r0", "to": "r1", "rate": "5 Mbit/s", "delay": "30 ms", "under_test": True},
                {"name": "b", "from": "r1", "to": "r2", "rate": "4 Mbit/s", "delay": "1 ms", "under_test": True},
            ],
            "flows": [{"name": "f", **ONE_WAY}],
        },
    ),
    "what waited to be looked at took the hash of the next connection": (
        "observed",
        {
            "name": "web",
            "duration": "1 s",
            "links": [
                {
                    "name": "a",
                    "from": "r0",
                    "to": "r1",
                    "rate": {"down": "2 Mbit/s", "up": "1 Mbit/s"},
                    "delay": "2 ms",
                    "queue": {"up": "fq_codel"},
                    "under_test": {"up": True},
                },
                {"name": "b", "from": "r1", "to": "r2", "rate": "4 Mbit/s", "delay": "0 s"},
            ],
            "flows": [
                {"name": "f", **ONE_WAY, "traffic": {**WEB, "pause": "3 ms"}},
                {"name": "up", "from": "r2", "to": "r0", "transport": UDP, "traffic": STEADY},
            ],
        },
    ),
    "a queue that had run a shaper for a time was looked at no more": (
        "observed",
        {
            "name": "shaped",
            "duration": "2 s",
            "links": [{"name": "a", **ONE_WAY, "rate": "4 Mbit/s", "delay": "0 s"}],
            "flows": [{"name": "f", **ONE_WAY}],
            "changes": [
                {"at": "500 ms", "queue": "r0->r2", "scheme": "cake"},
                {"at": "700 ms", "queue": "r0->r2", "scheme": "codel"},
            ],
        },
    ),
    "packets over equal links came in the order of events": (
        "observed",
        {
            "name": "twins",
            "duration": "316858 us",
            "nodes": [{"name": "s", "count": 4}],
            "links": [
                {"name": "bottleneck", "from": "r0", "to": "r2", "rate": "1000 kbit/s", "delay": "162 us"},
                {
                    "name": "in",
                    "from": "s",
                    "to": "r0",
                    "rate": "1000 kbit/s",
                    "delay": "18 us",
                    "queue": "sfb limit 3p",
                },
            ],
            "flows": [{"name": "f", "from": "s", "to": "r2"}],
        },
    ),
    "a packet that was sent earlier came before others of its instant": (
        "unobserved",
        {
            "name": "opportunities",
            "duration": "564256 us",
            "seed": 2172415426,
            "nodes": [{"name": "s", "count": 4}],
            "links": [
                {**BOTTLENECK, "rate": "7108 kbit/s", "delay": "11218 us", "under_test": True},
                {
                    "name": "in",
                    "from": "s",
                    "to": "r0",
                    "delay": "0 s",
                    "trace": {"opportunities": "9 3 8 4 3 10 8 10 8 3 5 10 2 8 6 6 5 11 5x3"},
                },
                {**LAST, "rate": "8000 kbit/s", "reverse_under_test": True},
            ],
            "flows": [
                {
                    "name": "bulk0",
                    **ALL,
                    "traffic": {"kind": "poisson", "rate": "1592 kbit/s", "packet_size": "285 B"},
                },
            ],
        },
    ),
    "a port was looked at more often, which takes other events": (
        "stepped",
        {
            "name": "far",
            "duration": "300 ms",
            "links": [
                {"name": "far", "from": "f", "to": "r0", "rate": "100 Mbit/s", "delay": "30 ms"},
                {"name": "in", "from": "m", "to": "n", "rate": "100 Mbit/s", "delay": "0 s"},
                {"name": "a", "from": "n", "to": "r0", "rate": "8 Mbit/s", "delay": "30 ms", "under_test": True},
                {"name": "b", "from": "r0", "to": "r1", "rate": "40 Mbit/s", "delay": "0 s"},
            ],
            "flows": [
                {"name": "f", "from": "f", "to": "r1", "transport": UDP, "traffic": {**STEADY, "rate": "15 Mbit/s"}},
                {"name": "m", "from": "m", "to": "r1", "transport": UDP, "traffic": {**STEADY, "rate": "9 Mbit/s"}},
            ],
        },
    ),
    "each of two runs had another busiest queue": (
        "one answer",
        {
            "name": "stations",
            "duration": "459008 us",
            "seed": 31506849,
            "nodes": [{"name": "sta", "count": 2}],
            "cells": [{"name": "wifi", "access_point": "ap", "stations": ["sta"], "under_test": True}],
            "flows": [{"name": "f3", "from": "ap", "to": "sta"}],
        },
    ),
    "a packet that came in before many others came behind those of its instant": (
        "unobserved",
        {
            "name": "bursts",
            "duration": "127436 us",
            "nodes": [{"name": "s", "count": 4}],
            "links": [
                {
                    **BOTTLENECK,
                    "rate": "37944 kbit/s",
                    "delay": "44 us",
                    "under_test": True,
                    "reverse_trace": {"opportunities": "9 5 6 11 4 6 10 5x3"},
                },
                {"name": "in", "from": "s", "to": "r0", "rate": "20000 kbit/s", "delay": "8926 us"},
                {**LAST, "rate": "74886 kbit/s", "reverse_under_test": True},
            ],
            "flows": [{"name": "x", **ALL}],
        },
    ),
    "an acknowledgement that came as a pacing gap ended came before or behind the segment": (
        "unobserved",
        {
            "name": "gaps",
            "duration": "160188 us",
            "seed": 3901534105,
            "links": [
                {"name": "wire", "from": "a", "to": "b", "rate": "2000 kbit/s", "delay": "0 s", "under_test": True}
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "a",
                    "to": "b",
                    "transport": {"congestion_control": "prague", "ecn": True, "ect": 1},
                    "count": 4,
                }
            ],
        },
    ),
    "equal hosts answered at one instant what a trace had sent together": (
        "unobserved",
        {
            "name": "together",
            "duration": "1068356 us",
            "seed": 3698199352,
            "nodes": [{"name": "d", "count": 3}],
            "links": [
                {
                    **BOTTLENECK,
                    "delay": "6976 us",
                    "trace": {
                        "opportunities": "5 4 5 7 11 3 1 1 9 8 6 5 4 6 2 9 6 3 1 11 6 10 10 11 6 7 8 10 7 5x3",
                    },
                    "reverse_rate": "500 kbit/s",
                },
                {"name": "in", "from": "s", "to": "r0", "rate": "3548 kbit/s", "delay": "0 s"},
                {**LAST, "rate": "4000 kbit/s", "delay": "4088 us", "reverse_under_test": True},
            ],
            "flows": [{"name": "f", "from": "s", "to": "d", "transport": {"mss": "608 B"}}],
        },
    ),
}
"""What the laws found, as small as it became: what it was, the law that it broke, and the scenario."""


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_stays_mended(what: str) -> None:
    name, written = FOUND[what]
    [one] = [one for one in LAWS if one.name == name]
    assert one.broken(Case(Generated(0, written, load(written), "codel"))) == []


def test_a_slower_scheme_differs_in_its_times_alone() -> None:
    for about in core.aqms():
        needed = " preset c1 interarrival 1ms" if about["name"].endswith("daqm") else ""
        text = core.parse_aqm(about["name"] + needed)
        slower = laws_of_time.slower_scheme(text)
        for one in about["parameters"]:
            if one["kind"] == "choice":
                before, after = (laws_of_time.parameter_of(own, one["name"]) for own in (text, slower))
                assert (before or one["default"]) == (after or one["default"]), slower


@pytest.mark.parametrize(("name", "more"), [("pie", "preset linux-6.1"), ("fq_codel", "preset linux-7.2")])
def test_a_time_in_the_law_is_known_by_the_canonical_text(name: str, more: str) -> None:
    assert laws_of_time.scales(name)
    assert not laws_of_time.scales(f"{name} {more}")


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
    assert known - found == NOT_DRAWN


# Each law can be broken: run `k` of a scenario reports what it did not measure, each run something else.


def every(report: Document, table: str, metric: str, change: Callable[[float], float]) -> None:
    for one in report.get(table, ()):
        value = one["metrics"].get(metric)
        if value is not None:
            one["metrics"][metric] = change(value)


def out_of_range(report: Document, k: int) -> None:
    every(report, "flows", "goodput_bit_s", lambda _: -1.0)


def one_more_sent(report: Document, k: int) -> None:
    report["conservation"]["sent"] += 1


def more_sent(report: Document, k: int) -> None:
    for table in ("flows", "phases"):
        every(report, table, "sent_packets", lambda value: value + 1)


def falling(report: Document, k: int) -> None:
    points = report["distributions"]["one_way_delay_ms"]
    points["value"] = [*points["value"], -1.0]


def too_fast(report: Document, k: int) -> None:
    every(report, "flows", "throughput_bit_s", lambda value: value + 1e12)


def other_run(report: Document, k: int) -> None:
    every(report, "queues", "arrivals_packets", lambda value: value + k)
    report["metrics"]["goodput_bit_s"] += k


FALSIFIED: Final[dict[str, Callable[[Document, int], None]]] = {
    "range": out_of_range,
    "conservation": one_more_sent,
    "sums": more_sent,
    "phases": more_sent,
    "quantiles": falling,
    "capacity": too_fast,
}


@pytest.mark.parametrize("one", LAWS, ids=lambda one: one.name)
def test_a_law_can_be_broken(one: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Case.run_text
    falsify = FALSIFIED.get(one.name, other_run)
    runs: list[str] = []

    def run_text(case: Case, document: Document, **task: Any) -> str:
        runs.append(one.name)
        report = json.loads(whole(case, document, **task))
        falsify(report, len(runs))
        return json.dumps(report)

    monkeypatch.setattr(Case, "run_text", run_text)
    # Not every scenario can show it: a law may say nothing of one, or no packet may arrive.
    assert any(one.broken(Case(generate(number))) for number in range(60))


def test_a_failure_is_shown_by_the_least_that_fails() -> None:
    made = next(
        one for one in map(generate, range(100)) if len(one.written["flows"]) > 2 and len(one.written["links"]) > 2
    )
    small = laws.shrunk(Law("", "", lambda case: ["a link"] if case.document["links"] else []), made)
    # A scenario needs a flow, and this failure a link; the rest was taken out.
    assert len(small.written["links"]) == len(small.written["flows"]) == 1
    assert set(small.written) <= {"name", "links", "flows", "duration", "seed", "nodes"}
    assert Case(Generated(0, small.written, load(small.written), small.scheme)).report["flows"]
