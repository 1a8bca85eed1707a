"""Writes the generated pages: metrics, algorithms, the scenario's keys; and Python's functions for traffic.

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
import pages

from sojourn import _native
from sojourn.plan import logs
from sojourn.scaffold import kinds

DOCS = Path(__file__).parent
ROOT = DOCS.parent
ENTRIES: list[dict[str, Any]] = json.loads(_native.aqms())
ABOUT: dict[str, dict[str, Any]] = tomllib.loads((DOCS / "algorithms.toml").read_text(encoding="utf-8"))
COST_FILE = ROOT / "benches" / "cost.json"
MEASURED: dict[str, Any] = json.loads(COST_FILE.read_text(encoding="utf-8")) if COST_FILE.exists() else {}
COSTS: dict[str, dict[str, str]] = MEASURED.get("above_pfifo_ns", {})
COUNT_FILE = ROOT / "benches" / "instructions.json"
COUNTED: dict[str, Any] = json.loads(COUNT_FILE.read_text(encoding="utf-8")) if COUNT_FILE.exists() else {}
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


QUEUES = """## Which queue a metric is of

A queue has a name that says its direction.

| name | queue |
| --- | --- |
| `left->right` | of the link between `left` and `right`, for packets towards `right` |
| `right->left` | of the same link, in the other direction |
| `lan:client0` | of the station `client0` on the bus `lan` |
| `near:phone` | of the station or access point `phone` of the 802.11 cell `near` |
| `near:ap->phone` | of the access point `ap` for the station `phone`, with a queue for each station |

A metric with the scope `queue` is of one queue. With one queue under test, the value of run scope is that queue's.

With several, it is that of the headline queue: the busiest one under test, which has the highest utilisation. In a
comparison, the utilisation is averaged over all schemes and replications. In a plan, it is averaged over the schemes
and replications of one combination of levels. So everything that is compared has the same headline queue. Of equal
queues it is the first of the network. The column `queue` of `runs` names it.

Tables have a row for each queue under test, the busiest first: at most 8, and the table `queues` has all. Metrics
that are not of queues are in the first of these rows.

Another queue is named behind an `@`, wherever a metric is named: `--metric sojourn_ms_mean@left->right`, and in the
metrics, figures and precision goals of a plan. In Python, `results.estimate(label, "sojourn_ms_mean",
queue="left->right")` is the same. Distributions and time series of queues have the queue behind a colon:
`sojourn_ms:left->right`. Those of the 16 busiest queues under test of a run are kept.

The queues under test together are measured where a scenario has `pooled = true`. They are a queue called `all`
(`sojourn_ms_mean@all`). Counts and queue lengths are sums, times and ratios are over the packets of all queues, and
utilisation is the share of the time of all their links.

## List

"""


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
    return (
        NOTE
        + "# Metrics\n\n"
        + "All metrics are measured in every run, from the end of the warm-up to the end of the run unless the "
        + "definition says otherwise. The scope tells whether a metric has a value for the run, for each queue under "
        + "test, or for each flow. [Measurement](../concepts/measurement.md) explains how each is computed.\n\n"
        + "The cohort says what a metric is of. The start and the end of the measured time cut through the life "
        + "of packets. Ratios of queues and flows therefore divide by the packets that leave in the measured time, "
        + "whenever they arrived. The drops and marks of a queue are among these packets, so a share lies between 0 "
        + "and 1. Packets in the queue at the start of the measured time are counted when they leave. Packets that "
        + "still wait at its end are not counted. Phases and windows have the same rule.\n\n"
        + table(("cohort", "what belongs to it"), ((f"`{name}`", text) for name, text in cohorts.items()))
        + "\n"
        + "Each value lies in the range that the table gives. The values of flows add up to those of their group, "
        + "and the values of groups to those of the run. This holds for goodput, throughput, and the numbers of "
        + "packets, segments, timeouts and flows. The three reasons for drops add up to `drops_packets`. The "
        + "simulator checks every report against these rules at the end of the run, and ends with an error where "
        + "one does not hold.\n\n"
        + QUEUES
        + table(("metric", "unit", "scope", "cohort", "range", "estimator", "definition"), rows)
    )


def yes(value: bool) -> str:
    """A tick or nothing."""
    return "yes" if value else ""


def over_limit() -> str:
    """A sentence on the schemes that take more instructions than their class is to take."""
    above, limits = COUNTED.get("above_pfifo", {}), COUNTED.get("limits_above_pfifo", {})
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
            str(COUNTED.get("above_pfifo", {}).get(e["name"], "")),
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
    return (
        NOTE
        + "# Algorithms\n\nThe name, followed by parameters as in tc, is what the option `--aqm` and the key `queue` "
        + "of a scenario take: `codel target 10ms ecn`. `sojourn list aqms` prints this list.\n\n"
        + "The cost is that of one enqueue and one dequeue, minus that of `pfifo`. It is given for the load, of "
        + "those measured, at which it is highest. The number of instructions depends on the compiler and not on the "
        + "machine; callgrind counts it. The CPU time is measured with warm caches"
        + (f", on one core of this processor: {MEASURED['machine']['processor']}" if MEASURED else "")
        + (
            f": the median of {MEASURED['repetitions']} repetitions, with their range in parentheses"
            if MEASURED
            else ""
        )
        + ". In a repetition the smallest of 40 rounds counts. Differences within the ranges say nothing"
        + ".\n\n"
        + "The goals are 100 instructions for a single queue, 300 for a scheme with state of flows, 400 for fair "
        + "queueing and 1,000 for CAKE. They were set as 10, 30, 40 and 100 ns and converted once at 10 instructions "
        + "a nanosecond, the ratio that was measured over the schemes. "
        + over_limit()
        + "\n\n"
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


# Quantities, whose JSON Schema is a text; a link leads to their section.
QUANTITIES = {
    "time": "time",
    "data": "size",
    "packets": "packets",
    "rate": "rate",
    "loss": "loss",
    "jitter": "jitter",
    "probability": "probability",
    "framing": "framing",
    "codepoint": "codepoint",
}
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
    parts = [
        NOTE,
        "# Scenario\n\n",
        "A scenario describes a network, its flows, and how long to simulate them. It is written in TOML, or with "
        "the same keys in JSON. A mistake is reported before anything runs, with file, line, key and what is "
        "allowed. `sojourn schema` prints the JSON Schema from which this page is made.\n\n"
        "A key without a default may be left out unless it is required. The examples after the first one show only "
        "the tables that differ from it.\n",
    ]
    for section in reference.sections:
        where = f"Key `{section['key']}`. " if section.get("key") else ""
        example = section["example"].strip()
        parts.append(f"\n## {section['title']}\n\n{where}{reference.body(section)}\n```toml\n{example}\n```\n")
    parts.append(
        "\n## Schemes\n\nA scheme is an algorithm with its parameters, written as in tc or as a table. The "
        "[algorithms](algorithms.md) have a page each. These two mean the same:\n\n"
        "```toml\n" + SCHEMES + "```\n"
    )
    parts.append("\n## Quantities\n\nA quantity is a text with a number and a unit. A bare number is refused.\n\n")
    rows = [(QUANTITIES[name], reference.tables[name]["description"]) for name in QUANTITIES]
    parts.append(table(("quantity", "what is accepted"), rows))
    parts.append(
        "\n## Bounds\n\nValues beyond these bounds are refused. A document has at most 128 levels of tables and "
        "lists.\n\n"
    )
    parts.append(table(("keys", "at most", "reason"), json.loads(_native.bounds())))
    return "".join(parts)


SCHEMES = """\
[[links]]
name = "access"
from = "client"
to = "left"
rate = "1 Gbit/s"
delay = "1 ms"
queue = "codel target 10ms ecn"

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "20 Mbit/s"
delay = "10 ms"
queue = { kind = "codel", target = "10 ms", ecn = true }
"""


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
    return (
        NOTE
        + "# Packet traces and decision logs\n\n"
        + "[The guide](../guides/traces.md) shows how a run writes these files.\n\n"
        + "## Packet traces\n\n"
        + "`QUEUE.pcapng` has every packet that arrived at the queue, in the order and at the time of arrival. "
        + "`QUEUE.departures.pcapng` has those that left it to be sent, at the time of departure. "
        + "Times are in nanoseconds and begin with 0 at the start of the run. "
        + "A packet's comment consists of words `NAME=VALUE`:\n\n"
        + table(["word", "meaning"], words)
        + "\nA packet of the simulator has no bytes. Its headers are made from the simulated fields:\n\n"
        + table(["field", "value"], logs.HEADERS.items())
        + "\n## Decision logs\n\n"
        + "`QUEUE.parquet` has one row for each event at the queue, in the order of time. The units and meanings of "
        + "the columns are also in the file, in the metadata of its fields.\n\n"
        + table(["column", "unit", "meaning"], columns)
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
