"""What the commands of ``sojourn theory`` say of their models: printed, in JSON and on the pages, and measured."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import sojourn as sj
from shared import Command, script
from sojourn import theory

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts"
QUESTIONS = {
    "queue": ("queue", "threshold q_th 15p"),
    "design": ("design", "red", "--mean", "50"),
    "optimal": ("optimal", "--loss-cost", "100", "--room", "60"),
    "stability": ("stability", "codel", "--flows", "20", "--rate", "20 Mbit/s", "--rtt", "40 ms"),
    "rules": ("rules", "--flows", "20", "--rate", "20 Mbit/s", "--rtt", "40 ms"),
}
PAGES = {name: f"theory-{name}s.md" if name == "queue" else f"theory-{name}.md" for name in QUESTIONS}
PAGES["optimal"] = "optimal-functions.md"


def test_every_command_has_a_model() -> None:
    assert set(theory.MODELS) == set(QUESTIONS)
    for model in theory.MODELS.values():
        assert model.formulas
        assert model.assumptions
        assert model.departures
        for line in (*model.assumptions, *model.departures):
            assert line.endswith("."), line
        for formula in model.formulas:
            assert not formula.function or hasattr(theory, formula.function)


@pytest.mark.parametrize("name", QUESTIONS)
def test_it_is_printed_and_in_json(name: str, command: Command) -> None:
    model = theory.MODELS[name]
    printed = " ".join(command("theory", *QUESTIONS[name]).stdout.split())
    found = json.loads(command("theory", *QUESTIONS[name], "--json").stdout)["model"]
    for formula in model.formulas:
        assert formula.formula.replace("`", "") in printed
    for line in (*model.assumptions, *model.departures):
        assert line.replace("`", "") in printed
    assert tuple(found["assumptions"]) == model.assumptions
    assert tuple(found["departures"]) == model.departures
    assert [one["formula"] for one in found["formulas"]] == [one.formula for one in model.formulas]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_page_has_it(name: str) -> None:
    assert script("docs/pages.py").model(name) in (CONCEPTS / PAGES[name]).read_text("utf-8")


def test_a_share_is_printed_in_per_cent(command: Command) -> None:
    # 1.5 / 3.333²: 0.135 without a unit was read as 0.135 %.
    words = QUESTIONS["rules"]
    assert "13.5 %" in " ".join(command("theory", *words).stdout.split())
    document = json.loads(command("theory", *words, "--json").stdout)
    assert document["loss ratio at which Reno has it"] == pytest.approx(0.135)
    with_queue = json.loads(command("theory", *words, "--queue-delay", "16.8 ms", "--json").stdout)
    assert with_queue["window of a flow when the link is full"] == pytest.approx(1e6 / 600 * 0.0568 / 20)
    assert command("theory", *words, "--queue-delay", "-1 ms").returncode == 2


def test_padhye_without_timeouts_is_the_square_root() -> None:
    # A timeout of no length leaves 1/(R sqrt(2p/3)).
    found = theory.padhye_loss_ratio(window=10, rtt_s=0.1, rto_s=1e-9)
    assert found == pytest.approx(0.015, rel=1e-6)
    # Even a loss ratio of 1 leaves a rate of 0.15 packets/s, so a smaller window than 0.015 has none.
    assert math.isnan(theory.padhye_loss_ratio(window=0.001, rtt_s=0.1))


def reno(flows: int, rate_mbit_s: float, scheme: str, **transport: object) -> dict[str, float]:
    """Means of three short runs of Reno over one link with 40 ms of base RTT."""
    net = sj.dumbbell(
        flows=flows,
        rate=sj.mbit_s(rate_mbit_s),
        base_rtt=sj.ms(40),
        congestion_control="reno",
        duration=sj.s(40),
        warm_up=sj.s(10),
    ).to_dict()
    net["flows"][0]["transport"] |= {"ack_every": "1 p", **transport}
    runs = sj.compare(sj.Network.from_dict(net), [scheme], replicates=3, seed=1).runs
    names = ("loss_ratio", "mark_ratio", "sojourn_ms_mean", "timeouts", "drops_packets")
    return {name: float(runs[name].mean()) for name in names}


def test_the_departures_of_reno_are_as_measured() -> None:
    """The numbers in the texts: the queue's share, recovery and timeouts."""
    plain = reno(20, 20, "codel")
    assert plain["sojourn_ms_mean"] == pytest.approx(17, abs=0.7)
    assert 100 * plain["loss_ratio"] == pytest.approx(4.1, abs=0.15)
    assert plain["timeouts"] / plain["drops_packets"] == pytest.approx(0.04, abs=0.007)
    window = 1e6 / 600 * (0.04 + plain["sojourn_ms_mean"] / 1e3) / 20
    assert 150 / window**2 == pytest.approx(6.7, abs=0.2)
    marked, probes = reno(20, 20, "codel ecn", ecn=True), reno(20, 20, "codel", recovery="rack", tail_loss_probe=True)
    assert 100 * (marked["loss_ratio"] + marked["mark_ratio"]) == pytest.approx(5.1, abs=0.15)
    assert 100 * probes["loss_ratio"] == pytest.approx(5.0, abs=0.15)
    assert 100 * reno(20, 20, "codel", ack_every="2 p")["loss_ratio"] == pytest.approx(4.0, abs=0.15)
    # A cycle: growth from half of Wm to Wm, and a round of recovery at half of it, with a mean of 4.73.
    most = 6.84
    assert (3 / 8 * most**2 + most / 2) / (most / 2 + 1) == pytest.approx(4.73, abs=0.02)
    assert 100 / (3 / 8 * most**2 + most / 2) == pytest.approx(4.8, abs=0.05)


def test_tcp_under_a_dropping_function_is_as_measured() -> None:
    runs = sj.compare("dumbbell", ["dropping_function function d1 count system"], replicates=1, seed=1).runs
    assert float(runs["system_packets_mean"].iloc[0]) == pytest.approx(88, abs=1.5)
    for load, mean in ((0.9, 9), (1.0, 50), (1.1, 92)):
        own = theory.queue("dropping_function function d1 count system", load=load)
        assert own.mean_packets == pytest.approx(mean, abs=0.5)
