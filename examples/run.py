"""Run notebooks without Jupyter: every cell of code, in order, in one namespace.

    python examples/run.py                    runs all notebooks of this folder, in a temporary folder
    python examples/run.py NOTEBOOK...        runs these

A notebook of this folder uses no magic commands, so that its code is plain Python. The value of a cell's last line is
displayed as a notebook would: as HTML or picture if it has one, else as text.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent


def cells(notebook: Path) -> list[str]:
    """Return the code of a notebook, a text for each cell."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


def display(value: Any) -> int:
    """Make what a notebook would show of a value; return its size."""
    for name in ("_repr_html_", "_repr_png_"):
        show = getattr(value, name, None)
        shown = show() if show else None
        if shown:
            return len(shown)
    return len(repr(value))


def run(notebook: Path) -> int:
    """Run a notebook in the current folder and return the number of cells.

    Raises
    ------
    Exception
        What a cell raises; the traceback names notebook and cell.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    code = cells(notebook)
    for number, text in enumerate(code, 1):
        tree = ast.parse(text)
        name = f"{notebook.name}, cell {number}"
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), names)  # noqa: S102
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)  # noqa: S307
            if value is not None:
                display(value)
    return len(code)


def main() -> int:
    """Do what the command line says."""
    notebooks = [Path(name).resolve() for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb"))
    for notebook in notebooks:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            count = run(notebook)
            os.chdir(FOLDER)
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(f"{notebook.name}: {count} cells, {used.ru_utime + used.ru_stime:.1f} s of CPU so far")
    return 0


if __name__ == "__main__":
    sys.exit(main())
