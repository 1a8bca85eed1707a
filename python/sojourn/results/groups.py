"""The main metric of each group of flows: downloads, calls, games, web objects.

A scenario often has bulk transfers, which fill the queue, and flows that suffer from the delay. One metric says most
about each group of flows (a ``[[flows]]`` table): the goodput of bulk transfers, the 99th percentile of the
completion time of finite transfers, and the 99th percentile of the one-way delay of everything else. Applications
have metrics of their own: page load time, bit rate and rebuffering of video, delay and MOS of calls, late packets of
games.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sojourn import stats
from sojourn.base.wording import listed
from sojourn.results import metrics
from sojourn.results.metrics import Metric

if TYPE_CHECKING:
    from sojourn.results.results import Results

_METRICS: Final = {
    "bulk": ("goodput_bit_s",),
    "transfer": ("flow_completion_s_p99",),
    "web": ("page_load_s_mean",),
    "video": ("video_bit_rate_bit_s", "video_rebuffer_ratio"),
    "voip": ("voip_mouth_to_ear_ms_mean", "voip_mos"),
    "gaming": ("delay_above_50_ms_ratio", "delay_above_100_ms_ratio"),
    "request_response": ("response_s_p99",),
}
_DELAY: Final = "one_way_delay_ms_p99"
_PHRASES: Final = {
    _DELAY: "99th percentile of the one-way delay",
    "flow_completion_s_p99": "99th percentile of the completion time",
    "response_s_p99": "99th percentile of the response time",
}


@dataclass(frozen=True, slots=True)
class Group:
    """A group of flows (a ``[[flows]]`` table) and the metric that says most about it; bulk flows never end."""

    name: str
    metric: Metric
    is_bulk: bool

    @property
    def heading(self) -> str:
        """Name and metric: ``call: One-way delay, p99 (ms)``."""
        return f"{self.name}: {self.metric.heading}"


def of(results: Results) -> tuple[Group, ...]:
    """Return the groups of a scenario's flows with each metric that results have of them, in the scenario's order."""
    found = []
    for flow in results.scenario["flows"]:
        kind = flow.get("traffic", {}).get("kind", "bulk")
        for name in _METRICS.get(kind, (_DELAY,)):
            group = Group(str(flow["name"]), metrics.find(name, "group"), kind == "bulk")
            if not results.groups.empty and _is_measured(results, group):
                found.append(group)
    return tuple(found)


def estimate(results: Results, label: str, group: Group) -> stats.Estimate:
    """Return the mean of a group's metric over replications, with its 95 % interval."""
    return results.estimate(label, group.metric.name, group.name)


def verdict(results: Results) -> str:
    """Return sentences: which scheme keeps the delay of sensitive flows lowest, and its cost for bulk transfers.

    The first group that is not bulk decides: the schemes whose mean is within 1/128 of the lowest are as good as that
    one, since quantiles are read from buckets of this width. The one of them with the greatest goodput of bulk
    transfers is named and compared with the first scheme of the results. Schemes that are further off, and whose
    paired difference is not significant at the 5 % level after Holm's correction for the number of schemes, are named
    as such. Empty where there is one scheme, one replication (or all are identical), or no two kinds of groups.
    """
    known = of(results)
    bulk = [group for group in known if group.is_bulk]
    others = [group for group in known if not group.is_bulk and group.metric.better == "lower"]
    if len(results.labels) < 2 or results.replications < 2 or not bulk or not others:
        return ""
    if results.repeated.issuperset(results.labels):
        return ""
    small, base = others[0], results.labels[0]
    means = {label: estimate(results, label, small).mean for label in results.labels}
    lowest = min(value for value in means.values() if math.isfinite(value))
    level = [label for label in means if means[label] <= lowest * (1 + metrics.BUCKET)]
    best = max(level, key=lambda label: float(_total(results, label, bulk).mean()))
    what = _PHRASES.get(small.metric.name, small.metric.phrase)
    if base in level:
        return f"No scheme has a lower {what} of “{small.name}” than {base}."
    unit, scale = small.metric.shown_unit, small.metric.scale
    is_time = unit in ("ms", "s") and means[best] > 0
    ratio = f", {_short(means[base] / means[best], 2)} times as long" if is_time else ""
    sentences = [
        f"{best} keeps the {what} of “{small.name}” at {_short(means[best] * scale)} {unit}; with "
        f"{base} it is {_short(means[base] * scale)} {unit}{ratio}.",
        _cost(results, best, base, bulk),
    ]
    if same := [label for label in level if label != best]:
        sentences.append(
            f"{listed(same)} {'is' if len(same) == 1 else 'are'} not significantly different for “{small.name}”."
        )
    if unsure := _unsure(results, best, small, level):
        sentences.append(
            f"The difference to {listed(unsure)} is not significant with {results.replications} replications."
        )
    return " ".join(sentences)


def _unsure(results: Results, best: str, group: Group, level: list[str]) -> list[str]:
    """Return the schemes that do not differ significantly from the best one."""
    others = [label for label in results.labels if label != best]
    corrected = stats.holm([results.p_value(label, group.metric.name, best, group.name) for label in others])
    unsure = [label for label, p in zip(others, corrected, strict=True) if not p < 1 - stats.LEVEL]
    return [label for label in unsure if label not in level]


def _total(results: Results, label: str, bulk: list[Group]) -> stats.Floats:
    total: stats.Floats = np.sum([_values(results, label, group) for group in bulk], axis=0)
    return total


def _cost(results: Results, best: str, base: str, bulk: list[Group]) -> str:
    every = [results.pairs(best, base, group.metric.name, group.name) for group in bulk]
    ours, theirs = np.sum(every, axis=0)
    change = stats.estimate(100 * (ours - theirs) / theirs, repeated={best, base} <= results.repeated)
    names = listed([f"“{group.name}”" for group in bulk])
    if not change.excludes_zero:
        return f"The goodput of {names} does not differ significantly."
    size = metrics.rounded(abs(change.mean), change.half_width)
    return f"The goodput of {names} is {size} % {'higher' if change.mean > 0 else 'lower'}."


def _short(value: float, digits: int = 3) -> str:
    return f"{float(f'{value:.{digits}g}'):g}"


def _is_measured(results: Results, group: Group) -> bool:
    if group.metric.name not in results.groups.columns:
        return False
    return any(np.isfinite(_values(results, label, group)).any() for label in results.labels)


def _values(results: Results, label: str, group: Group) -> stats.Floats:
    return results.values(label, group.metric.name, group.name)
