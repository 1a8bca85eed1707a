"""Measures of fairness by hand, on arrays and on runs whose goodputs are known."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import sojourn as sj
from shared import small_network
from sojourn.results import fairness


def test_measures_of_an_allocation() -> None:
    # Mean 2, smallest 1.
    assert fairness.max_min_share(np.array([1.0, 2.0, 3.0])) == pytest.approx(0.5)
    # Geometric mean 2, arithmetic mean 2.5.
    assert fairness.proportional_index(np.array([1.0, 4.0])) == pytest.approx(0.8)
    assert fairness.proportional_index(np.array([0.0, 4.0])) == 0.0
    assert math.isnan(fairness.proportional_index(np.zeros(2)))
    assert math.isnan(fairness.max_min_share(np.zeros(0)))


def test_the_max_min_allocation_fills_the_small_demands_first() -> None:
    # 1 is met; the other three share 9, 3 each, less than any of them wants.
    wanted = np.array([math.inf, 1.0, 4.0, math.inf])
    assert fairness.max_min_allocation(10.0, wanted).tolist() == [3.0, 1.0, 3.0, 3.0]
    # Enough for all.
    assert fairness.max_min_allocation(10.0, np.array([2.0, 5.0])).tolist() == [2.0, 5.0]


def test_the_slope_over_round_trip_times() -> None:
    rtts = np.array([10.0, 20.0, 80.0])
    assert fairness.log_slope(40.0 / rtts, rtts) == pytest.approx(-1.0)
    assert fairness.log_slope(np.full(3, 7.0), rtts) == pytest.approx(0.0)
    # In ln 2: x = 0, 1, 3 above 10, y = 0, -2, -2 above 4; means 4/3 and -4/3.
    # Sum xy = (-4/3)(4/3) + (-1/3)(-2/3) + (5/3)(-2/3) = -24/9; sum xx = 16/9 + 1/9 + 25/9 = 42/9.
    assert fairness.log_slope(np.array([4.0, 1.0, 1.0]), rtts) == pytest.approx(-24 / 42)
    # Round-trip times within 20 % of each other say nothing.
    assert math.isnan(fairness.log_slope(np.array([1.0, 2.0]), np.array([10.0, 11.9])))


def test_the_order_of_starts() -> None:
    # Started first: 4 and 2; last: 1 and 1; the one at 3 s, in the middle, is of neither half.
    shares, starts = np.array([1.0, 4.0, 9.0, 2.0, 1.0]), np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    assert fairness.early_over_late(shares, starts) == pytest.approx(3.0)
    assert math.isnan(fairness.early_over_late(shares, np.ones(5)))


def two_rates(second_start_s: float) -> sj.Network:
    """1 and 2 Mbit/s through 10 Mbit/s: nothing is lost, so each gets what it sends."""
    network = sj.Network(name="two", duration=sj.s(10), warm_up=sj.s(2)).link(
        name="link", from_="a", to="b", rate=sj.mbit_s(10), delay=sj.ms(1), under_test=True
    )
    for name, rate, start in (("slow", 1, 0.0), ("fast", 2, second_start_s)):
        traffic = sj.cbr(rate=sj.mbit_s(rate), packet_size=sj.bytes_(1000))
        network = network.flow(name=name, from_="a", to="b", transport=sj.udp(), traffic=traffic, start=sj.s(start))
    return network


def test_a_run_whose_goodputs_are_known() -> None:
    table = sj.run(two_rates(1.0), replicates=2, seed=1).fairness().set_index("measure")["mean"]
    # (1 + 2)^2 / (2 (1 + 4)); 1 / 1.5; sqrt(2) / 1.5; the slow one came first.
    assert table["jain_index"] == pytest.approx(0.9, rel=2e-3)
    assert table["max_min_share"] == pytest.approx(1 / 1.5, rel=2e-3)
    assert table["proportional_index"] == pytest.approx(math.sqrt(2) / 1.5, rel=2e-3)
    assert table["early_over_late"] == pytest.approx(0.5, rel=2e-3)
    assert table["unresponsive_share"] == 1.0
    assert math.isnan(table["rtt_slope"])
    assert math.isnan(table["short_over_long"])


def test_short_flows_against_long_ones_by_their_rates_while_alive() -> None:
    results = sj.run(two_rates(1.0), replicates=2, seed=1)
    # 8 s are measured from 2 s on. The first ran from 1 s to 4 s, 2 s of them measured, with 0.5 Mbit/s over the 8 s:
    # 2 Mbit/s while alive. The second lasts, from 6 s on: 1 Mbit/s over the 8 s are 2 Mbit/s over its 4 s.
    flows = results.flows.assign(goodput_bit_s=[0.5e6, 1e6] * 2)
    flows["flow_start_s"], flows["flow_completion_s"] = [1.0, 6.0] * 2, [3.0, math.nan] * 2
    given = dataclasses.replace(results, frames={**results.frames, "flows": flows})
    assert given.fairness().set_index("measure").loc["short_over_long", "mean"] == pytest.approx(1.0)


def test_windows_count_a_flow_from_its_start_on() -> None:
    sampled = ["series.interval=500 ms", "series.flows=true"]
    results = sj.run(two_rates(3.9), replicates=2, seed=1, sets=sampled)
    table = results.fairness_over_time(sj.s(2))
    jain = table[table["measure"] == "jain_index"].set_index("from_s")["mean"]
    # The slow one's first packet is at 8 ms, after the first window's start; the fast one's within the second.
    assert math.isnan(jain.loc[0.0])
    assert jain.loc[2.0] == 1.0
    assert jain.loc[[4.0, 6.0, 8.0]].tolist() == pytest.approx([0.9] * 3, rel=2e-3)
    assert table.loc[table["from_s"] > 0, "replications"].eq(2).all()
    series = results.series
    last = series[(series["name"] == "goodput_bit_s:fast[0]") & (series["t_s"] == 10.0)]
    assert last["value"].tolist() == pytest.approx([2e6] * 2, rel=1e-2)
    # The interval that ends with the warm-up, at 2 s, is as full as the others: 1 Mbit/s, the slow one's alone.
    assert series.loc[series["name"].isin(("goodput_bit_s", "goodput_bit_s:slow[0]")), "value"].notna().all()
    # The fast one begins in the interval that ends at 4 s.
    fast = series[series["name"] == "goodput_bit_s:fast[0]"]
    assert fast["value"].notna().tolist() == (fast["t_s"] >= 4.0).tolist()
    ends = series[(series["name"] == "goodput_bit_s") & (series["t_s"] == 2.0)]
    assert ends["value"].tolist() == pytest.approx([1e6] * 2, rel=2e-2)


def test_what_is_not_there_is_named() -> None:
    results = sj.run(small_network(), replicates=1, seed=1)
    with pytest.raises(sj.SojournError, match="unknown flows `sctp`; allowed: tcp"):
        results.fairness("sctp")
    with pytest.raises(sj.SojournError, match=r"set the scenario's `series\.flows=true`"):
        results.fairness_over_time(sj.s(1))
    sampled = sj.run(small_network(), seed=1, sets=["series.interval=500 ms", "series.flows=true"])
    with pytest.raises(sj.SojournError, match=r"700 ms is not a multiple of the series' interval of 0\.5 s"):
        sampled.fairness_over_time(sj.ms(700))
