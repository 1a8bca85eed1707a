"""A paper's measurements made up by a rule, so that its report can be tested without a simulation."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sojourn.studies.papers import Paper, ledger
from sojourn.studies.papers.execute import Measured, Trace, Traces
from sojourn.studies.papers.model import Condition

REPLICATIONS = 4
CLAIMED = ("queue_packets_mean", "sojourn_ms_mean", "loss_ratio", "goodput_bit_s", "throughput_bit_s")


def some_readings(paper: Paper, count: int = 2) -> Paper:
    """Return the paper with the first readings of the simulation and all those of metrics and words."""
    runs = [one for one in paper.readings if one.is_run][:count]
    return replace(paper, readings=(*runs, *(one for one in paper.readings if not one.is_run)))


def measure(paper: Paper, conditions: Sequence[Condition], replications: int = REPLICATIONS) -> Measured:
    """Return values that depend on reading, condition, scheme and metric; replications differ by a hundredth."""
    names = {claim.metric for claim in paper.claims} | {row.metric for row in paper.rows} | {*CLAIMED}
    extra = {f"busiest {name}" for name in ("queue_packets_mean", "sojourn_ms_mean")}
    extra |= {"flow goodput_bit_s", "flow throughput_bit_s", "flow loss_ratio", "flow_completion_s_mean"}
    raw = {}
    for reading in paper.readings:
        if not reading.is_run:
            continue
        for one in conditions:
            raw[reading.name, one.name] = {
                metric: {
                    scheme: _values((reading.name, one.name, scheme, metric), replications)
                    for scheme in (*one.schemes, *one.beside)
                }
                for metric in sorted(names | extra)
            }
    return Measured(raw, {}, replications, tuple(conditions))


def _values(key: tuple[str, ...], replications: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    level = 1 + zlib.crc32("/".join(key).encode()) % 100
    return level * (1 + 0.01 * np.arange(replications))


def trace(paper: Paper, figure: str, condition: Condition) -> Traces:
    """Return made-up time series of a figure under the base."""
    times = np.arange(1.0, 21.0)
    of = {
        (series, scheme): Trace(times, np.stack([k + times * (1 + place) for k in range(2)]))
        for place, scheme in enumerate(condition.schemes)
        for series in ("queue_packets", "sojourn_ms")
    }
    return {(figure, paper.readings[0].name, condition.name): of}


def judged(paper: Paper, measured: Measured) -> ledger.Ledger:
    """Return the ledger."""
    return ledger.make(paper, measured)
