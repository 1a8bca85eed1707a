"""The one estimator: what it allows for, how often its intervals hold, and that all commands use it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from plans import small_plan
from roads import differing, roads
from shared import Command, script
from sojourn import plan, stats
from sojourn.model.scheme import Scheme
from sojourn.plan import read
from sojourn.plan.stopping import target as needed
from sojourn.results import metrics
from sojourn.stats import estimates
from sojourn.studies.advise.search import Outcome
from sojourn.studies.atlas import page as atlas_page
from sojourn.studies.atlas.needs import NEEDS
from sojourn.studies.atlas.ranks import ranked
from sojourn.studies.characterize.numbers import Found
from sojourn.studies.papers import evidence
from sojourn.studies.papers.model import Row

P99 = metrics.quantity("sojourn_ms_p99")
JAIN = metrics.quantity("jain_index")

PLANS = int(os.environ.get("SOJOURN_TEST_ROADS", "2"))
"""Number of random plans; ``.ci/weekly`` takes 200."""


def test_values_that_do_not_exist_are_counted() -> None:
    found = stats.estimate([1.0, math.nan, 3.0])
    assert (found.mean, found.replications, found.left_out) == (2.0, 2, 1)
    assert stats.estimate([math.nan]).why == estimates.NOTHING
    assert stats.estimate([7.0]).why == estimates.ONE


def test_replications_that_do_not_differ_have_no_interval() -> None:
    alike = stats.paired([0.1 + 0.2, 0.3, 0.3], [1.0, 1.0, 1.0])
    assert (alike.low, alike.high, alike.why) == (None, None, estimates.CONSTANT)
    assert stats.paired_p([2.0] * 3, [1.0] * 3) == 0.25
    repeated = stats.estimate([1.0, 1.1], repeated=True)
    assert (repeated.low, repeated.why) == (None, estimates.REPEATED)
    # Nothing is random, so that buckets are no uncertainty of the mean either.
    assert stats.estimate([8.0] * 5, P99, repeated=True).low is None
    assert math.isnan(stats.paired_p([1.0, 1.0], [2.0, 2.0], repeated=True))


def test_the_interval_of_a_quantile_has_half_a_bucket_on_either_side() -> None:
    # A bucket is 1/128 of the value wide: half of it is 0.5 at 128 ms. The five values do not differ.
    found = stats.estimate([128.0] * 5, P99)
    assert (found.low, found.high) == (127.5, 128.5)
    # The mean is 128, the standard deviation 1, t(2) = 4.303: 4.303 / sqrt(3) + 0.5.
    found = stats.estimate([127.0, 128.0, 129.0], P99)
    assert found.half_width == pytest.approx(4.3027 / math.sqrt(3) + 0.5, rel=1e-4)


def test_a_difference_of_quantiles_carries_both_buckets() -> None:
    ours, theirs = [64.0] * 5, [128.0] * 5
    found = stats.paired(ours, theirs, P99)
    # Half buckets of 0.25 and 0.5 ms.
    assert (found.mean, found.low, found.high) == (-64, -64.75, -63.25)
    # Their rounding has the standard deviation sqrt((0.25^2 + 0.5^2) / 3) = 0.3227.
    deviation = math.sqrt((0.25**2 + 0.5**2) / 3)
    size = stats.effect(ours, theirs, P99)
    # t counts the difference without what the buckets may hide of it; J = 0.7979 for four degrees of freedom.
    t = (64 - 0.75) / deviation * math.sqrt(5)
    assert size.p == pytest.approx(2 * stats_tail(t, 4))
    assert 0 < size.p < 1e-9
    assert size.size == pytest.approx(0.7979 * -64 / deviation, rel=1e-4)
    assert size.high is not None
    assert size.high < 0


def stats_tail(t: float, degrees: int) -> float:
    from scipy.stats import t as student

    return float(student.sf(t, degrees))


def test_a_difference_within_the_buckets_is_none() -> None:
    # 0.6 ms apart at 128 ms, where each value is known to 0.5 ms.
    found = stats.paired([128.6] * 9, [128.0] * 9, P99)
    assert found.covers(0.0)
    assert stats.paired_p([128.6] * 9, [128.0] * 9, P99) == 1.0


@pytest.mark.parametrize("seed", range(8))
def test_a_difference_is_significant_where_its_interval_excludes_zero(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for of, size in ((P99, 100.0), (stats.EXACT, 3.0), (P99, 3.0)):
        ours, theirs = draw.normal(size, 1.0, (2, 6))
        ours = ours + draw.normal(0, 1.5)
        assert stats.paired(ours, theirs, of).excludes_zero == (stats.paired_p(ours, theirs, of) < 0.05)


def test_the_base_rtt_does_not_hide_the_bucket() -> None:
    # The RTT's p99 is 128 ms, of which 118 ms are left out: it is still known to half a bucket of 128 ms, 0.5 ms.
    found = stats.estimate([10.0] * 3, replace(P99, offset=118.0))
    assert (found.low, found.high) == (9.5, 10.5)


def test_a_range_cuts_the_interval() -> None:
    values = [0.99, 0.995, 1.0, 0.97, 0.98]
    found, free = stats.estimate(values, JAIN), stats.estimate(values)
    assert free.high is not None
    assert free.high > 1
    assert (found.low, found.high) == (free.low, 1.0)
    assert metrics.written(found) == f"0.987 ({found.low:.3f} to 1.000)"
    # In per cent the range is 0 to 100.
    found = stats.estimate([0.0, 0.0, 3.0], metrics.quantity("loss_ratio").times(100))
    assert found.low == 0
    # A difference of two indices lies between -1 and 1.
    found = stats.paired([1.0, 0.9], [0.1, 0.4], JAIN)
    assert found.high == 1.0


def test_independent_runs_carry_both_buckets_too() -> None:
    found = stats.unpaired([64.0] * 5, [128.0] * 5, P99)
    assert (found.low, found.high) == (-64.75, -63.25)
    assert stats.unpaired([1.0, 1.0], [2.0, 2.0]).why == estimates.CONSTANT


def test_no_goal_is_met_by_replications_that_do_not_differ() -> None:
    goal = plan.Precision("sojourn_ms_mean", "5 %", 3, 20)
    # The cell ends at the floor, since more of the same tell nothing; scatter asks for more.
    assert needed([goal], 3, lambda _, count: [1.0, 2.0, 1.5][:count]) > 3
    assert needed([goal], 3, lambda _, count: [1.0, 2.0, 1.5][:count], lambda _: True) == 3


def test_a_plan_says_that_identical_replications_cannot_be_judged(command: Command, tmp_path: Path) -> None:
    scenario = (
        '[scenario]\nname = "same"\nduration = "2 s"\nwarm_up = "1 s"\n'
        '[[scenario.links]]\nname = "line"\nfrom = "a"\nto = "b"\nrate = "5 Mbit/s"\ndelay = "5 ms"\n'
        'under_test = true\n[[scenario.flows]]\nname = "bulk"\nfrom = "a"\nto = "b"\ncount = 2\n'
        'transport = { kind = "tcp", ecn = true }\n'
    )
    goal = 'precision = { metric = "sojourn_ms_p99", within = "5 %", floor = 3 }'
    text = f'name = "same"\nschemes = ["codel", "pfifo limit 20p"]\n{goal}\n{scenario}'
    (tmp_path / "same.toml").write_text(text)
    out = command("plan", "run", str(tmp_path / "same.toml"), "--store", str(tmp_path / "s")).stdout
    assert "±" not in out.partition("± half-width")[0]
    assert "2 cells cannot be judged" in out
    assert "met in every" not in out
    assert "all replications are identical" in out
    # As compare says it.
    assert "`ecn` is off in this scheme" in out
    shown = command("plan", "show", str(tmp_path / "same.toml"), "--store", str(tmp_path / "s")).stdout
    assert "no interval and no significance" in shown


def test_a_plan_says_that_no_steady_state_was_reached(command: Command, tmp_path: Path) -> None:
    text = (
        'name = "growing"\nschemes = ["pfifo limit 2000p"]\nreplications = 2\nscenario = "dumbbell"\n'
        'set = { duration = "8 s", warm_up = "1 s" }\n'
    )
    (tmp_path / "growing.toml").write_text(text)
    out = command("plan", "run", str(tmp_path / "growing.toml"), "--store", str(tmp_path / "s")).stdout
    assert "Warning: scheme=pfifo limit 2000p: the queue has not reached a steady state" in out


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a small plan: two schemes, two rates."""
    folder = tmp_path_factory.mktemp("sweep") / "store"
    small_plan().run(folder, progress=False)
    return folder


def test_the_family_of_a_plan_is_all_its_comparisons(sweep: Path) -> None:
    every = [found for _, found in plan.results(sweep)]
    p = [found.p_value("PIE", "sojourn_ms_mean", "codel") for found in every]
    corrected = [found.corrected("sojourn_ms_mean")["PIE"] for found in every]
    # Holm: the smaller of two counts twice.
    assert min(corrected) == pytest.approx(min(2 * min(p), 1.0))
    assert plan.differences(sweep, ("sojourn_ms_mean",))["p_holm"].tolist() == corrected


def test_a_scheme_without_a_factor_is_in_every_combination_of_it() -> None:
    target = plan.grid("schemes.codel.target", values=["5 ms", "15 ms"])
    cells = plan.cells(small_plan(vary=(target,)))
    # PIE has one cell, which stands beside both of CoDel's, and CoDel is the baseline of both.
    assert len(cells) == 3
    assert [(levels, [cell.label for cell in own]) for levels, own in read.combinations(cells)] == [
        ({"target": "5 ms"}, ["codel", "PIE"]),
        ({"target": "15 ms"}, ["codel", "PIE"]),
    ]


def test_figures_and_tables_of_a_run_folder_are_there_for_a_store(
    sweep: Path, command: Command, tmp_path: Path
) -> None:
    at = ("--at", "rate=5 Mbit/s")
    names = command("plot", str(sweep), *at).stdout.split("\n")
    assert {"sojourn_cdf", "delay_throughput", "queue_over_time", "differences"} <= set(names)
    command("plot", str(sweep), *at, "--figure", "sojourn_cdf", "--out", str(tmp_path / "cdf.svg"))
    assert (tmp_path / "cdf.svg").stat().st_size > 1000
    latex = command("table", str(sweep), "--table", "differences", "--metric", "sojourn_ms_p99").stdout
    assert latex.count("PIE & ") == 2
    assert r"\pm 0$" not in latex
    assert command("table", str(sweep), "--at", "rate=6").returncode == 2


def test_pairs_are_of_one_replication(sweep: Path) -> None:
    (_, found), _ = plan.results(sweep)
    runs = found.frames["runs"]
    # The first replication of one scheme is missing, as where cells have different numbers of replications.
    frames = {**found.frames, "runs": runs[(runs["scheme"] != "PIE") | (runs["replication"] > 0)]}
    part = replace(found, frames=frames, family=())
    ours, theirs = part.pairs("PIE", "codel", "sojourn_ms_mean")
    assert ours.tolist() == found.values("PIE", "sojourn_ms_mean")[1:].tolist()
    assert theirs.tolist() == found.values("codel", "sojourn_ms_mean")[1:].tolist()


@pytest.mark.parametrize("number", range(PLANS))
def test_every_road_has_the_same_intervals(number: int, tmp_path: Path) -> None:
    found = roads(number, tmp_path / "store")
    assert all(len(own) > len(found["results"]) / 3 for own in found.values())
    assert not differing(found)


# Each of these writes a document's number from a column of values.


def _advise(values: np.ndarray[Any, Any]) -> str:
    from sojourn.studies.advise.answer import number

    return number(Outcome(None, {"down": values}), "down")


def _atlas(values: np.ndarray[Any, Any]) -> str:
    need = next(one for one in NEEDS if one.name == "delay")
    return atlas_page.number(need, ranked({"a": values, "b": values + 1}, lower=True)["a"])


def _characterize(values: np.ndarray[Any, Any]) -> str:
    import pandas as pd

    one = Found(SimpleNamespace(), SimpleNamespace(factors=()), SimpleNamespace())  # type: ignore[arg-type]
    runs = pd.DataFrame({"scheme": "a", "replication": range(values.size), "sojourn_ms_mean": values, "queue": ""})
    frames = {"runs": runs, "queues": pd.DataFrame()}
    results = sj.Results({"name": "one"}, (Scheme("pfifo", "a"),), seed=1, replications=values.size, frames=frames)
    one.__dict__["results"] = {None: results}
    return one.text("a", "sojourn_ms_mean")


def _papers(values: np.ndarray[Any, Any]) -> str:
    row = Row("sojourn_ms_mean", "delay", "sojourn_ms_mean", "ms", 1.0)
    measured = SimpleNamespace(raw={("base", "one")}, values=lambda *_: {"sojourn_ms_mean": {"a": values}})
    paper = SimpleNamespace(readings=[SimpleNamespace(name="base")])
    reading, condition = SimpleNamespace(name="base", is_run=True, judged=None), SimpleNamespace(name="one")
    found = evidence.estimates(paper, measured, reading, condition, row)  # type: ignore[arg-type]
    return evidence.number(found["a"])


@pytest.mark.parametrize("write", [_advise, _atlas, _characterize, _papers])
def test_documents_take_their_intervals_from_the_estimator(
    write: Callable[[Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "chosen_by", lambda *_: None)
    columns = np.random.default_rng(1).normal(50.0, 5.0, (10, 6))
    expected = [stats.estimate(column) for column in columns]
    before = [write(column) for column in columns]
    for text, found in zip(before, expected, strict=True):
        mean, _, half = text.partition(" ± ")
        assert float(mean) == pytest.approx(found.mean, abs=0.06)
        assert float(half) == pytest.approx(found.half_width, abs=0.06)
    # With another estimator every number is another.
    monkeypatch.setattr(
        estimates, "_cut", lambda found, *_: replace(found, low=found.mean - 777, high=found.mean + 777)
    )
    after = [write(column) for column in columns]
    assert all(float(text.partition(" ± ")[2]) == pytest.approx(777, abs=9) for text in after)


def test_intervals_contain_the_truth_as_often_as_they_say() -> None:
    coverage = script("docs/intervals.py")
    network = coverage.networks()["mm1-0.5"]
    short = replace(network, scenario={**network.scenario, "duration": "6 s"})
    repetitions = 400
    columns = coverage.runs(short, 5 * repetitions, seed=1)
    found = coverage.shares(columns, coverage.truths(short, columns, 1), repetitions, (5,))
    # The standard error of a share of 400 is sqrt(0.95 * 0.05 / 400) = 1.1 %. Three of them, and the share that a
    # skewed mean takes of so few replications (docs/intervals.json).
    for name in ("sojourn_ms_mean", "queue_packets_mean", "utilisation", "sojourn_ms_p99"):
        assert found[name][0] == pytest.approx(0.95, abs=3 * 0.011 + 0.005), name


def test_the_record_of_the_coverage_is_complete() -> None:
    coverage = script("docs/intervals.py")
    record = coverage.read_record()
    assert record["repetitions"] == 10_000
    assert [one["title"] for one in record["networks"]] == [one.title for one in coverage.networks().values()]
    page = (Path(__file__).parents[2] / "docs/concepts/simulation-practice.md").read_text(encoding="utf-8")
    assert coverage.coverage(record) in page
