"""Warnings about settings that have no effect in a run.

What a parameter or key needs is declared where it is, in the compiled core, which also compares it with what a scheme or a
scenario sets. This module words its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn import core
from sojourn.core import Document
from sojourn.scheme import Scheme

__all__ = ["Inert", "check"]


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


def check(scenario: Document, schemes: Sequence[Scheme]) -> tuple[Inert, ...]:
    """Return the settings that have no effect in the runs of a scenario under some schemes.

    Parameters
    ----------
    scenario
        Canonical.
    schemes
        In the queues under test; one without text stands for the queues as the scenario has them.
    """
    return tuple(Inert(**found) for found in core.inert(scenario, [(one.label, one.exact) for one in schemes]))
