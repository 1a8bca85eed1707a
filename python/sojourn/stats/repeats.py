"""A warning about replications that repeat one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sojourn import tables

if TYPE_CHECKING:
    from sojourn.results import Results

_OWN: Final = frozenset({"scheme", "replication", "seed", "events"})
"""Columns that do not count: they differ in any case, or measure the simulator."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Schemes whose replications are all alike.

    Parameters
    ----------
    schemes
        Their labels.
    """

    schemes: Sequence[str]

    @property
    def text(self) -> str:
        """One sentence."""
        return (
            f"{', '.join(self.schemes)}: all replications are identical, because nothing in the scenario is random, "
            "and count as one run, without intervals and significance; with a random start of the flows, "
            'start = { uniform = ["0 s", "1 s"] }, they differ'
        )


def check(results: Results) -> tuple[Repeats, ...]:
    """Return one warning for all schemes whose runs have the same metrics in every replication."""
    alike = [label for label in results.labels if label in results.repeated]
    return (Repeats(alike),) if alike else ()


def find(results: Results) -> frozenset[str]:
    """Return the schemes whose runs have the same metrics in every replication, of which there are several."""
    by_scheme: dict[str, list[str]] = {}
    for row in tables.rows(results.frames, "runs"):
        # As text, in which two missing values are equal.
        values = repr([value for name, value in row.items() if name not in _OWN])
        by_scheme.setdefault(str(row["scheme"]), []).append(values)
    return frozenset(scheme for scheme, runs in by_scheme.items() if len(runs) > 1 and len(set(runs)) == 1)
