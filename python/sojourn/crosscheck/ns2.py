"""ns-2's fairness study: 15 TCP and 5 constant bit rate flows, as crosscheck/ns2/fairness.tcl runs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from sojourn import stats
from sojourn.base.core import Document
from sojourn.crosscheck import records
from sojourn.crosscheck.compare import Metric, Point, Run, Theirs

RECORD: Final = "ns2_fairness.csv"

# ns-2's DropTail drops where the packet would be the 100th to wait.
SCHEMES: Final = {
    "DropTail": "pfifo limit 99p",
    "RED": "red limit 100p min 20p max 80p max_p 0.1 w 0.002 avpkt 1000B wait",
    "REDdefault": "red limit 50000B min 10000B max 40000B max_p 0.1 w 0.002 avpkt 500B bytemode wait",
    "REM": "rem limit 100p",
    "AVQ": "avq limit 100p",
    "AVQpkt": "avq limit 100p unit packets",
    "AVQa080": "avq limit 100p alpha 0.8",
    "CoDelX": "codel limit 100p",
}

_PHASE: Final = (
    "phase effects. Once the flows run, nothing is random on either side. Differences of microseconds in links and "
    "clocks then decide whose packets find the queue full, and the discipline does not. The rows ending in "
    "`_nophase` have random times and are counted"
)


def _metric(name: str, run: Run) -> float:
    return float(run.measured["metrics"][name])


def _jain(run: Run) -> float:
    return stats.jain(
        [
            float(flow["metrics"]["goodput_bit_s"] or 0.0)
            for flow in run.measured["flows"]
            if flow["group"] in {"tcp", "udp"}
        ]
    )


METRICS: Final = (
    Metric("qmean", "mean queue", "packets", 2, lambda run: _metric("queue_packets_mean", run), relative=0.10),
    Metric(
        "drops_per_s",
        "drops",
        "packets/s",
        2,
        lambda run: _metric("drops_packets", run) / float(run.measured["measured_s"]),
        relative=0.10,
        counts_drops=True,
    ),
    Metric("jain_all", "Jain's index", "", 4, _jain, absolute=0.005),
)


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points, with what ns-2 measured.

    Parameters
    ----------
    rows
        A row for each scheme with means and standard deviations over seeds; by default the recorded ones.
    """
    return [_point(row) for row in (records.table(RECORD) if rows is None else rows)]


def _point(row: Mapping[str, str]) -> Point:
    label = row["scheme"]
    base = label.removesuffix("_nophase")
    is_random = base != label
    return Point(
        name=label,
        scenario=fairness(is_random=is_random),
        scheme=SCHEMES[base],
        theirs=theirs(row, METRICS),
        metrics=METRICS,
        is_quick=is_random and base in {"DropTail", "RED", "CoDelX"},
        no_reference=None if is_random else _PHASE,
        recipe={"program": "fairness.tcl", "words": [base, int(is_random)]},
    )


def theirs(row: Mapping[str, str], metrics: Sequence[Metric]) -> dict[str, Theirs]:
    """Return what ns-2 measured, from means and standard deviations over seeds."""
    runs = int(row["seeds"])
    return {
        metric.key: Theirs(
            float(row[f"{metric.key}_mean"]),
            runs,
            float(row[f"{metric.key}_sd"]),
            # A rate over 80 s.
            drops=float(row["drops_per_s_mean"]) * 80 * runs if metric.counts_drops else None,
        )
        for metric in metrics
    }


def summary(label: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return a row as recorded, from the program's runs of one scheme with several seeds."""
    row = {"scheme": label, "seeds": str(len(runs))}
    for metric in METRICS:
        values = np.array([float(run[metric.key]) for run in runs])
        row[f"{metric.key}_mean"] = repr(float(values.mean()))
        row[f"{metric.key}_sd"] = repr(float(values.std(ddof=1)))
    return row


def fairness(*, is_random: bool) -> Document:
    """Return our form of the study's network and traffic.

    Parameters
    ----------
    is_random
        Whether packets are late by a random time of the order of a packet's transmission at the bottleneck (0.84 ms).
        In ns-2 TCP's sending overhead and the randomised CBR do it; here it is Poisson traffic of long packets that
        shares the access links and does not reach the bottleneck: a wait of 0.4 ms in the mean.
    """
    traffic: list[dict[str, Any]] = []
    if is_random:
        traffic = [
            {
                "name": f"noise-{group}",
                "from": group,
                "to": "left",
                "transport": {"kind": "udp", "header": "0 B"},
                "traffic": {"kind": "poisson", "rate": "50 Mbit/s", "packet_size": "10000 B"},
            }
            for group in ("tcp", "udp")
        ]
    return {
        "name": "crosscheck-ns2",
        "duration": "100 s",
        "warm_up": "20 s",
        "nodes": [{"name": "tcp", "count": 15}, {"name": "udp", "count": 5}],
        "links": [
            {
                "name": "bottleneck",
                "from": "left",
                "to": "right",
                "rate": "10 Mbit/s",
                "delay": "20 ms",
                "under_test": True,
            },
            *(
                {"name": f"access-{here}", "from": here, "to": there, "rate": "100 Mbit/s", "delay": "2 ms"}
                for here, there in (("tcp", "left"), ("udp", "left"), ("right", "sink"))
            ),
        ],
        "flows": [
            {
                "name": "tcp",
                "from": "tcp",
                "to": "sink",
                "start": {"uniform": ["0 s", "1 s"]},
                "transport": {
                    "kind": "tcp",
                    "congestion_control": "ns2_reno",
                    "recovery": "reno",
                    "mss": "1000 B",
                    "timestamps": False,
                    "ack_every": "1 p",
                    "window_limit": "100 p",
                    "initial_window": "1 p",
                    "rto": "rfc",
                    "prr": False,
                    # One-way agents: neither SYN nor FIN.
                    "handshake": False,
                },
                "traffic": {"kind": "bulk"},
            },
            {
                "name": "udp",
                "from": "udp",
                "to": "sink",
                "start": {"uniform": ["0 s", "1 s"]},
                "transport": {"kind": "udp", "header": "0 B"},
                "traffic": {"kind": "cbr", "rate": "180 kbit/s", "packet_size": "1000 B"},
            },
            *traffic,
        ],
    }
