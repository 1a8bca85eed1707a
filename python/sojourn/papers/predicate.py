"""What a claim compares, as a line of words: its quantity, its schemes, how they compare, and under which traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sojourn import metrics
from sojourn.papers.conditions import EACH, NO_SWEEP
from sojourn.papers.model import Claim, Study
from sojourn.papers.trends import BETWEEN_CONDITIONS, OVER_SWEEPS

PHRASES: Final = {
    "lower": "lower than {against}",
    "higher": "higher than {against}",
    "lower_by": "lower than {against} by {amount}",
    "higher_by": "higher than {against} by {amount}",
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
    "better_in": "better, in relation to {against}, for {here} than for {there}",
    "alike_in": "alike for {here} and for {there}",
    "rank_better_in": "of better rank for {here} than for {there}",
    "rank_alike_in": "of the same rank for {here} and for {there}",
    "spread_lower_in": "closer together for {here} than for {there}",
    "follows": "rising with {driver}",
    "opposes": "falling with {driver}",
    "peaks_at": "with a peak over {sweep}{at}",
    "peak_greater": "with a greater peak over {sweep} than {against}",
    "equals": "equal to {value}",
    "below": "below {value}",
    "unjudgeable": "(no run can decide it)",
}
"""By comparison of ``claims.toml``. against: schemes; beside: the same, after a superlative; here, there: traffic."""
_ORDINALS: Final = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_BETWEEN: Final = (*BETWEEN_CONDITIONS, "rank_alike_in")


def predicate(paper: Study, printed: Mapping[str, str], claim: Claim) -> str:
    """Return what is compared, with every scheme of a group by the name that is printed of it."""

    def schemes(of: tuple[str, ...]) -> str:
        return ", ".join(printed.get(one, label(paper, one)) for one in paper.ids(of))

    against, beside = schemes(claim.against), f", compared with {schemes(claim.against)}"
    if claim.against == ("others",):
        against = "all others" + (f" but {schemes(claim.left_out)}" if claim.left_out else "")
        beside = f" of {against.replace(' others', '')}"
    amount = f"{claim.bound.replace('_', ' ')} {claim.amount}".strip()
    here, there = _sides(paper, claim)
    how = PHRASES.get(claim.comparison, claim.comparison.replace("_", " ")).format(
        against=against,
        beside=beside if claim.against else "",
        amount=amount,
        by=f" by a factor of {amount}" if amount else "",
        rank=claim.rank,
        ordinal=dict(enumerate(_ORDINALS)).get(claim.rank or 0, f"{claim.rank}th"),
        sweep=_several(paper, claim.sweep, "and"),
        driver=quantity(paper, claim.driver) if claim.driver else "",
        at=f" at {claim.at}" if claim.at else "",
        value=claim.value,
        here=here,
        there=there,
    )
    what, where = quantity(paper, claim.metric), _traffic(paper, claim) if claim.comparison != "unjudgeable" else ""
    words = [
        f"{what[:1].upper() if what[:2].islower() else what[:1]}{what[1:]}:",
        "best of" if claim.is_best_of else "",
        schemes(claim.subject),
        "not" if claim.is_negated else "",
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
    title = "several quantities" if name == "any" else metrics.find(name).title
    found = paper.labels.get(name) or f"{title[:1].lower()}{title[1:]}"
    return f"{found}, {label(paper, place)}" if place else found


def label(paper: Study, name: str) -> str:
    """Return what stands for an identifier of traffic or a place: that of ``[labels]`` in ``claims.toml``."""
    return paper.labels.get(name, name.replace("_", " "))


def _several(paper: Study, names: Sequence[str], word: str) -> str:
    *first, last = [label(paper, one) for one in names] or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def _sides(paper: Study, claim: Claim) -> tuple[str, str]:
    """Return what a comparison of conditions has on its two sides: only what differs."""
    here, there = [], []
    for own, other in ((claim.flow, claim.instead_flow), (claim.model, claim.instead_model)):
        if other:
            here.append(_several(paper, own, "and"))
            there.append(_several(paper, other, "and"))
    if claim.instead_at:
        here.append(_point(paper, claim, claim.at))
        there.append(_point(paper, claim, claim.instead_at))
    if not there:
        return _several(paper, claim.model, "and"), "others"
    return " at ".join(one for one in here if one), " at ".join(one for one in there if one)


def _point(paper: Study, claim: Claim, at: str) -> str:
    sweep = _several(paper, claim.sweep, "and")
    if at == NO_SWEEP:
        return f"the usual {sweep}"
    if at and at != EACH:
        return f"{sweep} {at}" if at[:1].isdigit() else at
    return f"each {sweep}" if sweep else ""


def _traffic(paper: Study, claim: Claim) -> str:
    """Return the traffic that a claim is about, without what the comparison itself names."""
    is_between = claim.comparison in _BETWEEN
    others = claim.instead_flow, claim.instead_model, claim.instead_at
    named = [is_between and bool(one) for one in others] if any(others) else [False, is_between, False]
    parts = [
        "" if named[0] else _several(paper, claim.flow, "and"),
        "" if named[1] else _several(paper, claim.model, "and"),
        "" if named[2] or claim.comparison in OVER_SWEEPS else _point(paper, claim, claim.at),
    ]
    return ", ".join(one for one in parts if one)
