"""``sojourn new``: skeletons in a copy of the sources, their places, what is refused, and nothing half-written.

What compiles takes minutes: `.ci/weekly` (step scaffold) sets SOJOURN_TEST_SCAFFOLD, to a folder for
the build or to 1.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import words
from shared import Command, script
from sojourn.base import core, sources, whole_files
from sojourn.base.core import SojournError
from sojourn.cli import COMMANDS
from sojourn.cli.new import said
from sojourn.scaffold import kinds, write
from sojourn.studies import papers
from sojourn.view.figures import FIGURES

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("SOJOURN_TEST_SCAFFOLD")
NAMES = {
    "aqm": "flow_red",
    "congestion-control": "scaffold_tcp",
    "traffic": "frame_train",
    "link-key": "outage",
    "metric": "idle_ratio",
    "subcommand": "line-rate",
    "figure": "loss_rates",
    "paper": "my-study",
    "scenario": "campus",
}
IN_TREE = kinds.OF_SOURCES
# What changes the sources is in them, the rest in the package.
FOLDERS = (ROOT / "scaffold", Path(kinds.__file__).parent)
# What the sources are recognised by, what says how to format, and folders in which a name may be taken.
COPIED = (
    *sources._MARKS,
    "python/sojourn/__init__.pyi",
    "pyproject.toml",
    "tests/models",
    "scenarios",
    "papers/daqm/README.md",
)


def copy(to: Path, *more: str) -> Path:
    """The files that places are in, and a few more."""
    wanted = {one.file for name in NAMES for one in kinds.kind(name).places if one.position}
    for name in sorted({*wanted, *COPIED, *more}):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, to / name)
    # Ruff looks for modules that scripts import, whatever is in them.
    for path in [*(ROOT / "python/sojourn").rglob("*.py"), ROOT / "tests/python/shared.py"]:
        (to / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        (to / path.relative_to(ROOT)).touch()
    return to


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy(tmp_path / "tree")


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def add(tree: Path, of: str, name: str | None = None, **options: str) -> write.Draft:
    made = write.draft(of, NAMES[of] if name is None else name, start=tree, **options)
    write.apply(made)
    return made


def formatted(tree: Path, made: write.Draft) -> None:
    """Have ruff and rustfmt judge what was written."""
    for name in made.contents:
        if name.endswith(".rs"):
            # From standard input it does not look for modules in other files.
            rustfmt = ["rustfmt", "--edition", "2021", "--config-path", str(ROOT), "--check"]
            text = made.contents[name]
            done = subprocess.run(rustfmt, input=text, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (0, ""), (name, done.stdout, done.stderr)
    scripts = [name for name in made.contents if name.endswith(".py")]
    for command in (["format", "--check"], ["check"]) if scripts else ():
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", *scripts]
        done = subprocess.run(ruff, cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.stdout, done.stderr)


@pytest.mark.parametrize("of", kinds.KINDS)
def test_every_place_of_a_kind_is_found_and_holds_the_name(of: str, tree: Path) -> None:
    before = everything(tree)
    made = add(tree, of)
    assert [one for one in made.changes if one.by_hand] == []
    assert len(made.changes) == len(kinds.kind(of).places)
    after = everything(tree)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == set(made.contents) == {one.file for one in made.changes}
    assert {one.file for one in made.changes if one.is_new} == set(after) - set(before)
    for one in made.changes:
        assert one.is_new or re.search(f"{NAMES[of]}|FrameTrain|Outage", after[one.file].decode())
    formatted(tree, made)


@pytest.mark.parametrize("of", IN_TREE)
@pytest.mark.parametrize("name", ["zz", "a_name_with_24_characters"[:24]])
def test_short_and_long_names_are_formatted_too(of: str, name: str, tree: Path) -> None:
    add(tree, of)
    formatted(tree, add(tree, of, name))


def test_an_algorithm_is_in_every_list(tree: Path) -> None:
    made = add(tree, "aqm", title="Flow RED")
    source = made.contents["crates/aqm/src/schemes/flow_red.rs"]
    assert 'title: "Flow RED"' in source
    assert len(re.findall(r"fn write_the_equation_and_its_vector\(\)", source)) == 1
    registered = set(re.findall(r'^    "(\w+)" => ', made.contents["crates/aqm/src/registry.rs"], re.MULTILINE))
    assert registered == {"flow_red", *(str(one["name"]) for one in core.aqms())}
    modules = re.findall(r"^pub mod (\w+);", made.contents["crates/aqm/src/schemes.rs"], re.MULTILINE)
    assert modules.index("flow_red") == modules.index("dualpi2") + 1
    library = ast.parse(made.contents["tests/models/library.py"])
    (models,) = (
        one.value for one in library.body if isinstance(one, ast.AnnAssign) and ast.unparse(one.target) == "MODELS"
    )
    assert isinstance(models, ast.Dict)
    assert {ast.literal_eval(key) for key in models.keys if key} == registered
    # Under a name that its dataclasses can look up.
    scope = script(str(tree / "python/sojourn/tc/kinds.py"))
    assert registered == {*scope.NEAREST, *scope.KINDS}
    assert set(tomllib.loads(made.contents["docs/algorithms.toml"])) == registered


def test_the_mutation_of_an_algorithm_fits_its_source(tree: Path) -> None:
    made = add(tree, "aqm")
    entry = tomllib.loads(made.contents["tests/mutations/mutations.toml"])["mutation"][-1]
    run = script("tests/mutations/run.py")
    mutation = run.Mutation(**entry)
    assert mutation.algorithm == "flow_red"
    assert mutation.wrong(tree) is None


def test_the_model_of_an_algorithm_and_its_vector_have_one_law(tree: Path) -> None:
    made = add(tree, "aqm")
    sys.path.insert(0, str(ROOT / "tests" / "models"))
    try:
        model = script(str(tree / "tests/models/flow_red.py"))
        from base import Host, Packet
    finally:
        sys.path.pop(0)
    # The vector's first scheme: the model's outcomes are those that it writes.
    draws = [int(u * 2**53) << 11 for u in (0.3, 0.2, 0.26, 0.9)]
    host = Host(model.FlowRed, ["p", "0.25", "limit", "3p"], 10_000_000, draws)
    outcomes = [one for serial in range(5) for one in host.enqueue(0, Packet(serial, 1500))]
    written = re.findall(
        r"^0 +d (\d+) (\w+)", made.contents["vectors/flow_red.vec"].split("# Marking")[0], re.MULTILINE
    )
    assert outcomes == [("drop", int(serial), reason) for serial, reason in written]
    assert len(outcomes) == 2


def test_a_congestion_control_is_in_every_list(tree: Path) -> None:
    made = add(tree, "congestion-control")
    registry = made.contents["crates/transport/src/congestion.rs"]
    assert registry.count("pub mod scaffold_tcp;") == 1
    lines = re.search(r"\ncongestion_controls! \{ \$\n(.*?)\n\}\n", registry, re.DOTALL)
    assert lines
    names = re.findall(r"^    (\w+)::\w+", lines[1], re.MULTILINE)
    assert names == [*(str(one["name"]) for one in core.congestion_controls()), "scaffold_tcp"]
    assert len(made.changes) == 3


def test_a_kind_of_traffic_is_in_every_list(tree: Path) -> None:
    made = add(tree, "traffic")
    registry = made.contents["crates/traffic/src/lib.rs"]
    lines = re.search(r"\ntraffic_kinds! \{\n(.*?)\n\}\n", registry, re.DOTALL)
    assert lines
    assert re.findall(r"^    (\w+)::(\w+),", lines[1], re.MULTILINE)[-1] == ("frame_train", "FrameTrain")
    assert [name for name, _ in re.findall(r"^    (\w+)::(\w+),", lines[1], re.MULTILINE)] == [
        *(str(one["name"]) for one in core.traffic_kinds()),
        "frame_train",
    ]
    assert registry.count("pub mod frame_train;") == 1
    assert len(made.changes) == 3


@pytest.mark.parametrize("of", ["paper", "scenario"])
@pytest.mark.parametrize("in_tree", [True, False], ids=["in the sources", "anywhere"])
def test_files_of_a_user_are_good_and_one_test_of_theirs_fails(of: str, in_tree: bool, tmp_path: Path) -> None:
    start = copy(tmp_path / "tree") if in_tree else tmp_path
    made = add(start, of)
    test = next(name for name in made.contents if name.endswith(".py"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(start), test],
        cwd=start,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.findall(r"^FAILED \S+::(\w+)", done.stdout, re.MULTILINE)
    assert failed == [kinds.kind(of).fails], done.stdout + done.stderr
    assert re.search(r"1 failed, [12] passed", done.stdout)
    assert made.test[0].endswith(test)


def test_a_study_of_a_user_runs_by_its_path(command: Command, tmp_path: Path) -> None:
    assert command("new", "paper", "my-study").returncode == 0
    done = command("papers", "run", "./my-study", "--only", "bulk")
    assert (done.returncode, re.findall(r"^(\d+) runs made", done.stdout, re.MULTILINE)) == (0, ["20"]), done.stderr
    paper = papers.load("my-study", tmp_path / "here")
    assert [one.id for one in paper.claims] == ["example-codel-queue-lower"]
    wrong = command("papers", "run", "./my-studio")
    assert wrong.returncode == 2
    assert "(did you mean `my-study`?)" in wrong.stderr


def test_the_command_says_what_it_wrote_and_what_is_left(command: Command) -> None:
    done = command("new", "scenario", "campus")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^written +campus\.toml +the scenario$", done.stdout, re.MULTILINE)
    assert "    python -m pytest test_campus.py\n" in done.stdout
    assert "(test_a_number_follows_from_the_scenario)" in done.stdout
    assert "sojourn compare campus.toml --aqm pfifo --aqm codel" in done.stdout


def test_dry_run_writes_nothing(command: Command, tmp_path: Path) -> None:
    done = command("new", "scenario", "campus", "--dry-run")
    assert done.returncode == 0
    assert "would write  campus.toml" in done.stdout
    assert done.stdout.endswith("Nothing was written (--dry-run).\n")
    assert everything(tmp_path / "here") == {}


LINES = "use a;\nuse c;\n\nuse b;\nuse d;\nuse f;\n\nuse x;\n"
USES = r"(?m)^use (\w+);\n"
INSERTED = [
    # Of three runs the second is the longest.
    ("sorted", USES, {}, LINES.replace("use f;", "use e;\nuse f;")),
    ("sorted", r"(?m)^use (y|z);\n", {}, None),
    ("sorted", USES, {"within": r"use a;\nuse c;\n"}, LINES.replace("use c;\n", "use c;\nuse e;\n")),
    ("after", USES, {}, LINES + "use e;\n"),
    ("after", r"nothing", {}, None),
    ("before", r"(?m)^use x;", {}, LINES.replace("use x;", "use e;\nuse x;")),
    # Which of the six is meant?
    ("before", USES, {}, None),
    ("inside", r"(use c;\n)", {}, LINES.replace("use c;\n", "use c;\nuse e;\n")),
    ("inside", r"(use [ac];\n)", {}, None),
    ("inside", r"(use [ac];\n)", {"times": 2}, LINES.replace("a;\n", "a;\nuse e;\n").replace("c;\n", "c;\nuse e;\n")),
    ("inside", r"(use c;\n)", {"times": 2}, None),
    ("inside", r"(use c;\n)", {"within": r"\n\n\n"}, None),
    # Which of two parts?
    ("inside", r"(use c;\n)", {"within": r"use [ab];\nuse [cd];\n"}, None),
    ("end", "", {}, LINES + "use e;\n"),
]


@pytest.mark.parametrize(("position", "pattern", "options", "wanted"), INSERTED)
def test_an_insertion_is_where_its_place_says_or_nowhere(
    position: str, pattern: str, options: dict[str, Any], wanted: str | None
) -> None:
    content = "use e;\n"
    place = kinds.Place(file="", what="", content=content, position=position, pattern=pattern, **options)
    assert write.insert(LINES, place, content) == wanted


REFUSED = [
    (
        "aqm",
        "FlowRED",
        r"`FlowRED` is not a name of an aqm \(did you mean `flow_red`\?\); allowed: lower-case letters",
    ),
    ("aqm", "flow-red", r"did you mean `flow_red`\?"),
    ("aqm", "2red", r"did you mean `red`\?"),
    ("aqm", "flow__red", r"did you mean `flow_red`\?"),
    ("aqm", "r" * 25, r"at most 24 characters"),
    ("aqm", "../evil", r"did you mean `evil`\?"),
    ("aqm", "", r"`` is not a name of an aqm; allowed"),
    ("aqm", "match", r"`match` is a word of Rust or Python.*did you mean `my_match`\?"),
    ("aqm", "random", r"a module of Python"),
    ("aqm", "fq_red2", r"the prefix fq_ is for fair queues"),
    ("aqm", "limit", r"the files use a type of this name"),
    (
        "aqm",
        "codel",
        r"the name `codel` is taken \(crates/aqm/src/schemes.rs\); allowed: any name that is not one of .*ared, ",
    ),
    ("aqm", "fair", r"tests/models/fair\.py exists already"),
    ("aqm", "bfifo", r"the name `bfifo` is taken \(crates/aqm/src/registry.rs\)"),
    ("congestion-control", "cubic", r"the name `cubic` is taken"),
    ("congestion-control", "window", r"the name `window` is taken \(crates/transport/src/congestion.rs\)"),
    ("congestion-control", "new_reno", r"the files use a type of this name"),
    ("traffic", "on_off", r"the name `on_off` is taken"),
    ("traffic", "udp", r"the name `udp` is taken \(python/sojourn/__init__.pyi\)"),
    ("traffic", "span", r"the files use a type of this name"),
    ("paper", "daqm", r"the name `daqm` is taken"),
    ("paper", "My Study", r"did you mean `my-study`\?"),
    ("scenario", "home", r"the name `home` is taken"),
    (
        "aqmm",
        "x",
        r"unknown kind `aqmm` \(did you mean `aqm`\?\); allowed: aqm, congestion-control, traffic, link-key, ",
    ),
]


@pytest.mark.parametrize(("of", "name", "message"), REFUSED)
def test_a_name_that_cannot_be_is_refused_with_what_is_allowed(of: str, name: str, message: str, tree: Path) -> None:
    before = everything(tree)
    with pytest.raises(SojournError, match=message) as error:
        add(tree, of, name)
    assert "allowed: " in str(error.value)
    assert everything(tree) == before


def test_names_that_become_one_in_camel_case_are_refused(tree: Path) -> None:
    add(tree, "aqm", "flow_2")
    with pytest.raises(SojournError, match="the name `flow_2` is taken"):
        add(tree, "aqm", "flow2")


@pytest.mark.parametrize("title", ['a "b"', "{x}", "a|b", "a\nb", "", "-x", "\\"])
def test_a_title_that_a_file_could_not_hold_is_refused(title: str, tree: Path) -> None:
    with pytest.raises(SojournError, match=r"--title .* is refused; allowed: letters, digits"):
        add(tree, "aqm", title=title)


@pytest.mark.parametrize("of", IN_TREE)
def test_a_package_without_sources_says_so(of: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "root", lambda: None)
    with pytest.raises(SojournError, match="this package is installed without them; run it in a clone"):
        add(tree, of)
    assert write.draft("scenario", "campus", start=tree).contents


@pytest.mark.parametrize("of", IN_TREE)
def test_what_is_part_of_the_sources_needs_them(of: str, command: Command) -> None:
    done = command("new", of, NAMES[of])
    assert done.returncode == 2
    assert (
        "is not in a clone of Sojourn's sources; run it in a clone without --here, or use: paper or scenario"
        in done.stderr
    )
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_kind_ends_with_status_2_and_the_nearest(command: Command) -> None:
    done = command("new", "senario", "x")
    assert done.returncode == 2
    assert "unknown kind `senario` (did you mean `scenario`?); allowed: aqm, " in done.stderr


def test_here_writes_into_the_present_folder_of_a_clone(tree: Path) -> None:
    (tree / "out").mkdir()
    made = write.draft("scenario", "campus", start=tree / "out", here=True)
    assert (made.root, list(made.contents)) == (tree / "out", ["campus.toml", "test_campus.py"])
    # The root of the sources, too.
    assert "campus.toml" in write.draft("scenario", "campus", start=tree, here=True).contents
    assert write.draft("scenario", "campus", start=tree / "out").root == tree
    with pytest.raises(SojournError, match="--here writes files of a user"):
        write.draft("aqm", "flow_red", start=tree, here=True)


def test_a_file_that_exists_is_not_replaced(tree: Path) -> None:
    (tree / "vectors").mkdir(exist_ok=True)
    (tree / "vectors/flow_red.vec").write_text("mine")
    before = everything(tree)
    with pytest.raises(
        SojournError, match=r"vectors/flow_red.vec exists already, and nothing is replaced; allowed: "
    ):
        add(tree, "aqm")
    assert everything(tree) == before


def test_what_cannot_be_inserted_safely_is_printed_with_its_file(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sojourn.cli import main

    registry = tree / "crates/aqm/src/registry.rs"
    registry.write_text(registry.read_text().replace('    "', '  "'))
    (tree / "tests/mutations/mutations.toml").unlink()
    monkeypatch.chdir(tree / "crates")
    assert main(["new", "aqm", "flow_red"]) == 0
    printed = capsys.readouterr().out
    assert 'crates/aqm/src/registry.rs: its line: name and type\n\n        "flow_red" => Fifo<' in printed
    assert "tests/mutations/mutations.toml: an equation made wrong" in printed
    assert "flow_red" not in registry.read_text()
    assert not (tree / "tests/mutations/mutations.toml").exists()
    assert "pub mod flow_red;" in (tree / "crates/aqm/src/schemes.rs").read_text()


@pytest.mark.parametrize("step", ["write", "rename"])
@pytest.mark.parametrize("number", [0, 3, 7])
def test_when_a_file_cannot_be_written_all_are_as_before(
    step: str, number: int, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, folders = everything(tree), {path for path in tree.rglob("*") if path.is_dir()}
    made = write.draft("aqm", "flow_red", start=tree)
    assert len(made.contents) > 7
    left = number
    real: Callable[..., object] = whole_files.write if step == "write" else Path.replace

    def failing(*given: object) -> object:
        nonlocal left
        left -= 1
        # Once: undoing it writes again.
        if left == -1:
            raise OSError(28, "No space left on device")
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(whole_files if step == "write" else Path, "write" if step == "write" else "replace", failing)
        with pytest.raises(OSError, match="No space left"):
            write.apply(made)
    assert everything(tree) == before
    assert {path for path in tree.rglob("*") if path.is_dir()} == folders


def test_a_changed_file_keeps_its_mode(tree: Path) -> None:
    library = tree / "tests/models/library.py"
    library.chmod(0o640)
    add(tree, "aqm")
    assert library.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("of", kinds.KINDS)
def test_contributing_lists_the_places_of_the_command(of: str) -> None:
    """The table is made by docs/generate.py, which test_docs.py compares; here it is read on its own."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = re.search(
        rf"<!-- places: {of}, made by docs/generate.py -->\n(.*?)<!-- end of places -->", text, re.DOTALL
    )
    assert part
    folders = {"paper": "papers/NAME", "scenario": "scenarios/NAME"}
    values = {
        "name": "NAME",
        "snake": "NAME",
        "folder": folders.get(of, ""),
        "test_file": f"tests/python/test_{of}_NAME.py",
    }
    wanted = [(kinds.fill(one.file, values), not one.position) for one in kinds.kind(of).places]
    found = re.findall(r"^\| `([^`]+)` \| (new|) \| \S.* \|$", part[1], re.MULTILINE)
    assert [(file, mark == "new") for file, mark in found] == wanted
    assert len(re.findall(r"^\d+\. ", part[1], re.MULTILINE)) == len(kinds.kind(of).left)


def test_every_registered_algorithm_is_at_the_places_of_the_list() -> None:
    """The list is true of the algorithms that exist; fair queues have no file of their own."""
    # contract.rs has a test of its own, and some algorithms have no parameters.
    elsewhere = {"crates/aqm/src/schemes.rs", "crates/aqm/tests/contract.rs"}
    edited = sorted({one.file for one in kinds.kind("aqm").places if one.position} - elsewhere)
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in edited}
    for entry in core.aqms():
        name = str(entry["name"])
        missing = [file for file, text in texts.items() if not re.search(rf'"{name}"|\[{name}\]', text)]
        assert not missing, (name, missing)
        assert list((ROOT / "vectors").glob(f"{name}*.vec")), name
        assert (ROOT / "docs/images/algorithms" / f"{name}.png").is_file(), f"docs/pictures.py {name}"


# Other moments and quantiles of what tests derive, and what only a busy machine has; lateness is counted by
# tests/device. Nothing may come in here.
UNDERIVED = {
    *("dated_late_ms_mean", "late_ratio", "lateness_least_ms_mean", "lateness_ms_max", "lateness_ms_p99"),
    *("flow_completion_s_p50", "flow_duration_s_mean", "flow_startup_s_p99", "interarrival_fine_ms_mode"),
    *("page_load_s_p50", "page_load_s_p99", "queue_packets_p50", "queue_packets_sd", "sojourn_ms_sd"),
}


@pytest.mark.parametrize(
    ("names", "untested"),
    [
        (set(COMMANDS), set()),
        ({figure.name for figure in FIGURES}, set()),
        ({str(metric["name"]) for metric in core.metrics()}, UNDERIVED),
    ],
    ids=["subcommand", "figure", "metric"],
)
def test_what_is_registered_is_in_a_test(names: set[str], untested: set[str]) -> None:
    files = [*ROOT.glob("tests/*/*.py"), *ROOT.glob("crates/**/tests.rs"), *ROOT.glob("crates/**/tests/**/*.rs")]
    files.remove(Path(__file__))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    found = {*re.findall(r'"([a-z][a-z0-9_-]*)"', text), *re.findall(r"[a-z0-9]+_\w+", text)}
    assert names - found == untested


@pytest.mark.parametrize(
    ("of", "name", "title", "home"),
    [("aqm", "flow_red", "Flow RED", "/home/you/sojourn"), ("scenario", "campus", None, "/home/you/lab")],
)
def test_the_page_shows_what_the_command_prints(
    of: str, name: str, title: str | None, home: str, tree: Path, tmp_path: Path
) -> None:
    root = tree if kinds.kind(of).needs_tree else tmp_path
    made = write.draft(of, name, start=root, title=title)
    page = (ROOT / "docs/guides/add-your-own.md").read_text(encoding="utf-8")
    assert f"```text\n{said(made, dry=False).replace(str(root), home)}\n```\n" in page


def test_kinds_and_templates_belong_together() -> None:
    known: list[str] = []
    for folder in FOLDERS:
        table = tomllib.loads((folder / "kinds.toml").read_text(encoding="utf-8"))
        known += table
        used = {place["template"] for of in table.values() for place in of["place"] if "template" in place}
        # Those of `plugin` are for algorithms outside of the tree.
        found = {str(path.relative_to(folder / "templates")) for path in folder.rglob("*.in")}
        assert used == {name for name in found if not name.startswith("plugin/")}
    assert tuple(known) == kinds.KINDS
    for of in map(kinds.kind, kinds.KINDS):
        assert any(of.fails in place.content for place in of.places), of.name
        assert not re.fullmatch("|".join(one.pattern for one in of.refused) or "(?!)", of.example)


def test_templates_have_no_banned_words() -> None:
    files = [file for of in FOLDERS for file in (of / "kinds.toml", *sorted(of.rglob("*.in")))]
    found = [line for path in files for line in words.found(path.read_text("utf-8"), path.name, words.ALL)]
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A copy of all sources with one of each kind that belongs to them, and the environment to build and run it."""
    tree = tmp_path_factory.mktemp("scaffold") / "tree"
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name, follow_symlinks=False)
    for of in IN_TREE:
        add(tree, of)
    target = tree.parent / "target" if BUILD == "1" else Path(str(BUILD))
    own = {"CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0", "PYTHONPATH": str(tree / "python")}
    return tree, {**os.environ, **own}


def ran(built: tuple[Path, dict[str, str]], *command: str) -> subprocess.CompletedProcess[str]:
    tree, environment = built
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def rust_failures(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The names of tests that failed; the build must not have."""
    assert "test result: " in done.stdout, done.stderr
    return re.findall(r"^test (?:\S+::)?(\w+) \.\.\. FAILED", done.stdout, re.MULTILINE)


weekly = pytest.mark.skipif(not BUILD, reason="takes minutes; .ci/weekly sets SOJOURN_TEST_SCAFFOLD")


@weekly
def test_skeletons_compile_without_a_warning(built: tuple[Path, dict[str, str]]) -> None:
    done = ran(built, "cargo", "fmt", "--all", "--check")
    assert (done.returncode, done.stdout) == (0, "")
    # With their tests: a key of links is a field of what tests of the simulator and the device make.
    packages = [f"--package=sojourn-{name}" for name in ("aqm", "transport", "traffic", "scenario", "sim", "device")]
    done = ran(built, "cargo", "clippy", "--offline", "-q", *packages, "--all-targets", "--", "-D", "warnings")
    assert done.returncode == 0, done.stderr


@weekly
@pytest.mark.parametrize(
    ("package", "tests", "of"),
    [
        ("aqm", (), ("aqm", "link-key")),
        ("transport", (), ("congestion-control",)),
        ("traffic", (), ("traffic",)),
        ("scenario", (), ()),
        ("sim", ("--test", "simulations", "metrics::"), ("metric",)),
    ],
)
def test_of_all_rust_tests_only_those_of_skeletons_fail(
    built: tuple[Path, dict[str, str]], package: str, tests: tuple[str, ...], of: tuple[str, ...]
) -> None:
    done = ran(built, "cargo", "test", "--offline", "--no-fail-fast", "-p", f"sojourn-{package}", *tests)
    assert sorted(rust_failures(done)) == sorted(kinds.kind(one).fails for one in of), done.stdout


@weekly
def test_with_pages_and_picture_the_python_tests_pass(built: tuple[Path, dict[str, str]]) -> None:
    tree, environment = built
    done = ran(built, "cargo", "build", "--offline", "-q", "-p", "sojourn-python")
    assert done.returncode == 0, done.stderr
    library = Path(environment["CARGO_TARGET_DIR"]) / "debug" / "lib_native.so"
    shutil.copy(library, tree / "python/sojourn/_native.abi3.so")
    # What the command says is left to do.
    check = f"tests/mutations/run.py --check --target {tree.parent / 'mutations'}"
    for step in ("docs/generate.py", "docs/pictures.py flow_red", check):
        done = ran(built, sys.executable, *step.split())
        assert done.returncode == 0, (step, done.stdout, done.stderr)
    tests = (
        "models",
        "python/test_docs.py",
        "python/test_network.py",
        "python/test_tc.py",
        "python/test_scaffold.py",
    )
    # The page is of a tree in which the name is free.
    chosen = "(flow_red or has_a_model or test_docs or test_network or nearest or registered) and not the_page_shows"
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *(f"tests/{name}" for name in tests))
    done = ran(built, sys.executable, *command)
    assert done.returncode == 0, done.stdout
