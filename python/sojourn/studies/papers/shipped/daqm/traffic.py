"""Traffic that changes: one kind after the other over one bottleneck."""

from __future__ import annotations

from typing import Any

from sojourn.base import units
from sojourn.base.units import Quantity, to_ns
from sojourn.model import draw
from sojourn.model.network import Network
from sojourn.model.traffic import Traffic, cbr, on_off, tcp, udp
from sojourn.studies.papers.shipped.daqm.model import Adaptive

PACKET = "1400 B"
MSS = "1400 B"


def network(adaptive: Adaptive) -> Network:
    """Return the scenario: each kind of traffic in turn, upload over one bottleneck whose queue is under test."""
    # A quarter of the propagation on each side, half on the bottleneck, there and back.
    quarter = Quantity(to_ns("base_rtt", adaptive.base_rtt) // 8, "ns")
    half = Quantity(to_ns("base_rtt", adaptive.base_rtt) // 4, "ns")
    net = (
        Network(name="changing-traffic", duration=units.s(adaptive.duration_s))
        .node(name="client", count=adaptive.clients)
        .node(name="server", count=adaptive.clients)
        .link(name="access", from_="client", to="left", rate=units.gbit_s(1), delay=quarter)
        .link(
            name="bottleneck",
            from_="left",
            to="right",
            rate=units.mbit_s(adaptive.rate_mbit_s),
            delay=half,
            queue="pfifo limit 2000p",
            under_test=True,
        )
        .link(name="exit", from_="server", to="right", rate=units.gbit_s(1), delay=quarter)
    )
    for begin_s, number, kind in phases(adaptive):
        net = net.flow(
            name=f"phase{number}",
            from_="client",
            to="server",
            start=draw.uniform(units.s(begin_s), units.s(begin_s + adaptive.phase_s / 10)),
            stop=units.s(begin_s + adaptive.phase_s),
            traffic=_traffic(kind),
            transport=tcp(mss=MSS) if kind["kind"] == "tcp" else udp(),
        )
    return net


def phases(adaptive: Adaptive) -> list[tuple[float, int, Any]]:
    """Return the begin in seconds, the number and the kind of each phase."""
    count = len(adaptive.traffic)
    return [(k * adaptive.phase_s, k, adaptive.traffic[k % count]) for k in range(count * adaptive.cycles)]


def _traffic(kind: Any) -> Traffic:
    if kind["kind"] == "tcp":
        return cbr(rate=kind["rate"], packet_size=PACKET)
    shape = float(kind["shape"])

    def period(name: str) -> draw.Distribution:
        # The mean of a Pareto distribution is scale times shape / (shape - 1).
        scale_ns = round(to_ns(name, kind[name]) * (shape - 1) / shape)
        return draw.pareto(scale=Quantity(scale_ns, "ns"), shape=shape)

    return on_off(rate=kind["rate"], packet_size=PACKET, on=period("on"), off=period("off"))
