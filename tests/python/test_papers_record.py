"""What a study's folder says of earlier runs and of itself: recorded outcomes, distances, ten sentences."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shared import study
from sojourn.cli import papers as command
from sojourn.studies import papers
from sojourn.studies.papers import Outcome, page, record
from synthetic import judged, measure, some_readings

distance = study("daqm", "distance")
PAPERS = Path(__file__).parents[2] / "papers"
WHOLE = papers.load("daqm")
PAPER = some_readings(WHOLE, 2)
TABLE_8 = [one for one in PAPER.conditions if one.table == "8"]


def test_an_outcome_is_recorded_and_found_where_a_claim_was_not_run(tmp_path: Path) -> None:
    shutil.copytree(PAPER.folder, tmp_path / "daqm")
    (tmp_path / "daqm" / record.FILE).unlink(missing_ok=True)
    paper = replace(PAPER, folder=tmp_path / "daqm")
    base = paper.readings[0].name
    full = judged(paper, measure(paper, TABLE_8))
    known = {one.id for one in paper.claims if full.verdicts[one.id][base].outcome in (Outcome.HOLDS, Outcome.FAILS)}
    assert known
    record.write(full, "full")
    nothing = judged(paper, replace(measure(paper, TABLE_8), raw={}, conditions=()))
    found = record.filled(nothing)
    for one in paper.claims:
        verdict = found.verdicts[one.id][base]
        assert verdict.outcome is full.verdicts[one.id][base].outcome
        assert verdict.is_recorded == (one.id in known or verdict.outcome is Outcome.UNDECIDED)
    # What was run now is not replaced, and a claim that has changed since has no record.
    assert record.filled(full) == full
    changed = replace(paper, claims=tuple(replace(one, quote="other") for one in paper.claims))
    other = record.filled(judged(changed, replace(measure(paper, TABLE_8), raw={}, conditions=())))
    assert not any(of[base].is_recorded for of in other.verdicts.values())
    # A record keeps what the next one does not run.
    record.write(nothing, "quick")
    assert record.filled(nothing).verdicts == found.verdicts


@pytest.mark.parametrize("study", ["daqm", "dropping-functions", "fairness", "threshold"])
def test_a_study_opens_with_ten_sentences_that_report_and_readme_share(study: str) -> None:
    sentences = page.summary(PAPERS / study)
    assert len(sentences) == 10
    readme = (PAPERS / study / "README.md").read_text(encoding="utf-8")
    assert readme.index("## In ten sentences") < readme.index("sojourn papers run")
    for one in sentences:
        assert f"* {one}\n" in readme
        # One sentence: no stop but the last, and none so long that nobody reads it.
        assert re.findall(r"[.?!](?=\s|$)", one) == ["."], one
        assert len(one.split()) <= 60, one
    before = readme[readme.index("## In ten sentences") :].split("\n", 1)[1].split("\n* ")[0]
    assert page.words(PAPERS / study)["terms"] == " ".join(before.replace("*", "").split())
    claims = tomllib.loads((PAPERS / study / "claims.toml").read_text(encoding="utf-8"))["sentence"]
    counts = re.search(r"`claims.toml` \| (\d+) [a-z ]*sentences,? as (\d+) predicates", readme)
    assert counts
    assert (int(counts[1]), int(counts[2])) == (len(claims), sum(len(one["claims"]) for one in claims))


def test_quick_runs_the_main_conclusions_under_the_base_alone() -> None:
    for name in ("daqm", "fairness", "threshold"):
        paper = papers.load(name)
        assert any(one.is_main for one in paper.claims)
        assert all(not one.conditions["quick"] for one in paper.readings[1:] if one.is_run)
        quick = {one.name for one in command.chosen(paper, None, "quick")}
        assert quick < {one.name for one in paper.conditions}


def test_the_headline_has_the_range_in_the_same_sentence() -> None:
    ledger = judged(PAPER, measure(PAPER, TABLE_8))
    # Of the main conclusions Table 8 decides too few for a share.
    (every,) = page.headline(ledger)
    assert every.startswith("Of 557 claims, under the base reading: ")
    assert re.search(r"; over \d+ readings, \d+% to \d+% of those decided hold \(median \d+%\)", every)


def test_joint_readings_have_the_shares_in_which_main_conclusions_hold() -> None:
    joint = [one for one in WHOLE.readings if one.is_drawn][:4]
    claims = tuple(one for one in WHOLE.claims if one.is_main)
    paper = replace(WHOLE, readings=(WHOLE.readings[0], *joint), claims=claims)
    full = measure(paper, command.chosen(paper, "main conclusions"))
    # The last of them has not been run, so it does not count.
    full = replace(full, raw={key: raw for key, raw in full.raw.items() if key[0] != joint[3].name})
    ledger = judged(paper, full)
    assert [one.name for one in page.joint(ledger)] == ["joint reading 1", "joint reading 2", "joint reading 3"]
    main = [one for one in paper.claims if one.is_main and one.comparison != "unjudgeable"]
    assert len(main) == 35
    found = Counter(ledger.verdicts[one.id][of.name].outcome for one in main for of in joint[:3])
    said = next(one for one in page.headline(ledger) if "joint readings" in one)
    assert said.startswith("Of 35 main conclusions that runs can decide, in joint readings (3): ")
    for outcome, count in found.items():
        assert f"{outcome.value} {count / 105:.0%}" in said
    (section,) = page._Page(paper, full, ledger).joint([one for one in paper.claims if one.is_main])
    # The page needs no base that was run.
    without = replace(full, raw={key: raw for key, raw in full.raw.items() if key[0] == joint[0].name})
    assert "Main conclusions under joint readings, 1 of which were run" in page.render(
        paper, without, judged(paper, without), "full"
    )
    table, details = section.drawings
    assert len(table.rows) == 35
    assert {len(row) for row in table.rows} == {len(Outcome) + 2}
    # Each of the three, with the value of every point that one of them changes.
    each = details.parts[0]
    assert [row[0] for row in each.rows] == [one.name for one in joint[:3]]
    assert {"device queue", "inspect", "ring", "in hand"} <= {*each.heads}


def test_a_distance_by_hand() -> None:
    # Ranks 1 2 3 against 2 3 1: 1 - 6 (1 + 1 + 4)/(3 (9 - 1)) = -0.5. Log-ratios 0, 1 and 3, which counts as 2.
    order, size = distance.compare(np.array([1.0, 20.0, 300.0]), np.array([1.0, 200.0, 0.3]), 0.0, 2.0)
    assert (order, size) == (pytest.approx(-0.5), pytest.approx(1.0))
    assert distance.compare(np.full(3, 2.0), np.array([1.0, 2.0, 3.0]), 0.0, 2.0)[0] == 0


def test_a_distance_does_not_look_at_the_schemes_of_the_study() -> None:
    tables = [one for one in PAPER.conditions if one.table]
    measured = measure(PAPER, tables)
    before = distance.distances(PAPER, measured)
    assert [one.rows for one in before] == [36, 36]
    for of in measured.raw.values():
        for schemes in of.values():
            for name in schemes:
                if name.startswith("daqm"):
                    schemes[name] = schemes[name] * 1000
    assert distance.distances(PAPER, measured) == before


def test_the_base_is_the_nearest_of_the_recorded_distances() -> None:
    found = json.loads((WHOLE.folder / distance.FILE).read_text(encoding="utf-8"))
    assert len(found) == 48
    assert found[0]["reading"] == WHOLE.readings[0].name
    assert [one["total"] for one in found] == sorted(one["total"] for one in found)
    (section,) = distance.sections(WHOLE, measure(PAPER, []))
    assert len(section.drawings[0].rows) == 48
    assert "one of 48 networks" in section.title
