"""The law that units of time do not matter: twice as slow, the same happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from generator import load
from law import BIT_S, NANOSECONDS, SECONDS, Case, Unmet, amount, copied, is_near, law, require
from sojourn.base import core
from sojourn.base.core import Document, SojournError

NOT_SCALING: Final = {
    "ared": "Its weight is 1 - exp(-1/C), with C in packets a second: a second is in the law.",
    "pie linux": "Linux' variant raises its probability further above 250 ms, which is no parameter.",
    "fq_pie linux": "As pie.",
    "codel newton": "It reads times in whole units of 1024 ns, as Linux does.",
    "fq_codel newton": "As codel.",
}
"""Schemes that time of another unit changes, with a word that their canonical text then has, and why."""

_PER_TIME: Final[dict[str, dict[str, int]]] = {
    "pie": {"alpha": 1, "beta": 1},
    "fq_pie": {"alpha": 1, "beta": 1},
    "dualpi2": {"alpha": 1, "beta": 1},
    "avq": {"alpha": 1},
    "fq_avq": {"alpha": 1},
    "daqm": {"s2": 1, "s3": 2},
    "fq_daqm": {"s2": 1, "s3": 2},
    "sfb": {"penalty_rate": 1},
}
"""Parameters that are bare numbers and mean something for each second or millisecond, and the power of that."""

_NOT_SCALING_METRICS: Final = ("_p50", "_p99", "_mode", "cwnd_growth_segments")
"""Quantiles are of bins, modes of whole milliseconds, and the window's growth of a second."""

_TIME: Final = re.compile(r"[\d.]+(ns|us|ms|s)")


@law("twice as slow", "With all rates halved and all times doubled the same packets come, wait and go.")
def units_of_time_do_not_matter(case: Case) -> Iterator[str]:
    document = _exact(case)
    slow = _slower(document, key="")
    fast, slow_report = case.run(document), case.run(slow)
    for table in ("queues", "flows"):
        for one, other in zip(fast[table], slow_report[table], strict=True):
            for name, value in one["metrics"].items():
                unit = _units()[name]
                factor = {"ms": 2.0, "s": 2.0, "bit/s": 0.5}.get(unit, 1.0)
                expected = None if value is None else value * factor
                found = other["metrics"][name]
                if name.endswith(_NOT_SCALING_METRICS) and unit != "packets":
                    continue
                if not is_near(expected, found, NANOSECONDS):
                    yield f"{table} {one['name']}: {name}: {value}, twice as slow {found}"


@cache
def _units() -> dict[str, str]:
    return {one["name"]: one["unit"] for one in core.metrics()}


def _exact(case: Case) -> Document:
    """The scenario with deterministic traffic, in which a byte takes a whole number of nanoseconds."""
    written = copied(case.made.written)
    require("buses" not in written and "cells" not in written and written.get("links"))
    require("changes" not in written and "nodes" not in written)
    draw = case.draw
    for link in written["links"]:
        # No delays by chance, which are rounded, and no rate by chance; losses by chance are of packets.
        for key in [key for key in link if any(word in key for word in ("trace", "jitter", "burst", "framing"))]:
            del link[key]
        for key in ("rate", "reverse_rate"):
            link[key] = draw.choice(_WHOLE)
        for key in ("queue", "reverse_queue"):
            text = link.pop(key, "pfifo")
            # A formula may have times in it.
            link[key] = text if isinstance(text, str) and scales(text) else "pfifo limit 30p"
    written["flows"] = [
        {
            "name": f"exact{number}",
            "from": flow["from"],
            "to": flow["to"],
            "start": draw.time(0.1, 50),
            "transport": {"kind": "udp"},
            "traffic": {
                "kind": "replay",
                "packets": f"{2 * draw.randrange(50_000, 10**6)}:{draw.randrange(50, 1400)}x{draw.randrange(5, 300)}",
            },
        }
        for number, flow in enumerate(written["flows"])
    ]
    for flow in written["flows"]:
        if draw.once_in(2):
            flow["transport"] = {
                "kind": "tcp",
                "congestion_control": draw.choice(BY_ROUND_TRIPS),
                "ecn": draw.once_in(2),
            }
            flow["traffic"] = draw.choice(({"kind": "bulk"}, {"kind": "transfer", "size": draw.data(1, 200_000)}))
    for key in ("windows", "series"):
        written.pop(key, None)
    try:
        return load(written)
    except SojournError:
        raise Unmet from None


def scales(text: str) -> bool:
    """Whether a scheme has no times but those of its parameters."""
    words = core.parse_aqm(text).split()
    # A formula may have times in it.
    return "formula" not in words and not any(set(one.split()) <= set(words) for one in NOT_SCALING)


BY_ROUND_TRIPS: Final = ("newreno", "reno", "ns2_reno", "ns3_reno", "bic", "westwood", "veno", "compound", "ledbat")
"""Congestion controls that know round trips and the transport's times only; the others have constants in seconds."""

_WHOLE: Final = ("500 kbit/s", "1 Mbit/s", "2 Mbit/s", "4 Mbit/s", "8 Mbit/s", "10 Mbit/s", "20 Mbit/s", "40 Mbit/s")
"""Rates at which a byte takes a whole number of nanoseconds, also when halved."""


def _slower(value: Any, key: str) -> Any:
    """Return a canonical document with times doubled and rates halved."""
    if isinstance(value, dict):
        return {name: _slower(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_slower(one, key) for one in value]
    return _slower_text(value, key) if isinstance(value, str) else value


def _slower_text(text: str, key: str) -> str:
    unit = text.partition(" ")[2]
    if key in ("queue", "reverse_queue"):
        return slower_scheme(text)
    if key == "packets":
        gap, _, rest = text.partition(":")
        return f"{2 * int(gap)}:{rest}"
    if key in {effect[name] for effect in core.link_effects() for name in ("key", "reverse")}:
        return re.sub(r"[\d.]+ (ns|us|ms|s)\b", lambda found: _slower_text(found[0], ""), text)
    if unit in SECONDS:
        return f"{2 * round(amount(text, SECONDS) * 1e9)} ns"
    return f"{round(amount(text, BIT_S)) // 2} bit/s" if unit in BIT_S else text


def slower_scheme(text: str) -> str:
    """Return a scheme with its times doubled."""
    name = text.split(maxsplit=1)[0]
    known = {one["name"]: one for one in core.aqms()}[name]
    words = text
    for one in known["parameters"]:
        given = parameter_of(text, one["name"]) or str(one["default"])
        if "time" in one["kind"] and _TIME.fullmatch(given):
            words += f" {one['name']} {2 * round(_time_ns(given))}ns"
        elif one["name"] in _PER_TIME.get(name, {}) and given != "none":
            words += f" {one['name']} {float(given) / 2 ** _PER_TIME[name][one['name']]!r}"
        elif one["kind"] == "rate" and given != "none":
            words += f" {one['name']} {_slower_text(_spaced(given), '').replace(' ', '')}"
        elif one["kind"] == "choice":
            # Otherwise a word may choose: with tc's `step_thresh`, `dualpi2` has `l4s_aqm step`.
            words += f" {one['name']} {given}"
    return core.parse_aqm(words)


def _spaced(text: str) -> str:
    digits = text.rstrip("kMGmgbit/s")
    return f"{digits} {text[len(digits) :]}"


def parameter_of(text: str, name: str) -> str | None:
    """Return what a scheme's text says of a parameter."""
    # The last word may be a flag.
    words = [*text.split(), ""]
    return words[words.index(name) + 1] if name in words else None


def _time_ns(text: str) -> float:
    digits = text.rstrip("nmush")
    return float(digits) * SECONDS[text[len(digits) :]] * 1e9
