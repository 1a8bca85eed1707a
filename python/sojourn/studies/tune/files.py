"""The folder of a tuning: tables, the result as TOML and as tc writes it, Optuna's study, the report."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from sojourn.base import toml
from sojourn.plan import folder
from sojourn.results.text import as_csv
from sojourn.studies.tune.page import render
from sojourn.studies.tune.recommended import document, tc_lines
from sojourn.studies.tune.result import Tuning

BEST: Final = "best.toml"
TC: Final = "best.sh"
STUDY: Final = "study.journal"


def write(tuning: Tuning, place: Path, study: Any, optuna: Any) -> None:
    """Write every file of a finished tuning, each whole or not at all, the report last."""
    folder.write_text(place / "trials.csv", _trials(tuning))
    folder.write_text(place / "final.csv", _final(tuning))
    folder.write_text(place / BEST, toml.dumps(document(tuning)))
    folder.write_text(place / TC, "\n".join(["#!/bin/sh", *tc_lines(tuning)]) + "\n")
    _write_study(place / STUDY, study, optuna)
    folder.write_text(place / folder.REPORT, render(tuning))


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
