"""Rules for rates and delays that a source does not give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sojourn.base import extras
from sojourn.base.core import SojournError
from sojourn.studies.topology.model import SPEED_KM_S, Topology

RULES: Final = ("uniform", "degree", "betweenness")
MOST_CLASS: Final = 16
"""The fastest link of a rule has this many times the slowest one's rate."""
_LEAST_DELAY_NS: Final = 10_000


def fill(
    topology: Topology,
    *,
    capacity_bit_s: int | None = None,
    rule: str = "uniform",
    scale: float = 1.0,
    delay_ns: int | None = None,
) -> Topology:
    """Give every link a rate and a delay.

    Rates that the source gives are multiplied by `scale` (a backbone of 10 Gbit/s is simulated at a thousandth).
    The others follow from `capacity_bit_s` (c) by `rule`:

    ``uniform``
        c for every link.
    ``degree``, ``betweenness``
        c times a power of two, at most 16: the one next to sqrt(q / least q), where q is the product of the
        degrees of the link's ends, or the link's betweenness (shortest paths by hops).

    Delays that the source does not give follow from the great circle between the ends at two thirds of the speed of
    light, 10 us at least; where a place is not known the delay is `delay_ns`.

    Parameters
    ----------
    topology
        What to fill.
    capacity_bit_s
        For rates that are missing; None refuses them.
    rule
        One of :data:`RULES`.
    scale
        Of given rates.
    delay_ns
        Where neither delay nor places are known; None refuses them.

    Raises
    ------
    SojournError
        If a rate or a delay is missing and nothing says what to take.
    """
    missing = [link for link in topology.links if link.rate_bit_s is None]
    if missing and capacity_bit_s is None:
        a, b = (topology.nodes[end].name for end in missing[0].ends)
        raise SojournError(
            f"{topology.name}: {len(missing)} of {len(topology.links)} links have no speed (the first is {a} - {b}); "
            '--capacity fills them, as in --capacity "20 Mbit/s"'
        )
    if rule not in RULES:
        raise SojournError(f"--capacity-rule is {rule!r}; allowed: {', '.join(RULES)}")
    if not (math.isfinite(scale) and scale > 0):
        raise SojournError(f"--scale is {scale}; allowed: a number above 0, as in 0.001")
    classes = _classes(topology, rule) if missing else [1] * len(topology.links)
    links, by_distance, by_default = [], 0, 0
    for link, factor in zip(topology.links, classes, strict=True):
        rate = (capacity_bit_s or 0) * factor if link.rate_bit_s is None else round(link.rate_bit_s * scale)
        delay = link.delay_ns
        if delay is None:
            km = topology.distance_km(link)
            if km is not None:
                # Whole microseconds: they read well in a scenario.
                delay = max(round(km / SPEED_KM_S * 1e6) * 1000, _LEAST_DELAY_NS)
                by_distance += 1
            elif delay_ns is not None:
                delay = delay_ns
                by_default += 1
            else:
                a, b = (topology.nodes[end].name for end in link.ends)
                raise SojournError(
                    f"{topology.name}: the link {a} - {b} has no delay and its ends no places; --delay fills it, "
                    'as in --delay "5 ms"'
                )
        links.append(replace(link, rate_bit_s=max(rate, 1), delay_ns=delay))
    notes = []
    if missing:
        notes.append(f"{len(missing)} of {len(links)} link speeds filled by the rule `{rule}`")
    if by_distance:
        notes.append(f"{by_distance} link delays from great-circle distances at two thirds of the speed of light")
    if by_default:
        notes.append(f"{by_default} link delays filled by --delay")
    return replace(topology, links=tuple(links)).with_notes(notes)


def _classes(topology: Topology, rule: str) -> list[int]:
    """Return a power of two for each link."""
    if rule == "uniform":
        return [1] * len(topology.links)
    values: Sequence[float]
    if rule == "degree":
        degrees = topology.degrees()
        values = [degrees[link.ends[0]] * degrees[link.ends[1]] for link in topology.links]
    else:
        values = _edge_betweenness(topology)
    least = min(values)
    # Halves go up; log2 is exact where the ratio is a power of two.
    return [min(2 ** math.floor(math.log2(value / least) / 2 + 0.5), MOST_CLASS) for value in values]


def _edge_betweenness(topology: Topology) -> list[float]:
    rx = extras.need("--capacity-rule betweenness", "rustworkx", "place")
    graph = rx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(len(topology.nodes)))
    graph.add_edges_from([(*link.ends, None) for link in topology.links])
    found = rx.graph_edge_betweenness_centrality(graph, normalized=False)
    return [found[edge] for edge in range(len(topology.links))]
