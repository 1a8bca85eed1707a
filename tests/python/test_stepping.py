"""Stepping through runs, and schemes that change on the way."""

from __future__ import annotations

import math

import pytest

import sojourn as sj
from sojourn.plan.stepping import FEATURES

NETWORK = sj.dumbbell(flows=2, rate=sj.mbit_s(10), base_rtt=sj.ms(40), duration=sj.s(6), warm_up=sj.s(1))


def test_stepping_without_a_switch_is_an_ordinary_run() -> None:
    whole = sj.compare(NETWORK, ["codel"], replicates=1, seed=3, series=None)
    simulation = sj.Simulation(NETWORK, "codel", seed=3)
    while not simulation.is_done:
        simulation.advance(sj.ms(70))
        simulation.window()
    stepped = simulation.report()
    for table in ("runs", "queues", "flows", "distributions"):
        assert stepped.frames[table].equals(whole.frames[table]), table


def test_a_report_on_the_way_is_of_the_whole_run_and_disturbs_nothing() -> None:
    simulation = sj.Simulation(NETWORK, "codel", seed=3)
    simulation.advance(sj.s(2))
    early = simulation.report()
    assert simulation.time_s == 2.0
    simulation.advance(sj.s(9))
    assert simulation.is_done
    assert simulation.report().runs.equals(early.runs)
    assert early.runs["duration_s"].tolist() == [6.0]


def test_the_timeline_and_a_switch_by_hand_are_the_same() -> None:
    written = sj.compare(NETWORK.change(at="2500 ms", scheme="fq_codel"), ["pie"], replicates=1, seed=1, series=None)
    simulation = sj.Simulation(NETWORK, "pie", seed=1)
    simulation.advance(sj.ms(2500))
    simulation.switch("fq_codel")
    mine = simulation.report().runs.drop(columns="events")
    # The change of the timeline is an event of its own.
    assert mine.equals(written.runs.drop(columns="events"))
    plain = sj.compare(NETWORK, ["pie"], replicates=1, seed=1, series=None)
    assert not mine.equals(plain.runs.drop(columns="events"))


def test_a_switch_loses_no_packet_and_shows_in_the_windows() -> None:
    simulation = sj.Simulation(NETWORK, "pfifo limit 200p", seed=1)
    simulation.advance(sj.s(2))
    full = simulation.window()
    simulation.switch("codel")
    # No time has passed: nothing arrived, left or was dropped, and all still waits.
    at_once = simulation.window()
    assert (at_once.arrivals_packets, at_once.departures_packets, at_once.drops_packets) == (0, 0, 0)
    assert at_once.backlog_packets == full.backlog_packets > 100
    assert math.isnan(at_once.loss_ratio)
    assert math.isnan(at_once.goodput_bit_s)
    simulation.switch("pfifo limit 30p")
    assert simulation.window().drops_packets == full.backlog_packets - 30
    simulation.advance(sj.s(1))
    # 30 packets of 1500 B take 36 ms; the oldest, which came through both switches, had waited longer.
    assert simulation.window().sojourn_ms_p50 <= 36.0


def test_windows_show_the_eight_features() -> None:
    simulation = sj.Simulation(NETWORK, "pfifo limit 200p", seed=1)
    simulation.advance(sj.s(3))
    window = simulation.window()
    assert FEATURES == ("s0", "s1", "s2", "s3", "q0", "q1", "q2", "q3")
    assert window.features == tuple(getattr(window, name) for name in FEATURES)
    assert all(value >= 0 for value in window.features)
    # Samples every 15 ms of the level, and of the last departure: near the means over time and over packets.
    assert window.q0 == pytest.approx(window.queue_packets_mean, rel=0.05)
    assert window.s0 == pytest.approx(window.sojourn_ms_mean, rel=0.1)


def test_several_queues_are_told_apart_by_name() -> None:
    lan = sj.Simulation(sj.load("lan", sets=["duration=1 s", "nodes.client.count=2", "nodes.server.count=1"]))
    assert lan.queues == ("lan:client0", "lan:client1", "lan:server0")
    lan.advance(sj.ms(500))
    with pytest.raises(sj.SojournError, match="3 queues are under test: name one; there are: lan:client0"):
        lan.window()
    lan.switch("codel", "lan:client0")
    assert lan.window("lan:client0").arrivals_packets > 0


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda s: s.switch("coddle"), 'unknown algorithm "coddle"'),
        (lambda s: s.switch("codel", "left"), r'there is no queue "left"; allowed: left->right'),
        (lambda s: s.window("right->left"), 'queue "right->left" is not under test; allowed: left->right'),
        (lambda s: s.switch("codel", "right->left"), "computed rather than simulated"),
        (lambda s: sj.Simulation(NETWORK, "codel", seed=-1), "seed=-1 is impossible"),
    ],
)
def test_bad_steps_are_refused(act, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sj.SojournError, match=message):
        act(sj.Simulation(NETWORK))


def test_a_bare_number_is_no_time() -> None:
    with pytest.raises(TypeError):
        sj.Simulation(NETWORK).advance(0.5)  # type: ignore[arg-type]
