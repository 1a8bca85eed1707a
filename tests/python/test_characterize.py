"""Characterisation by RFC 7928: networks, plans, numbers, the report and its command."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn import plan
from sojourn.base import core, toml
from sojourn.base.core import SojournError
from sojourn.cli import main
from sojourn.model.scheme import Scheme
from sojourn.plan.store import Store
from sojourn.results.fairness import demands, fair_share_index
from sojourn.stats import jain
from sojourn.studies.characterize import RFC, SUITE, Setting, execute, measures, networks, plans, requirements, wlan
from sojourn.studies.characterize.numbers import Found
from sojourn.studies.characterize.pictures import one_sigma
from sojourn.studies.characterize.stability import stability
from sojourn.studies.characterize.suite import levels

ROOT = Path(__file__).resolve().parents[2]
_CBR = {"kind": "cbr", "rate": "180 kbit/s", "packet_size": "1000 B"}
PIE, TAIL = Scheme("pie", "pie"), Scheme("pfifo", "pfifo")


def scenario(section: str):
    return next(one for one in SUITE if one.section == section)


def test_levels_of_congestion_are_those_of_the_rfc() -> None:
    # 20 Mbit/s and 100 ms: 20e6 * 0.1 / 8 / 1500 = 166.7, so 167 packets, and as many in the buffer: S = 334.
    # N = S sqrt(l / 0.76): 334 * sqrt(0.001 / 0.76) = 12.1, with 0.005 27.1, with 0.01 38.3.
    assert levels(Setting(), Setting().buffer()) == (12, 27, 38)


def test_the_buffer_is_the_product_with_the_largest_rtt() -> None:
    # 560 ms: 20e6 * 0.56 / 8 / 1500 = 933.3.
    made = plans.document(scenario("6.2"), Setting(), [PIE, TAIL], is_quick=True)
    assert made is not None
    assert [one.text for one in made.schemes] == ["pie limit 933p", "pfifo limit 933p"]
    # At 100 Mbit/s, which section 8.2.6 names: 833.
    made = plans.document(scenario("8.2.6-1"), Setting(), [PIE], is_quick=True)
    assert made is not None
    assert made.schemes[0].text == "pie limit 833p"
    assert plans.schemes([Scheme("pie limit 5p", "pie")], 100)[0].text == "pie limit 5p"


def test_schemes_mark_where_the_scenario_is_about_ecn() -> None:
    found = plans.schemes([PIE, TAIL, Scheme("codel noecn", "codel")], 10, ecn=True)
    assert [one.text for one in found] == ["pie limit 10p ecn", "pfifo limit 10p", "codel noecn limit 10p"]


def test_a_parameter_varies_among_the_schemes_that_have_it() -> None:
    made = plans.document(scenario("4.3"), Setting(), [PIE, TAIL, Scheme("sfb", "sfb")], is_quick=False)
    assert made is not None
    # sfb's target is in packets.
    assert [one.label for one in made.schemes] == ["pie"]
    assert plans.document(scenario("4.3"), Setting(), [TAIL], is_quick=False) is None


@pytest.mark.parametrize("one", SUITE, ids=[one.section for one in SUITE])
def test_every_network_has_the_base_rtt_that_it_names(one) -> None:
    document = one.build(one.setting(Setting()), 20.0)
    links = {link["name"]: link for link in document["links"]}
    for flow in document["flows"]:
        access = links[f"{flow['name']}_access"]
        crossed = ["bottleneck", "second"] if access["to"] == "left" and "second" in links else ["bottleneck"]
        one_way_ms = sum(float(links[name]["delay"].split()[0]) for name in crossed)
        # There and back, 100 ms.
        assert 2 * (one_way_ms + float(access["delay"].split()[0])) == pytest.approx(100.0)
    assert float(document["duration"].split()[0]) - float(document["warm_up"].split()[0]) >= 60


def test_the_shipped_plans_are_those_of_the_suite() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "rfc7928.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"docs/rfc7928.py writes anew: {done.stdout}{done.stderr}"


def test_every_item_of_the_rfc_has_its_place() -> None:
    known = {one.section for one in SUITE}
    assert {section for item in requirements.TABLE for section in item.by} <= known
    named = {section for item in requirements.TABLE for section in item.by}
    assert known <= named
    item = next(item for item in requirements.TABLE if item.section == "8.2.6")
    assert requirements.state(item, {"8.2.6-1", "8.2.6-2"}, {}) == "done"
    assert requirements.state(item, {"8.2.6-1"}, {}) == "not run"
    assert requirements.state(
        next(item for item in requirements.TABLE if item.section == "11"), set(), {}, cost="11"
    ) == ("not measured")


def test_sections_are_chosen_by_their_number() -> None:
    assert [one.section for one in RFC.chosen(["8.2.6"])] == ["8.2.6-1", "8.2.6-2"]
    assert [one.section for one in RFC.chosen(["5.3", "8.2.4"])] == ["5.3a", "5.3b", "8.2.2"]
    assert RFC.chosen([]) == SUITE
    with pytest.raises(SojournError, match=r"section '8\.9' has no scenario"):
        RFC.chosen(["8.9"])


def test_the_ellipse_is_that_of_one_standard_deviation() -> None:
    # x = -1, 0, 1 and y = 2 x: variances 2/3 and 8/3, correlation 1, so the ellipse is the segment from
    # (-sqrt(2/3), -2 sqrt(2/3)) to its opposite.
    x = np.array([-1.0, 0.0, 1.0])
    outline = one_sigma(x, 2 * x)
    assert outline is not None
    assert outline[:, 0].max() == pytest.approx(math.sqrt(2 / 3), rel=1e-3)
    assert outline[:, 1].max() == pytest.approx(2 * math.sqrt(2 / 3), rel=1e-3)
    assert one_sigma(x[:2], x[:2]) is None


def test_the_warm_up_is_the_latest_of_the_schemes() -> None:
    # Nothing settles in a network that changes, which has its own.
    assert plans.warm_up_s(scenario("8.2.5"), Setting(), [PIE]) == 20
    both = plans.warm_up_s(scenario("5.3a"), Setting(), [PIE, TAIL])
    each = [plans.warm_up_s(scenario("5.3a"), Setting(), [one]) for one in (PIE, TAIL)]
    assert both == max(each)
    assert both % 5 == 0


def test_stability_is_told_where_the_law_is_known() -> None:
    found = stability(Scheme("pi", "pi"), Setting(), 12)
    assert found is not None
    assert found[2] in ("yes", "no")
    assert stability(Scheme("cake", "cake"), Setting(), 12) is None


def test_bad_settings_are_refused() -> None:
    for values, why in (
        ({"rtt_ms": 2.0}, "rtt_ms is 2; allowed: 4 to 1000"),
        ({"rate_mbit_s": 0.0}, "rate_mbit_s is 0; allowed: 0.1 to 10000"),
        ({"measured_s": 10.0}, "measured_s is 10; allowed: 60 to 3600"),
        ({"buffer_packets": 0}, "buffer_packets is 0"),
    ):
        with pytest.raises(SojournError, match=why):
            Setting(**values)
    with pytest.raises(SojournError, match="is given twice"):
        execute.everyone(PIE, [PIE])
    assert execute.everyone(TAIL, [PIE]) == (TAIL, PIE)


@pytest.fixture(scope="module")
def characterised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """UDP above the capacity, and phases: two sections whose numbers are known."""
    out = tmp_path_factory.mktemp("characterised") / "pie"
    setting = Setting(rate_mbit_s=2.0)
    execute.characterize(
        PIE, [], out, scenarios=RFC.chosen(["5.3a", "8.2.5"]), setting=setting, is_quick=True, with_cost=False
    )
    return out


def found_in(out: Path, section: str) -> Found:
    return Found(scenario(section), plan.load(out / "plans" / f"{section}.toml"), Store.open(out / "store"))


def test_numbers_are_those_of_the_network(characterised: Path) -> None:
    one = found_in(characterised, "5.3a")
    # UDP at 1.25 of the capacity: the link is full, 1472 of each 1500 B are goodput, a fifth of what comes is lost.
    goodput = one.estimate("pie", "goodput_bit_s")
    assert goodput.mean == pytest.approx(2e6 * 1472 / 1500, rel=0.005)
    assert one.estimate("pie", "loss_ratio").mean == pytest.approx(0.2, abs=0.005)
    # The tail drop's queue is full: 17 packets of BDP (2e6 * 0.1 / 8 / 1500) wait 17 * 6 ms at most.
    delays, _ = one.points("pfifo")
    assert np.all((delays > 90) & (delays < 102.1))
    assert one.differences("pie", "sojourn_ms_mean") == {"pfifo": "lower"}


def test_phases_are_told_apart(characterised: Path) -> None:
    one = found_in(characterised, "8.2.5")
    assert one.results[None].phase_names == ("mild", "medium", "heavy")
    goodput = one.values("pfifo", "goodput_bit_s", phase="heavy")
    # One value a run, though the phase occurs twice and has three groups of flows.
    assert len(goodput) == len(one.values("pfifo", "goodput_bit_s"))
    # Tail drop's queue never empties under heavy congestion: 1448 of each 1500 B of the link's 2 Mbit/s are goodput.
    assert goodput.mean() == pytest.approx(2e6 * 1448 / 1500, rel=0.02)


def test_the_report_has_a_section_for_each_item(characterised: Path) -> None:
    page = (characterised / "index.html").read_text(encoding="utf-8")
    for name in ("setup", "s4-6", "s5-3a", "s8-2-5", "s8-3", "s11", "s12", "s13"):
        assert f'id="{name}"' in page, name
    assert page.count('id="checklist-table"') == 1


def test_what_is_there_is_not_repeated_nor_replaced(
    characterised: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store = sorted((characterised / "store" / "runs").iterdir())
    command = ["characterize", "pie", "--against", "pfifo", "--section", "5.3a", "--quick", "--rate", "2 Mbit/s"]
    assert main([*command, "--out", str(characterised)]) == 0
    assert sorted((characterised / "store" / "runs").iterdir()) == store
    assert main([*command, "--rtt", "50 ms", "--out", str(characterised)]) == 2
    assert "is not what this command writes" in capsys.readouterr().err
    (tmp_path / "mine.txt").write_text("mine")
    assert main([*command, "--out", str(tmp_path)]) == 2
    assert "holds other files" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_documents_are_scenarios() -> None:
    group = networks.Group("a", rtt_ms=3.0)
    document = networks.network(Setting(), [group], name="x", description="x", warm_up_s=0.0)
    assert tomllib.loads(toml.dumps(document))["links"][0]["delay"] == "0.5 ms"
    with pytest.raises(SojournError, match="group a: a base RTT of 2 ms is too short"):
        networks.network(Setting(), [networks.Group("a", rtt_ms=2.0)], name="x", description="x", warm_up_s=0.0)


def test_the_first_of_two_queues_has_other_parameters_and_other_schemes() -> None:
    (two,) = [one for one in SUITE if one.section == "10.2-2"]
    own = (Scheme("codel", "codel"), Scheme("pie target 20ms", "pie"), Scheme("pfifo", "pfifo"))
    made = plans.document(two, Setting(), own, is_quick=False)
    assert made is not None
    # Half of CoDel's default of 5 ms and of the 20 ms that PIE was given; tail drop has no target. Then every scheme.
    # 20 Mbit/s times 100 ms are 167 packets of 1500 B.
    assert [point[0] for point in made.vary[0].points] == [
        "codel limit 167p target 2.5ms",
        "pie limit 167p target 10ms",
        "codel limit 167p",
        "pie target 20ms limit 167p",
        "pfifo limit 167p",
    ]
    links = {link["name"]: link for link in two.build(Setting(), 20.0)["links"]}
    assert not links["bottleneck"]["under_test"]
    assert links["second"]["under_test"]


@pytest.mark.parametrize("one", wlan.SCENARIOS, ids=[one.section for one in wlan.SCENARIOS])
def test_every_cell_has_a_call_both_ways_and_the_scheme_at_its_access_point(one) -> None:
    made = plans.document(one, wlan.SETTING, [PIE, TAIL], is_quick=True)
    assert made is not None
    # 54 Mbit/s and 40 ms: 54e6 * 0.04 / 8 / 1500 = 180.
    assert [scheme.text for scheme in made.schemes] == ["pie limit 180p", "pfifo limit 180p"]
    document = core.load(made.scenario, source=one.section)
    (cell,), (wire,) = document["cells"], document["links"]
    assert (cell["access_point_under_test"], cell["under_test"], wire["under_test"]) == (True, False, False)
    # Stations have the buffer of the access point.
    assert cell["queue"] == "pfifo limit 180p"
    ways = {flow["name"]: (flow["from"], flow["to"]) for flow in document["flows"]}
    assert {name for name, (start, _) in ways.items() if start != "server"} == {"call_back"} | {"up"} & ways.keys()
    assert ways["call"] == ("server", "call")
    assert ways["call_back"] == ("call", "server")
    # There and back, 40 ms.
    assert 2 * float(wire["delay"].split()[0]) == wlan.SETTING.rtt_ms


def test_every_condition_that_the_study_names_has_its_place() -> None:
    named = {section for item in wlan.SUITE.items for section in item.by}
    assert named == {one.section for one in wlan.SCENARIOS}
    numbers = [*(one.section for one in wlan.SCENARIOS), *wlan.SUITE.parts.values()]
    assert sorted(numbers, key=int) == [str(k + 1) for k in range(len(numbers))]


def test_stations_walk_and_channels_fade_at_the_times_that_are_said() -> None:
    documents = {one.section: one.build(wlan.SETTING, 20.0) for one in wlan.SCENARIOS}

    def at(section: str, queue: str, t: int) -> str:
        """Return the rate that a station has after `t` seconds: that of the change that was last."""
        found = []
        for change in documents[section]["changes"]:
            begins, every = (int(change[key].split()[0]) for key in ("at", "every"))
            if change["queue"] == queue and t >= begins:
                found.append((t - (t - begins) % every, change["rate"]))
        return max(found)[1]

    assert [at("6", "wlan:walker1", t) for t in (21, 26, 31, 36, 41)] == [
        "54 Mbit/s", "24 Mbit/s", "6 Mbit/s", "24 Mbit/s", "54 Mbit/s",
    ]  # fmt: skip
    # Station k is bad for one second in every 4 + k: the third, from 3 s on every 7 s, at 24 s and not at 25 s.
    assert (at("7", "wlan:tcp3", 24), at("7", "wlan:tcp3", 25)) == ("6 Mbit/s", "54 Mbit/s")
    for t in range(21, 60):
        bad = [k for k in range(10) if at("7", f"wlan:tcp{k}", t) == "6 Mbit/s"]
        assert bad == [k for k in range(10) if (t - k % 4) % (4 + k) == 0]


@pytest.fixture(scope="module")
def in_a_cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Near and far stations, without and with equal air time."""
    out = tmp_path_factory.mktemp("cell") / "pie"
    scenarios = wlan.SUITE.chosen(["8"])
    execute.characterize(PIE, [], out, suite=wlan.SUITE, scenarios=scenarios, is_quick=True, with_cost=False)
    return out


def test_measures_are_those_of_the_stations_and_flows(in_a_cell: Path) -> None:
    (scenario,) = wlan.SUITE.chosen(["8"])
    one = Found(scenario, plan.load(in_a_cell / "plans" / "8.toml"), Store.open(in_a_cell / "store"))
    for level in one.levels:
        results = one.results[level]
        own = results.flows[(results.flows["scheme"] == "pie") & results.flows["group"].isin(["near", "far"])]
        shares = [jain(part["goodput_bit_s"].to_numpy()) for _, part in own.groupby("replication")]
        assert one.values("pie", measures.SHARES.name, level) == pytest.approx(shares)
        call = one.values("pie", "one_way_delay_ms_p99", level, group="call")
        assert one.values("pie", measures.CALL.name, level) == pytest.approx(call)
        # Nobody sends UDP but the call.
        assert not one.has(measures.RATIO.name)
    # A frame at 6 Mbit/s takes 2140 us where one at 54 Mbit/s takes 316 (tests of the cell in crates/sim): with
    # packets alike, Jain's index of air time is (2140 + 316)^2 / (2 (2140^2 + 316^2)) = 0.645; acknowledgements bring
    # the two nearer.
    plain, fair = (one.estimate("pie", measures.AIR.name, level).mean for level in (False, True))
    assert 0.645 < plain < 0.85
    assert fair > 0.99
    # And with equal air time goodputs differ as the times do: far below 1, where they were nearly alike.
    alike, apart = (one.estimate("pie", measures.SHARES.name, level).mean for level in (False, True))
    assert alike > 0.9
    assert apart < 0.75


def test_udp_has_no_more_than_it_asks_for_and_the_call_is_left_out() -> None:
    groups = [networks.Group("tcp", 2), networks.Group("udp", 1, networks.UDP, _CBR)]
    document = wlan.cell(*groups, description="x")(replace(wlan.SETTING, rtt_ms=10.0), 1.0)
    results = sj.run(sj.Network.from_dict(document | {"duration": "4 s"}), seed=1, replicates=2, series=None)
    found = measures.added(results)
    flows = results.flows[~results.flows["group"].str.startswith("call")]
    for replication, part in flows.groupby("replication"):
        row = found.runs[found.runs["replication"] == replication].iloc[0]
        tcp, udp = (part[part["transport"] == kind]["goodput_bit_s"].to_numpy() for kind in ("tcp", "udp"))
        assert row[measures.RATIO.name] == pytest.approx(tcp.mean() / udp.mean())
        goodput = part["goodput_bit_s"].to_numpy()
        assert row[measures.SHARES.name] == pytest.approx(jain(goodput))
        assert row[measures.SATISFIED.name] == pytest.approx(fair_share_index(goodput, demands(part)))
        assert row[measures.SATISFIED.name] > row[measures.SHARES.name] + 0.1


def test_the_page_of_a_cell_has_its_own_sections(in_a_cell: Path) -> None:
    page = (in_a_cell / "index.html").read_text(encoding="utf-8")
    for name in ("setup", "measures-table", "s8", "s8-over", "s9", "s10", "s11", "s12"):
        assert f'id="{name}"' in page, name
    assert re.search("With equal air time = yes, pie has a Jain(&#39;|&#x27;|')s index of 0", page)
    assert "RFC 7928 describes" not in page


def _status(command: list[str]) -> object:
    try:
        return main(command)
    except SystemExit as left:
        # What the parser itself refuses.
        return left.code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--wlan"], "the following arguments are required: SCHEME"),
        (["--wlan", "coddel"], "coddel"),
        (["--wlan", "codel", "--rate", "20 Mbit/s"], "--rate does not go with --wlan"),
        (["--wlan", "codel", "--section", "8.2"], "section '8.2' has no scenario; allowed: 1, 2, 3, 4, 5, 6, 7, 8"),
        (["--wlan", "codel", "pie", "--against", "red"], "'pie' and --against both name schemes"),
    ],
)
def test_what_cannot_act_in_a_cell_is_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["characterize", *words, "--out", str(tmp_path / "out")]
    assert _status(command) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
