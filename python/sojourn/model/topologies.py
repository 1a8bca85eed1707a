"""Ready-made networks."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.base.units import Data, Packets, Rate, Time, bytes_, from_ns, gbit_s, mbit_s, mib, ms, packets, s, to_ns
from sojourn.model import draw
from sojourn.model.network import Network
from sojourn.model.parts import Traffic, every
from sojourn.model.scheme import SchemeLike
from sojourn.model.traffic import on_off, tcp


def dumbbell(
    *,
    flows: int = 20,
    rate: Rate | Mapping[str, Rate] = mbit_s(20),
    base_rtt: Time = ms(40),
    congestion_control: str = "cubic",
    queue: SchemeLike | Mapping[str, SchemeLike] = "pfifo limit 100p",
    duration: Time = s(60),
    warm_up: Time = s(12),
    traffic: Traffic | None = None,
    name: str = "dumbbell",
    reverse_rate: Rate | None = None,
    reverse_delay: Time | None = None,
    reverse_queue: SchemeLike | None = None,
    reverse_under_test: bool | None = None,
) -> Network:
    """Senders and receivers on either side of one bottleneck, whose queue is under test.

    Parameters
    ----------
    flows
        Number of sender and receiver pairs, one flow each; they start within the first second.
    rate
        Of the bottleneck; ``{"down": ..., "up": ...}`` gives one for data (down) and one for acknowledgements. The
        access links have 1 Gbit/s.
    base_rtt
        Round-trip time without queues, propagation only: half of it on the bottleneck, a quarter on each side.
    congestion_control
        Of every flow.
    queue
        The scheme at the bottleneck; a comparison replaces it.
    duration, warm_up
        Length of a run, and where statistics start.
    traffic
        What every flow carries; without one, data without end.
    name
        Of the network.
    reverse_rate
        Of the bottleneck for acknowledgements, where it is another.
    reverse_delay
        Propagation delay of the bottleneck for acknowledgements, in place of a quarter of `base_rtt`.
    reverse_queue, reverse_under_test
        The scheme at the bottleneck for acknowledgements, and whether a comparison replaces it.

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.dumbbell(flows=2, rate=sj.mbit_s(5), base_rtt=sj.ms(80))
    <Network 'dumbbell': 2 nodes, 3 links, 1 flows>
    """
    rates = f"{rate.get('down')} down and {rate.get('up')} up" if isinstance(rate, Mapping) else rate
    eighth = to_ns("base_rtt", base_rtt) // 8
    return (
        Network(
            name=name,
            description=f"{flows} {congestion_control.upper()} flows share {rates} with {base_rtt} of base RTT",
            duration=duration,
            warm_up=warm_up,
        )
        .node(name="sender", count=flows)
        .node(name="receiver", count=flows)
        .link(
            name="bottleneck",
            from_="left",
            to="right",
            rate=rate,
            reverse_rate=reverse_rate,
            delay=from_ns(to_ns("base_rtt", base_rtt) // 2 - 2 * eighth),
            reverse_delay=reverse_delay,
            queue=queue,
            reverse_queue=reverse_queue,
            under_test=True,
            reverse_under_test=reverse_under_test,
        )
        .link(name="sender_access", from_="sender", to="left", rate=gbit_s(1), delay=from_ns(eighth))
        .link(name="receiver_access", from_="right", to="receiver", rate=gbit_s(1), delay=from_ns(eighth))
        .flow(
            name="bulk",
            from_="sender",
            to="receiver",
            traffic=traffic,
            transport=tcp(congestion_control=congestion_control),
            start=draw.uniform(s(0), s(1)),
        )
    )


def lan(
    *,
    clients: int = 100,
    servers: int = 5,
    rate: Rate = gbit_s(2),
    delay: Time = ms(1),
    client_rate: Rate = mbit_s(1.5),
    packet_size: Data = bytes_(1400),
    queue: SchemeLike = "pfifo limit 2000p",
    device_queue: Packets = packets(100),
    congestion_control: str = "cubic",
    buffers: Data = mib(4),
    duration: Time = s(10),
    name: str = "lan",
) -> Network:
    """Clients that upload to servers over one shared CSMA bus; client i begins at second i.

    Parameters
    ----------
    clients, servers
        Stations on the bus.
    rate, delay
        Of the bus: it stays busy for a frame's transmission time plus `delay`.
    client_rate, packet_size
        Constant bit rate of every client, and its packets' payload.
    queue
        The scheme on every station's interface; a comparison replaces it.
    device_queue
        A FIFO below the scheme, as a driver's ring has; ns-3's default is 100 packets.
    congestion_control, buffers
        Of every flow: its TCP, otherwise with ns-3's defaults, and its socket buffers.
    duration
        Length of a run; there is no warm-up.
    name
        Of the network.

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.lan(device_queue=sj.packets(0))
    <Network 'lan': 2 nodes, 1 buses, 1 flows>
    """
    return (
        Network(
            name=name,
            description=f"{clients} clients upload to {servers} servers over one shared CSMA bus",
            duration=duration,
        )
        .node(name="client", count=clients)
        .node(name="server", count=servers)
        .bus(
            name="lan",
            stations=("client", "server"),
            rate=rate,
            delay=delay,
            overhead=bytes_(18),
            queue=queue,
            under_test=True,
            device_queue=device_queue,
        )
        .flow(
            name="http",
            from_="client",
            to="server",
            start=every(s(1), first=s(0)),
            traffic=on_off(rate=client_rate, packet_size=packet_size, on=s(1), off=s(0)),
            transport=tcp(
                congestion_control=congestion_control,
                mss=packet_size,
                send_buffer=buffers,
                receive_buffer=buffers,
                min_rto=s(1),
                rto="rfc",
                delayed_ack="200 ms",
                quick_acks="0 p",
                slow_start_after_idle=False,
            ),
        )
    )
