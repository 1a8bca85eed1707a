"""Ranks with ties: a scheme's rank is one more than the number of schemes that are significantly better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from sojourn import stats
from sojourn.stats import Estimate, Floats

_SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Cell:
    """A scheme's number for a need.

    Parameters
    ----------
    estimate
        With its interval.
    rank
        1 is best; None where the scheme has no value.
    """

    estimate: Estimate
    rank: int | None


def ranked(values: Mapping[str, Floats], *, lower: bool) -> dict[str, Cell]:
    """Rank schemes by one number a run.

    Parameters
    ----------
    values
        By label, one a replication, in the same order; replications are paired.
    lower
        Whether low values are better.

    Returns
    -------
    dict of str to Cell
        Ranks are by paired differences at the 5 % level, after Holm's correction over all pairs.
    """
    labels = [label for label, own in values.items() if own.size and np.isfinite(own).all()]
    pairs = [(a, b) for k, a in enumerate(labels) for b in labels[k + 1 :] if values[a].shape == values[b].shape]
    p_values = [_p(values[a], values[b]) for a, b in pairs]
    better: dict[str, int] = dict.fromkeys(labels, 0)
    for (a, b), p in zip(pairs, stats.holm(p_values) if p_values else (), strict=True):
        if p < _SIGNIFICANT:
            gap = float(values[a].mean() - values[b].mean())
            better[b if (gap < 0) == lower else a] += 1
    return {
        label: Cell(stats.estimate(own), better[label] + 1 if label in better else None)
        for label, own in values.items()
    }


def _p(a: Floats, b: Floats) -> float:
    if a.size < 2 or np.array_equal(a, b):
        return 1.0
    if np.ptp(a - b) == 0.0:
        # The same difference in every replication.
        return 0.0
    return stats.paired_p(a, b)
