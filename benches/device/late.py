#!/usr/bin/env python3
"""What `burst` costs and saves on a busy host: rate, round-trip times, and time lost (`late`, `blocked`).

One TCP cubic flow passes fq_codel at 100 Mbit/s while ping runs beside it, once on the machine as it is and once with
busy processes on it. The end hosts, which elsewhere are other machines, have a priority above both; the device has
the niceness asked for. With --kernel its bridge with HTB and fq_codel, which needs no process, stands beside it. The
cases take turns, so that other work of the machine meets all alike. Needs what `benches/device/run.py` needs.

    sudo .venv/bin/python benches/device/late.py [--bursts 1 5 10 20 50] [--loads 0 10] [--niceness -10]
"""
# It runs programs by name, with arguments of its own.
# ruff: noqa: S603

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tables import spread, table

from sojourn.real.device.lab import Lab, LabError

#: Of a 1514 B frame 1448 B are payload.
RATE_MBIT_S = 100
CEILING_MBIT_S = RATE_MBIT_S * 1448 / 1514
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


@contextlib.contextmanager
def device(
    scheme: str, burst_ms: float, niceness: int, idle: str, back_end: str, program: Path | None
) -> Iterator[Lab]:
    """Put sojournd between the hosts."""
    with Lab(name="late") as lab:
        toml = lab.toml(back_end=back_end, scheme=scheme, rate=f"{RATE_MBIT_S} Mbit/s", idle=idle)
        toml = toml.replace("[a_to_b]\n", f'[a_to_b]\nburst = "{burst_ms:g} ms"\n')
        renice(lab.start_device(toml, program=program).pid, niceness)
        yield lab


@contextlib.contextmanager
def kernel() -> Iterator[Lab]:
    """Put the kernel's bridge between the hosts, shaped by HTB with fq_codel in it."""
    with Lab(name="late", bridge=True) as lab:
        shaper = f"root handle 1: htb default 1|parent 1: classid 1:1 htb rate {RATE_MBIT_S}mbit|parent 1:1 fq_codel"
        for number, words in enumerate(shaper.split("|")):
            lab.run("device", "tc", "class" if number == 1 else "qdisc", "add", "dev", "port-b", *words.split())
        yield lab


def case(
    between: contextlib.AbstractContextManager[Lab], busy: int, seconds: float, *, device: bool
) -> dict[str, float]:
    """Measure one flow and ping."""
    with between as lab:
        others = [subprocess.Popen(BUSY) for _ in range(busy)]
        for other in others:
            renice(other.pid, 0)
        rtts: list[float] = []
        ping = threading.Thread(target=lambda: rtts.extend(lab.ping(count=int(seconds * 50), interval_s=0.02)))
        try:
            before = lab.status()["directions"][0] if device else None
            ping.start()
            document = lab.iperf(seconds=seconds, congestion="cubic", extra=["-O", "1"])
            ping.join()
            after = lab.status()["directions"][0] if device else None
        finally:
            for other in others:
                other.kill()
                other.wait()
    found = {
        "rate_mbit_s": document["end"]["sum_received"]["bits_per_second"] / 1e6,
        "retransmitted": float(document["end"]["sum_sent"]["retransmits"]),
        "ping_ms": statistics.median(rtts),
        "ping_p99_ms": quantile(rtts, 0.99),
        "load_average": os.getloadavg()[0],
    }
    if before is None or after is None:
        return found
    totals, bounds = after["sojourn_totals"], [1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2]
    counts = [new - old for new, old in zip(totals["buckets"], before["sojourn_totals"]["buckets"], strict=True)]
    packets = totals["packets"] - before["sojourn_totals"]["packets"]
    above = {f"above_{bound * 1e3:g}_ms": 1 - sum(counts[: 7 + n]) / packets for n, bound in enumerate(bounds)}
    return found | {
        "late_ratio": (after["late_s"] - before["late_s"]) / (seconds + 1),
        "blocked_ratio": (after["blocked_s"] - before["blocked_s"]) / (seconds + 1),
        "sojourn_mean_ms": (totals["sum_s"] - before["sojourn_totals"]["sum_s"]) / packets * 1e3,
        **above,
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
    parser.add_argument("--scheme", default="fq_codel")
    parser.add_argument("--kernel", action="store_true", help="the kernel's bridge, HTB and fq_codel as well")
    parser.add_argument("--before", type=Path, metavar="PROGRAM", help="another sojournd, beside this one")
    options = parser.parse_args()
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    programs = {"sojournd": None} | ({"before": options.before} if options.before else {})
    between: dict[str, Callable[[], contextlib.AbstractContextManager[Lab]]] = (
        {"kernel, htb": kernel} if options.kernel else {}
    )
    for name, program in programs.items():
        for burst in options.bursts:
            between[f"{name}, burst {burst:g} ms"] = functools.partial(
                device, options.scheme, burst, options.niceness, options.idle, options.back_end, program
            )
    cases = [(busy, name) for busy in options.loads for name in between]
    found: dict[tuple[int, str], list[dict[str, float]]] = {one: [] for one in cases}
    for _ in range(options.runs):
        for busy, name in cases:
            is_device = between[name] is not kernel
            found[busy, name].append(case(between[name](), busy, options.seconds, device=is_device))
    rows = []
    for (busy, name), runs in found.items():
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        rows.append(
            [
                f"{busy}",
                name,
                f"{spread([run['rate_mbit_s'] for run in runs], '.1f')} Mbit/s",
                f"{median['rate_mbit_s'] / CEILING_MBIT_S:.1%}",
                f"{median['retransmitted']:.0f}",
                f"{median['late_ratio']:.2%}" if "late_ratio" in median else "",
                f"{median['blocked_ratio']:.2%}" if "blocked_ratio" in median else "",
                f"{spread([run['ping_ms'] for run in runs], '.1f')} ms",
                f"{spread([run['ping_p99_ms'] for run in runs], '.1f')} ms",
                f"{median['sojourn_mean_ms']:.1f} ms" if "sojourn_mean_ms" in median else "",
                f"{median['load_average']:.0f}",
            ]
        )
    header = [
        "busy",
        "forwarder",
        "goodput",
        "of 95.6",
        "lost",
        "late",
        "blocked",
        "ping",
        "its p99",
        "mean sojourn",
        "load average",
    ]
    how = f"{options.back_end}, idle = {options.idle}, niceness {options.niceness}"
    title = f"One TCP cubic flow through {options.scheme} at {RATE_MBIT_S} Mbit/s, {how}"
    table(title, header, rows)
    if options.json:
        figures = [{"busy": busy, "forwarder": name, "runs": runs} for (busy, name), runs in found.items()]
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(f"benches/device: {error}")
