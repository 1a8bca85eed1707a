"""ns-2's 802.11: the fairness study's cells and saturated stations, as wlan.tcl and saturation.tcl run them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from crosscheck import records
from crosscheck.compare import Metric, Point, Run, Value, of_run
from crosscheck.ns2 import METRICS, SCHEMES, study, theirs
from sojourn.base.core import Document
from sojourn.model.network import bundled_scenarios

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


def _total(group: str) -> Value:
    def total(run: Run) -> float:
        return sum(
            float(flow["metrics"]["goodput_bit_s"] or 0.0) for flow in run.measured["flows"] if flow["group"] == group
        )

    return total


WLAN_METRICS: Final = (
    *METRICS,
    *(
        Metric(f"{kind}_total_bps", f"{kind.upper()}'s goodput", "bit/s", 0, _total(kind), relative=0.05)
        for kind in ("tcp", "udp")
    ),
)
SATURATED: Final = Metric(
    "goodput_bit_s", "goodput of a saturated cell", "bit/s", 0, of_run("goodput_bit_s"), relative=0.03
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
        recipe={"program": program, "words": [scheme], "row": {"scheme": scheme}},
    )


def _saturation_point(row: Mapping[str, str]) -> Point:
    stations, rts = int(row["stations"]), int(row["rts"])
    return Point(
        name=f"saturated, {stations} station{'s' if stations > 1 else ''}{', RTS' if rts else ''}",
        scenario=saturated(stations, has_rts=bool(rts)),
        # Nothing is under test.
        scheme="pfifo",
        theirs=theirs(row, (SATURATED,)),
        metrics=(SATURATED,),
        is_quick=stations in {5, 20},
        recipe={"program": "saturation.tcl", "words": [stations, rts], "row": {"stations": stations, "rts": rts}},
    )


def wlan() -> Document:
    """Return our form of the study's network and traffic, as ns-2 has it.

    ns-2's wireless nodes add an IP header of 20 B to what agents call a packet (its DSDV does): it is framing here,
    so the goodput is of the 1000 B. Its MAC header has four addresses, 34 B with the check sequence, and no LLC.
    """
    document = study(bundled_scenarios()["wlan"], "crosscheck-ns2-wlan")
    for cell in document["cells"]:
        cell.update({**MAC, "basic_rate": "6 Mbit/s", "mac_header": "54 B"})
    fast = {"rate": "100 Mbit/s", "delay": "1 ms", "overhead": "20 B"}
    (wire,) = document["links"]
    wire.update({"from": "left", "to": "right", "delay": "18 ms", "overhead": "20 B"})
    document["links"] = [
        {"name": "from-ap", "from": "ap", "to": "left", **fast},
        wire,
        {"name": "to-ap", "from": "right", "to": "far-ap", **fast},
    ]
    for flow in document["flows"]:
        flow["start"] = {"uniform": ["5 s", "6 s"]}
    return document


def saturated(stations: int, *, has_rts: bool) -> Document:
    """Return a cell in which every station always has a packet of 1000 B for the access point."""
    mac = {**MAC, "basic_rate": "8 Mbit/s", "mac_header": "34 B", "rts_threshold": "0 B" if has_rts else "none"}
    return cell("crosscheck-ns2-saturation", 22, stations, mac, 60_000_000, "1000 B")


def cell(name: str, seconds: int, stations: int, keys: Mapping[str, Any], bit_s: int, packet: str) -> Document:
    """Return a cell of stations that send so many bit/s together to the access point; the first 2 s do not count."""
    traffic = {"kind": "poisson", "rate": f"{bit_s // stations} bit/s", "packet_size": packet}
    udp = {"transport": {"kind": "udp", "header": "0 B"}, "traffic": traffic}
    return {
        "name": name,
        "duration": f"{seconds} s",
        "warm_up": "2 s",
        "nodes": [{"name": "station", "count": stations}],
        "cells": [{"name": "cell", "access_point": "ap", "stations": ["station"], **keys}],
        "flows": [{"name": "flow", "from": "station", "to": "ap", **udp}],
    }
