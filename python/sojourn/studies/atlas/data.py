"""What an atlas holds: every scheme's number and rank for every need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from sojourn.model.scheme import Scheme
from sojourn.stats import Floats
from sojourn.studies.atlas.needs import Need
from sojourn.studies.atlas.ranks import Cell


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
                rows.append(
                    {
                        "need": need.name,
                        "question": need.question,
                        "unit": need.unit,
                        "better": "lower" if need.lower else "higher",
                        "plan": need.section,
                        "scheme": one.label,
                        "text": one.text,
                        "mean": cell.estimate.mean,
                        "low": cell.estimate.low,
                        "high": cell.estimate.high,
                        "replications": cell.estimate.replications,
                        "rank": cell.rank,
                    }
                )
        return pd.DataFrame(rows).astype({"rank": "Int64", "low": "float64", "high": "float64"})
