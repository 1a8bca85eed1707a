"""A comparison on real packets beside its simulation, metric by metric."""

from __future__ import annotations

from typing import Final

import numpy as np

from sojourn import stats
from sojourn.results import metrics, text
from sojourn.results.results import Results
from sojourn.stats import Floats

BOTH: Final = ("goodput_bit_s", "sojourn_ms_mean", "queue_packets_mean", "loss_ratio", "mark_ratio", "jain_index")
"""The metrics of whole runs that are compared between simulation and real packets."""

OF_GROUPS: Final = ("flow_completion_s_mean", "one_way_delay_ms_mean", "one_way_delay_ms_p99")
"""Those of groups, besides the ones of applications."""


def table(real: Results, simulated: Results) -> str:
    """Return the table of both worlds, metric by metric, with the differences and their 95 % intervals."""
    rows = []
    for label in real.labels:
        for group, name in _compared(real, simulated):
            metric = metrics.find(name)
            values = [_values(found, label, group, name) for found in (simulated, real)]
            if not all(np.isfinite(one).any() for one in values):
                continue
            of = metric.quantity
            found = [*(stats.estimate(one, of) for one in values), stats.unpaired(values[1], values[0], of)]
            shown = [metrics.written(one, metric.scale) for one in found]
            base = float(np.nanmean(values[0]))
            share = f"{100 * (float(np.nanmean(values[1])) / base - 1):+.1f} %" if base else ""
            title = f"{metric.title} of “{group}”" if group else metric.title
            rows.append([label, title, metric.shown_unit, *shown, share])
    return text.table(
        ["scheme", "metric", "unit", "simulated", "real", "real - simulated", ""], rows, numbers=True, texts=3
    )


def _compared(real: Results, simulated: Results) -> list[tuple[str, str]]:
    """Return what both worlds measured: group or nothing, and metric."""
    runs = [("", name) for name in BOTH if name in real.runs and name in simulated.runs]
    own = [name for name in real.groups.columns if metrics.family(name) is not None or name in OF_GROUPS]
    groups = [
        (str(group), name) for group in real.groups["group"].unique() for name in own if name in simulated.groups
    ]
    return runs + groups


def _values(results: Results, label: str, group: str, name: str) -> Floats:
    table = results.groups if group else results.runs
    own = table[table["scheme"] == label]
    if group:
        own = own[own["group"] == group]
    return own.sort_values("replication")[name].to_numpy(dtype=float)
