"""The figures of a paper as data: what each shows, which runs redraw it, and which claims are about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from sojourn.base.core import SojournError
from sojourn.studies.papers.checks import check, choose, read_toml
from sojourn.studies.papers.model import Claim, Condition, Paper
from sojourn.studies.papers.points import quantities
from sojourn.studies.papers.runs import slug

FILE: Final = "figures.toml"
KINDS: Final = ("dots", "lines", "series")
SERIES: Final = {"queue_packets": "Packets waiting", "sojourn_ms": "Sojourn time (ms)",
                 "goodput_bit_s": "Goodput (bit/s)", "drops_packets_s": "Drops (packets/s)"}  # fmt: skip
"""The time series that the simulator samples of queues under test (one, or together), and of all flows."""
OF_KINDS: Final = {"goodput_total_bit_s": ("All {} flows (Mbit/s)", 1e6),
                   "goodput_bit_s": ("Each {} flow (kbit/s)", 1e3)}  # fmt: skip
"""Of a paper with kinds of flows, throughput of a kind (``goodput_bit_s@tcp``): title, and size of its unit."""

_NEEDED: Final = ("name", "title", "shows", "section", "kind", "schemes")
_TYPES: Final[dict[str, tuple[type[Any], str]]] = {
    "str": (str, "a text"),
    "int": (int, "a whole number"),
    "bool": (bool, "true or false"),
    "tuple": (list, "a text or a list of texts"),
}
_PART: Final = re.compile(r"(?<=\d)[a-f]$")
_SHOWN: Final = {
    "ms": (("s", 1e3), ("ms", 1.0)),
    "bit_s": (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)),
    "bytes": (("B", 1.0),),
    "packets": (("packets", 1.0),),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a study, and how it is redrawn.

    Parameters
    ----------
    name
        As the study calls it: ``Figure 6a``.
    title, shows
        What it is, and what the study shows there, in our words.
    kind
        ``dots``: a panel for each row and condition, the schemes in it; ``lines``: a panel for each row, a line for
        each scheme over the swept factor; ``series``: a panel for each scheme over time.
    rows
        Of the paper's rows, by name; empty: all.
    conditions
        Patterns of names (``http-*``); empty: those of `flow`, `model`, `sweep` and `at`.
    flow, model, sweep, at
        What a condition must have; without `flow`, `model` or `at` any, without `sweep` none.
    constant
        Of `lines`: schemes that the swept factor does not concern, so that one point is their level everywhere.
    series, every, replications
        Of `series`: which, the interval of samples, and of how many replications at most.
    judged
        Of `series`: whether claims are judged on them, so that they are run under every reading.
    last
        Of `series`: only this time at the end of the run is drawn; empty: all of it.
    readings
        ``all``: under every reading of the simulation; otherwise the base and those that are shown.
    """

    name: str
    title: str
    shows: str
    section: str
    kind: str
    schemes: tuple[str, ...]
    page: int = 0
    rows: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    flow: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    sweep: str = ""
    at: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    log: bool = False
    series: tuple[str, ...] = ()
    every: str = ""
    replications: int = 1
    judged: bool = False
    faint: tuple[str, ...] = ()
    last: str = ""
    readings: str = ""

    @property
    def slug(self) -> str:
        """Its id on a page: ``figure-6a``."""
        return slug(self.name)

    def has(self, one: Condition) -> bool:
        """Whether a condition is drawn in it."""
        if self.conditions:
            return any(fnmatchcase(one.name, pattern) for pattern in self.conditions)
        return (
            one.sweep == self.sweep
            and one.flow in (self.flow or (one.flow,))
            and one.model in (self.model or (one.model,))
            and one.at in (self.at or (one.at,))
        )


def load(paper: Paper) -> tuple[Figure, ...]:
    """Read a paper's ``figures.toml``; none without that file."""
    file = paper.folder / FILE
    if not file.is_file():
        return ()
    entries = read_toml(file).get("figure", [])
    found = tuple(_figure(paper, file, entry) for entry in entries)
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise SojournError(f"{file}: {twice} occurs twice")
    return found


def _figure(paper: Paper, file: Path, entry: dict[str, Any]) -> Figure:
    where = f"{file}: {entry.get('name', 'a figure without name')}"
    allowed = {one.name: one for one in fields(Figure)}
    check(entry, allowed, where, needed=_NEEDED)
    values: dict[str, Any] = {}
    for key, value in entry.items():
        kind, allows = _TYPES[str(allowed[key].type).split("[")[0]]
        given = [value] if kind is list and isinstance(value, str) else value
        if not isinstance(given, kind) or (kind is list and not all(isinstance(one, str) for one in given)):
            raise SojournError(f"{where}: {key}={value!r}; allowed: {allows}")
        values[key] = tuple(given) if isinstance(given, list) else given
    figure = Figure(**values)
    _check(paper, figure, where)
    return figure


def _check(paper: Paper, figure: Figure, where: str) -> None:
    lists: tuple[tuple[str, Sequence[str], Sequence[str]], ...] = (
        ("kind", [figure.kind], KINDS),
        ("readings", [figure.readings], ("", "all")),
        ("schemes", paper.ids((*figure.schemes, *figure.constant, *figure.faint)), list(paper.texts)),
        ("rows", figure.rows, [row.name for row in paper.rows]),
        ("series", figure.series, [*SERIES, *(f"{name}@{kind}" for name in OF_KINDS for kind in paper.kinds)]),
    )
    for key, given, allowed in lists:
        choose(given, allowed, f"{where}: {key}")
    if figure.kind == "series" and not (figure.series and figure.every and figure.replications > 0):
        raise SojournError(f"{where}: a figure of kind series needs `series`, `every` and 1 or more `replications`")
    if figure.kind == "lines" and not (figure.sweep or figure.conditions):
        raise SojournError(f"{where}: a figure of kind lines needs `sweep` or `conditions`")


def of(figure: Figure, conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return the conditions that a figure draws: those of a line in the order of the swept factor."""
    found = [one for one in conditions if figure.has(one)]
    if figure.kind == "lines":
        _, values = axis([one.at for one in found])
        found = [one for _, one in sorted(zip(values, found, strict=True), key=lambda pair: pair[0])]
    elif figure.flow and figure.model and not figure.conditions:
        # The study's order, which is that of the document.
        found.sort(key=lambda one: (figure.flow.index(one.flow), figure.model.index(one.model)))
    return tuple(found)


def axis(levels: Sequence[str]) -> tuple[str, list[float]]:
    """Return points of a swept factor as numbers, and their unit.

    Examples
    --------
    >>> axis(["500 kbit/s", "4 Mbit/s"])
    ('Mbit/s', [0.5, 4.0])
    >>> axis(["1 %", "99 %"])
    ('%', [1.0, 99.0])
    """
    found = quantities(levels)
    if found is None:
        raise SojournError(f"points of a sweep that are not of one kind: {', '.join(levels)}")
    base, values = found
    known = _SHOWN.get(base, ((base, 1.0),))
    shown, size = next((one for one in known if max(values, default=0.0) >= one[1]), known[-1])
    return shown, [value / size for value in values]


def conditions_of(paper: Paper, name: str) -> list[Condition]:
    """Return the conditions of a figure by its name; ``Figure 6`` has those of its parts, 9d those of Figure 9."""
    wanted = [figure for figure in load(paper) if is_same(figure.name, name)]
    return [one for one in paper.conditions if any(figure.has(one) for figure in wanted)]


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one figure, or of a figure and a part of it."""
    a, b = one.strip().casefold(), other.strip().casefold()
    return a == b or _PART.sub("", a) == b or a == _PART.sub("", b)


def places(text: str) -> list[str]:
    """Return the figures that the place of a claim names.

    Examples
    --------
    >>> places("Figure 14; Table 7")
    ['Figure 14']
    >>> places("section 7.1; Figures 9 to 11")
    ['Figure 9', 'Figure 10', 'Figure 11']
    >>> places("Figures 8e, 9e and 14f, recalled")
    ['Figure 8e', 'Figure 9e', 'Figure 14f']
    >>> places("Figures 8 and 10, recalled")
    ['Figure 8', 'Figure 10']
    """
    found: list[str] = []
    for part in re.findall(r"Figures? (\d+[a-f]?(?:(?:, | and | to )\d+[a-f]?)*)", text):
        span = re.fullmatch(r"(\d+) to (\d+)", part)
        numbers = range(int(span[1]), int(span[2]) + 1) if span else re.findall(r"\d+[a-f]?", part)
        found += [f"Figure {number}" for number in numbers]
    return found


def home(figures: Sequence[Figure], claim: Claim) -> str:
    """Return where a claim stands in the report: the name of its one figure, or its place as it is given."""
    named = places(claim.place)
    own = [figure.name for figure in figures if len(named) == 1 and is_same(figure.name, named[0])]
    if len(own) == 1 and not claim.place.startswith("section"):
        return own[0]
    return claim.place


def unit_of(series: str) -> tuple[str, float]:
    """Return the title of a time series' axis, and the size of the unit there.

    Examples
    --------
    >>> unit_of("goodput_bit_s@tcp")
    ('Each TCP flow (kbit/s)', 1000.0)
    """
    name, _, kind = series.partition("@")
    title, size = OF_KINDS[name] if kind else (SERIES[name], 1.0)
    return title.format(kind.upper()), size
