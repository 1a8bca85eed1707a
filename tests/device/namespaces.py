"""Whether this system lets this user make networks of their own."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

#: What a shell needs of the system, with nothing of Sojourn: namespaces, a veth pair, a packet socket with a ring.
_PRIMITIVES = """
import socket, struct, subprocess
subprocess.run(["ip", "link", "add", "one", "type", "veth", "peer", "name", "two"], check=True)
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
packets.setsockopt(263, 10, struct.pack("i", 2))
packets.setsockopt(263, 5, struct.pack("7I", 1 << 16, 4, 1 << 11, 128, 0, 0, 0))
"""


@functools.cache
def missing_for_the_shell() -> str | None:
    """What this system does not let this user do, as the kernel's own tools say it; None if nothing is missing."""
    tools = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    for rights in ([], ["--user", "--map-root-user"]):
        command = ["unshare", *rights, *("--net", "--mount", "--pid", "--ipc", "--fork"), sys.executable, "-c"]
        try:
            done = subprocess.run(
                [*command, _PRIMITIVES],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
                env={**os.environ, "PATH": tools},
            )
        except FileNotFoundError:
            return "the program `unshare` was not found"
        if done.returncode == 0:
            return None
    return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
