"""What flows carry and how: traffic, transport and start times, as parts of a scenario document.

Every function returns a read-only table of the document; the loader checks the document as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from sojourn.base.errors import ScenarioError
from sojourn.base.units import Data, Dimension, Packets, Rate, Time, as_text
from sojourn.model.draw import Distribution, amount


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
    """What a flow sends. Sizes and rates are the application's payload.

    Parameters
    ----------
    table
        As the scenario has it.
    count
        Users or flows of it, for :meth:`Network.add`.

    Raises
    ------
    SojournError
        If the count is no positive whole number.
    """

    __slots__ = ("count",)

    def __init__(self, table: Mapping[str, Any], count: int | None = None) -> None:
        super().__init__(table)
        if count is not None and (type(count) is not int or count < 1):
            raise ScenarioError(
                f"the number of {table.get('kind')} flows is {count!r}; allowed: a whole number from 1"
            )
        self.count = count


class Transport(Part):
    """How a flow sends it."""


class Start(Part):
    """When the flows of a group start."""


_Made = TypeVar("_Made", bound=Part)


# Traffic and transports, made by docs/generate.py


def bulk(
    count: int | None = None,
    /,
    *,
    after: Time | None = None,
    first: Data | None = None,
    self_probes: Time | None = None,
) -> Traffic:
    """An endless stream of data, as fast as TCP allows; TCP only.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    after
        Time from the flow's start, when the connection opens, to the stream. iperf3, for one, opens all its
        connections before it sends on any.
    first
        Payload that is sent as soon as the connection is open; only with `after`. iperf3 37 B.
    self_probes
        Time from one self probe to the next (draft-ietf-ippm-responsiveness-09): a request for one byte on this
        connection, answered behind what TCP has sent. The times are the series `self_probe_ms` of the flow. None by
        default.
    """
    return _traffic(count, "bulk", after=(after, "time"), first=(first, "data"), self_probes=(self_probes, "time"))


def transfer(count: int | None = None, /, *, size: Data) -> Traffic:
    """One transfer of a given size; TCP only.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    size
        Payload of the transfer.
    """
    return _traffic(count, "transfer", size=(size, "data"))


def cbr(count: int | None = None, /, *, rate: Rate, packet_size: Data | Distribution) -> Traffic:
    """Packets at a constant bit rate.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    rate
        Payload rate.
    packet_size
        Payload of a packet: a size, or a random size.
    """
    return _traffic(count, "cbr", rate=(rate, "rate"), packet_size=(packet_size, "data"))


def vbr(
    count: int | None = None,
    /,
    *,
    rate: Rate,
    packet_size: Data | Distribution,
    off: Time | Distribution | None = None,
    on: Time | Distribution | None = None,
) -> Traffic:
    """Variable bit rate: ON and OFF periods alternate, with a constant bit rate while ON.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    rate
        Payload rate while ON.
    packet_size
        Payload of a packet: a size, or a random size.
    off
        Length of an OFF period: a time, or a random time. The flow begins with an OFF period. By default "1.5 s".
    on
        Length of an ON period: a time, or a random time. By default "1 s".
    """
    return _traffic(
        count, "vbr", rate=(rate, "rate"), packet_size=(packet_size, "data"), off=(off, "time"), on=(on, "time")
    )


def on_off(
    count: int | None = None,
    /,
    *,
    rate: Rate,
    packet_size: Data | Distribution,
    on: Time | Distribution,
    off: Time | Distribution,
) -> Traffic:
    """ON and OFF periods of given lengths, with a constant bit rate while ON, as ns-3's `OnOffApplication`.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
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
        count, "on_off", rate=(rate, "rate"), packet_size=(packet_size, "data"), on=(on, "time"), off=(off, "time")
    )


def poisson(
    count: int | None = None,
    /,
    *,
    packet_size: Data | Distribution,
    packets_per_second: float | None = None,
    rate: Rate | None = None,
) -> Traffic:
    """A Poisson process: exponential times between packets.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    packet_size
        Payload of a packet: a size, or a random size.
    packets_per_second
        Mean number of packets a second, instead of `rate`.
    rate
        Mean payload rate; give either this or `packets_per_second`.
    """
    return _traffic(
        count,
        "poisson",
        packet_size=(packet_size, "data"),
        packets_per_second=(packets_per_second, None),
        rate=(rate, "rate"),
    )


def switched_poisson(
    count: int | None = None,
    /,
    *,
    packets_per_second: tuple[float, float],
    hold: tuple[Time, Time],
    packet_size: Data | Distribution,
) -> Traffic:
    """A Poisson process that switches between two rates.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    packets_per_second
        Packets a second in each phase.
    hold
        Mean time in each phase; the times are exponentially distributed.
    packet_size
        Payload of a packet: a size, or a random size.
    """
    return _traffic(
        count,
        "switched_poisson",
        packets_per_second=(packets_per_second, None),
        hold=(hold, "time"),
        packet_size=(packet_size, "data"),
    )


def pareto(count: int | None = None, /, *, scale: Time, shape: float, packet_size: Data | Distribution) -> Traffic:
    """Pareto distributed times between packets.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    scale
        Scale of the time between packets: k, which is the least of these times.
    shape
        Shape of the distribution: alpha.
    packet_size
        Payload of a packet: a size, or a random size.
    """
    return _traffic(count, "pareto", scale=(scale, "time"), shape=(shape, None), packet_size=(packet_size, "data"))


def weibull(count: int | None = None, /, *, scale: Time, shape: float, packet_size: Data | Distribution) -> Traffic:
    """Weibull distributed times between packets.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    scale
        Scale of the time between packets: b.
    shape
        Shape of the distribution: c.
    packet_size
        Payload of a packet: a size, or a random size.
    """
    return _traffic(count, "weibull", scale=(scale, "time"), shape=(shape, None), packet_size=(packet_size, "data"))


def web(
    count: int | None = None,
    /,
    *,
    connections: int | None = None,
    html: Data | None = None,
    object_size: Data | Distribution | None = None,
    objects: int | None = None,
    pause: Time | Distribution | None = None,
    persistent: bool | None = None,
    request_size: Data | None = None,
) -> Traffic:
    """Web pages, one after another; TCP only.

    `from` is the server, `to` the browser. By default a page is the one of RFC 7928, section 7.2: 50 objects of 1 kB
    over 6 new connections, and the next page when it is complete.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    connections
        Parallel connections. Each is a flow, and opened anew for each page. By default 6.
    html
        Size of the document that must arrive before the objects are requested; 0 for none. By default "0 B".
    object_size
        Size of an object: a size, or a random size. By default "1000 B".
    objects
        Objects of a page. By default 50.
    pause
        From the end of a page to the start of the next one: a time, or a random time. By default "0 ns".
    persistent
        Connections stay open for the next pages. By default false.
    request_size
        Size of a request, which is one packet. By default "400 B".
    """
    return _traffic(
        count,
        "web",
        connections=(connections, None),
        html=(html, "data"),
        object_size=(object_size, "data"),
        objects=(objects, None),
        pause=(pause, "time"),
        persistent=(persistent, None),
        request_size=(request_size, "data"),
    )


def video(
    count: int | None = None,
    /,
    *,
    adaptation: str | None = None,
    buffer: Time | None = None,
    cushion: Time | None = None,
    rates: Sequence[Rate] | None = None,
    request_size: Data | None = None,
    reservoir: Time | None = None,
    segment: Time | None = None,
    startup: Time | None = None,
) -> Traffic:
    """Adaptive video over one connection; TCP only.

    `from` is the server, `to` the player. It requests a segment when the one before is complete and its buffer has
    room for it.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    adaptation
        How the player chooses bit rates. One of ``buffer``, ``rate``. By default "buffer".
    buffer
        Playing time that the player's buffer holds at most. By default "30 s".
    cushion
        With `adaptation` `buffer`: this far above `reservoir` the highest rate is chosen. By default 21/40 of
        `buffer`, as in the paper (126 s of 240 s).
    rates
        Bit rates to choose from, rising. The default is the fixed ladder of Netflix (Aaron et al., "Per-title encode
        optimization", 2015). By default ["235 kbit/s", "375 kbit/s", "560 kbit/s", "750 kbit/s", "1.05 Mbit/s", "1.75
        Mbit/s", "2.35 Mbit/s", "3 Mbit/s", "4.3 Mbit/s", "5.8 Mbit/s"].
    request_size
        Size of a request, which is one packet. By default "400 B".
    reservoir
        With `adaptation` `buffer`: below this the lowest rate is chosen. By default 3/8 of `buffer`, as in the paper
        (90 s of 240 s).
    segment
        Playing time of a segment. By default "4 s".
    startup
        Playing time that the buffer must hold before the player begins, and goes on after it was empty; by default a
        segment.
    """
    return _traffic(
        count,
        "video",
        adaptation=(adaptation, None),
        buffer=(buffer, "time"),
        cushion=(cushion, "time"),
        rates=(rates, "rate"),
        request_size=(request_size, "data"),
        reservoir=(reservoir, "time"),
        segment=(segment, "time"),
        startup=(startup, "time"),
    )


def voip(
    count: int | None = None,
    /,
    *,
    codec: str | None = None,
    concealment: bool | None = None,
    frame: Time | None = None,
    jitter_buffer: Time | None = None,
    playout: str | None = None,
    rate: Rate | None = None,
) -> Traffic:
    """One direction of a telephone call; UDP only.

    R and MOS (ITU-T G.107) are of G.711 alone: we know of no impairment factor of Opus for this model.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    codec
        Codec. The look-ahead is 0 for G.711, 3.75 ms with the concealment of its appendix I, and 6.5 ms for Opus. One
        of ``g711``, ``opus``. By default "g711".
    concealment
        G.711 with the concealment of losses of its appendix I: Bpl is 25.1 instead of 4.3 (ITU-T G.113, appendix I).
        By default true.
    frame
        Length of a frame; each is a packet with 12 B of RTP header. By default "20 ms".
    jitter_buffer
        Length of the de-jitter buffer: the playout delay beyond that of the first frame; with `adaptive` only at the
        start. By default "60 ms".
    playout
        How the receiver chooses its playout delay. One of ``adaptive``, ``fixed``. By default "adaptive".
    rate
        Bit rate of Opus; by default 32 kbit/s, within RFC 6716's 28 to 40 kbit/s for fullband speech.
    """
    return _traffic(
        count,
        "voip",
        codec=(codec, None),
        concealment=(concealment, None),
        frame=(frame, "time"),
        jitter_buffer=(jitter_buffer, "time"),
        playout=(playout, None),
        rate=(rate, "rate"),
    )


def gaming(
    count: int | None = None, /, *, interval: Time | None = None, packet_size: Data | Distribution | None = None
) -> Traffic:
    """Updates of an online game at constant intervals; UDP only.

    The share of updates that take more than 50 and 100 ms is reported.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    interval
        Time between updates; the default is 64 updates a second. By default "15.625 ms".
    packet_size
        Payload of an update: a size, or a random size. By default "125 B".
    """
    return _traffic(count, "gaming", interval=(interval, "time"), packet_size=(packet_size, "data"))


def request_response(
    count: int | None = None,
    /,
    *,
    file: str | None = None,
    pause: Time | Distribution | None = None,
    persistent: bool | None = None,
    request_size: Data | None = None,
    response_size: Data | Distribution | None = None,
    response_sizes: Mapping[str, float] | None = None,
) -> Traffic:
    """Requests, each sent after the response to the one before; TCP only.

    `from` is the server, `to` the client. The size of a response is `response_size`, or one of `response_sizes`, or
    one of a `file`.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    file
        File of sizes and probabilities, found from the scenario's folder. The first line is `bytes,probability`, and
        each other line has a size in bytes and its probability. The content takes the place of `response_sizes`.
    pause
        From a response to the next request: a time, or a random time. By default "0 ns".
    persistent
        All requests use one connection; without it each has a new one. By default true.
    request_size
        Size of a request, which is one packet. By default "400 B".
    response_size
        Size of a response: a size, or a random size.
    response_sizes
        Sizes of responses, each with its probability.
    """
    return _traffic(
        count,
        "request_response",
        file=(file, None),
        pause=(pause, "time"),
        persistent=(persistent, None),
        request_size=(request_size, "data"),
        response_size=(response_size, "data"),
        response_sizes=(response_sizes, None),
    )


def replay(
    count: int | None = None,
    /,
    *,
    capture: Mapping[str, Any] | None = None,
    file: str | None = None,
    packets: str | None = None,
    period: Time | None = None,
) -> Traffic:
    """Packets of recorded times and sizes.

    Give `packets`, or a `file`, whose content takes their place in the canonical form of a scenario, so that results
    say what they are of.

    Parameters
    ----------
    count
        Number of users or flows of it, for :meth:`Network.add`; by default 1.
    capture
        What became of the frames of the capture that `packets` are from. Sojourn writes it when it reads a capture,
        and reports show it.
    file
        File of the packets, found from the scenario's folder. The first line of a table is `time_s,bytes` (or
        `time_ms,bytes`), and each other line has the time since the start and the payload of a packet. Of a capture
        (`.pcap`, `.pcapng`) every IP packet is taken in the order of time, the first at the flow's start, with a
        payload of 28 B less than its length, which is the header of UDP.
    packets
        Packets, each as nanoseconds since the one before (or the flow's start), a colon, and bytes of payload;
        `20000000:160x50` stands for 50 packets.
    period
        Time after which the packets start again; without it they are sent once.
    """
    return _traffic(
        count, "replay", capture=(capture, None), file=(file, None), packets=(packets, None), period=(period, "time")
    )


def tcp(
    *,
    accecn_accept: bool | None = None,
    accecn_option: bool | None = None,
    ack_every: Packets | None = None,
    ack_policy: str | None = None,
    congestion_control: str | None = None,
    delayed_ack: Time | None = None,
    ecn: bool | None = None,
    ecn_accept: bool | None = None,
    ecn_feedback: str | None = None,
    ect: int | None = None,
    ect_on: str | None = None,
    handshake: bool | None = None,
    hystart: bool | None = None,
    idle_restart: str | None = None,
    initial_rto: Time | None = None,
    initial_window: Packets | None = None,
    ledbat_gain: float | None = None,
    ledbat_slow_start: bool | None = None,
    ledbat_target: Time | None = None,
    limited_transmit: bool | None = None,
    max_rto: Time | None = None,
    min_rto: Time | None = None,
    mss: Data | None = None,
    nagle: bool | None = None,
    pacing: bool | None = None,
    prague_reference_rtt: Time | None = None,
    prr: bool | None = None,
    quick_acks: Packets | None = None,
    read_rate: Rate | None = None,
    receive_buffer: Data | None = None,
    recovery: str | None = None,
    rto: str | None = None,
    segmentation_offload: bool | None = None,
    send_buffer: Data | None = None,
    slow_start_after_idle: bool | None = None,
    tail_loss_probe: bool | None = None,
    timer_tick: Time | None = None,
    timestamp_tick: Time | None = None,
    timestamps: bool | None = None,
    undo: bool | None = None,
    window_limit: Packets | None = None,
    window_unit: str | None = None,
    write_at_once: bool | None = None,
    write_size: Data | None = None,
) -> Transport:
    """TCP. Most defaults are those of Linux, with CUBIC; where Linux has another value, the key says so.

    Parameters
    ----------
    accecn_accept
        The receiver speaks Accurate ECN (RFC 9768) if the sender asks for it; without, the connection falls back to
        classic ECN (RFC 3168). Linux true with `tcp_ecn` 3 to 5; RFC 9768 true. By default true.
    accecn_option
        Acknowledgements carry the option of Accurate ECN, 8 B with two counters. Linux true with `tcp_ecn_option` 2;
        RFC 9768 recommends it. By default true.
    ack_every
        Number of segments per acknowledgement. Linux 2 p; RFC 9293 2 p, RFC 5681 the same; ns-2's sink 1 p. By
        default "2 p".
    ack_policy
        When the receiver acknowledges beyond that. Linux `linux`; RFC 5681 `rfc`. One of ``rfc``, ``linux``. By
        default "rfc".
    congestion_control
        Congestion control. Linux `cubic`; RFC 5681 `newreno`. One of ``newreno``, ``ns2_reno``, ``ns3_cubic``,
        ``ns3_reno``, ``reno``, ``cubic``, ``dctcp``, ``bbr``, ``prague``, ``ledbat``, ``compound``, ``westwood``,
        ``veno``, ``bic``, ``bbr3``. By default "cubic".
    delayed_ack
        Longest delay of an acknowledgement. Linux 40 ms and, for a slow peer, up to 200 ms; RFC 9293 below 500 ms;
        ns-3 200 ms. By default "40 ms".
    ecn
        Use ECN (RFC 3168; with `dctcp` RFC 8257). Linux false for connections that it opens (`tcp_ecn` 2); RFC 3168
        leaves it to the host. By default false.
    ecn_accept
        The receiver accepts ECN if the sender asks for it. Linux true (`tcp_ecn` 2); RFC 3168 leaves it to the host.
        By default true.
    ecn_feedback
        How the receiver reports marks. `auto` is what the congestion control reads: RFC 9768 with `prague`, RFC 8257
        with `dctcp`, else RFC 3168. Linux `classic`, or `accecn` with `tcp_ecn` 3; RFC 9768 recommends `accecn`. One
        of ``auto``, ``classic``, ``dctcp``, ``accecn``. By default "auto".
    ect
        Codepoint of ECN-capable packets: 0 for ECT(0), or 1 for ECT(1), which asks for L4S treatment (RFC 9331).
        Linux 0; RFC 3168 either, RFC 8311 0 except for experiments. By default 0.
    ect_on
        Which packets are ECN-capable, of both ends. Linux `data`, with Accurate ECN `acks` (`auto` does the same),
        and `acks` with `dctcp`, too; RFC 3168 `data`; ECN++ (draft-ietf-tcpm-generalized-ecn) `all`. One of ``auto``,
        ``data``, ``acks``, ``all``. By default "auto".
    handshake
        Open the connection by SYN, SYN-ACK and ACK and close it by FINs; a flow starts with its SYN. Linux, ns-3 and
        RFC 9293 true. Without it, data is sent at once, as with ns-2's one-way agents. By default true.
    hystart
        CUBIC's HyStart, which ends slow start before a loss. Linux true; RFC 9438 recommends HyStart++ (RFC 9406).
        Only with `ns3_cubic` and `cubic`. By default true.
    idle_restart
        How an idle time reduces the window. Linux `decay` (RFC 2861); RFC 5681 `initial`. RFC 7661 is not
        implemented. One of ``decay``, ``initial``. By default "decay".
    initial_rto
        Retransmission timeout before the first RTT sample, used for SYN and SYN-ACK. Linux 1 s; RFC 6298 1 s. By
        default "1 s".
    initial_window
        Initial congestion window. Linux 10 p; RFC 6928 10 p, RFC 5681 3 p of this size. By default "10 p".
    ledbat_gain
        Segments by which LEDBAT's window grows in a round trip without queueing. RFC 6817 allows 1 at the most. Only
        with `ledbat`. By default 1.0.
    ledbat_slow_start
        LEDBAT begins with slow start, up to 3/4 of its target. RFC 6817 leaves it to the host. Only with `ledbat`. By
        default false.
    ledbat_target
        Target queueing delay of LEDBAT. RFC 6817 allows 100 ms at the most. Only with `ledbat`. By default "100 ms".
    limited_transmit
        Limited transmit: the first duplicate acknowledgements send new segments. Linux true; RFC 3042 recommends it.
        By default true.
    max_rto
        Largest retransmission timeout, including back-off. Linux 120 s; RFC 6298 60 s or more, if any. By default
        "120 s".
    min_rto
        Smallest retransmission timeout. Linux 200 ms; RFC 6298 1 s. By default "200 ms".
    mss
        Payload of a full segment; 1448 B give an IP packet of 1500 B. Linux 1448 B over Ethernet; RFC 9293 536 B if
        peer and path state nothing, less the options. By default "1448 B".
    nagle
        Nagle's algorithm: a short segment waits while data is unacknowledged. Linux true unless TCP_NODELAY; RFC 9293
        recommends it. It is false here, so that each write is a packet. By default false.
    pacing
        Pace segments even if the congestion control sets no rate: at 2 windows per RTT while the window is below half
        the threshold, and at 1.2 above. Linux false with most queueing disciplines, true with `fq`
        (`tcp_pacing_ss_ratio` 200, `tcp_pacing_ca_ratio` 120); the RFCs leave it to the host. By default false.
    prague_reference_rtt
        Prague's reference RTT: a flow with a shorter RTT behaves as with this one. draft-briscoe-iccrg-prague 25 ms.
        Only with `prague`. By default "25 ms".
    prr
        Proportional rate reduction during recovery; without it the window is reduced at once. Linux true (RFC 6937);
        RFC 5681 false. By default true.
    quick_acks
        Number of segments at the start that are acknowledged one by one. Linux 16 p at most; the RFCs 0 p. By default
        "16 p".
    read_rate
        Rate at which the receiving application reads; `none` reads at once. A reader that is slower than the sender
        closes the window, and the sender probes it (RFC 9293, 3.8.6). Linux and the RFCs leave it to the application.
        By default "none".
    receive_buffer
        Size of the receiver's socket buffer, which is the window offered at first. Linux grows it to 6 MiB
        (`tcp_rmem`), of which 6.1 offers half; RFC 9293 leaves it to the host, up to 1 GiB (RFC 7323). By default "6
        MiB".
    recovery
        How lost segments are detected and retransmitted. Linux `rack` (`tcp_recovery` 1) with `tail_loss_probe`; RFC
        6675 `sack`. One of ``reno``, ``newreno``, ``sack``, ``ns3``, ``rack``. By default "sack".
    rto
        How the retransmission timeout is computed from the RTT, also after a lost SYN. Linux `linux`; RFC 6298 `rfc`;
        ns-3 `ns3`. One of ``linux``, ``rfc``, ``ns3``. By default "linux".
    segmentation_offload
        New segments leave in groups, as with Linux's segmentation offload: at most what is sent in a millisecond and
        half the window, two at the least; less room than that waits up to a millisecond. The last segment of a group
        and of a write carries PSH, which `ack_policy` `linux` acknowledges at once. Linux true, also over links
        without offload; the RFCs leave it to the host. It is false here, so that segments leave one by one. By
        default false.
    send_buffer
        Size of the sender's socket buffer, for payload. Linux grows it to 4 MiB (`tcp_wmem`), of which it uses 3 to 8
        % itself; RFC 9293 leaves it to the host. By default "4 MiB".
    slow_start_after_idle
        Reduce the window after an idle time. Linux true (`tcp_slow_start_after_idle` 1); RFC 5681, 4.1 recommends it.
        By default true.
    tail_loss_probe
        Tail loss probe, with `sack` and `rack`. Linux true (`tcp_early_retrans` 3); RFC 8985, section 7, recommends
        it. By default false.
    timer_tick
        Tick of the clock by which retransmission timer, tail loss probe and RACK's reordering timer expire, with
        `recovery` `rack`; the latter two wait two ticks more. Linux 4 ms in Debian (`CONFIG_HZ` 250), 1 ms or 10 ms
        elsewhere; RFC 6298 leaves it to the host. It is 0 s here, for no ticks. By default "0 ns".
    timestamp_tick
        Tick of the timestamps' clock: an RTT is taken from timestamps only where segments were sent again, in whole
        ticks. Linux 1 ms (6.1; `TCP_TS_HZ` 1000); RFC 7323 1 ms to 1 s. It is 0 s here, for exact times. By default
        "0 ns".
    timestamps
        Timestamps, which also give RTT samples from retransmissions. Linux true; RFC 7323 leaves it to the host.
        Without them segments are 12 B shorter. By default true.
    undo
        Undo a reduction of the window that was not needed, with `recovery` `rack`: Eifel (RFC 3522, 4015), F-RTO (RFC
        5682) and, with `ack_policy` `linux`, DSACK (RFC 2883, 3708). Linux true (`tcp_frto` 2, `tcp_dsack` 1); RFC
        5682 and RFC 4015 allow it. By default false.
    window_limit
        Upper limit of the congestion window. Linux none (`snd_cwnd_clamp`); the RFCs define none; ns-2 20 p
        (`window_`). By default "none".
    window_unit
        Unit in which the congestion window is counted. Linux and ns-2 `packets`; RFC 5681 `bytes`. For full segments
        both are the same. One of ``bytes``, ``packets``. By default "bytes".
    write_at_once
        Bulk traffic and transfers write again as soon as anything of a full `send_buffer` is free. Otherwise they
        wait until a third of it is, and then fill it, which sends a burst where the buffer limits the flow. Linux
        false; ns-3 true; RFC 9293 leaves it to the host. By default false.
    write_size
        Bulk traffic fills `send_buffer` in writes of this size. If the buffer limits the flow, its last segment is
        then short, unless `nagle` delays it. With `none` the buffer holds whole segments. Linux's bulk senders write
        more than the buffer holds, so `none`; ns-3 512 B (`SendSize`); RFC 9293 leaves it to the application. By
        default "none".
    """
    return _table(
        Transport,
        "tcp",
        accecn_accept=(accecn_accept, None),
        accecn_option=(accecn_option, None),
        ack_every=(ack_every, "packets"),
        ack_policy=(ack_policy, None),
        congestion_control=(congestion_control, None),
        delayed_ack=(delayed_ack, "time"),
        ecn=(ecn, None),
        ecn_accept=(ecn_accept, None),
        ecn_feedback=(ecn_feedback, None),
        ect=(ect, None),
        ect_on=(ect_on, None),
        handshake=(handshake, None),
        hystart=(hystart, None),
        idle_restart=(idle_restart, None),
        initial_rto=(initial_rto, "time"),
        initial_window=(initial_window, "packets"),
        ledbat_gain=(ledbat_gain, None),
        ledbat_slow_start=(ledbat_slow_start, None),
        ledbat_target=(ledbat_target, "time"),
        limited_transmit=(limited_transmit, None),
        max_rto=(max_rto, "time"),
        min_rto=(min_rto, "time"),
        mss=(mss, "data"),
        nagle=(nagle, None),
        pacing=(pacing, None),
        prague_reference_rtt=(prague_reference_rtt, "time"),
        prr=(prr, None),
        quick_acks=(quick_acks, "packets"),
        read_rate=(read_rate, "rate"),
        receive_buffer=(receive_buffer, "data"),
        recovery=(recovery, None),
        rto=(rto, None),
        segmentation_offload=(segmentation_offload, None),
        send_buffer=(send_buffer, "data"),
        slow_start_after_idle=(slow_start_after_idle, None),
        tail_loss_probe=(tail_loss_probe, None),
        timer_tick=(timer_tick, "time"),
        timestamp_tick=(timestamp_tick, "time"),
        timestamps=(timestamps, None),
        undo=(undo, None),
        window_limit=(window_limit, "packets"),
        window_unit=(window_unit, None),
        write_at_once=(write_at_once, None),
        write_size=(write_size, "data"),
    )


def udp(*, echo: bool | None = None, header: Data | None = None) -> Transport:
    """UDP: packets are sent as the application makes them, without retransmission.

    Parameters
    ----------
    echo
        The receiver returns every datagram at once over the way of acknowledgements, as ping does; the time until it
        is back is the flow's round-trip time.
    header
        Bytes of headers added to the payload. 28 B are IPv4 and UDP; with 0 B the payload is the whole packet, which
        suits queueing theory. By default "28 B".
    """
    return _table(Transport, "udp", echo=(echo, None), header=(header, "data"))


# End of traffic and transports


def every(interval: Time, *, first: Time | None = None) -> Start:
    """Flow i of a group starts at `first` + i times `interval`."""
    return Start(
        {
            "first": None if first is None else as_text("first", first, "time"),
            "every": as_text("interval", interval, "time"),
        }
    )


def _traffic(count: int | None, kind: str, **keys: tuple[Any, Dimension | None]) -> Traffic:
    """Make the table of a kind of traffic, for so many users."""
    return Traffic(_table(Traffic, kind, **keys), count)


def _table(made: type[_Made], kind: str, **keys: tuple[Any, Dimension | None]) -> _Made:
    """Make the table of a kind from its keys, each with the dimension of its quantity, if it is one."""
    table = {name: _written(name, value, of) for name, (value, of) in keys.items() if value is not None}
    return made({"kind": kind, **table})


def _written(name: str, value: Any, of: Dimension | None) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_written(name, one, of) for one in value]
    return value if of is None else amount(name, value, of)
