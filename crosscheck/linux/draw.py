#!/usr/bin/env python3
"""Draws the points at which Linux and the simulator are compared, and splits them into two sets.

    draw.py FILE [--check]

Everything follows from SEED and SALT, so the file can be made again and compared (`--check`). Rate, base RTT, number
of flows and buffer are a Latin hypercube: each of the POINTS equal parts of a dimension has one point. Every
combination of scheme and congestion control comes EACH times; ECN, unequal RTTs and a change of the rate are
shuffled among the points. The order of the file is the order of recording. It is random, so any beginning of it is a
fair sample.

Every point has two substitutes, rows with attempt 1 and 2, of the same scheme, kind of congestion control, ECN and
set. A substitute is used if the attempt before it is void: if one of its runs took the recorder's virtual machine
more than five minutes of processor time, or left its processor idle for less than 5 % of the measured time. Then
all runs of that attempt are void.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SEED = 20261123
SALT = "sojourn, Linux, development and held out"
SCHEMES = ("pfifo", "red", "codel", "pie", "fq_codel", "fq_pie", "cake")
CONTROLS = ("reno", "cubic", "bbr", "mix")
EACH = 6
POINTS = len(SCHEMES) * len(CONTROLS) * EACH
ATTEMPTS = 3
RATE_MBIT_S = (2.0, 100.0)
RTT_MS = (5.0, 200.0)
FLOWS = 32
# Limit of tail drop and RED in bandwidth-delay products; the other schemes have Linux's limits.
BUFFER_BDP = (0.5, 2.0)
LEAST_BUFFER_PACKETS = 40
# Of six points of a combination: with ECN, with unequal RTTs, with a change of the rate.
ECN, UNEQUAL, CHANGED = 2, 1, 1
RTT_FACTOR = 5.0
RATE_FACTOR = 4.0
# Ratios below this are no change worth the name.
LEAST_FACTOR = 1.25
PACKET_BYTES = 1514
# Enough packets for some drops at low rates, without hours at high ones.
MEASURED_MBIT = 400.0
MOST_MEASURED_S = 120

COLUMNS = (
    "point",
    "attempt",
    "set",
    "congestion_control",
    "groups",
    "flows",
    "base_rtt_ms",
    "rate_mbit_s",
    "changed_rate_mbit_s",
    "qdisc",
    "ecn",
    "warm_up_s",
    "seconds",
)


@dataclass(frozen=True)
class Stratum:
    """What the substitutes of a point have in common with it."""

    scheme: str
    control: str
    ecn: bool
    unequal: bool
    changed: bool


def between(bounds: tuple[float, float], share: float) -> float:
    """Log-uniform."""
    low, high = bounds
    return low * (high / low) ** share


def times(value: float, most: float, bounds: tuple[float, float], rng: np.random.Generator) -> float:
    """Another value: up to `most` times as large or as small, log-uniform, within the bounds, visibly different."""
    while True:
        other = value * most ** rng.uniform(-1, 1)
        ratio = max(other / value, value / other)
        if bounds[0] <= other <= bounds[1] and ratio >= LEAST_FACTOR:
            return other


def shown(value: float) -> str:
    """Three digits, as tc can read them."""
    return f"{value:.3g}"


def groups_of(stratum: Stratum, flows: int, rtt_ms: float, rng: np.random.Generator) -> list[tuple[str, int, float]]:
    """Flows of one congestion control and base RTT each."""
    if stratum.control == "mix":
        number = 3 if flows >= 3 and rng.random() < 1 / 3 else 2
        controls = [str(c) for c in rng.permutation(CONTROLS[:3])[:number]]
    elif stratum.unequal:
        controls = [stratum.control] * 2
    else:
        controls = [stratum.control]
    other_ms = float(shown(times(rtt_ms, RTT_FACTOR, RTT_MS, rng))) if stratum.unequal else rtt_ms
    share, rest = divmod(flows, len(controls))
    return [(control, share + (k < rest), other_ms if k % 2 else rtt_ms) for k, control in enumerate(controls)]


def qdisc_of(scheme: str, rate: str, limit: int, *, ecn: bool) -> str:
    """As after tc's `parent`; the numbers are those of the points recorded before."""
    word = "ecn" if ecn else "noecn"
    match scheme:
        case "pfifo":
            text = f"pfifo limit {limit}"
        case "red":
            # Thresholds at 15 and 45 % of the limit; tc derives the weight of the mean from the burst.
            low, high = round(0.15 * limit), round(0.45 * limit)
            text = (
                f"red limit {limit * PACKET_BYTES} min {low * PACKET_BYTES} max {high * PACKET_BYTES} "
                f"avpkt {PACKET_BYTES} burst {math.ceil(4 * low / 3)} probability 0.1 bandwidth {rate}mbit"
            )
            text += " ecn" * ecn
        case "codel" | "pie":
            text = f"{scheme} limit 1000 {word}"
        case "fq_codel":
            text = f"fq_codel limit 10240 {word}"
        case "fq_pie":
            text = "fq_pie limit 10240" + " ecn" * ecn
        case _:
            # CAKE marks whatever is capable of ECN.
            text = f"cake bandwidth {rate}mbit besteffort"
    return text


def row(name: str, attempt: int, stratum: Stratum, shares: np.ndarray, rng: np.random.Generator) -> dict[str, str]:
    """One point from its place in the unit cube: rate, base RTT, flows, buffer."""
    rate_text = shown(between(RATE_MBIT_S, shares[0]))
    rtt_ms, rate = float(shown(between(RTT_MS, shares[1]))), float(rate_text)
    least = 2 if stratum.control == "mix" or stratum.unequal else 1
    flows = min(FLOWS, math.floor(between((least, FLOWS + 1), shares[2])))
    groups = groups_of(stratum, flows, rtt_ms, rng)
    longest_s = max(ms for _, _, ms in groups) / 1e3
    bdp = rate * 1e6 * rtt_ms / 1e3 / 8 / PACKET_BYTES
    limit = max(LEAST_BUFFER_PACKETS, round(bdp * between(BUFFER_BDP, shares[3])))
    warm_up_s = math.ceil(max(5.0, 50 * longest_s))
    measured_s = math.ceil(max(15.0, 100 * longest_s, min(MOST_MEASURED_S, MEASURED_MBIT / rate)))
    return {
        "point": name,
        "attempt": str(attempt),
        "set": "",
        "congestion_control": stratum.control,
        "groups": " + ".join(f"{control} {count} @ {ms:g} ms" for control, count, ms in groups),
        "flows": str(flows),
        "base_rtt_ms": f"{rtt_ms:g}",
        "rate_mbit_s": rate_text,
        "changed_rate_mbit_s": shown(times(rate, RATE_FACTOR, RATE_MBIT_S, rng)) if stratum.changed else "",
        "qdisc": qdisc_of(stratum.scheme, rate_text, limit, ecn=stratum.ecn),
        "ecn": "yes" if stratum.ecn else "no",
        "warm_up_s": str(warm_up_s),
        "seconds": str(warm_up_s + measured_s),
    }


def draw() -> list[dict[str, str]]:
    """All rows: the points, and after each its substitutes."""
    rng = np.random.default_rng(SEED)
    strata = []
    for scheme in SCHEMES:
        for control in CONTROLS:
            ecn, unequal, changed = (rng.permutation(EACH) < number for number in (ECN, UNEQUAL, CHANGED))
            strata += [
                # Tail drop marks nothing.
                Stratum(scheme, control, bool(ecn[k]) and scheme != "pfifo", bool(unequal[k]), bool(changed[k]))
                for k in range(EACH)
            ]
    strata = [strata[k] for k in rng.permutation(POINTS)]
    cube = np.stack([(rng.permutation(POINTS) + rng.random(POINTS)) / POINTS for _ in range(4)], axis=1)
    first = [row(f"p{k + 1:03d}", 0, strata[k], cube[k], np.random.default_rng([SEED, k])) for k in range(POINTS)]
    development = {point["point"] for point in sorted(first, key=salted)[: POINTS // 2]}
    rows = []
    for k, point in enumerate(first):
        attempts = [point]
        for attempt in range(1, ATTEMPTS):
            other = np.random.default_rng([SEED, k, attempt])
            attempts.append(row(point["point"], attempt, strata[k], other.random(4), other))
        chosen = "development" if point["point"] in development else "held out"
        rows += [entry | {"set": chosen} for entry in attempts]
    return rows


def salted(point: dict[str, str]) -> str:
    """The hash by which the sets are split: of what was drawn, not of the name."""
    what = [point[column] for column in COLUMNS if column not in {"point", "attempt", "set"}]
    return hashlib.sha256("\0".join([SALT, *what]).encode()).hexdigest()


def table(rows: list[dict[str, str]]) -> str:
    """As CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main() -> int:
    """Writes the file, or says whether it is what would be written."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    options.add_argument("file", type=Path)
    options.add_argument("--check", action="store_true", help="write nothing; exit status 1 if the file differs")
    given = options.parse_args()
    text = table(draw())
    if given.check:
        return 0 if given.file.is_file() and given.file.read_text() == text else 1
    given.file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
