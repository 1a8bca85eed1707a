"""The report of a paper as an HTML page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn.base import core
from sojourn.studies.papers import evidence, figures, picture, record, report_figures, shipped
from sojourn.studies.papers.checks import read_toml
from sojourn.studies.papers.execute import Measured
from sojourn.studies.papers.judge import Outcome
from sojourn.studies.papers.ledger import Ledger, not_run
from sojourn.studies.papers.model import Claim, Condition, Paper
from sojourn.studies.papers.predicate import predicate
from sojourn.studies.papers.runs import slug
from sojourn.view import report
from sojourn.view.report import svg


def render(paper: Paper, measured: Measured, judged: Ledger, size: str, *, more: Sequence[object] = ()) -> str:
    """Return the page; it depends on what was measured alone.

    `size` is ``quick`` or ``full``, and `more` are sections after those of the hook ``sections``.
    """
    page = _Page(paper, measured, judged)
    all_figures, sections = figures.load(paper), shipped.hook(paper.folder, "sections")
    drawn = [report_figures.part(paper, measured, figure) for figure in all_figures]
    homes: dict[str, list[Claim]] = {figure.name: [] for figure in all_figures}
    for claim in paper.claims:
        homes.setdefault(figures.home(all_figures, claim), []).append(claim)
    for one in drawn:
        one["claims"] = page.by_outcome(homes[one["name"]])
        one["elsewhere"] = [
            (name, f"claims-{slug(name)}")
            for name in homes
            if name != one["name"] and any(figures.is_same(one["name"], of) for of in figures.places(name))
        ]
    ids = {figure.name: figure.slug for figure in all_figures}
    others = [
        {"name": name, "id": f"claims-{slug(name)}", "claims": page.by_outcome(of)}
        for name, of in homes.items()
        if name not in ids
    ]
    pictured = {one.name for figure in all_figures for one in figures.of(figure, paper.conditions)}
    # A study of places has sections of its own; a table for each point of its sweeps would show nothing.
    tables = [page.table(one) for one in measured.conditions
              if not paper.places and (one.table or one.name not in pictured)]  # fmt: skip
    run = dict.fromkeys(name for one in measured.conditions for name in one.schemes)
    return report.page(
        "paper.html.j2",
        title=paper.title,
        lead=paper.source,
        facts=[
            ("Claims", str(len(paper.claims))),
            ("Readings", str(len(paper.readings))),
            ("Replications", f"{measured.replications} ({size})"),
            ("Conditions run", f"{len(measured.conditions)} of {len(paper.conditions)}"),
            ("Sojourn", core.version()),
        ],
        outcomes=[(outcome.key, outcome.value) for outcome in Outcome],
        signs={outcome.key: outcome.sign for outcome in Outcome},
        counts=[(one.name, list(judged.counts(one.name).values())) for one in paper.readings],
        places=[(name, ids.get(name, f"claims-{slug(name)}"), page.counts(of)) for name, of in homes.items() if of],
        totals=page.counts(paper.claims),
        terms=words(paper.folder).get("terms", ""),
        summary=summary(paper.folder),
        headline=headline(judged),
        recorded=record.read(paper),
        main=[page.line(claim) for claim in paper.claims if claim.is_main],
        figures=drawn,
        own=[*(sections(paper, measured) if sections else ()), *more],
        others=others,
        printed=[one for one in tables if one["number"]],
        unpictured=[one for one in tables if not one["number"]],
        every=[(name, [page.line(claim) for claim in of]) for name, of in homes.items() if of],
        readings=[reading.name for reading in paper.readings],
        base=page.base,
        not_run=[f"{name} = {value}" for name, value in not_run(paper)],
        schemes=[(paper.printed[name], paper.spelled(name)) for name in run],
        version=core.version(),
    )


@dataclass(frozen=True)
class _Page:
    """What the page shows of conditions and claims."""

    paper: Paper
    measured: Measured
    judged: Ledger

    @property
    def base(self) -> str:
        return self.judged.readings[0].name

    def table(self, condition: Condition) -> dict[str, Any]:
        """Return the measured numbers of a condition in printed units, beside those of its table if it has one."""
        paper, measured = self.paper, self.measured
        runs = report_figures.shown(paper, measured, [condition])
        printed = {
            (one.row, one.scheme): one for one in paper.published if condition.table and one.table == condition.table
        }
        panels, rows = [], []
        for row in paper.rows:
            of = [evidence.estimates(paper, measured, reading, condition, row) for reading in runs]
            columns = [[one.get(scheme, evidence.NOTHING) for scheme in condition.schemes] for one in of]
            own = [printed.get((row.name, scheme)) for scheme in condition.schemes]
            numbers = [one.value if one else math.nan for one in own]
            panels.append(picture.Dots(report_figures.title(row), columns, numbers))
            rows += [
                {
                    "row": row.name,
                    "unit": row.unit.split(",")[0],
                    "scheme": paper.printed[scheme],
                    "printed": one.text if one else "–",
                    "measured": [
                        {"text": evidence.number(of[k]), "is_in": of[k].covers(numbers[k])} for of in columns
                    ],
                }
                for k, (scheme, one) in enumerate(zip(condition.schemes, own, strict=True))
            ]
        what = "printed (diamonds) and measured" if condition.table else "measured"
        caption = (
            f"{condition.title}: {what} values. Bars: 95 % intervals of the mean over {measured.replications} "
            "replications. Each panel has its own axis, which begins at zero."
        )
        names = [reading.name for reading in runs]
        labels = [paper.printed[name] for name in condition.schemes]
        drawn = picture.dots(picture.in_threes(panels), labels, names)
        modes = [measured.modes.get((name, condition.name), "") for name in names]
        return {
            "id": condition.name,
            "title": condition.title,
            "number": condition.table,
            "svg": svg.inline(drawn, condition.name, caption),
            "caption": caption,
            "runs": names,
            "rows": rows,
            "note": f"Inter-arrival time by which dAQM divides: {'; '.join(modes)}." if any(modes) else "",
        }

    def counts(self, claims: Sequence[Claim]) -> list[int]:
        """Return how many claims came to each outcome under the base."""
        found = Counter(self.judged.verdicts[claim.id][self.base].outcome for claim in claims)
        return [found[outcome] for outcome in Outcome]

    def by_outcome(self, claims: Sequence[Claim]) -> list[dict[str, Any]]:
        """Return claims by their outcome under the base."""
        found = [(self.judged.verdicts[claim.id][self.base].outcome, self.claim(claim)) for claim in claims]
        of = {outcome: [one for its, one in found if its is outcome] for outcome in Outcome}
        return [{"key": one.key, "outcome": one.value, "claims": own} for one, own in of.items() if own]

    def line(self, claim: Claim) -> dict[str, Any]:
        """Return a claim's outcome under every reading."""
        outcomes = [self.judged.verdicts[claim.id][reading.name].outcome for reading in self.judged.readings]
        return {
            "id": claim.id,
            "quote": claim.quote,
            "predicate": predicate(self.paper, self.paper.printed, claim),
            "key": outcomes[0].key,
            "outcome": outcomes[0].value,
            "shares": [f"{one.value} {outcomes.count(one)}" for one in list(Outcome)[:-1] if one in outcomes],
            "is_turned": {Outcome.HOLDS, Outcome.FAILS} <= set(outcomes),
            "cells": [(one.key, one.value) for one in outcomes],
        }

    def claim(self, claim: Claim) -> dict[str, Any]:
        """Return a claim, its outcome, the numbers that decided it, and a reading that turns it."""
        base, of = self.judged.readings[0], self.judged.verdicts[claim.id]
        decided = {Outcome.HOLDS, Outcome.FAILS}
        other = (one for one in self.judged.readings if {of[one.name].outcome, of[base.name].outcome} == decided)
        turning = next((one for one in other if one.is_run), None)
        under = {one: self.judged.under(claim, one) for one in Outcome if one is not of[base.name].outcome}
        return {
            "id": claim.id,
            "place": f"{claim.place}; section {claim.section}" + (f", page {claim.page}" if claim.page else ""),
            "also": ", ".join(claim.also),
            "is_recorded": of[base.name].is_recorded,
            "quote": claim.quote,
            "predicate": predicate(self.paper, self.paper.printed, claim),
            "outcome": of[base.name].said,
            "evidence": evidence.lines(self.paper, self.measured, claim, base),
            "turning": turning.name if turning else "",
            "evidence_there": evidence.lines(self.paper, self.measured, claim, turning) if turning else [],
            "readings": "; ".join(f"{one.value} under {_listed(names)}" for one, names in under.items() if names),
        }


def _listed(names: Sequence[str]) -> str:
    """Return readings in quotes, as their names have commas; of many their number, since a table has them all."""
    if len(names) > MOST_NAMES:
        return f"{len(names)} other readings"
    return ", ".join(f"“{one}”" for one in names)


MOST_NAMES: Final = 6
"""Names of readings in a line."""
FEWEST: Final = 10
"""A reading that decides fewer claims has no share of those that hold."""


def words(folder: Path) -> Mapping[str, Any]:
    """Return ``report.toml``; nothing without it."""
    file = folder / "report.toml"
    return read_toml(file) if file.is_file() else {}


def summary(folder: Path) -> tuple[str, ...]:
    """Return the sentences that begin a report and the study's README; none without ``report.toml``."""
    return tuple(words(folder).get("summary", ()))


def headline(judged: Ledger) -> list[str]:
    """Return the counts under the plainest reading and the share that holds under all, a sentence for each set."""
    found, every = [], judged.paper.claims
    for what, claims in (("main conclusions", [one for one in every if one.is_main]), ("claims", every)):
        ids = [one.id for one in claims]
        shares = [judged.share(one.name, ids) for one in judged.readings]
        known = sorted(holds / decided for holds, decided in shares if decided >= FEWEST)
        base = Counter(judged.verdicts[one][judged.readings[0].name].outcome for one in ids)
        counts = ", ".join(f"{outcome.value} {base[outcome]}" for outcome in Outcome if base[outcome])
        if known:
            span = f"{known[0]:.0%} to {known[-1]:.0%} of those decided hold (median {known[len(known) // 2]:.0%})"
            found.append(
                f"Of {len(ids)} {what}, under the base reading: {counts}; over {len(known)} readings, {span}."
            )
    return found
