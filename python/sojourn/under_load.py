"""Access lines and what Flent's test of Realtime Response Under Load (RRUL) puts on them.

>>> import sojourn as sj
>>> line = sj.access(down=sj.mbit_s(20), up=sj.mbit_s(4), rtt=sj.ms(30), technology="docsis", duration=sj.s(12))
>>> results = sj.compare(line.add_flows(sj.rrul()), ["pfifo limit 1000p", "fq_codel"], replicates=2, seed=1)
>>> latency = sj.RrulSummary(results).latency_ms
>>> latency("fq_codel").mean < latency("pfifo limit 1000p").mean
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sojourn import draw, metrics, stats, suggest
from sojourn.core import SojournError
from sojourn.network import BothSchemes, Load, Network
from sojourn.traffic import cbr, tcp, udp
from sojourn.units import Data, Rate, Time, bit_s, bytes_, from_ns, gbit_s, ms, s, to_ns

if TYPE_CHECKING:
    from sojourn.plot import Picture
    from sojourn.results import Results

TECHNOLOGIES: Final[Mapping[str, str]] = {
    "docsis": "docsis",
    "vdsl": "pppoe-ptm",
    "pppoe-ptm": "pppoe-ptm",
    "adsl": "pppoe-llcsnap",
    "pppoe-atm": "pppoe-llcsnap",
    "fibre": "ethernet",
    "ethernet": "ethernet",
}
"""The framing of each kind of line, in the words of tc-cake(8)."""

STEP: Final = ms(200)
"""Flent's STEP_SIZE: time between pings, and between points of a plot."""

_CLASSES: Final = {"BE": "CS0", "BK": "CS1", "CS5": "CS5", "EF": "EF"}
"""Flent's names of the TCP flows, and their codepoints."""
_PINGS: Final = {"UDP EF": ("EF", 60), "UDP BK": ("CS1", 60), "UDP BE": ("CS0", 60), "ICMP": ("CS0", 56)}
"""Flent's names of the pings, their codepoints, and their payload in bytes: that of irtt, and of ping."""
_HEADER: Final = bytes_(28)
"""Of IPv4, and of UDP or ICMP."""


def access(
    *,
    down: Rate,
    up: Rate,
    rtt: Time,
    technology: str = "ethernet",
    queue: BothSchemes = "pfifo limit 1000p",
    duration: Time = s(65),
    warm_up: Time = s(10),
    name: str = "access",
) -> Network:
    """Make an access line without flows: a server behind the internet, the operator, the home, and a client.

    Down is towards the client. The queues at both ends of the line are under test. The line has no more of its
    technology than the framing: no request and grant (DOCSIS), no interleaving or retransmission (DSL), no split of
    the fibre.

    Parameters
    ----------
    down, up
        Rates of the line. They count framed bytes, so a TCP flow of full packets has 95 % of a ``docsis`` line.
    rtt
        Round-trip time from the client to the server without queues, propagation only: half of it on the line.
    technology
        The line's framing: ``docsis``, ``vdsl`` or ``pppoe-ptm``, ``adsl`` or ``pppoe-atm``, ``fibre`` or
        ``ethernet``. PPPoE leaves 1492 B for a packet: ``sj.rrul(mss=sj.bytes_(1440))``.
    queue
        The scheme at both ends of the line, or ``{"down": ..., "up": ...}``; a comparison replaces both.
    duration, warm_up
        Length of a run, and where statistics start.
    name
        Of the network.

    Raises
    ------
    SojournError
        If the technology is unknown.

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.access(down=sj.mbit_s(50), up=sj.mbit_s(10), rtt=sj.ms(20), technology="vdsl")
    <Network 'access': 3 links>
    """
    if technology not in TECHNOLOGIES:
        raise SojournError(suggest.unknown("technology", technology, TECHNOLOGIES))
    eighth = to_ns("rtt", rtt) // 8
    queues = queue if isinstance(queue, Mapping) else {"down": queue, "up": queue}
    line = (
        Network(
            name=name,
            description=f"{technology} line with {down} down and {up} up, {rtt} of base RTT",
            duration=duration,
            warm_up=warm_up,
        )
        .link(
            name="line",
            from_="operator",
            to="home",
            rate={"down": down, "up": up},
            delay=from_ns(to_ns("rtt", rtt) // 2 - 2 * eighth),
            framing=TECHNOLOGIES[technology],
            queue=queues,
            under_test={"down": True, "up": True},
        )
        .link(name="internet", from_="server", to="operator", rate=gbit_s(10), delay=from_ns(eighth))
        .link(name="lan", from_="home", to="client", rate=gbit_s(1), delay=from_ns(eighth))
    )
    series = {"interval": str(STEP), "flows": True}
    return Network.from_dict({**line.to_dict(), "series": series})


def rrul(
    *,
    client: str = "client",
    server: str = "server",
    congestion_control: str = "cubic",
    mss: Data | None = None,
    delay: Time = s(5),
) -> Load:
    """Make the load of Flent's test ``rrul``: Realtime Response Under Load.

    As in Flent: four TCP downloads and four uploads, marked BE, BK, CS5 and EF (the acknowledgements, too); three UDP
    pings marked EF, BK and BE, and an ICMP ping, each every 200 ms from the start; TCP begins after `delay`.

    Not as in Flent: TCP sends until the run ends, so the last `delay` without load is missing. UDP pings go at fixed
    times, as those of irtt, not each after the answer to the last, as netperf's. The ICMP ping is a datagram of 84 B
    without ports. Starts are spread over 200 ms at random, so that replications differ.

    Parameters
    ----------
    client, server
        Nodes; an upload goes from the client to the server.
    congestion_control
        Of the TCP flows.
    mss
        Their segments; by default 1448 B.
    delay
        Flent's DELAY: time before TCP begins.

    Examples
    --------
    >>> import sojourn as sj
    >>> [flow["name"] for flow in sj.rrul()][:5]
    ['download-BE', 'download-BK', 'download-CS5', 'download-EF', 'upload-BE']
    """
    begins = to_ns("delay", delay)
    starts = draw.uniform(from_ns(begins), from_ns(begins + to_ns("STEP", STEP)))
    sender = tcp(congestion_control=congestion_control, mss=mss)
    ways = {"download": (server, client), "upload": (client, server)}
    flows: list[dict[str, Any]] = [
        {"name": f"{way}-{name}", "from_": source, "to": to, "transport": sender, "start": starts, "dscp": dscp}
        for way, (source, to) in ways.items()
        for name, dscp in _CLASSES.items()
    ]
    flows += [
        {
            "name": f"ping-{name.replace(' ', '-')}",
            "from_": client,
            "to": server,
            "transport": udp(header=_HEADER, echo=True),
            "traffic": cbr(rate=bit_s(payload * 8 * 1e9 / to_ns("STEP", STEP)), packet_size=bytes_(payload)),
            "start": draw.uniform(s(0), STEP),
            "dscp": dscp,
        }
        for name, (dscp, payload) in _PINGS.items()
    ]
    return flows


@dataclass(frozen=True)
class RrulSummary:
    """What Flent's plots of a test ``rrul`` show, of results with the flows of :func:`rrul`.

    Parameters
    ----------
    results
        Of a run or a comparison.

    Raises
    ------
    SojournError
        If the results have other flows.

    Notes
    -----
    ``print`` writes a table with Flent's names: goodput of each direction, and round-trip times of each ping, as
    means over replications with 95 % intervals. Flent's own summary has medians and means over the points of one run.
    """

    results: Results

    def __post_init__(self) -> None:
        known = {str(flow["name"]) for flow in self.results.scenario["flows"]}
        if not {str(flow["name"]) for flow in rrul()} <= known:
            raise SojournError(f"the results of {self.results.name!r} have no flows of sj.rrul()")

    def goodput_mbit_s(self, label: str, way: str) -> stats.Estimate:
        """Return the sum of the TCP flows of ``download`` or ``upload``, with its 95 % interval.

        Parameters
        ----------
        label
            Of the scheme.
        way
            The direction.
        """
        if way not in ("download", "upload"):
            raise SojournError(suggest.unknown("direction", way, ("download", "upload")))
        each = [self.results.values(label, "goodput_bit_s", f"{way}-{name}") for name in _CLASSES]
        return stats.estimate(np.sum(each, axis=0) / 1e6)

    def latency_ms(self, label: str, ping: str | None = None) -> stats.Estimate:
        """Return the mean round-trip time of a ping while TCP sends, with its 95 % interval.

        Parameters
        ----------
        label
            Of the scheme.
        ping
            ``UDP EF``, ``UDP BK``, ``UDP BE`` or ``ICMP``; by default the mean of all.
        """
        names = list(_PINGS) if ping is None else [ping]
        if unknown := [name for name in names if name not in _PINGS]:
            raise SojournError(suggest.unknown("ping", unknown[0], _PINGS))
        each = [self.results.values(label, "rtt_ms_mean", f"ping-{name.replace(' ', '-')}") for name in names]
        return stats.estimate(np.mean(each, axis=0))

    def rows(self, label: str) -> list[tuple[str, str, stats.Estimate]]:
        """Return Flent's name, unit and estimate of each line of the table."""
        ways = [(f"TCP {way} sum", "Mbit/s", self.goodput_mbit_s(label, way)) for way in ("download", "upload")]
        pings = [(f"Ping (ms) {name}", "ms", self.latency_ms(label, name)) for name in _PINGS]
        return [*ways, *pings, ("Ping (ms) avg", "ms", self.latency_ms(label))]

    def __str__(self) -> str:
        columns = {label: self.rows(label) for label in self.results.labels}
        names = [name for name, _, _ in next(iter(columns.values()))]
        units = [unit for _, unit, _ in next(iter(columns.values()))]
        texts = {
            label: [metrics.rounded(estimate.mean, estimate.half_width) for _, _, estimate in rows]
            for label, rows in columns.items()
        }
        widths = {label: max(len(label), *map(len, column)) for label, column in texts.items()}
        first = max(map(len, names))
        lines = [" " * (first + 9) + "  ".join(label.rjust(width) for label, width in widths.items())]
        for place, (name, unit) in enumerate(zip(names, units, strict=True)):
            values = "  ".join(texts[label][place].rjust(width) for label, width in widths.items())
            lines.append(f"{name.ljust(first)} {unit.rjust(6)}  {values}")
        return "\n".join(lines)

    def plot(self, label: str | None = None) -> Picture:
        """Draw Flent's plot ``all_scaled`` of the first replication: downloads, uploads and pings over time.

        Parameters
        ----------
        label
            Of the scheme; by default the first.

        Raises
        ------
        SojournError
            If the results have no time series of each flow (``series.flows``), which :func:`access` asks for.

        Notes
        -----
        As in Flent, a point stands for 200 ms, the average is smoothed over 10 points, and the vertical axes reach
        from the 5 % to the 95 % quantile of what is drawn, and a little further.
        """
        from sojourn.canvas import WIDTH, new_figure, points

        scheme = self.results.labels[0] if label is None else label
        panels = {
            "TCP download (Mbit/s)": {name: f"goodput_bit_s:download-{name}[0]" for name in _CLASSES},
            "TCP upload (Mbit/s)": {name: f"goodput_bit_s:upload-{name}[0]" for name in _CLASSES},
            "Ping (ms)": {name: f"rtt_ms:ping-{name.replace(' ', '-')}[0]" for name in _PINGS},
        }
        with new_figure(WIDTH, 6.6) as figure:
            all_axes = figure.subplots(len(panels), 1, sharex=True)
            for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
                scale = 1.0 if title.startswith("Ping") else 1e-6
                drawn = {name: self._curve(scheme, series, scale) for name, series in curves.items()}
                for (name, (at, values)), color in zip(drawn.items(), _COLORS, strict=True):
                    axes.plot(at, values, color=color, linewidth=0.9, label=name)
                at = next(iter(drawn.values()))[0]
                mean = _smoothed(np.array([values for _, values in drawn.values()]))
                axes.plot(at, mean, color="black", linewidth=1.8, label="Avg")
                low, high = np.nanquantile(np.concatenate([values for _, values in drawn.values()]), (0.05, 0.95))
                axes.set_ylim(max(low - 0.15 * (high - low), 0.0), high + 0.15 * (high - low) + 1e-9)
                axes.set_ylabel(title)
                axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=points(8))
            all_axes[0].set_title(f"{self.results.name}: {scheme}", loc="left")
            all_axes[-1].set_xlabel("Time (s)")
            return figure

    def _curve(self, label: str, name: str, scale: float) -> tuple[stats.Floats, stats.Floats]:
        part = self.results.series
        part = part[(part["scheme"] == label) & (part["name"] == name) & (part["replication"] == 0)]
        if part.empty:
            raise SojournError(f"the results have no time series {name} of {label}: set series.flows=true")
        part = part.sort_values("t_s")
        return part["t_s"].to_numpy(np.float64), part["value"].to_numpy(np.float64) * scale


_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def _smoothed(curves: stats.Floats, over: int = 10) -> stats.Floats:
    """Return the mean of curves, smoothed over so many points; NaN where no curve has a value near."""
    seen = np.isfinite(curves)
    sums = np.convolve(np.where(seen, curves, 0.0).sum(axis=0), np.ones(over), mode="same")
    counts = np.convolve(seen.sum(axis=0), np.ones(over), mode="same")
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0.5)
