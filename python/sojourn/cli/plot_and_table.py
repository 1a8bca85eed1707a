"""``sojourn plot`` and ``sojourn table``: figures and tables of a folder of results for a paper."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sojourn.base import suggest
from sojourn.base.core import SojournError
from sojourn.base.escape import latex
from sojourn.base.wording import line
from sojourn.cli.options import add_out
from sojourn.results import metrics
from sojourn.results.text import as_csv, frame_as_csv

if TYPE_CHECKING:
    from sojourn.results.results import Results
    from sojourn.view.plot import Picture

WIDTH: Final = "85mm"
"""A column of a page in two columns."""
FORMATS: Final = (".pdf", ".svg", ".eps", ".png")
TABLES: Final = ("summary", "differences", "drops")
_INCHES: Final = {"mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0, "pt": 1 / 72.27}
_LEAST, _MOST = 1.5, 20.0
_DPI: Final = 300


def add(verbs: Any) -> None:
    """Add the verbs ``plot`` and ``table`` to `verbs`."""
    plot = verbs.add_parser(
        "plot",
        description="Write one figure of a run folder, or of the plan in a store, for a paper: text of 8 points at "
        "the given width, embedded TrueType fonts. Without --figure, list the figures that the folder has data for. "
        "A plan has its own figures, and with --at those of a run folder.",
        epilog="example: sojourn plot out/compare --figure sojourn_cdf --width 85mm --out cdf.pdf",
    )
    plot.add_argument("folder", metavar="FOLDER", help="a run folder, or the store of a plan")
    plot.add_argument("--figure", metavar="NAME", help="which figure (default: list them)")
    plot.add_argument(
        "--width", default=WIDTH, metavar="WIDTH", help=f"as printed: mm, cm, in or pt (default {WIDTH})"
    )
    add_out(plot, metavar="FILE", help=f"the file, {', '.join(FORMATS)} (default NAME.pdf)")
    _add_at(plot)
    plot.set_defaults(command=draw)
    table = verbs.add_parser(
        "table",
        description="Write a table of a run folder, or of the plan in a store, schemes as rows and metrics as "
        "columns, as LaTeX (booktabs) or CSV. A plan has a column for each factor. Numbers in LaTeX have as many "
        "digits as their 95 % intervals allow.",
        epilog="example: sojourn table out/compare --metric sojourn_ms_p99 --metric goodput_bit_s > table.tex",
    )
    table.add_argument("folder", metavar="FOLDER", help="a run folder, or the store of a plan")
    table.add_argument("--table", choices=TABLES, default="summary", help="(default summary)")
    table.add_argument("--format", choices=("latex", "csv"), default="latex", help="(default latex)")
    table.add_argument(
        "--metric", action="append", metavar="NAME", help="a column, repeatable (default: the report's)"
    )
    table.add_argument(
        "--by",
        choices=("group", "phase"),
        help="a row for each metric of each group of flows, or of each phase and group; as CSV",
    )
    add_out(table, metavar="FILE", help="the file (default: standard output)")
    _add_at(table)
    table.set_defaults(command=tabulate)


def _add_at(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plan", metavar="NAME", help="which plan of a store (default: the only one)")
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="FACTOR=LEVEL",
        help="of a plan only the cells at this level, repeatable",
    )


def inches(text: str) -> float:
    """Return a width in inches.

    Examples
    --------
    >>> round(inches("85mm"), 2)
    3.35
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(mm|cm|in|pt)\s*", text)
    if not found:
        raise SojournError(f'--width "{text}": allowed: a number with mm, cm, in or pt, as in 85mm')
    width = float(found[1]) * _INCHES[found[2]]
    if not _LEAST <= width <= _MOST:
        raise SojournError(f'--width "{text}": allowed: {_LEAST:g}in to {_MOST:g}in')
    return width


def draw(options: argparse.Namespace) -> None:
    """List the figures of a folder, or write one."""
    width = inches(options.width)
    place = Path(options.folder)
    if options.figure is None:
        print("\n".join(_names(place, options.at, options.plan)))
        return
    target = Path(options.out or f"{options.figure}.pdf")
    write(lambda: _picture(place, options.figure, options.at, options.plan), target, width, force=options.force)


def write(make: Callable[[], Picture], target: Path, width: float, *, force: bool) -> None:
    """Draw a picture for a width in inches, write it in the format of the file's name, and print that name."""
    from sojourn.plan import folder
    from sojourn.view import canvas

    if target.suffix not in FORMATS:
        raise SojournError(f'--out "{target}": allowed: a name that ends in {", ".join(FORMATS)}')
    folder.refuse_results(target, force=force)
    with canvas.sheet(width):
        picture = make()
        with folder.aside(target) as file:
            # No date: the same results give the same bytes.
            stamp: dict[str, Any] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(target.suffix, {})
            picture.savefig(file, format=target.suffix[1:], metadata=stamp or None, dpi=_DPI)
    print(target)


def _is_plan(place: Path) -> bool:
    return not (place / "meta.json").exists() and (place / "store.json").exists()


def _names(place: Path, at: Sequence[str], name: str | None) -> list[str]:
    own = [f"{figure.y}-{figure.x}" for figure, _ in _plan(place, name)] if _is_plan(place) and not at else []
    every = _results(place, at, name)
    # Figures of single combinations of levels need them named.
    return own if len(every) > 1 else [*own, *every[0][1].plot.names()]


def _picture(place: Path, name: str, at: Sequence[str], plan: str | None) -> Picture:
    from sojourn.view.plot import Plots

    drawn = {}
    if _is_plan(place) and not at:
        drawn = {f"{figure.y}-{figure.x}": picture for figure, picture in _plan(place, plan)}
        if name in drawn:
            return drawn[name]
    every = _results(place, at, plan)
    if len(every) == 1:
        return Plots(every[0][1]).draw(name)
    known = [*drawn, *every[0][1].plot.names()]
    if name not in known:
        raise SojournError(suggest.unknown("figure", name, known))
    raise SojournError(f"--figure {name}: is of one combination of levels, name it with --at; {_levels(every)}")


def _results(place: Path, at: Sequence[str], name: str | None) -> list[tuple[dict[str, Any], Results]]:
    """Return the results of a run folder, or those of a plan at some levels, each with its levels."""
    from sojourn import plan
    from sojourn.results.results import Results

    if not _is_plan(place):
        if at or name:
            raise SojournError(f"--{f'at {at[0]}' if at else f'plan {name}'}: {place} is not the store of a plan")
        return [({}, Results.read(place))]
    every = plan.results(place, name)
    if not every:
        raise SojournError(f"{place}: the plan has no finished run")
    chosen = every
    for one in at:
        factor, _, level = (part.strip() for part in one.partition("="))
        chosen = [(levels, found) for levels, found in chosen if str(levels.get(factor)) == level]
        if not chosen:
            raise SojournError(f"--at {one}: the plan has no such cells; {_levels(every)}")
    return chosen


def _levels(every: Sequence[tuple[dict[str, Any], Results]]) -> str:
    """Return what may be named with ``--at``."""
    names = list(every[0][0])
    known = [f"{name}={level}" for name in names for level in dict.fromkeys(levels[name] for levels, _ in every)]
    return f"allowed: {', '.join(known)}" if known else "the plan has one combination"


def _plan(place: Path, name: str | None) -> list[tuple[Any, Picture]]:
    from sojourn.plan import read
    from sojourn.plan.store import Store
    from sojourn.view import plans

    store = Store.open(place)
    return list(plans.pictures(read.plan_of(store, name), store))


def tabulate(options: argparse.Namespace) -> None:
    """Write a table."""
    from sojourn.plan import folder

    if options.out:
        folder.refuse_results(options.out, force=options.force)
    every = _results(Path(options.folder), options.at, options.plan)
    if options.by:
        if options.format != "csv" or options.table != "summary":
            raise SojournError(f"--by {options.by}: allowed with --table summary and --format csv")
        if options.by == "phase" and not any(results.phase_names for _, results in every):
            raise SojournError("--by phase: the run has no phases; allowed: a scenario with [[changes]]")
        text = _by(every, options.metric, options.by)
    else:
        text = _table(every, options.table, options.format, options.metric)
    if options.out:
        folder.write_text(Path(options.out), text)
        print(options.out)
    else:
        print(text, end="")


def _by(every: Sequence[tuple[dict[str, Any], Results]], names: list[str] | None, by: Any) -> str:
    import pandas as pd

    frames = []
    for levels, results in every:
        frame = results.summary(names, by=by)
        for place, (name, level) in enumerate(levels.items()):
            frame.insert(place, name, level)
        frames.append(frame)
    return frame_as_csv(pd.concat(frames))


def _table(every: Sequence[tuple[dict[str, Any], Results]], kind: str, form: str, names: list[str] | None) -> str:
    known = dict.fromkeys(name for _, results in every for name in results.metric_names())
    for name in names or ():
        if metrics.split(name)[0] not in known:
            raise SojournError(suggest.unknown("metric", name, known))
        if not any(results.has(name) for _, results in every):
            every[0][1].values(every[0][1].labels[0], name)
    made = [(levels, _table_of(results, kind, names)) for levels, results in every]
    columns: dict[str, Any] = {}
    rows = []
    has_queues = any(table.has_queues for _, table in made if table)
    for levels, table in made:
        heads = [metric.name for metric in table.columns] if table else []
        columns |= {metric.name: metric for metric in table.columns} if table else {}
        for row in table.rows if table else ():
            texts = [row.label, *("" if level is None else str(level) for level in levels.values())]
            texts += [row.queue] if has_queues else []
            rows.append((texts, row.is_first, dict(zip(heads, row.cells, strict=True))))
    if not rows:
        raise SojournError("differences need two schemes and two replications")
    order = metrics.order(columns) if len(every) > 1 else columns
    shown = [columns[name] for name in order]
    lead = ["scheme", *every[0][0], *([_QUEUE] if has_queues else [])]
    return _latex(lead, shown, rows, every[0][1], kind) if form == "latex" else _csv(lead, shown, rows)


def _table_of(results: Results, kind: str, names: list[str] | None) -> Any:
    """Return a table of one set of results; None where it has no differences."""
    from sojourn.view.report import context

    match kind:
        case "summary":
            return context.summary_table(results, names) if names else context.summary_table(results)
        case "drops":
            return context.drops_table(results, names) if names else context.drops_table(results)
        case _:
            base = results.labels[0]
            several = context.differences_table(results, base, names) if names else None
            return several or context.differences_table(results, base)


_QUEUE: Final = "queue"

_Rows: TypeAlias = "list[tuple[list[str], bool, dict[str, Any]]]"
"""The texts of a row, whether it is the first one of its scheme, and its numbers by column."""


def _csv(lead: Sequence[str], columns: Sequence[Any], rows: _Rows) -> str:
    heads = [f"{metric.name}{end}" for metric in columns for end in ("", "_low", "_high")]
    lines = []
    for texts, _, cells in rows:
        found = [cells.get(metric.name) for metric in columns]
        values = [value for one in found for value in ((one.value, one.low, one.high) if one else (None,) * 3)]
        lines.append(
            [*texts, *("" if value is None or math.isnan(value) else repr(float(value)) for value in values)]
        )
    return as_csv([*lead, *heads], lines)


def _latex(lead: Sequence[str], columns: Sequence[Any], rows: _Rows, results: Results, kind: str) -> str:
    """Return a ``tabular`` of booktabs; the note that a caption needs is a comment above it."""
    minus = f", minus {results.labels[0]}" if kind == "differences" else ""
    bold = (
        "significant at the 5 % level after Holm's correction" if kind == "differences" else "better than every other"
    )
    of = f"{results.meta.get('plan', results.name)}{minus}"
    made = f"{results.replications} replications, seed {results.seed}"
    quantiles = any(metric.resolution for metric in columns)
    heads = [
        latex(name) for name in (*(name[:1].upper() + name[1:] for name in lead), *(one.title for one in columns))
    ]
    units = [latex(one.difference_unit if kind == "differences" else one.shown_unit) for one in columns]
    buckets = f"{'both buckets' if kind == 'differences' else 'half a bucket'} of the histogram"
    lines = [
        # A comment ends with its line.
        f"% Sojourn {line(results.build)}: {line(of)}; {made}.",
        f"% Mean and half-width of its 95 % confidence interval (Student's t); bold: {bold}.",
        *([f"% The intervals of quantiles include {buckets}."] if quantiles else []),
        r"% Needs \usepackage{booktabs}.",
        rf"\begin{{tabular}}{{{'l' * len(lead)}{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        " & ".join([""] * len(lead) + units) + r" \\",
        r"\midrule",
    ]
    for texts, is_first, cells in rows:
        numbers = [_cell(cells[metric.name], kind) if metric.name in cells else "--" for metric in columns]
        first = [text if is_first or name == _QUEUE else "" for name, text in zip(lead, texts, strict=True)]
        shown = [
            latex(text).replace("->", r"$\to$") if name == _QUEUE else latex(text)
            for name, text in zip(lead, first, strict=True)
        ]
        lines.append(" & ".join([*shown, *numbers]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _cell(cell: Any, kind: str) -> str:
    if not cell.mean:
        return ""
    if cell.mean == "–":
        return "--"
    mean = cell.mean.replace("−", "-")
    is_bold = cell.is_sure if kind == "differences" else cell.is_best
    number = rf"\mathbf{{{mean}}}" if is_bold else mean
    half = cell.half.replace("−", "-").replace("<", "{<}").replace("±", r"\pm").replace(" to ", r"\mbox{ to }")
    return f"${number} {half}$" if cell.half else f"${number}$"
