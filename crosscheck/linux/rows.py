"""Rows of recordings: JSON lines while they come, CSV when they are committed."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from run import added

Key: TypeAlias = tuple[Any, ...]
Row: TypeAlias = dict[str, Any]


def record(
    results: Path,
    names: Sequence[str],
    keys: Iterable[Key],
    kernel: Callable[[], str],
    run: Callable[[Key], tuple[list[Row], str]],
) -> None:
    """Carries out runs that are not in the results yet, and adds their rows.

    Parameters
    ----------
    results
        JSON lines.
    names
        Of the columns that tell runs apart.
    keys
        The values of these columns, a tuple for each run.
    kernel
        What the machine boots.
    run
        Carries out one: its rows without kernel and date, and what is printed.
    """
    done = set()
    if results.exists():
        done = {tuple(row[name] for name in names) for row in map(json.loads, results.read_text().splitlines())}
    about = {"kernel": kernel()}
    for key in keys:
        if key in done:
            continue
        rows, said = run(key)
        about["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
        for row in rows:
            added(results, row | about)
        print(said, flush=True)


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
    with file.open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
