"""What flows carry and how: traffic, transport and start times, as parts of a scenario document.

Every function returns a read-only table of the document; the loader checks the document as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sojourn.draw import Distribution, amount
from sojourn.units import Data, Dimension, Packets, Rate, Time, as_text


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


# Kinds of traffic, made by docs/generate.py


def bulk() -> Traffic:
    """An endless stream of data, as fast as TCP allows; TCP only."""
    return _traffic("bulk")


def transfer(*, size: Data) -> Traffic:
    """One transfer of a given size; TCP only.

    Parameters
    ----------
    size
        Payload of the transfer.
    """
    return _traffic("transfer", size=(size, "data"))


def cbr(*, rate: Rate, packet_size: Data | Distribution) -> Traffic:
    """Packets at a constant bit rate.

    Parameters
    ----------
    rate
        Payload rate.
    packet_size
        Payload of a packet: a size, or a random size.
    """
    return _traffic("cbr", rate=(rate, "rate"), packet_size=(packet_size, "data"))


def vbr(
    *,
    rate: Rate,
    packet_size: Data | Distribution,
    off: Time | Distribution | None = None,
    on: Time | Distribution | None = None,
) -> Traffic:
    """Variable bit rate: ON and OFF periods alternate, with a constant bit rate while ON.

    Parameters
    ----------
    rate
        Payload rate while ON.
    packet_size
        Payload of a packet: a size, or a random size.
    off
        Length of an OFF period: a time, or a random time. The flow begins with an OFF period. By default "1.5 s".
    on
        Length of an ON period: a time, or a random time. By default "1 s".
    """
    return _traffic("vbr", rate=(rate, "rate"), packet_size=(packet_size, "data"), off=(off, "time"), on=(on, "time"))


def on_off(
    *, rate: Rate, packet_size: Data | Distribution, on: Time | Distribution, off: Time | Distribution
) -> Traffic:
    """ON and OFF periods of given lengths, with a constant bit rate while ON, as ns-3's `OnOffApplication`.

    Parameters
    ----------
    rate
        Payload rate while ON.
    packet_size
        Payload of a packet: a size, or a random size.
    on
        Length of an ON period: a time, or a random time.
    off
        Length of an OFF period: a time, or a random time. The flow begins with an OFF period.
    """
    return _traffic(
        "on_off", rate=(rate, "rate"), packet_size=(packet_size, "data"), on=(on, "time"), off=(off, "time")
    )


def poisson(
    *, packet_size: Data | Distribution, packets_per_second: float | None = None, rate: Rate | None = None
) -> Traffic:
    """A Poisson process: exponential times between packets.

    Parameters
    ----------
    packet_size
        Payload of a packet: a size, or a random size.
    packets_per_second
        Mean number of packets a second, instead of `rate`.
    rate
        Mean payload rate; give either this or `packets_per_second`.
    """
    return _traffic(
        "poisson",
        packet_size=(packet_size, "data"),
        packets_per_second=(packets_per_second, None),
        rate=(rate, "rate"),
    )


def switched_poisson(
    *, packets_per_second: tuple[float, float], hold: tuple[Time, Time], packet_size: Data | Distribution
) -> Traffic:
    """A Poisson process that switches between two rates.

    Parameters
    ----------
    packets_per_second
        Packets a second in each phase.
    hold
        Mean time in each phase; the times are exponentially distributed.
    packet_size
        Payload of a packet: a size, or a random size.
    """
    return _traffic(
        "switched_poisson",
        packets_per_second=(packets_per_second, None),
        hold=(hold, "time"),
        packet_size=(packet_size, "data"),
    )


def pareto(*, scale: Time, shape: float, packet_size: Data | Distribution) -> Traffic:
    """Pareto distributed times between packets.

    Parameters
    ----------
    scale
        Scale of the time between packets: k, which is the least of these times.
    shape
        Shape of the distribution: alpha.
    packet_size
        Payload of a packet: a size, or a random size.
    """
    return _traffic("pareto", scale=(scale, "time"), shape=(shape, None), packet_size=(packet_size, "data"))


def weibull(*, scale: Time, shape: float, packet_size: Data | Distribution) -> Traffic:
    """Weibull distributed times between packets.

    Parameters
    ----------
    scale
        Scale of the time between packets: b.
    shape
        Shape of the distribution: c.
    packet_size
        Payload of a packet: a size, or a random size.
    """
    return _traffic("weibull", scale=(scale, "time"), shape=(shape, None), packet_size=(packet_size, "data"))


# End of kinds of traffic


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
        How lost segments are detected and retransmitted: ``sack`` (RFC 6675), ``rack`` (RFC 8985), or another that
        the reference of scenarios lists.
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


def _traffic(kind: str, **keys: tuple[Any, Dimension | None]) -> Traffic:
    """Make the table of a kind from its keys, each with the dimension of its quantity, if it is one."""
    table = {name: _written(name, value, of) for name, (value, of) in keys.items() if value is not None}
    return Traffic({"kind": kind, **table})


def _written(name: str, value: Any, of: Dimension | None) -> Any:
    if isinstance(value, tuple | list):
        return [_written(name, one, of) for one in value]
    return value if of is None else amount(name, value, of)
