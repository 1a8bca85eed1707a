"""The report of a paper of windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from sojourn import core, report
from sojourn.papers.judge import Outcome
from sojourn.papers.page import predicate_of
from sojourn.papers.section import Drawing, Section
from sojourn.papers.windows import pictures, switching, tables, worlds
from sojourn.papers.windows.device import Device
from sojourn.papers.windows.document import Experiment, Size
from sojourn.papers.windows.simulate import BESIDE, LABORATORY, PAIRED, SWITCHBACK
from sojourn.papers.windows.worlds import Judged, World

KEYS: Final = {
    Outcome.HOLDS: "holds",
    Outcome.FAILS: "fails",
    Outcome.UNDECIDED: "undecided",
    Outcome.UNJUDGEABLE: "unjudgeable",
    Outcome.NOT_RUN: "not-run",
}
SIGNS: Final = {
    Outcome.HOLDS: "✓",
    Outcome.FAILS: "✗",
    Outcome.UNDECIDED: "?",
    Outcome.UNJUDGEABLE: "–",
    Outcome.NOT_RUN: "·",
}
_MODELLED: Final = ("mean_queue_packets", "loss_ratio", "burst_ratio", "impairment_c")


@dataclass(frozen=True)
class Results:
    """All that the page shows.

    Parameters
    ----------
    size
        Quick or full.
    windows, flows
        Of the simulation's store.
    device
        The device's part.
    worlds
        In the order of columns.
    judged
        By id of the claim, in the order of the worlds.
    facts
        For the head of the page.
    """

    size: Size
    windows: pd.DataFrame
    flows: pd.DataFrame
    device: Device
    worlds: Sequence[World]
    judged: dict[str, list[Judged]]
    facts: tuple[tuple[str, str], ...]


def render(paper: Experiment, of: Results) -> str:
    """Return the page; it depends on the windows alone."""
    places: dict[str, list[dict[str, Any]]] = {}
    for claim in paper.claims:
        places.setdefault(claim.place, []).append(
            {
                "id": claim.id,
                "quote": claim.quote,
                "predicate": predicate_of(paper.printed, claim),
                "at": claim.at or "each range",
                "cells": [_cell(one) for one in of.judged[claim.id]],
            }
        )
    counts = []
    for k, world in enumerate(of.worlds):
        found = Counter(one[k].verdict.outcome for one in of.judged.values())
        counts.append((world.name, [found[outcome] for outcome in Outcome]))
    return report.page(
        "windows.html.j2",
        title=paper.title,
        lead=paper.source,
        facts=list(of.facts),
        outcomes=[(KEYS[outcome], outcome.value) for outcome in Outcome],
        signs={KEYS[outcome]: sign for outcome, sign in SIGNS.items()},
        counts=counts,
        worlds=[world.name for world in of.worlds],
        ranges=[f"{low:.2f}–{high:.2f}" for low, high in zip(paper.bounds, paper.bounds[1:], strict=False)],
        why=[(world.name, world.why) for world in of.worlds if world.why],
        places=list(places.items()),
        sections=sections(paper, of),
        schemes=[(one.printed, one.text) for one in paper.schemes],
        version=core.version(),
    )


def _cell(of: Judged) -> dict[str, Any]:
    signs = [(KEYS[one] if one else "none", SIGNS[one] if one else " ") for one in of.by_range]
    return {
        "key": KEYS[of.verdict.outcome],
        "outcome": of.verdict.outcome.value,
        "why": of.verdict.why,
        "ranges": signs if any(of.by_range) else [],
    }


def sections(paper: Experiment, of: Results) -> list[Section]:
    """Return the page's sections that are not the ledger."""
    frame = of.windows
    found = [_traffic(paper, frame), *_figures(paper, of)]
    study = clustered(frame[frame["part"].isin((PAIRED, SWITCHBACK))])
    if len(study):
        found.append(
            Section("table-1", "Table 1 from our windows", (), (tables.ranges(paper, study, "table-1-ours"),))
        )
    found += [_real(paper, of), _carry(paper, of), _theory(paper, of), _flows(paper, of), _laboratory(paper, of)]
    found.append(_device(paper, of))
    return [one for one in found if one.text or one.drawings]


def clustered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return windows with what they share their traffic with, `cluster`: a run, or a slot of the schedule."""
    is_back = frame["part"] == SWITCHBACK
    run = frame["block"].astype(str) + "/" + frame["demand"].astype(str)
    slot = "slot " + frame["block"].astype(str) + "/" + frame["slot"].astype(str)
    return frame.assign(cluster=run.where(~is_back, slot))


def _traffic(paper: Experiment, frame: pd.DataFrame) -> Section:
    of = paper.traffic
    transfers = of["transfers"]
    kinds = ", ".join(f"{one['count']} {one['kind']}" for one in of["sessions"])
    text = (
        f"A link of {of['rate']} behind {len(of['rtt_ms']) * of['servers']} servers at round-trip times from "
        f"{of['rtt_ms'][0]} to {of['rtt_ms'][-1]} ms, each with {of['server_rate']}. At a demand of 1, "
        f"{transfers['a_second']} "
        f"TCP transfers begin a second, of {transfers['least_bytes'] // 1000} kB to "
        f"{transfers['most_bytes'] // 10**6} MB (bounded "
        f"Pareto, shape {transfers['shape']}), given up after {transfers['patience_s']} s in the mean; besides "
        f"them there are at a "
        f"time {kinds} sessions with exponential lives and Pareto ON and OFF times. TCP is "
        + ", ".join(f"{name} ({share:.0%})" for name, share in of["congestion_control"].items())
        + f"; {of['pacing']:.0%} of the senders space their packets. The demand multiplies rates and counts.",
        "The composition is ours; the study gives the statistics below and no more. Nothing was fitted to its "
        "results.",
    )
    drawings = (tables.traffic_check(frame[frame["part"] == PAIRED]),) if len(frame) else ()
    return Section("traffic", "The traffic", text, drawings)


def _figures(paper: Experiment, of: Results) -> list[Section]:
    frame = clustered(of.windows)
    study = frame[frame["part"].isin((PAIRED, SWITCHBACK))]
    first = Drawing("figure-1-picture", pictures.functions(paper), "The dropping functions d0 to d8 (Figure 1).")
    found = [Section("figure-1", "Figure 1: the dropping functions", (), (first,))]
    if study.empty:
        return found
    for metric, number in pictures.FIGURES.items():
        title = pictures.TITLES[metric]
        drawings = [
            Drawing(f"figure-{number}-together", pictures.together(paper, study, metric, paper.study),
                    f"All schemes in simulation: {title} against load. A dot is a window, a line the cubic fit "
                    f"of a scheme, a "
                    "diamond the study's Table 1 at the middle of its range."),
            Drawing(f"figure-{number}-apart", pictures.apart(paper, study, metric, paper.study),
                    "Each scheme: windows of the simulation (paired runs and switchback), cubic fit with 95 % "
                    "band clustered by "
                    "traffic and slot, Table 1, and Theorem 1 (Poisson arrivals, exponential service)."),
        ]  # fmt: skip
        if len(of.device.windows):
            on_device = of.device.windows.assign(cluster=of.device.windows["slot"])
            drawings.append(
                Drawing(f"figure-{number}-device", pictures.apart(paper, on_device, metric, paper.study),
                        "The same on the device: real Linux TCP and UDP through sojournd.")
            )  # fmt: skip
        found.append(Section(f"figure-{number}", f"Figure {number}: {title} against load", (), tuple(drawings)))
    return found


def _real(paper: Experiment, of: Results) -> Section:
    values = of.worlds[0].whole
    if not values:
        return Section("real", "")
    text = (
        "Each traffic (a block's draw at a demand) met all ten schemes, so their differences are paired. Under "
        "each scheme the "
        "load is a little different, since TCP answers: these differences are at the same demand, not at the "
        "same load.",
    )
    return Section("real", "Which differences are real", text,
                   tuple(tables.differences(paper, values, metric) for metric in _MODELLED))  # fmt: skip


def _carry(paper: Experiment, of: Results) -> Section:
    since = worlds.since_switch(of.size.switchback, of.windows)
    if since.empty:
        return Section("carry-over", "")
    steps = {
        metric: switching.steps(of.size.switchback, since, metric) for metric in ("mean_queue_packets", "loss_ratio")
    }
    settled = worlds.settled(of.size.switchback, of.windows)
    found = {metric: one for metric in _MODELLED if (one := switching.model(settled, metric)) is not None}
    back = of.size.switchback
    text = (
        f"The study switches every hour. Here slots are {back.slot_s:g} s, drawn at random in the same way, "
        f"with windows of "
        f"{back.packets:,} packets, while the demand swings between {back.demand[0]} and "
        f"{back.demand[1]}. The picture shows how "
        f"far windows after a change of scheme are from the second half of the same slot: what is above zero "
        f"is carry-over. "
        f"Windows that begin in the first {back.burn_in_s:g} s are left out of all estimates.",
        "What remains of the scheme before is a term of the model below. It also answers whether it is there at all.",
    )
    drawings = [Drawing("carry-over-picture", pictures.carry_over(steps),
                        "Excess after a change of scheme, mean over slots with 95 % intervals.")]  # fmt: skip
    if found:
        drawings.append(tables.models(paper, found, of.worlds[0].whole))
    return Section("carry-over", "Switchback: carry-over, and estimates that allow for it", text, tuple(drawings))


def _theory(paper: Experiment, of: Results) -> Section:
    if not of.worlds[1].ranges:
        return Section("theory", "")
    text = (
        "Theorem 1 knows the load and nothing else: arrivals are Poisson whatever the queue does, service is "
        "exponential. In the "
        "simulation arrivals come in bursts on all time scales and TCP slows down where packets are lost. "
        "Below load 1 bursts "
        "make queue and loss larger than the theorem has them; above it the loss can only be 1 - 1/load or a "
        "little more in "
        "both, and the queue is where the dropping function puts it.",
    )
    return Section("theory", "Where closed-loop traffic departs from Poisson arrivals", text,
                   (tables.theory_gap(paper, of.worlds[1]),))  # fmt: skip


def _flows(paper: Experiment, of: Results) -> Section:
    frame = of.windows
    beside = frame[frame["part"] == BESIDE]
    if beside.empty:
        return Section("flows", "")
    keys = set(zip(beside["block"], beside["demand"], strict=True))

    def common(table: pd.DataFrame) -> pd.DataFrame:
        rows = table[table["part"].isin((PAIRED, BESIDE))]
        return rows[[one in keys for one in zip(rows["block"], rows["demand"], strict=True)]]

    every = [one.id for one in paper.schemes]
    some = ["none", "d0", "d2", "d4", "d8", *(one.id for one in paper.schemes if one.is_beside)]
    drawings = [tables.classes(paper, common(frame), every)]
    drawings += [tables.flows(paper, common(of.flows), by, some) for by in ("rtt_ms", "rate_bin", "life_bin")]
    text = (
        "The study's future work: loss of flows rather than of the aggregate, and AQM of other kinds, here "
        "with the same buffer of "
        "300 packets and targets of 50 packets (0.6 ms; the usual ones are longer than the buffer).",
    )
    return Section("flows", "Flows, classes, and AQM of other kinds", text, tuple(drawings))


def _laboratory(paper: Experiment, of: Results) -> Section:
    lab = of.windows[of.windows["part"] == LABORATORY]
    if lab.empty:
        return Section("laboratory", "")
    rtts = paper.traffic["laboratory_rtt_ms"]
    text = (
        f"The same traffic with round-trip times from {rtts[0]} to {rtts[-1]} ms. The claims on it compare at "
        f"the same load: at the "
        "same demand the load is higher, because TCP comes back at once.",
    )
    table = tables.ranges(paper, clustered(lab), "laboratory-table")
    return Section("laboratory", "A laboratory's round-trip times", text, (table,))


def _device(paper: Experiment, of: Results) -> Section:
    windows = of.device.windows
    if of.device.why or windows.empty:
        why = of.device.why or "its store has no windows"
        return Section("device", "The device", (f"Not run: {why}.",))
    text = (f"{len(windows)} windows of {windows['slot'].nunique()} slots.",)
    ours = windows.assign(cluster=windows["slot"])
    return Section("device", "The device", text, (tables.ranges(paper, ours, "device-table"),))
