"""ns-2's fairness study: 15 TCP and 5 constant bit rate flows, as crosscheck/ns2/fairness.tcl runs them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from crosscheck import records
from crosscheck.compare import Metric, Point, Run, Theirs, of_run, rate_of
from sojourn import stats
from sojourn.base.core import Document

RECORD: Final = "ns2_fairness.csv"
_SCENARIO: Final = records.HERE.parent / "papers" / "fairness" / "wired.toml"

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


def _jain(run: Run) -> float:
    return stats.jain(
        [
            float(flow["metrics"]["goodput_bit_s"] or 0.0)
            for flow in run.measured["flows"]
            if flow["group"] in {"tcp", "udp"}
        ]
    )


METRICS: Final = (
    Metric("qmean", "mean queue", "packets", 2, of_run("queue_packets_mean"), relative=0.10),
    Metric("drops_per_s", "drops", "packets/s", 2, rate_of("drops_packets"), relative=0.10, counts_drops=True),
    Metric("jain_all", "Jain's index", "", 4, _jain, absolute=0.005),
)


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points, with what ns-2 measured."""
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
        recipe={"program": "fairness.tcl", "words": [base, int(is_random)], "row": {"scheme": label}},
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


def summary(point: Point, runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return a row as recorded, from the program's runs of one point with several seeds."""
    row = {**point.recipe["row"], "seeds": str(len(runs)), "program": point.recipe["program"]}
    for metric in point.metrics:
        values = np.array([float(run[metric.key]) for run in runs])
        row[f"{metric.key}_mean"] = repr(float(values.mean()))
        row[f"{metric.key}_sd"] = repr(float(values.std(ddof=1)))
    return row


def study(scenario: str, name: str, **tcp: Any) -> Document:
    """Return a scenario of the fairness study as ns-2 has it: its packets have no headers; with keys of TCP."""
    document: Document = {**tomllib.loads(scenario), "name": name}
    for flow in document["flows"]:
        flow["transport"].update({"header": "0 B"} if flow["name"] == "udp" else tcp)
    return document


def fairness(*, is_random: bool) -> Document:
    """Return our form of the study's network and traffic: that on wires of papers/fairness.

    Parameters
    ----------
    is_random
        Whether packets are late by a random time of the order of a packet's transmission at the bottleneck (0.84 ms).
        In ns-2 TCP's sending overhead and the randomised CBR do it; here it is Poisson traffic of long packets that
        shares the access links and does not reach the bottleneck: a wait of 0.4 ms in the mean.
    """
    document = study(_SCENARIO.read_text(encoding="utf-8"), "crosscheck-ns2", window_limit="100 p")
    noise = {"kind": "poisson", "rate": "50 Mbit/s", "packet_size": "10000 B"}
    udp = {"transport": {"kind": "udp", "header": "0 B"}, "traffic": noise}
    for group in ("tcp", "udp") if is_random else ():
        document["flows"].append({"name": f"noise-{group}", "from": group, "to": "left", **udp})
    return document
