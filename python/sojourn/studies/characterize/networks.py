"""Networks of RFC 7928, section 3.1, as scenario documents: groups of hosts, a bottleneck, and what they send."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sojourn.base import toml
from sojourn.base.core import SojournError

NEAR_MS: Final = 1.0
"""Propagation delay of the bottleneck; the rest of a round trip is on the hosts' links."""
LEAST_RTT_MS: Final = 4.0
FULL_BYTES: Final = 1500
_ACCESS: Final = "10 Gbit/s"

#: NewReno as the RFC wants it (section 3.3): SACK, and one acknowledgement for two segments.
NEWRENO: Final = {"kind": "tcp", "congestion_control": "newreno"}
UDP: Final = {"kind": "udp"}
BULK: Final = {"kind": "bulk"}


@dataclass(frozen=True, slots=True)
class Group:
    """Hosts that send alike: one `[[flows]]` table.

    Parameters
    ----------
    name
        Of the group in results.
    count
        Hosts, each with one flow.
    transport, traffic
        As in scenarios.
    rtt_ms
        Base round-trip time.
    start
        As in scenarios.
    stop
        As in scenarios; None for the end of the run.
    is_back
        From right to left, across the queue that is not under test unless the setting says so.
    """

    name: str
    count: int = 1
    transport: dict[str, Any] = field(default_factory=lambda: dict(NEWRENO))
    traffic: dict[str, Any] = field(default_factory=lambda: dict(BULK))
    rtt_ms: float = 100.0
    start: Any = None
    stop: str | None = None
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """What is common to all networks of a characterisation.

    Parameters
    ----------
    rate_mbit_s
        Of the bottleneck.
    rtt_ms
        Base round-trip time of a network whose section names none.
    buffer_packets
        Of the queue under test; None for the bandwidth-delay product with the largest round-trip time (section 3.2).
    measured_s
        Length of what is measured.
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

    Parameters
    ----------
    setting
        Rate, and the length of what is measured.
    groups
        What sends.
    name, description
        Of the scenario.
    warm_up_s
        Before what is measured.
    measured_s
        Another length of what is measured.
    both_ways
        Both directions of the bottleneck are under test (section 9.2).
    changes
        As in scenarios.
    middle
        Groups that enter at a second bottleneck behind the first (section 10.2), which then is under test, too.
    first
        With `middle`: scheme of the first bottleneck, which then is not under test.
    """
    nodes, links, flows = [], [], []
    rate = f"{setting.rate_mbit_s:g} Mbit/s"
    hops = ["left", "middle", "right"] if middle else ["left", "right"]
    for group in (*groups, *middle):
        crossed = 1 if group in middle else len(hops) - 1
        at = "right" if group.is_back else hops[-1 - crossed]
        delay_ms = group.rtt_ms / 2 - NEAR_MS * crossed
        if delay_ms <= 0:
            raise SojournError(f"group {group.name}: a base RTT of {group.rtt_ms:g} ms is too short for this network")
        nodes.append({"name": group.name, "count": group.count})
        links.append(
            {
                "name": f"{group.name}_access",
                "from": group.name,
                "to": at,
                "rate": _ACCESS,
                "delay": f"{delay_ms:g} ms",
            }
        )
        flow: dict[str, Any] = {
            "name": group.name,
            "from": group.name,
            "to": "left" if group.is_back else "right",
            "transport": group.transport,
            "traffic": group.traffic,
        }
        if group.start is not None:
            flow["start"] = group.start
        if group.stop is not None:
            flow["stop"] = group.stop
        flows.append(flow)
    for k, (here, there) in enumerate(itertools.pairwise(hops)):
        link: dict[str, Any] = {
            "name": ("bottleneck", "second")[k],
            "from": here,
            "to": there,
            "rate": rate,
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


def text(document: dict[str, Any]) -> str:
    """Write a scenario as TOML."""
    return toml.dumps(document)
