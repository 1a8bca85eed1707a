from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.base.units import Data, Packets, Rate, Time
from sojourn.model.draw import Distribution
from sojourn.model.parts import Start as Start
from sojourn.model.parts import Traffic as Traffic
from sojourn.model.parts import Transport as Transport
from sojourn.model.parts import every as every

def bulk(
    count: int | None = None,
    /,
    *,
    after: Time | None = None,
    first: Data | None = None,
    self_probes: Time | None = None,
) -> Traffic: ...
def transfer(count: int | None = None, /, *, size: Data) -> Traffic: ...
def cbr(count: int | None = None, /, *, rate: Rate, packet_size: Data | Distribution) -> Traffic: ...
def vbr(
    count: int | None = None,
    /,
    *,
    rate: Rate,
    packet_size: Data | Distribution,
    off: Time | Distribution | None = None,
    on: Time | Distribution | None = None,
) -> Traffic: ...
def on_off(
    count: int | None = None,
    /,
    *,
    rate: Rate,
    packet_size: Data | Distribution,
    on: Time | Distribution,
    off: Time | Distribution,
) -> Traffic: ...
def poisson(
    count: int | None = None,
    /,
    *,
    packet_size: Data | Distribution,
    packets_per_second: float | None = None,
    rate: Rate | None = None,
) -> Traffic: ...
def switched_poisson(
    count: int | None = None,
    /,
    *,
    packets_per_second: tuple[float, float],
    hold: tuple[Time, Time],
    packet_size: Data | Distribution,
) -> Traffic: ...
def pareto(
    count: int | None = None, /, *, scale: Time, shape: float, packet_size: Data | Distribution
) -> Traffic: ...
def weibull(
    count: int | None = None, /, *, scale: Time, shape: float, packet_size: Data | Distribution
) -> Traffic: ...
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
) -> Traffic: ...
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
) -> Traffic: ...
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
) -> Traffic: ...
def gaming(
    count: int | None = None, /, *, interval: Time | None = None, packet_size: Data | Distribution | None = None
) -> Traffic: ...
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
) -> Traffic: ...
def replay(
    count: int | None = None,
    /,
    *,
    capture: Mapping[str, Any] | None = None,
    file: str | None = None,
    packets: str | None = None,
    period: Time | None = None,
) -> Traffic: ...
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
) -> Transport: ...
def udp(*, echo: bool | None = None, header: Data | None = None) -> Transport: ...
