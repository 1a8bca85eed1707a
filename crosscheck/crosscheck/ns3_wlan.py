"""ns-3's 802.11n: stations that always have a packet for one receiver, as crosscheck/ns3/wlan.cc runs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from crosscheck import records
from crosscheck.compare import Point, measured
from crosscheck.ns2_wlan import SATURATED, cell
from sojourn.base.core import Document

RECORD: Final = "ns3_wlan.csv"

RATES: Final = {"0": "6500 kbit/s", "7": "65 Mbit/s"}
"""Of a modulation and coding scheme with one stream, 20 MHz and a guard interval of 800 ns."""

METRICS: Final = (replace(SATURATED, title=f"WLAN: {SATURATED.title}"),)


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points, with what ns-3 measured."""
    grouped = records.grouped(RECORD, rows, lambda row: (int(row["stations"]), row["mcs"], row["aggregate"]))
    return [
        Point(
            name=f"WLAN, {stations} station{'s' if stations > 1 else ''} at {RATES[mcs]}"
            + ("" if int(aggregate) else ", no A-MPDUs"),
            scenario=saturated(stations, RATES[mcs], has_aggregates=bool(int(aggregate))),
            # Nothing is under test.
            scheme="pfifo",
            theirs=measured(METRICS, group),
            metrics=METRICS,
            is_quick=stations == 1,
            recipe={"program": "wlan", "stations": stations, "mcs": mcs, "aggregate": aggregate},
        )
        for (stations, mcs, aggregate), group in grouped.items()
    ]


def saturated(stations: int, rate: str, *, has_aggregates: bool) -> Document:
    """Return a cell of 802.11n in which every station always has a packet of 1500 B for the access point."""
    keys = {
        "profile": "802.11n",
        "data_rate": rate,
        # An answer has the largest basic rate that is not above that of the data.
        "basic_rate": "6 Mbit/s" if rate == RATES["0"] else "24 Mbit/s",
        # Frames that overlap from the beginning are no frame to those who hear them, only noise: DIFS follows.
        "eifs": "34 us",
        # Out of reach, as in the program.
        **dict.fromkeys(("short_retry_limit", "long_retry_limit"), 1_000_000),
        "queue": "pfifo limit 500p",
        # A metre.
        "delay": "3 ns",
        **({} if has_aggregates else {"aggregate_frames": 1}),
    }
    return cell("crosscheck-ns3-wlan", 12, stations, keys, 80_000_000, "1500 B")
