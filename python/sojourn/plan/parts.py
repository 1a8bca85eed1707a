"""What a plan consists of: factors, variations, precision goals and figures; and the seeds of its cells."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from sojourn.base import suggest
from sojourn.base.errors import ScenarioError
from sojourn.base.wording import one_line
from sojourn.results import metrics

Value: TypeAlias = str | int | float | bool
Scale: TypeAlias = Literal["linear", "log"]

SCHEME: Final = "scheme"
FLOOR: Final = 10
CEILING: Final = 200
AUTO: Final = "auto"
"""The default sampling of time series, as in a comparison."""
NAME: Final = "a line of text without `/`, not empty, no dot in front"
"""What the name of a plan may be, which is that of a file in its store."""


def is_name(name: str) -> bool:
    """Whether a plan may have this name."""
    return bool(name) and not one_line(name) and not any(mark in name for mark in "/\\") and name[0] != "."


@dataclass(frozen=True, slots=True)
class Factor:
    """One thing that varies.

    Parameters
    ----------
    keys
        Paths of the scenario that take its value (``links.bottleneck.rate``), or ``scheme.PARAMETER`` for a parameter
        of every scheme, ``schemes.LABEL.PARAMETER`` for one of them.
    name
        In tables; by default the last part of the first key.
    """

    keys: tuple[str, ...]
    name: str

    def __post_init__(self) -> None:
        if why := one_line(self.name):
            raise ScenarioError(f"the name {self.name!r} {why}")


@dataclass(frozen=True, slots=True)
class Variation:
    """Factors that vary together, and the points they take; variations cross each other.

    Parameters
    ----------
    factors
        In order.
    points
        One value a factor at each point.
    """

    factors: tuple[Factor, ...]
    points: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        for value in (value for point in self.points for value in point if isinstance(value, str)):
            if why := one_line(value):
                raise ScenarioError(f"the level {value!r} {why}")


@dataclass(frozen=True, slots=True)
class Precision:
    """Replicate until the 95 % interval of a metric is narrow enough.

    Parameters
    ----------
    metric
        Of the run.
    within
        Half-width of the interval: ``"5 %"`` of the mean, or absolute with the metric's unit: ``"0.2 ms"``.
    floor, ceiling
        Least and greatest number of replications.
    """

    metric: str
    within: str
    floor: int = FLOOR
    ceiling: int = CEILING

    def __post_init__(self) -> None:
        if ("run", metrics.split(self.metric)[0]) not in metrics.catalogue():
            known = [name for scope, name in metrics.catalogue() if scope == "run"]
            raise ScenarioError(suggest.unknown("metric", self.metric, known))
        if self.floor < 2:
            raise ScenarioError(f"floor={self.floor} gives no interval; allowed: 2 or more, 10 or more is wise")
        if self.ceiling < self.floor:
            raise ScenarioError(f"ceiling={self.ceiling} is below floor={self.floor}")
        self.half_width(1.0)

    def half_width(self, mean: float) -> float:
        """Return the half-width that is allowed at a mean."""
        number, _, unit = self.within.strip().partition(" ")
        own = metrics.unit_of(self.metric)
        if number.endswith("%"):
            number, unit = number[:-1], "%"
        try:
            size = float(number)
        except ValueError:
            size = math.nan
        if not (math.isfinite(size) and size > 0) or unit.strip() not in ("%", own):
            absolute = f'"0.1 {own}"'.replace(' "', '"')
            raise ScenarioError(
                f'within={self.within!r} is not a precision of {self.metric}; allowed: "5 %", {absolute}'
            )
        return abs(mean) * size / 100 if unit.strip() == "%" else size


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture: a metric over a factor, a line for each scheme."""

    y: str
    x: str


def derived_seed(seed: int, levels: Sequence[tuple[str, Any]]) -> int:
    """Return the seed of cells that do not share traffic with others: it depends on the levels alone."""
    if not levels:
        return seed
    text = repr((seed, [(name, value) for name, value in levels]))
    # 63 bits: a seed that every format can hold.
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
