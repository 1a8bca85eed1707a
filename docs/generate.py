"""Writes the generated pages: the metrics, the algorithms, and the scenario's keys.

``docs/generate.py`` writes them; ``docs/generate.py --check`` fails where a page is not what the library says.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from sojourn import _native

DOCS = Path(__file__).parent
ROOT = DOCS.parent
ENTRIES: list[dict[str, Any]] = json.loads(_native.aqms())
ABOUT: dict[str, dict[str, str]] = tomllib.loads((DOCS / "algorithms.toml").read_text(encoding="utf-8"))
COST_FILE = ROOT / "benches" / "cost.json"
COSTS: dict[str, str] = (
    json.loads(COST_FILE.read_text(encoding="utf-8"))["above_pfifo_ns"] if COST_FILE.exists() else {}
)
PICTURE = (
    "`{example}`: ten CUBIC flows share 20 Mbit/s, and from 20 s to 25 s a UDP flow of 16 Mbit/s joins them. One run of "
    "[this scenario](../../flood.toml)."
)
NOTE = "<!-- Made by docs/generate.py from the library itself: change it there. -->\n"


def cell(text: object) -> str:
    """A table cell: no line breaks, no column separators."""
    return str(text).replace("\n", " ").replace("|", "\\|")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def metrics() -> str:
    """The page of metrics."""
    rows = [
        (f"`{m['name']}`", m["unit"], ", ".join(m["scopes"]), m["estimator"], m["definition"])
        for m in json.loads(_native.metrics())
    ]
    return (
        NOTE
        + "# Metrics\n\n"
        + "Always on, measured from the end of the warm-up to the end of the run. "
        + "How each is computed is said in [measurement](../concepts/measurement.md).\n\n"
        + table(("metric", "unit", "scope", "estimator", "definition"), rows)
    )


def yes(value: bool) -> str:
    """A tick or nothing."""
    return "yes" if value else ""


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
            COSTS.get(e["name"], ""),
            e["source"],
        )
        for e in ENTRIES
    ]
    head = ("name", "algorithm", "signals on", "drops at", "ECN", "per-flow state", "ns a packet", "source")
    return (
        NOTE
        + "# Algorithms\n\nEach name is what `--aqm` and `queue` take, followed by parameters as in tc. "
        + "Cost is CPU time of an enqueue and a dequeue, hot, at the load where it is highest of those measured, "
        + "without the cost of `pfifo`, on the machine named in `benches/cost.json`.\n\n"
        + table(head, rows)
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
    text = re.sub(r"\[`(\w+)`\]\(crate::\w+\)", linked, "\n".join(lines))
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
            words = "".join(f"* `{word}`: {doc}\n" for word, doc in parameter["words"].items())
            parts.append(f"\nValues of `{parameter['name']}`:\n\n{words}")
    return "".join(parts)


def algorithm(entry: dict[str, Any]) -> str:
    """The page of one algorithm."""
    name = entry["name"]
    inner = name.removeprefix("fq_") if name.startswith("fq_") else ""
    about = ABOUT[name]
    introduction, sections = described("fair" if inner else {"bfifo": "pfifo"}.get(name, name))
    presets = ABOUT[inner or name].get("presets", {})
    parts = [NOTE, f"# {entry['title']} (`{name}`)\n\n"]
    if inner:
        title = next(other["title"] for other in ENTRIES if other["name"] == inner)
        introduction += (
            f"\n\nIn `{name}` this algorithm is [`{inner}`]({inner}.md). The page of {title} describes how it decides; "
            "this page describes how queues share the link."
        )
    parts.append(f"{introduction}\n\n")
    parts.append(f"**When to use it.** {about['when']}\n\n")
    facts = [
        ("congestion signal", entry["signals_on"]),
        ("drops packets", {"enqueue": "on arrival", "dequeue": "on departure"}.get(entry["drops_at"], "on both")),
        ("ECN marking", "yes" if entry["ecn"] else "no"),
        ("state per flow", "yes" if entry["per_flow_state"] else "no"),
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
        rows = [(f"`preset {preset}`", f"`{settings(name, preset)}`", presets[preset]) for preset in entry["presets"]]
        parts.append(table(("preset", "sets", "source"), rows))
    parts += [f"\n## {heading}\n\n{body}\n" for heading, body in sections.items()]
    return "".join(parts)


def settings(name: str, preset: str) -> str:
    """The parameters that a preset changes, as text."""
    # dAQM's presets leave a measured value to the user, which is no part of them.
    needed = " interarrival 1ms" if name.endswith("daqm") else ""
    changed = _native.parse_aqm(f"{name} preset {preset}{needed}")
    return changed.removeprefix(name).replace(needed, "").strip() or "the defaults"


def kind(schema: dict[str, Any]) -> str:
    """What a key of the scenario takes, in words."""
    options = schema.get("anyOf") or schema.get("oneOf")
    properties = schema.get("properties", {})
    types = schema.get("type", "anything")
    if "$ref" in schema:
        text = str(schema["$ref"]).rsplit("/", 1)[-1]
    elif "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        text = " or ".join(f"`{json.dumps(value)}`" for value in values)
    elif options:
        text = " or ".join(kind(option) for option in options)
    elif types == "array":
        text = "list of " + kind(schema.get("items", {}))
    elif types == "object":
        text = ", ".join(f"`{name}`: {kind(value)}" for name, value in properties.items()) or "table"
    else:
        text = " or ".join(types) if isinstance(types, list) else str(types)
    return text


def keys(schema: dict[str, Any]) -> str:
    """The keys of one table of the scenario."""
    required = set(schema.get("required", ()))
    rows = []
    for name, value in schema.get("properties", {}).items():
        default = f"`{json.dumps(value['default'])}`" if "default" in value else ""
        if name in required:
            default = "required"
        rows.append((f"`{name}`", kind(value), default, value.get("description", "")))
    return table(("key", "takes", "default", "meaning"), rows)


def scenario() -> str:
    """The page of the scenario document."""
    schema = json.loads(_native.schema())
    parts = [
        NOTE,
        "# Scenario\n\n",
        "A scenario is a TOML document (or the same as JSON). Quantities are texts with a unit. "
        "`sojourn schema` prints the JSON Schema from which this page is made.\n\n",
        keys(schema),
        "\n## Bounds\n\n"
        "What lies beyond these bounds is refused with file, line, key and what is allowed. A document has at most "
        "128 levels of tables and lists.\n\n",
        table(("keys", "at most", "why"), json.loads(_native.bounds())),
    ]
    for name, definition in sorted(schema.get("$defs", {}).items()):
        parts.append(f"\n## {name}\n\n{definition.get('description', '')}\n\n")
        if "properties" in definition:
            parts.append(keys(definition))
            continue
        options = definition.get("anyOf") or definition.get("oneOf") or []
        for option in options:
            if option.get("properties"):
                parts.append(f"{option.get('description', '')}\n\n{keys(option)}\n")
            else:
                parts.append(f"* {kind(option)}: {option.get('description', '')}\n")
        if not options:
            examples = ", ".join(f"`{example}`" for example in definition.get("examples", ()))
            parts.append(f"{kind(definition)}{': ' + examples if examples else ''}\n")
    return "".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "reference/metrics.md": metrics,
    "reference/algorithms.md": algorithms,
    "reference/scenario.md": scenario,
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
