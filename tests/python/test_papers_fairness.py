"""The fairness study: its documents, metrics of kinds of flows, what Jain's index can show, and a smoke."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shared import study
from sojourn.base import core
from sojourn.cli import main
from sojourn.plan.store import Store
from sojourn.results.fairness import demands, fair_share_index
from sojourn.stats import jain
from sojourn.studies import papers
from sojourn.studies.papers import execute, figures, ledger, overtime, page, report_figures
from sojourn.studies.papers.comparisons import OF_SCHEMES
from sojourn.studies.papers.judge import MAKERS, At, Setting, judge
from sojourn.studies.papers.model import Condition, Reading

shares, kinds = study("fairness", "shares"), study("fairness", "kinds")
PAPER = papers.load("fairness")
BASE = PAPER.readings[0]
# The base and a slow cell; all that are shown would need five times as long.
SHOWN = tuple(one for one in PAPER.readings if one is BASE or (one.is_shown and one.name == "802.11b"))
FEW = replace(PAPER, readings=(*SHOWN, *(one for one in PAPER.readings if not one.is_run)))
EFFECT = next(one for one in PAPER.claims if one.comparison == "farther" and one.metric.startswith("jain_index"))
CONDITIONS = {one.name: one for one in PAPER.conditions}
DOCUMENT = tomllib.loads((PAPER.folder / "claims.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> execute.Measured:
    """Two replications of the study's own condition under the readings that have a column, and over time."""
    store = tmp_path_factory.mktemp("fairness") / "store"
    runner = execute.Runner(FEW, store)
    found = runner.run(2, "full", [CONDITIONS["wlan"]])
    return overtime.run(runner, found)


def scenario(reading: Reading, condition: Condition) -> core.Document:
    text = execute.scenario_of(PAPER, reading, condition)
    return core.load(text, source=condition.name, sets=reading.sets_of(condition))


def under_test(document: core.Document) -> set[str]:
    found = {one["name"] for one in document["links"] if one["under_test"]}
    return found | {one["name"] for one in document.get("cells", []) if one["access_point_under_test"]}


def test_table_2_is_in_the_texts() -> None:
    words = {
        "red": ("min 20p", "max 80p"),
        "rem": (),
        "avq": ("alpha 0.8",),
        # Target 5 ms and interval 100 ms are the library's defaults, as are REM's three values and AVQ's gamma.
        "codel": (),
    }
    for name, wanted in words.items():
        canonical = core.parse_aqm(PAPER.texts[name])
        assert "limit 100p" in canonical
        assert all(word in canonical for word in wanted)
    every = list(PAPER.texts.values())
    # One reading takes two schemes' other texts together.
    every += [text for of in PAPER.other_texts.values() for name, text in of.items() if "_avq_" not in name]
    assert len({core.parse_aqm(text) for text in every}) == len(every)
    values = [value for reading in PAPER.readings if (value := reading.values.get("scheme"))]
    assert set(values) == {"text"} | {name for other in PAPER.other_texts.values() for name in other}


@pytest.mark.parametrize("reading", [one for one in PAPER.readings if one.is_run], ids=lambda one: one.name)
def test_every_run_has_the_flows_of_its_condition(reading: Reading) -> None:
    for name in reading.conditions["full"]:
        condition = CONDITIONS[name]
        document = scenario(reading, condition)
        sizes = {one["name"]: one.get("count") or 1 for one in document["nodes"]}
        count = {"tcp": 0, "udp": 0}
        for flow in document["flows"]:
            station = flow["to"] if flow["from"].startswith("sink") else flow["from"]
            count[flow["name"].split("_")[0]] += sizes[station]
        expected = {"numbers": (5, 15)}.get(condition.flow, (15, 5))
        if condition.sweep == "tcp_flows":
            expected = (int(condition.at), 5)
        if reading.values.get("sources") == "each side":
            # 20 on each side, and on neither wire's end a scheme of its own.
            expected = (2 * expected[0], 2 * expected[1])
            assert all(one["reverse_under_test"] for one in document["links"])
        assert (count["tcp"], count["udp"]) == expected
        is_wireless = reading.values.get("place") == "wireless_queue" and name != "wired"
        both = {"near", "far"} if condition.scenario == "directions" else {"far"}
        assert under_test(document) == (both if is_wireless else {"wire"})
        window = reading.values.get("window", "20")
        transports = [one["transport"] for one in document["flows"] if one["name"].startswith("tcp")]
        assert {one["window_limit"] for one in transports} == {f"{window} p"}
        wire = next(one for one in document["links"] if one["name"] == "wire")
        assert wire["rate"] == reading.values.get("wire", "10 Mbit/s")


def test_claims_say_only_what_is_documented() -> None:
    names = [claim.id for claim in PAPER.claims]
    assert len(set(names)) == len(names)
    used = {claim.comparison for claim in PAPER.claims}
    assert used == set(DOCUMENT["comparisons"])
    assert used - {"unjudgeable"} <= set(MAKERS)
    assert {key for claim in PAPER.claims for key in claim.readings} <= set(PAPER.open_readings)
    for claim in PAPER.claims:
        assert (claim.comparison in {"equals", "below"}) == bool(claim.value)
        assert (claim.comparison == "unjudgeable") == bool(claim.reason)
        assert claim.comparison not in OF_SCHEMES or claim.value or claim.against or claim.comparison == "alike"


def test_jain_of_hand_worked_shares() -> None:
    # (2 + 1)^2 / (2 (4 + 1)) = 0.9; all to one of four: 1/4; nothing received: no index.
    assert jain(np.array([2.0, 1.0])) == pytest.approx(0.9)
    assert jain(np.array([0.0, 0.0, 0.0, 5.0])) == pytest.approx(0.25)
    assert np.isnan(jain(np.zeros(3)))


def test_an_effect_on_fairness_is_a_distance_to_drop_tail() -> None:
    # 0.90 under drop tail: 0.98 is further from it than 0.95 is, and so is 0.80, on the other side; 0.94 is not.
    def outcome(ours: float) -> papers.Outcome:
        of = {"droptail": 0.90, "fq": 0.95, "rem": ours}
        values = {"jain_index@fair_share": {name: mean + np.linspace(-1e-3, 1e-3, 8) for name, mean in of.items()}}
        claim = replace(EFFECT, subject=("rem",))
        return judge(claim, [Setting(("rem",), EFFECT.against, (), (At("", values),))], ()).outcome

    found = [outcome(one) for one in (0.98, 0.80, 0.94, 0.86)]
    assert found == [papers.Outcome.HOLDS, papers.Outcome.HOLDS, papers.Outcome.FAILS, papers.Outcome.FAILS]


def test_the_index_over_fair_shares_is_not_capped_by_what_udp_asks_for() -> None:
    # Two flows of TCP with 400 and one of UDP that sends 100 and gets all: Jain's index is 900^2 / (3 x 330,000) =
    # 0.818, and over the fair shares, 400, 400 and 100, it is 1. UDP that loses a fifth has 80 of 100, and
    # (880 - 100)/2 = 390 are TCP's shares: 400/390 twice and 0.8, whose index is (2.851)^2 / (3 x 2.744) = 0.9876.
    rows = [("tcp", 400.0, 10, 0), ("tcp", 400.0, 10, 0), ("udp", 100.0, 10, 0)]
    names = ("transport", "goodput_bit_s", "sent_packets", "dropped_packets")
    flows = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]).to_pandas()
    goodput = flows["goodput_bit_s"].to_numpy()
    assert fair_share_index(goodput, demands(flows)) == pytest.approx(1)
    assert jain(goodput) == pytest.approx(0.8182, abs=1e-4)
    lossy = flows.assign(goodput_bit_s=[400.0, 400.0, 80.0], dropped_packets=[0, 0, 2])
    assert demands(lossy).tolist() == [np.inf, np.inf, pytest.approx(100.0)]
    assert fair_share_index(lossy["goodput_bit_s"].to_numpy(), demands(lossy)) == pytest.approx(0.9876, abs=1e-4)
    # A flow of UDP of which nothing came asks for as much as the others, and has none of it: two of three, alike.
    starved = flows.assign(goodput_bit_s=[400.0, 400.0, 0.0], dropped_packets=[0, 0, 10])
    assert fair_share_index(starved["goodput_bit_s"].to_numpy(), demands(starved)) == pytest.approx(2 / 3)


def test_a_full_wire_decides_the_index() -> None:
    # UDP: 5 x 180 kbit/s, packets of 1028 B with 1000 B of payload: 925.2 kbit/s of the wire's 10 Mbit/s. TCP shares
    # the rest, 9074.8 kbit/s, packets of 1040 B: 9074.8 / 15 x 1000 / 1040 = 581.72 kbit/s, 3.2318 times 180.
    # (15 x 3.2318 + 5)^2 / (20 (15 x 3.2318^2 + 5)) = 2859.8 / 3233.4 = 0.8845.
    found = shares.structural(np.array([581.72]), 180.0, 15, 5)
    assert found == pytest.approx([0.8845], abs=1e-4)
    # The index of twenty flows, written out.
    assert found[0] == pytest.approx(jain(np.array([581.72] * 15 + [180.0] * 5)))


def test_metrics_of_kinds_are_those_of_their_flows(measured: execute.Measured) -> None:
    raw = {name: of["rem"] for name, of in measured.raw[BASE.name, "wlan"].items()}
    tcp = np.stack([raw[f"goodput_bit_s@tcp-{k}"] for k in range(1, 16)])
    udp = np.stack([raw[f"goodput_bit_s@udp-{k}"] for k in range(1, 6)])
    assert "goodput_bit_s@tcp-16" not in raw
    assert (np.diff(tcp, axis=0) >= 0).all()
    assert raw["goodput_bit_s@tcp"] == pytest.approx(tcp.mean(axis=0))
    assert raw["goodput_total_bit_s@all"] == pytest.approx(tcp.sum(axis=0) + udp.sum(axis=0))
    both = np.concatenate([tcp, udp])
    # Jain's index of the engine, and ours.
    assert raw["jain_index"] == pytest.approx([jain(one) for one in both.T], rel=1e-9)
    assert raw["jain_index@tcp"] == pytest.approx([jain(one) for one in tcp.T])
    means = np.stack([tcp.mean(axis=0), udp.mean(axis=0)])
    assert raw["jain_index@kinds"] == pytest.approx([jain(one) for one in means.T])
    assert raw["goodput_ratio"] == pytest.approx(means[0] / means[1])
    assert raw["goodput_total_ratio"] == pytest.approx(3 * raw["goodput_ratio"])
    # 80 s are measured.
    assert raw["drops_packets_s"] == pytest.approx(raw["drops_packets"] / 80)


def test_fast_flows_are_compared_with_those_of_slow_stations(tmp_path: Path, measured: execute.Measured) -> None:
    rates = replace(CONDITIONS["rates"], schemes=("droptail",))
    runner = execute.Runner(replace(PAPER, readings=(BASE,), conditions=(rates,)), tmp_path / "store")
    raw = {name: of["droptail"] for name, of in runner.run(2, "full", [rates]).raw[BASE.name, "rates"].items()}
    found, store = raw["goodput_ratio@slow"], Store.open(tmp_path / "store")
    names = ["run", "group", "goodput_bit_s", "throughput_bit_s", "sent_packets", "dropped_packets"]
    flows = store.read("flows", names).to_pandas()
    # Five stations at 54 Mbit/s and three at 6, all sending to the wire; stations that receive are in neither mean.
    of = flows.groupby(["run", "group"], sort=False)["goodput_bit_s"]
    assert of.size().unstack()[["tcp", "tcp_slow"]].to_numpy().tolist() == [[5, 3]] * 2
    means = of.mean().unstack()
    assert sorted(found) == pytest.approx(sorted(means["tcp"] / means["tcp_slow"]))
    # The performance anomaly: a fast station gets no more than a slow one.
    assert (found < 1.1).all()
    # Of a kind, whether up, down or slow: packets lost over packets sent, and the mean flow over that of all.
    sums = flows.assign(kind=flows["group"].str.split("_").str[0]).groupby(["run", "kind"]).sum(numeric_only=True)
    lost = (sums["dropped_packets"] / sums["sent_packets"]).unstack()
    share = sums["goodput_bit_s"].unstack()["tcp"] / 15 / (sums["goodput_bit_s"].groupby("run").sum() / 20)
    assert 0 < lost["tcp"].min() < lost["tcp"].max() < 1
    queues = store.read("queues", ["run", "under_test", "drops_packets"]).to_pandas()
    assert queues[~queues["under_test"]]["drops_packets"].sum() > 0
    drops = queues[queues["under_test"]].groupby("run")["drops_packets"].sum() / 80
    for name, expected in (("loss_ratio@tcp", lost["tcp"]), ("loss_ratio@udp", lost["udp"]),
                           ("goodput_share@tcp", share), ("drops_packets_s", drops),
                           ("jain_index@received", flows.groupby("run")["throughput_bit_s"].agg(jain))):  # fmt: skip
        assert sorted(raw[name]) == pytest.approx(sorted(expected)), name
    # Nobody is slow in the study's own condition.
    assert np.isnan(measured.raw[BASE.name, "wlan"]["goodput_ratio@slow"]["red"]).all()


def test_the_index_is_structural_where_the_wire_is_full(measured: execute.Measured) -> None:
    # crosscheck/recorded/ns2_wlan.csv: 0.876 to 0.881 under six schemes in an 802.11g cell, 0.99 in an 802.11b cell,
    # whose wire holds no queue.
    fast, slow = (measured.raw[name, "wlan"] for name in (BASE.name, "802.11b"))
    for scheme in PAPER.groups["five"]:
        expected = shares.structural(fast["goodput_ratio"][scheme], 1.0, 15, 5)
        # What differs is unfairness within a kind, below 0.02 of the index for TCP.
        assert fast["jain_index"][scheme] == pytest.approx(expected, abs=0.015)
        assert slow["jain_index"][scheme].min() > 0.97
        assert slow["queue_packets_mean"][scheme].max() == 0.0


def test_who_has_more_over_time() -> None:
    # Two flows of TCP and one of UDP, four seconds. TCP's mean is 1, 3, 3, 2; UDP has 2, 2, 3, 5: it is above in two
    # seconds of four. In the first two TCP has (1 + 3)/2 = 2 and UDP 2.
    of = {"tcp[0]": (2, 4, 4, 2), "tcp[1]": (0, 2, 2, 2), "udp[0]": (2, 2, 3, 5)}
    rows = [
        {
            "label": "one",
            "name": f"goodput_bit_s:{flow}",
            "kind": flow[:3],
            "replication": 0,
            "t_s": k,
            "value": value,
        }
        for flow, values in of.items()
        for k, value in enumerate(values, 1)
    ]
    samples = pa.Table.from_pylist(rows).to_pandas()
    found = kinds.over_time({"red": samples, "rem": samples}, ("tcp", "udp"))
    assert found == {
        "goodput_ratio@start": {"red": [1.0], "rem": [1.0]},
        "time_above@udp": {"red": [0.5], "rem": [0.5]},
    }
    assert kinds.over_time({"red": samples}, ("tcp",)) == {}


def test_figures_7_and_8_are_throughput_over_time(measured: execute.Measured) -> None:
    raw = measured.raw[BASE.name, "wlan"]
    for figure, kind, flows in (("Figure 7", "tcp", 15), ("Figure 8", "udp", 5)):
        of = measured.traces[figure, BASE.name, "wlan"]
        total, each = of[f"goodput_total_bit_s@{kind}", "red"], of[f"goodput_bit_s@{kind}", "red"]
        assert total.t_s.tolist() == each.t_s.tolist() == list(range(1, 101))
        assert (total.values.shape, each.values.shape) == ((2, 100), (flows, 100))
        assert each.values.sum(axis=0) == pytest.approx(total.values[0])
        # The mean of the seconds after the warm-up is what the run measured.
        means = total.values[:, total.t_s > 20].mean(axis=1)
        assert means == pytest.approx(raw[f"goodput_total_bit_s@{kind}"]["red"], rel=1e-6)
    (figure,) = (one for one in figures.load(PAPER) if one.name == "Figure 8")
    part = report_figures.part(FEW, measured, figure)
    assert part["missing"] == []
    # Two series under each reading, and the means.
    assert len(part["pictures"]) == 2 * len(SHOWN) + 1


def test_whose_throughput_the_index_is_of_is_a_reading(measured: execute.Measured) -> None:
    raw = measured.raw[BASE.name, "wlan"]
    assert (
        measured.values(BASE.name, "wlan", {"fairness": "all"})["jain_index"]["red"] == raw["jain_index"]["red"]
    ).all()
    for name in ("fair_share", "received", "tcp", "udp", "kinds"):
        own = measured.values(BASE.name, "wlan", {"fairness": name})["jain_index"]["red"]
        assert (own == raw[f"jain_index@{name}"]["red"]).all()


def test_every_claim_about_the_wlan_is_judged_and_the_page_has_its_sections(measured: execute.Measured) -> None:
    judged = ledger.make(FEW, measured)
    for claim in PAPER.claims:
        verdict = judged.verdicts[claim.id][BASE.name]
        own = claim.flow == ("mixed",) and not claim.sweep and not claim.instead_model
        # Never "not measured yet": every metric that a claim names is one.
        assert (verdict.outcome is papers.Outcome.NOT_RUN) == (not own and claim.comparison != "unjudgeable")
        assert "measured" not in verdict.why
    sections = shares.sections(FEW, measured)
    assert [one.name for one in sections] == ["arithmetic", "differences", "every-flow"]
    assert len(sections[0].drawings[0].rows) == 5 * len(SHOWN)
    assert len(sections[1].drawings[0].rows) == 4 * len(SHOWN)
    text = page.render(FEW, measured, judged, "quick")
    assert all(f'id="{name}-figure"' in text for name in ("arithmetic", "differences", "every-flow"))
    assert "page 0" not in text
    # Without its own condition it has no sections.
    none = execute.Measured({}, {}, 3)
    assert shares.sections(PAPER, none) == []


def test_the_smoke_of_the_fairness_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["--quick", "--only", "numbers", "--replicates", "3", "--out", str(out)]
    assert main(["papers", "run", "fairness", *words]) == 0
    printed = capsys.readouterr().out
    # Five schemes under the base, three replications.
    assert printed.startswith("15 runs made, 0 found")
    assert re.search(rf"^{len(PAPER.claims)} claims;", printed, re.MULTILINE)
    assert (out / "report.html").is_file()
