"""Whether this machine can run the shell, and how fast."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from sojourn.base.core import SojournError
from sojourn.real.device.lab import LabError, find_sojournd
from sojourn.real.shell.emulation import emulate
from sojourn.real.shell.link import FASTEST_BIT_S
from sojourn.real.shell.outcome import Outcome

MEASURED_S: Final = 2.0

# One connection that sends as fast as it may, for some seconds.
_SENDS: Final = """
import socket, sys, time
listener = socket.create_server(("", 9000))
connection, _ = listener.accept()
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    connection.send(bytes(1 << 17))
"""
_TAKES: Final = """
import socket
connection = socket.create_connection(("server", 9000))
room = bytearray(1 << 20)
while connection.recv_into(room):
    pass
"""


def examine(*, measure: bool = True) -> dict[str, tuple[bool, str]]:
    """Return what the shell needs: whether it is there, and a sentence; `measure` measures the fastest link."""
    found = {
        "system": (sys.platform == "linux", "Linux" if sys.platform == "linux" else f"{sys.platform}, not Linux")
    }
    try:
        found["sojournd"] = (True, str(find_sojournd()))
    except LabError as error:
        found["sojournd"] = (False, str(error))
    ip = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    found["iproute2"] = (ip is not None, ip or "the program `ip` was not found: apt-get install iproute2")
    if not all(good for good, _ in found.values()):
        return found
    who = "as root" if os.geteuid() == 0 else "as an ordinary user, in a user namespace"
    try:
        outcome = _measure() if measure else _nothing()
    except SojournError as error:
        found["namespaces"] = (False, str(error))
        return found
    found["namespaces"] = (True, f"network namespaces can be made {who}")
    if measure:
        way = outcome.ways["down"]
        late_ms = (way.lateness_s["p99_s"] or 0.0) * 1e3
        found["rate"] = (
            True,
            f"one TCP connection passes at {way.throughput_bit_s / 1e6:.0f} Mbit/s; 99 % of the frames are at most "
            f"{late_ms:.2f} ms late, and {100 * way.lost_rate_s / outcome.duration_s:.1f} % of the time is lost",
        )
    try:
        kernel = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    except OSError:
        kernel = []
    found["congestion controls"] = (bool(kernel), ", ".join(kernel) or "the kernel lists none")
    return found


def forwarded_bit_s() -> float:
    """Measure the fastest link that this machine carries; takes :data:`MEASURED_S`."""
    return _measure().ways["down"].throughput_bit_s


def _nothing() -> Outcome:
    with emulate(down="1 Mbit/s") as lab:
        return lab.finish()


def _measure() -> Outcome:
    with emulate(down=f"{FASTEST_BIT_S // 1_000_000} Mbit/s", aqm="pfifo") as lab:
        lab.serve([sys.executable, "-c", _SENDS, str(MEASURED_S)])
        lab.run("client", [sys.executable, "-c", _TAKES], timeout_s=30.0)
        return lab.finish()
