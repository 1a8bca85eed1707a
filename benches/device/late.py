#!/usr/bin/env python3
"""What `burst` costs and saves on a busy host: rate, round-trip times and time lost for want of a processor.

One TCP cubic flow passes fq_codel at 100 Mbit/s while ping runs beside it, once on the machine as it is and once with
busy processes on it. The end hosts, which elsewhere are other machines, have a priority above both; the device has
the niceness asked for. The cases take turns, so that other work of the machine meets all alike. Needs what
`benches/device/run.py` needs.

    sudo .venv/bin/python benches/device/late.py [--bursts 1 5 10 20 50] [--loads 0 10] [--niceness -10]
"""
# It runs programs by name, with arguments of its own.
# ruff: noqa: S603

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from tables import table

from sojourn.device.lab import Lab, LabError

#: Of a 1514 B frame 1448 B are payload.
CEILING_MBIT_S = 100 * 1448 / 1514
BUSY = [sys.executable, "-c", "while True: pass"]
#: Of the end hosts; the busy processes have 0.
NICENESS = -15


def renice(process: int, niceness: int) -> None:
    """Give every thread of a process a priority."""
    for task in Path(f"/proc/{process}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(task.name), niceness)


def quantile(values: Sequence[float], q: float) -> float:
    """Return a quantile, the next value above it."""
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def case(burst_ms: float, busy: int, niceness: int, seconds: float, idle: str, back_end: str) -> dict[str, float]:
    """Measure one flow and ping."""
    with Lab(name="late") as lab:
        toml = lab.toml(back_end=back_end, scheme="fq_codel", rate="100 Mbit/s", idle=idle)
        toml = toml.replace("[a_to_b]\n", f'[a_to_b]\nburst = "{burst_ms:g} ms"\n')
        device = lab.start_device(toml)
        others = [subprocess.Popen(BUSY) for _ in range(busy)]
        renice(device.pid, niceness)
        for other in others:
            renice(other.pid, 0)
        rtts: list[float] = []
        ping = threading.Thread(target=lambda: rtts.extend(lab.ping(count=int(seconds * 50), interval_s=0.02)))
        try:
            before = lab.status()["directions"][0]
            ping.start()
            document = lab.iperf(seconds=seconds, congestion="cubic", extra=["-O", "1"])
            ping.join()
            after = lab.status()["directions"][0]
        finally:
            for other in others:
                other.kill()
                other.wait()
    totals, bounds = after["sojourn_totals"], [1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2]
    counts = [new - old for new, old in zip(totals["buckets"], before["sojourn_totals"]["buckets"], strict=True)]
    packets = totals["packets"] - before["sojourn_totals"]["packets"]
    above = {f"above_{bound * 1e3:g}_ms": 1 - sum(counts[: 7 + n]) / packets for n, bound in enumerate(bounds)}
    return {
        "rate_mbit_s": document["end"]["sum_received"]["bits_per_second"] / 1e6,
        "late_ratio": (after["late_s"] - before["late_s"]) / (seconds + 1),
        "ping_ms": statistics.median(rtts),
        "ping_p99_ms": quantile(rtts, 0.99),
        "sojourn_mean_ms": (totals["sum_s"] - before["sojourn_totals"]["sum_s"]) / packets * 1e3,
        **above,
        "load_average": os.getloadavg()[0],
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="What `burst` costs and saves on a busy host.")
    parser.add_argument("--bursts", type=float, nargs="+", default=[1, 5, 10, 20, 50], help="milliseconds")
    parser.add_argument("--loads", type=int, nargs="+", default=[0, 10], help="busy processes")
    parser.add_argument("--runs", type=int, default=3, help="of which the median is shown")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each run")
    parser.add_argument("--niceness", type=int, default=-10, help="of the device; the busy processes have 0")
    parser.add_argument("--idle", choices=["wait", "spin"], default="wait")
    parser.add_argument("--back-end", choices=["af_xdp", "af_packet"], default="af_xdp")
    parser.add_argument("--json", type=Path, help="write all figures to this file as well")
    options = parser.parse_args()
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    cases = [(busy, burst) for busy in options.loads for burst in options.bursts]
    found: dict[tuple[int, float], list[dict[str, float]]] = {one: [] for one in cases}
    for _ in range(options.runs):
        for busy, burst in cases:
            found[busy, burst].append(
                case(burst, busy, options.niceness, options.seconds, options.idle, options.back_end)
            )
    rows = []
    for (busy, burst), runs in found.items():
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        rows.append(
            [
                f"{busy}",
                f"{burst:g} ms",
                f"{median['rate_mbit_s']:.1f} Mbit/s",
                f"{median['rate_mbit_s'] / CEILING_MBIT_S:.1%}",
                f"{median['late_ratio']:.2%}",
                f"{median['ping_ms']:.1f} ms",
                f"{median['ping_p99_ms']:.1f} ms",
                f"{median['sojourn_mean_ms']:.1f} ms",
                f"{median['load_average']:.0f}",
            ]
        )
    header = ["busy", "burst", "goodput", "of 95.6", "late", "ping", "its p99", "mean sojourn", "load average"]
    how = f"{options.back_end}, idle = {options.idle}, niceness {options.niceness}"
    title = f"One TCP cubic flow through fq_codel at 100 Mbit/s, {how}"
    table(title, header, rows)
    if options.json:
        figures = [{"busy": busy, "burst_ms": burst, "runs": runs} for (busy, burst), runs in found.items()]
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(f"benches/device: {error}")
