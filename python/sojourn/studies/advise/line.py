"""An access line, who is behind it, and the shaper at its gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from sojourn.base import suggest
from sojourn.base.core import SojournError
from sojourn.model.lines import TECHNOLOGIES
from sojourn.view.trace import read

NEEDS: Final = ("calls", "games", "web", "video", "bulk")
LINE_MS: Final = 4.0
"""Round trip of the line; the rest of a path's is beyond the operator."""
LAN_MS: Final = 1.0
LEAST_RTT_MS: Final = 8.0
_FULL_BYTES: Final = 1500
_LIMITS: Final = {"down_mbit_s": (0.2, 10_000.0), "up_mbit_s": (0.1, 10_000.0)}
_FAST_MBIT_S: Final = 200.0


@dataclass(frozen=True, slots=True)
class Site:
    """Who is behind a line: numbers of flows at the same time.

    Downloads and uploads run all the time, half of them to the nearest server. With `has_hosts`, each flow has a host
    of its own; otherwise one host has all.
    """

    downloads: int
    uploads: int
    calls: int = 1
    games: int = 1
    web: int = 1
    video: int = 1
    has_hosts: bool = True


SITES: Final[Mapping[str, Site]] = {
    "home": Site(4, 2, has_hosts=False),
    "office": Site(8, 4, calls=5, games=1, web=15, video=2),
    "isp": Site(40, 20, calls=20, games=10, web=50, video=20),
}
"""The sites that ``--site`` knows."""


@dataclass(frozen=True)
class Line:
    """An access line and what passes it.

    Rates include framing. The queues of the provider and of the modem have the length `isp_buffer_ms` at the line's
    rate. With a trace of the download's rate, `down_mbit_s` is its mean, and the line has `least_mbit_s` in nine of
    ten seconds.
    """

    down_mbit_s: float
    up_mbit_s: float
    technology: str = "ethernet"
    rtt_ms: tuple[float, float] = (20.0, 60.0)
    needs: tuple[str, ...] = NEEDS
    isp_buffer_ms: float = 200.0
    trace: str | None = None
    least_mbit_s: float | None = None
    site: str = "home"

    def __post_init__(self) -> None:
        if self.technology not in TECHNOLOGIES:
            raise SojournError(suggest.unknown("technology", self.technology, TECHNOLOGIES))
        if self.site not in SITES:
            raise SojournError(suggest.unknown("site", self.site, SITES))
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise SojournError(f"{name} is {value:g}; allowed: {low:g} to {high:g}")
        least, most = self.rtt_ms
        if not LEAST_RTT_MS <= least <= most <= 2_000.0:
            raise SojournError(
                f"rtt_ms is {least:g} to {most:g}; allowed: {LEAST_RTT_MS:g} to 2000, the smaller first"
            )
        if not 1.0 <= self.isp_buffer_ms <= 10_000.0:
            raise SojournError(f"isp_buffer_ms is {self.isp_buffer_ms:g}; allowed: 1 to 10000")
        for need in self.needs:
            if need not in NEEDS:
                raise SojournError(suggest.unknown("need", need, NEEDS))

    @classmethod
    def following(cls, trace: str, **more: Any) -> Line:
        """Return a line whose download follows a trace: a file, or the name of one that comes with Sojourn."""
        found = read(trace)
        file = Path(trace)
        rates = found.rate_bit_s(1.0) / 1e6
        return cls(
            found.mean_bit_s / 1e6,
            trace=str(file.resolve()) if file.is_file() else trace,
            least_mbit_s=max(0.2, float(np.quantile(rates, 0.1))),
            **more,
        )

    @property
    def criterion(self) -> str:
        """The measure of latency that decides: of a varying line the mean, as its outages are beyond any shaper."""
        return "latency" if self.trace is None else "latency_mean"

    @property
    def seconds(self) -> tuple[float, float]:
        """Warm-up and measured time: fast lines send as many packets in less."""
        if self.down_mbit_s > _FAST_MBIT_S:
            return 5.0, 10.0
        return 10.0, 60.0 if self.trace else 30.0

    @property
    def framing(self) -> str:
        """The line's framing, in the words of tc-cake(8)."""
        return TECHNOLOGIES[self.technology]

    def buffer_packets(self, rate_mbit_s: float) -> int:
        """Return the length of a queue of the line, in full packets."""
        return max(4, round(rate_mbit_s * 1e6 * self.isp_buffer_ms / 1e3 / 8 / _FULL_BYTES))


@dataclass(frozen=True, slots=True)
class Shaper:
    """What stands at the gateway: a scheme as tc writes it, and rates, framing included; None for no shaper."""

    scheme: str
    down_mbit_s: float | None
    up_mbit_s: float | None
