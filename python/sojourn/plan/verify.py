"""Finding damage in a store and restoring it: texts from their copies, results by repeating their runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sojourn.base import core, foreign
from sojourn.base.errors import SojournError, StoreError
from sojourn.base.processors import cores
from sojourn.plan import manifest, rows, store, worker
from sojourn.plan.executors import threads
from sojourn.plan.identity import REAL, WORLDS, Run, scenario_hash
from sojourn.plan.manifest import COPY, DATA, MANIFEST, MARK, Content, Files, StoreDamagedError
from sojourn.plan.store import Store

ASIDE: Final = "damaged"
_BATCH: Final = 64
_ROUNDS: Final = 10


@dataclass(frozen=True)
class Damage:
    """A file that is not what was written; `problem` as in :class:`StoreDamagedError`."""

    file: str
    problem: str


@dataclass(frozen=True)
class Found:
    """What a look at every file of a store found; `unfinished` is what an interrupted writer left."""

    folder: Path
    files: int
    size: int
    damaged: tuple[Damage, ...]
    unfinished: tuple[str, ...]


@dataclass(frozen=True)
class Repaired:
    """How each damaged file was restored, why others could not be, and whether these were taken out of the store."""

    restored: dict[str, str]
    lost: dict[str, str]
    dropped: bool


def verify(folder: str | Path) -> Found:
    """Compare every file of a store with its manifest."""
    place = Path(folder)
    for _ in range(_ROUNDS):
        files, damaged = _compare(place)
        # A writer may have replaced the manifest in the middle.
        if not damaged or _quietly(place, MANIFEST) in (files, None):
            break
    seen = Store(place)
    unfinished = tuple(seen.unfinished()) if _quietly(place, MANIFEST) is not None else ()
    size = sum(contents[0].size for contents in files.values())
    return Found(place, len(files), size, tuple(damaged), unfinished)


def repair(
    folder: str | Path, *, jobs: int | None = None, drop: bool = False, say: Callable[[str], None] = lambda _: None
) -> Repaired:
    """Move damaged files aside, into ``damaged/``, and restore what they held.

    Scenarios and plans are restored from their copies. The runs of a damaged file are repeated, which gives the same
    bytes again. Texts about failed runs are dropped: the command that runs the plan tries these runs again. With
    `drop`, what cannot be restored, such as runs of another build, is taken out of the store and moved aside, too.
    """
    place = Path(folder)
    files, _ = _compare(place)
    if not files:
        raise StoreError(
            f"{place}: both copies of the manifest are damaged: nothing says what the other files must be; "
            f"`sojourn plan verify {place} --adopt` checks what can be checked and writes a new manifest"
        )
    with Store.writing(place, unchecked=True) as opened:
        # Another process may have written since.
        opened.trust(_compare(place)[0])
        return _Repair(opened, jobs or cores(), drop, say).work()


def adopt(folder: str | Path) -> int:
    """Give a store of an earlier version, or one that has lost its manifest, a manifest of the files that are there.

    Whatever shows without digests is checked: that every file can be read, that the names of parts and scenarios are
    the hashes of what they hold, and that every run's identity is the hash of what it is made from. Values that have
    changed before are not noticed. Returns the number of files.
    """
    place = Path(folder)
    if _quietly(place, MANIFEST) or _quietly(place, COPY):
        raise StoreError(
            f"{place} has a manifest: `sojourn plan verify {place}` compares its files, --repair restores them"
        )
    is_own = (place / MARK).is_file() or any((place / "runs").glob("*.parquet"))
    if not is_own:
        raise StoreError(f"{place} is not a store: it has no {MARK}")
    with Store.writing(place, unchecked=True) as opened:
        texts = {path: _text(place, path) for path in _there(place, "scenarios", "json")}
        for path, text in texts.items():
            if scenario_hash(text) != Path(path).stem:
                raise StoreDamagedError(place, path, "changed: its name is not the hash of its content")
        texts |= {path: _text(place, path) for path in _there(place, "plans", "toml")}
        failed = _there(place, "failed", "toml") + _there(place, "failed", "txt")
        kept = {path: (Content.of(text.encode()),) for path, text in texts.items()}
        kept |= {path: (Content.of(_text(place, path).encode()),) for path in failed}
        recipes: dict[str, bytes] = {}
        for name in _parts_before(place):
            own, recipe = _adopted(place, name)
            kept |= {path: (content,) for path, content in own.items()}
            recipes |= recipe
        opened.adopt(kept, {**store.copy(texts), **recipes, MARK: store.mark()})
        return len(opened.listed())


class _Repair:
    """One repair, under the lock."""

    def __init__(self, opened: Store, jobs: int, drop: bool, say: Callable[[str], None]) -> None:
        self._store = opened
        self._files: Files = dict(opened.listed())
        self._jobs = jobs
        self._drop = drop
        self._say = say
        self._restored: dict[str, str] = {}
        self._lost: dict[str, str] = {}

    def work(self) -> Repaired:
        place = self._store.folder
        bad = {
            path: problem
            for path, allowed in self._files.items()
            if (problem := manifest.problem(place, path, allowed))
        }
        for name in (MANIFEST, COPY):
            if _quietly(place, name) is None:
                self._aside(name)
                self._restored[name] = "written again from its copy"
        self._small(bad)
        self._parts(bad)
        if self._lost and self._drop:
            gone = {path for path in self._lost if path in self._files}
            # A part goes as a whole.
            names = {Path(path).name for path in gone if path.split("/")[0] in DATA}
            gone |= {path for path in self._files if path.split("/")[0] in DATA and Path(path).name in names}
            for path in gone:
                self._aside(path)
            self._store.commit({}, gone)
        else:
            self._store.commit({})
        return Repaired(self._restored, self._lost, self._drop)

    def _small(self, bad: Mapping[str, str]) -> None:
        """Restore the mark, scenarios and plans; make a damaged copy again; forget damaged texts of failures."""
        copies = _copies(self._store.folder, [path for path in self._files if path not in bad])
        again: dict[str, bytes] = {}
        gone: list[str] = []
        for path in bad:
            folder = path.partition("/")[0]
            if path == MARK:
                again[path] = store.mark()
            elif folder in ("scenarios", "plans"):
                found = next((text for text in copies.get(path, ()) if Content.of(text) in self._files[path]), None)
                if found is None:
                    self._lost[path] = "no copy of it is whole; running its plan again into the store writes it"
                else:
                    again[path] = found
            elif folder in ("failed", "copies"):
                gone.append(path)
        for path in (*again, *gone):
            self._aside(path)
        self._restored |= dict.fromkeys(again, "restored from its copy, the same bytes")
        self._restored |= {
            path: "made again" if path.startswith("copies/") else "dropped; running the plan tries the run again"
            for path in gone
        }
        if any(path.startswith("copies/") for path in gone):
            texts = {
                path: _text(self._store.folder, path)
                for path in self._files
                if path.startswith(("scenarios/", "plans/")) and path not in bad
            }
            texts |= {path: text.decode() for path, text in again.items() if path != MARK}
            again |= store.copy(texts)
        if again:
            self._store.commit(again)
        self._store.commit({}, set(gone) - set(again))

    def _parts(self, bad: Mapping[str, str]) -> None:
        by_part: dict[str, list[str]] = {}
        for path in bad:
            folder, _, name = path.partition("/")
            if folder in DATA:
                by_part.setdefault(name, []).append(path)
        for name, paths in by_part.items():
            try:
                made, how = self._part(name, paths)
            except SojournError as error:
                self._lost |= dict.fromkeys(paths, str(error))
                continue
            same = all(Content.of(made[path]) in self._files[path] for path in paths)
            for path in paths:
                self._aside(path)
            # Another version of the Parquet library may write other bytes for the same rows: then the whole part.
            self._store.commit({path: content for path, content in made.items() if path in paths or not same})
            which = "the same bytes" if same else "the same rows, written by another version of the Parquet library"
            self._restored |= dict.fromkeys(paths, f"{how}, {which}")

    def _part(self, name: str, paths: Sequence[str]) -> tuple[dict[str, bytes], str]:
        place = self._store.folder
        whole = [table for table in ("runs", "recipes") if f"{table}/{name}" not in paths]
        if not whole:
            raise StoreError("both files that say which runs it held are damaged")
        held = foreign.table(place / whole[0] / name, within=place, columns=[rows.KEY, *store.RECIPE])
        if paths == [f"recipes/{name}"]:
            there = [table for table in rows.EVERY if f"{table}/{name}" in self._files]
            tables = {table: foreign.table(place / table / name, within=place) for table in there}
            return store.part(tables), "made again"
        runs = held.to_pylist()
        other = {str(row["build"]) for row in runs} - {core.build()}
        if other:
            raise StoreError(
                f"it holds runs of {', '.join(sorted(other))}, and this is {core.build()}: "
                "repair with that build, or take the runs out of the store with --drop"
            )
        self._say(f"repeating {len(runs)} runs")
        return store.part(self._repeat(runs)), f"{len(runs)} runs repeated"

    def _repeat(self, held: list[dict[str, Any]]) -> dict[str, pa.Table]:
        batches = [
            worker.Batch(core.build(), *self._batch(held[at : at + _BATCH])) for at in range(0, len(held), _BATCH)
        ]
        executor = threads(self._jobs)
        done: list[worker.Done] = []
        try:
            for number, batch in enumerate(batches):
                executor.submit(number, batch)
            while len(done) < len(batches):
                answer = executor.next(0.25)
                if answer is None:
                    continue
                if isinstance(answer[1], BaseException):
                    raise StoreError(f"its runs cannot be repeated: {answer[1]}") from None
                if answer[1].failed:
                    raise StoreError(f"a run of it fails now: {next(iter(answer[1].failed.values()))}")
                done.append(answer[1])
        finally:
            executor.close()
        return {table: store.ordered(pa.concat_tables([one.tables[table] for one in done])) for table in rows.EVERY}

    def _batch(self, held: list[dict[str, Any]]) -> tuple[tuple[str, ...], tuple[tuple[int, Run], ...]]:
        names = list(dict.fromkeys(str(row["scenario"]) for row in held))
        runs = tuple((names.index(str(row["scenario"])), _run_of(row)) for row in held)
        if any(run.world == REAL for _, run in runs):
            raise StoreError("its runs are of real packets, which are never the same again")
        return tuple(self._scenario(name) for name in names), runs

    def _scenario(self, name: str) -> str:
        path = f"scenarios/{name}.json"
        allowed = self._files.get(path, ())
        if manifest.problem(self._store.folder, path, allowed or (Content(0, ""),)):
            raise StoreError(f"the scenario of its runs, {path}, is damaged")
        return _text(self._store.folder, path)

    def _aside(self, path: str) -> None:
        """Move a file into the folder of damaged ones, under a name of its own."""
        file = self._store.folder / path
        if not file.exists():
            return
        aside = self._store.folder / ASIDE
        aside.mkdir(exist_ok=True)
        name = path.replace("/", "-")
        taken = {one.name for one in aside.iterdir()}
        free = next(one for one in _numbered(name) if one not in taken)
        file.replace(aside / free)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}.{number}"
        number += 1


def _compare(place: Path) -> tuple[dict[str, tuple[Content, ...]], list[Damage]]:
    """Return what a store must hold, by whichever manifest is whole, and what is damaged."""
    if not Store.exists(place):
        Store.open(place)
    damaged: list[Damage] = []
    listed: list[dict[str, tuple[Content, ...]]] = []
    for name in (MANIFEST, COPY):
        try:
            listed.append(manifest.load(place, name))
        except StoreDamagedError as error:
            damaged.append(Damage(name, error.problem))
    if not listed:
        # One of an earlier version says so.
        Store.open(place)
        return {}, damaged
    for path, allowed in sorted(listed[0].items()):
        if problem := manifest.problem(place, path, allowed):
            damaged.append(Damage(path, problem))
    return listed[0], damaged


def _quietly(place: Path, name: str) -> dict[str, tuple[Content, ...]] | None:
    try:
        return manifest.load(place, name)
    except StoreDamagedError:
        return None


def _copies(place: Path, whole: Iterable[str]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for path in whole:
        if path.startswith("copies/"):
            for name, text in json.loads(_text(place, path)).items():
                found.setdefault(name, []).append(text.encode())
    return found


def _run_of(row: Mapping[str, Any]) -> Run:
    """Return the run of a row of ``runs`` or ``recipes``, whose identity is checked."""
    for scheme, world in itertools.product((row["scheme"] or None, ""), WORLDS):
        run = Run(row["scenario"], scheme, row["seed"], row["replication"], row["sampled"], world)
        if run.id(row["build"]) == row[rows.KEY]:
            return run
    raise StoreError(f"the run {row[rows.KEY]} is not made from what its row says")


# Stores of earlier versions.


def _there(place: Path, folder: str, kind: str) -> list[str]:
    return [f"{folder}/{file.name}" for file in sorted((place / folder).glob(f"*.{kind}"))]


def _text(place: Path, path: str) -> str:
    try:
        return foreign.read_text(place / path, within=place)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreDamagedError(place, path, f"unreadable: {error}") from None


def _parts_before(place: Path) -> list[str]:
    """Return the parts of a store without a manifest, which notes a merge that was interrupted."""
    names = {file.name for file in (place / "runs").glob("*.parquet")}
    note = place / "merging.json"
    if note.exists():
        try:
            found = json.loads(_text(place, note.name))
            new, old = str(found["part"]), set(map(str, found["replaces"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreDamagedError(place, note.name, f"unreadable: {error}") from None
        if new in names:
            names -= old
    return sorted(names)


def _adopted(place: Path, name: str) -> tuple[dict[str, Content], dict[str, bytes]]:
    """Return the files of a part that no digest vouches for, checked as far as that goes, and its recipes."""
    contents: dict[str, Content] = {}
    tables: dict[str, pa.Table] = {}
    identities: list[str] = []
    for table in rows.EVERY:
        path = f"{table}/{name}"
        if table in rows.OPTIONAL and not (place / path).exists():
            continue
        try:
            content = foreign.read_bytes(place / path, within=place, most=foreign.LARGEST_TABLE)
            tables[table] = foreign.table(place / path, within=place)
            found = tables[table][rows.KEY].to_pylist()
        except FileNotFoundError:
            raise StoreDamagedError(place, path, "missing") from None
        except (OSError, pa.ArrowException, KeyError, ValueError) as error:
            raise StoreDamagedError(place, path, f"unreadable: {error}") from None
        contents[path] = Content.of(content)
        if table == "runs":
            identities = found
        elif not set(found) <= set(identities):
            raise StoreDamagedError(place, path, "changed: it has rows of runs that the part does not hold")
    path = f"runs/{name}"
    if store.part_name(identities) != name:
        raise StoreDamagedError(place, path, "changed: its name is not the hash of its runs")
    try:
        for row in tables["runs"].select([rows.KEY, *store.RECIPE]).to_pylist():
            _run_of(row)
    except (KeyError, SojournError) as error:
        raise StoreDamagedError(place, path, f"changed: {error}") from None
    # Earlier versions left parts without runs.
    if not identities:
        return {}, {}
    recipes = f"recipes/{name}"
    return contents, {recipes: store.part(tables)[recipes]}
