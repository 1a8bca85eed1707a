"""The demonstration's table for a terminal: published and measured, scheme by scheme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sojourn import metrics
from sojourn.cli.text import table as layout
from sojourn.demo import published, setting
from sojourn.stats import Estimate

if TYPE_CHECKING:
    from sojourn.results import Results


def table(readings: Mapping[setting.Reading, Results]) -> str:
    """Return the table: for every scheme the published line, then one for each reading.

    Parameters
    ----------
    readings
        The results of each reading.
    """
    headers = ["scheme", "", *(metric.title.lower() for metric in published.METRICS)]
    rows = [["", "", *(metric.unit for metric in published.METRICS)]]
    first = next(iter(readings.values()))
    for label in first.labels:
        rows.append(
            [
                label,
                "published",
                *(f"{published.numbers()[label, metric.key]:g}" for metric in published.METRICS),
            ]
        )
        for reading, results in readings.items():
            cells = [_cell(published.pair(results, label, metric).measured) for metric in published.METRICS]
            rows.append(["", reading.short, *cells])
    lines = layout(headers, rows, numbers=True).split("\n")
    note = (
        f"{first.replications} replications, seed {first.seed}, ± half-width of the 95 % interval of the mean "
        "(Student's t).\nThe published units are inferred; see the report for the reading and what it leaves open."
    )
    return "\n".join([lines[0], lines[2], lines[1], *lines[3:], note])


def _cell(found: Estimate) -> str:
    return metrics.rounded(found.mean, found.half_width)
