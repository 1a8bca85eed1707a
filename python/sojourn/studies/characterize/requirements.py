"""The items of RFC 7928, section 13, and of the sections that it does not list, with their weights."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Item:
    """One item with its weight, or who asks for it, and the scenarios that do it; none for a section of text."""

    section: str
    what: str
    weight: str
    by: tuple[str, ...] = ()


TABLE: Final = (
    Item("2", "metrics: completion, startup, loss, synchronisation, goodput, delay", "must", ("5.1.1",)),
    Item("3", "topology, buffer and congestion controls", "must", ("5.1.1",)),
    Item("4.1", "description of the setup", "must"),
    Item("4.3", "similar parameters, over a range", "should", ("4.3",)),
    Item("4.4", "packet sizes and congestion notification", "should", ("4.4",)),
    Item("4.5", "interaction with ECN", "must", ("4.5",)),
    Item("4.6", "interaction with scheduling", "should"),
    Item("5.1", "TCP-friendly sender", "must", ("5.1.1", "5.1.2")),
    Item("5.2", "aggressive sender", "must", ("5.2",)),
    Item("5.3", "unresponsive sender", "must", ("5.3a", "5.3b")),
    Item("5.4", "less-than-best-effort sender", "may", ("5.4",)),
    Item("6.2", "round-trip times and fairness", "must", ("6.2",)),
    Item("7.2", "burst absorption", "must", ("7.2-I", "7.2-II", "7.2-III", "7.2-IV")),
    Item("8.2.2", "mild, medium and heavy congestion", "should", ("8.2.2",)),
    Item("8.2.5", "varying congestion", "must", ("8.2.5",)),
    Item("8.2.6", "varying capacity", "must", ("8.2.6-1", "8.2.6-2")),
    Item("8.3", "parameter sensitivity and stability", "should"),
    Item("9.1", "traffic mix", "recommended", ("9.1",)),
    Item("9.2", "traffic in both directions", "may", ("9.2",)),
    Item("10.2", "several AQMs on a path", "may", ("10.2", "10.2-2")),
    Item("11", "implementation cost", "should"),
    Item("12", "operator control and auto-tuning", "should"),
)  # fmt: skip


def state(item: Item, done: Set[str], skipped: Mapping[str, str], *, cost: str = "") -> str:
    """Return whether an item was done; `cost` is the section of costs if they were not measured."""
    if item.section == cost:
        return "not measured"
    if all(section in done for section in item.by):
        return "done"
    why = [skipped[section] for section in item.by if section in skipped]
    return why[0] if why else "not run"
