"""A topology with traffic as an ordinary scenario document."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sojourn.base.core import Document, SojournError
from sojourn.base.units import from_ns
from sojourn.studies.topology import routing
from sojourn.studies.topology.model import Topology
from sojourn.studies.topology.routing import Route
from sojourn.studies.topology.traffic import Demands, apportion

TCP: Final = ("bulk", "transfers")
UDP_PAYLOAD: Final = 1000
_UDP_HEADER: Final = 28
_FRAME: Final = 1500
_SEGMENT: Final = 1448
_OFFERED: Final = 0.8
"""Transfers start in this first share of the run, so that the last ones can end."""
_SPREAD_NS: Final = 1_000_000_000
MOST_FLOWS: Final = 100_000


@dataclass(frozen=True)
class Case:
    """A topology with its traffic.

    Parameters
    ----------
    topology
        With every rate and delay.
    document
        The scenario, with the base scheme in every queue and none under test.
    tcp, udp
        Number of flows by (from, to).
    routes
        Of every pair that has flows.
    rates
        In bit/s of each direction of each link, by (from, to).
    offered
        Traffic in bit/s, likewise.
    flow_bit_s
        What one flow stands for.
    words
        How it was made, a sentence each.
    """

    topology: Topology
    document: Document
    tcp: Mapping[tuple[int, int], int]
    udp: Mapping[tuple[int, int], int]
    routes: Mapping[tuple[int, int], Route]
    rates: Mapping[tuple[int, int], int]
    offered: Mapping[tuple[int, int], float]
    flow_bit_s: float
    words: tuple[str, ...]

    def utilisation(self, way: tuple[int, int]) -> float:
        """Return offered traffic over capacity of one direction of a link."""
        return self.offered[way] / self.rates[way]

    def placed(self, routers: Collection[int], scheme: str) -> Document:
        """Return the scenario with `scheme` in all output queues of `routers`."""
        return self._marked(routers, {"queue": scheme})

    def under_test(self, routers: Collection[int]) -> Document:
        """Return the scenario with all output queues of `routers` under test."""
        return self._marked(routers, {"under_test": True})

    def _marked(self, routers: Collection[int], keys: Mapping[str, Any]) -> Document:
        links = []
        for table, link in zip(self.document["links"], self.topology.links, strict=True):
            ways = [way for way, end in zip(("", "reverse_"), link.ends, strict=True) if end in routers]
            links.append({**table, **{f"{way}{key}": value for way in ways for key, value in keys.items()}})
        return {**self.document, "links": links}


def build(
    topology: Topology,
    wanted: Demands,
    *,
    routes: Mapping[tuple[int, int], Route] | None = None,
    metric: str = "delay",
    load: float = 0.9,
    flows: int = 100,
    udp: float = 0.2,
    tcp: str = "bulk",
    base: str = "pfifo",
    buffer_ns: int = 100_000_000,
    duration_ns: int = 12_000_000_000,
    warm_up_ns: int = 4_000_000_000,
    seed: int = 1,
) -> Case:
    """Turn demands into flows on a topology.

    `flows` flows in total represent the demands, each the same part of them. A pair of routers has as many flows as
    its share of the demands (:func:`~sojourn.studies.topology.traffic.apportion`). Traffic is then scaled so that the
    busiest direction of a link is offered `load` times its capacity.

    A share `udp` of the flows is UDP (Poisson, packets of 1028 B). The others are TCP. ``bulk`` flows send as fast as
    they can and start in the first second. ``transfers`` all have the same size, which follows from their part of the
    load, and start at random in the first 80 % of the run. Flows begin and end in the routers themselves, without
    hosts.

    Parameters
    ----------
    topology
        With every rate and delay: :func:`~sojourn.studies.topology.fill.fill`.
    wanted
        Demands in any unit by (from, to).
    routes
        Given routes; other pairs go by the shortest path.
    metric
        What is shortest: ``hops``, ``delay`` or ``weight``.
    load
        Of the busiest direction of a link, above 0.
    flows
        Number of flows, UDP ones included.
    udp
        Share of UDP flows, 0 to 1.
    tcp
        ``bulk`` or ``transfers``.
    base
        Scheme of every queue. ``pfifo`` without a limit holds what its link sends in `buffer_ns` in full packets.
    buffer_ns
        See `base`.
    duration_ns, warm_up_ns
        Of a run.
    seed
        Of the apportioning; not of the runs.

    Raises
    ------
    SojournError
        If an option is impossible.
    """
    _check(load, flows, udp, tcp)
    numbers = {"tcp": flows - round(flows * udp), "udp": round(flows * udp)}
    counts = {
        kind: apportion(wanted, number, seed + place) if number else {}
        for place, (kind, number) in enumerate(numbers.items())
    }
    pairs = sorted({*counts["tcp"], *counts["udp"]})
    given = {pair: routes[pair] for pair in pairs if routes and pair in routes}
    ways = {**routing.shortest(topology, [pair for pair in pairs if pair not in given], metric), **given}
    both = {pair: counts["tcp"].get(pair, 0) + counts["udp"].get(pair, 0) for pair in pairs}
    crossing = routing.loads(topology, ways, both)
    rates = {way: link.rate_bit_s or 1 for link in topology.links for way in (link.ends, link.ends[::-1])}
    flow_bit_s = load / max(number / rates[way] for way, number in crossing.items())
    document: Document = {
        "name": topology.name.strip() or "topology",
        "description": f"{topology.name}: {len(topology.nodes)} routers, {len(topology.links)} links, {flows} flows",
        "duration": str(from_ns(duration_ns)),
        "warm_up": str(from_ns(warm_up_ns)),
        "nodes": [{"name": node.name} for node in topology.nodes],
        "links": _links(topology, base, buffer_ns),
        "flows": _flows(topology, counts, ways, flow_bit_s, tcp, duration_ns),
    }
    busiest = max(crossing, key=lambda way: crossing[way] / rates[way])
    names = " -> ".join(topology.nodes[end].name for end in busiest)
    words = (
        f"{numbers['tcp']} TCP flows ({tcp}) and {numbers['udp']} UDP flows between {len(pairs)} of {len(wanted)} "
        f"pairs with a demand; each stands for {flow_bit_s / 1e6:.3g} Mbit/s",
        f"the busiest link, {names}, is offered {load:g} times its capacity",
        f"{len(given)} routes given, {len(pairs) - len(given)} by the shortest path ({metric})",
    )
    offered = {way: number * flow_bit_s for way, number in crossing.items()}
    return Case(topology, document, counts["tcp"], counts["udp"], ways, rates, offered, flow_bit_s, words)


def _check(load: float, flows: int, udp: float, tcp: str) -> None:
    if not (math.isfinite(load) and 0 < load <= 100):
        raise SojournError(f"--load is {load}; allowed: above 0, up to 100 times the busiest link's capacity")
    if not 1 <= flows <= MOST_FLOWS:
        raise SojournError(f"--flows is {flows}; allowed: 1 to {MOST_FLOWS}")
    if not 0 <= udp <= 1:
        raise SojournError(f"--udp is {udp}; allowed: a share from 0 to 1")
    if tcp not in TCP:
        raise SojournError(f"--tcp is {tcp!r}; allowed: {', '.join(TCP)}")


def _links(topology: Topology, base: str, buffer_ns: int) -> list[Document]:
    tables = []
    for number, link in enumerate(topology.links):
        rate = link.rate_bit_s or 0
        queue = base
        if base == "pfifo":
            queue = f"pfifo limit {max(math.ceil(rate * buffer_ns / 1e9 / (8 * _FRAME)), 2)}p"
        a, b = (topology.nodes[end].name for end in link.ends)
        tables.append(
            {
                "name": f"link{number}",
                "from": a,
                "to": b,
                "rate": _rate(rate),
                "delay": str(from_ns(link.delay_ns or 0)),
                "queue": queue,
                "reverse_queue": queue,
            }
        )
    return tables


def _flows(
    topology: Topology,
    counts: Mapping[str, Mapping[tuple[int, int], int]],
    routes: Mapping[tuple[int, int], Route],
    flow_bit_s: float,
    tcp: str,
    duration_ns: int,
) -> list[Document]:
    datagrams = {
        "kind": "poisson",
        "rate": f"{max(round(flow_bit_s * UDP_PAYLOAD / (UDP_PAYLOAD + _UDP_HEADER)), 1)} bit/s",
        "packet_size": f"{UDP_PAYLOAD} B",
    }
    offered_ns = round(duration_ns * _OFFERED)
    until_ns = offered_ns if tcp == "transfers" else min(_SPREAD_NS, duration_ns // 10)
    start = {"uniform": ["0 s", str(from_ns(until_ns))]}
    carried: Document = {"kind": "bulk"}
    if tcp == "transfers":
        size = max(round(flow_bit_s / 8 * offered_ns / 1e9 * _SEGMENT / _FRAME), 1)
        carried = {"kind": "transfer", "size": f"{size} B"}
    tables = []
    for kind, by_pair in counts.items():
        for (a, b), number in by_pair.items():
            table: dict[str, Any] = {
                "name": f"{kind}-{topology.nodes[a].name}-{topology.nodes[b].name}",
                "from": topology.nodes[a].name,
                "to": topology.nodes[b].name,
                "count": number,
                "start": start,
                "traffic": carried if kind == "tcp" else datagrams,
            }
            if len(routes[a, b]) > 2:
                table["route"] = [topology.nodes[k].name for k in routes[a, b][1:-1]]
            if kind == "udp":
                table["transport"] = {"kind": "udp"}
                table["start"] = "0 s"
            tables.append(table)
    return tables


def _rate(rate_bit_s: int) -> str:
    for size, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if rate_bit_s % size == 0:
            return f"{rate_bit_s // size} {unit}"
    return f"{rate_bit_s} bit/s"
