"""A plan with a number, and its intervals on every road that leads to a user."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sojourn as sj
from sojourn import plan
from sojourn.base import core
from sojourn.cli import main
from sojourn.plan import expand, read
from sojourn.plan.store import Store
from sojourn.results import metrics
from sojourn.view import plans
from sojourn.view.report import render

SHOWN = ("sojourn_ms_mean", "sojourn_ms_p99", "goodput_bit_s", "loss_ratio", "jain_index", "utilisation")

_SCHEMES = (
    "pfifo limit 20p",
    "pfifo limit 200p",
    "codel",
    "codel target 2ms",
    "pie",
    "red",
    "fq_codel",
    "codel ecn",
)

Place = tuple[str, str, str]
"""The levels as text, a scheme, and a metric; of a difference the metric begins with ``minus``."""
Limits = tuple[float, float, float]


def random_plan(number: int) -> plan.Plan:
    """Return the plan of a number: two or three schemes, one or two rates, two to five replications."""
    draw = random.Random(number)  # noqa: S311 - no secret
    is_random = draw.random() < 0.8
    scenario: dict[str, Any] = {
        "name": f"plan {number}",
        "duration": f"{draw.choice((2, 3))} s",
        "warm_up": "1 s",
        "links": [
            {
                "name": "line",
                "from": "server",
                "to": "client",
                "rate": "5 Mbit/s",
                "delay": f"{draw.choice((5, 20))} ms",
                "under_test": True,
            }
        ],
        "flows": [
            {
                "name": "bulk",
                "from": "server",
                "to": "client",
                "count": draw.choice((1, 3)),
                **({"start": {"uniform": ["0 s", "1 s"]}} if is_random else {}),
                "transport": {"kind": "tcp", "ecn": draw.random() < 0.3},
            }
        ],
    }
    rates = draw.sample(("2 Mbit/s", "5 Mbit/s", "20 Mbit/s"), draw.choice((1, 2)))
    goals = (plan.Precision("sojourn_ms_mean", "10 %", 2, 6),) if draw.random() < 0.3 else ()
    return plan.Plan(
        name=f"plan-{number}",
        scenario=json.dumps(scenario),
        schemes=tuple(plan.Scheme(text) for text in draw.sample(_SCHEMES, draw.choice((2, 3)))),
        vary=(plan.grid("links.line.rate", values=rates),),
        replications=draw.choice((2, 3, 5)),
        precision=goals,
        paired=draw.choice((None, None, ("rate",))),
        seed=number,
        metrics=SHOWN,
    )


def roads(number: int, folder: Path) -> dict[str, dict[Place, Limits]]:
    """Run the plan of a number, and return its intervals by road: every road has the same places and more."""
    made = random_plan(number)
    made.run(folder, progress=False)
    store = Store.open(folder)
    cells = expand.cells(made)
    every = plan.results(folder)
    return {
        "plan show": _shown(cells, store),
        "results": {
            (key, row["scheme"], row["metric"]): (row["mean"], row["low"], row["high"])
            for key, found in ((_key(levels), found) for levels, found in every)
            for row in found.summary(SHOWN).to_dict("records")
        }
        | {
            (key, row["scheme"], f"minus {row['metric']}"): (row["difference"], row["low"], row["high"])
            for key, found in ((_key(levels), found) for levels, found in every)
            for row in found.differences(names=SHOWN).to_dict("records")
        },
        "compare": _compared(cells, every),
        "table": _tabulated(folder, "summary") | _tabulated(folder, "differences"),
        "plot": _plotted(cells, store, every),
        "report": _reported(every),
    }


def differing(found: dict[str, dict[Place, Limits]]) -> list[str]:
    """Return where a road has another interval than the results in Python."""
    known = found["results"]
    return [
        f"{road}: {place}: {limits}, and {known.get(place)} in results"
        for road, own in found.items()
        for place, limits in own.items()
        if not np.allclose(limits, known.get(place, (math.nan,) * 3), rtol=1e-9, atol=0, equal_nan=True)
    ]


def _key(levels: Any) -> str:
    return ",".join(map(str, levels.values()))


def _none(value: float | None) -> float:
    return math.nan if value is None else value


def _shown(cells: plan.Cells, store: Store) -> dict[Place, Limits]:
    rows = read.summary(cells, store).to_dict("records")
    found = {(str(row["rate"]), row["scheme"], row["metric"]): (row["mean"], row["low"], row["high"]) for row in rows}
    rows = read.differences(cells, store).to_dict("records")
    return found | {
        (str(row["rate"]), row["scheme"], f"minus {row['metric']}"): (row["difference"], row["low"], row["high"])
        for row in rows
    }


def _compared(cells: plan.Cells, every: list[tuple[Any, sj.Results]]) -> dict[Place, Limits]:
    """Return the intervals of ``sojourn.compare`` with the plan's network, seeds and replications."""
    found: dict[Place, Limits] = {}
    base = core.load(cells.plan.scenario, source="plan")
    for levels, _ in every:
        network = sj.Network.from_dict(base).to_dict()
        network["links"][0]["rate"] = levels["rate"]
        own = [cell for cell in cells if cell.levels == levels]
        counts = {cell.label: _replications(every, levels, cell.label) for cell in own}
        # One comparison has one seed, and as many replications of every scheme.
        together = len({cell.seed for cell in own}) == 1 and len(set(counts.values())) == 1
        for group in [own] if together else [[cell] for cell in own]:
            schemes = {cell.label: cell.scheme.exact for cell in group}
            count = counts[group[0].label]
            results = sj.compare(
                sj.Network.from_dict(network), schemes, replicates=count, seed=group[0].seed, progress=False
            )
            for label in results.labels:
                for name in SHOWN:
                    one = results.estimate(label, name)
                    found[_key(levels), label, name] = (one.mean, _none(one.low), _none(one.high))
                    if label != results.labels[0]:
                        one = results.difference(label, name, results.labels[0])
                        found[_key(levels), label, f"minus {name}"] = (one.mean, _none(one.low), _none(one.high))
    return found


def _replications(every: list[tuple[Any, sj.Results]], levels: Any, label: str) -> int:
    (own,) = (found for one, found in every if one == levels)
    return int((own.runs["scheme"] == label).sum())


def _tabulated(folder: Path, kind: str) -> dict[Place, Limits]:
    """Return the intervals that ``sojourn table`` writes."""
    words = [word for name in SHOWN for word in ("--metric", name)]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert not main(["table", str(folder), "--table", kind, "--format", "csv", *words])
    found: dict[Place, Limits] = {}
    for row in csv.DictReader(io.StringIO(text.getvalue())):
        for name in SHOWN:
            if row.get(name):
                mean, low, high = (float(row[name + end] or "nan") for end in ("", "_low", "_high"))
                key = f"minus {name}" if kind == "differences" else name
                found[row["rate"], row["scheme"], key] = (mean, low, high)
    return found


def _plotted(cells: plan.Cells, store: Store, every: list[tuple[Any, sj.Results]]) -> dict[Place, Limits]:
    """Return the intervals that the figures draw: of the plan, and of the differences of each combination."""
    found: dict[Place, Limits] = {}
    states = read.states(cells, store)
    own = {str(levels["rate"]): results for levels, results in every}
    short = {label: look.short for _, results in every for label, look in results.plot.looks.items()}
    for name in SHOWN:
        metric = metrics.find(name)
        drawn = plans.picture(cells.plan, states, plan.Figure(name, "rate"))
        for axes in drawn.axes:
            for bars in axes.containers:
                label = next(label for label, text in short.items() if text == bars.get_label())
                line, _, (lines,) = bars.lines
                rates = sorted(dict.fromkeys(str(levels["rate"]) for levels, _ in every), key=_bit_s)
                for rate, mean, segment in zip(rates, line.get_ydata(), lines.get_segments(), strict=True):
                    low, high = sorted(segment[:, 1])
                    limits = (low / metric.scale, high / metric.scale)
                    # Without an interval, a bar has no length.
                    if low == high and own[rate].estimate(label, name).low is None:
                        limits = (math.nan, math.nan)
                    found[rate, label, name] = (mean / metric.scale, *limits)
    return found


def _bit_s(rate: str) -> float:
    return float(rate.partition(" ")[0])


_CELL = re.compile(r'data-metric="([^"]+)" data-mean="([^"]+)"(?: data-low="([^"]+)" data-high="([^"]+)")?')
_ROW = re.compile(r'<tr data-scheme="([^"]+)">(.*?)</tr>', re.DOTALL)


def _reported(every: list[tuple[Any, sj.Results]]) -> dict[Place, Limits]:
    """Return the intervals of the tables of reports."""
    found: dict[Place, Limits] = {}
    # Figures take their time: the page of one combination, and the table that a notebook shows of each.
    pages = [(every[0][0], render(every[0][1])), *((levels, results._repr_html_()) for levels, results in every)]
    for levels, page in pages:
        for scheme, kind, (name, *numbers) in _cells_of(page):
            if name in SHOWN:
                mean, low, high = (float(number or "nan") for number in numbers)
                found[_key(levels), scheme, f"minus {name}" if kind else name] = (mean, low, high)
    return found


def _cells_of(page: str) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    for scheme, row in _ROW.findall(page):
        for cell in row.split("<td")[1:]:
            if told := _CELL.search(cell):
                yield scheme, "sure" in cell.partition(">")[0], told.groups()
