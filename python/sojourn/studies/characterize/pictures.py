"""Pictures of a characterisation: networks, the graph of RFC 7928, section 2.7, and distribution functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from sojourn.stats import Floats
from sojourn.studies.characterize.numbers import Found
from sojourn.view.canvas import WIDTH, Picture, is_wide, logarithmic, new_figure, points
from sojourn.view.palette import INK, MUTED, PAPER, RULE, Look, looks

_COLUMNS: Final = 3


def looks_of(found: Found) -> dict[str, Look]:
    """Return each scheme's look."""
    return looks(found.labels, [one.algorithm for one in found.plan.schemes])


def drawn_network(document: dict[str, Any]) -> Picture:
    """Draw a dumbbell: what sends, the queues under test, and their rate."""
    flows, links = document["flows"], {link["name"]: link for link in document["links"]}
    counts = {node["name"]: node["count"] for node in document["nodes"]}
    left = [flow for flow in flows if flow["to"] == "right"]
    right = [flow for flow in flows if flow["to"] != "right"]
    second = links.get("second")
    height = 0.75 + 0.34 * max(len(left), len(right), 1)
    with new_figure(WIDTH, height) as figure:
        axes = figure.add_subplot()
        small: Any = {"color": INK, "fontsize": points(8.5)}
        axes.set_axis_off()
        axes.set_xlim(0, 10)
        axes.set_ylim(0, 1)
        routers = [(4.6, "left"), (6.6, "middle"), (8.6, "right")] if second else [(5.0, "left"), (8.0, "right")]
        spots = {name: x for x, name in routers}
        for x, name in routers:
            axes.text(x, 0.5, name, ha="center", va="center", color=INK, zorder=3,
                      bbox={"boxstyle": "round,pad=0.35", "facecolor": PAPER, "edgecolor": INK})  # fmt: skip
        for name in ("bottleneck", "second"):
            if name in links:
                link = links[name]
                a, b = spots[link["from"]], spots[link["to"]]
                axes.annotate(
                    "",
                    (b - 0.35, 0.5),
                    (a + 0.35, 0.5),
                    arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 2},
                )
                both = " (both ways)" if link.get("reverse_under_test") else ""
                axes.text(
                    (a + b) / 2,
                    0.56,
                    f"{link['rate']}{both}",
                    ha="center",
                    va="bottom",
                    color=INK,
                    fontsize=points(8.5),
                )
        for at, side in (("left", left), ("right", right)):
            for k, flow in enumerate(side):
                y = 0.5 if len(side) == 1 else 0.93 - 0.86 * k / (len(side) - 1)
                own = links[f"{flow['name']}_access"]
                hop = spots[own["to"]]
                x = 0.05 if at == "left" else 9.95
                edge = hop - 0.35 if at == "left" else hop + 0.35
                if own["to"] == "middle":
                    axes.annotate(
                        "", (hop, 0.4), (3.4, y), arrowprops={"arrowstyle": "-", "color": RULE, "linewidth": 1.2}
                    )
                else:
                    axes.plot([3.4 if at == "left" else x - 1.0, edge], [y, 0.5], color=RULE, linewidth=1.2)
                axes.text(x, y, _sender(flow, counts), ha=at, va="center", **small)
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
    panels = found.scenario.groups or (("", ""),)
    look = looks_of(found)
    columns = min(len(panels), _COLUMNS)
    rows = math.ceil(len(panels) / columns)
    with new_figure(WIDTH, 0.9 + 2.6 * rows if len(panels) > 1 else 3.6) as figure:
        axes = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
        for where, panel in zip(axes, (*panels, *[None] * (len(axes) - len(panels))), strict=True):
            if panel is None:
                where.set_visible(False)
                continue
            group, title = panel
            spread = []
            for label, own in look.items():
                x, y = found.points(label, level, group)
                whole = np.isfinite(x) & np.isfinite(y)
                x, y = x[whole], y[whole]
                if not len(x):
                    continue
                outline = one_sigma(x, y)
                if outline is not None:
                    where.fill(*outline.T, color=own.color, alpha=0.2, linewidth=0)
                where.scatter(x, y, s=6, color=own.color, alpha=0.5, linewidths=0)
                spot = float(np.median(x)), float(np.median(y))
                spread.append(spot[0])
                where.scatter(*spot, s=38 * own.weight, marker=own.marker, color=own.color, edgecolors=PAPER,
                              linewidths=0.8, zorder=3, label=own.short)  # fmt: skip
            if is_wide(spread):
                logarithmic(where, "x")
            where.margins(0.12)
            where.set_xlabel("Queueing delay (ms)")
            where.set_ylabel("Goodput (Mbit/s)")
            where.set_title(title or "↖ better", color=INK if title else MUTED, fontsize=points(9.5))
        shown = next((one for one in axes if one.get_visible() and one.get_legend_handles_labels()[0]), axes[0])
        _legend(figure, shown, len(look))
    return figure


def one_sigma(x: Floats, y: Floats) -> Floats | None:
    """Return the ellipse of one standard deviation of the maximum-likelihood Gaussian; None of one or two pairs.

    Parameters
    ----------
    x, y
        Pairs.

    Returns
    -------
    numpy.ndarray or None
        The corners of a polygon, of shape (90, 2).
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
    panels = [("sojourn_ms", "Sojourn time (ms)")]
    if found.scenario.groups:
        panels = [
            (f"one_way_delay_ms:{name}", f"{title}: one-way delay (ms)") for name, title in found.scenario.groups
        ]
    drawn = [(title, list(found.curves(quantity, level))) for quantity, title in panels]
    drawn = [(title, curves) for title, curves in drawn if curves]
    if not drawn:
        return None
    look = looks_of(found)
    columns = min(len(drawn), _COLUMNS)
    rows = math.ceil(len(drawn) / columns)
    with new_figure(WIDTH, 0.9 + 2.3 * rows if len(drawn) > 1 else 3.2) as figure:
        axes = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
        for where in axes[len(drawn) :]:
            where.set_visible(False)
        for where, (title, curves) in zip(axes, drawn, strict=False):
            for label, (value, share) in curves:
                own = look[label]
                where.step(value, share, where="post", color=own.color, linestyle=own.dashes, label=own.short)
            most = [_quantile(value, share, 0.9) for _, (value, share) in curves]
            right = max(_quantile(value, share, 0.999) for _, (value, share) in curves)
            if is_wide(most):
                where.set_xlim(max(right / 1e4, 1e-3), right * 1.1)
                logarithmic(where, "x")
            else:
                where.set_xlim(min(value[0] for _, (value, _) in curves) * 0.98, right * 1.02 or 1.0)
            where.set_ylim(0, 1.01)
            where.set_xlabel(title)
            where.set_ylabel("Share of packets")
        _legend(figure, axes[0], len(look))
    return figure


def _legend(figure: Picture, axes: Any, count: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, count), frameon=False)


def _quantile(value: Floats, share: Floats, wanted: float) -> float:
    return float(value[min(int(np.searchsorted(share, wanted)), len(value) - 1)])


def over_factor(found: Found, metric_of: Sequence[tuple[str, str]]) -> Picture:
    """Draw estimates of the run over what varies: a panel for each ``(metric, title)``."""
    from sojourn.results import metrics

    look = looks_of(found)
    levels = found.levels()
    with new_figure(WIDTH, 3.3) as figure:
        axes = figure.subplots(1, len(metric_of), squeeze=False).flatten().tolist()
        for where, (metric, title) in zip(axes, metric_of, strict=True):
            one = metrics.find(metric)
            for label, own in look.items():
                found_here = [found.estimate(found.runs, label, metric, level) for level in levels]
                y = [value.mean * one.scale for value in found_here]
                bars = np.array([value.arms for value in found_here]).T * one.scale
                line: Any = {"color": own.color, "linestyle": own.dashes, "marker": own.marker, "label": own.short}
                where.errorbar(range(len(levels)), y, yerr=bars, markersize=5, capsize=2, **line)
            where.set_xticks(
                range(len(levels)),
                [found.scenario.level(level) for level in levels],
                rotation=30 if len(levels) > 5 else 0,
            )
            where.set_xlabel(found.factor or "")
            where.set_ylabel(title)
        _legend(figure, axes[0], len(look))
    return figure


__all__ = ["distributions", "drawn_network", "looks_of", "one_sigma", "over_factor", "tradeoff"]
