"""Access lines and the load of RRUL."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sojourn as sj
from sojourn.model import lines
from sojourn.view import rrul

QUICK = {"duration": sj.s(12), "warm_up": sj.s(7)}


def line(technology: str = "docsis", down: int = 20, up: int = 4) -> sj.Network:
    """A line of 30 ms."""
    return sj.access(down=sj.mbit_s(down), up=sj.mbit_s(up), rtt=sj.ms(30), technology=technology, **QUICK)


@pytest.fixture(scope="module")
def results() -> sj.Results:
    """RRUL on a cable line."""
    return sj.compare(line().add_flows(sj.rrul()), ["pfifo limit 500p", "fq_codel"], replicates=2, seed=3)


def test_a_line_has_its_rates_framing_and_base_rtt() -> None:
    ping = [flow for flow in sj.rrul() if flow["name"] == "ping-ICMP"]
    run = sj.run(line().add_flows(ping), replicates=1, seed=1)
    # Propagation of 30 ms. A ping of 84 B: 102 B on the line, 0.204 ms at 4 Mbit/s and 0.0408 ms at 20 Mbit/s; twice
    # 0.672 us at 1 Gbit/s and 0.0672 us at 10 Gbit/s.
    expected = 30 + 0.204 + 0.0408 + 2 * (0.000672 + 0.0000672)
    assert run.values(run.labels[0], "rtt_ms_mean", "ping-ICMP")[0] == pytest.approx(expected, abs=1e-5)


def test_a_line_carries_what_its_framing_leaves() -> None:
    # A download in packets of 1500 B with 1448 B of payload: 1518 B with DOCSIS, 1749 B in ATM cells. The line is
    # always busy with it.
    download = [flow for flow in sj.rrul() if flow["name"] == "download-BE"]
    for technology, framed in (("docsis", 1518), ("adsl", 1749), ("vdsl", 1554), ("fibre", 1538)):
        run = sj.run(line(technology).add_flows(download), replicates=1, seed=1)
        goodput = run.values(run.labels[0], "goodput_bit_s")[0] / 1e6
        assert goodput == pytest.approx(20 * 1448 / framed, rel=0.003), technology


def test_the_summary_has_flents_names_and_both_directions(results: sj.Results) -> None:
    summary = sj.RrulSummary(results)
    rows = str(summary).splitlines()
    assert rows[0].split() == ["pfifo", "limit", "500p", "fq_codel"]
    assert [row[:16].strip() for row in rows[1:3]] == ["TCP download sum", "TCP upload sum"]
    assert [name for name, _, _ in summary.rows("fq_codel")][2:] == [
        "Ping (ms) UDP EF",
        "Ping (ms) UDP BK",
        "Ping (ms) UDP BE",
        "Ping (ms) ICMP",
        "Ping (ms) avg",
    ]
    # The two directions are full, less framing, acknowledgements of the other direction and pings.
    for way, rate in (("download", 20), ("upload", 4)):
        goodput = summary.goodput_mbit_s("fq_codel", way).mean
        assert 0.75 * rate < goodput < rate * 1448 / 1518, way
    # 500 packets take 1.5 s upstream; FQ-CoDel gives a ping little more than the path.
    assert summary.latency_ms("pfifo limit 500p").mean > 200
    assert 30 < summary.latency_ms("fq_codel").mean < 45
    pings = [summary.latency_ms("fq_codel", name).mean for name in ("UDP EF", "UDP BK", "UDP BE", "ICMP")]
    assert summary.latency_ms("fq_codel").mean == pytest.approx(np.mean(pings))


def test_the_plot_shows_every_flow_and_ping(results: sj.Results) -> None:
    figure = sj.RrulSummary(results).plot("fq_codel")
    assert [len(axes.lines) for axes in figure.axes] == [5, 5, 5]
    pings = figure.axes[2].lines[-1]
    drawn = np.asarray(pings.get_ydata())
    assert np.nanmin(drawn) > 29.9
    # From the beginning to the end, in steps of 200 ms.
    assert list(np.asarray(pings.get_xdata())[[0, -1]]) == pytest.approx([0.2, 12.0])


def test_an_average_leaves_out_what_is_missing() -> None:
    nan = math.nan
    smoothed = rrul._smoothed(np.array([[nan, nan, 2.0, 4.0], [nan, nan, nan, 6.0]]), over=1)
    assert np.isnan(smoothed[:2]).all()
    assert list(smoothed[2:]) == [2.0, 5.0]


def test_wrong_names_are_answered_with_the_right_ones(results: sj.Results) -> None:
    with pytest.raises(
        sj.SojournError, match="unknown technology `docsys` \\(did you mean `docsis`\\?\\); allowed: docsis, vdsl"
    ):
        sj.access(down=sj.mbit_s(1), up=sj.mbit_s(1), rtt=sj.ms(1), technology="docsys")
    summary = sj.RrulSummary(results)
    with pytest.raises(sj.SojournError, match="unknown direction `down`"):
        summary.goodput_mbit_s("fq_codel", "down")
    with pytest.raises(sj.SojournError, match="unknown ping `EF`"):
        summary.latency_ms("fq_codel", "EF")
    other = sj.run(sj.dumbbell(flows=1, duration=sj.s(2), warm_up=sj.s(1)), replicates=1)
    with pytest.raises(sj.SojournError, match=r"the results of 'dumbbell' have no flows of sj\.rrul\(\)"):
        sj.RrulSummary(other)


def test_every_technology_is_a_link_that_the_loader_knows() -> None:
    for technology, framing in lines.TECHNOLOGIES.items():
        network = line(technology).flow(name="f", from_="server", to="client")
        link = network.canonical()["links"][0]
        assert (link["framing"], link["rate"], link["reverse_rate"]) == (framing, "20 Mbit/s", "4 Mbit/s")
        assert link["under_test"]
        assert link["reverse_under_test"]
