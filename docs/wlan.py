"""Writes the page on 802.11 cells, with its picture: Bianchi's analysis beside runs.

``docs/wlan.py`` runs all of it: some seconds of CPU time. The runs depend on the seed alone, so the page changes only
when the library does.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from pages import BLUE, RED, save, shown, table, write
from scipy.optimize import brentq

from sojourn import stats
from sojourn.base import core
from sojourn.view.plot import WIDTH, new_figure

STATIONS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50)
SLOT, SIFS, DIFS, DELAY, PHY, MAC, PAYLOAD = 50, 28, 128, 1, 128, 272, 8184
"""Bianchi's table II: microseconds, or bits at 1 Mbit/s."""


def theory(stations: int, *, has_rts: bool) -> tuple[float, float]:
    """Bianchi 2000, equations 7, 9 and 13: share of payload, and conditional collision probability."""
    window, stages = 32, 5

    def attempt(p: float) -> float:
        return 2 / (window + 1 + p * window * sum((2 * p) ** i for i in range(stages)))

    p = brentq(lambda p: p - 1 + (1 - attempt(p)) ** (stations - 1), 0.0, 1.0) if stations > 1 else 0.0
    tau = attempt(p)
    ack = clear = PHY + 112
    request = PHY + 160
    frame = PHY + MAC + PAYLOAD
    success = frame + SIFS + DELAY + ack + DIFS + DELAY
    collision = frame + DIFS + DELAY
    if has_rts:
        success += request + SIFS + DELAY + clear + SIFS + DELAY
        collision = request + DIFS + DELAY
    busy = 1 - (1 - tau) ** stations
    alone = stations * tau * (1 - tau) ** (stations - 1)
    return alone * PAYLOAD / ((1 - busy) * SLOT + alone * success + (busy - alone) * collision), p


def runs(document: dict[str, Any]) -> list[core.Document]:
    """Five replications of a scenario with its queues as written."""
    scenario = core.load(json.dumps(document), source="docs/wlan.py", sets=())
    tasks = [{"scheme": None, "seed": 1, "replication": k, "series": None} for k in range(5)]
    return core.run_many(scenario, tasks, jobs=os.cpu_count() or 1)


def cell(stations: dict[str, int], keys: dict[str, Any], packet: str, rate: str) -> dict[str, Any]:
    """A cell in which every station of the groups always has a packet for the access point."""
    flow = {"to": "ap", "transport": {"kind": "udp", "header": "0 B"}}
    traffic = {"kind": "cbr", "rate": rate, "packet_size": packet}
    return {
        "name": "cell",
        "duration": "35 s",
        "warm_up": "5 s",
        "nodes": [{"name": name, "count": count} for name, count in stations.items()],
        "cells": [
            {"name": "wlan", "access_point": "ap", "stations": list(stations), "queue": "pfifo limit 3p", **keys}
        ],
        "flows": [{"name": name, "from": name, "traffic": traffic, **flow} for name in stations],
    }


def saturated(stations: int, *, has_rts: bool) -> tuple[stats.Estimate, stats.Estimate]:
    """The same by runs of Bianchi's cell."""
    keys = {
        "data_rate": "1 Mbit/s",
        "basic_rate": "1 Mbit/s",
        "slot": f"{SLOT} us",
        "sifs": f"{SIFS} us",
        "preamble": f"{PHY} us",
        "control_preamble": f"{PHY} us",
        "symbol": "0 s",
        "mac_header": f"{MAC // 8} B",
        "cw_min": 31,
        "short_retry_limit": 1_000_000,
        "long_retry_limit": 1_000_000,
        "answer_timeout": "0 s",
        "eifs": f"{DIFS} us",
        "rts_threshold": "0 B" if has_rts else "none",
    }
    found = runs(cell({"station": stations}, keys, f"{PAYLOAD // 8} B", "1 Mbit/s"))
    shares = [run["metrics"]["throughput_bit_s"] / 1e6 for run in found]
    collisions = []
    for run in found:
        members = run["cells"][0]["stations"]
        collisions.append(sum(s["collisions"] for s in members) / sum(s["attempts"] for s in members))
    return stats.estimate(np.array(shares)), stats.estimate(np.array(collisions))


def bianchi() -> dict[str, float]:
    """Draw Bianchi's analysis and runs; return the greatest differences, of the throughput as a share of it."""
    worst = {"share": 0.0, "collided": 0.0}
    with new_figure(WIDTH, 3.4) as figure:
        left, right = figure.subplots(1, 2)
        for has_rts, colour, label in ((False, BLUE, "basic access"), (True, RED, "RTS/CTS")):
            expected = np.array([theory(n, has_rts=has_rts) for n in STATIONS])
            measured = [saturated(n, has_rts=has_rts) for n in STATIONS]
            for axes, column, key in ((left, 0, "share"), (right, 1, "collided")):
                means = np.array([pair[column].mean for pair in measured])
                widths = np.array([pair[column].half_width or 0.0 for pair in measured])
                axes.plot(STATIONS, expected[:, column], color=colour, linewidth=1.2, label=f"{label}, analysis")
                axes.errorbar(STATIONS, means, yerr=widths, color=colour, fmt="o", markersize=3.5, label="runs")
                off = np.abs(means - expected[:, column])
                off = off / expected[:, column] if key == "share" else off
                worst[key] = max(worst[key], float(off.max()))
        left.set_ylabel("share of time that carries payload")
        right.set_ylabel("collisions among transmissions")
        for axes in (left, right):
            axes.set_xlabel("saturated stations")
            axes.set_ylim(bottom=0)
        left.legend(loc="lower left", fontsize=8.5)
    save(figure, "wlan-bianchi.png")
    return worst


def anomaly() -> str:
    """What each of the stations of an 802.11b cell gets, with and without a slow one among them."""
    rows = []
    for fast, slow in ((4, 0), (3, 1), (9, 1)):
        groups = {"fast": fast} | ({"slow": slow} if slow else {})
        keys: dict[str, Any] = {"profile": "802.11b"} | ({"rates": {"slow": "1 Mbit/s"}} if slow else {})
        found = runs(cell(groups, keys, "1500 B", "6 Mbit/s"))
        texts = []
        for group in ("fast", "slow"):
            rates = [
                [flow["metrics"]["throughput_bit_s"] / 1e6 for flow in run["flows"] if flow["group"] == group]
                for run in found
            ]
            texts.append(shown([float(np.mean(each)) for each in rates], 3) if rates[0] else "none")
        what = f"{fast} at 11 Mbit/s" + (f", {slow} at 1 Mbit/s" if slow else "")
        rows.append([what, *texts])
    return table(["stations", "each fast one (Mbit/s)", "the slow one (Mbit/s)"], rows)


if __name__ == "__main__":
    write("concepts/wlan.md", {"anomaly": anomaly(), **bianchi()})
