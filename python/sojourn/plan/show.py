"""The results of a plan as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import pandas as pd

from sojourn.plan import read, stopping
from sojourn.plan.execute import CellState
from sojourn.plan.expand import Cells
from sojourn.plan.model import SCHEME, Plan
from sojourn.plan.store import Store
from sojourn.results import headline, metrics
from sojourn.results.text import difference, difference_note
from sojourn.results.text import table as layout

_WARNINGS: Final = 20
"""More warnings than this are counted."""


def headers(plan: Plan, states: Sequence[CellState] = (), *, minus: str = "") -> list[str]:
    """Return the headings of :func:`cell_rows`, or with a baseline those of :func:`difference_rows`."""
    found = [metrics.find(name) for name in plan.shown]
    scaled = [(one, one.difference_unit if minus else one.shown_unit) for one in found]
    units = [f"{one.name}{f' ({unit})' if one.scale != 1 else ''}" for one, unit in scaled]
    queue = ["queue"] if _has_queues(plan, states) else []
    start = [f"minus {minus}"] if minus else [SCHEME]
    return [*start, *(factor.name for factor in plan.factors), *([] if minus else ["runs"]), *queue, *units]


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
    """Return the tables of a plan, with `most` rows: its cells, and the differences between its schemes."""
    plan, known = cells.plan, read.states(cells, store) if states is None else states
    lines = [layout(headers(plan, known[:most]), cell_rows(plan, known[:most]), numbers=True)]
    if len(known[:most]) < len(known):
        lines.append(f"The first {most} of {len(known)} cells; `sojourn plan show` prints all.")
    elif compared := difference_rows(cells, store, known):
        heads = headers(plan, known, minus=plan.schemes[0].label)
        lines += ["", layout(heads, compared, numbers=True), note(plan, compared, known), ""]
    return "\n".join([*lines, *notes(cells, store, known)])


def _shown(state: CellState, name: str) -> str:
    return metrics.written(state.estimate(name), metrics.find(name).scale)


def _has_queues(plan: Plan, states: Sequence[CellState]) -> bool:
    """Whether some cell has several queues under test, and a column is of queues."""
    return any(map(metrics.is_of_queues, plan.shown)) and any(len(state.tested) > 1 for state in states)


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


def note(plan: Plan, compared: Sequence[Sequence[str]], states: Sequence[CellState]) -> str:
    """Return sentences about what the differences are."""
    same = plan.paired is None or SCHEME in plan.paired
    traffic = "on the same traffic" if same else "of independent runs (`paired` does not name scheme)"
    repeated = all(state.repeated() for state in states)
    # Rows of further queues have no label.
    return difference_note(sum(bool(row[0]) for row in compared), repeated=repeated, traffic=traffic)


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
    warnings = read.warnings(cells, store, states)
    found += [f"Warning: {one}." for one in warnings[:_WARNINGS]]
    if len(warnings) > _WARNINGS:
        found.append(f"And {len(warnings) - _WARNINGS} more warnings.")
    return found


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
