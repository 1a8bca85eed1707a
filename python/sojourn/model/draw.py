"""Random times and sizes, drawn anew for every use: ``sj.draw.exponential(mean=sj.s(1))``.

A function takes quantities of one kind, times or sizes, as the place where it is used needs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from sojourn.base.units import Data, Dimension, Time, as_text

Amount: TypeAlias = "Time | Data | Distribution"
"""A time or a size: constant, or drawn afresh each time."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A random time or size.

    Parameters
    ----------
    kind
        ``uniform``, ``exponential``, ``pareto`` or ``weibull``.
    quantities
        Parameters that are times or sizes.
    shape
        Of Pareto and Weibull.
    """

    kind: str
    quantities: tuple[tuple[str, Time | Data], ...]
    shape: float | None = None

    def table(self, name: str, dimension: Dimension) -> dict[str, Any]:
        """Return the distribution as a scenario document has it.

        Raises
        ------
        TypeError, ValueError
            If a parameter is a bare number, or a quantity of another dimension.
        """
        texts = {key: as_text(f"{name}: {key}", value, dimension) for key, value in self.quantities}
        if self.kind == "uniform":
            return {"uniform": [texts["low"], texts["high"]]}
        shape = {} if self.shape is None else {"shape": self.shape}
        return {self.kind: {**texts, **shape}}


def uniform(low: Time | Data, high: Time | Data) -> Distribution:
    """Return an amount uniform between `low` and `high`."""
    return Distribution("uniform", (("low", low), ("high", high)))


def exponential(*, mean: Time | Data, most: Time | Data | None = None) -> Distribution:
    """Return an exponential amount; larger ones than `most` do not occur."""
    return Distribution("exponential", _with_most(most, mean=mean))


def pareto(*, scale: Time | Data, shape: float, most: Time | Data | None = None) -> Distribution:
    """Return a Pareto amount of at least `scale`; larger ones than `most` do not occur."""
    return Distribution("pareto", _with_most(most, scale=scale), shape)


def weibull(*, scale: Time | Data, shape: float, most: Time | Data | None = None) -> Distribution:
    """Return a Weibull amount; larger ones than `most` do not occur."""
    return Distribution("weibull", _with_most(most, scale=scale), shape)


def amount(name: str, value: Amount, dimension: Dimension) -> Any:
    """Return an amount as a scenario document has it.

    Raises
    ------
    TypeError, ValueError
        If it is a bare number, or a quantity of another dimension.
    """
    return value.table(name, dimension) if isinstance(value, Distribution) else as_text(name, value, dimension)


def _with_most(most: Time | Data | None, **quantities: Time | Data) -> tuple[tuple[str, Time | Data], ...]:
    return (*quantities.items(), *((("max", most),) if most is not None else ()))
