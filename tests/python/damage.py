"""Damaged stores: what every reader of a store makes of them.

A trial copies a store, damages one file (a flipped bit, a truncation, a deletion, two files swapped) and runs the
commands that read a store. What each prints and writes is compared with what it does for the whole store:

identical   the same bytes: the command does not read the damaged file
clean       one error that names the damaged file, exit status 2
unnamed     an error that does not name the file
raw         an exception
silent      other bytes, and no error

    python tests/python/damage.py [--trials 400] [--first 0] [--seed 1] [--own]

runs trials on files that every version of the store has, or with --own on the manifest and the copies too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from sojourn import cli

PLAN = """
name = "rates"
scenario = "dumbbell"
schemes = ["codel", "pie"]
replications = 3
series = { interval = "500 ms", replications = 1 }
[set]
duration = "3 s"
warm_up = "1 s"
[[vary]]
key = "links.bottleneck.rate"
values = ["5 Mbit/s", "10 Mbit/s"]
[show]
metrics = ["sojourn_ms_mean", "utilisation"]
figures = [{ y = "sojourn_ms_mean", x = "rate" }]
"""
TABLES = ("runs", "queues", "flows", "distributions", "series")
SHARED = (*TABLES, "scenarios", "plans", "store.json")
"""What every version of the store has."""
OWN = ("recipes", "copies", "manifest.jsonl")
Commands: TypeAlias = dict[str, list[str]]
Outcome: TypeAlias = tuple[int, str, dict[str, bytes], str]
WORST = ("identical", "clean", "unnamed", "raw", "silent")


def make(folder: Path) -> Path:
    """Make a store of two parts, and return its plan."""
    from sojourn.plan import store

    plan = folder / "rates.toml"
    plan.write_text(PLAN)
    # Parts stay as they are.
    before, store.MERGE_UP_TO = store.MERGE_UP_TO, 1
    try:
        for _ in range(2):
            assert run(["plan", "run", str(plan), "--store", str(folder / "store"), "--jobs", "1", "--max-runs", "6"])
    finally:
        store.MERGE_UP_TO = before
    return plan


def probes(plan: Path, store: Path, out: Path, tables: Sequence[str] = TABLES, *, pages: bool = True) -> Commands:
    """Return the commands that read a store, by name: of some tables, with or without pages and other formats."""
    place = [str(plan), "--store", str(store)]
    found = {"show": ["plan", "show", *place]}
    for table in tables:
        sql = f"SELECT * FROM {table} ORDER BY ALL"  # noqa: S608
        found[f"query {table}"] = ["results", "query", str(store), sql, "--format", "csv"]
        found[f"csv {table}"] = ["results", "export", str(store), "--table", table, "--out", str(out / table)]
    if pages:
        found["report"] = ["plan", "report", *place, "--out", str(out / "report.html")]
        for form in ("parquet", "netcdf", "flent"):
            found[form] = ["results", "export", str(store), "--format", form, "--out", str(out / form)]
    return found


def run(command: list[str]) -> tuple[int, str, str]:
    """Run a command in this process: exit status, standard output, standard error."""
    said, wrong = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
        status = cli.main(command)
    return status, said.getvalue(), wrong.getvalue()


def content(folder: Path) -> dict[str, bytes]:
    """Return every file in a folder, by its path."""
    return {str(one.relative_to(folder)): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


def outcome(command: list[str], out: Path) -> Outcome:
    """Run a command and return what it printed, wrote and complained about."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    status, said, wrong = run(command)
    return status, said, content(out), wrong


def damage(store: Path, draw: random.Random, kinds: tuple[str, ...] = SHARED) -> tuple[str, list[str]]:
    """Damage a store; return how, and the files concerned."""
    kind = draw.choice(kinds)
    files = sorted(
        str(one.relative_to(store))
        for one in store.rglob("*")
        if one.is_file() and one.relative_to(store).parts[0] == kind and one.stat().st_size
    )
    name = draw.choice(files)
    file = store / name
    whole = file.read_bytes()
    how = draw.choices(("bit", "truncated", "deleted", "swapped"), (70, 10, 10, 10))[0]
    at, bit = draw.randrange(len(whole)), draw.randrange(8)
    other = draw.choice([one for one in files if one != name] or [name])
    if how == "swapped" and other == name:
        how = "bit"
    match how:
        case "bit":
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            return f"bit {bit} of byte {at} of {name} flipped", [name]
        case "truncated":
            file.write_bytes(whole[:at])
            return f"{name} cut to {at} bytes", [name]
        case "deleted":
            file.unlink()
            return f"{name} deleted", [name]
        case _:
            file.write_bytes((store / other).read_bytes())
            (store / other).write_bytes(whole)
            return f"{name} and {other} swapped", [name, other]


def verdicts(
    commands: Commands, out: Path, expected: Mapping[str, Outcome], files: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Run commands on a damaged store: the verdict on each, and what it said."""
    found = {}
    for name, command in commands.items():
        try:
            status, said, written, wrong = outcome(command, out)
        except Exception as error:
            found[name] = ("raw", f"{type(error).__name__}: {error}".splitlines()[0])
            continue
        if status:
            is_named = any(file in wrong for file in files) and wrong.count("\n") == 1
            found[name] = ("clean" if is_named and status == 2 else "unnamed", wrong.strip())
        else:
            same = (said, written) == expected[name][1:3]
            found[name] = ("identical" if same else "silent", "")
    return found


def worst(found: dict[str, tuple[str, str]]) -> str:
    """Return the worst verdict on a store."""
    return max((verdict for verdict, _ in found.values()), key=WORST.index)


def trial(
    place: Path,
    count: int,
    seed: int,
    kinds: tuple[str, ...],
    *,
    first: int = 0,
    pages: bool = True,
    verbose: bool = False,
) -> Counter[str]:
    """Damage copies of a store in turn, and count the verdicts on each; print what is not as it must be."""
    plan = make(place)
    whole, store, out = place / "store", place / "damaged", place / "out"
    plain = probes(plan, whole, out, pages=pages)
    expected = {name: outcome(command, out) for name, command in plain.items()}
    assert all(status == 0 for status, *_ in expected.values()), expected
    counted: Counter[str] = Counter()
    for k in range(first, count):
        draw = random.Random(f"{seed} {k}")  # noqa: S311
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(whole, store)
        how, files = damage(store, draw, kinds)
        tables = tuple(name.split("/")[0] for name in files if name.split("/")[0] in TABLES) or ("runs",)
        # Pages and other programs' formats take their time where the damaged file is none of theirs.
        with_pages = pages and (k % 16 == 0 or files[0].startswith(("runs", "plans", "store.json")))
        found = verdicts(probes(plan, store, out, tables, pages=with_pages), out, expected, files)
        verdict = worst(found)
        counted[verdict] += 1
        if verdict not in ("identical", "clean") or verbose:
            which = {name: what for name, (one, what) in found.items() if one == verdict}
            print(f"{k}: {verdict}: {how}: {which}", flush=True)
    return counted


def main() -> int:
    """Run the trial from the command line; 1 if any store was not as it must be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="begin with this one: each trial has a seed of its own")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print every trial")
    options = parser.parse_args()
    kinds = (*SHARED, *OWN) if options.own else SHARED
    with tempfile.TemporaryDirectory() as place:
        counted = trial(
            Path(place), options.trials, options.seed, kinds, first=options.first, verbose=options.verbose
        )
    print(", ".join(f"{counted[verdict]} {verdict}" for verdict in WORST))
    return int(any(counted[verdict] for verdict in ("unnamed", "raw", "silent")))


if __name__ == "__main__":
    sys.exit(main())
