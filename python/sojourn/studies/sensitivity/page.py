"""The report of a sensitivity analysis."""

from __future__ import annotations

import math
import shlex
from typing import Any

from sojourn.base import core
from sojourn.model.scheme import Scheme
from sojourn.results import metrics
from sojourn.studies.sensitivity.analysis import Sensitivity
from sojourn.view import charts
from sojourn.view.canvas import Picture
from sojourn.view.palette import MUTED
from sojourn.view.report import context, page
from sojourn.view.report.sections import Drawing, Section, items, note, tag


def render(found: Sensitivity) -> str:
    """Return the page; it depends only on the analysis."""
    if found.method == "sobol":
        caption = (
            "Share of each metric's variance over the ranges that a parameter makes alone (first-order index) and "
            "with all its interactions (total index); bars: 95 % intervals by the bootstrap."
        )
    else:
        caption = (
            "µ*: mean size of the metric's change as the parameter alone moves through its range (in steps of two "
            "thirds), with its 95 % interval; σ: scatter of that change, from interactions and curvature."
        )
    document = found.setting.document
    parts: list[object] = [items(headlines(found)), Drawing("bars-figure", bars(found), caption)]
    for name in found.metrics:
        table = Drawing(name, heads=("Parameter", *heads(found)), rows=rows(found, name))
        parts += [tag("h3", metrics.find(name).title), table]
    parts.append(
        note(
            "± half-width of the 95 % interval by the bootstrap. The indices hold for these ranges on this "
            "scenario; a wider range gives a parameter a larger index. Estimates of small indices may be negative "
            "by chance."
        )
    )
    ranges = [(factor.name, str(factor).partition("=")[2]) for factor in found.factors]
    run = (Drawing("ranges", heads=("Parameter", "Range"), rows=ranges, kind=""), context.network(document))
    return page(
        f"{Scheme(found.scheme).title} on {document['name']}: which parameters matter",
        (
            Section("found", "What was found", (), parts),
            Section("run", "What was run", (), run),
            context.again(shlex.join(command(found))),
            context.definitions(map(metrics.find, found.metrics)),
        ),
        kind="sensitivity",
        lead=str(document.get("description") or ""),
        facts=[
            ("Algorithm", found.scheme),
            ("Method", f"{'Sobol' if found.method == 'sobol' else 'Morris'}, {found.samples} base samples"),
            ("Runs", f"{found.points} points, {found.replications} replications each, seed {found.seed}"),
            ("Sojourn", core.version()),
        ],
        made=core.version(),
    )


def bars(found: Sensitivity) -> Picture:
    """Draw the indices, a panel for each metric."""
    is_sobol = found.method == "sobol"
    labels = ("alone", "with interactions") if is_sobol else ("µ*", "σ")
    with charts.panels(len(found.metrics), 2, 0.3, 0.9 + 0.42 * len(found.factors), sharey=True) as (figure, every):
        for axes, metric in zip(every, map(metrics.find, found.metrics), strict=False):
            scale = 1.0 if is_sobol else metric.scale
            for row, index in enumerate(found.indices[metric.name]):
                half = index.total_half if is_sobol else math.nan
                for at, value, own, color in (
                    (row - 0.19, index.first, index.first_half, charts.FIRST),
                    (row + 0.19, index.total, half, charts.SECOND),
                ):
                    charts.bar(axes, value * scale, at, color, own * scale, height=0.34)
            axes.axvline(0, color=MUTED, linewidth=1)
            charts.title(axes, metric.title)
            unit = f" ({metric.shown_unit})" if metric.shown_unit else ""
            axes.set_xlabel("share of the variance" if is_sobol else f"mean size of the change{unit}")
            charts.names(axes, [factor.name for factor in found.factors])
        for color, label in zip((charts.FIRST, charts.SECOND), labels, strict=True):
            every[0].barh(0, 0, color=color, label=label)
        charts.legend(figure, every)
    return figure


def heads(found: Sensitivity) -> tuple[str, str]:
    """Return the headings of the two columns of indices."""
    return ("first order", "total") if found.method == "sobol" else ("µ*", "σ")


def rows(found: Sensitivity, name: str) -> list[tuple[str, str, str]]:
    """Return one metric's indices as text, the largest first."""
    scale = 1.0 if found.method == "sobol" else metrics.find(name).scale
    ordered = sorted(found.indices[name], key=lambda index: -_rank(found, index))
    return [
        (
            index.name,
            _text(index.first * scale, index.first_half * scale),
            _text(index.total * scale, index.total_half * scale),
        )
        for index in ordered
    ]


def headlines(found: Sensitivity) -> list[str]:
    """Return sentences about the parameter with the largest index for each metric, as far as intervals decide it."""
    sentences = []
    for name in found.metrics:
        first, second, *_ = sorted(found.indices[name], key=lambda index: -_rank(found, index))
        half = [each.total_half if found.method == "sobol" else each.first_half for each in (first, second)]
        metric = metrics.find(name)
        phrase = metric.phrase[:1].upper() + metric.phrase[1:]
        if _rank(found, first) == 0:
            sentences.append(f"{phrase}: no parameter moves it in these ranges.")
            continue
        told = _rank(found, first) - _rank(found, second) > math.hypot(*half)
        sentences.append(
            f"{phrase}: {first.name} matters most."
            if told
            else f"{phrase}: {first.name} and {second.name} lead; the intervals do not tell which matters more."
        )
    if found.method == "sobol" and not found.is_sure:
        sentences.append("Some interval is wider than ±0.1: more samples (--samples) would narrow it.")
    return sentences


def command(found: Sensitivity) -> list[str]:
    """Return the command that repeats the analysis."""
    words = ["sojourn", "sensitivity", found.scheme, "--scenario", "scenario.toml"]
    for factor in found.factors:
        words += ["--vary", str(factor)]
    for name in found.metrics:
        words += ["--metric", name]
    words += ["--method", found.method, "--samples", str(found.samples)]
    return [*words, "--replicates", str(found.replications), "--seed", str(found.seed), "--out", "again"]


def _rank(found: Sensitivity, index: Any) -> float:
    return float(index.total if found.method == "sobol" else index.first)


def _text(value: float, half: float) -> str:
    text = metrics.rounded(value, half if math.isfinite(half) else None)
    return text.replace("-", "−")
