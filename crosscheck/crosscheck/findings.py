"""Findings of the atlas on Linux: what one would not have guessed, with the schemes of Linux that it is about.

The machine is crosscheck/linux/guest/point.sh. Our side has the networks of the atlas, with less time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from crosscheck import linux, records
from crosscheck.compare import Metric, Point, Value, of_group, theirs
from sojourn.base.core import Document
from sojourn.studies.characterize.networks import Setting
from sojourn.studies.characterize.suite import SUITE

RECORD: Final = "linux_atlas.csv"
GROUP: Final = "atlas"

TRANSFER_BYTES: Final = 50 * 1448
"""Of the RFC's section 5.1.2 in the suite."""
TRANSFER_EVERY_S: Final = 2
_REPLICATIONS: Final = 20
"""A transfer is one value of a run."""
_SETTING: Final = Setting()
_LIMIT: Final = _SETTING.buffer()
#: As tc and as we write them. PIE's timer counts ticks of 4 ms, and one more.
SCHEMES: Final = {
    "pfifo": (f"pfifo limit {_LIMIT}", f"pfifo limit {_LIMIT}p"),
    "codel": (f"codel limit {_LIMIT}", f"codel preset linux-6.1 limit {_LIMIT}p"),
    "pie": (f"pie limit {_LIMIT}", f"pie preset linux-6.1 limit {_LIMIT}p tupdate 20ms"),
    "fq_pie": (f"fq_pie limit {_LIMIT}", f"fq_pie preset linux-6.1 limit {_LIMIT}p tupdate 20ms"),
    "fq_codel": (f"fq_codel limit {_LIMIT}", f"fq_codel preset linux-6.1 limit {_LIMIT}p"),
    "cake": ("cake unlimited besteffort", "cake besteffort"),
    "sfq": (f"sfq limit {_LIMIT}", f"sfq limit {_LIMIT}p"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Parameters
    ----------
    schemes
        Of :data:`SCHEMES`; the finding is that the first has the larger value.
    groups
        Of flows on Linux: congestion control, number, and more words for iperf3.
    """

    name: str
    text: str
    section: str
    sets: Mapping[str, Any]
    schemes: tuple[str, str]
    groups: tuple[tuple[str, int, str], ...]
    title: str
    unit: str
    digits: int
    ours: Value
    warm_up_s: int = 8
    measured_s: int = 16


FINDINGS: Final = (
    Finding(
        "fq_pie", "Under medium congestion, FQ-PIE has a longer queueing delay than PIE.", "8.2.2",
        {"nodes.bulk.count": 27}, ("fq_pie", "pie"), (("reno", 27, ""),),
        "smoothed RTT above the base RTT", "ms", 1, linux.rtt_delay(_SETTING.rtt_ms),
        warm_up_s=10, measured_s=30,
    ),
    Finding(
        "transfer", "A transfer of 50 segments beside a long flow takes longer through CAKE than through FQ-CoDel.",
        "5.1.2",
        # Linux has a transfer every 2 s; ours begins at any instant of that time.
        {"flows.short.transport.initial_window": "10 p", "flows.short.start": {"uniform": ["9 s", "22 s"]}},
        ("cake", "fq_codel"), (("reno", 1, ""),),
        "completion of the transfer", "s", 2, of_group("short", "flow_completion_s_mean"),
    ),
    Finding(
        "flood", "Beside UDP at three quarters of the capacity, SFQ leaves TCP more than FQ-CoDel does.", "5.3b",
        {}, ("sfq", "fq_codel"), (("reno", 1, ""), ("udp", 1, "-u -b 14.72M -l 1472")),
        "goodput of TCP", "Mbit/s", 2, of_group("tcp", "goodput_bit_s", 1e-6),
    ),
    Finding(
        "flood_codel", "Beside UDP at three quarters of the capacity, tail drop leaves TCP more than CoDel does.",
        "5.3b", {}, ("pfifo", "codel"), (("reno", 1, ""), ("udp", 1, "-u -b 14.72M -l 1472")),
        "goodput of TCP", "Mbit/s", 2, of_group("tcp", "goodput_bit_s", 1e-6),
    ),
)  # fmt: skip


def scenario(finding: Finding) -> Document:
    """Return the atlas's network, with the times of the machine."""
    (own,) = [one for one in SUITE if one.section == finding.section]
    document: Document = own.build(_SETTING, float(finding.warm_up_s))
    # The flows' smoothed RTTs, at the intervals at which iperf3 reports them.
    document["series"] = {"interval": linux.RTT_SAMPLES, "flows": True}
    document["duration"] = f"{finding.warm_up_s + finding.measured_s} s"
    for key, value in finding.sets.items():
        kind, name, *path = key.split(".")
        (table,) = [one for one in document[kind] if one["name"] == name]
        for part in path[:-1]:
            table = table[part]
        table[path[-1]] = value
    return document


def metric(finding: Finding) -> Metric:
    """Return what is compared, within 20 %."""
    return Metric("value", finding.title, finding.unit, finding.digits, finding.ours, relative=0.2)


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return a point for each finding and scheme that has recordings."""
    grouped = records.grouped(RECORD, rows, lambda row: (row["finding"], row["scheme"]))
    found = []
    for finding in FINDINGS:
        for scheme in finding.schemes:
            own = grouped.get((finding.name, scheme))
            if own:
                found.append(
                    Point(
                        name=f"{finding.name}, {scheme}",
                        scenario=scenario(finding),
                        scheme=SCHEMES[scheme][1],
                        theirs={"value": theirs([float(row["value"]) for row in own])},
                        metrics=(metric(finding),),
                        group=GROUP,
                        series=linux.RTT_SAMPLES,
                        replications=_REPLICATIONS if finding.name == "transfer" else None,
                    )
                )
    return found
