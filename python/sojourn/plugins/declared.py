"""What an algorithm's class declares: parameters, fields, and texts for tables and help."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from numbers import Integral, Rational, Real
from types import FunctionType
from typing import Any, ClassVar, Final

from sojourn.base.errors import SchemeError
from sojourn.base.units import Quantity
from sojourn.base.wording import one_line


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
    """A parameter as the table has it: ``field`` is the attribute's name, ``kind`` that of ``sojourn_aqm.h``.

    ``default`` is what the class says, ``initial`` the text of it.
    """

    name: str
    field: str
    kind: int
    default: str | float | bool
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
_FLAGS: Final = ("marks", "per_flow_state")
_OF_PYTHON: Final = ("annotate", "annotate_func")
"""Functions that Python itself puts into a class."""
_ABSENT: Final = object()
MOST_CELLS: Final = 65536
_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1


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


def number(value: object) -> bool | int | float | None:
    """Return a number as Python's own type has it, so that ``np.float64(0.5)`` is 0.5; None of anything else.

    Examples
    --------
    >>> number(True), number(2), number("2")
    (True, 2, None)
    """
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) and not isinstance(value, Rational) else None


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
    for name, text in texts.items():
        if why := one_line(text):
            raise SchemeError(f"{cls.__name__}.{name} {why}")
    return texts


def flags(cls: type[Declaration]) -> dict[str, bool]:
    """Return what an algorithm's table says with yes or no."""
    return {name: bool(getattr(cls, name)) for name in _FLAGS}


def methods(cls: type[Declaration]) -> dict[str, FunctionType]:
    """Return the methods of an algorithm, as a call would find them; properties and class methods are refused."""
    found = {
        name: value for name, value in _attributes(cls).items() if _is_called(value) and not isinstance(value, type)
    }
    for name, value in found.items():
        if not isinstance(value, FunctionType):
            what = f"{cls.__name__}.{name} is a {type(value).__name__}"
            raise SchemeError(f"{what}, which cannot be a method; allowed: a function, written with def in the class")
    return found


def _is_called(value: object) -> bool:
    return callable(value) or isinstance(value, classmethod | property)


def members(cls: type[Declaration]) -> tuple[tuple[Declared, ...], tuple[Field, ...]]:
    """Return the parameters and the other fields of an algorithm, which are numbers or lists of numbers."""
    parameters, fields = [], []
    for name, value in _attributes(cls).items():
        if _is_called(value):
            continue
        where = f"{cls.__name__}.{name}"
        if name.startswith("_"):
            raise SchemeError(f"{where}: names of fields do not begin with an underscore")
        if isinstance(value, Parameter):
            parameters.append(_declared(cls, name, value))
        elif (found := number(value)) is not None:
            fields.append(Field(name, _type(where, found), found))
        elif (cells := _cells(value)) is not None:
            if len(cells) > MOST_CELLS:
                raise SchemeError(f"{where} has {len(cells)} numbers; allowed: at most {MOST_CELLS}")
            kinds = {_type(where, one) for one in cells}
            fields.append(Field(name, "i8" if kinds == {"i8"} else "f8", cells))
        else:
            raise SchemeError(
                f"{where} = {value!r} cannot be a field; allowed: an int, a float, a bool, a list of "
                'ints or floats, or parameter("15 ms", "what it does")'
            )
    return tuple(parameters), tuple(fields)


def _type(where: str, value: bool | int | float) -> str:
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise SchemeError(f"{where} = {value} has more than 64 bits; allowed: {_LEAST} to {_MOST}")
    return {bool: "?", int: "i8"}.get(type(value), "f8")


def _cells(value: object) -> tuple[int | float, ...] | None:
    """Return the numbers of a list, a tuple or an array of one dimension; None of anything else."""
    listed = value if isinstance(value, list | tuple) else value.tolist() if hasattr(value, "tolist") else None
    if not isinstance(listed, list | tuple) or not listed:
        return None
    found = [number(one) for one in listed]
    cells = tuple(one for one in found if one is not None and not isinstance(one, bool))
    return cells if len(cells) == len(found) else None


def _attributes(cls: type[Declaration]) -> dict[str, Any]:
    """Return what a user wrote into the class and into those that it comes from: by name, as Python finds it."""
    classes = [one for one in reversed(cls.__mro__) if one is not object and "is_base" not in vars(one)]
    names: list[str] = []
    for one in classes:
        annotated = list(one.__annotations__) if "__annotations__" in vars(one) else []
        names += [name for name in (*vars(one), *annotated) if name not in (*_TEXTS, *_FLAGS)]
    found = {name: inspect.getattr_static(cls, name, _ABSENT) for name in dict.fromkeys(names)}
    for name, value in found.items():
        where = f"{cls.__name__}.{name}"
        if value is _ABSENT:
            raise SchemeError(f"{where} has no initial value; write {name}: float = 0.0")
        if name.startswith("__") and isinstance(value, FunctionType) and name.strip("_") not in _OF_PYTHON:
            raise SchemeError(
                f"{where} would not be called; allowed: init(self), which is called after the fields are set"
            )
    return {name: value for name, value in found.items() if not name.startswith("__")}


def _declared(cls: type[Declaration], field: str, value: Parameter) -> Declared:
    where = f"{cls.__name__}.{field}"
    default = value.default if isinstance(value.default, str) else number(value.default)
    if default is None:
        raise SchemeError(
            f'{where}: the default {value.default!r} is no number; allowed: a number, a bool, or "15 ms"'
        )
    ending = next((one for one in _ENDINGS if field.endswith(one) and field != one), "")
    kind = _ENDINGS.get(ending, 0)
    if kind and not isinstance(default, str):
        raise SchemeError(f'{where}: the default {default!r} has no unit; write it with one, as in "{_UNITS[kind]}"')
    if kind:
        initial = str(default).replace(" ", "")
        return Declared(field.removesuffix(ending), field, kind, default, initial, value.doc)
    if isinstance(default, str) and not default.rstrip().endswith("%"):
        raise SchemeError(
            f'{where}: the default "{default}" has a unit that the name has not; end the name in '
            f"{', '.join(_ENDINGS)}, or write a number or per cent"
        )
    kinds = {bool: 8, int: 7, float: 6, str: 5}
    initial = str(default).lower() if isinstance(default, bool) else str(default).replace(" ", "")
    return Declared(field, field, kinds[type(default)], default, initial, value.doc)
