"""Read-only tables of a scenario document: what a flow sends, how, and when flows start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sojourn.base.errors import ScenarioError
from sojourn.base.units import Time, as_text


class Part(Mapping[str, Any]):
    """A read-only table of a scenario document."""

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[str, Any]) -> None:
        kept = {key: value for key, value in table.items() if value is not None}
        self._table = MappingProxyType(kept)

    def __getitem__(self, key: str) -> Any:
        return self._table[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self._table.items())
        return f"{type(self).__name__}({inside})"


class Traffic(Part):
    """What a flow sends. Sizes and rates are the application's payload.

    `count` are users or flows of it, for :meth:`Network.add`.
    """

    __slots__ = ("count",)

    def __init__(self, table: Mapping[str, Any], count: int | None = None) -> None:
        super().__init__(table)
        if count is not None and (type(count) is not int or count < 1):
            raise ScenarioError(
                f"the number of {table.get('kind')} flows is {count!r}; allowed: a whole number from 1"
            )
        self.count = count


class Transport(Part):
    """How a flow sends it."""


class Start(Part):
    """When the flows of a group start."""


def every(interval: Time, *, first: Time | None = None) -> Start:
    """Flow i of a group starts at `first` + i times `interval`."""
    return Start(
        {
            "first": None if first is None else as_text("first", first, "time"),
            "every": as_text("interval", interval, "time"),
        }
    )
