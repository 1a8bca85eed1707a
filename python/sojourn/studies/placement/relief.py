"""A rule of placement that needs no simulation: the queues that bulk TCP fills, and what a scheme does to them.

Bulk TCP fills the buffers of the links that limit it. With data in one direction of a link, its queue is nearly full.
With data in both, the queues of the two directions rise and fall by turns, because the acknowledgements of one wait
among the data of the other (Zhang, Shenker and Clark, SIGCOMM 1991): both together hold little more than half of a
buffer. A scheme in one of them keeps that one short, and the other then rises. So a router whose links carry data in
one direction gains more than one in the middle of the network, and two neighbours gain more together than apart.

The shares of a buffer below were measured on the development topologies of ``docs/rule.toml``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Final, TypeAlias

from sojourn.studies.topology.case import Case

Direction: TypeAlias = tuple[int, int]

_ALONE: Final = 0.85
"""Mean queue, as a share of the buffer, of tail drop where the other direction has no TCP data."""
_BOTH: Final = 0.66
"""Of tail drop in both directions together; each has a part in proportion to its TCP flows."""
_OPPOSITE: Final = 0.5
"""Of tail drop where the other direction has the scheme."""
_SHORT: Final = 0.1
"""Of the scheme."""
_FULL: Final = 0.999
_MOST: Final = 20_000
"""Placements that are compared one by one; beyond them, routers are added one after another."""


def allocation(case: Case) -> dict[Direction, float]:
    """Return traffic over capacity of every direction of a link, with the bulk TCP flows at max-min fair rates.

    UDP flows have what they send. The rates of TCP flows grow together until a link of theirs is full (progressive
    filling, Bertsekas and Gallager 1992, section 6.5.2).
    """
    used = dict.fromkeys(case.rates, 0.0)
    for pair, count in case.udp.items():
        for way in itertools.pairwise(case.routes[pair]):
            used[way] += count * case.flow_bit_s
    growing = {pair for pair, count in case.tcp.items() if count}
    # Bound: a round stops the flows of one link at least.
    while growing:
        flows = dict.fromkeys(case.rates, 0)
        for pair in growing:
            for way in itertools.pairwise(case.routes[pair]):
                flows[way] += case.tcp[pair]
        step = min(max(case.rates[way] - used[way], 0.0) / count for way, count in flows.items() if count)
        for way, count in flows.items():
            used[way] += count * step
        full = {way for way, count in flows.items() if count and used[way] >= _FULL * case.rates[way]}
        growing = {pair for pair in growing if full.isdisjoint(itertools.pairwise(case.routes[pair]))}
    return {way: used[way] / case.rates[way] for way in used}


@dataclass(frozen=True)
class Relief:
    """The number of flows on each full direction of a link, those that are TCP, and the routers with a full link."""

    flows: Mapping[Direction, int]
    tcp: Mapping[Direction, int]
    routers: tuple[int, ...]

    @classmethod
    def of(cls, case: Case) -> Relief:
        """Find the full links of a case, and their flows."""
        loads = allocation(case)
        flows: dict[Direction, int] = {}
        tcp: dict[Direction, int] = {}
        for counts, is_tcp in ((case.tcp, True), (case.udp, False)):
            for pair, count in counts.items():
                for way in itertools.pairwise(case.routes[pair]):
                    if loads[way] >= _FULL:
                        flows[way] = flows.get(way, 0) + count
                        tcp[way] = tcp.get(way, 0) + (count if is_tcp else 0)
        return cls(flows, tcp, tuple(sorted({way[0] for way in flows})))

    def delay(self, routers: frozenset[int]) -> float:
        """Return the queues that all flows meet, in buffers, with the scheme in `routers`.

        Divided by the number of flows and times a buffer's time, this is the mean over flows of their queueing delay.
        """
        return sum(count * self._queue(way, routers) for way, count in self.flows.items())

    def _queue(self, way: Direction, routers: frozenset[int]) -> float:
        ours, theirs = self.tcp[way], self.tcp.get(way[::-1], 0)
        if way[0] in routers:
            return _SHORT
        if not theirs:
            return _ALONE
        if way[1] in routers:
            return _OPPOSITE
        return _BOTH * ours / (ours + theirs)


def choose(case: Case, budget: int) -> frozenset[int]:
    """Return the routers with which the rule expects the least delay; of equals, those with the lower indices.

    Of the case only links, routes and numbers of flows are read.
    """
    of = Relief.of(case)
    others = [router for router in range(len(case.topology.nodes)) if router not in of.routers]
    candidates = [*of.routers, *others][: max(budget, len(of.routers))]

    def order(placement: frozenset[int]) -> tuple[float, list[int]]:
        return round(of.delay(placement), 9), sorted(placement)

    if comb(len(candidates), budget) <= _MOST:
        return min(map(frozenset, itertools.combinations(candidates, budget)), key=order)
    chosen: frozenset[int] = frozenset()
    while len(chosen) < budget:
        chosen = min((chosen | {router} for router in candidates if router not in chosen), key=order)
    return chosen
