"""The report of a placement, and its table for a terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Final

from sojourn import stats
from sojourn.base import core
from sojourn.base.wording import listed
from sojourn.results import metrics
from sojourn.stats import Estimate
from sojourn.studies.placement import picture
from sojourn.studies.placement.centrality import ALL
from sojourn.studies.placement.evaluate import GOODPUT, Placement
from sojourn.studies.placement.search import BEST, EVERY, GREEDY, NONE, Found, is_better, unfinished
from sojourn.view.report import page
from sojourn.view.report.sections import Drawing, Section, cell, code, items, note

_MOST_ROUTERS: Final = 4
_MOST_LINKS: Final = 200


def render(found: Found, *, demands: str, command: Sequence[str]) -> str:
    """Return the page; `demands` says where these come from, and `command` repeats the search."""
    case, plan, net = found.case, found.plan, found.case.topology
    kind = "Not a map: places are not known, springs lay the routers out"
    if picture.is_placed(net):
        kind = "A map" if net.is_geographic else "Places as the source draws them, not a map"
    caption = (
        f"{kind}. Stars: the {plan.budget} router{'s' * (plan.budget > 1)} of the best placement found. Colour and "
        "width of a link: offered traffic over capacity in its busier direction."
    )
    values = "Every placement on the fresh replications, best first; bars: 95 % intervals of the means."
    objective = found.objective
    links = [
        (
            net.nodes[a].label,
            cell(net.nodes[b].label, kind="text"),
            f"{(link.rate_bit_s or 0) / 1e6:g}",
            f"{(link.delay_ns or 0) / 1e6:.2f}",
            f"{case.utilisation((a, b)):.2f}",
            f"{case.utilisation((b, a)):.2f}",
        )
        for link in net.links[:_MOST_LINKS]
        for a, b in [link.ends]
    ]
    more = len(net.links) - _MOST_LINKS
    rankings = [
        (picture.words(name), ALL[name].meaning, ", ".join(net.nodes[k].label for k in order[:8]))
        for name, order in found.rankings.items()
    ]
    notes = [f"Demands: {demands}.", *(f"{one[:1].upper()}{one[1:]}." for one in (*net.notes, *case.words))]
    results = (
        items(headlines(found)),
        Drawing("map-figure", picture.network(found), caption),
        Drawing("values-figure", picture.values(found), values),
        Drawing("choices", heads=heads(found), rows=rows(found)),
        note(
            f"{objective.title}: {objective.meaning}. Value ± half-width of the 95 % interval (Student's t) over "
            "replications that the search did not use. “Behind the best found” is the difference to the best "
            "placement, paired by replication on the same traffic. “Share of its gain” is the gain over a network "
            "without the scheme, divided by the gain of the best placement; its interval comes from resampling the "
            "replications (BCa bootstrap). The intervals are not corrected for their number: about one in twenty "
            "does not contain the true value. “Best found” is the best placement that the search tried, not the "
            "best of all placements."
        ),
    )
    run = (
        items(notes, "plain"),
        Drawing("links", heads=("Link", "", "Mbit/s", "Delay, ms", "Load there", "Load back"), rows=links),
        *([note(f"And {more} links more.")] if more > 0 else []),
    )
    ranks = Drawing(
        "rankings", heads=("Centrality", "What it is", "Routers, the first first"), rows=rankings, kind=""
    )
    return page(
        f"{net.name}: where to put {plan.scheme}",
        (
            Section("found", "What was found", (), results),
            Section("rankings", "Rankings", (), (ranks,)),
            Section("run", "What was run", (), run),
            Section("again", "Run it again", (), (code(shlex.join(command)),)),
        ),
        kind="placement",
        lead=case.document["description"],
        facts=[
            ("Scheme", plan.scheme),
            ("Elsewhere", _base(found)),
            ("Routers to choose", str(plan.budget)),
            ("Objective", f"{objective.title.lower()}"),
            ("Search", f"{len(found.tried)} placements, {plan.replications} replications each"),
            ("Judged on", f"{plan.fresh} fresh replications, seed {plan.seed}"),
            ("Sojourn", core.version()),
        ],
        made=core.version(),
    )


def heads(found: Found) -> list[str]:
    """Return the heads of the table of choices."""
    objective = found.objective
    return [
        "placement",
        f"{objective.title.lower()}, {objective.unit}",
        "behind the best found",
        "share of its gain, %",
        "goodput, Mbit/s",
        "routers",
    ]


def rows(found: Found) -> list[list[str]]:
    """Return the table of choices, best first, as text."""
    scale = found.objective.scale
    ordered = sorted(found.choices, key=lambda choice: found.estimate(choice.name).mean)
    table = []
    for choice in ordered:
        behind = found.behind(choice.name)
        is_best = choice.routers == found.routers(BEST)
        table.append(
            [
                picture.words(choice.name),
                metrics.shown(found.estimate(choice.name), scale),
                "–" if is_best else f"{'+' if behind.mean > 0 else ''}{metrics.shown(behind, scale)}",
                "–" if choice.name in (NONE, EVERY) else _share(found.share(choice.name)),
                metrics.shown(found.estimate(choice.name, GOODPUT), 1e-6),
                _routers(found, choice.routers),
            ]
        )
    return table


def headlines(found: Found) -> list[str]:
    """Return sentences about the result, as far as the intervals decide it."""
    net, objective, plan = found.case.topology, found.objective, found.plan
    names = listed([net.nodes[k].label for k in sorted(found.routers(BEST))])
    gain = stats.paired(found.values(NONE), found.values(BEST))
    what = objective.title[:1].lower() + objective.title[1:]
    sentences = []
    if gain.excludes_zero and gain.mean > 0:
        sentences.append(
            f"Best placement found: {names}. It lowers {what} by {metrics.shown(gain, objective.scale)} "
            f"{objective.unit} against no router."
        )
    else:
        sentences.append(
            f"Best placement found: {names}. The intervals do not tell that it lowers {what} against no router; "
            "nor do the shares of its gain mean anything then."
        )
    behind = {name: found.behind(name) for name in found.rankings if name != "random"}
    near = [name for name, by in behind.items() if not (by.excludes_zero and by.mean > 0)]
    same = [name for name in near if found.routers(name) == found.routers(BEST)]
    if same:
        sentences.append(f"Chosen by {listed([picture.words(name) for name in same])}, too.")
    told = [name for name in near if name not in same]
    if told:
        sentences.append(
            f"Not significantly different from it: the choice by {listed([picture.words(name) for name in told])}."
        )
    if not near:
        sentences.append("Every centrality's choice is worse.")
    better = [name for name in (*found.rankings, GREEDY) if is_better(found, name)]
    if better:
        sentences.append(
            f"On the fresh replications {listed([picture.words(name) for name in better])} did better than what the "
            "search took for the best: --replicates and --runs make the search surer."
        )
    if not found.exhausted:
        sentences.append(
            f"The search ended with its {plan.runs} runs, before every exchange of one router was tried: more --runs "
            "may find a better placement."
        )
    if plan.objective == "fct" and unfinished(found) > 0.01:
        sentences.append(
            f"{unfinished(found):.0%} of the transfers did not end and count as if they had: a longer --duration or "
            "less --load is needed to trust the times."
        )
    return sentences


def _base(found: Found) -> str:
    texts = {link["queue"] for link in found.case.document["links"]}
    return texts.pop() if len(texts) == 1 else "pfifo, by each link's rate"


def _share(found: Estimate) -> str:
    if not math.isfinite(found.mean):
        return "–"
    text = f"{100 * found.mean:.0f}"
    if found.low is not None and found.high is not None and found.low != found.high:
        text += f" ({100 * found.low:.0f} to {100 * found.high:.0f})"
    return text.replace("-", "−")


def _routers(found: Found, placement: Placement) -> str:
    if len(placement) == len(found.case.topology.nodes):
        return "all"
    labels = [found.case.topology.nodes[k].label for k in sorted(placement)]
    more = len(labels) - _MOST_ROUTERS
    return ", ".join(labels[:_MOST_ROUTERS]) + (f" and {more} more" if more > 0 else "")
