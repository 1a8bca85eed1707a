"""The store: finished runs on disk, as data sets of Parquet files.

============================ ==============================================================================
``store.json``               format and nothing else
``manifest.jsonl``           size and digest of every file, see :mod:`sojourn.plan.manifest`
``runs/``                    one row per run; likewise ``queues/``, ``flows/``, ``distributions/``, ``series/``
``groups/``                  one row a group of flows
``phases/``                  one row a phase between changes
``stations/``                one row per station, of runs with 802.11 cells
``recipes/``                 what each run is made from, a second time: for repair
``scenarios/HASH.json``      the canonical scenarios
``plans/NAME.toml``          the plans that were run into it
``failed/RUN.toml, .txt``    scenarios of runs that failed, and why
``copies/``                  the manifest, the scenarios and the plans a second time: for repair
``damaged/``                 what repair has moved aside
============================ ==============================================================================

One *part* is one file in each data set under the same name; the file in ``runs/`` is written last. The store consists
of the files that the manifest lists. Other files are unfinished: readers ignore them, and the next writer removes
them. A writer writes every file aside, flushes it to the disk and renames it, and then does the same with the
manifest. So a kill at any moment leaves the store as it was before or as it is afterwards. Files that have been
merged into a new part are removed once the manifest lists that part in their place.

Every file is compared with the manifest before it is read, so damage is an error and never another result.

One process writes at a time (a lock on ``lock``); any number read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn.base import foreign, nesting, systems, whole_files
from sojourn.base.core import Document
from sojourn.base.errors import StoreError
from sojourn.plan import manifest, rows
from sojourn.plan.manifest import COPY, DATA, FOLDERS, MANIFEST, MARK, Content, Files, StoreDamagedError

FORMAT: Final = "sojourn store 2"
WITHOUT_MANIFEST: Final = "sojourn store 1"
MERGE_UP_TO: Final = 20_000
"""Parts with this many runs or more stay as they are."""
RECIPE: Final = ("build", "scenario", "scheme", "seed", "replication", "sampled")
"""The columns of ``runs`` that say what a run is made from."""

_LOCK: Final = "lock"
_RETRIES: Final = 10

_T = TypeVar("_T")


class Store:
    """A folder of finished runs."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._lock: IO[str] | None = None
        self._files: Files = {}
        self._read_from: tuple[int, ...] | None = None

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """Open an existing store of this version for reading; damage that sizes show is an error."""
        store = cls(folder)
        store._check_mark()
        store._steady(store._look)
        return store

    @classmethod
    def exists(cls, folder: str | Path) -> bool:
        """Return whether a folder is a store, intact or damaged."""
        return any((Path(folder) / name).exists() for name in (MARK, MANIFEST))

    @classmethod
    @contextmanager
    def writing(cls, folder: str | Path, *, unchecked: bool = False) -> Iterator[Store]:
        """Open a store to write, made if it is not there; nobody else writes until the block ends.

        `unchecked` takes it as it is, without its manifest: for repair, which calls :meth:`trust` or :meth:`adopt`.
        """
        store = cls(folder)
        try:
            if not unchecked:
                store._refuse_others()
            store.folder.mkdir(parents=True, exist_ok=True)
            with (store.folder / _LOCK).open("a+") as lock:
                try:
                    systems.lock(lock)
                except OSError:
                    lock.seek(0)
                    who = lock.read().strip()
                    raise StoreError(
                        f"{folder}: another plan is being run into this store{who and f' (process {who})'}"
                    ) from None
                lock.truncate(0)
                lock.write(str(os.getpid()))
                lock.flush()
                store._lock = lock
                store._make(unchecked=unchecked)
                yield store
        except OSError as error:
            # Those of a network have no number, and are no matter of the folder's.
            if error.errno is None:
                raise
            raise StoreError(f"cannot write {str(folder)!r}: {error.strerror or error}") from None
        finally:
            store._lock = None

    def parts(self) -> list[str]:
        """Return the names of all complete parts, sorted."""
        return sorted(path.removeprefix("runs/") for path in self.listed() if path.startswith("runs/"))

    def files(self, table: str) -> list[Path]:
        """Return the files of a data set, compared with the manifest."""

        def files() -> list[Path]:
            return [self._checked(f"{table}/{name}") for name in self._with(table, self.parts())]

        return self._steady(files)

    def read(self, table: str, columns: Sequence[str] | None = None, runs: Iterable[str] | None = None) -> pa.Table:
        """Read a data set in the order of its runs' identities; by default all columns of all runs."""
        wanted = None if columns is None else list(dict.fromkeys((rows.KEY, *columns)))
        chosen = None if runs is None else pc.field(rows.KEY).isin(pa.array(list(runs), pa.string()))

        def parts() -> list[pa.Table]:
            names = self._with(table, self.parts())
            return [self._table(f"{table}/{name}", columns=wanted, filters=chosen) for name in names]

        found = self._steady(parts)
        if not found:
            empty = rows.schema(table).empty_table()
            return empty if wanted is None else empty.select(wanted)
        whole = pa.concat_tables(found, promote_options="default")
        if unknown := [name for name in wanted or () if name not in whole.column_names]:
            raise StoreError(f"{self.folder}: {table} has no column {', '.join(unknown)}: another version wrote it")
        return ordered(whole)

    def _with(self, table: str, names: Iterable[str]) -> list[str]:
        """Return the parts that have a file in a data set: all, but of those that are optional."""
        return [name for name in names if table not in rows.OPTIONAL or f"{table}/{name}" in self.listed()]

    def identities(self) -> set[str]:
        """Return the identities of all finished runs."""
        return set(self.read("runs", columns=[rows.KEY])[rows.KEY].to_pylist())

    def builds(self) -> dict[str, int]:
        """Return how many runs each build of the code made."""
        counted = self.read("runs", columns=["build"])["build"].value_counts().to_pylist()
        return {row["values"]: row["counts"] for row in counted}

    def scenario(self, name: str) -> Document:
        """Return a canonical scenario by its hash, or raise a KeyError."""
        path = f"scenarios/{name}.json"
        if path not in self.listed():
            raise KeyError(name)
        document: Document = nesting.loads_json(self._steady(lambda: self._text(path)), self.folder / path)
        foreign.check_names(document, self.folder / path)
        return document

    def plans(self) -> dict[str, str]:
        """Return the text of every plan that was run into the store, by name."""
        return self._texts("plans", ".toml")

    def failures(self) -> dict[str, str]:
        """Return what went wrong in each run that failed, by identity."""
        return self._texts("failed", ".txt")

    # Reading: nothing comes from a file that has not been compared with the manifest.

    def _texts(self, folder: str, suffix: str) -> dict[str, str]:
        def texts() -> dict[str, str]:
            paths = [path for path in self.listed() if path.startswith(f"{folder}/") and path.endswith(suffix)]
            return {path[len(folder) + 1 : -len(suffix)]: self._text(path) for path in sorted(paths)}

        return self._steady(texts)

    def _text(self, path: str) -> str:
        try:
            return foreign.read_text(self._checked(path), within=self.folder)
        except (OSError, UnicodeDecodeError) as error:
            raise StoreDamagedError(self.folder, path, f"unreadable: {error}") from None

    def _table(self, path: str, **which: object) -> pa.Table:
        try:
            return foreign.table(self._checked(path), within=self.folder, **which)
        except (OSError, pa.ArrowException) as error:
            raise StoreDamagedError(self.folder, path, f"unreadable: {error}") from None

    def _checked(self, path: str) -> Path:
        listed = self.listed().get(path)
        problem = manifest.problem(self.folder, path, listed) if listed else "missing: the manifest does not list it"
        if problem:
            raise StoreDamagedError(self.folder, path, problem)
        return self.folder / path

    def listed(self) -> Files:
        """Return every file with the contents that it may have, from the manifest."""
        if self._lock is None:
            # A writer may have published another manifest since.
            signature = self._signature()
            if signature is None or signature != self._read_from:
                self._files, self._read_from = manifest.load(self.folder), signature
        return self._files

    def _signature(self) -> tuple[int, ...] | None:
        try:
            found = (self.folder / MANIFEST).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _steady(self, work: Callable[[], _T]) -> _T:
        """Read; again if what is not there as the manifest has it was taken away by a writer meanwhile."""
        for _ in range(_RETRIES):
            try:
                return work()
            except StoreDamagedError:
                if self._lock is not None or self._read_from is None or self._signature() == self._read_from:
                    raise
        return work()

    def _look(self) -> None:
        """Raise if a file is missing, or not as long as it was."""
        for path, contents in self.listed().items():
            if problem := manifest.problem(self.folder, path, contents, by_size=True):
                raise StoreDamagedError(self.folder, path, problem)

    def _check_mark(self) -> None:
        try:
            found = foreign.read_bytes(self.folder / MARK, within=self.folder)
        except OSError as error:
            if isinstance(error, FileNotFoundError | NotADirectoryError) and not self.exists(self.folder):
                raise StoreError(
                    f"{self.folder} is not a store: it has no {MARK}; `sojourn plan run PLAN --store DIR` makes one"
                ) from None
            raise StoreDamagedError(self.folder, MARK, manifest.error_text(error)) from None
        if found == mark():
            return
        if found == mark(WITHOUT_MANIFEST):
            raise StoreError(
                f"{self.folder}: a store of an earlier version, without a manifest that shows damage; "
                f"`sojourn plan verify {self.folder} --adopt` checks what can be checked and writes one"
            )
        listed = manifest.load(self.folder).get(MARK, ())
        if listed and not manifest.problem(self.folder, MARK, listed):
            raise StoreError(f"{self.folder}: a store of another version ({found!r}, this is {FORMAT!r})")
        raise StoreDamagedError(self.folder, MARK, "changed: it does not say what was written")

    # Writing: only under the lock.

    def add(self, done: Sequence[dict[str, pa.Table]]) -> None:
        """Add finished runs, the tables of :func:`sojourn.plan.rows.tables`, as one part."""
        if done:
            self._write_part({name: ordered(pa.concat_tables([one[name] for one in done])) for name in rows.EVERY})

    def add_texts(self, scenarios: Mapping[str, str], plans: Mapping[str, str]) -> None:
        """Keep the texts of scenarios, and of plans; a plan of the same name is replaced."""
        texts = {f"scenarios/{name}.json": text for name, text in scenarios.items()}
        texts |= {f"plans/{name}.toml": text for name, text in plans.items()}
        contents = {path: text.encode() for path, text in texts.items()}
        new = {path: one for path, one in contents.items() if self._files.get(path) != (Content.of(one),)}
        replaced = {path: one for path, one in new.items() if path in self._files}
        if new:
            # The copy first: a file that is being replaced counts as soon as it is there.
            self.commit({**copy(texts), **{path: one for path, one in new.items() if path not in replaced}})
        if replaced:
            self.commit(replaced)

    def add_failures(self, failures: Mapping[str, tuple[str, str]]) -> None:
        """Keep the scenarios of runs that failed, and why, by identity."""
        new: dict[str, bytes] = {}
        for identity, (scenario, why) in failures.items():
            new |= {f"failed/{identity}.toml": scenario.encode(), f"failed/{identity}.txt": why.encode()}
        if new:
            self.commit(new)

    def clear_failures(self, identities: Iterable[str]) -> None:
        """Remove the failures of runs that have succeeded since."""
        there = {path for path in self._files if path.startswith("failed/")}
        paths = [f"failed/{identity}{suffix}" for identity in identities for suffix in (".txt", ".toml")]
        if removed := there.intersection(paths):
            self.commit({}, removed)

    def remove(self, identities: set[str]) -> None:
        """Take runs out of the store."""
        touched = []
        for name in self.parts():
            ids = self._table(f"runs/{name}", columns=[rows.KEY])[rows.KEY].to_pylist()
            if not identities.isdisjoint(ids):
                touched.append(name)
        self._merge(touched, without=identities)

    def merge(self) -> None:
        """Merge small parts into one, sorted by identity: the same runs give the same bytes, whatever their order."""
        small = [name for name in self.parts() if self._rows(name) < MERGE_UP_TO]
        if len(small) > 1:
            self._merge(small)

    def trust(self, files: Files) -> None:
        """Take a list of files for the manifest, as repair does that has found out what they must hold."""
        self._files = files
        self._settle()

    def adopt(self, files: Files, new: Mapping[str, bytes]) -> None:
        """Take files into the store that are there, and write others, the last of which makes it a store."""
        self._files = files
        self.commit(new)
        for path in (*self.unfinished(), "merging.json"):
            (self.folder / path).unlink(missing_ok=True)

    def _rows(self, name: str) -> int:
        file = self._checked(f"runs/{name}")
        return int(pq.read_metadata(file).num_rows)

    def _merge(self, names: list[str], without: set[str] | None = None) -> None:
        if not names:
            return
        merged = {}
        for table in rows.EVERY:
            found = [self._table(f"{table}/{name}") for name in self._with(table, names)]
            whole = pa.concat_tables([*found, rows.schema(table).empty_table()], promote_options="default")
            if without:
                removed = pc.is_in(whole[rows.KEY], value_set=pa.array(sorted(without), pa.string()))
                whole = whole.filter(pc.invert(removed))
            merged[table] = ordered(whole)
        self._write_part(merged, replaces=names)

    def _write_part(self, tables: dict[str, pa.Table], replaces: Sequence[str] = ()) -> None:
        new = part(tables)
        removed = {path for name in replaces for table in DATA if (path := f"{table}/{name}") in self._files}
        self.commit(new, removed.difference(new))

    def commit(self, new: Mapping[str, bytes], removed: Iterable[str] = ()) -> None:
        """Write files in their order, then the manifest, then remove others: all of it or, for readers, nothing."""
        contents = {path: Content.of(content) for path, content in new.items()}
        # Until a file is replaced it is right as it was, and from then on as it will be.
        taken = {
            path: (*self._files[path], content)
            for path, content in contents.items()
            if path in self._files and content not in self._files[path]
        }
        if taken:
            self._publish({**self._files, **taken})
        for path, content in new.items():
            whole_files.put(self.folder / path, content)
        for folder in dict.fromkeys((self.folder / path).parent for path in new):
            whole_files.flush(folder)
        away = set(removed)
        kept = {path: found for path, found in self._files.items() if path not in away}
        self._publish({**kept, **{path: (content,) for path, content in contents.items()}})
        for path in away:
            (self.folder / path).unlink(missing_ok=True)

    def _publish(self, files: Files) -> None:
        text = manifest.dump(files)
        for path in (MANIFEST, COPY):
            whole_files.put(self.folder / path, text)
            whole_files.flush((self.folder / path).parent)
            # The first counts.
            self._files = files

    def _refuse_others(self) -> None:
        """Raise if the folder holds anything but a store, or what an interrupted writer left of making one."""
        if self.exists(self.folder) or not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise StoreError(f"cannot write {str(self.folder)!r}: it is a file, and a store is a folder")
        foreign = sorted(f.name for f in self.folder.iterdir() if f.name != _LOCK and not _is_partial(f))
        if not {*FOLDERS, "damaged"}.issuperset(foreign):
            raise StoreError(
                f"will not make a store of {str(self.folder)!r}: it holds {foreign[0]!r}; name a new or empty folder"
            )
        for name in FOLDERS:
            if any(not _is_partial(file) for file in (self.folder / name).glob("*") if f"{name}/{file.name}" != COPY):
                raise StoreDamagedError(self.folder, MANIFEST, f"missing, and so is {MARK}")

    def _make(self, *, unchecked: bool) -> None:
        for name in FOLDERS:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if unchecked:
            return
        new = mark()
        if (self.folder / MARK).exists():
            self._check_mark()
        if (self.folder / MANIFEST).exists() or (self.folder / MARK).exists():
            self._files = manifest.load(self.folder)
        if (self.folder / MARK).exists() or set(self._files) - {MARK}:
            self._look()
            self._settle()
        else:
            # The manifest first: a store has one as soon as it is a store.
            self._publish({MARK: (Content.of(new),)})
            whole_files.put(self.folder / MARK, new)
            whole_files.flush(self.folder)
        for path in self.unfinished():
            (self.folder / path).unlink(missing_ok=True)

    def _settle(self) -> None:
        """Finish an interrupted write: determine which content each file has, and update the copy of the manifest."""
        settled = {
            path: (one,)
            for path, contents in self._files.items()
            if len(contents) > 1
            for one in contents
            if not manifest.problem(self.folder, path, (one,))
        }
        text = manifest.dump(self._files)
        if settled or manifest.problem(self.folder, COPY, (Content.of(text),)):
            self._publish({**self._files, **settled})

    def unfinished(self) -> list[str]:
        """Return the files that an interrupted writer left, which the manifest does not list."""
        listed = self.listed()
        partial = [
            file for folder in ("", *FOLDERS) for file in (self.folder / folder).glob(f"*{whole_files.PARTIAL}")
        ]
        found = [str(file.relative_to(self.folder)) for file in partial]
        # What somebody has put into the folder of plans is left alone.
        for folder in FOLDERS:
            kinds = {"scenarios": ("json",), "copies": ("json",), "failed": ("toml", "txt"), "plans": ()}
            for kind in kinds.get(folder, ("parquet",)):
                found += [f"{folder}/{file.name}" for file in (self.folder / folder).glob(f"*.{kind}")]
        return sorted(path for path in found if path not in listed)


def mark(form: str = FORMAT) -> bytes:
    """Return what ``store.json`` holds."""
    return json.dumps({"format": form}).encode()


def part(tables: Mapping[str, pa.Table]) -> dict[str, bytes]:
    """Return the files of a part, the runs last; none without runs, none of an optional data set without rows."""
    identities = tables["runs"][rows.KEY].to_pylist()
    if not identities:
        return {}
    whole = {**tables, "recipes": tables["runs"].select([rows.KEY, *RECIPE])}
    name = part_name(identities)
    written = [table for table in reversed(DATA) if table not in rows.OPTIONAL or whole.get(table)]
    return {f"{table}/{name}": _parquet(whole[table]) for table in written}


def part_name(identities: Sequence[str]) -> str:
    """Return the name of the part that holds some runs, sorted."""
    return f"{hashlib.blake2b(''.join(identities).encode(), digest_size=8).hexdigest()}.parquet"


def copy(texts: Mapping[str, str]) -> dict[str, bytes]:
    """Return the file in ``copies`` that holds some texts a second time."""
    content = json.dumps(texts, ensure_ascii=False, sort_keys=True).encode()
    return {f"copies/{hashlib.blake2b(content, digest_size=8).hexdigest()}.json": content}


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _is_partial(file: Path) -> bool:
    return file.name.endswith(whole_files.PARTIAL)


def ordered(table: pa.Table) -> pa.Table:
    """Order by run and nothing else: the rows of one run stay in their order."""
    order = pc.sort_indices(table[rows.KEY])  # stable
    return table.take(order).combine_chunks()
