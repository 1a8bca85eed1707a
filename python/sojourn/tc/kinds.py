"""The disciplines that Linux has: their parameters by the library's names and by tc's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Unit: TypeAlias = Literal[
    "packets",
    "bytes",
    "time",
    "ms",
    "s",
    "rate",
    "count",
    "number",
    "probability",
    "per cent",
    "sixteenths",
    "selector",
]


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter with a value."""

    name: str
    """The library's name."""
    unit: Unit
    word: str = ""
    """tc's word, where it is another."""
    key: str = ""
    """Its key in JSON, where that is another than tc's word."""
    detail: bool = False
    """tc prints it with ``-d`` only."""
    microseconds: bool = False
    """JSON has it in microseconds, whatever the unit of the word."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A parameter that tc writes as a word for each of its values."""

    name: str
    words: Mapping[str, str]
    """tc's word for each of the library's values; empty: nothing to write."""
    key: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    """What JSON has for each of the library's values; a missing one is left out."""


Option: TypeAlias = Value | Switch


def _flag(name: str, *, off: str = "") -> Switch:
    return Switch(name, {"on": name, "off": off}, name, {"on": True})


def _red_flag(name: str) -> Switch:
    """One of RED's flags, which JSON has whether on or off."""
    return Switch(name, {"on": name, "off": ""}, name, {"on": True, "off": False})


@dataclass(frozen=True, slots=True)
class Kind:
    """A discipline of Linux."""

    options: tuple[Option, ...]
    """In the order in which tc prints them."""
    fixed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Parameters of the library that Linux does not have: first the value that is Linux's behaviour, then those that
    may be exported all the same, with a note; none where the export makes something of any value."""
    always: Mapping[str, object] = field(default_factory=dict)
    """Further keys in JSON: options of Linux that have no counterpart here, with the value of our behaviour."""
    nearest: str = ""
    """What to export where the library's defaults cannot be."""
    carried: Mapping[str, int] = field(default_factory=dict)
    """tc's words that have no effect here, each with the number of its values; the export repeats them."""
    printed: Mapping[str, int] = field(default_factory=dict)
    """Words without effect here that tc prints and does not take."""


_ESTIMATOR: Final = Switch(
    "delay",
    {
        "departure_rate": "dq_rate_estimator",
        "departures": "no_dq_rate_estimator",
        "timestamps": "no_dq_rate_estimator",
    },
    "dq_rate_estimator",
    {"departure_rate": True},
)

_PIE: Final[tuple[Option, ...]] = (
    Value("target", "time"),
    Value("tupdate", "time"),
    Value("alpha", "sixteenths"),
    Value("beta", "sixteenths"),
)

_PIE_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "max_burst": ("150ms",),
    "avpkt": ("1514B", "1KiB"),
    "dq_threshold": ("16KiB",),
    "derandomize": ("on", "off"),
    "activate": ("off",),
    "variant": ("linux", "rfc"),
}

_CODEL_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "mtu": ("1514B",),
    "control_law": ("newton", "exact"),
    "stale_first_above": ("off", "on"),
}

_CAKE_TINS: Final = {word: word for word in ("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8")}
_CAKE_FLOWS: Final = {
    word: word
    for word in (
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
        "triple-isolate",
    )
}
_CAKE_FRAMING: Final = {word: word for word in ("noatm", "atm", "ptm")}

_RED_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "gentle": ("off",),
    "wait": ("off",),
    "bytemode": ("off",),
    "target": ("5ms",),
    "interval": ("500ms",),
    "alpha": ("0.01",),
    "beta": ("0.9",),
}

KINDS: Final[dict[str, Kind]] = {
    "pfifo": Kind((Value("limit", "packets"),)),
    "bfifo": Kind((Value("limit", "bytes"),)),
    "red": Kind(
        (
            Value("limit", "bytes"),
            Value("min", "bytes"),
            Value("max", "bytes"),
            _red_flag("ecn"),
            _red_flag("harddrop"),
            _red_flag("adaptive"),
            _red_flag("nodrop"),
        ),
        {**_RED_FIXED, "max_p": (), "w": (), "avpkt": ()},
        carried={"qevent": 3},
        printed={"Scell_log": 1},
    ),
    "choke": Kind(
        (Value("limit", "packets"), Value("min", "packets"), Value("max", "packets"), _red_flag("ecn")),
        {"max_p": (), "w": (), "avpkt": ()},
        {"harddrop": False, "adaptive": False, "nodrop": False},
        printed={"Scell_log": 1},
    ),
    "sfb": Kind(
        (
            Value("rehash", "ms", microseconds=True),
            Value("db", "ms", microseconds=True),
            Value("limit", "packets"),
            Value("max", "packets"),
            Value("target", "packets"),
            Value("increment", "probability"),
            Value("decrement", "probability"),
            Value("penalty_rate", "count"),
            Value("penalty_burst", "packets"),
        ),
        {"ecn": ("on",)},
    ),
    "sfq": Kind(
        (
            Value("limit", "packets"),
            Value("quantum", "bytes"),
            Value("depth", "packets"),
            _flag("headdrop"),
            Value("flows", "count", detail=True),
            Value("divisor", "count"),
            Value("perturb", "s"),
        ),
        # RED inside the queues, which is written and shown where it is on.
        {"min": (), "max": (), "max_p": (), "w": (), "ecn": (), "harddrop": ()},
    ),
    "codel": Kind(
        (
            Value("limit", "packets"),
            Value("target", "time"),
            Value("ce_threshold", "time"),
            Value("interval", "time"),
            _flag("ecn", off="noecn"),
        ),
        {
            **_CODEL_FIXED,
            "mtu_counts": ("queue", "all"),
            "count_overflow": ("off",),
            "ce_threshold_selector": ("none",),
        },
    ),
    "fq_codel": Kind(
        (
            Value("limit", "packets"),
            Value("flows", "count"),
            Value("quantum", "bytes"),
            Value("target", "time"),
            Value("ce_threshold", "time"),
            Value("ce_threshold_selector", "selector"),
            Value("interval", "time"),
            Value("memory_limit", "bytes"),
            _flag("ecn", off="noecn"),
            Value("drop_batch", "packets"),
        ),
        {**_CODEL_FIXED, "mtu_counts": ("all", "queue"), "count_overflow": ("on", "off")},
    ),
    "pie": Kind(
        (
            Value("limit", "packets"),
            *_PIE,
            _flag("ecn", off="noecn"),
            _flag("bytemode", off="nobytemode"),
            _ESTIMATOR,
        ),
        {**_PIE_FIXED, "mark_ecnth": ("0.1",)},
    ),
    "fq_pie": Kind(
        (
            Value("limit", "packets"),
            Value("flows", "count"),
            *_PIE,
            Value("quantum", "bytes"),
            Value("memory_limit", "bytes"),
            Value("mark_ecnth", "per cent", "ecn_prob"),
            _flag("ecn", off="noecn"),
            _flag("bytemode", off="nobytemode"),
            _ESTIMATOR,
        ),
        {**_PIE_FIXED, "drop_batch": ("64p",)},
    ),
    "cake": Kind(
        (
            Value("bandwidth", "rate"),
            Switch("diffserv", _CAKE_TINS, "diffserv", _CAKE_TINS),
            Switch("flowmode", _CAKE_FLOWS, "flowmode", _CAKE_FLOWS),
            Switch("wash", {"on": "wash", "off": "nowash"}, "wash", {"on": True, "off": False}),
            Switch("ingress", {"on": "ingress", "off": "egress"}, "ingress", {"on": True, "off": False}),
            Switch(
                "ack_filter",
                {"off": "no-ack-filter", "on": "ack-filter", "aggressive": "ack-filter-aggressive"},
                "ack-filter",
                {"off": "disabled", "on": "enabled", "aggressive": "aggressive"},
            ),
            Value("rtt", "time"),
            Switch("framing", _CAKE_FRAMING, "atm", _CAKE_FRAMING),
            Value("overhead", "number"),
            Value("mpu", "bytes"),
            Value("memlimit", "bytes"),
        ),
        {"ecn": ("on",), "control_law": ("newton", "exact")},
        # No translation of addresses, no aggregated packets, no marks of a firewall.
        {"nat": False, "split_gso": True, "fwmark": "0"},
        carried={
            **dict.fromkeys(("nat", "nonat", "split-gso", "no-split-gso", "autorate-ingress", "via-ethernet"), 0),
            "fwmark": 1,
        },
    ),
    "dualpi2": Kind(
        (
            Value("limit", "packets"),
            Value("memlimit", "bytes", key="memory-limit"),
            Value("target", "time"),
            Value("tupdate", "time"),
            Value("alpha", "number"),
            Value("beta", "number"),
            Value("step_thresh", "time"),
            Value("min_qlen_step", "packets", key="min-qlen-step"),
            Value("coupling_factor", "count", key="coupling"),
            Switch(
                "drop_on_overload",
                {"on": "drop_on_overload", "off": "overflow"},
                "drop-overload",
                {"on": "drop", "off": "overflow"},
            ),
            Switch(
                "drop_enqueue",
                {"on": "drop_enqueue", "off": "drop_dequeue"},
                "drop-early",
                {"on": "drop-enqueue", "off": "drop-dequeue"},
            ),
            Value("classic_protection", "per cent", key="c-protection"),
            Switch("any_ect", {"on": "any_ect", "off": "l4s_ect"}, "ecn-mask", {"on": "any-ect", "off": "l4s-ect"}),
            Switch("split_gso", {"on": "split_gso", "off": "no_split_gso"}, "split-gso", {"on": None}),
        ),
        {
            "l4s_aqm": ("step",),
            "nqb": ("none",),
            "nqb_limit": ("10ms",),
            "min_th": ("800us",),
            "range": ("400us",),
            "th_len": ("1p",),
            "scheduler": ("wrr",),
            "tshift": ("50ms",),
            "marking": ("random", "recurrent"),
            "mtu": ("1514B",),
            "max_rtt": ("none",),
            "typical_rtt": ("none",),
        },
        nearest="dualpi2 preset linux-7.2",
    ),
}
"""Every discipline that can be exported."""

NEAREST: Final[dict[str, str]] = {
    "ared": "red limit 400000 avpkt 1000 adaptive",
    "avq": "pie",
    "black": "choke",
    "blue": "sfb",
    "care": "choke",
    "cobalt": "cake besteffort flowblind",
    "daqm": "codel",
    "dropping_function": "red",
    "drr": "sfq",
    "fq_cobalt": "cake",
    "fq_daqm": "fq_codel",
    "fq_avq": "fq_pie",
    "fq_pfifo": "sfq",
    "fq_red": "sfq",
    "fq_rem": "fq_pie",
    "fred": "choke",
    "green": "sfb",
    "nlred": "red",
    "pi": "pie",
    "rem": "pie",
    "shred": "red",
    "sred": "red",
    "threshold": "pfifo",
}
"""For algorithms that Linux does not have, the nearest that it has."""
