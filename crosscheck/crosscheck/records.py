"""The recorded results."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from crosscheck.compare import Row

HERE: Final = Path(__file__).resolve().parents[1]
"""The folder of records, and of the programs that make them."""
RECORDED: Final = HERE / "recorded"

_Key = TypeVar("_Key")


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a recorded table, none where there is no such file."""
    file = RECORDED / name
    if not file.is_file():
        return []
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def grouped(
    name: str, rows: Iterable[Mapping[str, str]] | None, key: Callable[[Mapping[str, str]], _Key]
) -> dict[_Key, list[Mapping[str, str]]]:
    """Return rows by their key, in the order in which the keys come first."""
    found: dict[_Key, list[Mapping[str, str]]] = {}
    for row in table(name) if rows is None else rows:
        found.setdefault(key(row), []).append(row)
    return found


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a disagreement: which side is right, and the evidence.

    Parameters
    ----------
    peer, point, metric
        Of the rows it explains; patterns with ``*``.
    """

    peer: str
    point: str
    metric: str
    text: str

    def explains(self, peer: str, row: Row) -> bool:
        """Return whether it is about this row."""
        return (
            self.peer == peer and fnmatchcase(row.point.name, self.point) and fnmatchcase(row.metric.key, self.metric)
        )


def explanations() -> list[Explanation]:
    """Return the explanations beside the records."""
    file = RECORDED / "explanations.toml"
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("explanation", [])
    return [Explanation(e["peer"], e["point"], e.get("metric", "*"), " ".join(e["text"].split())) for e in entries]
