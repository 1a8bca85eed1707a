"""Frames, and what must hold of a status."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from sojourn.device.lab import Lab

MakeLab = Callable[..., Lab]


def goodput(document: dict[str, Any]) -> float:
    """Return the goodput that iperf3 measured at the receiver, bit/s."""
    return float(document["end"]["sum_received"]["bits_per_second"])


def mac(text: str) -> bytes:
    """Return the bytes of an Ethernet address."""
    return bytes.fromhex(text.replace(":", ""))


def ethernet(lab: Lab, kind: int, payload: bytes, *, tag: bytes = b"") -> bytes:
    """Return a frame from the client to the server."""
    return mac(lab.mac("server")) + mac(lab.mac("client")) + tag + struct.pack("!H", kind) + payload


def folded(data: bytes) -> int:
    """Return the ones' complement sum of 16-bit words."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return (total & 0xFFFF) + (total >> 16)


def addresses(lab: Lab) -> bytes:
    """Return the IPv4 addresses of client and server, as a header has them."""
    return b"".join(struct.pack("4B", *map(int, lab.address(host).split("."))) for host in ("client", "server"))


def ipv4(lab: Lab, protocol: int, payload: bytes) -> bytes:
    """Return an IPv4 packet from the client to the server."""
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + addresses(lab)
    return header[:10] + struct.pack("!H", ~folded(header) & 0xFFFF) + header[12:] + payload


def udp(lab: Lab, frame_bytes: int, *, port: int = 9, tag: bytes = b"") -> bytes:
    """Return a UDP frame of a length, without UDP checksum (it is optional in IPv4)."""
    length = frame_bytes - 14 - len(tag) - 20
    datagram = struct.pack("!HHHH", 40_000, port, length, 0)
    return ethernet(lab, 0x0800, ipv4(lab, 17, datagram.ljust(length, b"\0")), tag=tag)


def unfinished_syn(lab: Lab) -> bytes:
    """Return a frame that opens a TCP connection, its checksum the pseudo-header's sum alone: left to hardware."""
    pseudo = folded(addresses(lab) + struct.pack("!HH", 6, 20))
    return ethernet(lab, 0x0800, ipv4(lab, 6, struct.pack("!HHIIBBHHH", 40_000, 9, 1, 0, 5 << 4, 2, 1024, pseudo, 0)))


def assert_conserved(status: dict[str, Any]) -> None:
    """Every frame that a port handed in is sent, dropped, refused or in a known place, to the packet."""
    for ingress, egress, way in zip(status["ports"], reversed(status["ports"]), status["directions"], strict=True):
        dropped = sum(way["counts"][f"dropped_{reason}"]["packets"] for reason in ("overflow", "early", "flow"))
        runts = way["faults"]["runt"]
        out = sum(egress["counters"][key] for key in ("sent", "leaving", "send_failed"))
        unsent = way["stale"] + way["no_room"]
        inside = way["backlog"]["packets"] + way["delayed"] + way["ready"]
        assert ingress["counters"]["received"] == out + dropped + runts + unsent + inside, (way, status["ports"])
