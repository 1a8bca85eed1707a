"""Quantities are given by name, so that a call shows their units."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

Made = TypeVar("Made", bound=Callable[..., Any])


def by_name(made: Made) -> Made:
    """Return a function or dataclass with keyword-only parameters, whose TypeError for others names them.

    Examples
    --------
    >>> @by_name
    ... def delay(*, rate_bit_s):
    ...     return 12_000 / rate_bit_s
    >>> delay(1e6)
    Traceback (most recent call last):
    TypeError: delay takes quantities by name: delay(rate_bit_s=...)
    """
    call: Callable[..., Any] = made.__init__ if isinstance(made, type) else made  # type: ignore[misc]
    own = signature(call).parameters.values()
    places = [one.name for one in own if one.kind is not Parameter.KEYWORD_ONLY]
    spelled = [name for name in places if name != "self"]
    spelled += [f"{one.name}=..." for one in own if one.kind is Parameter.KEYWORD_ONLY]

    @wraps(call)
    def checked(*given: Any, **named: Any) -> Any:
        if len(given) > len(places):
            name = made.__name__
            raise TypeError(f"{name} takes quantities by name: {name}({', '.join(spelled)})")
        return call(*given, **named)

    if not isinstance(made, type):
        return checked  # type: ignore[return-value]
    made.__init__ = checked  # type: ignore[misc]
    return made
