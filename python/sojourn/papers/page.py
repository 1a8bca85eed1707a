"""The report of a paper as an HTML page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from sojourn import core, metrics, report
from sojourn.papers import evidence, figures, picture, report_figures, shipped
from sojourn.papers.execute import Measured
from sojourn.papers.judge import Outcome, Verdict
from sojourn.papers.ledger import Ledger, not_run
from sojourn.papers.model import Claim, Condition, Paper
from sojourn.papers.overtime import Traces
from sojourn.papers.runs import slug
from sojourn.report import svg
from sojourn.stats import Estimate

NOTHING: Final = Markup("")


@dataclass(frozen=True, slots=True)
class Pair:
    """A printed number and the measured one under each reading of the simulation."""

    row: str
    unit: str
    scheme: str
    published: float
    printed: str
    measured: tuple[Estimate, ...]


def pairs(paper: Paper, measured: Measured, condition: Condition) -> list[Pair]:
    """Return the measured numbers of a condition in printed units, beside those of its table if it has one."""
    runs = report_figures.shown(paper, measured, [condition])
    printed = {
        (one.row, one.scheme): one for one in paper.published if condition.table and one.table == condition.table
    }
    found = []
    for row in paper.rows:
        of = [evidence.estimates(paper, measured, reading, condition, row) for reading in runs]
        for scheme in condition.schemes:
            own = printed.get((row.name, scheme))
            measured_of = tuple(one.get(scheme, evidence.NOTHING) for one in of)
            value, text = (own.value, own.text) if own else (math.nan, "–")
            found.append(Pair(row.name, row.unit, scheme, value, text, measured_of))
    return found


def render(
    paper: Paper,
    measured: Measured,
    judged: Ledger,
    size: str,
    traces: Traces | None = None,
    *,
    more: Markup = NOTHING,
) -> str:
    """Return the page; it depends on what was measured alone.

    Parameters
    ----------
    paper, measured, judged, traces
        The study, the results of its runs, its judged claims, and what its figures over time need.
    size
        ``quick`` or ``full``.
    more
        Sections after the study's own.
    """
    all_figures, sections = figures.load(paper), shipped.hook(paper.folder, "sections")
    base = paper.readings[0]
    drawn = [report_figures.part(paper, measured, traces or Traces(), figure) for figure in all_figures]
    homes: dict[str, list[Claim]] = {figure.name: [] for figure in all_figures}
    for claim in paper.claims:
        homes.setdefault(figures.home(all_figures, claim), []).append(claim)
    for one in drawn:
        one["claims"] = _by_outcome(paper, measured, judged, homes[one["name"]])
        one["elsewhere"] = [
            (name, f"claims-{slug(name)}")
            for name in homes
            if name != one["name"] and any(figures.is_same(one["name"], of) for of in figures.places(name))
        ]
    names = {figure.name for figure in all_figures}
    others = [
        {"name": name, "id": f"claims-{slug(name)}", "claims": _by_outcome(paper, measured, judged, of)}
        for name, of in homes.items()
        if name not in names
    ]
    pictured = {one.name for figure in all_figures for one in figures.of(figure, paper.conditions)}
    # A study of places has sections of its own; a table for each point of its sweeps would show nothing.
    tables = {one.name: _table(paper, measured, one) for one in measured.conditions
              if not paper.places and (one.table or one.name not in pictured)}  # fmt: skip
    ids = {figure.name: figure.slug for figure in all_figures}
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
        places=[
            (name, ids.get(name, f"claims-{slug(name)}"), _counts(judged, of)) for name, of in homes.items() if of
        ],
        sections=[(f"Section {name}", _counts(judged, of)) for name, of in _by_section(paper.claims).items()],
        totals=list(judged.counts(base.name).values()),
        turned=[_turned(judged, claim) for claim in judged.turned],
        figures=drawn,
        own=sections(paper, measured) if sections else [],
        others=others,
        printed=[one for one in tables.values() if one["number"]],
        unpictured=[one for one in tables.values() if not one["number"]],
        every=[(name, [_line(judged, claim) for claim in of]) for name, of in homes.items() if of],
        readings=[reading.name for reading in paper.readings],
        base=base.name,
        not_run=[f"{name} = {value}" for name, value in not_run(paper)],
        schemes=[(paper.printed[name], _spelled(paper, name)) for name in _run_schemes(measured.conditions)],
        version=core.version(),
        more=more,
    )


def _table(paper: Paper, measured: Measured, condition: Condition) -> dict[str, Any]:
    runs = report_figures.shown(paper, measured, [condition])
    own = pairs(paper, measured, condition)
    what = "printed (diamonds) and measured" if condition.table else "measured"
    caption = (
        f"{condition.title}: {what} values. Bars: 95 % intervals of the mean over {measured.replications} "
        "replications. Each panel has its own axis, which begins at zero."
    )
    panels = [_panel(paper, row.name, [one for one in own if one.row == row.name]) for row in paper.rows]
    drawn = picture.dots(
        [panels[k : k + 3] for k in range(0, len(panels), 3)],
        [paper.printed[name] for name in condition.schemes],
        [reading.name for reading in runs],
    )
    modes = [measured.modes.get((reading.name, condition.name), "") for reading in runs]
    return {
        "id": condition.name,
        "title": condition.title,
        "number": condition.table,
        "svg": svg.inline(drawn, condition.name, caption),
        "caption": caption,
        "runs": [reading.name for reading in runs],
        "rows": [_row(paper, one) for one in own],
        "note": f"Inter-arrival time by which dAQM divides: {'; '.join(modes)}." if any(modes) else "",
    }


def _panel(paper: Paper, name: str, of: Sequence[Pair]) -> picture.Dots:
    row = next(one for one in paper.rows if one.name == name)
    return picture.Dots(
        report_figures.title(row),
        list(zip(*(one.measured for one in of), strict=True)),
        [one.published for one in of],
    )


def _counts(judged: Ledger, claims: Sequence[Claim]) -> list[int]:
    base = judged.readings[0].name
    found = Counter(judged.verdicts[claim.id][base].outcome for claim in claims)
    return [found[outcome] for outcome in Outcome]


def _by_section(claims: Sequence[Claim]) -> dict[str, list[Claim]]:
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        found.setdefault(claim.section, []).append(claim)
    return found


def _by_outcome(paper: Paper, measured: Measured, judged: Ledger, claims: Sequence[Claim]) -> list[dict[str, Any]]:
    base = judged.readings[0].name
    found = []
    for outcome in Outcome:
        of = [claim for claim in claims if judged.verdicts[claim.id][base].outcome is outcome]
        if of:
            entries = [_claim(paper, measured, judged, claim) for claim in of]
            found.append({"key": outcome.key, "outcome": outcome.value, "claims": entries})
    return found


def _line(judged: Ledger, claim: Claim) -> dict[str, Any]:
    """Return a claim's outcome under every reading."""
    of = judged.verdicts[claim.id]
    outcomes = [of[reading.name].outcome for reading in judged.readings]
    decided = {Outcome.HOLDS, Outcome.FAILS} <= set(outcomes)
    return {
        "id": claim.id,
        "key": outcomes[0].key,
        "is_turned": decided,
        "cells": [(one.key, one.value) for one in outcomes],
    }


def _spelled(paper: Paper, scheme: str) -> str:
    links = paper.on.get(scheme, ())
    return f"{paper.texts[scheme]} on {', '.join(links)}" if links else paper.texts[scheme]


def _run_schemes(conditions: Sequence[Condition]) -> list[str]:
    return list(dict.fromkeys(name for one in conditions for name in one.schemes))


def _row(paper: Paper, one: Pair) -> dict[str, Any]:
    return {
        "row": one.row,
        "unit": one.unit.split(",")[0],
        "scheme": paper.printed[one.scheme],
        "printed": one.printed,
        "measured": [
            {"text": metrics.rounded(of.mean, of.half_width), "is_in": _holds(of, one.published)}
            for of in one.measured
        ],
    }


def _holds(of: Estimate, value: float) -> bool:
    return of.low is not None and of.high is not None and of.low <= value <= of.high


def said(verdict: Verdict) -> str:
    """Return an outcome in words: with the replications that would decide it, or with what is missing."""
    if verdict.outcome is Outcome.UNDECIDED:
        more = f"about {verdict.replications} replications would decide it" if verdict.replications else ""
        return f"undecided: {more}" if more else "undecided: no practical number of replications would decide it"
    return f"{verdict.outcome.value}: {verdict.why}" if verdict.why else verdict.outcome.value


def predicate(printed: Mapping[str, str], claim: Claim) -> str:
    """Return what is compared, in a line, with the names of schemes as they are printed."""

    def names(of: Sequence[str]) -> str:
        return ", ".join(printed.get(one, one.replace("_", " ")) for one in of)

    parts = [
        "best of" if claim.is_best_of else "",
        f"{names(claim.subject)}:",
        "not" if claim.is_negated else "",
        "slightly" if claim.is_slight else "",
        claim.comparison.replace("_", " "),
        f"{claim.bound.replace('_', ' ')} {claim.amount}".strip(),
        claim.value,
        f"rank {claim.rank}" if claim.rank else "",
        f"against {names(claim.against)}" if claim.against else "",
        f"({claim.metric})",
    ]
    return " ".join(part for part in parts if part)


def _claim(paper: Paper, measured: Measured, judged: Ledger, claim: Claim) -> dict[str, Any]:
    base = judged.readings[0]
    of = judged.verdicts[claim.id]
    other = [one for one in Outcome if one is not of[base.name].outcome]
    turning = next(
        (
            one
            for one in judged.readings
            if one.is_run and {of[one.name].outcome, of[base.name].outcome} == {Outcome.HOLDS, Outcome.FAILS}
        ),
        None,
    )
    return {
        "id": claim.id,
        "place": f"{claim.place}; section {claim.section}" + (f", page {claim.page}" if claim.page else ""),
        "quote": claim.quote,
        "predicate": predicate(paper.printed, claim),
        "outcome": said(of[base.name]),
        "evidence": evidence.lines(paper, measured, claim, base),
        "turning": turning.name if turning else "",
        "evidence_there": evidence.lines(paper, measured, claim, turning) if turning else [],
        "readings": "; ".join(
            f"{outcome.value} under {', '.join(names)}"
            for outcome in other
            if (names := [name for name, verdict in of.items() if verdict.outcome is outcome])
        ),
    }


def _turned(judged: Ledger, claim: Claim) -> dict[str, str]:
    of = judged.verdicts[claim.id]
    base = judged.readings[0].name

    def names(outcome: Outcome) -> str:
        found = [name for name, verdict in of.items() if verdict.outcome is outcome]
        if base not in found:
            return ", ".join(found)
        depends = [one.name for one in judged.readings[1:] if one.is_run or set(one.values) & set(claim.readings)]
        alike = [name for name in found if name in depends]
        return ", ".join(["the base", *alike])

    groups = {outcome: names(outcome) for outcome in (Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED)}
    return {
        "id": claim.id,
        "quote": claim.quote,
        "holds": groups[Outcome.HOLDS],
        "fails": groups[Outcome.FAILS],
        "undecided": groups[Outcome.UNDECIDED] or "–",
    }
