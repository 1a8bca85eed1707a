"""The study of shapes on the page on the best dropping function, as shapes.toml fixes it: location, width, slope.

``docs/shapes.py theory`` and ``docs/shapes.py tcp`` print the tables of a part: five and twenty minutes of CPU time.
``docs/shapes.py picture`` draws the picture of both. Finished runs are kept in ``out/shapes``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from pages import BLUE, DOCS, RED, lines, protocol, save, within
from scipy import optimize

from sojourn import stats, theory
from sojourn.stats import Estimate, Floats
from sojourn.studies import sensitivity
from sojourn.studies.papers.results import Keeper
from sojourn.studies.tune.evaluate import Evaluator
from sojourn.studies.tune.settings import settings
from sojourn.view.plot import WIDTH, new_figure

PROTOCOL = protocol("shapes")
OUT = DOCS.parent / "out/shapes"
RESPONSES = ("queue", "loss", "burst", "C")
PARTS = {"theory": "load", "tcp": "flows"}

Response = Mapping[str, Floats]


def text_of(location: float, width: float, slope: float) -> str:
    """The scheme of the protocol's function."""
    rise = f"{slope:.8g}*min({width:.6g},max(0,n-{location:.6g}))"
    return f"dropping_function formula min(1,{rise}) limit {PROTOCOL['limit_packets']}p"


def impairment(queue: float, loss: float, burst: float) -> float:
    """C of Barczyk and Chydzinski (2022), equations 6 and 7; losses that do not exist have no runs."""
    percent = 100 * loss
    return queue + 95 * percent / (percent / (burst if burst > 0 else 1.0) + 4.3)


def responses(queue: float, loss: float, burst: float) -> dict[str, float]:
    """The four responses of one steady state or run."""
    burst = burst if math.isfinite(burst) else 1.0
    return dict(zip(RESPONSES, (queue, loss, burst, impairment(queue, loss, burst)), strict=True))


def predicted(text: str, load: float) -> dict[str, float]:
    """The responses of Theorem 1, with the study's buffer."""
    of = f"{text} count system"
    found, runs = (
        theory.queue(of, load=load, endless=False),
        theory.loss_runs(of, load=load, endless=False, longest=1),
    )
    return responses(found.mean_packets, found.loss_ratio, runs.burst_ratio)


@cache
def goal_slope(location: float, width: float) -> float:
    """The slope with which Theorem 1 has the mean of the study's goal at load 1."""

    def excess(logarithm: float) -> float:
        text = f"{text_of(location, width, math.exp(logarithm))} count system"
        return theory.queue(text, load=1.0, endless=False).mean_packets - PROTOCOL["goal_packets"]

    return math.exp(optimize.brentq(excess, math.log(1e-7), 0.0, xtol=1e-4))


def factors(region: str) -> tuple[list[str], list[tuple[float, float]]]:
    """The factors of a region and their ranges, the slope's as logarithms."""
    of = PROTOCOL["regions"][region]
    bounds = [tuple(map(math.log, ends)) if name == "slope" else tuple(map(float, ends)) for name, ends in of.items()]
    return list(of), bounds


def schemes(points: Floats) -> list[str]:
    """The schemes at the points of a plan."""
    rows = [(*map(float, row),) for row in points]
    return [text_of(a, b, math.exp(rest[0]) if rest else goal_slope(a, b)) for a, b, *rest in rows]


def evaluate(part: str, texts: Sequence[str], level: float, seed: int) -> list[dict[str, float]]:
    """The responses of schemes at a load, or with a number of flows and a replication's traffic."""
    if part == "theory":
        return [predicted(text, level) for text in texts]
    (of,) = settings("dumbbell", PROTOCOL["sets"], [f"flows={level:g}"], held_out=False)
    names = ("queue_packets_mean", "loss_ratio", "burst_ratio")
    found = Evaluator([of], names, jobs=1).values(texts, of, seed=seed, replications=1)
    return [responses(*(float(one[name][0]) for name in names)) for one in found]


def made(part: str, what: str, level: float, replication: int, make: Callable[[], list[str]]) -> Response:
    """The responses of one replication, computed or found; `make` gives its schemes."""

    def values() -> dict[str, list[float]]:
        found = evaluate(part, make(), level, replication)
        print(part, what, level, replication, file=sys.stderr, flush=True)
        return {name: [one[name] for one in found] for name in RESPONSES}

    key = {"part": part, "of": what, "level": level, "replication": replication, "protocol": PROTOCOL}
    return {name: np.asarray(of) for name, of in Keeper(OUT).get("responses", key, values).items()}


@dataclass(frozen=True)
class Shares:
    """Sobol's indices of a response in a region: first order and total by factor, and the response's percentiles."""

    first: dict[str, Estimate]
    total: dict[str, Estimate]
    low: float
    high: float

    @property
    def is_negligible(self) -> bool:
        """Whether there is too little variance to share."""
        return self.high <= self.low * (1 + PROTOCOL["negligible"])


def shares(part: str, region: str, level: float) -> dict[str, Shares]:
    """The shares of each response at a load or number of flows."""
    names, bounds = factors(region)
    count = range(1, PROTOCOL["replications"] + 1)
    size = {"samples": PROTOCOL["samples"][part], "bounds": bounds}
    values: dict[int, Response] = {}

    def model(points: Floats, name: str, replication: int) -> Floats:
        if replication not in values:
            values[replication] = made(part, region, level, replication, lambda: schemes(points))
        return values[replication][name]

    found = {
        name: [sensitivity.indices(names, partial(model, name=name, replication=k), seed=k, **size) for k in count]
        for name in RESPONSES
    }
    return {name: _pooled(names, of, [values[k][name] for k in count]) for name, of in found.items()}


def _pooled(names: Sequence[str], of: Sequence[tuple[sensitivity.Index, ...]], values: Sequence[Floats]) -> Shares:
    def mean(kind: str, k: int) -> Estimate:
        return stats.bootstrap([getattr(one[k], kind) for one in of], lambda values: float(np.mean(values)))

    # Of a plan's points, the first and the last of each group are drawn from the whole region.
    step = len(names) + 2
    drawn = np.concatenate([np.r_[one[::step], one[step - 1 :: step]] for one in values])
    low, high = map(float, np.quantile(drawn, (0.05, 0.95)))
    first, total = ({name: mean(kind, k) for k, name in enumerate(names)} for kind in ("first", "total"))
    return Shares(first, total, low, high)


def every(part: str) -> Iterator[tuple[str, float, dict[str, Shares]]]:
    """Region, level and shares, for all of a part."""
    for region in PROTOCOL["regions"]:
        for level in PROTOCOL["loads" if part == "theory" else "flows"]:
            yield region, level, shares(part, region, level)


def table(part: str) -> list[list[str]]:
    """Rows of the shares: region, level, response, its percentiles, and for each factor first and total index."""
    rows = []
    for region, level, of in every(part):
        for name, one in of.items():
            cells = ["–"] * 3
            if not one.is_negligible:
                cells = [
                    f"{within(one.first[k], '.2f')}; {within(one.total[k], '.2f')}" if k in one.first else ""
                    for k in ("location", "width", "slope")
                ]
            rows.append([region, f"{level:g}", name, f"{one.low:.3g} to {one.high:.3g}", *cells])
    return rows


def beside(part: str) -> list[list[str]]:
    """Rows of the study's functions beside the wide ones: level, response, d1 to d7, both wide ones, two ratios."""
    names = PROTOCOL["beside"]
    texts = [f"{text} limit {PROTOCOL['limit_packets']}p" for text in names.values()]
    count = 1 if part == "theory" else PROTOCOL["replications"]
    rows = []
    for level in PROTOCOL["loads" if part == "theory" else "flows"]:
        runs = [made(part, "beside", level, k, lambda: texts) for k in range(1, count + 1)]
        for name in ("queue", "C"):
            values = np.mean([run[name] for run in runs], axis=0)
            narrow = values[:7]
            ratios = [f"{of.max() / of.min():.2f}" for of in (narrow, values)]
            seven = f"{narrow.min():.1f} to {narrow.max():.1f}"
            rows.append([f"{level:g}", name, seven, *(f"{value:.1f}" for value in values[7:]), *ratios])
    return rows


def picture() -> None:
    """Draw the total indices of queue and C in the wide region, by load and by number of flows, with intervals."""
    colors = {"location": BLUE, "width": "#999999", "slope": RED}
    with new_figure(WIDTH, 4.6) as figure:
        axes = figure.subplots(2, 2, sharey=True)
        for row, part in zip(axes, PARTS, strict=True):
            levels = PROTOCOL["loads" if part == "theory" else "flows"]
            found = [shares(part, "wide", level) for level in levels]
            for panel, name in zip(row, ("queue", "C"), strict=True):
                for k, (factor, color) in enumerate(colors.items()):
                    of = [one[name].total[factor] for one in found]
                    x = np.arange(len(levels)) + 0.24 * (k - 1)
                    heights = [one.mean for one in of]
                    ends = [[one.mean - one.low for one in of], [one.high - one.mean for one in of]]
                    panel.bar(x, heights, 0.22, color=color, label=factor)
                    panel.errorbar(x, heights, yerr=ends, fmt="none", ecolor="#333333", linewidth=1)
                panel.set_xticks(np.arange(len(levels)), [f"{level:g}" for level in levels])
                panel.set_xlabel("load (Theorem 1)" if part == "theory" else "TCP flows")
                panel.set_title("mean queue" if name == "queue" else "total impairment C", loc="left", fontsize=10)
            row[0].set_ylabel("share of variance (total)")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    save(figure, "shapes.png")


if __name__ == "__main__":
    (wanted,) = sys.argv[1:] or ("",)
    if wanted == "picture":
        picture()
    elif wanted in PARTS:
        print(lines(table(wanted)))
        print(lines(beside(wanted)))
    else:
        sys.exit(f"docs/shapes.py {wanted}: allowed: {', '.join(PARTS)}, picture")
