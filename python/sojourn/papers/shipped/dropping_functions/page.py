"""The report of a paper of windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from sojourn import core, report
from sojourn.papers.judge import Outcome
from sojourn.papers.page import predicate
from sojourn.papers.section import Drawing, Section
from sojourn.papers.shipped.dropping_functions import datasets, pictures, switching, tables
from sojourn.papers.shipped.dropping_functions.datasets import Judged, World
from sojourn.papers.shipped.dropping_functions.device import Device
from sojourn.papers.shipped.dropping_functions.document import Experiment, Size
from sojourn.papers.shipped.dropping_functions.simulate import BESIDE, LABORATORY, PAIRED, SWITCHBACK

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
    """Return the page; it depends only on the windows."""
    places: dict[str, list[dict[str, Any]]] = {}
    for claim in paper.claims:
        places.setdefault(claim.place, []).append(
            {
                "id": claim.id,
                "quote": claim.quote,
                "predicate": predicate(paper.printed, claim),
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
        outcomes=[(outcome.key, outcome.value) for outcome in Outcome],
        signs={outcome.key: outcome.sign for outcome in Outcome},
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
    signs = [(one.key, one.sign) if one else ("none", " ") for one in of.by_range]
    return {
        "key": of.verdict.outcome.key,
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
    found += [
        _significant(paper, of),
        _carry(paper, of),
        _theory(paper, of),
        _flows(paper, of),
        _laboratory(paper, of),
    ]
    found.append(_device(paper, of))
    return [one for one in found if one.text or one.drawings]


def clustered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return windows with the column `cluster`: the run or slot with whose windows they share their traffic."""
    is_back = frame["part"] == SWITCHBACK
    run = frame["block"].astype(str) + "/" + frame["demand"].astype(str)
    slot = "slot " + frame["block"].astype(str) + "/" + frame["slot"].astype(str)
    return frame.assign(cluster=run.where(~is_back, slot))


def _traffic(paper: Experiment, frame: pd.DataFrame) -> Section:
    of = paper.traffic
    transfers = of["transfers"]
    kinds = ", ".join(f"{one['count']} {one['kind']}" for one in of["sessions"])
    text = (
        f"{len(of['rtt_ms']) * of['servers']} servers, each with {of['server_rate']}, share a link of {of['rate']}. "
        f"Their round-trip times are {of['rtt_ms'][0]} to {of['rtt_ms'][-1]} ms. At a demand of 1, "
        f"{transfers['a_second']} TCP transfers begin per second. Their sizes are {transfers['least_bytes'] // 1000} "
        f"kB to {transfers['most_bytes'] // 10**6} MB (bounded Pareto, shape {transfers['shape']}), and a transfer "
        f"is given up after {transfers['patience_s']} s on average. The mean numbers of simultaneous sessions are: "
        f"{kinds}. Sessions have exponential durations and Pareto ON and OFF times. The congestion controls are "
        + ", ".join(f"{name} ({share:.0%})" for name, share in of["congestion_control"].items())
        + f"; {of['pacing']:.0%} of the senders pace their packets. The demand multiplies all rates and counts.",
        "The study gives only the statistics below; the rest of the composition is ours. Nothing was fitted to the "
        "study's results.",
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
                    f"All schemes in simulation: {title} over load. Each dot is a window, each line a scheme's cubic "
                    "fit. Diamonds are values of the study's Table 1, at the middle of each range of load."),
            Drawing(f"figure-{number}-apart", pictures.apart(paper, study, metric, paper.study),
                    "Each scheme by itself: windows of the simulation (paired runs and switchback), the study's "
                    "Table 1, and Theorem 1 (Poisson arrivals, exponential service). The band is the 95 % confidence "
                    "band of the cubic fit, clustered by traffic and slot."),
        ]  # fmt: skip
        if len(of.device.windows):
            on_device = of.device.windows.assign(cluster=of.device.windows["slot"])
            drawings.append(
                Drawing(f"figure-{number}-device", pictures.apart(paper, on_device, metric, paper.study),
                        "The same for the device, which forwards TCP and UDP of Linux hosts through sojournd.")
            )  # fmt: skip
        found.append(Section(f"figure-{number}", f"Figure {number}: {title} over load", (), tuple(drawings)))
    return found


def _significant(paper: Experiment, of: Results) -> Section:
    values = of.worlds[0].whole
    if not values:
        return Section("significant", "")
    text = (
        "Differences between schemes are paired: each traffic (a block's draw at one demand) was sent through all "
        "ten schemes. They are differences at the same demand and not at the same load, because TCP reacts to each "
        "scheme and so offers a slightly different load.",
    )
    return Section("significant", "Which differences are significant", text,
                   tuple(tables.differences(paper, values, metric) for metric in _MODELLED))  # fmt: skip


def _carry(paper: Experiment, of: Results) -> Section:
    since = datasets.since_switch(of.size.switchback, of.windows)
    if since.empty:
        return Section("carry-over", "")
    steps = {
        metric: switching.steps(of.size.switchback, since, metric) for metric in ("mean_queue_packets", "loss_ratio")
    }
    settled = datasets.settled(of.size.switchback, of.windows)
    found = {metric: one for metric in _MODELLED if (one := switching.model(settled, metric)) is not None}
    back = of.size.switchback
    text = (
        f"The study switches schemes every hour. Here a slot lasts {back.slot_s:g} s, and its scheme is drawn at "
        f"random in the same way. Windows have {back.packets:,} packets, and the demand varies between "
        f"{back.demand[0]} and {back.demand[1]}. Carry-over is the effect of the previous scheme on a slot. The "
        "picture shows the difference between windows after a change of scheme and the second half of the same slot; "
        "without carry-over it is zero. All estimates leave out windows that begin in the first "
        f"{back.burn_in_s:g} s of a slot.",
        "The model below has a term for the previous scheme. Its p value tests whether carry-over remains after "
        "these seconds.",
    )
    drawings = [Drawing("carry-over-picture", pictures.carry_over(steps),
                        "Difference to the second half of the slot, by the time since the change of scheme: means "
                        "over slots with 95 % intervals.")]  # fmt: skip
    if found:
        drawings.append(tables.models(paper, found, of.worlds[0].whole))
    return Section("carry-over", "Switchback: carry-over, and estimates corrected for it", text, tuple(drawings))


def _theory(paper: Experiment, of: Results) -> Section:
    if not of.worlds[1].ranges:
        return Section("theory", "")
    text = (
        "Theorem 1 assumes Poisson arrivals that do not depend on the queue, and exponential service. So it depends "
        "on the load alone. In the simulation, packets arrive in bursts on all time scales, and TCP slows down when "
        "packets are lost. Below load 1, bursts make queue and loss larger than the theorem predicts. Above load 1, "
        "theory and simulation both lose 1 - 1/load or a little more, and the dropping function determines the "
        "queue.",
    )
    return Section("theory", "Where closed-loop traffic differs from Poisson arrivals", text,
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
        "The study names two topics for future work: the losses of single flows, and other kinds of AQM. Here the "
        "other schemes have the same buffer of 300 packets. Their target is 50 packets (0.6 ms), because their "
        "default targets are longer than this buffer.",
    )
    return Section("flows", "Flows, classes, and AQM of other kinds", text, tuple(drawings))


def _laboratory(paper: Experiment, of: Results) -> Section:
    lab = of.windows[of.windows["part"] == LABORATORY]
    if lab.empty:
        return Section("laboratory", "")
    rtts = paper.traffic["laboratory_rtt_ms"]
    text = (
        f"The same traffic, with round-trip times of {rtts[0]} to {rtts[-1]} ms as in a laboratory. Claims about it "
        "are judged at the same load. At the same demand the load is higher here, because TCP recovers sooner after "
        "a loss.",
    )
    table = tables.ranges(paper, clustered(lab), "laboratory-table")
    return Section("laboratory", "A laboratory's round-trip times", text, (table,))


def _device(paper: Experiment, of: Results) -> Section:
    windows = of.device.windows
    if of.device.why or windows.empty:
        why = of.device.why or "its store has no windows"
        return Section("device", "The device", (f"Not run: {why}.",))
    text = (f"The device measured {len(windows)} windows in {windows['slot'].nunique()} slots.",)
    ours = windows.assign(cluster=windows["slot"])
    return Section("device", "The device", text, (tables.ranges(paper, ours, "device-table"),))
