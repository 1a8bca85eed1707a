"""Parameters of a dropping function for a goal: nine shapes, each with one location to solve.

Shapes and their fixed widths: Barczyk and Chydzinski 2022 (see :mod:`sojourn.theory.queue`), section 2, d0 to d8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from scipy import optimize

from sojourn.base.by_name import by_name
from sojourn.base.core import SojournError
from sojourn.theory.queue import Queue, queue


@dataclass(frozen=True, slots=True)
class Shape:
    """A family of dropping functions, with the published name, location and width (packets; 0: it has none).

    `text` makes the scheme from location, width and largest probability.
    """

    name: str
    title: str
    published: str
    location: float
    width: float
    text: Callable[[float, float, float], str]
    is_whole: bool = False


def _formula(text: str) -> str:
    return f"dropping_function formula {text} count system"


def _small_buffer(x: float, width: float, most: float) -> str:  # noqa: ARG001 - a shape's three numbers
    return f"dropping_function table 0:0,{round(x)}:1 between step count system"


def _constant(x: float, width: float, most: float) -> str:  # noqa: ARG001
    return f"dropping_function table 0:0,{round(x)}:{most!r} between step count system"


def _red(x: float, width: float, most: float) -> str:
    return _formula(f"min({most!r},max(0,{most / width!r}*(n-{x!r})))")


def _nlred(x: float, width: float, most: float) -> str:
    return _formula(f"min({most!r},{most!r}*(max(0,n-{x!r})/{width!r})^2)")


def _rem(x: float, width: float, most: float) -> str:
    return _formula(f"max(0,{most!r}-{most!r}*exp(({x!r}-n)/{width!r}))")


def _s(x: float, width: float, most: float) -> str:
    half = repr(most / 2)
    low, high = (f"min({half},{half}*exp(({of})/{width!r}))" for of in (f"n-{x!r}", f"{x!r}-n"))
    return _formula(f"{low}+{half}-{high}")


def _exponential(x: float, width: float, most: float) -> str:
    return _formula(f"min({most!r},{most!r}*exp((n-{x!r})/{width!r}))")


def _gred(x: float, width: float, most: float) -> str:
    # Two lines, the second three times as steep, so the larger of both holds.
    rise = most / 4 / (width / 2)
    return _formula(f"min({most!r},max(0,{rise!r}*(n-{x!r}),{most / 4!r}+{3 * rise!r}*(n-{x + width / 2!r})))")


def _tred(x: float, width: float, most: float) -> str:
    def part(low: str, high: str) -> str:
        return f"min(max((n-{x!r})/{width!r},{low}),{high})"

    third, two = repr(1 / 3), repr(2 / 3)
    return _formula(
        # 9 (1/3)^3 + 1/3 - 9 (1/3)^3 rounds to less than 1/3: without the bounds d(0) would be -6e-17.
        f"{most!r}*min(1,max(0,9*{part('0', third)}^3+{part(third, two)}+9*({part(two, '1')}-1)^3))"
    )


SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        shape.name: shape
        for shape in (
            Shape("small_buffer", "small buffer", "d0", 100, 0, _small_buffer, is_whole=True),
            Shape("red", "RED", "d1", 90.4, 30, _red),
            Shape("gred", "GRED", "d2", 86.74, 30, _gred),
            Shape("nlred", "NLRED", "d3", 80.88, 40, _nlred),
            Shape("tred", "TRED", "d4", 88.05, 30, _tred),
            Shape("rem", "REM", "d5", 93.86, 10, _rem),
            Shape("s", "S", "d6", 100.74, 3, _s),
            Shape("exponential", "exponential", "d7", 107.3, 5, _exponential),
            Shape("constant", "constant", "d8", 99, 0, _constant, is_whole=True),
        )
    }
)
"""By name; the locations are those printed, which leave out no digit but those that rounding took."""


@by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The goal for a queue; exactly one of the four is given.

    Parameters
    ----------
    mean_packets
        Mean number in the system.
    loss_ratio
        Lost over arrived.
    response
        Mean time of an accepted packet in the system, in mean service times.
    quantile
        A level, and the time that this share of accepted packets does not exceed, in mean service times.
    """

    mean_packets: float | None = None
    loss_ratio: float | None = None
    response: float | None = None
    quantile: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        given = [name for name in self.__slots__ if getattr(self, name) is not None]
        if len(given) != 1:
            raise SojournError(
                f"a goal is one of mean_packets, loss_ratio, response, quantile; {len(given)} are given"
            )

    def excess(self, found: Queue) -> float:
        """Return how far a queue is above the goal, or below it for the loss ratio: it rises with the location."""
        if self.mean_packets is not None:
            return found.mean_packets - self.mean_packets
        if self.loss_ratio is not None:
            return self.loss_ratio - found.loss_ratio
        if self.response is not None:
            return found.response - self.response
        level, value = self.quantile or (0.5, 0.0)
        return found.quantiles[level] - value

    @property
    def levels(self) -> tuple[float, ...]:
        """The quantiles that it needs."""
        return (self.quantile[0],) if self.quantile else ()


@dataclass(frozen=True)
class Design:
    """A dropping function that meets a goal.

    Parameters
    ----------
    scheme
        As tc writes it, for simulator and device; n counts the packet in service.
    location
        What was solved for, packets.
    is_whole
        Whether the location had to be whole; then the goal is met as nearly as that allows.
    found
        The steady state at the design's load.
    """

    scheme: str
    location: float
    is_whole: bool
    found: Queue


_MOST: Final = 100_000
"""The largest location that is tried."""


def design(
    shape: str,
    goal: Goal,
    *,
    load: float = 1.0,
    d_max: float = 0.5,
    width: float | None = None,
) -> Design:
    """Solve for the location of a dropping function.

    Parameters
    ----------
    shape
        One of :data:`SHAPES`, or a formula in ``n`` with an ``x`` to solve for: ``min(1,max(0,(n-x)/50))``.
    goal
        What the queue is to have at `load`.
    load
        Poisson arrivals and exponential service.
    d_max, width
        Largest probability and width (packets) of a named shape; by default those of the governing text. The small
        buffer has neither, the constant shape no width.

    Raises
    ------
    SojournError
        An unknown shape, and goals that no location meets.

    Examples
    --------
    >>> round(design("red", Goal(mean_packets=50)).location, 1)
    90.4
    """
    make, is_whole = _maker(shape, d_max, width)

    def excess(x: float) -> float:
        return goal.excess(_found(make(x), load, goal))

    low, high = 1.0, 2.0
    below = excess(low)
    if below > 0:
        raise SojournError(f"{shape}: even at location {low:g} the queue is above the goal; allowed: a larger one")
    while excess(high) < 0:
        low, high = high, 2 * high
        if high > _MOST:
            raise SojournError(f"{shape}: no location up to {_MOST} packets reaches the goal")
    if is_whole:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        x = min((low, high), key=lambda at: abs(excess(at)))
    else:
        x = float(optimize.brentq(excess, low, high, xtol=1e-9))
    return Design(make(x), x, is_whole, _found(make(x), load, goal))


def _found(scheme: str, load: float, goal: Goal) -> Queue:
    return queue(scheme, load=load, quantiles=goal.levels)


def _maker(shape: str, d_max: float, width: float | None) -> tuple[Callable[[float], str], bool]:
    named = SHAPES.get(shape)
    if named is not None:
        own = named.width if width is None else width
        if own < 0 or (own == 0 and named.width > 0):
            raise SojournError(f"width={width}; allowed: above 0 packets")
        if not 0 < d_max <= 1:
            raise SojournError(f"d_max={d_max}; allowed: above 0, up to 1")
        return lambda x: _with_limit(named.text(float(x), float(own), float(d_max)), x + 10 * own), named.is_whole
    if not re.search(r"\bx\b", shape):
        known = ", ".join(SHAPES)
        raise SojournError(f"{shape!r} is not a shape; allowed: {known}, or a formula in n with an x to solve for")
    return lambda x: _with_limit(_formula(re.sub(r"\bx\b", repr(float(x)), shape)), 4 * x), False


def _with_limit(scheme: str, reach: float) -> str:
    # The table must reach what the shape's last value holds for; 300 is the governing text's buffer.
    return f"{scheme} limit {max(300, round(reach) + 1)}p"
