"""ns-3's network of six routers and eight routes, as crosscheck/ns3/network.cc runs it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Final

from crosscheck import records
from crosscheck.compare import Metric, Point, Run, Value, measured
from sojourn.base.core import Document

RECORD: Final = "ns3_network.csv"

ROUTERS: Final = ("R1", "R2", "R3", "R4", "R5", "R6")

SEEDS: Final = 10
"""Of ns-3 at the least: means of 40 s of R6's queue differ by an eighth between seeds.

Five a side would leave a standard error of 8 %, half the tolerance (drop tail at 10 ms: +17 % with the first five,
+10 % with all).
"""

_REPLICATIONS: Final = 20
"""Number of our seeds, which take a hundredth of ns-3's time."""

_SCENARIO: Final = records.HERE.parent / "papers" / "threshold" / "six_routers.toml"


def _queue(router: str, metric: str) -> Value:
    def value(run: Run) -> float:
        queues = {str(queue["name"]): queue["metrics"] for queue in run.measured["queues"]}
        return float(queues[f"{router}->{router}x"][metric])

    return value


METRICS: Final = (
    *(
        Metric(f"util_{router}", f"network: utilisation of {router}", "", 4, _queue(router, "utilisation"),
               absolute=0.02, errors=0.0)
        for router in ROUTERS
    ),
    Metric("qlen_R6", "network: mean queue of R6", "packets", 2, _queue("R6", "queue_packets_mean"),
           relative=0.15, absolute=1.0, errors=0.0),
)  # fmt: skip


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points, with what ns-3 measured; over the network of papers/threshold."""
    grouped = records.grouped(
        RECORD, rows, lambda row: (int(float(row["rtt_ms"])), int(row["threshold"]), row["seconds"], row["warm_up"])
    )
    return [
        Point(
            name=f"network, {f'threshold {threshold}' if threshold else 'drop tail'}, {rtt_ms} ms",
            scenario=network(rtt_ms, seconds, warm_up),
            scheme=f"threshold q_th {threshold}p" if threshold else "pfifo limit 1250p",
            theirs=measured(METRICS, group),
            metrics=METRICS,
            no_reference=None if len(group) >= SEEDS else f"recorded with {len(group)} seeds of {SEEDS} so far",
            recipe={"program": "network", "rtt": rtt_ms, "threshold": threshold}
            | {"seconds": seconds, "warm-up": warm_up},
            replications=_REPLICATIONS,
        )
        for (rtt_ms, threshold, seconds, warm_up), group in grouped.items()
    ]


def network(rtt_ms: int, seconds: str, warm_up: str) -> Document:
    """Return the paper's network with ns-3's TCP, framing and device queues."""
    document: Document = tomllib.loads(_SCENARIO.read_text(encoding="utf-8"))
    document.update(name="crosscheck-ns3-network", duration=f"{seconds} s", warm_up=f"{warm_up} s")
    for link in document["links"]:
        link["overhead"] = "2 B"
        if link["name"] in ROUTERS:
            link["device_queue"] = "1 p"
        elif link["name"].startswith("s"):
            # Half of the base RTT, of which 5 ms are behind R1.
            link["delay"] = f"{500 * rtt_ms - 5000} us"
    for group in document["flows"]:
        group["transport"].update(
            congestion_control="ns3_reno",
            # `BulkSendApplication` writes 512 B at a time, and the buffer of 131072 B is what bounds many flows: one
            # in fourteen packets of R6 is short.
            write_size="512 B",
            # ns-3's receiver does not offer less for what waits above a hole: only the send buffer bounds a flow.
            receive_buffer="256 KiB",
            recovery="ns3",
            quick_acks="1 p",
            rto="ns3",
            initial_rto="3 s",
        )
    return document
