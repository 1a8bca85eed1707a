#!/usr/bin/env python3
"""A finished plan's store with files that the fuzzer damages: every reader says so with one error, or tells the same.

An input is a list of damages of six bytes each: file, kind, place (two bytes), value, length.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any, Final

import atheris

import shared

with atheris.instrument_imports(include=["sojourn"]):
    from sojourn import SojournError
    from sojourn.plan import document, execute, expand, export, query, read, show
    from sojourn.plan.store import Store

STEP: Final = 6
DAMAGES: Final = 6
KINDS: Final = 7
_FOLDER: Final = Path(tempfile.mkdtemp(prefix="sojourn-fuzz-store-"))


def damage(folder: Path, data: bytes) -> set[str]:
    """Damage a store's files; the files concerned."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "lock")
    hit = set()
    for start in range(0, min(len(data) // STEP, DAMAGES) * STEP, STEP):
        which, kind, high, low, value, length = data[start : start + STEP]
        file = files[which % len(files)]
        if not file.exists():
            continue
        content = bytearray(file.read_bytes())
        at = (high << 8 | low) * len(content) // 65536
        match kind % KINDS:
            case 0:
                content[at : at + 1] = bytes(byte ^ 1 << value % 8 for byte in content[at : at + 1])
            case 1:
                content[at : at + 1] = bytes([value])
            case 2:
                del content[at : at + length + 1]
            case 3:
                content[at:at] = bytes([value]) * (length + 1)
            case 4:
                del content[at:]
            case 5:
                content = bytearray(
                    files[value % len(files)].read_bytes() if files[value % len(files)].exists() else b""
                )
            case _:
                file.unlink()
                hit.add(str(file.relative_to(folder)))
                continue
        if bytes(content) != file.read_bytes():
            file.write_bytes(content)
            hit.add(str(file.relative_to(folder)))
    return hit


def told(folder: Path, slow: int | None = None) -> dict[str, str]:
    """Return what each reader says of a store, perhaps its error; of the slow ones all or the one chosen."""
    plan = expand.cells(document.loads(shared.PLAN, source="plan.toml"))
    out = _FOLDER / "out"
    out.mkdir(exist_ok=True)

    def exported(kind: str, table: str) -> str:
        store = Store.open(folder)
        (cells,) = read.plans(store, "small")
        written = export.write(cells, store, kind, out / f"{table}.{kind}", table=table)
        return " ".join(file.read_bytes().hex() for file in written)

    quick: dict[str, Any] = {
        "failures": lambda: str(Store.open(folder).failures()),
        "builds": lambda: str(Store.open(folder).builds()),
        "show": lambda: show.terminal(plan, Store.open(folder)),
    }
    others: dict[str, Any] = {
        "summary": lambda: read.summary(plan, Store.open(folder)).to_csv(),
        "query": lambda: str(query.query(Store.open(folder), "SELECT * FROM results ORDER BY run").to_pylist()),
        "queues": lambda: exported("csv", "queues"),
        "flows": lambda: exported("parquet", "flows"),
        "series": lambda: exported("flent", "series"),
        "distributions": lambda: exported("csv", "distributions"),
        "report": lambda: show.page(plan, Store.open(folder)),
    }
    chosen = others if slow is None else dict([list(others.items())[slow % len(others)]])
    found = {}
    for name, reader in (quick | chosen).items():
        try:
            found[name] = reader().replace(str(folder), "STORE")
        except SojournError as error:
            found[name] = f"error: {error}"
    return found


def check(data: bytes) -> None:
    """Read a damaged copy: each reader refuses it or tells what it told of the whole store."""
    folder = Path(tempfile.mkdtemp(dir=_FOLDER))
    try:
        shutil.copytree(_FOLDER / "whole", folder, dirs_exist_ok=True)
        hit = damage(folder, data)
        found = told(folder, sum(data))
        if shared.DEFECT and hit == {"plans/small.toml"}:
            # The defect that the fuzzer must find: only the plan's text is damaged, and a table changes.
            found["show"] = found["show"].upper()
        for name, text in found.items():
            if text != EXPECTED[name] and not text.startswith("error: "):
                raise AssertionError(f"{name} tells something else, and {sorted(hit) or 'nothing'} is damaged")
        if not hit and any(text != EXPECTED[name] for name, text in found.items()):
            raise AssertionError("an undamaged store is refused")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def mutate(data: bytes, chance: random.Random) -> bytes:
    """Change, add or take away a damage."""
    steps = [data[k : k + STEP] for k in range(0, len(data) - STEP + 1, STEP)]
    fresh = bytes(chance.randrange(256) for _ in range(STEP))
    match chance.randrange(4) if steps else 0:
        case 0:
            steps = [*steps[: DAMAGES - 1], fresh]
        case 1:
            steps.pop(chance.randrange(len(steps)))
            steps = steps or [fresh]
        case _:
            k, at = chance.randrange(len(steps)), chance.randrange(STEP)
            steps[k] = steps[k][:at] + fresh[:1] + steps[k][at + 1 :]
    return b"".join(steps)


def prepare() -> dict[str, str]:
    """Run the small plan once, and say what the readers tell of its store."""
    warnings.simplefilter("ignore")
    execute.run(document.loads(shared.PLAN, source="plan.toml"), _FOLDER / "whole", jobs=1)
    # As that of a copy: paths in the texts are replaced.
    return told(_FOLDER / "whole")


def main() -> None:
    """Seed and fuzz."""
    every = {
        f"{which}-{kind}": bytes([which, kind, 64 * which % 256, 0, 3, 2])
        for which in range(0, 12, 3)
        for kind in range(KINDS)
    }
    shared.seed({**every, "none": b"\0"}, [])
    shared.fuzz(check, mutate)


if __name__ == "__main__":
    EXPECTED = prepare()
    main()
    os._exit(0)
