"""Frames, and what must hold of a status."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from laboratory import Lab

MakeLab = Callable[..., Lab]
#: Every way to frames that this machine has.
BACK_ENDS: dict[str, dict[str, Any]] = {
    "native": {"back_end": "af_xdp", "mode": "native"},
    "af_packet": {"back_end": "af_packet"},
    "generic": {"back_end": "af_xdp", "mode": "generic"},
}

# Prints a line when it is ready, then every UDP frame as hexadecimal digits. The kernel removes a frame's outermost
# VLAN tag and passes it separately (tpacket_auxdata: status, lengths and offsets, then the tag and its type), so the
# program inserts it again. The receive buffer (SO_RCVBUFFORCE) holds more frames than a test sends.
_CAPTURE = """
import socket, struct, sys, time
count, seconds, last = int(sys.argv[1]), float(sys.argv[2]), bytes.fromhex(sys.argv[3])
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
link.setsockopt(263, 8, 1)
link.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)
link.bind(("eth0", 3))
print("ready", flush=True)
until = time.monotonic() + seconds
while count > 0 and (left := until - time.monotonic()) > 0:
    link.settimeout(left)
    try:
        frame, control, _, address = link.recvmsg(65536, 64)
    except TimeoutError:
        break
    status, *_, tag, kind = struct.unpack("IIIHHHH", control[0][2][:20])
    if status & 16:
        frame = frame[:12] + struct.pack("!HH", kind, tag) + frame[12:]
    at = 12
    while frame[at : at + 2] in (b"\\x81\\x00", b"\\x88\\xa8"):
        at += 4
    if address[2] != 4 and frame[at : at + 2] == b"\\x08\\x00" and frame[at + 11] == 17:
        if frame == last:
            break
        print(frame.hex(), flush=True)
        count -= 1
"""


def goodput(document: dict[str, Any]) -> float:
    """Return the goodput that iperf3 measured at the receiver, bit/s."""
    return float(document["end"]["sum_received"]["bits_per_second"])


def mac(lab: Lab, host: str) -> bytes:
    """Return the Ethernet address of an end host."""
    [link] = json.loads(lab.run(host, "ip", "-json", "link", "show", "eth0"))
    return bytes.fromhex(link["address"].replace(":", ""))


def ethernet(lab: Lab, kind: int, payload: bytes, *, tag: bytes = b"") -> bytes:
    """Return a frame from the client to the server."""
    return mac(lab, "server") + mac(lab, "client") + tag + struct.pack("!H", kind) + payload


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


def capture(lab: Lab, host: str, *, count: int, seconds: float = 5.0, last: bytes = b"") -> Callable[[], list[bytes]]:
    """Begin to capture the UDP frames that arrive at a host, with their VLAN tags.

    Parameters
    ----------
    lab, host
        The host that captures, in its laboratory.
    count
        The capture ends after this number of frames.
    seconds
        The capture ends after this time.
    last
        The capture ends when this frame arrives, which is not returned. By default no frame ends it.

    Returns
    -------
    callable
        Waits for the end of the capture and returns the frames.
    """
    command = [sys.executable, "-c", _CAPTURE, str(count), str(seconds), last.hex()]
    process = lab.start(host, *command, stdout=subprocess.PIPE)
    if process.stdout is not None:
        process.stdout.readline()

    def finish() -> list[bytes]:
        # Popen.communicate reads the descriptor, past the frames that came with the first line.
        with process:
            text = "" if process.stdout is None else process.stdout.read()
        return [bytes.fromhex(line) for line in text.split()]

    return finish


def assert_conserved(status: dict[str, Any]) -> None:
    """Every frame that a port handed in is sent, dropped, refused or in a known place, to the packet."""
    for ingress, egress, way in zip(status["ports"], reversed(status["ports"]), status["directions"], strict=True):
        dropped = sum(way["counts"][f"dropped_{reason}"]["packets"] for reason in ("overflow", "early", "flow"))
        runts = way["faults"]["runt"]
        out = sum(egress["counters"][key] for key in ("sent", "leaving", "send_failed"))
        unsent = way["stale"] + way["no_room"]
        inside = way["backlog"]["packets"] + way["delayed"] + way["ready"]
        assert ingress["counters"]["received"] == out + dropped + runts + unsent + inside, (way, status["ports"])
