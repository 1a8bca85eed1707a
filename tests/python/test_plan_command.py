"""``sojourn plan`` and ``sojourn results`` as processes."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from shared import Command, read_terminal, small_network
from sojourn.base import core
from sojourn.cli import main

PLAN = """\
name = "rates"
scenario = "small.toml"
schemes = ["codel", { label = "PIE", text = "pie" }]
replications = 4
series = "500 ms"

[[vary]]
key = "links.bottleneck.rate"
values = ["5 Mbit/s", "10 Mbit/s"]
"""


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(small_network().to_toml())
    file = tmp_path / "rates.toml"
    file.write_text(PLAN)
    return file


def test_check_counts_runs_and_reckons_time(command: Command, sweep: Path) -> None:
    done = command("plan", "check", sweep)
    assert done.returncode == 0, done.stderr
    assert "rates: 4 cells (2 schemes × rate 2)" in done.stdout
    assert "16 runs" in done.stdout
    assert re.search(r"about \d+ s on \d+ threads: a run takes [0-9.]+ ms \(4 timed\)", done.stdout)
    goal = sweep.with_name("goal.toml")
    goal.write_text(PLAN.replace("replications = 4", 'precision = { metric = "sojourn_ms_mean", within = "5 %" }'))
    # Floor 10 and ceiling 200 in 4 cells.
    assert "40 to 800 runs, as the precision goal needs" in command("plan", "check", goal).stdout


def test_a_bad_plan_is_refused_with_status_2_and_writes_nothing(command: Command, sweep: Path) -> None:
    sweep.write_text(PLAN.replace("10 Mbit/s", "10 MB"))
    done = command("plan", "run", sweep, "--store", sweep.parent / "store")
    assert done.returncode == 2
    assert "2 of 4 cells are impossible; nothing was run" in done.stderr
    assert "rate=10 MB" in done.stderr
    assert not (sweep.parent / "store").exists()


def test_run_status_show_report(command: Command, sweep: Path) -> None:
    store = sweep.parent / "store"
    part = command("plan", "run", sweep, "--store", store, "--max-runs", 5)
    assert part.returncode == 0, part.stderr
    assert "Stopped after 5 runs; the same command continues." in part.stdout
    status = json.loads(command("plan", "status", sweep, "--store", store, "--json").stdout)
    assert (status["runs_done"], status["runs_expected"], status["cells"]) == (5, 16, 4)
    whole = command("plan", "run", sweep, "--store", store)
    assert "16 runs, 5 of them in the store" in whole.stderr
    assert "16 of 16 runs done" in whole.stderr
    shown = command("plan", "show", sweep, "--store", store).stdout
    assert shown == whole.stdout
    # Four cells, and PIE's difference to CoDel at two rates.
    assert len([line for line in shown.splitlines() if line.startswith(("codel", "PIE"))]) == 4 + 2
    rows = json.loads(command("plan", "show", sweep, "--store", store, "--json").stdout)
    assert len(rows) == 4 * 3
    assert {"scheme", "rate", "metric", "unit", "mean", "low", "high", "replications"} <= set(rows[0])
    page = sweep.parent / "page.html"
    assert command("plan", "report", sweep, "--store", store, "--out", page).returncode == 0
    text = page.read_text()
    assert "<svg" in text
    assert text.count("<tr>") == (1 + 4) + (1 + 2)
    again = sweep.parent / "again.html"
    command("plan", "report", sweep, "--store", store, "--out", again)
    assert again.read_text() == text


def test_query_and_export(command: Command, sweep: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    command("plan", "run", sweep, "--store", store)
    moved = tmp_path / "it's moved"
    store.rename(moved)
    sql = "SELECT label, rate, rate_bit_s, count(*) n, avg(goodput_bit_s) g FROM results GROUP BY ALL ORDER BY ALL"
    answer = command("results", "query", moved, sql, "--format", "csv")
    assert answer.returncode == 0, answer.stderr
    found = pd.read_csv(StringIO(answer.stdout))
    assert found[["label", "rate", "n"]].to_numpy().tolist() == [
        ["PIE", "10 Mbit/s", 4],
        ["PIE", "5 Mbit/s", 4],
        ["codel", "10 Mbit/s", 4],
        ["codel", "5 Mbit/s", 4],
    ]
    # What stood in the queue when the measurement began arrives too, so a little more than the link carries may.
    assert ((0.8 * found["rate_bit_s"] < found["g"]) & (found["g"] < 1.1 * found["rate_bit_s"])).all()
    per_queue = command(
        "results",
        "query",
        moved,
        "SELECT count(*) c FROM queues JOIN cells USING (run) WHERE under_test",
        "--format",
        "json",
    )
    # One queue under test a run.
    assert json.loads(per_queue.stdout) == [{"c": 16}]
    wrong = command("results", "query", moved, "SELEKT")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "DuckDB" in wrong.stderr

    assert command("results", "export", moved, "--out", tmp_path / "x.csv").returncode == 0
    frame = pd.read_csv(tmp_path / "x.csv")
    assert len(frame) == 16
    assert frame.groupby(["label", "rate"])["replication"].apply(list).tolist() == [[0, 1, 2, 3]] * 4
    assert command("results", "export", moved, "--format", "parquet", "--out", tmp_path / "x.parquet").returncode == 0
    schema = pq.read_schema(tmp_path / "x.parquet")
    assert schema.field("sojourn_ms_mean").metadata == {b"unit": b"ms"}
    assert schema.field("rate_bit_s").metadata == {b"unit": b"bit/s"}
    means = frame.groupby(["label", "rate"])["goodput_bit_s"].mean()
    for row in found.itertuples():
        assert means[row.label, row.rate] == pytest.approx(row.g, rel=1e-12)


@pytest.mark.filterwarnings("default")
def test_netcdf_has_a_dimension_for_each_factor(command: Command, sweep: Path, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    command("plan", "run", sweep, "--store", tmp_path / "store")
    done = command("results", "export", tmp_path / "store", "--format", "netcdf", "--out", tmp_path / "x.nc")
    assert done.returncode == 0, done.stderr
    command("results", "export", tmp_path / "store", "--out", tmp_path / "x.csv")
    frame = pd.read_csv(tmp_path / "x.csv").set_index(["label", "rate", "replication"])
    with xarray.open_dataset(tmp_path / "x.nc", engine="h5netcdf") as data:
        assert dict(data.sizes) == {"scheme": 2, "rate": 2, "replication": 4}
        # The plan's order.
        assert data["scheme"].to_numpy().tolist() == ["codel", "PIE"]
        assert data["rate"].to_numpy().tolist() == ["5 Mbit/s", "10 Mbit/s"]
        assert data["rate_bit_s"].to_numpy().tolist() == [5e6, 10e6]
        assert data["sojourn_ms_mean"].attrs["units"] == "ms"
        one = data["goodput_bit_s"].sel(scheme="PIE", rate="10 Mbit/s", replication=2)
        assert float(one) == frame.loc[("PIE", "10 Mbit/s", 2), "goodput_bit_s"]


def test_flent_files(command: Command, sweep: Path, tmp_path: Path) -> None:
    command("plan", "run", sweep, "--store", tmp_path / "store")
    done = command("results", "export", tmp_path / "store", "--format", "flent", "--out", tmp_path / "flent")
    files = sorted((tmp_path / "flent").glob("*.flent.gz"))
    # The first replication of each of four cells is sampled.
    assert len(files) == len(done.stdout.splitlines()) == 4
    document = json.loads(gzip.decompress(files[0].read_bytes()))
    assert document["version"] == 4
    assert document["metadata"]["NAME"] == "tcp_nup"
    upload, ping = document["results"]["TCP upload sum"], document["results"]["Ping (ms) ICMP"]
    # 4 s in steps of 0.5 s, without a warm-up of 1 s; the file's time begins after it.
    assert document["x_values"] == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
    assert len(upload) == len(ping) == 6
    assert document["metadata"]["LENGTH"] == 3.0
    assert document["x_values"][1] - document["x_values"][0] == document["metadata"]["STEP_SIZE"] == 0.5
    # Mbit/s through a link of 5 Mbit/s: all 4 flows together; what waited for a lost segment counts later.
    known = [value for value in upload if value is not None]
    assert 4 < sum(known) / len(known) < 5.2
    command("results", "export", tmp_path / "store", "--format", "flent", "--out", tmp_path / "again")
    assert [f.read_bytes() for f in sorted((tmp_path / "again").iterdir())] == [f.read_bytes() for f in files]
    none = sweep.with_name("none.toml")
    none.write_text(PLAN.replace('series = "500 ms"', 'series = "none"').replace("rates", "none"))
    command("plan", "run", none, "--store", tmp_path / "none")
    refused = command("results", "export", tmp_path / "none", "--format", "flent", "--out", tmp_path / "no")
    assert refused.returncode == 2
    assert "has no time series" in refused.stderr


@pytest.mark.parametrize("flows", [False, True])
def test_flent_prints_the_means_that_we_print(command: Command, sweep: Path, tmp_path: Path, flows: bool) -> None:
    pytest.importorskip("flent")
    wish = 'set = { "series.interval" = "500 ms", "series.flows" = true }\n\n[[vary]]'
    sweep.write_text(PLAN.replace("[[vary]]", wish) if flows else PLAN)
    command("plan", "run", sweep, "--store", tmp_path / "store")
    command("results", "export", tmp_path / "store", "--format", "flent", "--out", tmp_path / "flent")
    command("results", "export", tmp_path / "store", "--out", tmp_path / "runs.csv")
    runs = pd.read_csv(tmp_path / "runs.csv").set_index(["cell", "replication"])
    command("results", "export", tmp_path / "store", "--table", "flows", "--out", tmp_path / "flows.csv")
    of_flows = pd.read_csv(tmp_path / "flows.csv").set_index(["cell", "replication", "flow"])
    files = sorted((tmp_path / "flent").glob("*.flent.gz"))
    assert len(files) == 4
    for cell, file in enumerate(files):
        summary = [sys.executable, "-m", "flent", "-f", "summary", str(file)]
        done = subprocess.run(summary, cwd=tmp_path, capture_output=True, text=True, check=True)
        rows = dict(re.findall(r"^ (\S.*?) +: +([-0-9.]+) ", done.stdout, re.MULTILINE))
        run = runs.loc[(cell, 0)]
        # Flent prints two digits after the point.
        assert float(rows["Ping (ms) ICMP"]) == pytest.approx(run["sojourn_ms_mean"], abs=0.005001)
        assert float(rows["TCP upload sum"]) == pytest.approx(run["goodput_bit_s"] / 1e6, abs=0.005001)
        assert float(rows["TCP upload avg"]) == pytest.approx(run["goodput_bit_s"] / 4e6, abs=0.005001)
        assert float(rows["TCP upload fairness"]) == pytest.approx(run["jain_index"], abs=0.005001)
        names = [f"bulk[{k}]" for k in range(4)] if flows else []
        assert [name for name in rows if name.startswith("TCP upload::")] == [f"TCP upload::{name}" for name in names]
        for name in names:
            goodput = of_flows.loc[(cell, 0, name), "goodput_bit_s"]
            assert float(rows[f"TCP upload::{name}"]) == pytest.approx(goodput / 1e6, abs=0.005001)


def test_a_store_of_several_plans_asks_for_one(command: Command, sweep: Path, tmp_path: Path) -> None:
    other = sweep.with_name("other.toml")
    other.write_text(PLAN.replace('"rates"', '"other"').replace("10 Mbit/s", "20 Mbit/s"))
    for one in (sweep, other):
        command("plan", "run", one, "--store", tmp_path / "store")
    asked = command("results", "export", tmp_path / "store", "--out", tmp_path / "x.csv")
    assert asked.returncode == 2
    assert "holds 2 plans: name one with --plan: other, rates" in asked.stderr
    assert (
        command("results", "export", tmp_path / "store", "--plan", "other", "--out", tmp_path / "x.csv").returncode
        == 0
    )
    sql = "SELECT plan, count(*) n, count(DISTINCT run) r FROM cells GROUP BY ALL ORDER BY ALL"
    found = json.loads(command("results", "query", tmp_path / "store", sql, "--format", "json").stdout)
    assert found == [{"plan": "other", "n": 16, "r": 16}, {"plan": "rates", "n": 16, "r": 16}]


LONG = PLAN.replace("replications = 4", "replications = 2000").replace('series = "500 ms"\n', "")


def start(sweep: Path, store: Path, stderr: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "sojourn", "plan", "run", sweep, "--store", store],
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160"},
        # A shell's background job, which the tests may be, ignores interrupts and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )


def test_an_interrupt_keeps_what_has_finished(command: Command, sweep: Path, tmp_path: Path) -> None:
    sweep.write_text(LONG)
    with start(sweep, tmp_path / "store", subprocess.PIPE) as process:
        while not list((tmp_path / "store" / "runs").glob("*.parquet")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert b"the same command continues" in said
    status = json.loads(command("plan", "status", sweep, "--store", tmp_path / "store", "--json").stdout)
    assert 0 < status["runs_done"] < 8000


def test_a_terminal_sees_counts_time_left_and_the_estimate(sweep: Path, tmp_path: Path) -> None:
    sweep.write_text(LONG.replace("2000", "300"))
    ours, theirs = pty.openpty()
    with start(sweep, tmp_path / "store", theirs) as process:
        os.close(theirs)
        text = read_terminal(ours)
    assert process.returncode == 0
    assert re.search(
        r"\d+ of 1200 runs done, \d+ running; .* left; sojourn_ms_mean [0-9.]+ ± [0-9.]+ ms \(scheme=", text
    )
    assert "1200 of 1200 runs done; " in text


def test_failed_runs_give_status_1_and_are_named(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = core.run_batch

    def run_batch(scenarios: list[str], tasks: list[tuple[int, str]], stop: object = None) -> list[tuple[bool, str]]:
        done = real(scenarios, tasks, stop)  # type: ignore[arg-type]
        return [
            (False, "it broke") if '"replication": 3' in task and "pie" in task else one
            for (_, task), one in zip(tasks, done, strict=True)
        ]

    monkeypatch.setattr(core, "run_batch", run_batch)
    arguments = [str(sweep), "--store", str(tmp_path / "store")]
    assert main(["plan", "run", *arguments]) == 1
    said = capsys.readouterr()
    assert "failed: scheme=PIE, rate=5 Mbit/s, replication 3: it broke" in said.err
    assert "2 runs failed; their scenarios are in" in said.err
    assert main(["plan", "status", *arguments]) == 0
    assert "14 of 16 runs, 2 of 4 cells finished" in capsys.readouterr().out
    # The file of a failed run is a scenario that runs.
    saved = sorted((tmp_path / "store" / "failed").glob("*.toml"))
    assert len(saved) == 2
    assert main(["run", str(saved[0]), "--replicates", "1"]) == 0
    monkeypatch.undo()
    assert main(["plan", "run", *arguments]) == 0
