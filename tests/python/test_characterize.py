"""Characterisation by RFC 7928: networks, plans, numbers, the report and its command."""

from __future__ import annotations

import math
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from sojourn import plan
from sojourn.base import toml
from sojourn.base.core import SojournError
from sojourn.cli import main
from sojourn.model.scheme import Scheme
from sojourn.plan.store import Store
from sojourn.studies.characterize import SUITE, Setting, chosen, execute, networks, plans, requirements
from sojourn.studies.characterize.numbers import Found
from sojourn.studies.characterize.pictures import one_sigma
from sojourn.studies.characterize.stability import stability
from sojourn.studies.characterize.suite import levels

ROOT = Path(__file__).resolve().parents[2]
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
    assert requirements.state(item, {"8.2.6-1", "8.2.6-2"}, {}, has_cost=True) == "done"
    assert requirements.state(item, {"8.2.6-1"}, {}, has_cost=True) == "not run"


def test_sections_are_chosen_by_their_number() -> None:
    assert [one.section for one in chosen(["8.2.6"])] == ["8.2.6-1", "8.2.6-2"]
    assert [one.section for one in chosen(["5.3", "8.2.4"])] == ["5.3a", "5.3b", "8.2.2"]
    assert chosen([]) == SUITE
    with pytest.raises(SojournError, match=r"section '8\.9' has no scenario"):
        chosen(["8.9"])


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
        PIE, [], out, scenarios=chosen(["5.3a", "8.2.5"]), setting=setting, is_quick=True, with_cost=False
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
