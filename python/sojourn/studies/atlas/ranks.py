"""Ranks with ties: a scheme's rank is one more than the number of schemes that are significantly better."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from sojourn import stats
from sojourn.stats import EXACT, Estimate, Floats, Quantity

_SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Cell:
    """A scheme's number for a need, and its rank: 1 is best, and None is of a scheme without a value."""

    estimate: Estimate
    rank: int | None


def ranked(
    values: Mapping[str, Floats], *, lower: bool, of: Quantity = EXACT, repeated: Collection[str] = ()
) -> dict[str, Cell]:
    """Rank schemes by one number a run, given by label in the order of replications, which are paired.

    Ranks are by paired differences at the 5 % level, after Holm's correction over all pairs. `of` is what is known of
    the number, and `repeated` are the schemes whose replications are one run repeated.
    """
    labels = [label for label, own in values.items() if own.size and np.isfinite(own).all()]
    pairs = [(a, b) for k, a in enumerate(labels) for b in labels[k + 1 :] if values[a].shape == values[b].shape]
    p_values = [stats.paired_p(values[a], values[b], of, repeated={a, b} <= {*repeated}) for a, b in pairs]
    better: dict[str, int] = dict.fromkeys(labels, 0)
    for (a, b), p in zip(pairs, stats.holm(p_values) if p_values else (), strict=True):
        if p < _SIGNIFICANT:
            gap = float(values[a].mean() - values[b].mean())
            better[b if (gap < 0) == lower else a] += 1
    return {
        label: Cell(
            stats.estimate(own, of, repeated=label in repeated), better[label] + 1 if label in better else None
        )
        for label, own in values.items()
    }
