"""Faults of a disk: the n-th call that opens, writes, flushes, renames, makes or removes a file fails, or kills."""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
KILL = -1
_CALLS = ("open", "write", "fsync", "replace", "rename", "unlink", "remove", "mkdir", "rmdir", "chmod")


class Faults:
    """Counts the calls that concern a folder, and lets one of them fail.

    Parameters
    ----------
    root
        Calls for files elsewhere are left alone.
    at
        Which call fails, from 0; None for none.
    number
        The error's number, or `KILL` to end the process instead.
    """

    def __init__(self, root: Path, at: int | None, number: int = errno.EIO) -> None:
        self.root, self.at, self.number = str(root), at, number
        self.seen: list[str] = []
        self._files: set[int] = set()

    def meets(self, name: str, where: Any) -> None:
        """Count a call, and fail if it is the one."""
        self.seen.append(f"{name} {where}")
        if len(self.seen) - 1 == self.at:
            if self.number == KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            # As the system does: a call for a file that is open does not know its name.
            raise OSError(self.number, os.strerror(self.number), *([] if isinstance(where, int) else [str(where)]))

    def concerns(self, where: Any) -> bool:
        if isinstance(where, int):
            return where in self._files
        return isinstance(where, str | os.PathLike) and os.fspath(where).startswith(self.root)

    def of(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(where: Any, *rest: Any, **named: Any) -> Any:
            # Relative names of shutil.rmtree are those of a folder that is going.
            if not self.concerns(where):
                return real(where, *rest, **named)
            # Readers open files without waiting for a writer.
            if name == "open" and rest and rest[0] & os.O_NONBLOCK:
                return real(where, *rest, **named)
            if name == "write" and len(self.seen) == self.at:
                # Half of it is written, as on a full disk.
                real(where, bytes(rest[0])[: len(rest[0]) // 2])
            self.meets(name, where)
            made = real(where, *rest, **named)
            if name == "open":
                self._files.add(made)
            return made

        return call

    def opener(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(where: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
            if self.concerns(where) and set(mode) & set("wax+"):
                self.meets("open", where)
            return real(where, mode, *rest, **named)

        return call


@contextmanager
def faults(root: Path, at: int | None = None, number: int = errno.EIO) -> Iterator[Faults]:
    """Let a call fail as long as the block lasts."""
    found = Faults(root, at, number)
    real = {name: getattr(os, name) for name in _CALLS}
    opens = (builtins.open, io.open)
    # The files of a process are numbered anew as they are closed.
    close = os.close

    def closed(handle: int) -> None:
        found._files.discard(handle)
        close(handle)

    try:
        for name, call in real.items():
            setattr(os, name, found.of(name, call))
        os.close = closed
        builtins.open = io.open = found.opener(opens[0])  # type: ignore[assignment]
        yield found
    finally:
        for name, call in real.items():
            setattr(os, name, call)
        os.close = close
        builtins.open, io.open = opens
