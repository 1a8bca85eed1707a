"""A suite for fairness in a WLAN: cells of 802.11g with an access point whose queue has the scheme.

Hassan, Hassan and Arif (*A Fairness Investigation on Active Queue Management Schemes in Wireless Local Area Network*)
conclude that "a standardized model for fairness evaluation in AQM schemes in WLAN environment has not designed yet".
These networks have what their text names: rates, numbers and directions of TCP and UDP flows, moving stations and
changing channels. In each a call measures delay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sojourn.studies.characterize import measures
from sojourn.studies.characterize.measures import AIR, CALL, MEASURES, PROBE, SHARES, TOTAL
from sojourn.studies.characterize.networks import SPREAD, UDP, Group, Setting
from sojourn.studies.characterize.requirements import Item
from sojourn.studies.characterize.suite import VOIP, Build, Headline, Scenario, Suite, Vary

SETTING: Final = Setting(rate_mbit_s=54.0, rtt_ms=40.0)
"""The data rate is that of 802.11g; the buffer, a bandwidth-delay product of it, has 180 packets."""
CELL: Final = "wlan"
_FAR: Final = "6 Mbit/s"
_PACKET: Final = "1000 B"
_STEP_S: Final = 5
_BAD_S: Final = 1


def cell(
    *groups: Group,
    description: str,
    rates: dict[str, str] | None = None,
    changes: Callable[[Sequence[Group]], list[dict[str, Any]]] | None = None,
    measured_s: float | None = None,
) -> Build:
    """Return what builds a cell of groups of stations, each with a flow from a server or to it (`is_back`).

    `rates` has data rates of groups that differ from the setting's. One more station has a call in both directions.
    """

    def build(setting: Setting, warm_up_s: float) -> dict[str, Any]:
        calls = [Group(PROBE, **VOIP), Group(f"{PROBE}_back", is_back=True, **VOIP)]
        flows = []
        for group in (*groups, *calls):
            station = PROBE if group in calls else group.name
            ends = (station, "server") if group.is_back else ("server", station)
            flow = dict(zip(("name", "from", "to"), (group.name, *ends), strict=True))
            flows.append({**flow, "start": SPREAD, "transport": group.transport, "traffic": group.traffic})
        length = warm_up_s + (measured_s or setting.measured_s)
        document: dict[str, Any] = {
            "name": "cell",
            "description": description,
            "duration": f"{length:g} s",
            "warm_up": f"{warm_up_s:g} s",
            "nodes": [{"name": one.name, "count": one.count} for one in (*groups, Group(PROBE))],
            "cells": [
                {
                    "name": CELL,
                    "access_point": "ap",
                    "stations": [*(one.name for one in groups), PROBE],
                    "profile": "802.11g",
                    "data_rate": f"{setting.rate_mbit_s:g} Mbit/s",
                    "rates": rates or {},
                    "airtime_fairness": False,
                    "queue": f"pfifo limit {setting.buffer()}p",
                    "access_point_under_test": True,
                }
            ],
            "links": [
                {
                    "name": "wire",
                    "from": "server",
                    "to": "ap",
                    "rate": "1 Gbit/s",
                    "delay": f"{setting.rtt_ms / 2:g} ms",
                }
            ],
            "flows": flows,
        }
        if changes is not None:
            document["changes"] = changes(groups)
        return document

    return build


def _udp(count: int, rate: str) -> Group:
    return Group("udp", count, UDP, {"kind": "cbr", "rate": rate, "packet_size": _PACKET})


def _queues(group: Group) -> list[str]:
    """Return the names of the queues of a group's stations."""
    return [f"{CELL}:{group.name}{k}" for k in range(group.count)]


def _walk(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return the changes of stations that walk away and back, a step every five seconds, all at once."""
    path = (("54 Mbit/s", "near"), ("24 Mbit/s", "between"), (_FAR, "far"), ("24 Mbit/s", "between"))
    every = f"{_STEP_S * len(path)} s"
    return [
        {"at": f"{_STEP_S * step} s", "every": every, "queue": queue, "rate": rate, "phase": phase}
        for step, (rate, phase) in enumerate(path)
        for queue in _queues(groups[-1])
    ]


def _fade(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return the changes of channels that are bad for a second in every four, five, six, ... seconds."""
    found = []
    for k, queue in enumerate(_queues(groups[0])):
        every = f"{4 + k} s"
        found.append({"at": f"{k % 4} s", "every": every, "queue": queue, "rate": _FAR})
        found.append({"at": f"{k % 4 + _BAD_S} s", "every": every, "queue": queue, "rate": "54 Mbit/s"})
    # One phase: what is measured is the whole.
    return [change | {"phase": "fading"} for change in found]


def _of(name: str, key: str, *values: Any) -> Callable[[Setting, bool], Vary]:
    """Return what varies: a key of the scenario, in quick plans at its ends."""
    return lambda _, is_quick: {name: [key, *([values[0], values[-1]] if is_quick else values)]}


def _titled(*pairs: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return (*pairs, (PROBE, "call"))


def _scenario(section: str, asked: str, title: str, question: str, build: Build, **more: Any) -> Scenario:
    """Return a scenario of the suite: its metrics are the measures, and its picture has two of them."""
    return Scenario(
        section, asked, title, question, build, source="Fairness in a WLAN",
        metrics=tuple(one.name for one in MEASURES),
        of_groups=("goodput_bit_s", "one_way_delay_ms_mean", "one_way_delay_ms_p99", "loss_ratio", "voip_mos"),
        plane=(CALL.name, SHARES.name), **more,
    )  # fmt: skip


_TCP, _NEAR, _FAR_OFF = Group("tcp", 10), Group("near", 5), Group("far", 5)

SCENARIOS: Final = (
    _scenario(
        "1", "IV", "Data rates", "What do ten downloads and a call have when all stations have one data rate?",
        cell(_TCP, description="ten TCP downloads and a call; all stations have one data rate"),
        groups=_titled(("tcp", "TCP")),
        vary=_of("data rate", f"cells.{CELL}.data_rate", "54 Mbit/s", "24 Mbit/s", _FAR),
    ),
    _scenario(
        "2", "I", "Distances", "What do near and far stations have of a channel that they share?",
        cell(_NEAR, _FAR_OFF, rates={"far": _FAR},
             description="TCP downloads to five near stations and to five far ones, and a call"),
        groups=_titled(("near", "near stations"), ("far", "far stations")),
        vary=_of("data rate of the far", f"cells.{CELL}.rates.far", "54 Mbit/s", "24 Mbit/s", "12 Mbit/s", _FAR),
    ),
    _scenario(
        "3", "IV", "TCP and UDP: rates", "What does TCP keep beside UDP below, near and above its fair share?",
        cell(Group("tcp", 15), _udp(5, "180 kbit/s"), description="15 TCP downloads, five UDP downloads and a call"),
        groups=_titled(("tcp", "TCP"), ("udp", "UDP")),
        vary=_of("rate of UDP", "flows.udp.traffic.rate", "180 kbit/s", "1 Mbit/s", "4 Mbit/s"),
    ),
    _scenario(
        "4", "VI", "TCP and UDP: numbers", "What does TCP keep beside few and many flows of UDP?",
        cell(Group("tcp", 15), _udp(5, "1 Mbit/s"),
             description="15 TCP downloads, UDP downloads of 1 Mbit/s each and a call"),
        groups=_titled(("tcp", "TCP"), ("udp", "UDP")),
        vary=_of("flows of UDP", "nodes.udp.count", 1, 5, 15),
    ),
    _scenario(
        "5", "VI", "Directions", "What do downloads keep beside uploads, of which the scheme sees only the ACKs?",
        cell(Group("down", 5), Group("up", 5, is_back=True), description="TCP downloads and uploads, and a call"),
        groups=_titled(("down", "downloads"), ("up", "uploads")),
        vary=_of("uploads", "nodes.up.count", 1, 5, 10),
    ),
    _scenario(
        "6", "VI", "Moving stations", "What do stations have that walk away and back, and what those that stay?",
        cell(Group("still", 8), Group("walker", 2), changes=_walk, measured_s=80.0,
             description="TCP downloads to eight stations that stay and to two that walk, and a call"),
        groups=_titled(("still", "stations that stay"), ("walker", "stations that walk")),
        settles=False, phases=True,
    ),
    _scenario(
        "7", "VI", "Changing channels", "What do stations have whose channels turn bad and good, each at its times?",
        cell(_TCP, changes=_fade, description="ten TCP downloads over channels that change, and a call"),
        groups=_titled(("tcp", "TCP")),
        settles=False,
    ),
    _scenario(
        "8", "I", "Air time", "What changes when the access point gives stations equal air time?",
        cell(_NEAR, _FAR_OFF, rates={"far": _FAR},
             description="TCP downloads to five near stations and to five far ones, and a call"),
        groups=_titled(("near", "near stations"), ("far", "far stations")),
        vary=_of("equal air time", f"cells.{CELL}.airtime_fairness", False, True),
        level=lambda value: "yes" if value is True or str(value).lower() == "true" else "no",
    ),
)  # fmt: skip
"""Every scenario, by section of the page."""

SUITE: Final = Suite(
    title="in a WLAN",
    lead="This page evaluates its fairness in a WLAN, at an access point, beside {others}. Each section gives a "
    "question, the network, the results with 95 % intervals, and a sentence.",
    place=("Cell", "802.11g, {rate:g} Mbit/s"),
    setup_title="Setup and measures",
    setup=(
        "All networks are a cell of 802.11g: a server, a wire of 1 Gbit/s, an access point, and stations. The queue "
        "of the access point is under test; those of stations are tail drop. A distance is a data rate, because a "
        "cell has no propagation loss. With equal air time, the access point has a queue with the scheme for each "
        "station.",
        "Hassan, Hassan and Arif ask for a standardized model for fairness evaluation in a WLAN. The checklist names "
        "the section of their study that speaks of each condition.",
    ),
    headlines=(
        Headline(SHARES.name, "a Jain's index of {} for goodput", "index of goodput", "Jain's index of goodput"),
        Headline(AIR.name, "one of {} for air time", "index of air time", "that of air time"),
        Headline(CALL.name, "a p99 delay of the call of {} ms", "delay of the call", "p99 delay of the call"),
        Headline(TOTAL.name, "a goodput of {} Mbit/s", "goodput", "goodput"),
    ),
    measures=MEASURES,
    asked="Section of the study",
    items=(
        Item("1", "stations of one data rate", "IV", ("1",)),
        Item("2", "stations at different distances (performance anomaly)", "I", ("2",)),
        Item("3", "TCP beside UDP of different rates", "IV", ("3",)),
        Item("4", "different numbers of TCP and UDP flows", "VI", ("4",)),
        Item("5", "different directions of flows", "VI", ("5",)),
        Item("6", "transit: moving stations", "VI", ("6",)),
        Item("7", "dynamic and rapidly changing channels", "VI", ("7",)),
        Item("8", "equal air time", "I", ("8",)),
        Item("9", "AQM combined with scheduling", "III"),
        Item("10", "implementation cost", "–"),
        Item("11", "parameters", "V"),
    ),
    parts={"scheduling": "9", "cost": "10", "control": "11", "checklist": "12"},
    scenarios=SCENARIOS,
    setting=SETTING,
)

__all__ = ["SCENARIOS", "SETTING", "SUITE", "cell", "measures"]
