"""The experiment on the device; it is available with `sojournd`, root and network namespaces.

The experiment itself is :mod:`sojourn.real.device.experiment`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd

from sojourn.base.core import SojournError
from sojourn.real.device import experiment as laboratory
from sojourn.real.device import windows as device_windows
from sojourn.real.device.lab import Lab, LabError, find_sojournd

from . import store
from .document import Experiment

STORE: Final = "device.sqlite"
DEVICE: Final = "device"
OF_STORE: Final = "your device"
LEAST_BURN_IN_S: Final = 6.0
"""For a store of another network: after it, the device's slots were steady (README.md)."""

Experimenter = Callable[[laboratory.Experiment, Path, Callable[[str], None]], Path]


@dataclass(frozen=True)
class Device:
    """The results of the device.

    Parameters
    ----------
    windows
        In the form of the simulation's, with `run` and `since_s`; empty where it was not run.
    burn_in_s
        The previous scheme may still affect windows that begin within this time after a switch.
    name
        :data:`DEVICE`, or :data:`OF_STORE`, whose outcomes are never those that were recorded of the device.
    """

    windows: pd.DataFrame
    why: str = ""
    burn_in_s: float = 0.0
    name: str = DEVICE


def plan_of(paper: Experiment, size: str) -> laboratory.Experiment:
    """Return the settings of the device for a quick or a full run."""
    of = paper.device[size]
    return laboratory.Experiment(
        schemes=tuple((one.id, one.text) for one in paper.study),
        rate=paper.device["rate"],
        rtt_ms=tuple(paper.device["rtt_ms"]),
        demands=tuple(paper.device["demand"]),
        **{name: of[name] for name in ("packets", "slots", "slot_s", "design", "seed")},
    )


def missing() -> str:
    """Return what is missing on this machine for the device part; empty if it can be run."""
    try:
        find_sojournd()
        Lab()
    except LabError as error:
        return str(error)
    return ""


def run(
    paper: Experiment,
    size: str,
    place: Path,
    say: Callable[[str], None],
    *,
    left_out: str = "",
    experiment: Experimenter | None = None,
) -> Device:
    """Run the device's part, or read what an earlier call stored in the folder `place`.

    With `left_out`, the reason why it is not to run, it only reads. `experiment` replaces the experiment, for tests.
    """
    file = place / f"{size}-{STORE}"
    if not file.is_file():
        why = left_out or ("" if experiment else missing())
        if why:
            return Device(pd.DataFrame(), why)
        say("device: begins")
        try:
            made = (experiment or laboratory.run)(plan_of(paper, size), place, say)
        except SojournError as error:
            return Device(pd.DataFrame(), f"it failed: {error}")
        made.replace(file)
    return read(paper, size, file)


def read(paper: Experiment, size: str, file: Path) -> Device:
    """Return a device's store, its windows with the columns of a switchback: `run`, and `since_s` of its slot."""
    return Device(_windows(file), burn_in_s=float(paper.device[size]["burn_in_s"]))


def of_store(paper: Experiment, file: Path) -> Device:
    """Return the windows of a store that `sojournd` wrote in another network.

    The burn-in is a twelfth of a slot, but at least :data:`LEAST_BURN_IN_S`.

    Raises
    ------
    SojournError
        If it is not a store, or has no slot, or other labels than those of the study.
    """
    windows, slots = _windows(file), device_windows.read(file).slots
    known = [one.id for one in paper.study]
    labels = sorted(set(windows["label"]) - set(known))
    if windows.empty or labels:
        found = f"unknown {', '.join(labels)}" if labels else "no window of a schedule"
        raise SojournError(f"{file}: {found}; allowed: windows of slots whose labels are {', '.join(known)}")
    places = slots.drop_duplicates("slot").sort_values("slot")
    lengths = places["due_ns"].diff() / places["slot"].diff()
    slot_s = float(lengths.median()) * 1e-9 if len(places) > 1 else 0.0
    return Device(windows, burn_in_s=max(LEAST_BURN_IN_S, slot_s / 12), name=OF_STORE)


def _windows(file: Path) -> pd.DataFrame:
    windows = store.read_device(file)
    begin = windows.groupby("slot")["started_ns"].transform("min")
    return windows.assign(run=0, since_s=(windows["started_ns"] - begin) * 1e-9)
