"""Notices: what to know before numbers are used, a sentence each.

============  ============================================================================
``inert``     a setting has no effect in the runs; what it needs is declared in the core
``capture``   a flow does not send what its capture has
``silent``    flows deliver nothing
``repeated``  all replications are identical, because nothing is random
``alike``     schemes gave the same results in every run
``warm-up``   the warm-up is too short, or the run reached no steady state
============  ============================================================================
"""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from sojourn.base import core
from sojourn.base.core import Document
from sojourn.model import recorded
from sojourn.model.scheme import Scheme
from sojourn.results import metrics, tables
from sojourn.results.data import ResultData
from sojourn.stats.estimates import Floats
from sojourn.stats.steady import initial_bias, mser

Kind: TypeAlias = Literal["inert", "capture", "silent", "repeated", "alike", "warm-up"]

SERIES: Final = ("queue_packets", "goodput_bit_s")
"""The series that show a steady state, of the headline queue and of all flows. A value is a mean over an interval."""
_ERROR: Final = 0.01
"""Probability of a false notice of a whole comparison, as far as the test's theory holds."""
_GREEDY: Final = ("bulk", "transfer")
"""Traffic that always has something to send until it is complete."""
_SHOWN: Final = 6
"""More names than this are counted."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know before numbers are used.

    Parameters
    ----------
    kind
        One of those above.
    where
        What it is about: labels of schemes, cells of a plan, or a group of flows.
    text
        One sentence.
    what
        The parameter or key, of kind ``inert``; the series, of kind ``warm-up``; else empty.
    """

    kind: Kind
    where: tuple[str, ...]
    text: str
    what: str = ""


def of(results: ResultData) -> tuple[Notice, ...]:
    """Return the notices of results."""
    is_real = results.meta.get("world") is not None
    return (
        *inert(results.scenario, results.schemes, on_device=is_real),
        *(() if is_real else capture(results.scenario)),
        *silent(results),
        *repeated([label for label in results.labels if label in results.repeated]),
        *alike_in(results),
        *unsteady_in(results),
    )


def tell(found: Iterable[Notice]) -> None:
    """Print notices as the command line does."""
    for one in found:
        print(f"sojourn: warning: {one.text}", file=sys.stderr, flush=True)


def inert(scenario: Document, schemes: Sequence[Scheme], *, on_device: bool = False) -> tuple[Notice, ...]:
    """Return the settings that have no effect in the runs of a canonical scenario under some schemes.

    A scheme without text stands for the queues as the scenario has them. `on_device`: a device has the link, and its
    traffic is not that of the scenario.
    """
    found = core.inert(scenario, [(one.label, one.exact) for one in schemes], on_device=on_device)
    return tuple(Notice("inert", (one["where"],), one["text"], one["what"]) for one in found)


def inert_everywhere(runs: Iterable[tuple[Document | str, Sequence[Scheme]]]) -> tuple[Notice, ...]:
    """Return what has no effect in any of several scenarios in which its scheme or flow is, each setting once.

    Scenarios, also as JSON text, come with the schemes that are run in them, as :func:`inert` takes them.
    """
    every: dict[tuple[str, str], Notice] = {}
    acts: set[tuple[str, str]] = set()
    seen: dict[str, set[tuple[str, str]]] = {}
    for text, schemes in runs:
        scenario: Document = json.loads(text) if isinstance(text, str) else text
        found = {(one.where[0], one.what): one for one in inert(scenario, schemes)}
        present = {one.label for one in schemes} | {str(flow["name"]) for flow in scenario.get("flows", ())}
        for where in present:
            own = {key for key in found if key[0] == where}
            acts |= seen.get(where, own) ^ own
            seen[where] = seen.get(where, set()) | own
        every |= {key: one for key, one in found.items() if key not in every}
    return tuple(one for key, one in every.items() if key not in acts)


def capture(scenario: Document) -> tuple[Notice, ...]:
    """Return what flows of a canonical scenario send otherwise than their captures have it."""
    return tuple(Notice("capture", (flow,), text) for flow, text in recorded.left_out(scenario))


def silent(results: ResultData) -> tuple[Notice, ...]:
    """Return a notice for each scheme and group of flows with a flow that had begun and delivered nothing."""
    greedy = {
        str(flow["name"])
        for flow in results.scenario.get("flows", ())
        if flow.get("traffic", {}).get("kind", "bulk") in _GREEDY and not flow.get("stop")
    }
    every: dict[tuple[str, str], tuple[set[str], set[int], set[str], set[int]]] = {}
    for row in tables.rows(results.frames, "flows"):
        group, flow, replication = str(row["group"]), str(row["flow"]), int(row["replication"])
        flows, runs, idle, idle_runs = every.setdefault((str(row["scheme"]), group), (set(), set(), set(), set()))
        flows.add(flow)
        runs.add(replication)
        sends = group in greedy or (row.get("sent_packets") or 0) > 0
        if sends and _has(row, "flow_start_s") and not _has(row, "flow_completion_s") and row["goodput_bit_s"] == 0:
            idle.add(flow)
            idle_runs.add(replication)
    found = []
    for (scheme, group), (flows, runs, idle, idle_runs) in every.items():
        times = f" in {len(idle_runs)} of {len(runs)} replications" if len(runs) > 1 else ""
        text = f"{len(idle)} of {len(flows)} flows of `{group}` delivered nothing in the measured time{times}"
        if idle:
            found.append(Notice("silent", (scheme,), f"{scheme}: {text}"))
    return tuple(found)


def _has(row: Mapping[str, Any], name: str) -> bool:
    """Whether a metric has a value."""
    value = row.get(name)
    return value is not None and value == value  # noqa: PLR0124 - missing values of tables are NaN


def repeated(names: Sequence[str]) -> tuple[Notice, ...]:
    """Return one notice for all schemes, or cells of a plan, whose replications are one run; none where none are."""
    if not names:
        return ()
    # Names of cells have commas.
    mark = "; " if any("," in name for name in names) else ", "
    more = f"{mark}and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    text = (
        f"{mark.join(names[:_SHOWN])}{more}: all replications are identical, because nothing in the scenario is "
        "random, and count as one run, without intervals and significance; with a random start of the flows, "
        'start = { uniform = ["0 s", "1 s"] }, they differ'
    )
    return (Notice("repeated", tuple(names), text),)


def alike_in(results: ResultData) -> tuple[Notice, ...]:
    """Return a notice for each set of schemes with the same metrics in every run of results."""
    rows = tables.rows(results.frames, "runs") if len(results.labels) > 1 else []
    return alike((row["scheme"], row["replication"], row) for row in rows)


def alike(runs: Iterable[tuple[str, Hashable, Mapping[str, Any]]]) -> tuple[Notice, ...]:
    """Return a notice for each set of schemes with the same metrics in every run.

    Each run is given as scheme, what else tells it from others (scenario and replication), and its row of the table.
    """
    # The number of events measures the simulator.
    known = {name for scope, name in metrics.catalogue() if scope == "run"} - {"events"}
    by_scheme: dict[str, dict[Hashable, str]] = {}
    for scheme, key, row in runs:
        # As text, in which two missing values are equal.
        by_scheme.setdefault(str(scheme), {})[key] = repr([row[name] for name in sorted(known & set(row))])
    sets: dict[frozenset[tuple[Hashable, str]], list[str]] = {}
    for scheme, found in by_scheme.items():
        sets.setdefault(frozenset(found.items()), []).append(scheme)
    return tuple(
        Notice("alike", (*others, last), f"{', '.join(others)} and {last} gave the same results in every run")
        for *others, last in sets.values()
        if others
    )


def unsteady_in(results: ResultData) -> tuple[Notice, ...]:
    """Return the notices of the sampled time series of results; without any there is nothing to look at."""
    curves: dict[tuple[str, str], list[tables.Row]] = {}
    examined = {results.curve(name): name for name in SERIES}
    for row in tables.rows(results.frames, "series"):
        if row["name"] in examined:
            curves.setdefault((row["scheme"], examined[row["name"]]), []).append(row)
    if not curves:
        return ()
    warm_up = float(tables.rows(results.frames, "runs")[0]["warm_up_s"])
    return unsteady(curves, dict.fromkeys(results.labels, warm_up))


def unsteady(
    curves: Mapping[tuple[str, str], Sequence[tables.Row]], warm_up_s: Mapping[str, float]
) -> tuple[Notice, ...]:
    """Return a notice for each time series, averaged over its replications, that is biased by its beginning.

    That needs both: the beginning of the measured time biases its mean (:func:`initial_bias`, corrected for the
    number of tests), and MSER-5 on the whole run finds that the series settles after the warm-up, or not at all.

    Parameters
    ----------
    curves
        ``t_s`` and ``value`` of every replication, by scheme or cell and by name of the series.
    warm_up_s
        The warm-up of every scheme or cell.
    """
    tests = len(warm_up_s) * len(SERIES)
    found = []
    for (label, name), rows in curves.items():
        times, values = _mean(rows)
        place = mser(values)
        settled = None if place is None else float(times[place - 1]) if place else 0.0
        if settled is None or settled > warm_up_s[label]:
            bias = initial_bias(values[times > warm_up_s[label]])
            if bias.p * tests < _ERROR:
                side = "low" if bias.statistic < 0 else "high"
                found.append(Notice("warm-up", (label,), _bias(label, name, warm_up_s[label], settled, side), name))
    return tuple(found)


def _bias(label: str, name: str, warm_up_s: float, settled_s: float | None, side: str) -> str:
    what = {"queue_packets": "the queue", "goodput_bit_s": "goodput"}[name]
    if settled_s is None:
        return (
            f"{label}: {what} has not reached a steady state (it starts {side} and has not settled half-way); "
            "simulate a longer time, or take the means as those of a transient"
        )
    return (
        f"{label}: the warm-up of {warm_up_s:g} s is too short: {what} starts {side} and settles near "
        f"{settled_s:.3g} s"
    )


def _mean(rows: Sequence[tables.Row]) -> tuple[Floats, Floats]:
    """Return the instants at which any replication has a sample, and the mean of those that have one."""
    times = np.concatenate([np.array(row["t_s"], dtype=np.float64) for row in rows])
    values = np.concatenate([np.array(row["value"], dtype=np.float64) for row in rows])
    known = np.isfinite(values)
    instants, place = np.unique(times, return_inverse=True)
    counts = np.bincount(place, known, instants.size)
    sums = np.bincount(place, np.where(known, values, 0.0), instants.size)
    means = np.full(instants.size, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return instants, means
