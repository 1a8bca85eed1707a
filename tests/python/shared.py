"""What several tests share: a small network and the type of the `command` fixture."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import sojourn as sj

SCHEMES = ("pfifo limit 60p", "codel", "pie")
REPLICATIONS = 4

Command = Callable[..., subprocess.CompletedProcess[str]]


def small_network() -> sj.Network:
    """Four flows through 5 Mbit/s for 4 s: congested, and simulated in milliseconds."""
    return sj.dumbbell(
        flows=4, rate=sj.mbit_s(5), base_rtt=sj.ms(40), duration=sj.s(4), warm_up=sj.s(1), name="small"
    )
