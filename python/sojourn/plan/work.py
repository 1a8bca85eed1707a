"""What a thread or a worker does: the runs of one batch."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sojourn import core


@dataclass(frozen=True)
class Batch:
    """Runs that go to one thread or worker together.

    Parameters
    ----------
    build
        Of the code that is wanted.
    scenarios
        Canonical texts.
    tasks
        Which scenario, and the task as JSON text.
    """

    build: str
    scenarios: tuple[str, ...]
    tasks: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Done:
    """What became of a batch.

    Parameters
    ----------
    build
        Of the code that ran; `results` is empty if it is not the one that was wanted.
    results
        For each task whether it went well, and its report as JSON text or what went wrong.
    cpu_s
        Processor time of the runs.
    """

    build: str
    results: tuple[tuple[bool, str], ...]
    cpu_s: float


def run(batch: Batch) -> Done:
    """Run a batch in this thread."""
    build = core.build()
    if build != batch.build:
        return Done(build, (), 0.0)
    start = time.thread_time()
    results = core.run_batch(batch.scenarios, batch.tasks)
    return Done(build, tuple(results), time.thread_time() - start)


def facts() -> dict[str, str]:
    """Return what a worker is, to be compared with the process that asks it."""
    return {"build": core.build()}
