"""What errors are of: each class is a :class:`SojournError`, which catches all of them.

The compiled core raises :class:`SojournError` itself; what it says of a scenario or of a scheme becomes one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sojourn._native import SojournError

__all__ = ["RunError", "ScenarioError", "SchemeError", "SojournError", "StoreError", "of_kind"]


class ScenarioError(SojournError):
    """A network, a scenario or a plan is not possible, or cannot be read."""


class SchemeError(SojournError):
    """A scheme is not possible: its name, a parameter, its label, or how schemes are put together."""


class RunError(SojournError):
    """A run cannot be carried out, has failed, or has no result of the kind that is asked for."""


class StoreError(SojournError):
    """A run folder, a store or another file of results cannot be read or written."""


@contextmanager
def of_kind(kind: type[SojournError]) -> Iterator[None]:
    """Raise what the compiled core refuses as an error of a kind, with the same message."""
    try:
        yield
    except SojournError as error:
        if type(error) is not SojournError:
            raise
        raise kind(str(error)) from None
