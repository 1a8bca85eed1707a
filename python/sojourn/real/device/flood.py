"""Send Ethernet frames at a given rate through a packet socket; run as a script inside a network namespace.

It needs only the standard library, so it starts quickly: ``python flood.py eth0 --rate 1000 --count 50 < frames``.
Frames come from standard input, as lines of hexadecimal digits. They are sent in order, again and again. The program
prints how many frames the kernel accepted, and for how many seconds it sent.
"""

from __future__ import annotations

import argparse
import ctypes
import socket
import sys
import time

BURST = 64
PACKET_QDISC_BYPASS = 20
SOL_PACKET = 263


class _Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class _Header(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint),
        ("vector", ctypes.POINTER(_Vector)),
        ("vectors", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    ]


class _Message(ctypes.Structure):
    _fields_ = [("header", _Header), ("length", ctypes.c_uint)]


def flood(interface: str, frames: list[bytes], *, rate: float, count: int) -> tuple[int, float]:
    """Send frames from an interface, in bursts at equal distances.

    Parameters
    ----------
    interface
        Its name in this network namespace.
    frames
        Frames that begin with the destination address; sent in order, again and again.
    rate
        Frames per second; 0 sends as fast as possible.
    count
        Number of frames to send in total.

    Returns
    -------
    tuple of int and float
        The number of frames that the kernel accepted, and the seconds from the first to the last.

    Raises
    ------
    OSError
        If the interface does not exist, or the process is not root.
    """
    library = ctypes.CDLL(None, use_errno=True)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as link:
        link.bind((interface, 0))
        link.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        buffers = [ctypes.create_string_buffer(frame, len(frame)) for frame in frames]
        # The list of frames is repeated so that a burst can begin at any of them.
        slots = len(frames) + BURST
        vectors = (_Vector * slots)()
        messages = (_Message * slots)()
        for slot in range(slots):
            buffer = buffers[slot % len(frames)]
            vectors[slot] = _Vector(ctypes.addressof(buffer), len(buffer))
            messages[slot].header.vector = ctypes.pointer(vectors[slot])
            messages[slot].header.vectors = 1
        offered = sent = 0
        begin = time.perf_counter()
        # The next bursts after a late one come sooner, as with a token bucket, so the rate is exact over time.
        burst = max(1, min(BURST, round(rate * 1e-3))) if rate else BURST
        while offered < count:
            due = begin + offered / rate if rate else 0.0
            while time.perf_counter() < due:
                pass
            many = min(burst, count - offered)
            at = ctypes.addressof(messages) + offered % len(frames) * ctypes.sizeof(_Message)
            took = library.sendmmsg(link.fileno(), ctypes.c_void_p(at), many, 0)
            sent += max(took, 0)
            # A frame that the kernel refuses, because the queue of the other end is full, is not sent again.
            offered += many
        return sent, time.perf_counter() - begin


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Send frames, given as hexadecimal lines, from an interface.")
    parser.add_argument("interface")
    parser.add_argument("--rate", type=float, default=0.0, help="frames per second; 0: as fast as possible")
    parser.add_argument("--count", type=int, required=True, help="number of frames to send in total")
    arguments = parser.parse_args()
    frames = [bytes.fromhex(line) for line in sys.stdin.read().split()]
    if not frames:
        sys.exit("no frame was given on standard input")
    sent, seconds = flood(arguments.interface, frames, rate=arguments.rate, count=arguments.count)
    print(sent, seconds)


if __name__ == "__main__":
    main()
