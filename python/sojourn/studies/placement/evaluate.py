"""Runs of placements, each done once: what is finished is read from the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from sojourn.base import core, whole_files
from sojourn.base.core import Document, SojournError
from sojourn.stats import Floats
from sojourn.studies.topology.case import Case

LOG: Final = "runs.jsonl"
Placement: TypeAlias = frozenset[int]
"""Routers whose output queues have the scheme."""


@dataclass(frozen=True)
class Objective:
    """An objective that a placement minimises: a value times `scale` is in `unit`."""

    name: str
    title: str
    unit: str
    scale: float
    meaning: str


OBJECTIVES: Final[Mapping[str, Objective]] = {
    each.name: each
    for each in (
        Objective(
            "mean_latency",
            "Mean latency",
            "ms",
            1.0,
            "mean over the flows of each flow's mean one-way delay; every flow counts the same, so that a placement "
            "does not gain by slowing down flows on long paths",
        ),
        Objective("p99_latency", "p99 latency", "ms", 1.0, "99th percentile of all packets' one-way delays"),
        Objective("loss", "Loss", "%", 100.0, "data packets dropped over data packets sent, all flows together"),
        Objective(
            "fct",
            "Flow completion time",
            "s",
            1.0,
            "mean over the transfers of the time from the first packet to the last; one that did not end counts with "
            "the time until its last delivery",
        ),
    )
}

GOODPUT: Final = "goodput_bit_s"
UNFINISHED: Final = "unfinished"
_KEPT: Final = (*OBJECTIVES, GOODPUT, UNFINISHED)


class Evaluator:
    """Runs placements on a case with common random numbers, and remembers.

    Parameters
    ----------
    case
        Topology and traffic.
    scheme
        What a chosen router's output queues get.
    seed
        Of the runs; replications differ in their random streams.
    jobs
        Number of threads; it changes no number.
    log
        A file that keeps every finished run, a line each. A line that a kill cut short is dropped.
    tick
        Called with the number of runs that have been finished or found in the log.
    """

    def __init__(
        self,
        case: Case,
        scheme: str,
        *,
        seed: int = 1,
        jobs: int = 1,
        log: Path | None = None,
        tick: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._case = case
        self._scheme = core.parse_aqm(scheme)
        self._seed = seed
        self._jobs = jobs
        self._log = log
        self._tick = tick
        text = json.dumps([core.build(), case.document, self._scheme, seed], sort_keys=True, ensure_ascii=False)
        self._digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._found: dict[tuple[Placement, int], dict[str, float]] = {}
        self.runs = 0
        """Runs simulated by this process."""
        if log is not None:
            whole_files.replay(log, self._restore)

    def values(
        self, placements: Sequence[Placement], replications: Collection[int]
    ) -> dict[Placement, dict[str, Floats]]:
        """Return each placement's measures by replication; all see the same traffic in the same replication."""
        wanted = [(placement, k) for placement in dict.fromkeys(placements) for k in replications]
        missing = [key for key in wanted if key not in self._found]
        self._tick(len(wanted) - len(missing))
        stop = core.Stop()
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                # In order of the list whatever the threads do, so that the log is the same too.
                for key, values in zip(
                    missing, pool.map(lambda key: self._run(key[0], key[1], stop), missing), strict=True
                ):
                    self._keep(key, values)
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        return {
            placement: {name: np.array([self._found[placement, k][name] for k in replications]) for name in _KEPT}
            for placement in dict.fromkeys(placements)
        }

    def _run(self, placement: Placement, replication: int, stop: core.Stop) -> dict[str, float]:
        scenario = json.dumps(self._case.placed(placement, self._scheme), ensure_ascii=False)
        task = json.dumps({"scheme": None, "seed": self._seed, "replication": replication, "series": None})
        ((good, text),) = core.run_batch([scenario], [(0, task)], stop)
        if not good:
            raise SojournError(f"{self._case.topology.name}: {text}")
        return measures(json.loads(text))

    def _keep(self, key: tuple[Placement, int], values: dict[str, float]) -> None:
        self._found[key] = values
        self.runs += 1
        self._tick(1)
        if self._log is not None:
            line = {"case": self._digest, "routers": sorted(key[0]), "replication": key[1], "values": values}
            whole_files.append(self._log, [line])

    def _restore(self, entry: Any) -> None:
        key = (frozenset(entry["routers"]), int(entry["replication"]))
        values = {name: float(entry["values"][name]) for name in _KEPT}
        if entry["case"] == self._digest:
            self._found[key] = values


def measures(report: Document) -> dict[str, float]:
    """Return what a run's report says of every objective, and its goodput.

    Not-a-number where a run has no such thing: no transfer, or no packet that arrived.
    """
    flows = [flow["metrics"] for flow in report["flows"]]
    run = report["metrics"]
    transfers = [flow["metrics"] for flow in report["flows"] if flow["transport"] == "tcp"]
    ended = [flow["flow_completion_s"] for flow in transfers if _has(flow, "flow_completion_s")]
    others = [flow for flow in transfers if not _has(flow, "flow_completion_s")]
    times = ended + [flow["flow_duration_s"] for flow in others if _has(flow, "flow_duration_s")]
    sent = sum(flow["sent_packets"] for flow in flows)
    return {
        "mean_latency": _mean(flow["one_way_delay_ms_mean"] for flow in flows if _has(flow, "one_way_delay_ms_mean")),
        "p99_latency": _number(run.get("one_way_delay_ms_p99")),
        "loss": sum(flow["dropped_packets"] for flow in flows) / sent if sent else float("nan"),
        "fct": _mean(times),
        GOODPUT: _number(run.get("goodput_bit_s")),
        UNFINISHED: 1 - len(ended) / len(transfers) if transfers else float("nan"),
    }


def _has(metrics: Mapping[str, Any], name: str) -> bool:
    return metrics.get(name) is not None


def _mean(values: Iterable[float]) -> float:
    numbers = [*values]
    return sum(numbers) / len(numbers) if numbers else float("nan")


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
