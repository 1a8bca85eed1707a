"""The scheme that a tuning recommends, as a document and as tc writes it."""

from __future__ import annotations

from typing import Final

from sojourn import tc
from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.base.wording import line
from sojourn.model.scheme import Scheme
from sojourn.studies.tune.result import Tuning

_DEVICE: Final = "eth0"


def document(tuning: Tuning) -> core.Document:
    """Return the result as a document: the scheme, its parameters, and what it reached on fresh seeds."""
    best = tuning.best
    reached = []
    for setting in tuning.plan.settings:
        for objective in tuning.plan.objectives:
            ours, theirs = (tuning.estimate(text, setting, objective.name) for text in (best.text, tuning.base))
            difference = tuning.difference(best.text, tuning.base, setting, objective)
            reached.append(
                {
                    "scenario": setting.label,
                    "held_out": setting.is_held_out,
                    "metric": objective.name,
                    "unit": objective.metric.unit,
                    "mean": ours.mean,
                    "as_given": theirs.mean,
                    "difference": difference.mean,
                    "interval": [each for each in (difference.low, difference.high) if each is not None],
                    "verdict": ("no significant difference", "better", "worse")[
                        tuning.verdicts[setting.label, objective.name]
                    ],
                }
            )
    return {
        "scheme": best.text,
        "replaces": tuning.base,
        "replications": tuning.plan.fresh,
        "varied": {name: str(value) for name, value in _shown(tuning, best.text).items()},
        "reached": reached,
    }


def tc_lines(tuning: Tuning) -> list[str]:
    """Return the commands that install the result on Linux, or why there are none as a comment."""
    try:
        return tc.commands(tuning.best.text, dev=_DEVICE)
    except SojournError as error:
        return [f"# no command: {line(error)}"]


def _shown(tuning: Tuning, text: str) -> dict[str, str]:
    values = {parameter.name: parameter.value for parameter in Scheme(text).parameters()}
    return {factor.name: values[factor.name] for factor in tuning.plan.factors}
