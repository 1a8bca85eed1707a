"""A comparison as text for a terminal and as a document."""

from __future__ import annotations

from typing import Any

from crosscheck import heldout
from crosscheck.compare import Outcome, Row, Tally
from sojourn.results.text import table

TITLES = {"linux": "Linux", "ns3": "ns-3", "ns2": "ns-2", "advice": "Linux", "atlas": "Linux"}


def number(value: float, digits: int) -> str:
    """Return a number as the tables show it."""
    return f"{value:.{digits}f}"


def difference(row: Row) -> str:
    """Return the difference with its 95 % interval, and its share where that says something."""
    digits = row.metric.digits
    theirs = row.theirs.value
    share = f" ({row.difference / theirs:+.1%})".replace("%", " %") if row.metric.relative and theirs else ""
    return f"{row.difference:+.{digits}f} ± {row.half_width:.{digits}f}{share}"


def verdict(row: Row) -> str:
    """Return pass or miss, and by which rule."""
    if row.is_too_few:
        word = "too few to judge"
    elif row.is_within_tolerance:
        word = "pass"
    elif row.passes:
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
            number(row.theirs.value, row.metric.digits),
            row.metric.unit,
            difference(row),
            verdict(row),
        ]
        for row in outcome.rows
    ]
    head = ["point", "metric", "ours", TITLES[outcome.peer], "unit", "difference ± 95 %", "verdict"]
    parts = [table(head, rows)]
    parts += [f"left out: {point.name}: {reason}" for point, reason in outcome.left_out]
    parts += map(_share, outcome.metrics())
    return "\n".join(parts)


def percent(share: float | None) -> str:
    """Return a share as the tables show it; a dash for none."""
    return "–" if share is None else f"{share:.1%}".replace("%", " %")


def _share(counted: Tally) -> str:
    parts = [f"{counted.title}: {counted.passed} of {counted.points} points pass ({counted.rule})"]
    if counted.points:
        parts[0] += f", {percent(counted.share)}"
    if counted.ceiling is not None:
        parts.append(f"ceiling {percent(counted.ceiling)} ({counted.ceiling_points} points)")
    if counted.too_few:
        parts.append(f"{counted.too_few} with too few drops")
    if counted.points:
        parts.append(f"{percent(counted.needed)} must: {'yes' if counted.is_enough else 'NO'}")
    return "; ".join(parts)


def held_out(outcome: Outcome, run: int) -> str:
    """Return the shares of the held-out points, and nothing else of them."""
    compared = len({row.point.name for row in outcome.rows})
    return "\n".join(
        [
            f"run {run} of {heldout.ALLOWED}: {compared} held-out points compared, {len(outcome.left_out)} not yet",
            *map(_share, heldout.shares(outcome).values()),
            f"The run is in {heldout.FILE}; commit that file.",
        ]
    )


def _counts(counted: Tally) -> dict[str, Any]:
    return {name: getattr(counted, name) for name in ("passed", "points", "too_few", "ceiling")}


def held_out_document(outcome: Outcome, run: int) -> dict[str, Any]:
    """Return the shares of the held-out points as a document."""
    return {
        "run": run,
        "allowed_runs": heldout.ALLOWED,
        "shares": [{"metric": key, **_counts(counted)} for key, counted in heldout.shares(outcome).items()],
    }


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
                "theirs": row.theirs.value,
                "difference": row.difference,
                "our_standard_error": row.our_error,
                "their_standard_error": row.theirs.standard_error,
                "their_runs": row.theirs.runs,
                "replications": row.replications,
                "tolerance": row.metric.tolerance(row.theirs.value),
                "allowed": row.metric.allowed(row.theirs),
                "ceiling": row.ceiling,
                "is_counted": row.is_counted,
                "passes": row.passes,
            }
            for row in outcome.rows
        ],
        "metrics": [
            {"metric": counted.title, **_counts(counted), "needed": counted.needed} for counted in outcome.metrics()
        ],
        "left_out": [{"point": point.name, "reason": reason} for point, reason in outcome.left_out],
    }
