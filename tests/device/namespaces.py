"""Whether this system lets this user make networks of their own."""

from __future__ import annotations

import functools
import os
import site
import subprocess
import sys
from pathlib import Path

import sojourn as sj
from sojourn.real.device.lab import find_sojournd

#: What makes a command one of an ordinary user.
ORDINARY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

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


def of_ordinary_user() -> tuple[str, dict[str, str]] | str:
    """A Python that an ordinary user may run with Sojourn, and its environment; or why there is none."""
    program = find_sojournd()
    path = os.pathsep.join([str(Path(sj.__file__).parents[1]), *site.getsitepackages()])
    given = {**os.environ, "PYTHONPATH": path, "HOME": "/nonexistent", "SOJOURND": str(program)}
    # setpriv starts a program with root's rights; what that starts has none.
    # The checkout may lie in a folder of root's own.
    ask = (
        "import subprocess, sys; assert sys.version_info >= (3, 11); "
        "subprocess.run([sys.executable, '-c', 'import sojourn'], check=True); "
        f"subprocess.run([{str(program)!r}, '--version'], check=True)"
    )
    last = {}
    for python in (sys.executable, "/usr/bin/python3"):
        command = [*ORDINARY, python, "-c", ask]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=given)
        if done.returncode == 0:
            break
        last[python] = done.stderr.strip().rpartition("\n")[2]
    else:
        return f"no Python of 3.11 or later that an ordinary user may run with Sojourn: {last}"
    makes = [*ORDINARY, *("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork")]
    veth = [*makes, "ip", "link", "add", "type", "veth"]
    if subprocess.run(veth, check=False, capture_output=True).returncode != 0:
        return "this system lets no ordinary user make namespaces"
    return python, given
