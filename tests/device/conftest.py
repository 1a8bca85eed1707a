"""Real packets between network namespaces. Root is needed: without it these tests fail, as nothing else
tests the sockets.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from packets import MakeLab

from sojourn.device.lab import Lab

#: Every way to frames that this machine has.
BACK_ENDS = {
    "native": {"back_end": "af_xdp", "mode": "native"},
    "generic": {"back_end": "af_xdp", "mode": "generic"},
    "af_packet": {"back_end": "af_packet"},
}


@pytest.fixture
def make_lab() -> Iterator[MakeLab]:
    """Build laboratories that are gone after the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Lab(**{"name": "sojourn-test"} | options))


@pytest.fixture(params=list(BACK_ENDS))
def back_end(request: pytest.FixtureRequest) -> dict[str, str]:
    return BACK_ENDS[request.param]


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


@pytest.fixture
def namespaces() -> None:
    """Skip where the system lets this user make no network of its own."""
    missing = missing_for_the_shell()
    if missing is not None:
        pytest.skip(f"no network namespaces here: {missing}")
