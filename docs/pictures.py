"""Draws the pictures of the documentation from runs of the library.

python docs/pictures.py              the README's comparison, RRUL on a cable line, and one picture per algorithm
python docs/pictures.py ALGORITHM    those of these algorithms alone
"""

from __future__ import annotations

import argparse
import io
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image

import sojourn as sj
from sojourn.base import suggest
from sojourn.studies import demo
from sojourn.view import plot

DOCS = Path(__file__).parent
PANELS = [
    ("queue_packets", "packets waiting", "#0072B2"),
    ("sojourn_ms", "sojourn time (ms)", "#009E73"),
    ("drops_packets_s", "drops (packets/s)", "#D55E00"),
]


def behaviour(path: Path, scheme: str, network: sj.Network) -> None:
    """One algorithm's queue, sojourn time and drops before, during and after a flood."""
    series = sj.compare(network, [scheme], replicates=1, seed=1, series=sj.ms(100)).series
    # On a telephone a page is 390 pixels wide: text of 8.5 points in 5 inches has 9 of them.
    figure, axes = plt.subplots(len(PANELS), 1, sharex=True, figsize=(5.0, 4.6), layout="constrained")
    for axis, (name, label, colour) in zip(axes, PANELS, strict=True):
        one = series[series["name"] == name]
        axis.axvspan(20, 25, color="0.92", linewidth=0)
        axis.plot(one["t_s"], one["value"], color=colour, linewidth=1)
        axis.set_ylabel(label, fontsize=8.5)
        axis.set_ylim(bottom=0)
        axis.tick_params(labelsize=8.5)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_title(scheme, fontsize=10, loc="left")
    axes[-1].set_xlabel("time (s)\nshaded: a UDP flow of 16 Mbit/s joins ten CUBIC flows on 20 Mbit/s", fontsize=8.5)
    figure.align_ylabels(axes)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=120)
    plt.close(figure)
    reduce(drawn, path)


def reduce(drawn: io.BytesIO, path: Path) -> None:
    """Write a picture with few colours."""
    # A few dozen of them are kept with the sources, so they have few colours. With 32, a short line lost its own.
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)


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
        compare_at_home(DOCS / "images" / "home.png")
        load_a_line(DOCS / "images")
    folder = DOCS / "images" / "algorithms"
    folder.mkdir(exist_ok=True)
    network = sj.load(DOCS / "flood.toml")
    for name in chosen or about:
        behaviour(folder / f"{name}.png", about[name]["example"], network)


def compare_at_home(path: Path) -> None:
    """The README's comparison of five schemes."""
    home = sj.compare(sj.load(demo.SCENARIO), demo.SCHEMES, replicates=10, seed=1)
    # Two panels side by side, in the largest text for which there is room.
    with plot.sheet(plot.NARROW):
        home.plot.groups().savefig(path, dpi=220, facecolor="white", metadata={"Software": None})


def load_a_line(folder: Path) -> None:
    """The guide's cable line under RRUL, as Flent draws it."""
    line = sj.access(down=sj.mbit_s(50), up=sj.mbit_s(10), rtt=sj.ms(20), technology="docsis")
    results = sj.compare(line.add_flows(sj.rrul()), ["pfifo limit 1000p", "fq_codel"], replicates=1, seed=1)
    for label, name in (("pfifo limit 1000p", "pfifo"), ("fq_codel", "fq_codel")):
        drawn = io.BytesIO()
        sj.RrulSummary(results).plot(label).savefig(drawn, dpi=90, facecolor="white", metadata={"Software": None})
        reduce(drawn, folder / f"rrul-{name}.png")


if __name__ == "__main__":
    main()
