"""Section 7.2 of the dAQM thesis: measured inter-arrival times, and a controller that switches between schemes."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.studies import papers
from sojourn.studies.papers import execute, shipped
from sojourn.studies.papers.shipped.daqm import controller, episodes, evaluate, interarrival, model, part, traffic
from sojourn.studies.papers.shipped.daqm.interarrival import METRICS
from sojourn.studies.papers.shipped.daqm.model import Weights
from sojourn.studies.papers.shipped.results import Keeper

PAPER = papers.load("daqm")
FUTURE = model.load(PAPER)
TRAFFIC = tomllib.loads((PAPER.folder / "traffic.toml").read_text(encoding="utf-8"))
MODELS = ("poisson", "pareto", "weibull", "cbr", "vbr")
# One round of three phases of 2 s.
SMALL = replace(
    FUTURE,
    interarrival=replace(
        FUTURE.interarrival, names={"quick": ("http-cbr", "voip-poisson")}, replications={"quick": 2}
    ),
    adaptive=replace(
        FUTURE.adaptive,
        phase="2 s",
        cycles=1,
        holds=(1, 4),
        episodes={"quick": {"train": 2, "evaluate": 2}},
        weights=FUTURE.adaptive.weights[:1],
    ),
)
EQUAL = Weights("equal", 1.0, 1.0, 1.0)


def window(**values: float) -> sj.Window:
    fields = dict.fromkeys(sj.Window.__slots__, 0.0)
    return sj.Window(**{**fields, **values})  # type: ignore[arg-type]


def table_1(model: str, flow: dict[str, Any]) -> str:
    """Return a model's traffic (Table 1) for a flow type (Table 3)."""
    law = TRAFFIC["model"][model]
    packet = f'packet_size="{flow["packet"]}"'
    if model == "poisson":
        return f'{{kind="poisson", packets_per_second={flow["poisson_lambda_packets_s"]}, {packet}}}'
    if model == "pareto":
        return f'{{kind="pareto", scale="{law["k"]} ms", shape={law["alpha"]}, {packet}}}'
    if model == "weibull":
        return f'{{kind="weibull", scale="{law["b"]} ms", shape={law["c"]}, {packet}}}'
    return f'{{kind="on_off", rate="{flow["rate"]}", {packet}, on="{law["on"]}", off="{law["off"]}"}}'


def test_the_conditions_are_those_of_the_study() -> None:
    settings = FUTURE.interarrival
    known = {one.name: one.sets for one in PAPER.conditions} | settings.conditions
    # Five flow types by five models.
    assert settings.names["full"] == tuple(f"{flow}-{model}" for flow in TRAFFIC["flow"] for model in MODELS)
    assert set(settings.names["quick"]) < set(settings.names["full"])
    for name in settings.names["full"]:
        flow, model = name.split("-")
        of = TRAFFIC["flow"][flow]
        sets = [f"duration={of['duration']}", f"flows.http.traffic={table_1(model, of)}"]
        sets += ['flows.http.transport={kind="udp"}'] if of["protocol"] == "udp" else []
        sets += ["flows.http.start=0 s"] if TRAFFIC["model"][model]["start"] == "together" else []
        ours = sj.load(PAPER.scenario, sets=known[name]).canonical()
        assert ours == sj.load(PAPER.scenario, sets=sets).canonical(), name


def test_a_change_is_relative_to_the_constant() -> None:
    assert interarrival.relative(np.array([3.0, 1.0]), np.array([2.0, 2.0])).tolist() == [0.5, -0.5]
    assert interarrival.relative(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]
    assert np.isnan(interarrival.relative(np.ones(2), np.zeros(2))).all()


def test_more_goodput_is_better_and_more_delay_is_worse() -> None:
    # Everything rises by 10 % in all of five replications but for scatter of a thousandth.
    shares = np.array([0.1, 0.1001, 0.0999, 0.1, 0.1])
    rows = [
        interarrival.Row(
            condition, "r", "daqm_c1", "1ms", True, dict.fromkeys(METRICS, shares), dict.fromkeys(METRICS, 1e-9)
        )
        for condition in ("a", "b")
    ]
    found = {one.metric: one for one in interarrival.summaries(rows)}
    assert (found["goodput_bit_s"].better, found["goodput_bit_s"].worse) == (2, 0)
    assert (found["loss_ratio"].better, found["loss_ratio"].worse) == (0, 2)
    assert found["loss_ratio"].change.mean == pytest.approx(0.1)
    assert found["loss_ratio"].change.excludes_zero


def test_the_bandit_finds_the_better_arm_of_each_context() -> None:
    # Arm 0 brings x, arm 1 brings 1 - x, for x of 0 or 1: after a hundred of each the means lie near these lines.
    # With precision 1 + 100 the coefficient of a feature that alone was seen is 100/101 of the truth.
    bandit = controller.Thompson.new(2, 2, 0.3)
    for _ in range(100):
        for x in (0.0, 1.0):
            seen = np.array([1.0, x])
            bandit.learn(0, seen, x)
            bandit.learn(1, seen, 1.0 - x)
    assert bandit.best(np.array([1.0, 1.0])) == 0
    assert bandit.best(np.array([1.0, 0.0])) == 1
    assert bandit.mean()[0] @ [1.0, 1.0] == pytest.approx(1.0, abs=0.03)
    again = controller.Thompson.of(bandit.document())
    assert again.mean().tolist() == bandit.mean().tolist()
    # After 200 observations draws have a deviation of 0.3 sqrt(x' P^-1 x) < 0.05, beside a gap of 1: never the worse
    # arm.
    random = np.random.default_rng(1)
    assert {bandit.explore(np.array([1.0, 1.0]), random) for _ in range(200)} == {0}
    # Who has seen nothing takes both.
    fresh = controller.Thompson.new(2, 2, 0.3)
    assert {fresh.explore(np.array([1.0, 1.0]), random) for _ in range(50)} == {0, 1}


def test_a_context_is_one_and_the_logarithms_of_the_features() -> None:
    seen = controller.context(window(s0=math.e - 1, q0=math.nan, q3=3.0))
    assert seen.tolist() == pytest.approx([1.0, 1.0, 0, 0, 0, 0, 0, 0, math.log(4)])


def test_the_clock_knows_the_phase() -> None:
    choose = controller.by_clock([5, 4, 1], 2.0)
    assert [choose(window(to_s=t), 0) for t in (0.0, 1.5, 2.0, 3.999, 4.0, 6.0)] == [5, 5, 4, 4, 1, 5]


def test_what_a_window_is_worth() -> None:
    # 5 of 10 Mbit/s, 25 of 100 ms, 10 lost of the 50 packets that left: 0.5 - 0.25 - 0.2.
    seen = window(goodput_bit_s=5e6, sojourn_ms_mean=25.0, departures_packets=40, drops_packets=10)
    assert EQUAL.of(*episodes.worth(seen, SMALL.adaptive)) == pytest.approx(0.05)
    # Nothing left: no delay where nothing waits, the largest where something does.
    empty = window(goodput_bit_s=math.nan, sojourn_ms_mean=math.nan)
    assert episodes.worth(empty, SMALL.adaptive) == (0.0, 0.0, 0.0)
    assert episodes.worth(replace(empty, backlog_packets=3), SMALL.adaptive) == (0.0, 1.0, 0.0)


def stage(text: str) -> episodes.Stage:
    return episodes.Stage(SMALL.adaptive, [text], Keeper(Path()))


def test_who_never_changes_plays_an_ordinary_run() -> None:
    played = stage("codel limit 2000p").play(controller.always(0), 4)
    whole = sj.compare(
        traffic.network(SMALL.adaptive), ["codel limit 2000p"], replicates=1, seed=4, series=None
    ).runs.iloc[0]
    assert played.switches == 0
    assert len(played.arm) == 12
    assert sum(played.departures) + sum(played.drops) == whole["arrivals_packets"] <= sum(played.arrivals)
    assert sum(played.drops) == whole["drops_packets"]
    rate = SMALL.adaptive.rate_mbit_s * 1e6
    assert np.mean(played.goodput) == pytest.approx(whole["goodput_bit_s"] / rate, rel=1e-9)
    assert played.measures(EQUAL)["sojourn_ms"] == pytest.approx(whole["sojourn_ms_mean"], rel=1e-9)


def test_to_switch_to_itself_costs_what_a_scheme_has_learnt() -> None:
    def reward(text: str, *, is_reset: bool) -> float:
        one = stage(text).play(controller.always(0), 4, is_reset=is_reset)
        assert one.switches == (11 if is_reset else 0)
        return one.measures(EQUAL)["reward"]

    # Tail drop has nothing to forget; PIE forgets its drop probability.
    assert reward("pfifo limit 100p", is_reset=True) == reward("pfifo limit 100p", is_reset=False)
    assert reward("pie", is_reset=True) < reward("pie", is_reset=False) - 0.1


def test_what_is_finished_is_not_made_again(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    assert keeper.get("x", {"a": 1}, lambda: {"found": [1, 2.5]}) == {"found": [1, 2.5]}
    assert keeper.get("x", {"a": 1}, lambda: pytest.fail("made again")) == {"found": [1, 2.5]}
    assert keeper.get("x", {"a": 2}, dict) == {}
    assert (keeper.made, keeper.found) == (2, 1)
    next(tmp_path.iterdir()).write_text("{")
    with pytest.raises(sj.SojournError, match="remove it to compute it again"):
        [keeper.get("x", {"a": a}, dict) for a in (1, 2)]


PICTURES = ("timeline", "rewards", "cost")
VERDICTS = [
    "Measured inter-arrival times instead of the constant",
    "Switching",
    "A controller that is told the kind of traffic",
    "A switch loses what a scheme has learnt. Effect on",
]


def test_the_smoke_of_section_7_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "load", lambda _: SMALL)
    assert part.name_of(PAPER) == "Section 7.2"
    first = part.run(runner := execute.Runner(PAPER, tmp_path / "store", 2), "quick")
    assert runner.found == 0
    shown = {drawing.name: drawing for section in first.sections for drawing in section.drawings}
    # Eight fixed, two controllers, the clock, two of chance, two anew.
    assert len(shown["adaptive"].rows) == 8 + 2 + 1 + 2 + 2
    assert [name for name, drawing in shown.items() if drawing.picture] == [f"{one}-figure" for one in PICTURES]
    assert all(len(row) == len(drawing.heads) for drawing in shown.values() for row in drawing.rows)
    # Inter-arrival times; then the controller, the clock, and switching for nothing.
    assert all(said.startswith(begin) for said, begin in zip(first.verdicts, VERDICTS, strict=True))
    # Again, with one episode lost, as a kill leaves it: that one alone is played, and all is as before.
    next((tmp_path / "future").glob("episode-*.json")).unlink()
    again = part.run(once_more := execute.Runner(PAPER, tmp_path / "store", 1), "quick")
    assert (once_more.ran, once_more.found) == (1, runner.ran - 1)
    both = ([(one.name, one.title, one.text) for one in of.sections] for of in (first, again))
    assert len(set(map(tuple, both))) == 1
    after = {drawing.name: drawing for section in again.sections for drawing in section.drawings}
    assert all((after[name].rows, after[name].caption) == (one.rows, one.caption) for name, one in shown.items())


def test_the_best_in_hindsight_is_no_worse_than_any_fixed(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    compared = evaluate.run(PAPER, SMALL.adaptive, keeper, "quick", lambda _: None)
    rewards = np.array([evaluate.values(of, EQUAL, "reward") for of in compared.fixed])
    assert compared.best(EQUAL) == int(np.argmax(rewards.mean(axis=1)))
    assert (compared.hindsight(EQUAL) == rewards.max(axis=0)).all()
    own = compared.difference(compared.fixed[compared.best(EQUAL)], EQUAL)
    assert (own.mean, own.low, own.high) == (0.0, 0.0, 0.0)


def test_unknown_schemes_are_refused(tmp_path: Path) -> None:
    text = (PAPER.folder / "future.toml").read_text(encoding="utf-8")
    (tmp_path / "future.toml").write_text(text.replace('"daqm_c3"]', '"daqm_c4"]'), encoding="utf-8")
    with pytest.raises(sj.SojournError, match=r"future\.toml: unknown schemes daqm_c4"):
        model.load(replace(PAPER, folder=tmp_path))
    (tmp_path / "future.toml").write_text("", encoding="utf-8")
    with pytest.raises(sj.SojournError, match="KeyError"):
        model.load(replace(PAPER, folder=tmp_path))


def test_a_copy_of_the_paper_elsewhere_has_no_code_of_its_own(tmp_path: Path) -> None:
    assert shipped.hook(PAPER.folder, "addition") is not None
    assert shipped.hook(PAPER.folder, "over_time") is None
    assert shipped.hook(tmp_path / "daqm", "addition") is None
