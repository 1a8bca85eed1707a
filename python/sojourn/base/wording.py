"""How sentences list names, and which names a line can hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_ACTS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, ends of lines, and what turns the direction of a text, as in scenarios."""


def one_line(text: str) -> str:
    r"""Return why a name cannot be shown in a line of a table, a report or a picture; nothing if it can.

    Examples
    --------
    >>> one_line("slow"), one_line("slow\n")
    ('', 'has the control character U+000A; allowed: one line of text')
    """
    found = _ACTS.search(text)
    return f"has the control character U+{ord(found[0]):04X}; allowed: one line of text" if found else ""


def visible(text: object) -> str:
    r"""Return a text of any number of lines that moves no terminal's cursor, whatever it quotes.

    JSON stays JSON of the same meaning.

    Examples
    --------
    >>> print(visible("no plan \x1b[2J"))
    no plan \u001b[2J
    """
    return _ACTS.sub(lambda found: found[0] if found[0] in "\n\t" else _shown(found), str(text))


def line(text: object) -> str:
    r"""Return a text as one line.

    Examples
    --------
    >>> print(line("two\nlines"))
    two\u000alines
    """
    return _ACTS.sub(_shown, str(text))


def _shown(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def listed(names: Sequence[str], nothing: str = "") -> str:
    """Return the names as a sentence has them; `nothing` if there are none.

    Examples
    --------
    >>> listed(["pie", "codel", "red"])
    'pie, codel and red'
    >>> listed(["pie"]), listed([], "the others")
    ('pie', 'the others')
    """
    if len(names) < 2:
        return names[0] if names else nothing
    return f"{', '.join(names[:-1])} and {names[-1]}"
