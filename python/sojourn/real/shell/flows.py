"""Which flows of a scenario can run for real, and what the program that carries them needs to know."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sojourn import _native
from sojourn.base.core import Document, SojournError
from sojourn.base.errors import RunError
from sojourn.base.units import to_ns
from sojourn.model import linux_tcp
from sojourn.real.shell.link import rates_bit_s, the_link

KERNEL: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PORT: Final = 9000
MOST_FLOWS: Final = 500
"""Each flow has sockets of its own in one program, which carries some thousand packets a millisecond at the most."""

LEAST_MEASURED_S: Final = 0.5
MEASURED_FROM_BIT_S: Final = 100_000_000
"""Below this every machine that has namespaces carries a link; above, the machine is measured first."""

_HOSTS: Final = {"from": "server", "to": "client"}
_HEADER: Final = 12
"""Bytes of the stamp of a datagram and of the head of a request."""

_LONGEST: Final = 1472

_KERNELS: Final = {key: linux_tcp.KEYS[key] for key in ("recovery", "tail_loss_probe", "ack_policy")}
"""What Linux's TCP does where a scenario's may do otherwise, and results show it."""

_ECN: Final = {"ecn_feedback": "auto", "ecn_accept": True, "ect": 0}
"""What ``tcp_ecn`` 1 does."""


def flows(scenario: Document, *, seed: int, replication: int = 0) -> list[dict[str, Any]]:
    """Return the single flows of a canonical scenario, as the program that carries them reads them.

    Random starts are those of the simulation with this seed and replication. A flow that has no counterpart on real
    packets is refused.
    """
    link = the_link(scenario)
    ends = {link[end]: host for end, host in _HOSTS.items()}
    tables = {table["name"]: _possible(table, ends) for table in scenario["flows"]}
    found = json.loads(_native.Users(json.dumps(scenario), seed, replication).flows())
    if len(found) > MOST_FLOWS:
        raise RunError(
            f"scenario {scenario['name']!r} cannot run for real: it has {len(found)} flows; "
            f"allowed: up to {MOST_FLOWS}, which one program carries"
        )
    listed = []
    for number, flow in enumerate(found):
        table = tables[flow["group"]]
        listed.append(
            {
                **flow,
                "number": number,
                "port": PORT + number,
                "transport": table["transport"]["kind"],
                "congestion": table["transport"].get("congestion_control"),
                "from": table["from"],
                "to": table["to"],
                "sender": ends[table["from"]],
                "receiver": ends[table["to"]],
            }
        )
    return listed


def _possible(table: Mapping[str, Any], ends: Mapping[str, str]) -> Mapping[str, Any]:
    """Refuse a table of flows that has no counterpart."""
    transport, traffic = table["transport"], table["traffic"]

    def refuse(what: str, allowed: str) -> SojournError:
        return RunError(f"flow {table['name']!r} cannot run for real: it {what}; allowed: {allowed}")

    if table["from"] not in ends or table["to"] not in ends:
        raise refuse("has ends that are not those of the link", " and ".join(ends))
    if transport["kind"] == "tcp":
        known = sorted(congestion_controls())
        if transport["ecn"]:
            for key, value in _ECN.items():
                if transport[key] != value:
                    raise refuse(f"uses ECN with {key} {transport[key]!r}", f"{value!r}, as this kernel's TCP")
        if transport["congestion_control"] not in known:
            raise refuse(f"uses {transport['congestion_control']}, which this kernel does not have", ", ".join(known))
    elif transport.get("echo"):
        raise refuse("has its datagrams returned", "udp without echo")
    if traffic["kind"] == "bulk" and traffic.keys() - {"kind"}:
        raise refuse(f"has bulk traffic with {', '.join(sorted(traffic.keys() - {'kind'}))}", "bulk without keys")
    for key in ("packet_size", "request_size"):
        size = traffic.get(key)
        if not isinstance(size, str):
            continue
        size_bytes = int(size.removesuffix(" B"))
        if not _HEADER <= size_bytes <= _LONGEST and (key == "request_size" or transport["kind"] == "udp"):
            raise refuse(
                f"has a {key} of {size}", f"{_HEADER} B to {_LONGEST} B: a number and a time stamp, and one packet"
            )
    return table


def asks_for_ecn(scenario: Document) -> bool:
    """Return whether TCP of this scenario asks for ECN, which the kernel has for a host, not for a flow."""
    asking = {
        bool(table["transport"]["ecn"]): table["name"]
        for table in scenario["flows"]
        if table["transport"]["kind"] == "tcp"
    }
    if len(asking) > 1:
        raise RunError(
            f"scenario {scenario['name']!r} cannot run for real: flow {asking[True]!r} asks for ECN and flow "
            f"{asking[False]!r} does not; allowed: the same for all, because the kernel has one setting for a host"
        )
    return True in asking


def unlike_the_kernel(scenario: Document) -> str | None:
    """Return what the kernel's TCP does otherwise than the scenario's, as the keys that would say so, if anything."""
    tcp = [table["transport"] for table in scenario["flows"] if table["transport"]["kind"] == "tcp"]
    keys = {key: value for key, value in _KERNELS.items() if any(one[key] != value for one in tcp)}
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in keys.items()) or None


def congestion_controls() -> Sequence[str]:
    """Return the congestion controls that the running kernel lists."""
    try:
        return KERNEL.read_text(encoding="ascii").split()
    except OSError:
        return ()


def check(scenario: Document, *, seed: int) -> None:
    """Refuse a scenario that cannot run for real, before anything starts."""
    link = the_link(scenario)
    if not link.get("under_test") and not link.get("reverse_under_test"):
        raise RunError("no queue of the link is under test; allowed: under_test = true at the link")
    if link.get("under_test") and link.get("reverse_under_test"):
        raise RunError("both queues of the link are under test; allowed: one of them on real packets")
    span_s = (to_ns("duration", scenario["duration"]) - to_ns("warm_up", scenario["warm_up"])) / 1e9
    if span_s < LEAST_MEASURED_S:
        raise RunError(
            f"the measured time, {span_s:g} s, is too short for real packets; "
            f"allowed: {LEAST_MEASURED_S:g} s and more"
        )
    flows(scenario, seed=seed)
    asks_for_ecn(scenario)


def check_machine(scenarios: Sequence[Document]) -> None:
    """Refuse rates above what this machine forwards, by its own measurement."""
    fastest = max((rate for one in scenarios for rate in rates_bit_s(one)), default=0.0)
    if fastest < MEASURED_FROM_BIT_S:
        return
    from sojourn.real.shell import doctor

    most = doctor.forwarded_bit_s()
    if fastest > most:
        raise RunError(
            f"this machine cannot carry a link of {fastest / 1e6:g} Mbit/s: it forwards {most / 1e6:.0f} Mbit/s, as "
            "`sojourn doctor` measures; allowed: lower rates, or a quieter machine"
        )
