"""Warnings about settings that have no effect in a run.

What a parameter or key needs is declared where it is, in the compiled core, which also compares it with what a scheme
or a scenario sets. This module passes its answer on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from sojourn.base import core
from sojourn.base.core import Document
from sojourn.model.scheme import Scheme

if TYPE_CHECKING:
    from sojourn.plan.expand import Cells

__all__ = ["Inert", "check", "everywhere", "of_cells", "tell"]


@dataclass(frozen=True, slots=True)
class Inert:
    """A setting that has no effect.

    Parameters
    ----------
    where
        The scheme's label, or the group of flows.
    what
        The parameter, key or word.
    text
        One sentence.
    """

    where: str
    what: str
    text: str


class Told(Protocol):
    """A warning: of this module, or of :mod:`sojourn.stats`."""

    @property
    def text(self) -> str:
        """One sentence."""


def tell(found: Iterable[Told]) -> None:
    """Print warnings as the command line does."""
    for one in found:
        print(f"sojourn: warning: {one.text}", file=sys.stderr, flush=True)


def check(scenario: Document, schemes: Sequence[Scheme], *, on_device: bool = False) -> tuple[Inert, ...]:
    """Return the settings that have no effect in the runs of a scenario under some schemes.

    Parameters
    ----------
    scenario
        Canonical.
    schemes
        In the queues under test; one without text stands for the queues as the scenario has them.
    on_device
        A device has the link, and its traffic is not that of the scenario.
    """
    given = [(one.label, one.exact) for one in schemes]
    return tuple(Inert(**found) for found in core.inert(scenario, given, on_device=on_device))


def everywhere(runs: Iterable[tuple[Document, Sequence[Scheme]]]) -> tuple[Inert, ...]:
    """Return what has no effect in any of several scenarios in which its scheme or flow is, each setting once.

    Parameters
    ----------
    runs
        Scenarios with the schemes that are run in them, as :func:`check` takes them.
    """
    inert: dict[tuple[str, str], Inert] = {}
    acts: set[tuple[str, str]] = set()
    seen: dict[str, set[tuple[str, str]]] = {}
    for scenario, schemes in runs:
        found = {(one.where, one.what): one for one in check(scenario, schemes)}
        present = {one.label for one in schemes} | {str(flow["name"]) for flow in scenario.get("flows", ())}
        for where in present:
            own = {key for key in found if key[0] == where}
            acts |= seen.get(where, own) ^ own
            seen[where] = seen.get(where, set()) | own
        inert |= {key: one for key, one in found.items() if key not in inert}
    return tuple(one for key, one in inert.items() if key not in acts)


def of_cells(several: Iterable[Cells]) -> tuple[Inert, ...]:
    """Return what has no effect in any cell of some plans, see :func:`everywhere`."""
    runs: dict[str, tuple[str, dict[str, Scheme]]] = {}
    for cells in several:
        for cell in cells:
            _, schemes = runs.setdefault(cell.scenario, (cells.scenarios[cell.scenario], {}))
            schemes[cell.scheme.text] = replace(cell.scheme, label=cell.label)
    return everywhere((json.loads(text), list(schemes.values())) for text, schemes in runs.values())
