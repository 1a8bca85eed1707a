"""The progress of a plan: live on a terminal; a line from time to time elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from sojourn.results import metrics

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from sojourn.plan.execute import CellState, Driver
    from sojourn.plan.executors import Executor

LINE_EVERY_S = 10.0


def for_stderr() -> Terminal | Lines:
    """Return what suits standard error."""
    return Terminal() if sys.stderr.isatty() else Lines(sys.stderr)


def is_shown(wanted: bool | None) -> bool:
    """Return whether a bar is wanted: by default, if standard error is a terminal."""
    return sys.stderr.isatty() if wanted is None else wanted


@contextmanager
def fraction_bar(wanted: bool | None, runs: int) -> Iterator[Callable[[int, float], None] | None]:
    """Show a bar of runs in the compiled core, which tells how many have ended and the fraction of all work done."""
    if not is_shown(wanted):
        yield None
        return
    with _bar("simulating", 1.0, 0, *_times()) as bar:
        yield lambda finished, fraction: bar.update(
            bar.task_ids[0], completed=fraction, description=f"{finished} of {runs} run{'s' * (runs > 1)}"
        )


def phases_bar(wanted: bool | None, runs: int) -> Progress:
    """Return a bar of runs in several phases, the first with so many."""
    return _bar("searching", runs, 0, *_times(), is_shown=is_shown(wanted))


def _times() -> tuple[ProgressColumn, ...]:
    from rich.progress import TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return TimeRemainingColumn(), TextColumn("left,"), TimeElapsedColumn(), TextColumn("elapsed")


def _bar(text: str, total: float, completed: int, *more: ProgressColumn, is_shown: bool = True) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), *more)
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not is_shown)
    bar.add_task(text, total=total, completed=completed)
    return bar


class Lines:
    """A line at the start, at the end, and every ten seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._start = self._last = 0.0
        self._found = 0

    def start(self, driver: Driver, executor: Executor) -> None:
        """Print the number of runs that are there and to be done."""
        self._start = self._last = time.monotonic()
        self._found = driver.done
        self._print(f"{driver.expected} runs, {self._found} of them in the store; {executor.note}")

    def show(self, driver: Driver) -> None:
        """Print a line if the last is old."""
        if time.monotonic() - self._last >= LINE_EVERY_S:
            self._last = time.monotonic()
            self._print(status_line(driver, self._found, self._last - self._start))

    def stop(self, driver: Driver) -> None:
        """Print the final counts and the time taken."""
        self._print(f"{counts(driver)}; {duration(time.monotonic() - self._start)} gone")

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class Terminal:
    """A bar with the counts, the time left and the estimate that is least precise."""

    def __init__(self) -> None:
        self._found = 0
        self._start = self._next = 0.0
        self._bar: Progress | None = None

    def start(self, driver: Driver, executor: Executor) -> None:
        """Draw it."""
        self._start = time.monotonic()
        self._found = driver.done
        print(f"{driver.plan.name}: {executor.note}", file=sys.stderr)
        self._bar = _bar("", driver.expected, self._found)
        self._bar.start()
        self.show(driver)

    def show(self, driver: Driver) -> None:
        """Draw it again, some times a second."""
        now = time.monotonic()
        if self._bar is None or now < self._next:
            return
        text = status_line(driver, self._found, now - self._start)
        self._bar.update(self._bar.task_ids[0], total=driver.expected, completed=driver.done, description=text)
        # Estimates of many cells take their time; drawing takes a fiftieth of it all at most.
        self._next = now + max(0.2, 50 * (time.monotonic() - now))

    def stop(self, driver: Driver) -> None:
        """Remove the bar and leave one line."""
        if self._bar is not None:
            self._bar.stop()
        print(f"{counts(driver)}; {duration(time.monotonic() - self._start)} elapsed", file=sys.stderr)


def status_line(driver: Driver, found: int, elapsed_s: float) -> str:
    """Write the counts, the time left at the speed so far, and the least precise estimate."""
    made = driver.done - found
    left = f"{duration((driver.expected - driver.done) * elapsed_s / made)} left" if made > 0 else ""
    return "; ".join(filter(None, (counts(driver), left, estimate(driver))))


def counts(driver: Driver) -> str:
    """Write how many runs are done, running and failed."""
    # A running cell with a goal may need more than is known now.
    open_ended = driver.plan.precision and not all(state.settled for state in driver.states)
    running = f", {driver.running} running" if driver.running else ""
    failed = f", {len(driver.failures)} failed" if driver.failures else ""
    return f"{driver.done} of {driver.expected}{'+' if open_ended else ''} runs done{running}{failed}"


def estimate(driver: Driver) -> str:
    """Write the estimate of the cell that is least precise, with its interval."""
    name = driver.plan.shown[0]

    def width(state: CellState) -> float:
        found = state.estimate(name)
        half = found.half_width
        return -1.0 if half is None or not math.isfinite(found.mean) else half / max(abs(found.mean), 1e-300)

    widest = max(
        (state for state in driver.states if not state.settled or not driver.plan.precision), key=width, default=None
    )
    if widest is None or width(widest) < 0:
        return ""
    found, metric = widest.estimate(name), metrics.find(name)
    return f"{name} {metrics.written(found, metric.scale)} {metric.shown_unit}".rstrip() + f" ({widest.cell})"


def duration(seconds: float) -> str:
    """Write a time as people say it.

    Examples
    --------
    >>> duration(3.2), duration(200), duration(7300)
    ('3 s', '3 min 20 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
