"""The pictures of a placement: the map with the chosen routers, and every choice's value with its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize

from sojourn.base import extras
from sojourn.studies.placement.search import BEST, EVERY, NONE, Found
from sojourn.studies.topology.model import Topology
from sojourn.view import charts
from sojourn.view.palette import INK, MUTED, PAPER, RULE
from sojourn.view.plot import WIDTH, Picture, label_spots, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHOSEN: Final = charts.CHOSEN
_MOST_LABELS: Final = 30
# The dark part alone: thin yellow lines are not seen on white.
_COLORS: Final = ListedColormap(mpl.colormaps["viridis_r"](np.linspace(0.45, 1.0, 128)))


def is_placed(topology: Topology) -> bool:
    """Whether every router's place is known."""
    return all(node.is_placed for node in topology.nodes)


def is_map(topology: Topology) -> bool:
    """Whether every router's place on the Earth is known, so that the picture is a map."""
    return is_placed(topology) and topology.is_geographic


def places(topology: Topology) -> dict[int, tuple[float, float]]:
    """Return where each router is drawn: where the source says, or by a layout of springs where it does not.

    Longitudes turn about the widest gap between routers, so that a network across the Pacific stays in one piece.
    """
    if not is_placed(topology):
        nx = extras.need("the picture of routers without places", "networkx", "place")
        graph = nx.Graph([link.ends for link in topology.links])
        found = nx.spring_layout(graph, seed=1, iterations=100 if len(topology.nodes) <= 1000 else 20)
        return {int(k): (float(x), float(y)) for k, (x, y) in sorted(found.items())}
    if not topology.is_geographic:
        return {k: (node.longitude or 0.0, node.latitude or 0.0) for k, node in enumerate(topology.nodes)}
    east = sorted((node.longitude or 0.0) % 360 for node in topology.nodes)
    gaps = [(after - before) % 360 for before, after in zip(east, [*east[1:], east[0]], strict=True)]
    start = east[(int(np.argmax(gaps)) + 1) % len(east)]
    longitudes = [start + ((node.longitude or 0.0) - start) % 360 for node in topology.nodes]
    # Back to the usual numbers, as far as they stay in one piece.
    turn = 360.0 if min(longitudes) >= 180 else 0.0
    return {
        k: (x - turn, node.latitude or 0.0)
        for k, (x, node) in enumerate(zip(longitudes, topology.nodes, strict=True))
    }


def network(found: Found, name: str = BEST) -> Picture:
    """Draw routers and links, each link in the colour of its busier direction, the chosen routers marked."""
    with new_figure(WIDTH, 5.6) as figure:
        axes = figure.add_subplot()
        draw(axes, found, name, has_bar=True)
        topology = found.case.topology
        spots = places(topology)
        chosen = found.routers(name)
        shown = sorted(chosen) if len(topology.nodes) > _MOST_LABELS else range(len(topology.nodes))
        label_spots(figure, axes, {topology.nodes[k].label: spots[k] for k in shown})
    return figure


def draw(axes: Axes, found: Found, name: str = BEST, *, has_bar: bool = False, size: float = 1.0) -> None:
    """Draw a topology into axes; see :func:`network`."""
    case, topology = found.case, found.case.topology
    spots = places(topology)
    loads = [max(case.utilisation(link.ends), case.utilisation(link.ends[::-1])) for link in topology.links]
    order = np.argsort(loads, kind="stable")
    norm = Normalize(0.0, max(*loads, 1e-9))
    lines = LineCollection(
        [[spots[end] for end in topology.links[k].ends] for k in order],
        colors=[_COLORS(norm(loads[k])) for k in order],
        linewidths=[(0.8 + 2.4 * norm(loads[k])) * size for k in order],
        zorder=1,
    )
    axes.add_collection(lines)
    chosen = found.routers(name)
    others = [k for k in range(len(topology.nodes)) if k not in chosen]
    dot = (26 if len(topology.nodes) <= 60 else 9) * size**2
    plain, marked = (np.array([spots[k] for k in group]) for group in (others, sorted(chosen)))
    axes.scatter(plain[:, 0], plain[:, 1], s=dot, color=PAPER, edgecolors=MUTED, zorder=2)
    axes.scatter(
        marked[:, 0],
        marked[:, 1],
        s=210 * size**2,
        marker="*",
        color=CHOSEN,
        edgecolors=INK,
        linewidths=0.7 * size,
        zorder=3,
    )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.margins(0.09)
    axes.autoscale_view()
    if is_map(topology):
        # A degree of longitude is shorter by the cosine of the latitude.
        middle = np.mean([y for _, y in spots.values()])
        axes.set_aspect(1 / max(math.cos(math.radians(float(middle))), 0.2), adjustable="datalim")
    else:
        axes.set_aspect("equal", adjustable="datalim")
    if has_bar:
        shades = mpl.cm.ScalarMappable(norm, _COLORS)
        bar = axes.figure.colorbar(shades, ax=axes, shrink=0.6, pad=0.02)
        bar.set_label("offered traffic over capacity, busier direction")
        bar.outline.set_visible(False)


def values(found: Found) -> Picture:
    """Draw the objective of every choice on the fresh replications, with its interval."""
    objective = found.objective
    names = sorted((choice.name for choice in found.choices), key=lambda name: found.estimate(name).mean)
    with charts.panels(1, 1, 0.9, 0.3 * len(names)) as (figure, (axes,)):
        for row, name in enumerate(names):
            color = CHOSEN if name == BEST else MUTED if name in (NONE, EVERY) else charts.FIRST
            marker, size = ("*", 121.0) if name == BEST else ("o", 36.0)
            charts.interval(axes, found.estimate(name), row, color, objective.scale, marker, size)
        axes.axvline(found.estimate(BEST).mean * objective.scale, color=RULE, linewidth=1, zorder=0)
        charts.names(axes, [words(name) for name in names])
        axes.set_xlabel(f"{objective.title} ({objective.unit}), mean and 95 % interval")
    return figure


def words(name: str) -> str:
    """Return the name of a choice as people read it."""
    return name.replace("katz_flow", "Katz on the flow matrix").replace("katz", "Katz").replace("_", " ")
