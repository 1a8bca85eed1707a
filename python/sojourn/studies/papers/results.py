"""A store of finished results: nothing is computed twice, and no finished result is lost if the process is killed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from sojourn.base import core, foreign, nesting
from sojourn.base.core import SojournError
from sojourn.plan import folder

Document: TypeAlias = Any

RULES: Final = 2
"""To be increased whenever a change of the Python code changes the result of the same settings."""


@dataclass
class Keeper:
    """A folder of results, each under a hash of everything that it depends on.

    Parameters
    ----------
    made, found
        The number of results that were computed now, and that were stored before.
    """

    place: Path
    made: int = 0
    found: int = 0

    def path(self, what: str, of: Mapping[str, Any]) -> Path:
        """Return the file of a result.

        Parameters
        ----------
        what
            Begins the file's name.
        of
            All that the result depends on but the build and :data:`RULES`, as JSON.
        """
        text = json.dumps({"build": core.build(), "rules": RULES, "what": what, **of}, sort_keys=True)
        return self.place / f"{what}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def find(self, what: str, of: Mapping[str, Any]) -> Document | None:
        """Return a result that was stored before; None if it was not."""
        path = self.path(what, of)
        try:
            kept = nesting.loads_json(foreign.read_text(path, within=self.place), path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise SojournError(f"cannot read {path}: {error}; remove it to compute it again") from None
        self.found += 1
        return kept

    def keep(self, what: str, of: Mapping[str, Any], result: Document) -> Document:
        """Store a result, which is whatever JSON can say, and return it as it will be found."""
        written = json.dumps(result, sort_keys=True)
        folder.write_text(self.path(what, of), written)
        self.made += 1
        return json.loads(written)

    def get(self, what: str, of: Mapping[str, Any], make: Callable[[], Document]) -> Document:
        """Return a result, computed only if it is not there yet."""
        kept = self.find(what, of)
        return self.keep(what, of, make()) if kept is None else kept
