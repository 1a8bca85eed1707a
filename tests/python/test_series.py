"""Time series of flows and of schemes' internals, and results by group of flows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn.base import core
from sojourn.plan.runner import canonical

INTERNALS = ["series.interval=50 ms", "series.flows=true", "series.internals=true"]


def small() -> sj.Network:
    """Return a bottleneck of 10 Mbit/s with two groups of flows, CUBIC and BBR."""
    access = {"rate": sj.mbit_s(100), "delay": sj.ms(1)}
    net = sj.Network(name="two_groups", duration=sj.s(6), warm_up=sj.s(2))
    net = net.node(name="sender", count=2).node(name="receiver", count=2)
    net = net.link(
        name="bottleneck",
        from_="left",
        to="right",
        rate=sj.mbit_s(10),
        delay=sj.ms(10),
        queue="pie",
        under_test=True,
    )
    net = net.link(name="in", from_="sender", to="left", **access)
    net = net.link(name="out", from_="right", to="receiver", **access)
    for name in ("cubic", "bbr"):
        net = net.flow(name=name, from_="sender", to="receiver", transport=sj.tcp(congestion_control=name))
    return net


@pytest.fixture(scope="module")
def sampled() -> sj.Results:
    return sj.run(small(), seed=4, sets=INTERNALS)


def test_every_flow_has_its_series(sampled: sj.Results) -> None:
    flows = ["cubic[0]", "cubic[1]", "bbr[0]", "bbr[1]"]
    for name in ("cwnd_packets", "srtt_ms", "delivery_rate_bit_s", "ssthresh_packets"):
        assert set(sampled.time_series(name).columns) <= {*flows}
    assert list(sampled.time_series("cwnd_packets").columns) == flows
    # Only BBR paces.
    assert list(sampled.time_series("pacing_rate_bit_s").columns) == ["bbr[0]", "bbr[1]"]
    # An unset threshold is no number: CUBIC's is set by its first loss and stays set.
    threshold = sampled.time_series("ssthresh_packets")["cubic[0]"]
    assert np.isnan(threshold.iloc[0])
    known = threshold.notna().to_numpy()
    assert known[-1]
    assert (np.diff(known.astype(int)) >= 0).all()


def test_a_flow_that_has_not_begun_or_has_ended_has_no_values() -> None:
    link = {"rate": sj.mbit_s(10), "delay": sj.ms(5), "under_test": True, "queue": "pfifo limit 100p"}
    net = sj.Network(name="late", duration=sj.s(8), warm_up=sj.s(0)).link(name="bn", from_="a", to="b", **link)
    net = net.flow(name="always", from_="a", to="b")
    late = {"start": sj.s(2), "stop": sj.s(4), "transport": sj.tcp(congestion_control="bbr3")}
    results = sj.run(
        net.flow(name="late", from_="a", to="b", **late), sets=["series.interval=100 ms", "series.flows=true"]
    )
    for name in ("cwnd_packets", "srtt_ms", "pacing_rate_bit_s", "delivery_rate_bit_s", "goodput_bit_s"):
        values = results.time_series(name)["late[0]"]
        assert values[values.index < 1.95].isna().all(), name
        assert values[(values.index > 2.15) & (values.index < 3.95)].notna().all(), name
        # 100 packets and a round trip of 10 ms are 0.13 s: by then all is acknowledged that was sent before the stop.
        assert values[values.index > 4.35].isna().all(), name
    goodput = results.time_series("goodput_bit_s")
    assert goodput["always[0]"].notna().all()
    assert goodput[["always[0]", "late[0]"]].sum(axis=1).to_numpy() == pytest.approx(
        results.series.loc[results.series["name"] == "goodput_bit_s", "value"].to_numpy(), abs=1.0
    )
    # While it is alone a flow has everything; a flow counts in windows that it lasts throughout.
    fairness = results.fairness_over_time(sj.s(1)).set_index(["measure", "from_s"])["mean"]["jain_index"]
    assert fairness[[0.0, 1.0, 5.0, 6.0, 7.0]].tolist() == [1.0] * 5
    assert fairness[3.0] < 1.0


def test_the_delivery_rate_adds_up_to_what_was_delivered(sampled: sj.Results) -> None:
    rate = sampled.time_series("delivery_rate_bit_s")
    goodput = sampled.time_series("goodput_bit_s")
    for flow in rate.columns:
        # What is on its way at the end, a window of at most 250 segments of 1448 B in 6 s: 0.5 Mbit/s.
        assert abs(rate[flow].mean() - goodput[flow].mean()) < 250 * 1448 * 8 / 6
        assert rate[flow].mean() > 0


def test_internals_are_those_of_the_report_and_change_nothing() -> None:
    def run(*sets: str) -> core.Document:
        scenario = canonical(small(), sets)
        task = {"scheme": None, "seed": 4, "replication": 0, "series": "50 ms"}
        return core.run_many(scenario, [task], jobs=1)[0]

    plain, watched = run(*INTERNALS[:2]), run(*INTERNALS)
    added = watched["series"][len(plain["series"]) :]
    assert watched["series"][: len(plain["series"])] == plain["series"]
    for name in plain.keys() - {"series"}:
        assert watched[name] == plain[name], name
    # PIE's, at 50 ms, 100 ms, ..., 6 s.
    names = [one["name"] for one in added]
    assert {"drop_probability:left->right", "delay_s:left->right"} <= {*names}
    assert {len(one["value"]) for one in added} == {120}
    probability = next(one["value"] for one in added if one["name"].startswith("drop_probability"))
    assert 0 < max(probability) < 1
    final = next(queue for queue in watched["queues"] if queue["under_test"])["internals"]["drop_probability"]
    # PIE updates every 15 ms, and 6 s is a multiple: the last point is the state in which the run ends.
    assert probability[-1] == final


def test_series_are_found_by_name(sampled: sj.Results) -> None:
    assert list(sampled.time_series("queue_packets").columns) == ["queue_packets"]
    with pytest.raises(sj.SojournError, match="did you mean `cwnd_packets`"):
        sampled.time_series("cwnd_packet")
    names = sampled.plot.names()
    assert {"series:cwnd_packets", "series:drop_probability", "delay_cdf_by_group"} <= {*names}
    for name in ("series:cwnd_packets", "series:drop_probability", "delay_cdf_by_group"):
        assert sampled.plot.draw(name).axes


def test_delay_variation_is_above_the_least_delay(sampled: sj.Results) -> None:
    label = sampled.labels[0]
    for group in (None, "cubic", "bbr"):
        quantity = "one_way_delay_ms" if group is None else f"one_way_delay_ms:{group}"
        own = sampled.distributions[sampled.distributions["quantity"] == quantity]
        # The way takes 12 ms of propagation, and 1500 B at 100, 10 and 100 Mbit/s 0.12 + 1.2 + 0.12 ms: 13.44 ms, and
        # then the queue.
        least = float(own["value"].min())
        assert 13.44 * (1 - 1 / 64) < least < 20
        p99 = sampled.quantile(label, quantity, 0.99).mean
        assert sampled.delay_variation(label, group).mean == pytest.approx(p99 - least, rel=1 / 32)
    with pytest.raises(sj.SojournError, match="no distribution"):
        sampled.delay_variation(label, "nobody")


def test_groups_are_one_column_away(sampled: sj.Results, tmp_path: Path) -> None:
    summary = sampled.summary(by="group")
    assert list(summary.columns[:3]) == ["scheme", "group", "metric"]
    own = summary[summary["metric"] == "goodput_bit_s"].set_index("group")["mean"]
    assert list(own.index) == ["cubic", "bbr"]
    for group in own.index:
        assert own[group] == sampled.estimate(sampled.labels[0], "goodput_bit_s", group).mean
    # The distribution of a group's delay has the quantile that the group reports.
    label = sampled.labels[0]
    for group in ("cubic", "bbr"):
        found = sampled.quantile(label, f"one_way_delay_ms:{group}", 0.99).mean
        assert found == pytest.approx(sampled.estimate(label, "one_way_delay_ms_p99", group).mean, rel=1 / 64)
