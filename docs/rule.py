"""The study of the page on the placement rule, as rule.toml fixes it: exhaustive search beside rules.

``docs/rule.py development`` and ``docs/rule.py held-out`` run the topologies of a part, or its first N if a number
follows: five and ten minutes of CPU time. They print tables. Finished runs are kept in ``out/rule``.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import topohub
from scipy.stats import wilcoxon

from sojourn import stats
from sojourn.stats import Floats
from sojourn.studies import topology
from sojourn.studies.placement import centrality, relief
from sojourn.studies.placement.evaluate import GOODPUT, Evaluator, Placement
from sojourn.studies.topology.case import Case

DOCS = Path(__file__).parent
PROTOCOL = tomllib.loads((DOCS / "rule.toml").read_text(encoding="utf-8"))
OUT = DOCS.parent / "out/rule"
DELAY = "mean_latency"
FLOWS_A_ROUTER = 8
RULE = "relief"
SIZES = (1, 2)


def population(part: str) -> list[str]:
    """The topologies of a part, by the protocol's hash."""
    found = []
    for group in ("sndlib", "topozoo"):
        for path in sorted((Path(topohub.__file__).parent / "data" / group).glob("*.json")):
            name = f"{group}/{path.stem}"
            if name in PROTOCOL["seen"]:
                continue
            if not PROTOCOL["least"] <= len(topology.load(f"topohub:{name}").nodes) <= PROTOCOL["most"]:
                continue
            is_development = int(hashlib.sha256(name.encode()).hexdigest(), 16) % PROTOCOL["modulus"] == 0
            if is_development == (part == "development"):
                found.append(name)
    return found


def case_of(name: str) -> Case:
    """A topology with its traffic."""
    net = topology.fill(topology.load(f"topohub:{name}"), capacity_bit_s=20_000_000, delay_ns=5_000_000)
    wanted, _ = topology.demands(net)
    return topology.build(net, wanted, flows=FLOWS_A_ROUTER * len(net.nodes), seed=PROTOCOL["seed"])


@dataclass(frozen=True)
class Searched:
    """What exhaustive search found on a topology.

    Parameters
    ----------
    name, case
        The topology.
    tried
        Mean delay in the search by placement.
    best
        The placement of each size with the least delay.
    evaluator
        For the judgement of further placements.
    """

    name: str
    case: Case
    tried: dict[Placement, float]
    best: dict[int, Placement]
    evaluator: Evaluator

    def judged(self, placements: Sequence[Placement]) -> dict[Placement, dict[str, Floats]]:
        """Values of placements on fresh replications."""
        first = PROTOCOL["replications"]
        return self.evaluator.values(placements, range(first, first + PROTOCOL["fresh"]))


def exhaustive(name: str) -> Searched:
    """Try every router that sends data, and every pair of them."""
    case = case_of(name)
    jobs = int(os.environ.get("JOBS", "1"))
    OUT.mkdir(parents=True, exist_ok=True)
    log = OUT / f"{name.replace('/', '-')}.jsonl"
    evaluator = Evaluator(case, "codel", seed=PROTOCOL["seed"], jobs=jobs, log=log)
    senders = sorted({router for (router, _), amount in case.offered.items() if amount > 0})
    options = [frozenset(of) for size in SIZES for of in itertools.combinations(senders, size)]
    found = evaluator.values([frozenset(), *options], range(PROTOCOL["replications"]))
    tried = {placement: float(values[DELAY].mean()) for placement, values in found.items()}
    best = {
        size: min((of for of in options if len(of) == size), key=lambda of: (tried[of], sorted(of))) for size in SIZES
    }
    return Searched(name, case, tried, best, evaluator)


def choices(case: Case, size: int) -> dict[str, Placement]:
    """The first routers of the rule and of its rivals."""
    ranked = centrality.rankings(case, PROTOCOL["rivals"])
    return {RULE: relief.choose(case, size), **{name: frozenset(order[:size]) for name, order in ranked.items()}}


@dataclass(frozen=True)
class Judged:
    """One topology's judgement for one size.

    Parameters
    ----------
    gain
        Of the best found over no router, in ms.
    share, goodput, behind
        By choice: share of the gain; goodput against no router and against the best found, minus 1.
    """

    name: str
    routers: int
    gain: stats.Estimate
    share: dict[str, float]
    goodput: dict[str, float]
    behind: dict[str, float]


def judge(of: Searched, size: int) -> Judged:
    """Judge the rule, its rivals and the best found on fresh replications."""
    chosen = choices(of.case, size)
    best, none = of.best[size], frozenset[int]()
    values = of.judged([none, best, *chosen.values()])
    gain = stats.paired(values[none][DELAY], values[best][DELAY])

    def relative(placement: Placement, other: Placement) -> float:
        return float(values[placement][GOODPUT].mean() / values[other][GOODPUT].mean() - 1)

    return Judged(
        of.name,
        len(of.case.topology.nodes),
        gain,
        {
            name: float((values[none][DELAY] - values[at][DELAY]).mean()) / gain.mean
            for name, at in {**chosen, "best": best}.items()
        },
        {name: relative(at, none) for name, at in {**chosen, "best": best}.items()},
        {name: relative(at, best) for name, at in chosen.items()},
    )


def told(found: Sequence[Judged]) -> list[Judged]:
    """Topologies on which the best found lowers delay by more than its interval."""
    return [each for each in found if each.gain.excludes_zero and each.gain.mean > 0]


def mean(values: Sequence[float]) -> str:
    """A mean over topologies with its BCa interval, in per cent."""
    of = stats.bootstrap(np.array(values) * 100, lambda each: float(np.mean(each)))
    return f"{of.mean:.1f} [{of.low or 0:.1f}, {of.high or 0:.1f}]"


def report(part: str, most: int | None = None) -> None:
    """Run a part, or its first topologies, and print what it shows."""
    judged = []
    for name in population(part)[:most]:
        found = exhaustive(name)
        judged.append([judge(found, size) for size in SIZES])
        print(name, flush=True)
    tests = []
    for size, every in zip(SIZES, zip(*judged, strict=True), strict=True):
        found = told(every)
        print(f"\n{part}, {size} router(s): {len(found)} of {len(every)} topologies have a gain")
        for name in (RULE, *PROTOCOL["rivals"], "best"):
            shares = [each.share[name] for each in found]
            goodput = [each.goodput[name] for each in found]
            behind = [each.behind.get(name, 0.0) for each in found]
            print(
                f"| {name} | {mean(shares)} | {np.median(shares):.2f} | {sum(v >= 0.9 for v in shares)} | "
                f"{mean(goodput)} | {sum(v >= -0.01 for v in goodput)} | {mean(behind)} |"
            )
            if name in PROTOCOL["rivals"]:
                off = [each.share[RULE] - each.share[name] for each in found]
                p = float(wilcoxon(off).pvalue) if any(off) else 1.0
                tests.append((size, name, mean(off), p))
        for each in every:
            shares = " ".join(f"{name} {value:.2f}" for name, value in each.share.items())
            print(each.name, each.routers, f"{each.gain.mean:.1f}±{each.gain.half_width or 0:.1f}", shares)
    for (size, name, off, _), p in zip(tests, stats.holm([p for *_, p in tests]), strict=True):
        print(f"| {size} | {name} | {off} | {p:.2g} |")


if __name__ == "__main__":
    report(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
