"""Section 7.2 as a part of a paper: run it, state the results, and show them in the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from sojourn import report, stats
from sojourn.papers.execute import Runner
from sojourn.papers.model import Paper
from sojourn.papers.shipped.daqm import evaluate, interarrival, model, picture
from sojourn.papers.shipped.daqm.episodes import Episode
from sojourn.papers.shipped.daqm.evaluate import Comparison, values
from sojourn.papers.shipped.daqm.model import Future, Weights
from sojourn.papers.shipped.results import Keeper
from sojourn.papers.shipped.section import Words
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
    """

    paper: Paper
    future: Future
    size: str
    rows: Sequence[interarrival.Row]
    compared: Comparison

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

    @cached_property
    def _summaries(self) -> list[interarrival.Summary]:
        return interarrival.summaries(self.rows)

    def _interarrival_verdict(self) -> str:
        found = self._summaries
        better, worse, neither = (sum(getattr(one, of) for one in found) for of in ("better", "worse", "neither"))
        said = "; ".join(
            f"{self.paper.printed[one.scheme]} {interarrival.METRICS[one.metric][0]} {percent(one.change)}"
            for one in found
            if one.change.excludes_zero
        )
        moved = f"Significant mean changes over the conditions: {said}."
        moved = moved if said else "No mean change over the conditions differs significantly from zero."
        filled: dict[str, Any] = {"better": better, "worse": worse, "undecided": neither, "moved": moved}
        return self.words.section("interarrival", cells=better + worse + neither, **filled).text[0]

    def _adaptive_verdicts(self) -> tuple[str, ...]:
        compared, weights = self.compared, self.compared.adaptive.weights[0]
        best, holds = compared.best(weights), compared.adaptive.holds

        def than_best(episodes: list[Episode]) -> str:
            return of_difference(compared.difference(episodes, weights))

        told = [f"every {self._s(hold)}, {than_best(compared.learnt[weights.name, hold])}" for hold in holds]
        cases, ahead, behind = compared.count()
        filled: dict[str, Any] = {"cases": cases, "ahead": ahead, "behind": behind}
        filled |= {"best": compared.names[best], "told": "; ".join(told), "gain": number(compared.gain(weights))}
        filled |= {
            "clock": than_best(compared.clock[weights.name][1]),
            "anew": than_best(compared.anew[holds[0]][best]),
        }
        return self.words.section("switching", hold=holds[0] * compared.adaptive.interval_s, **filled).text

    def _s(self, hold: int) -> str:
        return f"{hold * self.compared.adaptive.interval_s:g} s"

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
        settings, printed, metrics = self.future.interarrival, self.paper.printed, interarrival.METRICS
        found = {(one.scheme, one.metric): one for one in self._summaries}
        note = self.words.drawing(
            "interarrival-note",
            None,
            conditions=len({row.condition for row in self.rows}),
            readings=", ".join(dict.fromkeys(row.reading for row in self.rows)),
            replications=settings.replications[self.size],
            of_mode=sum(row.is_mode for row in self.rows),
            compared=len(self.rows),
            least=settings.least,
        )
        every = []
        for row in self.rows:
            constant = row.constant if row.is_mode else f"{row.constant} (mode 0)"
            name = f"{row.condition}, {printed[row.scheme]}; {row.reading}"
            every.append((name, constant, *(percent(row.change(metric)) for metric in metrics)))
        return {
            "verdict": self._interarrival_verdict(),
            "heads": [name for name, _ in metrics.values()],
            "rows": [
                (printed[scheme], *(found[scheme, metric] for metric in metrics)) for scheme in settings.schemes
            ],
            "percent": percent,
            "note": note.caption,
            "all": every,
        }

    def _adaptive(self) -> dict[str, Any]:
        compared, settings, words = self.compared, self.compared.adaptive, self.words
        weights = settings.weights[0]
        best = compared.names[compared.best(weights)]
        rows, count = self._rows(weights), settings.episodes[self.size]
        drawn = {
            "timeline": picture.timeline(compared, weights),
            "rewards": picture.differences([(name, compared.difference(of, weights)) for name, of in rows], best),
            "cost": picture.cost(compared, weights),
        }
        kinds = ", then ".join(kind["name"] for kind in settings.traffic)
        learnt = compared.bandits[weights.name, settings.holds[-1]].mean()
        holds = [self._s(hold) for hold in settings.holds]
        return {
            "verdicts": self._adaptive_verdicts(),
            "how": words.section("how", **{**asdict(settings), **count}, kinds=kinds).text[0],
            "figures": [
                words.drawing(name, one, best=best, episodes=count["evaluate"]) for name, one in drawn.items()
            ],
            "best": best,
            "rows": [(name, *self._cells(of, weights)) for name, of in rows],
            "note": words.drawing("switching-note", None).caption,
            "weight_heads": [
                *(f"Controller, every {hold}" for hold in holds),
                "Told the kind of traffic",
                "Best of each episode",
            ],
            "weights": [self._weighed(one) for one in settings.weights],
            "weights_note": words.drawing("weights-note", None).caption,
            "learnt_by": f"Equal weights, every {holds[-1]}",
            "learnt_heads": ["1", *(f"log(1+{name})" for name in FEATURES)],
            "learnt": [
                (name, *(f"{value:+.3f}" for value in of)) for name, of in zip(compared.names, learnt, strict=True)
            ],
        }

    def _rows(self, weights: Weights) -> list[tuple[str, list[Episode]]]:
        compared, holds = self.compared, self.compared.adaptive.holds
        best, (told, clock) = compared.best(weights), compared.clock[weights.name]
        kinds = ", ".join(compared.names[arm] for arm in told)
        return [
            *((f"always {name}", of) for name, of in zip(compared.names, compared.fixed, strict=True)),
            *((f"controller, every {self._s(hold)}", compared.learnt[weights.name, hold]) for hold in holds),
            (f"told the kind of traffic: {kinds}", clock),
            *((f"at random, every {self._s(hold)}", compared.chance[hold]) for hold in holds),
            *((f"{compared.names[best]} anew, every {self._s(hold)}", compared.anew[hold][best]) for hold in holds),
        ]

    def _cells(self, episodes: list[Episode], weights: Weights) -> list[str]:
        def mean(measure: str, scale: float = 1.0) -> str:
            return number(stats.estimate(values(episodes, weights, measure) * scale))

        is_best = episodes is self.compared.fixed[self.compared.best(weights)]
        less = "–" if is_best else number(self.compared.difference(episodes, weights))
        shares = (mean("sojourn_ms"), mean("loss_ratio", 100.0), mean("goodput", 100.0))
        return [mean("reward"), less, *shares, f"{values(episodes, weights, 'switches').mean():.1f}"]

    def _weighed(self, weights: Weights) -> tuple[str, ...]:
        compared = self.compared
        name = f"{weights.name}: {weights.goodput:g} goodput, {weights.delay:g} delay, {weights.loss:g} loss"
        own = [compared.learnt[weights.name, hold] for hold in compared.adaptive.holds]
        differences = [compared.difference(of, weights) for of in (*own, compared.clock[weights.name][1])]
        best = compared.names[compared.best(weights)]
        return (name, best, *map(number, (*differences, compared.gain(weights))))


def name_of(paper: Paper) -> str:
    """Return what ``--only`` calls this part of the paper."""
    return f"Section {model.load(paper).section}"


def run(runner: Runner, size: str) -> Part:
    """Do the runs of the paper's future work that are not finished yet; episodes are kept beside the store of runs.

    Raises
    ------
    SojournError
        Bad settings, and runs that fail.
    """
    future = model.load(runner.paper)
    rows = interarrival.run(runner, future.interarrival, size)
    keeper = Keeper(runner.store.with_name("future"))
    compared = evaluate.run(runner.paper, future.adaptive, keeper, size, runner.say)
    runner.ran, runner.found = runner.ran + keeper.made, runner.found + keeper.found
    return Part(runner.paper, future, size, rows, compared)


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
