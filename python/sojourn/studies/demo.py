"""The demonstration: the effect of the scheme on a home network."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sojourn.model.network import load
from sojourn.plan import folder
from sojourn.plan.runner import compare
from sojourn.results import groups

SCENARIO: Final = "home"

SCHEMES: Final = {
    "tail drop": "pfifo limit 1000p",
    "PIE": "pie",
    "CoDel": "codel",
    "FQ-CoDel": "fq_codel",
    "CAKE": "cake bandwidth 50Mbit",
}
"""The queue of a modem without AQM, and what may replace it, each with its defaults."""

STUDIES: Final = "sojourn papers run daqm --quick"


def run(
    out: str | Path,
    *,
    quick: bool = False,
    replicates: int | None = None,
    seed: int = 1,
    jobs: int | None = None,
    command: str | None = None,
) -> str:
    """Compare :data:`SCHEMES` on the scenario ``home``, write a run folder, and return what a terminal shows.

    There are 10 replications, with `quick` 3. An earlier demonstration in the folder is replaced. `command` is what
    was typed, for the folder's meta data.
    """
    from sojourn.results import text

    count = replicates if replicates is not None else 3 if quick else 10
    with folder.staged(out) as staging:
        results = compare(load(SCENARIO), SCHEMES, replicates=count, seed=seed, jobs=jobs)
        folder.write(results, staging, command=command)
    parts = [
        f"{results.scenario['description']}:",
        text.groups(results),
        text.footnote(results),
        text.paragraph(groups.verdict(results)),
        f"Report: {Path(out) / folder.REPORT}"
        f"\nTo repeat a published study: {STUDIES} (`sojourn papers list` has all)",
    ]
    return "\n\n".join(part for part in parts if part)
