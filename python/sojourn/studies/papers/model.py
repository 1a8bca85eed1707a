"""What a paper's folder holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import reduce
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Claim:
    """One predicate of a sentence; the fields are those of ``claims.toml``."""

    id: str
    section: str
    place: str
    quote: str
    subject: tuple[str, ...]
    comparison: str
    metric: str
    page: int = 0
    against: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    flow: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    sweep: tuple[str, ...] = ()
    sweep_range: str = ""
    at: str = ""
    instead_flow: tuple[str, ...] = ()
    instead_model: tuple[str, ...] = ()
    instead_at: str = ""
    features: tuple[str, ...] = ()
    driver: str = ""
    amount: str = ""
    bound: str = ""
    value: str = ""
    rank: int | None = None
    is_negated: bool = False
    is_best_of: bool = False
    is_slight: bool = False
    readings: tuple[str, ...] = ()
    reason: str = ""
    across: str = ""
    also: tuple[str, ...] = ()
    is_main: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """One printed number."""

    table: str
    scheme: str
    row: str
    metric: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the printed tables, and the metrics that correspond to it."""

    name: str
    title: str
    metric: str
    unit: str
    scale: float


@dataclass(frozen=True, slots=True)
class Condition:
    """Traffic that is run.

    Parameters
    ----------
    flow, model, sweep, at
        Which traffic of the study it is; `at` is a point of the sweep as it is printed (``20 %``).
    schemes, beside
        By id: those of its tables and figures, and others that claims need.
    append
        What is added to the text of schemes: by id, or by the name of the algorithm.
    sizes
        In which it is run: ``quick``, ``full``.
    scenario
        Of its own: a file in the paper's folder; empty: the reading's, or the paper's.
    series
        Interval at which its runs are sampled over time; empty: not.
    """

    name: str
    title: str
    flow: str
    model: str
    schemes: tuple[str, ...]
    beside: tuple[str, ...] = ()
    sweep: str = ""
    at: str = ""
    table: str = ""
    append: tuple[tuple[str, str], ...] = ()
    fixed: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    scenario: str = ""
    series: str = ""

    @property
    def traffic(self) -> tuple[str, str, str]:
        """Flow, model and swept factor."""
        return self.flow, self.model, self.sweep

    def appended(self, scheme: str, text: str) -> str:
        """Return a scheme's text with what the condition adds to it."""
        added = dict(self.append)
        more = "" if scheme in self.fixed else added.get(scheme, added.get(text.split(maxsplit=1)[0], ""))
        return f"{text} {more}" if more else text


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading: one way to fill in details that a paper leaves open, as changes to the base reading.

    Parameters
    ----------
    is_run
        Whether it changes the simulation; otherwise it changes only the metrics or the judgement.
    scenario
        Of its own: a file in the paper's folder; empty: the paper's.
    conditions
        Names of those that are run under it, by size.
    only
        Overrides for the conditions that a pattern matches.
    is_shown
        Whether tables have a column for it.
    is_drawn
        Whether it is one of the joint readings that ``[drawn]`` of ``runs.toml`` draws.
    """

    name: str
    values: dict[str, str]
    is_run: bool
    sets: tuple[str, ...] = ()
    scenario: str = ""
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_shown: bool = False
    is_drawn: bool = False

    def sets_of(self, condition: Condition) -> tuple[str, ...]:
        """Return the overrides of the scenario for a condition: the reading's, the condition's, those of both."""
        both = [text for name, sets in self.only.items() if fnmatchcase(condition.name, name) for text in sets]
        return (*self.sets, *condition.sets, *both)


@dataclass(frozen=True)
class Study:
    """What every study has.

    Parameters
    ----------
    labels
        What stands in reports for names of traffic, places and metrics in ``claims.toml``.
    """

    folder: Path
    title: str
    source: str
    groups: dict[str, tuple[str, ...]]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    labels: dict[str, str]

    @property
    def name(self) -> str:
        """That of the folder."""
        return self.folder.name

    def ids(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the ids of schemes that ids and groups stand for, each once, in order."""
        return tuple(dict.fromkeys(one for name in names for one in self.groups.get(name, (name,))))


@dataclass(frozen=True)
class Paper(Study):
    """A study as data.

    Parameters
    ----------
    texts
        Of the schemes by id; a name of ``readings.toml`` in braces stands for its value under a reading.
    other_texts
        Of the schemes by id, then by reading ``scheme``.
    figures
        Which group of schemes a figure compares.
    readings
        The base first.
    open_readings
        Of ``readings.toml``: what is documented to change the outcome, by name.
    places
        Links of the scenarios whose queues the study speaks of by name; none where it has one queue.
    on
        Of the schemes by id: the links that have it, where others keep the queue of the scenario. A scheme that is
        not there has the queues under test.
    kinds
        Groups of flows whose shares the study compares (``tcp``, ``udp``); none where it does not.
    guests
        Ids of schemes of the user, which are in every condition and figure.
    """

    scenario: str
    replications: dict[str, int]
    texts: dict[str, str]
    other_texts: dict[str, dict[str, str]]
    printed: dict[str, str]
    figures: dict[str, str]
    published: tuple[Published, ...]
    conditions: tuple[Condition, ...]
    readings: tuple[Reading, ...]
    open_readings: dict[str, Any]
    places: tuple[str, ...] = ()
    on: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    guests: tuple[str, ...] = ()

    def drawn(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the ids that a figure of `names` shows."""
        return (*self.ids(names), *self.guests)

    def chosen(self, reading: Reading) -> dict[str, str]:
        """Return the value of every open point under a reading: the base's, but for what the reading changes."""
        first = {name: str(one["values"][0]) for name, one in self.open_readings.items()}
        return first | self.readings[0].values | reading.values

    def text_of(self, scheme: str, reading: Reading | None = None) -> str:
        """Return the text of a scheme under a reading, by default the base."""
        chosen = self.chosen(reading or self.readings[0])
        text = self.other_texts.get(scheme, {}).get(chosen.get("scheme", ""), self.texts[scheme])
        return reduce(lambda known, one: known.replace(f"{{{one[0]}}}", one[1]), chosen.items(), text)

    def spelled(self, scheme: str) -> str:
        """Return the text of a scheme, with the links that have it."""
        links = self.on.get(scheme, ())
        text = self.text_of(scheme)
        return f"{text} on {', '.join(links)}" if links else text

    def figure_of(self, claim: Claim) -> tuple[str, ...]:
        """Return the schemes of a claim's figure."""
        return self.ids((self.group_of(claim),))

    def group_of(self, claim: Claim) -> str:
        """Return the group of a claim's figure: a part has that of its figure; of several figures the eight."""
        place = claim.place.split(";")[0].strip()
        return self.figures.get(place, self.figures.get(place.rstrip("abcdef"), "eight"))

    def subject_of(self, claim: Claim) -> tuple[str, ...]:
        """Return the schemes that a claim is about."""
        return self.ids(claim.subject)

    def against_of(self, claim: Claim) -> tuple[str, ...]:
        """Return the schemes to compare with; ``others``: the figure's, without subjects and exceptions."""
        subject, out = set(self.subject_of(claim)), set(self.ids(claim.left_out))
        found: list[str] = []
        for name in claim.against:
            if name == "others":
                found += [one for one in self.figure_of(claim) if one not in subject and one not in out]
            else:
                found += self.ids((name,))
        return tuple(dict.fromkeys(found))
