"""From a scheme as tc writes it to its fluid controller."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from sojourn.core import SojournError
from sojourn.scheme import Scheme
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
        _number(of["min"]),
        _number(of["max"]),
        _number(of["max_p"]),
        _number(of["w"]),
        of["gentle"] == "true",
        # `wait` doubles the mean gap between losses, back to 1/p.
        of["wait"] != "true",
    ),
    "pi": lambda of: Pi(_number(of["a"]), _number(of["b"]), _number(of["q_ref"]), _number(of["tupdate"])),
    "pie": lambda of: Pie(_number(of["target"]), _number(of["tupdate"]), _number(of["alpha"]), _number(of["beta"])),
    "rem": lambda of: Rem(
        _number(of["gamma"]), _number(of["alpha"]), _number(of["phi"]), _number(of["b_ref"]), _number(of["tupdate"])
    ),
    "avq": lambda of: Avq(_number(of["gamma"]), _number(of["alpha"])),
    "codel": lambda of: Codel(_number(of["target"]), _number(of["interval"])),
    "threshold": lambda of: Threshold(_number(of["q_th"])),
    "pfifo": lambda _: TailDrop(),
}


def controller(scheme: str) -> tuple[Controller, float]:
    """Return the controller of a scheme, and its limit in packets.

    Parameters
    ----------
    scheme
        One of red, pi, pie, rem, avq, codel, threshold and pfifo with parameters, as tc writes it.
        Limits in bytes have no place here.

    Raises
    ------
    SojournError
        A bad scheme, and one without a fluid model.
    """
    own = Scheme(scheme)
    make = _MAKERS.get(own.algorithm)
    if make is None:
        raise SojournError(f"{own.algorithm} has no fluid model; allowed: {', '.join(_MAKERS)}")
    values = {one.name: one.value for one in own.parameters()}
    return make(values), _number(values["limit"])
