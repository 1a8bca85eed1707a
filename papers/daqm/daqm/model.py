"""What ``future.toml`` holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn.base.core import SojournError
from sojourn.base.units import to_ns
from sojourn.studies.papers.checks import as_tuples, read_toml
from sojourn.studies.papers.model import Paper

FILE: Final = "future.toml"


@dataclass(frozen=True, slots=True)
class Interarrival:
    """Which conditions compare a measured inter-arrival time with the constant.

    Parameters
    ----------
    least
        The constant where the mode is 0 ms.
    conditions
        Overrides of those that the study's own conditions do not have, by name.
    readings
        Overrides of the scenario by name.
    """

    schemes: tuple[str, ...]
    least: str
    replications: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]
    conditions: Mapping[str, tuple[str, ...]]
    readings: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of goodput, delay and loss in the reward of a window of time."""

    name: str
    goodput: float
    delay: float
    loss: float

    def of(self, goodput: Any, delay: Any, loss: Any) -> Any:
        """Return the reward of numbers, or of arrays of them."""
        return self.goodput * goodput - self.delay * delay - self.loss * loss


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The traffic that changes, and the schemes among which a controller chooses.

    Parameters
    ----------
    phase, cycles
        Duration of each kind of traffic, and how often the sequence of all kinds is repeated.
    holds
        Numbers of windows from one decision to the next; each number is a variant.
    train_seed, evaluate_seed
        First seeds; they differ by more than the number of episodes.
    delay_unit_ms
        The mean sojourn time that counts as a delay of 1.
    weights
        The main ones first.
    """

    arms: tuple[str, ...]
    rate_mbit_s: float
    base_rtt: str
    clients: int
    phase: str
    cycles: int
    interval: str
    holds: tuple[int, ...]
    train_seed: int
    evaluate_seed: int
    episodes: Mapping[str, Mapping[str, int]]
    traffic: tuple[Mapping[str, Any], ...]
    delay_unit_ms: float
    weights: tuple[Weights, ...]

    @property
    def phase_s(self) -> float:
        """Length of a phase in seconds."""
        return to_ns("phase", self.phase) / 1e9

    @property
    def interval_s(self) -> float:
        """Length of a window in seconds."""
        return to_ns("interval", self.interval) / 1e9

    @property
    def duration_s(self) -> float:
        """Length of an episode in seconds."""
        return self.phase_s * len(self.traffic) * self.cycles


@dataclass(frozen=True, slots=True)
class Future:
    """Both parts, and the section of the study that asks for them."""

    section: str
    interarrival: Interarrival
    adaptive: Adaptive


def load(paper: Paper) -> Future:
    """Read the paper's ``future.toml``."""
    path = Path(paper.folder) / FILE
    given = read_toml(path)
    try:
        one, two = as_tuples(given["interarrival"]), as_tuples(given["adaptive"])
        for name in ("reading", "condition"):
            one[f"{name}s"] = {of["name"]: tuple(of["set"]) for of in one.pop(name)}
        one["names"] = {size: one.pop(size) for size in ("quick", "full")}
        seed, unit = two.pop("seed"), two.pop("reward")["delay_unit"]
        two |= {"train_seed": seed["train"], "evaluate_seed": seed["evaluate"], "holds": two.pop("hold")}
        two |= {"delay_unit_ms": to_ns("delay_unit", unit) / 1e6, "rate_mbit_s": float(two["rate_mbit_s"])}
        two["weights"] = tuple(Weights(**weights) for weights in two["weights"])
        future = Future(given["section"], Interarrival(**one), Adaptive(**two))
    except (KeyError, TypeError) as error:
        raise SojournError(f"{path}: {error!r}; what it must hold is in {__name__}") from None
    unknown = [name for name in (*future.interarrival.schemes, *future.adaptive.arms) if name not in paper.texts]
    if unknown:
        raise SojournError(f"{path}: unknown schemes {', '.join(unknown)}; there are: {', '.join(paper.texts)}")
    return future
