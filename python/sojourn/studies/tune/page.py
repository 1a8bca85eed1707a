"""The report of a tuning."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import Any

from sojourn.base import core, toml
from sojourn.model.scheme import Scheme
from sojourn.results import metrics
from sojourn.stats import Estimate
from sojourn.studies.tune import picture, recommended
from sojourn.studies.tune.plan import SCENARIO, Objective
from sojourn.studies.tune.result import Trial, Tuning
from sojourn.studies.tune.settings import Setting
from sojourn.view import report
from sojourn.view.report import context, svg
from sojourn.view.report.context import Cell
from sojourn.view.report.words import elements


def render(tuning: Tuning) -> str:
    """Return the page; it depends only on the tuning."""
    plan = tuning.plan
    title = f"{Scheme(plan.base).title} tuned on {plan.settings[0].document['name']}"
    outside = picture.outside(tuning)
    pareto = "Points are trials on the search's seeds, means relative to the scheme as given. " + (
        "Large points are the front run again on fresh seeds, bars their 95 % intervals; the thin line leads back to "
        "where the search saw them. Diamonds: the scheme as given and published presets"
        + (f"; outside the picture: {', '.join(outside)}." if outside else ".")
        if len(plan.objectives) > 1
        else "The line is the best so far."
    )
    gained = (
        "Paired differences on fresh seeds with 95 % intervals. Shaded: scenarios that the search never saw. "
        "Green: better, red: worse, significant at the 5 % level after Holm's correction; grey: not significant."
    )
    return report.page(
        "tune.html.j2",
        title=title,
        plan=plan,
        facts=_facts(tuning),
        headlines=headlines(tuning),
        front=svg.inline(picture.front(tuning), "front", pareto),
        front_caption=pareto,
        gains=svg.inline(picture.gains(tuning), "gains", gained),
        gains_caption=gained,
        objectives=[(each, _score_unit(tuning, each)) for each in plan.objectives],
        candidates=[_candidate(tuning, trial) for trial in tuning.candidates],
        factors=[factor.name for factor in plan.factors],
        ranges=[(factor.name, str(factor).partition("=")[2], _given(tuning, factor.name)) for factor in plan.factors],
        rivals=[
            (name, text, [_score(tuning, text, each) for each in plan.objectives])
            for name, text in plan.rivals.items()
        ],
        besides=tuning.besides,
        side_effects=[
            (setting, [_beside(tuning, setting, each) for each in tuning.besides]) for setting in plan.settings
        ],
        settings=[
            (setting, [_compared(tuning, setting, each) for each in plan.objectives]) for setting in plan.settings
        ],
        best=tuning.best.text,
        is_linux=not recommended.tc_lines(tuning)[0].startswith("# no command"),
        tc="\n".join(recommended.tc_lines(tuning)),
        toml=toml.dumps({key: value for key, value in recommended.document(tuning).items() if key != "reached"}),
        refused=tuning.refused,
        elements=elements(plan.settings[0].document),
        command=shlex.join(command(tuning)),
        version=core.version(),
        definitions=[metrics.find(each.name) for each in plan.objectives],
    )


def headlines(tuning: Tuning) -> list[str]:
    """Return sentences about the result, and about whether it holds on scenarios that the search did not use."""
    if tuning.best.text == tuning.base:
        return [
            f"Recommended: {tuning.base}, the scheme as given: every other candidate is significantly worse in some "
            "objective, or no nearer to the ideal point. The front has the trades that there are."
        ]
    sentences = [f"Recommended: {tuning.best.text}."]
    for held_out in (False, True):
        settings = tuning.settings(held_out=held_out)
        if not settings:
            sentences.append("No scenario was held out: nothing says whether this holds on another network.")
            continue
        where = "Held-out scenarios" if held_out else "Scenarios learnt from, on fresh seeds"
        parts = []
        for each in tuning.plan.objectives:
            found = [tuning.verdicts[setting.label, each.name] for setting in settings]
            worse = f", worse on {found.count(-1)}" if -1 in found else ""
            parts.append(f"{each.metric.phrase} better on {found.count(1)} of {len(found)}{worse}")
        sentences.append(f"{where}: {'; '.join(parts)} (against the scheme as given, Holm's correction at 5 %).")
    paid = [_paid(tuning, each) for each in tuning.besides]
    if any(paid):
        sentences.append(f"Not asked for, and changed: {'; '.join(filter(None, paid))}.")
    curse = [
        f"{each.metric.phrase} {_signed(_curse(tuning, tuning.best, each))}"
        for each in tuning.plan.objectives
        if tuning.is_relative(each)
    ]
    if curse:
        sentences.append(
            f"The recommended point on fresh seeds against the search's: {', '.join(curse)} "
            "(the winner's curse, and chance in the scheme as given that it is measured by)."
        )
    return sentences


def _paid(tuning: Tuning, objective: Objective) -> str:
    """Return a sentence about metrics that are no objectives and changed significantly; empty if none did."""
    found = [tuning.side_effects[setting.label, objective.name] for setting in tuning.plan.settings]
    told = [f"{word} on {found.count(sign)}" for word, sign in (("worse", -1), ("better", 1)) if sign in found]
    return f"{objective.metric.phrase} {' and '.join(told)} of {len(found)} scenarios" if told else ""


def command(tuning: Tuning) -> list[str]:
    """Return the command that repeats the tuning."""
    plan = tuning.plan
    words = ["sojourn", "tune", plan.scheme, "--scenario", SCENARIO if SCENARIO in plan.packed() else plan.scenario]
    for option, values in (
        ("--set", plan.sets),
        ("--train", plan.train),
        ("--holdout", plan.holdout),
        ("--minimise", plan.minimise),
        ("--maximise", plan.maximise),
        ("--vary", plan.vary),
    ):
        for value in values:
            words += [option, value]
    for option, number in (("trials", plan.trials), ("replicates", plan.replications), ("fresh", plan.fresh)):
        words += [f"--{option}", str(number)]
    return [*words, "--seed", str(plan.seed), "--sampler", plan.sampler, "--out", "again"]


def _facts(tuning: Tuning) -> list[tuple[str, str]]:
    plan = tuning.plan
    held_out = len(tuning.settings(held_out=True))
    return [
        ("Algorithm", f"{Scheme(plan.base).title}: {plan.base}"),
        ("Trials", f"{len(tuning.trials)} ({plan.sampler}), {plan.replications} replications each, seed {plan.seed}"),
        ("Final comparison", f"{plan.fresh} replications on fresh seeds"),
        ("Scenarios", f"{len(plan.settings) - held_out} learnt from, {held_out} held out"),
        ("Sojourn", core.version()),
    ]


def _candidate(tuning: Tuning, trial: Trial) -> dict[str, Any]:
    values = {parameter.name: parameter.value for parameter in Scheme(trial.text).parameters()}
    cells = []
    for place, each in enumerate(tuning.plan.objectives):
        scale = picture.scale_of(tuning, each)
        seen = metrics.rounded(trial.scores[place] * scale, None)
        cells.append((seen, _score(tuning, trial.text, each)))
    return {
        "number": trial.number,
        "is_best": trial is tuning.best,
        "values": [values[factor.name] for factor in tuning.plan.factors],
        "cells": cells,
    }


def _compared(tuning: Tuning, setting: Setting, objective: Objective) -> dict[str, Any]:
    metric = objective.metric
    theirs, ours = (tuning.estimate(text, setting, objective.name) for text in (tuning.base, tuning.best.text))
    verdict = tuning.verdicts[setting.label, objective.name]
    found = tuning.difference(tuning.best.text, tuning.base, setting, objective)
    return {
        "base": context.cell(theirs, metric),
        "ours": context.cell(ours, metric),
        "difference": context.cell(found, metric, signed=True),
        "kind": {1: "better", 0: "unsure", -1: "worse"}[verdict],
        "metric": metric,
    }


def _beside(tuning: Tuning, setting: Setting, objective: Objective) -> dict[str, Any]:
    found = tuning.difference(tuning.best.text, tuning.base, setting, objective)
    kind = {1: "better", 0: "unsure", -1: "worse"}[tuning.side_effects[setting.label, objective.name]]
    base = tuning.estimate(tuning.base, setting, objective.name)
    metric = objective.metric
    return {
        "kind": kind,
        "base": context.cell(base, metric),
        "difference": context.cell(found, metric, signed=True),
        "metric": metric,
    }


def _score(tuning: Tuning, text: str, objective: Objective) -> Cell:
    found, scale = tuning.score(text, objective), picture.scale_of(tuning, objective)
    mean, _, interval = metrics.written(found, scale).partition(" ")
    return Cell(mean=mean, half=interval, value=found.mean, low=found.low, high=found.high)


def _score_unit(tuning: Tuning, objective: Objective) -> str:
    return "% of as given" if tuning.is_relative(objective) else objective.metric.shown_unit


def _curse(tuning: Tuning, trial: Trial, objective: Objective) -> Estimate:
    place = tuning.plan.objectives.index(objective)
    found = tuning.score(trial.text, objective)
    seen = trial.scores[place]
    low, high = (None if limit is None else limit - seen for limit in (found.low, found.high))
    return replace(found, mean=found.mean - seen, low=low, high=high)


def _signed(found: Estimate) -> str:
    text = metrics.written(found, 100)
    return f"{'+' if found.mean > 0 else ''}{text} points".replace("-", "−") if math.isfinite(found.mean) else "–"


def _given(tuning: Tuning, name: str) -> str:
    return next(parameter.value for parameter in Scheme(tuning.base).parameters() if parameter.name == name)
