"""Reading topologies: GraphML (Topology Zoo), ``topohub:GROUP/NAME``, CAIDA's as-rel files, edge lists."""

from __future__ import annotations

import math
import warnings
import xml.sax
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from xml.sax.handler import ContentHandler

from sojourn.base import extras, foreign
from sojourn.base.core import SojournError
from sojourn.base.units import rate_bit_s, time_ns
from sojourn.studies.topology.model import Link, Node, Topology, assemble

TOPOHUB: Final = "topohub:"
_DRAWN: Final = frozenset({"sndlib/india35"})
"""The coordinates of this topology are between 0 and 49 and are not those of places in India."""
_ENTITY: Final = "<!ENTITY"
_UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def load(source: str | Path) -> Topology:
    """Read a topology.

    The content tells the kind of a file: GraphML begins with ``<``, the first line of CAIDA's as-rel files
    (``1|2|-1``) has bars, anything else is an edge list. A name that ends in ``.bz2`` is decompressed.

    ============== ==================================================================================
    GraphML        Nodes with ``label``, ``Longitude``, ``Latitude``; edges with ``LinkSpeedRaw`` (bit/s), or
                   ``LinkSpeed`` and ``LinkSpeedUnits`` (K, M, G, T), and ``weight``, as Topology Zoo has them.
    ``topohub:``   A topology of the package ``topohub`` by group and name: ``topohub:sndlib/abilene``.
    as-rel         ``PROVIDER|CUSTOMER|-1`` or ``PEER|PEER|0`` a line. The kind of a relationship does not
                   restrict routing here.
    edge list      ``from, to[, rate[, delay[, weight]]]`` a line, with commas or (units without space) blanks;
                   ``-`` for a value that is not known; ``#`` begins a comment.
    ============== ==================================================================================

    Parameters
    ----------
    source
        A file, or ``topohub:GROUP/NAME``.

    Raises
    ------
    SojournError
        If there is no such topology, or it is not a good one; the message names file, line and key.
    """
    text = str(source)
    if text.startswith(TOPOHUB):
        return _topohub(text.removeprefix(TOPOHUB))
    path = Path(source)
    try:
        raw = foreign.read_bytes(path)
        content = (foreign.unpacked(raw, path) if path.suffix == ".bz2" else raw).decode("utf-8-sig")
    except FileNotFoundError:
        raise SojournError(
            f"there is no topology {text!r}: neither a file nor a name such as topohub:sndlib/abilene"
        ) from None
    except UnicodeDecodeError:
        raise SojournError(f"cannot read the topology {text!r}: it is not UTF-8 text") from None
    except OSError as error:
        raise SojournError(f"cannot read the topology {text!r}: {error.strerror or error}") from None
    return parse(content, source=text)


def parse(text: str, *, source: str) -> Topology:
    """Read a topology from the text of a file; `source` is what messages call it. See :func:`load`."""
    name = Path(source).name.removesuffix(".bz2").split(".")[0] or "topology"
    if text.lstrip().startswith("<"):
        return _graphml(text, source, name)
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    return _as_rel(text, source, name) if "|" in first else _edges(text, source, name)


def _topohub(key: str) -> Topology:
    where = f"{TOPOHUB}{key}"
    topohub = extras.need(where, "topohub", "place")
    try:
        with warnings.catch_warnings():
            # The package leaves the file that it reads to the garbage collector.
            warnings.simplefilter("ignore", ResourceWarning)
            # A name with a path in it would leave the package's folder.
            document: Mapping[str, Any] = topohub.get(key) if all(part.strip(".") for part in key.split("/")) else {}
    except (KeyError, OSError, ValueError):
        document = {}
    if not document:
        raise SojournError(
            f"there is no topology {where!r}; allowed: names such as topohub:sndlib/abilene, topohub:topozoo/Abilene "
            "or topohub:caida/2024-08/5384"
        )
    ids = {str(node["id"]): k for k, node in enumerate(document["nodes"])}
    nodes = []
    for node in document["nodes"]:
        longitude, latitude = map(float, node["pos"]) if node.get("pos") else (None, None)
        nodes.append(Node("", str(node.get("name") or node["id"]), longitude=longitude, latitude=latitude))
    links = [Link((ids[str(edge["source"])], ids[str(edge["target"])])) for edge in document["edges"]]
    demands = {
        (ids[str(a)], ids[str(b)]): float(value)
        for a, row in document["graph"].get("demands", {}).items()
        for b, value in row.items()
    }
    topology = assemble(key.rsplit("/", 1)[-1], nodes, links, demands)
    if key in _DRAWN or any(abs(node.longitude or 0) > 180 or abs(node.latitude or 0) > 90 for node in nodes):
        note = "places are points of a drawing and not degrees: no delays from them"
        return replace(topology, is_geographic=False).with_notes([note])
    return topology


class _GraphML(ContentHandler):
    """Collects nodes and edges with the lines where they begin."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source
        self._locator: Any = None
        self._keys: dict[str, str] = {}
        self._at: dict[str, Any] | None = None
        self._key = ""
        self._text: list[str] = []
        self._root = ""
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: list[dict[str, Any]] = []

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802 - sax calls it so
        line = self._locator.getLineNumber() if self._locator else 0
        if not self._root:
            self._root = name.rsplit(":", 1)[-1]
            if self._root != "graphml":
                raise SojournError(f"{self._source}, line {line}: {_other(name, attrs)}")
        match name.rsplit(":", 1)[-1]:
            case "key":
                self._keys[self._need(attrs, "id", name, line)] = attrs.get("attr.name") or attrs["id"]
            case "node":
                node = self._need(attrs, "id", name, line)
                if node in self.nodes:
                    raise SojournError(
                        f"{self._source}, line {line}: a second node {node!r}; allowed: one of each id"
                    )
                self._at = self.nodes[node] = {"": line}
            case "edge":
                ends = [self._need(attrs, key, name, line) for key in ("source", "target")]
                self._at = {"": line, "ends": ends}
                self.edges.append(self._at)
            case "data":
                self._key, self._text = self._keys.get(attrs.get("key", ""), attrs.get("key", "")), []

    def characters(self, content: str) -> None:
        self._text.append(content)

    def endElement(self, name: str) -> None:  # noqa: N802 - sax calls it so
        kind = name.rsplit(":", 1)[-1]
        if kind == "data" and self._at is not None:
            self._at[self._key] = "".join(self._text).strip()
        elif kind in ("node", "edge"):
            self._at = None

    def _need(self, attrs: Any, key: str, name: str, line: int) -> str:
        value: str | None = attrs.get(key)
        if value is None:
            raise SojournError(f"{self._source}, line {line}: <{name}> has no `{key}`; GraphML needs it")
        return value


def _other(root: str, attrs: Any) -> str:
    """Return what to say of XML that is not GraphML."""
    if "sndlib" in str(attrs.get("xmlns", "")):
        return (
            "is SNDlib's own XML, which is not read; allowed: GraphML, or the package topohub's copy of it by name, "
            "as in topohub:sndlib/abilene"
        )
    return f"the XML is <{root}>; allowed: GraphML, <graphml>"


_READ: Final = frozenset({"", "ends", "LinkSpeedRaw", "LinkSpeed", "LinkSpeedUnits", "weight"})
"""What is read of an edge."""
_LIKE_RATES: Final = ("capacity", "bandwidth", "speed", "rate", "delay", "latency")
"""Parts of the names of keys that others give to what is in the links of a scenario."""


def _unread(edges: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a note on keys of edges that look like rates or delays and are not read."""
    keys = sorted(
        {key for edge in edges for key in edge.keys() - _READ if any(part in key.lower() for part in _LIKE_RATES)}
    )
    if not keys or any(edge.get("LinkSpeedRaw") or edge.get("LinkSpeed") for edge in edges):
        return []
    names = ", ".join(f"`{key}`" for key in keys)
    return [f"{names} of edges not read, because GraphML says no unit: speeds are read from `LinkSpeedRaw` in bit/s"]


def _graphml(text: str, source: str, name: str) -> Topology:
    if _ENTITY in text:
        raise SojournError(f"{source}: it declares entities ({_ENTITY}); allowed: GraphML without any")
    handler = _GraphML(source)
    try:
        # As a text, whose encoding a declaration cannot change. Nothing is fetched from outside.
        xml.sax.parseString(text, handler)  # noqa: S317
    except xml.sax.SAXParseException as error:
        raise SojournError(
            f"{source}, line {error.getLineNumber()}: {error.getMessage()}; allowed: GraphML, well-formed XML"
        ) from None
    places = {key: k for k, key in enumerate(handler.nodes)}
    nodes = [
        Node(
            "",
            data.get("label") or key,
            longitude=_degrees(data, "Longitude", 180.0, source),
            latitude=_degrees(data, "Latitude", 90.0, source),
        )
        for key, data in handler.nodes.items()
    ]
    links = []
    for edge in handler.edges:
        for end in edge["ends"]:
            if end not in places:
                raise SojournError(f"{source}, line {edge['']}: an edge to node {end!r}, which is not there")
        a, b = (places[end] for end in edge["ends"])
        links.append(Link((a, b), rate_bit_s=_speed(edge, source), weight=_weight(edge, source)))
    return assemble(name, nodes, links).with_notes(_unread(handler.edges))


def _value(
    data: Mapping[str, Any], key: str, source: str, is_good: Callable[[float], bool], allowed: str
) -> float | None:
    """Return a number of a node or an edge, None where it has none."""
    if data.get(key) in (None, ""):
        return None
    value = _number(data[key])
    if value is None or not is_good(value):
        raise SojournError(f"{source}, line {data['']}: {key} is {data[key]!r}; allowed: {allowed}")
    return value


def _degrees(data: Mapping[str, Any], key: str, most: float, source: str) -> float | None:
    return _value(data, key, source, lambda value: abs(value) <= most, f"degrees from -{most:g} to {most:g}")


def _speed(edge: Mapping[str, Any], source: str) -> int | None:
    """Return an edge's rate in bit/s as Topology Zoo writes it."""
    is_raw = bool(edge.get("LinkSpeedRaw"))
    key, unit = ("LinkSpeedRaw", "") if is_raw else ("LinkSpeed", edge.get("LinkSpeedUnits"))
    if not edge.get(key) or unit is None:
        return None
    if unit not in _UNITS:
        raise SojournError(f"{source}, line {edge['']}: LinkSpeedUnits is {unit!r}; allowed: K, M, G, T")
    value = _value(edge, key, source, lambda value: value * _UNITS[unit] >= 1, "a number above 0")
    return round((value or 0) * _UNITS[unit])


def _weight(data: Mapping[str, Any], source: str) -> float | None:
    return _value(data, "weight", source, lambda value: value > 0, "a number above 0")


def _as_rel(text: str, source: str, name: str) -> Topology:
    places: dict[str, int] = {}
    links = []
    for line, row in _rows(text):
        parts = row.split("|")
        if len(parts) < 3 or not (parts[0].isdecimal() and parts[1].isdecimal()) or parts[2] not in ("-1", "0"):
            raise SojournError(
                f"{source}, line {line}: {row!r} is not a relationship; allowed: AS|AS|-1 (provider to customer) or "
                "AS|AS|0 (peers)"
            )
        a, b = (places.setdefault(part, len(places)) for part in parts[:2])
        links.append(Link((a, b)))
    return assemble(name, [Node("", f"AS{number}") for number in places], links)


def _edges(text: str, source: str, name: str) -> Topology:
    places: dict[str, int] = {}
    links = []
    for line, row in _rows(text):
        parts = [part.strip() for part in (row.split(",") if "," in row else row.split())]
        if not 2 <= len(parts) <= 5 or not (parts[0] and parts[1]):
            raise SojournError(
                f"{source}, line {line}: {row!r} is not a link; allowed: from, to[, rate[, delay[, weight]]], "
                "as in `a, b, 10 Mbit/s, 5 ms`"
            )
        a, b = (places.setdefault(part, len(places)) for part in parts[:2])
        given = [None if part in ("", "-") else part for part in [*parts[2:], "", "", ""][:3]]
        where = f"{source}, line {line}:"
        links.append(
            Link(
                (a, b),
                rate_bit_s=None if given[0] is None else rate_bit_s(given[0], f"{where} rate"),
                delay_ns=None if given[1] is None else time_ns(given[1], f"{where} delay"),
                weight=_weight({"": line, "weight": given[2]}, source),
            )
        )
    return assemble(name, [Node("", label) for label in places], links)


def _rows(text: str) -> list[tuple[int, str]]:
    """Return the lines that are neither empty nor comments, with their numbers."""
    rows = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, row) for number, row in rows if row]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
