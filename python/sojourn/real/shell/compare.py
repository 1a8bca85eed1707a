"""``sojourn compare --world real``: a scenario's flows on the kernel's own TCP and UDP, over an emulated link."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sojourn import stats
from sojourn.model.scheme import Schemes, as_schemes
from sojourn.plan import runner
from sojourn.plan.identity import REAL
from sojourn.plan.progress import Watch
from sojourn.results import metrics, text

if TYPE_CHECKING:
    from sojourn.results.results import Results
    from sojourn.stats import Floats

BOTH: Final = ("goodput_bit_s", "sojourn_ms_mean", "queue_packets_mean", "loss_ratio", "mark_ratio", "jain_index")
"""The metrics of whole runs that are compared between simulation and real packets."""

OF_GROUPS: Final = ("flow_completion_s_mean", "one_way_delay_ms_mean", "one_way_delay_ms_p99")
"""Those of groups, besides the ones of applications."""


def compare(
    scenario: runner.Scenario,
    schemes: Schemes,
    *,
    replicates: int | None = None,
    seed: int | None = None,
    sets: Sequence[str] = (),
    out: str | Path | None = None,
    force: bool = False,
    command: str | None = None,
    watch: Watch | None = None,
) -> Results:
    """Compare schemes on a scenario with one link, on real packets.

    Replication r of every scheme has the same random starts, sizes and times of its flows, which are those of
    replication r of the simulation. Runs follow each other. A run that the machine was too late for is repeated.

    Parameters
    ----------
    scenario
        A network, a file or the name of a scenario.
    schemes
        Each takes the place of the scheme under test.
    replicates, seed, sets, out, force, command
        As for :func:`sojourn.compare`: with `out` the same call continues after an interruption.
    watch
        Shows the progress.

    Raises
    ------
    SojournError
        Something in the scenario has no counterpart on real packets, or the machine has no namespaces for this user.
    """
    from sojourn.plan import comparison

    canonical = runner.canonical(scenario, sets)
    count = int(canonical.get("replications", 1)) if replicates is None else replicates
    first = int(canonical.get("seed", 1)) if seed is None else seed
    runner.whole("replicates", count, 1, 1_000_000)
    runner.whole("seed", first, 0, runner.GREATEST_SEED)
    given: dict[str, Any] = {"replicates": count, "seed": first, "jobs": 1, "series": (None, 1), "world": REAL}
    given |= {"meta": {"series": "100 ms"}, "watch": watch, "progress": False}
    if out is not None:
        return comparison.run(canonical, as_schemes(schemes), out, force=force, command=command, **given)
    with tempfile.TemporaryDirectory(prefix="sojourn-real-") as place:
        return comparison.run(canonical, as_schemes(schemes), Path(place) / "runs", write=False, **given)


def beside(real: Results, simulated: Results) -> str:
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
