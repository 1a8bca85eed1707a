"""A formula as a scheme: on the command line, in scenarios and plans, with errors that point to the column."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.base.core import SojournError

FORMULA = "min(1, max(0, (sojourn - 5ms) / 50ms))"
TEXT = f'dropping_function formula "{FORMULA}"'
CANONICAL = "dropping_function formula min(1,max(0,(sojourn-5ms)/50ms))"


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sojourn", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace('"', "'"),
        f"dropping_function formula {FORMULA}",
        f"dropping_function limit 300p formula {FORMULA}",
    ],
)
def test_quotes_and_parentheses_keep_blanks(text: str) -> None:
    assert sj.Scheme(text).canonical == CANONICAL


def test_a_keyword_may_have_blanks() -> None:
    assert sj.aqm("dropping_function", formula="n / 300", ecn=True).canonical == "dropping_function formula n/300 ecn"


def test_a_formula_runs_from_everywhere_alike(tmp_path: Path) -> None:
    sets = ["--set", "duration=4 s", "--set", "warm_up=1 s"]
    compared = cli("compare", "dumbbell", "--aqm", TEXT, "--aqm", "pie", *sets, "--json")
    assert compared.returncode == 0, compared.stderr
    # The scenario has it as a text; a plan lists it.
    net = sj.dumbbell(flows=20, duration=sj.s(4), warm_up=sj.s(1))
    document = net.to_dict()
    document["links"][0]["queue"] = TEXT
    scenario = tmp_path / "own.toml"
    scenario.write_text(sj.Network.from_dict(document).to_toml(), encoding="utf-8")
    ran = cli("run", str(scenario), "--json")
    assert ran.returncode == 0, ran.stderr
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"name = 'p'\nscenario = '{scenario}'\nreplications = 1\nschemes = ['''{TEXT}''', 'pie']\n"
        "[[vary]]\nkey = 'links.bottleneck.rate'\nvalues = ['10 Mbit/s', '20 Mbit/s']\n",
        encoding="utf-8",
    )
    planned = cli("plan", "run", str(plan), "--store", str(tmp_path / "store"))
    assert planned.returncode == 0, planned.stderr
    assert json.loads(compared.stdout)


def test_a_formula_of_delay_holds_the_queue_near_its_delay() -> None:
    # 20 flows share 20 Mbit/s: the drop probability rises from 0 at 5 ms to 1 at 55 ms, and needs some per cent.
    results = sj.compare(sj.dumbbell(flows=20), [TEXT, "pfifo limit 1000p"], replicates=1, seed=1)
    table = results.summary(["sojourn_ms_mean"])
    ours, tail_drop = (float(value) for value in table["mean"])
    assert 3 < ours < 15
    assert tail_drop > 100


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("(sojurn - 5ms) / 50ms", r'column 2: "sojurn" is unknown \(did you mean "sojourn"\?\)'),
        ("(sojourn - 5) / 50ms", r'column 10: "-" has a time on one side and a number on the other'),
        ("sojourn / 50mss", r'column 13: "mss" is no unit \(did you mean "ms"\?\)'),
        ("log(0 - 1)", "column 1: this constant is NaN"),
        ("min(1, n", r'column 9: "\)" is missing'),
    ],
)
def test_errors_point_to_the_column(formula: str, message: str) -> None:
    with pytest.raises(SojournError, match=message):
        sj.Scheme(f'dropping_function formula "{formula}"')


def test_a_bad_formula_ends_a_command_with_status_2() -> None:
    done = cli("compare", "dumbbell", "--aqm", 'dropping_function formula "sojourn / 5"')
    assert done.returncode == 2
    assert "the result is a time, but it must be a number" in done.stderr


def test_theory_refuses_what_depends_on_more_than_the_length() -> None:
    from sojourn import theory

    with pytest.raises(SojournError, match="its formula names more than the queue length"):
        theory.law(TEXT)
