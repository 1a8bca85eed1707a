"""Routes of traffic: shortest paths, or given routes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sojourn.base import foreign
from sojourn.base.core import SojournError
from sojourn.studies.topology.model import Topology

METRICS: Final = ("hops", "delay", "weight")
Route = tuple[int, ...]
"""Routers from the first to the last."""


def shortest(
    topology: Topology, pairs: Iterable[tuple[int, int]], metric: str = "delay"
) -> dict[tuple[int, int], Route]:
    """Return the shortest path of each pair of routers.

    Among equally short ways the next router with the lowest index wins, as in the simulator.

    Parameters
    ----------
    topology
        With delays where `metric` is ``delay``.
    pairs
        From and to.
    metric
        ``hops``, ``delay`` (propagation), or ``weight`` (as the source gives it).

    Raises
    ------
    SojournError
        If a link lacks the weight.
    """
    costs = _costs(topology, metric)
    count = len(topology.nodes)
    ends = np.array([link.ends for link in topology.links], dtype=np.int64)
    rows = np.concatenate([ends[:, 0], ends[:, 1]])
    columns = np.concatenate([ends[:, 1], ends[:, 0]])
    matrix = csr_array((np.concatenate([costs, costs]), (rows, columns)), shape=(count, count))
    neighbours = [matrix.indices[matrix.indptr[k] : matrix.indptr[k + 1]] for k in range(count)]
    wanted = sorted(set(pairs), key=lambda pair: (pair[1], pair[0]))
    routes: dict[tuple[int, int], Route] = {}
    at_end, distance = -1, np.empty(0)
    ahead: dict[int, int] = {}
    for start, end in wanted:
        if end != at_end:
            # One search for each destination: it tells every router's distance to it.
            at_end, distance, ahead = end, np.ravel(dijkstra(matrix, directed=False, indices=np.array([end]))), {}
        route = [start]
        while route[-1] != end:
            here = route[-1]
            if here not in ahead:
                around = neighbours[here]
                through = distance[around] + matrix.data[matrix.indptr[here] : matrix.indptr[here + 1]]
                # Costs are whole numbers or weights as given; sums of the latter differ in the last digits.
                ahead[here] = int(around[through <= through.min() * (1 + 1e-12)].min())
            route.append(ahead[here])
        routes[start, end] = tuple(route)
    return routes


def _costs(topology: Topology, metric: str) -> NDArray[np.float64]:
    if metric not in METRICS:
        raise SojournError(f"--routing is {metric!r}; allowed: {', '.join(METRICS)}")
    if metric == "hops":
        return np.ones(len(topology.links))
    values = [link.delay_ns if metric == "delay" else link.weight for link in topology.links]
    for link, value in zip(topology.links, values, strict=True):
        if value is None:
            a, b = (topology.nodes[end].name for end in link.ends)
            raise SojournError(f"{topology.name}: the link {a} - {b} has no {metric}, which --routing {metric} needs")
    return np.array(values, dtype=np.float64)


def read_routes(path: str | Path, topology: Topology) -> dict[tuple[int, int], Route]:
    """Read routes from a file: a line is the routers of one route, with commas between; ``#`` begins a comment.

    A router or a link that is not there, and a route that comes twice, are refused.
    """
    try:
        text = foreign.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SojournError(f"cannot read the routes {str(path)!r}: {error}") from None
    linked = {link.ends for link in topology.links}
    routes: dict[tuple[int, int], Route] = {}
    for line, row in enumerate(text.splitlines(), 1):
        names = [name.strip() for name in row.partition("#")[0].split(",")]
        if names == [""]:
            continue
        where = f"{path}, line {line}:"
        try:
            route = tuple(topology.index(name) for name in names)
        except SojournError as error:
            raise SojournError(f"{where} {error}") from None
        if len(route) < 2 or len(set(route)) < len(route):
            raise SojournError(f"{where} {row.strip()!r}; allowed: two routers or more, each once")
        for a, b in pairwise(route):
            if (min(a, b), max(a, b)) not in linked:
                raise SojournError(
                    f"{where} no link {topology.nodes[a].name} - {topology.nodes[b].name}; allowed: steps along links"
                )
        if (route[0], route[-1]) in routes:
            raise SojournError(f"{where} a second route from {names[0]} to {names[-1]}; allowed: one")
        routes[route[0], route[-1]] = route
    return routes


def loads(
    topology: Topology, routes: Mapping[tuple[int, int], Route], traffic: Mapping[tuple[int, int], float]
) -> dict[tuple[int, int], float]:
    """Return the traffic on each direction of each link, by (from, to), in the unit of `traffic`."""
    found = {way: 0.0 for a, b in (link.ends for link in topology.links) for way in ((a, b), (b, a))}
    for pair, amount in traffic.items():
        for step in pairwise(routes[pair]):
            found[step] += amount
    return found
