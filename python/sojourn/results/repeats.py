"""A warning about replications that repeat one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sojourn.results import tables

if TYPE_CHECKING:
    from sojourn.results.results import Results

_OWN: Final = frozenset({"scheme", "replication", "seed", "events", "run", "build", "scenario", "sampled"})
"""Columns of runs that do not count: they differ in any case, or measure the simulator."""

_SHOWN: Final = 6
"""More names than this are counted."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Schemes, or cells of a plan, whose replications are all alike.

    Parameters
    ----------
    schemes
        Their names.
    """

    schemes: Sequence[str]

    @property
    def text(self) -> str:
        """One sentence."""
        # Names of cells have commas.
        mark = "; " if any("," in name for name in self.schemes) else ", "
        names = mark.join(self.schemes[:_SHOWN])
        more = f"{mark}and {len(self.schemes) - _SHOWN} more" if len(self.schemes) > _SHOWN else ""
        return (
            f"{names}{more}: all replications are identical, because nothing in the scenario is random, "
            "and count as one run, without intervals and significance; with a random start of the flows, "
            'start = { uniform = ["0 s", "1 s"] }, they differ'
        )


def check(results: Results) -> tuple[Repeats, ...]:
    """Return one warning for all schemes whose runs have the same metrics in every replication."""
    return warn([label for label in results.labels if label in results.repeated])


def warn(schemes: Sequence[str]) -> tuple[Repeats, ...]:
    """Return one warning for all of some schemes, or cells of a plan; none where there are none."""
    return (Repeats(schemes),) if schemes else ()


def find(results: Results) -> frozenset[str]:
    """Return the schemes whose runs have the same metrics in every replication, of which there are several."""
    by_scheme: dict[str, list[str]] = {}
    for row in tables.rows(results.frames, "runs"):
        by_scheme.setdefault(str(row["scheme"]), []).append(_print(row))
    return frozenset(scheme for scheme, runs in by_scheme.items() if are(runs))


def are(prints: Sequence[str]) -> bool:
    """Return whether several runs have the same fingerprint, so that they are one run repeated."""
    return len(prints) > 1 and len(set(prints)) == 1


def prints(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a fingerprint of each row of a table of runs: that of all its metrics."""
    return [_print(row) for row in runs]


def _print(row: Mapping[str, Any]) -> str:
    # As text, in which two missing values are equal.
    return repr([value for name, value in row.items() if name not in _OWN])
