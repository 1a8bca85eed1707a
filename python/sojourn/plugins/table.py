"""``sojourn_aqm.h`` for ctypes: an algorithm's table, and how its state and what it sees are laid out."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sojourn import _native
from sojourn.base.errors import SchemeError
from sojourn.plugins.declared import Declared, Field
from sojourn.plugins.frozen import Frozen
from sojourn.plugins.subset import LINE, STEPS

VERSION: Final = 1
"""``SOJOURN_AQM_VERSION``."""
DONE, RAISED, LOOPED = 5, -1, -2

# Whole numbers of 64 bits are signed here, as Python's are: no time or size comes near the bound.
PACKET: Final = np.dtype(
    [("enqueued_ns", "i8"), ("number", "i8"), ("handle", "u4"), ("flow", "u4"), ("source", "u4"),
     ("destination", "u4"), ("size_bytes", "u4"), ("window", "u2"), ("ecn", "u1"), ("dscp", "u1")],
    align=True,
)  # fmt: skip
QUEUE: Final = np.dtype(
    [("now_ns", "i8"), ("rate_bit_s", "i8"), ("bytes", "i8"), ("packets", "i8"), ("oldest_ns", "i8"), ("host", "i8")],
    align=True,
)

_TEXT: Final = ctypes.c_char_p
_FUNCTION: Final = ctypes.c_void_p


class _Parameter(ctypes.Structure):
    _fields_ = [("name", _TEXT), ("initial", _TEXT), ("doc", _TEXT), ("kind", ctypes.c_int32)]


class _Internal(ctypes.Structure):
    _fields_ = [("name", _TEXT), ("offset", ctypes.c_uint64), ("kind", ctypes.c_int32)]


class _Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32), ("table_bytes", ctypes.c_uint32),
        *((name, _TEXT) for name in ("name", "title", "summary", "source", "signals_on", "limit", "period", "file")),
        ("flags", ctypes.c_uint32), ("line_offset", ctypes.c_uint32),
        ("state_bytes", ctypes.c_uint64), ("state_align", ctypes.c_uint64),
        ("parameters", ctypes.POINTER(_Parameter)), ("parameters_len", ctypes.c_uint64),
        ("internals", ctypes.POINTER(_Internal)), ("internals_len", ctypes.c_uint64),
        *((name, _FUNCTION) for name in ("init", "set_params", "enqueue", "dequeue", "update")),
    ]  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """How the state of an algorithm is laid out: parameters, fields, the present line, the rounds that are left."""

    parameters: tuple[Declared, ...]
    fields: tuple[Field, ...]
    state: np.dtype[Any]


def layout(frozen: Frozen) -> Layout:
    """Return the layout of an algorithm's state."""
    parameters, fields = frozen.parameters, frozen.fields
    columns: list[Any] = [(one.field, one.type) for one in parameters]
    columns += [
        (one.name, one.type, (len(one.initial),)) if isinstance(one.initial, tuple) else (one.name, one.type)
        for one in fields
    ]
    return Layout(parameters, fields, np.dtype([*columns, (LINE, "i8"), (STEPS, "i8")], align=True))


def host() -> dict[str, int]:
    """Return the addresses of what the host does for an algorithm."""
    return dict(_native.plugin_host())


_KEPT: Final[list[Any]] = []
"""Tables and what they point to, which stay for the rest of the process."""


def address(frozen: Frozen, chosen: Layout, functions: dict[str, int | None], keep: Sequence[object]) -> int:
    """Return where the table of an algorithm is, with the addresses of its functions; `keep` is what these are of."""
    file, texts = frozen.file, {name: text.encode() for name, text in frozen.texts.items()}
    parameters = (_Parameter * max(len(chosen.parameters), 1))(
        *(
            _Parameter(one.name.encode(), one.initial.encode(), one.doc.encode(), one.kind)
            for one in chosen.parameters
        )
    )
    kinds = {"f8": 1, "i8": 2, "?": 5}
    watched = [one for one in chosen.fields if not isinstance(one.initial, tuple)]
    internals = (_Internal * max(len(watched), 1))(
        *(_Internal(one.name.encode(), _offset(chosen, one.name), kinds[one.type]) for one in watched)
    )
    if ("update" in functions and functions["update"] is not None) != bool(texts["period"]):
        raise SchemeError(
            f"{file}: update and period belong together in {frozen.name}; allowed: a method update and, for "
            'example, period = "tupdate" for a parameter tupdate_ns; or neither'
        )
    table = _Table(
        version=VERSION,
        table_bytes=ctypes.sizeof(_Table),
        name=texts["name"],
        title=texts["title"],
        summary=texts["summary"],
        source=texts["source"],
        signals_on=texts["signals_on"],
        limit=texts["limit"],
        period=texts["period"] or None,
        file=file.encode(),
        flags=int(frozen.flags["marks"]) | 2 * int(frozen.flags["per_flow_state"]),
        line_offset=_offset(chosen, LINE),
        state_bytes=chosen.state.itemsize,
        state_align=8,
        parameters=parameters,
        parameters_len=len(chosen.parameters),
        internals=internals,
        internals_len=len(watched),
        **functions,
    )
    _KEPT.append((table, parameters, internals, texts, tuple(keep)))
    return ctypes.addressof(table)


def _offset(chosen: Layout, name: str) -> int:
    fields = chosen.state.fields
    assert fields is not None  # noqa: S101
    return fields[name][1]
