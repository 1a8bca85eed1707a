"""Writes the generated pages: metrics, algorithms, the scenario's keys; Python's functions; the lessons' notebook.

``docs/generate.py`` writes them; ``docs/generate.py --check`` fails where a page is not what the library says.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import builders
import lessons
import pages

from sojourn import _native
from sojourn.plan import logs
from sojourn.scaffold import kinds

DOCS = Path(__file__).parent
ROOT = DOCS.parent
ENTRIES: list[dict[str, Any]] = json.loads(_native.aqms())
ABOUT: dict[str, dict[str, Any]] = tomllib.loads((DOCS / "algorithms.toml").read_text(encoding="utf-8"))
MEASURED: dict[str, Any] = json.loads((ROOT / "benches" / "cost.json").read_text(encoding="utf-8"))
COSTS: dict[str, dict[str, str]] = MEASURED["above_pfifo_ns"]
COUNTED: dict[str, Any] = json.loads((ROOT / "benches" / "instructions.json").read_text(encoding="utf-8"))
PICTURE = (
    "`{example}`: ten CUBIC flows share 20 Mbit/s, and from 20 s to 25 s a UDP flow of 16 Mbit/s joins them. One run "
    "of [this scenario](../../flood.toml)."
)
DROPS = {"enqueue": "on arrival", "dequeue": "on departure", "both": "on arrival and on departure"}
NOTE = "<!-- Made by docs/generate.py from the library itself: change it there. -->\n"


def cell(text: object) -> str:
    """A table cell: no line breaks, no column separators."""
    return str(text).replace("\n", " ").replace("|", "\\|")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table of any values."""
    return pages.table(head, (map(cell, row) for row in rows))


def metrics() -> str:
    """The page of metrics."""

    def bounds(metric: Mapping[str, Any]) -> str:
        """The range of a metric."""
        low, high = metric["least"], metric["most"]
        if low is None:
            return "any" if high is None else f"at most {high:g}"
        return f"{low:g} or more" if high is None else f"{low:g} to {high:g}"

    found = json.loads(_native.metrics())
    rows = [
        (f"`{m['name']}`", m["unit"], ", ".join(m["scopes"]), m["cohort"], bounds(m), m["estimator"], m["definition"])
        for m in found
    ]
    cohorts = {m["cohort"]: m["cohort_definition"] for m in found}
    cohort_rows = ((f"`{name}`", text) for name, text in cohorts.items())
    heads = ("metric", "unit", "scope", "cohort", "range", "estimator", "definition")
    return filled("metrics", cohorts=table(("cohort", "what belongs to it"), cohort_rows), metrics=table(heads, rows))


def filled(name: str, **values: object) -> str:
    """A page from its template."""
    return NOTE + (DOCS / "templates" / f"{name}.md.in").read_text(encoding="utf-8").format_map(values)


def yes(value: bool) -> str:
    """A tick or nothing."""
    return "yes" if value else ""


def over_limit() -> str:
    """A sentence on the schemes that take more instructions than their class is to take."""
    above, limits = COUNTED["above_pfifo"], COUNTED["limits_above_pfifo"]
    names = [f"`{name}`" for name in above if above[name] > limits.get(name, above[name])]
    return f"These schemes are still above: {', '.join(names)}." if names else "All schemes are within."


def cost_ns(name: str) -> str:
    """The CPU time of an algorithm above `pfifo`: the median, and the range in parentheses; empty if not measured."""
    found = COSTS.get(name)
    if found is None:
        return ""
    is_sure = found["low"] == found["high"]
    return found["median"] if is_sure else f"{found['median']} ({found['low']} to {found['high']})"


def algorithms() -> str:
    """The table of all algorithms."""
    rows = [
        (
            f"[`{e['name']}`](algorithms/{e['name']}.md)",
            e["title"],
            e["signals_on"],
            e["drops_at"],
            yes(e["ecn"]),
            yes(e["per_flow_state"]),
            str(COUNTED["above_pfifo"].get(e["name"], "")),
            cost_ns(e["name"]),
            e["source"],
        )
        for e in ENTRIES
    ]
    head = (
        "name",
        "algorithm",
        "congestion signal",
        "drops at",
        "ECN",
        "per-flow state",
        "cost (instructions per packet)",
        "cost (ns per packet)",
        "source",
    )
    machine, repetitions = MEASURED["machine"]["processor"], MEASURED["repetitions"]
    return filled(
        "algorithms", processor=machine, repetitions=repetitions, over=over_limit(), table=table(head, rows)
    )


Sections = dict[str, str]


def described(stem: str) -> tuple[str, Sections]:
    """What an algorithm's file says of it: the introduction, and the sections by their headings, as Markdown."""
    lines = []
    for line in (ROOT / "crates" / "aqm" / "src" / f"{stem}.rs").read_text(encoding="utf-8").splitlines():
        if not line.startswith("//!"):
            break
        lines.append(line.removeprefix("//!").removeprefix(" "))
    # Links to the source have no target on a page; those to an algorithm have one.
    text = re.sub(r"\[`(\w+)`\](?:\(crate::[\w:]+\))?", linked, "\n".join(lines))
    introduction, *parts = re.split(r"^# (.+)$", text, flags=re.MULTILINE)
    sections = {heading: body.strip() for heading, body in zip(parts[::2], parts[1::2], strict=True)}
    return introduction.strip(), sections


def linked(match: re.Match[str]) -> str:
    """A link to the page of an algorithm that a source file names; ``FairQueue`` is `fq_codel`'s container."""
    name = {"FairQueue": "fq_codel"}.get(match[1], match[1])
    return f"[`{name}`]({name}.md)"


def choices(parameters: Iterable[dict[str, Any]]) -> str:
    """What the words of each parameter stand for that takes one of a few."""
    parts = []
    for parameter in parameters:
        if parameter["words"]:
            words = "".join(f"* `{word}`: {doc}\n" for word, doc in parameter["words"])
            parts.append(f"\nValues of `{parameter['name']}`:\n\n{words}")
    return "".join(parts)


KERNELS = (
    "\n`preset linux` without a version is that of the newest kernel here, and says so when it is used. "
    "[What differs between kernels](../kernels.md) is listed on a page of its own.\n"
)


def algorithm(entry: dict[str, Any]) -> str:
    """The page of one algorithm."""
    name = entry["name"]
    inner = name.removeprefix("fq_") if name.startswith("fq_") else ""
    about = ABOUT[name]
    introduction, sections = described("queues/fair" if inner else f"schemes/{'pfifo' if name == 'bfifo' else name}")
    presets = ABOUT[inner or name].get("presets", {})
    parts = [NOTE, f"# {entry['title']} (`{name}`)\n\n"]
    if inner:
        title = next(other["title"] for other in ENTRIES if other["name"] == inner)
        introduction += (
            f"\n\nIn `{name}` this algorithm is [`{inner}`]({inner}.md). The page of {title} describes how it "
            "decides; this page describes how queues share the link."
        )
    parts.append(f"{introduction}\n\n")
    parts.append(f"**When to use it.** {about['when']}\n\n")
    facts = [
        ("congestion signal", entry["signals_on"]),
        ("drops packets", DROPS[entry["drops_at"]]),
        ("ECN marking", "yes" if entry["ecn"] else "no"),
        ("state per flow", "yes" if entry["per_flow_state"] else "no"),
        ("after a change to a lower limit", entry["lower_limit"]),
        ("source", entry["source"]),
    ]
    parts.append(table(("property", "value"), facts))
    parts.append(f"\n![Queue length and sojourn time of {about['example']}](../../images/algorithms/{name}.png)\n\n")
    parts.append(f"*{PICTURE.format(example=about['example'])}*\n\n")
    parts.append("## Parameters\n\n")
    parameters = [
        (f"`{p['name']}`", p["allowed"] if p["kind"] == "choice" else p["kind"], f"`{p['default']}`", p["doc"])
        for p in entry["parameters"]
    ]
    parts.append(table(("parameter", "kind", "default", "meaning and source"), parameters))
    parts.append(choices(entry["parameters"]))
    internals = _native.Driver(about["example"], 20_000_000).internals(0)
    if internals:
        names = ", ".join(f"`{internal}`" for internal in internals)
        parts.append(f"\nInternal variables that can be read while it runs: {names}.\n")
    if entry["presets"]:
        parts.append("\n## Presets\n\nA preset sets several parameters at once; parameters after it change it.\n\n")
        if "preset_note" in ABOUT[inner or name]:
            parts.append(ABOUT[inner or name]["preset_note"] + "\n\n")
        # One source of all kernels.
        sources = {preset: presets[preset.partition("-")[0]] for preset in entry["presets"]}
        rows = [(f"`preset {preset}`", settings(name, preset), sources[preset]) for preset in entry["presets"]]
        parts.append(table(("preset", "sets", "source"), rows))
        if "linux" in presets:
            parts.append(KERNELS)
    parts += [f"\n## {heading}\n\n{body}\n" for heading, body in sections.items()]
    return "".join(parts)


def settings(name: str, preset: str) -> str:
    """The parameters that a preset changes, as text."""
    # dAQM's presets leave a measured value to the user, which is no part of them.
    needed = " interarrival 1ms" if name.endswith("daqm") else ""
    changed = _native.parse_aqm(f"{name} preset {preset}{needed}")
    values = changed.removeprefix(name).replace(needed, "").strip()
    return f"`{values}`" if values else "the defaults"


# Quantities, whose JSON Schema is a text; a link leads to their section. These are the first, in this order.
_FIRST = ("time", "data", "packets", "rate", "loss", "jitter", "probability", "framing", "codepoint")
_TEXTS = {name for name, one in json.loads(_native.schema())["$defs"].items() if one.get("type") == "string"}
_OTHERS = sorted(name for name in _TEXTS.difference(_FIRST) if not name.endswith("_or_none"))
QUANTITIES = {name: "size" if name == "data" else name for name in (*_FIRST, *_OTHERS)}
WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "object": "table",
}


def anchor(title: str) -> str:
    """The anchor that Markdown makes of a heading."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def quantity(name: str) -> str:
    """What a quantity is called, with a link."""
    return f"[{QUANTITIES[name]}](#quantities)"


class Scenario:
    """The schema of scenarios in the words of their reference."""

    def __init__(self) -> None:
        self.schema: dict[str, Any] = json.loads(_native.schema())
        self.tables: dict[str, dict[str, Any]] = self.schema["$defs"]
        self.sections = SECTIONS
        self.titles: dict[str, str] = {}
        for section in self.sections:
            title = section["title"].partition(":")[0] if "kind" in section else section["title"]
            self.titles.setdefault(section["table"], title)

    def target(self, table: str) -> str:
        """The title of the first section about a table."""
        return next(section["title"] for section in self.sections if section["table"] == table)

    def reference(self, name: str) -> str:
        """A reference to a definition in words."""
        # The schema numbers the second of two tables that differ only in the quantity they hold.
        plain, both = name.rstrip("2"), f"{name.rstrip('2')}2" in self.tables
        if name == "scheme":
            return "[scheme](#schemes)"
        if name.startswith("directed_"):
            return self.kind(self.tables[name]["anyOf"][0]) + ", or `{ down, up }`"
        if name.removesuffix("_or_none") in QUANTITIES:
            return quantity(name.removesuffix("_or_none")) + (' or `"none"`' if name.endswith("_or_none") else "")
        if both:
            held = "time" if name.endswith("2") else "size"
            return (
                f"[{held}, constant or random](#{anchor(self.target(plain))})"
                if plain == "Amount"
                else self.link(plain)
            )
        return self.link(plain)

    def link(self, table: str) -> str:
        """A link to the section about a table."""
        title = self.titles[table]
        return f"[{title[0].lower() if title[1].islower() else title[0]}{title[1:]}](#{anchor(self.target(table))})"

    def kind(self, schema: dict[str, Any], *, of: str = "") -> str:
        """What a key takes, in words; in a table `of` for sizes as well as times both are meant."""
        options = [
            option for option in schema.get("anyOf") or schema.get("oneOf") or [] if option.get("type") != "null"
        ]
        types = schema.get("type", "anything")
        if isinstance(types, list):
            types = next(one for one in types if one != "null")
        if "$ref" in schema:
            name = str(schema["$ref"]).rsplit("/", 1)[-1]
            both = of and f"{of}2" in self.tables and name in ("data", "time")
            text = "[size or time](#quantities)" if both else self.reference(name)
        elif "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            text = " or ".join(f"`{json.dumps(value)}`" for value in values)
        elif options:
            text = " or ".join(self.kind(option, of=of) for option in options)
        elif "prefixItems" in schema:
            text = "pairs of " + " and ".join(self.kind(item, of=of) for item in schema["prefixItems"])
        elif types == "array":
            count = f"{schema['minItems']} of: " if schema.get("minItems", 0) > 1 else ""
            items = self.kind(schema.get("items", {}), of=of)
            text = f"list of {count}{items}"
        elif types == "object" and isinstance(schema.get("additionalProperties"), dict):
            text = "table of names and " + self.kind(schema["additionalProperties"], of=of)
        else:
            text = WORDS[types]
        return text

    def keys(self, schema: dict[str, Any], *, of: str = "") -> str:
        """The keys of one table: name and kind, what is required, the others."""
        required = set(schema.get("required", ()))
        rows = []
        for name, value in sorted(
            schema.get("properties", {}).items(),
            key=lambda pair: (pair[0] not in ("name", "kind"), pair[0] not in required),
        ):
            default = shown(value["default"]) if "default" in value else ""
            meaning = value.get("description", "") or MEANINGS.get(name, "")
            rows.append((f"`{name}`", self.kind(value, of=of), "required" if name in required else default, meaning))
        return table(("key", "takes", "default", "meaning"), rows)

    def body(self, section: dict[str, str]) -> str:
        """What the schema says of a section's table."""
        if not section["table"]:
            return self.keys(self.schema)
        definition = self.tables[section["table"]]
        options = definition.get("anyOf") or definition.get("oneOf") or []
        if "kind" in section:
            chosen = next(one for one in options if one["properties"]["kind"]["const"] == section["kind"])
            general = definition["description"] + "\n\n" if section["title"] == self.target(section["table"]) else ""
            return f"{general}{chosen['description']}\n\n{self.keys(chosen)}"
        text = f"{definition.get('description', '')}\n\n"
        if "properties" in definition:
            return text + self.keys(definition, of=section["table"])
        lines = []
        for option in options:
            names = option.get("properties", {})
            takes = [f"`{name}`: {self.kind(value, of=section['table'])}" for name, value in names.items()]
            form = f"a table with {', '.join(takes)}" if takes else self.kind(option, of=section["table"])
            lines.append((form, option.get("description", "")))
        return text + table(("value", "meaning"), lines)


def kinds_of_traffic() -> list[dict[str, str]]:
    """A section for each kind of traffic, with its own example."""
    sections = []
    for kind in json.loads(_native.traffic_kinds()):
        transport = 'transport = { kind = "udp" }\n' if kind["own_rate"] else ""
        keys = ", ".join(filter(None, (f'kind = "{kind["name"]}"', kind["example"])))
        flow = f'[[flows]]\nname = "{kind["name"]}"\nfrom = "client"\nto = "right"\n'
        about = {
            "title": f"Traffic: {kind['title']}",
            "table": "TrafficTable",
            "kind": kind["name"],
            "key": "traffic",
        }
        sections.append({**about, "example": f"{flow}{transport}traffic = {{ {keys} }}\n"})
    return sections


def all_sections() -> list[dict[str, str]]:
    """The sections of the reference; the kinds of traffic precede the amounts that they are made of."""
    written: list[dict[str, str]] = tomllib.loads((DOCS / "scenario.toml").read_text(encoding="utf-8"))["section"]
    at = next(k for k, one in enumerate(written) if one["table"] == "Amount")
    return [*written[:at], *kinds_of_traffic(), *written[at:]]


SECTIONS = all_sections()
MEANINGS = {"kind": "Selects this kind of table."}


def shown(default: object) -> str:
    """A default as TOML; of a table only its kind, since its own section has the rest."""
    if isinstance(default, dict):
        return f'`{{ kind = "{default["kind"]}" }}`'
    return f"`{json.dumps(default)}`"


def scenario() -> str:
    """The page of the scenario document."""
    reference = Scenario()
    sections = []
    for section in reference.sections:
        where = f"Key `{section['key']}`. " if section.get("key") else ""
        example = section["example"].strip()
        sections.append(f"\n## {section['title']}\n\n{where}{reference.body(section)}\n```toml\n{example}\n```\n")
    rows = [(QUANTITIES[name], reference.tables[name]["description"]) for name in QUANTITIES]
    return filled(
        "scenario",
        sections="".join(sections),
        quantities=table(("quantity", "what is accepted"), rows),
        bounds=table(("keys", "at most", "reason"), json.loads(_native.bounds())),
    )


MARKED = re.compile(
    r"(<!-- places: ([a-z-]+), made by docs/generate.py -->\n\n).*?(\n<!-- end of places -->)", re.DOTALL
)
NAMES = {"name": "NAME", "snake": "NAME", "camel": "Name", "title": "Title", "path": "NAME"}
FOLDERS = {
    "paper": {"folder": "papers/NAME", "test_file": "tests/python/test_paper_NAME.py"},
    "scenario": {"folder": "scenarios/NAME", "test_file": "tests/python/test_scenario_NAME.py"},
}


def traced() -> str:
    """The page of packet traces and decision logs."""
    columns = [(f"`{name}`", unit, meaning) for name, (unit, meaning) in logs.COLUMNS.items()]
    words = [(f"`{name}`", meaning) for name, meaning in logs.WORDS.items()]
    return filled(
        "traces",
        words=table(["word", "meaning"], words),
        headers=table(["field", "value"], logs.HEADERS.items()),
        columns=table(["column", "unit", "meaning"], columns),
    )


def places(name: str) -> str:
    """The places of one kind, and what is left to do, as `sojourn new` has them."""
    kind = kinds.kind(name)
    values = NAMES | {"sojourn": ".venv/bin/sojourn", "python": ".venv/bin/python"} | FOLDERS.get(name, {})
    rows = [
        (f"`{kinds.fill(one.file, values)}`", "" if one.position else "new", kinds.fill(one.what, values))
        for one in kind.places
    ]
    steps = [
        f"{number}. {kinds.fill(one.do, values)}" + (f" `{kinds.fill(one.run, values)}`" if one.run else "")
        for number, one in enumerate(kind.left, 1)
    ]
    return f"{table(('file', '', 'what'), rows)}\nThen:\n\n" + "\n".join(steps) + "\n"


def contributing() -> str:
    """CONTRIBUTING.md with the places of each kind."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return MARKED.sub(lambda found: found[1] + places(found[2]) + found[3], text)


PAGES: dict[str, Callable[[], str]] = {
    "../CONTRIBUTING.md": contributing,
    f"../{lessons.NOTEBOOK}": lessons.notebook,
    f"../{builders.TRAFFIC}": builders.functions,
    f"../{builders.ELEMENTS}": builders.methods,
    f"../{builders.PACKAGE}": builders.exported,
    "reference/metrics.md": metrics,
    "reference/algorithms.md": algorithms,
    "reference/scenario.md": scenario,
    "reference/traces.md": traced,
    **{f"reference/algorithms/{entry['name']}.md": partial(algorithm, entry) for entry in ENTRIES},
}


def main() -> int:
    """Writes every page, or checks them."""
    check = "--check" in sys.argv[1:]
    stale = []
    (DOCS / "reference" / "algorithms").mkdir(exist_ok=True)
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        if check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        print("not what the library says, run `make docs`: " + ", ".join(stale), file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
