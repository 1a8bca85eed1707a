"""The study of the page on schemes at an access point, as airtime.toml fixes it.

``docs/airtime.py`` prints the page's tables and draws its picture: some minutes of CPU time.
``docs/airtime.py 802.11n`` prints those of one profile.
"""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd
from pages import BLUE, RED, lines, protocol, save, shown, with_p
from protection import TEXTS

import sojourn as sj
from sojourn import stats
from sojourn.stats import Floats
from sojourn.view import charts
from sojourn.view.palette import INK
from sojourn.view.plot import WIDTH, new_figure

PROTOCOL = protocol("airtime")
BEST = "FQ-CoDel, air time"
FAST, SLOW, ATTACKER = "fast", "slow", "attacker"
SLOW_RATE = "6 Mbit/s"
STATIONS = 7


def cell(profile: str, condition: str, *, is_fair: bool = False, only: str | None = None) -> dict[str, Any]:
    """A condition's scenario; `only` leaves one TCP flow in the cell, to the station of that name."""
    counts = {FAST: 6, SLOW: 1} if only is None else {only: 1}
    names = [*counts, *([] if condition == "none" else [ATTACKER])]
    slow = [name for name in names if name == SLOW or (name == ATTACKER and condition == "slow")]
    cubic = {"transport": {"kind": "tcp", "congestion_control": "cubic"}, "traffic": {"kind": "bulk"}}
    bulk: dict[str, Any] = {"start": {"uniform": ["0 s", "1 s"]}, **cubic}
    flows = [{"name": f"tcp-{name}", "from": "server", "to": name, **bulk} for name in counts]
    udp = {"kind": "udp"}
    if only is None:
        call = {"kind": "cbr", "rate": PROTOCOL["call"], "packet_size": "160 B"}
        flows.append({"name": "call", "from": "server", "to": "fast0", "transport": udp, "traffic": call})
    if condition != "none":
        ends = (ATTACKER, "server") if condition == "upload" else ("server", ATTACKER)
        traffic = {"kind": "poisson", "rate": PROTOCOL["attack"], "packet_size": "1000 B"}
        flows.append({"name": "attack", "from": ends[0], "to": ends[1], "transport": udp, "traffic": traffic})
    table = {
        "name": "wlan",
        "access_point": "ap",
        "stations": names,
        "profile": profile,
        "queue": "pfifo limit 100p",
        "access_point_queue": "pfifo limit 100p",
        "access_point_under_test": True,
    }
    if slow:
        table["rates"] = dict.fromkeys(slow, SLOW_RATE)
    if is_fair:
        table["airtime_fairness"] = True
    return {
        "name": "access-point",
        "duration": PROTOCOL["duration"],
        "warm_up": PROTOCOL["warm_up"],
        "nodes": [{"name": name, "count": counts.get(name, 1)} for name in names],
        "cells": [table],
        "links": [{"name": "wire", "from": "server", "to": "ap", "rate": "1 Gbit/s", "delay": "10 ms"}],
        "flows": flows,
    }


def compared(document: dict[str, Any], schemes: dict[str, str]) -> sj.Results:
    """Schemes at the access point, on the same traffic."""
    network = sj.Network.from_dict(document)
    size = PROTOCOL["replications"]
    return sj.compare(network, schemes, replicates=size, seed=PROTOCOL["seed"], series=None)


def alone(profile: str) -> dict[str, float]:
    """What a station's TCP flow has alone in the cell, in bit/s."""
    found = {}
    for name in (FAST, SLOW):
        results = compared(cell(profile, "none", only=name), {"drop tail": TEXTS["drop tail"]})
        found[name] = float(results.flows["goodput_bit_s"].mean())
    return found


def measured(results: sj.Results, label: str, single: dict[str, float], stations: int) -> dict[str, Floats]:
    """The protocol's measures of one scheme, by replication."""
    flows = results.flows[results.flows["scheme"] == label]

    def of(group: str, metric: str) -> pd.DataFrame:
        own = flows[flows["group"] == group]
        return own.pivot_table(index="replication", columns="flow", values=metric, dropna=False)

    shares = [
        (of(f"tcp-{name}", "goodput_bit_s") / (single[name] / stations)).clip(upper=1.0) for name in (FAST, SLOW)
    ]
    total = flows.groupby("replication")["goodput_bit_s"].sum()
    return {
        "T": pd.concat(shares, axis=1).mean(axis=1).to_numpy(),
        "fast": of("tcp-fast", "goodput_bit_s").mean(axis=1).to_numpy() / 1e6,
        "slow": of("tcp-slow", "goodput_bit_s").mean(axis=1).to_numpy() / 1e6,
        "total": total.to_numpy() / 1e6,
        "call": of("call", "one_way_delay_ms_p99").mean(axis=1).to_numpy(),
        "loss": 100 * of("call", "loss_ratio").mean(axis=1).to_numpy(),
    }


def study(profile: str, condition: str, single: dict[str, float]) -> dict[str, dict[str, Floats]]:
    """Every scheme's measures in a condition."""
    stations = STATIONS + (condition != "none")
    found = {}
    for is_fair, schemes in ((False, TEXTS), (True, PROTOCOL["airtime"])):
        results = compared(cell(profile, condition, is_fair=is_fair), schemes)
        found |= {label: measured(results, label, single, stations) for label in schemes}
    return found


def tests(found: dict[str, dict[str, dict[str, Floats]]]) -> list[list[str]]:
    """T of the best known scheme minus that of each other, in each attack."""
    rows = []
    for condition in PROTOCOL["conditions"][1:]:
        ours = found[condition][BEST]["T"]
        for label, values in found[condition].items():
            if label != BEST:
                row = [condition, label, shown(ours - values["T"], 3)]
                rows.append((row, stats.paired_p(ours, values["T"])))
    return with_p(rows)


def picture(found: dict[str, dict[str, dict[str, Floats]]]) -> None:
    """Draw T of every scheme beside each attack."""
    labels = list(found["fast"])
    attacks = PROTOCOL["conditions"][1:]
    words = {"fast": "to a fast station", "slow": "to a slow station", "upload": "from a station"}
    with new_figure(WIDTH, 6.4) as figure:
        panels = figure.subplots(1, len(attacks), sharey=True)
        for axes, condition in zip(panels, attacks, strict=True):
            for place, label in enumerate(labels):
                of = stats.estimate(found[condition][label]["T"])
                color = RED if label in PROTOCOL["airtime"] else BLUE
                charts.interval(axes, of, place, color)
            axes.axvline(1, color=INK, linewidth=1)
            axes.set_xlim(0, 1.05)
            axes.set_title(f"20 Mbit/s {words[condition]}", fontsize=9)
            charts.names(axes, labels)
        panels[1].set_xlabel("T, share of the fair share of air that TCP stations have")
    save(figure, "airtime.png")


def main() -> None:
    """Runs the study."""
    for profile in sys.argv[1:] or PROTOCOL["profiles"]:
        single = alone(profile)
        print(profile, {name: f"{value / 1e6:.2f} Mbit/s" for name, value in single.items()}, flush=True)
        found = {condition: study(profile, condition, single) for condition in PROTOCOL["conditions"]}
        for condition, by_label in found.items():
            print(f"\n{profile}, {condition}")
            print(lines([[label, *map(shown, values.values())] for label, values in by_label.items()]))
        if profile == PROTOCOL["profiles"][0]:
            picture(found)
            print(lines(tests(found)))


if __name__ == "__main__":
    main()
