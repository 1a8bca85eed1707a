#!/usr/bin/env python3
"""Texts that the fuzzer chooses, read as plans and expanded to cells: refused with one message, or read back."""

from __future__ import annotations

import random
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import atheris

import shared

with atheris.instrument_imports(include=["sojourn", "tomllib"]):
    from sojourn import SojournError
    from sojourn.base import core, toml
    from sojourn.plan import document, dumps, expand

_PLACE: Final = re.compile(r"fuzz\.toml|--set |[a-z0-9]+\.toml \(comes with Sojourn\)")
CELLS: Final = 200
"""Plans of more cells are read and not expanded."""

_KEYS: Final = {
    "name": ["small", "", "a/b", ".x", "é"],
    "scenario": ["mm1", "dumbbell", "lan", "none.toml", {}],
    "set": [{"duration": "2 s"}, {"links.wire.rate": "1 Mbit/s"}, {"links": {"wire": {"delay": "1 ms"}}}],
    "schemes": [["codel"], ["codel", "codel"], ["red limit 20p"], [], [{"label": "a", "text": "pie target 5ms"}]],
    "label": ["a", "PIE", "", "a.b"],
    "text": ["codel", "pie target 20ms", "nothing"],
    "vary": [
        [{"key": "scheme.target", "values": ["5 ms", "10 ms"]}],
        [{"key": ["links.wire.rate", "links.wire.delay"], "name": "x", "values": [1, "2 ms"]}],
        [{"key": "links.wire.rate", "from": "1 Mbit/s", "to": "8 Mbit/s", "steps": 3, "scale": "log"}],
        [{"zip": [{"key": "links.wire.rate", "values": ["1 Mbit/s"]}, {"key": "duration", "values": ["2 s"]}]}],
        [{"latin_hypercube": [{"key": "links.wire.delay", "from": "1 ms", "to": "9 ms"}], "points": 4, "seed": 2}],
    ],
    "key": ["links.wire.rate", "scheme.target", "schemes.PIE.target", "flows.bulk.count", "duration", "seed", []],
    "values": [["1 Mbit/s", "2 Mbit/s"], [1, 2.5], [True], [], ["x"], [1e400]],
    "from": ["1 ms", "1 Mbit/s", 0, 1.5, -1, "0 s", 1e308],
    "to": ["9 ms", "8 Mbit/s", 10, 2.5, "60 s", 1e308],
    "steps": [2, 3, 5, 0, -1],
    "points": [1, 4, 0],
    "scale": ["log", "linear", "cubic"],
    "paired": ["all", [], ["scheme"], ["rate"], ["nothing"]],
    "seed": [0, 1, 2**63 - 1, 2**63, -1],
    "replications": [1, 2, 1_000_000, 0],
    "precision": [
        {"metric": "goodput_bit_s", "within": "5 %"},
        [{"metric": "sojourn_ms_mean", "within": "1 ms", "floor": 3, "ceiling": 9}],
        {"metric": "nothing", "within": "5 %"},
    ],
    "within": ["5 %", "0 %", "1 ms", "-5 %", "1e400 %"],
    "metric": ["goodput_bit_s", "sojourn_ms_mean", "nothing"],
    "series": ["50 ms", "0 s", {"interval": "1 ms", "replications": 3}, "1 ns", 5],
    "interval": ["50 ms", "0 s", "x"],
    "show": [{"metrics": ["sojourn_ms_mean"], "figures": [{"y": "goodput_bit_s", "x": "scheme"}]}],
    "metrics": [["sojourn_ms_mean"], "sojourn_ms_mean", ["nothing"]],
    "figures": [[{"y": "goodput_bit_s", "x": "rate"}], [{}]],
    "zip": [[], [{"key": "duration", "values": ["1 s", "2 s"]}]],
    "duration": ["1 s", "0 s", "10 h"],
}  # fmt: skip
_ANY: Final[list[Any]] = [
    0,
    1,
    -1,
    2.5,
    True,
    "",
    "a",
    "1 ms",
    [],
    {},
    [[]],
    {"a": 1},
    2**70,
    float("nan"),
    float("inf"),
]
_FOLDER: Final = Path("nowhere")


def check(data: bytes) -> None:
    """Read a text as a plan; whatever is wrong with it is a SojournError with a message."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    try:
        plan = document.loads(text, source="fuzz.toml", folder=_FOLDER)
        count = max(len(plan.schemes), 1)
        for variation in plan.vary:
            count *= len(variation.points)
        if count > CELLS:
            return
        cells = expand.cells(plan)
    except SojournError as error:
        if not _PLACE.match(str(error)):
            raise AssertionError(f"no place: {error}") from error
        return
    written = dumps(plan)
    again = expand.cells(document.loads(written, source="written", folder=_FOLDER))
    runs = [(cell.label, cell.run(0)) for cell in again]
    if shared.DEFECT and any(len(one.factors) > 1 for one in plan.vary) and plan.precision:
        # The defect that the fuzzer must find: zipped lists are lost where a precision is asked for.
        runs = runs[:1]
    if runs != [(cell.label, cell.run(0)) for cell in cells]:
        raise AssertionError(f"reads back as another plan: {written}")


def mutate(data: bytes, chance: random.Random) -> bytes:
    """Change the plan and write it again; a text that is none is replaced now and then."""

    def pool(key: str) -> Any:
        if not key:
            return chance.choice(list(_KEYS))
        return chance.choice(_KEYS[key]) if key in _KEYS and chance.random() < 0.8 else chance.choice(_ANY)

    try:
        found = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        if chance.random() < 0.7:
            return b""
        found = tomllib.loads(shared.PLAN)
    for _ in range(chance.randrange(1, 4)):
        if chance.random() < 0.3:
            key = pool("")
            found = {**found, key: pool(key)}
        else:
            other = shared.changed(found, chance, pool)
            found = other if isinstance(other, dict) else found
    try:
        return toml.dumps(found).encode()
    except (TypeError, RecursionError, UnicodeEncodeError, AttributeError):
        return b""


def main() -> None:
    """Seed and fuzz."""
    named = 'name = "named"\nscenario = "mm1"\nreplications = 2\n'
    words = sorted({*_KEYS, "[[vary]]", "[scenario]", "[[scenario.links]]", *(one["name"] for one in core.metrics())})
    shared.seed({"small": shared.PLAN.encode(), "named": named.encode()}, words)
    sys.setrecursionlimit(1000)
    shared.fuzz(check, mutate)


if __name__ == "__main__":
    main()
