"""The Linux points that were drawn by a seed and split into development and held out, by crosscheck/linux/draw.py."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from crosscheck import linux, records
from crosscheck.compare import Point, Value, rate_of, theirs
from sojourn.base.core import SojournError

DRAW: Final = "linux_draw.csv"
RECORD: Final = "linux_drawn.csv"
LEFT_OUT: Final = "linux_left_out.toml"

DEVELOPMENT: Final = "development"
HELD_OUT: Final = "held out"

_MARKS: Final = linux.drop_rate("marks", "mark rate", rate_of("marks_packets"))
# Runs begin at a time drawn from as much.
_START_S: Final = 0.05
# The spread of our runs excuses nothing, so it has to be small beside a tolerance. Delays and drops of BBR differ by
# tens of per cent between replications, and by more where two of many flows share a queue by chance.
_REPLICATIONS: Final = 20

# The parameters of Linux that the known points have; tc's words say the rest.
_LINUX_SCHEMES: Final = {
    "codel": "codel preset linux-6.1 limit 1000p",
    "pie": f"pie preset linux-6.1 limit 1000p {linux.PIE_UPDATES}",
    "fq_codel": "fq_codel preset linux-6.1 limit 10240p",
    "fq_pie": f"fq_pie preset linux-6.1 limit 10240p {linux.PIE_UPDATES}",
}


def points(
    chosen: str,
    *,
    draw: Sequence[Mapping[str, str]] | None = None,
    rows: Iterable[Mapping[str, str]] | None = None,
    left_out: Mapping[str, str] | None = None,
) -> list[Point]:
    """Return the points of one set that have recordings, with what Linux measured.

    Parameters
    ----------
    chosen
        ``development`` or ``held out``.
    """
    reasons = _reasons() if left_out is None else left_out
    grouped = _valid(records.table(RECORD) if rows is None else rows)
    found = []
    for entry in records.table(DRAW) if draw is None else draw:
        runs = grouped.get((entry["point"], entry["attempt"]))
        if entry["set"] == chosen and runs:
            point = _point(entry, runs)
            found.append(replace(point, no_reference=reasons.get(entry["point"])))
    return found


def _reasons() -> dict[str, str]:
    file = records.RECORDED / LEFT_OUT
    if not file.is_file():
        return {}
    known = {row["point"] for row in records.table(DRAW)}
    found: dict[str, str] = {}
    for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("left_out", []):
        if entry.get("point") not in known:
            raise SojournError(f"{LEFT_OUT}: point {entry.get('point')!r}: is not drawn; allowed: p001 and the like")
        if not str(entry.get("reason", "")).strip():
            raise SojournError(f"{LEFT_OUT}: point {entry['point']!r}: `reason` is missing")
        found[entry["point"]] = " ".join(str(entry["reason"]).split()).rstrip(".")
    return found


def _valid(rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], list[Mapping[str, str]]]:
    """Return the runs of each attempt, without attempts of which a run is void."""
    grouped: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    void = set()
    for row in rows:
        key = row["point"], row["attempt"]
        grouped.setdefault(key, []).append(row)
        if row["void"]:
            void.add(key)
    return {key: runs for key, runs in grouped.items() if key not in void}


def groups(text: str) -> list[linux.Flows]:
    """Return the groups of flows of a point: ``reno 2 @ 41.3 ms + reno 1 @ 21.3 ms``."""
    found = []
    for group in text.split(" + "):
        control, number, _, rtt_ms, _ = group.split(" ")
        found.append(linux.Flows(control, int(number), float(rtt_ms)))
    return found


def scheme(qdisc: str) -> str:
    """Return our text of a drawn point's discipline."""
    kind, *words = qdisc.split(" ")
    if kind not in _LINUX_SCHEMES:
        return f"tc qdisc replace dev rb root {qdisc}"
    return f"{_LINUX_SCHEMES[kind]} {'ecn' if 'ecn' in words else 'noecn'}"


def _point(entry: Mapping[str, str], runs: Sequence[Mapping[str, str]]) -> Point:
    flows = groups(entry["groups"])
    number = sum(group.number for group in flows)
    kind = entry["qdisc"].split(" ", 1)[0]
    rtt_ms, mbit_s = float(entry["base_rtt_ms"]), float(entry["rate_mbit_s"])
    mean_rtt_ms = sum(group.number * group.rtt_ms for group in flows) / number
    has_ecn, changed = entry["ecn"] == "yes", entry["changed_rate_mbit_s"]
    delay: Value
    if kind in linux.PER_FLOW:
        delay = linux.rtt_delay(mean_rtt_ms, from_s=float(entry["warm_up_s"]))
        delays = [float(row["tcp_rtt_ms_mean"]) - mean_rtt_ms for row in runs]
    else:
        delay = linux.ping_delay(rtt_ms / 2)
        delays = [float(row["ping_ms_mean"]) - rtt_ms for row in runs]
    measured = {
        "goodput": theirs([float(row["goodput_mbit_s"]) for row in runs]),
        "delay": theirs(delays),
        "drops": linux.counts(runs, "drops_packets"),
    }
    metrics = linux.metrics(delay)
    # Tail drop has no marks, and without ECN there are none.
    if has_ecn:
        measured["marks"] = linux.counts(runs, "marks_packets")
        metrics = (*metrics, _MARKS)
    name = f"{entry['point']}: {entry['groups']}, {entry['rate_mbit_s']} Mbit/s"
    name += f", then {changed} Mbit/s" if changed else ""
    seconds, warm_up_s = int(entry["seconds"]), int(entry["warm_up_s"])
    scenario = linux.network(
        flows,
        rtt_ms,
        mbit_s,
        seconds,
        warm_up_s,
        host=linux.FAST,
        told_s=_START_S / 2,
        ecn=has_ecn,
        own_shaper=kind in linux.SHAPERS,
    )
    if changed:
        # As crosscheck/linux/run.py: in the middle of the measured time.
        change = {"at": f"{(warm_up_s + seconds) // 2} s", "rate": f"{changed} Mbit/s"}
        if kind in linux.SHAPERS:
            change["parameters"] = f"bandwidth {change.pop('rate')}"
            scenario["links"][0]["queue"] = scheme(entry["qdisc"])
        scenario["changes"] = [change]
    return Point(
        name=f"{name}, {kind}{', ECN' if has_ecn else ''}",
        scenario=scenario,
        scheme=scheme(entry["qdisc"]),
        theirs=measured,
        metrics=metrics,
        group=entry["set"],
        replications=_REPLICATIONS,
        series=linux.RTT_SAMPLES,
        streams_s=linux.streams_s(flows, linux.FAST, _START_S / 2),
    )
