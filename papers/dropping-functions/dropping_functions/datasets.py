"""The data on which claims are judged: simulation under two mixes, the device, theory, and the study's Table 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

import numpy as np
import pandas as pd

from sojourn import theory
from sojourn.studies.papers.judge import At, Outcome, Setting, Verdict, Words, judge
from sojourn.studies.papers.model import Claim

from . import analysis
from .analysis import Values
from .device import DEVICE, OF_STORE, Device
from .document import Experiment, Switchback
from .simulate import LABORATORY, PAIRED, SWITCHBACK

GROUPS: Final = 6
"""Largest number of groups of slots of which the jackknife leaves out one at a time."""
LABORATORY_MODEL: Final = ("laboratory",)
SECONDS: Final = 1338 * 8 / 1e9
"""Service time in the theory: that of a packet of 1300 B with its framing at 1 Gbit/s."""

_EXACT: Final = 2
"""Number of copies of a value without scatter, because an interval needs two values."""


@dataclass(frozen=True)
class World:
    """The values of one source of data: a design of the simulation, the device, the theory or the study.

    Parameters
    ----------
    ranges
        By middle of the range of load: metric, scheme, one value per replication.
    whole
        Over all ranges.
    laboratory
        In the network, and in the laboratory, at the same loads; None where it was not run.
    is_partial
        Whether schemes without numbers in a range are left out there: d8 in our copy of Table 1.
    """

    name: str
    ranges: Mapping[float, Values] = field(default_factory=dict)
    whole: Values = field(default_factory=dict)
    laboratory: tuple[Values, Values] | None = None
    why: str = ""
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim judged on one source: its verdict, and the outcome of each range by itself (None if it has none)."""

    verdict: Verdict
    by_range: tuple[Outcome | None, ...]


def simulated(paper: Experiment, back: Switchback, frame: pd.DataFrame) -> list[World]:
    """Return simulation's three designs, from the windows that ``store.windows`` returns."""
    own = frame[frame["part"] == PAIRED]
    traffic, load = paired(paper, own)
    both = laboratory(paper, with_cells(own), with_cells(frame[frame["part"] == LABORATORY]))
    return [traffic, replace(load, laboratory=both), switched(paper, "simulation, switchback", settled(back, frame))]


def paired(paper: Experiment, frame: pd.DataFrame, mix: str = "") -> tuple[World, World]:
    """Return the designs of same traffic and of same load, from windows of paired runs under a mix."""
    name = f"simulation, {mix}, " if mix else "simulation, "
    ranges, whole = analysis.same_traffic(paper, frame)
    nothing = "too few windows yet: at least three traffics are needed in a range of load"
    traffic = World(f"{name}same traffic", ranges, whole, why="" if whole else nothing)
    by_load = analysis.at_load(paper, with_cells(frame))
    load = World(f"{name}same load", by_load, analysis.mean_of(by_load), why="" if by_load else nothing)
    return traffic, load


def laboratory(paper: Experiment, network: pd.DataFrame, lab: pd.DataFrame) -> tuple[Values, Values] | None:
    """Return the means of network and laboratory over the ranges in which both have every scheme; None without any.

    Both have the traffics that were sent through both, as windows of :func:`with_cells`.
    """
    common = set(lab["block_of"]) & set(network["block_of"])
    if not common:
        return None
    one, other = (analysis.at_load(paper, of[of["block_of"].isin(common)]) for of in (network, lab))
    ids = {scheme.id for scheme in paper.study}

    def is_whole(values: Values) -> bool:
        return all(ids <= set(values.get(metric, {})) for metric in analysis.METRICS)

    shared = [centre for centre in one if is_whole(one[centre]) and is_whole(other.get(centre, {}))]
    if not shared:
        return None
    return analysis.mean_of({at: one[at] for at in shared}), analysis.mean_of({at: other[at] for at in shared})


def clustered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return windows with the column `cluster`: the run or slot with whose windows they share their traffic."""
    run = frame["block"].astype(str) + "/" + frame["demand"].astype(str)
    slot = "slot " + frame["block"].astype(str) + "/" + frame["slot"].astype(str)
    return frame.assign(cluster=run.where(frame["part"] != SWITCHBACK, slot))


def with_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return windows of runs with one scheme, each with the traffic that it is of."""
    cell = frame["block"].astype(str) + "/" + frame["demand"].astype(str)
    return frame.assign(block_of=cell, cluster=cell)


def settled(back: Switchback, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the switchback's windows without those that begin within the burn-in, with `run` and `since_s`."""
    found = since_switch(back, frame)
    return found[found["since_s"] >= back.burn_in_s]


def since_switch(back: Switchback, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the switchback's windows with `run`, and the seconds since their slot began, `since_s`."""
    of = frame[frame["part"] == SWITCHBACK]
    start = back.warm_up_s + of["slot"].astype(float) * back.slot_s
    return of.assign(run=of["block"], since_s=of["started_ns"] * 1e-9 - start)


def switched(paper: Experiment, name: str, frame: pd.DataFrame) -> World:
    """Return a world from windows with random switching, without those that the previous scheme may affect.

    Slots are distributed over groups so that each group has every scheme about equally often. The jackknife leaves
    out one group at a time.
    """
    if frame.empty:
        return World(name, why="no windows")
    slots = frame[["run", "slot", "label"]].drop_duplicates().sort_values(["run", "slot"])
    slots["occurrence"] = slots.groupby("label").cumcount()
    least = int(slots.groupby("label")["occurrence"].max().min()) + 1
    groups = min(GROUPS, least)
    if groups < analysis.FEWEST_BLOCKS:
        return World(name, why=f"at least one scheme has only {least} slots; {analysis.FEWEST_BLOCKS} are needed")
    of = frame.merge(slots, on=["run", "slot", "label"])
    ranges = analysis.at_load(paper, of.assign(block_of=of["occurrence"] % groups))
    return World(name, ranges, analysis.mean_of(ranges), why="" if ranges else "too few windows per scheme for a fit")


def on_device(paper: Experiment, device: Device) -> World:
    """Return the device's world, from its switchback."""
    if device.windows.empty:
        return World(device.name, why=device.why or "its store has no windows")
    settled_ones = device.windows[device.windows["since_s"] >= device.burn_in_s]
    return switched(paper, device.name, settled_ones)


@lru_cache(maxsize=1024)
def predicted(text: str, load: float) -> dict[str, float]:
    """Return the metrics that Theorem 1, whose n has the packet in service, predicts for a scheme at a load."""
    of = f"{text} count system" if text.startswith("dropping_function") else text
    found, runs = theory.queue(of, load=load), theory.loss_runs(of, load=load)
    loss, burst = found.loss_ratio, runs.burst_ratio
    # Equation 6; without losses there is no impairment.
    impairment = 95 * 100 * loss / (100 * loss / burst + 4.3) if loss > 0 and np.isfinite(burst) else 0.0
    return {
        "mean_queue_packets": found.mean_packets,
        "mean_queue_arrivals_packets": found.mean_packets,
        "std_queue_packets": found.sd_packets,
        "std_queue_arrivals_packets": found.sd_packets,
        "loss_ratio": loss,
        "burst_ratio": burst,
        "impairment_i": impairment,
        "impairment_c": found.mean_packets + impairment,
        "sojourn_mean_s": found.response * SECONDS,
    }


def theoretical(paper: Experiment) -> World:
    """Return Theorem 1: Poisson arrivals, exponential service, n counted with the packet in service."""
    ranges = {}
    for centre in paper.centres:
        of = pd.DataFrame({one.id: predicted(one.text, centre) for one in paper.study})
        ranges[centre] = analysis.derived(_exact(of))
    return World("theory (Theorem 1)", ranges, analysis.mean_of(ranges))


def printed(paper: Experiment) -> World:
    """Return the study's Table 1 as it is printed."""
    metrics = [row.metric for row in paper.rows]
    ranges = {}
    for centre, low in zip(paper.centres, paper.bounds, strict=False):
        of = paper.table1[np.isclose(paper.table1["low"], low)]
        ranges[centre] = analysis.derived(_exact(of.set_index("scheme")[metrics].T))
    return World("the study's Table 1", ranges, analysis.mean_of(ranges), is_partial=True)


def _exact(table: pd.DataFrame) -> Values:
    """Return values without scatter, of a table with a row for each metric and a column for each scheme."""
    return {
        str(metric): {str(name): np.full(_EXACT, value) for name, value in row.items()}
        for metric, row in table.iterrows()
    }


def judge_all(paper: Experiment, worlds: Sequence[World]) -> dict[str, list[Judged]]:
    """Judge every claim in every world: by the claim's id, in the order of the worlds."""
    return {claim.id: [_judge(paper, world, claim) for world in worlds] for claim in paper.claims}


def _judge(paper: Experiment, world: World, claim: Claim) -> Judged:
    nothing: tuple[Outcome | None, ...] = (None,) * len(paper.centres)
    if claim.comparison == "unjudgeable":
        return Judged(judge(claim, (), ()), nothing)
    if world.why:
        return Judged(Verdict(Outcome.NOT_RUN, why=world.why), nothing)
    rows = [row.metric for row in paper.rows]
    words = Words(margin=paper.margin, percent="of_other")
    groups = [paper.ids(names) for names in (claim.subject, claim.against, ("all",))]
    needed = {*groups[0], *groups[1], *(groups[2] if claim.comparison == "high" else ())}
    metrics = rows if claim.metric == "any" else [claim.metric]

    def known(values: Values) -> list[set[str]]:
        return [set(values.get(metric, {})) for metric in metrics]

    def setting(values: Values, others: tuple[tuple[At, ...], ...] = ()) -> Setting:
        there = set.intersection(*known(values)) if world.is_partial else {one for of in groups for one in of}
        subject, against, figure = (tuple(one for one in of if one in there) for of in groups)
        return Setting(subject, against, figure, (At("", values),), words, others)

    def has_all(values: Values) -> bool:
        return all(of and (world.is_partial or needed <= of) for of in known(values))

    if claim.model == LABORATORY_MODEL:
        network, lab = world.laboratory or ({}, {})
        there = [setting(network, ((At("laboratory", lab),),))] if lab else []
        return Judged(judge(claim, there, rows), nothing)

    def alone(values: Values) -> Outcome | None:
        return judge(claim, [setting(values)], rows).outcome if has_all(values) else None

    by_range = tuple(alone(world.ranges.get(centre, {})) for centre in paper.centres)
    if claim.at == "over the range":
        return Judged(judge(claim, [setting(world.whole)], rows), by_range)
    centres = [1.0] if claim.at == "load 1" else list(paper.centres)
    settings = [setting(world.ranges[centre]) for centre in centres if has_all(world.ranges.get(centre, {}))]
    if not settings:
        # In a simulation that has not ended, windows are missing; otherwise no window has such a load.
        is_over = world.name in (DEVICE, OF_STORE) or any(has_all(world.ranges.get(one, {})) for one in paper.centres)
        outcome = Outcome.NOT_REACHED if is_over else Outcome.NOT_RUN
        return Judged(Verdict(outcome, why="no range of load has windows of all its schemes"), by_range)
    return Judged(judge(claim, settings, rows), by_range)
