"""Pages of the atlas: an overview, and one of each scheme."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from sojourn.base import core
from sojourn.results import metrics
from sojourn.studies.atlas import pictures
from sojourn.view.report import page as filled
from sojourn.view.report.sections import Drawing, Section

if TYPE_CHECKING:
    from sojourn.model.scheme import Scheme
    from sojourn.studies.atlas.execute import Atlas
    from sojourn.studies.atlas.needs import Need
    from sojourn.studies.atlas.ranks import Cell
    from sojourn.studies.characterize.networks import Setting


SCHEMES: Final = "schemes"
NEEDS: Final = "needs"
"""Folders of the pages of one scheme, and of the runs of one need."""


def file_name(label: str) -> str:
    """Return a label as a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", label)


def number(need: Need, cell: Cell) -> str:
    """Return the number of a cell with the half-width of its interval."""
    found = cell.estimate
    if found.replications == 0:
        return "–"
    return metrics.written(found, places=need.digits).replace("-", "−")


def overview(whole: Atlas, setting: Setting) -> str:
    """Return the overview."""
    labels = whole.ordered()
    first = {need.name: whole.first(need) for need in whole.needs}
    best = Drawing(
        "best",
        None,
        "For each need, the schemes that no other scheme beats significantly, and the number of the first of them.",
        ("Need", "What is measured", "Best", "Value"),
        tuple(
            (
                need.title,
                f"{need.question}; {'lower' if need.lower else 'higher'} is better",
                ", ".join(first[need.name]),
                f"{number(need, whole.cells[need.name][first[need.name][0]])} {need.unit}".strip()
                if first[need.name]
                else "–",
            )
            for need in whole.needs
        ),
        is_text=True,
    )
    table = Drawing(
        "numbers",
        None,
        "Every number with its 95 % interval, and the rank.",
        ("Scheme", *(need.title for need in whole.needs)),
        tuple((label, *(_with_rank(whole, need, label) for need in whole.needs)) for label in labels),
        is_folded=True,
    )
    sections = (
        Section(
            "ranks",
            "Need by scheme",
            (
                "Each cell has the mean. Green is a good rank, red a bad one, and bold the first. A scheme's rank is "
                "one more than the number of schemes that are significantly better: by paired differences at the 5 % "
                "level after Holm's correction over all pairs. So schemes whose differences are not significant "
                "share a rank. Rows are in the order of the mean rank, which weighs every need alike; your needs "
                "differ.",
            ),
            (Drawing("ranks-picture", pictures.ranks(whole), "Means and ranks."), best, table),
        ),
        *_tradeoff(whole),
        Section(
            "schemes",
            "Schemes",
            ("Each scheme has a page with its ranks.",),
            (
                Drawing(
                    "links",
                    None,
                    "Pages",
                    ("Scheme", "Text", "What it does"),
                    tuple(_link(one) for one in whole.schemes),
                    is_text=True,
                ),
            ),
        ),
    )
    return filled(
        "atlas.html.j2",
        title=f"Atlas of {len(labels)} AQM schemes",
        lead="Every scheme with its defaults in seven networks of RFC 7928 and four more, one number for each need.",
        facts=(
            ("Bottleneck", f"{setting.rate_mbit_s:g} Mbit/s"),
            ("Base RTT", f"{setting.rtt_ms:g} ms"),
            ("Buffer", "bandwidth-delay product"),
            ("Replications", str(whole.replications)),
            ("Build", core.build()),
        ),
        sections=sections,
        code=core.version(),
        home="",
    )


def _tradeoff(whole: Atlas) -> tuple[Section, ...]:
    """Return delay beside goodput, where both are ranked."""
    if not {"delay", "goodput"} <= set(whole.cells):
        return ()
    picture = Drawing("tradeoff-picture", pictures.two(whole, "delay", "goodput"), "Bars are 95 % intervals.")
    text = ("Each scheme has a row, so no marker covers another.",)
    return (Section("tradeoff", "Delay and goodput", text, (picture,)),)


def of_scheme(whole: Atlas, one: Scheme) -> str:
    """Return the page of a scheme."""
    rows = []
    for need in whole.needs:
        cells = whole.cells[need.name]
        own = cells[one.label]
        best = whole.first(need)
        among = f"{number(need, cells[best[0]])} ({best[0]})" if best else "–"
        rank = "–" if own.rank is None else f"{own.rank} of {len(whole.schemes)}"
        value = _to_runs(whole, need, one.label, f"{number(need, own)} {need.unit}".strip(), up="../")
        rows.append((need.title, need.question, value, rank, among))
    heads = ("Need", "What is measured", "Value", "Rank", "Best")
    entry = next(entry for entry in core.aqms() if entry["name"] == one.algorithm)
    own_ranks = {need.title: whole.cells[need.name][one.label].rank for need in whole.needs}
    strong = [title for title, rank in own_ranks.items() if rank == 1]
    weak = [title for title, rank in own_ranks.items() if rank is not None and rank > 0.75 * len(whole.schemes)]
    text = tuple(
        sentence
        for sentence, there in (
            (f"No scheme is significantly better in: {', '.join(strong)}.", strong),
            (f"In the last quarter of the ranks in: {', '.join(weak)}.", weak),
        )
        if there
    )
    return filled(
        "atlas.html.j2",
        title=f"{entry['title']} in the atlas",
        lead=f"{entry['summary'][0].upper()}{entry['summary'][1:]}.",
        facts=(("Scheme", one.text), ("Source", str(entry["source"]))),
        sections=(
            Section(
                "needs",
                "Need by need",
                text,
                (Drawing("needs", None, "Values with 95 % intervals", heads, tuple(rows), is_text=True),),
            ),
        ),
        code=core.version(),
        home="../index.html",
    )


def of_need(whole: Atlas, name: str) -> str:
    """Return the page of a need: the runs behind its cells."""
    (need,) = [one for one in whole.needs if one.name == name]
    cells, values = whole.cells[name], whole.runs[name]
    rows = []
    for label in sorted(cells, key=lambda label: (cells[label].rank or len(cells) + 1, label)):
        own = cells[label]
        anchor = Markup('<span id="{}">{}</span>').format(file_name(label), label)
        each = " ".join(f"{value:.{need.digits + 1}f}" for value in values[label]).replace("-", "−")
        rows.append((anchor, "–" if own.rank is None else str(own.rank), number(need, own), each))
    plan = f"plans/{need.section}.toml"
    unit = f" ({need.unit})" if need.unit else ""
    heads = ("Scheme", "Rank", f"Mean{unit}", f"Runs{unit}, in the order of replications")
    return filled(
        "atlas.html.j2",
        title=f"{need.title[0].upper()}{need.title[1:]} in the atlas",
        lead=f"{need.question[0].upper()}{need.question[1:]}; {'lower' if need.lower else 'higher'} is better.",
        facts=(
            ("Plan", Markup('<a href="../{}">{}</a>').format(plan, plan)),
            ("All numbers of the runs", f"sojourn plan show {plan} --store store"),
        ),
        sections=(
            Section(
                "runs",
                "Runs",
                ("In one replication, all schemes meet the same traffic, so columns can be compared.",),
                (Drawing("runs", None, "Means with 95 % intervals, and the runs", heads, tuple(rows), is_text=True),),
            ),
        ),
        code=core.version(),
        home="../index.html",
    )


def _with_rank(whole: Atlas, need: Need, label: str) -> str:
    """Return a cell, which leads to its runs."""
    cell = whole.cells[need.name][label]
    shown = number(need, cell) if cell.rank is None else f"{number(need, cell)} ({cell.rank})"
    return _to_runs(whole, need, label, shown)


def _to_runs(whole: Atlas, need: Need, label: str, shown: str, up: str = "") -> str:
    if need.name not in whole.runs:
        return shown
    return Markup('<a href="{}{}/{}.html#{}">{}</a>').format(up, NEEDS, need.name, file_name(label), shown)


def _link(one: Scheme) -> tuple[str, str, str]:
    entry = next(entry for entry in core.aqms() if entry["name"] == one.algorithm)
    link = Markup('<a href="{}/{}.html">{}</a>').format(SCHEMES, file_name(one.label), one.label)
    return link, one.text, str(entry["summary"])
