"""The inter-arrival time by which dAQM divides (section 4.1.1): the mode of a FIFO's in each condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from sojourn.model.scheme import Scheme
from sojourn.plan.model import Plan
from sojourn.results import headline
from sojourn.studies.papers.checks import read_toml
from sojourn.studies.papers.execute import MODE, Key, Runner, plan_name, scenario_of
from sojourn.studies.papers.model import Condition, Reading

RUNS: Final = 5
"""Runs of the FIFO whose mode is taken, quick or full, so that both run the same schemes."""


def modes(runner: Runner, reading: Reading, conditions: Sequence[Condition]) -> dict[Key, str]:
    """Return the :func:`mode` of FIFO runs in each condition whose schemes need it."""
    paper, metric = runner.paper, "interarrival_ms_mode"
    together = headline.at(metric, headline.ALL)
    has_mode = {name for name in paper.texts if MODE in paper.text_of(name, reading)}
    needed = [one for one in conditions if has_mode & {*one.schemes, *one.beside}]
    if not needed:
        return {}
    runner.say(f"{reading.name}: inter-arrival times of a FIFO")
    fifo = Scheme(read_toml(paper.folder / "runs.toml")["mode"], "fifo")
    plans = [
        Plan(
            scenario=scenario_of(paper, reading, one),
            name=plan_name(paper, reading, one, "fifo"),
            schemes=(fifo,),
            # Not all parts of the study measure the queues together.
            sets=(*reading.sets_of(one), "pooled=true"),
            replications=RUNS,
            metrics=(metric, together),
            series=None,
        )
        for one in needed
    ]
    outcome, several = runner.drive(reading, plans)
    states = {state.cell.run(0): state for state in outcome.cells}
    found = {}
    for one, cells in zip(needed, several, strict=True):
        state = states[cells.cells[0].run(0)]
        # One queue under test has no other beside it.
        found[reading.name, one.name] = mode(state.series(together if state.tested else metric, RUNS))
    return found


def mode(values: Sequence[float]) -> str:
    """Return the mode that most runs have, in whole ms; ``measured`` if it is 0 or there is none.

    A mode of 0 ms makes dAQM divide by zero; then the scheme measures its own.

    Examples
    --------
    >>> mode([2.0, 2.0, 3.0])
    '2ms'
    >>> mode([0.0, 0.0])
    'measured'
    """
    found = Counter(int(value) for value in values if np.isfinite(value))
    if not found:
        return "measured"
    most, _ = min(found.items(), key=lambda item: (-item[1], item[0]))
    return f"{most}ms" if most > 0 else "measured"
