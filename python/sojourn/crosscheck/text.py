"""A comparison as text for a terminal and as a document."""

from __future__ import annotations

from typing import Any

from sojourn.cli.text import table
from sojourn.crosscheck.compare import SHARE, Outcome, Row

TITLES = {"linux": "Linux", "ns3": "ns-3", "ns2": "ns-2"}


def number(value: float, digits: int) -> str:
    """Return a number as the tables show it."""
    return f"{value:.{digits}f}"


def difference(row: Row) -> str:
    """Return the difference with its 95 % interval, and its share where that says something."""
    digits = row.metric.digits
    share = f" ({row.difference / row.theirs:+.1%})".replace("%", " %") if row.metric.relative and row.theirs else ""
    return f"{row.difference:+.{digits}f} ± {row.half_width:.{digits}f}{share}"


def verdict(row: Row) -> str:
    """Return pass or miss, and by which rule."""
    if row.is_within_tolerance:
        word = "pass"
    elif row.is_within_noise:
        word = "pass (noise)"
    else:
        word = "miss"
    return word if row.point.no_reference is None else f"not counted ({word})"


def terminal(outcome: Outcome) -> str:
    """Return all of a comparison."""
    rows = [
        [
            row.point.name,
            row.metric.title,
            number(row.ours, row.metric.digits),
            number(row.theirs, row.metric.digits),
            row.metric.unit,
            difference(row),
            verdict(row),
        ]
        for row in outcome.rows
    ]
    head = ["point", "metric", "ours", TITLES[outcome.peer], "unit", "difference ± 95 %", "verdict"]
    parts = [table(head, rows)]
    parts += [f"left out: {point.name}: {reason}" for point, reason in outcome.left_out]
    parts += [
        f"{metric.title}: {metric.passed} of {metric.points} points pass ({metric.rule}), "
        f"{SHARE:.0%} must: {'yes' if metric.is_enough else 'NO'}"
        for metric in outcome.metrics()
    ]
    return "\n".join(parts)


def document(outcome: Outcome) -> dict[str, Any]:
    """Return all of a comparison as a document."""
    return {
        "peer": outcome.peer,
        "agrees": outcome.agrees,
        "rows": [
            {
                "point": row.point.name,
                "metric": row.metric.key,
                "unit": row.metric.unit,
                "ours": row.ours,
                "theirs": row.theirs,
                "difference": row.difference,
                "standard_error": row.standard_error,
                "replications": row.replications,
                "tolerance": row.metric.tolerance(row.theirs),
                "is_counted": row.point.no_reference is None,
                "passes": row.passes,
            }
            for row in outcome.rows
        ],
        "left_out": [{"point": point.name, "reason": reason} for point, reason in outcome.left_out],
    }
