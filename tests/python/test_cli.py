"""The command line as a user meets it: processes, exit statuses, both outputs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shared import Command
from sojourn.base import core


def test_compare_prints_a_table_and_on_standard_error_only_that_four_seconds_are_short(
    command: Command, small_file: Path
) -> None:
    done = command("compare", small_file, "--aqm", "codel", "--aqm", "pfifo limit 60p", "--replicates", 2)
    assert done.returncode == 0
    short = "sojourn: warning: codel: the queue has not reached a steady state"
    assert [line[: len(short)] for line in done.stderr.splitlines()] == [short]
    lines = done.stdout.splitlines()
    assert lines[0].split()[0] == "scheme"
    assert lines[3].startswith("codel ")
    assert lines[4].startswith("pfifo limit 60p ")
    assert "2 replications, seed 1" in lines[-1]


def test_json_is_one_document_and_nothing_else(command: Command, small_file: Path) -> None:
    done = command("compare", small_file, "--aqm", "codel", "--aqm", "pie", "--replicates", 3, "--seed", 5, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert [(run["scheme"], run["replication"]) for run in document["runs"]] == [
        (scheme, replication) for scheme in ("codel", "pie") for replication in range(3)
    ]
    assert {run["seed"] for run in document["runs"]} == {5}
    assert {row["replications"] for row in document["summary"] if row["metric"] == "goodput_bit_s"} == {3}


def test_json_has_the_same_bytes_twice_and_with_other_threads(command: Command, small_file: Path) -> None:
    arguments = ("compare", small_file, "--aqm", "codel", "--aqm", "pie", "--replicates", 3, "--json")
    one, two = command(*arguments, "--jobs", 1), command(*arguments, "--jobs", 2)
    assert one.stdout == two.stdout
    assert one.stdout == command(*arguments).stdout


def test_run_runs_the_scenario_as_written(command: Command, small_file: Path) -> None:
    document = json.loads(command("run", small_file, "--json").stdout)
    assert [run["scheme"] for run in document["runs"]] == ["pfifo limit 100p"]
    assert all(row["interval"] is None for row in document["summary"])
    assert "goodput_bit_s" in command("run", small_file).stdout


def test_set_overrides_the_scenario(command: Command, small_file: Path) -> None:
    done = command("run", small_file, "--set", "links.bottleneck.rate=2 Mbit/s", "--set", "duration=3 s", "--json")
    document = json.loads(done.stdout)
    assert document["scenario"]["links"][0]["rate"] == "2 Mbit/s"
    goodput = next(row["mean"] for row in document["summary"] if row["metric"] == "goodput_bit_s")
    assert 1e6 < goodput < 2e6


def test_series_are_in_the_document_where_asked_for(command: Command, small_file: Path) -> None:
    document = json.loads(command("run", small_file, "--series", "100ms", "--json").stdout)
    series = {series["name"]: series for series in document["runs"][0]["series"]}
    assert series["queue_packets"]["unit"] == "packets"
    assert len(series["queue_packets"]["t_s"]) == len(series["queue_packets"]["value"])


@pytest.mark.parametrize("name", ["dumbbell", "lan"])
def test_bundled_scenarios_run_by_name(command: Command, name: str) -> None:
    done = command("run", name, "--set", "duration=2 s", "--set", "warm_up=0 s", "--json")
    assert json.loads(done.stdout)["scenario"]["name"] == name


@pytest.mark.parametrize("what", ["aqms", "congestion-controls", "traffic", "scenarios", "metrics"])
def test_lists(command: Command, what: str) -> None:
    rows = json.loads(command("list", what, "--json").stdout)
    text = command("list", what)
    assert text.returncode == 0
    assert all(row["name"] in text.stdout for row in rows)
    if what == "aqms":
        assert [row["name"] for row in rows] == [row["name"] for row in core.aqms()]


def test_schema_is_json(command: Command) -> None:
    assert json.loads(command("schema").stdout) == core.schema()


def test_a_folder_and_its_report(command: Command, small_file: Path, tmp_path: Path) -> None:
    done = command("compare", small_file, "--aqm", "codel", "--aqm", "pie", "--replicates", 3, "--out", "out/run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("out/run/report.html")
    page = tmp_path / "here" / "out" / "run" / "report.html"
    written = page.read_bytes()
    page.unlink()
    again = command("report", "out/run")
    assert (again.returncode, again.stdout.strip()) == (0, "out/run/report.html")
    assert page.read_bytes() == written


def test_the_command_in_the_report_repeats_the_numbers(command: Command, small_file: Path, tmp_path: Path) -> None:
    from sojourn import Results
    from sojourn.view.report.context import command as repeat

    command("compare", small_file, "--aqm", "codel target 7ms", "--replicates", 2, "--seed", 9, "--out", "first")
    first = Results.read(tmp_path / "here" / "first")
    assert repeat(first) == (
        "sojourn compare scenario.toml --aqm 'codel target 7ms' --replicates 2 --seed 9 --out again"
    )
    done = command(
        "compare",
        "first/scenario.toml",
        "--aqm",
        "codel target 7ms",
        "--replicates",
        2,
        "--seed",
        9,
        "--out",
        "again",
    )
    assert done.returncode == 0, done.stderr
    assert Results.read(tmp_path / "here" / "again").to_document() == first.to_document()


BAD = {
    "unknown algorithm": (["--aqm", "cdel"], ["cdel", "allowed", "codel"]),
    "unknown parameter": (["--aqm", "codel tagret 5ms"], ["tagret", "allowed", "target"]),
    "missing unit": (["--aqm", "codel target 5"], ["target", "allowed"]),
    "min above max": (["--aqm", "red min 90p max 30p limit 1000p"], ["min", "max"]),
    "negative rate": (["--set", "links.bottleneck.rate=-1 Mbit/s"], ["rate", "-1 Mbit/s"]),
    "missing unit in a set": (["--set", "links.bottleneck.rate=5"], ["rate", "no unit", "Mbit/s"]),
    "unknown key": (["--set", "links.bottleneck.speed=5 Mbit/s"], ["speed"]),
    "set without value": (["--set", "duration"], ["duration", "="]),
    "no replications": (["--replicates", "0"], ["replicates=0"]),
    "bad number": (["--replicates", "many"], ["--replicates", "many"]),
    "bad interval": (["--series", "5"], ["unit"]),
    "unknown option": (["--frobnicate"], ["--frobnicate"]),
    "scheme twice": (["--aqm", "codel", "--aqm", "codel"], ["twice"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_message_and_status_2(command: Command, small_file: Path, tmp_path: Path, case: str) -> None:
    arguments, words = BAD[case]
    schemes = () if "--aqm" in arguments else ("--aqm", "codel")
    done = command("compare", small_file, *schemes, *arguments, "--out", "run", "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("sojourn: ")
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert list((tmp_path / "here").iterdir()) == []


def test_a_truncated_file_is_refused_with_its_line(command: Command, small_file: Path) -> None:
    whole = small_file.read_text()
    small_file.write_text(whole[: whole.index("rate") + 10])
    line = small_file.read_text().count("\n") + 1
    done = command("run", small_file)
    assert done.returncode == 2
    assert small_file.name in done.stderr
    assert f"{line}" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_key_is_refused_with_file_line_and_key(command: Command, small_file: Path) -> None:
    small_file.write_text(small_file.read_text().replace("delay =", "dealy =", 1))
    line = next(n for n, text in enumerate(small_file.read_text().splitlines(), 1) if "dealy" in text)
    done = command("run", small_file)
    assert done.returncode == 2
    assert all(word in done.stderr for word in (small_file.name, f"{line}", "dealy", "delay")), done.stderr


def test_a_scenario_that_does_not_exist_is_refused(command: Command) -> None:
    done = command("run", "nowhere.toml")
    assert done.returncode == 2
    assert "nowhere.toml" in done.stderr
    assert "dumbbell" in done.stderr


@pytest.mark.parametrize("place", ["file/run", "file", "full"])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(
    command: Command, small_file: Path, tmp_path: Path, place: str
) -> None:
    here = tmp_path / "here"
    (here / "file").write_text("")
    (here / "full").mkdir()
    (here / "full" / "thesis.txt").write_text("mine")
    # A run of hours: were it started, the time limit would end the test.
    done = command("run", small_file, "--set", "duration=1000000 s", "--out", place, timeout=30)
    assert done.returncode == 2
    assert done.stdout == ""
    assert place in done.stderr
    assert sorted(entry.name for entry in here.iterdir()) == ["file", "full"]
    assert [entry.name for entry in (here / "full").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_report_needs_a_run_folder(command: Command, folder: str) -> None:
    done = command("report", folder)
    assert done.returncode == 2
    assert "not a folder that Sojourn wrote" in done.stderr


def test_no_command_is_refused(command: Command) -> None:
    done = command()
    assert done.returncode == 2
    assert done.stderr.startswith("sojourn: ")


def test_help_names_every_command(command: Command) -> None:
    text = command("--help").stdout
    assert all(verb in text for verb in ("run", "compare", "list", "demo", "report", "schema"))


def test_version(command: Command) -> None:
    assert command("--version").stdout == f"sojourn {core.version()}\n"


def test_interruption_is_status_130_and_leaves_nothing(small_file: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "sojourn", "run", small_file, "--set", "duration=1000000 s", "--out", "deep/run"],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background job, which the tests may be, ignores interrupts and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    for _ in range(600):
        # The staging folder is there, so the simulation is about to start or under way.
        if (here / "deep").is_dir() and any((here / "deep").iterdir()):
            break
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, error) == ("", "sojourn: interrupted; nothing was written\n")
    assert list(here.iterdir()) == []


def test_a_closed_pipe_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sojourn", "list", "metrics"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    error = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), error) == (0, "")


WRITERS: dict[str, tuple[list[object], str]] = {
    "run": (["run", "SCENARIO", "--out", "out"], "out"),
    "compare": (["compare", "SCENARIO", "--aqm", "codel", "--out", "out"], "out"),
    "sensitivity": (
        ["sensitivity", "codel", "--scenario", "SCENARIO", "--vary", "target", "--vary", "interval", "--samples", "2",
         "--replicates", "1", "--out", "out"],
        "out",
    ),
    "plan report": (["plan", "report", "plan.toml", "--store", "store", "--out", "page.html"], "page.html"),
    "results export": (["results", "export", "store", "--out", "runs.csv"], "runs.csv"),
    "results export flent": (["results", "export", "store", "--format", "flent", "--out", "flent"], "flent"),
}  # fmt: skip


@pytest.mark.parametrize("writer", WRITERS)
def test_earlier_results_are_replaced_only_by_force(
    command: Command, small_file: Path, tmp_path: Path, writer: str
) -> None:
    here = tmp_path / "here"
    if "store" in WRITERS[writer][0]:
        scenario = json.dumps(str(small_file))
        (here / "plan.toml").write_text(
            f'name = "p"\nscenario = {scenario}\nschemes = ["codel"]\nreplications = 1\nseries = "100ms"\n'
        )
        assert command("plan", "run", "plan.toml", "--store", "store").returncode == 0
    arguments = [small_file if word == "SCENARIO" else word for word in WRITERS[writer][0]]
    target = here / WRITERS[writer][1]
    first = command(*arguments)
    assert first.returncode == 0, first.stderr
    before = contents(target)
    assert before
    again = command(*arguments)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith(f"sojourn: will not replace '{target.name}'")
    assert "--force" in again.stderr
    assert contents(target) == before
    forced = command(*arguments, "--force")
    assert forced.returncode == 0, forced.stderr
    assert set(contents(target)) == set(before)


def contents(place: Path) -> dict[str, bytes]:
    if place.is_file():
        return {place.name: place.read_bytes()}
    return {str(file.relative_to(place)): file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file()}


def test_every_command_that_writes_results_takes_force() -> None:
    from argparse import ArgumentParser, _SubParsersAction

    from sojourn.cli import parser

    def walk(one: ArgumentParser, name: str) -> list[tuple[str, set[str]]]:
        found = [(name, set(one._option_string_actions))]
        for action in one._actions:
            if isinstance(action, _SubParsersAction):
                for verb, below in action.choices.items():
                    found += walk(below, f"{name} {verb}".strip())
        return found

    writers = {name for name, options in walk(parser(), "") if options & {"--out", "--page"}}
    forced = {name for name, options in walk(parser(), "") if "--force" in options}
    # A paper's folder is its store: the command continues in it.
    assert writers - forced == {"papers run"}


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["cmopare", "dumbbell"], "did you mean `compare`?"),
        (["compare", "dumbel"], "did you mean `dumbbell`?"),
        (["compare", "dumbbell", "--replciates", "3"], "did you mean `--replicates`?"),
        (["results", "exprot", "store"], "did you mean `export`?"),
        (["list", "aqm"], "did you mean `aqms`?"),
        (["papers", "run", "dapm"], "did you mean `daqm`?"),
        (
            ["tune", "red", "--scenario", "dumbbell", "--vary", "min=5p..50p", "--minimise", "sojourn_ms_p98"],
            "did you mean `sojourn_ms_p",
        ),
        (
            [
                "sensitivity",
                "red",
                "--scenario",
                "dumbbell",
                "--vary",
                "min",
                "--vary",
                "max",
                "--metric",
                "godput_bit_s",
            ],
            "`goodput_bit_s`?",
        ),
    ],
)
def test_messages_name_what_was_meant(command: Command, arguments: list[str], hint: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_series_of_flows_take_their_interval_from_the_option(command: Command, small_file: Path) -> None:
    done = command("run", small_file, "--series", "100ms", "--set", "series.flows=true", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["scenario"]["series"] == {"interval": "100 ms", "flows": True}
    names = {series["name"] for series in document["runs"][0]["series"]}
    assert {name for name in names if "flow" in name or "goodput" in name} > {"goodput_bit_s"}


def test_no_series_can_be_asked_for(command: Command, small_file: Path) -> None:
    done = command("run", small_file, "--series", "none", "--out", "out", "--json")
    assert json.loads(done.stdout)["runs"][0].get("series", []) == []


REPEATED: dict[str, list[str]] = {
    "plain": [],
    "seed": ["--seed", "9"],
    "series": ["--series", "100ms"],
    "no series": ["--series", "none"],
    "series of flows": ["--series", "100ms", "--set", "series.flows=true"],
    "overrides": ["--set", "links.bottleneck.rate=4 Mbit/s", "--set", "duration=3 s"],
    "labels": ["--aqm", "strict=codel target 1ms", "--aqm", "pie"],
}


@pytest.mark.parametrize("options", REPEATED)
@pytest.mark.parametrize("verb", [pytest.param("run", marks=pytest.mark.long), "compare"])
def test_the_line_in_the_report_gives_the_same_report(
    command: Command, small_file: Path, tmp_path: Path, verb: str, options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import html
    import re
    import shlex

    from sojourn.cli import main

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    given = [word for word in REPEATED[options] if verb == "compare" or options != "labels"]
    schemes = ["--aqm", "codel"] if verb == "compare" and options != "labels" else []
    monkeypatch.chdir(tmp_path / "here")
    assert main([verb, str(small_file), *schemes, "--replicates", "2", *given, "--out", "first"]) == 0
    monkeypatch.chdir(tmp_path / "here" / "first")
    page = Path("report.html").read_text()
    line = html.unescape(re.search(r"<pre><code>(sojourn .*?)</code></pre>", page).group(1))  # type: ignore[union-attr]
    assert main(shlex.split(line)[1:]) == 0
    assert Path("again/report.html").read_text() == page
    assert Path("again/summary.csv").read_bytes() == Path("summary.csv").read_bytes()
