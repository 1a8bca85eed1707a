"""Draws the pictures of the documentation from runs of the library."""

from __future__ import annotations

from pathlib import Path

import sojourn as sj

IMAGES = Path(__file__).parent / "images"
SCHEMES = ["pfifo limit 100p", "red min 15p max 45p limit 100p", "pie", "codel", "fq_codel", "cobalt"]


def main() -> None:
    """Draws the picture of the README: the bundled dumbbell under six schemes."""
    results = sj.compare(sj.load("dumbbell"), SCHEMES, replicates=10, seed=1)
    figure = results.plot.delay_throughput()
    figure.savefig(IMAGES / "dumbbell.png", dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
