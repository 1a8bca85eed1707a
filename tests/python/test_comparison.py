"""A comparison in a folder: written as it goes, continued, exported and verified like a plan."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import sojourn as sj
from shared import Command, small_network
from sojourn.base.core import SojournError
from sojourn.cli import main
from sojourn.plan import folder, manifest, verify
from sojourn.plan.store import Store

SCHEMES = ["codel", "pie", "codel target 5ms"]


@pytest.mark.parametrize(
    ("network", "series"),
    [
        (small_network(), "auto"),
        (small_network(), "100ms"),
        (small_network(), None),
        (sj.load("wlan", sets=["duration=3 s", "warm_up=1 s"]), "auto"),
    ],
    ids=["auto", "series", "none", "cell"],
)
def test_a_folder_changes_no_number(network: sj.Network, series: str | None, tmp_path: Path) -> None:
    plain = sj.compare(network, SCHEMES, replicates=2, seed=3, series=series)
    written = sj.compare(network, SCHEMES, replicates=2, seed=3, series=series, out=tmp_path / "out")
    assert json.dumps(written.to_document()) == json.dumps(plain.to_document())
    assert sj.Results.read(tmp_path / "out").to_document() == plain.to_document()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_an_interrupted_comparison_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.plan import execute

    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(small_network().to_toml())
    arguments = ["compare", "small.toml", "--aqm", "codel", "--aqm", "pie", "--replicates", "4", "--out", "out"]
    taken = execute.Driver._receive

    def interrupted(driver: execute.Driver, *answer: object) -> None:
        taken(driver, *answer)  # type: ignore[arg-type]
        if driver.ran >= 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(execute.Driver, "_receive", interrupted)
        assert main(arguments) == 130
    # The finished runs are there, and the folder is no finished one.
    found = len(Store.open("out").identities())
    assert 3 <= found < 8
    with pytest.raises(SojournError, match=r"no meta.json"):
        sj.Results.read("out")
    # Another comparison does not mix with it.
    assert main([*arguments, "--seed", "9"]) == 2
    started: list[int] = []

    def counted(driver: execute.Driver, *answer: object) -> None:
        started.append(1)
        taken(driver, *answer)  # type: ignore[arg-type]

    monkeypatch.setattr(execute.Driver, "_receive", counted)
    assert main(arguments) == 0
    assert len(Store.open("out").identities()) == 8
    assert 0 < len(started) <= 8 - found
    whole = sj.compare(small_network(), ["codel", "pie"], replicates=4)
    assert sj.Results.read("out").to_document() == whole.to_document()


def test_the_message_after_an_interruption_says_how_to_go_on(small_file: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sojourn", "compare", small_file, "--aqm", "codel", "--set", "duration=1000000 s",
         "--out", "out"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )  # fmt: skip
    for _ in range(600):
        if (tmp_path / "out" / "plans" / "compare.toml").exists():
            break
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert error == "sojourn: interrupted; finished runs are in out, the same command continues\n"


def test_the_folder_is_exported_and_verified_like_a_plans(command: Command, small_file: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    command("compare", small_file, "--aqm", "codel", "--aqm", "pie", "--replicates", 2, "--out", "out")
    assert command("results", "export", "out", "--out", "runs.csv").returncode == 0
    frame = pd.read_csv(here / "runs.csv")
    assert list(zip(frame["label"], frame["replication"], strict=True)) == [
        (scheme, replication) for scheme in ("codel", "pie") for replication in range(2)
    ]
    results = sj.Results.read(here / "out")
    assert frame["goodput_bit_s"].tolist() == [
        *results.values("codel", "goodput_bit_s"),
        *results.values("pie", "goodput_bit_s"),
    ]
    asked = command("results", "query", "out", "SELECT count(*) AS n FROM results", "--format", "csv")
    assert asked.stdout == "n\n4\n"
    whole = command("plan", "verify", "out")
    assert (whole.returncode, "intact" in whole.stdout) == (0, True)
    (part,) = (here / "out" / "runs").iterdir()
    part.write_bytes(part.read_bytes()[:-1])
    assert command("plan", "verify", "out").returncode == 1
    assert command("plan", "verify", "out", "--repair").returncode == 0
    assert not verify.verify(here / "out").damaged


def test_stations_of_a_store_are_exported_merged_and_repaired(tmp_path: Path) -> None:
    network = sj.load("wlan", sets=["duration=3 s", "warm_up=1 s"])
    results = sj.compare(network, ["pfifo", "codel"], replicates=2, seed=3, out=tmp_path / "out")
    assert not results.stations.empty
    assert (
        main(["results", "export", str(tmp_path / "out"), "--table", "stations", "--out", str(tmp_path / "s.csv")])
        == 0
    )
    frame = pd.read_csv(tmp_path / "s.csv")
    assert frame["attempts"].tolist() == results.stations["attempts"].tolist()
    (part,) = (tmp_path / "out" / "stations").iterdir()
    before = part.read_bytes()
    part.unlink()
    assert main(["plan", "verify", str(tmp_path / "out"), "--repair"]) == 0
    assert part.read_bytes() == before


def test_another_kind_of_folder_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from plans import small_plan
    from sojourn.plan import execute

    execute.run(small_plan(replications=1), tmp_path / "store")
    with pytest.raises(SojournError, match="is a store of plans"):
        sj.compare(small_network(), ["codel"], replicates=1, out=tmp_path / "store")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    for force in (False, True):
        with pytest.raises(SojournError, match="which Sojourn did not write"):
            sj.compare(small_network(), ["codel"], replicates=1, out=tmp_path / "mine", force=force)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "mine"


def test_the_names_of_a_store_are_known_to_run_folders() -> None:
    assert {*manifest.FOLDERS, manifest.MARK, manifest.MANIFEST, "lock", "damaged"} == folder._OF_STORES


def test_a_failing_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.base import core

    monkeypatch.setattr(core, "run_batch", lambda _, tasks, __=None: [(False, "it broke")] * len(tasks))
    with pytest.raises(SojournError, match=r"2 runs failed.*it broke"):
        sj.compare(small_network(), ["codel"], replicates=2, out=tmp_path / "out")


def test_a_scenario_is_named_by_its_file_or_its_name(small_file: Path) -> None:
    by_path = sj.compare(str(small_file), ["codel"], replicates=1)
    assert by_path.to_document() == sj.compare(small_network(), ["codel"], replicates=1).to_document()
    assert sj.run(small_file).name == "small"
    short = ["duration=2 s", "warm_up=0 s"]
    assert sj.compare("dumbbell", ["codel"], replicates=1, sets=short).name == "dumbbell"


def test_a_run_folder_names_its_build(tmp_path: Path) -> None:
    from sojourn.base import core

    results = sj.run(small_network())
    results.to_parquet(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "meta.json").read_text())["build"] == core.build()
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count(core.build()) == 2
    assert results.to_document()["build"] == core.build()
