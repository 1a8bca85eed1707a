"""``sojourn plot`` and ``sojourn table``: figures and tables of a folder of results for a paper."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn import metrics, suggest
from sojourn.cli.options import add_out
from sojourn.cli.text import as_csv
from sojourn.core import SojournError

if TYPE_CHECKING:
    from sojourn.plot import Picture
    from sojourn.results import Results

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
        "the given width, embedded TrueType fonts. Without --figure, list the figures that the folder has data for.",
        epilog="example: sojourn plot out/compare --figure sojourn_cdf --width 85mm --out cdf.pdf",
    )
    plot.add_argument("folder", metavar="FOLDER", help="a run folder, or a store with one plan")
    plot.add_argument("--figure", metavar="NAME", help="which figure (default: list them)")
    plot.add_argument(
        "--width", default=WIDTH, metavar="WIDTH", help=f"as printed: mm, cm, in or pt (default {WIDTH})"
    )
    add_out(plot, metavar="FILE", help=f"the file, {', '.join(FORMATS)} (default NAME.pdf)")
    plot.set_defaults(command=draw)
    table = verbs.add_parser(
        "table",
        description="Write a table of a run folder, schemes as rows and metrics as columns, as LaTeX (booktabs) or "
        "CSV. Numbers in LaTeX have as many digits as their 95 % intervals allow.",
        epilog="example: sojourn table out/compare --metric sojourn_ms_p99 --metric goodput_bit_s > table.tex",
    )
    table.add_argument("folder", metavar="FOLDER", help="a run folder")
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
    table.set_defaults(command=tabulate)


def inches(text: str) -> float:
    """Return a width in inches.

    Raises
    ------
    SojournError
        Not a width, or an impossible one.

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
        print("\n".join(_names(place)))
        return
    target = Path(options.out or f"{options.figure}.pdf")
    write(lambda: _picture(place, options.figure), target, width, force=options.force)


def write(make: Callable[[], Picture], target: Path, width: float, *, force: bool) -> None:
    """Draw a picture for a width in inches, write it in the format of the file's name, and print that name.

    Raises
    ------
    SojournError
        If the name has another ending than :data:`FORMATS`, or the file is there and `force` is not set.
    """
    from sojourn import canvas, folder

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


def _names(place: Path) -> list[str]:
    if _is_plan(place):
        return [f"{figure.y}-{figure.x}" for figure, _ in _plan(place)]
    return _results(place).plot.names()


def _picture(place: Path, name: str) -> Picture:
    if not _is_plan(place):
        return _results(place).plot.draw(name)
    drawn = {f"{figure.y}-{figure.x}": picture for figure, picture in _plan(place)}
    if name not in drawn:
        raise SojournError(suggest.unknown("figure", name, drawn))
    return drawn[name]


def _results(place: Path) -> Results:
    from sojourn.results import Results

    return Results.read(place)


def _plan(place: Path) -> list[tuple[Any, Picture]]:
    from sojourn.plan import read, show
    from sojourn.plan.store import Store

    store = Store.open(place)
    plans = read.plans(store)
    if len(plans) != 1:
        raise SojournError(f"{place} holds {len(plans)} plans; allowed: a store with one")
    return list(show.pictures(plans[0], store))


def tabulate(options: argparse.Namespace) -> None:
    """Write a table."""
    from sojourn import folder

    if options.out:
        folder.refuse_results(options.out, force=options.force)
    results = _results(Path(options.folder))
    if options.by:
        if options.format != "csv" or options.table != "summary":
            raise SojournError(f"--by {options.by}: allowed with --table summary and --format csv")
        if options.by == "phase" and not results.phase_names:
            raise SojournError("--by phase: the run has no phases; allowed: a scenario with [[changes]]")
        text = results.summary(options.metric, by=options.by).to_csv(index=False)
    else:
        text = _table(results, options.table, options.format, options.metric)
    if options.out:
        folder.write_text(Path(options.out), text)
        print(options.out)
    else:
        print(text, end="")


def _table(results: Results, kind: str, form: str, names: list[str] | None) -> str:
    from sojourn.report import context

    for name in names or ():
        metric, queue = metrics.split(name)
        if queue:
            results.values(results.labels[0], name)
        if metric not in results.metric_names():
            raise SojournError(suggest.unknown("metric", name, results.metric_names()))
    match kind:
        case "summary":
            found = context.summary_table(results, names) if names else context.summary_table(results)
        case "drops":
            found = context.drops_table(results, names) if names else context.drops_table(results)
        case _:
            base = results.labels[0]
            several = context.differences_table(results, base, names) if names else None
            several = several or context.differences_table(results, base)
            if several is None:
                raise SojournError("differences need two schemes and two replications")
            found = several
    return _latex(found, results, kind) if form == "latex" else _csv(found)


def _csv(table: Any) -> str:
    heads = [(m.name, m.name + "_low", m.name + "_high") for m in table.columns]
    rows = []
    for row in table.rows:
        cells = [
            ["" if value is None or value != value else repr(float(value)) for value in (c.value, c.low, c.high)]  # noqa: PLR0124 - NaN
            for c in row.cells
        ]
        queue = [row.queue] if table.has_queues else []
        rows.append([row.label, *queue, *(value for three in cells for value in three)])
    return as_csv(
        ["scheme", *(["queue"] if table.has_queues else []), *(head for three in heads for head in three)], rows
    )


_LATEX: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
}  # fmt: skip


def escaped(text: str) -> str:
    """Return a text with LaTeX's special characters escaped."""
    return "".join(_LATEX.get(mark, mark) for mark in text)


def _latex(table: Any, results: Results, kind: str) -> str:
    """Return a ``tabular`` of booktabs; the note that a caption needs is a comment above it."""
    minus = f", minus {results.labels[0]}" if kind == "differences" else ""
    bold = (
        "significant at the 5 % level after Holm's correction" if kind == "differences" else "better than every other"
    )
    made = f"{results.replications} replications, seed {results.seed}"
    lines = [
        f"% Sojourn {results.build}: {results.name}{minus}; {made}.",
        f"% Mean and half-width of its 95 % confidence interval (Student's t); bold: {bold}.",
        r"% Needs \usepackage{booktabs}.",
        rf"\begin{{tabular}}{{{'ll' if table.has_queues else 'l'}{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(
            ["Scheme", *(["Queue"] if table.has_queues else []), *(escaped(metric.title) for metric in table.columns)]
        )
        + r" \\",
        " & ".join(
            ["", *([""] if table.has_queues else []), *(escaped(_unit(metric, kind)) for metric in table.columns)]
        )
        + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = [_cell(cell, kind) for cell in row.cells]
        queue = [escaped(row.queue).replace("->", r"$\to$")] if table.has_queues else []
        lines.append(" & ".join([escaped(row.label) if row.is_first else "", *queue, *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _unit(metric: Any, kind: str) -> str:
    return "points" if kind == "differences" and metric.shown_unit == "%" else str(metric.shown_unit)


def _cell(cell: Any, kind: str) -> str:
    if not cell.mean:
        return ""
    if cell.mean == "–":
        return "--"
    mean = cell.mean.replace("−", "-")
    is_bold = cell.is_sure if kind == "differences" else cell.is_best
    number = rf"\mathbf{{{mean}}}" if is_bold else mean
    return f"${number} \\pm {cell.half.replace('<', '{<}')}$" if cell.half else f"${number}$"
