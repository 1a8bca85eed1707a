"""What the scripts that write pages share: places, colours, tables, numbers, pictures, commands and templates."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sojourn.view.palette import PAPER

if TYPE_CHECKING:
    from sojourn.stats import Estimate
    from sojourn.view.plot import Picture

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
BLUE, RED = "#0072b2", "#d55e00"

Pages: TypeAlias = Mapping[str, tuple[str, Callable[[], dict[str, Any]]]]
"""Pages by the names that commands have: the path in docs, and what makes the values of its template."""


def lines(rows: Iterable[Iterable[str]]) -> str:
    """The rows of a Markdown table, without a line end after the last."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    return "\n".join([lines([head]), "|" + " --- |" * len(head), *(lines([row]) for row in rows)]) + "\n"


def shown(found: Estimate, digits: int = 2) -> str:
    """A mean with the half width of its interval."""
    return f"{found.mean:.{digits}f} ± {found.half_width or 0.0:.{digits}f}"


def save(figure: Picture, name: str) -> None:
    """Write a picture."""
    figure.savefig(IMAGES / name, dpi=100, facecolor=PAPER, metadata={"Software": None})


def run(command: str, folder: str | Path) -> subprocess.CompletedProcess[str]:
    """A command of `sojourn` that has run in a folder."""
    words = [sys.executable, "-m", "sojourn", *shlex.split(command)[1:]]
    return subprocess.run(  # noqa: S603 - our own command
        words, capture_output=True, text=True, check=True, cwd=folder, env={**os.environ, "COLUMNS": "120"}
    )


def console(command: str, printed: str) -> str:
    """A command with what it printed, as a block."""
    return f"```console\n$ {command}\n{printed}```\n"


def write(path: str, note: str, values: Mapping[str, Any]) -> None:
    """Write a page of docs from its template."""
    template = (DOCS / "templates" / f"{Path(path).name}.in").read_text(encoding="utf-8")
    (DOCS / path).parent.mkdir(exist_ok=True)
    (DOCS / path).write_text(note + template.format_map(values), encoding="utf-8")


def write_named(pages: Pages, note: str) -> None:
    """Write the pages that the command line names, or all."""
    for name in sys.argv[1:] or pages:
        path, make = pages[name]
        write(path, note, make())
