"""Windows of simulations and of the device as tables of one form."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pandas as pd

from sojourn.real.device import windows as device_windows

from .analysis import METRICS

_OF_RUN: Final = ("part", "block", "demand")
OF_WINDOW: Final = (
    "started_ns",
    "label",
    "slot",
    "load",
    "arrived_bytes",
    "mean_size_bytes",
    "std_size_bytes",
    *METRICS,
)


def windows(runs: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return the windows of simulations, one a row, with the columns of their run and ``tcp_share`` of the bytes."""
    own = sorted(runs, key=lambda run: [run[name] for name in _OF_RUN])
    rows = [{**run, **row} for run in own for row in run["windows"]]
    frame = pd.DataFrame(rows, columns=[*_OF_RUN, *OF_WINDOW]).assign(window=range(len(rows)))
    counts = [{**of, "window": k, "class": name} for k, row in enumerate(rows) for name, of in row["classes"].items()]
    return _with_classes(
        frame, pd.DataFrame(counts, columns=["window", "class", "arrived", "arrived_bytes", "dropped"])
    )


def flows(runs: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return the sums over groups of similar flows of simulations, with the columns of their run."""
    each = [pd.DataFrame(run["flows"]).assign(**{name: run[name] for name in ("label", *_OF_RUN)}) for run in runs]
    return pd.concat(each) if each else pd.DataFrame()


def _with_classes(frame: pd.DataFrame, classes: pd.DataFrame) -> pd.DataFrame:
    of = {str(name): own.set_index("window") for name, own in classes.groupby("class")}
    for name in ("tcp", "udp"):
        own = of.get(name, classes[:0].set_index("window"))
        frame[f"loss_ratio_{name}"] = frame["window"].map(own["dropped"] / own["arrived"].where(own["arrived"] > 0))
        if name == "tcp":
            frame["tcp_share"] = frame["window"].map(own["arrived_bytes"]) / frame["arrived_bytes"]
    return frame


def read_device(file: Path) -> pd.DataFrame:
    """Return the whole windows that a device stored, in the form of :func:`windows`.

    Each slot of the schedule is one entry of `slot`; windows without a schedule, and those that a change of scheme
    ended, are left out.
    """
    store = device_windows.read(file, complete=True)
    frame = store.windows.dropna(subset=["slot"]).sort_values("started_ns", kind="stable", ignore_index=True)
    return _with_classes(frame, store.classes)
