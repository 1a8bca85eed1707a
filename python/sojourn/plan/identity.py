"""The identity of a run: a hash of everything that changes its results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sojourn.base import core

_NO_RESULT: Final = ("name", "description", "seed", "replications", "series")
"""Keys of a scenario that change no number: names for people, and what the run says itself.

Of the series the run says the interval; that each flow has one is the scenario's.
"""


SIMULATED: Final = "simulated"
REAL: Final = "real"
WORLDS: Final = (SIMULATED, REAL)
"""Where runs are done: in the simulator, or on real packets."""


@dataclass(frozen=True, slots=True)
class Run:
    """One replication of a scenario (its hash) under a scheme (canonical text; None for the queues as written)."""

    scenario: str
    scheme: str | None
    seed: int
    replication: int
    series: str | None
    world: str = SIMULATED

    def id(self, build: str) -> str:
        """Return the run's identity under a build of the code: 32 hexadecimal digits."""
        world = [] if self.world == SIMULATED else [self.world]
        return _hash([self.scenario, self.scheme, self.seed, self.replication, self.series, build, *world])

    @property
    def task(self) -> str:
        """The task as :func:`sojourn.base.core.run_batch` takes it."""
        return json.dumps(
            {"scheme": self.scheme, "seed": self.seed, "replication": self.replication, "series": self.series}
        )


def stripped(scenario: Mapping[str, Any]) -> str:
    """Return the canonical JSON text of a scenario without what changes no result.

    The name is left out, so that plans share the runs of networks that differ only in their names.
    """
    of_flows = (scenario.get("series") or {}).get("flows", False)
    dropped = [name for name in _NO_RESULT if name != "series" or not of_flows]
    kept = {key: value for key, value in scenario.items() if key not in dropped}
    return json.dumps({"name": "run", **kept}, ensure_ascii=False, separators=(",", ":"))


def scenario_hash(text: str) -> str:
    """Return the hash of a canonical scenario's text: 32 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def build() -> str:
    """Return the name of this build of the code: version and hash of its sources."""
    return core.build()


def _hash(document: object) -> str:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
