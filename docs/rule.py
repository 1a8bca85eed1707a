"""The study of the page on the placement rule, as rule.toml fixes it: exhaustive search beside rules.

``docs/rule.py development`` and ``docs/rule.py held-out`` run the topologies of a part, or its first N if a number
follows. A run takes some 0.7 s of CPU time, and a topology has up to 500. They print tables. Finished runs are kept
in ``out/rule``.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import topohub
from pages import DOCS, lines, protocol, with_p, within
from scipy.stats import wilcoxon

from sojourn import stats
from sojourn.stats import Floats
from sojourn.studies import topology
from sojourn.studies.placement import centrality, relief
from sojourn.studies.placement.evaluate import GOODPUT, Evaluator, Placement
from sojourn.studies.topology.case import Case

PROTOCOL = protocol("rule")
OUT = DOCS.parent / "out/rule"
DELAY = "mean_latency"
FLOWS_A_ROUTER = 8
RULE = "relief"
SIZES = (1, 2)


def names(least: int, most: int) -> list[str]:
    """The topologies of SNDlib and the Topology Zoo with `least` to `most` routers."""
    return [
        name
        for group in ("sndlib", "topozoo")
        for path in sorted((Path(topohub.__file__).parent / "data" / group).glob("*.json"))
        if least <= len(topology.load(f"topohub:{(name := f'{group}/{path.stem}')}").nodes) <= most
    ]


def population(part: str) -> list[str]:
    """The topologies of a part, by the protocol's hash."""
    return [
        name
        for name in names(PROTOCOL["least"], PROTOCOL["most"])
        if name not in PROTOCOL["seen"]
        and (int(hashlib.sha256(name.encode()).hexdigest(), 16) % PROTOCOL["modulus"] == 0) == (part == "development")
    ]


def case_of(name: str) -> Case:
    """A topology with its traffic."""
    net = topology.fill(topology.load(f"topohub:{name}"), capacity_bit_s=20_000_000, delay_ns=5_000_000)
    wanted, _ = topology.demands(net)
    return topology.build(net, wanted, flows=FLOWS_A_ROUTER * len(net.nodes), seed=PROTOCOL["seed"])


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


def judged(name: str) -> list[Judged]:
    """Try every router that sends data, and every pair of them; judge the best and the choices on fresh runs."""
    case = case_of(name)
    OUT.mkdir(parents=True, exist_ok=True)
    log, jobs = OUT / f"{name.replace('/', '-')}.jsonl", int(os.environ.get("JOBS", "1"))
    evaluator = Evaluator(case, "codel", seed=PROTOCOL["seed"], jobs=jobs, log=log)
    senders = sorted({router for (router, _), amount in case.offered.items() if amount > 0})
    none, first = frozenset[int](), PROTOCOL["replications"]
    options = [frozenset(of) for size in SIZES for of in itertools.combinations(senders, size)]
    tried = evaluator.values([none, *options], range(first))
    found = []
    for size in SIZES:
        own = [of for of in options if len(of) == size]
        best = min(own, key=lambda of: (float(tried[of][DELAY].mean()), sorted(of)))
        chosen = choices(case, size)
        values = evaluator.values([none, best, *chosen.values()], range(first, first + PROTOCOL["fresh"]))
        gain = stats.paired(values[none][DELAY], values[best][DELAY])

        def relative(
            placement: Placement, other: Placement, of: dict[Placement, dict[str, Floats]] = values
        ) -> float:
            return float(of[placement][GOODPUT].mean() / of[other][GOODPUT].mean() - 1)

        every = {**chosen, "best": best}
        shares = {
            key: float((values[none][DELAY] - values[at][DELAY]).mean()) / gain.mean for key, at in every.items()
        }
        goodput = {key: relative(at, none) for key, at in every.items()}
        behind = {key: relative(at, best) for key, at in chosen.items()}
        found.append(Judged(name, len(case.topology.nodes), gain, shares, goodput, behind))
    return found


def mean(values: Sequence[float]) -> str:
    """A mean over topologies with its BCa interval, in per cent."""
    return within(stats.bootstrap(np.array(values) * 100, lambda each: float(np.mean(each))), ".1f")


def report(part: str, most: int | None = None) -> None:
    """Run a part, or its first topologies, and print what it shows."""
    whole = []
    for name in population(part)[:most]:
        whole.append(judged(name))
        print(name, flush=True)
    tests = []
    for size, every in zip(SIZES, zip(*whole, strict=True), strict=True):
        # Where the best found lowers delay by more than its interval.
        found = [each for each in every if each.gain.excludes_zero and each.gain.mean > 0]
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
                tests.append(([str(size), name, mean(off)], p))
        for each in every:
            shares = " ".join(f"{name} {value:.2f}" for name, value in each.share.items())
            print(each.name, each.routers, f"{each.gain.mean:.1f}±{each.gain.half_width or 0:.1f}", shares)
    print(lines(with_p(tests)))


if __name__ == "__main__":
    report(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
