"""Which settings change a result: generic scenarios, generated values, and the search among them.

``python tests/python/settings.py`` prints how many parameters and keys change a result, how many are warned of
instead, and how many do neither, which must be none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import sojourn as sj
from sojourn.base import core
from sojourn.results import notices

Json = dict[str, Any]

_ECN: Final = {"ecn": True}
_PRAGUE: Final = {"congestion_control": "prague", "ecn": True, "ect": 1}


def _udp(name: str, count: int, kind: str, rate: str, size: str, **others: Any) -> Json:
    traffic = {"kind": kind, "rate": rate, "packet_size": size}
    if kind == "vbr":
        traffic |= {"on": "400 ms", "off": "900 ms"}
    return {"name": name, "count": count, "transport": {"kind": "udp"}, "traffic": traffic, **others}


def _tcp(name: str, count: int, transport: Json | None = None, **others: Any) -> Json:
    return {"name": name, "count": count, "transport": transport or {}, **others}


def _web(name: str, count: int, objects: int, size: str, transport: Json | None = None) -> Json:
    traffic = {"kind": "web", "objects": objects, "pause": "500 ms", "object_size": size}
    return _tcp(name, count, transport, traffic=traffic)


_MIX: Final = (
    _tcp("t", 3),
    _tcp("e", 2, _ECN),
    _tcp("p", 1, _PRAGUE),
    _udp("u", 1, "cbr", "300 kbit/s", "200 B", dscp="EF"),
    _web("w", 2, 10, "1000 B"),
)

_FLOWS: Final[dict[str, tuple[str, str, Sequence[Json]]]] = {
    "mix": ("5 Mbit/s", "3 s", _MIX),
    "overload": ("5 Mbit/s", "3 s", [_udp("u", 3, "poisson", "3 Mbit/s", "1000 B")]),
    "marked": ("5 Mbit/s", "4 s", [_tcp("p", 1, _PRAGUE), _udp("u", 8, "cbr", "2 Mbit/s", "1200 B"), _tcp("c", 2)]),
    "one": ("2 Mbit/s", "4 s", [_tcp("e", 1, _ECN)]),
    "many": (
        "5 Mbit/s",
        "3 s",
        [_tcp("t", 40), _tcp("e", 20, _ECN), _udp("u", 1, "cbr", "3 Mbit/s", "1000 B")],
    ),
    "slow": (
        "200 kbit/s",
        "20 s",
        [_tcp("t", 2), _tcp("e", 1, _ECN), _udp("u", 1, "poisson", "60 kbit/s", "100 B")],
    ),
    "pulses": ("5 Mbit/s", "12 s", [_udp("v", 3, "vbr", "4 Mbit/s", "1200 B"), _web("w", 2, 20, "20 kB", _ECN)]),
    "fast": ("100 Mbit/s", "2 s", [_tcp("t", 4), _tcp("e", 2, _ECN), _tcp("p", 2, _PRAGUE)]),
    "classes": (
        "5 Mbit/s",
        "3 s",
        [
            _tcp("a", 2, dscp="CS1"),
            _tcp("b", 2, dscp="EF"),
            _tcp("c", 2),
            _udp("n", 1, "cbr", "1 Mbit/s", "500 B", dscp="45"),
            _tcp("l", 1, _PRAGUE),
        ],
    ),
    # The queue under test has acknowledgements, too.
    "up": ("1 Mbit/s", "4 s", [_tcp("t", 2), _tcp("d", 3, from_="z", to="a"), _tcp("e", 1, _ECN)]),
}
"""By name: the rate of the link under test, the length of a run, the flows."""


@cache
def network(name: str) -> Json:
    """Return a generic scenario in canonical form."""
    if name == "hosts":
        return _hosts()
    rate, duration, flows = _FLOWS[name]
    link = {"name": "l", "from": "a", "to": "z", "rate": rate, "reverse_rate": "100 Mbit/s", "delay": "10 ms"}
    return load(duration, [{**link, "under_test": True}], [_between(flow) for flow in flows])


NETWORKS: Final = (*_FLOWS, "hosts")


def _between(flow: Json) -> Json:
    way = {"from": flow.get("from_", "a"), "to": flow.get("to", "z")}
    return {**{key: value for key, value in flow.items() if key != "from_"}, **way}


def _hosts() -> Json:
    """Three hosts at each end, with different numbers of flows."""
    edges = [
        {"name": f"{far}{k}", "from": f"{far}{k}", "to": near, "rate": "1 Gbit/s", "delay": "1 ms"}
        for far, near in (("s", "a"), ("d", "b"))
        for k in range(3)
    ]
    middle = {"name": "l", "from": "a", "to": "b", "rate": "5 Mbit/s", "delay": "8 ms", "under_test": True}
    flows = [{"name": f"f{k}", "count": n, "from": f"s{k}", "to": f"d{k // 2}"} for k, n in enumerate((6, 1, 3))]
    return load("3 s", [*edges, middle], [*flows, {"name": "g", "from": "s0", "to": "d2", "transport": _ECN}])


def load(duration: str, links: Sequence[Json], flows: Sequence[Json], **others: Any) -> Json:
    """Return a scenario in canonical form, measured from 500 ms on."""
    document = {"name": "n", "duration": duration, "warm_up": "500 ms", "links": links, "flows": flows, **others}
    return core.load(json.dumps(document), source="a generic scenario")


def fingerprint(scenario: Json, scheme: str | None) -> str | None:
    """Return what a run reports, but for the values of the scheme itself; None where the two do not fit."""
    series = scenario.get("series", {}).get("interval")
    task = {"scheme": scheme, "seed": 1, "replication": 0, "series": series}
    try:
        (found,) = core.run_many(scenario, [task], jobs=1)
    except core.SojournError:
        return None
    return json.dumps(_reported(found), sort_keys=True)


def _reported(found: Any) -> Any:
    # Internals name parameters, and the count of events measures the simulator.
    if isinstance(found, dict):
        return {key: _reported(value) for key, value in found.items() if key not in ("scheme", "internals", "events")}
    return [_reported(one) for one in found] if isinstance(found, list) else found


@cache
def run(name: str, scheme: str) -> str | None:
    """Return the fingerprint of a scheme in a generic scenario."""
    return fingerprint(network(name), scheme)


# Schemes.

PARAMETERS: Final = {
    str(entry["name"]): {str(one["name"]): one for one in entry["parameters"]} for entry in core.aqms()
}
"""Every parameter of every scheme."""

_OF_KIND: Final[Mapping[str, Sequence[str]]] = {
    "time": ("100us", "1ms", "5ms", "20ms", "200ms", "3s"),
    "time or measured": ("1ms", "3ms", "measured"),
    "bytes": ("300B", "3kB", "30kB"),
    "probability": ("0.001", "0.05", "0.5", "0.95"),
    "count": ("1", "4", "64", "300", "2000"),
    "number": ("0.01", "0.2", "1", "3"),
    "rate": ("1Mbit/s", "4Mbit/s"),
    "value/mask": ("0x1/0x3", "0x2/0x3"),
    "codepoint": ("none", "EF"),
    "table": ("0:0,20:0.5",),
    "formula": ("n/400", "max(0,min(1,utilisation-0.9))"),
}

_OF_NAME: Final[Mapping[str, Sequence[str]]] = {
    "overhead": ("44", "84"),
    "mpu": ("84B", "200B"),
    "db": ("200ms", "600ms"),
}

HEADS: Final[Mapping[str, str]] = {"daqm": "interarrival 1ms", "fq_daqm": "interarrival 1ms"}
"""What an algorithm needs for most of its parameters."""

CONTEXTS: Final[Mapping[tuple[str, str], str]] = {
    ("fq", "drop_batch"): "limit 40p",
    ("fq_codel", "count_overflow"): "limit 40p",
    ("fq_codel", "stale_first_above"): "target 1ms interval 5ms",
    ("cobalt", "p_dec"): "limit 40p",
    ("fq_cobalt", "p_inc"): "blue_threshold 1ms",
    ("fq_cobalt", "p_dec"): "blue_threshold 1ms",
    ("ared", "max"): "min 5p",
    ("red", "nodrop"): "ecn",
    ("fq_red", "nodrop"): "ecn",
    ("blue", "idle"): "limit 20p d1 0.5 freeze_time 10ms",
    ("sfb", "rehash"): "db 100ms",
    ("sfb", "db"): "increment 0.05 rehash 1s db 100ms",
    ("sfq", "min"): "min 3kB max 9kB",
    ("sfq", "max"): "min 3kB max 9kB",
    ("sfq", "ecn"): "min 3kB max 9kB",
    ("sfq", "harddrop"): "min 3kB max 9kB ecn",
    # A virtual queue as long as the limit of the fair queue, 10240 packets, never overflows in such a run.
    **dict.fromkeys([("fq_avq", name) for name in ("gamma", "alpha", "initial", "unit", "ecn")], "limit 40p"),
    ("fq_avq", "avpkt"): "limit 40p unit packets",
}
"""Where a parameter acts that does not act beside defaults and that no other parameter alone makes act."""


def values(parameter: Json) -> tuple[str, ...]:
    """Return values of a parameter other than its default, as texts behind a scheme's name."""
    name, kind = str(parameter["name"]), str(parameter["kind"])
    if kind == "flag":
        return (f"no{name}" if parameter["default"] == "true" else name,)
    if parameter["words"]:
        listed: Sequence[str] = [word for word, _ in parameter["words"]]
    elif kind.startswith("packets"):
        listed = ("1p", "5p", "30p", "200p")
    else:
        listed = _OF_NAME.get(name) or _OF_KIND.get(kind) or ("1", "1ms", "5p")
    return tuple(f"{name} {value}" for value in listed if value != parameter["default"])


def context(algorithm: str, name: str) -> str:
    """Return a scheme in which a parameter acts, as far as its declaration says."""
    parameters = PARAMETERS[algorithm]
    parts = [algorithm, HEADS.get(algorithm, "")]
    for need in parameters[name].get("needs", ()):
        if "with" in need:
            other = parameters[need["with"][0]]
            if other["kind"] == "flag":
                parts.append(other["name"])
            elif need["values"] == ["*"]:
                parts.append(values(other)[1] if len(values(other)) > 1 else values(other)[0])
            else:
                parts.append(f"{other['name']} {need['values'][0]}")
    fair = "fq" if algorithm.startswith("fq_") else ""
    parts.append(CONTEXTS.get((algorithm, name)) or CONTEXTS.get((fair, name), ""))
    return " ".join(part for part in parts if part)


def acting(algorithm: str, name: str) -> tuple[str, str] | None:
    """Return a scenario and a scheme whose results differ from those without the parameter; None for none."""
    head = context(algorithm, name)
    for text in _others(algorithm, name, head):
        for place in NETWORKS:
            before, after = run(place, head), run(place, text)
            if before is not None and after is not None and before != after and not told(place, text, name):
                return place, text
    return None


def _others(algorithm: str, name: str, head: str) -> Iterator[str]:
    yield from (f"{head} {value}" for value in values(PARAMETERS[algorithm][name]))


def told(place: str, text: str, name: str) -> bool:
    """Whether a warning names a parameter of a scheme in a generic scenario."""
    return name in _inert(place, text)


@cache
def _inert(place: str, text: str) -> frozenset[str]:
    return frozenset(one.what for one in notices.inert(network(place), [sj.Scheme(text)]))


def is_always_told(algorithm: str, name: str, places: Sequence[str] = NETWORKS) -> bool:
    """Whether a parameter is warned of with each value in each scenario."""
    head = context(algorithm, name)
    texts = [text for text in _others(algorithm, name, head) if run("mix", text) is not None]
    return all(told(place, text, name) for text in texts for place in places)


def count_schemes() -> Counter[str]:
    """Return how many parameters of schemes change a result, how many are warned of, and how many do neither."""
    found: Counter[str] = Counter()
    for algorithm, parameters in PARAMETERS.items():
        for name in parameters:
            if acting(algorithm, name):
                found["change a result"] += 1
            elif is_always_told(algorithm, name):
                found["warn"] += 1
            else:
                found["neither"] += 1
                print(f"neither: {algorithm} {name}")
    return found


# Keys of scenarios.

NO_RESULT: Final[Mapping[str, str]] = {
    "name": "names a thing; names choose random streams",
    "description": "is a text for reports",
    "from": "is the shape of the network",
    "to": "is the shape of the network",
    "stations": "is the shape of the network",
    "access_point": "is the shape of the network",
    "count": "is the shape of the network",
    "nodes": "is the shape of the network",
    "links": "is the shape of the network",
    "buses": "is the shape of the network",
    "cells": "is the shape of the network",
    "flows": "is the traffic",
    "under_test": "chooses what is measured",
    "reverse_under_test": "chooses what is measured",
    "access_point_under_test": "chooses what is measured",
    "replications": "is the number of runs of a comparison",
    "seed": "is given with each task of this test",
    "kind": "chooses the table",
    "file": "is replaced by the content of the file when a scenario is read",
    **dict.fromkeys(
        ("capture", "account", "frames", "taken", "ip_bytes", "skipped", "out_of_order", "cut", "split", "raised"),
        "says in reports what a capture had",
    ),
}
"""Keys that are no settings, and why."""

_FLOW: Final = {"name": "f", "from": "a", "to": "z"}
_BULK: Final = [{**_FLOW, "count": 2}]
_BOTH: Final = [*_BULK, {"name": "r", "from": "z", "to": "a"}, {**_FLOW, "name": "e", "transport": _ECN}]


def _line(flows: Sequence[Json], duration: str = "4 s", **others: Any) -> Json:
    """Return a scenario as written: a narrow link in both directions."""
    link = {"name": "l", "from": "a", "to": "z", "rate": "3 Mbit/s", "delay": "10 ms", "queue": "pfifo limit 30p"}
    whole = {**link, "reverse_rate": "2 Mbit/s", "under_test": True, **others}
    return {"name": "n", "duration": duration, "warm_up": "200 ms", "links": [whole], "flows": list(flows)}


def _of_traffic(traffic: Json, **flow: Any) -> Json:
    udp = traffic["kind"] in (
        "cbr",
        "vbr",
        "on_off",
        "poisson",
        "switched_poisson",
        "pareto",
        "weibull",
        "voip",
        "gaming",
        "replay",
    )
    transport = {"transport": {"kind": "udp"}} if udp else {}
    return _line([{**_FLOW, "count": 2, **transport, "traffic": traffic, **flow}, *_BULK_BESIDE], "8 s")


_BULK_BESIDE: Final = [{"name": "beside", "from": "a", "to": "z"}]


def _cell(**keys: Any) -> Json:
    cell = {"name": "c", "access_point": "ap", "stations": ["x", "y"], "under_test": True, **keys}
    flows = [
        {"name": "f", "from": "x", "to": "ap", "count": 2},
        {"name": "g", "from": "ap", "to": "y", "count": 2},
        {"name": "h", "from": "ap", "to": "x", "count": 2},
    ]
    return {"name": "n", "duration": "2 s", "warm_up": "200 ms", "cells": [cell], "flows": flows}


def _bus(**keys: Any) -> Json:
    bus = {"name": "b", "rate": "5 Mbit/s", "delay": "5 us", "stations": ["x", "y"], "under_test": True, **keys}
    flows = [{"name": "f", "from": "x", "to": "y", "count": 2}, {"name": "g", "from": "y", "to": "x", "count": 2}]
    return {"name": "n", "duration": "2 s", "warm_up": "200 ms", "buses": [bus], "flows": flows}


def _change(**keys: Any) -> Json:
    return _line(_BOTH) | {"changes": [{"at": "1 s", "queue": "a->z", "rate": "2 Mbit/s", **keys}]}


def _trace(trace: Json, **keys: Any) -> Json:
    whole = _line(_BULK, queue="pie", **keys)
    del whole["links"][0]["rate"]
    whole["links"][0]["trace"] = trace
    return whole


_RATES: Final = {"rates": [["0 s", "4 Mbit/s"], ["500 ms", "1 Mbit/s"], ["700 ms", "3 Mbit/s"]]}
_STATES: Final = {
    "states": [
        {"rate": "5 Mbit/s", "mean": "200 ms"},
        {"rate": "1 Mbit/s", "mean": "100 ms"},
        {"rate": "0 bit/s", "mean": "20 ms"},
    ]
}
_DETOUR: Final = {
    **_line(_BULK),
    "links": [
        {"name": "l", "from": "a", "to": "z", "rate": "3 Mbit/s", "delay": "10 ms", "under_test": True},
        {"name": "m", "from": "a", "to": "b", "rate": "3 Mbit/s", "delay": "10 ms"},
        {"name": "o", "from": "b", "to": "z", "rate": "3 Mbit/s", "delay": "10 ms"},
    ],
}
_PAGES: Final = {"kind": "web", "objects": 5, "object_size": "30 kB", "pause": "300 ms"}
_REQUESTS: Final = {"kind": "request_response", "response_size": "60 kB", "pause": "1 s"}

_EXAMPLES: Final[Mapping[str, Json]] = {
    "bulk": {"kind": "bulk", "first": "200 kB", "after": "2 s"},
    "cbr": {"kind": "cbr", "rate": "500 kbit/s", "packet_size": "160 B"},
    "on_off": {"kind": "on_off", "rate": "2 Mbit/s", "packet_size": "1000 B", "on": "400 ms", "off": "600 ms"},
    "pareto": {"kind": "pareto", "scale": "5 ms", "shape": 2.5, "packet_size": "1000 B"},
    "poisson": {"kind": "poisson", "rate": "1 Mbit/s", "packet_size": "1000 B"},
    "replay": {"kind": "replay", "packets": "0:1200 20000000:160x49", "period": "1 s"},
    "request_response": _REQUESTS,
    "switched_poisson": {
        "kind": "switched_poisson",
        "packets_per_second": [50, 300],
        "hold": ["500 ms", "200 ms"],
        "packet_size": "1000 B",
    },
    "transfer": {"kind": "transfer", "size": "300 kB"},
    "vbr": {"kind": "vbr", "rate": "2 Mbit/s", "packet_size": "1200 B", "on": "400 ms", "off": "600 ms"},
    "video": {"kind": "video", "rates": ["300 kbit/s", "1 Mbit/s"], "segment": "1 s", "buffer": "4 s"},
    "voip": {"kind": "voip"},
    "web": _PAGES,
    "weibull": {"kind": "weibull", "scale": "5 ms", "shape": 0.7, "packet_size": "1000 B"},
    "gaming": {"kind": "gaming"},
}

_ANY: Final[Mapping[str, Any]] = {
    "packet_size": "300 B",
    "rate": "700 kbit/s",
    "on": "100 ms",
    "off": "200 ms",
    "scale": "3 ms",
    "shape": 1.7,
    "size": "150 kB",
    "overhead": "40 B",
    "delay": "3 ms",
    "device_queue": "20 p",
}
"""A value that a key of this name may have in any table."""


class Case:
    """A scenario in which a key of a table changes the result.

    Parameters
    ----------
    base
        The scenario as written.
    path
        Of the table.
    value
        Of the key; None takes the key away.
    also
        Other keys that change with it.
    beside
        Keys of the table in both runs.
    """

    def __init__(self, base: Json, path: Sequence[str | int], value: Any, also: Json | None = None, **beside: Any):
        self.base, self.path, self.value, self.also, self.beside = base, path, value, also or {}, beside

    def documents(self, key: str) -> tuple[Json, Json]:
        """Return the scenario without and with the key, in canonical form."""
        made = []
        for change in ({}, {key: self.value, **self.also}):
            whole = json.loads(json.dumps(self.base))
            table = whole
            for step in self.path:
                table = table[step]
            table |= {**self.beside, **change}
            for name in [name for name, value in table.items() if value is None]:
                del table[name]
            made.append(core.load(json.dumps(whole), source="a generic scenario"))
        return made[0], made[1]


_LINK: Final = ("links", 0)
_FIRST: Final = ("flows", 0)
_TRANSPORT: Final = ("flows", 0, "transport")
_TRAFFIC: Final = ("flows", 0, "traffic")
_CELL: Final = ("cells", 0)
_BUS: Final = ("buses", 0)
_CHANGE: Final = ("changes", 0)


def _tcp_case(value: Any, traffic: Json | None = None, queue: str = "pfifo limit 30p", **beside: Any) -> Case:
    flow = {**_FLOW, "count": 2, "transport": {}, **({"traffic": traffic} if traffic else {})}
    return Case(
        _line([flow], "8 s" if traffic else "4 s", queue=queue, reverse_rate="100 Mbit/s"),
        _TRANSPORT,
        value,
        **beside,
    )


_SIZED: Final = _of_traffic({**_PAGES, "object_size": {"exponential": {"mean": "20 kB"}}})
_SIZES: Final = (*_TRAFFIC, "object_size", "exponential")
_HEAVY: Final = _of_traffic({**_PAGES, "object_size": {"pareto": {"scale": "5 kB", "shape": 1.5}}})
_SLOW_PATH: Final = _line([{**_FLOW, "count": 3, "transport": {}}], "10 s", rate="500 kbit/s", queue="pfifo limit 8p")
_SHORT: Final = {"kind": "cbr", "rate": "300 kbit/s", "packet_size": "200 B"}

CASES: Final[Mapping[tuple[str, str], Case]] = {
    ("LinkTable", "burst"): Case(_line(_BOTH), _LINK, "20 kB"),
    ("LinkTable", "delay"): Case(_line(_BOTH), _LINK, "3 ms"),
    ("LinkTable", "duplicate"): Case(_line(_BOTH), _LINK, "5%"),
    ("LinkTable", "framing"): Case(_line(_BOTH), _LINK, "ethernet"),
    ("LinkTable", "jitter"): Case(_line(_BOTH), _LINK, "2 ms"),
    ("LinkTable", "loss"): Case(_line(_BOTH), _LINK, "1%"),
    ("LinkTable", "queue"): Case(_line(_BOTH), _LINK, "codel"),
    ("LinkTable", "rate"): Case(_line(_BOTH), _LINK, "4 Mbit/s"),
    ("LinkTable", "trace"): Case(_line(_BOTH), _LINK, _RATES, {"rate": None}),
    ("LinkTable", "reverse_burst"): Case(_line(_BOTH), _LINK, "20 kB"),
    ("LinkTable", "reverse_delay"): Case(_line(_BOTH), _LINK, "3 ms"),
    ("LinkTable", "reverse_duplicate"): Case(_line(_BOTH), _LINK, "5%"),
    ("LinkTable", "reverse_jitter"): Case(_line(_BOTH), _LINK, "2 ms"),
    ("LinkTable", "reverse_loss"): Case(_line(_BOTH), _LINK, "1%"),
    ("LinkTable", "reverse_queue"): Case(_line(_BOTH), _LINK, "codel"),
    ("LinkTable", "reverse_rate"): Case(_line(_BOTH), _LINK, "1 Mbit/s"),
    ("LinkTable", "reverse_trace"): Case(_line(_BOTH), _LINK, _RATES, {"reverse_rate": None}),
    ("TraceTable", "hold"): Case(_trace(_RATES), (*_LINK, "trace"), True),
    ("TraceTable", "period"): Case(_trace(_RATES), (*_LINK, "trace"), "1 s"),
    ("TraceTable", "rates"): Case(_trace(_RATES), (*_LINK, "trace"), [["0 s", "2 Mbit/s"], ["1 s", "1 Mbit/s"]]),
    ("TraceTable", "opportunities"): Case(_trace(_RATES), (*_LINK, "trace"), "5x3 7", {"rates": None}),
    ("TraceTable", "states"): Case(_trace(_RATES), (*_LINK, "trace"), _STATES["states"], {"rates": None}),
    ("TraceTable", "window"): Case(_trace(_RATES), (*_LINK, "trace"), "10 ms"),
    ("StateTable", "mean"): Case(_trace(_STATES), (*_LINK, "trace", "states", 0), "500 ms"),
    ("StateTable", "next"): Case(_trace(_STATES), (*_LINK, "trace", "states", 0), [0, 1, 9]),
    ("StateTable", "rate"): Case(_trace(_STATES), (*_LINK, "trace", "states", 0), "2 Mbit/s"),
    ("FlowTable", "route"): Case(_DETOUR, _FIRST, ["b"]),
    ("FlowTable", "ack_route"): Case(_DETOUR, _FIRST, ["b"]),
    ("FlowTable", "dscp"): Case(_line(_BOTH, queue="cake"), _FIRST, "CS1"),
    ("FlowTable", "start"): Case(_line(_BOTH), _FIRST, "100 ms"),
    ("FlowTable", "stop"): Case(_line(_BOTH), _FIRST, "2 s"),
    ("FlowTable", "traffic"): Case(_line(_BOTH), _FIRST, {"kind": "transfer", "size": "100 kB"}),
    ("FlowTable", "transport"): Case(_line(_BOTH), _FIRST, {"congestion_control": "newreno"}),
    ("ChangeTable", "at"): Case(_change(), _CHANGE, "2 s"),
    ("ChangeTable", "delay"): Case(_change(), _CHANGE, "30 ms"),
    ("ChangeTable", "every"): Case(_change(), _CHANGE, "1 s", rate=None, delay=None, scheme="pie"),
    ("ChangeTable", "link"): Case(_change(rate="1 Mbit/s"), _CHANGE, "l", {"queue": None}),
    ("ChangeTable", "loss"): Case(_change(), _CHANGE, "2%"),
    ("ChangeTable", "parameters"): Case(_change(), _CHANGE, "limit 5p"),
    ("ChangeTable", "phase"): Case(_change(), _CHANGE, "late"),
    ("ChangeTable", "queue"): Case(_change(), _CHANGE, "z->a"),
    ("ChangeTable", "rate"): Case(_change(), _CHANGE, "1 Mbit/s"),
    ("ChangeTable", "scheme"): Case(_change(), _CHANGE, "codel"),
    ("ChangeTable", "stop"): Case(_change(), _CHANGE, ["f"]),
    ("ChangeTable", "start"): Case(
        _line(_BOTH) | {"changes": [{"at": "1 s", "stop": ["f"]}, {"at": "2 s", "loss": "0", "queue": "a->z"}]},
        ("changes", 1),
        ["f"],
    ),
    ("SeriesTable", "interval"): Case(_line(_BOTH) | {"series": {"interval": "100 ms"}}, ("series",), "50 ms"),
    ("SeriesTable", "flows"): Case(_line(_BOTH) | {"series": {"interval": "100 ms"}}, ("series",), True),
    ("SeriesTable", "internals"): Case(
        _line(_BOTH, queue="pie") | {"series": {"interval": "100 ms"}}, ("series",), True
    ),
    ("ExponentialTable", "mean"): Case(_SIZED, _SIZES, "5 kB"),
    ("ExponentialTable", "max"): Case(_SIZED, _SIZES, "9 kB"),
    ("ScaledTable", "scale"): Case(_HEAVY, (*_TRAFFIC, "object_size", "pareto"), "2 kB"),
    ("ScaledTable", "shape"): Case(_HEAVY, (*_TRAFFIC, "object_size", "pareto"), 3.0),
    ("ScaledTable", "max"): Case(_HEAVY, (*_TRAFFIC, "object_size", "pareto"), "9 kB"),
    ("Document", "duration"): Case(_line(_BOTH), (), "3 s"),
    ("Document", "warm_up"): Case(_line(_BOTH), (), "1 s"),
    ("Document", "windows"): Case(_line(_BOTH), (), "100 p"),
    ("Document", "pooled"): Case(_line(_BOTH, reverse_under_test=True), (), True),
    ("Document", "series"): Case(_line(_BOTH), (), {"interval": "100 ms"}),
    ("Document", "changes"): Case(_line(_BOTH), (), [{"at": "1 s", "rate": "1 Mbit/s"}]),
    ("PortTable", "queue"): Case(_bus(ports=[{"name": "x"}], queue="pfifo limit 10p"), (*_BUS, "ports", 0), "codel"),
    ("BusTable", "delay"): Case(_bus(), _BUS, "50 us"),
    ("BusTable", "device_queue"): Case(_bus(queue="codel"), _BUS, "20 p"),
    ("BusTable", "overhead"): Case(_bus(), _BUS, "40 B"),
    ("BusTable", "ports"): Case(_bus(queue="pfifo limit 10p"), _BUS, [{"name": "x", "queue": "codel"}]),
    ("BusTable", "queue"): Case(_bus(), _BUS, "codel"),
    ("BusTable", "rate"): Case(_bus(), _BUS, "3 Mbit/s"),
    ("CellTable", "access_point_queue"): Case(_cell(), _CELL, "pfifo limit 5p"),
    ("CellTable", "aggregate_bytes"): Case(_cell(profile="802.11n"), _CELL, "4 kB"),
    ("CellTable", "aggregate_duration"): Case(_cell(profile="802.11n"), _CELL, "1 ms"),
    ("CellTable", "aggregate_frames"): Case(_cell(profile="802.11n"), _CELL, 2),
    ("CellTable", "airtime_fairness"): Case(_cell(rates={"y": "6 Mbit/s"}), _CELL, True),
    ("CellTable", "answer_timeout"): Case(_cell(frame_error_rate=0.1), _CELL, "200 us"),
    ("CellTable", "basic_rate"): Case(_cell(), _CELL, "12 Mbit/s"),
    ("CellTable", "control_preamble"): Case(_cell(), _CELL, "40 us"),
    ("CellTable", "cw_max"): Case(_cell(frame_error_rate=0.3), _CELL, 31),
    ("CellTable", "cw_min"): Case(_cell(), _CELL, 7),
    ("CellTable", "data_rate"): Case(_cell(), _CELL, "24 Mbit/s"),
    ("CellTable", "delay"): Case(_cell(), _CELL, "2 us"),
    ("CellTable", "eifs"): Case(_cell(), _CELL, "500 us"),
    ("CellTable", "frame_error_rate"): Case(_cell(), _CELL, 0.1),
    ("CellTable", "immediate_access"): Case(_cell(), _CELL, False),
    ("CellTable", "long_retry_limit"): Case(_cell(frame_error_rate=0.4, rts_threshold="500 B"), _CELL, 1),
    ("CellTable", "mac_header"): Case(_cell(), _CELL, "60 B"),
    ("CellTable", "preamble"): Case(_cell(), _CELL, "40 us"),
    ("CellTable", "profile"): Case(_cell(), _CELL, "802.11b"),
    ("CellTable", "queue"): Case(_cell(), _CELL, "pfifo limit 5p"),
    ("CellTable", "rates"): Case(_cell(), _CELL, {"y": "6 Mbit/s"}),
    ("CellTable", "rts_threshold"): Case(_cell(), _CELL, "500 B"),
    ("CellTable", "short_retry_limit"): Case(_cell(frame_error_rate=0.4), _CELL, 1),
    ("CellTable", "sifs"): Case(_cell(), _CELL, "20 us"),
    ("CellTable", "slot"): Case(_cell(), _CELL, "20 us"),
    ("CellTable", "symbol"): Case(_cell(), _CELL, "8 us"),
    ("udp", "header"): Case(_of_traffic(_EXAMPLES["cbr"]), _TRANSPORT, "8 B"),
    ("udp", "echo"): Case(_of_traffic(_EXAMPLES["cbr"]), _TRANSPORT, True),
    ("bulk", "first"): Case(_of_traffic(_EXAMPLES["bulk"]), _TRAFFIC, "50 kB"),
    ("bulk", "after"): Case(_of_traffic(_EXAMPLES["bulk"]), _TRAFFIC, "4 s"),
    ("bulk", "self_probes"): Case(_of_traffic({"kind": "bulk"}), _TRAFFIC, "100 ms"),
    ("poisson", "packets_per_second"): Case(_of_traffic(_EXAMPLES["poisson"]), _TRAFFIC, 200, {"rate": None}),
    ("switched_poisson", "packets_per_second"): Case(_of_traffic(_EXAMPLES["switched_poisson"]), _TRAFFIC, [20, 400]),
    ("switched_poisson", "hold"): Case(_of_traffic(_EXAMPLES["switched_poisson"]), _TRAFFIC, ["100 ms", "50 ms"]),
    ("web", "connections"): Case(_of_traffic(_PAGES), _TRAFFIC, 2),
    ("web", "html"): Case(_of_traffic(_PAGES), _TRAFFIC, "30 kB"),
    ("web", "object_size"): Case(_of_traffic(_PAGES), _TRAFFIC, "10 kB"),
    ("web", "objects"): Case(_of_traffic(_PAGES), _TRAFFIC, 9),
    ("web", "pause"): Case(_of_traffic(_PAGES), _TRAFFIC, "100 ms"),
    ("web", "persistent"): Case(_of_traffic(_PAGES), _TRAFFIC, True),
    ("web", "request_size"): Case(_of_traffic(_PAGES), _TRAFFIC, "1000 B"),
    ("video", "adaptation"): Case(
        _of_traffic({"kind": "video", "segment": "500 ms", "buffer": "10 s"}), _TRAFFIC, "rate"
    ),
    ("video", "buffer"): Case(_of_traffic(_EXAMPLES["video"]), _TRAFFIC, "2 s"),
    ("video", "cushion"): Case(_of_traffic(_EXAMPLES["video"]), _TRAFFIC, "1500 ms"),
    ("video", "rates"): Case(_of_traffic(_EXAMPLES["video"]), _TRAFFIC, ["500 kbit/s", "800 kbit/s"]),
    ("video", "request_size"): Case(_of_traffic(_EXAMPLES["video"]), _TRAFFIC, "1000 B"),
    ("video", "reservoir"): Case(_of_traffic(_EXAMPLES["video"]), _TRAFFIC, "500 ms"),
    ("video", "segment"): Case(_of_traffic(_EXAMPLES["video"]), _TRAFFIC, "500 ms"),
    ("video", "startup"): Case(_of_traffic(_EXAMPLES["video"]), _TRAFFIC, "2 s"),
    ("voip", "codec"): Case(_of_traffic(_EXAMPLES["voip"]), _TRAFFIC, "opus"),
    ("voip", "concealment"): Case(_of_traffic(_EXAMPLES["voip"]), _TRAFFIC, False),
    ("voip", "frame"): Case(_of_traffic(_EXAMPLES["voip"]), _TRAFFIC, "10 ms"),
    ("voip", "jitter_buffer"): Case(_of_traffic(_EXAMPLES["voip"]), _TRAFFIC, "20 ms", playout="fixed"),
    ("voip", "playout"): Case(_of_traffic(_EXAMPLES["voip"]), _TRAFFIC, "fixed"),
    ("voip", "rate"): Case(_of_traffic(_EXAMPLES["voip"]), _TRAFFIC, "24 kbit/s", codec="opus"),
    ("gaming", "interval"): Case(_of_traffic(_EXAMPLES["gaming"]), _TRAFFIC, "30 ms"),
    ("request_response", "persistent"): Case(_of_traffic(_REQUESTS), _TRAFFIC, False),
    ("request_response", "pause"): Case(_of_traffic(_REQUESTS), _TRAFFIC, "200 ms"),
    ("request_response", "request_size"): Case(_of_traffic(_REQUESTS), _TRAFFIC, "1000 B"),
    ("request_response", "response_size"): Case(_of_traffic(_REQUESTS), _TRAFFIC, "20 kB"),
    ("request_response", "response_sizes"): Case(
        _of_traffic(_REQUESTS), _TRAFFIC, {"2 kB": 0.7, "50 kB": 0.3}, {"response_size": None}
    ),
    ("replay", "packets"): Case(_of_traffic(_EXAMPLES["replay"]), _TRAFFIC, "0:600 20000000:160x40"),
    ("replay", "period"): Case(_of_traffic(_EXAMPLES["replay"]), _TRAFFIC, "2 s"),
    ("tcp", "accecn_accept"): _tcp_case(False, queue="codel ecn", ecn=True, ecn_feedback="accecn"),
    ("tcp", "accecn_option"): _tcp_case(False, queue="codel ecn", ecn=True, ecn_feedback="accecn"),
    ("tcp", "ack_every"): _tcp_case("1 p"),
    ("tcp", "ack_policy"): _tcp_case("linux"),
    ("tcp", "congestion_control"): _tcp_case("newreno"),
    ("tcp", "delayed_ack"): _tcp_case("5 ms"),
    ("tcp", "ecn"): _tcp_case(True, queue="codel ecn"),
    ("tcp", "ecn_accept"): _tcp_case(False, queue="codel ecn", ecn=True),
    ("tcp", "ecn_feedback"): _tcp_case("accecn", queue="codel ecn", ecn=True),
    ("tcp", "ect"): _tcp_case(1, queue="dualpi2", congestion_control="dctcp", ecn=True),
    ("tcp", "ect_on"): Case(
        _line(
            [
                {**_FLOW, "transport": {"congestion_control": "prague", "ecn": True, "ect": 1}},
                {"name": "r", "from": "z", "to": "a"},
            ],
            queue="dualpi2",
            reverse_queue="dualpi2",
        ),
        _TRANSPORT,
        "data",
    ),
    ("tcp", "handshake"): _tcp_case(False),
    ("tcp", "hystart"): _tcp_case(False),
    ("tcp", "idle_restart"): _tcp_case("initial", _REQUESTS, initial_window="2 p"),
    ("tcp", "initial_rto"): Case(_SLOW_PATH, _TRANSPORT, "200 ms"),
    ("tcp", "initial_window"): _tcp_case("2 p"),
    ("tcp", "ledbat_gain"): _tcp_case(0.5, congestion_control="ledbat"),
    ("tcp", "ledbat_slow_start"): _tcp_case(True, congestion_control="ledbat"),
    ("tcp", "ledbat_target"): _tcp_case("10 ms", congestion_control="ledbat"),
    ("tcp", "limited_transmit"): _tcp_case(False),
    ("tcp", "max_rto"): Case(_SLOW_PATH, _TRANSPORT, "300 ms", initial_rto="200 ms"),
    ("tcp", "min_rto"): Case(_SLOW_PATH, _TRANSPORT, "50 ms"),
    ("tcp", "mss"): _tcp_case("500 B"),
    ("tcp", "nagle"): _tcp_case(True, _SHORT),
    ("tcp", "pacing"): _tcp_case(True),
    ("tcp", "prague_reference_rtt"): _tcp_case(
        "100 ms", queue="dualpi2", congestion_control="prague", ecn=True, ect=1
    ),
    ("tcp", "prr"): _tcp_case(False),
    ("tcp", "quick_acks"): _tcp_case("0 p"),
    ("tcp", "read_rate"): _tcp_case("1 Mbit/s", receive_buffer="20 kB"),
    ("tcp", "receive_buffer"): _tcp_case("20 kB"),
    ("tcp", "recovery"): _tcp_case("newreno"),
    ("tcp", "rto"): _tcp_case("ns3"),
    ("tcp", "segmentation_offload"): _tcp_case(True),
    ("tcp", "send_buffer"): _tcp_case("20 kB"),
    ("tcp", "slow_start_after_idle"): _tcp_case(False, _REQUESTS, initial_window="2 p"),
    ("tcp", "tail_loss_probe"): Case(_SLOW_PATH, _TRANSPORT, True),
    ("tcp", "timer_tick"): Case(_SLOW_PATH, _TRANSPORT, "10 ms", recovery="rack"),
    ("tcp", "timestamp_tick"): Case(_SLOW_PATH, _TRANSPORT, "10 ms"),
    ("tcp", "timestamps"): _tcp_case(False),
    ("tcp", "undo"): Case(_SLOW_PATH, _TRANSPORT, True, recovery="rack"),
    ("tcp", "window_limit"): _tcp_case("8 p"),
    ("tcp", "window_unit"): _tcp_case("packets", _SHORT),
    ("tcp", "write_at_once"): _tcp_case(True, send_buffer="20 kB"),
    ("tcp", "write_size"): _tcp_case("5 kB", send_buffer="20 kB"),
}
"""By table and key. Keys of traffic that are not here have a value of :data:`_ANY`."""


def keys() -> Iterator[tuple[str, str]]:
    """Yield every key of every table of scenarios, with the table's name; traffic and transports by their kinds."""
    whole = core.schema()
    for table, found in (("Document", whole), *sorted(whole["$defs"].items())):
        kinds = found.get("oneOf", [found])
        for kind in kinds:
            properties = kind.get("properties", {})
            name = properties.get("kind", {}).get("const", table)
            if table.endswith(("Table", "Document")) and (name != table or len(kinds) == 1):
                yield from ((name, key) for key in properties if key not in NO_RESULT)


def case(table: str, key: str) -> Case | None:
    """Return the recorded scenario of a key; None for none."""
    if (table, key) in CASES:
        return CASES[table, key]
    if table in _EXAMPLES and key in _ANY:
        return Case(_of_traffic(_EXAMPLES[table]), _TRAFFIC, _ANY[key])
    return Case(_line(_BOTH), _LINK, _ANY[key]) if table == "LinkTable" and key in _ANY else None


def outcome(table: str, key: str) -> str:
    """Return what a key does: ``change a result``, ``warn`` or ``neither``."""
    recorded = case(table, key)
    if recorded is None:
        return "neither"
    before, after = recorded.documents(key)
    if fingerprint(before, None) != fingerprint(after, None):
        return "change a result"
    return "warn" if any(one.what == key for one in notices.inert(after, [sj.Scheme("")])) else "neither"


if __name__ == "__main__":
    print(f"parameters of schemes: {dict(count_schemes())}")
    print(f"keys of scenarios: {dict(Counter(outcome(*one) for one in keys()))}")
