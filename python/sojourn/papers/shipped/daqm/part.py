"""Section 7.2 as a part of a paper: run it, state the results, and show them in the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from sojourn import report, stats
from sojourn.papers.model import Paper
from sojourn.papers.shipped.daqm import evaluate, interarrival, model, picture
from sojourn.papers.shipped.daqm.episodes import Episode, Say
from sojourn.papers.shipped.daqm.evaluate import Comparison, values
from sojourn.papers.shipped.daqm.model import Adaptive, Future, Weights
from sojourn.papers.shipped.daqm.results_cache import Keeper
from sojourn.report import svg
from sojourn.stats import Estimate
from sojourn.stepping import FEATURES


@dataclass(frozen=True)
class Part:
    """The results of section 7.2.

    Parameters
    ----------
    paper, future
        The study, and the settings.
    size
        ``quick`` or ``full``.
    rows
        Measured inter-arrival times compared with the constant.
    compared
        The controllers that choose among schemes.
    ran, found
        Runs and episodes made now, and found in the store.
    """

    paper: Paper
    future: Future
    size: str
    rows: Sequence[interarrival.Row]
    compared: Comparison
    ran: int
    found: int

    @property
    def said(self) -> list[str]:
        """The results for a terminal, a line each."""
        return [f"Section {self.future.section}. {verdict}" for verdict in self.verdicts]

    @property
    def verdicts(self) -> list[str]:
        """The results, a sentence each."""
        return [self._interarrival_verdict(), *self._adaptive_verdicts()]

    def _interarrival_verdict(self) -> str:
        found = interarrival.summaries(self.rows)
        better, worse = sum(one.better for one in found), sum(one.worse for one in found)
        cells = sum(one.better + one.worse + one.neither for one in found)
        moved = [one for one in found if one.change.excludes_zero]
        said = "; ".join(
            f"{self.paper.printed[one.scheme]} {interarrival.METRICS[one.metric][0]} {percent(one.change)}"
            for one in moved
        )
        return (
            "Measured inter-arrival times instead of the constant: of "
            f"{cells} comparisons (scheme, condition, metric), {better} are better, {worse} are worse and "
            f"{cells - better - worse} are undecided. "
            + (
                f"Significant mean changes over the conditions: {said}."
                if moved
                else "No mean change over the conditions differs significantly from zero."
            )
        )

    def _adaptive_verdicts(self) -> list[str]:
        compared, weights = self.compared, self.compared.adaptive.weights[0]
        best = compared.best(weights)
        name = compared.names[best]
        told = [
            f"every {hold * compared.adaptive.interval_s:g} s, "
            f"{of_difference(compared.difference(compared.learnt[weights.name, hold], weights, best))}"
            for hold in compared.adaptive.holds
        ]
        cases, ahead, behind = compared.count()
        gain = stats.estimate(compared.hindsight(weights) - values(compared.fixed[best], weights, "reward"))
        clock = compared.difference(compared.clock[weights.name][1], weights, best)
        anew = compared.difference(compared.anew[compared.adaptive.holds[0]][best], weights, best)
        return [
            f"Switching: {name} is the fixed scheme with the highest mean reward in the evaluation. The controller's "
            f"reward compared with it, for decisions {'; '.join(told)}. Over all weights and times between "
            f"decisions, the controller is better in {ahead} of {cases} cases and worse in {behind} (5 % level, "
            "after Holm's correction).",
            "A controller that is told the kind of traffic, and takes the scheme that was best for this kind in "
            f"training: {of_difference(clock)}. Choosing the best fixed scheme for each single episode afterwards "
            f"would gain {number(gain)}.",
            f"A switch loses what a scheme has learnt. Effect on {name} if it is switched to itself every "
            f"{compared.adaptive.holds[0] * compared.adaptive.interval_s:g} s: {of_difference(anew)}.",
        ]

    def section(self) -> Markup:
        """Return the section as HTML for the paper's report; its heading has the id ``future``."""
        text = report.page(
            "future.html.j2",
            title=f"Section {self.future.section}: the study's future work, carried out",
            lead="The study names two topics for future work: measured instead of constant inter-arrival times, and "
            "switching between schemes or configurations when the traffic changes. Both are tried here. The "
            "controller that switches is a linear model, and its coefficients are listed below.",
            interarrival=self._interarrival(),
            adaptive=self._adaptive(),
        )
        return Markup(text)  # noqa: S704 - our own template, which escapes

    def _interarrival(self) -> dict[str, Any]:
        settings = self.future.interarrival
        found = {(one.scheme, one.metric): one for one in interarrival.summaries(self.rows)}
        of_mode = sum(row.is_mode for row in self.rows)
        readings = ", ".join(dict.fromkeys(row.reading for row in self.rows))
        return {
            "verdict": self._interarrival_verdict(),
            "heads": [name for name, _ in interarrival.METRICS.values()],
            "rows": [
                {
                    "scheme": self.paper.printed[scheme],
                    "cells": [
                        {
                            "text": percent(found[scheme, metric].change),
                            "counts": f"{found[scheme, metric].better} better, {found[scheme, metric].worse} worse",
                        }
                        for metric in interarrival.METRICS
                    ],
                }
                for scheme in settings.schemes
            ],
            "note": f"Relative change, mean over {len({row.condition for row in self.rows})} conditions of traffic "
            f"({readings}), with its 95 % interval over {settings.replications[self.size]} replications. A positive "
            "value means more with a measured time. Below it is the number of conditions that are significantly "
            "better or worse, at the 5 % level after Holm's correction over the whole table. The constant is the "
            f"most frequent inter-arrival time of FIFO runs in {of_mode} of {len(self.rows)} comparisons. In the "
            f"others this time is 0 ms, by which the scheme cannot divide, so {settings.least} is used.",
            "all": [
                {
                    "name": f"{row.condition}, {self.paper.printed[row.scheme]}; {row.reading}",
                    "constant": row.constant if row.is_mode else f"{row.constant} (mode 0)",
                    "cells": [percent(row.change(metric)) for metric in interarrival.METRICS],
                }
                for row in self.rows
            ],
        }

    def _adaptive(self) -> dict[str, Any]:
        compared, settings = self.compared, self.compared.adaptive
        weights, best = settings.weights[0], self.compared.best(settings.weights[0])
        rows = self._rows(weights)
        count = settings.episodes[self.size]
        figures = [
            (
                "timeline",
                picture.timeline(compared, weights),
                "The first episode of the evaluation. Top: the active scheme in each window, for controllers with "
                "different times between decisions, and for one that is told the kind of traffic. Below: the queue "
                f"with each of them and, in grey, with {compared.names[best]} all the time.",
            ),
            (
                "rewards",
                picture.differences(
                    [(name, compared.difference(of, weights, best)) for name, of in rows], compared.names[best]
                ),
                f"Rewards with equal weights, means over {count['evaluate']} episodes.",
            ),
            (
                "cost",
                picture.cost(compared, weights),
                "Effect of switching a scheme to itself, which keeps its packets and resets its internal state. "
                f"95 % intervals over {count['evaluate']} episodes.",
            ),
        ]
        held = settings.holds[-1]
        learnt_by = compared.bandits[weights.name, held].mean()
        holds = [f"{hold * settings.interval_s:g} s" for hold in settings.holds]
        return {
            "verdicts": self._adaptive_verdicts(),
            "how": how(settings, count),
            "figures": [
                {"id": name, "svg": svg.inline(drawn, name, caption), "caption": caption}
                for name, drawn, caption in figures
            ],
            "best": compared.names[best],
            "rows": [{"name": name, "cells": self._cells(of, weights, best)} for name, of in rows],
            "note": "Means over episodes ± half-width of the 95 % interval; differences are paired by episode. "
            "Sojourn: mean over all packets that left the queue. Goodput: payload divided by the bottleneck's rate.",
            "weight_heads": [
                *(f"Controller, every {hold}" for hold in holds),
                "Told the kind of traffic",
                "Best of each episode",
            ],
            "weights": [
                {
                    "name": f"{one.name}: {one.goodput:g} goodput, {one.delay:g} delay, {one.loss:g} loss",
                    "best": compared.names[compared.best(one)],
                    "cells": self._weighed(one),
                }
                for one in settings.weights
            ],
            "weights_note": "Differences of the reward to the best fixed scheme for these weights, with 95 % "
            "intervals. A controller was trained for each set of weights. Last column: the gain if the best fixed "
            "scheme of each episode were known beforehand.",
            "learnt_by": f"Equal weights, every {holds[-1]}",
            "learnt_heads": ["1", *(f"log(1+{name})" for name in FEATURES)],
            "learnt": [
                {"name": name, "cells": [f"{value:+.3f}" for value in of]}
                for name, of in zip(compared.names, learnt_by, strict=True)
            ],
        }

    def _rows(self, weights: Weights) -> list[tuple[str, list[Episode]]]:
        compared, settings = self.compared, self.compared.adaptive
        best = compared.best(weights)

        def each(name: str, of: Any) -> list[tuple[str, list[Episode]]]:
            return [(f"{name}, every {hold * settings.interval_s:g} s", of(hold)) for hold in settings.holds]

        told, clock = compared.clock[weights.name]
        kinds = ", ".join(compared.names[arm] for arm in told)
        return [
            *((f"always {name}", of) for name, of in zip(compared.names, compared.fixed, strict=True)),
            *each("controller", lambda hold: compared.learnt[weights.name, hold]),
            (f"told the kind of traffic: {kinds}", clock),
            *each("at random", lambda hold: compared.chance[hold]),
            *each(f"{compared.names[best]} anew", lambda hold: compared.anew[hold][best]),
        ]

    def _cells(self, episodes: Sequence[Episode], weights: Weights, best: int) -> list[str]:
        def mean(measure: str, scale: float = 1.0) -> str:
            return number(stats.estimate(values(episodes, weights, measure) * scale))

        difference = self.compared.difference(episodes, weights, best)
        less = "–" if episodes is self.compared.fixed[best] else number(difference)
        shares = (mean("sojourn_ms"), mean("loss_ratio", 100.0), mean("goodput", 100.0))
        return [mean("reward"), less, *shares, f"{values(episodes, weights, 'switches').mean():.1f}"]

    def _weighed(self, weights: Weights) -> list[str]:
        compared, best = self.compared, self.compared.best(weights)
        own = [compared.learnt[weights.name, hold] for hold in compared.adaptive.holds]
        gain = compared.hindsight(weights) - values(compared.fixed[best], weights, "reward")
        differences = [compared.difference(of, weights, best) for of in (*own, compared.clock[weights.name][1])]
        return [number(one) for one in (*differences, stats.estimate(gain))]


def name_of(paper: Paper) -> str:
    """Return what ``--only`` calls this part of the paper."""
    return f"Section {model.load(paper).section}"


def run(paper: Paper, place: Path, size: str, *, jobs: int | None = None, say: Say = lambda _: None) -> Part:
    """Do the runs of the paper's future work that are not finished yet.

    Parameters
    ----------
    paper
        The study.
    place
        Folder of its results: ``store`` for runs, ``future`` for episodes and what was learnt.
    size
        ``quick`` or ``full``.
    jobs
        Number of threads of runs.
    say
        Called with lines that describe the progress.

    Raises
    ------
    SojournError
        Bad settings, and runs that fail.
    """
    future = model.load(paper)
    rows, ran, found = interarrival.run(paper, future.interarrival, place / "store", size, jobs=jobs, say=say)
    keeper = Keeper(place / "future")
    compared = evaluate.run(paper, future.adaptive, keeper, size, say)
    return Part(paper, future, size, rows, compared, ran + keeper.made, found + keeper.found)


def how(settings: Adaptive, count: Any) -> str:
    """Return how it was tried, in words."""
    kinds = ", then ".join(kind["name"] for kind in settings.traffic)
    return (
        f"{settings.clients} clients send through a bottleneck of {settings.rate_mbit_s:g} Mbit/s with a base RTT of "
        f"{settings.base_rtt}. Their traffic is {kinds}, for {settings.phase} each; this cycle is repeated "
        f"{settings.cycles} times in an episode. A controller sees only dAQM's eight features over the last "
        f"{settings.interval}. A linear regression on the features' logarithms predicts the reward of each scheme, "
        "and the controller takes the scheme with the largest prediction. It learnt by Thompson sampling on "
        f"{count['train']} training episodes. It no longer learns on the {count['evaluate']} episodes of the "
        "evaluation, which have other seeds. The reward of a window is the goodput divided by the rate, minus the "
        f"mean sojourn time divided by {settings.delay_unit_ms:g} ms (at most 1), minus the loss ratio; each of the "
        "three has a weight. As with any bandit, effects of a choice on later windows are not credited to it."
    )


def number(of: Estimate) -> str:
    """Return an estimate with its half-width."""
    return f"{of.mean:.3g}" if of.half_width is None else f"{of.mean:.3f} ± {of.half_width:.3f}"


def percent(of: Estimate) -> str:
    """Return a relative change with its interval."""
    if math.isnan(of.mean):
        return "–"
    half = "" if of.half_width is None else f" ± {100 * of.half_width:.1f}"
    return f"{100 * of.mean:+.1f}{half} %"


def of_difference(of: Estimate) -> str:
    """Return a difference with its interval and what it says."""
    if of.low is None or of.high is None:
        return f"{of.mean:+.3f}"
    said = "better by" if of.low > 0 else "worse by" if of.high < 0 else "no significant difference,"
    return f"{said} {abs(of.mean) if of.excludes_zero else of.mean:.3f} [{of.low:+.3f}, {of.high:+.3f}]"
