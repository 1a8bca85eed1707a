"""Reading ``runs.toml``: the conditions, the sweeps that expand into more of them, and the readings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Final

from sojourn.base.core import SojournError
from sojourn.studies.papers.checks import as_tuples, check, choose, need
from sojourn.studies.papers.model import Condition, Reading
from sojourn.studies.papers.points import each, filled, listed

_OF_CONDITION: Final = tuple("set" if key == "sets" else key for key in Condition.__slots__ if key != "sizes")
_OF_SWEEP: Final = (*(key for key in _OF_CONDITION if key not in ("at", "table")), "points", "quick")
_OF_READING: Final = ("name", "reading", "set", "scenario", "quick", "full", "only", "show")
_OF_VARY: Final = ("name", "reading")
_OF_RULE: Final = ("when", "set", "scenario")
_OF_DRAWN: Final = ("name", "of", "seed", "count", "together", "quick", "full")


def conditions(
    runs: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]], sizes: Sequence[str], file: Path
) -> tuple[Condition, ...]:
    """Return the conditions: those of the file, then the points of sweeps that are not among them."""
    found = []
    for one in runs.get("condition", ()):
        where = f"{file}: condition {one.get('name', 'without name')}"
        check(one, _OF_CONDITION, where)
        found.append(_condition(one, groups, sizes, where))
    taken = {(*one.traffic, one.at) for one in found}
    for one in runs.get("sweep", ()):
        found += [point for point in _points(one, groups, sizes, file) if (*point.traffic, point.at) not in taken]
    for key in (lambda one: one.name, lambda one: (*one.traffic, one.at)):
        seen: dict[Any, str] = {}
        for one in found:
            if key(one) in seen:
                raise SojournError(f"{file}: condition {one.name} occurs twice: as {seen[key(one)]}")
            seen[key(one)] = one.name
    return tuple(found)


def _condition(
    table: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]], sizes: Sequence[str], where: str
) -> Condition:
    for key in ("name", "title", "flow", "model", "schemes"):
        need(table, key, where)
    values = as_tuples({key: value for key, value in table.items() if key not in ("points", "quick", "set")})
    for key in ("schemes", "beside"):
        given = values.get(key, ())
        names = (given,) if isinstance(given, str) else given
        values[key] = tuple(scheme for one in names for scheme in groups.get(one, (one,)))
    values["append"] = tuple((name, text) for name, text in _append(table, where).items() if text)
    return Condition(**values, sizes=tuple(sizes), sets=each(table.get("set", ())))


def _points(
    table: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]], sizes: Sequence[str], file: Path
) -> list[Condition]:
    name = table.get("name", "without name")
    where = f"{file}: sweep {name}"
    check(table, _OF_SWEEP, where, needed=("points", "sweep"))
    points = listed(table["points"], where)
    quick: list[str] = table.get("quick", points)
    choose(quick, points, f"{where}: quick", " is not one of its points")
    found = []
    for at in points:
        own = dict(table) | {
            "name": f"{name}-{slug(at)}",
            "title": f"{table.get('title')}, {str(table['sweep']).replace('_', ' ')} {at}",
            "at": at,
            "set": [filled(text, at) for text in table.get("set", ())],
            # The texts of schemes have no spaces within a value.
            "append": {name: filled(text, at.replace(" ", "")) for name, text in _append(table, where).items()},
        }
        its = tuple(size for size in sizes if size != "quick" or at in quick)
        found.append(_condition(own, groups, its, where))
    return found


def _append(table: Mapping[str, Any], where: str) -> dict[str, str]:
    given = table.get("append", {})
    if not isinstance(given, dict):
        raise SojournError(f'{where}: append={given!r}; allowed: {{ red = "limit 20p" }}, by scheme or algorithm')
    return given


def readings(
    runs: Mapping[str, Any], known: Mapping[str, Any], of: Sequence[Condition], sizes: Sequence[str], file: Path
) -> tuple[Reading, ...]:
    """Return the readings, the base first, then those that are crossed with it and those that are drawn.

    What a reading changes in the simulation is said by the ``[[rule]]`` whose values it has, and by its own ``set``.
    """
    rules = runs.get("rule", ())
    for number, rule in enumerate(rules, 1):
        where = f"{file}: rule {number}"
        check(rule, _OF_RULE, where, needed=("when",))
        _values(rule["when"], known, where)
    found: list[Reading] = []
    base: dict[str, str] = {}
    for is_run, is_drawn, one in [
        *((True, False, one) for one in _runs(runs, known, file)),
        *((True, True, one) for one in _drawn(runs, known, file)),
        *((False, False, one) for one in runs.get("vary", ())),
    ]:
        name = str(need(one, "name", file))
        where = f"{file}: reading {name}"
        check(one, _OF_READING if is_run else _OF_VARY, where)
        values = _values(need(one, "reading", file), known, where)
        base = base or values
        its = [rule for rule in rules if rule["when"].items() <= (base | values).items()] if is_run else []
        only: dict[str, tuple[str, ...]] = {}
        for choices, sets in one.get("only", {}).items():
            for pattern in each([choices]):
                _matching([pattern], of, where)
                only[pattern] = (*only.get(pattern, ()), *each(sets))
        of_size = {
            size: tuple(own.name for own in _matching(one.get(size, ["*"]), of, where) if size in own.sizes)
            for size in sizes
        }
        sets = each([*(text for rule in its for text in rule.get("set", ())), *one.get("set", ())])
        scenario = str(one.get("scenario", next((rule["scenario"] for rule in its if "scenario" in rule), "")))
        is_shown = bool(one.get("show", False))
        found.append(Reading(name, values, is_run, sets, scenario, of_size, only, is_shown, is_drawn))
    if not found or not found[0].is_run:
        raise SojournError(f"{file}: no [[run]]: at least one reading of the simulation is needed")
    return tuple(found)


def _runs(runs: Mapping[str, Any], known: Mapping[str, Any], file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the base, every other combination of the readings that ``crossed`` names, and the other readings."""
    first, *others = runs.get("run", ()) or [{}]
    yield from [first] if first else []
    if crossed := runs.get("crossed"):
        check(crossed, ("of", "quick", "full"), f"{file}: crossed", needed=("of",))
        base = _values(first["reading"], known, f"{file}: crossed")
        for chosen in product(*(known[key]["values"] for key in crossed["of"])):
            values = {key: value for key, value in zip(crossed["of"], chosen, strict=True) if base[key] != value}
            labels = (known[key].get("labels", {}).get(value, f"{key} = {value}") for key, value in values.items())
            sizes = {key: value for key, value in crossed.items() if key != "of"}
            yield from [{"name": ", ".join(labels), "reading": values, **sizes}] if values else []
    yield from others


def _drawn(runs: Mapping[str, Any], known: Mapping[str, Any], file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the joint readings of ``[drawn]``, each with what it changes of the base."""
    if not (drawn := runs.get("drawn")):
        return
    where = f"{file}: drawn"
    check(drawn, _OF_DRAWN, where, needed=("name", "of", "seed", "count"))
    base = {name: str(one["values"][0]) for name, one in known.items()} | _values(
        runs["run"][0]["reading"], known, where
    )
    sizes = {key: drawn[key] for key in ("quick", "full") if key in drawn}
    for number, chosen in enumerate(draw(drawn, known, where), 1):
        values = {key: value for key, value in chosen.items() if base[key] != value}
        yield {"name": f"{drawn['name']} {number}", "reading": values, **sizes}


def draw(drawn: Mapping[str, Any], known: Mapping[str, Any], where: str) -> list[dict[str, str]]:
    """Return joint readings: the n-th has the n-th combination of the values in each group of ``of``.

    The combinations of a group come in a random order, and in another one after all have come. So each comes equally
    often, and a larger ``count`` only adds readings. So many successive readings as ``together`` says have the same
    combination of the first group: what it alone decides is run once for them.
    """
    columns: list[list[dict[str, str]]] = []
    count = drawn["count"]
    for group in drawn["of"]:
        values = [[_values({name: one}, known, where) for one in of] for name, of in group.items()]
        choices = [{name: value for one in parts for name, value in one.items()} for parts in product(*values)]
        order = Random(f"{drawn['seed']} {' '.join(group)}")  # noqa: S311 - a repeatable draw
        column: list[dict[str, str]] = []
        times = 1 if columns else drawn.get("together", 1)
        while len(column) < count:
            column += [one for one in order.sample(choices, len(choices)) for _ in range(times)]
        columns.append(column[:count])
    return [{name: value for part in parts for name, value in part.items()} for parts in zip(*columns, strict=True)]


def _values(given: Mapping[str, Any], known: Mapping[str, Any], where: str) -> dict[str, str]:
    values = {key: str(value) for key, value in given.items()}
    for key, value in values.items():
        if key not in known:
            raise SojournError(f"{where}: unknown reading `{key}`")
        if value not in known[key]["values"]:
            raise SojournError(f"{where}: {key}={value!r}; allowed: {', '.join(known[key]['values'])}")
    return values


def _matching(patterns: Sequence[str], of: Sequence[Condition], where: str) -> list[Condition]:
    patterns = each(patterns)
    for pattern in patterns:
        if not any(fnmatchcase(one.name, pattern) for one in of):
            known = ", ".join(one.name for one in of)
            raise SojournError(f"{where}: {pattern!r} is not a condition; there are: {known}")
    return [one for one in of if any(fnmatchcase(one.name, pattern) for pattern in patterns)]


def slug(text: str) -> str:
    """Return a text as a part of a name.

    Examples
    --------
    >>> slug("20 %"), slug("5 kbit/s")
    ('20-percent', '5-kbit-s')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace("%", "percent")).strip("-")
