from __future__ import annotations

import re
from pathlib import Path

import pytest

import sojourn as sj
from shared import Command
from sojourn.base import core
from sojourn.results import groups
from sojourn.stats.estimates import estimate
from sojourn.studies import demo


@pytest.fixture(scope="module")
def home() -> sj.Results:
    """The demonstration's comparison, short."""
    net = sj.load("home", sets=["duration=14 s", "warm_up=6 s", "flows.web.start.uniform=['6 s', '12 s']"])
    return sj.compare(net, {label: demo.SCHEMES[label] for label in ("tail drop", "PIE", "FQ-CoDel")}, replicates=3)


def test_the_demo_prints_a_table_a_verdict_and_what_to_do_next(command: Command) -> None:
    done = command("demo", "--quick", "--out", "shown")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no warning in the first thing that a user sees"
    table = done.stdout.split("\n\n")[1]
    assert "tail drop" in table, done.stdout
    assert [line.split("  ")[0] for line in table.split("\n")[4:]] == list(demo.SCHEMES)
    assert len(table.split("\n")) <= 10
    assert re.search(r"\n\n\S+ keeps the 99th percentile of the one-way delay of “call” at [\d.]+ ms", done.stdout)
    assert "papers run daqm --quick" in done.stdout
    assert max(map(len, done.stdout.split("\n"))) <= 100


def test_the_report_begins_with_the_verdict_and_a_picture(home: sj.Results, tmp_path: Path) -> None:
    page = home.report(tmp_path / "report.html").read_text()
    verdict = groups.verdict(home)
    assert verdict in page.replace("&#34;", '"')
    assert page.index(verdict) < page.index('id="groups-figure"') < page.index('class="facts"')


def test_every_kind_of_traffic_has_its_metric(home: sj.Results) -> None:
    assert [(group.name, group.metric.name, group.is_bulk) for group in groups.of(home)] == [
        ("download", "goodput_bit_s", True),
        ("call", "one_way_delay_ms_p99", False),
        ("game", "one_way_delay_ms_p99", False),
        ("web", "flow_completion_s_p99", False),
    ]


def test_a_group_is_what_its_flows_are_together(home: sj.Results) -> None:
    flows = home.flows[(home.flows["scheme"] == "PIE") & (home.flows["group"] == "download")]
    sums = flows.groupby("replication")["goodput_bit_s"].sum().to_numpy()
    assert home.values("PIE", "goodput_bit_s", "download") == pytest.approx(sums)
    assert home.estimate("PIE", "goodput_bit_s", "download").mean == pytest.approx(sums.mean())
    with pytest.raises(
        sj.SojournError, match=r"unknown group of flows `nothing`; there are: download, call, game, web"
    ):
        home.values("PIE", "goodput_bit_s", "nothing")
    with pytest.raises(sj.SojournError, match=r"unknown metric `sojourn_ms_mean` of a group"):
        home.values("PIE", "sojourn_ms_mean", "call")
    document = home.to_document()
    assert [group["group"] for group in document["runs"][0]["groups"]] == ["download", "call", "game", "web"]


def test_the_call_has_the_delay_that_the_queue_gives_it(home: sj.Results) -> None:
    # Tail drop: the call's packets wait in the same queue as all others, at most 1000 packets of at most 1500 B at
    # 50 Mbit/s, 240 ms. Propagation is 15 ms; serialisation on the two links 0.2 ms of the packet itself.
    values = home.values("tail drop", "one_way_delay_ms_p99", "call")
    assert (values > 100).all()
    assert (values < 240 + 15 + 0.3 + 2).all()
    # FQ-CoDel serves a sparse flow before the others, after at most the packet being sent: 1500 B, 0.24 ms.
    sparse = estimate(home.values("FQ-CoDel", "one_way_delay_ms_p99", "call")).mean
    assert 15.2 < sparse < 15.2 + 3 * 0.24 + 0.008 * 15


def test_the_verdict_names_what_it_costs(home: sj.Results) -> None:
    text = groups.verdict(home)
    assert text.startswith("FQ-CoDel keeps")
    here, there = (home.values(label, "one_way_delay_ms_p99", "call").mean() for label in ("FQ-CoDel", "tail drop"))
    assert f"{there / here:.2g} times as long" in text
    assert "The goodput of “download”" in text


def test_level_schemes_are_named_and_the_baseline_may_be_the_lowest(home: sj.Results) -> None:
    assert groups.verdict(home.only(["FQ-CoDel", "tail drop"])).startswith("No scheme has")
    assert groups.verdict(home.only(["PIE"])) == ""


def test_a_scenario_without_two_kinds_of_flows_has_no_verdict(results: sj.Results) -> None:
    assert groups.verdict(results) == ""


def test_the_schemes_are_ones_that_there_are() -> None:
    known = {aqm["name"] for aqm in core.aqms()}
    assert {sj.Scheme(text).algorithm for text in demo.SCHEMES.values()} <= known
