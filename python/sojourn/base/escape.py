r"""Texts of others in what is written: one function for each kind of output.

Names in scenarios, plans and results are one line of text (:mod:`sojourn.base.wording`), but they may hold whatever
means something in LaTeX, HTML or a spreadsheet, and some texts, such as names of files, are not checked at all. All
of the functions write a control character as ``\u001b``.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, TextIO

from sojourn.base.wording import line, visible

__all__ = ["Stdout", "csv", "html", "latex", "markdown", "script_data", "svg", "terminal"]

_LATEX: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
}  # fmt: skip
_FORMULA: Final = ("=", "+", "-", "@")
_QUANTITY: Final = re.compile(r"[+-]+(?:(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan) ?[\w/%]*)?")
"""A number with a unit or without one, or a dash."""


def latex(text: object) -> str:
    r"""Return a text for a line of LaTeX.

    Examples
    --------
    >>> print(latex("50 %\n\\input{x}"))
    50 \%\textbackslash{}u000a\textbackslash{}input\{x\}
    """
    return "".join(_LATEX.get(mark, mark) for mark in line(text))


def csv(value: Any) -> Any:
    """Return a value for a cell of CSV; numbers stay as they are.

    A text that a spreadsheet would take for a formula, because it begins with ``=``, ``+``, ``-`` or ``@``, gets an
    apostrophe before it, which shows the text there. A quantity such as ``-5 ms`` is left alone.

    Examples
    --------
    >>> csv("=1+1"), csv("-5 ms"), csv(-5), csv("a, b")
    ("'=1+1", '-5 ms', -5, 'a, b')
    """
    if not isinstance(value, str):
        return value
    text = line(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not _QUANTITY.fullmatch(text.strip()) else text


def script_data(value: Any, kind: str) -> Any:
    r"""Return data for a script of the same page as an element, whose class is ``kind``.

    An element ``script`` ends at the first ``</script``, wherever that is, so there is no ``<`` in it.

    Examples
    --------
    >>> print(script_data({"a": "</script>"}, "live"))
    <script type="application/json" class="live">{"a":"\u003c/script>"}</script>
    """
    from markupsafe import Markup

    text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", r"\u003c")
    return Markup(f'<script type="application/json" class="{html(kind)}">{text}</script>')  # noqa: S704 - JSON


def markdown(text: object) -> str:
    r"""Return a text for a cell of a table in Markdown; its other marks keep their meaning.

    Examples
    --------
    >>> print(markdown("`a|b`\n"))
    `a\|b`\u000a
    """
    return line(text).replace("|", "\\|")


def html(value: Any) -> Any:
    """Return a value for a template, which escapes what is not markup."""
    # Commands that write no page start without it.
    from markupsafe import Markup

    if isinstance(value, Markup):
        return Markup(visible(value))  # noqa: S704 - it was
    return visible(value) if isinstance(value, str) else value


def svg(text: str) -> str:
    """Return a picture as text whose labels, which are escaped, have no characters that XML forbids."""
    return visible(text)


def terminal(text: object) -> str:
    """Return a text for a cell of a table in a terminal."""
    return line(text)


class Stdout:
    """Standard output of a command, which moves no cursor, whatever is printed."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner

    def write(self, text: str) -> int:
        """Write a text."""
        self._inner.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
