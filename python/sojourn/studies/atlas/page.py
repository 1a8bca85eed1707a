"""Pages of the atlas: an overview, and one of each scheme."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sojourn.base import core
from sojourn.model.scheme import Scheme, entry_of
from sojourn.results import metrics
from sojourn.studies.atlas import pictures
from sojourn.studies.atlas.needs import Need
from sojourn.studies.atlas.ranks import Atlas, Cell
from sojourn.studies.characterize.networks import Setting
from sojourn.studies.characterize.page import front_section
from sojourn.view.report import page
from sojourn.view.report.sections import Drawing, Section, tag

SCHEMES: Final = "schemes"
NEEDS: Final = "needs"
"""Folders of the pages of one scheme, and of the runs of one need."""


def file_name(label: str) -> str:
    """Return a label as a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", label)


def number(need: Need, cell: Cell) -> str:
    """Return the number of a cell with the half-width of its interval."""
    return metrics.shown(cell.estimate, places=need.digits)


def overview(whole: Atlas, setting: Setting) -> str:
    """Return the overview."""
    labels = whole.ordered()
    best = []
    for need in whole.needs:
        first = whole.first(need)
        value = _with_unit(need, whole.cells[need.name][first[0]]) if first else "–"
        best.append((need.title, f"{need.question}; {_better(need)}", ", ".join(first), value))
    numbers = [(label, *(_with_rank(whole, need, label) for need in whole.needs)) for label in labels]
    ranked = (
        "Each cell has the mean. Green is a good rank, red a bad one, and bold the first. A scheme's rank is one "
        "more than the number of schemes that are significantly better: by paired differences at the 5 % level "
        "after Holm's correction over all pairs. So schemes whose differences are not significant share a rank. "
        "Rows are in the order of the mean rank, which weighs every need alike; your needs differ."
    )
    beaten_by_none = (
        "For each need, the schemes that no other scheme beats significantly, and the number of the first of them."
    )
    tables = (
        Drawing("ranks-picture", pictures.ranks(whole), "Means and ranks."),
        _values("best", beaten_by_none, ("Need", "What is measured", "Best", "Value"), best),
        Drawing(
            "numbers",
            None,
            "Every number with its 95 % interval, and the rank.",
            ("Scheme", *(need.title for need in whole.needs)),
            numbers,
            is_folded=True,
        ),
    )
    links = _values("links", "Pages", ("Scheme", "Text", "What it does"), _links(whole))
    sections = (
        Section("ranks", "Need by scheme", (ranked,), tables),
        *_tradeoff(whole),
        *([front_section(whole.fronts)] if whole.fronts else []),
        Section("schemes", "Schemes", ("Each scheme has a page with its ranks.",), (links,)),
    )
    return page(
        f"Atlas of {len(labels)} AQM schemes",
        sections,
        kind="atlas",
        lead="Every scheme with its defaults in seven networks of RFC 7928 and five more, one number for each need.",
        facts=(
            ("Bottleneck", f"{setting.rate_mbit_s:g} Mbit/s"),
            ("Base RTT", f"{setting.rtt_ms:g} ms"),
            ("Buffer", "bandwidth-delay product"),
            ("Replications", str(whole.replications)),
            ("Build", core.build()),
        ),
        made=core.version(),
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
        cells, best = whole.cells[need.name], whole.first(need)
        own = cells[one.label]
        among = f"{number(need, cells[best[0]])} ({best[0]})" if best else "–"
        rank = "–" if own.rank is None else f"{own.rank} of {len(whole.schemes)}"
        value = _to_runs(whole, need, one.label, _with_unit(need, own), up="../")
        rows.append((need.title, need.question, value, rank, among))
    heads = ("Need", "What is measured", "Value", "Rank", "Best")
    entry = entry_of(one.algorithm)
    ranks = {need.title: whole.cells[need.name][one.label].rank for need in whole.needs}
    strong = [title for title, rank in ranks.items() if rank == 1]
    weak = [title for title, rank in ranks.items() if rank is not None and rank > 0.75 * len(whole.schemes)]
    text = (
        *([f"No scheme is significantly better in: {', '.join(strong)}."] if strong else []),
        *([f"In the last quarter of the ranks in: {', '.join(weak)}."] if weak else []),
    )
    return _part(
        str(entry["title"]),
        f"{_upper(str(entry['summary']))}.",
        (("Scheme", one.text), ("Source", str(entry["source"]))),
        Section("needs", "Need by need", text, (_values("needs", "Values with 95 % intervals", heads, rows),)),
    )


def of_need(whole: Atlas, name: str) -> str:
    """Return the page of a need: the runs behind its cells."""
    (need,) = [one for one in whole.needs if one.name == name]
    cells, values = whole.cells[name], whole.runs[name]
    rows = []
    for label in sorted(cells, key=lambda label: (cells[label].rank or len(cells) + 1, label)):
        own = cells[label]
        each = " ".join(f"{value:.{need.digits + 1}f}" for value in values[label]).replace("-", "−")
        anchor = tag("span", label, id=file_name(label))
        rows.append((anchor, "–" if own.rank is None else str(own.rank), number(need, own), each))
    plan = f"plans/{need.section}.toml"
    unit = f" ({need.unit})" if need.unit else ""
    heads = ("Scheme", "Rank", f"Mean{unit}", f"Runs{unit}, in the order of replications")
    text = ("In one replication, all schemes meet the same traffic, so columns can be compared.",)
    return _part(
        _upper(need.title),
        f"{_upper(need.question)}; {_better(need)}.",
        (
            ("Plan", tag("a", plan, href=f"../{plan}")),
            ("All numbers of the runs", f"sojourn plan show {plan} --store store"),
        ),
        Section("runs", "Runs", text, (_values("runs", "Means with 95 % intervals, and the runs", heads, rows),)),
    )


def _part(title: str, lead: str, facts: Sequence[tuple[str, object]], section: Section) -> str:
    """Return a page below the overview."""
    home = tag("p", tag("a", "All schemes", href="../index.html"))
    return page(
        f"{title} in the atlas", (section,), kind="atlas", lead=lead, top=(home,), facts=facts, made=core.version()
    )


def _values(name: str, caption: str, heads: Sequence[str], rows: Sequence[object]) -> Drawing:
    return Drawing(name, None, caption, heads, rows, kind="")


def _upper(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _better(need: Need) -> str:
    return f"{'lower' if need.lower else 'higher'} is better"


def _with_unit(need: Need, cell: Cell) -> str:
    return f"{number(need, cell)} {need.unit}".strip()


def _with_rank(whole: Atlas, need: Need, label: str) -> object:
    """Return a cell, which leads to its runs."""
    cell = whole.cells[need.name][label]
    shown = number(need, cell) if cell.rank is None else f"{number(need, cell)} ({cell.rank})"
    return _to_runs(whole, need, label, shown)


def _to_runs(whole: Atlas, need: Need, label: str, shown: str, up: str = "") -> object:
    if need.name not in whole.runs:
        return shown
    return tag("a", shown, href=f"{up}{NEEDS}/{need.name}.html#{file_name(label)}")


def _links(whole: Atlas) -> list[tuple[object, ...]]:
    links = [tag("a", one.label, href=f"{SCHEMES}/{file_name(one.label)}.html") for one in whole.schemes]
    return [
        (link, one.text, entry_of(one.algorithm)["summary"]) for link, one in zip(links, whole.schemes, strict=True)
    ]
