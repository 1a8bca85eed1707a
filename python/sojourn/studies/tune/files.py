"""The folder of a tuning: tables, the result as TOML and as tc writes it, Optuna's study, the report."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from sojourn import tc
from sojourn.base import core, toml
from sojourn.base.core import SojournError
from sojourn.base.wording import line
from sojourn.model.scheme import Scheme
from sojourn.plan import folder
from sojourn.results.text import as_csv
from sojourn.studies.tune.result import Tuning

BEST: Final = "best.toml"
TC: Final = "best.sh"
STUDY: Final = "study.journal"


def write(tuning: Tuning, place: Path, study: Any, optuna: Any, report: str) -> None:
    """Write every file of a finished tuning, each whole or not at all, the report last."""
    folder.write_text(place / "trials.csv", _trials(tuning))
    folder.write_text(place / "final.csv", _final(tuning))
    folder.write_text(place / BEST, toml.dumps(document(tuning)))
    folder.write_text(place / TC, "\n".join(["#!/bin/sh", *tc_lines(tuning)]) + "\n")
    _write_study(place / STUDY, study, optuna)
    folder.write_text(place / folder.REPORT, report)


def _trials(tuning: Tuning) -> str:
    names = [factor.name for factor in tuning.plan.factors]
    heads = ["trial", "scheme", *names, *(objective.name for objective in tuning.plan.objectives)]
    chosen = {trial.text for trial in tuning.candidates}
    return as_csv(
        [*heads, "candidate"],
        (
            [trial.number, trial.text, *(trial.point[name] for name in names), *trial.scores, trial.text in chosen]
            for trial in tuning.trials
        ),
    )


def _final(tuning: Tuning) -> str:
    rows = []
    for (text, label), values in tuning.final.items():
        setting = next(setting for setting in tuning.plan.settings if setting.label == label)
        for name in values:
            found = tuning.estimate(text, setting, name)
            rows.append(
                [text, label, setting.is_held_out, name, found.mean, found.low, found.high, found.replications]
            )
    return as_csv(["scheme", "scenario", "held_out", "metric", "mean", "low", "high", "replications"], rows)


def _write_study(path: Path, study: Any, optuna: Any) -> None:
    """Write Optuna's study, for its own tools: `optuna-dashboard study.journal`."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", suffix=".partial", dir=path.parent) as staging:
        file = Path(staging) / path.name
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(file)))
        optuna.copy_study(from_study_name=study.study_name, from_storage=study._storage, to_storage=storage)
        file.replace(path)


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
        return tc.commands(tuning.best.text, dev="eth0")
    except SojournError as error:
        return [f"# no command: {line(error)}"]


def _shown(tuning: Tuning, text: str) -> dict[str, str]:
    values = {parameter.name: parameter.value for parameter in Scheme(text).parameters()}
    return {factor.name: values[factor.name] for factor in tuning.plan.factors}
