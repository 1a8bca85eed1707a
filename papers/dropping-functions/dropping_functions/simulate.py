"""The simulations of a paper of windows, in an order that is balanced after any number of blocks."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import pandas as pd

from sojourn import _native
from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.base.processors import cores
from sojourn.studies.papers.results import Keeper

from . import traffic
from .document import Experiment, Scheme, Size, Switchback

PAIRED: Final = "paired"
BESIDE: Final = "beside"
LABORATORY: Final = "laboratory"
SWITCHBACK: Final = "switchback"

WINDOWS: Final = "windows"
"""What the results of runs are called in the store."""
GROUP: Final = ("transport", "kind", "rtt_ms", "rate_bin", "life_bin")
"""What similar flows have in common."""

RATES: Final = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, np.inf)
"""Edges of bins of a flow's rate, packets a second."""
LIVES: Final = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, np.inf)
"""Edges of bins of a flow's duration within the measured time, seconds."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    Parameters
    ----------
    block, demand
        Which traffic; of the switchback the demand is not one number (0).
    scheme
        None: it switches.
    """

    part: str
    block: int
    demand: float
    scheme: Scheme | None

    @property
    def label(self) -> str:
        """Id of the scheme, or ``switched``."""
        return self.scheme.id if self.scheme else "switched"


def runs_of(paper: Experiment, size: Size) -> list[Run]:
    """Return the runs of a size, block after block; the runs of a block share their traffic."""
    found: list[Run] = []
    beside = [one for one in paper.schemes if one.is_beside]
    each = -(-size.switchback.runs // size.blocks)
    for block in range(size.blocks):
        for demand in size.demands:
            found += [Run(PAIRED, block, demand, one) for one in paper.study]
            if block < size.blocks_beside:
                found += [Run(BESIDE, block, demand, one) for one in beside]
        numbers = range(block * each, min((block + 1) * each, size.switchback.runs))
        found += [Run(SWITCHBACK, number, 0.0, None) for number in numbers]
        if block < size.blocks_laboratory:
            found += [Run(LABORATORY, block, demand, one) for demand in size.demands for one in paper.study]
    return found


def settings(paper: Experiment, size: Size, run: Run) -> dict[str, Any]:
    """Return everything that the numbers of a run depend on, except the build."""
    found = {name: getattr(run, name) for name in ("part", "block", "demand")}
    found |= {"scheme": run.scheme.text if run.scheme else [one.text for one in paper.study]}
    found |= {"packets": size.packets, "warm_up_s": size.warm_up_s, "measured_s": size.measured_s}
    # A further run changes none of the others.
    back = {name: value for name, value in asdict(size.switchback).items() if name != "runs"}
    return found | {"traffic": paper.traffic, "switchback": None if run.scheme else back}


def simulate(
    paper: Experiment,
    size: Size,
    keeper: Keeper,
    runs: Sequence[Run],
    *,
    hours: float | None = None,
    jobs: int | None = None,
    say: Say = lambda _: None,
) -> None:
    """Make those of `runs` that a store does not hold yet.

    After `hours` no run begins, and unfinished ones stop; None: continue to the end. The results do not depend on
    `jobs`, the number of threads, by default one per core.
    """
    everything, before = [(settings(paper, size, run), run) for run in runs], keeper.made
    todo = [one for one in everything if not keeper.path(WINDOWS, one[0]).is_file()]
    deadline = None if hours is None else time.monotonic() + hours * 3600
    threads = cores() if jobs is None else jobs
    stop = _native.Stop()
    told = time.monotonic()
    # Runs of one traffic follow each other.
    same = groupby(todo, lambda one: (one[1].part == LABORATORY, one[1].scheme is None, one[1].block, one[1].demand))
    drawn = ((own, draw_of(paper, size, own[0][1])) for own in (list(of) for _, of in same))
    waiting = ((*one, draw) for own, draw in drawn for one in own)
    with ThreadPoolExecutor(threads) as pool:
        under_way: dict[Future[dict[str, Any] | None], dict[str, Any]] = {}
        try:
            while True:
                is_late = deadline is not None and time.monotonic() > deadline
                while not is_late and len(under_way) < threads and (one := next(waiting, None)):
                    of, run, draw = one
                    under_way[pool.submit(result_of, paper, size, run, draw, stop)] = of
                if is_late:
                    stop.set()
                if not under_way:
                    break
                finished, _ = wait(under_way, timeout=2, return_when=FIRST_COMPLETED)
                for future in finished:
                    of, result = under_way.pop(future), future.result()
                    if result is not None:
                        keeper.keep(WINDOWS, of, result)
                if time.monotonic() - told > 15:
                    told = time.monotonic()
                    say(f"{len(everything) - len(todo) + keeper.made - before} of {len(everything)} runs")
        finally:
            stop.set()


def result_of(
    paper: Experiment,
    size: Size,
    run: Run,
    draw: traffic.Draw,
    stop: core.Stop | None = None,
    *,
    also: Callable[[Any, traffic.Draw], dict[str, Any]] = lambda *_: {},
) -> dict[str, Any] | None:
    """Make a run, and return what is stored of it, with what `also` makes of its report; None if it was stopped."""
    start, text_of = time.thread_time(), run.scheme.text if run.scheme else None
    task = {"scheme": text_of, "seed": 1, "replication": run.block, "series": None}
    stop = stop or _native.Stop()
    ((is_good, text),) = core.run_batch([draw.scenario], [(0, json.dumps(task))], stop)
    if not is_good and text != "stopped":
        raise SojournError(f"{text_of or 'switched'}: {text}")
    cpu_s = time.thread_time() - start
    if not is_good:
        return None
    report = json.loads(text)
    return {**stored(paper, size, run, draw, report), **also(report, draw), "cpu_s": cpu_s}


def draw_of(paper: Experiment, size: Size, run: Run) -> traffic.Draw:
    """Return the traffic of a run; all schemes of a block share it."""
    back, demand = size.switchback, traffic.constant(run.demand)
    of: dict[str, Any] = {"warm_up_s": size.warm_up_s, "measured_s": size.measured_s, "packets": size.packets}
    if run.scheme is None:
        demand = traffic.wave(*back.demand, back.cycle_slots * back.slot_s, run.block * 0.37)
        of = {"warm_up_s": back.warm_up_s, "measured_s": back.slots * back.slot_s, "packets": back.packets}
        of["changes"] = [(at, scheme.text) for at, scheme in schedule(paper, back, run.block)]
    # Each traffic has its own seed, the same in every size; the demands of a block are separate draws.
    seed = hashlib.sha256(f"{run.part == SWITCHBACK} {run.block} {run.demand}".encode()).hexdigest()[:8]
    return traffic.draw(paper.traffic, demand, seed=int(seed, 16), is_laboratory=run.part == LABORATORY, **of)


def schedule(paper: Experiment, back: Switchback, number: int) -> list[tuple[float, Scheme]]:
    """Return when a switchback run changes to which scheme: drawn anew for each slot, as in the study."""
    random = np.random.default_rng([number, 263407])
    drawn = random.integers(len(paper.study), size=back.slots)
    # The first slot's scheme works from the start: its warm-up is the run's.
    starts = [0.0] + [back.warm_up_s + slot * back.slot_s for slot in range(1, back.slots)]
    return [(at, paper.study[k]) for at, k in zip(starts, drawn, strict=True)]


def stored(paper: Experiment, size: Size, run: Run, draw: traffic.Draw, report: Any) -> dict[str, Any]:
    """Return what is stored of a run: which it is, its windows, and sums over groups of similar flows."""
    (queue,) = [one for one in report["queues"] if one["under_test"]]
    ids = {core.parse_aqm(one.text): one.id for one in paper.schemes}
    back = size.switchback

    def slot(row: Mapping[str, Any]) -> int | None:
        return None if run.scheme else int((row["started_ns"] * 1e-9 - back.warm_up_s) // back.slot_s)

    rows = [{**row, "label": ids[row["scheme"]], "slot": slot(row)} for row in queue["windows"]]
    flows = _flows(report, draw) if run.scheme else []
    sums = pd.DataFrame(flows, columns=[*GROUP, "flows", "sent", "dropped", "runs"])
    groups = sums.groupby(list(GROUP), as_index=False, sort=False).sum()
    of_run = {"label": run.label, "part": run.part, "block": run.block, "demand": run.demand}
    return {**of_run, "windows": rows, "flows": groups.to_dict("list")}


def _flows(report: Mapping[str, Any], draw: traffic.Draw) -> list[tuple[Any, ...]]:
    """Return a row for each flow whose data passed the bottleneck in the measured time: its group and its counts."""
    begin, end = float(report["warm_up_s"]), float(report["duration_s"])
    found = []
    for flow in report["flows"]:
        of = flow["metrics"]
        sent, start = of["sent_packets"], of["flow_start_s"]
        kind = draw.kind[flow["group"]]
        if not sent or start is None or kind == "upload":
            continue
        last = min(start + (of["flow_duration_s"] or 0.0), end)
        life = max(last - max(start, begin), 1e-3)
        dropped, burst = int(of["dropped_packets"]), of["burst_ratio"]
        # The burst ratio is dropped / runs * (1 - loss ratio).
        runs = round(dropped * (1 - dropped / sent) / burst) if burst else 0
        bins = (int(np.digitize(sent / life, RATES)) - 1, int(np.digitize(life, LIVES)) - 1)
        found.append((flow["transport"], kind, draw.rtt_ms[flow["group"]], *bins, 1, int(sent), dropped, runs))
    return found
