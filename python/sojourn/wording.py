"""How sentences list names."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["listed"]


def listed(names: Sequence[str], nothing: str = "") -> str:
    """Return the names as a sentence has them.

    Parameters
    ----------
    names
        What is listed, in order.
    nothing
        The text if there are no names.

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
