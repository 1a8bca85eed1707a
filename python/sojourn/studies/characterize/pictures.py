"""Pictures of a characterisation: networks, the graph of RFC 7928, section 2.7, and distribution functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from sojourn.results import metrics
from sojourn.stats import Floats
from sojourn.studies.characterize.fronts import Judged
from sojourn.studies.characterize.measures import heading
from sojourn.studies.characterize.numbers import Found
from sojourn.view import charts
from sojourn.view.canvas import WIDTH, Picture, is_wide, label_spots, logarithmic, new_figure, points
from sojourn.view.palette import INK, PAPER, RULE, Look, looks

_COLUMNS: Final = 3
_PLACES: Final = {"off": (charts.GOOD, "o"), "on": (charts.NEUTRAL, "s"), "behind": (charts.BAD, "v")}
_FEW: Final = 6
"""So many schemes have their names beside them."""


def looks_of(found: Found) -> dict[str, Look]:
    """Return each scheme's look."""
    return looks(found.labels, [one.algorithm for one in found.plan.schemes])


def drawn_network(document: dict[str, Any]) -> Picture:
    """Draw a dumbbell: what sends, the queues under test, and their rate; or a cell."""
    if "cells" in document:
        return _cell(document)
    flows, links = document["flows"], {link["name"]: link for link in document["links"]}
    counts = {node["name"]: node["count"] for node in document["nodes"]}
    sides = {"left": [flow for flow in flows if flow["to"] == "right"]}
    sides["right"] = [flow for flow in flows if flow["to"] != "right"]
    routers = {"left": 4.6, "middle": 6.6, "right": 8.6} if "second" in links else {"left": 5.0, "right": 8.0}
    with new_figure(WIDTH, 0.75 + 0.34 * max(*map(len, sides.values()), 1)) as figure:
        axes = figure.add_subplot()
        small: Any = {"color": INK, "fontsize": points(8.5)}
        axes.set_axis_off()
        axes.set_xlim(0, 10)
        axes.set_ylim(0, 1)
        box = {"boxstyle": "round,pad=0.35", "facecolor": PAPER, "edgecolor": INK}
        for name, x in routers.items():
            axes.text(x, 0.5, name, ha="center", va="center", color=INK, zorder=3, bbox=box)
        for link in (links[name] for name in ("bottleneck", "second") if name in links):
            a, b = routers[link["from"]], routers[link["to"]]
            arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 2}
            axes.annotate("", (b - 0.35, 0.5), (a + 0.35, 0.5), arrowprops=arrow)
            both = " (both ways)" if link.get("reverse_under_test") else ""
            axes.text((a + b) / 2, 0.56, f"{link['rate']}{both}", ha="center", va="bottom", **small)
        for at, side in sides.items():
            sign = 1 if at == "right" else -1
            x, edge = (9.95, 8.95) if at == "right" else (0.05, 3.4)
            for k, flow in enumerate(side):
                y = 0.5 if len(side) == 1 else 0.93 - 0.86 * k / (len(side) - 1)
                hop = links[f"{flow['name']}_access"]["to"]
                if hop == "middle":
                    line = {"arrowstyle": "-", "color": RULE, "linewidth": 1.2}
                    axes.annotate("", (routers[hop], 0.4), (3.4, y), arrowprops=line)
                else:
                    axes.plot([edge, routers[hop] + 0.35 * sign], [y, 0.5], color=RULE, linewidth=1.2)
                axes.text(x, y, _sender(flow, counts), ha=at, va="center", **small)
    return figure


def _cell(document: dict[str, Any]) -> Picture:
    """Draw a server, an access point, and groups of stations with their data rates."""
    (cell,), (wire,) = document["cells"], document["links"]
    counts = {node["name"]: node["count"] for node in document["nodes"]}
    moving = {change["queue"].partition(":")[2].rstrip("0123456789") for change in document.get("changes", ())}
    flows = document["flows"]
    with new_figure(WIDTH, 0.75 + 0.3 * len(flows)) as figure:
        axes = figure.add_subplot()
        small: Any = {"color": INK, "fontsize": points(8.5)}
        axes.set_axis_off()
        axes.set_xlim(0, 10)
        axes.set_ylim(0, 1)
        box = {"boxstyle": "round,pad=0.35", "facecolor": PAPER, "edgecolor": INK}
        for name, x in (("server", 0.5), ("access point", 3.6)):
            axes.text(x, 0.5, name, ha="center", va="center", color=INK, zorder=3, bbox=box)
        axes.plot([0.5, 3.6], [0.5, 0.5], color=INK, linewidth=2, zorder=1)
        axes.text(1.95, 0.56, f"{wire['rate']}, {wire['delay']}", ha="center", va="bottom", **small)
        for k, flow in enumerate(flows):
            y = 0.95 - 0.9 * k / (len(flows) - 1)
            is_up = flow["to"] == "server"
            station = flow["from"] if is_up else flow["to"]
            arrow = {"arrowstyle": "<|-" if is_up else "-|>", "color": INK, "linewidth": 0.8}
            axes.annotate("", (6.0, y), (4.2, 0.5), arrowprops=arrow)
            rate = "changing" if station in moving else cell["rates"].get(station, cell["data_rate"])
            text = f"{_sender(flow, {flow['name']: counts[station]})}, {rate}"
            axes.text(6.1, y, text, ha="left", va="center", **small)
    return figure


def _sender(flow: dict[str, Any], counts: dict[str, int]) -> str:
    transport, traffic = flow["transport"], flow["traffic"]
    kind = traffic["kind"]
    control = transport.get("congestion_control", "UDP" if transport["kind"] == "udp" else "")
    what = {"bulk": "bulk", "transfer": f"{traffic.get('size')} once", "cbr": f"CBR {traffic.get('rate')}"}.get(
        kind, kind
    )
    return f"{flow['name']}: {counts[flow['name']]} × {control} {what}"


def tradeoff(found: Found, level: Any = None) -> Picture:
    """Draw queueing delay against goodput (RFC 7928, section 2.7).

    A point a run, their median, and the ellipse of one standard deviation. A panel for each group
    of flows that the scenario tells apart.
    """
    plane = found.scenario.plane
    groups = (("", ""),) if plane else found.scenario.groups or (("", ""),)
    x_label, y_label = map(heading, plane) if plane else ("Queueing delay (ms)", "Goodput (Mbit/s)")
    one = len(groups) == 1
    with charts.panels(len(groups), _COLUMNS, 0.0 if one else 0.9, 3.6 if one else 2.6) as (figure, every):
        for axes, (group, title) in zip(every, groups, strict=False):
            spread = []
            for label, look in looks_of(found).items():
                x, y = found.points(label, level, group)
                whole = np.isfinite(x) & np.isfinite(y)
                x, y = x[whole], y[whole]
                if len(x):
                    spot = float(np.median(x)), float(np.median(y))
                    charts.cloud(axes, x, y, look, one_sigma(x, y), spot)
                    spread.append(spot[0])
            if is_wide(spread):
                logarithmic(axes, "x")
            axes.margins(0.12)
            axes.set_xlabel(x_label)
            axes.set_ylabel(y_label)
            charts.title(axes, title or "↖ better", faint=not title)
        charts.legend(figure, every)
    return figure


def one_sigma(x: Floats, y: Floats) -> Floats | None:
    """Return the ellipse of one standard deviation of the maximum-likelihood Gaussian, as corners of shape (90, 2).

    None of one or two pairs.
    """
    if len(x) < 3:
        return None
    sizes, directions = np.linalg.eigh(np.cov(x, y, ddof=0))
    angle = np.linspace(0.0, 2 * math.pi, 90)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    root = directions @ np.diag(np.sqrt(np.clip(sizes, 0.0, None)))
    outline: Floats = np.array([x.mean(), y.mean()]) + (root @ circle).T
    return outline


def distributions(found: Found, level: Any = None) -> Picture | None:
    """Draw the distribution function of the sojourn time, or of the one-way delay of each group; None without any."""
    quantities = {"sojourn_ms": "Sojourn time (ms)"}
    if found.scenario.groups:
        quantities = {f"one_way_delay_ms:{name}": f"{one}: one-way delay (ms)" for name, one in found.scenario.groups}
    look = looks_of(found)
    drawn = {one: [(look[name], *of) for name, of in found.curves(key, level)] for key, one in quantities.items()}
    drawn = {one: curves for one, curves in drawn.items() if curves}
    if not drawn:
        return None
    with charts.panels(len(drawn), _COLUMNS, 0.9, 2.3) as (figure, every):
        for axes, (title, curves) in zip(every, drawn.items(), strict=False):
            charts.shares(axes, curves)
            charts.share_axis(axes, curves, least=min(value[0] for _, value, _ in curves) * 0.98)
            axes.set_xlabel(title)
            axes.set_ylabel("Share of packets")
        charts.legend(figure, every)
    return figure


def over_factor(found: Found, names: tuple[str, ...]) -> Picture:
    """Draw estimates of the run over what varies: a panel for each metric."""
    levels = found.levels
    with charts.panels(len(names), 2, 0.0, 3.3) as (figure, every):
        for axes, name in zip(every, names, strict=True):
            for label, look in looks_of(found).items():
                estimates = [found.estimate(label, name, level) for level in levels]
                charts.curve(axes, range(len(levels)), estimates, look, metrics.find(name).scale)
            ticks = [found.scenario.level(level) for level in levels]
            axes.set_xticks(range(len(levels)), ticks, rotation=30 if len(levels) > 5 else 0)
            axes.set_xlabel(found.factor or "")
            axes.set_ylabel(heading(name))
        charts.legend(figure, every)
    return figure


def fronts(every: Sequence[Judged]) -> Picture:
    """Draw the front of tail drop and the schemes beside it, a panel a class, by the means of the runs."""
    with charts.panels(len(every), _COLUMNS, 0.9, 2.7) as (figure, panels):
        for axes, one in zip(panels, every, strict=False):
            line = np.array([[own[1].mean(), own[0].mean()] for own in one.points.values()])
            axes.plot(*line.T, color=INK, linewidth=1, marker=".", markersize=5, label="tail drop, by its limit")
            spots = {label: (float(own[1].mean()), float(own[0].mean())) for label, own in one.values.items()}
            for place, (color, marker) in _PLACES.items():
                own = np.array([spot for label, spot in spots.items() if one.standings[label].place == place])
                if own.size:
                    text = f"{place} the front" if place != "behind" else "behind it"
                    axes.scatter(
                        own[:, 0], own[:, 1], s=22, marker=marker, color=color, linewidths=0, zorder=3, label=text
                    )
            logarithmic(axes, "y")
            delay, goodput = (measure.name for measure, _ in one.of.measures[:2])
            axes.set_xlabel(goodput)
            axes.set_ylabel(delay)
            charts.title(axes, one.of.title)
        charts.legend(figure, panels)
        if every and len(every[0].values) <= _FEW:
            for axes, one in zip(panels, every, strict=False):
                label_spots(
                    figure, axes, {k: (float(v[1].mean()), float(v[0].mean())) for k, v in one.values.items()}
                )
    return figure
