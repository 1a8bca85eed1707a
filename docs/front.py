"""The second part of the page on the best dropping function, as front.toml fixes it: equal load, and a switchback.

``docs/front.py`` prints the tables: some seven minutes of CPU time. ``docs/front.py device`` does the switchback on
the device, which takes twenty minutes, root and ``sojournd``. Finished runs are kept in ``out/front``.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from optimal import PROTOCOL as FIRST
from pages import lines

from sojourn import _native, stats
from sojourn.base import core
from sojourn.real.device import experiment as laboratory
from sojourn.studies.papers.shipped.dropping_functions import document, simulate, store
from sojourn.studies.papers.shipped.dropping_functions.document import Experiment, Size, Switchback
from sojourn.studies.papers.shipped.dropping_functions.simulate import PAIRED, SWITCHBACK, WINDOWS, Run
from sojourn.studies.papers.shipped.results import Keeper

DOCS = Path(__file__).parent
PROTOCOL = tomllib.loads((DOCS / "front.toml").read_text(encoding="utf-8"))
REFERENCE = "d1"
C, GOODPUT, UTILISATION = "impairment_c", "goodput", "utilisation"
CANDIDATES = [name for name in PROTOCOL["schemes"] if name != REFERENCE]


def experiment() -> tuple[Experiment, Size]:
    """The study's experiment with the protocol's schemes and switchback."""
    paper = document.load("dropping-functions")
    texts = {one["id"]: one for one in FIRST["scheme"]}
    schemes = tuple(document.Scheme(name, texts[name]["name"], texts[name]["text"]) for name in PROTOCOL["schemes"])
    keys = {name: value for name, value in PROTOCOL["switchback"].items() if name != "first"}
    back = Switchback(**{**keys, "demand": tuple(keys["demand"])})
    return replace(paper, schemes=schemes), replace(paper.sizes["quick"], switchback=back)


def goodput(report: Any, draw: Any) -> float:
    """What receivers got of payload, without uploads, over the link's rate."""
    flows = [flow for flow in report["flows"] if draw.kind[flow["group"]] != "upload"]
    return sum(flow["metrics"]["goodput_bit_s"] or 0.0 for flow in flows) / 1e9


def paired() -> Iterator[dict[str, Any]]:
    """The runs of the first part: windows and goodput."""
    paper, size = experiment()
    keeper = Keeper(DOCS.parent / "out/front")
    for block in PROTOCOL["blocks"]:
        for demand in PROTOCOL["demands"]:
            draw = None
            for scheme in paper.schemes:
                run = Run(PAIRED, block, demand, scheme)
                of = {**simulate.settings(paper, size, run), "with": GOODPUT}
                found = keeper.find(WINDOWS, of)
                if found is None:
                    draw = draw or simulate.draw_of(paper, size, run)
                    task = {"scheme": scheme.text, "seed": 1, "replication": block, "series": None}
                    ((is_good, text),) = core.run_batch([draw.scenario], [(0, json.dumps(task))], _native.Stop())
                    if not is_good:
                        raise SystemExit(text)
                    report = json.loads(text)
                    made = simulate.stored(paper, size, run, draw, report)
                    found = keeper.keep(WINDOWS, of, {**made, GOODPUT: goodput(report, draw)})
                yield found
            print(block, demand, flush=True)


def at_equal_load() -> list[list[str]]:
    """Rows of the first part: candidate, load, measure, blocks, difference, in per cent of d1's, p."""
    runs = list(paired())
    frame = store.windows(runs)
    means = frame.groupby(["label", "block", "demand"])[["load", C]].mean()
    means[GOODPUT] = pd.Series({(run["label"], run["block"], run["demand"]): run[GOODPUT] for run in runs})

    def value(label: str, block: int, measure: str, load: float) -> float:
        own = means.loc[(label, block)].sort_values("load")
        return float(np.interp(load, own["load"], own[measure], left=np.nan, right=np.nan))

    rows, p = [], []
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
                shown = f"{of.mean:.3g} [{of.low or 0:.3g}, {of.high or 0:.3g}]"
                rows.append([name, f"{load:g}", measure, f"{known.sum()}", shown, change])
                p.append(stats.paired_p(ours[known], theirs[known]))
    return [[*row, f"{each:.2g}"] for row, each in zip(rows, stats.holm(p), strict=True)]


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
    rows, p = [], []
    for (name, measure), values in sorted(found.items()):
        of = stats.estimate(np.array(values))
        rows.append([name, measure, f"{of.mean:.3g} [{of.low or 0:.3g}, {of.high or 0:.3g}]"])
        p.append(stats.paired_p(np.array(values), np.zeros(len(values))))
    return [[*row, f"{each:.2g}"] for row, each in zip(rows, stats.holm(p), strict=True)]


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
