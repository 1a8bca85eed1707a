"""Timelines of single flows: congestion window, threshold and smoothed RTT, ours over Linux's.

Linux's are samples of `ss -ti` that `crosscheck/linux/run.py` keeps of development points with at most two flows.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from crosscheck import drawn, linux, records
from crosscheck.compare import Point
from sojourn.base import core, suggest
from sojourn.base.core import SojournError
from sojourn.view.canvas import NARROW, Picture, new_figure
from sojourn.view.palette import INK, MUTED, RULE

SAMPLES: Final = records.HERE / "linux" / "samples"
REPLICATIONS: Final = 5
QUANTITIES: Final = ("cwnd_packets", "ssthresh_packets", "srtt_ms")

_OURS: Final = "#D55E00"
_FAINT: Final = "#F3C8A8"
# A threshold above this many windows is off the picture: slow start has none, or a very large one.
_IN_SIGHT: Final = 1.15

Line: TypeAlias = "list[tuple[float, float]]"
"""Times in s and values."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow's lines by quantity."""

    title: str
    theirs: Mapping[str, Line]
    ours: Sequence[Mapping[str, Line]]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The flows of a point.

    Parameters
    ----------
    warm_up_s
        What the comparison leaves out, in s.
    changed_at_s
        When the link's rate changes, in s; None where it does not.
    """

    key: str
    point: Point
    warm_up_s: float
    changed_at_s: float | None
    flows: tuple[Flow, ...]


def available(folder: Path = SAMPLES) -> list[str]:
    """Return the points with samples."""
    return sorted(file.name.split(".")[0] for file in folder.glob("*.csv.gz"))


def timelines(
    chosen: Sequence[str] = (), *, jobs: int | None = None, seed: int = 1, folder: Path = SAMPLES
) -> list[Timeline]:
    """Run our side of points and read Linux's samples."""
    have = available(folder)
    for key in chosen:
        if key not in have:
            raise SojournError(f"--timelines: {suggest.unknown('point', key, have)}")
    points = {point.name.split(":")[0]: point for point in drawn.points(drawn.DEVELOPMENT)}
    wanted = [key for key in chosen or have if key in points]
    entries = {(row["point"], row["attempt"]): row for row in records.table(drawn.DRAW)}
    return [
        _timeline(key, points[key], _groups(key, entries), folder / f"{key}.csv.gz", jobs, seed) for key in wanted
    ]


def _groups(key: str, entries: Mapping[tuple[str, str], Mapping[str, str]]) -> list[linux.Flows]:
    recorded = [row["attempt"] for row in records.table(drawn.RECORD) if row["point"] == key and not row["void"]]
    return drawn.groups(entries[key, recorded[-1]]["groups"])


def _timeline(
    key: str, point: Point, groups: Sequence[linux.Flows], file: Path, jobs: int | None, seed: int
) -> Timeline:
    from sojourn.base.processors import cores

    scenario = core.load(json.dumps(point.scenario), source=f"crosscheck {point.name}", sets=("warm_up=0 s",))
    scheme = core.parse_aqm(str(point.scheme))
    tasks = [
        {"scheme": scheme, "seed": seed, "replication": replication, "series": linux.RTT_SAMPLES}
        for replication in range(REPLICATIONS)
    ]
    runs = [_series(run) for run in core.run_many(scenario, tasks, jobs=cores() if jobs is None else jobs)]
    sampled = samples(file)
    flows = []
    for k, group in enumerate(groups):
        bulk = linux.BULK if len(groups) == 1 else f"{linux.BULK}-{k + 1}"
        # Ports rise in the order in which iperf3 opens the connections.
        ports = sorted(port for of, port in sampled if of == k)
        for flow, port in enumerate(ports[: group.number]):
            name = f"{bulk}-flow{flow}[0]"
            number = f" {flow + 1} of {group.number}" if group.number > 1 else ""
            flows.append(
                Flow(
                    f"{group.control}{number}, base RTT {group.rtt_ms:g} ms",
                    sampled[k, port],
                    [{quantity: run.get(f"{quantity}:{name}", []) for quantity in QUANTITIES} for run in runs],
                )
            )
    changes = point.scenario.get("changes")
    changed_at_s = float(changes[0]["at"].split(" ")[0]) if changes else None
    return Timeline(key, point, float(point.scenario["warm_up"].split(" ")[0]), changed_at_s, tuple(flows))


def _series(document: core.Document) -> dict[str, Line]:
    return {
        str(series["name"]): [
            (float(t_s), float(value))
            for t_s, value in zip(series["t_s"], series["value"], strict=True)
            if value is not None
        ]
        for series in document["series"]
    }


def samples(file: Path) -> dict[tuple[int, int], dict[str, Line]]:
    """Return what `ss` showed, by group and port; values that it left out are missing."""
    found: dict[tuple[int, int], dict[str, Line]] = {}
    with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            lines = found.setdefault((int(row["group"]), int(row["port"])), {name: [] for name in QUANTITIES})
            for name in QUANTITIES:
                if row[name]:
                    lines[name].append((float(row["t_s"]), float(row[name])))
    return found


def mean(line: Line, from_s: float) -> float:
    """Return the mean of the samples from a time on; NaN without any."""
    values = [value for t_s, value in line if t_s > from_s]
    return sum(values) / len(values) if values else math.nan


def spread(line: Line, from_s: float) -> float:
    """Return the standard deviation of the samples from a time on; NaN with fewer than two."""
    values = [value for t_s, value in line if t_s > from_s]
    return statistics.stdev(values) if len(values) > 1 else math.nan


COLUMNS: Final = {
    "point": "point",
    "flow": "flow",
    "ours_cwnd_packets_mean": "window, ours (packets)",
    "linux_cwnd_packets_mean": "Linux",
    "ours_cwnd_packets_sd": "its deviation, ours",
    "linux_cwnd_packets_sd": "Linux",
    "ours_srtt_ms_mean": "smoothed RTT, ours (ms)",
    "linux_srtt_ms_mean": "Linux",
}
"""Keys and titles of a row of :func:`summary`."""

_MEASURES: Final = (("cwnd_packets", "mean", mean), ("cwnd_packets", "sd", spread), ("srtt_ms", "mean", mean))


def summary(timeline: Timeline) -> list[dict[str, Any]]:
    """Return a row for each flow: mean and standard deviation of the window and mean RTT, without the warm-up.

    Ours are means over the replications.
    """
    rows = []
    for flow in timeline.flows:
        row: dict[str, Any] = {"point": timeline.key, "flow": flow.title}
        for quantity, name, measure in _MEASURES:
            ours = [measure(run[quantity], timeline.warm_up_s) for run in flow.ours]
            row[f"ours_{quantity}_{name}"] = round(sum(ours) / len(ours), 2)
            row[f"linux_{quantity}_{name}"] = round(measure(flow.theirs[quantity], timeline.warm_up_s), 2)
        rows.append(row)
    return rows


def draw(timeline: Timeline) -> Picture:
    """Draw a point: of each flow a panel of window (with the threshold dashed) and one of smoothed RTT.

    Linux's line is dark. Ours is in colour: one replication strong, the others faint.
    """
    number = len(timeline.flows)
    with new_figure(NARROW, 0.9 + 2.9 * number, rows=6 * number) as figure:
        panels = figure.subplots(2 * number, 1, sharex=True, squeeze=False)[:, 0]
        for flow, window, rtt in zip(timeline.flows, panels[::2], panels[1::2], strict=True):
            _panel(window, timeline, flow, "cwnd_packets")
            window.set_ylabel("window (packets)")
            window.set_title(flow.title, pad=4)
            _threshold(window, flow)
            _panel(rtt, timeline, flow, "srtt_ms")
            rtt.set_ylabel("smoothed RTT (ms)")
        panels[-1].set_xlabel("time (s), warm-up shaded")
        figure.align_ylabels(list(panels))
        handles = [
            Line2D([], [], color=INK, label="Linux 6.1"),
            Line2D([], [], color=_OURS, label="ours"),
            Line2D([], [], color=_FAINT, label="other replications"),
            Line2D([], [], color=MUTED, linestyle=(0, (2, 2)), label="threshold"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=4, handlelength=1.3, columnspacing=1.0)
    return figure


def _panel(axes: Axes, timeline: Timeline, flow: Flow, quantity: str) -> None:
    for run in reversed(flow.ours[1:]):
        _plot(axes, run[quantity], _FAINT, 0.7)
    _plot(axes, flow.theirs[quantity], INK, 1.3)
    _plot(axes, flow.ours[0][quantity], _OURS, 1.1)
    axes.axvspan(0, timeline.warm_up_s, color=RULE, alpha=0.45, linewidth=0)
    if timeline.changed_at_s is not None:
        axes.axvline(timeline.changed_at_s, color=MUTED, linewidth=0.8, linestyle=(0, (6, 3)))
    axes.margins(x=0)
    axes.set_ylim(bottom=0)


def _threshold(axes: Axes, flow: Flow) -> None:
    windows = [value for line in (flow.theirs, flow.ours[0]) for _, value in line["cwnd_packets"]]
    top = _IN_SIGHT * max(windows, default=1.0)
    axes.set_ylim(0, top)
    for line, color in ((flow.theirs, INK), (flow.ours[0], _OURS)):
        seen = [(t_s, value if value <= top else math.nan) for t_s, value in line["ssthresh_packets"]]
        _plot(axes, seen, color, 0.8, dashed=True)


def _plot(axes: Axes, line: Line, color: str, width: float, *, dashed: bool = False) -> None:
    style = (0, (2, 2)) if dashed else "-"
    axes.plot([t_s for t_s, _ in line], [value for _, value in line], color=color, linewidth=width, linestyle=style)
