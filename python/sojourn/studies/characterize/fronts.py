"""Schemes beside the front of tail drop: what they do that a small buffer does not, by classes of networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sojourn.base.wording import listed
from sojourn.model.scheme import Scheme
from sojourn.results.metrics import quantity
from sojourn.stats import Floats
from sojourn.stats.front import LIMITS, Criterion, Standing, fifo, standings
from sojourn.studies.characterize.numbers import GOODPUT, Found, Values, reading, unequal, worst
from sojourn.studies.characterize.suite import Scenario

POINTS: Final = tuple(Scheme(fifo(limit), fifo(limit)) for limit in LIMITS)
_P99: Final = "sojourn_ms_p99"
_TAIL: Final = Criterion("p99 delay (ms)", lower=True, of=quantity(_P99))
_CARRIED: Final = Criterion("goodput (Mbit/s)", lower=False)
_WORST: Final = ((_TAIL, worst(_P99, lower=True)), (_CARRIED, worst(GOODPUT, lower=False, scale=1e-6)))


@dataclass(frozen=True, slots=True)
class Class:
    """A class of networks: a scenario, and the measures that are judged together, each with what reads it.

    `about` is of the networks. The first two measures are drawn: a delay, and a goodput.
    """

    title: str
    about: str
    section: str
    measures: tuple[tuple[Criterion, Values], ...]


def _one(level: int = 0, **where: str) -> tuple[tuple[Criterion, Values], ...]:
    return (
        (_TAIL, reading(_P99, level=level)),
        (_CARRIED, reading(GOODPUT, 1e-6, level, **where)),
    )


CLASSES: Final = (
    Class("one load", "one number of bulk flows (8.2.3)", "8.2.2", _one(1)),
    Class("few and many flows", "three numbers of bulk flows (8.2.2 to 8.2.4)", "8.2.2", _WORST),
    Class("bursts", "web and video beside bulk (7.2, case IV)", "7.2-IV",
          (*_one(group="bulk"), (Criterion("page load (s)", lower=True), reading("page_load_s_mean", group="web")))),
    Class("short transfers", "a short transfer beside a long flow (5.1.2)", "5.1.2",
          (*_one(1), (Criterion("completion (s)", lower=True),
                      reading("flow_completion_s_mean", level=1, group="short")))),
    Class("unequal RTTs", "two flows, of 100 ms and of 5 to 560 ms (6.2)", "6.2",
          (*_WORST, (Criterion("ratio of goodputs", lower=True), unequal))),
    Class("changing rate", "alternates between 100 and 10 Mbit/s every 20 s (8.2.6)", "8.2.6-1",
          ((_TAIL, reading(_P99, phase="10 Mbit/s")), (_CARRIED, reading(GOODPUT, 1e-6, phase="100 Mbit/s")))),
    Class("calls", "calls beside web, video and bulk (9.1)", "9.1",
          ((Criterion("delay variation of the call, p99 (ms)", lower=True),
            reading("delay_variation_ms_p99", group="voip")),
           (_CARRIED, reading(GOODPUT, 1e-6, group="bulk")))),
    Class("several rates", "links of 2, 20 and 100 Mbit/s", "rates",
          (_WORST[0], (Criterion("least utilisation", lower=False), worst("utilisation", lower=False)))),
    Class("large BDP", "100 Mbit/s with a base RTT of 200 ms", "large", _one()),
)  # fmt: skip
"""Every class; the last two have networks that RFC 7928 does not have."""


@dataclass(frozen=True)
class Judged:
    """A class with its runs: values by scheme and by limit, in the order of the measures, and where schemes lie."""

    of: Class
    values: Mapping[str, list[Floats]]
    points: Mapping[int, list[Floats]]
    standings: Mapping[str, Standing]


def scenarios(of: Sequence[Scenario]) -> Iterator[Scenario]:
    """Yield the scenarios of the front: those of some scenarios that have a class."""
    sections = {one.section for one in CLASSES}
    for one in of:
        if one.section in sections:
            yield replace(one, section=f"{one.section}-front")


def judged(found: Sequence[Found]) -> tuple[Judged, ...]:
    """Judge the schemes of each class whose scenario and front were run, with Holm's correction over the schemes."""
    by_section = {one.scenario.section: one for one in found}
    made = []
    for one in CLASSES:
        own, front = by_section.get(one.section), by_section.get(f"{one.section}-front")
        if own is None or front is None:
            continue
        points = {limit: _values(one, front, fifo(limit)) for limit in LIMITS}
        values = {label: _values(one, own, label) for label in own.labels}
        shape = points[LIMITS[0]][0].shape
        values = {label: each for label, each in values.items() if {part.shape for part in each} == {shape}}
        measures = [measure for measure, _ in one.measures]
        made.append(Judged(one, values, points, standings(values, points, measures)))
    return tuple(made)


def sentence(every: Sequence[Judged], label: str) -> str:
    """Return in which classes a scheme lies off the front, on it and behind it."""
    own = {one.of.title: one.standings[label].place for one in every if label in one.standings}
    words = {"off": "off it", "on": "on it", "behind": "behind it"}
    parts = [
        f"{text} in {listed(names)}"
        for place, text in words.items()
        if (names := [title for title, where in own.items() if where == place])
    ]
    return f"Beside the front of tail drop with small and large buffers, {label} lies {'; '.join(parts)}."


def _values(one: Class, found: Found, label: str) -> list[Floats]:
    return [read(found, label) for _, read in one.measures]
