"""The results of a plan as a table for the terminal, pictures and a page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pandas as pd

from sojourn import headline, metrics
from sojourn.cli.text import table as layout
from sojourn.palette import PAPER, looks
from sojourn.plan import read, stopping
from sojourn.plan.execute import CellState
from sojourn.plan.expand import Cells
from sojourn.plan.model import Plan
from sojourn.plan.parts import SCHEME, Figure, Value
from sojourn.plan.store import Store
from sojourn.scheme import Scheme

if TYPE_CHECKING:
    from sojourn.plot import Picture

Combination: TypeAlias = tuple[Value | None, ...]

_PANELS: Final = 12


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


def _shown(state: CellState, name: str) -> str:
    found, metric = state.estimate(name), metrics.find(name)
    half = None if found.half_width is None else found.half_width * metric.scale
    return metrics.rounded(found.mean * metric.scale, half)


def _has_queues(plan: Plan, states: Sequence[CellState]) -> bool:
    """Whether some cell has several queues under test, and a column is of queues."""
    return any(map(metrics.is_of_queues, plan.shown)) and any(len(state.tested) > 1 for state in states)


def terminal(cells: Cells, store: Store) -> str:
    """Return the table of a plan."""
    states = read.states(cells, store)
    lines = [
        layout(headers(cells.plan, states), cell_rows(cells.plan, states), numbers=True),
        *notes(cells.plan, states),
    ]
    return "\n".join(lines)


def notes(plan: Plan, states: Sequence[CellState]) -> list[str]:
    """Return a sentence about what the numbers are and what is missing."""
    found = ["± half-width of the 95 % interval of the mean (Student's t over the replications)."]
    missing = sum(not state.whole for state in states)
    if missing:
        found.append(f"{missing} of {len(states)} cells are not finished.")
    for goal in plan.precision:
        short = [s for s in states if s.whole and not stopping.met(goal, s.estimate(goal.metric))]
        text = f"Goal: {goal.metric} within {goal.within}, {goal.floor} to {goal.ceiling} replications"
        found.append(
            f"{text}; "
            + (f"{len(short)} cells ended at the ceiling without it." if short else "met in every finished cell.")
        )
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
    from sojourn.canvas import WIDTH, is_wide, new_figure

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
                    if s.cell.label == label and _fits(tuple(s.cell.levels[name] for name in others), panel)
                ]
                points = [(spots[_level(s, figure.x)], s.estimate(figure.y)) for s in own]
                points = sorted((one for one in points if math.isfinite(one[1].mean)), key=lambda one: one[0])
                if not points:
                    continue
                how = look[label]
                x, y = [x for x, _ in points], [found.mean * metric.scale for _, found in points]
                bars = [(found.half_width or 0.0) * metric.scale for _, found in points]
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
    from sojourn.report import page as fill
    from sojourn.report import svg

    plan, states = cells.plan, read.states(cells, store)
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
        notes=notes(plan, states),
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
    return [one for one in found if not any(other != one and _fits(one, other) for other in found)]


def _fits(one: Combination, panel: Combination) -> bool:
    return all(mine in (None, theirs) for mine, theirs in zip(one, panel, strict=True))


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
