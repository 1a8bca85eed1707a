"""ns-3's dumbbell: NewReno through one bottleneck, as crosscheck/ns3/dumbbell.cc runs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from crosscheck import records
from crosscheck.compare import Metric, Point, of_run, theirs
from sojourn.base.core import Document

RECORD: Final = "ns3_dumbbell.csv"

# CoDel's spacing is computed as ns-3 computes it, the thresholds of RED are shares of its limit.
SCHEMES: Final = {
    "pfifo": "pfifo limit {limit}p",
    "red": "red preset ns3 min {min}p max {max}p limit {limit}p max_p 0.02 gentle avpkt 1500B",
    "pie": "pie preset ns3 limit 1000p",
    "codel": "codel limit 1000p control_law newton mtu 1499",
    "fqcodel": "fq_codel noecn limit 10240p control_law newton mtu 1499 quantum 1502",
    "cobalt": "cobalt preset ns3 limit 1000p",
}

_BISTABLE: Final = (
    "ns-3 gives two different results here. With three seeds its mean queue is 6.9, 4.8 and 6.9 packets and its "
    "utilisation 0.994, 0.892 and 0.994"
)


METRICS: Final = (
    Metric("util", "utilisation", "", 4, of_run("utilisation"), absolute=0.01),
    Metric("qlen_mean", "mean queue", "packets", 2, of_run("queue_packets_mean"), relative=0.10, absolute=1.0),
    Metric("loss", "loss ratio", "", 5, of_run("loss_ratio"), relative=0.15, counts_drops=True),
)


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points, with what ns-3 measured."""
    grouped = records.grouped(
        RECORD,
        rows,
        lambda row: (int(row["n"]), int(row["mbps"]), int(row["rtt_ms"]), row["qd"], int(row["limit"])),
    )
    return [_point(*key, group) for key, group in grouped.items()]


def _point(flows: int, mbit_s: int, rtt_ms: int, kind: str, limit: int, group: list[Mapping[str, str]]) -> Point:
    scheme = SCHEMES[kind].format(limit=limit, min=limit // 4, max=limit * 3 // 4)
    return Point(
        name=f"{kind}, {flows} flow{'s' * (flows > 1)}, {mbit_s} Mbit/s, {rtt_ms} ms",
        scenario=dumbbell(flows, mbit_s, rtt_ms),
        scheme=scheme,
        theirs={
            metric.key: theirs(
                [float(row[metric.key]) for row in group],
                sum(map(_drops, group)) if metric.counts_drops else None,
            )
            for metric in METRICS
        },
        metrics=METRICS,
        is_quick=flows in {1, 20} and kind in {"pfifo", "red", "codel"},
        no_reference=_BISTABLE if (kind, flows, mbit_s, rtt_ms) == ("fqcodel", 5, 10, 20) else None,
        recipe={"program": "dumbbell", "flows": flows, "mbit": mbit_s, "rtt": rtt_ms, "queue": kind, "limit": limit},
    )


def _drops(row: Mapping[str, str]) -> float:
    """Return about how many packets ns-3 dropped in its 48 s, from the share that it lost of what arrived."""
    delivered = float(row["goodput_mbps"]) * 1e6 / 8 / 1448 * 48
    loss = float(row["loss"])
    return delivered * loss / (1 - loss)


def dumbbell(flows: int, mbit_s: int, rtt_ms: int) -> Document:
    """Return our form of ns-3's dumbbell, with ns-3's TCP."""
    access = {"rate": "1 Gbit/s", "delay": f"{rtt_ms * 125} us", "overhead": "2 B"}
    # ns-3's own loss recovery, timer and receiver.
    own = {"recovery": "ns3", "rto": "ns3", "min_rto": "1 s", "initial_rto": "3 s", "quick_acks": "1 p"}
    host = {"delayed_ack": "200 ms", "receive_buffer": "8 MiB", "send_buffer": "8 MiB", "write_at_once": True}
    transport = {"kind": "tcp", "congestion_control": "newreno", "mss": "1448 B", **own, **host}
    start = {"uniform": ["0 s", "1 s"]}
    # ns-3's devices have a queue of their own, here of one packet, the shortest there is.
    middle = {"rate": f"{mbit_s} Mbit/s", "delay": f"{rtt_ms * 250} us", "overhead": "2 B", "device_queue": "1 p"}
    return {
        "name": "crosscheck-ns3",
        "duration": "60 s",
        "warm_up": "12 s",
        "nodes": [{"name": "sender", "count": flows}, {"name": "sink", "count": flows}],
        "links": [
            {"name": "bottleneck", "from": "left", "to": "right", "under_test": True, **middle},
            {"name": "access", "from": "sender", "to": "left", **access},
            {"name": "leaf", "from": "right", "to": "sink", **access},
        ],
        "flows": [{"name": "bulk", "from": "sender", "to": "sink", "start": start, "transport": transport}],
    }
