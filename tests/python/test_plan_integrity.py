"""Damage to a store: an error that names the file and never another result, and repair that gives the same bytes."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import damage
import sojourn as sj
from plans import results_of, small_plan
from sojourn import cli, plan
from sojourn.base import core
from sojourn.plan import execute, identity, manifest, read, verify
from sojourn.plan import store as stores
from sojourn.plan.manifest import COPY, MANIFEST, MARK, StoreDamagedError
from sojourn.plan.store import Store

TRIALS = int(os.environ.get("SOJOURN_TEST_DAMAGE", "9"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of one plan, with a text about a run that failed."""
    folder: Path = tmp_path_factory.mktemp("made") / "store"
    execute.run(small_plan(replications=1), folder, jobs=1)
    with Store.writing(folder) as store:
        store.add_failures({"0" * 32: ("# a scenario\n", "it broke\n")})
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "store"))


def whole_of(folder: Path) -> dict[str, bytes]:
    """Return every file of a store by its path: all but the lock, and what repair moved aside."""
    found = damage.content(folder)
    return {path: text for path, text in found.items() if path != "lock" and not path.startswith("damaged/")}


def flip(file: Path, at: int, bit: int = 0) -> None:
    whole = bytearray(file.read_bytes())
    whole[at] ^= 1 << bit
    file.write_bytes(whole)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b" ")


def folder_instead(file: Path) -> None:
    file.unlink()
    file.mkdir()


WAYS: dict[str, tuple[Callable[[Path], None], str]] = {
    "flip": (lambda file: flip(file, file.stat().st_size // 2), "changed"),
    "truncate": (truncate, "truncated"),
    "lengthen": (lengthen, "changed"),
    "delete": (Path.unlink, "missing"),
    "folder": (folder_instead, "changed|unreadable"),
}
#: The files of a part of runs without 802.11 cells.
TABLES = (*manifest.TABLES, "groups")
KINDS = (*TABLES, "scenarios", "plans", "failed", "copies", MARK, MANIFEST)


def one_of(folder: Path, kind: str) -> str:
    found = (path for path in sorted(whole_of(folder)) if path != COPY)
    return next(path for path in found if path.split("/", maxsplit=1)[0] == kind)


@pytest.mark.parametrize("own", [False, True])
def test_a_damaged_store_gives_the_same_table_or_one_error_that_names_the_file(tmp_path: Path, own: bool) -> None:
    kinds = damage.OWN if own else damage.SHARED
    counted = damage.trial(tmp_path, max(TRIALS // (3 if own else 1), 1), 20, kinds, pages=TRIALS > 9)
    assert set(counted) <= {"identical", "clean"}
    assert counted["clean"]


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (kind, how)
        for kind in KINDS
        for how in WAYS
        if how in ("flip", "delete") or kind in ("runs", "plans", MANIFEST)
    ],
)
def test_verify_names_what_is_damaged_and_repair_gives_the_same_bytes(copied: Path, kind: str, how: str) -> None:
    before = whole_of(copied)
    harm, says = WAYS[how]
    path = one_of(copied, kind)
    harm(copied / path)
    found = verify.verify(copied)
    assert [one.file for one in found.damaged] == [path]
    # The manifest says nothing of its own length.
    says = "changed" if path == MANIFEST and how == "truncate" else says
    assert re.match(says, found.damaged[0].problem)
    repaired = verify.repair(copied, jobs=1)
    assert path in repaired.restored
    assert not repaired.lost
    assert not verify.verify(copied).damaged
    if kind == "failed":
        # Nothing repeats what went wrong; the plan's own command tries the run again.
        before.pop(path)
        assert {p for p in before if not p.endswith("manifest.jsonl")} <= set(whole_of(copied))
    else:
        assert whole_of(copied) == before
    assert how == "delete" or list((copied / "damaged").iterdir())


def test_every_file_at_once_is_repaired_where_one_of_two_copies_is_whole(copied: Path) -> None:
    before = whole_of(copied)
    for path in before:
        kind = path.split("/")[0]
        if kind in (*TABLES, "scenarios", "plans", MARK, MANIFEST) and kind != "recipes":
            flip(copied / path, 5)
    assert len(verify.verify(copied).damaged) == len(
        [p for p in before if not p.startswith(("recipes", "copies", "failed"))]
    )
    assert not verify.repair(copied, jobs=2).lost
    assert whole_of(copied) == before


def test_the_command_verifies_and_repairs(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plan", "verify", str(copied)]) == 0
    assert capsys.readouterr().out.endswith("kB\n")
    path = one_of(copied, "runs")
    flip(copied / path, 100)
    assert cli.main(["plan", "verify", str(copied)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{path}: changed: its digest is not that of what was written\n")
    assert "1 of 14 files damaged; --repair restores them" in said
    assert cli.main(["plan", "verify", str(copied), "--repair"]) == 0
    said = capsys.readouterr().out
    assert f"{path}: 4 runs repeated, the same bytes\n" in said
    assert "intact again" in said
    assert cli.main(["plan", "verify", str(copied)]) == 0
    assert cli.main(["plan", "verify", str(copied), "--drop"]) == 2
    assert cli.main(["plan", "verify", str(copied / "runs")]) == 2
    assert "is not a store" in capsys.readouterr().err


def test_a_damaged_part_is_not_merged_into_a_new_one(copied: Path) -> None:
    # Its values would have a fresh digest afterwards.
    path = one_of(copied, "queues")
    flip(copied / path, 1000)
    with pytest.raises(StoreDamagedError, match=path) as caught:
        execute.run(small_plan(replications=2), copied, jobs=1)
    assert caught.value.file == path
    assert not verify.repair(copied, jobs=1).lost
    assert execute.run(small_plan(replications=2), copied, jobs=1).ran in (0, 4)
    assert not verify.verify(copied).damaged


def test_the_manifest_of_another_store_is_noticed(copied: Path, tmp_path: Path) -> None:
    execute.run(small_plan(replications=1, seed=2), tmp_path / "other", jobs=1)
    for name in (MANIFEST, COPY):
        shutil.copy(tmp_path / "other" / name, copied / name)
    with pytest.raises(StoreDamagedError, match="missing"):
        Store.open(copied)
    with pytest.raises(StoreDamagedError, match="missing"):
        execute.run(small_plan(), copied)
    assert len(verify.verify(copied).damaged) > 5


def test_a_file_that_changes_while_the_process_lives_is_looked_at_again(copied: Path) -> None:
    store = Store.open(copied)
    path = one_of(copied, "runs")
    assert len(store.identities()) == 4
    os.utime(copied / path, ns=(0, 0))
    assert len(store.identities()) == 4
    before = (copied / path).stat()
    flip(copied / path, 200)
    os.utime(copied / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(StoreDamagedError, match=path):
        store.identities()


def test_a_file_is_read_for_its_digest_once(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_SETTLED_NS", -(10**18))
    read_ = []
    real = manifest.hashlib.file_digest
    monkeypatch.setattr(
        manifest.hashlib, "file_digest", lambda file, kind: (read_.append(file.name), real(file, kind))[1]
    )
    for _ in range(3):
        Store.open(copied).identities()
    assert len(read_) == 1


def test_runs_of_another_build_are_left_until_they_are_dropped(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = one_of(copied, "runs")
    flip(copied / path, 100)
    monkeypatch.setattr(core, "build", lambda: "9.9.9+feed")
    monkeypatch.setattr(identity, "build", lambda: "9.9.9+feed")
    kept = verify.repair(copied, jobs=1)
    assert list(kept.lost) == [path]
    assert "this is 9.9.9+feed" in kept.lost[path]
    assert verify.verify(copied).damaged
    dropped = verify.repair(copied, jobs=1, drop=True)
    assert list(dropped.lost) == [path]
    assert not verify.verify(copied).damaged
    assert Store.open(copied).identities() == set()
    # Nothing is deleted.
    assert len(list((copied / "damaged").iterdir())) == len(TABLES)


def old(folder: Path) -> Path:
    """Make of a store one of an earlier version."""
    shutil.rmtree(folder / "recipes")
    shutil.rmtree(folder / "copies")
    (folder / MANIFEST).unlink()
    (folder / MARK).write_bytes(stores.mark(stores.WITHOUT_MANIFEST))
    return folder


def test_a_store_of_an_earlier_version_is_adopted(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = whole_of(copied)
    old(copied)
    for again in (
        lambda: Store.open(copied),
        lambda: execute.run(small_plan(), copied),
        lambda: verify.verify(copied),
    ):
        with pytest.raises(sj.SojournError, match=r"without a manifest .* --adopt"):
            again()
    (copied / "merging.json").write_text(json.dumps({"part": "none.parquet", "replaces": []}))
    assert cli.main(["plan", "verify", str(copied), "--adopt"]) == 0
    assert "damage from before cannot be detected" in capsys.readouterr().out
    assert whole_of(copied) == before
    assert cli.main(["plan", "verify", str(copied), "--adopt"]) == 2
    assert "has a manifest" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["runs", "queues", "scenarios"])
def test_what_is_visibly_damaged_is_not_adopted(copied: Path, kind: str) -> None:
    path = one_of(old(copied), kind)
    truncate(copied / path)
    with pytest.raises(StoreDamagedError, match=path):
        verify.adopt(copied)
    assert not (copied / MANIFEST).exists()


def test_a_store_that_has_lost_manifest_and_mark_is_not_made_anew_over_its_runs(copied: Path) -> None:
    runs = results_of(copied)
    for name in (MARK, MANIFEST):
        (copied / name).unlink()
    with pytest.raises(StoreDamagedError, match="missing"):
        execute.run(small_plan(), copied)
    assert results_of(copied) == runs
    (copied / COPY).unlink()
    verify.adopt(copied)
    assert results_of(copied) == runs
    assert len(read.frame(plan.cells(small_plan(replications=1)), Store.open(copied))) == 4


def test_manifests_of_any_bytes_are_one_kind_of_error(copied: Path) -> None:
    whole = (copied / MANIFEST).read_bytes()
    draw = random.Random(3)  # noqa: S311
    bodies = [
        b"",
        b"[]\n",
        b"[" * 100_000,
        b'{"a": 1}\n',
        b'["../../x", 1, "' + b"0" * 64 + b'"]\n',
        b'["runs/a", -1, ""]\n',
    ]
    texts = [b"", b"\n", b"{}\n", b"[" * 100_000, b'{"format": 3}\n', draw.randbytes(500)]
    texts += [manifest._head(body, manifest.FORMAT) + body for body in bodies[1:]]
    texts += [whole[:at] for at in draw.sample(range(len(whole)), 10)]
    for text in texts:
        (copied / MANIFEST).write_bytes(text)
        with pytest.raises(StoreDamagedError, match=MANIFEST):
            Store.open(copied)
    body = whole.partition(b"\n")[2]
    (copied / MANIFEST).write_bytes(manifest._head(body, "sojourn manifest 7") + body)
    with pytest.raises(sj.SojournError, match="another version"):
        Store.open(copied)
