"""What a thread or a worker does: the runs of one batch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pyarrow as pa

from sojourn.base import core
from sojourn.plan import rows
from sojourn.plan.identity import Run
from sojourn.plugins import loading as plugins


@dataclass(frozen=True)
class Batch:
    """Runs that go to one thread or worker together, each with the place of its scenario, and their plugins."""

    build: str
    scenarios: tuple[str, ...]
    runs: tuple[tuple[int, Run], ...]
    plugins: tuple[plugins.Shipped, ...] = field(init=False)

    def __post_init__(self) -> None:
        texts = (*self.scenarios, *(run.scheme for _, run in self.runs))
        object.__setattr__(self, "plugins", plugins.shipped_in(texts))


@dataclass(frozen=True)
class Done:
    """What became of a batch: what went wrong by place in the batch, and the tables of the other runs in their order.

    There is nothing but `build` if it is not the one that was wanted. `cpu_s` is the batch's processor time.
    """

    build: str
    failed: dict[int, str]
    tables: dict[str, pa.Table]
    cpu_s: float


def run(batch: Batch, stop: core.Stop | None = None) -> Done:
    """Run a batch in this thread."""
    build = core.build()
    if build != batch.build:
        return Done(build, {}, {}, 0.0)
    try:
        plugins.add_shipped(batch.plugins)
    except core.SojournError as error:
        return Done(build, {k: str(error) for k in range(len(batch.runs))}, rows.tables([]), 0.0)
    start = time.thread_time()
    results = core.run_batch(batch.scenarios, [(scenario, run.task) for scenario, run in batch.runs], stop)
    failed = {k: text for k, (good, text) in enumerate(results) if not good}
    done = [(run.id(build), build, run, results[k][1]) for k, (_, run) in enumerate(batch.runs) if k not in failed]
    tables = rows.tables(done)
    return Done(build, failed, tables, time.thread_time() - start)
