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


def udp(lab: Lab, frame_bytes: int, *, port: int = 9, tag: bytes = b"") -> bytes:
    """Return a UDP frame of a length, without UDP checksum (it is optional in IPv4)."""
    length = frame_bytes - 14 - len(tag)
    addresses = b"".join(struct.pack("4B", *map(int, lab.address(host).split("."))) for host in ("client", "server"))
    header = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, 17, 0) + addresses
    words = struct.unpack("!10H", header)
    folded = sum(words)
    folded = (folded & 0xFFFF) + (folded >> 16)
    header = header[:10] + struct.pack("!H", ~folded & 0xFFFF) + header[12:]
    datagram = struct.pack("!HHHH", 40_000, port, length - 20, 0)
    return ethernet(lab, 0x0800, (header + datagram).ljust(length, b"\0"), tag=tag)


def assert_conserved(status: dict[str, Any]) -> None:
    """Every frame that a port handed in is sent, dropped, refused or in a known place, to the packet."""
    for ingress, egress, way in zip(status["ports"], reversed(status["ports"]), status["directions"], strict=True):
        dropped = sum(way["counts"][f"dropped_{reason}"]["packets"] for reason in ("overflow", "early", "flow"))
        runts = way["faults"]["runt"]
        out = sum(egress["counters"][key] for key in ("sent", "leaving", "send_failed"))
        inside = way["backlog"]["packets"] + way["delayed"] + way["ready"]
        assert ingress["counters"]["received"] == out + dropped + runts + inside, (way, status["ports"])
