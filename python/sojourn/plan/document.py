"""Plan documents: TOML to a :class:`Plan`, every key checked, and back."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

from sojourn.base import core, foreign, nesting, suggest, toml
from sojourn.base.errors import ScenarioError, SojournError
from sojourn.model.network import read_text
from sojourn.model.scheme import Scheme, as_schemes
from sojourn.plan import key_lines, vary
from sojourn.plan.identity import SIMULATED, WORLDS
from sojourn.plan.model import AUTO, CEILING, FLOOR, NAME, SCHEME, Figure, Plan, Precision, Variation, is_name
from sojourn.plugins import loading as plugins
from sojourn.results import metrics

_TOP = (
    "name", "description", "scenario", "set", "schemes", "vary", "paired", "seed", "replications", "precision",
    "series", "show", "plugins", "world",
)  # fmt: skip
_VARIATIONS: Final = {
    "values": (("key", "name", "values"), ("key",)),
    "from": (("key", "name", "from", "to", "steps", "scale"), ("key", "to", "steps")),
    "zip": (("zip",), ()),
    "latin_hypercube": (("latin_hypercube", "points", "seed"), ("points",)),
}
"""The ways to vary: the keys of each, and those that it needs beside its name."""
_MANY = 1_000_000


def load(path: str | Path) -> Plan:
    """Read a plan from a TOML file; a scenario that it names by a path is looked for beside it.

    Raises
    ------
    SojournError
        If there is no such file or it is not a plan: file, line, key, and what is allowed.
    """
    file = Path(path)
    try:
        text = foreign.read_text(file)
    except OSError as error:
        raise ScenarioError(f"cannot read the plan {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"cannot read the plan {str(path)!r}: it is not UTF-8 text") from None
    return loads(text, source=str(path), folder=file.parent)


def loads(text: str, *, source: str = "plan", folder: Path | None = None) -> Plan:
    """Read a plan from TOML text, which messages call `source`.

    A scenario that is named by a path is looked for in `folder`, by default the present one.

    Raises
    ------
    SojournError
        If it is not a plan.
    """
    document = nesting.loads_toml(text, source)
    return _Reader(source, key_lines.lines(text), folder or Path()).plan(document)


class _Reader:
    """Takes the document apart; knows where it is for messages."""

    def __init__(self, source: str, lines: dict[key_lines.Path, int], folder: Path) -> None:
        self._source = source
        self._lines = lines
        self._folder = folder

    def refuse(self, path: key_lines.Path, what: str) -> NoReturn:
        line = key_lines.line_of(self._lines, path)
        where = f"{self._source}:{line}" if line else self._source
        raise ScenarioError(f"{where}: key {key_lines.written(path)}: {what}" if path else f"{where}: {what}")

    @contextmanager
    def _at(self, path: key_lines.Path) -> Iterator[None]:
        """Say where the document asked for what is impossible."""
        try:
            yield
        except SojournError as error:
            self.refuse(path, str(error))

    def plan(self, document: Mapping[str, Any]) -> Plan:
        self._keys((), document, _TOP, needed=("name", "scenario"))
        name = self._text((), document, "name")
        if not is_name(name):
            self.refuse(("name",), f"{name!r} is not a name; allowed: {NAME}")
        self._plugins(document)
        scenario, source = self._scenario(document["scenario"])
        if "replications" in document and "precision" in document:
            self.refuse(("replications",), "does not go with `precision`, whose floor and ceiling say how many")
        variations = tuple(self._variation(*one) for one in self._tables((), document, "vary"))
        factors = [SCHEME, *(factor.name for variation in variations for factor in variation.factors)]
        world = document.get("world", SIMULATED)
        if world not in WORLDS:
            self.refuse(("world",), f"{world!r} is not known; allowed: {', '.join(WORLDS)}")
        return Plan(
            name=name,
            description=self._text((), document, "description", default=""),
            scenario=scenario,
            source=source,
            origin=self._source,
            sets=tuple(f"{key}={toml.inline(found)}" for key, found in _flat(self._table((), document, "set"))),
            schemes=self._schemes(document),
            vary=variations,
            paired=self._paired(document.get("paired", "all"), factors),
            world=world,
            seed=self._whole((), document, "seed", 0, 2**63 - 1, 1),
            replications=self._whole((), document, "replications", 1, _MANY, 10),
            precision=self._precision(document.get("precision", [])),
            **self._series(document.get("series", AUTO)),
            **self._show(self._table((), document, "show"), factors),
        )

    def _plugins(self, document: Mapping[str, Any]) -> None:
        """Add the algorithms that the plan brings: files beside it, or what a store keeps of them."""
        listed = document.get("plugins", [])
        if not isinstance(listed, list):
            self.refuse(("plugins",), 'allowed: a list of files such as ["my_pie.py"]')
        files = plugins.Named()
        for k, item in enumerate(listed):
            path = ("plugins", k)
            if isinstance(item, str):
                with self._at(path):
                    files.load(self._folder / item)
                continue
            keys = ("name", "kind", "content")
            self._keys(path, item, keys, needed=keys)
            shipped = plugins.Shipped(*(self._text(path, item, key) for key in keys))
            if shipped.kind == "library":
                what = f"brings the library {shipped.name}, which is loaded and is not confined"
                warnings.warn(f"{self._source} {what}", stacklevel=2)
            with self._at(path):
                plugins.add_shipped([shipped])

    def _scenario(self, value: Any) -> tuple[str, str]:
        if isinstance(value, Mapping):
            return toml.dumps(value), f"{self._source} [scenario]"
        if not isinstance(value, str):
            self.refuse(("scenario",), f"{value!r} is not a scenario; allowed: a name, a path, or a table")
        beside = self._folder / value
        with self._at(("scenario",)):
            return read_text(beside if beside.is_file() else value)

    def _schemes(self, document: Mapping[str, Any]) -> tuple[Scheme, ...]:
        listed = document.get("schemes")
        if listed is None:
            return ()
        if not isinstance(listed, list) or not listed:
            self.refuse(
                ("schemes",), 'allowed: a list such as ["codel", { label = "slow", text = "codel target 20ms" }]'
            )
        made = []
        for k, item in enumerate(listed):
            path = ("schemes", k)
            if not isinstance(item, str | Mapping):
                self.refuse(path, f"{item!r} is not a scheme; allowed: a text, or a table with `label` and `text`")
            table = {"text": item} if isinstance(item, str) else item
            self._keys(path, table, ("label", "text"), needed=("text",))
            text, label = self._text(path, table, "text"), self._text(path, table, "label", default="")
            with self._at(path):
                made.append(Scheme(text, label))
        with self._at(("schemes",)):
            return as_schemes(made)

    def _variation(self, path: key_lines.Path, table: Mapping[str, Any]) -> Variation:
        kinds = [kind for kind in _VARIATIONS if kind in table]
        if len(kinds) != 1:
            self.refuse(
                path, "needs exactly one of `values`, `from` (with `to` and `steps`), `zip`, `latin_hypercube`"
            )
        self._keys(path, table, *_VARIATIONS[kinds[0]])
        match kinds[0]:
            case "values":
                return self._list(path, table)
            case "from":
                factor = self._factor(path, table)
                steps = self._whole(path, table, "steps", 2, _MANY)
                with self._at(path):
                    return vary.span(*factor, **_range(table), steps=steps)
            case "zip":
                columns = []
                for here, column in self._tables(path, table, "zip"):
                    self._keys(here, column, ("key", "name", "values"), needed=("key", "values"))
                    columns.append(self._list(here, column))
                with self._at(path):
                    return vary.zipped(*columns)
            case _:
                dimensions = []
                for here, column in self._tables(path, table, "latin_hypercube"):
                    self._keys(here, column, ("key", "name", "from", "to", "scale"), needed=("key", "from", "to"))
                    factor = self._factor(here, column)
                    with self._at(here):
                        dimensions.append(vary.dimension(*factor, **_range(column)))
                points = self._whole(path, table, "points", 1, _MANY)
                seed = self._whole(path, table, "seed", 0, _MANY, 1)
                with self._at(path):
                    return vary.latin_hypercube(*dimensions, points=points, seed=seed)

    def _list(self, path: key_lines.Path, table: Mapping[str, Any]) -> Variation:
        factor, values = self._factor(path, table), table["values"]
        if not isinstance(values, list) or not values:
            self.refuse((*path, "values"), f"{values!r} is not a list of values")
        with self._at(path):
            return vary.grid(*factor, values=values)

    def _factor(self, path: key_lines.Path, table: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
        key = table["key"]
        keys = key if isinstance(key, list) else [key]
        if not keys or not all(isinstance(one, str) and one for one in keys):
            self.refuse(
                (*path, "key"),
                f"{key!r} is not a key; allowed: a dotted path, or a list of them that take the same value",
            )
        return tuple(keys), self._text(path, table, "name", default="")

    def _paired(self, listed: Any, known: Sequence[str]) -> tuple[str, ...] | None:
        if listed == "all":
            return None
        if not isinstance(listed, list) or any(name not in known for name in listed):
            self.refuse(("paired",), f'{listed!r} is not known; allowed: "all", or a list of {", ".join(known)}')
        return tuple(listed)

    def _precision(self, found: Any) -> tuple[Precision, ...]:
        if not isinstance(found, Mapping | list):
            self.refuse(
                ("precision",), f"{found!r} is not a goal; allowed: a table with `metric` and `within`, or a list"
            )
        tables = [((), found)] if isinstance(found, Mapping) else [((k,), t) for k, t in enumerate(found)]
        goals = []
        for number, table in tables:
            path: key_lines.Path = ("precision", *number)
            if not isinstance(table, Mapping):
                self.refuse(path, "allowed: a table with `metric` and `within`")
            self._keys(path, table, ("metric", "within", "floor", "ceiling"), needed=("metric", "within"))
            metric = self._text(path, table, "metric", "the name of a metric")
            within = self._text(path, table, "within", 'a text such as "5 %"')
            floor = self._whole(path, table, "floor", 2, _MANY, FLOOR)
            ceiling = self._whole(path, table, "ceiling", 2, _MANY, max(CEILING, floor))
            with self._at(path):
                goals.append(Precision(metric, within, floor, ceiling))
        return tuple(goals)

    def _series(self, found: Any) -> dict[str, Any]:
        if isinstance(found, str):
            return {"series": None if found == "none" else found}
        if not isinstance(found, Mapping):
            self.refuse(
                ("series",),
                f'{found!r} is not an interval; allowed: a time such as "50 ms", "auto", "none", or a table',
            )
        self._keys(("series",), found, ("interval", "replications"), needed=("interval",))
        return {
            "series": self._text(("series",), found, "interval", 'a time such as "50 ms"'),
            "series_replications": self._whole(("series",), found, "replications", 1, _MANY, 1),
        }

    def _show(self, table: Mapping[str, Any], factors: Sequence[str]) -> dict[str, Any]:
        self._keys(("show",), table, ("metrics", "figures"))
        known = [metric["name"] for metric in core.metrics() if "run" in metric["scopes"]]

        def check(path: key_lines.Path, name: str) -> None:
            if metrics.split(name)[0] not in known:
                self.refuse(path, suggest.unknown("metric", name, known))

        found = table.get("metrics", [])
        names = found if isinstance(found, list) else [found]
        for name in names:
            check(("show", "metrics"), str(name))
        figures = []
        for path, figure in self._tables(("show",), table, "figures"):
            self._keys(path, figure, ("y", "x"), needed=("y", "x"))
            check((*path, "y"), str(figure["y"]))
            if figure["x"] not in factors:
                meant = suggest.hint(str(figure["x"]), factors)
                self.refuse((*path, "x"), f"{figure['x']!r} does not vary{meant}; allowed: {', '.join(factors)}")
            figures.append(Figure(figure["y"], figure["x"]))
        return {"metrics": tuple(names), "figures": tuple(figures)}

    def _keys(self, path: key_lines.Path, table: Any, allowed: Sequence[str], needed: Sequence[str] = ()) -> None:
        if not isinstance(table, Mapping):
            self.refuse(path, f"{table!r} is not a table")
        for key in table:
            if key not in allowed:
                self.refuse((*path, key), f"unknown{suggest.hint(str(key), allowed)}; allowed: {', '.join(allowed)}")
        for key in needed:
            if key not in table:
                self.refuse(path, f"`{key}` is missing")

    def _text(
        self,
        path: key_lines.Path,
        table: Mapping[str, Any],
        key: str,
        what: str = "a text",
        default: str | None = None,
    ) -> str:
        found = table.get(key, default)
        if not isinstance(found, str):
            self.refuse((*path, key), f"{found!r} is not {what}")
        return found

    def _whole(
        self,
        path: key_lines.Path,
        table: Mapping[str, Any],
        key: str,
        least: int,
        greatest: int,
        default: int | None = None,
    ) -> int:
        found = table.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= greatest:
            self.refuse((*path, key), f"{found!r} is impossible; allowed: whole numbers from {least} to {greatest}")
        return found

    def _table(self, path: key_lines.Path, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        found = table.get(key, {})
        if not isinstance(found, Mapping):
            self.refuse((*path, key), f"{found!r} is not a table")
        return found

    def _tables(
        self, path: key_lines.Path, table: Mapping[str, Any], key: str
    ) -> list[tuple[key_lines.Path, Mapping[str, Any]]]:
        """Return the tables of a list, each with its path."""
        found = table.get(key, [])
        if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
            self.refuse((*path, key), f"{found!r} is not a list of tables")
        return [((*path, key, k), one) for k, one in enumerate(found)]


def _range(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"from_": table["from"], "to": table["to"], "scale": table.get("scale", "linear")}


def _flat(table: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    """Take `a.b = 1` and `"a.b" = 1` for the same key."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        found += _flat(value, f"{path}{key}.") if isinstance(value, Mapping) else [(path + key, value)]
    return found


def dumps(plan: Plan) -> str:
    """Write a plan as TOML that :func:`sojourn.plan.loads` takes back, its variations as the points they have."""
    scenario = toml.dumps(core.load(plan.scenario, source=plan.source, sets=plan.sets))
    texts = [one.exact for one in plan.schemes]
    schemes = [
        text if one.label == text else {"label": one.label, "text": text}
        for one, text in zip(plan.schemes, texts, strict=True)
    ]
    shipped = [
        {"name": one.name, "kind": one.kind, "content": one.content} for one in plugins.shipped_in([scenario, *texts])
    ]
    series: Any = plan.series or "none"
    if plan.series not in (None, AUTO):
        series = {"interval": plan.series, "replications": plan.series_replications}
    goals = [{"metric": g.metric, "within": g.within, "floor": g.floor, "ceiling": g.ceiling} for g in plan.precision]
    document: dict[str, Any] = {
        "name": plan.name,
        "description": plan.description or None,
        "world": None if plan.world == SIMULATED else plan.world,
        "seed": plan.seed,
        "replications": None if plan.precision else plan.replications,
        "paired": None if plan.paired is None else list(plan.paired),
        "plugins": shipped or None,
        "schemes": schemes or None,
        "series": series,
        "show": {"metrics": list(plan.metrics), "figures": [{"y": f.y, "x": f.x} for f in plan.figures]},
        "precision": goals or None,
    }
    lines = [f"{key} = {toml.inline(found)}" for key, found in document.items() if found is not None]
    for variation in plan.vary:
        columns = [
            {"key": list(factor.keys), "name": factor.name, "values": [point[k] for point in variation.points]}
            for k, factor in enumerate(variation.factors)
        ]
        lines += ["", "[[vary]]", "zip = [", *(f"  {toml.inline(column)}," for column in columns), "]"]
    # Lines that start with a bracket are headers: values stand behind their key.
    return "\n".join([*lines, "", "[scenario]", re.sub(r"^(\[\[?)", r"\1scenario.", scenario, flags=re.MULTILINE)])
