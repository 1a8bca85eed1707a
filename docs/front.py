"""The second part of the page on the best dropping function, as front.toml fixes it: equal load, and a switchback.

``docs/front.py`` prints the tables: some seven minutes of CPU time. ``docs/front.py device`` does the switchback on
the device, which takes twenty minutes, root and ``sojournd``. Finished runs are kept in ``out/front``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optimal
import pandas as pd
from pages import DOCS, lines, protocol, with_p, within

from sojourn import stats
from sojourn.real.device import experiment as laboratory
from sojourn.studies.papers.results import Keeper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers" / "dropping-functions"))
from dropping_functions import simulate, store
from dropping_functions.document import Experiment, Size, Switchback
from dropping_functions.simulate import SWITCHBACK, WINDOWS, Run

PROTOCOL = protocol("front")
REFERENCE = "d1"
C, GOODPUT, UTILISATION = "impairment_c", "goodput", "utilisation"
CANDIDATES = [name for name in PROTOCOL["schemes"] if name != REFERENCE]


def experiment() -> tuple[Experiment, Size]:
    """The study's experiment with the protocol's schemes and switchback."""
    schemes = {one["id"]: one for one in optimal.PROTOCOL["scheme"]}
    paper, size = optimal.experiment(schemes[name] for name in PROTOCOL["schemes"])
    keys = {name: value for name, value in PROTOCOL["switchback"].items() if name != "first"}
    return paper, replace(size, switchback=Switchback(**{**keys, "demand": tuple(keys["demand"])}))


def goodput(report: Any, draw: Any) -> dict[str, float]:
    """What receivers got of payload, without uploads, over the link's rate."""
    flows = [flow for flow in report["flows"] if draw.kind[flow["group"]] != "upload"]
    return {GOODPUT: sum(flow["metrics"]["goodput_bit_s"] or 0.0 for flow in flows) / 1e9}


def at_equal_load() -> list[list[str]]:
    """Rows of the first part: candidate, load, measure, blocks, difference, in per cent of d1's, p."""
    runs = list(optimal.paired(experiment(), PROTOCOL, "front", goodput))
    frame = store.windows(runs)
    means = frame.groupby(["label", "block", "demand"])[["load", C]].mean()
    means[GOODPUT] = pd.Series({(run["label"], run["block"], run["demand"]): run[GOODPUT] for run in runs})

    def value(label: str, block: int, measure: str, load: float) -> float:
        own = means.loc[(label, block)].sort_values("load")
        return float(np.interp(load, own["load"], own[measure], left=np.nan, right=np.nan))

    rows = []
    for name in CANDIDATES:
        for load in PROTOCOL["loads"]:
            for measure in (C, GOODPUT):
                ours, theirs = (
                    np.array([value(label, block, measure, load) for block in PROTOCOL["blocks"]])
                    for label in (name, REFERENCE)
                )
                known = np.isfinite(ours) & np.isfinite(theirs)
                of = stats.paired(ours[known], theirs[known])
                change = f"{of.mean / float(theirs[known].mean()):+.1%}"
                row = [name, f"{load:g}", measure, f"{known.sum()}", within(of), change]
                rows.append((row, stats.paired_p(ours[known], theirs[known])))
    return with_p(rows)


def coefficients(frame: pd.DataFrame, measure: str) -> dict[str, float]:
    """Effects of the candidates against d1 in one switchback run, beside a cubic of the load."""
    load = frame["load"].to_numpy() - 1
    columns = [np.ones_like(load), load, load**2, load**3]
    columns += [(frame["label"] == name).to_numpy(dtype=float) for name in CANDIDATES]
    found, *_ = np.linalg.lstsq(np.stack(columns, axis=1), frame[measure].to_numpy(), rcond=None)
    return dict(zip(CANDIDATES, map(float, found[4:]), strict=True))


def effects(runs: Iterable[tuple[pd.DataFrame, pd.Series]], burn_in_s: float) -> list[list[str]]:
    """Rows of a switchback: candidate, measure, difference, p. A run is its windows and their times in the slot."""
    found: dict[tuple[str, str], list[float]] = {}
    windows = 0
    for frame, since_s in runs:
        frame[UTILISATION] = np.minimum(frame["load"] * (1 - frame["loss_ratio"]), 1.0)
        counted = frame[(since_s >= burn_in_s) & frame[C].notna()]
        windows += len(counted)
        for measure in (C, UTILISATION):
            for name, value in coefficients(counted, measure).items():
                found.setdefault((name, measure), []).append(value)
    print(windows, "windows")
    return with_p(
        ([name, measure, within(stats.estimate(values))], stats.paired_p(np.array(values), np.zeros(len(values))))
        for (name, measure), values in sorted(found.items())
    )


def switched() -> Iterator[tuple[pd.DataFrame, pd.Series]]:
    """The runs of the switchback in simulation."""
    paper, size = experiment()
    keeper = Keeper(DOCS.parent / "out/front")
    back, first = PROTOCOL["switchback"], PROTOCOL["switchback"]["first"]
    for number in range(first, first + back["runs"]):
        run = Run(SWITCHBACK, number, 0.0, None)
        of = simulate.settings(paper, size, run)
        found = keeper.find(WINDOWS, of)
        if found is None:
            draw = simulate.draw_of(paper, size, run)
            found = keeper.keep(WINDOWS, of, simulate.result_of(paper, size, run, draw))
        frame = store.windows([found])
        print("switchback", number, flush=True)
        yield frame, frame["started_ns"] * 1e-9 - back["warm_up_s"] - frame["slot"] * back["slot_s"]


def on_device() -> Iterator[tuple[pd.DataFrame, pd.Series]]:
    """The runs of the switchback on the device."""
    paper, _ = experiment()
    of = PROTOCOL["device"]
    folder = DOCS.parent / "out/front/device"
    for seed in range(of["first"], of["first"] + of["runs"]):
        file = folder / f"{seed}.sqlite"
        if not file.is_file():
            plan = laboratory.Experiment(
                schemes=tuple((one.id, one.text) for one in paper.schemes),
                seed=seed,
                rtt_ms=tuple(of["rtt_ms"]),
                demands=tuple(of["demands"]),
                **{name: of[name] for name in ("packets", "slots", "slot_s", "design")},
            )
            laboratory.run(plan, folder / "run", lambda line: print(line, flush=True)).replace(file)
        frame = store.read_device(file)
        yield frame, (frame["started_ns"] - frame.groupby("slot")["started_ns"].transform("min")) * 1e-9


if __name__ == "__main__":
    if sys.argv[1:] == ["device"]:
        print(lines(effects(on_device(), PROTOCOL["device"]["burn_in_s"])))
    else:
        print(lines(at_equal_load()))
        print(lines(effects(switched(), PROTOCOL["switchback"]["burn_in_s"])))
