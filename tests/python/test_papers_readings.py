"""``runs.toml``: sweeps that expand, readings that name their conditions, and what runs under them."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.base import core
from sojourn.cli.papers import chosen
from sojourn.model.network import Network
from sojourn.stats import Floats
from sojourn.studies import papers
from sojourn.studies.papers import Outcome, execute, ledger, runs
from sojourn.studies.papers.conditions import conditions_of
from sojourn.studies.papers.model import Condition

PAPER = papers.load("daqm")
BY_NAME = {one.name: one for one in PAPER.conditions}
READINGS = {one.name: one for one in PAPER.readings}
FILE = Path("runs.toml")
ONE = {"name": "one", "title": "One", "flow": "http", "model": "cbr", "schemes": "pair"}
GROUPS = {"pair": ("red", "daqm_c1")}


def conditions(**tables: Any) -> tuple[Condition, ...]:
    return runs.conditions({"condition": [ONE], **tables}, GROUPS, ("quick", "full"), FILE)


def sweep(**more: Any) -> dict[str, Any]:
    return ONE | {"name": "rate", "sweep": "drop_rate", "points": ["5 %", "50 %", "99 %"]} | more


def test_a_sweep_expands_into_its_points() -> None:
    own = sweep(
        quick=["5 %", "99 %"],
        append={"daqm": "drop_rate {at}", "red": "limit {at*1000}p"},
        fixed=["daqm_c2"],
        set=["flows.http.traffic.rate={at}"],
    )
    _, low, middle, high = conditions(sweep=[own])
    assert [one.name for one in (low, middle, high)] == ["rate-5-percent", "rate-50-percent", "rate-99-percent"]
    assert (low.title, low.sweep, low.at) == ("One, drop rate 5 %", "drop_rate", "5 %")
    assert low.sizes == high.sizes == ("quick", "full")
    assert middle.sizes == ("full",)
    # 5 % is 0.05; of 1000 that is 50.
    assert low.appended("daqm_c1", "daqm preset c1") == "daqm preset c1 drop_rate 0.05"
    assert low.appended("daqm_c2", "daqm preset c2") == "daqm preset c2"
    assert low.appended("red", "red") == "red limit 50p"
    assert low.appended("pie", "pie") == "pie"
    assert low.sets == ("flows.http.traffic.rate=0.05",)
    # A unit stays; within the text of a scheme it has no space.
    (_, other) = conditions(sweep=[sweep(points=["2 Mbit/s"], append={"daqm": "limit {at}"}, set=["rate={at}"])])
    assert other.name == "rate-2-mbit-s"
    assert other.sets == ("rate=2 Mbit/s",)
    assert other.appended("daqm_c1", "daqm") == "daqm limit 2Mbit/s"


def test_a_point_that_is_a_condition_is_that_condition() -> None:
    table = ONE | {"name": "table-4", "sweep": "drop_rate", "at": "99 %", "table": "4"}
    found = runs.conditions({"condition": [ONE, table], "sweep": [sweep()]}, GROUPS, ("quick", "full"), FILE)
    assert [one.name for one in found] == ["one", "table-4", "rate-5-percent", "rate-50-percent"]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"sweep": [sweep(quick=["7 %"])]},
            "sweep rate: quick: '7 %' is not one of its points; allowed: 5 %, 50 %, 99 %",
        ),
        ({"sweep": [sweep(point=["7 %"])]}, "sweep rate: unknown key `point`; allowed: name, title"),
        ({"sweep": [ONE | {"points": ["5 %"]}]}, "runs.toml: sweep one: `sweep` is missing"),
        ({"sweep": [sweep(), sweep()]}, "condition rate-5-percent occurs twice: as rate-5-percent"),
        ({"condition": [ONE, ONE | {"name": "two"}]}, "condition two occurs twice: as one"),
    ],
)
def test_a_wrong_sweep_is_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(sj.SojournError, match=message):
        conditions(**tables)


def test_a_reading_of_no_condition_is_refused() -> None:
    found = conditions()
    for more in ({"quick": ["on*"], "full": ["two*"]}, {"only": {"two*": []}}):
        tables = {"run": [{"name": "base", "reading": {}} | more]}
        with pytest.raises(sj.SojournError, match=r"reading base: 'two\*' is not a condition; there are: one"):
            runs.readings(tables, {}, found, ("quick", "full"), FILE)


def test_patterns_may_have_choices_in_braces() -> None:
    found = conditions(sweep=[sweep()])
    only = {"{one,rate-*}": ["a=1"], "rate-{5,50}-percent": ["b.{c,d}=2"]}
    table = {"name": "base", "reading": {}, "full": ["{one,rate-50}*"], "only": only}
    (reading,) = runs.readings({"run": [table]}, {}, found, ("quick", "full"), FILE)
    assert reading.conditions["full"] == ("one", "rate-50-percent")
    assert [reading.sets_of(one) for one in found] == [
        ("a=1",),
        ("a=1", "b.c=2", "b.d=2"),
        ("a=1", "b.c=2", "b.d=2"),
        ("a=1",),
    ]


@pytest.mark.long
def test_every_cell_of_the_paper_is_possible() -> None:
    # Under every reading, each condition with its own overrides, quick or full.
    for reading in PAPER.readings:
        for name in reading.conditions["full"] if reading.is_run else ():
            execute.plan_of(PAPER, reading, BY_NAME[name], {(reading.name, name): "2ms"}, 1).check()
        assert set(reading.conditions["quick"]) <= set(reading.conditions["full"])


def test_the_ends_of_the_sweeps_are_the_printed_ones() -> None:
    ranges = tomllib.loads((PAPER.folder / "traffic.toml").read_text(encoding="utf-8"))["sweep"]
    points = {
        (flow, sweep): {
            one.at for one in PAPER.conditions if (one.flow, one.sweep, one.model) == (flow, sweep, "cbr")
        }
        for flow in ("http", "ftp")
        for sweep in ("drop_rate", "offered_load", "packet_size")
    }
    for (_, name), of in points.items():
        if name == "packet_size":
            assert {ranges[name]["from"], ranges[name]["to"]} <= of
        if name == "drop_rate":
            assert {"1 %", "99 %"} <= of
            assert (ranges[name]["from"], ranges[name]["to"]) == (0.01, 0.99)
    for flow in ("http", "ftp"):
        of = ranges["offered_load"][flow]
        assert {of["from"], of["to"]} <= points[flow, "offered_load"]
    assert all(7 <= len(of) <= 8 for of in points.values())


def test_other_texts_are_those_of_schemes_toml() -> None:
    base, newton = PAPER.readings[0], READINGS["CoDel with ns-3's Newton step"]
    assert PAPER.text_of("codel", newton) == "codel limit 2000p control_law newton"
    assert PAPER.text_of("red", newton) == PAPER.text_of("red", base) == PAPER.texts["red"]
    known = {name for of in PAPER.other_texts.values() for name in of}
    assert known == {one.values["scheme"] for one in PAPER.readings if "scheme" in one.values}


def test_every_reading_that_is_documented_is_run() -> None:
    assert ledger.not_run(PAPER) == []


def test_every_main_conclusion_is_run_under_every_crossed_network() -> None:
    crossed = tomllib.loads((PAPER.folder / "runs.toml").read_text(encoding="utf-8"))["crossed"]["of"]
    networks = [one for one in PAPER.readings[1:] if one.is_run and set(one.values) <= set(crossed)]
    # 2 x 2 x 3 x 2 x 2, without the base.
    assert len(networks) == 47
    main = [one for one in PAPER.claims if one.is_main and one.comparison != "unjudgeable"]
    for network in networks:
        own = [BY_NAME[name] for name in network.conditions["full"]]
        # A sweep with fewer than three points, or a missing model, would leave its claims "not run".
        assert not [one.id for one in main if not conditions_of(one, own)], network.name


POINTS = {name: {"values": list(values)} for name, values in {"a": "12", "b": "xy", "c": "pqr"}.items()}


def drawn(count: int, **more: Any) -> list[dict[str, str]]:
    table = {"seed": 7, "count": count, "of": [{"a": ["1", "2"], "b": ["x", "y"]}, {"c": ["p", "q", "r"]}]} | more
    return runs.draw(table, POINTS, "drawn")


def test_a_draw_has_every_combination_of_a_group_equally_often() -> None:
    found = drawn(24)
    pairs = [(one["a"], one["b"]) for one in found]
    assert {pairs.count(one) for one in pairs} == {6}
    assert {[one["c"] for one in found].count(value) for value in "pqr"} == {8}
    # Over the groups it is random: not all of a pair's six have the same value, and neither group follows the other.
    assert len({(*pair, one["c"]) for pair, one in zip(pairs, found, strict=True)}) > 8
    assert drawn(24) == found
    assert drawn(24, seed=8) != found


def test_a_larger_draw_only_adds_readings() -> None:
    assert drawn(24)[:5] == drawn(5)
    # Two with the same of the first group: each of four pairs of values twice in a row.
    twice = [(one["a"], one["b"]) for one in drawn(8, together=2)]
    assert twice[::2] == twice[1::2]
    assert len({*twice}) == 4


def test_a_draw_of_an_unknown_value_is_refused() -> None:
    with pytest.raises(sj.SojournError, match="drawn: a='3'; allowed: 1, 2"):
        drawn(2, of=[{"a": ["1", "3"]}])


def test_joint_readings_cross_networks_and_what_is_open_about_daqm() -> None:
    joint = [one for one in PAPER.readings if one.is_drawn]
    table = tomllib.loads((PAPER.folder / "runs.toml").read_text(encoding="utf-8"))["drawn"]
    assert [one.name for one in joint] == [f"joint reading {k}" for k in range(1, table["count"] + 1)]
    chosen_ = [PAPER.chosen(one) for one in joint]
    for name in (name for group in table["of"] for name in group):
        assert len({one[name] for one in chosen_}) > 1, name
    # What a value of readings.toml says is what runs: in the text of dAQM, and in the network.
    for one, values in zip(joint, chosen_, strict=True):
        text = PAPER.text_of("daqm_c3", one)
        assert all(
            f" {name} {values[name]}" in text for name in ("inspect", "min_queue", "in_hand", "ring", "sojourn")
        )
        assert one.scenario == ("switched" if values["topology"] == "switched" else "")
        assert ("flows.http.from=server" in one.sets) == (values["direction"] == "download")
        assert not one.conditions["quick"]
    # The thesis says that it could not look at packets without dequeuing them.
    assert {one["inspect"] for one in chosen_} == {"deliver", "lose"}
    assert " inspect deliver " in PAPER.text_of("daqm_c1")


def test_readings_may_be_chosen_by_name(tmp_path: Path) -> None:
    runner = execute.Runner(PAPER, tmp_path / "store")
    measured = runner.run(2, "full", [BY_NAME["table-8"]], "joint reading [12]")
    assert {name for name, _ in measured.raw} == {"joint reading 1", "joint reading 2"}


def test_schemes_of_one_text_run_once(tmp_path: Path) -> None:
    # At 99 % for all features, "uniform" and c2 are the same text.
    (condition,) = chosen(PAPER, "Table 4")
    reading = PAPER.readings[0]
    modes = {(reading.name, condition.name): "2ms"}
    texts = execute.schemes_of(PAPER, reading, condition, modes)
    assert texts["daqm_uniform"].canonical == texts["daqm_c2"].canonical
    assert "daqm_uniform" not in [one.label for one in execute.plan_of(PAPER, reading, condition, modes, 1).schemes]
    only = replace(PAPER, readings=(reading,))
    measured = execute.Runner(only, tmp_path / "store").run(2, "quick", [condition])
    found = measured.values(reading.name, "table-4", {})["one_way_delay_ms_mean"]
    assert (found["daqm_uniform"] == found["daqm_c2"]).all()
    assert set(found) == {*condition.schemes, *condition.beside}
    # Of FlowMonitor: dropped over sent; none of these packets is ten seconds late in a run of ten seconds.
    raw = measured.raw[reading.name, "table-4"]
    chosen_ = measured.values(reading.name, "table-4", {"plr": "flowmonitor"})["loss_ratio"]
    assert all((chosen_[name] <= raw["loss_ratio"][name] * 1.5).all() for name in condition.schemes)


@pytest.mark.long
def test_claims_on_a_condition_that_a_reading_does_not_run_are_not_run(tmp_path: Path) -> None:
    # packets_s concerns Pareto and Weibull; what is run under the base is not judged for it.
    kept = replace(PAPER, readings=(PAPER.readings[0], READINGS["Pareto and Weibull in seconds"]))
    both = [BY_NAME["http-pareto"], BY_NAME["http-cbr"]]
    measured = execute.Runner(kept, tmp_path / "store").run(2, "full", both)
    names = [[one.name for one in measured.conditions_of(reading.name)] for reading in kept.readings]
    assert names == [["http-pareto", "http-cbr"], ["http-pareto"]]
    # 1.5 s x 2.5/1.5 = 2.5 s between packets in place of 2.5 ms.
    sent = [measured.values(one.name, "http-pareto", {})["sent_packets"]["red"].mean() for one in kept.readings]
    assert sent[1] < sent[0] / 5
    judged = ledger.make(kept, measured)
    about = [
        one
        for one in PAPER.claims
        if (one.flow, one.model, one.sweep) == (("http",), ("cbr",), ()) and one.comparison == "lowest"
    ]
    assert about
    for claim in about:
        assert judged.verdicts[claim.id]["Pareto and Weibull in seconds"].outcome is Outcome.NOT_RUN
        assert judged.verdicts[claim.id][kept.readings[0].name].outcome is not Outcome.NOT_RUN


def test_pilots_go_on_only_where_an_interval_is_open(tmp_path: Path) -> None:
    only = replace(PAPER, readings=PAPER.readings[:1])
    both = [BY_NAME["table-6"], BY_NAME["http-vbr"]]
    runner = execute.Runner(only, tmp_path / "store")
    pilot = runner.run(2, "quick", both)
    judged = ledger.make(only, pilot)
    undecided = [one for one in only.claims if judged.under(one, Outcome.UNDECIDED)]
    assert undecided
    keys = judged.open_runs(pilot)
    assert {name for _, name in keys} == {
        own.name for one in undecided for own in conditions_of(one, pilot.conditions)
    }
    more = runner.more(pilot, keys[:1], 3)
    name = keys[0][1]
    lengths = {
        one: len(more.values(only.readings[0].name, one, {})["loss_ratio"]["red"]) for one in ("table-6", "http-vbr")
    }
    assert lengths == {one: 3 if one == name else 2 for one in lengths}


def test_a_reading_is_what_the_rules_of_its_values_say() -> None:
    base = PAPER.readings[0]
    crossed = [one for one in PAPER.readings if one.is_run and set(one.values) <= {*base.values} and one is not base]
    # 2 x 2 x 3 x 2 x 2 networks without the base.
    assert len(crossed) == 47
    star = READINGS["servers send, star of links"]
    assert star.scenario == "star"
    assert "links.access.reverse_under_test=true" in star.sets
    assert "buses.lan.device_queue=100 p" not in star.sets
    # What changes one detail of the base keeps the base's own rules.
    assert "flows.http.transport.congestion_control=ns3_cubic" in READINGS["Adaptive RED"].sets
    with pytest.raises(sj.SojournError, match=r"rule 1: topology='ring'; allowed: bus, switched, star"):
        runs.readings(
            {"rule": [{"when": {"topology": "ring"}}]}, PAPER.open_readings, conditions(), ("quick", "full"), FILE
        )


SUM = """
name = "sum"
duration = "210 s"
warm_up = "10 s"
[[nodes]]
name = "source"
count = 100
[[links]]
name = "l"
from = "source"
to = "sink"
rate = "1 Gbit/s"
delay = "1 ms"
[[flows]]
name = "http"
from = "source"
to = "sink"
transport = { kind = "udp" }
"""


def hurst(values: Floats) -> float:
    """Estimate the Hurst parameter: the variance of means of m samples falls with m^(2H - 2)."""
    sizes = np.array([1, 2, 5, 10, 20, 50])
    variances = [values[: len(values) // m * m].reshape(-1, m).mean(axis=1).var() for m in sizes]
    return 1 + float(np.polyfit(np.log(sizes), np.log(variances), 1)[0]) / 2


def test_the_self_similar_condition_is_self_similar() -> None:
    # Heavy tails of shape a make H = (3 - a)/2 (Willinger and others, 1997): 0.8 for 1.4. Independent packets: 1/2,
    # and in the long run also periods of finite variance, as Table 1 has them (shape 2.5; here of mean 1 s).
    (traffic,) = [text for text in BY_NAME["http-self-similar"].sets if "traffic" in text]
    # At a rate that no queue changes.
    slow = traffic.replace("1.5 Mbit/s", "100 kbit/s").replace("1400 B", "500 B")
    assert slow.count("100 kbit/s") == slow.count("500 B") == 1
    poisson = 'flows.http.traffic={kind="poisson", packets_per_second=12.5, packet_size="500 B"}'
    found = []
    finite = slow.replace('scale="285.7 ms", shape=1.4', 'scale="600 ms", shape=2.5')
    for sets in (slow, poisson, finite):
        network = Network.from_dict(core.load(SUM, source="sum", sets=[sets]))
        series = sj.run(network, replicates=4, series=sj.ms(100)).series
        payload = series[series["name"] == "goodput_bit_s"]
        found.append([hurst(of["value"].dropna().to_numpy(dtype=float)) for _, of in payload.groupby("replication")])
    assert np.mean(found[0]) == pytest.approx(0.8, abs=0.07)
    assert np.mean(found[1]) == pytest.approx(0.5, abs=0.07)
    assert np.mean(found[2]) < 0.7
