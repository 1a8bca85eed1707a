"""Rules of thumb: windows of TCP at a loss ratio, buffers, levels of congestion, the operating point."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import optimize

from sojourn.base.by_name import by_name
from sojourn.base.core import SojournError


def _share(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise SojournError(f"{name}={value}; allowed: between 0 and 1")
    return value


def _positive(name: str, value: float) -> float:
    if not (value > 0 and math.isfinite(value)):
        raise SojournError(f"{name}={value}; allowed: above 0")
    return value


@by_name
def square_root_window(*, loss_ratio: float, packets_per_ack: float = 1.0) -> float:
    """Return Reno's mean window in packets at a loss ratio: sqrt(3 / (2 b p)).

    Mathis, Semke, Mahdavi and Ott 1997, with b packets for each acknowledgement.

    Examples
    --------
    >>> round(square_root_window(loss_ratio=0.015), 6)
    10.0
    """
    return math.sqrt(1.5 / (_positive("packets_per_ack", packets_per_ack) * _share("loss_ratio", loss_ratio)))


@by_name
def cubic_window(*, loss_ratio: float, rtt_s: float, c: float = 0.4, beta: float = 0.7) -> float:
    """Return CUBIC's mean window in packets (RFC 9438, 5.1), the larger of the cubic and the Reno-friendly one.

    Parameters
    ----------
    loss_ratio
        Between 0 and 1.
    rtt_s
        Round-trip time, s.
    c, beta
        CUBIC's constants.

    Examples
    --------
    With the RFC's constants the cubic part is 1.054 (rtt/p)^(3/4): at 0.1 s and 1e-6, 1.054 x 1e5^0.75.

    >>> round(cubic_window(loss_ratio=1e-6, rtt_s=0.1))
    5926
    """
    p, rtt = _share("loss_ratio", loss_ratio), _positive("rtt_s", rtt_s)
    cubic = math.pow(c * (3 + beta) / (4 * (1 - beta)), 0.25) * math.pow(rtt / p, 0.75)
    # Section 4.3: additive increase of 3 (1 - beta)/(1 + beta) gives Reno's mean window.
    return max(cubic, square_root_window(loss_ratio=p))


@by_name
def padhye_rate(
    *, loss_ratio: float, rtt_s: float, rto_s: float = 0.2, packets_per_ack: float = 1.0, window: float = math.inf
) -> float:
    """Return Reno's rate in packets/s with timeouts (Padhye, Firoiu, Towsley and Kurose 1998, equation 32).

    Parameters
    ----------
    loss_ratio
        Between 0 and 1.
    rtt_s, rto_s
        Round-trip time and first retransmission timeout, s.
    packets_per_ack
        b.
    window
        The receiver's, packets.
    """
    p, rtt = _share("loss_ratio", loss_ratio), _positive("rtt_s", rtt_s)
    b = _positive("packets_per_ack", packets_per_ack)
    timeouts = _positive("rto_s", rto_s) * min(1, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p * p)
    return min(window / rtt, 1 / (rtt * math.sqrt(2 * b * p / 3) + timeouts))


@by_name
def padhye_loss_ratio(*, window: float, rtt_s: float, rto_s: float = 0.2, packets_per_ack: float = 1.0) -> float:
    """Return the loss ratio at which Reno has a mean window by :func:`padhye_rate`; nan if it would be 1 or more.

    Parameters
    ----------
    window
        Mean, packets.
    rtt_s, rto_s, packets_per_ack
        As for :func:`padhye_rate`.

    Examples
    --------
    >>> p = padhye_loss_ratio(window=10, rtt_s=0.1)
    >>> round(0.1 * padhye_rate(loss_ratio=p, rtt_s=0.1), 9)
    10.0
    """
    _positive("window", window)

    def excess(log: float) -> float:
        rate = padhye_rate(loss_ratio=math.exp(log), rtt_s=rtt_s, rto_s=rto_s, packets_per_ack=packets_per_ack)
        return math.log(rate * rtt_s / window)

    # The rate falls with p. At the lower end the square root alone has a larger window than asked for.
    low = math.log(min(0.5, 0.1 / (packets_per_ack * window**2)) / 10)
    if excess(-1e-9) > 0:
        return math.nan
    return math.exp(float(optimize.brentq(excess, low, -1e-9)))


@by_name
def appenzeller_buffer(*, bdp_packets: float, flows: int) -> float:
    """Return the buffer in packets that keeps a link of many unsynchronised flows busy: BDP / sqrt(n).

    Appenzeller, Keslassy and McKeown 2004.

    Examples
    --------
    >>> appenzeller_buffer(bdp_packets=1000, flows=100)
    100.0
    """
    return _positive("bdp_packets", bdp_packets) / math.sqrt(_positive("flows", flows))


_LEVELS = {"mild": 0.001, "medium": 0.005, "heavy": 0.01}


@by_name
def congestion_flows(level: str, *, room_packets: float) -> int:
    """Return the number of flows of a level of congestion (RFC 7928, section 8.2.1): N = S sqrt(l / 0.76).

    Parameters
    ----------
    level
        ``mild``, ``medium`` or ``heavy``: 0.1, 0.5 or 1 % projected drop-tail losses.
    room_packets
        S: BDP and buffer, packets.

    Examples
    --------
    The RFC rounds to 0.036, 0.081 and 0.114 of S.

    >>> [congestion_flows(level, room_packets=1000) for level in ("mild", "medium", "heavy")]
    [36, 81, 115]
    """
    if level not in _LEVELS:
        raise SojournError(f"level={level!r}; allowed: {', '.join(_LEVELS)}")
    return max(1, round(_positive("room_packets", room_packets) * math.sqrt(_LEVELS[level] / 0.76)))


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Where power, throughput over delay, is largest; the response is in mean service times."""

    load: float
    mean_packets: float
    response: float


def kleinrock(*, scv: float = 1.0) -> OperatingPoint:
    """Return the load of largest power of an M/G/1 queue (Kleinrock 1979); any service has a mean number of 1 there.

    Power is rho/T with T = 1 + rho (1 + c^2) / (2 (1 - rho)). Its derivative is zero where
    a rho^2 = (1 - rho)^2 with a = (1 + c^2)/2: rho = 1/(1 + sqrt(a)).

    Parameters
    ----------
    scv
        Squared coefficient of variation of the service time: 1 exponential, 0 fixed.

    Examples
    --------
    >>> kleinrock().load, kleinrock().mean_packets
    (0.5, 1.0)
    """
    if not (scv >= 0 and math.isfinite(scv)):
        raise SojournError(f"scv={scv}; allowed: at least 0")
    root = math.sqrt((1 + scv) / 2)
    load = 1 / (1 + root)
    # T = 1 + root^2 rho/(1 - rho), and rho/(1 - rho) = 1/root.
    response = 1 + root
    return OperatingPoint(load, load * response, response)
