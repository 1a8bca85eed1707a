"""The methods of a network that add an element to one of the document's lists."""

from typing import Any, Final

from sojourn.model.builders import Table, tables

LISTS: Final = {
    "node": ("NodeTable", "nodes"),
    "link": ("LinkTable", "links"),
    "bus": ("BusTable", "buses"),
    "cell": ("CellTable", "cells"),
    "flow": ("FlowTable", "flows"),
    "change": ("ChangeTable", "changes"),
}
"""The table that each method adds, and the list that it is added to."""


class Elements:
    """Something with a method for each of these tables; it keeps them with ``_with(list, table)``."""

    __slots__ = ()


class _Method:
    """A method that is made when it is first used."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        table, key = LISTS[self.name]
        made = Table(tables()[table]).function(
            f"Elements.{self.name}", {"self": ""}, "Self", lambda document, network: network._with(key, document)
        )
        made.__module__ = __name__
        setattr(Elements, self.name, made)
        return made.__get__(instance, owner)


for _name in LISTS:
    setattr(Elements, _name, _Method(_name))
