"""The page docs/concepts/fidelity.md, made from the comparisons themselves."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from crosscheck import drawn, heldout, kernels, records
from crosscheck.compare import BELOW_CEILING, LEAST_DROPS, NOISE_LIMIT, SHARE, STANDARD_ERRORS, Outcome, Row
from crosscheck.text import TITLES, difference, number, percent, verdict
from sojourn.base.escape import markdown

NOTE: Final = "<!-- Made by `sojourn crosscheck all --page docs/concepts/fidelity.md`: change it there. -->\n"

_WORDS: Final = tomllib.loads((records.HERE / "fidelity.toml").read_text(encoding="utf-8"))


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page as Markdown."""
    parts = [
        NOTE,
        "# Fidelity\n\n",
        _WORDS["introduction"].format(
            replications=_replications(outcomes),
            errors=f"{STANDARD_ERRORS:g}",
            noise=f"{NOISE_LIMIT:g}",
            drops=LEAST_DROPS,
            share=percent(SHARE).replace(".0", ""),
            held_out=percent(heldout.SHARE).replace(".0", ""),
            below=f"{100 * BELOW_CEILING:g} points",
            allowed=heldout.ALLOWED,
        ),
        _summary(outcomes),
        _first_looks(heldout.history(heldout.FIRST_LOOKS)),
        _held_out(heldout.history()),
    ]
    parts += [_peer(outcome) for outcome in outcomes]
    return "".join(parts).rstrip("\n") + "\n"


def _replications(outcomes: Sequence[Outcome]) -> int:
    return min((row.replications for outcome in outcomes for row in outcome.rows), default=0)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(markdown(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n\n"


def _summary(outcomes: Sequence[Outcome]) -> str:
    rows = [
        [
            TITLES[outcome.peer],
            tally.title,
            tally.rule,
            f"{tally.passed} of {tally.points}",
            percent(tally.share) if tally.points else "–",
            percent(tally.ceiling),
            percent(tally.needed) if tally.points else "–",
            ("yes" if tally.is_enough else "**no**") if tally.points else "–",
            str(tally.too_few) if tally.too_few else "–",
        ]
        for outcome in outcomes
        for tally in outcome.metrics()
    ]
    head = ["compared with", "metric", "tolerance", "points that pass", "share", "ceiling", "needed", "enough"]
    return _markdown([*head, "too few to judge"], rows)


def _held_out(runs: Sequence[Mapping[str, str]]) -> str:
    """Return the history of the held-out points: shares by metric."""
    title = "## Held-out points of Linux\n\n"
    if not runs:
        return f"{title}The held-out points have not been compared yet.\n\n"
    return (
        f"{title}Each run of the held-out points is a row. A cell has the share of points that pass, the number of "
        "points, and the ceiling in parentheses. Run 1 is of recordings that measured the groups of flows of a point "
        "at different times; the points with several groups were thrown away and are recorded again. Run 5 is of all "
        "points, with three runs of Linux and 20 replications of ours. The runs before had one run of Linux and five "
        "replications. The aim of 92 % was set before run 1, but the command demanded 95 % up to run 5.\n\n"
        + _history(runs)
    )


def _first_looks(looks: Sequence[Mapping[str, str]]) -> str:
    """Return what development points showed when they were new."""
    if not looks:
        return ""
    return (
        "## Development points of Linux when they were new\n\n"
        "Development points that are recorded are compared before anything is changed because of them. Each row has "
        "the points of a first look.\n\n" + _history(looks)
    )


def _history(runs: Sequence[Mapping[str, str]]) -> str:
    rows = []
    for number_, run in enumerate(runs, 1):
        cells = [str(number_), run["date"], f"{run['build']}, {run['commit']}".rstrip(", "), run["compared_points"]]
        for metric in heldout.METRICS:
            passed, points, ceiling = heldout.share(run, metric)
            cells.append(f"{percent(passed / points)} of {points} ({percent(ceiling)})" if points else "–")
        rows.append(cells)
    titles = {"goodput": "goodput", "delay": "queueing delay", "drops": "drop rate", "marks": "mark rate"}
    head = ["run", "date", "build", "points", *(titles[metric] for metric in heldout.METRICS)]
    return _markdown(head, rows)


def _peer(outcome: Outcome) -> str:
    title = TITLES[outcome.peer]
    parts = [f"## {title}\n\n{_WORDS['about'][outcome.peer]}\n"]
    rows = [
        [
            row.point.name,
            row.metric.title + (f", {row.metric.unit}" if row.metric.unit else ""),
            number(row.ours, row.metric.digits),
            number(row.theirs.value, row.metric.digits),
            difference(row),
            verdict(row) if row.passes or row.is_too_few else f"**{verdict(row)}**",
        ]
        for row in outcome.rows
    ]
    parts.append(_explained(outcome))
    if outcome.peer == "linux":
        parts.append(_kernels(outcome))
    not_counted = dict.fromkeys(
        (row.point.no_reference, row.point.name) for row in outcome.rows if row.point.no_reference
    )
    reasons: dict[str, list[str]] = {}
    for reason, name in not_counted:
        reasons.setdefault(str(reason), []).append(name)
    if reasons:
        parts.append("### Points that are shown but not counted\n\n")
        parts += [f"* {'; '.join(names)}: {reason}.\n" for reason, names in reasons.items()]
        parts.append("\n")
    if outcome.left_out:
        parts.append("### Points that are recorded but not compared yet\n\n")
        left_out: dict[str, list[str]] = {}
        for point, reason in outcome.left_out:
            left_out.setdefault(reason.split(";")[0], []).append(point.name)
        parts += [f"* {'; '.join(names)}: {reason}.\n" for reason, names in left_out.items()]
        parts.append("\n")
    parts.append(_folded(outcome, title, rows))
    return "".join(parts)


def _kernels(outcome: Outcome) -> str:
    """Return where two kernels differ at the same points."""
    sets = {chosen: kernels.pairs(chosen) for chosen in (drawn.DEVELOPMENT, drawn.HELD_OUT)}
    both = [pair for pairs in sets.values() for pair in pairs]
    if not both:
        return ""
    pooled = {pair.metric.title: pair.spread for pair in both if pair.spread is not None}
    text = _WORDS["kernels"].format(
        newer=kernels.NEWER,
        older=kernels.OLDER,
        points=len({pair.point.name for pair in both}),
        development=len({pair.point.name for pair in sets[drawn.DEVELOPMENT]}),
        spreads=", ".join(f"{percent(spread)} of the {title}" for title, spread in pooled.items()),
        errors=f"{STANDARD_ERRORS:g}",
    )
    rows = [_shares(chosen, metric, pairs) for chosen, pairs in sets.items() for metric in heldout.METRICS]
    head = ["set", "metric", "points", "within the tolerance", "within the spread", f"mean of {kernels.NEWER} to 6.1"]
    parts = [text, _markdown(head, [row for row in rows if row])]
    far = [pair for pair in sets[drawn.DEVELOPMENT] if pair.is_counted and pair.is_beyond_spread]
    if far:
        parts.append("The development points that differ beyond the spread:\n\n")
        head = ["point", "metric", kernels.OLDER, kernels.NEWER, "difference", "tolerance"]
        parts.append(_markdown(head, [_far(pair) for pair in far]))
    else:
        parts.append("No development point differs beyond the spread.\n\n")
    return "".join(parts) + _against_newer(outcome)


def _shares(chosen: str, metric: str, pairs: Sequence[kernels.Pair]) -> list[str]:
    counted = [pair for pair in pairs if pair.metric.key == metric and pair.is_counted]
    if not counted:
        return []
    ratios = [pair.newer.value / pair.older.value for pair in counted if pair.older.value > 0]
    return [
        chosen,
        counted[0].metric.title,
        str(len(counted)),
        percent(sum(pair.is_within_tolerance for pair in counted) / len(counted)),
        percent(sum(not pair.is_beyond_spread for pair in counted) / len(counted)),
        f"{fmean(ratios):.3f}" if ratios and chosen == drawn.DEVELOPMENT else "–",
    ]


def _far(pair: kernels.Pair) -> list[str]:
    digits, unit = pair.metric.digits, pair.metric.unit
    share = f"{pair.difference / pair.older.value:+.1%}".replace("%", " %")
    return [
        pair.point.name,
        pair.metric.title + (f", {unit}" if unit else ""),
        number(pair.older.value, digits),
        number(pair.newer.value, digits),
        share,
        "within" if pair.is_within_tolerance else "**beyond**",
    ]


def _against_newer(outcome: Outcome) -> str:
    """Return the shares of our side against either kernel, at the development points that both measured."""
    compared = kernels.against_newer(outcome)
    rows = []
    for metric in heldout.METRICS:
        own = [pair for pair in compared if pair[0].metric.key == metric]
        cells = []
        for side in (0, 1):
            counted = [pair[side] for pair in own if pair[side].is_counted]
            cells.append(f"{sum(row.passes for row in counted)} of {len(counted)}" if counted else "–")
        if own:
            rows.append([own[0][0].metric.title, *cells])
    head = ["metric", f"points that pass against {kernels.OLDER}", f"against {kernels.NEWER}"]
    return f"The simulator against either kernel, at the same development points:\n\n{_markdown(head, rows)}"


def _folded(outcome: Outcome, title: str, rows: Sequence[Sequence[str]]) -> str:
    """Return the table of every point, which opens at a click; `markdown` is for Python-Markdown."""
    if not rows:
        return ""
    points = len(dict.fromkeys(row.point.name for row in outcome.rows))
    return (
        f'### Every point of {title}\n\n<details markdown="1">\n'
        f"<summary>{points} points, {len(rows)} comparisons</summary>\n\n"
        + _markdown(["point", "metric", "ours", title, "difference ± 95 %", "verdict"], rows)
        + "</details>\n\n"
    )


def _explained(outcome: Outcome) -> str:
    misses = [row for row in outcome.rows if row.is_counted and not row.passes]
    if not misses:
        return ""
    found: dict[str, list[Row]] = {}
    entries = records.explanations()
    for row in misses:
        texts = [entry.text for entry in entries if entry.explains(outcome.peer, row)]
        found.setdefault(" ".join(texts) or "**Not explained yet.**", []).append(row)
    lines = ["### Explanation of the points that fail\n\n"]
    for text, rows in found.items():
        names = "; ".join(f"{row.point.name} ({row.metric.title})" for row in rows)
        lines.append(f"* {names}. {text}\n")
    return "".join(lines) + "\n"
