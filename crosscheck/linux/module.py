#!/usr/bin/env python3
"""Tries a congestion control that is a kernel module under ten disciplines and a varying rate: a verdict for each.

    module.py ../../examples/real/kernel/tcp_third.ko         all of them
    module.py my_module.ko --control mine --aqm fq_codel      one of them, under a name of its own
    module.py my_module.ko --rate 50 --rtt 80 --flows 4       another network

The module runs in a virtual machine with virtual time (see run.py): it can do no harm, and a busy host has no
influence. It must have been built for the machine's kernel. A verdict compares it with the kernel's CUBIC on the same
network: at least THROUGHPUT of its goodput and at most DELAY of its delay. The exit status is 1 when one is bad.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import run

LIMIT_PACKETS = 100
SCHEMES = {
    "pfifo": f"pfifo limit {LIMIT_PACKETS}",
    "red": run.QDISCS["red"],
    "codel": run.QDISCS["codel"],
    "pie": run.QDISCS["pie"],
    "choke": run.QDISCS["choke"],
    "sfb": run.QDISCS["sfb"],
    "sfq": run.QDISCS["sfq"],
    "fq_codel": run.QDISCS["fq_codel"],
    "fq_pie": run.QDISCS["fq_pie"],
    "cake": run.QDISCS["cake"],
}
# Shares of the link's rate, one after another: a link whose rate varies, as a mobile network's does.
VARYING, VARYING_AQM, SHARES, EVERY_S = "codel, varying", "codel", (0.3, 0.8, 0.15, 0.6, 1.0), 3
SECONDS, WARM_UP_S = 20, 5
THROUGHPUT, DELAY, LEAST_DELAY_MS = 0.7, 1.5, 5.0


def measured(given: argparse.Namespace, control: str, scheme: str) -> tuple[float, float]:
    """Goodput in Mbit/s and queueing delay in ms of one congestion control under one scheme.

    The delay is that of the flows, by TCP's smoothed RTT: a ping has a queue of its own under fair queueing.
    """
    varies = scheme == VARYING
    qdisc = SCHEMES[VARYING_AQM if varies else scheme].format(rate=f"{given.rate}mbit")
    chosen: dict[str, Any] = {
        "congestion_control": control,
        "qdisc": qdisc,
        "base_rtt_ms": given.rtt,
        "rate_mbit_s": given.rate,
        "flows": given.flows,
        "seconds": SECONDS,
        "warm_up_s": WARM_UP_S,
        "sockets": False,
    }
    settings = run.settings_of(chosen, run=1)
    if varies:
        settings |= {
            "CHANGE_AT": WARM_UP_S,
            "CHANGE_EVERY": EVERY_S,
            "CHANGED_RATE": " ".join(f"{round(given.rate * share * 1000)}kbit" for share in SHARES),
        }
    modules = [given.module] if control == given.control else []
    row = run.evaluate(chosen, run.boot(given.folder, settings, modules=modules))
    return float(row["goodput_mbit_s"]), max(0.0, float(row["tcp_rtt_ms_mean"]) - given.rtt)


def is_good(ours: tuple[float, float], cubic: tuple[float, float]) -> bool:
    """At least so much goodput, and at most so much delay."""
    return ours[0] >= THROUGHPUT * cubic[0] and ours[1] <= max(DELAY * cubic[1], LEAST_DELAY_MS)


def main() -> int:
    """Try all that is asked for."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sojourn"
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("module", type=Path, help="FILE.ko")
    options.add_argument("--control", metavar="NAME", help="its name (default: the file's, without tcp_)")
    options.add_argument("--aqm", choices=[*SCHEMES, VARYING], nargs="+", help="some disciplines (default: all)")
    options.add_argument("--rate", type=int, default=20, metavar="MBIT_S", help="of the link (default %(default)s)")
    options.add_argument("--rtt", type=int, default=40, metavar="MS", help="without queues (default %(default)s)")
    options.add_argument("--flows", type=int, default=1, help="of one kind (default %(default)s)")
    options.add_argument("--folder", type=Path, default=cache / "linux", help="of the image (default %(default)s)")
    given = options.parse_args()
    if not given.module.is_file():
        options.error(f"{given.module} is no file; allowed: a module that is built")
    given.control = given.control or given.module.stem.removeprefix("tcp_")
    print(f"kernel {run.image(given.folder)}, {given.rate} Mbit/s, {given.rtt} ms, flows: {given.flows}", flush=True)
    bad = 0
    for scheme in given.aqm or [*SCHEMES, VARYING]:
        ours, cubic = (measured(given, control, scheme) for control in (given.control, "cubic"))
        good = is_good(ours, cubic)
        bad += not good
        print(
            f"{scheme:15}{given.control:>9} {ours[0]:6.2f} Mbit/s {ours[1]:6.1f} ms   cubic {cubic[0]:6.2f} Mbit/s "
            f"{cubic[1]:6.1f} ms   {'good' if good else 'bad'}",
            flush=True,
        )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
