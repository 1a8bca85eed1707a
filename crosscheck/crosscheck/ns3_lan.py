"""ns-3's LAN: a hundred clients upload to five servers over one shared bus, as crosscheck/ns3/lan.cc runs it."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Mapping
from typing import Final

from crosscheck import records
from crosscheck.compare import Metric, Point, Run, Value, measured, of_run
from sojourn.base.core import Document
from sojourn.model.network import bundled_scenarios
from sojourn.results import headline

RECORD: Final = "ns3_lan.csv"

# Table 2 of the study as papers/daqm/schemes.toml has it. CoDel's spacing is computed as ns-3 computes it.
SCHEMES: Final = {
    "red": "red preset shu2023 limit 2000p",
    "pie": "pie preset shu2023 limit 2000p",
    "codel": "codel limit 2000p control_law newton mtu 1499",
    "fqcodel": "fq_codel noecn limit 2000p flows 1024 control_law newton mtu 1499 quantum 1500",
    "cobalt": "cobalt preset shu2023 limit 2000p",
}

FLOWS: Final = {"http": ("1.5 Mbit/s", "10 s"), "ftp": ("10 Mbit/s", "60 s")}


def _waiting(run: Run) -> dict[str, float]:
    return {queue["name"]: float(queue["metrics"]["queue_packets_mean"]) for queue in run.measured["queues"]}


def _busiest(run: Run) -> float:
    return max(mean for name, mean in _waiting(run).items() if name != headline.ALL)


def _metric(key: str, title: str, unit: str, digits: int, ours: Value) -> Metric:
    # Standard errors and tolerance were fixed before the two sides were compared.
    return Metric(key, f"LAN: {title}", unit, digits, ours, relative=0.15, errors=2.0)


METRICS: Final = (
    _metric("delay_ms", "one-way delay", "ms", 1, of_run("one_way_delay_ms_mean")),
    _metric("throughput_kbps", "throughput", "kbit/s", 0, of_run("throughput_bit_s", 1e-3)),
    _metric("qlen_all", "mean queue, all stations", "packets", 2, lambda run: _waiting(run)[headline.ALL]),
    _metric("qlen_busiest", "mean queue, busiest", "packets", 2, _busiest),
)


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points, with what ns-3 measured."""
    grouped = records.grouped(RECORD, rows, lambda row: (row["flow"], row["qd"], int(row["device"])))
    return [
        Point(
            name=f"LAN, {flow}, {kind}, device queue {device}",
            scenario=lan(flow, device),
            scheme=SCHEMES[kind],
            theirs=measured(METRICS, group),
            metrics=METRICS,
            is_quick=flow == "http" and kind in {"red", "codel"},
            recipe={"program": "lan", "flow": flow, "queue": kind, "device": device},
        )
        for (flow, kind, device), group in grouped.items()
    ]


def lan(flow: str, device: int) -> Document:
    """Return the bundled LAN with ns-3's TCP."""
    rate, duration = FLOWS[flow]
    document: Document = copy.deepcopy(tomllib.loads(bundled_scenarios()["lan"]))
    document.update(name="crosscheck-ns3-lan", duration=duration, pooled=True)
    bus, group = document["buses"][0], document["flows"][0]
    # ns-3's queue discs count bytes of IP; 18 B at 2 Gbit/s are 72 ns of a frame's millisecond.
    bus.update(overhead="0 B", device_queue=f"{device} p")
    group["transport"].update(
        congestion_control="ns3_cubic", recovery="ns3", quick_acks="1 p", rto="ns3", initial_rto="3 s"
    )
    group["traffic"]["rate"] = rate
    return document
