"""The figures of a paper for its report: pictures from our runs, what they show, their numbers, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sojourn.base.wording import listed
from sojourn.stats import Estimate
from sojourn.studies.papers import figures, overtime, picture
from sojourn.studies.papers.evidence import NOTHING, estimates, number, unit
from sojourn.studies.papers.execute import Measured, Trace
from sojourn.studies.papers.figures import Figure
from sojourn.studies.papers.model import Condition, Paper, Reading, Row
from sojourn.view.plot import Picture
from sojourn.view.report.sections import Drawing

Drawn: TypeAlias = tuple[Picture, str, str]
"""A picture, its caption, and the reading that it is of."""


@dataclass(frozen=True)
class Data:
    """A figure, the conditions of it that were run, the study and its results."""

    paper: Paper
    measured: Measured
    figure: Figure
    conditions: tuple[Condition, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that it shows."""
        return tuple(row for row in self.paper.rows if row.name in (self.figure.rows or (row.name,)))

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes that it shows and that were run."""
        run = {name for one in self.conditions for name in one.schemes}
        return tuple(name for name in self.paper.drawn(self.figure.schemes) if name in run)

    @property
    def readings(self) -> list[Reading]:
        """The readings that it is drawn under."""
        return shown(self.paper, self.measured, self.conditions, every=self.figure.readings == "all")

    def of(self, reading: Reading, condition: Condition, row: Row) -> dict[str, Estimate]:
        """Return the estimates of a row."""
        return estimates(self.paper, self.measured, reading, condition, row)


def part(paper: Paper, measured: Measured, figure: Figure) -> dict[str, Any]:
    """Return what is drawn of a figure: its place, pictures with their readings, numbers, and what is missing."""
    data = Data(paper, measured, figure, figures.of(figure, measured.conditions))
    # Rows of a figure over time are the means that its claims are judged on.
    has_means = figure.kind != "series" or bool(figure.rows)
    drawn: list[Drawn] = []
    if data.schemes:
        drawn += {"dots": _dots, "lines": _lines, "series": _series}[figure.kind](data)
        drawn += _dots(data) if figure.kind == "series" and figure.rows else []
    return {
        "place": f"section {figure.section}" + (f", page {figure.page}" if figure.page else ""),
        "pictures": [
            (Drawing(f"{figure.slug}-picture-{k}", one, caption), reading)
            for k, (one, caption, reading) in enumerate(drawn, 1)
        ],
        "numbers": [_numbers(data, one, k) for k, one in enumerate(data.readings, 1)] if has_means else [],
        "missing": _missing(data),
    }


def shown(paper: Paper, measured: Measured, conditions: Sequence[Condition], *, every: bool = False) -> list[Reading]:
    """Return the readings that pictures and tables show, out of those under which some of the conditions were run.

    Where none of them was run, it is the first that was.
    """
    run = [
        one for one in paper.readings if any((one.name, condition.name) in measured.raw for condition in conditions)
    ]
    return [one for one in run if every or one.is_shown or one is paper.readings[0]] or run[:1]


def title(row: Row) -> str:
    """Return the title of a row's panel: ``Sojourn time (ms)``."""
    name = row.title[:1].upper() + row.title[1:]
    return f"{name} ({unit(row)})" if unit(row) else name


def _dots(data: Data) -> list[Drawn]:
    readings, printed = data.readings, data.paper.printed

    def panel(row: Row, condition: Condition, heading: str) -> picture.Dots:
        of = [data.of(reading, condition, row) for reading in readings]
        return picture.Dots(heading, [[one.get(name, NOTHING) for name in data.schemes] for one in of])

    if len(data.conditions) == 1:
        (only,) = data.conditions
        panels = picture.in_threes([panel(row, only, title(row)) for row in data.rows])
        what = only.title
    else:
        first = data.conditions[0]
        panels = [
            [panel(row, one, f"{title(row) if one is first else ''}\n{_head(data, one)}") for one in data.conditions]
            for row in data.rows
        ]
        what = f"a row for each quantity, a column for each of {'; '.join(one.title for one in data.conditions)}"
    names, labels = [reading.name for reading in readings], [printed[name] for name in data.schemes]
    caption = (
        f"{what[:1].upper()}{what[1:]}. Marks: means over {data.measured.replications} replications; bars: their "
        "95 % intervals. Each panel has its own axis, which begins at zero."
    )
    return [(picture.dots(panels, labels, names, 5 if len(panels[0]) <= 3 else 2), caption, "")]


def _lines(data: Data) -> list[Drawn]:
    found: list[Drawn] = []
    units, _ = figures.axis([one.at for one in data.conditions])
    constant = data.paper.ids(data.figure.constant)
    factor = data.figure.sweep.replace("_", " ") or "swept factor"
    for k, reading in enumerate(data.readings):
        run = [one for one in data.conditions if (reading.name, one.name) in data.measured.raw]
        if k > 0 and len(run) < 2:
            continue
        _, x = figures.axis([one.at for one in run])
        panels = []
        for row in data.rows:
            of = [data.of(reading, one, row) for one in run]
            lines: dict[str, tuple[Sequence[float], Sequence[Estimate]]] = {}
            levels: dict[str, Estimate] = {}
            for name in data.schemes:
                own = [(at, one[name]) for at, one in zip(x, of, strict=True) if name in one]
                if name in constant and own:
                    # The last point is that of the printed tables; the others are the same runs.
                    levels[name] = own[-1][1]
                elif own:
                    lines[name] = [at for at, _ in own], [one for _, one in own]
            panels.append(picture.Lines(title(row), lines, levels))
        label = f"{factor[:1].upper()}{factor[1:]} ({units})" if units else factor
        is_log = data.figure.log and min(x) > 0
        drawn = picture.lines(panels, picture.looks_of(data.paper), data.paper.printed, label, log=is_log)
        names = listed([data.paper.printed[name] for name in constant])
        across = f" {names} do not depend on it and are drawn as horizontal lines."
        caption = (
            f"{data.figure.title}; reading: {reading.name}. Lines: means over {data.measured.replications} "
            f"replications at {len(x)} {'points' if len(x) != 1 else 'point'}; bands: their 95 % intervals."
            f"{across if constant else ''} An axis over several decades is logarithmic and also shows zero."
        )
        found.append((drawn, caption, reading.name))
    return found


def _series(data: Data) -> list[Drawn]:
    found: list[Drawn] = []
    seen = picture.looks_of(data.paper)
    faint = data.paper.ids(data.figure.faint)
    for reading, condition in overtime.shown(data.measured, data.figure, data.conditions):
        of = data.measured.traces[data.figure.name, reading, condition.name]
        for name in data.figure.series:
            traces = {scheme: of[name, scheme] for scheme in data.schemes if (name, scheme) in of}
            if not traces:
                continue
            label, size = figures.unit_of(name)
            scaled = {scheme: Trace(one.t_s, one.values / size) for scheme, one in traces.items()}
            drawn = picture.series(scaled, seen, data.paper.printed, label, faint)
            caption = (
                f"{condition.title}: {_said(name)}, means over {data.figure.every}; reading: {reading}. "
                f"{_lines_of(name, len(next(iter(traces.values())).values))} All panels have the same scale."
            )
            found.append((drawn, caption, reading))
    return found


def _said(series: str) -> str:
    name, _, kind = series.partition("@")
    if kind:
        which = "all flows" if name == "goodput_total_bit_s" else "each flow"
        return f"throughput of {which} of {kind.upper()}"
    return f"{figures.SERIES[name].lower()}, over all queues that have the scheme"


def _lines_of(series: str, count: int) -> str:
    if series.startswith("goodput_bit_s@"):
        return f"One replication. Line: one flow; band: minimum to maximum of {count} flows."
    return f"Line: one replication; band: minimum to maximum of {count} replications."


def _head(data: Data, one: Condition) -> str:
    if data.figure.kind == "lines":
        return one.at
    count = len(data.conditions)
    if count == len({of.flow for of in data.conditions}) > 1:
        return one.title.split(",")[0]
    if count == len({of.model for of in data.conditions}) > 1:
        return one.title.split(", ")[-1].split(" (")[0]
    return one.title


def _numbers(data: Data, reading: Reading, number_: int) -> Drawing:
    rows: list[tuple[str, ...]] = []
    for condition in data.conditions:
        of = [data.of(reading, condition, row) for row in data.rows]
        head = f"{_head(data, condition)}, " if len(data.conditions) > 1 else ""
        rows += [
            (f"{head}{data.paper.printed[name]}", *(number(one.get(name, NOTHING)) for one in of))
            for name in data.schemes
            if any(name in one for one in of)
        ]
    heads = ("", *map(title, data.rows))
    caption = f"Numbers: {reading.name}"
    return Drawing(f"{data.figure.slug}-numbers-{number_}", None, caption, heads, rows, True, "numbers points")


def _some(names: Sequence[str]) -> str:
    return "; ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _missing(data: Data) -> list[str]:
    """Return sentences about parts of the figure that are missing in this report."""
    paper, figure = data.paper, data.figure
    whole, run = figures.of(figure, paper.conditions), {one.name for one in data.conditions}
    absent = [_head(data, one) for one in whole if one.name not in run]
    found = [f"Not run for this report: {_some(absent)}."] if absent else []
    pairs = {(one.flow, one.model) for one in whole}
    none = [f"{flow} under {model}" for flow in figure.flow for model in figure.model if (flow, model) not in pairs]
    if none:
        found.append(f"This project has no runs of: {', '.join(none)}.")
    constant = paper.ids(figure.constant)
    for name in paper.ids(figure.schemes):
        lacking = [one.at or one.title for one in data.conditions if name not in (*one.schemes, *constant)]
        found += [f"{paper.printed[name]} was not run at {', '.join(lacking)}."] if lacking else []
    for reading in data.readings:
        without = [_head(data, one) for one in data.conditions if (reading.name, one.name) not in data.measured.raw]
        found += [f"Not run under {reading.name}: {_some(without)}."] if without else []
    if figure.kind == "series" and data.conditions and not overtime.shown(data.measured, figure, data.conditions):
        found.append("Its time series were not run.")
    return found
