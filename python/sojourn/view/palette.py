"""One colour, marker and line style for each scheme, the same in every table and picture.

The colours follow Okabe and Ito, without their yellow and black, and Paul Tol. Their lightness is changed so that
each has a contrast of at least 3:1 (WCAG 2.2, 1.4.11) against the light and the dark page. Markers and dashes tell
schemes apart without any colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.model.scheme import short_labels

INK: Final = "#1b1f24"
MUTED: Final = "#5d6873"
RULE: Final = "#d5dbe1"
PAPER: Final = "#fefefe"


@dataclass(frozen=True, slots=True)
class Look:
    """How a scheme looks: colour (hexadecimal RGB), marker and line style of Matplotlib, and a label for pictures."""

    color: str
    marker: str
    dashes: str | tuple[float, tuple[float, ...]]
    short: str

    @property
    def weight(self) -> float:
        """How much larger the marker must be drawn to look as large as a disc."""
        return {"*": 2.4, "X": 1.4, "P": 1.4, "p": 1.2, "h": 1.15}.get(self.marker, 1.0)


_COLORS: Final = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#c46e9e",
    "#b87d00",
    "#2f93cf",
    "#b04a8e",
    "#7f7f2a",
    "#7065dc",
    "#6f7b86",
    "#ba4844",
    "#2a7f7f",
)
_MARKERS: Final = "os^DvPX<>hp*"
_DASHES: Final = ("-", (0, (5.0, 1.5)), (0, (1.5, 1.2)), (0, (6.0, 1.5, 1.5, 1.5)))

# The usual schemes keep their look from report to report.
_USUAL: Final = ("codel", "red", "fq_codel", "pie", "cobalt", "daqm", "pfifo", "ared")


def looks(labels: Sequence[str], algorithms: Sequence[str]) -> dict[str, Look]:
    """Give each scheme its look; some algorithms usually have the same."""
    taken: dict[int, str] = {}
    for label, algorithm in zip(labels, algorithms, strict=True):
        if algorithm in _USUAL and _USUAL.index(algorithm) not in taken:
            taken[_USUAL.index(algorithm)] = label
    free = iter(place for place in range(len(labels) + len(_USUAL)) if place not in taken)
    for label in labels:
        if label not in taken.values():
            taken[next(free)] = label
    short = short_labels(labels)
    places = {label: place for place, label in taken.items()}
    return {label: _look(places[label], short[label]) for label in labels}


def _look(place: int, short: str) -> Look:
    """Return the look of a place; the same colour comes back with another marker and other dashes."""
    again, color = divmod(place, len(_COLORS))
    marker = _MARKERS[(color + 5 * again) % len(_MARKERS)]
    dashes = _DASHES[(color // 6 + 2 * again) % len(_DASHES)]
    return Look(_COLORS[color], marker, dashes, short)
