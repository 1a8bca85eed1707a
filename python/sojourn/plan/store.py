"""The store: finished runs on disk, as data sets of Parquet files.

============================ ==============================================================================
``store.json``               format and nothing else
``runs/``                    one row a run; likewise ``queues/``, ``flows/``, ``distributions/``, ``series/``
``scenarios/HASH.json``      the canonical scenarios
``plans/NAME.toml``          the plans that were run into it
``failed/RUN.toml, .txt``    scenarios of runs that failed, and why
============================ ==============================================================================

One *part* is one file in each data set under the same name. A file appears whole (written aside, flushed to the disk,
renamed), the one in ``runs/`` last: a part is there when its runs are, and what an interrupted writer left of a part
without runs is ignored, and cleared away by the next writer. Merging parts into one follows the same order with a
note, ``merging.json``, of what the new part replaces. So everything is in the files, and no kill can leave a run
half there or twice.

One process writes at a time (a lock on ``lock``); any number read.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn.core import Document, SojournError
from sojourn.plan import rows

FORMAT: Final = "sojourn store 1"
MERGE_UP_TO: Final = 20_000
"""Parts with this many runs or more stay as they are."""

_MARK: Final = "store.json"
_NOTE: Final = "merging.json"
_LOCK: Final = "lock"
_PARTIAL: Final = ".partial"


class Store:
    """A folder of finished runs.

    Parameters
    ----------
    folder
        Where it is.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._lock: IO[str] | None = None

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """Open a store that is there, to read.

        Raises
        ------
        SojournError
            If the folder is no store.
        """
        try:
            mark = json.loads((Path(folder) / _MARK).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise SojournError(
                f"{folder} is no store: it has no {_MARK}; `sojourn plan run PLAN --store DIR` makes one"
            ) from None
        if mark.get("format") != FORMAT:
            raise SojournError(
                f"{folder}: a store of another version (format {mark.get('format')!r}, this is {FORMAT!r})"
            )
        return cls(folder)

    @classmethod
    @contextmanager
    def writing(cls, folder: str | Path) -> Iterator[Store]:
        """Open a store to write, made if it is not there; nobody else writes until the block ends.

        Raises
        ------
        SojournError
            If the folder is something else, cannot be written, or another process writes to it.
        """
        store = cls(folder)
        try:
            store._make()
            with (store.folder / _LOCK).open("a+") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    lock.seek(0)
                    who = lock.read().strip()
                    raise SojournError(
                        f"{folder}: another plan is being run into this store{who and f' (process {who})'}"
                    ) from None
                lock.truncate(0)
                lock.write(str(os.getpid()))
                lock.flush()
                store._lock = lock
                store._clear()
                yield store
        except OSError as error:
            # Those of a network have no number, and are no matter of the folder's.
            if error.errno is None:
                raise
            raise SojournError(f"cannot write {str(folder)!r}: {error.strerror or error}") from None
        finally:
            store._lock = None

    def parts(self) -> list[str]:
        """Return the names of the parts that are there whole, sorted."""
        names = {file.name for file in (self.folder / "runs").glob("*.parquet")}
        note = self._note()
        if note and note["part"] in names:
            names -= set(note["replaces"])
        return sorted(names)

    def files(self, table: str) -> list[Path]:
        """Return the files of a data set."""
        return [self.folder / table / name for name in self.parts()]

    def read(self, table: str, columns: Sequence[str] | None = None, runs: Iterable[str] | None = None) -> pa.Table:
        """Read a data set in the order of its runs' identities.

        Parameters
        ----------
        table
            ``runs``, ``queues``, ``flows``, ``distributions`` or ``series``.
        columns
            All by default.
        runs
            Identities; all by default.
        """
        wanted = None if columns is None else list(dict.fromkeys((rows.KEY, *columns)))
        chosen = None if runs is None else pc.field(rows.KEY).isin(pa.array(list(runs), pa.string()))

        def parts() -> list[pa.Table]:
            return [pq.read_table(file, columns=wanted, filters=chosen) for file in self.files(table)]

        try:
            found = parts()
        except FileNotFoundError:
            # A writer has just merged parts.
            found = parts()
        except pa.ArrowException as error:
            raise SojournError(f"{self.folder}: a file of the store is damaged: {error}") from None
        if not found:
            empty = rows.schema(table).empty_table()
            return empty if wanted is None else empty.select(wanted)
        return _sorted(pa.concat_tables(found, promote_options="default"))

    def identities(self) -> set[str]:
        """Return the identities of all finished runs."""
        return set(self.read("runs", columns=[rows.KEY])[rows.KEY].to_pylist())

    def builds(self) -> dict[str, int]:
        """Return how many runs each build of the code made."""
        counted = self.read("runs", columns=["build"])["build"].value_counts().to_pylist()
        return {row["values"]: row["counts"] for row in counted}

    def scenario(self, name: str) -> Document:
        """Return a canonical scenario by its hash."""
        document: Document = json.loads((self.folder / "scenarios" / f"{name}.json").read_text(encoding="utf-8"))
        return document

    def plans(self) -> dict[str, str]:
        """Return the text of every plan that was run into the store, by name."""
        found = sorted((self.folder / "plans").glob("*.toml"))
        return {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in found}

    def failures(self) -> dict[str, str]:
        """Return what went wrong in each run that failed, by identity."""
        found = sorted((self.folder / "failed").glob("*.txt"))
        return {file.stem: file.read_text(encoding="utf-8") for file in found}

    # Writing: only under the lock.

    def add(self, done: Sequence[dict[str, pa.Table]]) -> None:
        """Add finished runs, the tables of :func:`sojourn.plan.rows.tables`, as one part."""
        if done:
            self._write_part({name: _sorted(pa.concat_tables([one[name] for one in done])) for name in rows.NAMES})

    def add_scenarios(self, scenarios: dict[str, str]) -> None:
        """Keep the texts of scenarios."""
        for name, text in scenarios.items():
            file = self.folder / "scenarios" / f"{name}.json"
            if not file.exists():
                _write(file, text.encode())

    def add_plan(self, name: str, text: str) -> None:
        """Keep a plan's text; one of the same name is replaced."""
        file = self.folder / "plans" / f"{name}.toml"
        if not file.exists() or file.read_bytes() != text.encode():
            _write(file, text.encode())

    def add_failure(self, identity: str, scenario: str, why: str) -> None:
        """Keep the scenario of a run that failed, and why."""
        _write(self.folder / "failed" / f"{identity}.toml", scenario.encode())
        _write(self.folder / "failed" / f"{identity}.txt", why.encode())

    def clear_failures(self, identities: Iterable[str]) -> None:
        """Forget failures of runs that have gone well since."""
        there = {file.stem for file in (self.folder / "failed").iterdir()}
        for identity in there.intersection(identities):
            for suffix in (".txt", ".toml"):
                (self.folder / "failed" / f"{identity}{suffix}").unlink(missing_ok=True)

    def remove(self, identities: set[str]) -> None:
        """Take runs out of the store."""
        touched = []
        for name in self.parts():
            ids = pq.read_table(self.folder / "runs" / name, columns=[rows.KEY])[rows.KEY].to_pylist()
            if not identities.isdisjoint(ids):
                touched.append(name)
        self._merge(touched, without=identities)

    def merge(self) -> None:
        """Merge small parts into one, sorted by identity: the same runs give the same bytes, however they came."""
        small = [
            name for name in self.parts() if pq.read_metadata(self.folder / "runs" / name).num_rows < MERGE_UP_TO
        ]
        if len(small) > 1:
            self._merge(small)

    def _merge(self, names: list[str], without: set[str] | None = None) -> None:
        if not names:
            return
        merged = {}
        for table in rows.NAMES:
            whole = pa.concat_tables(
                [pq.read_table(self.folder / table / name) for name in names], promote_options="default"
            )
            if without:
                gone = pc.is_in(whole[rows.KEY], value_set=pa.array(sorted(without), pa.string()))
                whole = whole.filter(pc.invert(gone))
            merged[table] = _sorted(whole)
        part = self._write_part(merged, replaces=names)
        self._drop([name for name in names if name != part])
        (self.folder / _NOTE).unlink(missing_ok=True)

    def _write_part(self, tables: dict[str, pa.Table], replaces: Sequence[str] = ()) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for identity in tables["runs"][rows.KEY].to_pylist():
            digest.update(identity.encode())
        name = f"{digest.hexdigest()}.parquet"
        for table in reversed(rows.NAMES):
            if table == "runs" and replaces:
                note = {"part": name, "replaces": [old for old in replaces if old != name]}
                _write(self.folder / _NOTE, json.dumps(note).encode())
            file = self.folder / table / name
            partial = file.with_suffix(_PARTIAL)
            pq.write_table(tables[table], partial, compression="zstd")
            _settle(partial, file)
        return name

    def _note(self) -> dict[str, Any] | None:
        try:
            note: dict[str, Any] = json.loads((self.folder / _NOTE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return note

    def _make(self) -> None:
        mark = self.folder / _MARK
        if mark.exists():
            Store.open(self.folder)
        else:
            if self.folder.exists() and not self.folder.is_dir():
                raise SojournError(f"cannot write {str(self.folder)!r}: it is a file, and a store is a folder")
            foreign = (
                sorted(f.name for f in self.folder.iterdir() if f.name != _LOCK and not f.name.endswith(_PARTIAL))
                if self.folder.exists()
                else []
            )
            own = {*rows.NAMES, "scenarios", "plans", "failed"}
            if not own.issuperset(foreign):
                raise SojournError(
                    f"will not make a store of {str(self.folder)!r}: it holds {foreign[0]!r}; "
                    "name a new or empty folder"
                )
        for name in (*rows.NAMES, "scenarios", "plans", "failed"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if not mark.exists():
            _write(mark, json.dumps({"format": FORMAT}).encode())

    def _clear(self) -> None:
        """Clear away what an interrupted writer left."""
        whole = set(self.parts())
        for folder in (self.folder, *(self.folder / name for name in (*rows.NAMES, "scenarios", "plans", "failed"))):
            for file in folder.glob(f"*{_PARTIAL}"):
                file.unlink(missing_ok=True)
        for table in rows.NAMES:
            for file in (self.folder / table).glob("*.parquet"):
                if file.name not in whole:
                    file.unlink()
        (self.folder / _NOTE).unlink(missing_ok=True)

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            # The runs first: a part is there as long as they are.
            for table in rows.NAMES:
                with suppress(FileNotFoundError):
                    (self.folder / table / name).unlink()


def _sorted(table: pa.Table) -> pa.Table:
    """Order by run and nothing else: the rows of one run stay in their order."""
    order = pc.sort_indices(table[rows.KEY])  # stable
    return table.take(order).combine_chunks()


def _write(file: Path, content: bytes) -> None:
    partial = file.with_name(file.name + _PARTIAL)
    partial.write_bytes(content)
    _settle(partial, file)


def _settle(partial: Path, file: Path) -> None:
    """Flush a file to the disk, give it its name, and flush that."""
    for path, flags in ((partial, os.O_RDONLY), (file.parent, os.O_RDONLY | os.O_DIRECTORY)):
        if path == file.parent:
            partial.replace(file)
        handle = os.open(path, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
