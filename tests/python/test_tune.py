"""Tuning: ranges, the search, resuming, and honesty about the winner."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
import tomllib
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from shared import Command
from sojourn import tc
from sojourn.base import core
from sojourn.stats.front import LIMITS
from sojourn.studies.tune import Plan, Tuning, page, run, search, space
from sojourn.studies.tune.evaluate import LOG, Evaluator

pytest.importorskip("optuna")


@pytest.fixture
def plan(small_file: Path) -> Plan:
    return Plan(
        scheme="red limit 60p",
        scenario=str(small_file),
        vary=("min=2p..20p", "max=10p..60p", "max_p=0.02..0.5:log"),
        minimise=("sojourn_ms_p99",),
        maximise=("goodput_bit_s",),
        train=("flows=3,4",),
        holdout=("flows=8",),
        trials=10,
        replications=2,
        fresh=3,
    )


# Ranges


def test_a_range_has_its_unit_scale_and_kind() -> None:
    assert space.parse("red", "min=5p..50p") == space.Factor("min", 5, 50, "p", is_whole=True)
    assert space.parse("red", "max_p=0.01..0.5:log") == space.Factor("max_p", 0.01, 0.5, is_log=True)
    assert space.parse("codel", "target=1..20ms") == space.Factor("target", 1, 20, "ms")
    assert space.parse("red", "gentle=on|off").choices == ("on", "off")


def test_ranges_that_are_not_given_are_around_the_default() -> None:
    # tc's defaults: max_p 0.1, w 0.002, min 5p, target 5ms.
    assert str(space.parse("red", "max_p")) == "max_p=0.01..1:log"
    assert str(space.parse("red", "w")) == "w=0.0002..0.02:log"
    assert str(space.parse("red", "min")) == "min=1p..50p:log"
    assert str(space.parse("codel", "target")) == "target=0.5ms..50ms:log"
    assert space.parse("red", "gentle").choices == ("off", "on")
    assert space.parse("codel", "control_law").choices == ("exact", "newton")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("minimum=1p..2p", "no parameter `minimum`; it has: limit, min"),
        ("min=5p", "not a range"),
        ("min=5p..x", "not a number with its unit"),
        ("min=5p..50ms", "one unit"),
        ("min=5ms..50ms", "is refused"),
        ("min=50p..5p", "range is empty"),
        ("min=5p..1e999p", "an end is too large"),
        ("max_p=0..0.5:log", "LOW above 0"),
        ("gentle=on", "nothing to choose"),
        ("gentle=on|maybe", "on|off"),
    ],
)
def test_bad_ranges_say_what_is_allowed(text: str, says: str) -> None:
    with pytest.raises(sj.SojournError) as error:
        space.parse("red", text)
    assert says in str(error.value)


def test_a_parameter_without_a_default_needs_a_range() -> None:
    with pytest.raises(sj.SojournError, match=r"no range of its own \(default: none\)"):
        space.parse("codel", "ce_threshold")


@pytest.mark.parametrize("entry", core.aqms(), ids=lambda entry: str(entry["name"]))
def test_every_default_range_is_of_values_that_the_algorithm_takes(entry: core.Document) -> None:
    for parameter in entry["parameters"]:
        try:
            factor = space.default(entry["name"], parameter)
        except sj.SojournError as error:
            assert "no range of its own" in str(error)  # noqa: PT017 - one of many in a loop
            continue
        assert factor.choices or factor.low < factor.high


def test_a_point_is_written_over_the_base() -> None:
    factors = (space.parse("red", "min=5p..50p"), space.parse("red", "gentle=on|off"))
    assert space.scheme_text("red max 90p gentle", factors, {"min": 7, "gentle": "off"}) == "red min 7p max 90p"
    assert space.scheme_text("red", factors, {"min": 7, "gentle": "on"}) == "red min 7p gentle"
    # A choice that is called as a unit is.
    assert space.scheme_text("avq", (space.parse("avq", "unit"),), {"unit": "packets"}) == "avq unit packets"


def test_shares_of_a_range() -> None:
    # Half-way of a logarithmic range from 0.01 to 1 is 0.1; whole numbers 5 to 8 have a quarter each.
    assert space.parse("red", "max_p=0.01..1:log").at(0.5) == pytest.approx(0.1)
    assert [space.parse("red", "min=5p..8p").at(share) for share in (0, 0.24, 0.26, 0.99, 1)] == [5, 5, 6, 8, 8]
    assert space.parse("red", "gentle=on|off").at(0.7) == "off"


# Plans


def test_a_plan_survives_toml(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "tune.toml"
    file.write_text(plan.to_toml())
    assert Plan.read(file) == plan
    assert Plan.read(file, trials=3) == replace(plan, trials=3)
    file.write_text("scheme = 3\nnonsense = 1\n")
    with pytest.raises(sj.SojournError, match="unknown key `nonsense`; allowed: scheme"):
        Plan.read(file)


def test_flows_sets_both_ends(plan: Plan) -> None:
    counts = {
        setting.label: {node["name"]: node["count"] for node in setting.document["nodes"]}
        for setting in plan.settings
    }
    assert set(counts) == {"flows 3", "flows 4", "flows 8"}
    assert set(counts["flows 8"].values()) == {8}
    assert [setting.is_held_out for setting in plan.settings] == [False, False, True]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"vary": ()}, "nothing to vary"),
        ({"minimise": (), "maximise": ()}, "no objective"),
        ({"maximise": ("sojourn_ms_p99",)}, "named twice"),
        ({"vary": ("min", "min=2p..3p")}, "varied twice"),
        ({"trials": 0}, "trials=0 is impossible"),
        ({"sampler": "grid"}, "allowed: tpe, nsga2, random"),
        ({"holdout": ("flows=4",)}, "never seen"),
    ],
)
def test_bad_plans_are_refused_before_anything_runs(plan: Plan, change: dict[str, Any], says: str) -> None:
    with pytest.raises(sj.SojournError) as error:
        replace(plan, **change)
    assert says in str(error.value)


def test_without_optuna_the_extra_is_named(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(sj.SojournError, match="pip install optuna salib"):
        run(plan)


# The search


def rows(found: Tuning) -> list[tuple[Any, ...]]:
    return [(trial.number, trial.text, trial.scores) for trial in found.trials]


@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "random"])
def test_one_seed_one_result_on_any_number_of_threads(plan: Plan, sampler: str) -> None:
    plan = replace(plan, sampler=sampler, holdout=())
    found = run(plan, jobs=1)
    assert rows(found) == rows(run(plan, jobs=3))
    assert rows(found) != rows(run(replace(plan, seed=2), jobs=3))


def test_the_first_trial_is_the_scheme_as_given_where_the_ranges_hold_it(plan: Plan) -> None:
    found = run(plan)
    # Relative to itself it is 1 in every objective.
    assert found.trials[0].text == "red limit 60p"
    assert found.trials[0].scores == (1.0, 1.0)
    assert len(found.trials) == 10


def test_candidates_are_those_that_no_trial_dominates(plan: Plan) -> None:
    found = run(replace(plan, trials=24, holdout=()))
    for trial in found.trials:
        delay, goodput = trial.scores
        beaten = any(
            other.scores[0] <= delay and other.scores[1] >= goodput and other.scores != trial.scores
            for other in found.trials
        )
        assert beaten != (trial.text in {candidate.text for candidate in found.candidates})


def test_a_known_optimum_is_found(small_file: Path) -> None:
    # A tail-drop queue that TCP keeps full: the p99 delay grows with the limit, so the least limit is best, and
    # the most gives the greatest delay: 60 packets of 1500 B at 5 Mbit/s wait 144 ms, 5 packets 12 ms.
    options: dict[str, Any] = {"scheme": "pfifo limit 30p", "scenario": str(small_file), "vary": ("limit=5p..60p",)}
    least = run(Plan(**options, minimise=("sojourn_ms_p99",), trials=24, replications=1, fresh=6))
    most = run(Plan(**options, maximise=("sojourn_ms_p99",), trials=24, replications=1, fresh=6))
    assert least.best.point["limit"] in range(5, 9)
    assert most.best.point["limit"] in range(55, 61)
    # Both beat the 30 packets that they were given, each on its own side.
    assert [*least.verdicts.values(), *most.verdicts.values()] == [1, 1]
    # And it is said what the short queue costs: loss, which nobody asked for.
    assert least.side_effects["as written", "loss_ratio"] == -1
    assert any(
        "Not asked for" in sentence and "loss worse on 1 of 1" in sentence for sentence in page.headlines(least)
    )


class Noise:
    """In the place of the simulator: every metric is 100 + noise of deviation 10, whatever the scheme."""

    def __call__(self, _: object, tasks: Sequence[dict[str, Any]], **__: object) -> list[core.Document]:
        names = ("sojourn_ms_p99", "goodput_bit_s")
        return [{"metrics": dict.fromkeys(names, self.draw(task)), "queues": []} for task in tasks]

    @staticmethod
    def draw(task: dict[str, Any]) -> float:
        seed = zlib.crc32(json.dumps(task, sort_keys=True).encode())
        return 100 + 10 * float(np.random.default_rng(seed).standard_normal())


def test_the_winners_curse_is_seen(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    # 60 trials of 2 scenarios x 2 replications: means have a deviation of 10 / sqrt(4) = 5 around 100, and the least
    # of 60 is about 2.3 deviations down, near 88. On fresh seeds it is 100 again, and nothing beats anything.
    monkeypatch.setattr(core, "run_many", Noise())
    found = run(replace(plan, maximise=(), trials=60, fresh=20, sampler="random"))
    (objective,) = found.plan.objectives
    base = np.mean([found.searched[found.base, label]["sojourn_ms_p99"].mean() for label in ("flows 3", "flows 4")])
    assert found.candidates[0].scores[0] * base < 92
    again = found.score(found.candidates[0].text, objective)
    # The mean of 40 runs has a deviation of 1.6 per cent, that of the scheme as given as well.
    assert again.mean == pytest.approx(1.0, abs=0.08)
    assert set(found.verdicts.values()) == {0}


def test_where_every_other_candidate_is_a_trade_the_scheme_as_given_stays(small_file: Path) -> None:
    # Mean delay and mean queue go together (Little's law): what is asked for excludes itself, so nothing is better.
    found = run(
        Plan(
            scheme="pfifo limit 10p",
            scenario=str(small_file),
            vary=("limit=3p|5p|10p|16p|22p",),
            minimise=("sojourn_ms_mean",),
            maximise=("queue_packets_mean",),
            trials=8,
            fresh=8,
        )
    )
    assert len(found.candidates) > 2
    assert found.best.text == "pfifo limit 10p"
    sentence, beside = page.headlines(found)
    assert "the scheme as given" in sentence
    # It is tail drop itself, between two limits of the front.
    assert beside == "Beside the front of tail drop, it lies on it in 1 of 1 comparisons."
    assert {f"pfifo limit {limit}p" for limit in LIMITS} <= {text for text, _ in found.final}


def test_of_one_objective_a_shorter_queue_is_better(small_file: Path) -> None:
    plan = Plan("pfifo limit 22p", str(small_file), ("limit=16p|22p",), ("sojourn_ms_mean",), trials=2, fresh=3)
    (found,) = run(plan).fronts.values()
    long = found["pfifo limit 22p"]
    assert long.place == "behind"
    assert long.limit < 22


def test_points_that_are_no_scheme_are_counted_and_not_run(plan: Plan) -> None:
    found = run(replace(plan, vary=("min=2p..50p", "max=10p..60p"), trials=16, sampler="random", seed=2, holdout=()))
    assert found.refused > 0
    assert len(found.trials) == 16
    with pytest.raises(sj.SojournError, match="no point of the ranges is a scheme"):
        run(replace(plan, vary=("min=50p..60p", "max=5p..9p"), holdout=()))


# The folder


def contents(place: Path) -> dict[str, bytes]:
    """All that a tuning leaves, without the date and Optuna's own time stamps."""
    unlike = {"meta.json", "study.journal", LOG}
    return {file.name: file.read_bytes() for file in place.iterdir() if file.name not in unlike}


def test_a_tuning_leaves_its_result_in_every_form(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = run(plan, out)
    with (out / "trials.csv").open() as file:
        trials = list(csv.DictReader(file))
    assert [row["scheme"] for row in trials] == [trial.text for trial in found.trials]
    assert set(tc.commands(found.best.text, dev="eth0")) <= set((out / "best.sh").read_text().splitlines())
    document = tomllib.loads((out / "best.toml").read_text())
    assert document["scheme"] == found.best.text
    setting = found.settings(held_out=True)[0]
    (reached,) = [row for row in document["reached"] if row["held_out"] and row["metric"] == "sojourn_ms_p99"]
    difference = found.difference(found.best.text, found.base, setting, found.plan.objectives[0])
    assert reached["difference"] == pytest.approx(difference.mean)
    # Replications that agree to the last digit: buckets are 1/128 wide, so 12.8 ms and 25.6 ms are each known to half
    # of that, 0.05 ms and 0.1 ms.
    same = {"sojourn_ms_p99": np.full(3, 12.8)}, {"sojourn_ms_p99": np.full(3, 25.6)}
    final = {(found.best.text, setting.label): same[0], (found.base, setting.label): same[1]}
    agreeing = replace(found, final=final).difference(found.best.text, found.base, setting, found.plan.objectives[0])
    assert (agreeing.low, agreeing.high) == pytest.approx((-12.95, -12.65))
    report = (out / "report.html").read_text()
    assert f'data-metric="sojourn_ms_p99" data-mean="{difference.mean}"' in report
    assert report.count("<svg role") == 2
    assert not [file for file in out.iterdir() if file.name.startswith(".")]
    import optuna

    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(out / "study.journal")))
    (study,) = optuna.get_all_study_summaries(storage)
    assert study.n_trials == 10 + found.refused


def test_a_tuning_goes_on_where_it_was_cut_short(plan: Plan, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    first = run(plan, whole)
    run(plan, cut)
    # As a kill leaves it: the log ends in the middle of a line, and nothing after the search exists.
    log = (whole / LOG).read_bytes()
    for file in cut.iterdir():
        if file.name not in ("meta.json", "tune.toml", "scenario.toml"):
            file.unlink()
    (cut / LOG).write_bytes(log[: len(log) // 2])
    (cut / ".report.html.x1.partial").write_text("<!DOC")
    (cut / ".study.journal.x2.partial").mkdir()
    second = run(plan, cut)
    assert 0 < second.runs < first.runs
    assert contents(cut) == contents(whole)
    assert not [*cut.glob(".*")]
    assert sorted((cut / LOG).read_bytes().splitlines()) == sorted(log.splitlines())
    assert run(plan, cut).runs == 0
    assert contents(cut) == contents(whole)


def test_a_folder_that_moved_still_opens(plan: Plan, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    run(plan, out)
    before = contents(out)
    (out / "report.html").unlink()
    # Neither the folder nor the scenario is where it was.
    Path(plan.scenario).unlink()
    moved = out.rename(tmp_path / "moved")
    done = command("report", moved)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(moved) == before
    assert Plan.read(moved / "tune.toml").packed() == {
        name: (moved / name).read_text() for name in ("tune.toml", "scenario.toml")
    }


def test_a_tuning_survives_being_killed(plan: Plan, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run(plan, whole)
    file = tmp_path / "plan.toml"
    file.write_text(plan.to_toml())
    command = [sys.executable, "-m", "sojourn", "tune", str(file), "--out", str(cut), "--jobs", "1"]
    for lines in (1, 4, 9):
        # Killed once the log has this many lines, whatever time that takes.
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (
            (cut / LOG).exists() and (cut / LOG).read_bytes().count(b"\n") >= lines
        ):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    run(plan, cut)
    assert contents(cut) == contents(whole)


def test_a_folder_of_something_else_is_left_alone(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(sj.SojournError, match="not a folder that Sojourn wrote"):
        run(plan, tmp_path / "mine")
    out = tmp_path / "out"
    run(replace(plan, trials=2), out)
    with pytest.raises(sj.SojournError, match="holds another tuning"):
        run(replace(plan, trials=3), out)


def test_runs_are_not_repeated(plan: Plan, tmp_path: Path) -> None:
    log = tmp_path / LOG
    setting = plan.settings[0]
    first = Evaluator([setting], ["sojourn_ms_p99"], jobs=2, log=log)
    values = first.values(["red", "codel", "red"], setting, seed=1, replications=2)
    assert first.runs == 4
    assert values[0]["sojourn_ms_p99"] == pytest.approx(values[2]["sojourn_ms_p99"])
    # The same traffic as a comparison's: common random numbers.
    results = sj.compare(sj.Network.from_dict(setting.document), ["red"], replicates=2, seed=1)
    assert values[0]["sojourn_ms_p99"] == pytest.approx(results.values("red", "sojourn_ms_p99"))
    second = Evaluator([setting], ["sojourn_ms_p99"], jobs=2, log=log)
    second.values(["codel"], setting, seed=1, replications=2)
    assert second.runs == 0
    second.values(["codel"], setting, seed=2, replications=2)
    assert second.runs == 2


def test_a_line_without_its_end_does_not_count(plan: Plan, tmp_path: Path) -> None:
    log = tmp_path / LOG
    setting = plan.settings[0]
    Evaluator([setting], [], jobs=1, log=log).values(["red"], setting, seed=1, replications=1)
    whole = log.read_bytes()
    # Complete but for the line feed: a line after it would be part of it.
    log.write_bytes(whole[:-1])
    again = Evaluator([setting], [], jobs=1, log=log)
    again.values(["red"], setting, seed=1, replications=1)
    assert again.runs == 1
    assert log.read_bytes() == whole


def test_fresh_seeds_are_not_the_searchs() -> None:
    assert all(seed ^ search._FRESH_SEED != seed for seed in range(100))


# The command line


def test_the_command_prints_its_verdict(command: Command, small_file: Path) -> None:
    done = command(
        *("tune", "red limit 60p", "--scenario", small_file, "--minimise", "sojourn_ms_p99"),
        *("--maximise", "goodput_bit_s", "--vary", "min=2p..9p", "--vary", "max=10p..60p", "--trials", 6),
        *("--replicates", 1, "--fresh", 2, "--holdout", "flows=8", "--out", "tuned"),
    )
    assert done.returncode == 0, done.stderr
    assert "flows 8 (held out)" in done.stdout
    assert "Recommended: red" in done.stdout
    assert done.stdout.splitlines()[-1] == "Report: tuned/report.html"


def test_the_command_says_what_is_missing(command: Command) -> None:
    done = command("tune", "red", "--scenario", "dumbbell", "--minimise", "sojourn_ms_p99")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--vary is missing" in done.stderr


def test_an_algorithm_that_linux_does_not_have_says_so(small_file: Path, tmp_path: Path) -> None:
    plan = Plan(
        scheme="daqm",
        scenario=str(small_file),
        vary=("drop_rate=0.1..0.9",),
        minimise=("loss_ratio",),
        trials=2,
        replications=1,
        fresh=2,
    )
    run(plan, tmp_path / "out")
    assert "# no command: Linux has no `daqm`" in (tmp_path / "out" / "best.sh").read_text()
