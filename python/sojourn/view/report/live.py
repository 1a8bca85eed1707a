"""Live figures of a report: values over time under a cursor, drawn by a script in the page from data in the page.

The script is `live.js`, which `make web` makes from ``web/src/live.js``. A page without JavaScript lacks only these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sojourn.base import escape
from sojourn.view.report.sections import Details, note

if TYPE_CHECKING:
    from sojourn.results.results import Results

QUANTITIES: Final = (
    ("queue_packets", "Queue", "packets", 1.0),
    ("sojourn_ms", "Queueing delay", "ms", 1.0),
    ("goodput_bit_s", "Goodput of all flows", "Mbit/s", 1e-6),
    ("drops_packets_s", "Drops", "packets/s", 1.0),
    ("marks_packets_s", "Marks", "packets/s", 1.0),
)
"""Series that are drawn: name, title, unit, and its size in units of the series."""

KIND: Final = "live"
"""Class of the element that the script looks for."""

MOST: Final = 2000
"""Points of a figure; longer series would make a report large."""

DIGITS: Final = 5


def figures(results: Results) -> Details | None:
    """Return the live figures of the first replication, folded; None without series or with too many points."""
    series = results.series
    if series.empty:
        return None
    one = series[series["replication"] == series["replication"].min()]
    times = sorted(one.loc[one["name"] == results.curve("queue_packets"), "t_s"].unique())
    if not 1 < len(times) <= MOST:
        return None
    drawn = []
    for quantity, title, unit, scale in QUANTITIES:
        own = one[one["name"] == results.curve(quantity)]
        if own.empty:
            continue
        columns = [own[own["scheme"] == label].set_index("t_s")["value"].reindex(times) for label in results.labels]
        values = [[_short(value * scale) for value in column] for column in columns]
        drawn.append({"title": title, "unit": unit, "values": values})
    looks = results.plot.looks
    data = {
        "t_s": [_short(time) for time in times],
        "end_s": _short(times[-1]),
        "warm_up_s": float(results.runs["warm_up_s"].iloc[0]),
        "schemes": [{"label": looks[label].short, "color": looks[label].color} for label in results.labels],
        "figures": drawn,
    }
    script = escape.script_data(data, KIND)
    below = note(
        "The first replication. A cursor shows the values of all figures at one time. Drag over a part of the time "
        "to enlarge it; a double click shows all of it."
    )
    return Details("Look at values over time", (below, script), kind=KIND)


def _short(value: float) -> float | None:
    """Return a value with the digits that a figure shows; None for one that there is not."""
    return float(f"{value:.{DIGITS}g}") if value == value else None  # noqa: PLR0124 - not a number differs from itself
