"""How far the crossed readings are from the printed tables: rows of the schemes that the study did not propose.

``distances.json`` has them as they were recorded, with the outcomes in ``recorded.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from scipy import stats as scipy_stats

from sojourn.plan import folder
from sojourn.stats import Floats
from sojourn.studies.papers.checks import read_toml
from sojourn.studies.papers.execute import Measured
from sojourn.studies.papers.ledger import chosen_by
from sojourn.studies.papers.model import Paper, Reading
from sojourn.studies.papers.section import Section, Words

FILE: Final = "distances.json"


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of one reading.

    Parameters
    ----------
    reading
        Its name.
    order, size
        Means over the rows: of Spearman's rank correlation, and of ``|log10(measured/printed)|``.
    equal, rows
        Rows in which all schemes are measured equal, and all rows.
    total
        The distance as ``selection.toml`` defines it.
    """

    reading: str
    order: float
    size: float
    equal: int
    rows: int
    total: float


def record(paper: Paper, measured: Measured) -> None:
    """Store the distances, where readings can be compared."""
    found = distances(paper, measured)
    if len(found) > 1:
        text = json.dumps([asdict(one) for one in found], indent=0)
        folder.write_text(paper.folder / FILE, text + "\n")


def sections(paper: Paper, _measured: Measured) -> list[Section]:
    """Return the recorded distances; none without a record."""
    if not (paper.folder / FILE).is_file():
        return []
    found = [Distance(**one) for one in json.loads((paper.folder / FILE).read_text(encoding="utf-8"))]
    rows = tuple(
        (one.reading, f"{one.total:.3f}", f"{one.order:.2f}", f"{one.size:.2f}", f"{one.equal} of {one.rows}")
        for one in found
    )
    words = Words(paper.folder)
    return [
        words.section(
            "base",
            [words.drawing("base-table", None, rows=rows)],
            count=len(rows),
            chosen=found[0].reading,
            second=found[1].total - found[0].total,
        )
    ]


def distances(paper: Paper, measured: Measured) -> list[Distance]:
    """Return the distances of the readings under which all printed tables were run, the nearest first."""
    settings = read_toml(paper.folder / "selection.toml")
    tables = [one for one in measured.conditions if one.table]
    wanted = {one.table for one in paper.published}
    found = [
        _of(paper, measured, reading, settings)
        for reading in paper.readings
        if {one.table for one in tables if (reading.name, one.name) in measured.raw} == wanted
    ]
    return sorted(found, key=lambda one: one.total)


def _of(paper: Paper, measured: Measured, reading: Reading, settings: Mapping[str, Any]) -> Distance:
    schemes, floor = settings["schemes"], settings["floor"]
    printed = {(one.table, one.row, one.scheme): one.value for one in paper.published}
    chosen = chosen_by(paper, reading)
    orders, sizes, equal = [], [], 0
    for condition in (one for one in measured.conditions if one.table):
        of = measured.values(reading.name, condition.name, chosen)
        for row in paper.rows:
            ours = np.array([float(np.nanmean(of[row.metric][one])) / row.scale for one in schemes])
            theirs = np.array([printed[condition.table, row.name, one] for one in schemes])
            order, size = compare(ours, theirs, floor, settings["most"])
            orders.append(order)
            sizes.append(size)
            equal += bool(np.ptp(ours) <= 1e-12 * np.abs(ours).max())
    order, size = float(np.mean(orders)), float(np.mean(sizes))
    total = settings["order"] * (1 - order) / 2 + settings["size"] * size / settings["most"]
    return Distance(reading.name, order, size, equal, len(orders), total)


def compare(ours: Floats, theirs: Floats, floor: float, most: float) -> tuple[float, float]:
    """Return the rank correlation of a row's values with the printed ones, and the mean size of their log-ratio.

    Examples
    --------
    >>> compare(np.array([1.0, 2.0, 30.0]), np.array([1.0, 2.0, 3.0]), 0.0, 2.0)
    (1.0, 0.3333333333333333)
    """
    is_flat = np.ptp(ours) <= 1e-12 * np.abs(ours).max() or np.ptp(theirs) == 0
    order = 0.0 if is_flat else float(scipy_stats.spearmanr(ours, theirs).statistic)
    ratios = np.abs(np.log10((ours + floor) / (theirs + floor)))
    return order, float(np.mean(np.minimum(ratios, most)))
