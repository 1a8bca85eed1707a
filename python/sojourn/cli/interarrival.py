"""``sojourn papers interarrival``: the mode of inter-arrivals, by which dAQM divides (Shu 2023, section 4.1.1)."""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Final

import sojourn
from sojourn import stats
from sojourn.cli.options import add_jobs, add_json, add_number, add_seed, add_sets
from sojourn.model.network import load
from sojourn.results import headline, metrics, text
from sojourn.results.results import Results

FIFO: Final = "pfifo limit 2000p"
REPLICATES: Final = 5
SHOWN: Final = 10


def add(actions: Any) -> None:
    """Add ``interarrival`` to the actions of ``papers``."""
    parser = actions.add_parser(
        "interarrival",
        help="measure the most frequent inter-arrival time at each queue, a parameter of dAQM",
        description="Measure the most frequent inter-arrival time at each queue under test, with a FIFO "
        "in place of the scheme: in whole milliseconds, as the parameter `interarrival` of dAQM takes it, and in "
        "bins of 0.01 ms.",
        epilog="example: sojourn papers interarrival lan dumbbell",
    )
    parser.add_argument(
        "files", metavar="SCENARIO", nargs="+", help="a scenario file or the name of a ready-made scenario"
    )
    parser.add_argument("--fifo", default=FIFO, metavar="SCHEME", help=f"the FIFO to use (default {FIFO})")
    add_number(parser, "--replicates", "number of replications", default=REPLICATES)
    add_seed(parser)
    add_jobs(parser)
    add_sets(parser, "the scenarios")
    add_number(parser, "--queues", "number of queues to show, the busiest first", default=SHOWN)
    add_json(parser)
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    found: list[tuple[str, list[Spacing]]] = []
    for file in options.files:
        network = load(file, sets=["pooled=true", *options.sets])
        results = sojourn.compare(
            network,
            {"fifo": options.fifo},
            replicates=options.replicates,
            seed=options.seed,
            jobs=options.jobs,
            series=None,
        )
        found.append((results.name, measure(results)))
    if options.json:
        whole = [{"scenario": name, "queues": [asdict(one) for one in queues]} for name, queues in found]
        print(json.dumps(whole, ensure_ascii=False, allow_nan=False))
        return
    print("\n\n".join(_shown(name, queues, options) for name, queues in found))


@dataclass(frozen=True, slots=True)
class Spacing:
    """The modes of inter-arrival times at a queue; ``all``: the spacings at each queue, of all queues together.

    `mode_ms` is the mode in whole ms of most runs, the smallest of equals: `runs` have it, of those in which packets
    came. `fine_ms` is the mean of the middle of the most frequent bin of 0.01 ms, with the half-width of its 95 %
    interval; None without spacings below 49.5 ms, and of a single run.
    """

    queue: str
    arrivals_packets: float
    mode_ms: float
    runs: int
    of: int
    fine_ms: float | None
    fine_half_width_ms: float | None


def measure(results: Results) -> list[Spacing]:
    """Return the modes of each queue under test that saw arrivals, the busiest first, of one scheme, a FIFO."""
    queues = results.queues[results.queues["under_test"]]
    together = results.queues[results.queues["queue"] == headline.ALL]
    # One queue under test is all there are.
    every = queues if together.empty else together
    groups = [(headline.ALL, every), *((str(name), of) for name, of in queues.groupby("queue", sort=False))]
    found = []
    for name, of in groups:
        modes = of["interarrival_ms_mode"].dropna().tolist()
        if not modes:
            continue
        most, runs = min(Counter(modes).items(), key=lambda item: (-item[1], item[0]))
        fine = stats.estimate(of["interarrival_fine_ms_mode"].dropna().tolist())
        middle = fine.mean if math.isfinite(fine.mean) else None
        arrivals = float(of["arrivals_packets"].mean())
        found.append(Spacing(name, arrivals, most, runs, len(modes), middle, fine.half_width))
    return sorted(found, key=lambda one: -one.arrivals_packets)


def _shown(name: str, queues: list[Spacing], options: argparse.Namespace) -> str:
    rows = [
        [
            one.queue,
            f"{one.arrivals_packets:.0f}",
            f"{one.mode_ms:g}",
            f"{one.runs} of {one.of}",
            "–" if one.fine_ms is None else metrics.rounded(one.fine_ms, one.fine_half_width_ms),
        ]
        for one in queues[: options.queues + 1]
    ]
    heads = ["queue", "arrivals", "mode, ms", "in runs", "mode of 0.01 ms bins, ms"]
    more = len(queues) - len(rows)
    left = f"\nand {more} queues more" if more > 0 else ""
    return f"{name}, {options.fifo}, {options.replicates} replications\n{text.table(heads, rows, numbers=True)}{left}"
