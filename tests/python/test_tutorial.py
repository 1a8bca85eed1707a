"""The tutorial's explanation of FQ-CoDel's 99th percentile holds in short runs."""

from __future__ import annotations

import pytest

import sojourn as sj


def delays(flows: int, rate_mbit_s: float, *schemes: str) -> dict[str, tuple[float, float]]:
    """Mean and 99th percentile of the waiting time, ms, by scheme."""
    net = sj.dumbbell(
        flows=flows, rate=sj.mbit_s(rate_mbit_s), base_rtt=sj.ms(40), duration=sj.s(60), warm_up=sj.s(12)
    )
    runs = sj.compare(net, list(schemes), replicates=2, seed=1).runs.groupby("scheme")
    found = runs[["sojourn_ms_mean", "sojourn_ms_p99"]].mean()
    return {str(name): (float(row.iloc[0]), float(row.iloc[1])) for name, row in found.iterrows()}


def test_a_queue_for_each_flow_makes_the_slowest_packets_slower() -> None:
    four = delays(4, 20, "codel", "fq_codel flows 1", "fq_codel")
    assert four["codel"] == four["fq_codel flows 1"]
    assert four["fq_codel"][0] < 0.7 * four["codel"][0]
    assert four["fq_codel"][1] > 1.3 * four["codel"][1]
    twenty = delays(20, 20, "fq_codel", "fq_codel flows 65536", "fq_codel interval 20ms")
    assert twenty["fq_codel"] == twenty["fq_codel flows 65536"]
    # Nearly a link of a twentieth of the rate for each flow; a shorter interval drops earlier.
    assert delays(1, 1, "codel")["codel"] == pytest.approx(twenty["fq_codel"], rel=0.08)
    assert twenty["fq_codel interval 20ms"][1] < 0.8 * twenty["fq_codel"][1]
