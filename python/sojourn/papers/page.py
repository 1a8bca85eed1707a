"""The report of a paper as an HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from sojourn import core, metrics, report, stats
from sojourn.papers import picture
from sojourn.papers.execute import Measured
from sojourn.papers.judge import Outcome, Verdict
from sojourn.papers.ledger import Ledger, chosen_by, not_run
from sojourn.papers.model import Claim, Condition, Paper
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
    runs = [reading for reading in paper.readings if reading.is_run]
    values = [measured.values(reading.name, condition.name, chosen_by(paper, reading)) for reading in runs]
    printed = {
        (one.row, one.scheme): one for one in paper.published if condition.table and one.table == condition.table
    }
    found = []
    for row in paper.rows:
        for scheme in condition.schemes:
            own = printed.get((row.name, scheme))
            of = tuple(stats.estimate(one[row.metric][scheme] / row.scale) for one in values)
            value, text = (own.value, own.text) if own else (math.nan, "–")
            found.append(Pair(row.name, row.unit, scheme, value, text, of))
    return found


def render(paper: Paper, measured: Measured, judged: Ledger, size: str, *, more: Markup = NOTHING) -> str:
    """Return the page; it depends on what was measured alone.

    Parameters
    ----------
    paper, measured, judged
        What was run, and what came of it.
    size
        ``quick`` or ``full``.
    more
        Sections after the study's own.
    """
    runs = [reading for reading in paper.readings if reading.is_run]
    tables = []
    for condition in measured.conditions:
        own = pairs(paper, measured, condition)
        what = "printed (diamonds) and measured" if condition.table else "measured"
        caption = (
            f"{condition.title}: {what}; bars: 95 % intervals of the mean over {measured.replications} replications."
        )
        drawn = picture.table(paper, own, [reading.name for reading in runs])
        modes = [measured.modes.get((reading.name, condition.name), "") for reading in runs]
        tables.append(
            {
                "id": condition.name,
                "title": condition.title,
                "is_printed": bool(condition.table),
                "svg": svg.inline(drawn, condition.name, caption),
                "caption": caption,
                "rows": [_row(paper, one) for one in own],
                "note": f"Inter-arrival time that dAQM divides by: {'; '.join(modes)}." if any(modes) else "",
            }
        )
    base = paper.readings[0]
    return report.page(
        "paper.html.j2",
        title=paper.title,
        lead=paper.source,
        facts=[
            ("Claims", str(len(paper.claims))),
            ("Readings", str(len(paper.readings))),
            ("Replications", f"{measured.replications} ({size})"),
            ("Conditions run", str(len(measured.conditions))),
            ("Sojourn", core.version()),
        ],
        heads=[outcome.value for outcome in Outcome],
        counts=[(one.name, list(judged.counts(one.name).values())) for one in paper.readings],
        turned=[_turned(judged, claim) for claim in judged.turned],
        runs=[reading.name for reading in runs],
        tables=tables,
        sections=[
            (outcome.value, [_claim(judged, claim, base.name) for claim in of])
            for outcome in Outcome
            if (of := [c for c in paper.claims if judged.verdicts[c.id][base.name].outcome is outcome])
        ],
        base=base.name,
        not_run=[f"{name} = {value}" for name, value in not_run(paper)],
        schemes=[(paper.printed[name], paper.texts[name]) for name in _run_schemes(measured.conditions)],
        version=core.version(),
        more=more,
    )


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
        more = f"about {verdict.replications} replications would decide" if verdict.replications else "no near number"
        return f"undecided: {more}"
    return f"{verdict.outcome.value}: {verdict.why}" if verdict.why else verdict.outcome.value


def predicate(claim: Claim) -> str:
    """Return what is compared, in a line."""
    parts = [
        "not" if claim.is_negated else "",
        "best of" if claim.is_best_of else "",
        ", ".join(claim.subject),
        claim.comparison.replace("_", " "),
        "slightly" if claim.is_slight else "",
        f"{claim.bound.replace('_', ' ')} {claim.amount}".strip(),
        claim.value,
        f"rank {claim.rank}" if claim.rank else "",
        f"{'with' if claim.comparison == 'comparable' else 'than'} {', '.join(claim.against)}"
        if claim.against
        else "",
        f"({claim.metric})",
    ]
    return " ".join(part for part in parts if part)


def _claim(judged: Ledger, claim: Claim, base: str) -> dict[str, str]:
    return {
        "id": claim.id,
        "place": f"{claim.place}; section {claim.section}, page {claim.page}",
        "quote": claim.quote,
        "predicate": predicate(claim),
        "outcome": said(judged.verdicts[claim.id][base]),
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
