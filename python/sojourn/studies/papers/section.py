"""Parts of a report that only one paper has; their words are in its ``report.toml``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sojourn.studies.papers.checks import read_toml
from sojourn.view.plot import Picture
from sojourn.view.report.sections import Drawing, Section

__all__ = ["Drawing", "Section", "Words"]


@dataclass(frozen=True)
class Words:
    """The words of a paper's sections and drawings, from ``report.toml``; values fill in what is there in braces."""

    folder: Path

    def section(self, name: str, drawings: Iterable[Drawing] = (), *, key: str = "", **values: Any) -> Section:
        """Return a section; `key` is its table if that has another name."""
        table = _words(self.folder)["section"][key or name]
        text = tuple(one.format(**values) for one in table.get("text", ()))
        return Section(name, table["title"].format(**values), text, tuple(drawings))

    def drawing(
        self,
        name: str,
        picture: Picture | None,
        heads: Iterable[str] = (),
        rows: Iterable[tuple[object, ...]] = (),
        *,
        key: str = "",
        is_folded: bool = False,
        **values: Any,
    ) -> Drawing:
        """Return a drawing; `key` is that of its words if it has another name; `heads` follow theirs."""
        words = _words(self.folder)
        caption = words["drawing"][key or name].format(**values)
        first = (one.format(**values) for one in words.get("heads", {}).get(key or name, ()))
        return Drawing(name, picture, caption, (*first, *heads), tuple(rows), is_folded)


@cache
def _words(folder: Path) -> dict[str, Any]:
    return read_toml(folder / "report.toml")
