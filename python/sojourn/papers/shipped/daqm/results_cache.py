"""A store of finished results: nothing is computed twice, and no finished result is lost if the process is killed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from sojourn import core, folder
from sojourn.core import SojournError

Document: TypeAlias = Any

RULES: Final = 2
"""To be increased whenever a change of the Python code changes the result of the same settings."""


@dataclass
class Keeper:
    """A folder of results, each under a hash of everything that it depends on.

    Parameters
    ----------
    place
        The folder; made when something is kept.
    made, found
        The number of results that were computed now, and that were stored before.
    """

    place: Path
    made: int = 0
    found: int = 0

    def get(self, what: str, of: Mapping[str, Any], make: Callable[[], Document]) -> Document:
        """Return a result, computed only if it is not there yet.

        Parameters
        ----------
        what
            Begins the file's name.
        of
            All that the result depends on but the build and :data:`RULES`, as JSON.
        make
            Computes it: whatever JSON can say.

        Raises
        ------
        SojournError
            If a file cannot be read or written.
        """
        text = json.dumps({"build": core.build(), "rules": RULES, "what": what, **of}, sort_keys=True)
        path = self.place / f"{what}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            kept = None
        except (OSError, ValueError) as error:
            raise SojournError(f"cannot read {path}: {error}; remove it to compute it again") from None
        if kept is not None:
            self.found += 1
            return kept
        # Through JSON, so that a result is the same whether it was computed now or before.
        written = json.dumps(make(), sort_keys=True)
        folder.write_text(path, written)
        self.made += 1
        return json.loads(written)
