"""A progress bar for work in several phases."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """Shows how many runs are done; without a terminal it shows nothing."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar = bar
        self._task = task

    def advance(self, runs: int) -> None:
        """Count runs that are done."""
        if self._bar is not None:
            self._bar.advance(self._task, runs)

    def say(self, text: str) -> None:
        """Say what is being done."""
        if self._bar is not None:
            self._bar.update(self._task, description=text)

    def phase(self, text: str, runs: int) -> None:
        """Begin something else, of `runs` runs."""
        if self._bar is not None:
            self._bar.reset(self._task, total=runs, description=text)


@contextmanager
def progress_bar(wanted: bool | None, runs: int) -> Iterator[Progress]:
    """Show a bar with the time remaining on standard error, by default if that is a terminal."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs,"),
        TimeRemainingColumn(),
        TextColumn("left,"),
        TimeElapsedColumn(),
        TextColumn("gone"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Progress(bar, bar.add_task("searching", total=runs))
