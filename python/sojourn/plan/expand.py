"""The cells of a plan, each of them checked completely."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sojourn import _native
from sojourn.base import core, suggest, toml
from sojourn.base.core import Document
from sojourn.base.errors import ScenarioError, SojournError
from sojourn.base.units import auto_interval_ns, from_ns, to_ns
from sojourn.model.scheme import Scheme, with_parameters
from sojourn.plan.identity import SIMULATED, Run, scenario_hash, stripped
from sojourn.plan.model import AUTO, NAME, SCHEME, Value, derived_seed, is_name
from sojourn.results import headline, metrics, notices
from sojourn.results.notices import Notice

if TYPE_CHECKING:
    from sojourn.plan.model import Plan

GREATEST: Final = 1_000_000
"""Cells of one plan."""

SAMPLED: Final = 1000
"""Larger plans have no time series by default: they would fill the store."""

_SHOWN: Final = 10
_RESERVED: Final = ("scheme", "replication", "cell", "plan", "run", "build", "scenario", "seed")
_SET_PLACE: Final = re.compile(r"^--set [^:]*?=(?:\"[^\"]*\"|[^:]*): ")


@dataclass(frozen=True)
class Cell:
    """One combination of scheme and levels.

    Parameters
    ----------
    number
        From 0, in the plan's order.
    scheme, label
        The scheme with the parameters of this cell, and its label in the plan.
    levels
        The value of every factor; None where the factor is another scheme's.
    scenario
        Hash of the canonical scenario.
    """

    number: int
    scheme: Scheme
    label: str
    levels: dict[str, Value | None]
    scenario: str
    seed: int
    series: str | None = None
    series_replications: int = 0
    world: str = SIMULATED

    def __str__(self) -> str:
        return describe(self.label, self.levels)

    def run(self, replication: int) -> Run:
        """Return the run of a replication."""
        sampled = self.series if replication < self.series_replications else None
        return Run(self.scenario, self.scheme.canonical or None, self.seed, replication, sampled, self.world)


@dataclass(frozen=True)
class Cells:
    """The cells of a plan, and the texts of their scenarios by hash; `parts`: the plans that it is made of."""

    plan: Plan
    cells: tuple[Cell, ...]
    scenarios: dict[str, str] = field(repr=False)
    parts: tuple[Plan, ...] = ()

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)


def describe(label: str, levels: dict[str, Value | None]) -> str:
    """Write a cell as messages have it: ``scheme=codel, rate=10 Mbit/s``."""
    parts = [f"{SCHEME}={label}", *(f"{name}={value}" for name, value in levels.items() if value is not None)]
    return ", ".join(parts)


def cells(plan: Plan) -> Cells:
    """Return every cell of a plan.

    Raises
    ------
    SojournError
        If a cell is impossible; the message names the first ten of these with their keys.
    """
    _check_names(plan)
    base = core.load(plan.scenario, source=plan.source, sets=plan.sets)
    if plan.series not in (None, AUTO):
        _check_series(plan)
    count = 1
    for variation in plan.vary:
        count *= len(variation.points)
    if count * max(len(plan.schemes), 1) > GREATEST:
        raise ScenarioError(
            f"{plan.origin}: more than {GREATEST:,} cells; vary fewer factors, or sample a Latin hypercube"
        )
    text = toml.dumps(base)
    schemes = plan.schemes or (Scheme(""),)
    known: dict[tuple[object, ...], Cell] = {}
    scenarios: dict[str, str] = {}
    bad: dict[str, list[str]] = {}
    seen: set[tuple[object, ...]] = set()
    loaded: dict[tuple[str, ...], str | SojournError] = {}
    sampling: dict[str, tuple[str | None, int]] = {}
    if plan.series == AUTO and count * max(len(plan.schemes), 1) > SAMPLED:
        plan = replace(plan, series=None)
    for points in itertools.product(*(variation.points for variation in plan.vary)):
        values = [value for point in points for value in point]
        for scheme in schemes:
            levels, sets, parameters = _assign(plan, scheme, values)
            key = (scheme.label, *levels.values())
            if key in seen:
                continue
            seen.add(key)
            try:
                own = _scheme(scheme.exact, scheme.label, tuple(parameters.items()))
                at = _load(text, plan, tuple(sets), loaded, scenarios, sampling)
            except SojournError as error:
                bad.setdefault(_SET_PLACE.sub("", str(error)), []).append(describe(scheme.label, levels))
                continue
            seed = _seed(plan, scheme.label, levels)
            known[key] = Cell(len(known), own, scheme.label, levels, at, seed, *sampling[at], plan.world)
    if bad:
        raise ScenarioError(_impossible(plan, bad, len(seen)))
    _check_twins(plan, known.values())
    _check_queues(plan, scenarios.values())
    return Cells(plan, tuple(known.values()), scenarios)


def _check_queues(plan: Plan, scenarios: Iterable[str]) -> None:
    """Raise if a metric, figure or goal names a queue that no scenario of the plan has."""
    named = (*plan.shown, *(goal.metric for goal in plan.precision), *(figure.y for figure in plan.figures))
    left = {queue: name for name in named if (queue := metrics.split(name)[1])}
    queues: dict[str, None] = {}
    for text in scenarios:
        if not left:
            return
        task = json.dumps({"scheme": None, "seed": plan.seed, "replication": 0, "series": None})
        queues |= dict.fromkeys(name for name, _ in _native.Stepper(text, task).queues())
        if json.loads(text).get("pooled"):
            queues[headline.ALL] = None
        left = {queue: name for queue, name in left.items() if queue not in queues}
    for queue, name in left.items():
        raise ScenarioError(f"{plan.origin}: `{name}`: {suggest.unknown('queue', queue, list(queues))}")


def inert(several: Iterable[Cells]) -> tuple[Notice, ...]:
    """Return the settings that have no effect in any cell of some plans, see :func:`notices.inert_everywhere`."""
    runs: dict[str, tuple[str, dict[str, Scheme]]] = {}
    for one in several:
        for cell in one:
            _, schemes = runs.setdefault(cell.scenario, (one.scenarios[cell.scenario], {}))
            schemes[cell.scheme.text] = replace(cell.scheme, label=cell.label)
    return notices.inert_everywhere((text, list(schemes.values())) for text, schemes in runs.values())


def combined(name: str, several: Sequence[Cells]) -> Cells:
    """Return the cells of several plans as those of one, so that they run together; a run in two plans is one cell.

    Goals and metrics are those of the first.
    """
    found: dict[Run, Cell] = {}
    scenarios: dict[str, str] = {}
    for one in several:
        scenarios |= one.scenarios
        for cell in one:
            own = replace(cell, number=len(found), levels={"plan": one.plan.name, **cell.levels})
            found.setdefault(cell.run(0), own)
    plan = replace(several[0].plan, name=name)
    return Cells(plan, tuple(found.values()), scenarios, tuple(one.plan for one in several))


def _impossible(plan: Plan, bad: dict[str, list[str]], total: int) -> str:
    """List every reason once, with the first cell that it concerns."""
    lines = [f"{plan.origin}: {sum(map(len, bad.values()))} of {total} cells are impossible; nothing was run"]
    for why, where in itertools.islice(bad.items(), _SHOWN):
        others = f" and {len(where) - 1} more" if len(where) > 1 else ""
        lines.append(f"  cell {where[0]}{others}: {why}")
    if len(bad) > _SHOWN:
        lines.append(f"  and {len(bad) - _SHOWN} more reasons")
    return "\n".join(lines)


def _check_names(plan: Plan) -> None:
    if not is_name(plan.name):
        raise ScenarioError(f"{plan.origin}: {plan.name!r} is not the name of a plan; allowed: {NAME}")
    names = [one.name for one in plan.factors]
    for name in names:
        if name in _RESERVED or names.count(name) > 1:
            why = "is named twice" if names.count(name) > 1 else "has a meaning of its own"
            raise ScenarioError(f"{plan.origin}: the factor `{name}` {why}; give it a `name`")
    labels = [scheme.label for scheme in plan.schemes]
    for one in plan.factors:
        for key in one.keys:
            if key.startswith(("scheme.", "schemes.")) and not labels:
                raise ScenarioError(f"{plan.origin}: `{key}` needs `schemes`, of which the plan has none")
            if key.startswith("schemes.") and _target(key, labels) is None:
                raise ScenarioError(
                    f"{plan.origin}: `{key}` names no scheme; allowed: schemes.LABEL.PARAMETER with "
                    f"{', '.join(labels)}"
                )
    for name in plan.paired or ():
        if name != SCHEME and name not in names:
            raise ScenarioError(
                f"{plan.origin}: paired: `{name}` does not vary; allowed: {', '.join([SCHEME, *names])}"
            )


def _check_series(plan: Plan) -> None:
    try:
        if to_ns("series", str(plan.series)) < 1:
            raise ValueError("series: an interval of 0; allowed: a time above 0")
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"{plan.origin}: {error}") from None


def _check_twins(plan: Plan, found: Iterable[Cell]) -> None:
    """Refuse two cells with the same runs under two names, because they would count as two observations."""
    seen: dict[Run, Cell] = {}
    for cell in found:
        run = cell.run(0)
        if run in seen:
            raise ScenarioError(f"{plan.origin}: two cells are the same runs: {seen[run]}; and {cell}")
        seen[run] = cell


def _assign(
    plan: Plan, scheme: Scheme, values: Sequence[Value]
) -> tuple[dict[str, Value | None], list[str], dict[str, Value]]:
    """Return what the values are for one scheme: levels, overrides of the scenario, parameters of the scheme."""
    levels: dict[str, Value | None] = {}
    sets: list[str] = []
    parameters: dict[str, Value] = {}
    labels = [one.label for one in plan.schemes]
    for one, value in zip(plan.factors, values, strict=True):
        used = False
        for key in one.keys:
            if key.startswith("scheme."):
                parameters[key.removeprefix("scheme.")] = value
            elif key.startswith("schemes."):
                label, parameter = _target(key, labels) or ("", "")
                if label != scheme.label:
                    continue
                parameters[parameter] = value
            else:
                sets.append(f"{key}={toml.inline(value)}")
            used = True
        levels[one.name] = value if used else None
    return levels, sets, parameters


def _target(key: str, labels: Sequence[str]) -> tuple[str, str] | None:
    """Split ``schemes.LABEL.PARAMETER``; labels may have dots."""
    rest = key.removeprefix("schemes.")
    label, _, parameter = rest.rpartition(".")
    return (label, parameter) if label in labels and parameter else None


@lru_cache(maxsize=65536)
def _scheme(text: str, label: str, parameters: tuple[tuple[str, Value], ...]) -> Scheme:
    return with_parameters(Scheme(text, label), dict(parameters))


def _load(
    text: str,
    plan: Plan,
    sets: tuple[str, ...],
    loaded: dict[tuple[str, ...], str | SojournError],
    scenarios: dict[str, str],
    sampling: dict[str, tuple[str | None, int]],
) -> str:
    """Load a cell's scenario once for all schemes."""
    if sets not in loaded:
        try:
            document: Document = core.load(text, source=plan.source, sets=sets)
        except SojournError as error:
            loaded[sets] = error
        else:
            canonical = stripped(document)
            loaded[sets] = scenario_hash(canonical)
            scenarios[scenario_hash(canonical)] = canonical
            sampling[scenario_hash(canonical)] = _sampling(plan, document)
    found = loaded[sets]
    if isinstance(found, SojournError):
        raise found
    return found


def _sampling(plan: Plan, scenario: Document) -> tuple[str | None, int]:
    """Return the sampling interval of time series, and of how many replications."""
    if plan.series != AUTO:
        return plan.series, plan.series_replications
    if plan.world != SIMULATED:
        return None, 0
    if scenario.get("series"):
        return str(scenario["series"]["interval"]), plan.most
    return str(from_ns(auto_interval_ns(str(scenario["duration"])))), 1


def _seed(plan: Plan, label: str, levels: dict[str, Value | None]) -> int:
    if plan.paired is None:
        return plan.seed
    apart = [(name, value) for name, value in levels.items() if name not in plan.paired and value is not None]
    return derived_seed(plan.seed, apart + ([] if SCHEME in plan.paired else [(SCHEME, label)]))
