"""What a claim is judged on, in a line of words: quantity, schemes, how they compare, and the traffic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from sojourn.results import metrics
from sojourn.studies.papers.conditions import EACH, NO_SWEEP
from sojourn.studies.papers.judge import OF_EACH, OF_NONE
from sojourn.studies.papers.model import Claim, Paper, Study
from sojourn.studies.papers.trends import BETWEEN_CONDITIONS, OVER_SWEEPS, POOLED

PHRASES: Final = {
    "lower": "lower than {against}",
    "higher": "higher than {against}",
    "lower_by": "lower than {against} by {amount}",
    "higher_by": "higher than {against} by {amount}{share}",
    "lowest": "lowest{beside}",
    "highest": "highest{beside}",
    "nth_lowest": "{ordinal} lowest{beside}",
    "among_lowest": "among the {rank} lowest{beside}",
    "low": "low among the schemes of the figure",
    "high": "high among the schemes of the figure",
    "comparable": "comparable with {against}",
    "alike": "alike",
    "better": "better than {against}",
    "best": "best{beside}",
    "increases_with": "rising with {sweep}",
    "decreases_with": "falling with {sweep}",
    "insensitive_to": "insensitive to {sweep}",
    "gap_increases_with": "at a distance to {against} that grows with {sweep}",
    "gap_decreases_with": "at a distance to {against} that shrinks with {sweep}",
    "gap_greater_in": "further from {against} for {here} than for {there}",
    "higher_in": "higher{by} for {here} than for {there}",
    "better_in": "better, in relation to the best of {against}, for {here} than for {there}",
    "alike_in": "alike for {here} and for {there}",
    "rank_better_in": "of better rank for {here} than for {there}",
    "rank_alike_in": "of the same rank in all conditions, {here} and {there}",
    "spread_lower_in": "closer together for {here} than for {there}",
    "follows": "{rising} {driver} over these schemes and conditions together",
    "opposes": "falling with {driver} over these schemes and conditions together",
    "peaks_at": "with a peak over {sweep}{at}",
    "peak_greater": "with a greater peak over {sweep} than {against}",
    "equals": "equal to {value}{margin}",
    "below": "below {value}",
    "farther": "further from the first of these than the others are: {against}",
    "unjudgeable": "(no run can decide it)",
}
"""By comparison of ``claims.toml``. against: schemes; beside: the same, after a superlative; here, there: traffic."""

_ORDINALS: Final = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_FEW: Final = 4
"""So many others are named; more are a group."""
_ACROSS: Final = {"some": "in at least one of these", "most": "in most of these"}
_BETWEEN: Final = (*BETWEEN_CONDITIONS, "rank_alike_in")


def predicate(paper: Study, printed: Mapping[str, str], claim: Claim) -> str:
    """Return what a claim is judged on, with every scheme of a group by the name that is printed of it."""

    def schemes(of: Sequence[str]) -> str:
        return ", ".join(printed.get(one, label(paper, one)) for one in paper.ids(tuple(of)))

    against = schemes(claim.against)
    beside = f", compared with {against}"
    if claim.against == ("others",) and isinstance(paper, Paper):
        others, but = paper.against_of(claim), f" but {schemes(claim.left_out)}" if claim.left_out else ""
        group = f"{label(paper, paper.group_of(claim))}{but}"
        against = f"all others of {group}" if len(others) > _FEW else schemes(others)
        beside = f" of {group}" if len(others) > _FEW else f", compared with {against}"
    amount = f"{claim.bound.replace('_', ' ')} {claim.amount}".strip()
    amount = amount.replace(" to ", " and ") if claim.bound == "between" else amount
    here, there = _sides(paper, claim)
    how = PHRASES.get(claim.comparison, claim.comparison.replace("_", " ")).format(
        against=against,
        beside=beside if claim.against else "",
        amount=amount,
        share=" of the highest value" if "percent" in claim.readings else "",
        by=f" by a factor of about {amount.removesuffix(' times')}" if amount else "",
        rank=claim.rank,
        ordinal=dict(enumerate(_ORDINALS)).get(claim.rank or 0, f"{claim.rank}th"),
        sweep=_sweep(paper, claim),
        rising="better at a higher" if claim.metric == "any" else "rising with",
        driver=quantity(paper, claim.driver) if claim.driver else "",
        at=f" at {claim.at}" if claim.at else "",
        value=_with_unit(claim),
        margin="" if re.fullmatch(r"0( .*)?", claim.value) else ", within the margin",
        here=here,
        there=there,
    )
    # Of several quantities, their number says what is negated.
    is_negated = claim.is_negated and claim.metric != "any"
    is_several = len(paper.ids(claim.subject)) > 1 and not claim.is_best_of
    number = "none of" if claim.comparison in OF_NONE else "not all of"
    where = "" if claim.comparison == "unjudgeable" else _traffic(paper, claim)
    words = [
        _quantities(paper, claim),
        "best of" if claim.is_best_of else number if is_negated and is_several else "",
        schemes(claim.subject),
        "not" if is_negated and not is_several else "",
        "slightly" if claim.is_slight else "",
        how,
        f"({where})" if where else "",
    ]
    return " ".join(one for one in words if one)


def quantity(paper: Study, metric: str) -> str:
    """Return what the study calls a metric, or what it is called here: of a place or a kind with its name."""
    name, _, place = metric.partition("@")
    if found := next((row.title for row in paper.rows if row.metric == metric), paper.labels.get(metric)):
        return found
    title = metrics.find(name).title
    found = paper.labels.get(name) or f"{title[:1].lower()}{title[1:]}"
    return f"{found}, {label(paper, place)}" if place else found


def label(paper: Study, name: str) -> str:
    """Return what ``[labels]`` of ``claims.toml`` has for an identifier of traffic, a place or a group."""
    return paper.labels.get(name, name.replace("_", " "))


def _quantities(paper: Study, claim: Claim) -> str:
    """Return what begins a line; where no quantity is named, in how many of them the comparison must hold."""
    several = paper.labels.get("any", "the quantities of the tables")
    if claim.metric != "any" or claim.comparison == "unjudgeable":
        what = several if claim.metric == "any" else quantity(paper, claim.metric)
        return f"{what[:1].upper() if what[:2].islower() else what[:1]}{what[1:]}:"
    how_many = "each" if claim.comparison in OF_EACH else "most"
    if claim.comparison in OF_NONE and claim.is_negated:
        return f"In none of {several}:"
    return f"Not in {how_many} of {several}:" if claim.is_negated else f"In {how_many} of {several}:"


def _with_unit(claim: Claim) -> str:
    known = metrics.find(claim.metric.partition("@")[0]).unit
    return f"{claim.value} {known}" if known and re.fullmatch("[0-9.]+", claim.value) else claim.value


def _several(paper: Study, names: Sequence[str]) -> str:
    *first, last = [label(paper, one) for one in names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _sweep(paper: Study, claim: Claim) -> str:
    """Return what is varied; of features alone where such a sweep is among the conditions."""
    names = _several(paper, claim.sweep)
    own = f"{names.replace(' ', '_')} of {' '.join(claim.features)}"
    if claim.features and isinstance(paper, Paper) and any(one.sweep == own for one in paper.conditions):
        return f"{names} of {_several(paper, claim.features)}"
    return names


def _sides(paper: Study, claim: Claim) -> tuple[str, str]:
    """Return what a comparison of conditions has on its two sides: only what differs."""

    def side(flow: Sequence[str], model: Sequence[str], at: str, *, is_other: bool) -> str:
        each = "each of " if is_other and claim.comparison != "rank_alike_in" else ""
        kinds = [f"{each if len(of) > 1 else ''}{_several(paper, of)}" for of in (flow, model) if of]
        where = [_point(paper, claim, at)] if claim.instead_at else []
        return " at ".join([one for one in (" under ".join(kinds), *where) if one])

    if not (claim.instead_flow or claim.instead_model or claim.instead_at):
        return _several(paper, claim.model), label(paper, "others")
    flow, model = claim.flow if claim.instead_flow else (), claim.model if claim.instead_model else ()
    here = side(flow, model, claim.at, is_other=False)
    return here, side(claim.instead_flow, claim.instead_model, claim.instead_at, is_other=True)


def _point(paper: Study, claim: Claim, at: str) -> str:
    sweep = _sweep(paper, claim)
    if at == NO_SWEEP:
        return f"the {sweep} of the tables"
    if at and at != EACH:
        return f"{sweep} {at}" if sweep and at[:1].isdigit() else label(paper, at)
    if not sweep:
        return paper.labels.get(EACH, "")
    if claim.comparison in POOLED:
        return f"all points of {sweep}"
    return f"mean over {sweep}" if claim.comparison in BETWEEN_CONDITIONS else f"each {sweep}"


def _traffic(paper: Study, claim: Claim) -> str:
    """Return the traffic that a claim is about, without what the comparison itself names."""
    is_between = claim.comparison in _BETWEEN
    others = claim.instead_flow, claim.instead_model, claim.instead_at
    named = [is_between and bool(one) for one in others] if any(others) else [False, is_between, False]
    of_sweep = [paper.labels.get(f"{one}@{sweep}") for one in claim.flow for sweep in claim.sweep]
    parts = [
        "" if named[0] else next(filter(None, of_sweep), _several(paper, claim.flow)),
        "" if named[1] else _several(paper, claim.model),
    ]
    if isinstance(paper, Paper) and not (claim.flow and claim.model):
        parts.append("all traffic that was run with these schemes")
    if claim.comparison in OVER_SWEEPS:
        parts.append(claim.sweep_range)
    elif not named[2]:
        parts.append(_point(paper, claim, claim.at))
    parts.append(_ACROSS.get(claim.across, ""))
    return "; ".join(one for one in parts if one)
