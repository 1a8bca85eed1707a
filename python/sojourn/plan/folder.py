"""Run folders: all files of a run or a comparison, written completely or not at all.

========================= =====================================================================
``meta.json``             what made it: format, kind, version, seed, replications, date, platform
``scenario.toml, .json``  the canonical scenario
``schemes.json``          the schemes: label, text, every parameter
``runs.parquet``          one row per run; likewise ``queues``, ``flows``, ``groups``, ``phases``, ``stations``,
                          ``distributions``, ``series``
``summary.csv``           every metric's estimate
``plugins``               algorithms of users that the schemes name, only where there are some
``report.html``           the report, made from the files above alone
========================= =====================================================================

The folder of a comparison is also the store of its runs: ``store.json``, ``manifest.jsonl`` and what
:mod:`sojourn.plan.store` lists.

A folder is written beside its final place under a hidden name and renamed when it is complete.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import foreign, provided, toml, whole_files
from sojourn.base.core import build, version
from sojourn.base.errors import SojournError, StoreError
from sojourn.model.scheme import Scheme
from sojourn.results import tables

if TYPE_CHECKING:
    from sojourn.results.results import Results

FORMAT: Final = "sojourn run folder 1"
REPORT: Final = "report.html"
PLUGINS: Final = "plugins"
AUTO: Final = "auto"
"""The default sampling of time series: in the first replication only."""

_OWN_FILES: Final = frozenset(
    {
        "meta.json",
        "scenario.toml",
        "scenario.json",
        "schemes.json",
        "summary.csv",
        REPORT,
        *(f"{name}.parquet" for name in tables.NAMES),
    }
)
_OF_STORES: Final = frozenset(
    {"store.json", "manifest.jsonl", "lock", "damaged", "recipes", "scenarios", "plans", "failed", "copies"}
    | {*tables.NAMES}
)
"""The names that a store has in a folder; a test compares them with :mod:`sojourn.plan.manifest`."""


def _prefix(target: Path) -> str:
    return f".{target.name}.{os.getpid()}-"


def leftovers(folder: str | Path) -> dict[str, Any]:
    """Return what :func:`staged` would leave if this process were killed, for another process to remove.

    ``parent`` is the folder that holds the hidden one; ``prefix`` and ``suffix`` are of its name; ``made`` are the
    folders that are not there yet, the innermost first.
    """
    target = _absolute(folder)
    made = [str(parent) for parent in target.parents if not parent.exists()]
    return {"parent": str(target.parent), "prefix": _prefix(target), "suffix": ".partial", "made": made}


@contextmanager
def staged(folder: str | Path, *, force: bool = True) -> Iterator[Path]:
    """Give a hidden folder that takes the place of `folder` when the block ends well.

    Entering checks that the place can be written, so a long run does not end in an error. If the block fails or is
    interrupted, nothing remains. `force` replaces earlier results.
    """
    target = _absolute(folder)
    refuse_foreign(target, Path(folder))
    refuse_results(folder, force=force)
    made = [parent for parent in target.parents if not parent.exists()]
    staging: Path | None = None
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            staging = Path(tempfile.mkdtemp(prefix=_prefix(target), suffix=".partial", dir=target.parent))
            # mkdtemp's folders are private; this one becomes an ordinary one.
            staging.chmod(0o777 & ~_umask())
            if target.exists() and not os.access(target, os.W_OK | os.X_OK):
                raise PermissionError(13, "Permission denied")
        except OSError as error:
            raise _cannot_write(folder, error) from None
        try:
            yield staging
            _flush(staging)
            _exchange(staging, target)
        except OSError as error:
            # Other files than those of the folder have messages of their own.
            named = isinstance(error.filename, str) and not Path(error.filename).is_relative_to(target.parent)
            if error.errno is None or named:
                raise
            raise _cannot_write(folder, error) from None
        staging = None
    except BaseException:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise


def replace(results: Results, folder: str | Path, *, force: bool = True) -> None:
    """Write a run folder whole in the place of an earlier one, see :meth:`sojourn.Results.to_parquet`."""
    with staged(folder, force=force) as staging:
        write(results, staging)


def write(results: Results, folder: Path, command: str | None = None) -> None:
    """Write every file of a run folder into an existing, empty folder."""
    import pyarrow.parquet as pq

    from sojourn.results.text import frame_as_csv

    meta = describe(results, command)
    _write_json(folder / "meta.json", meta)
    _write_json(folder / "scenario.json", results.scenario)
    (folder / "scenario.toml").write_text(toml.dumps(results.scenario), encoding="utf-8")
    for name, content in _plugins(results).items():
        (folder / PLUGINS).mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    schemes = [
        {
            "label": scheme.label,
            "text": scheme.exact,
            "canonical": scheme.canonical,
            "parameters": {p.name: p.value for p in scheme.parameters()},
        }
        for scheme in results.schemes
    ]
    _write_json(folder / "schemes.json", schemes)
    for name in tables.NAMES:
        pq.write_table(results.arrow(name), folder / f"{name}.parquet", compression="zstd")
    (folder / "summary.csv").write_text(frame_as_csv(results.summary()), encoding="utf-8")
    # The report is made from what was written, so the same folder always gives the same page.
    page: str = provided.get("report")(read(folder, type(results)))
    (folder / REPORT).write_text(page, encoding="utf-8")


def _plugins(results: Results) -> dict[str, bytes]:
    """Return the algorithms of users by their places in the folder."""
    from sojourn.plugins.loading import repeat, shipped_in

    texts = [scheme.canonical for scheme in results.schemes]
    shipped = shipped_in([*texts, json.dumps(results.scenario)])
    repeat(shipped)
    return {f"{PLUGINS}/{one.file_name}": one.data for one in shipped}


def describe(results: Results, command: str | None = None) -> dict[str, Any]:
    """Return the meta data of results: what made them, when and where."""
    kept = {key: results.meta[key] for key in ("date", "platform", "python", "world") if key in results.meta}
    if plugins := list(_plugins(results)) or results.meta.get("plugins"):
        kept["plugins"] = plugins
    return {
        "format": FORMAT,
        "kind": results.kind,
        "version": results.code_version,
        "build": results.build,
        "seed": results.seed,
        "replications": results.replications,
        "series": results.meta.get("series", AUTO),
        "command": command or results.meta.get("command"),
        "date": now(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **kept,
    }


def now() -> str:
    """Return the present time in UTC, or that of ``SOURCE_DATE_EPOCH`` where it is set."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def stamp(form: str, **more: Any) -> str:
    """Return the text of a study's ``meta.json``: its format, what made it, and when."""
    meta = {"format": form, "version": version(), "build": build(), "date": now(), **more}
    return json.dumps(meta, indent=2) + "\n"


def read(folder: str | Path, kind: type[Results]) -> Results:
    """Read a run folder as results of this class."""
    import pyarrow as pa

    place = Path(folder)
    meta = read_meta(place)
    if meta.get("format") != FORMAT:
        raise StoreError(f"{folder}: not a run folder of this version (format {meta.get('format')!r})")
    try:
        scenario, schemes = (
            foreign.document(place / name, within=place) for name in ("scenario.json", "schemes.json")
        )
        files = {name: foreign.table(place / f"{name}.parquet", within=place) for name in tables.NAMES}
        return kind(
            scenario=scenario,
            schemes=tuple(Scheme(scheme["text"], scheme["label"]) for scheme in schemes),
            seed=int(meta["seed"]),
            replications=int(meta["replications"]),
            frames={name: tables.from_arrow(name, table) for name, table in files.items()},
            kind=str(meta["kind"]),
            meta=meta,
        )
    except SojournError:
        raise
    except OSError as error:
        file = Path(error.filename).name if error.filename else folder
        raise StoreError(f"{folder}: the run folder is damaged: {file}: {error.strerror or error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, pa.ArrowException) as error:
        raise StoreError(f"{folder}: the run folder is damaged: {error}") from None


def read_meta(folder: str | Path) -> dict[str, Any]:
    """Read the ``meta.json`` of a folder that Sojourn wrote."""
    file = Path(folder) / "meta.json"
    try:
        meta = foreign.document(file, within=file.parent)
    except SojournError:
        raise
    except (FileNotFoundError, NotADirectoryError, ValueError):
        meta = None
    except OSError as error:
        raise StoreError(f"cannot read {str(file)!r}: {error.strerror}") from None
    if not isinstance(meta, dict) or not str(meta.get("format", "")).startswith("sojourn "):
        raise StoreError(f"{folder} is not a folder that Sojourn wrote: it has no meta.json of Sojourn's")
    return meta


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all; missing folders above it are made."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes as :func:`write_text` writes text."""
    with aside(path) as staging:
        whole_files.write(staging, content)


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """Give a hidden file beside `path` that takes its place when the block ends well; else nothing remains of it."""
    staging: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=whole_files.PARTIAL, dir=path.parent)
        staging = Path(name)
        os.close(handle)
        yield staging
        staging.chmod(0o666 & ~_umask())
        whole_files.flush(staging)
        staging.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        if staging is not None:
            with suppress(OSError):
                staging.unlink(missing_ok=True)


def _write_json(file: Path, document: object) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    file.write_text(text + "\n", encoding="utf-8")


def refuse_results(target: str | Path, *, force: bool) -> None:
    """Raise if a place for results is taken: a folder that is not empty, or a file."""
    place = _absolute(target)
    try:
        taken = any(place.iterdir()) if place.is_dir() else place.is_file()
    except OSError as error:
        raise _cannot_write(target, error) from None
    if taken and not force:
        what = "holds earlier results" if place.is_dir() else "is there already"
        raise StoreError(
            f"will not replace {str(target)!r}: it {what}; name another place, or replace it with --force"
        )


def _absolute(folder: str | Path) -> Path:
    target = Path(os.path.abspath(Path(folder).expanduser()))  # noqa: PTH100 - resolve() would follow the last link
    return target.resolve() if target.is_symlink() else target


def refuse_foreign(target: Path, named: Path | None = None) -> None:
    """Raise if a folder for results is a file, or holds what Sojourn did not write; messages call it `named`."""
    named = target if named is None else named
    try:
        if not target.exists():
            return
        if not target.is_dir():
            raise StoreError(f"cannot write {str(named)!r}: it is a file, and results need a folder")
        foreign = foreign_files(target)
    except OSError as error:
        raise _cannot_write(named, error) from None
    if foreign:
        raise StoreError(
            f"will not replace {str(named)!r}: it holds {foreign[0]!r}, which Sojourn did not write; "
            "name a new or empty folder"
        )


def foreign_files(folder: Path) -> list[str]:
    """Return the names in a folder that are not part of Sojourn's output.

    Earlier output may be replaced; a folder with anything else in it may not.
    """
    names = sorted(entry.name for entry in folder.iterdir())
    is_store = {"store.json", "manifest.jsonl"} <= set(names)
    if is_store:
        names = [name for name in names if name not in _OF_STORES and not name.endswith(whole_files.PARTIAL)]
    if "meta.json" not in names:
        return [name for name in names if name != "lock"] if is_store else names
    try:
        meta = read_meta(folder)
    except SojournError:
        return names
    parts = set(meta.get("parts", ()))
    plugins = set(meta.get("plugins", ()))
    own = {PLUGINS} if plugins and (folder / PLUGINS).is_dir() else set()
    foreign = [name for name in names if name not in _OWN_FILES and name not in parts and name not in own]
    inside = sorted(f"{PLUGINS}/{file.name}" for file in (folder / PLUGINS).iterdir()) if own else []
    foreign += [name for name in inside if name not in plugins]
    for part in sorted(parts & set(names)):
        inside = folder / part
        foreign += [f"{part}/{name}" for name in foreign_files(inside)] if inside.is_dir() else []
    return foreign


def _exchange(staging: Path, target: Path) -> None:
    """Put `staging` in the place of `target`."""
    if not target.exists():
        staging.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
    try:
        target.rename(old / target.name)
        try:
            staging.rename(target)
        except OSError:
            (old / target.name).rename(target)
            raise
    except OSError:
        # It stays if the earlier results are still in it.
        with suppress(OSError):
            old.rmdir()
        raise
    shutil.rmtree(old, ignore_errors=True)


def _flush(staging: Path) -> None:
    """Flush a folder and everything in it to the disk."""
    for file in sorted(staging.rglob("*")):
        whole_files.flush(file)
    whole_files.flush(staging)


def _cannot_write(path: str | Path, error: OSError) -> SojournError:
    return StoreError(f"cannot write {str(path)!r}: {error.strerror or error}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
