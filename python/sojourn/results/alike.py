"""A warning about schemes whose runs are those of another scheme."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sojourn.results import metrics, tables

if TYPE_CHECKING:
    from sojourn.results.results import Results

_OWN: Final = "events"
"""What measures the simulator."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Schemes that gave the same results in every run.

    Parameters
    ----------
    schemes
        Their labels.
    """

    schemes: Sequence[str]

    @property
    def text(self) -> str:
        """One sentence."""
        *others, last = self.schemes
        return f"{', '.join(others)} and {last} gave the same results in every run"


def check(results: Results) -> tuple[Alike, ...]:
    """Return a warning for each set of schemes with the same metrics in every run."""
    rows = tables.rows(results.frames, "runs") if len(results.labels) > 1 else []
    return find((row["scheme"], row["replication"], row) for row in rows)


def find(runs: Iterable[tuple[str, Hashable, Mapping[str, Any]]]) -> tuple[Alike, ...]:
    """Return the sets of schemes that have the same metrics in every run.

    Parameters
    ----------
    runs
        Of each run the scheme, what else tells it from others (scenario and replication), and a row of the table.
    """
    known = {name for scope, name in metrics.catalogue() if scope == "run"} - {_OWN}
    by_scheme: dict[str, dict[Hashable, str]] = {}
    for scheme, key, row in runs:
        # As text, in which two missing values are equal.
        by_scheme.setdefault(str(scheme), {})[key] = repr([row[name] for name in sorted(known & set(row))])
    sets: dict[frozenset[tuple[Hashable, str]], list[str]] = {}
    for scheme, found in by_scheme.items():
        sets.setdefault(frozenset(found.items()), []).append(scheme)
    return tuple(Alike(schemes) for schemes in sets.values() if len(schemes) > 1)
