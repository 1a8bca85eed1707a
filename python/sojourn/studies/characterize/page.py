"""The report of a characterisation: its sections follow those of RFC 7928."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn.base import core
from sojourn.base.wording import listed
from sojourn.model.scheme import Scheme, entry_of
from sojourn.results import headline, metrics
from sojourn.stats.front import LIMITS
from sojourn.studies.characterize import pictures, requirements
from sojourn.studies.characterize.cost import Cost
from sojourn.studies.characterize.fronts import Judged, sentence
from sojourn.studies.characterize.measures import heading
from sojourn.studies.characterize.networks import Setting
from sojourn.studies.characterize.numbers import DELAY, GOODPUT, Found
from sojourn.studies.characterize.stability import stability
from sojourn.studies.characterize.suite import RFC, Headline, Suite, levels
from sojourn.view.report import page as filled
from sojourn.view.report.sections import Drawing, Section, items

_LEVELS: Final = ("mild", "medium", "heavy")
_PROJECTED: Final = (0.001, 0.005, 0.01)
_CONTROL: Final = ("parameter", "value", "default", "what it does")


@dataclass(frozen=True)
class Characterisation:
    """All that a report shows: the scenarios with their runs, in the order of the suite, and costs by label.

    `document_names` has the plan's file of each scenario, `skipped` why there is none, and `fronts` where the schemes
    lie beside tail drop.
    """

    subject: Scheme
    setting: Setting
    found: tuple[Found, ...]
    costs: Mapping[str, Cost]
    document_names: Mapping[str, str]
    skipped: Mapping[str, str]
    fronts: tuple[Judged, ...] = ()
    suite: Suite = RFC

    @property
    def everyone(self) -> tuple[Scheme, ...]:
        """All schemes, the subject first."""
        return max((one.plan.schemes for one in self.found), key=len)


def html(whole: Characterisation) -> str:
    """Return the report as one HTML page."""
    subject, about, suite = whole.subject, entry_of(whole.subject.algorithm), whole.suite
    others = ", ".join(one.label for one in whole.everyone if one.label != subject.label)
    replications = sorted({one.plan.replications for one in whole.found})
    found = Section("found", "What was found", (), (items(_headlines(whole)),))
    return filled(
        f"{subject.label} {suite.title}",
        (found, *([front_section(whole.fronts)] if whole.fronts else []), *_sections(whole)),
        kind="characterisation",
        lead=f"{about['title']}: {about['summary']}. {suite.lead.format(others=others)}",
        facts=(
            ("Scheme", subject.text),
            ("Beside", others),
            (suite.place[0], suite.place[1].format(rate=whole.setting.rate_mbit_s)),
            ("Base RTT", f"{whole.setting.rtt_ms:g} ms"),
            ("Buffer", _buffer(whole.setting)),
            ("Replications", " and ".join(str(n) for n in replications)),
            ("Build", core.build()),
        ),
        made=core.version(),
    )


def _buffer(setting: Setting) -> str:
    return "bandwidth-delay product" if setting.buffer_packets is None else f"{setting.buffer_packets} packets"


def _headlines(whole: Characterisation) -> list[str]:
    """Count, for each other scheme, the networks in which the subject is lower, higher or tied."""
    subject = whole.subject.label
    made = []
    for other in (one.label for one in whole.everyone if one.label != subject):
        parts = []
        for measure in whole.suite.headlines:
            found = [
                one.differences(subject, measure.metric, level).get(other)
                for one in whole.found
                if {subject, other} <= set(one.labels)
                for level in one.levels
            ]
            known = [how for how in found if how is not None]
            counts = {how: known.count(how) for how in ("lower", "higher", "tied")}
            parts.append(
                f"{measure.title} lower in {counts['lower']} of {len(known)} networks, higher in {counts['higher']}, "
                f"no significant difference in {counts['tied']}"
            )
        made.append(f"Compared with {other}: {'; '.join(parts)}.")
    if whole.fronts:
        made.append(sentence(whole.fronts, subject))
    return made


def front_section(fronts: Sequence[Judged]) -> Section:
    """Return where schemes lie beside the front of tail drop: a picture, and a table of schemes and classes."""
    labels = list(dict.fromkeys(label for one in fronts for label in one.standings))
    off = {
        label: sum(one.standings[label].place == "off" for one in fronts if label in one.standings)
        for label in labels
    }
    rows = [
        (label, f"{off[label]} of {len(fronts)}", *(str(one.standings.get(label, "–")) for one in fronts))
        for label in sorted(labels, key=lambda label: -off[label])
    ]
    text = (
        "A short queue of tail drop has little delay, too, and loses goodput for it. Here it has limits of "
        f"{LIMITS[0]} to {LIMITS[-1]} packets, and one limit for all networks of a class. A "
        "scheme is off this front if no limit, and no mixture of neighbouring limits, is as good in every measure of "
        "the class: compared with each, it is better in one measure at least, by more than 1 %. It is behind the "
        "front if a limit is better in a measure, and worse in none, by more than 1 %. Both are at the 5 % level "
        "after Holm's correction over the schemes. Of a scheme on the front, these runs do not show that it does "
        "what a buffer does not.",
    )
    measures = [
        f"{one.of.title}, {one.of.about}: {listed([each.name for each, _ in one.of.measures])}" for one in fronts
    ]
    return Section(
        "front",
        "Beside a small buffer",
        text,
        (
            items(measures),
            Drawing("front-picture", pictures.fronts(fronts), "Means of the runs. Below and right is better."),
            Drawing("front-table", None, "Where each scheme lies, with the p-value, or the limit that is better.",
                    ("Scheme", "Off the front", *(one.of.title for one in fronts)), rows),
        ),
        link="Front",
    )  # fmt: skip


def _sections(whole: Characterisation) -> Iterator[Section]:
    yield _setup(whole)
    waiting = {number: _PARTS[name] for name, number in whole.suite.parts.items()}
    for one in whole.found:
        for number in [n for n in waiting if _order(n) < _order(one.scenario.section)]:
            yield waiting.pop(number)(whole, number)
        yield _scenario(whole, one)
    for number, make in waiting.items():
        yield make(whole, number)


def _order(section: str) -> tuple[int, ...]:
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in section.partition("-")[0].split("."))


def anchor(section: str) -> str:
    """Return the name of a section on the page."""
    return f"s{section.replace('.', '-')}"


def _setup(whole: Characterisation) -> Section:
    rows = [
        (section, _limit(one), *_times(one), str(one.plan.replications), whole.document_names[section])
        for one in whole.found
        for section in [one.scenario.section]
    ]
    suite = whole.suite
    text = (
        *suite.setup,
        "The warm-up comes from MSER-5 on the queue and the goodput of one pilot run of each scheme: the latest "
        "time at which a series settles, rounded up to 5 s, and 60 s where "
        "one does not settle within a minute. In each replication all schemes meet the same traffic.",
        "To change a scenario, edit its plan and run “sojourn plan run PLAN --store STORE”. The command “sojourn "
        "characterize” continues an interrupted run.",
    )
    heads: tuple[str, ...] = ("Section", "Buffer (packets)", "Warm-up", "Measured", "Replications", "Plan")
    drawings = [Drawing("setup", None, "The plans of this page", heads, tuple(rows))]
    if suite.measures:
        defined = tuple((one.heading, one.definition, one.source) for one in suite.measures)
        heads = ("Measure", "Definition", "Source")
        drawings.append(Drawing("measures", None, "What is measured", heads, defined, kind=""))
    return Section("setup", suite.setup_title, text, tuple(drawings))


def _limit(one: Found) -> str:
    _, has_limit, rest = one.plan.schemes[0].text.rpartition(" limit ")
    return rest.split()[0] if has_limit else "–"


def _times(one: Found) -> tuple[str, str]:
    document = tomllib.loads(one.plan.scenario)
    warm_up, length = document["warm_up"], document["duration"]
    return warm_up, f"{float(length.split()[0]) - float(warm_up.split()[0]):g} s"


def _scenario(whole: Characterisation, one: Found) -> Section:
    scenario = one.scenario
    name = anchor(scenario.section)
    document = tomllib.loads(one.plan.scenario)
    drawings = [
        Drawing(
            f"{name}-network",
            pictures.drawn_network(document),
            f"Network: {document['description']}.",
        )
    ]
    shown = _level(one)
    at = f" ({one.factor} = {scenario.level(shown)})" if shown is not None else ""
    x, y = map(heading, scenario.plane) if scenario.plane else ("queueing delay", "Goodput")
    caption = (
        f"{y} against {x[:1].lower()}{x[1:]}{at}: small points are runs, a marker is their median, "
        "and the shape is the "
        "ellipse of one standard deviation."
    )
    if scenario.groups and not scenario.plane:
        caption += (
            " The delay of a group is the mean one-way delay of its packets, less the smallest of any of its packets."
        )
    drawings.append(Drawing(f"{name}-tradeoff", pictures.tradeoff(one, shown), caption))
    curves = pictures.distributions(one, shown)
    if curves is not None:
        drawings.append(
            Drawing(f"{name}-cdf", curves, f"Distribution over all packets{at}, mean of the replications.")
        )
    if one.factor is not None and (scenario.plane or not scenario.groups):
        over = pictures.over_factor(one, tuple(measure.metric for measure in whole.suite.headlines))
        what = "The measures of the sentences" if scenario.plane else "Mean sojourn time and goodput"
        drawings.append(Drawing(f"{name}-over", over, f"{what} over {one.factor}."))
    drawings.append(_run_table(one))
    if scenario.groups:
        drawings.append(_group_table(one))
    if scenario.section in ("4.5", "6.2"):
        drawings.append(_ratio_table(one))
    if scenario.section == "8.2.2":
        drawings.append(_loss_table(whole, one))
    if scenario.phases:
        drawings.append(_phase_table(one))
    text = (scenario.question, *_sentences(whole, one))
    return Section(name, f"{scenario.section} {scenario.title}", tuple(text), tuple(drawings))


def _level(one: Found) -> Any:
    """Return the level that pictures show: the middle one."""
    return one.levels[len(one.levels) // 2]


def _rows(one: Found, cells: Callable[..., Iterable[Sequence[str]]], parts: Sequence[Any] = ("",)) -> list[Any]:
    """Return rows behind the names of schemes and levels, those of each part of a level together."""
    return [
        (label, *(() if level is None else (one.scenario.level(level),)), *own)
        for level in one.levels
        for part in parts
        for label in one.labels
        for own in cells(label, level, part)
    ]


def _table(one: Found, name: str, caption: str, heads: Iterable[str], rows: Sequence[object], **more: Any) -> Drawing:
    leads = ("Scheme",) if one.factor is None else ("Scheme", one.factor)
    return Drawing(f"{anchor(one.scenario.section)}-{name}", None, caption, (*leads, *heads), rows, **more)


def _heads(names: Iterable[str]) -> list[str]:
    return [heading(name) for name in names]


def _run_table(one: Found) -> Drawing:
    names = [*filter(one.has, one.scenario.metrics)]
    tested = {level: found.tested for level, found in one.results.items()}
    has_queues = any(len(queues) > 1 for queues in tested.values()) and any(map(metrics.is_of_queues, names))

    def cells(label: str, level: Any, _: str) -> Iterator[Sequence[str]]:
        for queue, own in headline.layout(tested[level], names):
            texts = ["" if name is None else one.text(label, name, level) for name in own]
            yield [queue, *texts] if has_queues else texts

    caption = "Mean ± half-width of the 95 % interval over the replications."
    if has_queues:
        caption += " Each queue under test has a row, the busiest first; pictures and sentences are of the busiest."
    heads = [*(("Queue",) if has_queues else ()), *_heads(names)]
    return _table(one, "runs", caption, heads, _rows(one, cells))


def _group_table(one: Found) -> Drawing:
    groups = one.scenario.groups
    names = [name for name in one.scenario.of_groups if any(one.has(name, group=group) for group, _ in groups)]

    def cells(label: str, level: Any, group: tuple[str, str]) -> Iterator[Sequence[str]]:
        yield (group[1], *(one.text(label, name, level, group=group[0]) for name in names))

    rows = _rows(one, cells, groups)
    heads = ("Flows", *_heads(names))
    return _table(one, "groups", "The same by group of flows.", heads, rows, is_folded=len(rows) > 16)


def _ratio_table(one: Found) -> Drawing:
    def cells(label: str, level: Any, _: str) -> Iterator[Sequence[str]]:
        first, second = (one.values(label, GOODPUT, level, group=group) for group in ("first", "second"))
        yield (metrics.written(one.results[level].mean(label, second / first)),)

    caption = "Goodput of the flow with the other RTT, divided by that of the flow with 100 ms."
    return _table(one, "ratio", caption, ("Ratio of goodputs",), _rows(one, cells))


def _loss_table(whole: Characterisation, one: Found) -> Drawing:
    counts = levels(whole.setting, whole.setting.buffer())
    rows = [
        (level, str(count), f"{projected * 100:g}", *(one.text(label, "loss_ratio", count) for label in one.labels))
        for level, count, projected in zip(_LEVELS, counts, _PROJECTED, strict=True)
    ]
    caption = "Losses: projected for tail drop by the RFC's formula (0.76 N² / S²), and measured, in %."
    heads = ("Congestion", "Flows", "Projected (%)", *(f"{label} (%)" for label in one.labels))
    return Drawing(f"{anchor(one.scenario.section)}-losses", None, caption, heads, rows)


def _phase_table(one: Found) -> Drawing:
    names = (DELAY, "sojourn_ms_p99", GOODPUT, "loss_ratio", "utilisation")

    def cells(label: str, level: Any, phase: str) -> Iterator[Sequence[str]]:
        yield (phase, *(one.text(label, name, level, phase=phase) for name in names))

    caption = "By phase; all occurrences of a phase in a run are one observation."
    rows = _rows(one, cells, one.results[None].phase_names)
    return _table(one, "phases", caption, ("Phase", *_heads(names)), rows)


def _sentences(whole: Characterisation, one: Found) -> list[str]:
    subject = whole.subject.label
    if subject not in one.labels:
        return [f"{subject} has no parameter {one.scenario.parameter!r}; the others are shown."]
    made = []
    every = one.levels
    for level in every if len(every) <= 3 else (every[0], every[-1]):
        start = "" if level is None else f"With {one.factor} = {one.scenario.level(level)}, "
        has = [measure.phrase.format(one.text(subject, measure.metric, level)) for measure in whole.suite.headlines]
        compared = [_compared(one, subject, measure, level) for measure in whole.suite.headlines]
        made.append("".join((f"{start}{subject} has {listed(has)}.", *compared)))
    return made


def _compared(one: Found, subject: str, measure: Headline, level: Any) -> str:
    found = one.differences(subject, measure.metric, level)
    if not found:
        return ""
    parts = []
    for how, text in (
        ("lower", "lower than with"),
        ("higher", "higher than with"),
        ("tied", "not significantly different from"),
    ):
        names = [label for label, what in found.items() if what == how]
        if names:
            parts.append(f"{text} {listed(names)}")
    return f" Its {measure.word} is {'; '.join(parts)}."


def _scheduling(whole: Characterisation, number: str) -> Section:
    rows = []
    for one in whole.everyone:
        entry = entry_of(one.algorithm)
        at = {
            "enqueue": "at arrival",
            "dequeue": "at departure",
            "both": "at arrival and at departure",
            "never": "never",
        }
        rows.append(
            (
                one.label,
                at.get(str(entry["drops_at"]), "–"),
                str(entry["signals_on"] or "–"),
                "yes" if entry["per_flow_state"] else "no",
                "yes" if entry["ecn"] else "no",
            )
        )
    text = (
        "A scheme without queues for flows can run below any scheduler, one instance for each class. A scheme that "
        "hashes flows into queues is itself the scheduler among them.",
        "A decision at arrival is based on the queue that the packet finds; a decision at departure on the time "
        "that the packet has waited.",
    )
    table = Drawing(
        "scheduling",
        None,
        "Where each scheme decides",
        ("Scheme", "Drops or marks", "By", "Queues or state for flows", "Can mark (ECN)"),
        tuple(rows),
        kind="",
    )
    return Section(anchor(number), f"{number} Interaction with scheduling", text, (table,))


def _stability(whole: Characterisation, number: str) -> Section:
    rows, missing = [], []
    buffer = whole.setting.buffer()
    for one in whole.everyone:
        found = [stability(one, whole.setting, count) for count in levels(whole.setting, buffer)]
        if found[0] is None:
            missing.append(one.label)
            continue
        rows += [(one.label, level, *row) for level, row in zip(_LEVELS, found, strict=True) if row is not None]
    text = [
        "The fluid model of Misra, Gong and Towsley with Reno flows, linearised at its fixed point. A delay margin "
        "is how much longer the round trip may become until the fixed point is unstable.",
    ]
    if missing:
        text.append(f"No fluid model of {listed(missing)} is known to Sojourn.")
    heads = ("Scheme", "Congestion", "Fixed point: queue (packets)", "Loss (%)", "Stable", "Delay margin (ms)")
    drawings = (Drawing("stability", None, "Stability of the control law", heads, tuple(rows)),) if rows else ()
    return Section(anchor(number), f"{number} Parameter sensitivity and stability", tuple(text), drawings)


def _cost(whole: Characterisation, number: str) -> Section:
    if not whole.costs:
        return Section(
            anchor(number),
            f"{number} Implementation cost",
            ("Not measured in this run (--no-cost, or only some sections).",),
        )
    rows = [
        (label, metrics.shown(cost.ns_a_packet), f"{cost.bytes_a_flow:.0f}") for label, cost in whole.costs.items()
    ]
    text = (
        "CPU time a packet above that of tail drop: five alternating runs on this machine, 20 Poisson flows at 90 % "
        "of 200 Mbit/s, so that both schemes see the same packets.",
        "Memory a flow: growth of the process from 100 to 10,000 flows at 50 % load, less that under tail drop. "
        "Values below some 30 B are noise.",
    )
    heads = ("Scheme", "CPU time above tail drop (ns a packet)", "Memory above tail drop (B a flow)")
    return Section(
        anchor(number), f"{number} Implementation cost", text, (Drawing("cost", None, "Cost", heads, tuple(rows)),)
    )


def _control(whole: Characterisation, number: str) -> Section:
    entry = entry_of(whole.subject.algorithm)
    docs = {one["name"]: one for one in entry["parameters"]}
    rows = tuple(
        (one.name, str(one.value), str(docs[one.name]["default"]), docs[one.name]["doc"])
        for one in whole.subject.parameters()
    )
    changed = [row[0] for row in rows if row[1] != row[2]]
    text = (
        f"{whole.subject.label} has {len(rows)} parameters. "
        + (
            f"This characterisation sets {listed(changed)}; the others have their defaults."
            if changed
            else "All have their defaults here."
        )
        + " The buffer is set for each scenario.",
    )
    return Section(
        anchor(number),
        f"{number} Operator control and auto-tuning",
        text,
        (Drawing("control", None, "Parameters", _CONTROL, rows, kind=""),),
    )


def _summary(whole: Characterisation, number: str) -> Section:
    done = {one.scenario.section for one in whole.found}
    unmeasured = "" if whole.costs else whole.suite.parts["cost"]
    rows = tuple(
        (one.section, one.what, one.weight, requirements.state(one, done, whole.skipped, cost=unmeasured))
        for one in whole.suite.items
    )
    caption = "The items of the RFC" if whole.suite is RFC else "What the study asks for"
    return Section(
        anchor(number),
        f"{number} Checklist",
        (),
        (Drawing("checklist", None, caption, ("Section", "Item", whole.suite.asked, "Here"), rows, kind=""),),
    )


_PARTS: Final[Mapping[str, Callable[[Characterisation, str], Section]]] = {
    "scheduling": _scheduling,
    "stability": _stability,
    "cost": _cost,
    "control": _control,
    "checklist": _summary,
}
"""The sections without a scenario."""
