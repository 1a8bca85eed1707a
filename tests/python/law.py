"""A scenario under the laws, what a law is, and how reports are compared."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from generator import Draw, Generated, load
from sojourn import _native
from sojourn.base.core import Document, SojournError

ROUNDING: Final = 1e-9
"""Sums of floating-point numbers in another order."""
NANOSECONDS: Final = 1e-6
"""Times that were rounded to whole nanoseconds, halved."""


class Case:
    """A scenario under the laws: what was run of it is kept."""

    def __init__(self, made: Generated) -> None:
        self.made = made
        self.document = made.document
        self.runs = 0
        """How often the scenario was simulated, in one form or another."""

    @property
    def draw(self) -> Draw:
        """Chance, the same for each law."""
        return Draw(self.made.number)

    @cached_property
    def text(self) -> str:
        """The report of the scenario as written, as text."""
        return self.run_text(self.document)

    @cached_property
    def report(self) -> Document:
        """The report of the scenario as written."""
        found: Document = json.loads(self.text)
        return found

    def task(self, *, scheme: str | None = None, replication: int = 0, **more: object) -> str:
        """Return a task of the compiled core."""
        return json.dumps({"scheme": scheme, "seed": self.document["seed"], "replication": replication, **more})

    def run_text(self, document: Document, **task: Any) -> str:
        """Run a scenario; return its report as text."""
        series = (document.get("series") or {}).get("interval")
        self.runs += 1
        done, text = _native.run_batch([json.dumps(document)], [(0, self.task(series=series, **task))])[0]
        if not done:
            raise Broken(text)
        return text

    def run(self, document: Document, **task: Any) -> Document:
        """Run a scenario; return its report."""
        found: Document = json.loads(self.run_text(document, **task))
        return found

    @cached_property
    def with_scheme(self) -> Document | None:
        """The scenario with the other scheme in its queues under test; None if that cannot be."""
        other = copied(self.document)
        for table, key in marks(other):
            if table.get(key):
                table[QUEUE_OF[key]] = self.made.scheme
        try:
            return load(other) if self.tested else None
        except SojournError:
            return None

    @cached_property
    def tested(self) -> list[str]:
        """Names of the queues under test."""
        return [queue["name"] for queue in self.report["queues"] if queue["under_test"]]


class Broken(Exception):  # noqa: N818, not every one is an error of ours
    """A run ended with an error."""


class Unmet(Exception):  # noqa: N818
    """A law says nothing of a scenario."""


Check = Callable[[Case], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Law:
    """Something that holds of every scenario.

    Parameters
    ----------
    name
        A few words.
    reason
        Why it holds.
    check
        Yields what breaks it; raises :class:`Unmet` where it says nothing.
    once_in
        It is tried on one of so many scenarios, because it is slow.
    """

    name: str
    reason: str
    check: Check
    once_in: int = 1

    def broken(self, case: Case) -> list[str] | None:
        """Return what breaks it in a scenario; None where it says nothing."""
        found: list[str] = []
        try:
            found.extend(self.check(case))
        except Unmet:
            return found or None
        except (Broken, SojournError) as error:
            found.append(str(error))
        return found


LAWS: list[Law] = []


def law(name: str, reason: str, *, once_in: int = 1) -> Callable[[Check], Check]:
    """Make a function a law."""

    def register(check: Check) -> Check:
        LAWS.append(Law(name, reason, check, once_in))
        return check

    return register


def require(condition: object) -> None:
    """Say nothing where a condition is not met."""
    if not condition:
        raise Unmet


def amount(quantity: str, unit: Mapping[str, float]) -> float:
    value, _, name = quantity.partition(" ")
    return float(value) * unit[name]


SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
BIT_S: Final = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def is_near(a: float | None, b: float | None, relative: float = ROUNDING) -> bool:
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=relative, abs_tol=relative))


def differences(a: Document, b: Document, *, flows: Iterable[str] | None = None, near: float = 0.0) -> Iterator[str]:
    """Yield what two reports have in common and say differently."""
    if a["conservation"] != b["conservation"] and flows is None:
        yield f"conservation: {a['conservation']}, {b['conservation']}"
    for table in ("queues", "flows", "groups"):
        others = {one["name"]: one for one in b[table]}
        # The row of the queues under test together says which these are.
        for one in (one for one in a[table] if (table, one["name"]) != ("queues", "all")):
            other = others.get(one["name"])
            if other is None or (flows is not None and table == "groups" and one["name"] not in flows):
                continue
            yield from differing(f"{table} {one['name']}", one["metrics"], other["metrics"], near)
            for key in ("counts", "internals", "switched"):
                if one.get(key) and other.get(key) and one[key] != other[key]:
                    yield f"{table} {one['name']}: {key}: {one[key]}, {other[key]}"
            for mine, theirs in zip(one.get("windows", ()), other.get("windows", ()), strict=False):
                yield from differing(
                    f"{table} {one['name']}, a window", mine, {**theirs, "scheme": mine["scheme"]}, near
                )
    if a.get("cells") != b.get("cells"):
        yield f"cells: {a.get('cells')}, {b.get('cells')}"


def differing(place: str, a: Document, b: Document, near: float) -> Iterator[str]:
    for name in a.keys() & b.keys():
        x, y = a[name], b[name]
        if x != y and not (isinstance(x, float) and isinstance(y, float) and math.isclose(x, y, rel_tol=near)):
            yield f"{place}: {name}: {x}, {y}"


def copied(document: Document) -> Document:
    found: Document = json.loads(json.dumps(document))
    return found


def marks(document: Document) -> Iterator[tuple[Document, str]]:
    """Yield every table with its key that puts a queue under test."""
    for link in document["links"]:
        yield link, "under_test"
        yield link, "reverse_under_test"
    for bus in document["buses"]:
        yield bus, "under_test"
        for port in bus.get("ports", ()):
            yield port, "under_test"
    for cell in document.get("cells", ()):
        yield cell, "under_test"
        yield cell, "access_point_under_test"


def named(document: Document, tested: list[str]) -> None:
    """Give every change that is of the queues under test their names."""
    changes = []
    for change in document.get("changes", ()):
        own = {"scheme", "parameters", "rate", "delay", "loss"} & {
            key for key, value in change.items() if value is not None
        }
        if own and not change.get("queue") and not change.get("link"):
            changes += [{**change, "queue": name} for name in tested]
        else:
            changes.append(change)
    document["changes"] = changes


QUEUE_OF: Final = {
    "under_test": "queue",
    "reverse_under_test": "reverse_queue",
    "access_point_under_test": "access_point_queue",
}
