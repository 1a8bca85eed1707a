"""Writes the pages that show the library at work, with the numbers of their runs in them.

``docs/comparisons.py`` runs all of them: about a minute on two cores. The runs depend on the seed alone, so the pages
change only when the library does. ``docs/comparisons.py l4s`` makes one page.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

import pandas as pd
from pages import DOCS, IMAGES, Column, Pages, Side, measured, shown, sides, write_named

import sojourn as sj
from sojourn import _native
from sojourn.results.metrics import quantity
from sojourn.stats import Floats
from sojourn.stats.front import LIMITS, Criterion, fifo, standings

REPLICATIONS = 10
TAIL = "sojourn_ms_p99"
PRAGUE = "flows.l4s.transport.congestion_control=prague"
CLASSIC_ECN = "flows.classic.transport.ecn=true"
Value = Callable[[Side], "pd.Series[float]"]


def compared(scenario: str, schemes: list[str], *sets: str) -> sj.Results:
    """Schemes on a scenario of docs, or a bundled one, with changes."""
    own = DOCS / f"{scenario}.toml"
    net = sj.load(own if own.is_file() else scenario, sets=sets)
    return sj.compare(net, schemes, replicates=REPLICATIONS, seed=1)


def of(group: str, metric: str, less: float = 0.0) -> Value:
    """A metric of flows, of a delay beyond what an unloaded network takes."""
    return lambda side: side.of(group, metric) - less


def ratio(group: str, other: str) -> Value:
    """The goodput of a flow over that of another."""
    return lambda side: side.of(group, "goodput_bit_s") / side.of(other, "goodput_bit_s")


def all_schemes() -> dict[str, Any]:
    """Every registered scheme on the demo's dumbbell."""
    about = tomllib.loads((DOCS / "algorithms.toml").read_text(encoding="utf-8"))
    # Best first by queueing delay says nothing of goodput: the order is the registry's.
    schemes = {entry["name"]: about[entry["name"]]["example"] for entry in json.loads(_native.aqms())}
    results = compared("dumbbell", list(schemes.values()))
    picture = results.plot.delay_throughput()
    picture.savefig(IMAGES / "all-schemes.png", dpi=90, facecolor="white", metadata={"Software": None})
    columns: list[Column] = [
        ("queueing delay (ms)", "sojourn_ms_mean", 1, 1),
        ("delay, 99th percentile (ms)", "sojourn_ms_p99", 1, 1),
        ("queue (packets)", "queue_packets_mean", 1, 1),
        ("goodput (Mbit/s)", "goodput_bit_s", 1e-6, 2),
        ("loss (%)", "loss_ratio", 100, 2),
        ("burst ratio", "burst_ratio", 1, 2),
        ("fairness (Jain)", "jain_index", 1, 3),
    ]
    criteria = (Criterion("p99 delay", lower=True, of=quantity(TAIL)), Criterion("goodput", lower=False))
    front = compared("dumbbell", list(map(fifo, LIMITS)))

    def values(of: sj.Results, label: str) -> list[Floats]:
        return [of.values(label, metric) for metric in (TAIL, "goodput_bit_s")]

    places = standings(
        {label: values(results, label) for label in results.labels},
        {limit: values(front, label) for limit, label in zip(LIMITS, front.labels, strict=True)},
        criteria,
    )
    links = [[f"[`{name}`](../reference/algorithms/{name}.md)"] for name in schemes]
    rows = [([*link, str(places[side.label])], side) for link, (_, side) in zip(links, sides(results), strict=True)]
    texts = "".join(f"* `{text}`\n" for text in schemes.values())
    table = measured(["scheme", "beside tail drop"], rows, columns)
    return {"count": len(schemes), "table": table, "texts": texts, "description": results.scenario["description"]}


def l4s() -> dict[str, Any]:
    """DualPI2 with a scalable and a classic flow."""
    # 10 ms of propagation; 1500 bytes take 0.3 ms at 40 Mbit/s and 0.012 ms at each of two links of 1 Gbit/s.
    base_ms = 10 + 0.3 + 2 * 0.012
    results = compared("l4s", ["dualpi2", "dualpi2 preset linux-7.2", "pie", "fq_codel"])
    share = ratio("l4s", "classic")
    columns: list[Column] = [
        ("L4S queueing (ms)", of("l4s", "one_way_delay_ms_mean", base_ms), 1, 2),
        ("standard deviation (ms)", of("l4s", "one_way_delay_ms_sd"), 1, 2),
        ("classic queueing (ms)", of("classic", "one_way_delay_ms_mean", base_ms), 1, 1),
        ("L4S (Mbit/s)", of("l4s", "goodput_bit_s"), 1e-6, 2),
        ("classic (Mbit/s)", of("classic", "goodput_bit_s"), 1e-6, 2),
        ("L4S : classic", share, 1, 2),
        ("utilisation (%)", "utilisation", 100, 1),
    ]
    own, linux, *_ = (shown(share(side)) for _, side in sides(results))
    single, marking = single_queue()
    return {
        "description": results.scenario["description"],
        "table": measured(["scheme"], sides(results), columns),
        "base": f"{base_ms:.3f}",
        "own": own,
        "linux": linux,
        "queues": queues(),
        "single": single,
        "marking": marking,
        **voice(),
    }


def queues() -> str:
    """The two queues of DualPI2, measured apart."""
    columns: list[Column] = [
        ("L4S delay, mean (ms)", "l4s_sojourn_ms_mean", 1, 2),
        ("99 % (ms)", "l4s_sojourn_ms_p99", 1, 2),
        ("classic delay, mean (ms)", "classic_sojourn_ms_mean", 1, 1),
        ("99 % (ms)", "classic_sojourn_ms_p99", 1, 1),
        ("L4S marks (%)", "l4s_mark_ratio", 100, 2),
        ("classic signals (%)", "classic_signal_ratio", 100, 3),
        ("coupling", "coupling_ratio", 1, 2),
    ]
    schemes = ["dualpi2", "dualpi2 preset linux-7.2"]
    rows = sides(compared("l4s", schemes), "DCTCP") + sides(compared("l4s", schemes, PRAGUE), "Prague")
    return measured(["L4S sender", "scheme"], rows, columns)


def single_queue() -> tuple[str, str]:
    """What happens to L4S flows at a single queue that marks as RFC 3168 says; Prague's share under `codel ecn`."""
    cubic, refused = "flows.l4s.transport.congestion_control=cubic", "flows.l4s.transport.accecn_accept=false"
    schemes = ["dualpi2", "fq_codel", "codel", "codel ecn", "pie ecn", "red ecn"]
    rows = sides(compared("l4s", schemes, PRAGUE, CLASSIC_ECN), "Prague")
    marking = ["codel ecn", "pie ecn"]
    rows += sides(compared("l4s", marking, PRAGUE, refused, CLASSIC_ECN), "Prague, receiver without AccECN")
    rows += sides(compared("l4s", marking, cubic, "flows.l4s.transport.ect=0", CLASSIC_ECN), "CUBIC with ECN")
    share = ratio("l4s", "classic")
    columns: list[Column] = [
        ("first (Mbit/s)", of("l4s", "goodput_bit_s"), 1e-6, 1),
        ("classic (Mbit/s)", of("classic", "goodput_bit_s"), 1e-6, 1),
        ("first : classic", share, 1, 1),
        ("delay (ms)", "sojourn_ms_mean", 1, 1),
        ("marks (%)", "mark_ratio", 100, 2),
    ]
    return measured(["first flow", "scheme"], rows, columns), shown(share(rows[3][1]), 1)


def voice() -> dict[str, str]:
    """A call as non-queue-building traffic."""
    # 10 ms of propagation; 200 bytes take 0.04 ms at 40 Mbit/s and 0.0016 ms at each of two links of 1 Gbit/s.
    base_ms = 10 + 0.04 + 2 * 0.0016
    columns: list[Column] = [
        ("queueing, mean (ms)", of("voice", "one_way_delay_ms_mean", base_ms), 1, 2),
        ("99 % (ms)", of("voice", "one_way_delay_ms_p99", base_ms), 1, 2),
        ("loss (%)", of("voice", "loss_ratio"), 100, 2),
    ]
    rows = []
    for dscp in ("NQB", "CS0"):
        results = compared("nqb", ["dualpi2", "cake bandwidth 40mbit"], f"flows.voice.dscp={dscp}")
        rows += [([*label, f"`{dscp}`"], side) for label, side in sides(results)]
    return {"voice": measured(["scheme", "DSCP of the call"], rows, columns), "voice_base": f"{base_ms:.3f}"}


def cake() -> dict[str, Any]:
    """CAKE's isolation of hosts and of sparse flows."""
    schemes = ["cake bandwidth 50mbit", "cake bandwidth 50mbit flows", "fq_codel", "pfifo limit 200p"]
    results = compared("cake", schemes)
    # 10 ms of propagation; 200 bytes take 0.032 ms at 50 Mbit/s and 0.0016 ms at each of two links of 1 Gbit/s.
    base_ms = 10 + 0.032 + 2 * 0.0016
    columns: list[Column] = [
        ("host with 1 flow (Mbit/s)", of("one", "goodput_bit_s"), 1e-6, 2),
        ("host with 8 flows (Mbit/s)", of("eight", "goodput_bit_s"), 8e-6, 2),
        ("ratio", ratio("one", "eight"), 1 / 8, 3),
        ("sparse flow's queueing (ms)", of("sparse", "one_way_delay_ms_mean", base_ms), 1, 2),
        ("standard deviation (ms)", of("sparse", "one_way_delay_ms_sd"), 1, 2),
    ]
    table = measured(["scheme"], sides(results), columns)
    return {"table": table, "base": f"{base_ms:.3f}", "description": results.scenario["description"]}


PAGES: Pages = {
    "all-schemes": ("concepts/all-schemes.md", all_schemes),
    "l4s": ("concepts/l4s.md", l4s),
    "cake": ("concepts/cake.md", cake),
}


if __name__ == "__main__":
    write_named(PAGES)
