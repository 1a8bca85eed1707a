"""Running a paper: conditions, kills, the report beside the printed numbers, and errors in its documents."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from shared import study
from sojourn.cli import main
from sojourn.cli.papers import chosen
from sojourn.plan import Plan, expand
from sojourn.studies import papers
from sojourn.studies.papers import Outcome, documents, execute, figures, ledger, overtime, page
from sojourn.studies.papers.conditions import conditions_of

PAPERS = Path(__file__).parents[2] / "papers"
modes = study("daqm", "modes")
mode = modes.mode
PAPER = papers.load("daqm")
BASE = PAPER.readings[0].name
FREE = "no device queue"
TABLE_8 = chosen(PAPER, "Table 8")
KILLS = int(os.environ.get("SOJOURN_TEST_KILLS", "1"))
"""How often a study is killed before it may end; .ci/weekly sets more."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> execute.Measured:
    store = tmp_path_factory.mktemp("papers") / "store"
    few = replace(PAPER, readings=tuple(one for one in PAPER.readings if one.name in (BASE, FREE)))
    return execute.Runner(few, store).run(3, "full", TABLE_8)


def claim(name: str) -> papers.Claim:
    return next(one for one in PAPER.claims if one.id == name)


def test_the_smoke_of_every_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.names() == ["daqm", "dropping-functions", "fairness", "threshold"]
    out = tmp_path / "out"
    assert main(["papers", "run", "daqm", "--quick", "--only", "Table 4", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "5 replications" in printed
    # The ledger is the end of the output, and every claim is counted once under each reading.
    rows = [re.split(r" {2,}", line) for line in printed.splitlines() if re.search(r"  +\d+$", line)]
    assert [row[0] for row in rows] == [reading.name for reading in PAPER.readings]
    assert all(sum(map(int, row[1:])) == len(PAPER.claims) == 557 for row in rows)
    assert printed.splitlines()[-1].startswith("557 claims")
    text = (out / "report.html").read_text(encoding="utf-8")
    # Six rows of eight schemes, each with its printed number and one measured under the base.
    table = text[text.index('id="table-4-table"') :].split("</table>")[0]
    assert table.count("<tr>") == 1 + 48
    assert table.count(" ± ") == 48
    assert all(f"<td>{one.text}</td>" in table for one in PAPER.published if one.table == "4")
    # Again: nothing is run twice, and the report is the same.
    assert main(["papers", "run", "daqm", "--quick", "--only", "table 4", "--out", str(out)]) == 0
    # Five of each: the FIFO, the eight, and beside them the graded one of 4.3.5; its uniform one is c2 here.
    readings = [one for one in PAPER.readings if one.is_run and "table-4" in one.conditions["quick"]]
    assert capsys.readouterr().out.startswith(f"0 runs made, {5 * (1 + 8 + 1) * len(readings)} found")
    assert (out / "report.html").read_text(encoding="utf-8") == text


def test_the_list_names_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "list"]) == 0
    assert re.search(r"^daqm +557 +288 +Derivative-based AQM", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.long
def test_a_killed_run_continues_and_ends_the_same(tmp_path: Path) -> None:
    def command(out: Path) -> list[str]:
        only = ["--only", "Table 8", "--jobs", "1", "--out", str(out)]
        return [sys.executable, "-m", "sojourn", "papers", "run", "daqm", *only]

    whole = tmp_path / "whole"
    start = time.monotonic()
    done = subprocess.run(command(whole), check=True, capture_output=True, text=True)
    runs = sum(map(int, re.findall(r"(\d+) runs made, (\d+) found", done.stdout)[0]))
    length_s = time.monotonic() - start
    out = tmp_path / "killed"
    draw = random.Random(6)  # noqa: S311
    for _ in range(KILLS):
        process = subprocess.Popen(command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(draw.uniform(0.4, 0.8) * length_s)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    done = subprocess.run(command(out), check=True, capture_output=True, text=True)
    made, found = map(int, re.findall(r"(\d+) runs made, (\d+) found", done.stdout)[0])
    assert made + found == runs
    assert found > 0
    assert (out / "report.html").read_text(encoding="utf-8") == (whole / "report.html").read_text(encoding="utf-8")


def test_every_printed_number_of_tables_4_to_9_has_a_condition() -> None:
    tables = {one.table: one for one in PAPER.conditions if one.table}
    assert set(tables) == set("456789") == {one.table for one in PAPER.published}
    for one in PAPER.published:
        assert one.scheme in tables[one.table].schemes


def test_values_are_those_of_the_readings(measured: execute.Measured) -> None:
    raw = measured.raw[BASE, "table-8"]
    both = [measured.values(BASE, "table-8", {"queue": queue}) for queue in ("busiest", "all")]
    for name, key in ((both[0], "busiest queue_packets_mean"), (both[1], "queue_packets_mean")):
        assert all((name["queue_packets_mean"][s] == raw[key][s]).all() for s in PAPER.groups["eight"])
    # The busiest of several queues holds no more than all of them.
    without = FREE
    found = [
        measured.values(without, "table-8", {"queue": queue})["queue_packets_mean"] for queue in ("busiest", "all")
    ]
    assert all((found[0][s] <= found[1][s]).all() and found[0][s].min() > 0 for s in PAPER.groups["eight"])
    # A mean over flows is at most one client's rate, 1.5 Mbit/s; with headers (FlowMonitor) it is more.
    ours, theirs = (
        measured.values(without, "table-8", {"throughput": of})["goodput_bit_s"]["red"]
        for of in ("goodput", "flowmonitor")
    )
    assert ours.max() < 1.5e6
    assert (theirs > ours).all()


def test_claims_are_judged_on_their_own_traffic(measured: execute.Measured) -> None:
    (table_8,) = TABLE_8
    assert conditions_of(claim("fig15-c1-plr-lower-by"), measured.conditions) == (table_8,)
    # About other traffic, about a sweep as a whole, about several sweeps.
    others = [one for one in PAPER.claims if one.flow != ("http",) or one.at != "1400 B"]
    assert not any(conditions_of(one, measured.conditions) for one in others)
    judged = ledger.make(PAPER, measured)
    for one in PAPER.claims:
        outcomes = {of.outcome for of in judged.verdicts[one.id].values()}
        if one.comparison == "unjudgeable":
            assert outcomes == {Outcome.UNJUDGEABLE}
        elif not conditions_of(one, measured.conditions):
            assert outcomes == {Outcome.NOT_RUN}
    assert sum(judged.counts(BASE).values()) == 557
    undecided = [of[BASE] for of in judged.verdicts.values() if of[BASE].outcome is Outcome.UNDECIDED]
    # What three replications leave open needs more of them, as far as it can be named.
    assert all(one.replications is None or one.replications > 3 for one in undecided)


def test_the_page_says_what_was_not_run(measured: execute.Measured) -> None:
    judged = ledger.make(PAPER, measured)
    text = page.render(PAPER, measured, judged, "quick")
    assert "star of links" in text
    assert "Readings that are documented and not run yet" not in text
    less = replace(PAPER, readings=tuple(one for one in PAPER.readings if one.values.get("topology") != "star"))
    assert ledger.not_run(less) == [("topology", "star")]
    text = page.render(less, measured, ledger.make(less, measured), "quick")
    assert "Readings that are documented and not run yet: topology = star." in text


def test_a_mode_of_zero_is_measured() -> None:
    assert mode([7.0, 7.0, 8.0]) == "7ms"
    assert mode([8.0, 7.0]) == "7ms"
    assert mode([0.0, 0.0, 3.0]) == "measured"
    assert mode([np.nan]) == "measured"


def test_replicates_replace_the_pilot_and_what_follows_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[int] = []

    def measured(_runner: execute.Runner, count: int, *_of: object) -> execute.Measured:
        asked.append(count)
        return execute.Measured({}, {}, count)

    monkeypatch.setattr(execute.Runner, "run", measured)
    monkeypatch.setattr(execute.Runner, "more", lambda runner, _measured, _keys, count: measured(runner, count))
    monkeypatch.setattr(page, "render", lambda *_of, **_more: "")
    command = ["papers", "run", "threshold", "--full", "--only", "main conclusions", "--out", str(tmp_path)]
    assert main([*command, "--replicates", "3"]) == 0
    assert asked == [3]
    assert main(command) == 0
    # The pilot has the quick form's five, and what is open goes on to six.
    assert asked == [3, 5, 6]


@pytest.mark.parametrize("name", ["daqm", "fairness", "threshold"])
def test_the_readme_says_how_many_runs_the_quick_form_has(name: str) -> None:
    paper = papers.load(name)
    base, count = paper.readings[0], paper.replications["quick"]
    quick = [
        one for one in chosen(paper, None, "quick") if "quick" in one.sizes and one.name in base.conditions["quick"]
    ]
    # Any time stands for those that FIFO runs measure.
    times = {(base.name, one.name): "2ms" for one in quick}
    plans = [execute.plan_of(paper, base, one, times, count) for one in quick]
    plans += [*modes.plans(paper, base, quick).values()] if name == "daqm" else []
    series = [one for one in figures.load(paper) if one.kind == "series"]
    sampled = [overtime.plan(paper, one, of, base, times, count) for one in series for of in figures.of(one, quick)]

    def runs(of: list[Plan]) -> int:
        return sum({cell.run(0): plan.replications for plan in of for cell in expand.cells(plan)}.values())

    found = runs(plans), runs(sampled)
    text = (paper.folder / "README.md").read_text(encoding="utf-8")
    lines = [one for one in text.splitlines() if "`--quick`" in one]
    # Together, or the sampled ones by themselves.
    said = rf"\b({sum(found):,} runs|{found[0]:,}, and {found[1]:,} sampled over time)"
    assert any(re.search(said, one) for one in lines), (found, lines)


def test_the_readme_says_how_many_simulations_the_quick_form_of_windows_has() -> None:
    paper = study("dropping-functions", "document").load("dropping-functions", PAPERS)
    runs = len(study("dropping-functions", "simulate").runs_of(paper, paper.sizes["quick"]))
    assert f"| `--quick` | {runs} runs " in (paper.folder / "README.md").read_text(encoding="utf-8")


def test_readings_of_no_name_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "run", "daqm", "--full", "--readings", "joint reeding 1"]) == 2
    assert "no reading has such a name (did you mean `joint reading 1`?)" in capsys.readouterr().err
    # Where the option could not act, it is refused.
    assert main(["papers", "run", "daqm", "--readings", "joint reading 1"]) == 2
    assert "--readings: --quick runs the base reading only; allowed: with --full" in capsys.readouterr().err
    assert main(["papers", "run", "dropping-functions", "--full", "--readings", "joint reading 1"]) == 2
    assert "--readings: this study runs programs of its own" in capsys.readouterr().err


def test_only_takes_tables_figures_and_names() -> None:
    assert [one.name for one in chosen(PAPER, "TABLE 5")] == ["table-5"]
    assert [one.name for one in chosen(PAPER, "Figure 6a")] == ["http-cbr"]
    assert [one.name for one in chosen(PAPER, "ftp-cbr")] == ["ftp-cbr"]
    points = {one.at: one.table for one in chosen(PAPER, "Figure 12")}
    assert (len(points), points["99 %"], points["1 %"]) == (8, "5", "")
    # The quick form runs the conditions of the main conclusions, and a part of this name is the same.
    assert chosen(PAPER, "Main conclusions") == chosen(PAPER, None, "quick")
    with pytest.raises(
        sj.SojournError,
        match=r"'Figure 99': this study runs no figure or table of that name.*; "
        "use one of: .*Table 4.*main conclusions",
    ):
        chosen(PAPER, "Figure 99")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "runs.toml",
            'device_queue = "none"',
            'device_queue = "7"',
            r"runs.toml: .*device_queue='7'; allowed: 100, none",
        ),
        (
            "runs.toml",
            'flow = "http"',
            'flows = "http"',
            "runs.toml: condition http-cbr: unknown key `flows`; allowed",
        ),
        ("runs.toml", 'schemes = "sixteen"', 'schemes = "blue"', "condition http-cbr: unknown scheme 'blue'"),
        ("runs.toml", '{ daqm = "drop_rate 0.99" }', '"drop_rate 0.99"', "append='drop_rate 0.99'; allowed: { red"),
        ("runs.toml", '{ daqm = "drop_rate {at}" }', '"drop_rate {at}"', "sweep .*append='drop_rate .*; allowed: {"),
        ("runs.toml", 'title = "Der', 'tittle = "Der', "runs.toml: `title` is missing"),
        ("claims.toml", 'comparison = "lowest"', 'comparision = "lowest"', "claim .*: `comparison` is missing"),
        ("claims.toml", 'subject = ["eleven"]', 'subject = ["eleventh"]', "claim .*: unknown scheme 'eleventh'"),
        ("published.csv", "2.808", "2.8o8", "published.csv: line 2: could not convert"),
        ("published.csv", "2.808", "2,808", "published.csv: line 2 has more values than columns"),
        ("readings.toml", "[margin]", "[margin", "readings.toml: "),
    ],
)
def test_a_wrong_document_is_refused(file: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    shutil.copytree(PAPER.folder, tmp_path / "daqm")
    place = tmp_path / "daqm" / file
    text = place.read_text(encoding="utf-8")
    assert old in text
    place.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(sj.SojournError, match=message):
        papers.load("daqm", tmp_path)


def test_no_paper_and_no_folder_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        sj.SojournError, match=r"there is no study 'dqam' \(did you mean `daqm`\?\); the studies are: daqm"
    ):
        papers.load("dqam")
    monkeypatch.setattr(documents, "STUDIES", tmp_path / "studies")
    with pytest.raises(sj.SojournError, match=r"there are no papers at .*studies: .* an installed package has them"):
        papers.folder()


def test_the_package_has_the_papers_of_the_sources() -> None:
    # The wheel and the source distribution take them from here (pyproject.toml, `include`).
    sources = Path(__file__).parents[2] / "papers"
    assert papers.folder().resolve() == sources.resolve()
    assert papers.names() == sorted(one.parent.name for one in sources.glob("*/README.md"))
    nested = [file for file in sources.glob("*/*/**/*") if file.is_file() and "__pycache__" not in file.parts]
    assert all(file.suffix == ".py" and file.parents[2] == sources for file in nested), (
        "only the files of a paper's own folder, and the modules of its code, are taken along"
    )
