"""Stubs of Python's functions for tables of the scenario document; docs/generate.py writes them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.model import builders, elements, traffic

ROOT = Path(__file__).parent.parent
TRAFFIC = "python/sojourn/model/traffic.pyi"
ELEMENTS = "python/sojourn/model/elements.pyi"
PACKAGE = "python/sojourn/__init__.pyi"
TRAFFIC_HEAD = """from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.base.units import Data, Packets, Rate, Time
from sojourn.model.draw import Distribution
from sojourn.model.parts import Start as Start
from sojourn.model.parts import Traffic as Traffic
from sojourn.model.parts import Transport as Transport
from sojourn.model.parts import every as every

"""
ELEMENTS_HEAD = """from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from sojourn.base.units import Data, Packets, Rate, Time
from sojourn.model.draw import Distribution
from sojourn.model.parts import Start, Traffic, Transport
from sojourn.model.scheme import SchemeLike

LISTS: Final[dict[str, tuple[str, str]]]

class Elements:
"""


def stub(function: Callable[..., Any], indent: int) -> str:
    """One function as a stub file has it."""
    signature = inspect.signature(function)
    arguments: list[str] = []
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in arguments:
            arguments += ["*"] if arguments in ([], ["self"]) else ["/", "*"]
        of = "" if one.annotation is one.empty else f": {one.annotation}"
        arguments.append(f"{one.name}{of}" + ("" if one.default is one.empty else " = None"))
    end = f" -> {signature.return_annotation}: ...\n"
    return call(f"{' ' * indent}def {function.__name__}", arguments, end, indent)


def call(name: str, arguments: list[str], end: str, indent: int) -> str:
    """A list of arguments as ruff formats it."""
    if len(line := f"{name}({', '.join(arguments)}){end}".rstrip()) <= 118:
        return line + "\n"
    if len(inside := " " * (indent + 4) + ", ".join(arguments)) <= 118:
        return f"{name}(\n{inside}\n{' ' * indent}){end}"
    inside = "".join(f"{' ' * (indent + 4)}{one},\n" for one in arguments)
    return f"{name}(\n{inside}{' ' * indent}){end}"


def kinds() -> list[str]:
    """The functions of traffic and transports."""
    return [*builders.kinds("TrafficTable"), *builders.kinds("TransportTable")]


def functions() -> str:
    """python/sojourn/model/traffic.pyi."""
    return TRAFFIC_HEAD + "".join(stub(getattr(traffic, name), 0) for name in kinds())


def methods() -> str:
    """python/sojourn/model/elements.pyi."""
    return ELEMENTS_HEAD + "".join(stub(getattr(elements.Elements, name), 4) for name in elements.LISTS)


def exported() -> str:
    """python/sojourn/__init__.pyi with the functions of traffic.py among its names."""
    text = (ROOT / PACKAGE).read_text(encoding="utf-8")
    start = "from sojourn.model.traffic import "
    first = text.index(start)
    rest = re.sub(rf"^{start}.*\n", "", text, flags=re.MULTILINE)
    own = "".join(f"{start}{name} as {name}\n" for name in sorted(["every", *kinds()]))
    return rest[:first] + own + rest[first:]
