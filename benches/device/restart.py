#!/usr/bin/env python3
"""For how long the device forwards nothing while it is started again.

Requests cross the device every 10 ms; those without an answer, times 10 ms, are the outage. The device is stopped
(SIGTERM) or killed (SIGKILL) and started at once; the unit adds 100 ms (`RestartSec`) after an end that nobody asked
for. In network namespaces on this machine, without a bridge to fall back on. Needs root and a release build of
`sojournd` (or $SOJOURND).

    sudo .venv/bin/python benches/device/restart.py [--runs 5]
"""

from __future__ import annotations

import argparse
import statistics

from tables import table

from sojourn.real.device.lab import Lab

INTERVAL_S = 0.01
BACK_ENDS = {
    "AF_XDP, native": {"back_end": "af_xdp", "mode": "native"},
    "AF_XDP, generic": {"back_end": "af_xdp", "mode": "generic"},
    "AF_PACKET": {"back_end": "af_packet"},
}


def outage_s(back_end: dict[str, str], *, kill: bool) -> float:
    """Return the time without forwarding of one restart, seconds."""
    with Lab(name="bench") as lab:
        toml = lab.toml(**back_end, scheme="fq_codel", rate="1 Gbit/s")
        device = lab.start_device(toml)
        watched = lab.watch(interval_s=INTERVAL_S)
        lab.ping(count=5, interval_s=0.05)
        lab.stop(device, kill=kill)
        lab.start_device(toml)
        lab.ping(count=5, interval_s=0.05)
        answered = watched()
    lost = set(range(answered[0], answered[-1])) - set(answered)
    return len(lost) * INTERVAL_S


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="For how long the device forwards nothing while it is started again."
    )
    parser.add_argument("--runs", type=int, default=5, help="restarts of each kind (default 5)")
    runs = parser.parse_args().runs
    rows = []
    for name, back_end in BACK_ENDS.items():
        for word, kill in (("stopped", False), ("killed", True)):
            found = [outage_s(back_end, kill=kill) * 1e3 for _ in range(runs)]
            rows.append([name, word, f"{statistics.median(found):.0f}", f"{min(found):.0f}", f"{max(found):.0f}"])
    table(f"Outage of a restart, ms, of {runs} runs", ["back end", "was", "median", "least", "most"], rows)


if __name__ == "__main__":
    main()
