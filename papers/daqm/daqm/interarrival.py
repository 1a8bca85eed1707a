"""Measured instead of constant inter-arrival times (section 7.2) in the study's conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np
import pandas as pd

from sojourn import stats
from sojourn.results import metrics
from sojourn.stats import Estimate, Floats
from sojourn.studies.papers.execute import MODE, Runner
from sojourn.studies.papers.model import Condition, Reading

from .model import Interarrival

METRICS: Final = {
    "flow_duration_s_mean": ("flow duration", False),
    "one_way_delay_ms_mean": ("delay", False),
    "loss_ratio": ("loss ratio", False),
    "queue_packets_mean": ("queue length", False),
    "sojourn_ms_mean": ("sojourn time", False),
    "goodput_bit_s": ("goodput", True),
}
"""The study's six metrics, with their names and whether a larger value is better."""

CONSTANT: Final = "constant"
MEASURED: Final = "measured"


@dataclass(frozen=True, slots=True)
class Row:
    """A scheme in a condition under a reading: a measured inter-arrival time compared with the constant.

    Parameters
    ----------
    constant
        The constant; if the mode of FIFO runs is 0 ms, the smallest constant instead.
    shares
        By metric: paired differences over the mean with the constant, one per replication.
    p
        By metric: of the paired t test.
    """

    condition: str
    reading: str
    scheme: str
    constant: str
    is_mode: bool
    shares: Mapping[str, Floats]
    p: Mapping[str, float]

    def change(self, metric: str) -> Estimate:
        """Return the mean relative change of a metric with its 95 % interval."""
        return stats.estimate(self.shares[metric])


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric of a scheme over all conditions and readings.

    Parameters
    ----------
    change
        Mean over conditions of the relative change, one number per replication.
    better, worse, neither
        The number of conditions in which a measured time is significantly better, significantly worse, or neither, at
        the 5 % level after Holm's correction over the whole table.
    """

    scheme: str
    metric: str
    change: Estimate
    better: int
    worse: int
    neither: int


def run(runner: Runner, settings: Interarrival, size: str) -> list[Row]:
    """Do the runs that the store does not hold yet, and compare; runs of another part of the paper are used."""
    paper = runner.paper
    known = {**{one.name: one.sets for one in paper.conditions}, **settings.conditions}
    chosen = settings.names[size]
    ids = {(one, kind): f"{one} {kind}" for one in settings.schemes for kind in (CONSTANT, MEASURED)}
    texts = {name: paper.text_of(one).replace(MODE, MODE if kind == CONSTANT else kind)
             for (one, kind), name in ids.items()}  # fmt: skip
    runs = replace(runner, paper=replace(paper, texts=texts), say=lambda _: None, ran=0, found=0)
    own = [Condition(name, name, "", "", tuple(texts), sets=known[name]) for name in chosen]
    rows: list[Row] = []
    for name, sets in list(settings.readings.items())[: 1 if size == "quick" else None]:
        reading = Reading(name, {}, is_run=True, sets=sets)
        modes = runs.modes(reading, own)
        constants = {key: settings.least if mode == MEASURED else mode for key, mode in modes.items()}
        found = runs.measure(reading, own, constants, settings.replications[size])
        for (key, raw), scheme in product(found.items(), settings.schemes):
            of = {name: tuple(raw[name][ids[scheme, kind]] for kind in (MEASURED, CONSTANT)) for name in METRICS}
            shares = {metric: relative(*both) for metric, both in of.items()}
            p = {
                metric: stats.paired_p(measured, constant, metrics.quantity(metric))
                for metric, (measured, constant) in of.items()
            }
            rows.append(Row(key[1], name, scheme, constants[key], modes[key] != MEASURED, shares, p))
    runner.say(f"section 7.2: inter-arrival times in {len(chosen)} conditions: {runs.ran} runs, {runs.found} found")
    runner.ran, runner.found = runner.ran + runs.ran, runner.found + runs.found
    return rows


def relative(values: Floats, baseline: Floats) -> Floats:
    """Return paired differences over the baseline's mean; where that is zero, zeros or NaN.

    Examples
    --------
    >>> relative(np.array([2.0, 3.0]), np.array([1.0, 3.0])).tolist()
    [0.5, 0.0]
    """
    differences: Floats = values - baseline
    mean = float(np.mean(baseline))
    if mean:
        return differences / mean
    return np.where(differences == 0, 0.0, np.nan)


def summaries(rows: Sequence[Row]) -> list[Summary]:
    """Return every metric of every scheme over all conditions."""
    keys = [(row, name) for row in rows for name in METRICS]
    corrected = stats.holm([row.p[name] for row, name in keys])
    found = []
    for scheme in dict.fromkeys(row.scheme for row in rows):
        for name, (_, more_is_better) in METRICS.items():
            signs = [
                (1 if (row.change(name).mean > 0) == more_is_better else -1) if p < 0.05 else 0
                for (row, of), p in zip(keys, corrected, strict=True)
                if of == name and row.scheme == scheme
            ]
            own = pd.DataFrame([row.shares[name] for row in rows if row.scheme == scheme])
            change = stats.estimate(own.mean().to_numpy(dtype=np.float64))
            found.append(Summary(scheme, name, change, signs.count(1), signs.count(-1), signs.count(0)))
    return found
