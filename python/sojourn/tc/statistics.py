"""Statistics of queues in the shape of ``tc -s -j qdisc show``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sojourn.base.core import Document
from sojourn.base.errors import SchemeError
from sojourn.model.scheme import Scheme
from sojourn.tc import values
from sojourn.tc.kinds import KINDS, Option, Switch, Value

_Queue: TypeAlias = Mapping[str, Any]


def statistics(document: Document) -> list[Document]:
    """Return what ``tc -s -j qdisc show`` would print of the queues under test at the end of a run.

    Parameters
    ----------
    document
        The result of one run, from :func:`sojourn.base.core.run_many`.

    Returns
    -------
    One object a queue: ``kind``, ``handle``, ``dev`` (the queue's name), ``root``, ``options``, ``bytes``,
    ``packets``, ``drops``, ``overlimits``, ``requeues``, ``backlog``, ``qlen``, and the kind's own statistics.
    All counts are from the start of the run, as in Linux, warm-up included. Times are whole microseconds, sizes
    bytes, as tc has them.

    Notes
    -----
    What the library does not count is left out rather than given as 0: ``maxpacket``, ``ldelay``, ``lastcount``,
    ``new_flow_count``, ``maxq``, ``bucketdrop``, ``avgprob`` and the like. Marks by ``ce_threshold`` are among
    ``ecn_mark``, and times when CAKE's shaper held a packet are not among ``overlimits``. A scheme that Linux does
    not have is printed in the same shape, with its options as text and its internals.

    Raises
    ------
    SojournError
        If no queue is under test.
    """
    queues = [queue for queue in document["queues"] if queue["under_test"]]
    if not queues:
        raise SchemeError("the scenario has no queue under test: set `under_test = true` for a link or a bus")
    end_us = round(document["duration_s"] * 1e6)
    return [_statistics(queue, 0x8001 + number, end_us) for number, queue in enumerate(queues)]


def _statistics(queue: _Queue, handle: int, end_us: int) -> Document:
    scheme = Scheme(queue["scheme"])
    kind, counts = scheme.algorithm, queue["counts"]
    parameters = {parameter.name: parameter.value for parameter in scheme.parameters()}
    dropped = sum(counts[name]["packets"] for name in ("dropped_overflow", "dropped_early", "dropped_flow"))
    own: Callable[[_Queue], dict[str, Any]] = _OWN.get(kind, lambda queue: {"internals": queue["internals"]})
    return {
        "kind": kind,
        "handle": f"{handle:x}:",
        "dev": queue["name"],
        "root": True,
        "options": _options(kind, parameters) | (_red_of_queues(queue, parameters) if kind == "sfq" else {}),
        "bytes": counts["forwarded"]["bytes"],
        "packets": counts["forwarded"]["packets"],
        "drops": dropped,
        "overlimits": _overlimits(kind, counts),
        "requeues": 0,
        "backlog": counts["waiting"]["bytes"],
        "qlen": counts["waiting"]["packets"],
        **own({**queue, "parameters": parameters, "end_us": end_us}),
    }


def _overlimits(kind: str, counts: _Queue) -> int:
    """Return the kernel's count "overlimits": RED's signals, and SFB's drops except the early ones."""
    names = {
        "red": ("marked", "dropped_early"),
        "choke": ("marked", "dropped_early"),
        "sfq": ("marked", "dropped_early"),
        "sfb": ("dropped_overflow", "dropped_flow"),
    }
    return sum(int(counts[name]["packets"]) for name in names.get(kind, ()))


def _options(kind: str, parameters: Mapping[str, str]) -> Document:
    if kind not in KINDS:
        return {name: value for name, value in parameters.items() if value != "none"}
    options: Document = {}
    for option in KINDS[kind].options:
        options.update(_option(option, parameters))
    options.update(KINDS[kind].always)
    if kind == "cake":
        # Bytes as they are, with no framing to name.
        options["raw"] = (options["overhead"], options["atm"], options.get("mpu", 0)) == (0, "noatm", 0)
        if options["raw"]:
            del options["atm"]
    return options


def _red_of_queues(queue: _Queue, parameters: Mapping[str, str]) -> Document:
    """RED inside sfq, whose statistics tc prints among the options; nothing where it is off."""
    if parameters["max"] == "none":
        return {}
    counts = [f"{kind}_{what}" for kind in ("prob", "forced") for what in ("mark", "mark_head", "drop")]
    return {
        "ewma": round(-math.log2(float(parameters["w"]))),
        "min": values.size(parameters["min"]),
        "max": values.size(parameters["max"]),
        "probability": float(parameters["max_p"]),
        "ecn": parameters["ecn"] == "on",
        "harddrop": parameters["harddrop"] == "on",
        "adaptive": False,
        "nodrop": False,
        **{name: int(queue["internals"][name]) for name in counts},
    }


def _option(option: Option, parameters: Mapping[str, str]) -> Document:
    text = parameters[option.name]
    if isinstance(option, Switch):
        return {option.key: option.values[text]} if text in option.values else {}
    absent = text == "none" and option.unit != "rate"
    if absent or option.detail or (option.name, text) in {("mpu", "0B"), ("perturb", "0ns")}:
        return {}
    if option.unit == "selector":
        value, mask = (int(part, 0) for part in text.split("/"))
        return {option.name: value, "ce_threshold_mask": mask}
    if option.name == "step_thresh":
        packets = values.packets(text)
        return {"step-thresh-us": _number(option, text)} if packets is None else {"step-thresh-pkts": packets}
    number = _number(option, text)
    if option.unit == "bytes" and (count := values.packets(text)) is not None:
        # RED in packets: Linux has bytes alone.
        number = count * (values.size(parameters["avpkt"]) or 0)
    return {option.key or option.word or option.name: number}


_PER_NANOSECOND: Final = {"time": 1e3, "ms": 1e6, "s": 1e9}
_FACTORS: Final = {"sixteenths": 16, "per cent": 100}


def _number(option: Value, text: str) -> int | float | str:
    if option.unit == "rate":
        # tc's JSON has bytes a second.
        return "unlimited" if text == "none" else values.rate(text) // 8
    if option.unit in _PER_NANOSECOND:
        unit = "time" if option.microseconds else option.unit
        number = (values.nanoseconds(text) or 0) / _PER_NANOSECOND[unit]
        return round(number) if unit == "time" else _whole(number)
    if option.unit in {"packets", "bytes"}:
        amount = values.packets(text) if option.unit == "packets" else values.size(text)
        # A limit in the other unit, or in time: Linux has none such.
        return text if amount is None else amount
    return _whole(float(text) * _FACTORS.get(option.unit, 1))


def _whole(number: float) -> int | float:
    nearest = round(number)
    return nearest if math.isclose(number, nearest, rel_tol=1e-12, abs_tol=0) else number


def _packets(queue: _Queue, *names: str) -> int:
    return sum(int(queue["counts"][name]["packets"]) for name in names)


def _red(queue: _Queue) -> Document:
    return {
        "marked": _packets(queue, "marked"),
        "early": _packets(queue, "dropped_early"),
        "pdrop": _packets(queue, "dropped_overflow"),
        "other": 0,
    }


def _sfb(queue: _Queue) -> Document:
    return {
        "earlydrop": _packets(queue, "dropped_early"),
        "queuedrop": _packets(queue, "dropped_overflow"),
        "childdrop": 0,
        "marked": _packets(queue, "marked"),
        "maxqlen": int(queue["internals"]["greatest_bin_packets"]),
        "maxprob": queue["internals"]["greatest_probability"],
    }


def _codel(queue: _Queue) -> Document:
    internals = queue["internals"]
    own: Document = {"count": int(internals["count"])}
    if internals["dropping"]:
        own |= {"dropping": True, "drop_next": round(internals["drop_next_s"] * 1e6) - queue["end_us"]}
    else:
        own["drop_next"] = 0
    return own | {"ecn_mark": _packets(queue, "marked"), "drop_overlimit": _packets(queue, "dropped_overflow")}


def _fq_codel(queue: _Queue) -> Document:
    return {
        "drop_overlimit": _packets(queue, "dropped_overflow"),
        "ecn_mark": _packets(queue, "marked"),
        # Linux leaves it out while nothing waits.
        **({"memory_used": used} if (used := _memory(queue)) else {}),
        **_lists(queue),
    }


def _lists(queue: _Queue) -> Document:
    internals = queue["internals"]
    return {"new_flows_len": int(internals["new_queues"]), "old_flows_len": int(internals["old_queues"])}


def _memory(queue: _Queue) -> int:
    """Memory of the waiting packets, bytes: ``Backlog::memory`` of the core says where the numbers come from."""
    packets, size = (queue["counts"]["waiting"][unit] for unit in ("packets", "bytes"))
    return int(640 * packets + max(1664 * packets, size))


def _accepted(queue: _Queue) -> int:
    """Packets that joined the queue, in a kind that drops on arrival alone."""
    return _packets(queue, "arrived") - _packets(queue, "dropped_overflow", "dropped_early", "dropped_flow")


def _pie(queue: _Queue) -> Document:
    internals = queue["internals"]
    own: Document = {"prob": internals["drop_probability"], "delay": round(internals["delay_s"] * 1e6)}
    if queue["parameters"]["delay"] == "departure_rate":
        own["avg_dq_rate"] = round(internals["departure_rate_bytes_s"])
    return own | {
        "pkts_in": _accepted(queue),
        "overlimit": _packets(queue, "dropped_overflow"),
        "dropped": _packets(queue, "dropped_early"),
        "ecn_mark": _packets(queue, "marked"),
    }


def _fq_pie(queue: _Queue) -> Document:
    return {
        "pkts_in": _packets(queue, "arrived") - _packets(queue, "dropped_early"),
        "overlimit": _packets(queue, "dropped_overflow"),
        "dropped": _packets(queue, "dropped_early"),
        "ecn_mark": _packets(queue, "marked"),
        **_lists(queue),
        "memory_used": _memory(queue),
    }


def _dualpi2(queue: _Queue) -> Document:
    own: Document = {
        "prob": queue["internals"]["base_probability"],
        "ecn-mark": _packets(queue, "marked"),
        "credit": round(queue["internals"]["credit_bytes"]),
        "memory-used": _memory(queue),
    }
    limit = values.size(queue["parameters"]["memlimit"])
    return own if limit is None else own | {"memory-limit": limit}


_TIN: Final = {
    "peak_delay_us": ("peak_delay_s", 1e6),
    "avg_delay_us": ("average_delay_s", 1e6),
    "base_delay_us": ("base_delay_s", 1e6),
    "backlog_bytes": ("backlog_bytes", 1),
    "sent_packets": ("sent_packets", 1),
    "way_indirect_hits": ("way_hits", 1),
    "way_misses": ("way_misses", 1),
    "way_collisions": ("way_collisions", 1),
    "drops": ("drops_packets", 1),
    "ecn_mark": ("marks_packets", 1),
    "ack_drops": ("ack_drops_packets", 1),
    "sparse_flows": ("sparse_flows", 1),
    "bulk_flows": ("bulk_flows", 1),
    "flow_quantum": ("quantum_bytes", 1),
}
"""What tc says of a tin, and the internal that it comes from with its factor."""


def _cake(queue: _Queue) -> Document:
    internals = queue["internals"]
    tins = list(range(sum(f"tin{tin}_sent_packets" in internals for tin in range(8))))
    if queue["parameters"]["diffserv"] in {"diffserv3", "diffserv4"}:
        # Linux shows bulk, its second tin, before best effort.
        tins[:2] = [1, 0]
    return {
        "memory_used": _memory(queue),
        "memory_limit": round(internals["memory_limit_bytes"]),
        "tins": [
            {key: round(internals[f"tin{tin}_{name}"] * factor) for key, (name, factor) in _TIN.items()}
            for tin in tins
        ],
    }


def _nothing(_: _Queue) -> Document:
    return {}


_OWN: Final[dict[str, Callable[[_Queue], Document]]] = {
    "pfifo": _nothing,
    "bfifo": _nothing,
    "red": _red,
    "choke": lambda queue: {**_red(queue), "matched": int(queue["internals"]["matches"])},
    "sfb": _sfb,
    "sfq": _nothing,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "fq_pie": _fq_pie,
    "cake": _cake,
    "dualpi2": _dualpi2,
}
"""The statistics of each kind besides those that all have."""
