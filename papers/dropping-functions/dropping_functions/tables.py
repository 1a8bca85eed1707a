"""Tables of a paper of windows, as parts of its page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from sojourn import stats
from sojourn.results import metrics
from sojourn.stats import Estimate, Floats
from sojourn.studies.papers.evidence import number
from sojourn.studies.papers.judge import Outcome
from sojourn.studies.papers.section import Drawing
from sojourn.view.report.sections import joined, tag

from . import analysis, datasets
from .analysis import Values
from .document import Experiment
from .simulate import LIVES, RATES
from .switching import Model

SIGNIFICANCE: Final = 0.05
"""Level of the tests of differences."""
BASE: Final = "none"
"""The scheme that others are compared with: plain FIFO."""
FLOW_SCHEMES: Final = ("none", "d0", "d1", "d3", "d4", "d8")
"""Of the statements about single flows: what d1 to d7 do to them is alike."""
FEWEST_DROPS: Final = 100
"""A group of flows with fewer drops has no ratio in the tables."""
_SHORT: Final = {
    "mean_queue_packets": "Queue",
    "mean_queue_arrivals_packets": "Queue seen by arrivals",
    "std_queue_packets": "Deviation",
    "loss_ratio": "Loss ratio",
    "burst_ratio": "Burst ratio",
    "impairment_i": "I",
    "impairment_c": "C",
}


def ranges(paper: Experiment, frame: pd.DataFrame, name: str) -> Drawing:
    """Return Table 1 from our windows, with the study's numbers below ours, and the best and worst marked as there.

    As in the study, means are over the windows of a scheme in a range. ± is the half-width of the 95 % interval over
    traffics or slots.
    """
    shown = ("mean_queue_packets", "mean_queue_arrivals_packets", "std_queue_packets", "loss_ratio", "burst_ratio",
             "impairment_i", "impairment_c")  # fmt: skip
    rows = []
    for low, high in paper.ranges:
        of = frame[(frame["load"] > low) & (frame["load"] <= high)]
        found = {one.id: of[of["label"] == one.id] for one in paper.study}
        printed = paper.table1[np.isclose(paper.table1["low"], low)].set_index("scheme")
        estimates = {
            metric: {key: stats.estimate(rows_of.groupby("cluster")[metric].mean().to_numpy())
                     for key, rows_of in found.items() if len(rows_of)}
            for metric in shown
        }  # fmt: skip
        for one in paper.study:
            cells = [_marked(estimates[metric], one.id, _printed(printed, one.id, metric)) for metric in shown]
            rows.append((f"({low:.2f}–{high:.2f}] {one.printed}", str(len(found[one.id])), *cells))
    return paper.words.drawing(name, None, (_SHORT[metric] for metric in shown), rows, key="ranges")


def _printed(table: pd.DataFrame, scheme: str, metric: str) -> str:
    return f"{float(table[metric][scheme]):g}" if metric in table and scheme in table.index else ""


def _marked(of: dict[str, Estimate], scheme: str, printed: str) -> object:
    shown: object = "–"
    if scheme in of:
        shown = number(of[scheme])
        known = {key: one.mean for key, one in of.items() if np.isfinite(one.mean)}
        if known and scheme == min(known, key=lambda key: known[key]):
            shown = tag("strong", shown)
        elif known and scheme == max(known, key=lambda key: known[key]):
            shown = tag("span", shown, kind="boxed")
    return joined("", [shown, tag("div", printed, kind="details")]) if printed else shown


def traffic_check(paper: Experiment, frame: pd.DataFrame, name: str) -> Drawing:
    """Return the statistics of the traffic that the study gives, beside ours."""

    def spread(column: str, digits: int) -> str:
        of = frame[column].dropna()
        low, middle, high = (float(of.quantile(q)) for q in (0.05, 0.5, 0.95))
        return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"

    rows = (
        ("TCP's share of the bytes", "0.50 to 0.75", spread("tcp_share", 3)),
        ("mean packet, B", "about 1300", spread("mean_size_bytes", 0)),
        ("standard deviation of the packet size, B", "about 450", spread("std_size_bytes", 0)),
        ("load", "0.9 to 1.2, rarely more", spread("load", 3)),
    )
    return paper.words.drawing(name, None, rows=rows, key="traffic-check", windows=len(frame))


def candidates(paper: Experiment) -> Drawing:
    """Return the candidates of the second mix, with what the rule said of each."""
    rows = [
        (f"{one['speed']:g}", f"{one['udp']:g}", "no" if one["left_out"] else "yes",
         *(f"{one[name]:.4g}" for name in ("distance", "ranges", "tcp_share", "size_bytes", "deviation_bytes")))
        for one in paper.fitted["candidate"]
    ]  # fmt: skip
    return paper.words.drawing("candidates", None, rows=rows)


def differences(paper: Experiment, values: Values, metric: str) -> Drawing:
    """Return the differences of a metric between all pairs of schemes with the same traffic: row minus column."""
    ids = [one.id for one in paper.study]
    found = analysis.differences(values, metric, ids)
    rows = []
    for a in ids:
        cells: list[str] = []
        for b in ids:
            of = found.get((a, b)) or found.get((b, a))
            if of is None:
                cells.append("")
                continue
            (estimate, p), sign = of, 1 if (a, b) in found else -1
            text = metrics.rounded(sign * estimate.mean, estimate.half_width).split(" ± ")[0]
            cells.append(tag("strong", text) if p < SIGNIFICANCE else tag("span", text, kind="pm"))
        rows.append((paper.printed[a], *cells))
    count = sum(p < SIGNIFICANCE for _, p in found.values())
    name = f"differences-{metric.replace('_', '-')}"
    filled: dict[str, Any] = {"what": _SHORT[metric], "pairs": len(found), "count": count}
    return paper.words.drawing(name, None, ("", *ids), rows, key="differences", **filled)


def theory_gap(paper: Experiment, world: datasets.World) -> Drawing:
    """Return the differences that closed-loop traffic makes: simulation minus Theorem 1 (Poisson arrivals)."""
    rows = []
    for one in paper.study:
        for metric in ("mean_queue_packets", "loss_ratio", "burst_ratio"):
            cells = []
            for centre in paper.centres:
                of = world.ranges.get(centre, {}).get(metric, {}).get(one.id, np.zeros(0))
                gap = stats.estimate(of - datasets.predicted(one.text, centre)[metric])
                cells.append(number(gap) if of.size else "–")
            rows.append((f"{one.printed}: {_SHORT[metric].lower()}", *cells))
    return paper.words.drawing("theory-gap", None, ("", *(f"{centre:.2f}" for centre in paper.centres)), rows)


def models(paper: Experiment, of: dict[str, Model], values: Values, name: str) -> Drawing:
    """Return estimates of each scheme minus FIFO: switchback with and without the previous scheme, and paired."""
    rows = []
    for metric, found in of.items():
        for scheme, (mean, low, high) in found.effects.items():
            naive, *_ = found.naive[scheme]
            pair = values.get(metric, {})
            paired = number(stats.paired(pair[scheme], pair["none"])) if {scheme, "none"} <= set(pair) else "–"
            what = f"{_SHORT[metric]}: {paper.printed[scheme]} minus FIFO"
            rows.append((what, metrics.rounded(mean, (high - low) / 2), f"{naive:.4g}", paired))
    p = "; ".join(f"{_SHORT[metric].lower()} p = {one.carry_over_p:.3f}" for metric, one in of.items())
    first = next(iter(of.values()), None)
    size = f"{first.slots} slots, {first.windows} windows" if first else "too few slots yet"
    return paper.words.drawing(name, None, rows=rows, key="switchback-models", size=size, tests=p or "not known")


def flows(paper: Experiment, frame: pd.DataFrame, by: str, schemes: Sequence[str]) -> Drawing:
    """Return loss and burst ratio of groups of similar flows, by scheme.

    `frame` has sums over flows of the same traffics under every scheme; `by` is ``rtt_ms``, ``rate_bin`` or
    ``life_bin``.
    """
    rows: list[tuple[str, ...]] = []
    for transport in ("tcp", "udp"):
        for metric in ("loss_ratio", "burst_ratio"):
            of = frame[frame["transport"] == transport]
            for value, group in of.groupby(by):
                sums = {one: _sums(group[group["label"] == one]) for one in schemes}
                cells = [_beside(sums[one], None if one == BASE else sums[BASE], metric) for one in schemes]
                if any(cell != "–" for cell in cells):
                    rows.append((f"{transport.upper()}, {_bin(by, value)}: {_SHORT[metric].lower()}", *cells))
    title = {"rtt_ms": "round-trip time", "rate_bin": "rate", "life_bin": "duration"}[by]
    name, heads = f"flows-{title.split('-')[0].split()[0]}", ("", *(paper.printed[one] for one in schemes))
    return paper.words.drawing(name, None, heads, rows, key="flows", what=title)


def _bin(by: str, value: Any) -> str:
    if by == "rtt_ms":
        return f"{value:g} ms"
    edges, unit = (RATES, "packets/s") if by == "rate_bin" else (LIVES, "s")
    low, high = edges[int(value)], edges[int(value) + 1]
    return f"{low:g} to {high:g} {unit}" if np.isfinite(high) else f"above {low:g} {unit}"


def _sums(of: pd.DataFrame) -> pd.DataFrame:
    return of.groupby(["block", "demand"])[["sent", "dropped", "runs"]].sum()


def _ratio(total: Floats, metric: str) -> float:
    sent, dropped, runs = (float(value) for value in total)
    if metric == "loss_ratio":
        return dropped / sent if sent else np.nan
    return dropped / runs * (1 - dropped / sent) if runs else np.nan


def _beside(of: pd.DataFrame, base: pd.DataFrame | None, metric: str) -> str:
    """Return a ratio of sums over flows minus that of `base` with the same traffic: the jackknife over traffics."""
    common = of.index if base is None else of.index.intersection(base.index)
    parts = [one.loc[common].to_numpy(dtype=np.float64) for one in (of, base) if one is not None]
    found = _jackknife(
        parts, lambda own, other=None: _ratio(own, metric) - (0 if other is None else _ratio(other, metric))
    )
    return number(found) if found else "–"


def _jackknife(parts: Sequence[Floats], statistic: Callable[..., float]) -> Estimate | None:
    """Return a statistic of sums over the same traffics, shape (traffics, columns) each; None where drops are few."""
    count = len(parts[0])
    if count < analysis.FEWEST_CELLS or any(part[:, 1].sum() < FEWEST_DROPS for part in parts):
        return None
    whole = [part.sum(axis=0) for part in parts]
    without = [statistic(*(of - part[k] for of, part in zip(whole, parts, strict=True))) for k in range(count)]
    return stats.estimate(count * statistic(*whole) - (count - 1) * np.asarray(without))


@dataclass(frozen=True, slots=True)
class FlowClaim:
    """A statement about single TCP flows: a ratio of two groups, or of a scheme to FIFO, and what it has to be.

    Parameters
    ----------
    metric
        ``loss_ratio`` or ``burst_ratio``, over all flows of a group.
    column, group, other
        Which flows: values of a column from and up to the given ones. Without `other`, the same group under FIFO.
    expected
        ``alike``: 1 within the margin; ``above`` or ``below`` 1.
    """

    text: str
    metric: str
    column: str
    group: tuple[float, float]
    expected: str
    other: tuple[float, float] | None = None

    def outcome(self, of: Estimate, margin: float) -> Outcome:
        """Return what the interval of a logarithm of the ratio says."""
        low, high = math.exp(of.low or 0.0), math.exp(of.high or 0.0)
        ends = {"alike": (1 - margin, 1 / (1 - margin)), "above": (1.0, math.inf), "below": (0.0, 1.0)}[self.expected]
        if ends[0] < low and high < ends[1]:
            return Outcome.HOLDS
        return Outcome.FAILS if high <= ends[0] or low >= ends[1] else Outcome.UNDECIDED


NEAR_MS, FAR_MS = (0.0, 22.0), (90.0, math.inf)
SLOW, FAST = (0.0, RATES.index(10.0) - 1.0), (float(RATES.index(100.0)), math.inf)
FLOW_CLAIMS: Final = (
    FlowClaim("far flows lose as much as near ones", "loss_ratio", "rtt_ms", FAR_MS, "alike", NEAR_MS),
    FlowClaim("far flows' losses are as bursty as near ones'", "burst_ratio", "rtt_ms", FAR_MS, "alike", NEAR_MS),
    FlowClaim("slow flows lose more than fast ones", "loss_ratio", "rate_bin", SLOW, "above", FAST),
    FlowClaim("fast flows' losses are burstier than slow ones'", "burst_ratio", "rate_bin", FAST, "above", SLOW),
    FlowClaim("fast flows' losses are less bursty than under FIFO", "burst_ratio", "rate_bin", FAST, "below"),
    FlowClaim("slow flows' losses are less bursty than under FIFO", "burst_ratio", "rate_bin", SLOW, "below"),
    FlowClaim("near flows' losses are less bursty than under FIFO", "burst_ratio", "rtt_ms", NEAR_MS, "below"),
    FlowClaim("far flows' losses are less bursty than under FIFO", "burst_ratio", "rtt_ms", FAR_MS, "below"),
)


def flow_claims(paper: Experiment, frame: pd.DataFrame, mix: str, name: str) -> Drawing:
    """Return the statements about single TCP flows, each judged under every scheme; `frame` as for :func:`flows`."""
    tcp = frame[frame["transport"] == "tcp"]

    def sums(scheme: str, column: str, group: tuple[float, float]) -> pd.DataFrame:
        return _sums(tcp[(tcp["label"] == scheme) & tcp[column].between(*group)])

    def said(claim: FlowClaim, scheme: str) -> str:
        if claim.other is None and scheme == BASE:
            return ""
        own = sums(scheme, claim.column, claim.group)
        against = sums(scheme, claim.column, claim.other) if claim.other else sums(BASE, claim.column, claim.group)
        common = own.index.intersection(against.index)
        parts = [one.loc[common].to_numpy(dtype=np.float64) for one in (own, against)]
        found = _jackknife(parts, lambda a, b: math.log(_ratio(a, claim.metric) / _ratio(b, claim.metric)))
        if found is None:
            return "–"
        mean, low, high = (math.exp(value or 0.0) for value in (found.mean, found.low, found.high))
        return f"{claim.outcome(found, paper.margin).sign} {mean:.2f} [{low:.2f}, {high:.2f}]"

    shown = [one for one in paper.study if one.id in FLOW_SCHEMES]
    rows = [(claim.text, *(said(claim, one.id) for one in shown)) for claim in FLOW_CLAIMS]
    traffics = len(_sums(tcp[tcp["label"] == BASE]))
    heads = (one.printed for one in shown)
    return paper.words.drawing(name, None, heads, rows, key="flow-claims", mix=mix, traffics=traffics)


def classes(paper: Experiment, frame: pd.DataFrame, schemes: Sequence[str]) -> Drawing:
    """Return TCP's and UDP's loss ratio, and the queue's measures, of each scheme on the same traffic."""
    columns = ("load", "mean_queue_packets", "loss_ratio", "burst_ratio", "impairment_c", "loss_ratio_tcp",
               "loss_ratio_udp", "tcp_share", "sojourn_p99_s")  # fmt: skip
    wide = frame.pivot_table(index=["block", "demand"], columns="label", values=list(columns))
    rows = []
    for one in schemes:
        cells = []
        for column in columns:
            own, base = (
                wide[column][of].to_numpy() * (1e3 if column == "sojourn_p99_s" else 1) for of in (one, BASE)
            )
            cells.append(number(stats.estimate(own) if one == BASE else stats.paired(own, base)))
        rows.append((paper.printed[one], *cells))
    return paper.words.drawing("classes", None, rows=rows, traffics=len(wide))
