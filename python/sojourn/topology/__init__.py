r"""Real topologies as scenarios: reading, filling gaps, routing, demands.

>>> from sojourn import topology
>>> net = topology.parse("a, b, 10 Mbit/s, 5 ms\nb, c, 10 Mbit/s, 5 ms", source="line.csv")
>>> case = topology.build(topology.fill(net), {(0, 2): 1.0}, flows=4, load=0.5)
>>> case.routes[0, 2], case.utilisation((1, 2))
((0, 1, 2), 0.5)
"""

from sojourn.topology.case import Case, build
from sojourn.topology.fill import fill
from sojourn.topology.model import Link, Node, Topology, distance_km
from sojourn.topology.read import load, parse
from sojourn.topology.routing import loads, read_routes, shortest
from sojourn.topology.traffic import apportion, demands

__all__ = [
    "Case",
    "Link",
    "Node",
    "Topology",
    "apportion",
    "build",
    "demands",
    "distance_km",
    "fill",
    "load",
    "loads",
    "parse",
    "read_routes",
    "shortest",
]
