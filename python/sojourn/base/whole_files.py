"""Files that are written completely or not at all, and logs of whole lines; both survive a power failure."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from sojourn.base import foreign
from sojourn.base.systems import BINARY

PARTIAL: Final = ".partial"
_LONGEST_LOG: Final = 1 << 30


def put(file: Path, content: bytes) -> None:
    """Write a temporary file, flush it to the disk and rename it; after :func:`flush` of the folder this is durable.

    If that fails, the file is as it was before.
    """
    partial = file.with_name(file.name + PARTIAL)
    try:
        write(partial, content)
        flush(partial)
        partial.replace(file)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def write(file: Path, content: bytes) -> None:
    """Write a file in its final place."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY, 0o666)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk; Windows has no way to flush names."""
    if sys.platform == "win32" and path.is_dir():
        return
    # Windows flushes what may be written only.
    handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append(log: Path, entries: Iterable[Any]) -> None:
    """Add entries to a log, a line of JSON each; when this returns they are on the disk."""
    with log.open("a", encoding="utf-8", newline="\n") as file:
        file.write("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))
        file.flush()
        os.fsync(file.fileno())


def replay(log: Path, take: Callable[[Any], None]) -> None:
    """Hand every entry of a log to `take`, and drop from the file what a kill cut short or `take` refuses.

    It refuses an entry by a ValueError, KeyError or TypeError. The log may be missing.
    """
    raw = foreign.read_bytes(log, within=log.parent, most=_LONGEST_LOG) if log.exists() else b""
    whole = b""
    for line in raw.splitlines(keepends=True):
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            if line.endswith(b"\n"):
                take(json.loads(line))
                whole += line
    if whole != raw:
        put(log, whole)
