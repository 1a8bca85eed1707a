"""Traffic of several kinds as flows: names, ends, transports and starts, for :meth:`sojourn.Network.add`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from sojourn.base import core
from sojourn.base.errors import ScenarioError
from sojourn.base.units import s
from sojourn.model.draw import uniform
from sojourn.model.parts import Traffic


def flows(
    document: core.Document, traffic: Sequence[Traffic], ends: tuple[str | None, str | None]
) -> list[Mapping[str, Any]]:
    """Return the arguments of :meth:`sojourn.Network.flow` for each kind of traffic, between server and client."""
    source, sink = _ends(document, ends)
    taken = {str(flow["name"]) for flow in document.get("flows", ())}
    found: list[Mapping[str, Any]] = []
    for one in traffic:
        kind = str(one["kind"])
        name = next(name for k in count(1) if (name := f"{kind}{k}" if k > 1 else kind) not in taken)
        taken.add(name)
        found.append(
            {
                "name": name,
                "from_": source,
                "to": sink,
                "count": one.count,
                "traffic": one,
                "start": uniform(s(0), s(1)),
            }
        )
    return found


def _ends(document: core.Document, named: tuple[str | None, str | None]) -> tuple[str, str]:
    """Return where traffic comes from and goes to."""
    nodes = {str(link[end]) for link in document.get("links", ()) for end in ("from", "to")}
    known = ("server", "client") if {"server", "client"} <= nodes else None
    if given := document.get("flows"):
        known = (str(given[0]["from"]), str(given[0]["to"]))
    source, sink = named
    if known is None and (source is None or sink is None):
        raise ScenarioError(
            f"{document.get('name')!r} has neither flows nor the nodes server and client; "
            "allowed: from_=... and to=..."
        )
    return source or (known or ("", ""))[0], sink or (known or ("", ""))[1]
