"""The search: every scheme that a platform has at several rates of the shaper, then each direction by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from sojourn import stats
from sojourn.base import suggest
from sojourn.base.core import SojournError
from sojourn.plan.runner import run
from sojourn.results import metrics
from sojourn.results.results import Results
from sojourn.stats import Estimate, Floats, Quantity
from sojourn.stats.front import LIMITS, Criterion, Standing, fifo, standings
from sojourn.studies.advise import openwrt
from sojourn.studies.advise.household import PING, network
from sojourn.studies.advise.line import Line, Shaper

PLATFORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "linux": ("cake besteffort", "fq_codel", "fq_pie", "codel", "pie"),
    "openwrt": ("cake besteffort", "fq_codel"),
    "sojournd": ("cake besteffort", "fq_codel", "fq_pie", "codel", "pie"),
}
"""The schemes that each platform has, and that need no parameters."""
SHARES: Final = (0.99, 0.95, 0.9, 0.85, 0.8, 0.7)
"""Rates of the shaper, as shares of the line's."""
OF_TRACE: Final = (1.2, 1.0, 0.8, 0.6, 0.4)
"""The same of a varying line's mean, beside its least rate."""
FIRST: Final = (0.95, 0.85)
"""Of every scheme; the best two are tried at every rate."""
SLACK_MS: Final = 5.0
"""A scheme may have so much more latency than the best, or a quarter more, and still be preferred for its goodput."""
WORTH_MS: Final = 10.0
"""A reduction of the latency by less is not worth a shaper."""
REPLICATIONS: Final = 3
SURE: Final = 10
"""Replications of the recommendation, of today, of the runner-up and of tail drop."""
SHORT: Final = LIMITS[1:12:2]
"""Limits of tail drop beside the recommendation, in packets."""

#: What is measured: name, title, unit, whether low values are better.
MEASURES: Final = (
    ("latency", "latency under load, p99 above the base RTT", "ms", True),
    ("latency_mean", "latency under load, mean above the base RTT", "ms", True),
    ("down", "download", "Mbit/s", False),
    ("up", "upload", "Mbit/s", False),
    ("mos", "calls: MOS of the worse direction", "", False),
    ("game", "games: packets later than 50 ms", "%", True),
    ("page", "web: page load time", "s", True),
    ("rebuffer", "video: time spent rebuffering", "%", True),
)

_RANGES: Final = {
    "mos": metrics.quantity("voip_mos"),
    "game": metrics.quantity("delay_above_50_ms_ratio").times(100.0),
    "rebuffer": metrics.quantity("video_rebuffer_ratio").times(100.0),
}


@dataclass(frozen=True)
class Outcome:
    """What one setting of the gateway did: one value a replication of every measure."""

    shaper: Shaper | None
    values: Mapping[str, Floats]
    repeated: bool = False
    """Whether the replications are one run repeated."""
    base_ms: float = 0.0
    """The base RTT, which the latency leaves out."""

    def mean(self, name: str) -> float:
        """Return the mean of a measure."""
        return float(np.mean(self.values[name]))

    def estimate(self, name: str) -> Estimate:
        """Return the mean with its interval."""
        return stats.estimate(self.values[name], self.quantity(name), repeated=self.repeated)

    def above(self, other: Outcome, name: str) -> Estimate:
        """Return by how much the mean of a measure is above that of another setting; paired."""
        both = self.values[name], other.values[name]
        return stats.paired(*both, self.quantity(name), repeated=self.repeated and other.repeated)

    def quantity(self, name: str) -> Quantity:
        """Return what is known of a measure beforehand."""
        if name == "latency":
            return replace(metrics.quantity("rtt_ms_p99"), offset=self.base_ms)
        return _RANGES.get(name, stats.EXACT)


@dataclass(frozen=True)
class Advice:
    """The answer: the line today, the best setting (None if nothing is to be gained), the best of another scheme."""

    line: Line
    platform: str
    today: Outcome
    best: Outcome | None
    second: Outcome | None
    tried: tuple[Outcome, ...]
    at_least: Outcome | None = None
    """The recommended scheme at the least rate of a varying line."""
    standing: Standing | None = None
    """Where the recommended scheme lies beside tail drop with each of :data:`SHORT` at the same rates."""

    @property
    def certainty(self) -> str:
        """How sure the choice between the best and the second scheme is, in words."""
        if self.best is None or self.second is None:
            return ""
        name = self.line.criterion
        gap = self.second.above(self.best, name)
        shaper = self.second.shaper
        other = (
            f"{shaper.scheme} at {shaper.down_mbit_s:.4g}/{shaper.up_mbit_s:.4g} Mbit/s" if shaper else "no shaper"
        )
        half = "" if gap.half_width is None else f" ± {gap.half_width:.1f}"
        how = "significant" if gap.excludes_zero else "not significant"
        which = "higher" if gap.mean >= 0 else "lower"
        return (
            f"With {other}, the second choice, the latency is {abs(gap.mean):.1f}{half} ms {which}; the difference "
            f"is {how} at the 5 % level. The goodput is {self.second.mean('down'):.4g}/"
            f"{self.second.mean('up'):.4g} Mbit/s there"
        )


def advise(
    line: Line, platform: str = "linux", *, jobs: int | None = None, say: Callable[[str], None] = lambda _: None
) -> Advice:
    """Search the gateway's setting for a line, among the schemes that a platform of :data:`PLATFORMS` has.

    `say` is called with a line at every step. An unknown platform is refused.
    """
    if platform not in PLATFORMS:
        raise SojournError(suggest.unknown("platform", platform, PLATFORMS))
    search = _Search(line, platform, jobs)
    first = {scheme: search.along(scheme, FIRST, say) for scheme in PLATFORMS[platform]}
    order = sorted(first, key=lambda scheme: min(one.mean(line.criterion) for one in first[scheme]))
    for scheme in order[:2]:
        search.along(scheme, [share for share in SHARES if share not in FIRST], say)
    best = search.each_way(_preferred(line, search.tried), say)
    chosen = best.shaper or Shaper("pfifo", None, None)
    others = [one for one in search.tried if one.shaper is not None and one.shaper.scheme != chosen.scheme]
    second = _preferred(line, others) if others else None
    say("the choice, the second choice and the line without a shaper, with more replications")
    today = _measured(line, platform, None, SURE, jobs)
    best = _measured(line, platform, chosen, SURE, jobs)
    second = None if second is None else _measured(line, platform, second.shaper, SURE, jobs)
    if today.mean(line.criterion) - best.mean(line.criterion) < WORTH_MS:
        return Advice(line, platform, today, None, second, tuple(search.tried))
    least = None
    if line.least_mbit_s is not None:
        least = _measured(line, platform, replace(chosen, down_mbit_s=line.least_mbit_s), SURE, jobs)
    say(f"tail drop with {SHORT[0]} to {SHORT[-1]} packets at the same rates")
    # SQM has no script with tail drop; htb shapes there, too.
    plain = "linux" if platform == openwrt.PLATFORM else platform
    front = {limit: _measured(line, plain, replace(chosen, scheme=fifo(limit)), SURE, jobs) for limit in SHORT}
    standing = _beside(line, best, front)
    return Advice(line, platform, today, best, second, tuple(search.tried), least, standing)


def _beside(line: Line, best: Outcome, front: Mapping[int, Outcome]) -> Standing:
    """Return where a setting lies beside tail drop, in all measures that every run has."""
    left_out = {"latency", "latency_mean"} - {line.criterion}
    names = [
        (name, lower)
        for name, _, _, lower in MEASURES
        if name not in left_out
        and all(np.isfinite(one.values.get(name, np.nan)).all() for one in (best, *front.values()))
    ]
    measures = [Criterion(name, lower, best.quantity(name)) for name, lower in names]
    points = {limit: [one.values[name] for name, _ in names] for limit, one in front.items()}
    return standings({"": [best.values[name] for name, _ in names]}, points, measures)[""]


class _Search:
    """Settings that were tried on a line."""

    def __init__(self, line: Line, platform: str, jobs: int | None) -> None:
        self.line, self._platform, self._jobs = line, platform, jobs
        self.tried: list[Outcome] = []

    def _downs(self, shares: Sequence[float]) -> list[float]:
        line = self.line
        if line.least_mbit_s is None:
            return [line.down_mbit_s * share for share in shares]
        return [line.least_mbit_s, *(line.down_mbit_s * share for share in OF_TRACE)]

    def along(self, scheme: str, shares: Sequence[float], say: Callable[[str], None]) -> list[Outcome]:
        """Try a scheme with the same share of the line in both directions; all rates of a varying download."""
        say(f"{scheme} at {len(self._downs(shares))} rates of the shaper")
        made = []
        for k, down in enumerate(self._downs(shares)):
            share = shares[min(k, len(shares) - 1)]
            shaper = Shaper(scheme, down, self.line.up_mbit_s * share)
            if all(one.shaper != shaper for one in self.tried):
                made.append(_measured(self.line, self._platform, shaper, REPLICATIONS, self._jobs))
        self.tried += made
        return made

    def each_way(self, best: Outcome, say: Callable[[str], None]) -> Outcome:
        """Try other rates in one direction at a time: the two directions need not have the same margin."""
        if best.shaper is None:
            return best
        say(f"{best.shaper.scheme}: each direction by itself")
        ups = [self.line.up_mbit_s * share for share in SHARES]
        for way, rates in (("down", self._downs(SHARES)), ("up", ups)):
            own = [best]
            for rate in rates:
                shaper = _with_rate(best.shaper, way, rate)
                if shaper != best.shaper:
                    own.append(_measured(self.line, self._platform, shaper, REPLICATIONS, self._jobs))
            self.tried += own[1:]
            best = _preferred(self.line, own)
        return best


def _with_rate(shaper: Shaper | None, way: str, mbit_s: float) -> Shaper | None:
    if shaper is None:
        return None
    return replace(shaper, down_mbit_s=mbit_s) if way == "down" else replace(shaper, up_mbit_s=mbit_s)


def _preferred(line: Line, outcomes: Sequence[Outcome]) -> Outcome:
    """Return the setting with most goodput among those whose latency is near to the best."""
    least = min(one.mean(line.criterion) for one in outcomes)
    near = [one for one in outcomes if one.mean(line.criterion) <= max(least + SLACK_MS, 1.25 * least)]
    return max(near, key=lambda one: one.mean("down") / line.down_mbit_s + one.mean("up") / line.up_mbit_s)


def _measured(line: Line, platform: str, shaper: Shaper | None, replications: int, jobs: int | None) -> Outcome:
    net = network(line, shaper, platform)
    results = run(net, replicates=replications, seed=1, jobs=jobs, series=None, progress=False)
    return Outcome(shaper, _values(line, results), bool(results.repeated), line.rtt_ms[0])


def _values(line: Line, results: Results) -> dict[str, Floats]:
    """Return every measure by replication, from the metrics of the groups of flows."""
    there = {str(name): own.sort_values("replication") for name, own in results.groups.groupby("group")}

    def of(metric: str, *names: str) -> list[Floats]:
        known = [there[name] for name in names if name in there]
        return [own.reindex(columns=[metric])[metric].to_numpy(np.float64) for own in known]

    values = {
        "latency": of("rtt_ms_p99", PING)[0] - line.rtt_ms[0],
        "latency_mean": of("rtt_ms_mean", PING)[0] - line.rtt_ms[0],
        # Pages and video too: what they take from the downloads is not lost.
        "down": np.nansum(of("goodput_bit_s", "download_near", "download_far", "web", "video"), axis=0) / 1e6,
        "up": np.nansum(of("goodput_bit_s", "upload_near", "upload_far"), axis=0) / 1e6,
    }
    # NaN where a need was simulated but has no value, such as the load time when no page was loaded to its end.
    if own := of("voip_mos", "call_down", "call_up"):
        values["mos"] = np.min(own, axis=0)
    for name, metric, group, scale in (
        ("game", "delay_above_50_ms_ratio", "game_down", 100.0),
        ("page", "page_load_s_mean", "web", 1.0),
        ("rebuffer", "video_rebuffer_ratio", "video", 100.0),
    ):
        if own := of(metric, group):
            values[name] = scale * own[0]
    return values
