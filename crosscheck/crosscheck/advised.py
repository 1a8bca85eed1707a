"""Advice on Linux: the commands that `sojourn advise` prints, at the gateway of a household with the line's queues.

The machine is crosscheck/linux/guest/line.sh. Both sides have the same flows, base RTTs and queues of the line. The
household has downloads, uploads and a ping; the machine has no calls, games, pages or video.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from crosscheck import linux, records
from crosscheck.compare import Metric, Point, Run, Value, measured, of_group
from sojourn.studies.advise import search
from sojourn.studies.advise.household import PING, network
from sojourn.studies.advise.line import Line, Shaper

RECORD: Final = "linux_advice.csv"
GROUP: Final = "advice"

TODAY: Final = "today"
RECOMMENDED: Final = "recommended"
LINES: Final = ("netem", "htb")
"""What the machine has for the line. A packet that leaves netem has taken its own time, as on a cable; at htb it has
not, and the next one waits."""


@dataclass(frozen=True, slots=True)
class Household:
    """A line, and what `sojourn advise` recommended for it."""

    name: str
    line: Line
    shaper: Shaper
    others: Mapping[str, Shaper] = field(default_factory=dict)
    platform: str = "linux"

    def settings(self) -> dict[str, Shaper | None]:
        """Return the settings of the gateway that are compared."""
        return {RECOMMENDED: self.shaper, TODAY: None, **self.others}


def _line(down: float, up: float, technology: str) -> Line:
    return Line(down, up, technology, rtt_ms=(15.0, 120.0), needs=("bulk",))


HOUSEHOLDS: Final = (
    Household(
        "adsl", _line(16, 1, "adsl"), Shaper("cake besteffort", 14.4, 0.99),
        {"cake at 15.2": Shaper("cake besteffort", 15.2, 0.99)},
    ),
    Household(
        "vdsl", _line(50, 10, "vdsl"), Shaper("cake besteffort", 49.5, 9.9),
        {"fq_codel": Shaper("fq_codel", 49.5, 9.9)},
    ),
    Household(
        "openwrt", _line(50, 10, "docsis"), Shaper("fq_codel", 49.5, 9.9),
        {"cake": Shaper("cake besteffort", 49.5, 9.9)}, platform="openwrt",
    ),
    Household("docsis", _line(250, 25, "docsis"), Shaper("fq_codel", 247.5, 24.75)),
    Household(
        "fibre", _line(1000, 500, "fibre"), Shaper("cake besteffort", 950, 495),
        {"cake at 990": Shaper("cake besteffort", 990, 495), "fq_pie": Shaper("fq_pie", 990, 495)},
    ),
)  # fmt: skip


def _goodput(way: str) -> Value:
    def value(run: Run) -> float:
        own = [group for group in run.measured["groups"] if group["name"].startswith(way)]
        return sum(float(group["metrics"]["goodput_bit_s"]) for group in own) / 1e6

    return value


def metrics(line: Line) -> tuple[Metric, ...]:
    """Return what is compared: the latency under load, within 20 %, and the goodputs."""
    latency = [
        Metric(f"latency_{key}_ms", f"latency under load, {key}", "ms", 1,
               of_group(PING, f"rtt_ms_{key}", less=line.rtt_ms[0]), relative=0.2)
        for key in ("p99", "mean")
    ]  # fmt: skip
    return (
        *latency,
        Metric("down_mbit_s", "download", "Mbit/s", 2, _goodput("download"), relative=0.05),
        Metric("up_mbit_s", "upload", "Mbit/s", 2, _goodput("upload"), relative=0.05),
    )


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return a point for each household and setting that has recordings."""
    return [_point(*recorded) for recorded in _recorded(rows)]


def with_the_machines_line(point: Point) -> Point:
    """Return the same with a line that is htb, as the machine's: a packet does not take its own time on it."""
    document = {**point.scenario, "links": [dict(link) for link in point.scenario["links"]]}
    (line,) = [link for link in document["links"] if link["name"] == "line"]
    line["burst"] = {"down": linux.HTB_BURST, "up": linux.HTB_BURST}
    return replace(point, scenario=document)


def is_like_the_machines(point: Point) -> bool:
    """Return whether the machine's line takes a packet's own time, as ours does."""
    return not point.name.endswith(LINES[1])


def _recorded(
    rows: Iterable[Mapping[str, str]] | None,
) -> Iterator[tuple[Household, str, str, list[Mapping[str, str]]]]:
    grouped = records.grouped(RECORD, rows, lambda row: (row["household"], row["setting"], row["line"]))
    for household in HOUSEHOLDS:
        for setting in household.settings():
            for line in LINES:
                if own := grouped.get((household.name, setting, line)):
                    yield household, setting, line, own


def _as_recorded(document: dict[str, Any], line: Line) -> dict[str, Any]:
    """iperf3 takes five round trips before it sends, so that the far flows meet a slow start of the near ones."""
    rtt_ms = dict(zip(("near", "far"), line.rtt_ms, strict=True))
    flows = [
        linux.as_iperf3(flow, rtt_ms[flow["name"].rsplit("_")[-1]]) if flow["traffic"]["kind"] == "bulk" else flow
        for flow in document["flows"]
    ]
    return {**document, "flows": flows}


def _point(household: Household, setting: str, machine: str, own: list[Mapping[str, str]]) -> Point:
    line = household.line
    compared = metrics(line)
    return Point(
        name=f"{household.name} {line.down_mbit_s:g}/{line.up_mbit_s:g}, {setting}, line of {machine}",
        scenario=_as_recorded(network(line, household.settings()[setting], household.platform).to_dict(), line),
        scheme=None,
        theirs=measured(compared, own),
        metrics=compared,
        group=GROUP,
        replications=search.SURE,
    )
