"""What differs between operating systems: locks of files, and what needs Linux."""

from __future__ import annotations

import os
import sys
from typing import IO, Final

from sojourn.base.errors import RunError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

BINARY: Final = getattr(os, "O_BINARY", 0)
"""What :func:`os.open` needs on Windows, which otherwise changes the ends of lines."""

# Windows forbids to read what another process has locked: a byte behind all text.
_FAR = 1 << 30


def lock(file: IO[str]) -> None:
    """Lock a file for this process until it is closed; an OSError if another process has the lock."""
    if sys.platform == "win32":
        os.lseek(file.fileno(), _FAR, os.SEEK_SET)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def need(what: str, *systems: str) -> None:
    """Refuse `what` on other systems than these, named as :data:`sys.platform` names them; by default Linux alone."""
    known = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
    systems = systems or ("linux",)
    if sys.platform not in systems:
        allowed = " or ".join(known[one] for one in systems)
        raise RunError(f"{what} needs {allowed}; this is {known.get(sys.platform, sys.platform)}")
