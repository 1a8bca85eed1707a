"""The report of a tuning."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sojourn.base import core, toml
from sojourn.model.scheme import Scheme
from sojourn.results import metrics
from sojourn.stats import Estimate
from sojourn.stats.front import LIMITS
from sojourn.studies.tune import files, picture
from sojourn.studies.tune.plan import SCENARIO, Objective
from sojourn.studies.tune.result import Trial, Tuning
from sojourn.studies.tune.settings import Setting
from sojourn.view.report import context, page
from sojourn.view.report.context import Cell
from sojourn.view.report.sections import Drawing, Element, Section, cell, code, items, joined, note, prose, row, tag

_PLACES: Final = {"off": "off it", "on": "on it", "behind": "behind it"}


def render(tuning: Tuning) -> str:
    """Return the page; it depends only on the tuning."""
    plan = tuning.plan
    outside = picture.outside(tuning)
    pareto = "Points are trials on the search's seeds, means relative to the scheme as given. " + (
        "Large points are the front run again on fresh seeds, bars their 95 % intervals; the thin line leads back to "
        "where the search saw them. Diamonds: the scheme as given and published presets"
        + (f"; outside the picture: {', '.join(outside)}." if outside else ".")
        if len(plan.objectives) > 1
        else "The line is the best so far."
    )
    sections = (
        Section("found", "What was found", (), (items(headlines(tuning)),)),
        Section(
            "front",
            "The front" if len(plan.objectives) > 1 else "The search",
            (),
            (Drawing("front-figure", picture.front(tuning), pareto),),
        ),
        _holds(tuning),
        _candidates(tuning),
        _use(tuning),
        _run(tuning),
        context.again(
            shlex.join(command(tuning)),
            after="Or `sojourn tune tune.toml --out again`. `sojourn report .` draws this page again without any "
            "simulation. The same seed gives the same trials and the same numbers on any number of threads, also "
            "after an interruption. `study.journal` holds the search for Optuna's own tools.",
        ),
        context.definitions(metrics.find(each.name) for each in plan.objectives),
    )
    return page(
        f"{Scheme(plan.base).title} tuned on {plan.settings[0].document['name']}",
        sections,
        kind="tuning",
        lead=str(plan.settings[0].document.get("description") or ""),
        facts=_facts(tuning),
        made=core.version(),
    )


def _holds(tuning: Tuning) -> Section:
    """Return where the recommended scheme is better than the given one."""
    plan = tuning.plan
    gained = (
        "Paired differences on fresh seeds with 95 % intervals. Shaded: scenarios that the search never saw. "
        "Green: better, red: worse, significant at the 5 % level after Holm's correction; grey: not significant."
    )
    heads: list[object] = ["Scenario"]
    for each in plan.objectives:
        heads += [context.head(each.metric, more=", as given"), "recommended", "difference"]
    rows = []
    for setting in plan.settings:
        where = tag("div", "held out" if setting.is_held_out else "learnt from", kind="details")
        cells: list[object] = [joined("", [setting.label, where])]
        for each in plan.objectives:
            base, difference = _compared(tuning, setting, each, tuning.verdicts)
            ours = context.cell(tuning.estimate(tuning.best.text, setting, each.name), each.metric)
            cells += [base, context.shown(ours), difference]
        rows.append(row(cells, data_held_out="yes" if setting.is_held_out else "no"))
    parts: list[object] = [
        Drawing("gains-figure", picture.gains(tuning), gained),
        Drawing("holds", heads=heads, rows=rows),
        note(
            f"Mean ± half-width of the 95 % interval over {plan.fresh} replications on seeds that the search did not "
            "use; differences are paired. Green (better) and red (worse): the difference is significant at the 5 % "
            "level after Holm's correction for the family of comparisons, which is all scenarios of the search, or "
            "all held-out scenarios. Grey: not significant."
        ),
    ]
    if tuning.besides:
        heads = ["Scenario"]
        others: list[list[object]] = [[setting.label] for setting in plan.settings]
        for each in tuning.besides:
            heads += [context.head(each.metric, more=", as given"), "difference"]
            for line, setting in zip(others, plan.settings, strict=True):
                line.extend(_compared(tuning, setting, each, tuning.side_effects))
        parts += [
            tag("h3", "Other metrics"),
            Drawing("besides", heads=heads, rows=others),
            note(
                "Recommended scheme minus given scheme, as above. The search may improve an objective at the cost of "
                "other metrics: make every metric that must not get worse an objective."
            ),
        ]
    beside: list[list[object]] = [
        [where, *(str(one.get(text, "–")) for text in (tuning.best.text, tuning.base))]
        for where, one in tuning.fronts.items()
    ]
    parts += [
        tag("h3", "Beside a small buffer"),
        Drawing("beside", heads=["Scenario", "recommended", "as given"], rows=beside),
        note(
            f"Tail drop with limits of {LIMITS[0]} to {LIMITS[-1]} packets makes a front in the objectives. Off it: "
            "no limit, and no mixture of neighbouring limits, is as good in every objective, up to 1 %. Behind it: "
            "this limit is better in an objective and worse in none. On it: neither is shown, so a shorter queue may "
            "do the same. At the 5 % level after Holm's correction over the two schemes."
        ),
    ]
    title = "Where it holds: the recommended scheme and the given scheme"
    return Section("where", title, (), parts, link="Where it holds")


def _compared(
    tuning: Tuning, setting: Setting, objective: Objective, verdicts: Mapping[tuple[str, str], int]
) -> tuple[object, object]:
    """Return the value of the scheme as given, and the difference of the recommended one to it."""
    metric = objective.metric
    base = context.cell(tuning.estimate(tuning.base, setting, objective.name), metric)
    found = tuning.difference(tuning.best.text, tuning.base, setting, objective)
    kind = {1: "better", 0: "unsure", -1: "worse"}[verdicts[setting.label, objective.name]]
    shown = context.shown(context.cell(found, metric, signed=True))
    return context.shown(base), cell(shown, kind=kind, data_metric=metric.name, data_mean=found.mean)


def _candidates(tuning: Tuning) -> Section:
    """Return the best trials run again, and the rivals."""
    plan = tuning.plan
    heads: list[object] = ["Trial", *(factor.name for factor in plan.factors)]
    for each in plan.objectives:
        unit = "% of as given" if tuning.is_relative(each) else each.metric.shown_unit
        heads += [
            context.head(each.metric, unit, ", search"),
            joined("", ["fresh seeds", tag("span", unit, kind="unit")]),
        ]
    rows: list[object] = []
    for trial in tuning.candidates:
        is_best = trial is tuning.best
        values = {parameter.name: parameter.value for parameter in Scheme(trial.text).parameters()}
        cells: list[object] = [f"{trial.number} (recommended)" if is_best else trial.number]
        cells += [values[factor.name] for factor in plan.factors]
        for each, seen in zip(plan.objectives, trial.scores, strict=True):
            cells += [metrics.rounded(seen * picture.scale_of(tuning, each), None), _score(tuning, trial.text, each)]
        rows.append(row(cells, kind="recommended" if is_best else None))
    for name, text in plan.rivals.items():
        cells = [name, cell(tag("code", text), kind="wrap", colspan=len(plan.factors))]
        for each in plan.objectives:
            cells += ["", _score(tuning, text, each)]
        rows.append(cells)
    below = (
        "The best of many trials looks better on the search's seeds than it is, because it was chosen by those "
        "results (the winner's curse). The columns of new seeds do not have this bias. The recommended scheme was "
        "chosen by the new seeds on the scenarios of the search: candidates that are significantly worse than the "
        "given scheme in an objective were left out where possible, and the nearest of the others to the ideal "
        f"point was taken. This choice among {len(tuning.candidates)} has a small bias of the same kind; the "
        "held-out scenarios do not."
    )
    table = Drawing("candidates", heads=heads, rows=rows)
    return Section("candidates", "Candidates and rivals", (), (table, note(below)), link="Candidates")


def _use(tuning: Tuning) -> Section:
    lines = files.tc_lines(tuning)
    is_linux = not lines[0].startswith("# no command")
    best = {key: value for key, value in files.document(tuning).items() if key != "reached"}
    return Section(
        "use",
        "Use it",
        (
            "Commands for Linux, on the interface eth0:" if is_linux else "Linux does not have this scheme:",
            code("\n".join(lines)),
            "As TOML (`best.toml` beside this page also has what it reached):",
            code(toml.dumps(best)),
        ),
    )


def _run(tuning: Tuning) -> Section:
    plan = tuning.plan
    given = {parameter.name: parameter.value for parameter in Scheme(tuning.base).parameters()}
    rows = [(factor.name, str(factor).partition("=")[2], given[factor.name]) for factor in plan.factors]
    refused = f"{tuning.refused} more points of the ranges are not valid schemes (for example, min above max) and "
    parts = (
        Drawing("ranges", heads=("Parameter", "Range", "As given"), rows=rows, kind=""),
        *([note(f"{refused}were not run.")] if tuning.refused else []),
        prose(
            "This is the first scenario; the others differ as their names say"
            + (f", all with {', '.join(plan.sets)}:" if plan.sets else ":")
        ),
        context.network(plan.settings[0].document),
    )
    return Section("run", "What was run", (), parts)


def headlines(tuning: Tuning) -> list[str]:
    """Return sentences about the result, and about whether it holds on scenarios that the search did not use."""
    if tuning.best.text == tuning.base:
        return [
            f"Recommended: {tuning.base}, the scheme as given: every other candidate is significantly worse in some "
            "objective, or no nearer to the ideal point. The front has the trades that there are.",
            _beside(tuning),
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
    sentences.append(_beside(tuning))
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


def _beside(tuning: Tuning) -> str:
    """Return a sentence about where the recommended scheme lies beside tail drop."""
    places = [one[tuning.best.text].place for one in tuning.fronts.values()]
    told = [f"{word} in {places.count(place)}" for place, word in _PLACES.items() if place in places]
    return f"Beside the front of tail drop, it lies {', '.join(told)} of {len(places)} comparisons."


def _paid(tuning: Tuning, objective: Objective) -> str:
    """Return a sentence about metrics that are no objectives and changed significantly; empty if none did."""
    found = [tuning.side_effects[setting.label, objective.name] for setting in tuning.plan.settings]
    told = [f"{word} on {found.count(sign)}" for word, sign in (("worse", -1), ("better", 1)) if sign in found]
    return f"{objective.metric.phrase} {' and '.join(told)} of {len(found)} scenarios" if told else ""


def command(tuning: Tuning) -> list[str]:
    """Return the command that repeats the tuning."""
    plan = tuning.plan
    scenario = SCENARIO if SCENARIO in plan.packed() else plan.scenario
    words = ["sojourn", "tune", plan.scheme, "--scenario", scenario]
    lists = {"set": plan.sets, "train": plan.train, "holdout": plan.holdout}
    lists |= {"minimise": plan.minimise, "maximise": plan.maximise, "vary": plan.vary}
    words += [word for option, values in lists.items() for value in values for word in (f"--{option}", value)]
    single = {"trials": plan.trials, "replicates": plan.replications, "fresh": plan.fresh, "seed": plan.seed}
    words += [word for option, number in single.items() for word in (f"--{option}", str(number))]
    return [*words, "--sampler", plan.sampler, "--out", "again"]


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


def _score(tuning: Tuning, text: str, objective: Objective) -> Element:
    found, scale = tuning.score(text, objective), picture.scale_of(tuning, objective)
    mean, _, interval = metrics.written(found, scale).partition(" ")
    return context.shown(Cell(mean=mean, half=interval, value=found.mean, low=found.low, high=found.high))


def _curse(tuning: Tuning, trial: Trial, objective: Objective) -> Estimate:
    place = tuning.plan.objectives.index(objective)
    found = tuning.score(trial.text, objective)
    seen = trial.scores[place]
    low, high = (None if limit is None else limit - seen for limit in (found.low, found.high))
    return replace(found, mean=found.mean - seen, low=low, high=high)


def _signed(found: Estimate) -> str:
    text = metrics.written(found, 100)
    return f"{'+' if found.mean > 0 else ''}{text} points".replace("-", "−") if math.isfinite(found.mean) else "–"
