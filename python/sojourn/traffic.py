"""What flows carry and how: traffic, transport and start times, as parts of a scenario document.

Every function returns a read-only table of the document; the loader checks the document as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sojourn.draw import Distribution, amount
from sojourn.units import Data, Packets, Rate, Time, as_text


class Part(Mapping[str, Any]):
    """A read-only table of a scenario document."""

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[str, Any]) -> None:
        kept = {key: value for key, value in table.items() if value is not None}
        self._table = MappingProxyType(kept)

    def __getitem__(self, key: str) -> Any:
        return self._table[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self._table.items())
        return f"{type(self).__name__}({inside})"


class Traffic(Part):
    """What a flow sends. Sizes and rates are the application's payload."""


class Transport(Part):
    """How a flow sends it."""


class Start(Part):
    """When the flows of a group start."""


def bulk() -> Traffic:
    """Data without end, as fast as TCP allows."""
    return Traffic({"kind": "bulk"})


def transfer(*, size: Data) -> Traffic:
    """A fixed amount of data once, over TCP; its completion time is measured."""
    return Traffic({"kind": "transfer", "size": as_text("size", size, "data")})


def cbr(*, rate: Rate, packet_size: Data | Distribution) -> Traffic:
    """Constant bit rate: packets of `packet_size`, evenly spaced, `rate` in all."""
    return Traffic({"kind": "cbr", **_packets(rate, packet_size)})


def vbr(
    *,
    rate: Rate,
    packet_size: Data | Distribution,
    on: Time | Distribution | None = None,
    off: Time | Distribution | None = None,
) -> Traffic:
    """Variable bit rate: `rate` while on, nothing while off, in turns (by default 1 s and 1.5 s)."""
    return Traffic({"kind": "vbr", **_packets(rate, packet_size), **_periods(on, off)})


def on_off(
    *, rate: Rate, packet_size: Data | Distribution, on: Time | Distribution, off: Time | Distribution
) -> Traffic:
    """Constant bit rate while on, silence while off; it begins with an off period.

    Parameters
    ----------
    rate
        While on.
    packet_size
        Of every packet.
    on, off
        Lengths of the periods: times, or distributions of :mod:`sojourn.draw`.
    """
    return Traffic({"kind": "on_off", **_packets(rate, packet_size), **_periods(on, off)})


def poisson(
    *, rate: Rate | None = None, packets_per_second: float | None = None, packet_size: Data | Distribution
) -> Traffic:
    """Packets with exponential spacing.

    Parameters
    ----------
    rate
        Mean payload rate.
    packets_per_second
        Mean number of packets a second, in place of `rate`.
    packet_size
        Of every packet.
    """
    return Traffic(
        {
            "kind": "poisson",
            "rate": None if rate is None else as_text("rate", rate, "rate"),
            "packets_per_second": packets_per_second,
            "packet_size": amount("packet_size", packet_size, "data"),
        }
    )


def switched_poisson(
    *, packets_per_second: tuple[float, float], hold: tuple[Time, Time], packet_size: Data | Distribution
) -> Traffic:
    """Packets of a Poisson process that switches between two rates: correlated arrivals.

    Parameters
    ----------
    packets_per_second
        In each phase.
    hold
        Mean time in each phase; each stay is exponential.
    packet_size
        Of every packet.
    """
    return Traffic(
        {
            "kind": "switched_poisson",
            "packets_per_second": list(packets_per_second),
            "hold": [as_text("hold", one, "time") for one in hold],
            "packet_size": amount("packet_size", packet_size, "data"),
        }
    )


def pareto(*, scale: Time, shape: float, packet_size: Data | Distribution) -> Traffic:
    """Packets with Pareto spacing: at least `scale` apart, tail index `shape`."""
    return Traffic({"kind": "pareto", **_tail(scale, shape, packet_size)})


def weibull(*, scale: Time, shape: float, packet_size: Data | Distribution) -> Traffic:
    """Packets with Weibull spacing."""
    return Traffic({"kind": "weibull", **_tail(scale, shape, packet_size)})


def every(interval: Time, *, first: Time | None = None) -> Start:
    """Flow i of a group starts at `first` + i times `interval`."""
    return Start(
        {
            "first": None if first is None else as_text("first", first, "time"),
            "every": as_text("interval", interval, "time"),
        }
    )


def tcp(
    *,
    congestion_control: str | None = None,
    recovery: str | None = None,
    mss: Data | None = None,
    initial_window: Packets | None = None,
    send_buffer: Data | None = None,
    receive_buffer: Data | None = None,
    min_rto: Time | None = None,
    ecn: bool | None = None,
    ect: int | None = None,
    **options: str | bool | float,
) -> Transport:
    """TCP; whatever is not given is as in Linux, with CUBIC.

    Parameters
    ----------
    congestion_control
        A name that ``sojourn list congestion-controls`` shows, with its source, what it needs, and its own keys for
        `options`: ``cubic``.
    recovery
        ``reno`` (RFC 5681), ``newreno`` (RFC 6582), ``sack`` (RFC 6675), ``ns3`` (RFC 6675 as ns-3 has it) or
        ``rack`` (RFC 8985).
    mss
        Payload of a full segment.
    initial_window
        In segments.
    send_buffer, receive_buffer
        Sizes of the socket buffers.
    min_rto
        The smallest retransmission timeout.
    ecn
        Whether to use ECN (RFC 3168; with ``dctcp`` and ``prague`` accurate feedback).
    ect
        The codepoint of ECN-capable packets: 0 for ECT(0), or 1 for ECT(1), which asks for L4S treatment (RFC 9331).
    **options
        Further keys of the scenario schema, as they stand there: ``sojourn schema``.
    """
    data = {"mss": mss, "send_buffer": send_buffer, "receive_buffer": receive_buffer}
    return Transport(
        {
            "kind": "tcp",
            "congestion_control": congestion_control,
            "recovery": recovery,
            **{name: as_text(name, value, "data") for name, value in data.items() if value is not None},
            "initial_window": None
            if initial_window is None
            else as_text("initial_window", initial_window, "packets"),
            "min_rto": None if min_rto is None else as_text("min_rto", min_rto, "time"),
            "ecn": ecn,
            "ect": ect,
            **options,
        }
    )


def udp(*, header: Data | None = None) -> Transport:
    """UDP: packets as they come, no retransmission; `header` (28 B) is added to the payload."""
    return Transport({"kind": "udp", "header": None if header is None else as_text("header", header, "data")})


def _packets(rate: Rate, packet_size: Data | Distribution) -> dict[str, Any]:
    return {"rate": as_text("rate", rate, "rate"), "packet_size": amount("packet_size", packet_size, "data")}


def _periods(on: Time | Distribution | None, off: Time | Distribution | None) -> dict[str, Any]:
    given = {"on": on, "off": off}
    return {name: amount(name, value, "time") for name, value in given.items() if value is not None}


def _tail(scale: Time, shape: float, packet_size: Data | Distribution) -> dict[str, Any]:
    return {
        "scale": as_text("scale", scale, "time"),
        "shape": shape,
        "packet_size": amount("packet_size", packet_size, "data"),
    }
