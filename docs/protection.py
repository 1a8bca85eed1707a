"""Writes the page on unresponsive flows: which schemes protect TCP from one, on the fairness study's traffic.

``docs/protection.py`` runs all of it: some five minutes of CPU time. The runs depend on the seed alone, so the page
changes only when the library does.
"""

from __future__ import annotations

import copy
import tomllib
from importlib import resources
from typing import Any

import numpy as np
import pages
import pandas as pd
from generate import cost_ns
from pages import BLUE, RED, save, table

import sojourn as sj
from sojourn import stats
from sojourn.results import fairness
from sojourn.view.palette import INK, MUTED
from sojourn.view.plot import WIDTH, new_figure

NOTE = (
    "<!-- Made by docs/protection.py from runs of the library: change it there, or its words in docs/templates. -->\n"
)
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


def shown(values: Any, scale: float = 1.0, digits: int = 2) -> str:
    """A mean with the half width of its 95 % interval."""
    return pages.shown(stats.estimate(np.asarray(values, dtype=np.float64) * scale), digits)


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
        document["links"] += [
            {
                "name": f"to-{a}",
                "from": a,
                "to": b,
                "rate": "100 Mbit/s",
                "delay": "1 ms",
                "queue": "pfifo limit 1000p",
            }
            for a, b in ends
        ]
    return document


def compare(document: dict[str, Any], schemes: dict[str, str], replications: int = REPLICATIONS) -> sj.Results:
    """Schemes on the same traffic."""
    return sj.compare(sj.Network.from_dict(document), schemes, replicates=replications, seed=1, series=None)


def of_group(results: sj.Results, label: str, group: str, metric: str, how: str = "sum") -> pd.Series[float]:
    """A flow metric summed or averaged over a group, by replication."""
    flows = results.flows[(results.flows["scheme"] == label) & (results.flows["group"] == group)]
    found: pd.Series[float] = flows.groupby("replication")[metric].agg(how)
    return found


def tcp(results: sj.Results, label: str) -> pd.Series[float]:
    """TCP's goodput in Mbit/s, by replication."""
    return of_group(results, label, "tcp", "goodput_bit_s") / 1e6


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
            alone = stats.estimate(tcp(cell["none"], label).to_numpy())
            axes.plot(alone.mean, place, marker="|", markersize=11, color=MUTED, linestyle="none")
            for results, colour, marker, shift in ((cell, BLUE, "o", -0.14), (wire, RED, "s", 0.14)):
                found = stats.estimate(tcp(results["5 Mbit/s"], label).to_numpy())
                axes.errorbar(
                    found.mean,
                    place + shift,
                    xerr=found.half_width or 0.0,
                    color=colour,
                    marker=marker,
                    markersize=4.5,
                    capsize=2.5,
                    linestyle="none",
                )
                if results is cell:
                    (kept if (found.low or 0.0) >= 0.9 * share else lost).append(label)
        axes.axvline(share, color=INK, linewidth=1)
        axes.text(share, -1.0, " max-min fair", fontsize=8.5, ha="right")
        for text, colour, marker in (
            ("beside 5 Mbit/s, 802.11g cell", BLUE, "o"),
            ("beside 5 Mbit/s, wired", RED, "s"),
            ("without it, 802.11g cell", MUTED, "|"),
        ):
            axes.plot([], [], color=colour, marker=marker, linestyle="none", label=text)
        axes.set_yticks(range(len(SCHEMES)), list(SCHEMES))
        axes.invert_yaxis()
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
        index = jain.loc[(label, "jain_index")]
        own = results.runs[results.runs["scheme"] == label]
        rows.append(
            [
                label,
                shown(tcp(results, label)),
                f"{index['mean']:.3f} ± {(index['high'] - index['low']) / 2:.3f}",
                shown(of_group(results, label, "attacker", "goodput_bit_s"), 1e-6),
                shown(of_group(results, label, "udp", "loss_ratio", "mean"), 100.0, 1),
                shown(own["sojourn_ms_mean"], digits=1),
                shown(own["sojourn_ms_p99"], digits=0),
                state,
                cost_ns(text.split()[0]) or "not measured",
            ]
        )
    head = ["scheme", "TCP (Mbit/s)", "Jain, TCP", "attacker (Mbit/s)", "loss of the others' UDP (%)"]
    return table([*head, "delay (ms)", "delay, p99 (ms)", "state", "ns a packet above drop tail"], rows)


def rates_table(cell: dict[str, sj.Results], wire: dict[str, sj.Results]) -> str:
    """TCP's goodput beside each attack, in the cell and on wires."""
    rows = [
        [label, *(shown(tcp(results[attack], label)) for results in (cell, wire) for attack in ATTACKS)]
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
        for label in chosen:
            air = results.stations
            air = air[(air["scheme"] == label) & (air["cell"] == "near")]
            shares = air.groupby("replication")["air_time_share"].sum()
            own = air[air["node"] == "attacker"].set_index("replication")
            own_cells = ["none"] * 3
            if attack != "none":
                through = (own["attempts"] - own["collisions"]) * 8000 / float(results.runs["measured_s"].iloc[0])
                own_cells = [
                    shown(through, 1e-6),
                    shown(of_group(results, label, "attacker", "goodput_bit_s"), 1e-6),
                    shown(own["air_time_share"], 100.0, 1),
                ]
            rows.append([profile, attack, label, *own_cells, shown(shares, 100.0, 1), shown(tcp(results, label))])
    head = ["cell", "attack", "at the wire", "attacker, through the cell (Mbit/s)", "through the wire (Mbit/s)"]
    return table([*head, "its air time (%)", "air time of all (%)", "TCP (Mbit/s)"], rows)


def measures() -> str:
    """What each measure is."""
    rows = [[f"`{m.name}`", m.definition, "" if m.fair is None else f"{m.fair:g}"] for m in fairness.MEASURES]
    return table(["measure", "what it is", "when fair"], rows)


def mixed() -> str:
    """Three round-trip times and an unresponsive flow: every measure; short transfers in runs of their own."""
    names = ("near", "middle", "far")
    reno = {"kind": "tcp", "congestion_control": "reno", "mss": "1000 B"}
    short = {
        "name": "short",
        "from": "middle",
        "to": "right",
        "start": {"uniform": ["20 s", "60 s"]},
        "transport": reno,
        "traffic": {"kind": "transfer", "size": "200 kB"},
    }
    document: dict[str, Any] = {
        "name": "mixed",
        "duration": "80 s",
        "warm_up": "20 s",
        "nodes": [{"name": name, "count": 3} for name in names],
        "links": [
            {"name": "wire", "from": "left", "to": "right", "rate": "10 Mbit/s", "delay": "5 ms", "under_test": True},
            *(
                {"name": name, "from": name, "to": "left", "rate": "1 Gbit/s", "delay": delay}
                for name, delay in zip(names, ("5 ms", "20 ms", "80 ms"), strict=True)
            ),
        ],
        "flows": [
            *(
                {
                    "name": name,
                    "from": name,
                    "to": "right",
                    "start": {"uniform": ["0 s", "15 s"]},
                    "transport": reno,
                    "traffic": {"kind": "bulk"},
                }
                for name in names
            ),
            {
                "name": "udp",
                "from": "near0",
                "to": "right",
                "transport": {"kind": "udp", "header": "28 B"},
                "traffic": {"kind": "cbr", "rate": "2 Mbit/s", "packet_size": "1000 B"},
            },
        ],
    }
    schemes = {label: TEXTS[label] for label in ("drop tail", "RED", "CoDel", "SFB", "FQ-CoDel", "FQ-AVQ")}
    index = ["scheme", "measure"]
    found = compare(document, schemes, 2 * REPLICATIONS).fairness("tcp").set_index(index)
    document["flows"].append(short)
    beside = compare(document, schemes, 2 * REPLICATIONS).fairness("tcp").set_index(index)
    rows = []
    for label in schemes:
        cells = [label]
        for measure in fairness.MEASURES:
            each = (beside if measure.name == "short_over_long" else found).loc[(label, measure.name)]
            cells.append(f"{each['mean']:.2f} ± {(each['high'] - each['low']) / 2:.2f}")
        rows.append(cells)
    return table(["scheme", *(f"`{measure.name}`" for measure in fairness.MEASURES)], rows)


def windows() -> str:
    """Jain's index over all flows in windows of 10 s, the attack starting a second before one."""
    document = study("5 Mbit/s")
    document["flows"][-1]["start"] = "59 s"
    document["series"] = {"interval": "1 s", "flows": True}
    schemes = {label: TEXTS[label] for label in ("drop tail", "SFB", "CHOKe", "FQ-CoDel")}
    network = sj.Network.from_dict(document)
    results = sj.compare(network, schemes, replicates=REPLICATIONS, seed=1)
    found = results.fairness_over_time(sj.s(10))
    found = found[(found["measure"] == "jain_index") & (found["from_s"] >= 30)]
    rows = []
    for label in schemes:
        own = found[found["scheme"] == label]
        rows.append([label, *(f"{mean:.2f} ± {half:.2f}" for mean, half in _halves(own))])
    spans = found[found["scheme"] == "drop tail"]
    return table(["scheme", *(f"{a:g}-{b:g} s" for a, b in zip(spans["from_s"], spans["to_s"], strict=True))], rows)


def _halves(frame: pd.DataFrame) -> list[tuple[float, float]]:
    """Means with half widths."""
    return [(float(mean), float(high - low) / 2) for mean, low, high in frame[["mean", "low", "high"]].to_numpy()]


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
        for label in results.labels:
            own = results.runs[results.runs["scheme"] == label]
            air = results.stations
            air = air[(air["scheme"] == label) & (air["node"].str.startswith("slow"))]
            rows.append(
                [
                    f"{15 - slow} at 54 Mbit/s" + (f", {slow} at 6 Mbit/s" if slow else ""),
                    label,
                    shown(of_group(results, label, "tcp", "goodput_bit_s", "mean"), 1e-6, 3),
                    shown(of_group(results, label, "slow", "goodput_bit_s", "mean"), 1e-6, 3) if slow else "none",
                    shown(air.groupby("replication")["air_time_share"].sum(), 100.0, 1) if slow else "none",
                    shown(own["utilisation"], 100.0, 1),
                ]
            )
    head = ["TCP stations", "at the wire", "a fast one (Mbit/s)", "a slow one (Mbit/s)"]
    return table([*head, "air time of the slow (%)", "use of the wire (%)"], rows)


def both_ways(scheme: str, window: str, buffer: str) -> sj.Results:
    """Five uploads and five downloads between a server and a cell; the access point's queue is under test."""
    flow = {
        "start": {"uniform": ["0 s", "1 s"]},
        "transport": {"kind": "tcp", "congestion_control": "reno", "mss": "1000 B", "window_limit": window},
        "traffic": {"kind": "bulk"},
    }
    document = {
        "name": "both ways",
        "duration": "100 s",
        "warm_up": "20 s",
        "nodes": [{"name": name, "count": 5} for name in ("up", "down")],
        "cells": [
            {
                "name": "wlan",
                "access_point": "ap",
                "stations": ["up", "down"],
                "queue": "pfifo limit 50p",
                "access_point_queue": buffer,
                "access_point_under_test": True,
            }
        ],
        "links": [{"name": "wire", "from": "ap", "to": "server", "rate": "1 Gbit/s", "delay": "5 ms"}],
        "flows": [
            {"name": "up", "from": "up", "to": "server", **flow},
            {"name": "down", "from": "server", "to": "down", **flow},
        ],
    }
    return compare(document, {scheme: scheme})


def directions() -> tuple[str, str]:
    """Uplink against downlink under schemes; and under windows set from the access point's buffer."""
    head = [
        "uploads (Mbit/s)",
        "downloads (Mbit/s)",
        "down over up",
        "loss at the access point (%)",
        "delay there (ms)",
    ]

    def row(scheme: str, window: str) -> list[str]:
        results = both_ways(scheme, window, scheme)
        label = results.labels[0]
        up, down = (of_group(results, label, group, "goodput_bit_s") for group in ("up", "down"))
        return [
            shown(up, 1e-6),
            shown(down, 1e-6),
            shown(down / up),
            shown(results.runs["loss_ratio"], 100.0, 1),
            shown(results.runs["sojourn_ms_mean"], digits=1),
        ]

    schemes = ("pfifo limit 50p", "codel limit 50p", "fq_codel limit 50p", "fq_codel", "drr limit 1000p")
    first = [[f"`{scheme}`", *row(scheme, "64 p")] for scheme in schemes]
    second = [
        [str(buffer), str(window), *row(f"pfifo limit {buffer}p", f"{window} p")]
        for buffer in (20, 50, 100)
        for window in (64, buffer // 10)
    ]
    return table(["access point's queue", *head], first), table(["buffer (packets)", "window", *head], second)


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
    pages.write("concepts/protection.md", NOTE, values)


if __name__ == "__main__":
    main()
