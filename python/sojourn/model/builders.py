"""Functions that make tables of the scenario document, each made from the document's schema when it is first used.

Stub files next to the modules that offer them have their signatures; docs/generate.py writes those.
"""

from __future__ import annotations

import json
import keyword
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature
from typing import Any, Final, TypeAlias

from sojourn.base import core, suggest
from sojourn.base.units import as_text
from sojourn.model.draw import amount
from sojourn.model.parts import Start

Schema: TypeAlias = Mapping[str, Any]
Write: TypeAlias = Callable[[str, Any], Any]
"""Makes of a parameter's name and value what the document has."""

COUNT: Final = "Number of users or flows of it, for :meth:`Network.add`; by default 1."
_UNITS: Final = {"time": "Time", "rate": "Rate", "data": "Data", "packets": "Packets"}
_PLAIN: Final = {
    "number": "float",
    "integer": "int",
    "boolean": "bool",
    "string": "str",
    "object": "Mapping[str, Any]",
}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table, and the parameter for it."""

    name: str
    type: str
    write: Write
    about: str
    is_required: bool

    @property
    def parameter(self) -> str:
        """Its name in Python."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name


class Table:
    """One table of the document, with its keys: those that it needs, then the others."""

    def __init__(self, schema: Schema) -> None:
        self.about = " ".join(schema["description"].split())
        self.kind: str | None = schema["properties"].get("kind", {}).get("const")
        needed = schema.get("required", ())
        self.keys: dict[str, Key] = {}
        for name in dict.fromkeys((*needed, *schema["properties"])):
            if name != "kind":
                of = schema["properties"][name]
                key = Key(name, *_typed(of), _about(of), name in needed)
                self.keys[key.parameter] = key

    def document(self, function: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the table with the arguments that are not None; missing and unknown ones are a TypeError."""
        for name in given:
            if name not in self.keys:
                hint = suggest.hint(name, self.keys)
                raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
        missing = [repr(name) for name, key in self.keys.items() if key.is_required and name not in given]
        if missing:
            raise TypeError(f"{function}() is missing the arguments {', '.join(missing)}")
        values = ((key, given.get(name)) for name, key in self.keys.items())
        table = {key.name: key.write(key.parameter, value) for key, value in values if value is not None}
        return table if self.kind is None else {"kind": self.kind, **table}

    def function(
        self, name: str, first: Mapping[str, str], returns: str, make: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Return the function of the keys; `make` gets the document's table and what is positional."""
        short = name.rsplit(".", 1)[-1]

        def build(*positional: Any, **given: Any) -> Any:
            if len(positional) > len(first):
                raise TypeError(f"{short}() takes {len(first)} positional arguments, not {len(positional)}")
            return make(self.document(short, given), *positional)

        leading = [
            Parameter(
                one,
                Parameter.POSITIONAL_ONLY,
                default=None if "None" in of else Parameter.empty,
                annotation=of or Parameter.empty,
            )
            for one, of in first.items()
        ]
        build.__name__, build.__qualname__, build.__doc__ = short, name, self.doc("count" in first)
        build.__signature__ = Signature(  # type: ignore[attr-defined]
            [*leading, *map(_parameter, self.keys.values())], return_annotation=returns
        )
        return build

    def doc(self, with_count: bool) -> str:
        """Return the docstring."""
        whole = len(self.about) <= 111
        first, _, rest = (self.about, "", "") if whole else self.about.partition(". ")
        parts = [(key.parameter, key.about) for key in self.keys.values()]
        parts = [("count", COUNT), *parts] if with_count else parts
        lines = [first if whole else f"{first}.", *(["", *_wrapped(rest, 0)] if rest else [])]
        lines += ["", "Parameters", "----------"] if parts else []
        for name, about in parts:
            lines += [name, *_wrapped(about, 4)]
        return "\n".join(lines)


def _parameter(key: Key) -> Parameter:
    default, of = (Parameter.empty, key.type) if key.is_required else (None, f"{key.type} | None")
    return Parameter(key.parameter, Parameter.KEYWORD_ONLY, default=default, annotation=of)


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent=" " * indent, subsequent_indent=" " * indent)


@cache
def tables() -> Mapping[str, Schema]:
    """Return the tables and values of the schema, by name."""
    found: Mapping[str, Schema] = core.schema()["$defs"]
    return found


@cache
def kinds(union: str) -> Mapping[str, Table]:
    """Return the tables of ``TrafficTable`` or ``TransportTable``, by kind."""
    return {one["properties"]["kind"]["const"]: Table(one) for one in tables()[union]["oneOf"]}


def _words(of: Schema) -> list[str]:
    """Return the words of a value that is one of a few."""
    return [one["const"] for one in of.get("oneOf", ()) if "const" in one]


def _about(of: Schema) -> str:
    words = ", ".join(f"``{word}``" for word in _words(tables().get(_ref(of), {})))
    default = json.dumps(of["default"]) if "default" in of else ""
    parts = (" ".join(of["description"].split()), words and f"One of {words}.", default and f"By default {default}.")
    return " ".join(filter(None, parts))


def _ref(of: Schema) -> str:
    return str(of.get("$ref", "")).rsplit("/", 1)[-1]


def _typed(of: Schema) -> tuple[str, Write]:
    """Return the type of a parameter, and what writes its value."""
    for option in of.get("anyOf", ()):
        if option.get("type") != "null":
            return _typed(option)
    if "$ref" in of:
        return _named(_ref(of))
    types = of["type"] if isinstance(of["type"], list) else [of["type"]]
    if types[0] == "array":
        if _ref(of["items"]) == "PortTable":
            return "Mapping[str, SchemeLike]", lambda _, value: [
                {"name": name, "queue": str(scheme), "under_test": True} for name, scheme in value.items()
            ]
        one, write = _typed(of["items"])
        count = of.get("minItems")
        return f"tuple[{', '.join([one] * count)}]" if count else f"Sequence[{one}]", _each(write)
    if isinstance(of.get("additionalProperties"), dict):
        one, write = _typed(of["additionalProperties"])
        return f"Mapping[str, {one}]", _each(write)
    return _PLAIN[types[0]], lambda _, value: value


def _named(name: str) -> tuple[str, Write]:
    """As :func:`_typed`, of a value with a name in the schema."""
    of, unit = tables()[name], name.removesuffix("_or_none")
    if name.startswith("directed_"):
        one, write = _typed(of["anyOf"][0])
        return f"{one} | Mapping[str, {one}]", _each(write)
    if name.startswith("Amount"):
        held: Any = _ref(of["anyOf"][-1])
        return f"{_UNITS[held]} | Distribution", lambda key, value: amount(key, value, held)
    if unit in _UNITS:
        dimension: Any = unit
        return _UNITS[unit], lambda key, value: as_text(key, value, dimension)
    # Probabilities may be numbers; other texts may not.
    text = "str | float" if of.get("description", "").startswith("a probability") else "str"
    other = ("Mapping[str, Any]", _as_dict) if of.get("type") == "object" else (text, _as_str)
    return _SPECIAL.get(name) or other


def _each(write: Write) -> Write:
    def written(name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: write(name, one) for key, one in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [write(name, one) for one in value]
        return write(name, value)

    return written


def _as_str(_: str, value: Any) -> str:
    return str(value)


def _as_dict(_: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return dict(value)


def _trace(_: str, value: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"file": value} if isinstance(value, str) else dict(value)


def _start(name: str, value: Any) -> Any:
    return dict(value) if isinstance(value, Start) else amount(name, value, "time")


_SPECIAL: Final[Mapping[str, tuple[str, Write]]] = {
    "scheme": ("SchemeLike", _as_str),
    "StartTable": ("Time | Start | Distribution", _start),
    "TraceTable": ("str | Mapping[str, Any]", _trace),
    "TrafficTable": ("Traffic", _as_dict),
    "TransportTable": ("Transport", _as_dict),
}
