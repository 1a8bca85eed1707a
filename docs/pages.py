"""What the scripts that write pages share: places, colours, tables of results, pictures, commands and templates."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sojourn import stats, theory
from sojourn.stats import Estimate
from sojourn.view.palette import PAPER
from sojourn.view.plot import WIDTH, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    import sojourn as sj
    from sojourn.view.plot import Picture

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
BLUE, RED = "#0072b2", "#d55e00"

Pages: TypeAlias = Mapping[str, tuple[str, Callable[[], Mapping[str, Any]]]]
"""Pages by the names that commands have: the path in docs, and what makes the values of its template."""


def lines(rows: Iterable[Iterable[str]]) -> str:
    """The rows of a Markdown table, without a line end after the last."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    return "\n".join([lines([head]), "|" + " --- |" * len(head), *(lines([row]) for row in rows)]) + "\n"


def shown(of: Estimate | Iterable[float], digits: int = 2, scale: float = 1.0) -> str:
    """A mean with the half width of its interval, of an estimate or of values."""
    found = of if isinstance(of, Estimate) else stats.estimate(np.asarray(of, dtype=np.float64))
    return f"{found.mean * scale:.{digits}f} ± {(found.half_width or 0.0) * scale:.{digits}f}"


def within(of: Estimate, form: str = ".3g") -> str:
    """A mean with the ends of its interval."""
    return f"{of.mean:{form}} [{of.low or 0:{form}}, {of.high or 0:{form}}]"


def with_p(rows: Iterable[tuple[list[str], float]]) -> list[list[str]]:
    """Rows of a family of tests, each with its p value after Holm's correction."""
    rows = list(rows)
    return [[*row, f"{p:.2g}"] for (row, _), p in zip(rows, stats.holm([p for _, p in rows]), strict=True)]


@dataclass(frozen=True)
class Side:
    """The results of one scheme."""

    results: sj.Results
    label: str

    def run(self, metric: str) -> Estimate:
        """The estimate of a metric of runs."""
        return self.results.estimate(self.label, metric)

    def of(self, group: str, metric: str, how: str = "mean") -> pd.Series[float]:
        """A metric of the flows of a group, averaged (or as `how` says), by replication."""
        flows = self.results.flows[(self.results.flows["scheme"] == self.label)]
        found: pd.Series[float] = flows[flows["group"] == group].groupby("replication")[metric].agg(how)
        return found


Column: TypeAlias = tuple[str, "Callable[[Side], Estimate | Iterable[float]] | str", float, int]
"""Title, what it shows of a scheme (a text: that metric of runs), the factor to its unit, and digits."""


def measured(first: Iterable[str], cases: Iterable[tuple[Iterable[str], Side]], columns: Iterable[Column]) -> str:
    """A table of means with intervals: the first columns' titles, and the rows, each its first cells and a scheme."""
    columns = list(columns)

    def cell(side: Side, column: Column) -> str:
        _, value, scale, digits = column
        return shown(side.run(value) if isinstance(value, str) else value(side), digits, scale)

    rows = ([*cells, *(cell(side, one) for one in columns)] for cells, side in cases)
    return table([*first, *(title for title, *_ in columns)], rows)


def sides(results: sj.Results, *first: str) -> list[tuple[list[str], Side]]:
    """The rows of all schemes for :func:`measured`, each with its text behind other cells."""
    return [([*first, f"`{label}`"], Side(results, label)) for label in results.labels]


def save(figure: Picture, name: str) -> None:
    """Write a picture."""
    figure.savefig(IMAGES / name, dpi=100, facecolor=PAPER, metadata={"Software": None})


def model(name: str) -> str:
    """The section on what a command of ``sojourn theory`` computes and assumes."""
    of = theory.MODELS[name]
    heads = ["quantity", "formula", "source", "function"][: 3 + any(one.function for one in of.formulas)]
    rows = [
        [one.quantity, f"`{one.formula}`", one.source, f"`{one.function}`" if one.function else ""][: len(heads)]
        for one in of.formulas
    ]
    lists = [
        f"{title}:\n\n" + "".join(f"* {line}\n" for line in told)
        for title, told in (("Assumptions", of.assumptions), ("Where the simulation departs", of.departures))
    ]
    return "\n".join([f"## What `sojourn theory {name}` computes\n{table(heads, rows)}", *lists]).rstrip("\n")


@contextmanager
def chart(
    name: str, height: float, x: str, y: str, *, loc: str = "outside right upper", **more: Any
) -> Iterator[Axes]:
    """Give the axes of a picture to draw on, then name them, add a legend and write the picture."""
    with new_figure(WIDTH, height) as drawing:
        axes = drawing.subplots()
        yield axes
        axes.set(xlabel=x, ylabel=y)
        drawing.legend(*axes.get_legend_handles_labels(), loc=loc, **more)
    save(drawing, name)


def save_small(figure: Picture, name: str, dpi: int = 120) -> None:
    """Write a picture with few colours."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi, facecolor="white", metadata={"Software": None})
    # A few dozen of them are kept with the sources, so they have few colours. With 32, a short line lost its own.
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(IMAGES / name, optimize=True)


def protocol(name: str) -> dict[str, Any]:
    """The protocol of a study, which was committed before its runs."""
    return tomllib.loads((DOCS / f"{name}.toml").read_text(encoding="utf-8"))


def run(command: str, folder: str | Path) -> subprocess.CompletedProcess[str]:
    """A command of `sojourn` that has run in a folder."""
    words = [sys.executable, "-m", "sojourn", *shlex.split(command)[1:]]
    return subprocess.run(  # noqa: S603 - our own command
        words, capture_output=True, text=True, check=True, cwd=folder, env={**os.environ, "COLUMNS": "120"}
    )


def console(command: str, printed: str) -> str:
    """A command with what it printed, as a block."""
    return f"```console\n$ {command}\n{printed}```\n"


def write(path: str, values: Mapping[str, Any]) -> None:
    """Write a page of docs from its template, with a note of the script that runs."""
    note = f"docs/{Path(sys.argv[0]).name} from runs of the library: change it there, or its words in docs/templates"
    template = (DOCS / "templates" / f"{Path(path).name}.in").read_text(encoding="utf-8")
    (DOCS / path).parent.mkdir(exist_ok=True)
    (DOCS / path).write_text(f"<!-- Made by {note}. -->\n{template.format_map(values)}", encoding="utf-8")


def write_named(pages: Pages) -> None:
    """Write the pages that the command line names, or all."""
    names = sys.argv[1:] or list(pages)
    if unknown := [name for name in names if name not in pages]:
        sys.exit(f"unknown: {', '.join(unknown)}; there are: {', '.join(pages)}")
    for name in names:
        path, make = pages[name]
        write(path, make())
