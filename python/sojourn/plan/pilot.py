"""An estimate of how long a plan takes, from a few timed runs."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from sojourn.base.errors import RunError
from sojourn.base.units import to_ns
from sojourn.plan import worker
from sojourn.plan.expand import Cells
from sojourn.plan.identity import REAL, build

CELLS = 12
BUDGET_S = 10.0
REAL_MORE_S = 3.0
"""What a run on real packets takes besides its duration: namespaces, programs, the device."""


@dataclass(frozen=True)
class Pilot:
    """The results of the pilot runs.

    Parameters
    ----------
    runs
        Runs made.
    run_s
        Mean processor time of one.
    """

    runs: int
    run_s: float


def pilot(cells: Cells) -> Pilot:
    """Run replication 0 of cells from all parts of the plan until the time is over; at least one run.

    Runs on real packets take their duration, and none is made.

    Raises
    ------
    SojournError
        If one of them fails.
    """
    if cells.plan.world == REAL:
        spans = [to_ns("duration", json.loads(cells.scenarios[cell.scenario])["duration"]) / 1e9 for cell in cells]
        return Pilot(0, sum(spans) / len(spans) + REAL_MORE_S)
    step = max(len(cells) // CELLS, 1)
    end = time.monotonic() + BUDGET_S
    runs, spent = 0, 0.0
    # From the middle outwards the order would not matter much; both ends come early, so that a range is covered.
    chosen = list(cells)[::step]
    chosen = [*chosen[:1], *chosen[:0:-1]]
    for cell in chosen:
        done = worker.run(worker.Batch(build(), (cells.scenarios[cell.scenario],), ((0, cell.run(0)),)))
        if done.failed:
            raise RunError(f"{cells.plan.origin}: cell {cell}: {done.failed[0]}")
        runs += 1
        spent += done.cpu_s
        if time.monotonic() > end:
            break
    return Pilot(runs, spent / runs)
