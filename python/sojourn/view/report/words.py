"""A scenario in words, for the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn.base import core
from sojourn.model import recorded

_TRANSPORT_NAMES: Final = {"tcp": "TCP", "udp": "UDP"}


@dataclass(frozen=True, slots=True)
class Item:
    """One element of the network, its kind first; `details` are the parameters that the words leave out."""

    what: str
    name: str
    text: str
    details: str


def elements(scenario: Mapping[str, Any]) -> list[Item]:
    """Describe every link, bus, cell and group of flows of a canonical scenario, and its first changes."""
    counts = {node["name"]: int(node.get("count") or 1) for node in scenario.get("nodes") or ()}
    return [
        *(_link(link, counts) for link in scenario.get("links") or ()),
        *(_bus(bus, counts) for bus in scenario.get("buses") or ()),
        *(_cell(cell, counts) for cell in scenario.get("cells") or ()),
        *(_flow(flow, counts) for flow in scenario.get("flows") or ()),
        *_changes(scenario.get("changes") or ()),
    ]


_MOST_CHANGES: Final = 20


def _changes(changes: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
    for change in changes[:_MOST_CHANGES]:
        when = f"{_zero(change['at'])}" + (f", then every {change['every']}" if change.get("every") else "")
        where = change.get("queue") or change.get("link") or ""
        phase = f"phase “{change['phase']}”" if change.get("phase") else ""
        what = _rest(change, ("at", "every", "queue", "link", "phase"))
        yield Item("change", f"at {when}", _sentence([where, what, phase]), "")
    if len(changes) > _MOST_CHANGES:
        yield Item("change", "and more", f"{len(changes) - _MOST_CHANGES} further changes", "")


def _link(link: Mapping[str, Any], counts: Mapping[str, int]) -> Item:
    number = max(counts.get(link["from"], 1), counts.get(link["to"], 1))
    parts = [
        f"{_times(number)}{link['from']} – {link['to']}",
        _rates(link),
        _both(link, "delay", " each way"),
        f"{link['framing']} framing" if link.get("framing") else "",
        *(_effect(link, effect) for effect in core.link_effects()),
        f"{link['from']} → {link['to']} {_queue(link.get('queue'), link.get('under_test'))}",
    ]
    if link.get("reverse_queue") or link.get("reverse_under_test"):
        back = _queue(link.get("reverse_queue"), link.get("reverse_under_test"))
        parts.append(f"{link['to']} → {link['from']} {back}")
    parts.append(_device(link.get("device_queue")))
    used = [
        "name",
        "from",
        "to",
        "rate",
        "reverse_rate",
        "trace",
        "reverse_trace",
        "delay",
        "reverse_delay",
        "framing",
        *(effect[key] for effect in core.link_effects() for key in ("key", "reverse")),
        "queue",
        "under_test",
        "reverse_queue",
        "reverse_under_test",
        "device_queue",
    ]
    return Item("link", str(link["name"]), _sentence(parts), _rest(link, used))


def _both(link: Mapping[str, Any], key: str, same: str) -> str:
    """Say what a key is in the two directions, which `same` follows where it is the same."""
    there, back = link[key], link.get(f"reverse_{key}")
    return f"{there}{same}" if back is None else f"{there} ({back} back)"


def _rates(link: Mapping[str, Any]) -> str:
    """Say how fast a link is in the two directions; of a trace its name or kind."""
    there = _trace(link["trace"]) if link.get("trace") else str(link["rate"])
    back = _trace(link["reverse_trace"]) if link.get("reverse_trace") else link.get("reverse_rate")
    return there if back is None else f"{there} ({back} back)"


def _trace(trace: Mapping[str, Any]) -> str:
    if trace.get("states"):
        states = ", ".join(f"{state['rate']} for {state['mean']} on average" for state in trace["states"])
        return f"a random rate ({states})"
    return f"the rate of the trace {trace['name']}" if trace.get("name") else "a rate that changes over time"


def _effect(link: Mapping[str, Any], effect: core.Document) -> str:
    there, back = link.get(effect["key"]), link.get(effect["reverse"])
    return f"{effect['words']} {there or 'none'} ({back or 'none'} back)" if there or back else ""


def _bus(bus: Mapping[str, Any], counts: Mapping[str, int]) -> Item:
    stations = " and ".join(f"{_times(counts.get(name, 1))}{name}" for name in bus["stations"])
    parts = [
        f"one shared half-duplex channel (CSMA) with {stations}",
        str(bus["rate"]),
        f"{bus['delay']} propagation",
        f"every station's interface {_queue(bus.get('queue'), bus.get('under_test'))}",
        *(f"that of {one['name']} {_queue(one.get('queue'), one.get('under_test'))}" for one in bus.get("ports", ())),
        _device(bus.get("device_queue")),
    ]
    used = ["name", "stations", "rate", "delay", "queue", "under_test", "ports", "device_queue"]
    return Item("bus", str(bus["name"]), _sentence(parts), _rest(bus, used))


def _cell(cell: Mapping[str, Any], counts: Mapping[str, int]) -> Item:
    stations = " and ".join(f"{_times(counts.get(name, 1))}{name}" for name in cell["stations"])
    rates = ", ".join(f"{name} at {rate}" for name, rate in (cell.get("rates") or {}).items())
    parts = [
        f"one {cell.get('profile', '802.11g')} cell with {stations} and the access point {cell['access_point']}",
        rates,
        f"every station's interface {_queue(cell.get('queue'), cell.get('under_test'))}",
        f"the access point's {_queue(cell.get('access_point_queue'), cell.get('access_point_under_test'))}",
    ]
    used = [
        "name",
        "access_point",
        "stations",
        "profile",
        "rates",
        "queue",
        "under_test",
        "access_point_queue",
        "access_point_under_test",
    ]
    return Item("cell", str(cell["name"]), _sentence(parts), _rest(cell, used))


def _flow(flow: Mapping[str, Any], counts: Mapping[str, int]) -> Item:
    number = max(counts.get(flow["from"], 1), counts.get(flow["to"], 1))
    transport = dict(flow.get("transport") or {})
    kind = str(transport.pop("kind", "tcp"))
    control = transport.pop("congestion_control", None)
    parts = [
        f"{_times(number)}{flow['from']} → {flow['to']}",
        _TRANSPORT_NAMES.get(kind, kind) + (f" {str(control).upper()}" if control else ""),
        _traffic(flow.get("traffic") or {"kind": "bulk"}),
        _start(flow.get("start")),
        f"until {flow['stop']}" if flow.get("stop") else "",
    ]
    used = ["name", "from", "to", "traffic", "transport", "start", "stop"]
    details = "; ".join(filter(None, (_rest(transport, ()), _rest(flow, used))))
    return Item("flows", str(flow["name"]), _sentence(parts), details)


def _capture(capture: Mapping[str, Any] | None) -> str:
    if capture is None:
        return ""
    facts = recorded.words(capture["account"])
    return f" of {capture['file']} ({', '.join(f'{what}: {value}' for what, value in facts.items())})"


def _traffic(traffic: Mapping[str, Any]) -> str:
    kind = str(traffic.get("kind"))
    match kind:
        case "bulk":
            return "data without end"
        case "transfer":
            return f"a transfer of {traffic.get('size')}"
        case "cbr":
            return f"constant {traffic.get('rate')} in packets of {traffic.get('packet_size')}"
        case "replay":
            again = f", again every {traffic['period']}" if traffic.get("period") else ""
            return f"recorded packets{again}{_capture(traffic.get('capture'))}"
        case _:
            return f"{kind.replace('_', '/')} traffic ({_rest(traffic, ('kind',))})"


def _start(start: Any) -> str:
    match start:
        case None:
            return ""
        case {"uniform": [low, high]}:
            return f"starting uniformly between {_zero(low)} and {high}"
        case {"every": interval}:
            return f"one more starting every {interval}, from {_zero(start.get('first'))}"
        case Mapping():
            return f"starting by {_value(start)}"
        case _:
            return f"starting at {_zero(start)}"


def _zero(time: Any) -> str:
    """Write the start of time as ``0 s``; canonical documents have ``0 ns``."""
    return "0 s" if time in (None, "0 ns") else str(time)


def _queue(queue: Any, under_test: Any) -> str:
    if under_test:
        return f"with the queue under test (as written: {_value(queue) or 'the default'})"
    return f"queues in {_value(queue)}" if queue else "with the default queue"


def _device(device: Any) -> str:
    packets = str(device or "0").split()[0]
    if packets == "0":
        return "no device queue below it"
    return f"a device queue of {packets} packets below it"


def _times(number: int) -> str:
    return f"{number} × " if number > 1 else ""


def _sentence(parts: Sequence[str]) -> str:
    return ", ".join(filter(None, parts))


def _rest(table: Mapping[str, Any], used: Sequence[str]) -> str:
    return ", ".join(_rest_words(table, used))


def _rest_words(table: Mapping[str, Any], used: Sequence[str]) -> Iterator[str]:
    for key, value in table.items():
        if key not in used and value is not None:
            yield f"{key} {_value(value)}"


def _value(value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case {"kind": kind, **parameters}:
            return f"{kind} {' '.join(f'{key} {_value(inner)}' for key, inner in parameters.items())}".strip()
        case Mapping():
            return " ".join(f"{key} {_value(inner)}" for key, inner in value.items())
        case list() | tuple():
            return ", ".join(map(_value, value))
        case None:
            return ""
        case _:
            return str(value)
