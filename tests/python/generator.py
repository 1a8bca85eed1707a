"""Scenarios and schemes by chance, valid ones only: from the JSON Schema of scenarios and the registry of algorithms.

A number gives a scenario, always the same. Networks are drawn as a whole, because links and flows must fit; every
other key, and its value, is drawn from the schema. What the library refuses is taken out again, key by key.
"""

from __future__ import annotations

import json
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from sojourn.base import core
from sojourn.base.core import Document, SojournError

PACKETS: Final = 4000
"""Packets that the links of a scenario may carry in a run, about: it decides how long a run is."""

_REPAIRS: Final = 40
_PLACE: Final = re.compile(r"key `([^`]+)`")
_STEP: Final = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Generated:
    """A scenario by chance.

    Parameters
    ----------
    number
        That it was made from.
    written
        As a user would write it: only the keys that were drawn.
    document
        Canonical.
    scheme
        For the queues under test, as tc writes it.
    """

    number: int
    written: Document
    document: Document
    scheme: str


class Draw(random.Random):
    """Chance."""

    def once_in(self, n: float) -> bool:
        """Return True in one of `n` draws."""
        return self.random() * n < 1

    def between(self, least: float, most: float) -> float:
        """Draw from a range, each factor as likely."""
        return float(least * (most / least) ** self.random())

    def time(self, least_ms: float, most_ms: float) -> str:
        """Draw a time of whole and even microseconds, which can be halved."""
        return f"{2 * max(1, round(self.between(least_ms, most_ms) * 500))} us"

    def rate(self, least_kbit_s: float, most_kbit_s: float) -> str:
        """Draw a rate of whole and even kbit/s, often a round one."""
        value = self.between(least_kbit_s, most_kbit_s)
        if self.once_in(2):
            value = max((x for x in _ROUND if x <= value), default=value)
        return f"{2 * max(1, round(value / 2))} kbit/s"

    def data(self, least: float, most: float) -> str:
        """Draw a number of bytes."""
        return f"{round(self.between(least, most))} B"

    def packets(self, least: float, most: float) -> str:
        """Draw a number of packets."""
        return f"{round(self.between(least, most))} p"

    def probability(self) -> str:
        """Draw a probability."""
        return self.choice(("0", "1", "50%", f"{self.between(1e-4, 1):.3g}", f"{self.between(1e-4, 0.1):.3g}"))


_ROUND: Final = [mantissa * 10**power for power in range(1, 6) for mantissa in (1, 2, 4, 5, 8)]
"""Rates in kbit/s at which a byte takes a whole number of nanoseconds."""


def generate(number: int) -> Generated:
    """Return the scenario of a number."""
    draw = Draw(number)
    for _ in range(20):
        written = _network(draw)
        canonical = _repaired(written)
        if canonical is not None:
            return Generated(number, written, canonical, scheme(draw))
    raise AssertionError(f"nothing valid from {number}: {written}")


def load(document: Document) -> Document:
    """Return the canonical form; without the warnings of keys that have no effect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return core.load(json.dumps(document), source="generated")


def is_valid(document: Document) -> bool:
    """Whether the library takes it."""
    try:
        load(document)
    except SojournError:
        return False
    return True


# What is refused.


def _repaired(document: Document) -> Document | None:
    """Take out what is refused; return the canonical form, or None where nothing helps."""
    last, up = None, 0
    for _ in range(_REPAIRS):
        try:
            return load(document)
        except SojournError as error:
            place = _PLACE.search(str(error))
            if place is None:
                return None
            path: list[str | int] = [int(x) if x.isdigit() else x for x in _STEP.findall(place[1])]
            up = up + 1 if path == last else 0
            last = path
            if not _take_out(document, path[: len(path) - up]):
                return None
    return None


def _take_out(document: Any, path: Sequence[str | int]) -> bool:
    """Take out the value at a path, or the nearest one around it that is there."""
    for length in range(len(path), 0, -1):
        inner = document
        try:
            for step in path[: length - 1]:
                inner = inner[step]
            del inner[path[length - 1]]
        except (KeyError, IndexError, TypeError):
            continue
        return True
    return False


# Schemes.


def scheme(draw: Draw, name: str | None = None) -> str:
    """Return a scheme as tc writes it, with some of its parameters within their bounds."""
    known = {one["name"]: one for one in _schemes()}
    about = known[name or draw.choice(sorted(known))]
    text = str(about["name"])
    if about["presets"] and draw.once_in(4):
        text += f" preset {draw.choice(about['presets'])}"
    elif text.endswith("daqm"):
        text += f" preset {draw.choice(about['presets'])} interarrival 1ms"
    text = _accepted(text) or str(about["name"])
    parameters = list(about["parameters"])
    chosen = draw.sample(parameters, draw.choice((0, 1, 2, 4)) % (len(parameters) + 1))
    if draw.once_in(2):
        chosen += [one for one in parameters if one["name"] == "limit" and one not in chosen]
    for one in chosen:
        text = _accepted(f"{text} {_parameter(draw, one)}") or text
    return text


@cache
def _schemes() -> tuple[Document, ...]:
    return core.aqms()


def _accepted(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            core.parse_aqm(text)
    except SojournError:
        return None
    return text


def _parameter(draw: Draw, about: Document) -> str:
    name, kind = about["name"], about["kind"]
    if kind == "flag":
        return name if draw.once_in(2) else f"no{name}"
    if kind == "choice":
        return f"{name} {draw.choice(about['words'])[0]}"
    if kind == "number":
        default = str(about["default"])
        usual = float(default) if re.fullmatch(r"[\d.e-]+", default) else 1.0
        return f"{name} {usual * draw.between(0.25, 4):.6g}"
    return f"{name} {_PARAMETERS[kind](draw)}"


def _some_time(draw: Draw) -> str:
    return draw.time(0.1, 300).replace(" ", "")


def _some_packets(draw: Draw) -> str:
    return draw.packets(1, 300).replace(" ", "")


_FORMULAS: Final = ("min(1,(n/50)^2)", "(sojourn-5ms)/50ms", "0.1*utilisation", "max(0,average-5p)/20p")
_PARAMETERS: Final[dict[str, Callable[[Draw], str]]] = {
    "probability": Draw.probability,
    "packets": _some_packets,
    "packets or bytes": _some_packets,
    "packets, bytes or time": _some_packets,
    "bytes": lambda draw: draw.data(64, 64_000).replace(" ", ""),
    "time": _some_time,
    "time or packets": _some_time,
    "time or measured": _some_time,
    "rate": lambda draw: draw.rate(100, 50_000).replace(" ", ""),
    "count": lambda draw: f"{round(draw.between(1, 1024))}",
    "table": lambda draw: f"0:0,{draw.randrange(1, 20)}:{draw.random():.3f},{draw.randrange(20, 99)}:1",
    "formula": lambda draw: draw.choice(_FORMULAS),
    "codepoint": lambda draw: draw.choice(("NQB", "EF", "none")),
    "value/mask": lambda draw: draw.choice(("0/0x3", "1/0x3", "0x0/0xfc")),
}
"""Values of parameters by their kind."""


# Networks.


def _network(draw: Draw) -> Document:
    base = draw.between(300, 60_000)
    shape = draw.choice(_SHAPES)
    document: Document = {"name": draw.choice(("generated", "a b", "ü", "x.y"))}
    ends = shape(draw, document, base)
    _flows(draw, document, ends, base)
    links = len(document.get("links", ())) + 2 * len(document.get("buses", ())) + 3 * len(document.get("cells", ()))
    seconds = min(3.0, max(0.2, PACKETS * 8000 / (base * 1e3) / max(1, links)))
    duration_us = 2 * round(seconds * draw.between(0.5, 1) * 5e5)
    document["duration"] = f"{duration_us} us"
    if draw.once_in(2):
        document["warm_up"] = f"{2 * round(duration_us * draw.random() * 0.3)} us"
    document["seed"] = draw.randrange(2**32)
    if draw.once_in(6):
        document["windows"] = draw.packets(5, 200)
    if draw.once_in(6):
        document["series"] = {"interval": f"{2 * round(duration_us / draw.randrange(10, 80))} us"}
        document["series"] |= {key: True for key in ("flows", "internals") if draw.once_in(2)}
    for link in document.get("links", ()):
        for key in ("trace", "reverse_trace"):
            _trace(draw, link, key, base)
    _changes(draw, document, duration_us, base)
    _drawn_keys(draw, document, base)
    if draw.once_in(6):
        document["pooled"] = True
    return document


Ends = list[tuple[str, str]]
"""Pairs of nodes between which there is a way."""


def _link(draw: Draw, name: str, ends: tuple[str, str], kbit_s: float, *, tested: bool = False) -> Document:
    link: Document = {"name": name, "from": ends[0], "to": ends[1], "rate": draw.rate(kbit_s / 1.5, kbit_s * 1.5)}
    link["delay"] = draw.choice(("0 s", draw.time(0.01, 30), draw.time(0.01, 30)))
    if draw.once_in(2) or tested:
        link["queue"] = scheme(draw)
    if draw.once_in(3):
        link["reverse_queue"] = scheme(draw)
    if tested:
        link["under_test"] = True
    if draw.once_in(5):
        link["reverse_under_test"] = True
    return link


def _single(draw: Draw, document: Document, base: float) -> Ends:
    document["links"] = [_link(draw, "wire", ("a", "b"), base, tested=not draw.once_in(6))]
    return [("a", "b"), ("b", "a")]


def _chain(draw: Draw, document: Document, base: float) -> Ends:
    """A parking lot: links in a row, flows over some of them."""
    count = draw.randrange(2, 5)
    rates = [base * draw.between(0.5, 3) for _ in range(count)]
    document["links"] = [
        _link(draw, f"hop{i}", (f"r{i}", f"r{i + 1}"), rate, tested=draw.once_in(2)) for i, rate in enumerate(rates)
    ]
    nodes = [f"r{i}" for i in range(count + 1)]
    return [(nodes[0], nodes[-1]), (nodes[-1], nodes[0])] + [
        (a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :] if (a, b) != (nodes[0], nodes[-1])
    ]


def _dumbbell(draw: Draw, document: Document, base: float) -> Ends:
    count = draw.randrange(1, 5)
    document["nodes"] = [{"name": "s", "count": count}, {"name": "d", "count": count}]
    document["links"] = [
        _link(draw, "bottleneck", ("left", "right"), base, tested=True),
        _link(draw, "in", ("s", "left"), base * draw.between(1, 5)),
        _link(draw, "out", ("right", "d"), base * draw.between(1, 5)),
    ]
    return [("s", "d"), ("d", "s"), ("s0", "d0"), ("left", "d"), ("s", "right")]


def _access(draw: Draw, document: Document, base: float) -> Ends:
    """A line with both directions under test."""
    up = base * draw.between(0.1, 1)
    line = {
        "name": "line",
        "from": "isp",
        "to": "home",
        "rate": {"down": draw.rate(base, base * 1.2), "up": draw.rate(up, up * 1.2)},
        "delay": {"down": draw.time(0.5, 20), "up": draw.time(0.5, 20)},
        "queue": {"down": scheme(draw), "up": scheme(draw)},
        "under_test": {"down": True, "up": not draw.once_in(4)},
    }
    if draw.once_in(2):
        line["framing"] = draw.choice(("docsis", "pppoe-ptm", "ethernet ether-vlan", "pppoe-llcsnap"))
    document["links"] = [line, _link(draw, "lan", ("home", "pc"), base * draw.between(1, 4))]
    return [("isp", "pc"), ("pc", "isp"), ("isp", "home")]


def _bus(draw: Draw, document: Document, base: float) -> Ends:
    document["nodes"] = [{"name": "client", "count": draw.randrange(1, 5)}]
    bus: Document = {"name": "lan", "stations": ["client", "server"], "rate": draw.rate(base, base * 2)}
    bus["delay"] = draw.time(0.002, 0.02)
    if draw.once_in(2):
        bus |= {"queue": scheme(draw), "under_test": draw.once_in(2)}
    if draw.once_in(3):
        bus["ports"] = [{"name": "server", "queue": scheme(draw), "under_test": draw.once_in(2)}]
    document["buses"] = [bus]
    if draw.once_in(2):
        return [("client", "server"), ("server", "client"), ("client0", "server")]
    document["links"] = [_link(draw, "wire", ("server", "far"), base, tested=draw.once_in(2))]
    return [("client", "far"), ("far", "client"), ("client0", "server")]


def _cell(draw: Draw, document: Document, base: float) -> Ends:
    document["nodes"] = [{"name": "sta", "count": draw.randrange(1, 4)}]
    cell: Document = {"name": "wifi", "access_point": "ap", "stations": ["sta"]}
    if draw.once_in(2):
        cell |= {"queue": scheme(draw), "under_test": draw.once_in(2)}
    if draw.once_in(2):
        cell |= {"access_point_queue": scheme(draw), "access_point_under_test": not draw.once_in(3)}
    if draw.once_in(4):
        cell |= {"rates": {"sta0": draw.choice(("6 Mbit/s", "1 Mbit/s"))}, "delay": draw.time(0.002, 0.01)}
    document["cells"] = [cell]
    document["links"] = [_link(draw, "wire", ("ap", "far"), base, tested=draw.once_in(2))]
    return [("sta", "far"), ("far", "sta"), ("sta0", "ap"), ("ap", "sta")]


_SHAPES: Final[tuple[Callable[[Draw, Document, float], Ends], ...]] = (
    _single,
    _single,
    _chain,
    _chain,
    _dumbbell,
    _access,
    _bus,
    _cell,
)


def _trace(draw: Draw, link: Document, key: str, base: float) -> None:
    """A rate that changes, in place of a constant one."""
    if not draw.once_in(16) or isinstance(link.get("rate"), dict):
        return
    match draw.randrange(3):
        case 0:
            starts = sorted({0, *(draw.randrange(2, 1000, 2) for _ in range(draw.randrange(1, 4)))})
            link[key] = {"rates": [[f"{at} ms", draw.rate(base / 3, base * 2)] for at in starts]}
            link[key] |= draw.choice(({}, {"hold": True}, {"period": "1200 ms"}))
        case 1:
            gaps = " ".join(str(draw.randrange(1, 12)) for _ in range(draw.randrange(2, 30)))
            link[key] = {"opportunities": f"{gaps} 5x3"}
        case _:
            rates = "0 bit/s", draw.rate(base / 3, base * 2), draw.rate(base / 3, base * 2)
            link[key] = {"states": [{"rate": rate, "mean": draw.time(5, 200)} for rate in rates[draw.randrange(2) :]]}
    if draw.once_in(3):
        link[key]["window"] = draw.time(5, 300)
    if key == "trace":
        link.pop("rate")
        if draw.once_in(2):
            link["reverse_rate"] = draw.rate(base / 2, base)


def _changes(draw: Draw, document: Document, duration_us: int, base: float) -> None:
    changes: list[Document] = []
    for _ in range(draw.choice((0, 0, 0, 1, 2, 3))):
        change: Document = {"at": f"{2 * round(duration_us * draw.random() * 0.48)} us"}
        links = document.get("links", ())
        if links and draw.once_in(1.5):
            link = draw.choice(links)
            if draw.once_in(2):
                change["link"] = link["name"]
            else:
                change["queue"] = f"{link['from']}->{link['to']}"
        group, of_nothing = draw.choice(document["flows"])["name"], {"at": change["at"]}
        change = draw.choice(
            (
                {**change, "rate": draw.rate(base / 3, base * 2)},
                {**change, "delay": draw.time(0.1, 30)},
                {**change, "loss": draw.probability()},
                {**change, "scheme": scheme(draw)},
                {**change, "parameters": draw.choice(("limit 5p", "limit 100p", "target 2ms", "ecn"))},
                {**of_nothing, draw.choice(("stop", "start")): [group]},
                {**of_nothing, "phase": draw.choice(("early", "late", "a, b"))},
            )
        )
        if draw.once_in(4):
            change["phase"] = draw.choice(("early", "late"))
        if draw.once_in(8):
            change["every"] = f"{2 * round(duration_us * draw.between(0.05, 0.5) / 2)} us"
        changes.append(change)
    if changes:
        document["changes"] = changes


# Flows.


def _flows(draw: Draw, document: Document, ends: Ends, base: float) -> None:
    flows = []
    for number in range(draw.choice((1, 1, 2, 2, 3, 4))):
        pair = ends[0] if draw.once_in(2) else draw.choice(ends)
        kind = draw.choice([one["name"] for one in core.traffic_kinds()])
        if draw.once_in(3):
            kind = "bulk"
        flow: Document = {"name": f"{draw.choice(('f', 'bulk', 'x-', 'Y_'))}{number}", "from": pair[0], "to": pair[1]}
        flow["transport"] = _tcp(draw) if kind in _OF_TCP else _udp(draw)
        if kind not in _OF_TCP and draw.once_in(8) and "echo" not in flow["transport"]:
            flow["transport"] = _tcp(draw)
        flow["traffic"] = _traffic(draw, kind, base)
        flow["count"] = draw.choice((1, 1, 1, 2, 4))
        if pair == ends[0] and "hop1" in str(document.get("links")) and draw.once_in(4):
            flow["route"] = ["r1"]
        flow["start"] = draw.choice(
            (
                "0 s",
                draw.time(0.1, 100),
                {"first": draw.time(0.1, 20), "every": draw.time(0.1, 20)},
                {"uniform": ["0 s", draw.time(1, 100)]},
            )
        )
        if draw.once_in(5):
            flow["stop"] = draw.time(50, 1500)
        if draw.once_in(5):
            flow["dscp"] = draw.choice(("EF", "CS1", "AF41", "NQB", "LE"))
        flows.append(flow)
    document["flows"] = flows


_OF_TCP: Final = ("bulk", "transfer", "web", "video", "request_response")


def _udp(draw: Draw) -> Document:
    transport: Document = {"kind": "udp"}
    if draw.once_in(6):
        transport["echo"] = True
    if draw.once_in(6):
        transport["header"] = draw.data(1, 60)
    return transport


def _tcp(draw: Draw) -> Document:
    transport: Document = {"kind": "tcp"}
    if not draw.once_in(3):
        control = draw.choice([one["name"] for one in core.congestion_controls()])
        transport["congestion_control"] = control
        if control in ("dctcp", "prague"):
            transport["ecn"] = True
        if control == "prague":
            transport["ect"] = 1
    if draw.once_in(3):
        transport["ecn"] = True
    if draw.once_in(4):
        # What goes with it.
        transport["recovery"] = "rack"
        transport |= {key: True for key in ("undo", "tail_loss_probe", "segmentation_offload") if draw.once_in(3)}
        if draw.once_in(3):
            transport["timer_tick"] = draw.choice(("1 ms", "4 ms"))
    return transport


def _traffic(draw: Draw, kind: str, base: float) -> Document:
    packet_size = draw.choice((draw.data(100, 1400), draw.data(700, 1472), {"uniform": ["80 B", "1400 B"]}))
    steady: Document = {"rate": draw.rate(base / 10, base * 1.5), "packet_size": packet_size}
    per_second = round(draw.between(10, max(20, min(3000, base / 4))), 1)
    gap: Document = {"scale": draw.time(max(0.3, 500 / per_second), 50), "shape": round(draw.between(0.6, 3), 2)}
    periods = {key: _span(draw, 2, 200) for key in ("on", "off")}
    low = draw.between(base / 20, base / 2)
    packets = [f"{2 * draw.randrange(1000, 10_000_000)}:{draw.randrange(20, 1400)}" for _ in range(5)]
    packets.append(f"{2 * draw.randrange(10**5, 10**7)}:800x20")
    sizes = {draw.data(100, 2000): 0.75, draw.data(3000, 50_000): 0.25}
    drawn: dict[str, Document] = {
        "bulk": {"after": draw.time(1, 100), "first": draw.data(1, 3000)} if draw.once_in(6) else {},
        "transfer": {"size": draw.data(1, 300_000)},
        "cbr": steady,
        "vbr": {**steady, **periods},
        "on_off": {**steady, **periods},
        "poisson": draw.choice((steady, {"packets_per_second": per_second, "packet_size": packet_size})),
        "switched_poisson": {
            "packets_per_second": [per_second, round(per_second * draw.between(0.1, 3), 1)],
            "hold": [draw.time(5, 200), draw.time(5, 200)],
            "packet_size": packet_size,
        },
        "pareto": {**gap, "packet_size": packet_size},
        "weibull": {**gap, "packet_size": packet_size},
        "web": {
            "objects": draw.randrange(1, 20),
            "object_size": draw.data(100, 30_000),
            "connections": draw.randrange(1, 7),
            "pause": _span(draw, 10, 300),
        },
        "video": {
            "rates": [f"{round(low * (k + 1))} kbit/s" for k in range(draw.randrange(1, 4))],
            "segment": draw.time(100, 500),
            "buffer": draw.time(1000, 3000),
        },
        "voip": {},
        "gaming": {"interval": draw.time(2, 30)},
        "request_response": {
            "pause": _span(draw, 1, 200),
            **draw.choice(({"response_size": draw.data(100, 50_000)}, {"response_sizes": sizes})),
        },
        "replay": {
            "packets": " ".join(packets),
            **draw.choice(({}, {"period": draw.time(500, 900)})),
        },
    }
    return {"kind": kind, **drawn.get(kind, {})}


def _span(draw: Draw, least_ms: float, most_ms: float) -> Any:
    """A time, or a random time."""
    fixed = draw.time(least_ms, most_ms)
    exponential = {"exponential": {"mean": fixed}}
    pareto = {"pareto": {"scale": fixed, "shape": round(draw.between(1.1, 3), 2)}}
    return draw.choice((fixed, fixed, exponential, pareto))


# Every other key, by the schema.


_DRAWN_AS_A_WHOLE: Final = frozenset(
    """
    name description from to count route ack_route file trace reverse_trace rate reverse_rate rates delay
    stations ports access_point kind duration warm_up seed series windows changes start stop traffic
    transport nodes links buses cells flows queue reverse_queue access_point_queue under_test
    reverse_under_test access_point_under_test packets states opportunities period size scale shape hold on
    off packet_size packets_per_second object_size objects connections segment buffer congestion_control
    pause response_size response_sizes after first timer_tick pooled capture
    """.split()  # noqa: SIM905
)
"""Keys that the functions above choose."""

_TIMES_MS: Final = {
    "slot": (0.005, 0.02),
    "sifs": (0.005, 0.02),
    "symbol": (0.002, 0.005),
    "preamble": (0.01, 0.2),
    "control_preamble": (0.01, 0.2),
    "answer_timeout": (0.05, 0.4),
    "eifs": (0.05, 0.4),
    "aggregate_duration": (0.5, 5),
    "reverse_delay": (0.1, 30),
    "min_rto": (10, 1000),
    "max_rto": (1000, 9000),
    "initial_rto": (50, 3000),
    "timer_tick": (0.1, 10),
    "timestamp_tick": (0.1, 10),
    "self_probes": (10, 200),
    "frame": (5, 40),
}
_DATA: Final = {
    "mss": (200, 1448),
    "overhead": (1, 60),
    "burst": (1500, 30_000),
    "reverse_burst": (1500, 30_000),
    "send_buffer": (3000, 300_000),
    "receive_buffer": (3000, 300_000),
    "mac_header": (10, 60),
    "request_size": (40, 1400),
}
_COUNTS: Final = {"cw_min": (1, 31), "cw_max": (31, 1023), "ect": (0, 1), "replications": (1, 4)}
_NUMBERS: Final = {"frame_error_rate": (0.001, 0.3), "ledbat_gain": (0.1, 1)}


def _drawn_keys(draw: Draw, document: Document, base: float) -> None:
    for link in document.get("links", ()):
        _more(draw, link, "LinkTable", 14, base)
    for bus in document.get("buses", ()):
        _more(draw, bus, "BusTable", 6, base)
    for cell in document.get("cells", ()):
        _more(draw, cell, "CellTable", 12, base)
    for flow in document["flows"]:
        _more(draw, flow, "FlowTable", 9, base)
        _more(draw, flow["transport"], "TransportTable", 14, base)
        _more(draw, flow["traffic"], "TrafficTable", 5, base)


@cache
def _definitions() -> Document:
    found: Document = core.schema()["$defs"]
    return found


def _more(draw: Draw, table: Document, name: str, once_in: int, base: float) -> None:
    """Add keys of a table that the schema has, each once in so many tables."""
    schema = _definitions()[name]
    for choice in schema.get("oneOf", ()):
        if choice["properties"]["kind"]["const"] == table["kind"]:
            schema = choice
    for key, what in schema["properties"].items():
        if key not in table and key not in _DRAWN_AS_A_WHOLE and draw.once_in(once_in):
            table[key] = _value(draw, key, what, base)


_FRAMINGS: Final = ("ethernet", "docsis", "pppoe-llcsnap", "ether-vlan", "conservative", "overhead 10 mpu 64")
_QUANTITIES: Final[dict[str, Callable[[Draw, str, float], str]]] = {
    "time": lambda draw, key, _: draw.time(*_TIMES_MS.get(key, (0.2, 200))),
    "data": lambda draw, key, _: draw.data(*_DATA.get(key, (1, 100_000))),
    "packets": lambda draw, _key, _: draw.packets(1, 60),
    "rate": lambda draw, _, base: draw.rate(base / 5, base * 2),
    "probability": lambda draw, _key, _: draw.choice(("1%", draw.probability())),
    "loss": lambda draw, _key, _: draw.choice(("1%", "gemodel 2% 30%", draw.probability())),
    "jitter": lambda draw, _key, _: draw.time(0.1, 10) + draw.choice(("", " normal", " ordered", " normal ordered")),
    "framing": lambda draw, _key, _: draw.choice(_FRAMINGS),
    "scheme": lambda draw, _key, _: scheme(draw),
    "codepoint": lambda draw, _key, _: draw.choice(("EF", "CS1")),
}
"""Values that the schema only names, which leave something to see in a short run."""


def _value(draw: Draw, key: str, schema: Document, base: float) -> Any:
    """Draw a value that the schema allows."""
    if "$ref" in schema:
        return _named(draw, key, schema["$ref"].rpartition("/")[2], base)
    for many in ("enum", "anyOf", "oneOf"):
        if many in schema:
            choices = [one for one in schema[many] if not (isinstance(one, dict) and one.get("type") == "null")]
            one = draw.choice(choices)
            return one if many == "enum" else _value(draw, key, one, base)
    if "const" in schema:
        return schema["const"]
    kinds = schema["type"]
    if "object" in kinds:
        wanted, inner = schema.get("required", ()), schema.get("properties", {})
        return {one: _value(draw, one, what, base) for one, what in inner.items() if one in wanted}
    numbers = {
        # The other one than what it is anyway.
        "boolean": not schema.get("default", False),
        "integer": draw.randint(*_COUNTS.get(key, (1, 16))),
        "number": round(draw.between(*_NUMBERS.get(key, (0.01, 1))), 4),
    }
    return numbers[kinds[0] if isinstance(kinds, list) else kinds]


def _named(draw: Draw, key: str, name: str, base: float) -> Any:
    """Draw a value of a definition of the schema."""
    plain = name.removesuffix("_or_none").removeprefix("directed_")
    if name.endswith("_or_none") and draw.once_in(4):
        return "none"
    definition = _definitions()[plain]
    if plain not in _QUANTITIES and definition.get("type") == "string":
        # What a text may be, its description shows: as in "100 ms every 1 s".
        return draw.choice(re.findall(r'"([^"]+)"', definition["description"].rpartition("as in ")[2]))
    if plain not in _QUANTITIES:
        return _value(draw, key, definition, base)
    if name.startswith("directed_") and draw.once_in(2):
        ways = draw.choice((("down",), ("up",), ("down", "up")))
        return {way: _QUANTITIES[plain](draw, key, base) for way in ways}
    return _QUANTITIES[plain](draw, key, base)


def smaller(document: Document) -> Iterator[Document]:
    """Yield documents with less in them: without a table, without a key, over one link, shorter."""

    def places(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
        inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, one in inner:
            yield (*path, step)
            yield from places(one, (*path, step))

    # Large things first.
    for path in sorted(places(document, ()), key=len):
        if path[0] not in ("name", "seed", "duration"):
            copy = json.loads(json.dumps(document))
            if _take_out(copy, path):
                yield copy
    ends = [(link["from"], link["to"]) for link in document.get("links", ())]
    for number, flow in enumerate(document["flows"]):
        if (flow["from"], flow["to"]) not in ends:
            for start, end in ends:
                flows = list(document["flows"])
                flows[number] = {**flow, "from": start, "to": end}
                yield {**document, "flows": flows}
    microseconds = int(str(document["duration"]).split()[0])
    if microseconds > 4000:
        yield {**document, "duration": f"{2 * (microseconds // 4)} us"}


if __name__ == "__main__":
    # For the fuzzer, which starts from them: FOLDER COUNT.
    for number in range(int(sys.argv[2])):
        text = json.dumps(generate(number).written, ensure_ascii=False)
        (Path(sys.argv[1]) / f"seed-generated-{number}").write_text(text, encoding="utf-8")
