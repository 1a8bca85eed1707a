"""Topologies: routers with places, links with rates and delays, demands between routers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Final

from sojourn.base import suggest
from sojourn.base.core import SojournError

EARTH_RADIUS_KM: Final = 6371.0088
"""Mean radius (IUGG)."""
SPEED_KM_S: Final = 299_792.458 * 2 / 3
"""Of light in fibre: two thirds of that in vacuum."""


@dataclass(frozen=True, slots=True)
class Node:
    """A router.

    Parameters
    ----------
    name
        As a scenario takes it: letters, digits, ``_`` and ``-``, not digits alone.
    label
        As the source calls it.
    longitude, latitude
        In degrees, or x and y where the topology is not geographic; None where the source does not say.
    """

    name: str
    label: str
    _: KW_ONLY
    longitude: float | None = None
    latitude: float | None = None

    @property
    def is_placed(self) -> bool:
        """Whether its place is known."""
        return self.longitude is not None and self.latitude is not None


@dataclass(frozen=True, slots=True)
class Link:
    """A full-duplex link between two routers.

    Parameters
    ----------
    ends
        Indices of its routers.
    rate_bit_s
        In each direction; None where the source does not say.
    delay_ns
        Propagation, one way; None where the source does not say.
    weight
        For routing, above 0; None where the source does not say.
    """

    ends: tuple[int, int]
    _: KW_ONLY
    rate_bit_s: int | None = None
    delay_ns: int | None = None
    weight: float | None = None


@dataclass(frozen=True)
class Topology:
    """Routers and the links between them, connected, one link at most between two routers.

    Parameters
    ----------
    name
        What scenarios and reports call it.
    nodes, links
        The routers and the links.
    demands
        Traffic from router i to router j by (i, j), in any unit; empty where the source has none.
    is_geographic
        Whether places are longitudes and latitudes, and not points of a drawing.
    notes
        What was changed on the way in, a sentence each.
    """

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    demands: Mapping[tuple[int, int], float] = field(default_factory=dict)
    is_geographic: bool = True
    notes: tuple[str, ...] = ()

    def index(self, name: str) -> int:
        """Return the index of a router, by name or by label.

        Raises
        ------
        SojournError
            If there is none of that name, or the label is that of several.
        """
        found = [k for k, node in enumerate(self.nodes) if node.name == name]
        found = found or [k for k, node in enumerate(self.nodes) if node.label == name]
        if len(found) == 1:
            return found[0]
        shown = ", ".join(node.name for node in self.nodes[:12])
        more = len(self.nodes) - 12
        allowed = f"{shown} and {more} more" if more > 0 else shown
        what = "several routers are called" if found else "there is no router"
        names = [text for node in self.nodes for text in (node.name, node.label) if text]
        meant = "" if found else suggest.hint(name, names)
        raise SojournError(f"{self.name}: {what} {name!r}{meant}; allowed: {allowed}")

    def distance_km(self, link: Link) -> float | None:
        """Return the great-circle distance of a link's ends, None where it is not known."""
        return distance_km(*(self.nodes[end] for end in link.ends)) if self.is_geographic else None

    def degrees(self) -> list[int]:
        """Return how many links each router has."""
        counts = [0] * len(self.nodes)
        for link in self.links:
            for end in link.ends:
                counts[end] += 1
        return counts

    def with_notes(self, notes: Iterable[str]) -> Topology:
        """Return the topology with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def assemble(
    name: str,
    nodes: Sequence[Node],
    links: Iterable[Link],
    demands: Mapping[tuple[int, int], float] | None = None,
) -> Topology:
    """Make a topology from a file: without loops, with parallel links merged, and only its largest connected part.

    Parallel links become one with the sum of their rates (where all are known) and the least delay and weight.

    Raises
    ------
    SojournError
        If fewer than two routers remain.
    """
    notes = []
    merged: dict[tuple[int, int], Link] = {}
    loops = parallel = 0
    for link in links:
        ends = (min(link.ends), max(link.ends))
        if ends[0] == ends[1]:
            loops += 1
            continue
        if ends in merged:
            parallel += 1
            link = _together(merged[ends], link)  # noqa: PLW2901 - the link that both make
        merged[ends] = replace(link, ends=ends)
    if loops:
        notes.append(f"{loops} link{'s' * (loops > 1)} from a router to itself left out")
    if parallel:
        notes.append(f"{parallel} parallel link{'s' * (parallel > 1)} joined with the first of the same two routers")
    if not nodes:
        raise SojournError(f"{name}: has no router; allowed: at least one link between two routers")
    kept = _largest_part(len(nodes), merged)
    if len(kept) < len(nodes):
        notes.append(f"{len(nodes) - len(kept)} routers not connected with the largest part left out")
    if len(kept) < 2:
        raise SojournError(f"{name}: no two routers are linked; allowed: at least one link between two routers")
    place = {old: new for new, old in enumerate(kept)}
    return Topology(
        name=name,
        nodes=_named([nodes[old] for old in kept]),
        links=tuple(
            replace(link, ends=(place[a], place[b])) for (a, b), link in merged.items() if a in place and b in place
        ),
        demands={
            (place[a], place[b]): value
            for (a, b), value in (demands or {}).items()
            if a in place and b in place and a != b and value > 0
        },
        notes=tuple(notes),
    )


def _together(first: Link, second: Link) -> Link:
    def least(a: float | None, b: float | None) -> float | None:
        return b if a is None else a if b is None else min(a, b)

    known = first.rate_bit_s is not None and second.rate_bit_s is not None
    delay = least(first.delay_ns, second.delay_ns)
    return Link(
        first.ends,
        rate_bit_s=(first.rate_bit_s or 0) + (second.rate_bit_s or 0) if known else None,
        delay_ns=None if delay is None else int(delay),
        weight=least(first.weight, second.weight),
    )


def _largest_part(count: int, links: Iterable[tuple[int, int]]) -> list[int]:
    """Return the nodes of the largest connected part, in their order; of equal parts the one with the first node."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = np.array([*links], dtype=np.int64).reshape(-1, 2)
    matrix = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    _, labels = connected_components(matrix, directed=False)
    return [int(k) for k in np.flatnonzero(labels == np.bincount(labels).argmax())]


def _named(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Give each router a unique name that a scenario accepts, as similar to its label as possible."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    named = []
    for node in nodes:
        base = re.sub(r"\W+", "_", node.label).strip("_") or "router"
        base = f"r{base}" if re.fullmatch(r"[0-9]+", base) else base
        name = base
        while name in taken:
            # Counted on from the last of this name: thousands of routers may share one.
            numbers[base] = numbers.get(base, 1) + 1
            name = f"{base}_{numbers[base]}"
        taken.add(name)
        named.append(replace(node, name=name))
    return tuple(named)


def distance_km(a: Node, b: Node) -> float | None:
    """Return the great-circle distance of two routers (haversine), None where a place is not known.

    Examples
    --------
    >>> a, b = (Node("", "", longitude=degrees, latitude=0.0) for degrees in (0.0, 90.0))
    >>> round(distance_km(a, b))  # a quarter of the equator
    10008
    """
    if a.longitude is None or a.latitude is None or b.longitude is None or b.latitude is None:
        return None
    phi1, phi2 = math.radians(a.latitude), math.radians(b.latitude)
    half_phi, half_lambda = (phi2 - phi1) / 2, math.radians(b.longitude - a.longitude) / 2
    h = math.sin(half_phi) ** 2 + math.cos(phi1) * math.cos(phi2) * math.sin(half_lambda) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(h, 1.0)))
