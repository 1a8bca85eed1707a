"""What a claim is judged on: its schemes, the values of its conditions, and how its words become numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from sojourn.stats import Floats

Values: TypeAlias = Mapping[str, Mapping[str, Floats]]
"""By metric, then by scheme: one value per replication, paired over schemes."""

HIGHER_IS_BETTER: Final = ("goodput_bit_s", "throughput_bit_s", "jain_index")


@dataclass(frozen=True, slots=True)
class Words:
    """How words become numbers: the readings of judgement.

    Parameters
    ----------
    margin
        How near "comparable", "about" and "slightly" are, relative to the larger.
    side
        ``median`` or ``third``: what "relatively low" is.
    across
        ``each``, ``most`` or ``mean``: how a sentence about several conditions is to hold.
    percent
        ``of_highest`` or ``of_other``: what "80 % higher" is a share of.
    """

    margin: float = 0.10
    side: str = "median"
    across: str = "each"
    percent: str = "of_highest"


@dataclass(frozen=True, slots=True)
class At:
    """A condition that was measured.

    Parameters
    ----------
    name
        Of the condition; empty: there is one only.
    values
        Measured there.
    level
        Of the swept factor; NaN where none is swept.
    """

    name: str
    values: Values
    level: float = np.nan


@dataclass(frozen=True)
class Setting:
    """One claim's schemes, resolved, and what was measured.

    Parameters
    ----------
    subject, against, figure
        Schemes; `figure`: all of the figure.
    values
        Measured in the condition that the claim is about, or the first of `points`.
    words
        How to read the claim's words.
    points
        Of a sweep, in ascending order of its factor; of a comparison of conditions or over several, those on its
        side.
    others
        What a comparison of conditions compares with: each a condition, or several that stand for one by their mean.
    """

    subject: tuple[str, ...]
    against: tuple[str, ...]
    figure: tuple[str, ...]
    values: Values
    words: Words = field(default_factory=Words)
    points: tuple[At, ...] = ()
    others: tuple[tuple[At, ...], ...] = ()

    @property
    def conditions(self) -> tuple[At, ...]:
        """All that is measured."""
        return (*(self.points or (At("", self.values),)), *(one for group in self.others for one in group))


def mean_over(points: tuple[At, ...], metric: str, scheme: str) -> Floats:
    """Return the mean over conditions of one value per replication; as many as the shortest has."""
    return np.asarray(np.mean(common(*(one.values[metric][scheme] for one in points)), axis=0))


def common(*columns: Floats) -> tuple[Floats, ...]:
    """Return columns cut to the length of the shortest: replications that all conditions have."""
    count = min(column.size for column in columns)
    return tuple(column[:count] for column in columns)
