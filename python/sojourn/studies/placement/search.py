"""Choose the routers that have the scheme: centralities, greedy and local search that evaluate by simulation.

The search uses replications 0, 1, ... of its seed. Its result and every centrality's choice are then compared on
other replications, so the result is not selected by noise. All placements get the same traffic in a replication, so
differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from sojourn import stats
from sojourn.base.core import SojournError
from sojourn.stats import Estimate, Floats
from sojourn.studies.placement.centrality import ALL, rankings
from sojourn.studies.placement.evaluate import OBJECTIVES, UNFINISHED, Evaluator, Objective, Placement
from sojourn.studies.topology.case import Case

NONE: Final = "no router"
EVERY: Final = "every router"
GREEDY: Final = "greedy"
BEST: Final = "best found"
_BATCH: Final = 8
"""Neighbours tried together by the local search, whatever the number of threads: the search must not depend on it."""
_GREEDY_SHARE: Final = 0.7


@dataclass(frozen=True)
class Plan:
    """The settings of a search: its objective and its effort.

    Parameters
    ----------
    budget
        Number of routers that get the scheme.
    objective
        One of :data:`~sojourn.studies.placement.evaluate.OBJECTIVES`.
    scheme
        What their output queues get.
    runs
        Number of runs that the search may make; the final comparison is additional.
    replications
        Of each placement in the search.
    fresh
        Replications of the final judgement.
    seed
        Of the runs.
    names
        Centralities to compare; none means all.
    """

    budget: int
    objective: str = "mean_latency"
    scheme: str = "codel"
    runs: int = 240
    replications: int = 3
    fresh: int = 10
    seed: int = 1
    names: tuple[str, ...] = ()

    def check(self, case: Case) -> None:
        """Raise :class:`SojournError` unless the plan is possible on a case."""
        count = len(case.topology.nodes)
        for name, value, least, most in (
            ("--budget", self.budget, 1, count - 1),
            ("--replicates", self.replications, 1, 1000),
            ("--fresh", self.fresh, 2, 1000),
            ("--runs", self.runs, self.replications, 10_000_000),
        ):
            if not least <= value <= most:
                raise SojournError(f"{name} is {value}; allowed: {least} to {most} on {count} routers")
        if self.objective not in OBJECTIVES:
            raise SojournError(f"--objective is {self.objective!r}; allowed: {', '.join(OBJECTIVES)}")
        for name in self.names:
            if name not in ALL:
                raise SojournError(f"--centrality is {name!r}; allowed: {', '.join(ALL)}")
        carries = {flow["traffic"]["kind"] for flow in case.document["flows"]}
        if self.objective == "fct" and "transfer" not in carries:
            raise SojournError(
                "--objective fct needs transfers that end; allowed: --tcp transfers, and --udp below 1"
            )


@dataclass(frozen=True)
class Choice:
    """A placement, and the centrality or search that found it."""

    name: str
    routers: Placement


@dataclass(frozen=True)
class Found:
    """What a search found.

    Parameters
    ----------
    case, plan
        What was asked.
    rankings
        Routers by centrality, the first first.
    choices
        None, every centrality's, greedy's, the best found, every router, judged on the fresh replications.
    fresh
        Measures by placement, by name, shape (fresh replications,).
    tried
        Every placement that the search simulated, with its mean over the search's replications.
    candidates
        Routers that greedy and local search considered, in the order of their mean rank.
    exhausted
        Whether the local search ended because no exchange of one router improves, and not because of `runs`.
    runs
        Simulated by this process.
    """

    case: Case
    plan: Plan
    rankings: dict[str, list[int]]
    choices: tuple[Choice, ...]
    fresh: dict[Placement, dict[str, Floats]]
    tried: dict[Placement, float]
    candidates: tuple[int, ...]
    exhausted: bool
    runs: int

    @property
    def objective(self) -> Objective:
        """What was made small."""
        return OBJECTIVES[self.plan.objective]

    def routers(self, name: str) -> Placement:
        """Return the placement of a choice."""
        return next(choice.routers for choice in self.choices if choice.name == name)

    def values(self, name: str, measure: str | None = None) -> Floats:
        """Return a choice's objective, or another measure, by fresh replication."""
        return self.fresh[self.routers(name)][measure or self.plan.objective]

    def estimate(self, name: str, measure: str | None = None) -> Estimate:
        """Return the mean of the objective, or another measure, on the fresh replications."""
        return stats.estimate(self.values(name, measure))

    def behind(self, name: str) -> Estimate:
        """Return by how much a choice is worse than the best found; paired."""
        return stats.paired(self.values(name), self.values(BEST))

    def share(self, name: str) -> Estimate:
        """Return the part of the best placement's gain over no router that a choice reaches.

        A ratio of means over replications, with the BCa interval of resampled replications; not-a-number where the
        best placement gains nothing that an interval tells.
        """
        none, best, ours = (self.values(each) for each in (NONE, BEST, name))
        if not stats.paired(none, best).excludes_zero:
            return Estimate(math.nan, None, None, none.size)
        if self.routers(name) == self.routers(BEST):
            return Estimate(1.0, 1.0, 1.0, none.size)

        def ratio(places: Floats) -> float:
            at = np.asarray(places, dtype=np.int64)
            gain = float((none - best)[at].mean())
            return float((none - ours)[at].mean()) / gain if gain else math.nan

        return stats.bootstrap(np.arange(none.size, dtype=np.float64), ratio)


@dataclass
class _Budget:
    """Placements that may still be simulated."""

    evaluator: Evaluator
    plan: Plan
    left: int
    tried: dict[Placement, float] = field(default_factory=dict)

    def scores(self, placements: Sequence[Placement]) -> list[float]:
        """Return the mean objective of placements; those beyond the budget are infinitely bad."""
        new = [each for each in dict.fromkeys(placements) if each not in self.tried][: max(self.left, 0)]
        self.left -= len(new)
        found = self.evaluator.values(new, range(self.plan.replications))
        for placement in new:
            self.tried[placement] = _mean(found[placement][self.plan.objective], self.plan)
        return [self.tried.get(placement, math.inf) for placement in placements]


def _mean(values: Floats, plan: Plan) -> float:
    if not np.isfinite(values).all():
        raise SojournError(
            f"a run has no {plan.objective}: nothing arrived after the warm-up; allowed: a longer --duration or "
            "more --flows"
        )
    return float(values.mean())


def search(
    case: Case,
    plan: Plan,
    *,
    jobs: int = 1,
    log: Path | None = None,
    tick: Callable[[int], None] = lambda _: None,
) -> Found:
    """Rank routers, search, and judge.

    1. Every centrality's first `budget` routers, and no router.
    2. Greedy: one router at a time, the one that helps most, among the candidates.
    3. Local search from the best so far: exchange one router for one candidate while that helps.
    4. On fresh replications: all of these, and every router.

    Candidates are the routers that send any traffic, by their mean rank over the centralities but ``random``, as many
    as greedy can try with 70 % of the `runs` that remain after the first step.

    Parameters
    ----------
    case
        Topology and traffic.
    plan
        What is searched for.
    jobs
        Number of threads; it changes no number.
    log
        A file of finished runs, so that an interrupted search resumes.
    tick
        Called with the number of runs that are done.

    Raises
    ------
    SojournError
        If the plan is impossible or a run fails.
    """
    plan.check(case)
    evaluator = Evaluator(case, plan.scheme, seed=plan.seed, jobs=jobs, log=log, tick=tick)
    ranked = rankings(case, plan.names)
    budget = _Budget(evaluator, plan, plan.runs // plan.replications)
    tops = {name: frozenset(order[: plan.budget]) for name, order in ranked.items()}
    budget.scores([frozenset(), *tops.values()])
    candidates = _candidates(case, ranked, plan.budget, budget.left)
    greedy, single = _greedy(budget, candidates, plan.budget)
    exhausted = _local(budget, candidates, single, plan.budget)
    full = {placement: score for placement, score in budget.tried.items() if len(placement) == plan.budget}
    # Equal means go to the routers with the lower indices, so that the answer does not depend on the order of trials.
    best = min(full, key=lambda placement: (full[placement], sorted(placement)))
    every = frozenset(range(len(case.topology.nodes)))
    choices = [Choice(NONE, frozenset()), *(Choice(name, top) for name, top in tops.items())]
    if len(greedy) == plan.budget:
        choices.append(Choice(GREEDY, greedy))
    choices += [Choice(BEST, best), Choice(EVERY, every)]
    fresh = evaluator.values(
        [choice.routers for choice in choices], range(plan.replications, plan.replications + plan.fresh)
    )
    for values in fresh.values():
        _mean(values[plan.objective], plan)
    return Found(case, plan, ranked, tuple(choices), fresh, budget.tried, candidates, exhausted, evaluator.runs)


def _candidates(case: Case, ranked: dict[str, list[int]], size: int, left: int) -> tuple[int, ...]:
    count = len(case.topology.nodes)
    ranks = np.zeros(count)
    for name, order in ranked.items():
        if name != "random":
            ranks[order] += np.arange(count)
    sends = np.zeros(count, dtype=bool)
    for (router, _), amount in case.offered.items():
        sends[router] |= amount > 0
    ordered = [int(k) for k in np.lexsort((np.arange(count), ranks)) if sends[k]]
    return tuple(ordered[: max(int(_GREEDY_SHARE * left / size), size + 1)])


def _greedy(budget: _Budget, candidates: Sequence[int], size: int) -> tuple[Placement, dict[int, float]]:
    """Add the router that helps most, one after another; also return every candidate's score alone."""
    chosen: Placement = frozenset()
    single: dict[int, float] = {}
    while len(chosen) < size:
        options = [k for k in candidates if k not in chosen]
        if not options or budget.left <= 0:
            break
        scores = budget.scores([chosen | {k} for k in options])
        single = single or dict(zip(options, scores, strict=True))
        chosen |= {options[int(np.argmin(scores))]}
    return chosen, single


def _local(budget: _Budget, candidates: Sequence[int], single: dict[int, float], size: int) -> bool:
    """Exchange one router while that helps, what promises most first; return whether no such exchange is left."""
    while True:
        full = {placement: score for placement, score in budget.tried.items() if len(placement) == size}
        here = min(full, key=lambda placement: (full[placement], sorted(placement)))
        score = full[here]
        outs = sorted(here, key=lambda k: (-single.get(k, math.inf), k))
        ins = sorted((k for k in candidates if k not in here), key=lambda k: (single.get(k, math.inf), k))
        neighbours = [here - {out} | {new} for new in ins for out in outs]
        untried = [each for each in neighbours if each not in budget.tried]
        for first in range(0, len(untried), _BATCH):
            if budget.left <= 0:
                return False
            if min(budget.scores(untried[first : first + _BATCH])) < score:
                break
        else:
            return True


def is_better(found: Found, name: str) -> bool:
    """Return whether a choice is significantly better on the fresh seeds than what the search took for the best."""
    if name not in {choice.name for choice in found.choices}:
        return False
    behind = found.behind(name)
    return behind.excludes_zero and behind.mean < 0


def unfinished(found: Found) -> float:
    """Return the share of transfers that did not end, over all judged placements."""
    return float(np.mean([values[UNFINISHED].mean() for values in found.fresh.values()]))
