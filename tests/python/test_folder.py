from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.base.core import SojournError
from sojourn.plan import folder


def names(place: Path) -> list[str]:
    return sorted(entry.name for entry in place.iterdir())


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "run"
    with folder.staged(target) as staging:
        (staging / "x").write_text("1")
        assert not target.exists()
    assert names(target) == ["x"]
    assert names(target.parent) == ["run"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_nothing_remains_of_a_failure(tmp_path: Path, failure: type[BaseException]) -> None:
    def fail() -> None:
        with folder.staged(tmp_path / "deep" / "run") as staging:
            (staging / "x").write_text("1")
            raise failure

    with pytest.raises(failure):
        fail()
    assert names(tmp_path) == []


def test_an_earlier_run_folder_is_replaced_whole(results: sj.Results, tmp_path: Path, run_folder: Path) -> None:
    (run_folder / "series.parquet").unlink()
    results.to_parquet(run_folder)
    assert names(tmp_path) == ["run"]
    assert set(names(run_folder)) == folder._OWN_FILES


def test_a_failure_leaves_the_earlier_folder_alone(run_folder: Path) -> None:
    before = {name: (run_folder / name).read_bytes() for name in names(run_folder)}
    with pytest.raises(RuntimeError), folder.staged(run_folder):
        raise RuntimeError
    assert {name: (run_folder / name).read_bytes() for name in names(run_folder)} == before


@pytest.mark.parametrize("foreign", ["thesis.txt", ".hidden", "meta.json"])
def test_a_foreign_folder_is_refused_and_left_alone(tmp_path: Path, foreign: str) -> None:
    (tmp_path / foreign).write_text("{}")
    with pytest.raises(SojournError, match="which Sojourn did not write"), folder.staged(tmp_path):
        pytest.fail("the block must not run")
    assert names(tmp_path) == [foreign]


def test_a_note_in_a_run_folder_protects_it(results: sj.Results, run_folder: Path) -> None:
    (run_folder / "note.txt").write_text("mine")
    with pytest.raises(SojournError, match=r"'note\.txt'"):
        results.to_parquet(run_folder)
    assert (run_folder / "note.txt").read_text() == "mine"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SojournError, match="it is a file"), folder.staged(tmp_path / "file"):
        pytest.fail("the block must not run")


def test_a_place_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SojournError, match="cannot write"), folder.staged(tmp_path / "file" / "run"):
        pytest.fail("the block must not run")


def test_a_link_to_a_folder_is_followed(results: sj.Results, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    results.to_parquet(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "meta.json").is_file()


@pytest.mark.parametrize("damage", ["runs.parquet", "scenario.json", "schemes.json"])
def test_a_damaged_folder_is_refused(run_folder: Path, damage: str) -> None:
    (run_folder / damage).write_bytes(b"x")
    with pytest.raises(SojournError, match="damaged"):
        sj.Results.read(run_folder)


def test_a_folder_of_another_format_is_refused(run_folder: Path) -> None:
    meta = json.loads((run_folder / "meta.json").read_text())
    (run_folder / "meta.json").write_text(json.dumps({**meta, "format": "sojourn run folder 9"}))
    with pytest.raises(SojournError, match="run folder 9"):
        sj.Results.read(run_folder)


def test_the_folder_holds_a_scenario_that_runs(results: sj.Results, run_folder: Path) -> None:
    network = sj.load(run_folder / "scenario.toml")
    assert network.canonical() == results.scenario


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    folder.write_text(tmp_path / "new" / "page.html", "x")
    assert names(tmp_path / "new") == ["page.html"]
    with pytest.raises(SojournError, match="cannot write"):
        folder.write_text(tmp_path / "new" / "page.html" / "below.html", "y")
    assert (tmp_path / "new" / "page.html").read_text() == "x"
