"""Scenarios of a tuning: those that it learns from and those that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.base.core import Document, SojournError
from sojourn.model.network import load


@dataclass(frozen=True)
class Setting:
    """One scenario with its overrides, and whether the search never sees it."""

    label: str
    document: Document
    is_held_out: bool = False


def settings(scenario: str, sets: Sequence[str], variants: Sequence[str], *, held_out: bool) -> tuple[Setting, ...]:
    """Return a scenario, by its file or name, once for each value of each variant.

    A variant ``KEY=A,B`` makes one setting each for A and B; further overrides after ``;`` hold for all of it. The
    key ``flows`` is the number of nodes at both ends of the flows. Bad scenarios and overrides are refused.
    """
    made = []
    for variant in variants:
        first, *rest = (part.strip() for part in variant.split(";"))
        key, sign, values = first.partition("=")
        if not sign:
            raise SojournError(f"{variant!r} is not KEY=VALUE or KEY=A,B")
        for value in values.split(","):
            pairs = [f"{key.strip()}={value.strip()}", *rest]
            label = ", ".join(pairs).replace("=", " ")
            made.append(Setting(label, _load(scenario, [*sets, *pairs]), held_out))
    if not variants and not held_out:
        made.append(Setting("as written", _load(scenario, sets), held_out))
    return tuple(made)


def _load(scenario: str, sets: Sequence[str]) -> Document:
    plain = [pair for pair in sets if pair.partition("=")[0].strip() != "flows"]
    counts = [pair.partition("=")[2].strip() for pair in sets if pair not in plain]
    document = load(scenario, sets=plain).canonical()
    if counts:
        ends = {node for flow in document.get("flows") or () for node in (flow["from"], flow["to"])}
        groups = [node["name"] for node in document.get("nodes") or () if node["name"] in ends]
        if not groups:
            raise SojournError(f"flows={counts[-1]}: no flow of {scenario} has a group of nodes at its ends")
        more = [f"nodes.{name}.count={counts[-1]}" for name in groups]
        document = load(scenario, sets=[*plain, *more]).canonical()
    return document
