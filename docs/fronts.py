"""Tuned schemes beside the front of tail drop, as fronts.toml fixes it: the first part of the page on small buffers.

``docs/fronts.py`` prints the tables and draws the picture of the page on tuned dAQM. Finished runs are kept in
``out/tuned``, together with those of docs/tuned.py; the same command continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from pages import BLUE, RED, chart, lines, protocol
from scipy.stats import wilcoxon
from tuned import JOBS, MEASURES, OUT, Judge, best, chosen, networks, plan_of, shown
from tuned import PROTOCOL as TUNED

from sojourn.base import core
from sojourn.stats import Floats, Quantity
from sojourn.stats.front import LIMITS, Criterion, Standing, fifo, standings
from sojourn.studies import tune
from sojourn.view.canvas import logarithmic
from sojourn.view.palette import INK

PROTOCOL = protocol("fronts")
BOTH = (Criterion("p99 delay", lower=True), Criterion("goodput", lower=False))
STYLES = {
    "daqm": (RED, "o"),
    "derivatives": (RED, "x"),
    "pie": (BLUE, "s"),
    "codel": (BLUE, "^"),
    "cobalt": (BLUE, "v"),
}


def searched(scheme: str, features: Iterable[str], name: str) -> dict[str, Any]:
    """A search of the protocol, as an entry of tuned.toml."""
    vary = ["drop_rate=0.01..1:log", "drop_duration=1ms..500ms:log"]
    return {
        "id": name,
        "name": name,
        "text": scheme,
        "features": [*features],
        "vary": vary,
        "trials": PROTOCOL["trials"],
    }


def alone(feature: str) -> dict[str, Any]:
    """The search of dAQM with one feature."""
    # The search replaces the threshold; without one, dAQM is refused.
    features = {"s0": "s0 200ms", "q0": "s0 none q0 5p"}.get(feature, f"s0 none {feature} 1")
    return searched(f"daqm interarrival measured {features} limit 1000p", [feature], f"only-{feature}")


def values(judge: Judge, text: str) -> list[Floats]:
    """Delay and goodput relative to CoDel with defaults, a value a network."""
    return [np.exp(judge.scores(text, measure)) for measure in MEASURES]


def rank_p(ours: Floats, theirs: Floats, _: Quantity) -> float:
    """The p value of Wilcoxon's signed-rank test over the logarithms."""
    off = np.log(ours) - np.log(theirs)
    return float(wilcoxon(off).pvalue) if np.any(off) else 1.0


def told(one: Standing) -> list[str]:
    """Where a scheme lies, the two p values and the limit."""
    return [one.place, f"{one.p_off:.1g}", f"{one.p_behind:.1g}", f"{one.limit}"]


def candidates(scheme: Mapping[str, Any]) -> list[str]:
    """The candidates of a search."""
    found = tune.run(plan_of(scheme), OUT / scheme["id"], jobs=JOBS, progress=False)
    return [trial.text for trial in found.candidates]


def main() -> None:
    """Runs the study."""
    learnt, held = networks()
    learning, judge = Judge.over(learnt), Judge.over(held)
    texts = {one["name"]: chosen(one, learning) for one in TUNED["scheme"]}
    nested = {text for feature in PROTOCOL["nested"] for text in candidates(alone(feature))}
    texts["dAQM, one feature"] = best(nested, learning)
    texts |= {f"{one['name']}, defaults": core.parse_aqm(one["text"]) for one in TUNED["scheme"][:4]}
    print(f"`{texts['dAQM, one feature']}`")
    front = {limit: values(judge, core.parse_aqm(fifo(limit))) for limit in LIMITS}
    print(lines([f"`{fifo(limit)}`", *(shown(np.log(own)) for own in each)] for limit, each in front.items()))
    own = {name: values(judge, text) for name, text in texts.items()}
    places = standings(own, front, BOTH, rank_p)
    print(lines([name, *(shown(np.log(each)) for each in own[name]), *told(one)] for name, one in places.items()))
    rule = {
        number: values(judge, text) for number, text in enumerate(candidates(searched(PROTOCOL["rule"], [], "rule")))
    }
    derived = next(one for one in TUNED["scheme"] if one["id"] == "derivatives")
    beside = standings({text: values(judge, text) for text in candidates(derived)}, rule, BOTH, rank_p)
    print(lines([f"`{text}`", *told(one)] for text, one in beside.items()))
    picture(judge, front)


def picture(judge: Judge, front: Mapping[int, list[Floats]]) -> None:
    """Draw the fronts of all schemes beside that of tail drop."""

    def spot(each: list[Floats]) -> tuple[float, ...]:
        return tuple(100 * float(np.expm1(np.log(one).mean())) for one in reversed(each))

    with chart(
        "tuned-fronts.png", 4.4, "goodput, change against CoDel with defaults (%)", "p99 queueing delay (%)"
    ) as axes:
        line = np.array([spot(each) for each in front.values()])
        axes.plot(
            line[:, 0], 100 + line[:, 1], color=INK, marker=".", linewidth=1, label="tail drop, 3 to 1600 packets"
        )
        for one in TUNED["scheme"]:
            if one["id"] not in STYLES:
                continue
            color, marker = STYLES[one["id"]]
            own = np.array(sorted(spot(values(judge, text)) for text in candidates(one)))
            axes.plot(
                own[:, 0], 100 + own[:, 1], color=color, marker=marker, linewidth=0.8, markersize=4, label=one["name"]
            )
        logarithmic(axes, "y")
        axes.set_xlim(left=-25)


if __name__ == "__main__":
    main()
