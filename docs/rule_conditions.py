"""The second test of the page on the placement rule, as rule-conditions.toml fixes it.

``docs/rule_conditions.py`` runs all of it, an hour of CPU time, and prints its tables; ``docs/rule_conditions.py N``
runs the first N topologies of each condition. Finished runs are kept in ``out/rule``. With ``figure`` it also writes
the figure of the page.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import rule
from pages import BLUE, PAPER, RED, lines, protocol, save, with_p, within
from scipy.stats import wilcoxon

from sojourn import stats
from sojourn.stats import Floats
from sojourn.studies import topology
from sojourn.studies.placement.evaluate import GOODPUT, Evaluator, Placement
from sojourn.studies.topology.case import Case
from sojourn.view import charts
from sojourn.view.plot import WIDTH, new_figure

PROTOCOL = protocol("rule-conditions")
LARGER = "larger"
NONE, BEST = frozenset[int](), "best"
NAMES = (rule.RULE, *rule.PROTOCOL["rivals"])


def topologies(condition: Mapping[str, Any]) -> list[str]:
    """Those of a condition."""
    if condition["name"] != LARGER:
        return rule.population("held-out")
    seen = {*PROTOCOL["seen"], *rule.PROTOCOL["seen"]}
    return [name for name in rule.names(*PROTOCOL["larger"]) if name not in seen]


def case_of(name: str, condition: Mapping[str, Any]) -> Case:
    """A topology with its traffic under a condition."""
    mbit_s = condition.get("capacity_mbit_s", 20)
    net = topology.fill(
        topology.load(f"topohub:{name}"),
        capacity_bit_s=mbit_s * 1_000_000,
        rule=condition.get("capacity_rule", "uniform"),
        delay_ns=5_000_000,
    )
    wanted, _ = topology.demands(net)
    if spread := condition.get("spread"):
        x = np.random.default_rng(condition["seed"]).normal(0, spread, len(wanted))
        wanted = {pair: wanted[pair] * math.exp(by) for pair, by in zip(sorted(wanted), x, strict=True)}
    flows = rule.FLOWS_A_ROUTER * len(net.nodes)
    buffer_ns = condition.get("buffer_ms", 100) * 1_000_000
    return topology.build(net, wanted, flows=flows, buffer_ns=buffer_ns, seed=PROTOCOL["seed"])


@dataclass(frozen=True)
class Judged:
    """What the fresh runs of a topology under a condition gave.

    Parameters
    ----------
    values
        Delay and goodput by placement and replication.
    chosen
        Placements by number of routers and name; where there was a search, of one router also ``best``.
    """

    name: str
    values: Mapping[Placement, Mapping[str, Floats]]
    chosen: Mapping[int, Mapping[str, Placement]]

    def reduction(self, size: int, name: str) -> float:
        """The delay that a choice saves over that of no router, in per cent."""
        without = self.values[NONE][rule.DELAY]
        return float(100 * (without - self.values[self.chosen[size][name]][rule.DELAY]).mean() / without.mean())

    def goodput(self, size: int, name: str) -> float:
        """The goodput of a choice over that of no router, minus 1, in per cent."""
        return float(
            100 * (self.values[self.chosen[size][name]][GOODPUT].mean() / self.values[NONE][GOODPUT].mean() - 1)
        )

    @cached_property
    def lead(self) -> dict[int, float]:
        """The rule's reduction minus its rival's, by number of routers."""
        return {
            size: self.reduction(size, rule.RULE) - self.reduction(size, PROTOCOL["rival"]) for size in rule.SIZES
        }

    @cached_property
    def gains(self) -> bool:
        """Whether the best router lowers delay by more than its interval."""
        gain = stats.paired(self.values[NONE][rule.DELAY], self.values[self.chosen[1][BEST]][rule.DELAY])
        return gain.excludes_zero and gain.mean > 0

    def share(self, name: str) -> float:
        """A choice's part of the best router's reduction, in per cent."""
        return 100 * self.reduction(1, name) / self.reduction(1, BEST)


def judged(name: str, condition: Mapping[str, Any]) -> Judged:
    """Try every router that sends data, and run the choices afresh."""
    case = case_of(name, condition)
    rule.OUT.mkdir(parents=True, exist_ok=True)
    log = rule.OUT / f"{condition['name'].replace(' ', '-')}-{name.replace('/', '-')}.jsonl"
    evaluator = Evaluator(case, "codel", seed=PROTOCOL["seed"], jobs=int(os.environ.get("JOBS", "1")), log=log)
    first = PROTOCOL["replications"]
    chosen = {
        size: {name: of for name, of in rule.choices(case, size).items() if name in (rule.RULE, PROTOCOL["rival"])}
        for size in rule.SIZES
    }
    if condition.get("search"):
        options = sorted({router for (router, _), amount in case.offered.items() if amount > 0})
        singles = [frozenset({router}) for router in options]
        tried = evaluator.values(singles, range(first))
        best = min(singles, key=lambda of: (float(tried[of][rule.DELAY].mean()), sorted(of)))
        chosen[1] = {**rule.choices(case, 1), BEST: best}
    placements = [NONE, *itertools.chain.from_iterable(each.values() for each in chosen.values())]
    return Judged(name, evaluator.values(placements, range(first, first + PROTOCOL["fresh"])), chosen)


def mean(values: list[float]) -> str:
    """A mean over topologies with its BCa interval."""
    return within(stats.bootstrap(np.array(values), lambda each: float(np.mean(each))), ".1f")


def report(most: int | None, draws: bool) -> None:
    """Run all conditions and print what they show."""
    found: dict[str, list[Judged]] = {}
    for condition in PROTOCOL["condition"]:
        found[condition["name"]] = [judged(name, condition) for name in topologies(condition)[:most]]
        print(condition["name"], flush=True)
    lead_of: dict[int, dict[str, list[float]]] = {size: {} for size in rule.SIZES}
    for every in found.values():
        for each in every:
            for size in rule.SIZES:
                lead_of[size].setdefault(each.name, []).append(each.lead[size])
    tests = []
    for size in rule.SIZES:
        leads = [float(np.mean(of)) for of in lead_of[size].values()]
        same = sum(all(value == 0 for value in of) for of in lead_of[size].values())
        p = float(wilcoxon(leads, zero_method="pratt").pvalue)
        tests.append(([str(size), str(len(leads)), str(same), mean(leads), f"{np.median(leads):.2f}"], p))
    print(lines(with_p(tests)))
    print("\ncondition, topologies, lead with one router, with two; goodput of the rule with one, with two")
    for name, every in found.items():
        leads = [mean([each.lead[size] for each in every]) for size in rule.SIZES]
        goodput = [mean([each.goodput(size, rule.RULE) for each in every]) for size in rule.SIZES]
        print(lines([[name, str(len(every)), *leads, *goodput]]))
    for name, every in found.items():
        kept = [each for each in every if BEST in each.chosen[1] and each.gains]
        if kept:
            print(f"\n{name}: share of the best reduction, goodput; {len(kept)} of {len(every)} topologies")
            for choice in (*NAMES, BEST):
                good = [each.goodput(1, choice) for each in kept]
                print(lines([[choice, mean([each.share(choice) for each in kept]), mean(good)]]))
    if draws:
        save(figure(found), "placement-conditions")


def figure(found: Mapping[str, list[Judged]]) -> Any:
    """Draw the lead by condition: a dot for each topology, the mean with its interval."""
    with new_figure(WIDTH, 0.9 + 0.5 * len(found)) as drawn:
        sides = drawn.subplots(1, 2, sharey=True)
        for axes, size in zip(sides, rule.SIZES, strict=True):
            for row, every in enumerate(found.values()):
                leads = np.array([each.lead[size] for each in every])
                axes.scatter(leads, row + np.linspace(-0.3, 0.3, len(leads)), s=9, color=BLUE, alpha=0.5, linewidth=0)
                middle = stats.bootstrap(leads, lambda each: float(np.mean(each)))
                charts.interval(axes, middle, row, RED, size=26)
            axes.axvline(0, color="#777777", linewidth=1)
            axes.set_title(f"{size} router{'s' if size > 1 else ''}", fontsize=10)
            axes.set_xlabel("rule minus queued (percentage points)")
        charts.names(sides[0], list(found))
        drawn.patch.set_facecolor(PAPER)
    return drawn


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    report(numbers[0] if numbers else None, "figure" in sys.argv[1:])
