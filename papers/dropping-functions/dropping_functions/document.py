"""Reading the folder of a paper of windows: ``experiment.toml``, ``claims.toml``, ``fitted.toml``, ``table1.csv``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pandas as pd

from sojourn.base.core import SojournError
from sojourn.studies.papers import documents
from sojourn.studies.papers.checks import need, read_toml
from sojourn.studies.papers.model import Study
from sojourn.studies.papers.section import Words

EXPERIMENT: Final = "experiment.toml"
_TABLE: Final = "table1.csv"
_FITTED: Final = "fitted.toml"


@dataclass(frozen=True, slots=True)
class Scheme:
    """One scheme: its id in tables and schedules, its name for people, and its text as tc writes it.

    `is_beside`: of the AQM that the study does not have.
    """

    id: str
    printed: str
    text: str
    is_beside: bool = False


@dataclass(frozen=True, slots=True)
class Switchback:
    """Runs with random switching.

    Parameters
    ----------
    warm_up_s, burn_in_s
        The time before the first slot, and the time at the beginning of each slot that estimates leave out.
    demand, cycle_slots
        The smallest and the largest demand, and the number of slots in which it goes from one to the other and back.
    """

    runs: int
    packets: int
    slots: int
    slot_s: float
    warm_up_s: float
    burn_in_s: float
    demand: tuple[float, float]
    cycle_slots: float


@dataclass(frozen=True, slots=True)
class Size:
    """The amount of traffic in a quick or a full run.

    Parameters
    ----------
    blocks
        Independent draws of all traffic; each is sent through every scheme at every demand.
    demands
        Multiples of the traffic's counts and rates.
    blocks_beside, blocks_laboratory
        Numbers of blocks with other kinds of AQM, and with a laboratory's round-trip times.
    """

    name: str
    packets: int
    warm_up_s: float
    measured_s: float
    blocks: int
    demands: tuple[float, ...]
    blocks_beside: int
    blocks_laboratory: int
    switchback: Switchback


@dataclass(frozen=True)
class Experiment(Study):
    """A paper of windows as data.

    Parameters
    ----------
    schemes
        The study's first.
    bounds
        Of the ranges of load, ascending; a range has its upper bound.
    table1
        The study's: columns low, high, scheme, and one per metric.
    margin
        How near "similar" is.
    fitted
        The rule of a second mix, and the mix that it chose.
    """

    schemes: tuple[Scheme, ...]
    bounds: tuple[float, ...]
    low: float
    high: float
    sizes: dict[str, Size]
    traffic: dict[str, Any]
    device: dict[str, Any]
    table1: pd.DataFrame
    margin: float
    fitted: dict[str, Any]

    @property
    def study(self) -> tuple[Scheme, ...]:
        """The schemes of the study."""
        return tuple(one for one in self.schemes if not one.is_beside)

    @property
    def printed(self) -> dict[str, str]:
        """Names for people, by id."""
        return {one.id: one.printed for one in self.schemes}

    @property
    def centres(self) -> tuple[float, ...]:
        """Middles of the ranges of load."""
        return tuple(round((a + b) / 2, 4) for a, b in self.ranges)

    @property
    def words(self) -> Words:
        """The words of the report."""
        return Words(self.folder)

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """The ranges of load, each with its bounds."""
        return list(pairwise(self.bounds))


def load(name: str, where: Path | None = None) -> Experiment:
    """Read a paper of windows."""
    folder = (where or documents.folder()) / name
    missing = [one for one in (EXPERIMENT, "claims.toml", _FITTED, _TABLE) if not (folder / one).is_file()]
    if missing:
        raise SojournError(f"{folder}: {', '.join(missing)} missing: this paper cannot be run")
    file = folder / EXPERIMENT
    experiment = read_toml(file)
    claims = read_toml(folder / "claims.toml")
    ranges = need(experiment, "ranges", file)
    schemes = tuple(
        Scheme(one["id"], one["printed"], one["text"], bool(one.get("beside", False)))
        for one in need(experiment, "schemes", file)
    )
    found = Experiment(
        **documents.of_study(folder, experiment, file, claims, claims.get("groups", {})),
        schemes=schemes,
        bounds=tuple(ranges["bounds"]),
        low=float(ranges["low"]),
        high=float(ranges["high"]),
        sizes={key: _size(key, of, file) for key, of in need(experiment, "sizes", file).items()},
        traffic=need(experiment, "traffic", file),
        device=need(experiment, "device", file),
        table1=_table1(folder / _TABLE),
        margin=float(need(claims, "margin", folder / "claims.toml")),
        fitted=read_toml(folder / _FITTED),
    )
    used = {f"claims.toml: claim {one.id}": found.ids((*one.subject, *one.against)) for one in found.claims}
    documents.check_schemes(folder, used, found.printed)
    return found


def _size(name: str, of: dict[str, Any], file: Path) -> Size:
    try:
        back = of["switchback"]
        switchback = Switchback(**{**back, "demand": tuple(back["demand"])})
        return Size(name=name, **{**of, "demands": tuple(of["demands"]), "switchback": switchback})
    except (TypeError, KeyError) as error:
        raise SojournError(f"{file}: sizes.{name}: {error}") from None


def _table1(file: Path) -> pd.DataFrame:
    names = {"load_low_exclusive": "low", "load_high_inclusive": "high", "total_impairment": "impairment_c"}
    return pd.read_csv(file).rename(columns=names)
