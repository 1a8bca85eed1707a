"""The numbers on which a claim was judged, in short lines: means with intervals of its schemes, by condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from sojourn import stats
from sojourn.results import metrics
from sojourn.stats import Estimate, Floats
from sojourn.studies.papers.conditions import conditions_of
from sojourn.studies.papers.execute import Measured
from sojourn.studies.papers.ledger import chosen_by
from sojourn.studies.papers.model import Claim, Condition, Paper, Reading, Row

_MOST: Final = 4
"""More schemes than this are told by the lowest and the highest of them."""
_MOST_LINES: Final = 6
NOTHING: Final = Estimate(float("nan"), None, None, 0)


def estimates(
    paper: Paper, measured: Measured, reading: Reading, condition: Condition, row: Row
) -> dict[str, Estimate]:
    """Return the estimate of a row for each scheme of a condition, in its unit; none where it was not run."""
    of, known = _values(paper, measured, reading, condition, row), metrics.quantity(row.metric).times(1 / row.scale)
    return {scheme: stats.estimate(values / row.scale, known) for scheme, values in of.items()}


def _values(
    paper: Paper, measured: Measured, reading: Reading, condition: Condition, row: Row
) -> Mapping[str, Floats]:
    name = reading.name if reading.is_run else paper.readings[0].name
    if (name, condition.name) not in measured.raw:
        return {}
    return measured.values(name, condition.name, chosen_by(paper, reading)).get(row.metric, {})


def row_of(paper: Paper, metric: str) -> Row:
    """Return the paper's row of a metric, or one made of what is known of the metric."""
    found = next((row for row in paper.rows if row.metric == metric), None)
    known = metrics.find(metric)
    return found or Row(metric, known.title.lower(), metric, known.unit, 1.0)


def unit(row: Row) -> str:
    """Return the unit of a row for numbers; empty for a ratio."""
    found = row.unit.split(",")[0]
    return "" if found == "ratio" else found


def number(of: Estimate, row: Row | None = None) -> str:
    """Write an estimate: ``12.3 ± 0.4 ms``."""
    text = metrics.written(of)
    return f"{text} {unit(row)}".strip() if row else text


def lines(paper: Paper, measured: Measured, claim: Claim, reading: Reading) -> list[str]:
    """Return a line for each condition of a claim under a reading of the simulation.

    Where no quantity is named there are none: the numbers of the figure are meant.
    """
    if claim.metric == "any" or claim.comparison == "unjudgeable":
        return []
    row = row_of(paper, claim.metric)
    subject = paper.subject_of(claim)
    # "Low" and "high" are among the schemes of the figure.
    against = paper.figure_of(claim) if claim.comparison in ("low", "high") else paper.against_of(claim)
    found = []
    run = conditions_of(claim, measured.conditions_of(reading.name), ends=True)
    for condition in run[:_MOST_LINES]:
        of = estimates(paper, measured, reading, condition, row)
        parts = [_several(paper, row, of, subject)]
        if against:
            parts.append(_several(paper, row, of, [one for one in against if one not in subject]))
        if all(parts):
            values = _values(paper, measured, reading, condition, row)
            found.append(f"{condition.title}: {' against '.join(parts)}{_correlations(values, subject, against)}")
    return [*found, f"and {len(run) - _MOST_LINES} more conditions"] if len(run) > _MOST_LINES else found


def _correlations(of: Mapping[str, Floats], subject: Sequence[str], against: Sequence[str]) -> str:
    """Return the correlations of the pairs that are compared, the lowest and the highest."""
    pairs = product(
        [one for one in subject if one in of], [one for one in against if one in of and one not in subject]
    )
    known = [r for one, other in pairs if math.isfinite(r := stats.correlation(of[one], of[other]))]
    ends = dict.fromkeys(f"{r:.2f}" for r in (min(known), max(known))) if known else ()
    return f"; r {' to '.join(ends)}" if ends else ""


def _several(paper: Paper, row: Row, of: Mapping[str, Estimate], schemes: Sequence[str]) -> str:
    own = {name: of[name] for name in schemes if name in of and of[name].replications}
    if len(own) <= _MOST:
        return ", ".join(f"{paper.printed[name]} {number(one, row)}" for name, one in own.items())
    low, high = min(own, key=lambda name: own[name].mean), max(own, key=lambda name: own[name].mean)
    if own[low].mean == own[high].mean:
        return f"{len(own)} schemes, all {number(own[low], row)}"
    return (
        f"{len(own)} schemes from {paper.printed[low]} {number(own[low], row)} "
        f"to {paper.printed[high]} {number(own[high], row)}"
    )
