"""Access lines, and the load that Flent's test of Realtime Response Under Load (RRUL) puts on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sojourn.base import suggest
from sojourn.base.errors import ScenarioError
from sojourn.base.units import Data, Rate, Time, bit_s, bytes_, from_ns, gbit_s, ms, s, to_ns
from sojourn.model import draw
from sojourn.model.network import Load, Network
from sojourn.model.scheme import SchemeLike
from sojourn.model.traffic import cbr, tcp, udp

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

CLASSES: Final = {"BE": "CS0", "BK": "CS1", "CS5": "CS5", "EF": "EF"}
"""Flent's names of the TCP flows, and their codepoints."""
PINGS: Final = {"UDP EF": ("EF", 60), "UDP BK": ("CS1", 60), "UDP BE": ("CS0", 60), "ICMP": ("CS0", 56)}
"""Flent's names of the pings, their codepoints, and their payload in bytes: that of irtt, and of ping."""
_HEADER: Final = bytes_(28)
"""Of IPv4, and of UDP or ICMP."""


def access(
    *,
    down: Rate,
    up: Rate,
    rtt: Time,
    technology: str = "ethernet",
    queue: SchemeLike | Mapping[str, SchemeLike] = "pfifo limit 1000p",
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
        raise ScenarioError(suggest.unknown("technology", technology, TECHNOLOGIES))
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
        for name, dscp in CLASSES.items()
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
        for name, (dscp, payload) in PINGS.items()
    ]
    return flows
