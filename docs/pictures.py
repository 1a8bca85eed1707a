"""Draws the pictures of the documentation from runs of the library.

python docs/pictures.py              the README's comparison, RRUL on a cable line, and one picture per algorithm
python docs/pictures.py ALGORITHM    those of these algorithms alone
"""

from __future__ import annotations

import argparse
import tomllib

import matplotlib.pyplot as plt
from pages import DOCS, IMAGES, save_small

import sojourn as sj
from sojourn.base import suggest
from sojourn.studies import demo
from sojourn.view import plot

PANELS = [
    ("queue_packets", "packets waiting", "#0072B2"),
    ("sojourn_ms", "sojourn time (ms)", "#009E73"),
    ("drops_packets_s", "drops (packets/s)", "#D55E00"),
]


def behaviour(name: str, scheme: str, network: sj.Network) -> None:
    """One algorithm's queue, sojourn time and drops before, during and after a flood."""
    series = sj.compare(network, [scheme], replicates=1, seed=1, series=sj.ms(100)).series
    # On a telephone a page is 390 pixels wide: text of 8.5 points in 5 inches has 9 of them.
    figure, axes = plt.subplots(len(PANELS), 1, sharex=True, figsize=(5.0, 4.6), layout="constrained")
    for axis, (panel, label, colour) in zip(axes, PANELS, strict=True):
        one = series[series["name"] == panel]
        axis.axvspan(20, 25, color="0.92", linewidth=0)
        axis.plot(one["t_s"], one["value"], color=colour, linewidth=1)
        axis.set_ylabel(label, fontsize=8.5)
        axis.set_ylim(bottom=0)
        axis.tick_params(labelsize=8.5)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_title(scheme, fontsize=10, loc="left")
    axes[-1].set_xlabel("time (s)\nshaded: a UDP flow of 16 Mbit/s joins ten CUBIC flows on 20 Mbit/s", fontsize=8.5)
    figure.align_ylabels(axes)
    save_small(figure, f"algorithms/{name}.png")
    plt.close(figure)


def main() -> None:
    """Draw all pictures, or those of the algorithms that are named."""
    about = tomllib.loads((DOCS / "algorithms.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "algorithms", nargs="*", metavar="ALGORITHM", help="default: all, and the README's comparison"
    )
    chosen: list[str] = parser.parse_args().algorithms
    for name in chosen:
        if name not in about:
            parser.error(suggest.unknown("algorithm", name, about))
    if not chosen:
        compare_at_home()
        load_a_line()
    (IMAGES / "algorithms").mkdir(exist_ok=True)
    network = sj.load(DOCS / "flood.toml")
    for name in chosen or about:
        behaviour(name, about[name]["example"], network)


def compare_at_home() -> None:
    """The README's comparison of five schemes."""
    home = sj.compare(sj.load(demo.SCENARIO), demo.SCHEMES, replicates=10, seed=1)
    # Two panels side by side, in the largest text for which there is room.
    with plot.sheet(plot.NARROW):
        home.plot.groups().savefig(IMAGES / "home.png", dpi=220, facecolor="white", metadata={"Software": None})


def load_a_line() -> None:
    """The guide's cable line under RRUL, as Flent draws it."""
    line = sj.access(down=sj.mbit_s(50), up=sj.mbit_s(10), rtt=sj.ms(20), technology="docsis")
    results = sj.compare(line.add_flows(sj.rrul()), ["pfifo limit 1000p", "fq_codel"], replicates=1, seed=1)
    for label, name in (("pfifo limit 1000p", "pfifo"), ("fq_codel", "fq_codel")):
        save_small(sj.RrulSummary(results).plot(label), f"rrul-{name}.png", dpi=90)


if __name__ == "__main__":
    main()
