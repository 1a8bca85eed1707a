"""A second traffic mix, fitted to the study's losses and loads by the rule of ``fitted.toml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

from sojourn.stats import Floats

from . import analysis
from .document import Experiment, Size
from .simulate import PAIRED, Run

SESSIONS: Final = "media"
"""The kind of sessions that the candidates change."""
_METRIC: Final = "loss_ratio"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mix: how many times as fast the media sessions are, and how many times as much of them there is."""

    speed: float
    udp: float


@dataclass(frozen=True, slots=True)
class Fit:
    """What the rule says of a candidate.

    Parameters
    ----------
    is_able
        Whether the rule does not leave it out.
    distance
        Mean |ln| of its loss over the study's.
    ranges
        The number of ranges of load that it reaches.
    tcp_share, size_bytes, deviation_bytes
        Medians over its windows.
    demands
        Those of the judged runs, if it is chosen.
    """

    candidate: Candidate
    is_able: bool
    distance: float
    ranges: int
    tcp_share: float
    size_bytes: float
    deviation_bytes: float
    demands: tuple[float, ...]


def candidates(paper: Experiment) -> list[Candidate]:
    """Return the mixes of the rule."""
    return [Candidate(float(speed), float(udp)) for udp, speed in product(paper.fitted["udp"], paper.fitted["speed"])]


def mixed(paper: Experiment, of: Candidate) -> Experiment:
    """Return the experiment with a candidate's traffic."""

    def changed(table: Mapping[str, Any]) -> dict[str, Any]:
        if table["kind"] != SESSIONS:
            return dict(table)
        rates = [round(rate * of.speed) for rate in table["rate_kbit_s"]]
        return {**table, "count": table["count"] * of.udp / of.speed, "rate_kbit_s": rates}

    sessions = [changed(table) for table in paper.traffic["sessions"]]
    return replace(paper, traffic={**paper.traffic, "sessions": sessions})


def size_of(size: Size, part: Mapping[str, Any]) -> Size:
    """Return a size with the windows and times of a part of the rule (``fit`` or ``judged``)."""
    return replace(size, **{name: part[name] for name in ("packets", "warm_up_s", "measured_s")})


def runs_of(paper: Experiment, blocks: Iterable[int], demands: Sequence[float], schemes: Iterable[str]) -> list[Run]:
    """Return the runs of blocks under schemes."""
    own = [one for one in paper.study if one.id in set(schemes)]
    return [Run(PAIRED, *at, one) for at in product(blocks, demands) for one in own]


def judged_of(paper: Experiment, size: Size) -> tuple[Experiment, Size, list[Run]] | None:
    """Return the experiment, size and runs of the chosen mix; None before one has been chosen."""
    of, chosen = paper.fitted["judged"], paper.fitted.get("chosen")
    if chosen is None:
        return None
    ids = [one.id for one in paper.study]
    runs = runs_of(paper, of["blocks"], chosen["demands"], ids)
    return mixed(paper, Candidate(chosen["speed"], chosen["udp"])), size_of(size, of), runs


def judge(paper: Experiment, of: Candidate, frame: pd.DataFrame) -> Fit:
    """Apply the rule to a candidate's windows, which have the columns of ``store.windows``."""
    rule, centres = paper.fitted, np.asarray(paper.centres)
    ours = [analysis.value_at(frame[frame["label"] == one], _METRIC, centres) for one in rule["schemes"]]
    study = [_printed(paper, one) for one in rule["schemes"]]
    gaps = np.abs(np.log(np.maximum(np.mean(ours, axis=0), 1e-9) / np.mean(study, axis=0)))
    ranges = int(np.isfinite(gaps).sum())
    tcp, size, deviation = (float(frame[one].median()) for one in ("tcp_share", "mean_size_bytes", "std_size_bytes"))
    allowed = ((tcp, rule["tcp_share"]), (size, rule["size_bytes"]), (deviation, rule["deviation_bytes"]))
    is_like = all(low <= value <= high for value, (low, high) in allowed)
    is_able = is_like and ranges >= rule["fewest_ranges"]
    loads = frame.groupby("demand")["load"].mean()
    demands = np.interp(rule["loads"], loads.to_numpy(), loads.index.to_numpy(dtype=np.float64))
    distance = float(np.nanmean(gaps)) if ranges else float("nan")
    return Fit(of, is_able, distance, ranges, tcp, size, deviation, tuple(float(round(one, 2)) for one in demands))


def chosen(fits: Iterable[Fit]) -> Fit:
    """Return the fit with the least distance among those that are not left out."""
    return min((one for one in fits if one.is_able), key=lambda one: one.distance)


def _printed(paper: Experiment, scheme: str) -> Floats:
    of = paper.table1[paper.table1["scheme"] == scheme].set_index("low")[_METRIC]
    return np.asarray([of[low] for low in paper.bounds[:-1]], dtype=np.float64)
