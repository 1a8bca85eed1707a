"""Runs of schemes on settings, each done once: what is finished is read from the folder's log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from sojourn.base import core, suggest, whole_files
from sojourn.base.core import SojournError
from sojourn.results import headline, metrics
from sojourn.stats import Floats
from sojourn.studies.tune.settings import Setting

LOG: Final = "evaluations.jsonl"
Key: TypeAlias = tuple[str, str, int, int]


class Evaluator:
    """Runs schemes on settings with common random numbers, and remembers.

    Every finished evaluation is a line in `log`, of which a line that a kill cut short is dropped. `tick` is called
    with the number of runs that have been finished or found there.
    """

    def __init__(
        self,
        settings: Sequence[Setting],
        names: Sequence[str],
        *,
        jobs: int,
        log: Path | None = None,
        tick: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._names = [*dict.fromkeys([*names, *metrics.MAIN])]
        self._jobs = jobs
        self._tick = tick
        self._log = log
        self._digests = {id(setting): _digest(setting) for setting in settings}
        self._found: dict[Key, Mapping[str, list[float | None]]] = {}
        self.runs = 0
        """Runs simulated by this process."""
        if log is not None:
            whole_files.replay(log, self._restore)

    def values(
        self, texts: Sequence[str], setting: Setting, *, seed: int, replications: int
    ) -> list[dict[str, Floats]]:
        """Return each scheme's metrics by replication; schemes see the same traffic in the same replication."""
        keys: list[Key] = [(text, self._digests[id(setting)], seed, replications) for text in texts]
        missing = list(dict.fromkeys(key for key in keys if key not in self._found))
        if missing:
            tasks = [
                {"scheme": key[0], "seed": seed, "replication": replication, "series": None}
                for key in missing
                for replication in range(replications)
            ]
            documents = core.run_many(setting.document, tasks, jobs=self._jobs)
            self.runs += len(tasks)
            for place, key in enumerate(missing):
                part = documents[place * replications : (place + 1) * replications]
                found = headline.measured(part, self._names)
                self._found[key] = {
                    name: [None if value is None else float(value) for value in values]
                    for name, values in found.items()
                }
            if self._log is not None:
                whole_files.append(self._log, [{"key": key, "metrics": self._found[key]} for key in missing])
        self._tick(len(texts) * replications)
        return [
            {name: np.asarray(numbers, dtype=np.float64) for name, numbers in self._found[key].items()}
            for key in keys
        ]

    def _restore(self, entry: Any) -> None:
        text, digest, seed, replications = entry["key"]
        self._found[text, digest, seed, replications] = entry["metrics"]


def check_metric(name: str) -> str:
    """Return the name of a metric that a run has; another one is refused."""
    known = [metric for scope, metric in metrics.catalogue() if scope in ("run", "queue")]
    if metrics.split(name)[0] not in known:
        raise SojournError(
            f"unknown metric `{name}`{suggest.hint(name, known)}; `sojourn list metrics` lists them, "
            "such as sojourn_ms_p99"
        )
    return name


def _digest(setting: Setting) -> str:
    text = json.dumps([core.version(), setting.document], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
