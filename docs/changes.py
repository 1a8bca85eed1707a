"""Writes the guide on networks that change, with its pictures: an LTE link under six schemes, capacity by turns.

``docs/changes.py`` runs all of it: some seconds of CPU time. The runs depend on the seed alone, so the page changes
only when the library does.
"""

from __future__ import annotations

from pages import run, save, write

import sojourn as sj
from sojourn.results import text
from sojourn.results.results import Results

SCHEMES = ("pfifo limit 1000p", "codel", "pie", "fq_codel", "cake", "dualpi2")
TURNS = ("pfifo limit 417p", "codel", "pie", "fq_codel")
REPLICATIONS = 5
STEP_S = 0.2


def lte() -> Results:
    """Draw capacity, goodput and queueing delay over the minute under six schemes, two panels for each."""
    results = sj.compare("lte", SCHEMES, replicates=REPLICATIONS, seed=1, series=sj.ms(STEP_S * 1e3), progress=False)
    save(results.plot.capacity(), "changes-lte.png")
    return results


def turns() -> str:
    """The phases of RFC 7928, section 8.2.6, as the command prints them."""
    results = sj.compare("varying", TURNS, replicates=REPLICATIONS, seed=1, series=None, progress=False)
    return text.phases(results)


def main() -> None:
    """Writes the page."""
    results = lte()

    def of(label: str, name: str, scale: float = 1.0) -> str:
        return f"{results.estimate(label, name).mean * scale:.3g}"

    words = {
        "tail_delay": of("pfifo limit 1000p", "sojourn_ms_mean", 1e-3),
        "tail_goodput": of("pfifo limit 1000p", "goodput_bit_s", 1e-6),
        "codel_delay": of("codel", "sojourn_ms_mean"),
        "codel_goodput": of("codel", "goodput_bit_s", 1e-6),
        "codel_utilisation": of("codel", "utilisation", 100),
    }
    look = run("sojourn trace lte", ".").stdout.rstrip()
    write(
        "guides/networks-that-change.md", {"look": look, "lte": text.comparison(results), "turns": turns(), **words}
    )


if __name__ == "__main__":
    main()
