"""Section 7.2 as a part of a paper: run it, state the results, and show them in the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from sojourn import stats
from sojourn.plan.stepping import FEATURES
from sojourn.results import metrics
from sojourn.stats import Estimate
from sojourn.studies.papers.execute import Runner
from sojourn.studies.papers.model import Paper
from sojourn.studies.papers.results import Keeper
from sojourn.studies.papers.section import Section, Words
from sojourn.view.report.sections import Element, joined, tag

from . import evaluate, interarrival, model, picture
from .episodes import Episode
from .evaluate import Comparison, values
from .model import Future, Weights


@dataclass(frozen=True)
class Part:
    """The results of section 7.2."""

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
    def verdicts(self) -> tuple[str, ...]:
        """The results, a sentence each."""
        _, on_times, on_switching, _ = self.sections
        return tuple(str(one) for one in (*on_times.text, *on_switching.text))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections for the paper's report."""
        head = self.words.section("future", section=self.future.section)
        return head, self._interarrival(), self._switching(), self._how()

    def _interarrival(self) -> Section:
        settings, printed, words = self.future.interarrival, self.paper.printed, self.words
        found = interarrival.summaries(self.rows)
        counts = {of: sum(getattr(one, of) for one in found) for of in ("better", "worse", "neither")}
        said = "; ".join(
            f"{printed[one.scheme]} {interarrival.METRICS[one.metric][0]} {percent(one.change)}"
            for one in found
            if one.change.excludes_zero
        )
        moved = f"Significant mean changes over the conditions: {said}."
        moved = moved if said else "No mean change over the conditions differs significantly from zero."
        heads = [name.capitalize() for name, _ in interarrival.METRICS.values()]
        rows = [
            (printed[scheme], *(_change(one) for one in found if one.scheme == scheme)) for scheme in settings.schemes
        ]
        table = words.drawing(
            "interarrival",
            None,
            heads,
            rows,
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
            every.append((name, constant, *(percent(row.change(metric)) for metric in interarrival.METRICS)))
        each = words.drawing("interarrival-conditions", None, heads, every, is_folded=True)
        return words.section("interarrival", [table, each], cells=sum(counts.values()), **counts, moved=moved)

    def _switching(self) -> Section:
        compared, words = self.compared, self.words
        settings, weights = compared.adaptive, compared.adaptive.weights[0]
        number_of_best, holds = compared.best(weights), settings.holds
        best, rows = compared.names[number_of_best], self._rows(weights)
        filled: dict[str, Any] = {"best": best, "episodes": settings.episodes[self.size]["evaluate"]}
        differences = [(name, compared.difference(of, weights)) for name, of in rows]
        drawings = [
            words.drawing("timeline-figure", picture.timeline(compared, weights), **filled),
            words.drawing("rewards-figure", picture.differences(differences, best), **filled),
            words.drawing("cost-figure", picture.cost(compared, weights), **filled),
        ]
        cells = [(name, *self._cells(of, weights)) for name, of in rows]
        drawings.append(words.drawing("adaptive", None, rows=cells, best=best))
        every = [self._s(hold) for hold in holds]
        heads = [f"Controller, every {hold}" for hold in every]
        drawings.append(words.drawing("weights", None, heads, map(self._weighed, settings.weights)))
        heads = [f"Equal weights, every {every[-1]}", "1", *(f"log(1+{name})" for name in FEATURES)]
        learnt = compared.bandits[weights.name, holds[-1]].mean()
        lines = [(name, *(f"{one:+.3f}" for one in of)) for name, of in zip(compared.names, learnt, strict=True)]
        drawings.append(words.drawing("learnt", None, heads, lines, is_folded=True))

        def than_best(episodes: list[Episode]) -> str:
            return of_difference(compared.difference(episodes, weights))

        told = [f"every {self._s(hold)}, {than_best(compared.learnt[weights.name, hold])}" for hold in holds]
        cases, ahead, behind = compared.count()
        filled |= {"cases": cases, "ahead": ahead, "behind": behind, "told": "; ".join(told)}
        filled |= {"clock": than_best(compared.clock[weights.name][1]), "gain": number(compared.gain(weights))}
        filled |= {"anew": than_best(compared.anew[holds[0]][number_of_best])}
        return words.section("switching", drawings, hold=holds[0] * settings.interval_s, **filled)

    def _how(self) -> Section:
        settings = self.compared.adaptive
        kinds = ", then ".join(kind["name"] for kind in settings.traffic)
        return self.words.section("how", **{**asdict(settings), **settings.episodes[self.size]}, kinds=kinds)

    def _s(self, hold: int) -> str:
        return f"{hold * self.compared.adaptive.interval_s:g} s"

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
        told = compared.difference(compared.clock[weights.name][1], weights)
        own = [compared.difference(compared.learnt[weights.name, hold], weights) for hold in compared.adaptive.holds]
        best = compared.names[compared.best(weights)]
        return (name, best, *map(number, (told, compared.gain(weights), *own)))


def name_of(paper: Paper) -> str:
    """Return what ``--only`` calls this part of the paper."""
    return f"Section {model.load(paper).section}"


def run(runner: Runner, size: str) -> Part:
    """Do the runs of the future work that are not finished yet; episodes are kept beside the store of runs."""
    future = model.load(runner.paper)
    rows = interarrival.run(runner, future.interarrival, size)
    keeper = Keeper(runner.store.with_name("future"))
    compared = evaluate.run(runner.paper, future.adaptive, keeper, size, runner.say)
    runner.ran, runner.found = runner.ran + keeper.made, runner.found + keeper.found
    return Part(runner.paper, future, size, rows, compared)


def _change(one: interarrival.Summary) -> Element:
    return joined("", [percent(one.change), tag("div", f"{one.better} better, {one.worse} worse", kind="details")])


def number(of: Estimate) -> str:
    """Return an estimate with its half-width."""
    return f"{of.mean:.3g}" if of.half_width is None else metrics.written(of, places=3)


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
    size = abs(of.mean) if of.excludes_zero else of.mean
    return f"{said} {size:.3f} [{of.low:+.3f}, {of.high:+.3f}]{metrics.correlation(of)}"
