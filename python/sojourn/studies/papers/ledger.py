"""The outcome of every claim under every reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sojourn.base.core import SojournError
from sojourn.results import text
from sojourn.studies.papers.conditions import NotThereError, conditions_of, places_of
from sojourn.studies.papers.execute import Measured
from sojourn.studies.papers.judge import At, Outcome, Setting, Verdict, Words, judge
from sojourn.studies.papers.model import Claim, Condition, Paper, Reading, Study
from sojourn.studies.papers.points import level_of


@dataclass(frozen=True)
class Ledger:
    """The outcomes: `verdicts` by claim, then by name of the reading; the base is the first of `readings`."""

    paper: Study
    readings: tuple[Reading, ...]
    verdicts: dict[str, dict[str, Verdict]]

    def as_text(self) -> str:
        """Return the counts, a row per reading."""
        heads = ["reading", *(outcome.value for outcome in Outcome)]
        rows = [[one.name, *map(str, self.counts(one.name).values())] for one in self.readings]
        count, turned = len(self.paper.claims), len(self.turned)
        note = f"{count} claims; {turned} hold under one reading and do not hold under another."
        return f"{text.table(heads, rows, numbers=True)}\n{note}"

    def counts(self, reading: str) -> dict[Outcome, int]:
        """Return how many claims came to each outcome under a reading."""
        found = Counter(of[reading].outcome for of in self.verdicts.values())
        return {outcome: found[outcome] for outcome in Outcome}

    def under(self, claim: Claim, outcome: Outcome) -> list[str]:
        """Return the names of the readings under which a claim has an outcome."""
        return [name for name, verdict in self.verdicts[claim.id].items() if verdict.outcome is outcome]

    def share(self, reading: str, claims: Collection[str]) -> tuple[int, int]:
        """Return how many of these claims hold under a reading, and how many are decided."""
        found = Counter(self.verdicts[one][reading].outcome for one in claims)
        return found[Outcome.HOLDS], found[Outcome.HOLDS] + found[Outcome.FAILS]

    def open_runs(self, measured: Measured) -> list[tuple[str, str]]:
        """Return the runs of undecided claims, by reading and condition: more replications of them may decide."""
        runs = {one.name for one in self.readings if one.is_run}
        found = {
            (name, condition.name): None
            for claim in self.paper.claims
            for name, verdict in self.verdicts[claim.id].items()
            if name in runs and verdict.outcome is Outcome.UNDECIDED
            for condition in conditions_of(claim, measured.conditions_of(name))
        }
        return list(found)

    @property
    def turned(self) -> list[Claim]:
        """The claims that hold under at least one reading and do not hold under another."""
        return [
            claim
            for claim in self.paper.claims
            if {Outcome.HOLDS, Outcome.FAILS} <= {one.outcome for one in self.verdicts[claim.id].values()}
        ]


def make(paper: Paper, measured: Measured) -> Ledger:
    """Judge every claim under the base and under each reading that changes it."""
    verdicts: dict[str, dict[str, Verdict]] = {claim.id: {} for claim in paper.claims}
    base = paper.readings[0]
    for reading in paper.readings:
        chosen = chosen_by(paper, reading)
        simulated = reading.name if reading.is_run else base.name
        for claim in paper.claims:
            of = verdicts[claim.id]
            depends = reading.is_run or any(key in claim.readings for key in reading.values)
            of[reading.name] = _verdict(paper, measured, claim, simulated, chosen) if depends else of[base.name]
    return Ledger(paper, paper.readings, verdicts)


def chosen_by(paper: Paper, reading: Reading) -> dict[str, str]:
    """Return :meth:`Paper.chosen` of a reading, if ``readings.toml`` has what judges need."""
    missing = [name for name in ("margin", "words", "across", "percent") if name not in paper.open_readings]
    if missing:
        raise SojournError(f"{paper.folder}/readings.toml: `{missing[0]}` is missing: claims cannot be judged")
    return paper.chosen(reading)


def _verdict(paper: Paper, measured: Measured, claim: Claim, simulated: str, chosen: Mapping[str, str]) -> Verdict:
    subject, against, figure = paper.subject_of(claim), paper.against_of(claim), paper.figure_of(claim)
    if claim.comparison == "unjudgeable":
        return judge(claim, (), ())
    try:
        places = places_of(claim, measured.conditions_of(simulated))
    except NotThereError as error:
        return Verdict(Outcome.NOT_RUN, why=str(error))

    def at(condition: Condition) -> At:
        return At(condition.name, measured.values(simulated, condition.name, chosen), level_of(condition.at))

    words = Words(float(chosen["margin"]), chosen["words"], chosen["across"], chosen["percent"])
    settings = []
    for place in places:
        points = tuple(at(one) for one in place.points)
        others = tuple(tuple(at(one) for one in group) for group in place.others)
        settings.append(Setting(subject, against, figure, points, words, others, place.points[0].traffic[:2]))
    return judge(claim, settings, [row.metric for row in paper.rows])


def not_run(paper: Paper) -> list[tuple[str, str]]:
    """Return the readings of ``readings.toml`` that neither a run nor a judgement uses yet."""
    taken = {(key, value) for reading in paper.readings for key, value in reading.values.items()}
    base = chosen_by(paper, paper.readings[0])
    return [
        (name, str(value))
        for name, one in paper.open_readings.items()
        for value in one["values"]
        if (name, str(value)) not in taken and base[name] != str(value)
    ]
