"""The processes in which ``sojourn check aqm`` runs an algorithm, and what is taken from them before.

A Python file is executed in one process, which ends with the text that stores would keep of it. A text of that form
only declares (:func:`sojourn.plugins.frozen.check_source`), so the process that judges compiles it and never executes
the file. A library is loaded by the process that judges, after clocks, processes and sockets are out of its reach.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from dataclasses import astuple
from typing import Any, Final, NoReturn

from sojourn import _native
from sojourn.base.core import SojournError
from sojourn.base.errors import SchemeError
from sojourn.plugins import compiled, loading, recorded

_MEMORY_BYTES: Final = 2 << 30
"""A loop that takes memory ends before the machine has none left."""


def main() -> NoReturn:
    """Do what standard input says: ``import`` a file, repeat ``decisions``, or ``judge`` algorithms."""
    given = json.load(sys.stdin)
    # What an algorithm or a module prints is no report.
    report = os.dup(1)
    os.dup2(2, 1)
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, _MEMORY_BYTES)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(limit, (most, most))

    def write(text: str) -> None:
        data = text.encode() + b"\n"
        while data:
            data = data[os.write(report, data) :]

    do = {"import": _imported, "decisions": _recorded, "judge": _judged}[given.pop("do")]
    token = given["token"]
    try:
        found = do(given, report)
    except SojournError as error:
        write(f"refused: {json.dumps(str(error))}")
    else:
        write(f"{token} {json.dumps(found)}")
    # What would be done at an end in the usual way is not allowed any more.
    os._exit(0)


def _imported(given: dict[str, Any], _: int) -> list[tuple[str, str, str]]:
    """Execute a Python file, and return its algorithms as texts."""
    # What the compiler starts and writes when it is first used.
    compiled.target()
    compiled.compiled_once()
    try:
        names = loading.load(given["file"], guard=lambda: _confine("import", -1))
    except SojournError as error:
        if "Operation not permitted" not in str(error):
            raise
        raise SchemeError(
            f"{error}; allowed in a check: a module that reads files, and starts, writes and connects to nothing"
        ) from None
    return [astuple(one) for one in loading.shipped_in(names)]


def _recorded(given: dict[str, Any], report: int) -> list[dict[str, Any]]:
    """Repeat the decisions of another host; clocks are left, because Python takes its locks by one."""
    source, file = given["subject"], given["decisions"]
    lines = recorded.read(file)
    names = _added(source)
    if not names:
        names = list(loading.load(source["file"], guard=lambda: _confine("load", report)))
    _confine("run", report)
    findings = []
    for name in names:
        found = recorded.repeat(name, file, lines)
        rest = f"{found.differ} of {found.calls} calls end otherwise; the first: {found.first}"
        scope = f"{file}, {found.calls} calls, of which {found.decisions} drop or mark"
        violation = rest if found.differ else None
        findings.append(
            {"name": "the same decisions as another host", "scope": scope, "violation": violation},
        )
    return findings


def _judged(given: dict[str, Any], report: int) -> NoReturn:
    """Compile texts, and leave the rest to the compiled core, in which no Python runs any more."""
    parts = {name: given[name] for name in ("subject", "model") if given[name] is not None}
    judged: dict[str, Any] = {**given, "model": None}
    for name, source in parts.items():
        judged[name] = {"file": source["file"], "names": _added(source), "library": None}
        if not judged[name]["names"]:
            judged[name]["library"] = loading.copied(source["file"])
    _native.plugin_judge(json.dumps(judged), report)


def _added(source: dict[str, Any]) -> list[str]:
    """Add the texts of a Python file, and return their names; none of a library."""
    listed = [loading.Shipped(*one) for one in source.get("shipped", ())]
    loading.add_shipped(listed)
    return [one.name for one in listed]


def _confine(stage: str, report: int) -> None:
    # Where the system has no filters, the verdict says so.
    with contextlib.suppress(SojournError):
        _native.plugin_confine(stage, report)


if __name__ == "__main__":
    main()
