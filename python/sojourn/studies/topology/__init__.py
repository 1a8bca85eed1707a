r"""Real topologies as scenarios: reading, filling gaps, routing, demands.

>>> from sojourn.studies import topology
>>> net = topology.parse("a, b, 10 Mbit/s, 5 ms\nb, c, 10 Mbit/s, 5 ms", source="line.csv")
>>> case = topology.build(topology.fill(net), {(0, 2): 1.0}, flows=4, load=0.5)
>>> case.routes[0, 2], case.utilisation((1, 2))
((0, 1, 2), 0.5)
"""

from sojourn.studies.topology.case import Case, build
from sojourn.studies.topology.fill import fill
from sojourn.studies.topology.model import Link, Node, Topology, distance_km
from sojourn.studies.topology.read import load, parse
from sojourn.studies.topology.routing import loads, read_routes, shortest
from sojourn.studies.topology.traffic import apportion, demands

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
