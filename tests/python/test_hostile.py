"""What a stranger writes: files that are none, and names that act elsewhere, over all readers and renderers."""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import json
import os
import resource
import signal
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import hostile
import sojourn as sj
from crosscheck import page as crosscheck_page
from hostile import ATTEMPTS, KINDS, NASTY, Here, replaced
from sojourn import plan
from sojourn.base import escape, foreign, whole_files
from sojourn.plan import verify
from sojourn.plan.manifest import StoreDamagedError
from sojourn.plan.store import Store
from sojourn.plugins import loading, recorded
from sojourn.real.device import windows
from sojourn.results import text
from sojourn.studies.papers import checks, documents
from sojourn.studies.topology import read as topology
from sojourn.studies.topology import routing
from sojourn.studies.topology import traffic as demands
from sojourn.studies.tune import plan as tuning
from sojourn.view import trace
from sojourn.view.report import render

PACKAGE = Path(sj.__file__).parent
PAPERS = Path(__file__).parents[2] / "papers"
MEMORY = 4 << 30
"""Bytes of memory that a test may take beside what it has: a reader of a device without an end would take all."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("made")
    hostile.make(place)
    return place


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """End what blocks or takes all memory: no test passes or fails by the time that it takes otherwise."""

    def ends(*_: object) -> None:
        raise AssertionError("blocked")

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    signal.signal(signal.SIGALRM, ends)
    signal.alarm(120)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("title", ATTEMPTS)
def test_an_attempt_is_held_or_harmless(title: str, made: Path, tmp_path: Path) -> None:
    with bounded():
        assert ATTEMPTS[title](Here(made, tmp_path)).startswith(("held", "harmless"))


# Readers.

READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "base.core": ("x.trace", trace.read),
    "model.network": ("x.toml", sj.load),
    "plan.document": ("x.toml", plan.load),
    "plugins.loading": ("x.py", loading.load),
    "plugins.loading, a library": ("x.so", loading.load),
    "plugins.recorded": ("x.txt", lambda file: recorded.repeat("codel", file, recorded.read(file))),
    "studies.topology.read": ("x.graphml", topology.load),
    "studies.topology.read, packed": ("x.txt.bz2", topology.load),
    "studies.topology.routing": (
        "x.csv",
        lambda file: routing.read_routes(file, topology.parse("a, b", source="net")),
    ),
    "studies.topology.traffic": ("x.csv", lambda file: demands.demands(topology.parse("a, b", source="net"), file)),
    "real.device.windows": ("x.db", windows.read),
    "studies.tune.plan": ("x.toml", tuning.Plan.read),
    "studies.papers.checks": ("x.toml", checks.read_toml),
    "studies.papers.documents": ("x.csv", documents._published),
}
"""What reads one file that a user names: a name for it, and the function."""
INSIDE = {
    "plan.folder": "a run folder: each of its files, below",
    "plan.store": "a store: each of its files, below",
    "plan.manifest": "a store's manifest, with the others",
    "plan.query": "a store, by SQL",
    "plan.verify": "a store",
    "base.whole_files": "a log of a tuning or of placements, below",
    "studies.papers.record": "a study's folder",
    "studies.papers.results": "a study's folder of results",
    "studies.characterize.execute": "a plan that the command wrote, to compare it",
    "studies.tune.search": "a tuning's plan, to compare it",
}
"""What reads files of a folder by `foreign`, and is no function of one file."""
OWN = {
    "studies.characterize.cost": "/proc, and what its parent writes",
    "real.device.experiment": "a store that it made", "real.device.hosts": "a program's output",
    "real.device.lab": "files of its programs", "real.device.traffic": "what its parent writes",
    "model.network": "the package, beside `foreign`", "base.foreign": "the function itself",
    "plan.logs": "its own records",
    "papers.daqm.daqm.distance": "the package",
    "papers.dropping-functions.dropping_functions.document": "the package",
    "plan.query": "schemas of files that were compared with the manifest",
    "plan.store": "its lock, and metadata of a part that was compared with the manifest",
    "plugins.compiled": "its own", "view.report.engine": "the package",
    "scaffold.kinds": "the package", "scaffold.outside": "the package", "base.lazy": "the package",
    "scaffold.write": "the checkout it writes into", "plugins.loading": "what its parent writes",
    "plugins.confined": "what its parent writes",
    "real.shell.carry": "its programs' output", "real.shell.doctor": "/proc", "real.shell.emulation": "/dev/null",
    "real.shell.flows": "/proc", "real.shell.inside": "/proc",
    "real.shell.world": "/proc and /etc", "real.shell.traffic": "its parent",
    "base.whole_files": "what it writes", "tc.statistics": "its own", "cli": "/dev/null",
    "real.device.windows": "SQLite, which opens what `foreign` has located",
}  # fmt: skip
"""What opens files by itself, and whose they are."""
_OPENS = {"read_text", "read_bytes", "open", "read_table", "read_metadata", "read_schema", "ParquetFile", "read_csv",
          "read_parquet", "fdopen", "load", "iterparse"}  # fmt: skip
_NOT = {("Store", "open"), ("", "read_text")}
_LOADERS = {"np", "numpy", "pickle", "json", "tomllib", "yaml"}


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of the package, and those of the studies that it ships: ``papers.daqm.daqm.part``."""
    files = [(PACKAGE, file) for file in sorted(PACKAGE.rglob("*.py"))]
    files += [(PAPERS.parent, file) for file in sorted(PAPERS.glob("*/*/*.py"))]
    return {
        ".".join(file.relative_to(top).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            file.read_text(encoding="utf-8")
        )
        for top, file in files
    }


def calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield every call as what it is called on, if that is a name, and its own name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(own):
                    yield "", own
                case ast.Attribute(ast.Name(on), own):
                    yield on, own
                case ast.Attribute(_, own):
                    yield "?", own


def test_every_reader_is_in_the_suite() -> None:
    bounded_, own = set(), set()
    for name, tree in modules().items():
        used = (node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute))
        if any(isinstance(on, ast.Name) and on.id == "foreign" for on in used):
            bounded_.add(name)
        for on, called in calls(tree):
            # A store is opened by its class, and a bare `read_text` is that of `network`.
            if (
                on != "foreign"
                and called in _OPENS
                and (called != "load" or on in _LOADERS)
                and (on, called) not in _NOT
            ):
                own.add(name)
    known = {name.partition(",")[0] for name in READERS}
    assert bounded_ <= known | INSIDE.keys(), "a reader without a hostile suite: add it to READERS"
    assert own <= OWN.keys(), "a file is opened without sojourn.base.foreign: use it, or say in OWN whose file it is"
    assert known <= bounded_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_refuses_what_is_no_file_of_its_kind(reader: str, kind: str, tmp_path: Path) -> None:
    name, read = READERS[reader]
    file = replaced(tmp_path / name, KINDS[kind])
    harmless = {("studies.topology.routing", "empty"), ("studies.papers.checks", "empty")}
    harmless |= {("studies.papers.documents", one) for one in ("empty", "deep", "digits")}
    if (reader, kind) in harmless:
        # A file without lines: no route, no table, no published number.
        assert not read(file)
        return
    # The command line prints an error of the system as it prints ours.
    with bounded(), pytest.raises((sj.SojournError, OSError)) as caught:
        read(file)
    assert not hostile.ACTS.search(str(caught.value))


IN_A_FOLDER = ("fifo", "device", "directory", "loop", "huge")


def nasty_files(top: Path, kind: str) -> Iterator[str]:
    """Replace each file below a folder in turn."""
    for file in sorted(one for one in top.rglob("*") if one.is_file()):
        aside = top.parent / "aside"
        file.rename(aside)
        KINDS[kind](file)
        yield str(file.relative_to(top))
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
        aside.rename(file)


@pytest.mark.parametrize("kind", IN_A_FOLDER)
def test_every_file_of_a_run_folder_is_an_ordinary_one(kind: str, made: Path, tmp_path: Path) -> None:
    run = Here(made, tmp_path).run_folder()
    not_read = {"report.html", "scenario.toml", "summary.csv"}
    with bounded():
        for name in nasty_files(run, kind):
            if name in not_read:
                sj.Results.read(run)
                continue
            with pytest.raises(sj.SojournError, match=name.replace(".", "[.]")):
                sj.Results.read(run)


@pytest.mark.parametrize("kind", IN_A_FOLDER)
def test_every_file_of_a_store_is_an_ordinary_one(kind: str, made: Path, tmp_path: Path) -> None:
    folder_ = Here(made, tmp_path).store()
    with bounded():
        for name in nasty_files(folder_, kind):
            if name in ("lock", "copies/manifest.jsonl"):
                # Neither is read while all else is whole.
                Store.open(folder_)
                continue
            with pytest.raises(StoreDamagedError):
                Store.open(folder_)
            assert name in {one.file for one in verify.verify(folder_).damaged}


@pytest.mark.parametrize("kind", IN_A_FOLDER)
def test_a_log_is_an_ordinary_file(kind: str, tmp_path: Path) -> None:
    log = replaced(tmp_path / "log.jsonl", KINDS[kind])
    if kind == "loop":
        # It leads nowhere: there is none yet.
        whole_files.replay(log, lambda _: None)
        return
    with bounded(), pytest.raises(OSError, match="allowed"):
        whole_files.replay(log, lambda _: None)


def test_what_the_shell_has_opened_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("name = 1\n")
    ours, theirs = os.pipe()
    os.write(theirs, b"text")
    os.close(theirs)
    assert foreign.read_text(f"/dev/fd/{ours}") == "text"
    os.close(ours)


# Renderers.

SINKS = {
    "to_csv": {"results.text"},
    # Numbers of our own runs, and skeletons of files.
    "writer": {"results.text"}, "DictWriter": set(),
    "to_latex": set(), "to_html": set(), "to_markdown": set(), "to_string": set(),
    "Environment": {"view.report.engine"}, "Template": {"scaffold.kinds"},
    "Markup": {
        "view.report.context", "view.report.engine", "view.report.results", "view.report.sections", "view.report.svg",
        "base.escape",
    },
}  # fmt: skip
"""What writes a format by itself, and the only modules that may."""


def test_every_renderer_escapes_by_its_function() -> None:
    found: dict[str, set[str]] = {}
    for name, tree in modules().items():
        for _, called in calls(tree):
            if called in SINKS:
                found.setdefault(called, set()).add(name)
        figures = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        # The second has the type alone.
        assert name in ("view.canvas", "results.drawing") or "matplotlib.figure" not in figures, (
            f"{name}: draw on a picture of sojourn.view.canvas"
        )
        if name not in ("base.escape", "base.wording"):
            texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            is_latex = any(isinstance(one, str) and "\\begin{" in one for one in texts)
            assert not is_latex or name == "cli.plot_and_table", f"{name} writes LaTeX"
    for called, names in found.items():
        assert names <= SINKS[called], f"{called}: use the function of sojourn.base.escape, as {SINKS[called]} does"


def test_a_template_takes_no_text_for_markup_but_its_own() -> None:
    for file in sorted(PACKAGE.rglob("*.j2")):
        for line in file.read_text(encoding="utf-8").splitlines():
            kept = line
            for own in ('"_<wbr>" | safe', '"<wbr>→" | safe'):
                kept = kept.replace(own, "")
            assert "safe" not in kept, f"{file.name}: {line}"
            assert "autoescape" not in kept, f"{file.name}: {line}"


@pytest.mark.parametrize("name", [*hostile.CONTROL.values(), *NASTY.values()])
def test_an_escaped_text_does_not_act(name: str) -> None:
    out = io.StringIO()
    escape.Stdout(out).write(name)
    made = {
        "latex": escape.latex(name), "csv": escape.csv(name), "markdown": escape.markdown(name),
        "html": escape.html(name), "svg": escape.svg(name), "terminal": escape.terminal(name),
        "Stdout": out.getvalue(), "script_data": escape.script_data(name, "live"),
    }  # fmt: skip
    assert made.keys() == set(escape.__all__)
    for text_ in made.values():
        hostile.harmless(text_)
    assert "\n" not in made["latex"] + made["csv"] + made["markdown"] + made["terminal"]
    assert made["script_data"].count("<") == 2
    hostile.cells([[made["csv"]]])
    assert "|" not in made["markdown"].replace("\\|", "")


@pytest.fixture(scope="module")
def nasty(made: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    with hostile.nasty_folder(Here(made, tmp_path_factory.mktemp("nasty"))) as found:
        return found


def _pictures(results: sj.Results) -> None:
    # Those with names of flows, groups and schemes; the page has all.
    for name in {"flow_shares", "groups", "delay_throughput"} & {*results.plot.names()}:
        drawn = ET.fromstring(results.plot.draw(name).svg())  # noqa: S314 - ours
        assert not [one.tag for one in drawn.iter() if one.tag.endswith(("}script", "}image", "}img"))]


def _toml(results: sj.Results) -> None:
    from sojourn.base import nesting, toml

    document = {**results.scenario, "notes": [*hostile.CONTROL.values()]}
    assert nesting.loads_toml(toml.dumps(document), "it") == document


def _terminal(results: sj.Results) -> None:
    for made in (text.comparison, text.differences, text.groups):
        hostile.harmless(made(results))


RENDERERS: dict[str, Callable[[sj.Results], object]] = {
    "HTML": lambda results: hostile.page(render(results)),
    "HTML in a notebook": lambda results: hostile.page(results._repr_html_()),
    "SVG": _pictures,
    "TOML": _toml,
    "terminal": _terminal,
    "CSV": lambda results: hostile.cells(list(csv.reader(io.StringIO(text.frame_as_csv(results.summary()))))),
}


@pytest.mark.filterwarnings("ignore:constrained_layout")
@pytest.mark.parametrize("what", RENDERERS)
def test_names_that_mean_something_elsewhere_are_names(what: str, nasty: tuple[Path, str]) -> None:
    RENDERERS[what](sj.Results.read(nasty[0]))


@pytest.mark.parametrize("which", ["summary", "differences", "drops"])
@pytest.mark.parametrize("form", ["latex", "csv"])
def test_a_table_of_such_names(which: str, form: str, nasty: tuple[Path, str], tmp_path: Path) -> None:
    said = Here(nasty[0], tmp_path).sojourn("table", nasty[0], "--table", which, "--format", form)
    assert not said.status, said
    if form == "csv":
        hostile.cells(list(csv.reader(io.StringIO(said.out))))
        assert nasty[1] in said.out.replace('""', '"') or which == "differences"
        return
    (head,) = (line for line in said.out.splitlines() if line.startswith(r"\begin{tabular}"))
    hostile.latex(said.out, columns=len(head.rpartition("{")[2]) - 1)


def test_a_table_in_markdown_keeps_its_columns() -> None:
    made = crosscheck_page._markdown(["a", "b"], [[NASTY["Markdown"], hostile.CONTROL["newline"]]])
    assert [line.replace("\\|", "").count("|") for line in made.splitlines() if line] == [3, 3, 3]


def test_a_trace_has_the_name_of_its_file_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "a\nb.trace"
    file.write_text("2\n4\n6\n")
    assert trace.read(file).name == r"a\u000ab.trace"


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_picture_shows_dollars_and_underscores() -> None:
    from sojourn.view.canvas import new_figure

    with new_figure(4, 3) as figure:
        figure.add_subplot().set_title("$\\frac{ \x1b[2J")
    shown = "".join(ET.fromstring(figure.svg()).itertext())  # noqa: S314 - ours
    assert r"$\frac{ \u001b[2J" in shown


def test_a_document_of_a_folder_has_names_of_one_line_and_descriptions_of_several() -> None:
    foreign.check_names({"description": "a\nb", "flows": [{"name": "x"}]}, "it")
    for document in ({"name": "a\nb"}, {"a\nb": 1}, {"flows": [{"name": "\x1b"}]}, {"description": "\x1b"}):
        with pytest.raises(sj.SojournError, match="control character"):
            foreign.check_names(json.loads(json.dumps(document)), "it")
