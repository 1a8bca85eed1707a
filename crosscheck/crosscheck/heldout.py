"""Runs of the held-out points: shares by metric, kept in a file, and only a few times."""

from __future__ import annotations

import csv
import datetime
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from crosscheck import records
from crosscheck.compare import Outcome, Tally, tally
from sojourn.base import core
from sojourn.base.core import SojournError

ALLOWED: Final = 5
"""Number of times that the held-out points may be run."""

SHARE: Final = 0.92
"""Share of the held-out points that must pass: less than of those that the simulator was changed to agree with."""

METRICS: Final = ("goodput", "delay", "drops", "marks")
FILE: Final = records.RECORDED / "linux_held_out.csv"
FIRST_LOOKS: Final = FILE.with_name("linux_first_looks.csv")
"""Development points as they were when they were compared for the first time, in the form of :data:`FILE`."""

COLUMNS: Final = (
    "date",
    "build",
    "commit",
    "recorded_points",
    "compared_points",
    *(f"{metric}_{what}" for metric in METRICS for what in ("passed", "points", "too_few", "ceiling")),
)


def history(file: Path = FILE) -> list[dict[str, str]]:
    """Return the runs so far, the first one first."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def refuse(file: Path = FILE) -> None:
    """Refuse where the held-out points may not be run."""
    runs = history(file)
    if len(runs) >= ALLOWED:
        raise SojournError(
            f"--held-out: the held-out points were run {len(runs)} times and may be run {ALLOWED} times "
            f"(see {file}); new held-out points take a new draw"
        )


def shares(outcome: Outcome) -> dict[str, Tally]:
    """Return the tallies by metric."""
    return {
        key: tally(rows[0].metric.title, rows, SHARE)
        for key in METRICS
        if (rows := [row for row in outcome.rows if row.metric.key == key])
    }


def entry(outcome: Outcome) -> dict[str, str]:
    """Return the row of a run."""
    compared = {row.point.name for row in outcome.rows}
    row = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "build": core.build(),
        "commit": _commit(),
        "recorded_points": str(len(compared) + len(outcome.left_out)),
        "compared_points": str(len(compared)),
    }
    for key, counted in shares(outcome).items():
        row[f"{key}_passed"] = str(counted.passed)
        row[f"{key}_points"] = str(counted.points)
        row[f"{key}_too_few"] = str(counted.too_few)
        row[f"{key}_ceiling"] = "" if counted.ceiling is None else f"{counted.ceiling:.4f}"
    return row


def append(row: Mapping[str, str], file: Path = FILE) -> None:
    """Add a run to the file."""
    rows: Sequence[Mapping[str, str]] = [*history(file), row]
    with file.open("w", newline="", encoding="utf-8") as text:
        writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def share(row: Mapping[str, str], metric: str) -> tuple[int, int, float | None]:
    """Return passed points, counted points and the ceiling of one metric of a run."""
    ceiling = row[f"{metric}_ceiling"]
    passed, points = (int(row[f"{metric}_{what}"] or 0) for what in ("passed", "points"))
    return passed, points, float(ceiling) if ceiling else None


def _commit() -> str:
    """Return the checkout's commit, with a plus where files differ from it; empty without git."""
    try:
        words = [
            # git's own program, with arguments of ours.
            subprocess.run(
                ["git", *command], cwd=records.HERE, check=True, capture_output=True, text=True
            ).stdout.strip()
            for command in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        ]
    except (OSError, subprocess.CalledProcessError):
        return ""
    return words[0] + ("+" if words[1] else "")
