"""Control groups for memory, of version 1 and 2."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def make(name: str) -> Path | None:
    """Make a control group; None where none can be made."""
    for root in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")):
        if (root / "memory.limit_in_bytes").exists() or "memory" in _text(root / "cgroup.subtree_control"):
            with contextlib.suppress(OSError):
                (root / name).mkdir()
                return root / name
    return None


def limit(group: Path, *, more: int) -> None:
    """Limit a group to what it uses and some bytes more."""
    is_new = (group / "memory.current").exists()
    usage, most = ("memory.current", "memory.max") if is_new else ("memory.usage_in_bytes", "memory.limit_in_bytes")
    (group / most).write_text(str(int((group / usage).read_text()) + more))


@contextlib.contextmanager
def within(group: Path | None) -> Iterator[None]:
    """Be in a control group, for children; None: where this process is."""
    if group is None:
        yield
        return
    own = next((line for line in _text(Path("/proc/self/cgroup")).splitlines() if ":memory:" in line), None)
    own = own or _text(Path("/proc/self/cgroup")).splitlines()[-1]
    procs = group.parent / own.split(":", 2)[2].lstrip("/") / "cgroup.procs"
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        procs.write_text(str(os.getpid()))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
