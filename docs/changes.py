"""Writes the guide on networks that change, with its pictures: an LTE link under six schemes, capacity by turns.

``docs/changes.py`` runs all of it: some seconds of CPU time. The runs depend on the seed alone, so the page changes
only when the library does.
"""

from __future__ import annotations

import numpy as np
from practice import BLUE, DOCS, RED, save

import sojourn as sj
from sojourn import trace
from sojourn.cli import text
from sojourn.palette import MUTED
from sojourn.plot import WIDTH, new_figure, points
from sojourn.results import Results

NOTE = "<!-- Made by docs/changes.py from runs of the library: change it there, or its words in docs/templates. -->\n"
SCHEMES = ("pfifo limit 1000p", "codel", "pie", "fq_codel", "cake", "dualpi2")
TURNS = ("pfifo limit 417p", "codel", "pie", "fq_codel")
REPLICATIONS = 5
STEP_S = 0.2


def lte() -> Results:
    """Draw capacity, goodput and queueing delay over the minute under six schemes, two panels for each."""
    results = sj.compare("lte", SCHEMES, replicates=REPLICATIONS, seed=1, series=sj.ms(STEP_S * 1e3), progress=False)
    edges = np.arange(round(60 / STEP_S) + 1) * STEP_S
    capacity = np.diff(trace.read("lte").bits(edges)) / STEP_S / 1e6
    series = results.series[results.series["replication"] == 0]
    with new_figure(WIDTH, 9.6, rows=40) as figure:
        panels = figure.subplots(
            6, 2, sharex=True, gridspec_kw={"height_ratios": [1.3, 1, 1.3, 1, 1.3, 1]}, squeeze=False
        )
        for place, label in enumerate(SCHEMES):
            row, column = 2 * (place // 2), place % 2
            upper, lower = panels[row, column], panels[row + 1, column]
            own = series[series["scheme"] == label]
            goodput = own[own["name"] == "goodput_bit_s"]
            delay = own[own["name"] == "sojourn_ms"]
            upper.stairs(capacity, edges, fill=True, color=MUTED, alpha=0.3, label="capacity")
            upper.plot(goodput["t_s"], goodput["value"] / 1e6, color=BLUE, linewidth=1.0, label="goodput")
            lower.plot(delay["t_s"], delay["value"], color=RED, linewidth=1.0, label="queueing delay")
            upper.set_title(label, fontsize=points(9.5), pad=3)
            upper.set_ylim(0, 8)
            lower.set_yscale("symlog", linthresh=10)
            lower.set_ylim(0, 10_000)
            lower.set_yticks([0, 10, 100, 1000, 10_000], ["0", "10", "100", "1000", "10000"])
            for axes in (upper, lower):
                axes.margins(x=0)
            if column == 0:
                upper.set_ylabel("Mbit/s")
                lower.set_ylabel("delay (ms)")
        panels[0, 0].legend(loc="upper center", ncols=2, fontsize=points(8.5))
        for axes in panels[-1, :]:
            axes.set_xlabel("Time (s)")
    save(figure, "changes-lte.png")
    return results


def table(results: Results) -> str:
    """The main numbers of the six schemes, as the command prints them."""
    return text.comparison(results)


def turns() -> str:
    """The phases of RFC 7928, section 8.2.6, as the command prints them."""
    results = sj.compare("varying", TURNS, replicates=REPLICATIONS, seed=1, series=None, progress=False)
    return text.phases(results)


def look() -> str:
    """What the command says of the trace."""
    from argparse import Namespace
    from contextlib import redirect_stdout
    from io import StringIO

    from sojourn.cli import trace as command

    out = StringIO()
    with redirect_stdout(out):
        command.run(Namespace(file="lte", make=None, window="100ms", hold=False, json=False, out=None))
    return out.getvalue().rstrip()


def main() -> None:
    """Writes the page."""
    template = (DOCS / "templates" / "networks-that-change.md.in").read_text(encoding="utf-8")
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
    page = NOTE + template.format(look=look(), lte=table(results), turns=turns(), **words)
    (DOCS / "guides" / "networks-that-change.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
