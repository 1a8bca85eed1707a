"""From a link, as scenarios describe it, to the configuration of ``sojournd`` that emulates it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from sojourn.base import core
from sojourn.base.core import Document, SojournError
from sojourn.base.errors import RunError
from sojourn.base.units import from_ns, to_ns
from sojourn.model.network import Network

NAME: Final = "link"
DOWN, UP = "server->client", "client->server"
"""The names of the two queues, as results have them."""

FASTEST_BIT_S: Final = 2_000_000_000
"""What one core forwards between two packet sockets: 0.4 million frames of 1514 B a second."""

_LONGEST: Final = "24 h"
"""The length of the scenario before the command has ended."""


class Option(NamedTuple):
    """A parameter of :class:`Link`, which is an option of ``sojourn shell``."""

    key: str
    """The key of a scenario's link that it sets."""
    kind: str
    help: str


def _of_effects() -> Iterator[tuple[str, Option]]:
    for effect in core.link_effects():
        kind, there, back = effect["option"]
        yield effect["key"], Option(effect["key"], kind, there)
        yield f"up_{effect['key']}", Option(effect["reverse"], kind, back)


OPTIONS: Final[Mapping[str, Option]] = {
    "down": Option("rate", "RATE", 'rate towards the command, as in "50 Mbit/s"'),
    "up": Option("reverse_rate", "RATE", "rate in the other direction (default: that of --down)"),
    "rtt": Option("delay", "TIME", "round-trip time of the empty link, half in each direction (default 0 ms)"),
    "aqm": Option("queue", "SCHEME", "queueing scheme towards the command (default pfifo)"),
    "up_aqm": Option("reverse_queue", "SCHEME", "queueing scheme in the other direction (default pfifo)"),
    **dict(_of_effects()),
    "trace_down": Option(
        "trace",
        "FILE",
        "a rate that changes, in place of --down: Mahimahi's format, a table, lte or starlink",
    ),
    "trace_up": Option("reverse_trace", "FILE", "a rate that changes, in place of --up"),
    "framing": Option(
        "framing", "WORDS", 'what the link adds to packets, as tc-cake(8) writes it: "docsis", "pppoe-ptm"'
    ),
    "changes": Option(
        "changes", "FILE", "changes at given times, a table as for scenarios: at,rate,delay,loss,scheme"
    ),
}
"""Every parameter of :class:`Link`."""

_WRONG = re.compile(r"key `(?P<key>links\[0\]\.(?P<of>\w+)[^`]*|changes[^`]*)`: (?P<what>.*)", re.DOTALL)
_LEAST_FRAMES: Final = 16_384
_MOST_FRAMES: Final = 262_144
_SMALL_FRAME: Final = 500
"""Frames on the delay line are counted as if they had so many bytes."""


class Link:
    """An access link; every value is written as in scenarios, with its unit.

    Parameters
    ----------
    **given
        By the names of :data:`OPTIONS`: ``down="50 Mbit/s", rtt="40 ms", aqm="fq_codel", up_loss="1%"``. Without
        ``framing``, rates are those of IP packets.

    Raises
    ------
    TypeError
        There is no such parameter.
    """

    __slots__ = ("given",)

    def __init__(self, **given: str | None) -> None:
        for name in given:
            if name not in OPTIONS:
                raise TypeError(f"Link() got an unexpected keyword argument {name!r}")
        self.given = {name: value for name, value in given.items() if value is not None}

    def scenario(self, *, title: str = "shell") -> Document:
        """Return the scenario of this link in canonical form."""
        given = self.given
        if "down" not in given and "trace_down" not in given:
            raise RunError('--down is missing; allowed: a rate, as in --down "50 Mbit/s", or --trace-down FILE')
        rtt = given.get("rtt", "0 ms")
        try:
            delay_ns = to_ns("--rtt", rtt) // 2
        except ValueError:
            raise RunError(f'--rtt: "{rtt}" is not a time; allowed: a time with its unit, as in "40 ms"') from None
        link: dict[str, Any] = {OPTIONS[name].key: value for name, value in given.items()}
        changes = link.pop("changes", None)
        for trace in ("trace", "reverse_trace"):
            if trace in link:
                link[trace] = {"file": link[trace]}
        if "rate" in link and not link.keys() & {"reverse_rate", "reverse_trace"}:
            link["reverse_rate"] = link["rate"]
        ends = {"name": NAME, "from": "server", "to": "client", "under_test": True}
        document = {
            "name": title,
            "duration": _LONGEST,
            "links": [{"queue": "pfifo", "reverse_queue": "pfifo", **link, **ends, "delay": str(from_ns(delay_ns))}],
            # A scenario needs a flow; the traffic is the command's.
            "flows": [{"name": "command", "from": "server", "to": "client"}],
            "changes": [{"at": "0 s", "link": NAME, "file": changes}] if changes else [],
        }
        try:
            return Network.from_dict(document).canonical()
        except SojournError as error:
            raise _as_options(error) from None


def _as_options(error: SojournError) -> SojournError:
    """Name the option in place of the scenario's key."""
    found = _WRONG.search(str(error))
    if found is None:
        return error
    key = found["of"] or "changes"
    option = next((name for name, option in OPTIONS.items() if option.key == key), None)
    return error if option is None else RunError(f"--{option.replace('_', '-')}: {found['what']}")


def configuration(scenario: Document, *, seed: int | None = None, pcapng: Path | None = None) -> str:
    """Return the configuration of ``sojournd`` for the one link of a canonical scenario, as JSON.

    The link is from ``server`` to ``client``. A seed is drawn if it is not given; `pcapng` is a folder for the
    packets of both ends.
    """
    link = the_link(scenario)
    ports = {}
    for side, far in (("a", "server"), ("b", "client")):
        ports[side] = {"back_end": "af_packet", "interface": f"port-{side}"}
        if pcapng is not None:
            ports[side]["trace"] = str((pcapng / f"{far}.pcapng").resolve())
    return json.dumps(
        {
            "ports": ports,
            "a_to_b": _direction(scenario, link, ""),
            "b_to_a": _direction(scenario, link, "reverse_"),
            "frames": {"count": _frames(link)},
            "windows": {"store": "none"},
            "control": {"listen": "none", "socket": "none"},
            "run": {
                "user": "root",
                "status_every": "100 ms",
                "status_lines": True,
                "level": "error",
                **({} if seed is None else {"seed": seed}),
            },
        }
    )


def the_link(scenario: Document) -> dict[str, Any]:
    """Return the link of a scenario that can be emulated: its only one."""

    def refuse(what: str, allowed: str) -> SojournError:
        return RunError(f"scenario {scenario['name']!r} cannot run for real: it {what}; allowed: {allowed}")

    links = scenario["links"]
    for key, what in (("buses", "has a bus"), ("cells", "has an 802.11 cell")):
        if scenario.get(key):
            raise refuse(what, "one point-to-point link")
    if len(links) != 1:
        raise refuse(f"has {len(links)} links", "one point-to-point link")
    link = dict(links[0])
    if link["device_queue"] != "0 p":
        raise refuse("has a `device_queue`", "a link without one")
    for way in ("", "reverse_"):
        if link.get(f"{way}burst") is not None:
            raise refuse(f"has `{way}burst`", "a link without a token bucket")
        if (link.get(f"{way}trace") or {}).get("states"):
            raise refuse("draws its rates from states", "a trace, or a rate")
        rate = link.get(f"{way}rate")
        if rate is not None and _bit_s(rate) > FASTEST_BIT_S:
            most = f"up to {FASTEST_BIT_S / 1e9:g} Gbit/s, which one core forwards"
            raise refuse(f"has a rate of {rate}", most)
    for change in scenario.get("changes", ()):
        for key in ("parameters", "stop", "start"):
            if change.get(key):
                raise refuse(f"changes `{key}`", "changes of rate, delay, loss and scheme")
    return link


def rates_bit_s(scenario: Document) -> list[float]:
    """Return the constant rates that a scenario's link has at any time."""
    link = scenario["links"][0]
    rates = [link.get(key) for key in ("rate", "reverse_rate")]
    rates += [change.get("rate") for change in scenario.get("changes", ())]
    return [_bit_s(rate) for rate in rates if rate is not None]


def _bit_s(rate: str) -> float:
    from sojourn.base.units import rate_bit_s

    return float(rate_bit_s(rate, "rate"))


def _direction(scenario: Document, link: Mapping[str, Any], way: str) -> dict[str, Any]:
    """Return the table of one direction; `way` is the prefix of its keys."""

    def own(key: str) -> Any:
        value = link.get(f"{way}{key}")
        return value if value is not None or not way else None

    trace = own("trace")
    rate = own("rate")
    if trace is None and rate is None:
        trace, rate = link.get("trace"), link.get("rate")
    overhead = str(link.get("overhead", "0 B")).removesuffix(" B")
    framing = link.get("framing") or ("raw" if overhead == "0" else f"raw overhead {overhead}")
    changes = []
    for change in scenario.get("changes", ()):
        name = DOWN if not way else UP
        if change.get("queue") not in (None, name.replace("server", link["from"]).replace("client", link["to"])):
            continue
        kept = {key: change.get(key) for key in ("at", "every", "rate", "delay", "loss", "scheme")}
        kept = {key: value for key, value in kept.items() if value is not None}
        if kept.keys() - {"at", "every"}:
            changes.append(kept)
    found = {
        "scheme": link[f"{way}queue"],
        "rate": None if trace else rate,
        "trace": trace,
        # Opportunities count bytes of IP in any case.
        "framing": None if trace and trace.get("opportunities") else framing,
        "delay": own("delay") or link["delay"],
        **{effect["key"]: own(effect["key"]) for effect in core.link_effects()},
        "changes": changes or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _frames(link: Mapping[str, Any]) -> int:
    """Return how many frames the device needs: those of a long queue, and those on both delay lines."""
    travelling = 0.0
    for way in ("", "reverse_"):
        rate = link.get(f"{way}rate") or link.get("rate")
        bit_s = 100e6 if rate is None else _bit_s(rate)
        delay_s = to_ns("delay", link.get(f"{way}delay") or link["delay"]) / 1e9
        travelling += bit_s * delay_s / 8.0 / _SMALL_FRAME
    return min(_MOST_FRAMES, _LEAST_FRAMES + int(travelling))
