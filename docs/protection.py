"""Writes the page on unresponsive flows: which schemes protect TCP from one, on the fairness study's traffic.

``docs/protection.py`` runs all of it: some five minutes of CPU time. The runs depend on the seed alone, so the page
changes only when the library does.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
from generate import cost_ns
from pages import BLUE, RED, Column, Side, measured, save, shown, table, write

import sojourn as sj
from sojourn import stats
from sojourn.results import fairness
from sojourn.view import charts
from sojourn.view.palette import INK, MUTED
from sojourn.view.plot import WIDTH, new_figure

REPLICATIONS = 10
ATTACKS = ("none", "1 Mbit/s", "5 Mbit/s", "20 Mbit/s")
_RED = "min 20p max 80p max_p 0.1 limit 100p"
_ONE = "a few numbers"
_QUEUES = "1024 places of 4 B, and a queue with its own {} for every place that a flow met"
SCHEMES = {
    "drop tail": ("pfifo limit 100p", "none"),
    "RED": (f"red {_RED}", _ONE),
    "REM": ("rem limit 100p", _ONE),
    "AVQ": ("avq alpha 0.8 limit 100p", _ONE),
    "CoDel": ("codel limit 100p", _ONE),
    "PIE": ("pie limit 100p", _ONE),
    "FRED": (f"fred {_RED}", "16 B for every flow with packets queued"),
    "SFB": ("sfb limit 100p", "two sets of 8 x 16 bins, whatever the number of flows"),
    "BLACK": (f"black {_RED}", "a cache of 20 flows"),
    "CHOKe": (f"choke {_RED}", _ONE),
    "SRED": ("sred limit 100p", "a list of 1000 flows, whatever their number"),
    "CARE": ("care limit 100p", "a list of 200 captured packets, whatever the number of flows"),
    "FQ-CoDel": ("fq_codel limit 100p", _QUEUES.format("CoDel")),
    "FQ-PIE": ("fq_pie limit 100p", _QUEUES.format("PIE")),
    "CAKE": ("cake besteffort memlimit 230400B", "1024 queues in sets of 8, each with its COBALT, and 1024 hosts"),
    "FQ-REM": ("fq_rem form queue b_ref 5p limit 100p", _QUEUES.format("REM")),
    "FQ-AVQ": ("fq_avq alpha 0.8 buffer 10p limit 100p", _QUEUES.format("AVQ")),
    "SFQ": ("sfq limit 100p", "1024 places, at most 127 queues"),
    "DRR": ("drr limit 100p", "1024 queues"),
}
"""Parameters of the study's table 2 where it has them; the buffer is its 100 packets."""
TEXTS = {label: text for label, (text, _) in SCHEMES.items()}


def study(attack: str, *, wired: bool = False, profile: str = "802.11g") -> dict[str, Any]:
    """The ready-made scenario with one more UDP flow; wired, each station has 100 Mbit/s of its own to the router."""
    text = resources.files("sojourn").joinpath("model/scenarios/wlan.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    for one in document["cells"]:
        one["profile"] = profile
    if attack != "none":
        (near, _) = document["cells"]
        near["stations"].append("attacker")
        document["nodes"].append({"name": "attacker"})
        udp = next(flow for flow in document["flows"] if flow["name"] == "udp")
        traffic = {**udp["traffic"], "rate": attack}
        document["flows"].append({**copy.deepcopy(udp), "name": "attacker", "from": "attacker", "traffic": traffic})
    if wired:
        near, _ = document.pop("cells")
        ends = [(name, "ap") for name in near["stations"]] + [("far-ap", "sink")]
        of_wire = {"rate": "100 Mbit/s", "delay": "1 ms", "queue": "pfifo limit 1000p"}
        document["links"] += [{"name": f"to-{a}", "from": a, "to": b, **of_wire} for a, b in ends]
    return document


def compare(document: dict[str, Any], schemes: dict[str, str], replications: int = REPLICATIONS) -> sj.Results:
    """Schemes on the same traffic."""
    return sj.compare(sj.Network.from_dict(document), schemes, replicates=replications, seed=1, series=None)


def tcp(side: Side) -> pd.Series[float]:
    """TCP's goodput in Mbit/s, by replication."""
    return side.of("tcp", "goodput_bit_s", "sum") / 1e6


def shares(side: Side, keep: pd.Series[bool] | None = None) -> pd.Series[float]:
    """The share of air time of the stations that are chosen, by replication."""
    air = side.results.stations if keep is None else side.results.stations[keep]
    found: pd.Series[float] = air[air["scheme"] == side.label].groupby("replication")["air_time_share"].sum()
    return found


def fair_share() -> float:
    """What max-min fairness leaves to the TCP flows, in Mbit/s of payload, beside an attacker that wants more."""
    # On the wire: UDP has 28 B of headers on 1000 B, a segment of 1000 B has 40 B.
    demands = np.array([0.18 * 1.028] * 5 + [np.inf] * 16)
    return float(fairness.max_min_allocation(10.0, demands)[-15:].sum()) / 1.04


def picture(cell: dict[str, sj.Results], wire: dict[str, sj.Results]) -> dict[str, str]:
    """Draw what 5 Mbit/s leave to TCP; return which schemes leave nine tenths of the fair share, for certain."""
    share = fair_share()
    kept, lost = [], []
    with new_figure(WIDTH, 6.4) as figure:
        axes = figure.add_subplot()
        for place, label in enumerate(SCHEMES):
            beside, wired, alone = (
                stats.estimate(tcp(Side(results, label)).to_numpy())
                for results in (cell["5 Mbit/s"], wire["5 Mbit/s"], cell["none"])
            )
            (kept if (beside.low or 0.0) >= 0.9 * share else lost).append(label)
            charts.interval(axes, beside, place - 0.14, BLUE)
            charts.interval(axes, wired, place + 0.14, RED, marker="s")
            axes.plot(alone.mean, place, marker="|", markersize=11, color=MUTED, linestyle="none")
        axes.axvline(share, color=INK, linewidth=1)
        axes.text(share, -1.0, " max-min fair", fontsize=8.5, ha="right")
        for text, colour, marker in (
            ("beside 5 Mbit/s, 802.11g cell", BLUE, "o"),
            ("beside 5 Mbit/s, wired", RED, "s"),
            ("without it, 802.11g cell", MUTED, "|"),
        ):
            axes.plot([], [], color=colour, marker=marker, linestyle="none", label=text)
        charts.names(axes, list(SCHEMES))
        axes.set_xlim(left=0)
        axes.set_xlabel("goodput of the 15 TCP flows together (Mbit/s)")
        axes.legend(loc="lower left")
    save(figure, "protection.png")
    return {"share": f"{share:.2f}", "kept": ", ".join(kept), "lost": ", ".join(lost)}


def main_table(results: sj.Results) -> str:
    """Every scheme beside 5 Mbit/s in the cell."""
    jain = results.fairness("tcp").set_index(["scheme", "measure"])
    rows = []
    for label, (text, state) in SCHEMES.items():
        side = Side(results, label)
        own = results.runs[results.runs["scheme"] == label]
        rows.append(
            [
                label,
                shown(tcp(side)),
                interval(jain.loc[(label, "jain_index")], 3),
                shown(side.of("attacker", "goodput_bit_s", "sum"), 2, 1e-6),
                shown(side.of("udp", "loss_ratio"), 1, 100),
                shown(own["sojourn_ms_mean"], 1),
                shown(own["sojourn_ms_p99"], 0),
                state,
                cost_ns(text.split()[0]) or "not measured",
            ]
        )
    head = ["scheme", "TCP (Mbit/s)", "Jain, TCP", "attacker (Mbit/s)", "loss of the others' UDP (%)"]
    return table([*head, "delay (ms)", "delay, p99 (ms)", "state", "ns a packet above drop tail"], rows)


def interval(row: Any, digits: int = 2) -> str:
    """A row's mean with the half width of its interval."""
    return f"{row['mean']:.{digits}f} ± {(row['high'] - row['low']) / 2:.{digits}f}"


def rates_table(cell: dict[str, sj.Results], wire: dict[str, sj.Results]) -> str:
    """TCP's goodput beside each attack, in the cell and on wires."""
    rows = [
        [label, *(shown(tcp(Side(results[attack], label))) for results in (cell, wire) for attack in ATTACKS)]
        for label in SCHEMES
    ]
    head = [f"{where}, {attack}" for where in ("cell", "wired") for attack in ATTACKS]
    return table(["scheme", *head], rows)


def air_table(cell: dict[str, sj.Results]) -> str:
    """What the attacker has of the cell, from the readings of the stations; 802.11b as well, whose air is scarce."""
    chosen = {label: TEXTS[label] for label in ("drop tail", "FQ-CoDel")}
    tried = [("802.11g", attack, cell[attack]) for attack in ATTACKS]
    tried += [
        ("802.11b", attack, compare(study(attack, profile="802.11b"), chosen)) for attack in ("none", "20 Mbit/s")
    ]
    rows = []
    for profile, attack, results in tried:
        air = results.stations
        for side in (Side(results, label) for label in chosen):
            own_cells = ["none"] * 3
            if attack != "none":
                own = air[(air["scheme"] == side.label) & (air["node"] == "attacker")].set_index("replication")
                through = (own["attempts"] - own["collisions"]) * 8000 / float(results.runs["measured_s"].iloc[0])
                own_cells = [
                    shown(through, 2, 1e-6),
                    shown(side.of("attacker", "goodput_bit_s", "sum"), 2, 1e-6),
                    shown(own["air_time_share"], 1, 100),
                ]
            near = shown(shares(side, air["cell"] == "near"), 1, 100)
            rows.append([profile, attack, side.label, *own_cells, near, shown(tcp(side))])
    head = ["cell", "attack", "at the wire", "attacker, through the cell (Mbit/s)", "through the wire (Mbit/s)"]
    return table([*head, "its air time (%)", "air time of all (%)", "TCP (Mbit/s)"], rows)


def measures() -> str:
    """What each measure is."""
    rows = [[f"`{m.name}`", m.definition, "" if m.fair is None else f"{m.fair:g}"] for m in fairness.MEASURES]
    return table(["measure", "what it is", "when fair"], rows)


def mixed() -> str:
    """Three round-trip times and an unresponsive flow: every measure; short transfers in runs of their own."""
    delays = {"near": "5 ms", "middle": "20 ms", "far": "80 ms"}
    reno = {"kind": "tcp", "congestion_control": "reno", "mss": "1000 B"}
    bulk = {"start": {"uniform": ["0 s", "15 s"]}, "transport": reno, "traffic": {"kind": "bulk"}}
    cbr = {"kind": "cbr", "rate": "2 Mbit/s", "packet_size": "1000 B"}
    udp = {"transport": {"kind": "udp", "header": "28 B"}, "traffic": cbr}
    transfer = {"transport": reno, "traffic": {"kind": "transfer", "size": "200 kB"}}
    short = {"name": "short", "from": "middle", "to": "right", "start": {"uniform": ["20 s", "60 s"]}, **transfer}
    wire = {"name": "wire", "from": "left", "to": "right", "rate": "10 Mbit/s", "delay": "5 ms", "under_test": True}
    document: dict[str, Any] = {
        "name": "mixed",
        "duration": "80 s",
        "warm_up": "20 s",
        "nodes": [{"name": name, "count": 3} for name in delays],
        "links": [
            wire,
            *({"name": a, "from": a, "to": "left", "rate": "1 Gbit/s", "delay": late} for a, late in delays.items()),
        ],
        "flows": [
            *({"name": name, "from": name, "to": "right", **bulk} for name in delays),
            {"name": "udp", "from": "near0", "to": "right", **udp},
        ],
    }
    schemes = {label: TEXTS[label] for label in ("drop tail", "RED", "CoDel", "SFB", "FQ-CoDel", "FQ-AVQ")}
    found, beside = (
        compare({**document, "flows": flows}, schemes, 2 * REPLICATIONS)
        .fairness("tcp")
        .set_index(["scheme", "measure"])
        for flows in (document["flows"], [*document["flows"], short])
    )
    names = [measure.name for measure in fairness.MEASURES]
    rows = [
        [label, *(interval((beside if name == "short_over_long" else found).loc[(label, name)]) for name in names)]
        for label in schemes
    ]
    return table(["scheme", *(f"`{name}`" for name in names)], rows)


def windows() -> str:
    """Jain's index over all flows in windows of 10 s, the attack starting a second before one."""
    document = study("5 Mbit/s")
    document["flows"][-1]["start"] = "59 s"
    document["series"] = {"interval": "1 s", "flows": True}
    schemes = {label: TEXTS[label] for label in ("drop tail", "SFB", "CHOKe", "FQ-CoDel")}
    results = sj.compare(sj.Network.from_dict(document), schemes, replicates=REPLICATIONS, seed=1)
    found = results.fairness_over_time(sj.s(10))
    found = found[(found["measure"] == "jain_index") & (found["from_s"] >= 30)]
    of = {label: found[found["scheme"] == label].to_dict("records") for label in schemes}
    rows = [[label, *map(interval, own)] for label, own in of.items()]
    return table(["scheme", *(f"{one['from_s']:g}-{one['to_s']:g} s" for one in of["drop tail"])], rows)


def station_rates() -> str:
    """The study's cell with some TCP stations at 6 Mbit/s."""
    rows = []
    for slow in (0, 1, 5):
        document = study("none")
        near = document["cells"][0]
        if slow:
            document["nodes"].append({"name": "slow", "count": slow})
            near["stations"].append("slow")
            near["rates"] = {"slow": "6 Mbit/s"}
            bulk = document["flows"][0]
            document["flows"].append({**copy.deepcopy(bulk), "name": "slow", "from": "slow"})
            next(node for node in document["nodes"] if node["name"] == "tcp")["count"] = 15 - slow
        results = compare(document, {label: TEXTS[label] for label in ("drop tail", "FQ-CoDel")})
        for side in (Side(results, label) for label in results.labels):
            own = shares(side, results.stations["node"].str.startswith("slow"))
            rows.append(
                [
                    f"{15 - slow} at 54 Mbit/s" + (f", {slow} at 6 Mbit/s" if slow else ""),
                    side.label,
                    shown(side.of("tcp", "goodput_bit_s"), 3, 1e-6),
                    shown(side.of("slow", "goodput_bit_s"), 3, 1e-6) if slow else "none",
                    shown(own, 1, 100) if slow else "none",
                    shown(results.runs[results.runs["scheme"] == side.label]["utilisation"], 1, 100),
                ]
            )
    head = ["TCP stations", "at the wire", "a fast one (Mbit/s)", "a slow one (Mbit/s)"]
    return table([*head, "air time of the slow (%)", "use of the wire (%)"], rows)


def both_ways(scheme: str, window: str) -> Side:
    """Five uploads and five downloads between a server and a cell; the access point's queue is under test."""
    reno = {"kind": "tcp", "congestion_control": "reno", "mss": "1000 B", "window_limit": window}
    flow = {"start": {"uniform": ["0 s", "1 s"]}, "transport": reno, "traffic": {"kind": "bulk"}}
    queues = {"queue": "pfifo limit 50p", "access_point_queue": scheme, "access_point_under_test": True}
    document = {
        "name": "both ways",
        "duration": "100 s",
        "warm_up": "20 s",
        "nodes": [{"name": name, "count": 5} for name in ("up", "down")],
        "cells": [{"name": "wlan", "access_point": "ap", "stations": ["up", "down"], **queues}],
        "links": [{"name": "wire", "from": "ap", "to": "server", "rate": "1 Gbit/s", "delay": "5 ms"}],
        "flows": [
            {"name": "up", "from": "up", "to": "server", **flow},
            {"name": "down", "from": "server", "to": "down", **flow},
        ],
    }
    results = compare(document, {scheme: scheme})
    return Side(results, results.labels[0])


def directions() -> tuple[str, str]:
    """Uplink against downlink under schemes; and under windows set from the access point's buffer."""

    def goodput(group: str) -> Callable[[Side], pd.Series[float]]:
        return lambda side: side.of(group, "goodput_bit_s", "sum")

    columns: list[Column] = [
        ("uploads (Mbit/s)", goodput("up"), 1e-6, 2),
        ("downloads (Mbit/s)", goodput("down"), 1e-6, 2),
        ("down over up", lambda side: goodput("down")(side) / goodput("up")(side), 1, 2),
        ("loss at the access point (%)", lambda side: side.results.runs["loss_ratio"], 100, 1),
        ("delay there (ms)", lambda side: side.results.runs["sojourn_ms_mean"], 1, 1),
    ]
    schemes = ("pfifo limit 50p", "codel limit 50p", "fq_codel limit 50p", "fq_codel", "drr limit 1000p")
    first = [([f"`{scheme}`"], both_ways(scheme, "64 p")) for scheme in schemes]
    second = [
        ([str(buffer), str(window)], both_ways(f"pfifo limit {buffer}p", f"{window} p"))
        for buffer in (20, 50, 100)
        for window in (64, buffer // 10)
    ]
    return measured(["access point's queue"], first, columns), measured(
        ["buffer (packets)", "window"], second, columns
    )


def main() -> None:
    """Writes the page."""
    cell = {attack: compare(study(attack), TEXTS) for attack in ATTACKS}
    wire = {attack: compare(study(attack, wired=True), TEXTS) for attack in ATTACKS}
    uplink, buffers = directions()
    values = dict(
        schemes="\n".join(f"* {label}: `{text}`" for label, text in TEXTS.items()),
        table=main_table(cell["5 Mbit/s"]),
        rates=rates_table(cell, wire),
        air=air_table(cell),
        measures=measures(),
        mixed=mixed(),
        windows=windows(),
        stations=station_rates(),
        uplink=uplink,
        buffers=buffers,
        replications=REPLICATIONS,
        **picture(cell, wire),
    )
    write("concepts/protection.md", values)


if __name__ == "__main__":
    main()
