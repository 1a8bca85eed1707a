"""Python's functions for kinds of traffic and transports, made from the schema; docs/generate.py writes them."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from sojourn import _native

ROOT = Path(__file__).parent.parent
TRAFFIC = "python/sojourn/model/traffic.py"
PACKAGE = "python/sojourn/__init__.py"
COUNT = "Number of users or flows of it, for :meth:`Network.add`; by default 1."


class Builder:
    """The function of Python that makes the table of one kind of traffic or transport."""

    def __init__(self, made: str, table: dict[str, Any], tables: dict[str, Any]) -> None:
        self.made, self.table, self.tables = made, table, tables
        self.required = table.get("required", [])
        self.name = table["properties"]["kind"]["const"]
        keys = dict.fromkeys([*self.required, *table["properties"]])
        self.keys = {key: self.typed(table["properties"][key]) for key in keys if key != "kind"}

    def typed(self, schema: dict[str, Any]) -> tuple[str, str | None]:
        """The type of a parameter, and the dimension of its quantity."""
        for option in schema.get("anyOf", ()):
            if option.get("type") != "null":
                return self.typed(option)
        if schema.get("type") == "array":
            one, dimension = self.typed(schema["items"])
            count = schema.get("minItems")
            return f"tuple[{', '.join([one] * count)}]" if count else f"Sequence[{one}]", dimension
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1].removesuffix("_or_none")
            if self.words(schema):
                return "str", None
            if name.startswith("Amount"):
                held = self.tables[name]["anyOf"][-1]["$ref"].rsplit("/", 1)[-1]
                return f"{held.capitalize()} | Distribution", held
            is_table = self.tables[name].get("type") == "object"
            return ("Mapping[str, Any]", None) if is_table else (name.capitalize(), name)
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        names = {
            "number": "float",
            "integer": "int",
            "boolean": "bool",
            "string": "str",
            "object": "Mapping[str, float]",
        }
        return names[types[0]], None

    def words(self, schema: dict[str, Any]) -> list[str]:
        """The words that a key takes, if it takes one of a few."""
        of = self.tables.get(schema.get("$ref", "").rsplit("/", 1)[-1], {})
        return [one["const"] for one in of.get("oneOf", ()) if "const" in one]

    def about(self, key: str) -> str:
        """What the reference says of a key: the description, its words, the default."""
        schema = self.table["properties"][key]
        words = ", ".join(f"``{word}``" for word in self.words(schema))
        default = json.dumps(schema["default"]) if "default" in schema else ""
        parts = (
            " ".join(schema["description"].split()),
            words and f"One of {words}.",
            default and f"By default {default}.",
        )
        return " ".join(filter(None, parts))

    def parameter(self, key: str) -> str:
        """A parameter with its type; what the document need not have, Python need not."""
        of = self.keys[key][0]
        return f"{key}: {of}" if key in self.required else f"{key}: {of} | None = None"

    def text(self) -> str:
        """The function, formatted."""
        is_traffic = self.made == "Traffic"
        many = ["count: int | None = None", "/"] if is_traffic else []
        keys = ["*", *map(self.parameter, self.keys)] if self.keys else []
        head = call("def " + self.name, [*many, *keys], f" -> {self.made}:", 0)
        lines = [head, *introduced(" ".join(self.table["description"].split()))]
        if self.keys or is_traffic:
            lines += ["", "    Parameters", "    ----------"]
        if is_traffic:
            lines += ["    count", f"        {COUNT}"]
        for key in self.keys:
            lines += [f"    {key}", *wrapped(self.about(key), 8)]
        given = [f"{key}=({key}, {json.dumps(of).replace('null', 'None')})" for key, (_, of) in self.keys.items()]
        lines[-1:] = [lines[-1] + '"""'] if not (self.keys or is_traffic) else [lines[-1], '    """']
        first = ["_traffic", "count"] if is_traffic else ["_table", self.made]
        return "\n".join([*lines, call(f"    return {first[0]}", [first[1], f'"{self.name}"', *given], "", 4)]) + "\n"


def introduced(text: str) -> list[str]:
    """The beginning of a docstring: all of it, or its first sentence and what follows."""
    if len(text) <= 111:
        return [f'    """{text}']
    first, _, rest = text.partition(". ")
    return [f'    """{first}.', "", *wrapped(rest, 4)]


def wrapped(text: str, indent: int) -> list[str]:
    """A paragraph in the width of the sources."""
    return textwrap.wrap(text, 118, initial_indent=" " * indent, subsequent_indent=" " * indent)


def call(name: str, arguments: list[str], end: str, indent: int) -> str:
    """A list of arguments as ruff formats it."""
    if len(line := f"{name}({', '.join(arguments)}){end}") <= 118:
        return line
    if len(inside := " " * (indent + 4) + ", ".join(arguments)) <= 118:
        return f"{name}(\n{inside}\n{' ' * indent}){end}"
    inside = "".join(f"{' ' * (indent + 4)}{one},\n" for one in arguments)
    return f"{name}(\n{inside}{' ' * indent}){end}"


def all_builders() -> list[Builder]:
    """A function for each kind of traffic, and each transport."""
    tables = json.loads(_native.schema())["$defs"]
    made = {"Traffic": tables["TrafficTable"]["oneOf"], "Transport": tables["TransportTable"]["oneOf"]}
    return [Builder(name, one, tables) for name, options in made.items() for one in options]


def functions() -> str:
    """python/sojourn/model/traffic.py with these functions."""
    made = "\n\n".join(one.text() for one in all_builders())
    marks = "# Traffic and transports, made by docs/generate.py\n", "# End of traffic and transports\n"
    before, _, rest = (ROOT / TRAFFIC).read_text(encoding="utf-8").partition(marks[0])
    return f"{before}{marks[0]}\n\n{made}\n\n{marks[1]}{rest.partition(marks[1])[2]}"


def exported() -> str:
    """python/sojourn/__init__.py with the functions of traffic.py among its names."""
    names = sorted(["every", *(one.name for one in all_builders())])
    text = (ROOT / PACKAGE).read_text(encoding="utf-8")
    for head, item in (
        ("    from sojourn.model.traffic import (\n", "        {},\n"),
        ('    "sojourn.model.traffic": (\n', '        "{}",\n'),
    ):
        before, _, rest = text.partition(head)
        former, mark, after = rest.partition("    )")
        text = before + head + "".join(item.format(name) for name in names) + mark + after
    before, head, rest = text.partition("__all__ = [\n")
    listed, mark, after = rest.partition("]\n")
    known = set(re.findall(r'"(\w+)"', listed)) - set(re.findall(r"\w+", former)) | set(names)
    ordered = sorted(known, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    return before + head + "".join(f'    "{name}",\n' for name in ordered) + mark + after
