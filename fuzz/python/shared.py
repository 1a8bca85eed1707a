"""What the two targets share: the fuzzer, a small plan, and the seeds and words to start from."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import atheris

DEFECT: Final = "FUZZ_DEFECT" in os.environ
"""The target's own defect is in force, which the fuzzer must find (`fuzz/run defects`)."""

PLAN: Final = """\
name = "small"
seed = 3
replications = 2
series = { interval = "50 ms", replications = 1 }
schemes = ["codel", { label = "PIE", text = "pie" }]

[show]
metrics = ["sojourn_ms_mean", "goodput_bit_s"]
figures = [{ y = "sojourn_ms_mean", x = "rate" }]

[[vary]]
key = "links.wire.rate"
values = ["5 Mbit/s", "10 Mbit/s"]

[scenario]
name = "link"
duration = "1 s"
warm_up = "200 ms"

[[scenario.links]]
name = "wire"
from = "left"
to = "right"
rate = "5 Mbit/s"
delay = "5 ms"
under_test = true

[[scenario.flows]]
name = "bulk"
from = "left"
to = "right"
count = 2
"""


def seed(inputs: dict[str, bytes], words: Iterable[str]) -> None:
    """Write inputs to start from into the folder that `FUZZ_SEEDS` names, and a dictionary beside it."""
    if "FUZZ_SEEDS" not in os.environ:
        return
    folder = Path(os.environ["FUZZ_SEEDS"])
    for name, content in inputs.items():
        (folder / f"seed-{name}").write_bytes(content)
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    # libFuzzer refuses an empty file.
    folder.with_suffix(".dict").write_text("# words\n" + "".join(f'"{word}"\n' for word in escaped), encoding="ascii")


def fuzz(one: Callable[[bytes], object], mutate: Callable[[bytes, random.Random], bytes]) -> None:
    """Run the fuzzer; one mutation in four is libFuzzer's own, the others are the target's."""

    def mutated(data: bytes, most: int, number: int) -> bytes:
        chance = random.Random(number)  # noqa: S311
        if chance.random() < 0.25:
            return bytes(atheris.Mutate(data, most))
        found = mutate(data, chance)
        return found if 0 < len(found) <= most else bytes(atheris.Mutate(data, most))

    def checked(data: bytes) -> None:
        one(data)

    atheris.Setup(sys.argv, checked, custom_mutator=mutated)
    atheris.Fuzz()


def changed(value: Any, chance: random.Random, pool: Callable[[str], Any], key: str = "") -> Any:
    """Change one place of a document: a value, a key, an element."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        inner = chance.choice(list(value))
        return {**value, inner: changed(value[inner], chance, pool, inner)}
    if isinstance(value, list) and value and chance.random() < 0.75:
        k = chance.randrange(len(value))
        return [*value[:k], changed(value[k], chance, pool, key), *value[k + 1 :]]
    result = pool(key)
    match value, chance.randrange(4):
        case dict(), 0 if value:
            gone = chance.choice(list(value))
            result = {name: one for name, one in value.items() if name != gone}
        case dict(), 1 | 2:
            name = str(pool(""))
            result = {**value, name: pool(name)}
        case list(), 0 if value:
            result = value[:-1]
        case list(), 1 | 2:
            result = [*value, chance.choice([*value, result])]
        case str(), 0 if any(mark.isdigit() for mark in value):
            number = chance.choice(["0", "1", "3", "20", "1e9", "-1", "99999999999", "0.5"])
            result = "".join(number if mark.isdigit() else mark for mark in value)
    return result
