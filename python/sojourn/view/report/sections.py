"""Pages as data: a page is a list of sections, a section a list of parts, and one template draws them all."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from markupsafe import Markup, escape

from sojourn.view.canvas import Picture
from sojourn.view.report import svg

Element: TypeAlias = Markup
"""A part of a page that needs no more escaping."""

_CODE: Final = re.compile(r"`([^`]+)`")


def tag(element: str, *content: object, **attributes: object) -> Element:
    """Return an element of a page; texts in it are escaped.

    An attribute ``kind`` is the class, and ``data_mean`` is ``data-mean``; None leaves an attribute out.
    """
    if element == "input":
        return Markup("<input{}>").format(_attributes(attributes))
    return Markup("<{0}{1}>{2}</{0}>").format(element, _attributes(attributes), Markup("").join(content))  # type: ignore[arg-type]


def joined(between: str, parts: Iterable[object]) -> Element:
    """Return parts one after the other; texts among them are escaped."""
    return Markup(between).join(parts)  # type: ignore[arg-type]  # noqa: S704 - our own


def prose(text: str, name: str = "p", **attributes: object) -> Element:
    """Return a paragraph; what is between backquotes is code."""
    # An apostrophe is one between tags.
    plain = str(escape(text)).replace("&#39;", "'")
    return tag(name, Markup(_CODE.sub(r"<code>\1</code>", plain)), **attributes)  # noqa: S704 - escaped


def note(text: str) -> Element:
    """Return a paragraph in small type, such as what a table's numbers are."""
    return prose(text, kind="note")


def code(text: str) -> Element:
    """Return lines to be copied."""
    return tag("pre", tag("code", text))


def items(texts: Iterable[object], kind: str = "headlines") -> Element:
    """Return a list; nothing without items."""
    made = [tag("li", text) for text in texts]
    return tag("ul", *made, kind=kind) if made else Markup("")


def _attributes(of: Mapping[str, object]) -> Element:
    names = {name: "class" if name == "kind" else name.replace("_", "-") for name in of}
    return Markup("").join(Markup(' {}="{}"').format(names[k], v) for k, v in of.items() if v is not None)


@dataclass(frozen=True)
class Cell:
    """What a cell of a table holds, and its attributes; a text alone needs none of this."""

    content: object
    attributes: Markup


@dataclass(frozen=True)
class Row:
    """A row of a table with attributes; the first cell is its head. One cell alone is the title of what follows."""

    cells: Sequence[object]
    attributes: Markup


def cell(content: object, **attributes: object) -> Cell:
    """Return a cell with attributes, which are those of :func:`tag`."""
    return Cell(content, _attributes(attributes))


def row(cells: Sequence[object], **attributes: object) -> Row:
    """Return a row with attributes, which are those of :func:`tag`."""
    return Row(cells, _attributes(attributes))


@dataclass(frozen=True)
class Drawing:
    """A picture with its caption, for a telephone also a narrow one, and the table below it.

    Parameters
    ----------
    name
        Unique on the page.
    picture
        None: a table alone.
    heads, rows, foot
        Of the table; none without heads. A row is a sequence of cells or a :class:`Row`; the foot is a sum.
    is_folded
        Whether the table is folded under its caption.
    kind
        ``numbers``, or other classes of the style sheet; empty for a table of words.
    """

    name: str
    picture: Picture | None = None
    caption: str = ""
    heads: Sequence[object] = ()
    rows: Sequence[Any] = ()
    is_folded: bool = False
    kind: str = "numbers"
    foot: Sequence[object] = ()
    narrow: Picture | None = None

    form: ClassVar[str] = "drawing"

    @property
    def svg(self) -> Markup | None:
        """The picture for a page."""
        return None if self.picture is None else svg.inline(self.picture, self.name, self.caption)

    @property
    def narrow_svg(self) -> Markup | None:
        """The picture for a telephone."""
        return None if self.narrow is None else svg.inline(self.narrow, f"{self.name}-narrow", self.caption)

    @property
    def table(self) -> list[tuple[str, list[tuple[Sequence[object], Markup]]]]:
        """The rows with their attributes, by the title above them."""
        made: list[tuple[str, list[tuple[Sequence[object], Markup]]]] = [("", [])]
        for one in self.rows:
            cells, attributes = (one.cells, one.attributes) if isinstance(one, Row) else (one, Markup(""))
            if len(cells) == 1 < len(self.heads):
                made.append((str(cells[0]), []))
            else:
                made[-1][1].append((cells, attributes))
        return [one for one in made if one[1]]


@dataclass(frozen=True)
class Details:
    """Parts that are folded under a summary."""

    summary: object
    parts: Sequence[object]
    kind: str = ""

    form: ClassVar[str] = "details"


@dataclass(frozen=True)
class Section:
    """A section of a page; its name is its anchor, its level that of its heading, 2 or 3.

    Parameters
    ----------
    text
        Paragraphs, in which code is between backquotes, and other parts.
    drawings
        Pictures and tables, and other parts.
    link
        What leads to it in the contents; by default the title.
    group
        Of sections with the same word before their links, that word: ``Figure``.
    """

    name: str
    title: str
    text: Sequence[object] = ()
    drawings: Sequence[object] = ()
    level: int = 2
    link: str = ""
    group: str = ""

    @property
    def parts(self) -> tuple[object, ...]:
        """All that it has."""
        return (*(prose(one) if type(one) is str else one for one in self.text), *self.drawings)


_FEWEST: Final = 4
"""A page of fewer sections has no contents."""


def contents(sections: Sequence[Section]) -> Iterator[tuple[str, list[Section]]]:
    """Yield the sections that a page's contents lead to, those of one group together."""
    shown = [one for one in sections if one.level == 2]
    for group, own in itertools.groupby(shown if len(shown) >= _FEWEST else (), key=lambda one: one.group):
        yield group, list(own)
