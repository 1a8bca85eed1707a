"""The manifest of a store: size and SHA-256 digest of every file, and the check that comes before any reader.

``manifest.jsonl`` is JSON, one value per line. The first line holds the format and the digest of the lines after it;
each of these is ``[path, size, digest]``. While a file is being replaced, its line names both contents,
``[path, size, digest, size, digest]``: whichever is there is right. ``copies/manifest.jsonl`` is a second copy.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from sojourn.base import foreign
from sojourn.base.errors import StoreError
from sojourn.plan import rows

FORMAT: Final = "sojourn manifest 1"
MARK: Final = "store.json"
MANIFEST: Final = "manifest.jsonl"
COPY: Final = "copies/manifest.jsonl"
TABLES: Final = (*rows.NAMES, "recipes")
"""The files of every part."""
DATA: Final = (*rows.OPTIONAL, *TABLES)
"""The files that a part may have."""
FOLDERS: Final = (*DATA, "scenarios", "plans", "failed", "copies")

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_SETTLED_NS: Final = 100_000_000
"""A file is read again if it had changed less than this before, because file systems have coarse clocks."""

_Signature: TypeAlias = tuple[int, int, int, int, int]


class StoreDamagedError(StoreError):
    """A file of a store is not what was written.

    Parameters
    ----------
    folder
        The store.
    file
        Its path in the store.
    problem
        What is wrong: begins with ``missing``, ``truncated``, ``changed`` or ``unreadable``.
    """

    def __init__(self, folder: str | Path, file: str, problem: str) -> None:
        super().__init__(str(folder), file, problem)
        self.folder, self.file, self.problem = Path(folder), file, problem

    def __str__(self) -> str:
        return (
            f"damaged store: {self.folder / self.file}: {self.problem}; "
            f"`sojourn plan verify {shlex.quote(str(self.folder))}` lists all damaged files, --repair restores them"
        )


@dataclass(frozen=True, slots=True)
class Content:
    """What a file must hold: its size in bytes and its SHA-256 digest, 64 hexadecimal digits."""

    size: int
    digest: str

    @classmethod
    def of(cls, content: bytes) -> Content:
        """Return that of some bytes."""
        return cls(len(content), hashlib.sha256(content).hexdigest())


Files: TypeAlias = Mapping[str, tuple[Content, ...]]
"""Every file of a store by its path, with the contents that it may have: one, or two while it is being replaced."""


def dump(files: Files) -> bytes:
    """Write a manifest."""
    lines = [
        json.dumps([path, *(part for one in files[path] for part in (one.size, one.digest))], ensure_ascii=False)
        for path in sorted(files)
    ]
    body = "".join(f"{line}\n" for line in lines).encode()
    return _head(body, FORMAT) + body


def parse(folder: Path, name: str, content: bytes) -> dict[str, tuple[Content, ...]]:
    """Read a manifest: `content` is the whole file, `folder` and `name` are for messages."""
    head, _, body = content.partition(b"\n")
    if head + b"\n" != _head(body, FORMAT):
        if other := _other_format(head, body):
            raise StoreError(f"{folder / name}: a manifest of another version (format {other!r}, this is {FORMAT!r})")
        raise StoreDamagedError(folder, name, "changed: its digest does not fit its content")
    try:
        return dict(_line(json.loads(line)) for line in body.splitlines())
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreDamagedError(folder, name, f"unreadable: {error}") from None


def load(folder: Path, name: str = MANIFEST) -> dict[str, tuple[Content, ...]]:
    """Read a store's manifest."""
    try:
        content = foreign.read_bytes(folder / name, within=folder)
    except OSError as error:
        raise StoreDamagedError(folder, name, error_text(error)) from None
    return parse(folder, name, content)


def problem(folder: Path, path: str, allowed: Sequence[Content], *, by_size: bool = False) -> str | None:
    """Return the problem of a file of a store; None if it has none.

    A file is read once a process, and again when its size, times or inode have changed; with `by_size` only the size
    is compared.
    """
    try:
        place = foreign.locate(folder / path, within=folder, most=None)
        found = place.stat()
        sizes = [one.size for one in allowed]
        if found.st_size not in sizes:
            what = "truncated" if found.st_size < min(sizes) else "changed"
            return f"{what}: {found.st_size} bytes, and {sizes[-1]} were written"
        if by_size:
            return None
        digest = _digest_of(place)
    except OSError as error:
        return error_text(error)
    if not any(digest == one.digest for one in allowed):
        return "changed: its digest is not that of what was written"
    return None


_seen: dict[str, tuple[_Signature, str]] = {}


def _digest_of(file: Path) -> str:
    with foreign.opened(file, most=None) as opened:
        before = _signature(os.fstat(opened.fileno()))
        known = _seen.get(str(file))
        if known and known[0] == before:
            return known[1]
        now = time.time_ns()
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if _signature(os.fstat(opened.fileno())) == before and max(before[2:4]) + _SETTLED_NS < now:
            _seen[str(file)] = (before, digest)
    return digest


def _signature(found: os.stat_result) -> _Signature:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_dev


def _head(body: bytes, form: str) -> bytes:
    digest = hashlib.sha256(f"{form}\n".encode() + body).hexdigest()
    return json.dumps({"format": form, "digest": digest}).encode() + b"\n"


def _other_format(head: bytes, body: bytes) -> str | None:
    try:
        form = json.loads(head)["format"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return form if isinstance(form, str) and _head(body, form) == head + b"\n" else None


def _line(found: Any) -> tuple[str, tuple[Content, ...]]:
    if not isinstance(found, list) or len(found) not in (3, 5):
        raise ValueError("a line is not a list of path, size and digest")
    path, *rest = found
    if not isinstance(path, str) or not _is_own(path):
        raise ValueError(f"{path!r} is not a file of a store")
    contents = tuple(Content(size, digest) for size, digest in zip(rest[::2], rest[1::2], strict=True))
    for one in contents:
        if type(one.size) is not int or one.size < 0 or not _DIGEST.fullmatch(one.digest):
            raise ValueError(f"size or digest of {path!r}")
    return path, contents


def _is_own(path: str) -> bool:
    folder, _, name = path.partition("/")
    return path == MARK or (
        folder in FOLDERS and name != "" and not name.startswith(".") and not any(mark in name for mark in "/\\\0")
    )


def error_text(error: OSError) -> str:
    """Say what an error of reading means."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "missing"
    return f"unreadable: {error.strerror or error}"
