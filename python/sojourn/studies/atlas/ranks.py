"""What an atlas holds: numbers and ranks with ties.

A scheme's rank is one more than the number of schemes that are significantly better.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd

from sojourn import stats
from sojourn.model.scheme import Scheme
from sojourn.results.tables import limits
from sojourn.stats import EXACT, Estimate, Floats, Quantity
from sojourn.studies.atlas.needs import Need
from sojourn.studies.characterize.fronts import Judged

_SIGNIFICANT: Final = 0.05
_COLUMNS: Final = (
    "need", "question", "unit", "better", "plan", "scheme", "text", "mean", "low", "high", "replications", "rank",
)  # fmt: skip


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


@dataclass(frozen=True)
class Atlas:
    """Every scheme's number and rank for every need."""

    schemes: tuple[Scheme, ...]
    needs: tuple[Need, ...]
    cells: dict[str, dict[str, Cell]]
    """By need, then by label."""
    replications: int
    runs: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)
    """What the cells are the means of: a value a run, by need, then by label."""
    fronts: tuple[Judged, ...] = ()
    """Where the schemes lie beside the front of tail drop, by class of networks."""

    def ordered(self) -> list[str]:
        """Return the labels by the mean of their ranks, the best first."""
        labels = [one.label for one in self.schemes]

        def mean(label: str) -> float:
            own = [self.cells[need.name][label].rank for need in self.needs]
            known = [rank for rank in own if rank is not None]
            return sum(known) / len(known) if known else float(len(labels))

        return sorted(labels, key=mean)

    def first(self, need: Need) -> list[str]:
        """Return the labels of rank 1 of a need, the best mean first."""
        cells = self.cells[need.name]
        labels = [one.label for one in self.schemes if cells[one.label].rank == 1]
        return sorted(labels, key=lambda label: cells[label].estimate.mean * (1 if need.lower else -1))

    def frame(self) -> pd.DataFrame:
        """Return the data: a row a need and scheme."""
        rows = []
        for need in self.needs:
            for one in self.schemes:
                cell = self.cells[need.name][one.label]
                better = "lower" if need.lower else "higher"
                of_need = (need.name, need.question, need.unit, better, need.section)
                rows.append((*of_need, one.label, one.text, *limits(cell.estimate), cell.rank))
        return pd.DataFrame(rows, columns=_COLUMNS).astype({"rank": "Int64", "low": "float64", "high": "float64"})
