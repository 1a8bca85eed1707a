"""Stability of a scheme's control law in the network of a characterisation (RFC 7928, section 8.3)."""

from __future__ import annotations

import math

from sojourn.base.core import SojournError
from sojourn.model.scheme import Scheme
from sojourn.studies.characterize.networks import FULL_BYTES, Setting
from sojourn.studies.characterize.plans import schemes
from sojourn.theory import stability as linear
from sojourn.theory.fluid import FlowClass, Fluid, Link
from sojourn.theory.translate import controller


def stability(given: Scheme, setting: Setting, flows: int) -> tuple[str, str, str, str] | None:
    """Return queue in packets, loss in %, whether the fixed point is stable, and the delay margin in ms, as texts.

    None where Sojourn has no fluid model of the scheme; dashes where the model has no fixed point.
    """
    buffered = schemes([given], setting.buffer())[0]
    try:
        own, limit = controller(buffered.text)
    except SojournError:
        return None
    link = Link(capacity_packets_s=setting.rate_mbit_s * 1e6 / 8 / FULL_BYTES, controller=own, buffer_packets=limit)
    try:
        model = linear.linearise(Fluid([link], [FlowClass(flows=flows, base_rtt_s=setting.rtt_ms / 1e3)]))
        growth = float(linear.roots(model)[0].real)
        margin = linear.delay_margin(model).delay_s
    except SojournError:
        return "–", "–", "no fixed point", "–"
    steady = model.steady
    return (
        f"{float(steady.queue_packets[0]):.1f}",
        f"{float(steady.probability[0]) * 100:.2f}",
        "yes" if growth < 0 else "no",
        f"{margin * 1e3:.0f}" if math.isfinite(margin) else "none limits it",
    )
