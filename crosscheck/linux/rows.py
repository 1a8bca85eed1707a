"""Rows of recordings: JSON lines while they come, CSV when they are committed."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from measured import write_csv
from run import KERNEL, added, image

Key: TypeAlias = tuple[Any, ...]
Row: TypeAlias = dict[str, Any]


def main(
    about: str | None,
    names: Sequence[str],
    runs: int,
    keys: Callable[[argparse.Namespace], Iterable[Key]],
    run: Callable[[argparse.Namespace, Key], tuple[list[Row], str]],
    order: Sequence[Any],
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> int:
    """The command line of a recorder: carries out the runs that are not in the results yet, and adds their rows.

    Parameters
    ----------
    about
        Of whose first line a help begins.
    names
        Of the columns that tell runs apart. Its own option ``--only`` takes a value of the first.
    runs
        Of each by default.
    keys
        The values of these columns but the last, the number of the run, in the order of recording.
    run
        Carries out one: its rows without kernel and date, and what is printed.
    order
        The values of the first column in the order of the table.
    options
        Further ones, with what argparse needs of them.
    """
    parser = argparse.ArgumentParser(description=(about or "").split("\n", 1)[0])
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache/sojourn/linux", help="of the image")
    results = Path(sys.argv[0]).with_suffix(".jsonl").name
    parser.add_argument("--results", type=Path, default=Path(results), help="rows are added here")
    parser.add_argument("--runs", type=int, default=runs, metavar="N", help="of each (default %(default)s)")
    parser.add_argument("--only", choices=order, metavar=names[0].upper(), help="one of %(choices)s")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what the machine left, too")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the results as CSV")
    for name, more in (options or {}).items():
        parser.add_argument(name, **more)
    given = parser.parse_args()
    if given.table:
        write_table(
            given.results, given.table, lambda row: (order.index(row[names[0]]), *(row[name] for name in names[1:]))
        )
        return 0
    done = set()
    if given.results.exists():
        done = {tuple(row[name] for name in names) for row in map(json.loads, given.results.read_text().splitlines())}
    kernel = {"kernel": image(given.folder, KERNEL)}
    every = [key for key in keys(given) if given.only in {None, key[0]}]
    for key in ((*key, number) for number in range(1, given.runs + 1) for key in every):
        if key in done:
            continue
        rows, said = run(given, key)
        kernel["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
        for row in rows:
            added(given.results, row | kernel)
        print(said, flush=True)
    return 0


def keep(folder: Path | None, key: Key, files: Mapping[str, bytes]) -> None:
    """Writes what the machine left into a folder of the run, if there is one for all."""
    if folder is None:
        return
    own = folder / "-".join(map(str, key))
    own.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (own / name).write_bytes(content)


def write_table(results: Path, file: Path, order: Callable[[Row], Any]) -> None:
    """Writes the results as CSV."""
    rows = sorted(map(json.loads, results.read_text().splitlines()), key=order)
    write_csv(file, rows[0], rows)
