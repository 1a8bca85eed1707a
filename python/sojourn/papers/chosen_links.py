"""Schemes on chosen links; every other link keeps the queue that the scenario gives it."""

from __future__ import annotations

from typing import Final

from sojourn import core
from sojourn.core import SojournError
from sojourn.papers.model import Condition, Paper, Reading
from sojourn.plan.expand import Cell, Cells
from sojourn.plan.parts import Factor, Variation

PLACEMENT: Final = "placement"
"""The factor that names the scheme. It is written into the scenario's description, which changes no result."""


def variation(paper: Paper, reading: Reading, condition: Condition, scenario: str) -> Variation:
    """Return the variation of a condition's plan: a point for each scheme.

    Parameters
    ----------
    paper
        For the schemes' texts and links.
    reading, condition
        Of the runs.
    scenario
        Text of the document.

    Raises
    ------
    SojournError
        If a scheme stands on a link that the scenario does not have.
    """
    schemes = (*condition.schemes, *condition.beside)
    document = core.load(scenario, source=condition.name, sets=reading.sets_of(condition))
    own = {one["name"]: one["queue"] for one in document["links"]}
    links = list(dict.fromkeys(link for scheme in schemes for link in paper.on[scheme]))
    for link in links:
        if link not in own:
            raise SojournError(
                f"condition {condition.name}: a scheme is on the link {link!r}, which the scenario does not have"
            )
    factors = (
        Factor(("description",), PLACEMENT),
        *(Factor((f"links.{link}.queue",), f"queue of {link}") for link in links),
    )
    points = tuple(
        (scheme, *(paper.text_of(scheme, reading) if link in paper.on[scheme] else own[link] for link in links))
        for scheme in schemes
    )
    return Variation(factors, points)


def cells_of(cells: Cells) -> dict[str, Cell]:
    """Return the cells of such a plan by scheme; none of any other plan."""
    return {str(cell.levels[PLACEMENT]): cell for cell in cells if PLACEMENT in cell.levels}
