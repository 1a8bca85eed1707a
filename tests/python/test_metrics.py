"""Tests that metrics are declared with cohort and range, and that runs are checked against these."""

from __future__ import annotations

import math
from typing import Any

import pytest

import sojourn as sj
from sojourn.base import core
from sojourn.real.shell import carry, executor, outcome
from sojourn.results import metrics


def test_every_metric_says_of_what_it_is_and_which_values_it_can_have() -> None:
    for row in core.metrics():
        low = -math.inf if row["least"] is None else row["least"]
        high = math.inf if row["most"] is None else row["most"]
        assert low < high, row["name"]
        assert row["cohort"], row["name"]
        assert row["cohort_definition"], row["name"]
        # A share has a scale in percent, and no other metric.
        assert row["shown_unit"] != "%" or (row["least"], row["most"]) == (0.0, 1.0), row["name"]


def test_a_range_refuses_what_lies_outside() -> None:
    loss = metrics.find("loss_ratio")
    assert loss.cohort == "left"
    assert [loss.allows(value) for value in (0.0, 1.0, None)] == [True] * 3
    assert [loss.allows(value) for value in (-1e-9, 1.0 + 1e-9, math.nan, math.inf)] == [False] * 4
    # G.107's formula for R has no least value; MOS is 1 there.
    assert metrics.find("voip_r", "group").allows(-40.0)
    assert not metrics.find("voip_mos", "group").allows(0.9)


@pytest.mark.parametrize("scheme", ["codel", "pie", "red min 5p max 15p limit 40p"])
def test_shares_are_shares_after_a_warm_up_that_fills_the_queue(scheme: str) -> None:
    # Sources stop as the measurement begins: what leaves in it arrived before.
    network = sj.Network.from_dict(
        {
            "name": "late",
            "duration": "3 s",
            "warm_up": "1 s",
            "links": [
                {"name": "l", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "5 ms", "under_test": True},
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "a",
                    "to": "b",
                    "stop": "1 s",
                    "transport": {"kind": "udp"},
                    "traffic": {"kind": "cbr", "rate": "3 Mbit/s", "packet_size": "1000 B"},
                }
            ],
        }
    )
    found = sj.compare(network, [scheme], replicates=1, series=None, progress=False).runs.iloc[0]
    assert found["drops_packets"] <= found["arrivals_packets"]
    assert found["loss_ratio"] == found["drops_packets"] / found["arrivals_packets"]
    assert 0.0 <= found["loss_ratio"] <= 1.0


def test_real_packets_with_impossible_values_are_told() -> None:
    values = dict.fromkeys(("sojourn_ms_mean", "arrivals_packets", "drops_packets", "marks_packets"), 0.0)
    way = outcome.DirectionOutcome(
        metrics=values | {"mark_ratio": 1.5, "loss_ratio": 0.5, "link_losses_packets": 0.0, "sojourn_ms_p99": None},
        throughput_bit_s=0.0,
        lateness_s={"mean_s": 0.0, "p99_s": 0.0},
        least_lateness_s={"mean_s": 0.0},
        dated_late_s={"mean_s": 0.0},
        lost_rate_s=0.0,
        blocked_s=0.0,
        missed=0,
    )
    run = outcome.Outcome(
        scenario={}, seed=1, duration_s=1.0, ways={"down": way}, series=(), distributions={}, status=0, states=()
    )
    assert run.impossible == ["mark_ratio of down is 1.5"]
    assert "WARNING: impossible values were measured: mark_ratio of down is 1.5" in run.table()


def test_what_every_effect_of_a_link_lost_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    outages = {"key": "outage", "count": "outage_lost", "metric": "link_outage_packets"}
    effects = [*core.link_effects(), outages]
    monkeypatch.setattr(core, "link_effects", lambda: effects)
    found = {"link_losses_packets": 2.0, "link_outage_packets": 3.0, "link_duplicates_packets": 50.0}
    assert outcome.lost_on_link(found) == 5.0
    # Of a link without one of the effects, and without any.
    assert outcome.lost_on_link({"link_losses_packets": 2.0, "link_outage_packets": None}) == 2.0
    assert outcome.lost_on_link({"link_duplicates_packets": 50.0}) is None


def state(packets: int) -> dict[str, Any]:
    """What the device shows after `packets` in each direction, and as many times and drops."""
    names = ("arrived", "forwarded", "marked", "dropped_overflow", "dropped_early", "dropped_flow")
    times = dict.fromkeys(("mean_s", "p50_s", "p95_s", "p99_s", "max_s"), 1e-3)
    direction = {
        "counts": {name: {"packets": packets, "bytes": 1500 * packets} for name in names},
        "sojourn_totals": {"packets": packets, "sum_s": 1e-3 * packets, "buckets": [packets]},
        "backlog": {"packets": 0},
        **dict.fromkeys(("sojourn", "sojourn_all", "lateness", "lateness_most", "dated_late"), times),
        **dict.fromkeys(("stale", "no_room", "late_s", "blocked_s"), 0),
        **{effect["count"]: packets for effect in core.link_effects()},
    }
    port = {"counters": dict.fromkeys(("missed", "oversize", "send_failed", "link_dropped"), 0)}
    return {"uptime_s": float(packets), "directions": [direction] * 2, "ports": [port] * 2}


def report_of_real_packets(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The report of a transfer, bulk data and datagrams, as a plan has it."""
    scenario = {"warm_up": "0 s", "links": [{"queue": "codel", "reverse_queue": "pfifo", "under_test": True}]}
    run = outcome.measured(scenario, [state(0), state(10)], first=0, seed=1, duration_s=1.0, status=0)
    kinds = (("transfer", "tcp"), ("bulk", "tcp"), ("cbr", "udp"))
    facts = dict.fromkeys(("first_sent_ns", "retransmissions"), 1)
    facts |= dict.fromkeys(("received", "first_heard_ns", "completed_ns", "arrived", "sent"), 2)
    heard: dict[str, Any] = {**facts, "delays_ns": [1e6, 2e6]}
    said = {host: {"flows": {str(number): heard for number in range(3)}, "groups": {}} for host in ("here", "there")}
    said = {"client": said["here"], "server": said["there"]}
    wanted = [
        {"number": number, "name": kind, "group": "all", "from": "a", "to": "b", "transport": transport}
        | {"kind": kind, "sender": "client", "receiver": "server"}
        for number, (kind, transport) in enumerate(kinds)
    ]
    document = carry._document(scenario, run, wanted, said, 1.0)
    monkeypatch.setattr(executor, "carry", lambda *_, **__: (run, None, document))
    plan = executor.Packets.__new__(executor.Packets)
    plan._stop = None  # type: ignore[assignment]
    tried = type("Run", (), {"scheme": None, "seed": 1, "replication": 0})
    return plan._run(scenario, tried)  # type: ignore[arg-type]


def test_real_packets_have_the_metrics_that_are_declared_real(monkeypatch: pytest.MonkeyPatch) -> None:
    report = report_of_real_packets(monkeypatch)
    entries = {"run": [report], "queue": report["queues"], "group": report["groups"], "flow": report["flows"]}
    for scope, found in entries.items():
        names = {name for one in found for name, value in one["metrics"].items() if value is not None}
        # Metrics of applications are the library's own.
        declared = {row["name"] for row in core.metrics() if scope in row["real"]}
        declared = {name for name in declared if metrics.family(name) is None}
        place = "python/sojourn/real/shell, or declared in crates/sim/src/simulation/report/catalogue.rs"
        assert names == declared, f"{scope}: {sorted(names ^ declared)} are not computed in {place}"
