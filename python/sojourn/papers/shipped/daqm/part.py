"""Section 7.2 as a part of a paper: run it, state the results, and show them in the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from sojourn import report, stats
from sojourn.papers.model import Paper
from sojourn.papers.section import Words
from sojourn.papers.shipped.daqm import evaluate, interarrival, model, picture
from sojourn.papers.shipped.daqm.episodes import Episode, Say
from sojourn.papers.shipped.daqm.evaluate import Comparison, values
from sojourn.papers.shipped.daqm.model import Future, Weights
from sojourn.papers.shipped.daqm.results_cache import Keeper
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
    def words(self) -> Words:
        """The words of the report."""
        return Words(self.paper.folder)

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
        said = "; ".join(
            f"{self.paper.printed[one.scheme]} {interarrival.METRICS[one.metric][0]} {percent(one.change)}"
            for one in found
            if one.change.excludes_zero
        )
        moved = f"Significant mean changes over the conditions: {said}."
        moved = moved if said else "No mean change over the conditions differs significantly from zero."
        filled: dict[str, Any] = {
            "cells": cells,
            "better": better,
            "worse": worse,
            "undecided": cells - better - worse,
        }
        return self.words.section("interarrival", **filled, moved=moved).text[0]

    def _adaptive_verdicts(self) -> list[str]:
        compared, weights = self.compared, self.compared.adaptive.weights[0]
        best, holds = compared.best(weights), compared.adaptive.holds
        told = [
            f"every {hold * compared.adaptive.interval_s:g} s, "
            f"{of_difference(compared.difference(compared.learnt[weights.name, hold], weights, best))}"
            for hold in holds
        ]
        cases, ahead, behind = compared.count()
        gain = stats.estimate(compared.hindsight(weights) - values(compared.fixed[best], weights, "reward"))
        return list(
            self.words.section(
                "switching",
                best=compared.names[best],
                told="; ".join(told),
                cases=cases,
                ahead=ahead,
                behind=behind,
                clock=of_difference(compared.difference(compared.clock[weights.name][1], weights, best)),
                gain=number(gain),
                hold=holds[0] * compared.adaptive.interval_s,
                anew=of_difference(compared.difference(compared.anew[holds[0]][best], weights, best)),
            ).text
        )

    def section(self) -> Markup:
        """Return the section as HTML for the paper's report; its heading has the id ``future``."""
        words = self.words.section("future", section=self.future.section)
        text = report.page(
            "future.html.j2",
            title=words.title,
            lead=words.text[0],
            interarrival=self._interarrival(),
            adaptive=self._adaptive(),
        )
        return Markup(text)  # noqa: S704 - our own template, which escapes

    def _interarrival(self) -> dict[str, Any]:
        settings = self.future.interarrival
        found = {(one.scheme, one.metric): one for one in interarrival.summaries(self.rows)}
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
            "note": self.words.drawing(
                "interarrival-note",
                None,
                conditions=len({row.condition for row in self.rows}),
                readings=readings,
                replications=settings.replications[self.size],
                of_mode=sum(row.is_mode for row in self.rows),
                compared=len(self.rows),
                least=settings.least,
            ).caption,
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
        differences = [(name, compared.difference(of, weights, best)) for name, of in rows]
        drawn = {
            "timeline": picture.timeline(compared, weights),
            "rewards": picture.differences(differences, compared.names[best]),
            "cost": picture.cost(compared, weights),
        }
        filled: dict[str, Any] = {"best": compared.names[best], "episodes": count["evaluate"]}
        kinds = ", then ".join(kind["name"] for kind in settings.traffic)
        held = settings.holds[-1]
        learnt_by = compared.bandits[weights.name, held].mean()
        holds = [f"{hold * settings.interval_s:g} s" for hold in settings.holds]
        return {
            "verdicts": self._adaptive_verdicts(),
            "how": self.words.section("how", **{**asdict(settings), **count}, kinds=kinds).text[0],
            "figures": [
                {"id": name, "svg": shown.svg, "caption": shown.caption}
                for name, one in drawn.items()
                for shown in [self.words.drawing(name, one, **filled)]
            ],
            "best": compared.names[best],
            "rows": [{"name": name, "cells": self._cells(of, weights, best)} for name, of in rows],
            "note": self.words.drawing("switching-note", None).caption,
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
            "weights_note": self.words.drawing("weights-note", None).caption,
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
