"""The results of a plan as a table for the terminal, pictures and a page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pandas as pd

from sojourn.model.scheme import Scheme
from sojourn.plan import read, stopping
from sojourn.plan.execute import CellState
from sojourn.plan.expand import Cells
from sojourn.plan.model import SCHEME, Figure, Plan, Value
from sojourn.plan.store import Store
from sojourn.results import headline, metrics
from sojourn.results.text import difference, difference_note
from sojourn.results.text import table as layout
from sojourn.view.palette import PAPER, looks

if TYPE_CHECKING:
    from sojourn.view.plot import Picture

Combination: TypeAlias = tuple[Value | None, ...]

_PANELS: Final = 12
_WARNINGS: Final = 20
"""More warnings than this are counted."""


def headers(plan: Plan, states: Sequence[CellState] = ()) -> list[str]:
    """Return the headings of :func:`cell_rows`."""
    found = [metrics.find(name) for name in plan.shown]
    units = [f"{one.name}{f' ({one.shown_unit})' if one.scale != 1 else ''}" for one in found]
    queue = ["queue"] if _has_queues(plan, states) else []
    return [SCHEME, *(factor.name for factor in plan.factors), "runs", *queue, *units]


def cell_rows(plan: Plan, states: Sequence[CellState]) -> list[list[str]]:
    """Return a row for each cell: its levels, its runs, its estimates with their intervals.

    With several queues under test a cell has a row for each of them, the busiest first.
    """
    made = []
    has_queues = _has_queues(plan, states)
    for state in states:
        levels = [("" if value is None else str(value)) for value in state.cell.levels.values()]
        start = [state.cell.label, *levels, str(state.done)]
        for number, (queue, names) in enumerate(headline.layout(state.tested, plan.shown)):
            estimates = ["" if name is None else _shown(state, name) for name in names]
            made.append([*([""] * len(start) if number else start), *([queue] if has_queues else []), *estimates])
    return made


def terminal(cells: Cells, store: Store, states: Sequence[CellState] | None = None, most: int | None = None) -> str:
    """Return the tables of a plan: its cells, and the differences between its schemes.

    Parameters
    ----------
    cells, store
        The plan, and where its runs are.
    states
        How far the cells are; by default as the store has them.
    most
        Rows of a table, by default all.
    """
    plan, known = cells.plan, read.states(cells, store) if states is None else states
    lines = [layout(headers(plan, known[:most]), cell_rows(plan, known[:most]), numbers=True)]
    if len(known[:most]) < len(known):
        lines.append(f"The first {most} of {len(known)} cells; `sojourn plan show` prints all.")
    elif compared := difference_rows(cells, store, known):
        heads = difference_headers(plan, known)
        lines += ["", layout(heads, compared, numbers=True), _note(plan, compared, known), ""]
    return "\n".join([*lines, *notes(cells, store, known)])


def _shown(state: CellState, name: str) -> str:
    return metrics.written(state.estimate(name), metrics.find(name).scale)


def _has_queues(plan: Plan, states: Sequence[CellState]) -> bool:
    """Whether some cell has several queues under test, and a column is of queues."""
    return any(map(metrics.is_of_queues, plan.shown)) and any(len(state.tested) > 1 for state in states)


def difference_headers(plan: Plan, states: Sequence[CellState]) -> list[str]:
    """Return the headings of :func:`difference_rows`."""
    queue = ["queue"] if _has_queues(plan, states) else []
    base, found = plan.schemes[0].label, [metrics.find(name) for name in plan.shown]
    units = [f"{one.name}{f' ({_points(one)})' if one.scale != 1 else ''}" for one in found]
    return [f"minus {base}", *(factor.name for factor in plan.factors), *queue, *units]


def difference_rows(cells: Cells, store: Store, states: Sequence[CellState]) -> list[list[str]]:
    """Return a row for each scheme and combination of levels: its paired differences to the first scheme.

    With several queues under test there is a row for each of them, as in :func:`cell_rows`.
    """
    plan = cells.plan
    if len(plan.schemes) < 2:
        return []
    base, made, has_queues = plan.schemes[0].label, [], _has_queues(plan, states)
    for levels, found in read.results(cells, store):
        for label in found.labels_beside(base, plan.shown[0]):
            start = [label, *("" if value is None else str(value) for value in levels.values())]
            for number, (queue, names) in enumerate(headline.layout(found.tested, plan.shown)):
                values = ["" if name is None else difference(found, label, name, base) for name in names]
                made.append([*([""] * len(start) if number else start), *([queue] if has_queues else []), *values])
    return made


def _note(plan: Plan, compared: Sequence[Sequence[str]], states: Sequence[CellState]) -> str:
    """Return sentences about what the differences are."""
    same = plan.paired is None or SCHEME in plan.paired
    traffic = "on the same traffic" if same else "of independent runs (`paired` does not name scheme)"
    repeated = all(state.repeated() for state in states)
    # Rows of further queues have no label.
    return difference_note(sum(bool(row[0]) for row in compared), repeated=repeated, traffic=traffic)


def _points(metric: metrics.Metric) -> str:
    return "points" if metric.shown_unit == "%" else metric.shown_unit


def notes(cells: Cells, store: Store, states: Sequence[CellState]) -> list[str]:
    """Return sentences about what the numbers are, what is missing, and what to know before they are used."""
    plan = cells.plan
    found = ["± half-width of the 95 % interval of the mean (Student's t over the replications)."]
    missing = sum(not state.is_complete for state in states)
    if missing:
        found.append(f"{missing} of {len(states)} cells are not finished.")
    for goal in plan.precision:
        whole = [state.estimate(goal.metric) for state in states if state.is_complete]
        alike = [one for one in whole if stopping.unjudged(one)]
        short = [one for one in whole if not stopping.unjudged(one) and not stopping.met(goal, one)]
        parts = [
            *([f"{len(short)} cells ended at the ceiling without it"] if short else []),
            *([f"{len(alike)} cells cannot be judged, because their replications are identical"] if alike else []),
        ]
        text = f"Goal: {goal.metric} within {goal.within}, {goal.floor} to {goal.ceiling} replications"
        found.append(f"{text}; {', '.join(parts) or 'met in every finished cell'}.")
    told = read.warnings(cells, store, states)
    found += [f"Warning: {one}." for one in told[:_WARNINGS]]
    if len(told) > _WARNINGS:
        found.append(f"And {len(told) - _WARNINGS} more warnings.")
    return found


def pictures(cells: Cells, store: Store) -> list[tuple[Figure, Picture]]:
    """Return the plan's figures; without any, its first metric over its first factor."""
    plan = cells.plan
    wanted = plan.figures or tuple(Figure(plan.shown[0], factor.name) for factor in plan.factors[:1])
    states = read.states(cells, store, [figure.y for figure in wanted])
    return [(figure, picture(plan, states, figure)) for figure in wanted]


def picture(plan: Plan, states: Sequence[CellState], figure: Figure) -> Picture:
    """Draw a metric over a factor: a line for each scheme, a panel for each combination of the other factors.

    Parameters
    ----------
    plan
        Whose cells they are.
    states
        The cells, with the values of the metric.
    figure
        The metric, and the factor over which it is drawn.
    """
    from sojourn.view.canvas import WIDTH, is_wide, new_figure

    metric = metrics.find(figure.y)
    others = [
        factor.name
        for factor in plan.factors
        if factor.name != figure.x and not _follows(states, figure.x, factor.name)
    ]
    panels = _panels([tuple(state.cell.levels[name] for name in others) for state in states])
    columns = min(len(panels), 3)
    rows = math.ceil(min(len(panels), _PANELS) / columns)
    spots, ticks, unit = _axis([_level(state, figure.x) for state in states])
    labels = list(dict.fromkeys(state.cell.label for state in states))
    look = looks(labels, [_algorithm(plan, label) for label in labels])
    with new_figure(WIDTH, 1.0 + 2.8 * rows) as drawn:
        axes = drawn.subplots(rows, columns, squeeze=False, sharey=True).flatten().tolist()
        for where, panel in itertools.zip_longest(axes, panels[:_PANELS]):
            if panel is None:
                where.set_visible(False)
                continue
            for label in labels:
                own = [
                    s
                    for s in states
                    if s.cell.label == label and read.fits(tuple(s.cell.levels[name] for name in others), panel)
                ]
                points = [(spots[_level(s, figure.x)], s.estimate(figure.y)) for s in own]
                points = sorted((one for one in points if math.isfinite(one[1].mean)), key=lambda one: one[0])
                if not points:
                    continue
                how = look[label]
                x, y = [x for x, _ in points], [found.mean * metric.scale for _, found in points]
                bars = np.array([found.arms for _, found in points]).T * metric.scale
                where.errorbar(
                    x,
                    y,
                    yerr=bars,
                    color=how.color,
                    linestyle=how.dashes,
                    marker=how.marker,
                    markersize=6,
                    markeredgecolor=PAPER,
                    capsize=2.5,
                    elinewidth=1.2,
                    label=how.short,
                )
            where.set_xlabel(f"{figure.x} ({unit})" if unit else figure.x)
            if others:
                where.set_title(
                    ", ".join(
                        f"{name} {value}" for name, value in zip(others, panel, strict=True) if value is not None
                    )
                )
            if ticks is not None:
                where.set_xticks(range(len(ticks)), ticks)
            elif is_wide(list(spots.values())):
                where.set_xscale("log")
                where.set_xticks(sorted(set(spots.values())), [f"{value:g}" for value in sorted(set(spots.values()))])
        axes[0].set_ylabel(metric.heading + _at_queue(states, figure.y, "\n"))
        if len(panels) > _PANELS:
            drawn.suptitle(f"the first {_PANELS} of {len(panels)} combinations of {', '.join(others)}")
        drawn_by = {
            label: handle for where in axes for handle, label in zip(*where.get_legend_handles_labels(), strict=True)
        }
        axes[0].legend(drawn_by.values(), drawn_by.keys())
    return drawn


def page(cells: Cells, store: Store) -> str:
    """Return a self-contained HTML page of a plan: its table, its figures, what was run."""
    from sojourn.view.report import page as fill
    from sojourn.view.report import svg

    plan, states = cells.plan, read.states(cells, store)
    compared = difference_rows(cells, store, states)
    figures = [
        {
            "svg": svg.inline(drawn, f"f{k}", f"{figure.y} over {figure.x}"),
            "caption": f"{metrics.find(figure.y).heading} over {figure.x}{_at_queue(states, figure.y)}. "
            "Bars: 95 % intervals of the means.",
        }
        for k, (figure, drawn) in enumerate(pictures(cells, store))
    ]  # fmt: skip
    done, expected = sum(s.done for s in states), sum(s.target for s in states)
    facts = [
        ("Cells", str(len(cells))),
        ("Runs", str(done) if done == expected else f"{done} of {expected}"),
        ("Seed", str(plan.seed)),
        ("Traffic shared by", "all cells" if plan.paired is None else ", ".join(plan.paired) or "none"),
    ]
    return fill(
        "plan.html.j2",
        title=plan.name,
        lead=plan.description,
        facts=facts,
        headers=headers(plan, states),
        rows=cell_rows(plan, states),
        notes=notes(cells, store, states),
        compared=compared,
        compared_headers=difference_headers(plan, states) if compared else [],
        compared_note=_note(plan, compared, states) if compared else "",
        figures=figures,
        document=store.plans().get(plan.name, ""),
        code=read.code_of(cells, store),
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


def _algorithm(plan: Plan, label: str) -> str:
    return next((scheme.algorithm for scheme in plan.schemes if scheme.label == label), Scheme("").algorithm)


def frame_text(frame: pd.DataFrame) -> str:
    """Lay out any frame for a terminal."""

    def cell(value: Any) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if isinstance(value, float):
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
        return str(value)

    return layout(
        [str(name) for name in frame.columns],
        [[cell(value) for value in row] for row in frame.itertuples(index=False)],
    )
