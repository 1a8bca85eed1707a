"""Files that are written completely or not at all, and that survive a power failure."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

PARTIAL: Final = ".partial"


def put(file: Path, content: bytes) -> None:
    """Write a temporary file, flush it to the disk and rename it; after :func:`flush` of the folder this is durable.

    Raises
    ------
    OSError
        If that fails; the file is then as it was before.
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
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
