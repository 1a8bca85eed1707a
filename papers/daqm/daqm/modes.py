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
from sojourn.studies.papers.model import Condition, Paper, Reading

RUNS: Final = 5
"""Runs of the FIFO whose mode is taken, quick or full, so that both run the same schemes."""
METRIC: Final = "interarrival_ms_mode"
TOGETHER: Final = headline.at(METRIC, headline.ALL)


def plans(paper: Paper, reading: Reading, conditions: Sequence[Condition]) -> dict[str, Plan]:
    """Return the plan of the FIFO runs of each condition whose schemes need the mode, by the condition's name."""
    has_mode = {name for name in paper.texts if MODE in paper.text_of(name, reading)}
    fifo = Scheme(read_toml(paper.folder / "runs.toml")["mode"], "fifo")
    return {
        one.name: Plan(
            scenario=scenario_of(paper, reading, one),
            name=plan_name(paper, reading, one, "fifo"),
            schemes=(fifo,),
            # Not all parts of the study measure the queues together.
            sets=(*reading.sets_of(one), "pooled=true"),
            replications=RUNS,
            metrics=(METRIC, TOGETHER),
            series=None,
        )
        for one in conditions
        if has_mode & {*one.schemes, *one.beside}
    }


def modes(runner: Runner, reading: Reading, conditions: Sequence[Condition]) -> dict[Key, str]:
    """Return the :func:`mode` of FIFO runs in each condition whose schemes need it."""
    own = plans(runner.paper, reading, conditions)
    if not own:
        return {}
    runner.say(f"{reading.name}: inter-arrival times of a FIFO")
    outcome, several = runner.drive(reading, list(own.values()))
    states = {state.cell.run(0): state for state in outcome.cells}
    found = {}
    for name, cells in zip(own, several, strict=True):
        state = states[cells.cells[0].run(0)]
        # One queue under test has no other beside it.
        found[reading.name, name] = mode(state.series(TOGETHER if state.tested else METRIC, RUNS))
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
