"""Networks of RFC 7928, section 3.1, as scenario documents: groups of hosts, a bottleneck, and what they send."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sojourn.base.core import SojournError

NEAR_MS: Final = 1.0
"""Propagation delay of the bottleneck; the rest of a round trip is on the hosts' links."""
LEAST_RTT_MS: Final = 4.0
FULL_BYTES: Final = 1500
_ACCESS: Final = "10 Gbit/s"

#: NewReno as the RFC wants it (section 3.3): SACK, and one acknowledgement for two segments.
NEWRENO: Final = {"kind": "tcp", "congestion_control": "newreno"}
UDP: Final = {"kind": "udp"}
SPREAD: Final = {"uniform": ["0 s", "1 s"]}
"""Flows start within a second, so that they do not move in step from the start on."""


@dataclass(frozen=True, slots=True)
class Group:
    """Hosts that send alike: one `[[flows]]` table, with `transport`, `traffic` and `start` as in scenarios.

    There are `count` hosts, each with one flow. Their base round-trip time is the setting's by default. With
    `is_back` they send from right to left, across the queue that is not under test unless the network says so.
    """

    name: str
    count: int = 1
    transport: dict[str, Any] = field(default_factory=lambda: NEWRENO)
    traffic: dict[str, Any] = field(default_factory=lambda: {"kind": "bulk"})
    rtt_ms: float | None = None
    start: dict[str, list[str]] | None = field(default_factory=lambda: SPREAD)
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """What is common to all networks of a characterisation.

    The base RTT is that of networks whose section names none. The buffer of the queue under test is by default the
    bandwidth-delay product with the largest base RTT (section 3.2).
    """

    rate_mbit_s: float = 20.0
    rtt_ms: float = 100.0
    buffer_packets: int | None = None
    measured_s: float = 60.0

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("rate_mbit_s", self.rate_mbit_s, 0.1, 10_000.0),
            ("rtt_ms", self.rtt_ms, LEAST_RTT_MS, 1_000.0),
            ("measured_s", self.measured_s, 60.0, 3_600.0),
        ):
            if not low <= value <= high:
                raise SojournError(f"{name} is {value:g}; allowed: {low:g} to {high:g}")
        if self.buffer_packets is not None and not 1 <= self.buffer_packets <= 1_000_000:
            raise SojournError(f"buffer_packets is {self.buffer_packets}; allowed: 1 to 1000000")

    def bdp_packets(self, rtt_ms: float | None = None) -> int:
        """Return the bandwidth-delay product in full packets."""
        return max(1, round(self.rate_mbit_s * 1e6 * (rtt_ms or self.rtt_ms) / 1e3 / 8 / FULL_BYTES))

    def buffer(self, rtt_ms: float | None = None) -> int:
        """Return the buffer for a largest round-trip time, in packets."""
        return self.buffer_packets or self.bdp_packets(rtt_ms)

    def at(self, rate_mbit_s: float) -> Setting:
        """Return the same with another rate."""
        return replace(self, rate_mbit_s=rate_mbit_s)


def network(
    setting: Setting,
    groups: Sequence[Group],
    *,
    name: str,
    description: str,
    warm_up_s: float,
    measured_s: float | None = None,
    both_ways: bool = False,
    changes: Sequence[dict[str, Any]] = (),
    middle: Sequence[Group] = (),
    first: str | None = None,
) -> dict[str, Any]:
    """Return a dumbbell: groups of hosts at `left`, the bottleneck from `left` to `right`.

    With `both_ways`, both directions of the bottleneck are under test (section 9.2). The groups of `middle` enter at
    a second bottleneck behind the first (section 10.2), which then is under test, too; `first` is the scheme of the
    first one, which then is not.
    """
    nodes, links, flows = [], [], []
    hops = ["left", "middle", "right"] if middle else ["left", "right"]
    for group in (*groups, *middle):
        crossed = 1 if group in middle else len(hops) - 1
        at = "right" if group.is_back else hops[-1 - crossed]
        rtt_ms = group.rtt_ms or setting.rtt_ms
        delay_ms = rtt_ms / 2 - NEAR_MS * crossed
        if delay_ms <= 0:
            raise SojournError(f"group {group.name}: a base RTT of {rtt_ms:g} ms is too short for this network")
        nodes.append({"name": group.name, "count": group.count})
        ends = {"name": f"{group.name}_access", "from": group.name, "to": at}
        links.append({**ends, "rate": _ACCESS, "delay": f"{delay_ms:g} ms"})
        flow: dict[str, Any] = {
            "name": group.name,
            "from": group.name,
            "to": "left" if group.is_back else "right",
            "transport": group.transport,
            "traffic": group.traffic,
        }
        if group.start is not None:
            flow["start"] = group.start
        flows.append(flow)
    for k, (here, there) in enumerate(itertools.pairwise(hops)):
        link: dict[str, Any] = {
            "name": ("bottleneck", "second")[k],
            "from": here,
            "to": there,
            "rate": f"{setting.rate_mbit_s:g} Mbit/s",
            "delay": f"{NEAR_MS:g} ms",
            "under_test": True,
        }
        if both_ways:
            link["reverse_under_test"] = True
        if k == 0 and first is not None:
            link |= {"under_test": False, "queue": first}
        links.append(link)
    length = warm_up_s + (measured_s or setting.measured_s)
    document: dict[str, Any] = {
        "name": name,
        "description": description,
        "duration": f"{length:g} s",
        "warm_up": f"{warm_up_s:g} s",
        "nodes": nodes,
        "links": links,
        "flows": flows,
    }
    if changes:
        document["changes"] = list(changes)
    return document
