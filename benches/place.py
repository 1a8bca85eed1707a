"""What large networks cost: seconds on the clock and memory.

A synthetic network of 1,000 routers (Barabási and Albert, two links a new router, 10 Mbit/s each) with 10,000 flows
is made, written as a scenario, and simulated for 3 s; and centralities are computed on one of 50,000 routers,
betweenness and closeness from sampled pivots. Each part is a process of its own, for its memory.

    python benches/place.py [network|centralities]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from sojourn.base import core, extras
from sojourn.studies import topology
from sojourn.studies.placement import Evaluator, katz, rankings, sample
from sojourn.studies.topology.model import Link, Node, Topology, assemble

ROUTERS, FLOWS = 1_000, 10_000
INTERNET, PIVOTS = 50_000, 1_000
GOAL_S = 60.0


def graph(count: int) -> list[tuple[int, int]]:
    """The links of a graph that grows by preferential attachment."""
    rx = extras.need("the benchmark", "rustworkx", "place")
    return [*rx.barabasi_albert_graph(count, 2, seed=1).edge_list()]


def synthetic(count: int) -> Topology:
    """Such a graph as a topology, its routers scattered over Europe."""
    random = np.random.default_rng(1)
    places = zip(random.uniform(-10, 30, count), random.uniform(35, 60, count), strict=True)
    nodes = [Node("", f"n{k}", longitude=float(x), latitude=float(y)) for k, (x, y) in enumerate(places)]
    return assemble(f"synthetic{count}", nodes, [Link(ends) for ends in graph(count)])


class Laps:
    """Prints what each step took."""

    def __init__(self) -> None:
        self.began = self.last = time.monotonic()

    def __call__(self, what: str) -> None:
        """Say what has been done since the last lap."""
        now = time.monotonic()
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  {what:48} {now - self.last:7.2f} s, {peak_mib:5.0f} MiB at the most so far", flush=True)
        self.last = now


def network() -> bool:
    """Make and simulate the large network."""
    print(f"{ROUTERS} routers, {FLOWS} flows, 3 s simulated")
    lap = Laps()
    net = topology.fill(synthetic(ROUTERS), capacity_bit_s=10_000_000)
    wanted, _ = topology.demands(net, "gravity")
    lap("topology and gravity model")
    case = topology.build(net, wanted, flows=FLOWS, duration_ns=3_000_000_000, warm_up_ns=1_000_000_000)
    lap("flows, routes and the scenario")
    text = json.dumps(case.document)
    core.load(text, source="synthetic")
    lap(f"the loader's check ({len(text) / 1e6:.1f} MB)")
    tops = rankings(case)
    lap("all centralities, exact")
    values = Evaluator(case, "codel", jobs=1).values([frozenset(tops["load"][:20])], [0])
    lap("one run, its report read")
    (goodput,) = next(iter(values.values()))["goodput_bit_s"]
    print(f"  {goodput / 1e9:.2f} Gbit/s of goodput in all")
    return lap.last - lap.began <= GOAL_S


def centralities() -> bool:
    """Compute centralities on the graph like the Internet's."""
    from scipy.sparse import coo_array

    print(f"centralities of {INTERNET} routers")
    lap = Laps()
    ends = np.array(graph(INTERNET))
    rows, columns = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    matrix = coo_array((np.ones(rows.size), (rows, columns)), shape=(INTERNET, INTERNET)).tocsr()
    lap(f"graph ({len(ends)} links)")
    katz(matrix)
    lap("Katz")
    found = sample(matrix, PIVOTS)
    lap(f"betweenness and closeness, {PIVOTS} pivots")
    top = np.argsort(-found.betweenness)[:10]
    shown = ", ".join(f"{found.betweenness[k]:.4f} ± {found.half_width[k]:.4f}" for k in top[:5])
    relative = np.median(found.half_width[top] / found.betweenness[top])
    print(f"  betweenness of the first five: {shown}")
    print(
        f"  95 % intervals of the first ten: ±{relative:.0%} (median); all errors below {found.bound:.3f} (Hoeffding)"
    )
    return lap.last - lap.began <= GOAL_S


PARTS: dict[str, Callable[[], bool]] = {"network": network, "centralities": centralities}


def main() -> int:
    """Run both parts, or the one that is named; 1 where a part takes more than a minute."""
    if len(sys.argv) > 1:
        if sys.argv[1] not in PARTS:
            print(f"unknown: {sys.argv[1]}; there are: {', '.join(PARTS)}", file=sys.stderr)
            return 2
        return 0 if PARTS[sys.argv[1]]() else 1
    return max(subprocess.run([sys.executable, __file__, part], check=False).returncode for part in PARTS)  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
