"""Sections of a report: a heading, paragraphs, and pictures with their tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup

from sojourn.view.canvas import Picture
from sojourn.view.report import svg

__all__ = ["Drawing", "Section"]


@dataclass(frozen=True)
class Drawing:
    """A picture with its caption, and the table below it.

    Parameters
    ----------
    name
        Unique on the page.
    picture
        None: a table alone.
    caption
        What it shows.
    heads, rows
        Of the table; none without heads.
    is_folded
        Whether the table is folded under its caption.
    is_text
        Whether its cells are words rather than numbers.
    """

    name: str
    picture: Picture | None
    caption: str
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    is_folded: bool = False
    is_text: bool = False

    @property
    def svg(self) -> Markup | None:
        """The picture for a page."""
        return None if self.picture is None else svg.inline(self.picture, self.name, self.caption)


@dataclass(frozen=True)
class Section:
    """A section: a heading, paragraphs and drawings."""

    name: str
    title: str
    text: tuple[str, ...] = ()
    drawings: tuple[Drawing, ...] = field(default=())
