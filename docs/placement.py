"""Writes the guide on placement, with a study over real topologies in it.

``docs/placement.py`` runs all of it: about a quarter of an hour of CPU time. The runs depend on the seed alone, so
the page changes only when the library or the package topohub does. ``docs/placement.py FOLDER`` keeps the runs in a
folder and does only those that it lacks.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from pages import console, run, save, shown, table, write

from sojourn import stats
from sojourn.base.processors import cores
from sojourn.studies import topology
from sojourn.studies.placement import ALL, Found, Plan, picture, search
from sojourn.studies.placement.search import BEST, EVERY, GREEDY, NONE, is_better
from sojourn.view import charts
from sojourn.view.palette import INK, MUTED
from sojourn.view.plot import WIDTH, Picture, new_figure

# Research and carrier networks on several continents, of 11 to 29 routers, whose places are known: the first six have
# demands of their own. Chosen for their variety, not for what came out.
TOPOLOGIES = (
    "sndlib/abilene",
    "sndlib/polska",
    "sndlib/nobel-us",
    "sndlib/nobel-germany",
    "sndlib/geant",
    "sndlib/janos-us",
    "topozoo/Sprint",
    "topozoo/Nsfnet",
    "topozoo/Aarnet",
    "topozoo/BtEurope",
    "topozoo/Rnp",
    "topozoo/Arpanet19728",
)
FLOWS_A_ROUTER = 8
RUNS, REPLICATIONS, FRESH, SEED = 240, 3, 10, 1


def study(name: str, folder: Path) -> Found:
    """Search one topology's placement."""
    net = topology.fill(topology.load(f"topohub:{name}"), capacity_bit_s=20_000_000)
    wanted, _ = topology.demands(net)
    case = topology.build(net, wanted, flows=FLOWS_A_ROUTER * len(net.nodes), seed=SEED)
    plan = Plan(budget(len(net.nodes)), runs=RUNS, replications=REPLICATIONS, fresh=FRESH, seed=SEED)
    return search(case, plan, jobs=cores(), log=folder / f"{name.replace('/', '-')}.jsonl")


def budget(routers: int) -> int:
    """A tenth of the routers, two at least."""
    return max(2, round(routers / 10))


def ways(found: list[Found]) -> list[str]:
    """Centralities and greedy, the one with the highest median share first."""
    names = [*ALL, GREEDY]
    return sorted(names, key=lambda name: (-median(found, name), names.index(name)))


def median(found: list[Found], name: str) -> float:
    """The median over topologies of the share of the best gain that a choice reaches."""
    return float(np.nanmedian([each.share(name).mean for each in found]))


def spread(found: list[Found], name: str, unit: str = "") -> str:
    """The interval of the median over topologies, in per cent; empty if all of the middle is one value."""
    of = stats.quantile_interval([each.share(name).mean for each in found], 0.5)
    low, high = (f"{100 * (value or 0):.0f}".replace("-", "−") for value in (of.low, of.high))
    return f"{low} to {high}{unit}" if low != high else ""


def near(each: Found, name: str) -> bool:
    """Whether the intervals do not tell a choice from the best found, or tell that it is better."""
    behind = each.behind(name)
    return not (behind.excludes_zero and behind.mean > 0)


def shares(found: list[Found]) -> str:
    """A row for each topology, a column for each way of choosing."""
    names = ways(found)
    heads = ["topology", "routers, links", "k", "no router (ms)", "gain of the best found (ms)"]
    heads += map(picture.words, names)
    rows = []
    for key, each in zip(TOPOLOGIES, found, strict=True):
        net, gain = each.case.topology, stats.paired(each.values(NONE), each.values(BEST))
        row = [
            key,
            f"{len(net.nodes)}, {len(net.links)}",
            str(each.plan.budget),
            shown(each.estimate(NONE), 1),
            shown(gain, 1),
            *(share(each, name) for name in names),
        ]
        rows.append(row)
    middle = [
        f"{100 * median(found, name):.0f}" + (f" ({within})" if (within := spread(found, name)) else "")
        for name in names
    ]
    nothing = [""] * 4
    close = [f"{sum(near(each, name) for each in found)} of {len(found)}" for name in names]
    rows += [
        ["**median share**", *nothing, *middle],
        ["**not significantly worse than the best found**", *nothing, *close],
    ]
    return table(heads, rows)


def share(each: Found, name: str) -> str:
    """A share in per cent with its interval; bold if the choice is not significantly worse than the best."""
    if name == GREEDY and GREEDY not in {choice.name for choice in each.choices}:
        return "–"
    value = each.share(name)
    if value.low is None or value.high is None:
        return "–"
    text = f"{100 * value.mean:.0f}"
    if each.routers(name) != each.routers(BEST):
        text += f" ({100 * value.low:.0f} to {100 * value.high:.0f})"
    text = text.replace("-", "−")
    return f"**{text}**" if near(each, name) else text


def strips(found: list[Found]) -> Picture:
    """Draw the shares: a row for each way of choosing, a dot for each topology with its interval."""
    names = ways(found)
    with new_figure(WIDTH, 0.9 + 0.42 * len(names)) as figure:
        axes = figure.add_subplot()
        for row, name in enumerate(names):
            for place, each in enumerate(found):
                value = each.share(name)
                at = row + 0.6 * (place / (len(found) - 1) - 0.5)
                color = "#009e73" if near(each, name) else "#0072b2"
                charts.interval(axes, value, at, color, scale=100, size=16)
            middle = 100 * median(found, name)
            axes.plot([middle, middle], [row - 0.36, row + 0.36], color=INK, linewidth=2)
        for at, text in ((0, "no router"), (100, "best found")):
            axes.axvline(at, color=MUTED, linewidth=1, linestyle=(0, (4, 2)))
            axes.text(at, 1.01, text, transform=axes.get_xaxis_transform(), ha="center", fontsize=8.5, color=MUTED)
        charts.names(axes, [picture.words(name) for name in names])
        axes.set_xlabel("share of the best placement's gain in mean latency (%)")
    return figure


def maps(found: list[Found]) -> Picture:
    """Draw every topology with its best placement."""
    with charts.panels(len(found), 4, 0.0, 2.1) as (figure, every):
        for axes, key, each in zip(every, TOPOLOGIES, found, strict=False):
            picture.draw(axes, each, size=0.6)
            axes.set_title(key.partition("/")[2], fontsize=8.5, loc="center")
    return figure


def findings(found: list[Found]) -> str:
    """What the table says, in words that follow from it."""
    names = [name for name in ways(found) if name in ALL and name != "random"]
    first, last = names[0], names[-1]
    told = sum(
        (gain := stats.paired(each.values(NONE), each.values(BEST))).excludes_zero and gain.mean > 0 for each in found
    )
    count = len(found)
    chance = median(found, "random")
    above = [picture.words(name) for name in names if median(found, name) > chance]
    below = [picture.words(name) for name in names if median(found, name) <= chance]
    beaten = sum(any(is_better(each, name) for name in (*ALL, GREEDY)) for each in found)
    ended = sum(each.exhausted for each in found)
    every = np.median([each.share(EVERY).mean for each in found])
    greedy = sum(each.routers(GREEDY) == each.routers(BEST) for each in found)
    lines = [
        f"On {told} of {count} topologies the best placement found lowers mean latency by more than its interval.",
        f"Of the centralities, {picture.words(first)} has the highest median share "
        f"({100 * median(found, first):.0f} %, {spread(found, first, ' %')}) "
        f"and is not significantly worse than the best found on {sum(near(each, first) for each in found)} of "
        f"{count}; {picture.words(last)} has the lowest "
        f"({100 * median(found, last):.0f} %, {spread(found, last, ' %')}).",
        f"One random draw of routers per topology reaches a median of {100 * chance:.0f} % "
        f"({spread(found, 'random', ' %')}). "
        f"Higher: {', '.join(above) or 'none'}. "
        f"Not higher: {', '.join(below) or 'none'}.",
        f"With the scheme in every router the gain is {every:.1f} times that of the best k routers (median).",
        f"The greedy search ends at the best placement found on {greedy} of {count}.",
        f"The local search tried every exchange of one router among its candidates on {ended} of {count}, and ran "
        "out of runs on the others.",
        f"On {beaten} of {count} a simpler choice is significantly better on the fresh seeds than the placement "
        "that the search found best.",
    ]
    return "\n".join(f"* {line}" for line in lines) + "\n"


def values(folder: Path) -> dict[str, Any]:
    """What the guide shows, with its pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    found = [study(name, folder) for name in TOPOLOGIES]
    command = "sojourn place --topology topohub:sndlib/abilene --budget 2 --out abilene"
    meanings = "\n".join(f"| {picture.words(each.name)} | `{each.name}` | {each.meaning} |" for each in ALL.values())
    with tempfile.TemporaryDirectory() as scratch:
        printed = console(command, run(command, scratch).stdout)
        # The command's own runs are in its log: nothing is simulated again for the picture.
        net = topology.fill(topology.load("topohub:sndlib/abilene"), capacity_bit_s=20_000_000)
        case = topology.build(net, topology.demands(net)[0])
        example = search(case, Plan(2), log=Path(scratch) / "abilene" / "runs.jsonl")
    save(strips(found), "place-shares.png")
    save(maps(found), "place-maps.png")
    save(picture.network(example), "place-abilene.png")
    return {
        "printed": printed,
        "meanings": meanings,
        "table": shares(found),
        "findings": findings(found),
        "count": len(found),
        "runs": RUNS,
        "replications": REPLICATIONS,
        "fresh": FRESH,
        "flows": FLOWS_A_ROUTER,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write("guides/place.md", values(Path(sys.argv[1] if len(sys.argv) > 1 else folder)))
