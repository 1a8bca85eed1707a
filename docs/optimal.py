"""The simulations of the page on the best dropping function, as optimal.toml fixes them, and theory's front of C.

``docs/optimal.py`` prints their tables and draws their picture: about ten minutes of CPU time, five of them for the
simulations. Finished runs are kept in ``out/optimal``.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pages import BLUE, DOCS, RED, lines, protocol, save, with_p, within

from sojourn import stats
from sojourn.studies.papers.results import Keeper
from sojourn.theory import optimal
from sojourn.view.plot import WIDTH, new_figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers" / "dropping-functions"))
from dropping_functions import document, simulate, store
from dropping_functions.document import Experiment, Size
from dropping_functions.simulate import PAIRED, WINDOWS, Run

PROTOCOL = protocol("optimal")
LOADS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "Poisson": ({}, (0.98, 0.985, 0.99)),
    "batches of 1 or 10": ({"batch": {1: 0.5, 10: 0.5}}, (0.90, 0.95)),
    "bursts (3, 0.3, 100)": ({"bursts": (3.0, 0.3, 100.0)}, (0.8, 0.86)),
}
ROOM = 120
KNOTS = 13
MEASURES = ("impairment_c", "utilisation", "mean_queue_packets", "loss_ratio", "burst_ratio")


def front() -> list[list[str]]:
    """Rows of the front of C and utilisation at load 1, by kind of arrivals."""
    rows = []
    for name, (more, least) in LOADS.items():
        of = optimal.model(load=1.0, room=ROOM, **more)
        nine = [optimal.of_scheme(of, f"dropping_function function d{k} count system") for k in range(1, 8)]
        best = min(nine, key=lambda one: one.impairment)
        steps = [of.solve(optimal.step(length, ROOM)) for length in range(2, ROOM + 1)]
        for utilisation in least:
            found = optimal.least_impairment(of, utilisation=utilisation, knots=KNOTS)
            # The penalty leaves a lack of some 0.0001.
            able = [one for one in steps if one.utilisation >= found.utilisation]
            step = min(able, key=lambda one: one.impairment, default=None)
            rows.append(
                [
                    name,
                    f"{found.utilisation:.3f}",
                    f"{found.impairment:.1f}",
                    f"{found.mean_packets:.1f}",
                    f"{found.burst_ratio:.2f}",
                    "none" if step is None else f"{step.impairment:.1f} ({step.threshold})",
                    f"{best.impairment:.1f} ({best.utilisation:.3f})",
                ]
            )
    return rows


def experiment(schemes: Iterable[Mapping[str, str]]) -> tuple[Experiment, Size]:
    """The study's experiment with other schemes: each an `id`, a `name` and a `text`."""
    paper = document.load("dropping-functions")
    own = tuple(document.Scheme(one["id"], one["name"], one["text"]) for one in schemes)
    return replace(paper, schemes=own), paper.sizes["quick"]


def paired(
    of: tuple[Experiment, Size],
    settings: Mapping[str, Any],
    folder: str,
    also: Callable[..., dict[str, Any]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Every scheme's runs in a protocol's blocks and demands, made or found in a folder of ``out``."""
    keeper, more = Keeper(DOCS.parent / "out" / folder), {"with": also.__name__} if also else {}
    for block, demand in itertools.product(settings["blocks"], settings["demands"]):
        draw = None
        for scheme in of[0].schemes:
            run = Run(PAIRED, block, demand, scheme)
            key = {**simulate.settings(*of, run), **more}
            found = keeper.find(WINDOWS, key)
            if found is None:
                draw = draw or simulate.draw_of(*of, run)
                found = keeper.keep(
                    WINDOWS, key, simulate.result_of(*of, run, draw, **({"also": also} if also else {}))
                )
            yield found
        print(block, demand, flush=True)


def simulated() -> dict[str, dict[str, np.ndarray]]:
    """Values by measure and scheme, one a block: the runs of the protocol."""
    of = experiment(PROTOCOL["scheme"])
    frame = store.windows(paired(of, PROTOCOL, "optimal"))
    frame["utilisation"] = np.minimum(frame["load"] * (1 - frame["loss_ratio"]), 1.0)
    means = frame.groupby(["label", "block", "demand"])[list(MEASURES)].mean().groupby(["label", "block"]).mean()
    return {name: {one.id: means[name][one.id].to_numpy() for one in of[0].schemes} for name in MEASURES}


def compared(values: dict[str, dict[str, np.ndarray]]) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of means of every scheme, and of the tests of the protocol."""
    names = {one["id"]: one["name"] for one in PROTOCOL["scheme"]}
    means = [
        [name, *(f"{stats.estimate(values[measure][key]).mean:.4g}" for measure in MEASURES)]
        for key, name in names.items()
    ]
    tests = [
        (one["id"], measure, values[measure][one["id"]], values[measure][PROTOCOL["reference"]])
        for one in PROTOCOL["scheme"]
        if one.get("is_candidate")
        for measure in MEASURES[:2]
    ]
    rows = []
    for key, measure, own, other in tests:
        of = stats.paired(own, other)
        share = f"{of.mean / float(np.mean(other)):+.1%}"
        rows.append(([names[key], measure, within(of), share], stats.paired_p(own, other)))
    return means, with_p(rows)


def picture(values: dict[str, dict[str, np.ndarray]]) -> None:
    """Draw how C and utilisation of each scheme differ from the reference's: paired by block, 95 % intervals."""
    with new_figure(WIDTH, 3.6) as figure:
        axes = figure.add_subplot()
        for one in PROTOCOL["scheme"]:
            x, y = (
                stats.paired(*(values[measure][key] for key in (one["id"], PROTOCOL["reference"])))
                for measure in ("utilisation", "impairment_c")
            )
            color = RED if one.get("is_candidate") else BLUE
            axes.errorbar(x.mean, y.mean, xerr=x.half_width, yerr=y.half_width, fmt="o", color=color, linewidth=1)
            below = one["id"] in ("gradual", "threshold")
            place = {"xytext": (6, -13 if below else 6), "textcoords": "offset points", "fontsize": 9}
            axes.annotate(one["name"], (x.mean, y.mean), **place)
        axes.set_xlabel("utilisation minus that of d1")
        axes.set_ylabel("C minus that of d1")
    save(figure, "optimal.png")


if __name__ == "__main__":
    print(lines(front()))
    found = simulated()
    picture(found)
    for rows in compared(found):
        print(lines(rows))
