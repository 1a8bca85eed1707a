"""How often 95 % intervals contain the true mean, over many repetitions of whole experiments.

    .venv/bin/python docs/intervals.py

It repeats an experiment of n replications 10,000 times, for n = 5, 10 and 30, estimates every metric with the
function that all commands use, and counts the intervals that contain the truth. The truth is a formula for the first
three networks. For the dumbbell it is a run of 100,000 s, and for Jain's index, whose mean depends on the length of a
run, the mean of all runs. Each network has 100,000 runs. Of 5 and 10 replications, no two experiments share a run; of
30, a run is in three of the 10,000 experiments, never twice in one; ``--runs`` takes fewer runs, which are used more
often. It takes about 12 minutes of processor time and writes ``docs/intervals.json``, from which ``docs/practice.py``
makes the table of the page on simulation practice.
``sojourn`` itself is not run: the compiled core gives the metrics of some hundred thousand short runs at once.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from pages import table

from sojourn import stats
from sojourn.base import core
from sojourn.results import metrics

COUNTS: Final = (5, 10, 30)
REPETITIONS: Final = 10_000
RUNS: Final = 100_000
RECORD: Final = Path(__file__).with_name("intervals.json")
_BATCH: Final = 500
_LONG_S: Final = 100_000

_RATE: Final = 1250.0
"""Packets of 1000 B that leave in a second at 10 Mbit/s."""


@dataclass(frozen=True)
class Network:
    """A network, and what is known of its metrics.

    Parameters
    ----------
    truth
        The true mean of each metric that is examined; None of a metric whose truth is simulated.
    """

    title: str
    scenario: dict[str, Any]
    truth: Mapping[str, float | None]


def _scenario(measured_s: float, warm_up_s: float, link: dict[str, Any], *flows: dict[str, Any]) -> dict[str, Any]:
    times = {"duration": f"{measured_s + warm_up_s:g} s", "warm_up": f"{warm_up_s:g} s"}
    return {"name": "coverage", **times, "links": [{"delay": "20 ms", "under_test": True, **link}], "flows": [*flows]}


def _one_queue(load: float, size: dict[str, Any] | str, measured_s: float, **link: Any) -> dict[str, Any]:
    way = {"from": "source", "to": "sink"}
    server = {"name": "server", **way, "rate": "10 Mbit/s", "queue": "pfifo limit 100000p", **link}
    traffic = {"kind": "poisson", "packets_per_second": load * _RATE, "packet_size": size}
    udp = {"kind": "udp", "header": "0 B"}
    return _scenario(measured_s, 2, server, {"name": "poisson", **way, "transport": udp, "traffic": traffic})


def _mm1(load: float, measured_s: float) -> Network:
    scenario = _one_queue(load, {"exponential": {"mean": "1000 B"}}, measured_s)
    # Kleinrock, Queueing Systems, volume 1, section 3.2. The time in the queue W is 0 with probability 1 - rho, and
    # P(W > t) = rho exp(-(mu - lambda) t).
    truth = {
        "sojourn_ms_mean": 1e3 * load / (_RATE * (1 - load)),
        "sojourn_ms_p99": 1e3 * math.log(load / 0.01) / (_RATE * (1 - load)),
        "queue_packets_mean": load**2 / (1 - load),
        "utilisation": load,
    }
    return Network(f"M/M/1, load {load:g}", scenario, truth)


def _waiting(t: np.ndarray[Any, Any], load: float) -> np.ndarray[Any, Any]:
    """Return P(W <= t) in M/D/1, t in service times (Erlang 1909): alternating terms, exact enough to t = 12."""
    found = np.zeros_like(t)
    for k in range(math.ceil(float(t.max())) + 1):
        x = load * (k - t)
        found += np.where(k <= t, x**k / math.factorial(k) * np.exp(-x), 0.0)
    return np.where(t < 0, 0.0, (1 - load) * found)


def _jitter(load: float, measured_s: float) -> Network:
    """Return M/D/1 whose link has a delay of 20 ms with uniform jitter of 5 ms; packets may overtake each other."""
    scenario = _one_queue(load, "1000 B", measured_s, jitter="5 ms uniform")
    service_ms = 1e3 / _RATE
    wait_ms = service_ms * load / (2 * (1 - load))
    # The delay is W + service + 20 ms + U, U uniform on -5 to 5 ms: its distribution is the mean of W's over U.
    offsets = np.linspace(-5, 5, 2001)
    offsets = (offsets[1:] + offsets[:-1]) / 2

    def share(delay_ms: float) -> float:
        return float(_waiting((delay_ms - service_ms - 20 - offsets) / service_ms, load).mean())

    low, high = 20.0, 29.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) < 0.99 else (low, middle)
    truth = {
        "sojourn_ms_mean": wait_ms,
        "one_way_delay_ms_mean": wait_ms + service_ms + 20,
        "one_way_delay_ms_p99": low,
        "utilisation": load,
    }
    return Network(f"M/D/1 with jitter, load {load:g}", scenario, truth)


def _dumbbell(duration_s: float, warm_up_s: float) -> Network:
    way = {"from": "left", "to": "right"}
    bottleneck = {"name": "bottleneck", **way, "rate": "2 Mbit/s", "queue": "codel"}
    bulk = {"name": "bulk", **way, "count": 2, "start": {"uniform": ["0 s", "1 s"]}}
    # Without it two flows fall into one of several rhythms, and one run stays in one of them for ever.
    poisson = {"kind": "poisson", "packets_per_second": 30, "packet_size": {"exponential": {"mean": "800 B"}}}
    cross = {"name": "cross", **way, "transport": {"kind": "udp"}, "traffic": poisson}
    scenario = _scenario(duration_s - warm_up_s, warm_up_s, bottleneck, bulk, cross)
    names = ("sojourn_ms_mean", "sojourn_ms_p99", "queue_packets_mean", "goodput_bit_s", "utilisation", "loss_ratio")
    return Network("dumbbell, CoDel", scenario, {**dict.fromkeys(names), "jain_index": None})


@cache
def networks() -> dict[str, Network]:
    """Return the networks by name."""
    return {
        "mm1-0.5": _mm1(0.5, 5),
        "mm1-0.8": _mm1(0.8, 8),
        "jitter": _jitter(0.5, 3),
        "dumbbell": _dumbbell(30, 10),
    }


def runs(network: Network, count: int, seed: int, first: int = 0) -> dict[str, stats.Floats]:
    """Simulate a network and return the columns of the metrics that are examined."""
    scenario = core.load(json.dumps(network.scenario), source=network.title)
    found: dict[str, list[float]] = {name: [] for name in network.truth}
    for start in range(first, first + count, _BATCH):
        tasks = [
            {"scheme": None, "seed": seed, "replication": k, "series": None}
            for k in range(start, min(start + _BATCH, first + count))
        ]
        for report in core.run_reports(scenario, tasks, jobs=1):
            values = report.section("run")["metrics"]
            for name, column in found.items():
                column.append(math.nan if values[name] is None else values[name])
    return {name: np.array(column) for name, column in found.items()}


def truths(
    network: Network, columns: Mapping[str, stats.Floats], seed: int, long_s: int = _LONG_S
) -> dict[str, float]:
    """Return the true means, from the formulas or from one long run."""
    known = {name: value for name, value in network.truth.items() if value is not None}
    if len(known) == len(network.truth):
        return known
    scenario = {**network.scenario, "duration": f"{long_s} s", "warm_up": "100 s"}
    (report,) = core.run_reports(
        core.load(json.dumps(scenario), source=network.title),
        [{"scheme": None, "seed": seed, "replication": 0, "series": None}],
        jobs=1,
    )
    found = report.section("run")["metrics"]
    return {name: float(np.mean(columns[name])) if name == "jain_index" else found[name] for name in network.truth}


def shares(
    columns: Mapping[str, stats.Floats], truth: Mapping[str, float], repetitions: int, counts: Sequence[int] = COUNTS
) -> dict[str, list[float]]:
    """Return, for each metric, the share of intervals of n replications that contain the truth, for each n."""
    found: dict[str, list[float]] = {}
    for name, column in columns.items():
        of = metrics.quantity(name)
        found[name] = []
        for n in counts:
            chosen = _experiments(column.size, n, repetitions)
            covering = sum(stats.estimate(column[one], of).covers(truth[name]) for one in chosen)
            found[name].append(covering / repetitions)
    return found


def _experiments(size: int, n: int, repetitions: int) -> np.ndarray[Any, Any]:
    """Return the runs of each experiment: one after the other, and again in another order where there are too few."""
    draw = np.random.default_rng(n)
    whole = size // n
    parts = [np.arange(whole * n)]
    while len(parts) * whole < repetitions:
        parts.append(draw.permutation(size)[: whole * n])
    return np.concatenate(parts).reshape(-1, n)[:repetitions]


def read_record() -> dict[str, Any]:
    """Return what was found when this was last run."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def coverage(record: Mapping[str, Any]) -> str:
    """Return the record as a table of Markdown; bold: further than three standard errors from 95 %."""
    error = 100 * math.sqrt(0.95 * 0.05 / int(record["repetitions"]))
    rows = []
    for one in record["networks"]:
        for name, found in one["shares"].items():
            cells = [f"{100 * share:.1f}" for share in found]
            cells = [
                f"**{cell}**" if abs(100 * share - 95) > 3 * error else cell
                for cell, share in zip(cells, found, strict=True)
            ]
            rows.append([one["title"], f"`{name}`", f"{one['truth'][name]:.5g}", *cells])
    return table(["network", "metric", "truth", *(f"n = {n}" for n in COUNTS)], rows).rstrip("\n")


def main(arguments: Sequence[str]) -> int:
    """Simulate, and write or check the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each network (default {RUNS:,})")
    parser.add_argument("--check", action="store_true", help="compare with the record instead of writing it")
    parser.add_argument("--columns", type=Path, help="a folder that keeps the columns of the runs")
    options = parser.parse_args(arguments)
    # The runs of the record, whose shares do not change until the library does.
    count = read_record()["runs"] if options.check else options.runs
    done = []
    for seed, (name, network) in enumerate(networks().items(), 1):
        file = options.columns / f"{name}.npz" if options.columns else None
        if file and file.exists():
            with np.load(file) as kept:
                columns = dict(kept)
        else:
            columns = runs(network, count, seed)
            if file:
                np.savez(file, **columns)
        truth = truths(network, columns, seed + 1000)
        done.append({"title": network.title, "truth": truth, "shares": shares(columns, truth, REPETITIONS)})
        print(json.dumps(done[-1]), flush=True)
    record = {"repetitions": REPETITIONS, "runs": count, "networks": done}
    if not options.check:
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return 0
    # Two shares of 10,000 differ by three standard errors of their difference once in 370 times.
    most = 3 * math.sqrt(2 * 0.95 * 0.05 / REPETITIONS)
    moved = [
        f"{ours['title']}, {name}, n = {n}: {new:.4f}, recorded {old:.4f}"
        for ours, theirs in zip(done, read_record()["networks"], strict=True)
        for name, found in ours["shares"].items()
        for n, new, old in zip(COUNTS, found, theirs["shares"][name], strict=True)
        if abs(new - old) > most
    ]
    print("\n".join(moved) or "as recorded")
    return int(bool(moved))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
