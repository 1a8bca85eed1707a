"""Stores: identity, nothing twice, builds apart, the columns of reports."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sojourn as sj
from plans import check_store, hold, results_of, small_plan
from sojourn import plan
from sojourn.base import core
from sojourn.plan import execute, expand, identity, manifest, read, rows, worker
from sojourn.plan.store import Store


def ids(one: plan.Plan) -> set[str]:
    return {cell.run(k).id(identity.build()) for cell in plan.cells(one) for k in range(one.replications)}


def test_what_is_there_is_not_run_again_and_a_moved_store_opens(tmp_path: Path) -> None:
    first = execute.run(small_plan(), tmp_path / "store")
    assert (first.ran, first.found) == (12, 0)
    shutil.move(tmp_path / "store", tmp_path / "elsewhere")
    again = execute.run(small_plan(), tmp_path / "elsewhere")
    assert (again.ran, again.found) == (0, 12)
    more = execute.run(small_plan(replications=5), tmp_path / "elsewhere")
    assert (more.ran, more.found) == (8, 12)


def test_plans_share_the_cells_that_they_have_in_common(tmp_path: Path) -> None:
    execute.run(small_plan(), tmp_path)
    # Another name and description, another label, one cell in common of two.
    net = json.loads(
        json.dumps({**sj.Network.from_dict(core.load(small_plan().scenario, source="x")).to_dict(), "name": "other"})
    )
    rate = plan.grid("links.bottleneck.rate", values=["5 Mbit/s", "7 Mbit/s"])
    other = small_plan(name="other", scenario=json.dumps(net), schemes=(plan.Scheme("codel", "mine"),), vary=(rate,))
    done = execute.run(other, tmp_path)
    assert (done.ran, done.found) == (3, 3)


def test_everything_that_changes_a_result_changes_the_identity() -> None:
    base = small_plan()
    own = ids(base)
    for changes in (
        {"seed": 2},
        {"sets": ("links.bottleneck.delay=11 ms",)},
        {"schemes": (plan.Scheme("codel target 6ms"), plan.Scheme("pie target 16ms"))},
        {"series": "100 ms", "series_replications": 3},
    ):
        assert own.isdisjoint(ids(small_plan(**changes)))  # type: ignore[arg-type]
    run = plan.cells(base).cells[0].run(0)
    assert run.id("1+a") != run.id("1+b")


def test_a_plan_keeps_the_series_of_flows(tmp_path: Path) -> None:
    wish = ("series.interval=500 ms", "series.flows=true")
    by_sets = {sets: small_plan(replications=1, vary=(), series="500 ms", sets=sets) for sets in ((), wish)}
    # Or a run without them would be found in the place of one with them.
    assert ids(by_sets[()]).isdisjoint(ids(by_sets[wish]))
    for sets, one in by_sets.items():
        execute.run(one, tmp_path / str(len(sets)))
        names = set(Store.open(tmp_path / str(len(sets))).read("series")["name"].to_pylist())
        assert any(name.startswith("goodput_bit_s:") for name in names) == bool(sets)


def test_the_scenarios_name_changes_no_result() -> None:
    # What the identity leaves out must change nothing.
    cells = plan.cells(small_plan())
    cell = cells.cells[0]
    text = cells.scenarios[cell.scenario]
    renamed = json.dumps({**json.loads(text), "name": "other", "description": "x", "seed": 5, "replications": 9})
    (_, one), (_, two) = core.run_batch([text, renamed], [(0, cell.run(1).task), (1, cell.run(1).task)])
    assert {**json.loads(one), "scenario": ""} == {**json.loads(two), "scenario": ""}


def test_a_store_has_the_same_bytes_in_whatever_pieces_it_was_filled(tmp_path: Path) -> None:
    execute.run(small_plan(replications=6), tmp_path / "whole", jobs=1)
    while execute.run(small_plan(replications=6), tmp_path / "pieces", jobs=3, max_runs=5).stopped:
        pass
    execute.run(small_plan(replications=2), tmp_path / "grown")
    execute.run(small_plan(replications=6), tmp_path / "grown")
    assert results_of(tmp_path / "whole") == results_of(tmp_path / "pieces") == results_of(tmp_path / "grown")
    assert len(results_of(tmp_path / "whole")) == len((*manifest.TABLES, "groups"))


def test_force_repeats(tmp_path: Path) -> None:
    execute.run(small_plan(), tmp_path)
    before = results_of(tmp_path)
    done = execute.run(small_plan(), tmp_path, force=True)
    assert (done.ran, done.found) == (12, 0)
    assert results_of(tmp_path) == before


def with_build(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(core, "build", lambda: name)
    for module in (execute, read, identity):
        monkeypatch.setattr(module, "build", lambda: name)


def test_runs_of_another_build_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute.run(small_plan(), tmp_path)
    old = core.build()
    with_build(monkeypatch, "9.9.9+feed")
    with pytest.raises(sj.SojournError, match=r"holds 12 runs of .* for this plan, and this is 9.9.9\+feed.*--force"):
        execute.run(small_plan(), tmp_path)
    # What is there can be read as what it is.
    cells = plan.cells(small_plan())
    assert read.code_of(cells, Store.open(tmp_path)) == old
    assert len(read.frame(cells, Store.open(tmp_path))) == 12
    done = execute.run(small_plan(), tmp_path, force=True)
    assert done.ran == 12
    assert Store.open(tmp_path).builds() == {"9.9.9+feed": 12}


def test_the_build_is_named_by_version_and_sources() -> None:
    version, _, sources = core.build().partition("+")
    assert version == core.version()
    assert len(sources) == 16
    int(sources, 16)


def test_a_failing_run_is_reported_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = plan.cells(small_plan())
    bad = cells.cells[2].run(1)
    real = core.run_batch

    def run_batch(scenarios: list[str], tasks: list[tuple[int, str]], stop: object = None) -> list[tuple[bool, str]]:
        return [
            (False, "it broke") if task == bad.task and identity.scenario_hash(scenarios[k]) == bad.scenario else done
            for (k, task), done in zip(tasks, real(scenarios, tasks, stop), strict=True)
        ]

    monkeypatch.setattr(core, "run_batch", run_batch)
    done = execute.run(small_plan(), tmp_path)
    assert done.ran == 11
    (failure,) = done.failures
    assert (failure.run, failure.replication, failure.why) == (bad.id(core.build()), 1, "it broke")
    assert failure.cell == str(cells.cells[2])
    # The scenario that was saved is that run, with its scheme in the queues under test.
    saved = tmp_path / "failed" / f"{failure.run}.toml"
    document = core.load(saved.read_text(), source="saved")
    (bottleneck,) = [link for link in document["links"] if link["under_test"]]
    assert bottleneck["queue"] == "codel"
    assert "it broke" in saved.read_text()
    # Mended, the same command makes what is missing, and forgets the failure.
    monkeypatch.undo()
    mended = execute.run(small_plan(), tmp_path)
    assert (mended.ran, mended.found, mended.failures) == (1, 11, ())
    assert not list((tmp_path / "failed").iterdir())


def test_a_cell_that_fails_does_not_hold_up_a_goal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "run_batch", lambda _scenarios, tasks, _stop: [(False, "no")] * len(tasks))
    done = execute.run(small_plan(precision=(plan.Precision("sojourn_ms_mean", "5 %", 3, 9),)), tmp_path)
    assert len(done.failures) == 4 * 9


def test_the_columns_are_what_the_reports_say() -> None:
    cells = plan.cells(small_plan(series="500 ms"))
    members = [(0, cells.cells[k].run(r)) for k in (0, 1) for r in (0, 1)]
    text = cells.scenarios[cells.cells[0].scenario]
    done = worker.run(worker.Batch(core.build(), (text,), tuple(members)))
    answers = core.run_batch([text], [(0, run.task) for _, run in members])
    reports = [json.loads(report) for _, report in answers]
    tables = {name: table.to_pylist() for name, table in done.tables.items()}
    by_run = dict(zip([run.id(core.build()) for _, run in members], reports, strict=True))
    for row in tables["runs"]:
        report = by_run[row["run"]]
        assert {name: row[name] for name in report["metrics"]} == report["metrics"]
        assert row["packets_sent"] == report["conservation"]["sent"]
        assert (row["seed"], row["replication"], row["events"]) == (
            report["seed"],
            report["replication"],
            report["events"],
        )
    for table, key in (("queues", "queue"), ("flows", "flow")):
        found = {(row["run"], row[key]): row for row in tables[table]}
        assert len(found) == len(tables[table]) == sum(len(report[table]) for report in reports)
        for run, report in by_run.items():
            for one in report[table]:
                assert {name: found[run, one["name"]][name] for name in one["metrics"]} == one["metrics"]
    for run, report in by_run.items():
        for quantity, curve in report["distributions"].items():
            mine = [row for row in tables["distributions"] if (row["run"], row["quantity"]) == (run, quantity)]
            assert [row["value"] for row in mine] == curve["value"]
            assert [row["cumulative"] for row in mine] == curve["cumulative"]
        for one in report["series"]:
            mine = [row for row in tables["series"] if (row["run"], row["name"]) == (run, one["name"])]
            assert [row["t_s"] for row in mine] == one["t_s"]
            assert [row["value"] for row in mine] == one["value"]
    # Two replications of four were sampled: only the first of each cell.
    assert sum(bool(report["series"]) for report in reports) == 2


def test_columns_have_their_units(tmp_path: Path) -> None:
    execute.run(small_plan(replications=1), tmp_path)
    (file,) = Store.open(tmp_path).files("runs")
    schema = pq.read_schema(file)
    assert schema.field("sojourn_ms_mean").metadata == {b"unit": b"ms"}
    assert schema.field("goodput_bit_s").metadata == {b"unit": b"bit/s"}


def test_a_metric_without_a_column_is_an_error() -> None:
    cell = plan.cells(small_plan()).cells[0]
    report = {
        "conservation": {},
        "queues": [],
        "flows": [],
        "distributions": {},
        "series": [],
        "metrics": {"speed": 1.0},
    }
    with pytest.raises(ValueError, match="speed"):
        rows.tables([("a", "b", cell.run(0), json.dumps(report))])


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path / "store", held, done))
    process.start()
    assert held.wait(60)
    with pytest.raises(sj.SojournError, match=f"another plan is being run into this store .process {process.pid}"):
        execute.run(small_plan(), tmp_path / "store")
    done.set()
    process.join()
    assert execute.run(small_plan(), tmp_path / "store").ran == 12


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(sj.SojournError, match=r"thesis.tex"):
        execute.run(small_plan(), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(sj.SojournError, match="is not a store"):
        Store.open(tmp_path)


def test_what_an_interrupted_writer_left_is_not_read_and_goes(tmp_path: Path) -> None:
    execute.run(small_plan(), tmp_path)
    before = results_of(tmp_path)
    whole = next(iter((tmp_path / "queues").glob("*.parquet")))
    # A part whose runs were not yet there, and a file that was not yet whole.
    shutil.copy(whole, tmp_path / "queues" / "0000000000000000.parquet")
    (tmp_path / "runs" / "0000000000000000.partial").write_bytes(b"half")
    assert check_store(tmp_path, ids(small_plan())) == ids(small_plan())
    execute.run(small_plan(), tmp_path)
    assert results_of(tmp_path) == before
    assert not list(tmp_path.rglob("*.partial"))


def test_twins_and_expansion_agree_on_the_number_of_cells() -> None:
    assert len(expand.cells(small_plan())) == 4
