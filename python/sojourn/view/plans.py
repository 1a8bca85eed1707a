"""The pictures of a plan and its page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

from sojourn.model.scheme import Scheme
from sojourn.plan import read, show
from sojourn.plan.execute import CellState
from sojourn.plan.expand import Cells
from sojourn.plan.model import SCHEME, Figure, Plan, Value
from sojourn.plan.store import Store
from sojourn.results import metrics
from sojourn.view import charts
from sojourn.view.canvas import Picture, is_wide
from sojourn.view.palette import looks
from sojourn.view.report import page as filled
from sojourn.view.report.sections import Drawing, Section, code, note

Combination: TypeAlias = tuple[Value | None, ...]

_PANELS: Final = 12


def pictures(cells: Cells, store: Store) -> list[tuple[Figure, Picture]]:
    """Return the plan's figures; without any, its first metric over its first factor."""
    plan = cells.plan
    wanted = plan.figures or tuple(Figure(plan.shown[0], factor.name) for factor in plan.factors[:1])
    states = read.states(cells, store, [figure.y for figure in wanted])
    return [(figure, picture(plan, states, figure)) for figure in wanted]


def picture(plan: Plan, states: Sequence[CellState], figure: Figure) -> Picture:
    """Draw a metric over a factor: a line for each scheme, a panel for each combination of the other factors."""
    metric = metrics.find(figure.y)
    others = [
        factor.name
        for factor in plan.factors
        if factor.name != figure.x and not _follows(states, figure.x, factor.name)
    ]
    combinations = _panels([tuple(state.cell.levels[name] for name in others) for state in states])
    spots, ticks, unit = _axis([_level(state, figure.x) for state in states])
    labels = list(dict.fromkeys(state.cell.label for state in states))
    algorithms = {scheme.label: scheme.algorithm for scheme in plan.schemes}
    look = looks(labels, [algorithms.get(label, Scheme("").algorithm) for label in labels])
    with charts.panels(min(len(combinations), _PANELS), 3, 1.0, 2.8, sharey=True) as (drawn, every):
        for axes, combination in zip(every, combinations[:_PANELS], strict=False):
            for label in labels:
                own = [
                    (spots[_level(state, figure.x)], state.estimate(figure.y))
                    for state in states
                    if state.cell.label == label
                    and read.fits(tuple(state.cell.levels[name] for name in others), combination)
                ]
                own = sorted((one for one in own if math.isfinite(one[1].mean)), key=lambda one: one[0])
                if own:
                    x, found = zip(*own, strict=True)
                    charts.curve(axes, x, found, look[label], metric.scale)
            axes.set_xlabel(f"{figure.x} ({unit})" if unit else figure.x)
            named = zip(others, combination, strict=True)
            charts.title(axes, ", ".join(f"{name} {value}" for name, value in named if value is not None))
            if ticks is not None:
                axes.set_xticks(range(len(ticks)), ticks)
            elif is_wide(list(spots.values())):
                values = sorted(set(spots.values()))
                axes.set_xscale("log")
                axes.set_xticks(values, [f"{value:g}" for value in values])
        every[0].set_ylabel(metric.heading + _at_queue(states, figure.y, "\n"))
        if len(combinations) > _PANELS:
            drawn.suptitle(f"the first {_PANELS} of {len(combinations)} combinations of {', '.join(others)}")
        charts.legend(drawn, every)
    return drawn


def page(cells: Cells, store: Store) -> str:
    """Return a self-contained HTML page of a plan: its table, its figures, what was run."""
    plan, states = cells.plan, read.states(cells, store)
    compared = show.difference_rows(cells, store, states)
    figures = [
        Drawing(
            f"figure-{number}",
            drawn,
            f"{metrics.find(figure.y).heading} over {figure.x}{_at_queue(states, figure.y)}. Bars: 95 % intervals of "
            "the means.",
        )
        for number, (figure, drawn) in enumerate(pictures(cells, store), 1)
    ]
    table = Drawing("cells", heads=show.headers(plan, states), rows=show.cell_rows(plan, states))
    differences = []
    if compared:
        heads = show.headers(plan, states, minus=plan.schemes[0].label)
        parts = (Drawing("differences", heads=heads, rows=compared), note(show.note(plan, compared, states)))
        differences.append(Section("differences", "Differences", (), parts))
    done, expected = sum(s.done for s in states), sum(s.target for s in states)
    return filled(
        plan.name,
        (
            Section("cells", "Cells", (), (table, *map(note, show.notes(cells, store, states)))),
            *differences,
            Section("plan", "The plan", (code(store.plans().get(plan.name, "")),)),
        ),
        kind="plan",
        lead=plan.description,
        top=figures,
        facts=[
            ("Cells", str(len(cells))),
            ("Runs", str(done) if done == expected else f"{done} of {expected}"),
            ("Seed", str(plan.seed)),
            ("Traffic shared by", "all cells" if plan.paired is None else ", ".join(plan.paired) or "none"),
        ],
        made=read.code_of(cells, store),
    )


def _at_queue(states: Sequence[CellState], name: str, before: str = ", ") -> str:
    """Name the queue that a figure shows, where several are under test."""
    queues = {state.tested[0] for state in states if len(state.tested) > 1}
    if not queues or not metrics.is_of_queues(name):
        return ""
    where = f"at {queues.pop()}" if len(queues) == 1 else "at the busiest queue of each cell"
    return f"{before}{where}"


def _panels(combinations: Sequence[Combination]) -> list[Combination]:
    """Return the combinations to draw; one that leaves a factor open is drawn in all that it fits."""
    found = list(dict.fromkeys(combinations))
    return [one for one in found if not any(other != one and read.fits(one, other) for other in found)]


def _level(state: CellState, name: str) -> Value | None:
    return state.cell.label if name == SCHEME else state.cell.levels[name]


def _follows(states: Sequence[CellState], x: str, other: str) -> bool:
    """Whether a factor goes with the one on the axis, as lists that are zipped do."""
    pairs = {(_level(state, x), state.cell.levels[other]) for state in states}
    return len(pairs) == len({a for a, _ in pairs}) and len(pairs) > 1


def _axis(levels: Sequence[Value | None]) -> tuple[dict[Value | None, float], list[str] | None, str]:
    """Place the levels on an axis: by their size where they have one, else side by side."""
    found = list(dict.fromkeys(levels))
    if all(read.is_number(value) for value in found):
        return {value: float(value) for value in found if value is not None}, None, ""
    numbers = read.in_base_unit(found)
    if numbers is not None and None not in found:
        scale, unit = (1e-6, "Mbit/s") if numbers[0] == "bit_s" else (1.0, read.UNITS[numbers[0]])
        return dict(zip(found, (value * scale for value in numbers[1]), strict=True)), None, unit
    return {value: float(k) for k, value in enumerate(found)}, [str(value or "–") for value in found], ""
