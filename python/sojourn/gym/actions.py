"""What an agent changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from sojourn.base.core import SojournError
from sojourn.base.units import Quantity, as_text
from sojourn.model.scheme import SchemeLike, as_schemes

Bound: TypeAlias = Quantity | timedelta | str | float


@dataclass(frozen=True, slots=True)
class Action:
    """What an action changes; made by :func:`parameters`, :func:`probability` or :func:`schemes`.

    Parameters
    ----------
    numbers
        Of an action.
    choices
        Whole numbers that an action can be, from 0; None where it is numbers from -1 to 1.
    document
        For the compiled core.
    """

    numbers: int
    choices: int | None
    document: dict[str, Any] = field(repr=False)


def parameters(*, log: Sequence[str] = (), **bounds: tuple[Bound, Bound]) -> Action:
    """Set parameters of the scheme, which keeps what it has learnt.

    An action has a number for each parameter: -1 stands for the lower bound, 1 for the upper one.

    Parameters
    ----------
    log
        Parameters whose scale is logarithmic: 0 stands for the geometric mean of the bounds.
    **bounds
        Lower and upper bound of each parameter, by its name.

    Raises
    ------
    SojournError
        No parameter, or `log` names one without bounds. Names and bounds are checked when an environment is made.

    Examples
    --------
    >>> import sojourn as sj
    >>> parameters(target=(sj.ms(1), sj.ms(100)), log=["target"]).numbers
    1
    """
    if not bounds:
        raise SojournError("no parameter is named; allowed: one or more, as in target=(sj.ms(1), sj.ms(100))")
    if unknown := [name for name in log if name not in bounds]:
        raise SojournError(f"log: {', '.join(unknown)} has no bounds; allowed: {', '.join(bounds)}")
    ranges = [
        {"name": name, "low": _text(name, low), "high": _text(name, high), "log": name in log}
        for name, (low, high) in bounds.items()
    ]
    return Action(len(ranges), None, {"parameters": ranges})


def probability(low: float = 0.0, high: float = 1.0, *, log: bool = False) -> Action:
    """Set the probability with which arrivals are dropped; the scheme is a ``dropping_function``.

    Parameters
    ----------
    low, high
        What -1 and 1 stand for.
    log
        Whether the scale is logarithmic.
    """
    return Action(1, None, {"probability": {"low": low, "high": high, "log": log}})


def schemes(*choices: SchemeLike) -> Action:
    """Choose the scheme. Another scheme begins without what the former one had learnt.

    Parameters
    ----------
    *choices
        An action is a number from 0.

    Raises
    ------
    SojournError
        A bad scheme, or none.
    """
    texts = [scheme.text for scheme in as_schemes([*choices])]
    return Action(1, len(texts), {"schemes": texts})


def _text(name: str, bound: Bound) -> str:
    if isinstance(bound, timedelta):
        return as_text(name, bound, "time")
    return str(bound).replace("packets", "p")
