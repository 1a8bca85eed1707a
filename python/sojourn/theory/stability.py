"""Stability of one class of flows over one link: roots, delay margin, Nyquist's curve, charts, Hopf points.

The fluid model is linearised at its fixed point. Its characteristic roots come from the infinitesimal generator on
Chebyshev points (Breda, Maset and Vermiglio 2005); the loop's gain from cutting it at the loss probability (Hollot,
Misra, Towsley and Gong 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from sojourn.base.core import SojournError
from sojourn.stats import Floats
from sojourn.theory.fluid import Fluid, Steady

_NODES: Final = 32


@dataclass(frozen=True)
class Linear:
    """x'(t) = now x(t) + past x(t - delay_s) near a fixed point.

    Parameters
    ----------
    now, past
        Shape (states, states), 1/s.
    delay_s
        The round-trip time at the fixed point.
    steady
        The fixed point.
    loss
        Gradient of the loss that a flow causes, 1/s, shape (states,).
    hearing
        What one more loss heard of a second does to dx/dt, shape (states,).
    """

    now: Floats
    past: Floats
    delay_s: float
    steady: Steady
    loss: Floats
    hearing: Floats


def linearise(fluid: Fluid) -> Linear:
    """Return the linear model of one class of flows over one link.

    Raises
    ------
    SojournError
        More links or classes, CUBIC, and links that lose nothing.
    """
    if len(fluid.links) != 1 or len(fluid.classes) != 1:
        raise SojournError("stability is examined for one link and one class of flows")
    if fluid.is_cubic[0]:
        raise SojournError(
            "CUBIC's fixed point lies where its curve is flat, so its linear model says nothing (Vardoyan, Hollot "
            "and Towsley 2018); allowed: reno, or Fluid.run"
        )
    steady = fluid.steady()
    if steady.probability[0] <= 0:
        raise SojournError("the link loses nothing at its fixed point: there is no loop")
    x = steady.state
    active = np.ones(fluid.size, dtype=bool)
    active[1] = False
    # Where the fixed point has no queue, small disturbances leave none.
    active[2] = fluid.links[0].controller.has_queue and steady.queue_packets[0] > 0
    where = np.flatnonzero(active)
    base = fluid.flow(x)[0]

    def both(state: Floats) -> tuple[Floats, Floats]:
        lost, derivative = fluid.flow(state)
        return derivative(base), lost

    now, loss = np.zeros((len(where), len(where))), np.zeros(len(where))
    for column, at in enumerate(where):
        step = 1e-5 * max(abs(float(x[at])), 1e-3)
        above, below = x.copy(), x.copy()
        above[at] += step
        below[at] -= step
        (rate_above, lost_above), (rate_below, lost_below) = both(above), both(below)
        now[:, column] = (rate_above - rate_below)[where] / (2 * step)
        loss[column] = (lost_above[0] - lost_below[0]) / (2 * step)
    more = 1e-5 * base
    derivative = fluid.flow(x)[1]
    hearing = (derivative(base + more) - derivative(base - more))[where] / (2 * more[0])
    return Linear(now, np.outer(hearing, loss), float(steady.rtt_s[0]), steady, loss, hearing)


def roots(linear: Linear, *, delay_s: float | None = None, nodes: int = _NODES) -> NDArray[np.complex128]:
    """Return the characteristic roots of largest real part, 1/s, shape (roots,), descending.

    Parameters
    ----------
    linear
        The model.
    delay_s
        Another delay in its place, with the same fixed point.
    nodes
        Chebyshev points over the delay.
    """
    delay = linear.delay_s if delay_s is None else delay_s
    order = len(linear.now)
    points = np.cos(np.pi * np.arange(nodes + 1) / nodes)
    weights = np.where((np.arange(nodes + 1) % nodes) == 0, 2.0, 1.0) * (-1.0) ** np.arange(nodes + 1)
    gaps = points[:, None] - points[None, :] + np.eye(nodes + 1)
    difference = np.outer(weights, 1 / weights) / gaps
    difference -= np.diag(difference.sum(axis=1))
    # Time runs from -delay (the last point) to 0 (the first).
    generator = np.kron(difference * 2 / delay, np.eye(order))
    generator[:order] = 0
    generator[:order, :order] = linear.now
    generator[:order, -order:] = linear.past
    found = np.asarray(linalg.eigvals(generator), dtype=np.complex128)
    return found[np.argsort(-found.real)]


def growth(fluid: Fluid) -> float:
    """Return the largest real part of a root, 1/s: below 0 the fixed point is locally stable."""
    return float(roots(linearise(fluid))[0].real)


def gain(linear: Linear, omega: Floats) -> NDArray[np.complex128]:
    """Return the loop's gain at frequencies, rad/s; shape that of `omega`. It is stable when the curve leaves -1 out.

    The loop is cut where losses are heard of: L = -exp(-i w R) loss (i w I - now)^-1 hearing.
    """
    eye = np.eye(len(linear.now))
    found = [
        -np.exp(-1j * w * linear.delay_s) * linear.loss @ np.linalg.solve(1j * w * eye - linear.now, linear.hearing)
        for w in np.atleast_1d(omega)
    ]
    return np.array(found, dtype=np.complex128)


@dataclass(frozen=True, slots=True)
class Margin:
    """How far a loop is from oscillation.

    Parameters
    ----------
    delay_s
        That can be added before it oscillates; infinite where no delay does it, negative where it does already.
    omega_rad_s
        At which it does.
    """

    delay_s: float
    omega_rad_s: float


def delay_margin(linear: Linear) -> Margin:
    """Return the delay that takes the first pair of roots to the imaginary axis, the fixed point unchanged.

    Where the gain without delay crosses 1 at w with phase phi, the delay (pi + phi)/w closes the loop at -1.
    """
    omega = np.geomspace(1e-3 / linear.delay_s, 1e3 / linear.delay_s, 4000)
    undelayed = gain(linear, omega) * np.exp(1j * omega * linear.delay_s)
    # Unwrapped from low frequencies on: a lag beyond pi is no lead.
    size, phase = np.log(np.abs(undelayed)), np.unwrap(np.angle(undelayed))
    found = []
    for at in np.flatnonzero(size[:-1] * size[1:] < 0):
        part = size[at] / (size[at] - size[at + 1])
        w = math.exp((1 - part) * math.log(omega[at]) + part * math.log(omega[at + 1]))
        allowed = (math.pi + (1 - part) * phase[at] + part * phase[at + 1]) / w
        found.append((float(allowed - linear.delay_s), w))
    return Margin(*min(found)) if found else Margin(math.inf, math.nan)


@dataclass(frozen=True, slots=True)
class Hopf:
    """Where a fixed point loses stability.

    Parameters
    ----------
    value
        Of the parameter.
    period_s
        Of the oscillation that sets in there.
    window_packets
        At the fixed point.
    """

    value: float
    period_s: float
    window_packets: float


def hopf(model: Callable[[float], Fluid], low: float, high: float) -> Hopf | None:
    """Return the parameter between `low` and `high` at which the fixed point of `model` changes stability.

    Parameters
    ----------
    model
        The fluid model for a value of the parameter: an RTT, a number of flows, a gain.
    low, high
        Where to look. None is returned where both ends are stable, or both are not.
    """
    ends = growth(model(low)), growth(model(high))
    if (ends[0] < 0) == (ends[1] < 0):
        return None
    value = float(optimize.brentq(lambda v: growth(model(v)), low, high, xtol=1e-6 * abs(high)))
    linear = linearise(model(value))
    omega = abs(float(roots(linear)[0].imag))
    period = 2 * math.pi / omega if omega > 0 else math.inf
    return Hopf(value, period, float(linear.steady.window_packets[0]))


@dataclass(frozen=True)
class Chart:
    """Stability over two parameters.

    Parameters
    ----------
    first, second
        Their values, shapes (a,) and (b,).
    growth_per_rtt
        Largest real part times the round-trip time, shape (a, b): below 0 stable; NaN where there is no fixed point.
    """

    first: Floats
    second: Floats
    growth_per_rtt: Floats


def chart(model: Callable[[float, float], Fluid], first: Sequence[float], second: Sequence[float]) -> Chart:
    """Return the stable region over two parameters of a model."""
    found = np.full((len(first), len(second)), np.nan)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            try:
                linear = linearise(model(float(a), float(b)))
            except SojournError:
                continue
            found[i, j] = float(roots(linear)[0].real) * linear.delay_s
    return Chart(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64), found)
