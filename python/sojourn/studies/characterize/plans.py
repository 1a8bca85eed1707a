"""Plans of a characterisation: one document a scenario, which a user can open, change and resume."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any, Final

from sojourn import plan, stats
from sojourn.base import toml
from sojourn.base.core import SojournError
from sojourn.base.units import to_ns
from sojourn.model.network import Network
from sojourn.model.scheme import Scheme, entry_of, with_parameters
from sojourn.plan import Plan
from sojourn.plan.runner import compare
from sojourn.studies.characterize import measures
from sojourn.studies.characterize.networks import Setting
from sojourn.studies.characterize.suite import WARM_UP_S, Scenario

_STEP_S: Final = 5.0
"""Warm-ups are multiples of it."""
_PILOT_S: Final = 120.0
_INTERVAL: Final = "200 ms"
_INTERVAL_S: Final = 0.2
_SERIES: Final = ("queue_packets", "goodput_bit_s")
_ECN: Final = "ecn"


def schemes(
    given: Sequence[Scheme], buffer_packets: int, *, ecn: bool = False, parameter: str = ""
) -> tuple[Scheme, ...]:
    """Return schemes with the buffer of a network, unless their text names a limit.

    With `ecn` they mark, where they can. With `parameter`, only schemes that have such a time. A limit in packets or
    bytes is set in packets; a scheme without one keeps its own.
    """
    made = []
    for one in given:
        own = _parameters(one)
        if parameter and own.get(parameter, {}).get("kind") != "time":
            continue
        words = one.text.split()
        changed: dict[str, str | float | bool] = {}
        if own.get("limit", {}).get("kind") in ("packets", "packets or bytes") and "limit" not in words:
            changed["limit"] = f"{buffer_packets}p"
        if ecn and own.get(_ECN, {}).get("kind") == "flag" and not {_ECN, "noecn"} & set(words):
            # A scheme may refuse to mark without another parameter, as sfq does without its RED.
            with contextlib.suppress(SojournError):
                with_parameters(one, {_ECN: True})
                changed[_ECN] = True
        made.append(with_parameters(one, changed) if changed else one)
    return tuple(made)


def first_queues(own: Sequence[Scheme], *, is_quick: bool) -> list[str]:
    """Return what the first queue of two on a path has: half of a scheme's target, and every scheme (section 10.2).

    In quick plans there is half of the first scheme's target, and the schemes but the first.
    """
    halved = []
    for one in own:
        target = _parameters(one).get("target")
        if target is not None and target["kind"] == "time":
            words = one.text.split()
            given = words[words.index("target") + 1] if "target" in words else str(target["default"])
            halved.append(with_parameters(one, {"target": f"{to_ns('target', given) / 2e6:g} ms"}).text)
    if is_quick:
        return [*halved[:1], *(one.text for one in own[1:])]
    return [*halved, *(one.text for one in own)]


def _parameters(one: Scheme) -> dict[str, Any]:
    return {parameter["name"]: parameter for parameter in entry_of(one.algorithm)["parameters"]}


def document(
    scenario: Scenario,
    common: Setting,
    given: Sequence[Scheme],
    *,
    is_quick: bool,
    warm_up_s: float = WARM_UP_S,
    replications: int | None = None,
) -> Plan | None:
    """Return the plan of a scenario; None where no scheme has the parameter that varies in it.

    By default there are 5 replications in quick plans and 10 in others.
    """
    setting = scenario.setting(common)
    buffer = setting.buffer(scenario.largest_rtt_ms)
    own = schemes(given, buffer, ecn=scenario.ecn, parameter=scenario.parameter)
    if not own:
        return None
    vary = scenario.vary(setting, is_quick) if scenario.vary else {}
    if scenario.first:
        vary["first queue"] = ["links.bottleneck.queue", *first_queues(own, is_quick=is_quick)]
    made = Plan(
        name=scenario.section,
        scenario=toml.dumps(scenario.build(setting, warm_up_s)),
        schemes=own,
        vary=tuple(plan.grid(key, values=list(values), name=name) for name, (key, *values) in vary.items()),
        replications=replications or (5 if is_quick else 10),
        series=_INTERVAL,
        series_replications=1,
        metrics=measures.of_runs(scenario.metrics),
        figures=tuple(plan.Figure("sojourn_ms_mean", name) for name in vary),
        description=f"{scenario.source}, section {scenario.section.partition('-')[0]}: {scenario.title}",
        source=f"{scenario.source}, {scenario.section}",
    )
    return made.check()


def warm_up_s(scenario: Scenario, common: Setting, given: Sequence[Scheme], jobs: int | None = None) -> float:
    """Return the warm-up that MSER-5 finds in one pilot run of each scheme: the latest, rounded up to 5 s.

    A scenario that never settles has its own. A run that has not settled within a minute has a minute.
    """
    if not scenario.settles:
        return WARM_UP_S
    setting = scenario.setting(common)
    pilot = {**scenario.build(setting, 0.0), "duration": f"{_PILOT_S:g} s"}
    own = schemes(given, setting.buffer(scenario.largest_rtt_ms), ecn=scenario.ecn, parameter=scenario.parameter)
    if not own:
        return WARM_UP_S
    found = compare(Network.from_dict(pilot), own, replicates=1, seed=1, series=_INTERVAL, progress=False, jobs=jobs)
    latest = _STEP_S
    for (_, name), part in found.series.groupby(["scheme", "name"]):
        if name in {found.curve(one) for one in _SERIES}:
            left_out = stats.steady.mser(part["value"].to_numpy())
            latest = max(latest, _PILOT_S / 2 if left_out is None else left_out * _INTERVAL_S)
    return math.ceil(latest / _STEP_S) * _STEP_S
