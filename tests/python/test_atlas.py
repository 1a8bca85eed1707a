"""The atlas: ranks with ties, needs, data and pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sojourn.base.core import SojournError
from sojourn.cli import main
from sojourn.model.scheme import Scheme
from sojourn.stats import estimate
from sojourn.studies.atlas import NEEDS, atlas, execute
from sojourn.studies.atlas.needs import SCENARIOS
from sojourn.studies.atlas.ranks import Cell, ranked

SOME = [need for need in NEEDS if need.name in ("delay", "goodput", "tail", "flood")]


def test_ranks_tie_where_differences_are_not_certain() -> None:
    noise = np.array([0.1, -0.2, 0.05, 0.15, -0.1])
    values = {"low": 1.0 + noise, "alike": 1.0 + noise[::-1], "high": 9.0 + noise, "none": np.array([np.nan] * 5)}
    # "low" and "alike" differ by less than their noise; both are 8 below "high", in every replication.
    found = ranked(values, lower=True)
    assert {label: cell.rank for label, cell in found.items()} == {"low": 1, "alike": 1, "high": 3, "none": None}
    found = ranked(values, lower=False)
    assert {label: cell.rank for label, cell in found.items()} == {"low": 2, "alike": 2, "high": 1, "none": None}


def test_the_same_values_tie_and_constant_differences_do_not() -> None:
    same = np.array([1.0, 2.0, 3.0])
    found = ranked({"a": same, "b": same.copy(), "c": same + 1}, lower=True)
    assert {label: cell.rank for label, cell in found.items()} == {"a": 1, "b": 1, "c": 3}
    # Values that never differ tell nothing of their scatter: the sign test of three has the p-value 2 / 2^3.
    fixed = np.ones(3)
    few = ranked({"a": fixed, "b": fixed + 1}, lower=True)
    assert {label: cell.rank for label, cell in few.items()} == {"a": 1, "b": 1}


def test_every_need_has_its_scenario() -> None:
    known = {one.section for one in SCENARIOS}
    assert {need.section for need in NEEDS} <= known
    assert len({need.name for need in NEEDS}) == len(NEEDS)


def test_every_algorithm_of_the_library_is_in_the_atlas() -> None:
    assert {one.algorithm for one in execute.every_scheme()} >= {"pfifo", "codel", "fq_codel", "cake", "dualpi2"}


def test_the_first_of_a_need_is_the_one_with_the_best_mean() -> None:
    # "b" and "a" tie; "b" is better in the mean, whether low or high values are.
    for need, b in ((NEEDS[0], 1.0), (NEEDS[1], 3.0)):
        cells = {
            name: Cell(estimate([mean] * 3), rank) for name, mean, rank in (("a", 2.0, 1), ("b", b, 1), ("c", 9, 3))
        }
        schemes = tuple(Scheme("codel", name) for name in cells)
        whole = execute.Atlas(schemes, (need,), {need.name: cells}, 3)
        assert whole.first(need) == ["b", "a"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, execute.Atlas]:
    """Two schemes on a slow bottleneck."""
    from sojourn.studies.characterize import Setting

    out = tmp_path_factory.mktemp("atlas") / "two"
    schemes = [Scheme("pfifo", "pfifo"), Scheme("fq_codel", "FQ-CoDel")]
    options = {"setting": Setting(rate_mbit_s=4.0), "with_cost": False, "replications": 3, "needs": SOME}
    return out, atlas(out, schemes=schemes, **options)


def test_flow_queueing_beats_tail_drop_where_it_must(made: tuple[Path, execute.Atlas]) -> None:
    _, whole = made
    # UDP at three quarters of 4 Mbit/s: flow queueing gives TCP half, 2 Mbit/s and 1448 of each 1500 B. A window that
    # halves without a queue uses three quarters of it: 2 * 1448 / 1500 * 0.75 = 1.45.
    assert 1.45 < whole.cells["flood"]["FQ-CoDel"].estimate.mean < 1.93
    assert whole.cells["flood"]["pfifo"].rank == 2
    assert whole.cells["delay"]["FQ-CoDel"].rank == 1
    assert whole.cells["delay"]["pfifo"].rank == 2


def test_data_and_pages_say_the_same(made: tuple[Path, execute.Atlas]) -> None:
    out, whole = made
    data = pd.read_csv(out / "atlas.csv")
    assert len(data) == len(SOME) * 2
    pd.testing.assert_frame_equal(pd.read_parquet(out / "atlas.parquet"), whole.frame())
    overview = (out / "index.html").read_text(encoding="utf-8")
    assert 'href="schemes/FQ-CoDel.html"' in overview
    assert "Need by need" in (out / "schemes" / "FQ-CoDel.html").read_text(encoding="utf-8")


def test_schemes_are_set_beside_tail_drop(made: tuple[Path, execute.Atlas]) -> None:
    out, whole = made
    # Of the needs that ran, those of 8.2.2 have classes: one load, and few and many flows.
    assert [one.of.title for one in whole.fronts] == ["one load", "few and many flows"]
    text = (out / "index.html").read_text(encoding="utf-8")
    for one in whole.fronts:
        delays = [float(own[0].mean()) for own in one.points.values()]
        # A packet of 1500 B takes 3 ms at 4 Mbit/s: the delay of a full queue of tail drop grows with its limit.
        assert delays == sorted(delays)
        assert delays[4] == pytest.approx(8 * 3, rel=0.1)
    # The worst of three loads is that of one of them, or worse.
    one_load, three = whole.fronts
    assert all((three.points[5][k] >= one_load.points[5][k]).all() == (k == 0) for k in (0, 1))
    assert "Beside a small buffer" in text
    rows = pd.read_csv(out / "fronts.csv")
    assert list(rows["place"]) == [one.standings[label].place for one in whole.fronts for label in one.standings]
    standings = [standing for one in whole.fronts for standing in one.standings.values()]
    assert all(str(standing) in text for standing in standings)


def test_a_cell_leads_to_its_runs(made: tuple[Path, execute.Atlas]) -> None:
    out, whole = made
    link = 'href="needs/flood.html#FQ-CoDel"'
    assert link in (out / "index.html").read_text(encoding="utf-8")
    assert link.replace("needs", "../needs") in (out / "schemes" / "FQ-CoDel.html").read_text(encoding="utf-8")
    runs = (out / "needs" / "flood.html").read_text(encoding="utf-8")
    assert 'id="FQ-CoDel"' in runs
    assert 'href="../plans/5.3b.toml"' in runs
    values = whole.runs["flood"]["FQ-CoDel"]
    # Three replications, whose mean is the cell.
    assert " ".join(f"{value:.3f}" for value in values) in runs
    assert values.mean() == pytest.approx(whole.cells["flood"]["FQ-CoDel"].estimate.mean)
    assert len(values) == 3


def test_what_is_there_is_not_repeated(made: tuple[Path, execute.Atlas]) -> None:
    from sojourn.studies.characterize import Setting

    out, whole = made
    before = {file: file.stat().st_mtime_ns for file in (out / "store").rglob("*.parquet")}
    options = {"setting": Setting(rate_mbit_s=4.0), "with_cost": False, "replications": 3, "needs": SOME}
    again = atlas(out, schemes=whole.schemes, **options)
    assert {file: file.stat().st_mtime_ns for file in (out / "store").rglob("*.parquet")} == before
    pd.testing.assert_frame_equal(again.frame(), whole.frame())


def test_one_need_alone_has_no_picture_of_two(tmp_path: Path) -> None:
    from sojourn.studies.characterize import Setting

    need = [one for one in NEEDS if one.name == "flood"]
    schemes = [Scheme("pfifo", "pfifo"), Scheme("fq_codel", "fq_codel")]
    atlas(
        tmp_path / "a",
        schemes=schemes,
        setting=Setting(rate_mbit_s=1.0),
        with_cost=False,
        replications=3,
        needs=need,
    )
    assert "Delay and goodput" not in (tmp_path / "a" / "index.html").read_text(encoding="utf-8")


def test_bad_requests_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SojournError, match="at least two schemes"):
        atlas(tmp_path, schemes=[Scheme("pie", "pie")])
    assert main(["atlas", "--out", str(tmp_path / "a"), "--aqm", "pie", "--aqm", "codel", "--replicates", "2"]) == 2
    assert "allowed: 3 to 1000" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()
