"""Every call that writes fails once, in turn: one error, nothing finished lost, and the same bytes afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import damage
import sojourn as sj
from faults import ERRORS, KILL, faults
from plans import drive_killed, small_plan
from shared import small_network
from sojourn import cli, plan
from sojourn.plan import execute, verify
from sojourn.plan.document import dumps
from sojourn.plan.identity import build
from sojourn.plan.store import Store
from sojourn.view import report

EVERY = int(os.environ.get("SOJOURN_TEST_FAULTS_EVERY", "29"))
"""One call of so many fails or kills; 1 for all."""


@pytest.fixture(autouse=True)
def one_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write finished runs once, at the end: a slow machine makes the same calls."""
    monkeypatch.setattr(execute, "FLUSH_S", 1e9)


def content(folder: Path) -> dict[str, bytes]:
    return {path: text for path, text in damage.content(folder).items() if path != "lock"}


def first() -> plan.Plan:
    return small_plan(replications=1)


def more() -> plan.Plan:
    """Return the same cells again and others: a plan is replaced, parts are merged, texts are added."""
    return small_plan(replications=2, sets=("duration=4 s",), name="small")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of a first plan, with a text about a run of the second that failed."""
    folder: Path = tmp_path_factory.mktemp("begun") / "store"
    execute.run(first(), folder, jobs=1)
    (run, *_) = [cell.run(0).id(build()) for cell in plan.cells(more())]
    with Store.writing(folder) as store:
        store.add_failures({run: ("# a scenario\n", "it broke\n")})
    return folder


@pytest.fixture(scope="module")
def undisturbed(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(begun, tmp_path_factory.mktemp("undisturbed") / "store"))
    execute.run(more(), folder, jobs=1)
    return folder


def refusal(work: Callable[[], Any]) -> str | None:
    """Return the message of the error with which a piece of work ends."""
    try:
        work()
    except sj.SojournError as error:
        return str(error)
    return None


def calls(work: Callable[[Path], Any], root: Path) -> int:
    """Return how many calls a piece of work makes that may fail."""
    with faults(root) as counted:
        work(root)
    return len(counted.seen)


@pytest.mark.parametrize("part", range(2))
def test_a_plan_that_meets_a_fault_ends_with_one_error_and_continues(
    begun: Path, undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: int
) -> None:
    text = tmp_path / "small.toml"
    text.write_text(dumps((first, more)[part]()))

    def command(root: Path) -> int:
        return cli.main(["plan", "run", str(text), "--store", str(root / "store"), "--jobs", "1"])

    def fresh(name: str) -> Path:
        root = tmp_path / name
        root.mkdir()
        if part:
            shutil.copytree(begun, root / "store")
        return root

    whole = content(undisturbed) if part else None
    count = calls(command, fresh("counted"))
    if whole is None:
        whole = content(tmp_path / "counted" / "store")
    assert count > 80
    for at in range(part, count, EVERY):
        root = fresh(str(at))
        capsys.readouterr()
        with faults(root, at, ERRORS[at % len(ERRORS)]) as met:
            status = command(root)
        said = capsys.readouterr().err
        assert len(met.seen) > at, met.seen
        if status:
            assert status == 2, (met.seen[at], said)
            assert [line for line in said.splitlines() if line.startswith("sojourn: ")] == said.splitlines()[-1:]
            assert "cannot write" in said
        if Store.exists(root / "store") and (root / "store" / "store.json").exists():
            # Nothing is damaged, and nothing that had been finished is gone.
            assert not verify.verify(root / "store").damaged, met.seen[at]
            if part:
                assert len(Store.open(root / "store").identities()) >= 4, met.seen[at]
        assert command(root) == 0, met.seen[at]
        assert content(root / "store") == whole, met.seen[at]
        shutil.rmtree(root)


@pytest.mark.long
def test_a_kill_at_any_call_leaves_the_store_as_it_was_or_as_it_will_be(
    context: Any, begun: Path, undisturbed: Path, tmp_path: Path
) -> None:
    whole = content(undisturbed)
    root = tmp_path / "counted"
    shutil.copytree(begun, root / "store")
    count = calls(lambda root: execute.run(more(), root / "store", jobs=1), root)
    for at in range(0, count, EVERY):
        root = tmp_path / str(at)
        shutil.copytree(begun, root / "store")
        process = context.Process(target=drive_killed, args=(root, at, KILL))
        process.start()
        process.join()
        assert process.exitcode == -9
        assert not verify.verify(root / "store").damaged, at
        assert len(Store.open(root / "store").identities()) >= 4, at
        execute.run(more(), root / "store", jobs=1)
        assert content(root / "store") == whole, at
        shutil.rmtree(root)


def test_a_repair_that_meets_a_fault_is_done_again(begun: Path, tmp_path: Path) -> None:
    whole = content(begun)

    def fresh(name: str) -> Path:
        folder = tmp_path / name / "store"
        shutil.copytree(begun, folder)
        for path in [path for path in whole if path.startswith(("runs/", "plans/", "scenarios/", "manifest"))]:
            (folder / path).write_bytes(whole[path][:-1])
        return folder

    def repair(folder: Path) -> None:
        assert not verify.repair(folder, jobs=1).lost

    count = calls(repair, fresh("counted"))
    for at in range(0, count, EVERY):
        folder = fresh(str(at))
        with faults(folder, at, ERRORS[at % len(ERRORS)]) as met:
            said = refusal(lambda folder=folder: repair(folder))
        assert said is None or "cannot write" in said
        repair(folder)
        assert {path: text for path, text in content(folder).items() if not path.startswith("damaged/")} == whole, (
            met.seen[at]
        )
        shutil.rmtree(folder.parent)


@pytest.fixture(scope="module")
def results() -> sj.Results:
    return sj.compare(small_network(), ["codel", "pie"], replicates=2, seed=1, jobs=1)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_run_folder_is_whole_or_as_it_was(
    results: sj.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    # Each write draws a report, which takes most of its time: the same results have the same one.
    pages: dict[tuple[str, ...], str] = {}
    draw = report.render

    def render(of: sj.Results) -> str:
        labels = tuple(one.label for one in of.schemes)
        if labels not in pages:
            pages[labels] = draw(of)
        return pages[labels]

    monkeypatch.setattr(report, "render", render)
    (tmp_path / "earlier").mkdir()
    results.only(["codel"]).to_parquet(tmp_path / "earlier" / "out")
    results.to_parquet(tmp_path / "whole")
    whole, earlier = damage.content(tmp_path / "whole"), damage.content(tmp_path / "earlier" / "out")

    def write(root: Path) -> None:
        results.to_parquet(root / "out")

    def fresh(name: str) -> Path:
        root = tmp_path / name
        if replaced:
            return Path(shutil.copytree(tmp_path / "earlier", root))
        root.mkdir()
        return root

    count = calls(write, fresh("counted"))
    for at in range(int(replaced), count, 1 if EVERY == 1 else count // 3):
        root = fresh(str(at))
        with faults(root, at, ERRORS[at % len(ERRORS)]) as met:
            failed = refusal(lambda root=root: write(root))
        assert failed is None or failed.startswith("cannot write")
        found = damage.content(root / "out") if (root / "out").exists() else {}
        assert found == ((earlier if replaced else {}) if failed else whole), met.seen[at]
        if failed:
            # Nothing half-written is left beside it, either.
            assert [one.name for one in root.iterdir()] == (["out"] if replaced else []), met.seen[at]
        if EVERY == 1 or at <= 1:
            write(root)
            assert damage.content(root / "out") == whole, met.seen[at]
        shutil.rmtree(root)


@pytest.mark.parametrize("what", ["csv", "parquet", "netcdf", "flent", "report"])
def test_an_export_is_whole_or_as_it_was(
    begun: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, sampled: tuple[Path, Path]
) -> None:
    text, store = sampled

    def write(root: Path) -> int:
        if what == "report":
            return cli.main(
                ["plan", "report", str(text), "--store", str(store), "--out", str(root / "page.html"), "--force"]
            )
        out = root / "new" / f"x.{what}"
        return cli.main(["results", "export", str(store), "--format", what, "--out", str(out), "--force"])

    (tmp_path / "counted").mkdir()
    count = calls(write, tmp_path / "counted")
    whole = damage.content(tmp_path / "counted")
    assert whole
    for at in range(0, count, 1 if EVERY == 1 else max(count // 3, 1)):
        root = tmp_path / str(at)
        root.mkdir()
        capsys.readouterr()
        with faults(root, at, ERRORS[at % len(ERRORS)]) as met:
            status = write(root)
        said = capsys.readouterr().err
        assert len(met.seen) > at
        if status:
            assert status == 2
            assert said.startswith("sojourn: cannot write")
            assert said.count("\n") == 1
        # Every file that is there is whole, and nothing else is.
        assert damage.content(root).items() <= whole.items(), met.seen[at]
        assert write(root) == 0
        assert damage.content(root) == whole, met.seen[at]
        shutil.rmtree(root)


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place: Path = tmp_path_factory.mktemp("sampled")
    text = place / "sampled.toml"
    text.write_text(dumps(small_plan(replications=1, series="500 ms")))
    assert cli.main(["plan", "run", str(text), "--store", str(place / "store"), "--jobs", "1"]) == 0
    return text, place / "store"


def test_a_full_standard_output_is_one_error(sampled: tuple[Path, Path]) -> None:
    text, store = sampled
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", "plan", "show", str(text), "--store", str(store)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "sojourn: No space left on device\n")
