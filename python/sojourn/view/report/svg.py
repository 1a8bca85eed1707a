"""Figures as inline SVG: small, unique ids, colours that follow the page's theme."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from sojourn.view.palette import INK, MUTED, PAPER, RULE, Look

if TYPE_CHECKING:
    from sojourn.view.plot import Picture

_THEME: Final = {INK: "var(--ink)", MUTED: "var(--muted)", RULE: "var(--rule)", PAPER: "var(--paper)"}

_SHAPES: Final = {
    "o": '<circle cx="7" cy="7" r="5"/>',
    "s": '<rect x="2.6" y="2.6" width="8.8" height="8.8"/>',
    "^": '<path d="M7 1.8 12.4 11.8H1.6z"/>',
    "v": '<path d="M7 12.2 1.6 2.2h10.8z"/>',
    "<": '<path d="M1.8 7 11.8 1.6v10.8z"/>',
    ">": '<path d="M12.2 7 2.2 1.6v10.8z"/>',
    "D": '<path d="M7 1.2 12.8 7 7 12.8 1.2 7z"/>',
    "P": '<path d="M5 1.8h4v3.2h3.2v4H9v3.2H5V9H1.8V5H5z"/>',
    "X": '<path d="M4 1.4 7 4.4l3-3L12.6 4l-3 3 3 3L10 12.6l-3-3-3 3L1.4 10l3-3-3-3z"/>',
    "h": '<path d="M7 1.4 12 4.2v5.6l-5 2.8-5-2.8V4.2z"/>',
    "p": '<path d="M7 1.4 12.6 5.6 10.5 12.2h-7L1.4 5.6z"/>',
    "*": '<path d="M7 1 8.6 5.2 13 5.4 9.6 8.2 10.8 12.6 7 10.1 3.2 12.6 4.4 8.2 1 5.4 5.4 5.2z"/>',
}


def inline(picture: Picture, prefix: str, description: str) -> Markup:
    """Return a figure as an SVG element for an HTML page; `prefix` makes its ids unique on the page."""
    text = picture.svg()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # Matplotlib numbers its ids from one in every figure, and a page has several figures.
    text = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = text.replace("xlink:href", "href")
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)
    text = re.sub(r"<[^>]+>", _round_coordinates, text)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font-size: \1px", text)
    for color, variable in _THEME.items():
        text = text.replace(color, variable)
    text = re.sub(r"\n\s*", "\n", text)
    label = escape(description, quote=True)
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1).strip())  # noqa: S704 - our own


def _round_coordinates(tag: re.Match[str]) -> str:
    """Cut the coordinates in a tag to two digits; text between tags stays as it is."""
    return re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), tag[0])


def swatch(look: Look) -> Markup:
    """Return a scheme's marker as a small SVG element."""
    shape = _SHAPES.get(look.marker, _SHAPES["o"])
    return Markup(  # noqa: S704 - our own
        f'<svg class="swatch" viewBox="0 0 14 14" aria-hidden="true" fill="{look.color}">{shape}</svg>'
    )
