"""The metrics as people read them: titles, display units, and which direction is better."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import core

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.stats.estimates import Estimate, Quantity

MAIN: Final = (
    "sojourn_ms_mean",
    "sojourn_ms_p99",
    "queue_packets_mean",
    "goodput_bit_s",
    "utilisation",
    "loss_ratio",
    "mark_ratio",
    "flow_completion_s_mean",
    "jain_index",
)
"""The columns of the summary table, in order. Those that no run has are left out."""

QUEUES: Final = (
    "l4s_sojourn_ms_mean",
    "l4s_sojourn_ms_p99",
    "l4s_mark_ratio",
    "l4s_drops_packets",
    "classic_sojourn_ms_mean",
    "classic_sojourn_ms_p99",
    "classic_signal_ratio",
    "coupling_ratio",
)
"""The columns of the table of DualPI2's two queues."""

_FAMILIES: Final = (
    ("page_load_s_", "pages_"),
    ("response_s_", "responses_"),
    ("video_",),
    ("voip_",),
    ("delay_above_",),
)
"""How the metrics of each kind of application begin, which only groups of flows of this kind have."""

_REAL: Final = ("lateness_", "dated_late_", "late_ratio", "marked_late_", "repeated_runs")
"""How the metrics begin that only runs on real packets have."""

_PLACE: Final = re.compile(r"([a-z0-9_]+)@(all|.*(?:->|:).*)")
"""The name of a metric of one queue: ``sojourn_ms_mean@left->right``."""

BUCKET: Final = 1 / 128
"""Width of the buckets of times, as a share of the value; a quantile is the middle of its bucket."""


def is_telling(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a metric is not always 0 because its cause is missing, as marks are without ECN."""
    return name != "mark_ratio" or bool((frame[name].fillna(0) != 0).any())


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its definition, and how a table shows it.

    Parameters
    ----------
    name
        With the unit in it: ``sojourn_ms_p99``.
    unit
        Of the values in data and files: ``ms``.
    scope
        ``run``, ``queue``, ``group`` or ``flow``.
    scale, shown_unit
        Shown value = value times `scale`, in `shown_unit`.
    better
        ``lower``, ``higher`` or ``""`` where neither is.
    cohort
        Of what it is: ``left``, for packets that leave in the measured time. The page on metrics lists all.
    """

    name: str
    unit: str
    scope: str
    estimator: str
    definition: str
    title: str
    scale: float
    shown_unit: str
    better: str
    cohort: str = ""
    least: float = -math.inf
    most: float = math.inf

    def allows(self, value: float | None) -> bool:
        """Return whether a run can have this value; None is that of a metric that is not defined in the run."""
        return value is None or (math.isfinite(value) and self.least <= value <= self.most)

    @property
    def resolution(self) -> float:
        """Width of the buckets that a quantile is read from, as a share of the value; 0 for every other metric."""
        return BUCKET if self.estimator.endswith("to 0.8 %") else 0.0

    @property
    def quantity(self) -> Quantity:
        """What estimates allow for: buckets and range."""
        # Slow to import.
        from sojourn.stats.estimates import Quantity

        return Quantity(self.resolution, 0.0, self.least, self.most)

    @property
    def phrase(self) -> str:
        """The title inside a sentence: ``mean queueing delay``."""
        title, at, queue = self.title.partition(" at ")
        what, _, which = title.partition(", ")
        lower = what if what.startswith("Jain") or what.isupper() else f"{what[:1].lower()}{what[1:]}"
        return f"{which} {lower}{at}{queue}" if which else f"{lower}{at}{queue}"

    @property
    def difference_unit(self) -> str:
        """The shown unit of a difference: that of shares is points."""
        return "points" if self.shown_unit == "%" else self.shown_unit

    @property
    def heading(self) -> str:
        """Title and shown unit: ``Goodput, Mbit/s``."""
        return f"{self.title} ({self.shown_unit})" if self.shown_unit else self.title


@cache
def family(name: str) -> int | None:
    """Return the number of the kind of application whose metric it is; None for a metric that every group has."""
    found = (number for number, starts in enumerate(_FAMILIES) if name.startswith(starts))
    return next(found, None)


def present(names: Iterable[str], row: Mapping[str, Any]) -> list[str]:
    """Return those of the names that a row with a column for each metric has: of applications what was measured."""
    names = list(names)
    measured = {family(name) for name in names if row[name] is not None}
    is_real = any(row[name] is not None for name in names if name.startswith(_REAL))
    names = [name for name in names if is_real or not name.startswith(_REAL)]
    return [name for name in names if family(name) is None or family(name) in measured]


@cache
def catalogue() -> dict[tuple[str, str], Metric]:
    """Return every metric by (scope, name)."""
    found = {}
    for row in core.metrics():
        # A ratio has no unit in data, and none in tables unless it is shown in percent.
        fields: core.Document = {
            key: "" if value == "ratio" else value
            for key, value in row.items()
            if key not in ("scopes", "real", "cohort_definition") and not (key in ("least", "most") and value is None)
        }
        for scope in row["scopes"]:
            found[scope, row["name"]] = Metric(scope=scope, **fields)
    return found


def split(name: str) -> tuple[str, str]:
    """Return a metric's name and the queue behind its ``@``, which is empty if there is none.

    Examples
    --------
    >>> split("sojourn_ms_mean@left->right")
    ('sojourn_ms_mean', 'left->right')
    >>> split("utilisation")
    ('utilisation', '')
    """
    found = _PLACE.fullmatch(name)
    return (found[1], found[2]) if found else (name, "")


def is_of_queues(name: str) -> bool:
    """Return whether a metric describes queues: where several are under test, each has its own value."""
    return ("queue", name) in catalogue()


def find(name: str, scope: str = "run") -> Metric:
    """Return a metric by name; a queue's metric also describes the run's metric of that name."""
    metric, queue = split(name)
    if queue and is_of_queues(metric):
        found = find(metric, "queue")
        where = "all queues under test" if queue == "all" else queue
        return replace(found, name=name, title=f"{found.title} at {where}")
    known = catalogue()
    for where in (scope, "run", "queue", "group", "flow"):
        if (where, name) in known:
            return known[where, name]
    return Metric(name, "", scope, "", "", title=_title(name), scale=1.0, shown_unit="", better="")


def quantity(name: str) -> Quantity:
    """Return what estimates of a metric allow for: its buckets and range; ``metric@place`` is as the metric."""
    return find(name.partition("@")[0]).quantity


def unit_of(name: str, scope: str = "run") -> str:
    """Return a metric's unit, empty for a ratio or an index."""
    return find(name, scope).unit


def order(names: Iterable[str]) -> list[str]:
    """Sort names of metrics as the documentation has them; unknown ones come last."""
    known = {name: place for place, (_, name) in reversed(list(enumerate(catalogue())))}
    return sorted(names, key=lambda name: (known.get(split(name)[0], len(known)), name))


def rounded(value: float, half_width: float | None) -> str:
    """Write an estimate with as many digits as its uncertainty allows.

    The half-width of the interval keeps two significant digits and the value ends at the same place;
    without an interval the value has four significant digits.

    Examples
    --------
    >>> rounded(12.3456, 0.0789)
    '12.346 ± 0.079'
    >>> rounded(12.3456, None)
    '12.35'
    >>> rounded(0.0, 0.0)
    '0 ± 0'
    """
    if not math.isfinite(value):
        return "–"
    if half_width is None or not math.isfinite(half_width):
        return _significant(value)
    if half_width == 0:
        return f"{_significant(value)} ± 0"
    # Five significant digits are the most that a table can hold, however tight the interval.
    places = min(1 - _magnitude(half_width), max(4 - _magnitude(value), 0) if value else 6)
    places = max(places, 0)
    if round(half_width, places) == 0:
        return f"{value:.{places}f} ± <{10.0**-places:.{places}f}"
    return f"{value:.{places}f} ± {half_width:.{places}f}"


def written(found: Estimate, scale: float = 1.0, places: int | None = None) -> str:
    """Write an estimate: ``12.346 ± 0.079``, or with both limits where the end of a range cuts the interval.

    By default it has as many places after the point as its uncertainty allows. A difference of pairs ends with their
    correlation: ``-1.2 ± 0.4, r 0.91``.

    Examples
    --------
    >>> from sojourn.stats import Estimate
    >>> written(Estimate(0.9963, 0.9881, 1.0, 5, is_cut=True))
    '0.9963 (0.9881 to 1.0000)'
    """
    return _interval(found, scale, places) + correlation(found)


def correlation(found: Estimate) -> str:
    """Write the correlation of the pairs of a difference behind it; empty where there is none."""
    # No negative zero.
    return f", r {round(found.correlation, 2) + 0.0:.2f}" if math.isfinite(found.correlation) else ""


def _interval(found: Estimate, scale: float, places: int | None) -> str:
    half = None if found.half_width is None else found.half_width * scale
    value = found.mean * scale
    if places is None:
        text = rounded(value, half)
    else:
        text = f"{value:.{places}f}" + ("" if half is None else f" ± {half:.{places}f}")
    mean, _, width = text.partition(" ± ")
    digits = len(mean.partition(".")[2])
    if not found.is_cut or half is None or found.low is None or found.high is None or "<" in width:
        return text
    # Where the digits do not show the cut, nothing is outside of the range.
    if half - min(found.arms) * scale <= 0.5 * 10.0**-digits:
        return text
    return f"{mean} ({found.low * scale:.{digits}f} to {found.high * scale:.{digits}f})"


def shown(found: Estimate, scale: float = 1.0, places: int | None = None) -> str:
    """Write an estimate for a page: as :func:`written`, with minus signs; a dash where there is no observation."""
    return written(found, scale, places).replace("-", "−") if found.replications else "–"


def _significant(value: float) -> str:
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e9:
        return str(int(value))
    return f"{value:.{max(3 - _magnitude(value), 0)}f}"


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def _title(name: str) -> str:
    """Make a title of a name that is not in the catalogue: ``goodput_bit_s@left``."""
    text = re.sub(r"_(ms|s|bit_s|packets|segments|bytes)(?=_|$)", "", name)
    text = re.sub(r"^(queue|system)(?=_)", r"\1 length", text)
    words = text.replace("_", " ").replace("one way", "one-way")
    return words[:1].upper() + words[1:]
