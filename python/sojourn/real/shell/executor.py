"""Runs of a plan on real packets: one after the other, each repeated while the machine is too late for it."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Final

from sojourn.base import core, systems
from sojourn.base.core import Document, SojournError
from sojourn.base.errors import RunError
from sojourn.plan import rows
from sojourn.plan.execute import with_scheme
from sojourn.plan.executors import Local
from sojourn.plan.expand import Cells
from sojourn.plan.identity import Run
from sojourn.plan.worker import Batch, Done
from sojourn.real.shell.carry import attempts, carry
from sojourn.real.shell.flows import check as check_scenario
from sojourn.real.shell.flows import check_machine

UNKNOWN: Final = ("sojourn_ms_p50", "sojourn_ms_p99")
"""Metrics that have no value on real packets after a warm-up."""


def check(cells: Cells) -> None:
    """Refuse cells that cannot run for real, before anything starts."""
    systems.need("a run on real packets")
    scenarios = [json.loads(text) for text in cells.scenarios.values()]
    for goal in cells.plan.precision:
        if goal.metric in UNKNOWN:
            raise RunError(
                f"a goal for `{goal.metric}` cannot be met on real packets, which have no quantiles of delays; "
                "allowed: means, such as sojourn_ms_mean and goodput_bit_s"
            )
    for cell in cells:
        check_scenario(with_scheme(json.loads(cells.scenarios[cell.scenario]), cell.run(0).scheme), seed=cell.seed)
    check_machine(scenarios)


class Packets(Local):
    """Real packets on this machine. Runs follow each other, so they do not disturb each other."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        super().__init__(1, "real packets, one run at a time", self._batch, self._stop.set)

    def _batch(self, batch: Batch) -> Done:
        began = time.monotonic()
        failed: dict[int, str] = {}
        done = []
        for place, (scenario, run) in enumerate(batch.runs):
            try:
                report = self._run(json.loads(batch.scenarios[scenario]), run)
            except SojournError as error:
                failed[place] = str(error)
                continue
            done.append((run.id(batch.build), batch.build, run, json.dumps(report)))
        # Its time decides how many runs make a batch, and real runs take all of theirs.
        return Done(core.build(), failed, rows.tables(done), time.monotonic() - began)

    def _run(self, scenario: Document, run: Run) -> Document:
        """Carry out one run, again while it is late."""
        tried = with_scheme(scenario, run.scheme)
        most = attempts()
        for repeated in range(most):
            _, late, report = carry(tried, seed=run.seed, replication=run.replication, stop=self._stop)
            if late is None:
                break
            what = "it is repeated" if repeated + 1 < most else f"it stays marked after {most} attempts"
            print(
                f"sojourn: {run.scheme}, replication {run.replication}: {late}; {what}", file=sys.stderr, flush=True
            )
        report["metrics"] |= {"marked_late_runs": float(late is not None), "repeated_runs": float(repeated)}
        return report
