"""What an algorithm's class declares: parameters, fields, and texts for tables and help."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from sojourn.core import SojournError
from sojourn.units import Quantity

__all__ = ["Declaration", "Declared", "Field", "Parameter", "described", "members", "own", "parameter", "snake"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an algorithm; made by :func:`parameter`."""

    default: str | float | bool
    doc: str


def parameter(default: Quantity | str | float | bool, doc: str) -> Any:
    """Declare a parameter of an :class:`Algorithm`.

    The name ends in the unit of its kind: ``target_ns`` is a time, and users write ``target 15ms``. The endings are
    ``_ns``, ``_bytes``, ``_packets`` and ``_bit_s``. A default in per cent is a probability, a float a number, an int
    a count, a bool a flag.

    Parameters
    ----------
    default
        With its unit.
    doc
        What it does, and the source of its default.
    """
    return Parameter(str(default) if isinstance(default, Quantity) else default, doc)


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter as the table has it: ``field`` is the attribute's name, ``kind`` that of ``sojourn_aqm.h``."""

    name: str
    field: str
    kind: int
    initial: str
    doc: str

    @property
    def type(self) -> str:
        """The field's type as NumPy writes it."""
        return {5: "f8", 6: "f8", 8: "?"}.get(self.kind, "i8")


@dataclass(frozen=True, slots=True)
class Field:
    """A member of the state with its initial value; a list is an array."""

    name: str
    type: str
    initial: int | float | bool | tuple[int | float, ...]


_ENDINGS: Final = {"_ns": 1, "_bytes": 2, "_packets": 3, "_bit_s": 4}
_UNITS: Final = {1: "15 ms", 2: "1500 B", 3: "100 packets", 4: "10 Mbit/s"}
_TEXTS: Final = ("name", "title", "summary", "source", "signals_on", "limit", "period")
_WORDS: Final = (*_TEXTS, "marks", "per_flow_state")
_MOST_CELLS: Final = 65536


class Declaration:
    """What a class of an algorithm says of it besides parameters and fields."""

    is_base: ClassVar[bool] = True
    name: ClassVar[str] = ""
    """In configuration; by default that of the class: ``my_pie`` for ``MyPie``."""
    title: ClassVar[str] = ""
    """In prose; by default the name of the class."""
    summary: ClassVar[str] = ""
    """What it does, in a line; by default the first line of the docstring."""
    source: ClassVar[str] = "not said"
    """The governing text."""
    signals_on: ClassVar[str] = "not said"
    """``queue delay``, for example."""
    limit: ClassVar[str] = "1000p"
    """Default of ``limit``, at which the host drops arrivals without asking."""
    period: ClassVar[str] = ""
    """Name of the time parameter after which ``update`` is called."""
    marks: ClassVar[bool] = False
    """It may answer ``MARK``."""
    per_flow_state: ClassVar[bool] = False
    """It keeps state for each flow."""


def own(cls: type[Declaration]) -> list[type[Declaration]]:
    """Return the classes that a user wrote, the most general one first."""
    is_own = (one for one in cls.__mro__ if issubclass(one, Declaration) and "is_base" not in vars(one))
    return list(reversed(list(is_own)))


def snake(name: str) -> str:
    """Return a name in configuration: ``my_pie`` for ``MyPie``.

    Examples
    --------
    >>> snake("MyFqPie2")
    'my_fq_pie2'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def described(cls: type[Declaration]) -> dict[str, str]:
    """Return the texts of an algorithm's table."""
    texts = {name: str(getattr(cls, name)) for name in _TEXTS}
    doc = (cls.__doc__ or "").strip().splitlines()
    texts["name"] = texts["name"] or snake(cls.__name__)
    texts["title"] = texts["title"] or cls.__name__
    texts["summary"] = texts["summary"] or (doc[0].rstrip(".") if doc else "an algorithm in Python")
    texts["limit"] = texts["limit"].replace(" ", "")
    return texts


def members(cls: type[Declaration]) -> tuple[tuple[Declared, ...], tuple[Field, ...]]:
    """Return the parameters and the other fields of an algorithm.

    Raises
    ------
    SojournError
        A parameter without unit, or a field that is neither a number nor a list of numbers.
    """
    parameters, fields = [], []
    for name, value in _attributes(cls).items():
        if isinstance(value, Parameter):
            parameters.append(_declared(cls, name, value))
        elif isinstance(value, bool):
            fields.append(Field(name, "?", value))
        elif isinstance(value, int | float):
            fields.append(Field(name, "i8" if isinstance(value, int) else "f8", value))
        elif isinstance(value, list | tuple) and value and all(type(one) in (int, float) for one in value):
            if len(value) > _MOST_CELLS:
                raise SojournError(f"{cls.__name__}.{name} has {len(value)} numbers; allowed: at most {_MOST_CELLS}")
            is_whole = all(isinstance(one, int) for one in value)
            fields.append(Field(name, "i8" if is_whole else "f8", tuple(value)))
        else:
            raise SojournError(
                f"{cls.__name__}.{name} = {value!r} cannot be a field; allowed: an int, a float, a bool, a list of "
                'ints or floats, or parameter("15 ms", "what it does")'
            )
    return tuple(parameters), tuple(fields)


def _attributes(cls: type[Declaration]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in own(cls):
        for name in one.__annotations__ if "__annotations__" in vars(one) else ():
            if name not in vars(one) and name not in _WORDS:
                raise SojournError(f"{cls.__name__}.{name} has no initial value; write {name}: float = 0.0")
        written = {
            name: value for name, value in vars(one).items() if not name.startswith("__") and name not in _WORDS
        }
        found |= {name: value for name, value in written.items() if not callable(value)}
    for name in found:
        if name.startswith("_"):
            raise SojournError(f"{cls.__name__}.{name}: names of fields do not begin with an underscore")
    return found


def _declared(cls: type[Declaration], field: str, value: Parameter) -> Declared:
    where, default = f"{cls.__name__}.{field}", value.default
    ending = next((one for one in _ENDINGS if field.endswith(one) and field != one), "")
    kind = _ENDINGS.get(ending, 0)
    if kind and not isinstance(default, str):
        raise SojournError(f'{where}: the default {default!r} has no unit; write it with one, as in "{_UNITS[kind]}"')
    if kind:
        return Declared(field.removesuffix(ending), field, kind, str(default).replace(" ", ""), value.doc)
    if isinstance(default, str) and not default.rstrip().endswith("%"):
        raise SojournError(
            f'{where}: the default "{default}" has a unit that the name has not; end the name in '
            f"{', '.join(_ENDINGS)}, or write a number or per cent"
        )
    kinds = {bool: 8, int: 7, float: 6, str: 5}
    initial = str(default).lower() if isinstance(default, bool) else str(default).replace(" ", "")
    return Declared(field, field, kinds[type(default)], initial, value.doc)
