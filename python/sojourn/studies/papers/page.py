"""The report of a paper as an HTML page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn.base import core
from sojourn.stats import LEVEL
from sojourn.studies.papers import evidence, extension, figures, logic, picture, record, report_figures
from sojourn.studies.papers.checks import read_toml
from sojourn.studies.papers.execute import Measured
from sojourn.studies.papers.judge import Outcome
from sojourn.studies.papers.ledger import Ledger, not_run
from sojourn.studies.papers.model import Claim, Condition, Paper, Reading
from sojourn.studies.papers.predicate import predicate
from sojourn.studies.papers.runs import slug
from sojourn.view.report import page
from sojourn.view.report.sections import (
    Details,
    Drawing,
    Element,
    Row,
    Section,
    cell,
    items,
    joined,
    note,
    prose,
    row,
    tag,
)


def render(paper: Paper, measured: Measured, judged: Ledger, size: str, *, more: Sequence[Section] = ()) -> str:
    """Return the page; it depends on what was measured alone.

    `size` is ``quick`` or ``full``, and `more` are sections after those of the hook ``sections``.
    """
    return page(
        paper.title,
        _Page(paper, measured, judged).sections(more),
        kind="executable paper",
        lead=paper.source,
        facts=[
            ("Claims", str(len(paper.claims))),
            ("Readings", str(len(paper.readings))),
            ("Replications", f"{measured.replications} ({size})"),
            ("Conditions run", f"{len(measured.conditions)} of {len(paper.conditions)}"),
            ("Sojourn", core.version()),
        ],
        made=core.version(),
    )


def sign(outcome: Outcome) -> Element:
    """Return the sign of an outcome in its colour."""
    return tag("span", outcome.sign, kind=f"sign {outcome.key}", aria_hidden="true")


def counted(name: str, head: str, rows: Iterable[tuple[object, Sequence[int]]], total: Sequence[int] = ()) -> Drawing:
    """Return a table of how many claims came to each outcome, with a bar of their shares."""

    def cells(first: object, counts: Sequence[int]) -> list[object]:
        known = zip(Outcome, counts, strict=True)
        shares = [tag("span", kind=one.key, style=f"flex-grow:{count}") for one, count in known if count]
        bar = tag("span", *shares, kind="bar", aria_hidden="true")
        return [first, *(count or cell(0, kind="none") for count in counts), cell(bar, kind="shares")]

    heads = [head, *(joined(" ", [sign(one), one.value.capitalize()]) for one in Outcome)]
    shares = cell("", kind="shares", aria_label="shares")
    foot = cells("All", total) if total else ()
    return Drawing(name, heads=[*heads, shares], rows=[cells(*one) for one in rows], kind="numbers counts", foot=foot)


def summarised(folder: Path, judged: Ledger, noted: str = "") -> Section:
    """Return the section that a page begins with."""
    every = []
    for sentence in summary(folder):
        start, colon, rest = sentence.partition(": ")
        is_named = bool(colon) and len(start) < _LONGEST_NAME
        every.append(joined(" ", [tag("strong", f"{start}:"), rest]) if is_named else sentence)
    terms = words(folder).get("terms", "")
    text = (note(terms) if terms and every else "", items(every, "plain"), *map(prose, headline(judged)))
    title = "What survives, what does not, and what cannot be told" if every else "Summary"
    return Section("summary", title, [*text, note(noted) if noted else ""], link="Summary")


def schemes(pairs: Iterable[tuple[str, str]]) -> Section:
    """Return the section of the schemes as they are run."""
    rows = [(name, tag("code", text)) for name, text in pairs]
    return Section(
        "schemes", "Schemes", (), (Drawing("schemes", heads=("Scheme", "As it is run"), rows=rows, kind=""),)
    )


@dataclass(frozen=True)
class _Page:
    """What the page shows of conditions and claims."""

    paper: Paper
    measured: Measured
    judged: Ledger

    @property
    def base(self) -> str:
        return self.judged.readings[0].name

    def sections(self, more: Sequence[Section]) -> Iterator[Section]:
        """Yield all sections; `more` are after those of the study's hook."""
        paper, measured = self.paper, self.measured
        every, own = figures.load(paper), extension.hook(paper.folder, "sections")
        homes: dict[str, list[Claim]] = {figure.name: [] for figure in every}
        for claim in paper.claims:
            homes.setdefault(figures.home(every, claim), []).append(claim)
        ids = {figure.name: figure.slug for figure in every}
        ids |= {name: f"claims-{slug(name)}" for name in homes if name not in ids}
        noted = ""
        if recorded := record.read(paper):
            noted = (
                f"Outcomes that are marked as recorded are those of an earlier run ({recorded['size']}, "
                f"{recorded['date']}, build {recorded['build'][:12]}). What this report ran replaces them."
            )
        yield summarised(paper.folder, self.judged, noted)
        if main := [claim for claim in paper.claims if claim.is_main]:
            yield Section("main", "Main conclusions", (), (self.main(main),))
            yield from self.joint(main)
        yield from (*(own(paper, measured) if own else ()), *more)
        for figure in every:
            elsewhere = [
                (name, ids[name])
                for name in homes
                if name != figure.name and any(figures.is_same(figure.name, of) for of in figures.places(name))
            ]
            yield self.figure(figure, homes[figure.name], elsewhere)
        yield from self.tables({one.name for figure in every for one in figures.of(figure, paper.conditions)})
        if others := {name: of for name, of in homes.items() if name not in {figure.name for figure in every}}:
            yield Section("other-claims", "Claims about several figures or none", link="Other claims")
            for name, of in others.items():
                yield Section(ids[name], name, (), self.claims(of), level=3)
        yield from self.ledger({name: of for name, of in homes.items() if of}, ids)
        run = dict.fromkeys(name for one in measured.conditions for name in one.schemes)
        yield schemes((paper.printed[name], paper.spelled(name)) for name in run)

    def main(self, claims: Sequence[Claim]) -> Drawing:
        """Return the main conclusions with their outcomes."""
        rows, before = [], ""
        for claim in claims:
            outcomes = self.outcomes(claim)
            quote = tag("q", claim.quote) if claim.quote != before else ""
            link = tag("a", self.predicate(claim), href=f"#claim-{claim.id}")
            shares = [f"{one.value} {outcomes.count(one)}" for one in list(Outcome)[:-1] if one in outcomes]
            base = joined(" ", [sign(outcomes[0]), outcomes[0].value])
            rows.append((joined("", [quote, tag("div", link, kind="details")]), base, ", ".join(shares)))
            before = claim.quote
        return Drawing("main", heads=("Sentence", "Base reading", "All readings"), rows=rows, kind="")

    def joint(self, claims: Sequence[Claim]) -> Iterator[Section]:
        """Yield in how many of the joint readings that were run each main conclusion came to each outcome."""
        drawn, rows = joint(self.judged), []
        if not drawn:
            return
        for claim in claims:
            found = Counter(self.judged.verdicts[claim.id][one.name].outcome for one in drawn)
            if claim.comparison != "unjudgeable":
                link = tag("a", self.predicate(claim), href=f"#claim-{claim.id}")
                rows.append((link, [found[outcome] for outcome in Outcome]))
        open_readings = self.paper.open_readings
        points = [name for name in open_readings if any(name in one.values for one in drawn)]
        each = [(one.name, *(self.paper.chosen(one)[name] for name in points)) for one in drawn]
        yield Section(
            "joint",
            f"Main conclusions under joint readings, {len(drawn)} of which were run",
            (
                "A joint reading fills in everything below at once. They are drawn at random, stratified, from all "
                "combinations, and each counts the same, so the shares estimate those over all combinations.",
            ),
            (
                counted(
                    "joint", "Main conclusion", rows, [sum(of) for of in zip(*(of for _, of in rows), strict=True)]
                ),
                Details(
                    "What each joint reading is",
                    (
                        Drawing(
                            "joint-readings",
                            heads=("Reading", *(name.replace("_", " ") for name in points)),
                            rows=each,
                        ),
                    ),
                ),
            ),
            link="Joint readings",
        )

    def figure(
        self, figure: figures.Figure, claims: Sequence[Claim], elsewhere: Sequence[tuple[str, str]]
    ) -> Section:
        """Return what a figure of the study shows, our pictures of it, its numbers and the claims about it."""
        part = report_figures.part(self.paper, self.measured, figure)
        parts: list[object] = [
            tag("p", tag("strong", "The study"), f" ({part['place']}): {figure.shows}"),
            *(tag("p", one, kind="missing") for one in part["missing"]),
        ]
        for drawn, reading in part["pictures"]:
            is_base = reading in ("", self.base)
            parts.append(drawn if is_base else Details(drawn.caption.split(". ")[0], (drawn,), "picture"))
        parts += part["numbers"]
        if claims or elsewhere:
            parts += [tag("h3", f"Claims about {figure.name}", id=f"{figure.slug}-claims"), *self.claims(claims)]
        if elsewhere:
            links = joined("; ", [tag("a", name, href=f"#{place}") for name, place in elsewhere])
            parts.append(tag("p", "Also in: ", links, ".", kind="note"))
        number = figure.name.removeprefix("Figure ") if figure.name.startswith("Figure ") else ""
        group = "Figure" if number else "No figure"
        return Section(
            figure.slug, f"{figure.name}: {figure.title}", (), parts, link=number or figure.name, group=group
        )

    def tables(self, pictured: Collection[str]) -> Iterator[Section]:
        """Yield the conditions that have a table in the study, then those that no figure shows."""
        # A study of places has sections of its own; a table for each point of its sweeps would show nothing.
        shown = [one for one in self.measured.conditions if not self.paper.places]
        for one in shown:
            if one.table:
                yield Section(one.name, one.title, (), self.table(one), link=one.table, group="Table")
        if others := [one for one in shown if not one.table and one.name not in pictured]:
            yield Section("other-traffic", "Other traffic")
            for one in others:
                yield Section(one.name, one.title, (), self.table(one), level=3)

    def table(self, condition: Condition) -> list[object]:
        """Return the measured numbers of a condition in printed units, beside those of its table if it has one."""
        paper, measured = self.paper, self.measured
        runs = report_figures.shown(paper, measured, [condition])
        printed = {
            (one.row, one.scheme): one for one in paper.published if condition.table and one.table == condition.table
        }
        panels, rows = [], []
        for line in paper.rows:
            of = [evidence.estimates(paper, measured, reading, condition, line) for reading in runs]
            columns = [[one.get(scheme, evidence.NOTHING) for scheme in condition.schemes] for one in of]
            own = [printed.get((line.name, scheme)) for scheme in condition.schemes]
            numbers = [one.value if one else math.nan for one in own]
            panels.append(picture.Dots(report_figures.title(line), columns, numbers))
            unit = line.unit.split(",")[0]
            for k, (scheme, one) in enumerate(zip(condition.schemes, own, strict=True)):
                head = joined("", [f"{line.name}, {paper.printed[scheme]}",
                                        tag("span", f" {unit}", kind="pm") if unit != "ratio" else ""])  # fmt: skip
                cells = [
                    cell(
                        tag("span", evidence.number(column[k]), kind="mean"),
                        kind="in" if column[k].covers(numbers[k]) else None,
                    )
                    for column in columns
                ]
                rows.append((head, *([one.text if one else "–"] if condition.table else []), *cells))
        what = "printed (diamonds) and measured" if condition.table else "measured"
        caption = (
            f"{condition.title}: {what} values. Bars: 95 % intervals of the mean over {measured.replications} "
            "replications. Each panel has its own axis, which begins at zero."
        )
        names = [reading.name for reading in runs]
        labels = [paper.printed[name] for name in condition.schemes]
        drawn = picture.dots(picture.in_threes(panels), labels, names)
        modes = [found for name in names if (found := measured.modes.get((name, condition.name), ""))]
        said = [
            "± half-width of the 95 % interval of the mean.",
            "Coloured: the printed number lies in the interval. The study prints no units; these are inferred."
            if condition.table
            else "",
            f"Inter-arrival time by which dAQM divides: {'; '.join(modes)}." if modes else "",
        ]
        heads = ("Row and scheme", *(["Printed"] if condition.table else []), *names)
        return [
            Drawing(f"{condition.name}-figure", drawn, caption),
            Details(
                "Printed and measured numbers" if condition.table else "Numbers",
                (Drawing(condition.name, heads=heads, rows=rows),),
            ),
            note(" ".join(filter(None, said))),
        ]

    def ledger(self, homes: Mapping[str, Sequence[Claim]], ids: Mapping[str, str]) -> Iterator[Section]:
        """Yield the counts of outcomes by reading and by figure, and every claim under every reading."""
        paper = self.paper
        text = [
            note(
                "The first reading is the base. Every other reading changes only what its name says. A claim is "
                "decided by confidence intervals of paired differences over replications. Their levels are chosen "
                "so that the whole claim is decided wrongly with a probability of at most 5 %. A claim is "
                "undecided if an interval that matters contains zero. The condition of a claim is not reached "
                "where nothing happened: the queue is empty, the link is not loaded, or all schemes are equal in "
                "every replication. A claim is “not run” if traffic or a metric that it needs has not been run yet."
            ),
            note(looks(paper)),
        ]
        if missing := [f"{name} = {value}" for name, value in not_run(paper)]:
            text.append(note(f"Readings that are documented and not run yet: {'; '.join(missing)}."))
        rows = [(one.name, list(self.judged.counts(one.name).values())) for one in paper.readings]
        yield Section("ledger", "The ledger", (), (counted("ledger", "Reading", rows), *text), link="Ledger")
        yield Section(
            "places",
            "Overview: figure by figure",
            (
                "Each claim is counted once, under the figure that it is about, by its outcome under the base "
                f"reading: {self.base}.",
            ),
            (
                counted(
                    "places",
                    "Figure",
                    [(tag("a", name, href=f"#{ids[name]}"), self.counts(of)) for name, of in homes.items()],
                    self.counts(paper.claims),
                ),
            ),
            link="Overview",
        )
        shown = [(f"show-{one.key}", joined(" ", [sign(one), one.value])) for one in Outcome]
        choices = [("show-all", "all"), *shown, ("show-turned", "claims that depend on the reading")]
        labels = [
            tag("label", tag("input", type="radio", name="show", id=name, checked="" if name == "show-all" else None),
                " ", what)
            for name, what in choices
        ]  # fmt: skip
        names = [reading.name for reading in paper.readings]
        lines: list[object] = []
        for name, of in homes.items():
            lines += [(name,), *map(self.line, of)]
        yield Section(
            "claims",
            "All claims under every reading",
            (),
            (
                tag("fieldset", tag("legend", "Show, by outcome under the base reading"), *labels, kind="filter"),
                tag("ol", *(tag("li", one) for one in names), kind="columns"),
                Drawing(
                    "claims",
                    heads=("Claim", *(cell(k, title=one) for k, one in enumerate(names, 1))),
                    rows=lines,
                    kind="matrix",
                ),
            ),
            link="All claims",
        )

    def outcomes(self, claim: Claim) -> list[Outcome]:
        """Return a claim's outcomes by reading."""
        return [self.judged.verdicts[claim.id][reading.name].outcome for reading in self.judged.readings]

    def predicate(self, claim: Claim) -> str:
        return predicate(self.paper, self.paper.printed, claim)

    def counts(self, claims: Sequence[Claim]) -> list[int]:
        """Return how many claims came to each outcome under the base."""
        found = Counter(self.judged.verdicts[claim.id][self.base].outcome for claim in claims)
        return [found[outcome] for outcome in Outcome]

    def claims(self, claims: Sequence[Claim]) -> list[Details]:
        """Return claims by their outcome under the base."""
        of = {outcome: [one for one in claims if self.outcomes(one)[0] is outcome] for outcome in Outcome}
        return [
            Details(
                joined(" ", [sign(outcome), f"{outcome.value.capitalize()}: {len(own)}"]),
                (tag("ul", *map(self.claim, own)),),
                "claims",
            )
            for outcome, own in of.items()
            if own
        ]

    def line(self, claim: Claim) -> Row:
        """Return a claim's outcome under every reading."""
        outcomes = self.outcomes(claim)
        is_turned = {Outcome.HOLDS, Outcome.FAILS} <= set(outcomes)
        quote = (
            claim.quote
            if len(claim.quote) <= _LONGEST_QUOTE
            else f"{claim.quote[:_LONGEST_QUOTE].rsplit(' ', 1)[0]}..."
        )
        link = tag("a", quote, href=f"#claim-{claim.id}")
        first = joined(" ", [link, tag("span", self.predicate(claim), kind="pm")])
        cells = [cell(one.sign, kind=f"sign {one.key}", title=one.value) for one in outcomes]
        return row([first, *cells], id=f"line-{claim.id}", kind=outcomes[0].key + " turned" * is_turned)

    def claim(self, claim: Claim) -> Element:
        """Return a claim, its outcome, the numbers that decided it, and a reading that turns it."""
        base, of = self.judged.readings[0], self.judged.verdicts[claim.id]
        decided = {Outcome.HOLDS, Outcome.FAILS}
        other = (one for one in self.judged.readings if {of[one.name].outcome, of[base.name].outcome} == decided)
        turning = next((one for one in other if one.is_run), None)
        under = {one: self.judged.under(claim, one) for one in Outcome if one is not of[base.name].outcome}
        readings = "; ".join(f"{one.value} under {_listed(names)}" for one, names in under.items() if names)
        said = of[base.name].said.capitalize() + (" (recorded)" if of[base.name].is_recorded else "")
        lines = evidence.lines(self.paper, self.measured, claim, base)
        if turning:
            there = evidence.lines(self.paper, self.measured, claim, turning)
            lines = [*lines, *(f"{turning.name}: {line}" for line in there)]
        page_ = f", page {claim.page}" if claim.page else ""
        also = f"; also in {', '.join(claim.also)}" if claim.also else ""
        place = f"{claim.place}; section {claim.section}{page_}{also}"
        return tag(
            "li",
            tag("q", claim.quote),
            tag("div", said, tag("span", f"; {readings}", kind="readings") if readings else "",
                kind=f"outcome {of[base.name].outcome.key}"),
            *(tag("div", line, kind="evidence") for line in lines),
            tag("div", f"{self.predicate(claim)}. {place}. ",
                tag("a", "All readings", href=f"#line-{claim.id}"), kind="details"),
            id=f"claim-{claim.id}",
            data_outcome=of[base.name].outcome.key,
        )  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    """Return readings in quotes, as their names have commas; of many their number, since a table has them all."""
    if len(names) > MOST_NAMES:
        return f"{len(names)} other readings"
    return ", ".join(f"“{one}”" for one in names)


MOST_NAMES: Final = 6
"""Names of readings in a line."""
_LONGEST_NAME: Final = 45
"""A sentence of the summary that begins with no more characters before a colon begins with a name."""
_LONGEST_QUOTE: Final = 70
"""Characters of a quotation in a line of the table of all claims."""
FEWEST: Final = 10
"""A reading that decides fewer claims has no share of those that hold."""


def words(folder: Path) -> Mapping[str, Any]:
    """Return ``report.toml``; nothing without it."""
    file = folder / "report.toml"
    return read_toml(file) if file.is_file() else {}


def summary(folder: Path) -> tuple[str, ...]:
    """Return the sentences that begin a report and the study's README; none without ``report.toml``."""
    return tuple(words(folder).get("summary", ()))


def looks(paper: Paper) -> str:
    """Return what the two looks of ``--full`` cost, as sentences."""
    first, last = (paper.replications[size] for size in ("quick", "full"))
    rate = logic.two_looks(first, last)
    return (
        f"--full looks twice: after {first} replications, and after {last} where a claim is open. One look decides a "
        f"statement wrongly with a probability of at most {(1 - LEVEL) / 2:.1%}, since only one side of an interval "
        f"of {LEVEL:.0%} is wrong; two looks do with at most {rate / 2:.1%}. A difference whose true mean is zero "
        f"counts as one in {rate:.1%} of cases after two looks, instead of {1 - LEVEL:.0%}."
    )


def joint(judged: Ledger) -> list[Reading]:
    """Return the joint readings under which main conclusions were run."""
    main = [one.id for one in judged.paper.claims if one.is_main and one.comparison != "unjudgeable"]
    return [
        one
        for one in judged.readings
        if one.is_drawn and any(judged.verdicts[claim][one.name].outcome is not Outcome.NOT_RUN for claim in main)
    ]


def headline(judged: Ledger) -> list[str]:
    """Return the counts under the plainest reading and the share that holds under all, a sentence for each set."""
    found, every = [], judged.paper.claims
    for what, claims in (("main conclusions", [one for one in every if one.is_main]), ("claims", every)):
        ids = [one.id for one in claims]
        shares = [judged.share(one.name, ids) for one in judged.readings]
        known = sorted(holds / decided for holds, decided in shares if decided >= FEWEST)
        base = Counter(judged.verdicts[one][judged.readings[0].name].outcome for one in ids)
        counts = ", ".join(f"{outcome.value} {base[outcome]}" for outcome in Outcome if base[outcome])
        if known:
            span = f"{known[0]:.0%} to {known[-1]:.0%} of those decided hold (median {known[len(known) // 2]:.0%})"
            found.append(
                f"Of {len(ids)} {what}, under the base reading: {counts}; over {len(known)} readings, {span}."
            )
    if drawn := joint(judged):
        main = [one.id for one in every if one.is_main and one.comparison != "unjudgeable"]
        of = Counter(judged.verdicts[one][reading.name].outcome for one in main for reading in drawn)
        said = ", ".join(f"{outcome.value} {of[outcome] / of.total():.0%}" for outcome in Outcome if of[outcome])
        found.append(
            f"Of {len(main)} main conclusions that runs can decide, in joint readings ({len(drawn)}): {said}."
        )
    return found
