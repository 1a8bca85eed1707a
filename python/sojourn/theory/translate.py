"""From a scheme as tc writes it to its fluid controller."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from sojourn.base.core import SojournError
from sojourn.model.scheme import Scheme
from sojourn.theory.controllers import Avq, Codel, Controller, Pi, Pie, Red, Rem, TailDrop, Threshold

_UNITS: Final = {"": 1.0, "p": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def _number(text: str) -> float:
    found = re.fullmatch(r"([0-9.eE+-]+?)([a-zµ]*)", text)
    unit = "us" if found and found[2] == "µs" else found[2] if found else "?"
    if not found or unit not in _UNITS:
        raise SojournError(f"{text!r} has no place in a fluid model; allowed: packets and times")
    return float(found[1]) * _UNITS[unit]


Values = Mapping[str, str]

_MAKERS: Final[Mapping[str, Callable[[Values], Controller]]] = {
    "red": lambda of: Red(
        min_packets=_number(of["min"]),
        max_packets=_number(of["max"]),
        max_p=_number(of["max_p"]),
        w=_number(of["w"]),
        gentle=of["gentle"] == "true",
        # `wait` doubles the mean gap between losses, back to 1/p.
        spaced=of["wait"] != "true",
    ),
    "pi": lambda of: Pi(
        a=_number(of["a"]),
        b=_number(of["b"]),
        q_ref_packets=_number(of["q_ref"]),
        tupdate_s=_number(of["tupdate"]),
    ),
    "pie": lambda of: Pie(
        target_s=_number(of["target"]),
        tupdate_s=_number(of["tupdate"]),
        alpha=_number(of["alpha"]),
        beta=_number(of["beta"]),
    ),
    "rem": lambda of: Rem(
        gamma=_number(of["gamma"]),
        alpha=_number(of["alpha"]),
        phi=_number(of["phi"]),
        b_ref_packets=_number(of["b_ref"]),
        tupdate_s=_number(of["tupdate"]),
    ),
    "avq": lambda of: Avq(gamma=_number(of["gamma"]), alpha=_number(of["alpha"])),
    "codel": lambda of: Codel(target_s=_number(of["target"]), interval_s=_number(of["interval"])),
    "threshold": lambda of: Threshold(q_th_packets=_number(of["q_th"])),
    "pfifo": lambda _: TailDrop(),
}


def controller(scheme: str) -> tuple[Controller, float]:
    """Return the fluid controller of a scheme as tc writes it, and its limit, which must be in packets."""
    own = Scheme(scheme)
    make = _MAKERS.get(own.algorithm)
    if make is None:
        raise SojournError(f"{own.algorithm} has no fluid model; allowed: {', '.join(_MAKERS)}")
    values = {one.name: one.value for one in own.parameters()}
    return make(values), _number(values["limit"])
