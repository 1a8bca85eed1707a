"""What flows carry and how: traffic, transport and start times, as parts of a scenario document.

Every function returns a plain table of the document (a frozen :class:`Part`); the loader checks it whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sojourn.units import Data, Rate, Time, as_text


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
    """What a flow sends."""


class Transport(Part):
    """How a flow sends it."""


class Start(Part):
    """When the flows of a group start."""


class Distribution(Part):
    """A random time, drawn afresh for each period."""


def bulk() -> Traffic:
    """Data without end, as fast as the transport allows."""
    return Traffic({"kind": "bulk"})


def transfer(*, size: Data) -> Traffic:
    """Send a transfer of `size` bytes of payload; its completion time is measured."""
    return Traffic({"kind": "transfer", "size": as_text("size", size, "data")})


def cbr(*, rate: Rate, packet_size: Data) -> Traffic:
    """Constant bit rate: packets of `packet_size` payload, evenly spaced, `rate` of payload."""
    return Traffic({"kind": "cbr", **_packets(rate, packet_size)})


def poisson(*, rate: Rate, packet_size: Data) -> Traffic:
    """Packets with exponential spacing, `rate` of payload on average."""
    return Traffic({"kind": "poisson", **_packets(rate, packet_size)})


def on_off(
    *, rate: Rate, packet_size: Data, on: Time | Distribution, off: Time | Distribution
) -> Traffic:
    """Constant bit rate while on, silence while off.

    Parameters
    ----------
    rate
        Of payload while on.
    packet_size
        Payload of a packet.
    on, off
        Lengths of the periods: fixed times or distributions.
    """
    periods = {
        name: dict(period) if isinstance(period, Distribution) else as_text(name, period, "time")
        for name, period in (("on", on), ("off", off))
    }
    return Traffic({"kind": "on_off", **_packets(rate, packet_size), **periods})


def uniform(low: Time, high: Time) -> Distribution:
    """Return a time uniform between `low` and `high`; also the start of flows."""
    return Distribution({"uniform": [as_text("low", low, "time"), as_text("high", high, "time")]})


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
    send_buffer: Data | None = None,
    receive_buffer: Data | None = None,
    min_rto: Time | None = None,
    ecn: bool | None = None,
    **options: str | bool | int | float,
) -> Transport:
    """TCP; whatever is not given has the scenario's default.

    Parameters
    ----------
    congestion_control
        ``cubic``, ``reno`` (Linux), ``newreno``.
    recovery
        ``reno`` (RFC 5681), ``newreno`` (RFC 6582) or ``sack`` (RFC 6675).
    mss
        Payload of a full segment.
    send_buffer, receive_buffer
        Sizes of the socket buffers.
    min_rto
        The least retransmission timeout.
    ecn
        Whether to negotiate ECN (RFC 3168).
    **options
        Further keys of the scenario schema, as they stand there.
    """
    return Transport(
        {
            "kind": "tcp",
            "congestion_control": congestion_control,
            "recovery": recovery,
            "mss": None if mss is None else as_text("mss", mss, "data"),
            "send_buffer": None if send_buffer is None else as_text("send_buffer", send_buffer, "data"),
            "receive_buffer": None if receive_buffer is None else as_text("receive_buffer", receive_buffer, "data"),
            "min_rto": None if min_rto is None else as_text("min_rto", min_rto, "time"),
            "ecn": ecn,
            **options,
        }
    )


def udp() -> Transport:
    """UDP: packets as they come, no retransmission."""
    return Transport({"kind": "udp"})


def _packets(rate: Rate, packet_size: Data) -> dict[str, str]:
    return {
        "rate": as_text("rate", rate, "rate"),
        "packet_size": as_text("packet_size", packet_size, "data"),
    }
