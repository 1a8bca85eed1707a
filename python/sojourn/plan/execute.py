"""Run a plan: do the missing runs in batches and write them into the store."""

from __future__ import annotations

import json
import math
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from sojourn import stats
from sojourn.base import provided, toml
from sojourn.base.core import Document
from sojourn.base.errors import RunError
from sojourn.base.processors import cores
from sojourn.base.units import to_ns
from sojourn.plan import expand, stopping, worker
from sojourn.plan.document import dumps
from sojourn.plan.executors import Cluster, Executor, refuse, threads
from sojourn.plan.expand import Cell, Cells
from sojourn.plan.identity import REAL, build
from sojourn.plan.model import Failure, Outcome
from sojourn.plan.store import Store
from sojourn.plan.worker import Batch, Done
from sojourn.plugins import loading as plugins
from sojourn.results import headline, metrics, tables

if TYPE_CHECKING:
    from sojourn.plan.model import Plan

BATCH_S: Final = 1.0
"""Duration of a batch on one core: long enough to hide its overhead, and all that a kill can lose."""
BATCH_RUNS: Final = 256
AHEAD: Final = 2
"""Batches handed over for each thread: one that runs, one that waits."""
ROUND: Final = 5
"""Replications of a cell in one batch, so that its scenario is read once for all of them."""
ATTEMPTS: Final = 3
"""Number of workers that may die in a run before it counts as failed."""
FLUSH_S = 1.0
"""Seconds between two writes of finished runs at first; the interval grows with the duration of the plan."""
PARTS = 200
"""If there are more parts than this, they are merged during the plan."""


@dataclass
class CellState:
    """The progress of a cell; `target` is the number of replications that it needs, as far as is known.

    `values` has the metrics of finished replications, and of several queues under test those of each queue, as
    ``utilisation@left->right``. `fingerprints` are of replications with all their metrics, as long as the known ones
    are the same in all.
    """

    cell: Cell
    target: int
    values: dict[int, dict[str, float]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    fingerprints: dict[int, str] = field(default_factory=dict, repr=False)
    settled: bool = False
    tested: tuple[str, ...] = ()
    """The queues under test where there are several; the headline queue first, once the cells are compared."""
    is_compared: bool = False

    @property
    def done(self) -> int:
        """The number of finished replications, at most the target."""
        return len(self.values)

    @property
    def finished(self) -> list[int]:
        """The finished replications, in order."""
        return sorted(self.values)

    @property
    def is_complete(self) -> bool:
        """Whether every replication up to the target has ended."""
        return len(self.values) + len(self.failed) >= self.target

    def series(self, metric: str, count: int) -> list[float]:
        """Return a metric's values in the first `count` replications.

        Metrics of queues are of one queue: that of their name, the headline queue of the cells that are compared,
        or, in a cell by itself, the busiest in these replications.
        """
        if len(self.tested) > 1 and metrics.is_of_queues(metric):
            queue = self.tested[0] if self.is_compared else headline.tested(self.rows(count))[0]
            metric = headline.at(metric, queue)
        return [self.values[k][metric] for k in range(count) if k in self.values]

    def repeated(self, count: int | None = None) -> bool:
        """Return whether the first replications, by default all, are one run repeated."""
        known = [k for k in range(self.target if count is None else count) if k in self.values]
        return all(k in self.fingerprints for k in known) and tables.is_one_run([self.fingerprints[k] for k in known])

    def rows(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield a row for each queue under test in each of the first `count` replications, with its utilisation."""
        for k in range(count):
            for queue in self.tested if k in self.values else ():
                share = self.values[k][headline.at("utilisation", queue)]
                yield {"queue": queue, "under_test": True, "utilisation": share}

    def record(self, replication: int, found: Mapping[str, float]) -> None:
        """Enter the metrics of a replication, from :func:`_measured`."""
        self.values[replication] = dict(found)
        own = "utilisation@"
        self.tested = self.tested or tuple(name.removeprefix(own) for name in found if name.startswith(own))

    def estimate(self, metric: str) -> stats.Estimate:
        """Return a metric's estimate from what is there."""
        values = self.series(metric, self.target)
        return stats.estimate(values, metrics.quantity(metric), repeated=self.repeated())

    def may_repeat(self, values: Mapping[str, float]) -> bool:
        """Return whether a replication has the values of those that are there, as far as they were read."""
        return all(_same(values, other) for other in self.values.values())


class Watch(Protocol):
    """Shows the progress of a plan."""

    def start(self, driver: Driver, executor: Executor) -> None:
        """Before the first run."""

    def show(self, driver: Driver) -> None:
        """Called from time to time."""

    def stop(self, driver: Driver) -> None:
        """After the last run."""


def run(
    plan: Plan | Cells,
    folder: str | Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    force: bool = False,
    max_runs: int | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Run what a store does not hold yet of a plan.

    Parameters
    ----------
    plan
        Checked whole before anything runs; cells are checked already, and may be those of several plans.
    folder
        The store, made if it is not there.
    jobs
        Number of threads; by default one per core. The results do not depend on it.
    scheduler
        Address, or scheduler file, of a Dask cluster to run on instead.
    force
        Repeat what the store holds, also of another build of the code.
    """
    for name, value in (("jobs", jobs), ("max_runs", max_runs)):
        if value is not None and value < 1:
            raise RunError(f"{name}={value} is impossible; allowed: 1 or more")
    cells = plan if isinstance(plan, Cells) else expand.cells(plan)
    if cells.plan.world == REAL:
        if scheduler:
            raise RunError("real packets need this machine's network; allowed: a plan of simulated runs on a cluster")
        # Before anything starts.
        provided.get("real packets").check(cells)
    with Store.writing(folder) as store:
        driver = Driver(cells, store, force=force)
        executor = _executor(cells, jobs, scheduler)
        try:
            return driver.drive(executor, max_runs, watch)
        finally:
            executor.close()


def _executor(cells: Cells, jobs: int | None, scheduler: str | None) -> Executor:
    if cells.plan.world == REAL:
        executor: Executor = provided.get("real packets").Packets()
        return executor
    return Cluster(scheduler) if scheduler else threads(jobs or cores())


class Driver:
    """Does the runs of a plan. Nothing else writes to the store."""

    def __init__(self, cells: Cells, store: Store, *, force: bool = False) -> None:
        self.plan = cells.plan
        self.store = store
        self._cells = cells
        self._metrics = tuple(dict.fromkeys((*(goal.metric for goal in cells.plan.precision), *cells.plan.shown)))
        self.states = [CellState(cell, cells.plan.least) for cell in cells]
        plans = {plan.name: dumps(plan) for plan in cells.parts or (cells.plan,)}
        kept = store.plans()
        # Before a run is spent that nobody could repeat.
        plugins.repeat(plugins.shipped_in(text for name, text in plans.items() if kept.get(name) != text))
        if force:
            store.remove(_known(cells, store, [*store.builds(), build()]))
        else:
            refuse_other_builds(cells, store)
        store.add_texts(cells.scenarios, plans)
        fill(self.states, store, self._metrics, build(), cells.plan)
        self.found = sum(state.done for state in self.states)
        self.ran = 0
        self.failures: list[Failure] = []
        self.run_s: float | None = None
        self._buffer: list[dict[str, pa.Table]] = []
        self._failed: dict[str, tuple[str, str]] = {}
        self._pending: deque[tuple[CellState, int]] = deque()
        self._flying: dict[int, list[tuple[CellState, int]]] = {}
        self._attempts: dict[tuple[int, int], int] = {}
        self._submitted = 0
        self._numbers = 0
        self._cpu_s = 0.0
        self._start = self._written = time.monotonic()

    @property
    def done(self) -> int:
        """Runs of the plan that are finished."""
        return self.found + self.ran

    @property
    def running(self) -> int:
        """Runs handed over."""
        return sum(map(len, self._flying.values()))

    @property
    def expected(self) -> int:
        """Runs that the plan needs as far as is known now."""
        return sum(state.target for state in self.states)

    def drive(self, executor: Executor, max_runs: int | None, watch: Watch | None) -> Outcome:
        """Run until nothing is missing."""
        self._enqueue(self.states)
        if watch:
            watch.start(self, executor)
        stopped = False
        try:
            while True:
                left = None if max_runs is None else max_runs - self._submitted
                self._feed(executor, left)
                if not self._flying:
                    stopped = bool(self._pending)
                    break
                answer = executor.next(0.25)
                if answer:
                    self._receive(*answer)
                self._flush_sometimes()
                if watch:
                    watch.show(self)
        finally:
            # Also when interrupted: what has finished is kept.
            self._flush()
            if watch:
                watch.stop(self)
        self.store.merge()
        return self._outcome(stopped=stopped)

    def _outcome(self, *, stopped: bool) -> Outcome:
        failures = tuple(self.failures)
        compare(self.states)
        return Outcome(self.plan, self.store.folder, tuple(self.states), self.ran, self.found, failures, stopped)

    def _enqueue(self, states: Iterable[CellState], since: int = 0) -> None:
        """Queue the missing runs: a few replications of every cell, then the next few."""
        missing = [
            (state, k)
            for state in states
            for k in range(since, state.target)
            if k not in state.values and k not in state.failed
        ]
        missing.sort(key=lambda one: (one[1] // ROUND, one[0].cell.number, one[1]))
        self._pending.extend(missing)

    def _feed(self, executor: Executor, left: int | None) -> None:
        width = executor.width
        while self._pending and len(self._flying) < AHEAD * width and (left is None or left > 0):
            size = min(self._batch_size(width), len(self._pending), left or BATCH_RUNS)
            members = [self._pending.popleft() for _ in range(size)]
            self._submit(executor, members)
            left = None if left is None else left - size
            self._submitted += size

    def _batch_size(self, width: int) -> int:
        # Singly until it is known how long they take.
        if self.run_s is None:
            return 1
        fair = -(-len(self._pending) // (AHEAD * width))
        return max(min(int(BATCH_S / max(self.run_s, 1e-6)), fair, BATCH_RUNS), 1)

    def _submit(self, executor: Executor, members: list[tuple[CellState, int]]) -> None:
        scenarios = list(dict.fromkeys(state.cell.scenario for state, _ in members))
        index = {name: k for k, name in enumerate(scenarios)}
        batch = Batch(
            build(),
            tuple(self._cells.scenarios[name] for name in scenarios),
            tuple((index[state.cell.scenario], state.cell.run(k)) for state, k in members),
        )
        self._flying[self._numbers] = members
        executor.submit(self._numbers, batch)
        self._numbers += 1

    def _receive(self, number: int, answer: Done | BaseException) -> None:
        members = self._flying.pop(number)
        if isinstance(answer, BaseException):
            self._retry(members, answer)
            return
        if answer.build != build():
            refuse({"a worker": answer.build})
        self._cpu_s += answer.cpu_s
        good = [member for place, member in enumerate(members) if place not in answer.failed]
        found = _measured(answer.tables["runs"], answer.tables["queues"], self._metrics)
        for row, (state, k) in enumerate(good):
            values = found[state.cell.run(k).id(build())]
            if state.may_repeat(values):
                state.fingerprints[k] = tables.fingerprint(answer.tables["runs"].slice(row, 1).to_pylist()[0])
            state.record(k, values)
        self.ran += len(good)
        self._buffer.append(answer.tables)
        for place, why in answer.failed.items():
            self._fail(*members[place], why)
        for state, _ in members:
            self._settle(state)
        ended = self.ran + len(self.failures)
        self.run_s = self._cpu_s / ended if ended else None

    def _retry(self, members: list[tuple[CellState, int]], error: BaseException) -> None:
        """Repeat the runs of a lost batch one by one; a run has failed if its worker dies again and again."""
        for state, k in members:
            key = (state.cell.number, k)
            self._attempts[key] = self._attempts.get(key, 0) + 1
            if len(members) == 1 and self._attempts[key] >= ATTEMPTS:
                self._fail(state, k, f"its worker was lost {ATTEMPTS} times: {type(error).__name__}: {error}")
                self._settle(state)
            else:
                self._submitted -= 1
                self._pending.appendleft((state, k))
        # The next batches are single runs.
        self.run_s = None

    def _fail(self, state: CellState, k: int, why: str) -> None:
        own = state.cell.run(k)
        identity = own.id(build())
        state.failed[k] = why
        self.failures.append(Failure(identity, str(state.cell), k, why))
        scenario = with_scheme(json.loads(self._cells.scenarios[own.scenario]), own.scheme)
        head = (
            f"# plan {self.plan.name}, cell {state.cell}, replication {k}\n# {why}\n"
            f"# again: sojourn run {identity}.toml --seed {own.seed} --replicates {k + 1}\n"
        )
        text = f"{state.cell}, replication {k}: {why}\n"
        self._failed[identity] = (head + toml.dumps(scenario), text)

    def _settle(self, state: CellState) -> None:
        """When a cell has its target of replications, determine whether it needs more."""
        while state.is_complete and not state.settled:
            needed = stopping.target(self.plan.precision, state.target, state.series, state.repeated)
            if needed == state.target:
                state.settled = True
                return
            since, state.target = state.target, needed
            self._enqueue([state], since)

    def _flush_sometimes(self) -> None:
        now = time.monotonic()
        # A kill loses a second, or a hundredth of what was done, but never more than half a minute.
        if now - self._written >= min(max((now - self._start) / 100, FLUSH_S), 30 * FLUSH_S):
            self._flush()

    def _flush(self) -> None:
        if self._buffer:
            self.store.add(self._buffer)
            self.store.clear_failures(identity for one in self._buffer for identity in one["runs"]["run"].to_pylist())
            self._buffer = []
            if len(self.store.parts()) > PARTS:
                self.store.merge()
        self.store.add_failures(self._failed)
        self._failed = {}
        self._written = time.monotonic()


def fill(states: Sequence[CellState], store: Store, names: Sequence[str], code: str, plan: Plan) -> None:
    """Read what a store holds, and apply the precision goals to it."""
    of_runs, of_queues = _wanted(names)
    queues = store.read("queues", columns=["queue", "under_test", *of_queues])
    found = _measured(store.read("runs", columns=of_runs), queues, names)

    def read_known(state: CellState, known: int) -> None:
        for k in range(known, state.target):
            own = found.get(state.cell.run(k).id(code))
            if own is not None:
                state.record(k, own)

    for state in states:
        read_known(state, 0)
    _look_for_repeats(states, store, code)
    for state in states:
        while state.is_complete:
            needed = stopping.target(plan.precision, state.target, state.series, state.repeated)
            if needed == state.target:
                state.settled = True
                break
            known, state.target = state.target, needed
            read_known(state, known)


def _look_for_repeats(states: Sequence[CellState], store: Store, code: str) -> None:
    """Read all metrics of those cells whose replications may be identical."""
    wanted = {
        state.cell.run(k).id(code): (state, k)
        for state in states
        if state.values and state.may_repeat(next(iter(state.values.values())))
        for k in state.values
    }
    if wanted:
        runs = store.read("runs", runs=wanted)
        for row in runs.to_pylist():
            state, k = wanted[row["run"]]
            state.fingerprints[k] = tables.fingerprint(row)


def _wanted(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the columns of runs and of queues that metrics are read from."""
    of_runs = [name for name in names if not metrics.split(name)[1]]
    every = (metrics.split(name)[0] for name in names)
    return of_runs, list(dict.fromkeys(("utilisation", *filter(metrics.is_of_queues, every))))


def _measured(runs: pa.Table, queues: pa.Table, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return metrics by run; with several queues under test, those of queues and the utilisation of each, too."""
    of_runs, of_queues = _wanted(names)
    columns = {name: _column(runs, name) for name in of_runs}
    found = {
        run: {name: column[row] for name, column in columns.items()}
        for row, run in enumerate(runs["run"].to_pylist())
    }
    explicit = [name for name in names if metrics.split(name)[1]]
    tested = queues.filter(queues["under_test"])
    several = [run for run, count in Counter(tested["run"].to_pylist()).items() if count > 1]
    if not several and not explicit:
        return found
    own = {name: _column(queues, name) for name in of_queues}
    many = set(several)
    marks = zip(queues["run"].to_pylist(), queues["queue"].to_pylist(), queues["under_test"].to_pylist(), strict=True)
    for row, (run, queue, is_tested) in enumerate(marks):
        if run in many and is_tested:
            found[run].update((headline.at(name, queue), column[row]) for name, column in own.items())
        for name in explicit:
            metric, where = metrics.split(name)
            if where == queue and run in found:
                found[run][name] = own[metric][row]
    for values in found.values():
        for name in explicit:
            values.setdefault(name, math.nan)
    return found


def compare(states: Sequence[CellState]) -> None:
    """Give the cells that differ in their scheme alone one order of the queues under test, the busiest first."""
    families: dict[tuple[Any, ...], list[CellState]] = {}
    for state in states:
        families.setdefault(tuple(state.cell.levels.values()), []).append(state)
    for family in families.values():
        order = headline.tested(row for state in family for row in state.rows(state.target))
        for state in family:
            state.tested = tuple(queue for queue in order if queue in state.tested)
            state.is_compared = True


def refuse_other_builds(cells: Cells, store: Store) -> None:
    """Raise if the store holds runs of these cells that another build of the code made."""
    others = {
        code: count for code in store.builds() if code != build() and (count := len(_known(cells, store, [code])))
    }
    if others:
        listed = ", ".join(f"{count} runs of {code}" for code, count in sorted(others.items()))
        raise RunError(
            f"{store.folder}: the code has changed: the store holds {listed} for this plan, and this is {build()}; "
            "results of different builds are not mixed: name a new --store, or repeat them with --force"
        )


def _known(cells: Cells, store: Store, codes: Sequence[str]) -> set[str]:
    there = store.identities()
    if not there:
        return set()
    most = cells.plan.most
    ids = {cell.run(k).id(code) for code in dict.fromkeys(codes) for cell in cells for k in range(most)}
    return ids & there


def with_scheme(scenario: Document, scheme: str | None) -> Document:
    """Write the scheme under test into the scenario, so that the file runs as it is."""
    if scheme is None:
        return scenario
    queues = (
        ("queue", "under_test"),
        ("reverse_queue", "reverse_under_test"),
        ("access_point_queue", "access_point_under_test"),
    )
    buses, cells = scenario.get("buses", ()), scenario.get("cells", ())
    for link in (
        *scenario.get("links", ()),
        *buses,
        *(port for bus in buses for port in bus.get("ports", ())),
        *cells,
    ):
        for queue, mark in queues:
            if link.get(mark):
                link[queue] = scheme
    return scenario


def _same(ours: Mapping[str, float], theirs: Mapping[str, float]) -> bool:
    """Return whether values are the same; two missing ones are."""
    return all(
        value == theirs[name] or (math.isnan(value) and math.isnan(theirs[name])) for name, value in ours.items()
    )


def _column(table: pa.Table, name: str) -> list[float]:
    return [math.nan if value is None else float(value) for value in table[name].to_pylist()]


CELLS = 12
BUDGET_S = 10.0
REAL_MORE_S = 3.0
"""What a run on real packets takes besides its duration: namespaces, programs, the device."""


@dataclass(frozen=True)
class Pilot:
    """The number of pilot runs, and the mean processor time of one."""

    runs: int
    run_s: float


def pilot(cells: Cells) -> Pilot:
    """Run replication 0 of cells from all parts of the plan until the time is over; at least one run.

    Runs on real packets take their duration, and none is made.
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
        done = worker.run(Batch(build(), (cells.scenarios[cell.scenario],), ((0, cell.run(0)),)))
        if done.failed:
            raise RunError(f"{cells.plan.origin}: cell {cell}: {done.failed[0]}")
        runs += 1
        spent += done.cpu_s
        if time.monotonic() > end:
            break
    return Pilot(runs, spent / runs)
