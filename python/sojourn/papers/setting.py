"""The data on which a claim is judged: its schemes, the values of its conditions, and the meaning of its words."""

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
    """The meaning of words as numbers: the readings of judgement.

    Parameters
    ----------
    margin
        The largest difference that is "comparable", "about" or "slightly", relative to the larger value.
    side
        ``median`` or ``third``: what "relatively low" means.
    across
        ``each``, ``most`` or ``mean``: in which of several conditions a sentence must hold.
    percent
        ``of_highest`` or ``of_other``: the value of which "80 % higher" is a share.
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
    """The schemes of a claim and the measured values.

    Parameters
    ----------
    subject, against, figure
        Schemes; `figure`: all of the figure.
    values
        Measured in the condition that the claim is about, or the first of `points`.
    words
        How to read the claim's words.
    points
        The points of a sweep in ascending order of its factor; for a comparison of conditions, the claim's own.
    others
        The conditions with which a comparison of conditions compares; several conditions count as one by their mean.
    """

    subject: tuple[str, ...]
    against: tuple[str, ...]
    figure: tuple[str, ...]
    values: Values
    words: Words = field(default_factory=Words)
    points: tuple[At, ...] = ()
    others: tuple[tuple[At, ...], ...] = ()

    @property
    def own(self) -> tuple[At, ...]:
        """The points, or the one condition that the claim is about."""
        return self.points or (At("", self.values),)


def mean_over(points: tuple[At, ...], metric: str, scheme: str) -> Floats:
    """Return the mean over conditions of one value per replication; as many as the shortest has."""
    return np.asarray(np.mean(common(*(one.values[metric][scheme] for one in points)), axis=0))


def common(*columns: Floats) -> tuple[Floats, ...]:
    """Return columns cut to the length of the shortest: replications that all conditions have."""
    count = min(column.size for column in columns)
    return tuple(column[:count] for column in columns)
