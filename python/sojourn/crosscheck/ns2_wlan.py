"""ns-2's 802.11: the fairness study's cells and saturated stations, as wlan.tcl and saturation.tcl run them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from sojourn.base.core import Document
from sojourn.crosscheck import records
from sojourn.crosscheck.compare import Metric, Point, Run
from sojourn.crosscheck.ns2 import METRICS, SCHEMES, theirs

RECORD: Final = "ns2_wlan.csv"
SATURATION: Final = "ns2_saturation.csv"

MAC: Final = {
    "data_rate": "54 Mbit/s",
    "slot": "9 us",
    "sifs": "16 us",
    "preamble": "20 us",
    "control_preamble": "20 us",
    "symbol": "0 s",
    # ns-2 draws from CWMin_ values, 0 to 14, and backs off even when it finds the channel idle.
    "cw_min": 14,
    "cw_max": 1022,
    "immediate_access": False,
    # Its NAV lasts EIFS (16 + 34 + 232 bit / 6 Mbit/s = 89 us, rounded) and DIFS follows; of who collided, too.
    "eifs": "123 us",
    "answer_timeout": "123 us",
    # Ten metres.
    "delay": "30 ns",
    # ns-2's interface queue of 50 drops where the packet would be the 50th to wait.
    "queue": "pfifo limit 49p",
    "access_point_queue": "pfifo limit 49p",
}
"""ns-2.35's 802.11 with the study's parameters; `mac_header` and `basic_rate` come on top."""


def _total(group: str) -> Any:
    def total(run: Run) -> float:
        return sum(
            float(flow["metrics"]["goodput_bit_s"] or 0.0) for flow in run.measured["flows"] if flow["group"] == group
        )

    return total


WLAN_METRICS: Final = (
    *METRICS,
    Metric("tcp_total_bps", "TCP's goodput", "bit/s", 0, _total("tcp"), relative=0.05),
    Metric("udp_total_bps", "UDP's goodput", "bit/s", 0, _total("udp"), relative=0.05),
)

SATURATION_METRICS: Final = (
    Metric(
        "goodput_bit_s",
        "goodput of a saturated cell",
        "bit/s",
        0,
        lambda run: float(run.measured["metrics"]["goodput_bit_s"]),
        relative=0.03,
    ),
)


def points() -> list[Point]:
    """Return the points, with what ns-2 measured."""
    return [*wlan_points(), *saturation_points()]


def wlan_points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points of the study's cells, from rows as recorded."""
    return [_wlan_point(row) for row in (records.table(RECORD) if rows is None else rows)]


def saturation_points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points of saturated stations, from rows as recorded."""
    return [_saturation_point(row) for row in (records.table(SATURATION) if rows is None else rows)]


def _wlan_point(row: Mapping[str, str]) -> Point:
    scheme, program = row["scheme"], row["program"]
    return Point(
        name=f"wlan {scheme}" if program else f"wlan {scheme}, earlier",
        scenario=wlan(),
        scheme=SCHEMES[scheme],
        theirs=theirs(row, WLAN_METRICS),
        metrics=WLAN_METRICS,
        is_quick=bool(program) and scheme in {"DropTail", "RED"},
        recipe={"program": program, "words": [scheme]},
    )


def _saturation_point(row: Mapping[str, str]) -> Point:
    stations, rts = int(row["stations"]), int(row["rts"])
    return Point(
        name=f"saturated, {stations} station{'s' if stations > 1 else ''}{', RTS' if rts else ''}",
        scenario=saturated(stations, has_rts=bool(rts)),
        # Nothing is under test.
        scheme="pfifo",
        theirs=theirs(row, SATURATION_METRICS),
        metrics=SATURATION_METRICS,
        is_quick=stations in {5, 20},
        recipe={"program": "saturation.tcl", "words": [stations, rts]},
    )


def summary(point: Point, runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return a row as recorded, from the program's runs of one point with several seeds."""
    words, program = point.recipe["words"], point.recipe["program"]
    row = {"seeds": str(len(runs)), "program": program}
    row |= {"scheme": words[0]} if program == "wlan.tcl" else {"stations": str(words[0]), "rts": str(words[1])}
    for metric in point.metrics:
        values = np.array([float(run[metric.key]) for run in runs])
        row[f"{metric.key}_mean"] = repr(float(values.mean()))
        row[f"{metric.key}_sd"] = repr(float(values.std(ddof=1)))
    return row


def wlan() -> Document:
    """Return our form of the study's network and traffic, as ns-2 has it.

    ns-2's wireless nodes add an IP header of 20 B to what agents call a packet (its DSDV does): it is framing here,
    so the goodput is of the 1000 B. Its MAC header has four addresses, 34 B with the check sequence, and no LLC.
    """
    mac = {**MAC, "basic_rate": "6 Mbit/s", "mac_header": "54 B"}
    reno = {
        "kind": "tcp",
        "congestion_control": "ns2_reno",
        "recovery": "reno",
        "mss": "1000 B",
        "timestamps": False,
        "ack_every": "1 p",
        "window_limit": "20 p",
        "initial_window": "1 p",
        "rto": "rfc",
        "prr": False,
        # One-way agents: neither SYN nor FIN.
        "handshake": False,
    }
    wire = {"overhead": "20 B"}
    start = {"uniform": ["5 s", "6 s"]}
    return {
        "name": "crosscheck-ns2-wlan",
        "duration": "100 s",
        "warm_up": "20 s",
        "nodes": [{"name": "tcp", "count": 15}, {"name": "udp", "count": 5}],
        "cells": [
            {"name": "near", "access_point": "ap", "stations": ["tcp", "udp"], **mac},
            {"name": "far", "access_point": "far-ap", "stations": ["sink"], **mac},
        ],
        "links": [
            {"name": "from-ap", "from": "ap", "to": "left", "rate": "100 Mbit/s", "delay": "1 ms", **wire},
            {
                "name": "bottleneck",
                "from": "left",
                "to": "right",
                "rate": "10 Mbit/s",
                "delay": "18 ms",
                "under_test": True,
                **wire,
            },
            {"name": "to-ap", "from": "right", "to": "far-ap", "rate": "100 Mbit/s", "delay": "1 ms", **wire},
        ],
        "flows": [
            {
                "name": "tcp",
                "from": "tcp",
                "to": "sink",
                "start": start,
                "transport": reno,
                "traffic": {"kind": "bulk"},
            },
            {
                "name": "udp",
                "from": "udp",
                "to": "sink",
                "start": start,
                "transport": {"kind": "udp", "header": "0 B"},
                "traffic": {"kind": "cbr", "rate": "180 kbit/s", "packet_size": "1000 B"},
            },
        ],
    }


def saturated(stations: int, *, has_rts: bool) -> Document:
    """Return a cell in which every station always has a packet of 1000 B for the access point.

    Parameters
    ----------
    stations
        How many, besides the access point.
    has_rts
        Whether every frame is announced.
    """
    mac = {**MAC, "basic_rate": "8 Mbit/s", "mac_header": "34 B", "rts_threshold": "0 B" if has_rts else "none"}
    return {
        "name": "crosscheck-ns2-saturation",
        "duration": "22 s",
        "warm_up": "2 s",
        "nodes": [{"name": "station", "count": stations}],
        "cells": [{"name": "cell", "access_point": "ap", "stations": ["station"], **mac}],
        "flows": [
            {
                "name": "flow",
                "from": "station",
                "to": "ap",
                "transport": {"kind": "udp", "header": "0 B"},
                "traffic": {"kind": "poisson", "rate": f"{60_000_000 // stations} bit/s", "packet_size": "1000 B"},
            }
        ],
    }
