"""Scripted attempts with folders and names of a stranger: each must be held, or what it says must be harmless.

    python tests/python/hostile.py

prints a table of the attempts. An attempt is *held* if the command ends with one message and status 2, and *harmless*
if it goes on and writes nothing that acts: no control character, no command of LaTeX, no element of HTML, no formula.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

import sojourn as sj
from plans import small_plan
from shared import small_network, without_live_figures
from sojourn import cli
from sojourn.base import toml
from sojourn.plan import dumps, execute
from sojourn.plan.store import Store

SECRET = "this-is-a-secret"  # noqa: S105
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
NASTY = {
    "HTML": "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "LaTeX": r"50% \input{/etc/passwd} & $x^2$ {a}_b",
    "formula": '=HYPERLINK("http://x","y")',
    "command": "@SUM(1+1)*cmd|' /C calc'!A0",
    "Markdown": "a | b",
}
"""Names of one line that mean something in a format."""
CONTROL = {
    "newline": "x\n\\input{/etc/passwd}",
    "screen": "x\x1b[2J\x1b[H",
    "title": "x\x1b]0;owned\x07",
    "C1": "x\x9b2J",
    "bidi": "x\u202egnp.exe",
    "NUL": "x\0y",
}
"""Names that no line holds."""


def make(place: Path) -> None:
    """Write what the attempts change copies of: a run folder, a store, and a file that is nobody's business."""
    results = sj.compare(small_network(), ["codel", "pie"], replicates=2, seed=1, jobs=1)
    with mock.patch("sojourn.view.report.render", return_value=""):
        # No attempt reads the page, which takes most of the time.
        results.to_parquet(place / "run")
    execute.run(small_plan(replications=1), place / "store", jobs=1)
    (place / "secret.json").write_text(json.dumps({"format": "sojourn run folder 1", "name": SECRET}))


class Said(NamedTuple):
    """How a command ended."""

    status: object
    out: str
    wrong: str


class Here:
    """The place of one attempt.

    Parameters
    ----------
    made
        What :func:`make` wrote.
    place
        An empty folder.
    """

    def __init__(self, made: Path, place: Path) -> None:
        self.made, self.place = made, place
        self.secret = made / "secret.json"

    def run_folder(self) -> Path:
        """Return a copy of the run folder."""
        return Path(shutil.copytree(self.made / "run", self.place / "run"))

    def store(self) -> Path:
        """Return a copy of the store."""
        return Path(shutil.copytree(self.made / "store", self.place / "store"))

    def file(self, name: str, content: str | bytes) -> Path:
        """Write a file."""
        path = self.place / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def sojourn(self, *words: object) -> Said:
        """Run a command in this process."""
        out, wrong = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(wrong), contextlib.chdir(self.place):
            try:
                status: object = cli.main(list(map(str, words)))
            except SystemExit as end:
                status = end.code
        return Said(status, out.getvalue(), wrong.getvalue())


# What takes the place of a file.


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def directory(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


def empty(path: Path) -> None:
    path.touch()


def binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 16)


def deep(path: Path) -> None:
    path.write_text("[" * 100_000)


def digits(path: Path) -> None:
    path.write_text("1" * 5_000)


KINDS = {one.__name__: one for one in (fifo, device, directory, loop, huge, empty, binary, deep, digits)}


def replaced(path: Path, kind: Callable[[Path], None]) -> Path:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    kind(path)
    return path


def renamed(file: Path, column: str, name: str) -> None:
    """Give every row of a table another name."""
    table = pq.read_table(file)
    names = pa.array([name] * table.num_rows, pa.string())
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, names), file)


def edited(file: Path, change: Callable[[Any], None]) -> None:
    """Change a document in JSON."""
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


# Verdicts.


def held(said: Said) -> str:
    """Require one message and status 2."""
    assert said.status == 2, said
    assert said.wrong.startswith("sojourn: "), said
    assert said.wrong.count("\n") == 1, said
    harmless(said.out + said.wrong)
    return f"held: {said.wrong.strip()}"


def harmless(text: str) -> str:
    """Require a text without what acts in a terminal, and without the secret."""
    assert not ACTS.search(text), ascii(ACTS.findall(text))
    assert SECRET not in text
    return "harmless"


class _Elements(HTMLParser):
    """Collects the elements of a page, and attributes that run something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.add(tag)
        self.found |= {name for name, value in attrs if name.startswith("on") or "javascript:" in str(value)}


def page(text: str) -> str:
    """Require a page without programs."""
    text = without_live_figures(text)
    harmless(text)
    elements = _Elements()
    elements.feed(text)
    wrong = {
        name for name in elements.found if name.startswith("on") or name in ("script", "img", "iframe", "object")
    }
    assert not wrong, wrong
    assert "table" in elements.found
    return "harmless"


def latex(text: str, columns: int) -> str:
    """Require a table of so many columns without commands of others."""
    harmless(text)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    bare = re.sub(r"\\textbackslash\{\}|\\[&%$#_{}]|\\textasciicircum\{\}|\\textasciitilde\{\}|\$\\to\$", "", text)
    rows = [line for line in bare.splitlines() if line.endswith(r"\\")]
    assert rows
    assert {row.count("&") for row in rows} == {columns - 1}, rows
    known = {"usepackage", "begin", "end", "toprule", "midrule", "bottomrule", "pm", "textbf", "mathbf", "mbox", "\\"}
    assert set(re.findall(r"\\([a-z]+|\\)", bare)) <= known, bare
    assert "%" not in bare
    return "harmless"


_FORMULA = re.compile(r"[=@]|[+-](?![\d.]+(e[+-]?\d+)?( [\w/%]+)?$|inf$|nan$)")


def cells(rows: list[list[str]]) -> str:
    """Require cells that no spreadsheet takes for a formula."""
    assert rows
    for cell in (cell for row in rows for cell in row):
        harmless(cell)
        assert not _FORMULA.match(cell), cell
    return "harmless"


# The attempts.

Attempt = Callable[[Here], str]
ATTEMPTS: dict[str, Attempt] = {}


def attempt(title: str) -> Callable[[Attempt], Attempt]:
    def add(function: Attempt) -> Attempt:
        ATTEMPTS[title] = function
        return function

    return add


def _in_run_folder(name: str, kind: Callable[[Path], None], words: tuple[str, ...]) -> Attempt:
    def work(here: Here) -> str:
        folder = here.run_folder()
        replaced(folder / name, kind)
        return held(here.sojourn(*words, folder))

    return work


def _in_store(name: str, kind: Callable[[Path], None]) -> Attempt:
    def work(here: Here) -> str:
        store = here.store()
        replaced(next(iter(sorted(store.glob(name)))), kind)
        return held(here.sojourn("results", "query", store, "SELECT count(*) FROM runs"))

    return work


for _name, _kind, _words in (
    ("meta.json", fifo, ("report",)),
    ("meta.json", loop, ("report",)),
    ("meta.json", digits, ("report",)),
    ("scenario.json", device, ("report",)),
    ("scenario.json", huge, ("table",)),
    ("scenario.json", deep, ("table",)),
    ("schemes.json", binary, ("table",)),
    ("runs.parquet", directory, ("table",)),
    ("series.parquet", fifo, ("table",)),
    ("flows.parquet", huge, ("table",)),
):
    ATTEMPTS[f"run folder: {_name} is {_kind.__name__}"] = _in_run_folder(_name, _kind, _words)
for _name, _kind in (
    ("manifest.jsonl", fifo),
    ("runs/*.parquet", device),
    ("plans/*.toml", loop),
    ("store.json", huge),
):
    ATTEMPTS[f"store: {_name} is {_kind.__name__}"] = _in_store(_name, _kind)
for _which, _text in CONTROL.items():

    def _labelled(here: Here, text: str = _text) -> str:
        folder = here.run_folder()
        edited(folder / "scenario.json", lambda document: document.update(name=text))
        return held(here.sojourn("table", folder))

    def _flow(here: Here, text: str = _text) -> str:
        folder = here.run_folder()
        renamed(folder / "flows.parquet", "flow", text)
        return held(here.sojourn("table", folder))

    ATTEMPTS[f"run folder: {_which} in the scenario's name"] = _labelled
    ATTEMPTS[f"run folder: {_which} in the names of flows"] = _flow


@attempt("run folder: a file is a link out of it")
def _link(here: Here) -> str:
    folder = here.run_folder()
    replaced(folder / "scenario.json", lambda path: path.symlink_to(here.secret))
    return held(here.sojourn("table", folder))


@attempt("run folder: a table of 5 GB in a few kB")
def _bomb(here: Here) -> str:
    folder = here.run_folder()
    rows = pa.table({"x": pa.nulls(20_000_000, pa.int64())})
    with pq.ParquetWriter(folder / "series.parquet", rows.schema, compression="zstd") as writer:
        for _ in range(30):
            writer.write_table(rows)
    return held(here.sojourn("table", folder))


@attempt("run folder: a text of 1 MB in every row of a table")
def _texts(here: Here) -> str:
    folder = here.run_folder()
    one = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"name": one}), folder / "series.parquet", store_schema=False)
    return held(here.sojourn("table", folder))


def _sql(sql: str) -> Attempt:
    def work(here: Here) -> str:
        store = here.store()
        part = next((store / "runs").iterdir())
        before = part.read_bytes()
        text = sql.format(secret=here.secret, here=here.place, part=part)
        said = held(here.sojourn("results", "query", store, text))
        assert part.read_bytes() == before
        assert [one.name for one in here.place.iterdir()] == ["store"]
        return said

    return work


for _title, _text in {
    "reads a file": "SELECT * FROM read_text('{secret}')",
    "reads a file by its name": "SELECT * FROM '{secret}'",
    "lists a folder": "SELECT * FROM glob('{here}/*')",
    "writes a file": "COPY (SELECT 1 AS x) TO '{here}/written.csv'",
    "writes over the store": "COPY (SELECT 1 AS x) TO '{part}' (FORMAT parquet, USE_TMP_FILE false)",
    "attaches a database": "ATTACH '{here}/written.db'",
    "exports a database": "EXPORT DATABASE '{here}/written'",
    "unlocks itself": "SET enable_external_access = true",
    "loads an extension": "INSTALL httpfs",
}.items():
    ATTEMPTS[f"results query: {_title}"] = _sql(_text)


@attempt("results query: a control character in the answer")
def _answer(here: Here) -> str:
    store = here.store()
    for form in ("table", "csv", "json"):
        said = here.sojourn("results", "query", store, "SELECT 'x' || chr(27) || '[2J' AS y", "--format", form)
        assert not said.status
        harmless(said.out)
        assert r"x\u001b[2J" in said.out
    return "harmless"


@attempt("plan: a level with a newline")
def _level(here: Here) -> str:
    text = dumps(small_plan()).replace('"5 Mbit/s"', r'"5 Mbit/s\n"')
    return held(here.sojourn("plan", "check", here.file("p.toml", text)))


@attempt("plan: a name with a terminal's escape")
def _plan(here: Here) -> str:
    text = dumps(small_plan()).replace('name = "small"', r'name = "small\u001b[2J"', 1)
    return held(here.sojourn("plan", "check", here.file("p.toml", text)))


@attempt("plan: a scheme's label with a newline")
def _label(here: Here) -> str:
    text = dumps(small_plan()).replace('"PIE"', r'"PIE\n\\input{x}"')
    return held(here.sojourn("plan", "check", here.file("p.toml", text)))


@attempt("plug-in: a title with a newline")
def _title_of(here: Here) -> str:
    text = 'import sojourn as sj\n\nclass Mine(sj.Algorithm):\n    title = "x\\n\\\\input{y}"\n'
    return held(here.sojourn("list", "aqms", "--plugin", here.file("mine.py", text)))


@attempt("plug-in: a device")
def _plugin(here: Here) -> str:
    return held(here.sojourn("list", "aqms", "--plugin", replaced(here.place / "mine.py", device)))


_GRAPH = '<graphml><graph><node id="a"><data key="label">&{};</data></node><node id="b"/></graph></graphml>'


@attempt("store: a plan with a plug-in that runs when it is loaded")
def _store_code(here: Here) -> str:
    mark = here.place / "ran.py"
    return _brings(here, "mine@0123456789ab", f"import pathlib\n\npathlib.Path({str(mark)!r}).touch()\n", mark)


@attempt("store: a plan with a plug-in that is written elsewhere")
def _store_path(here: Here) -> str:
    mark = here.place / "ran.py"
    return _brings(here, str(mark.with_suffix("")), "import math\n", mark)


def _brings(here: Here, name: str, content: str, mark: Path) -> str:
    shipped = toml.inline({"name": name, "kind": "python", "content": content})
    store = here.store()
    with Store.writing(store) as opened:
        (text,) = opened.plans().values()
        opened.add_texts({}, {"small": f"plugins = [{shipped}]\n{text}"})
    said = held(here.sojourn("results", "query", store, "SELECT count(*) FROM runs"))
    assert not mark.exists()
    return said


@attempt("topology: entities that grow")
def _laughs(here: Here) -> str:
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 10))
    text = f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY e0 "ha">{entities}]>{_GRAPH.format("e9")}'
    return held(here.sojourn("topology", "show", here.file("g.graphml", text)))


@attempt("topology: an entity outside")
def _outside(here: Here) -> str:
    text = f'<!DOCTYPE g [<!ENTITY e SYSTEM "{here.secret.as_uri()}">]>{_GRAPH.format("e")}'
    return held(here.sojourn("topology", "show", here.file("g.graphml", text)))


@attempt("topology: entities in another encoding")
def _encoded(here: Here) -> str:
    body = f'<!DOCTYPE g [<!ENTITY e SYSTEM "{here.secret.as_uri()}">]>{_GRAPH.format("e")}'
    # UTF-7 may write any character in letters: a search of the bytes finds no entity.
    text = '<?xml version="1.0" encoding="utf-7"?>' + body.replace("<", "+ADw-")
    return held(here.sojourn("topology", "show", here.file("g.graphml", text)))


@attempt("topology: 4 GB in a few kB of bzip2")
def _packed(here: Here) -> str:
    packed = bz2.compress(b"#" * 45_000_000) * 100
    return held(here.sojourn("topology", "show", here.file("g.graphml.bz2", packed)))


@attempt("trace: a device in a scenario")
def _trace(here: Here) -> str:
    replaced(here.place / "cell.trace", device)
    document = small_network().to_dict()
    document["links"][0].pop("rate")
    document["links"][0]["trace"] = {"file": "cell.trace"}
    return held(here.sojourn("run", here.file("s.json", json.dumps(document))))


@attempt("trace: a file whose name has a terminal's escape")
def _trace_name(here: Here) -> str:
    name = "x\x1b[2J\n.trace"
    said = here.sojourn("trace", "show", here.file(name, "2\n4\n6\n"))
    return harmless(said.out + said.wrong)


@attempt("device: a store whose table is a query without an end")
def _view(here: Here) -> str:
    with contextlib.closing(sqlite3.connect(here.place / "w.db")) as made:
        made.execute(f"PRAGMA application_id = {0x534A5244}")
        made.execute("PRAGMA user_version = 1")
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n"
        for name in ("windows", "classes", "slots", "runs", "columns"):
            made.execute(f"CREATE VIEW {name} AS {endless}")
        made.commit()
    return held(here.sojourn("device", "windows", here.place / "w.db"))


@contextlib.contextmanager
def nasty_folder(here: Here) -> Iterator[tuple[Path, str]]:
    """Give a run folder whose names, all of one line, mean something in other formats."""
    folder = here.run_folder()
    name = " ".join(NASTY.values())
    edited(folder / "scenario.json", lambda document: document.update(name=name, description=name))
    edited(folder / "schemes.json", lambda schemes: schemes[0].update(label=name))
    for file in sorted(folder.glob("*.parquet")):
        table = pq.read_table(file)
        # Names of groups and queues are those of the scenario, which has letters and digits alone.
        for column, what, own in (("flow", "bulk", NASTY["HTML"]), ("scheme", "codel", name)):
            if column in table.column_names:
                values = [value.replace(what, own) for value in table[column].to_pylist()]
                place = table.schema.get_field_index(column)
                table = table.set_column(place, table.schema.field(place), pa.array(values, pa.string()))
        pq.write_table(table, file)
    yield folder, name


def main() -> int:
    """Make every attempt and print the table; 1 if one was neither held nor harmless."""
    with tempfile.TemporaryDirectory() as top:
        make(Path(top))
        rows = []
        for number, (title, work) in enumerate(ATTEMPTS.items()):
            place = Path(top) / str(number)
            place.mkdir()
            try:
                outcome = work(Here(Path(top), place))
            except AssertionError as error:
                outcome = f"NOT HELD: {error}"
            rows.append((title, outcome.replace(str(place), ".").replace(top, "..")))
            shutil.rmtree(place)
    width = max(len(title) for title, _ in rows)
    for title, outcome in rows:
        print(f"{title:{width}}  {outcome[:150]}")
    wrong = sum(outcome.startswith("NOT") for _, outcome in rows)
    print(f"{len(rows)} attempts, {len(rows) - wrong} held or harmless")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
