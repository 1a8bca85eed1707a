#!/usr/bin/env python3
"""The device on real packets beside the kernel bridge and DPDK's testpmd, and beside the simulator.

Everything runs in network namespaces on this machine, with the kernel's own TCP. Needs root, a release build of
`sojournd` (or $SOJOURND), iproute2, ethtool, iperf3, iputils-ping; for the comparison with testpmd dpdk-dev, for
`sojournd dpdk` a release build with that feature ($SOJOURND_DPDK), which `make bench-device` makes.

    sudo .venv/bin/python benches/device/run.py [--runs 3] [--only forwarding ping shaping agreement] [--json FILE]

A figure is the median of several runs. Take it on a quiet machine: what the device lost for want of
processor time stands in the column `late`; where it is not near 0 the figures are those of the machine.
"""
# It runs programs by name, with arguments of its own.

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agreement import agreement
from tables import spread, table

from sojourn.real.device.lab import Lab, LabError, find_sojournd_dpdk

#: Frames a second that must pass without loss.
OFFERED = 200_000
TESTPMD = "dpdk-testpmd"


@contextlib.contextmanager
def bridge() -> Iterator[Lab]:
    """The kernel bridge between the two sides."""
    with Lab(name="bench", bridge=True) as lab:
        lab.ping(count=3)
        yield lab


def sojournd(
    back_end: str, *, program: Path | None = None, cores: Sequence[int] = (), **options: str
) -> Callable[[], contextlib.AbstractContextManager[Lab]]:
    """The device between the two sides."""

    @contextlib.contextmanager
    def build() -> Iterator[Lab]:
        with Lab(name="bench") as lab:
            toml = lab.toml(back_end=back_end, idle="spin", cores=cores, **options)
            lab.start_device(toml, program=program)
            yield lab

    return build


def devices(**options: str) -> dict[str, Callable[[], contextlib.AbstractContextManager[Lab]]]:
    """Everything that `sojournd` can be here, by name."""
    found = {f"sojournd {back_end}": sojournd(back_end, **options) for back_end in ("af_xdp", "af_packet")}
    program = find_sojournd_dpdk()
    if program is not None:
        usable = sorted(os.sched_getaffinity(0))
        found["sojournd dpdk"] = sojournd("dpdk", program=program, **options)
        if len(usable) > 1:
            found["sojournd dpdk, 1 worker"] = sojournd("dpdk", program=program, cores=usable[:2], **options)
    return found


def testpmd(driver: str, options: str) -> Callable[[], contextlib.AbstractContextManager[Lab]]:
    """DPDK's forwarder between the two sides: no queue, no shaping."""

    @contextlib.contextmanager
    def build() -> Iterator[Lab]:
        with Lab(name="bench") as lab:
            devices = [f"--vdev={driver}{n},iface=port-{side},{options}" for n, side in enumerate("ab")]
            command = [TESTPMD, "--no-huge", "-m", "512", "--no-pci", "--no-telemetry", *devices]
            # Statistics every hour: without them it ends when its input does.
            command += [
                "--",
                "--no-mlockall",
                "--total-num-mbufs=16384",
                "--auto-start",
                "--forward-mode=io",
                "--stats-period=3600",
            ]
            process = lab.start("device", *command, stdout=subprocess.DEVNULL)
            until = time.monotonic() + 20
            while not lab.ping(count=1):
                if process.poll() is not None or time.monotonic() > until:
                    raise LabError(f"{TESTPMD} with {driver} does not forward")
            yield lab

    return build


def contenders(**options: str) -> dict[str, Callable[[], contextlib.AbstractContextManager[Lab]]]:
    """Everything that can forward here, by name."""
    found = {"kernel bridge": bridge} | devices(**options)
    if shutil.which(TESTPMD):
        found["testpmd net_af_xdp"] = testpmd("net_af_xdp", "force_copy=1")
        ring = "qdisc_bypass=1,blocksz=4096,framesz=2048,framecnt=2048"
        found["testpmd net_af_packet"] = testpmd("net_af_packet", ring)
    return found


def late(lab: Lab) -> float:
    """Seconds that the shaped rate lost because the device got no processor time; 0 where there is no device."""
    try:
        return float(lab.status()["directions"][0]["late_s"])
    except LabError:
        return 0.0


def datagram(length: int) -> bytes:
    """Return a UDP frame to an address that nobody has: the server's kernel counts it and looks no further."""
    head = struct.pack(
        "!BBHIBBH4s4s", 0x45, 0, length - 14, 0, 64, 17, 0, bytes([10, 77, 0, 10]), bytes([10, 77, 0, 99])
    )
    # A bridge with netfilter drops a wrong checksum of the IP header.
    total = sum(struct.unpack("!10H", head))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    head = head[:10] + struct.pack("!H", checksum) + head[12:]
    ethernet = bytes.fromhex("0200000000990200000000980800")
    return (ethernet + head + struct.pack("!4H", 40_000, 9, length - 34, 0)).ljust(length, b"\0")


def forwarding(runs: int, seconds: float) -> list[dict[str, object]]:
    """Offer 200,000 frames a second of the shortest and the longest kind, with an algorithm in the device's path."""
    results: list[dict[str, Any]] = []
    for name, build in contenders(scheme="fq_codel", rate="10 Gbit/s").items():
        for length in (60, 1514):
            loss, rate = [], []
            for _ in range(runs):
                with build() as lab:
                    frame = datagram(length)
                    before = lab.counters("server")["rx_packets"]
                    count = int(OFFERED * seconds)
                    sent, took = lab.flood([frame], count=count, rate=OFFERED)
                    time.sleep(0.5)
                    loss.append(1 - (lab.counters("server")["rx_packets"] - before) / sent)
                    rate.append(sent / took)
            results.append(
                {
                    "contender": name,
                    "frame_bytes": length,
                    "loss_ratio": max(0.0, statistics.median(loss)),
                    "best_loss_ratio": max(0.0, min(loss)),
                    "offered_per_s": statistics.median(rate),
                }
            )
    rows = [
        [
            str(r["contender"]),
            f"{r['frame_bytes']} B",
            f"{r['offered_per_s']:,.0f}",
            f"{r['loss_ratio']:.4%}",
            f"{r['best_loss_ratio']:.4%}",
        ]
        for r in results
    ]
    header = ["forwarder", "frame", "offered frames/s", "lost (median)", "lost (least)"]
    table(f"Forwarding {OFFERED:,} frames/s (sojournd: fq_codel at 10 Gbit/s in the path)", header, rows)
    return results


def ping(runs: int, seconds: float) -> list[dict[str, Any]]:
    """Round-trip times over an idle path."""
    results: list[dict[str, Any]] = []
    for name, build in contenders(scheme="fq_codel", rate="1 Gbit/s").items():
        medians = []
        for _ in range(runs):
            with build() as lab:
                medians.append(statistics.median(lab.ping(count=int(seconds * 50), interval_s=0.02)) * 1e3)
        results.append({"contender": name, "ping_us": statistics.median(medians), "ping_us_runs": medians})
    least = float(str(results[0]["ping_us"]))
    rows = [
        [str(r["contender"]), f"{spread(r['ping_us_runs'], '.0f')} us", f"{float(str(r['ping_us'])) - least:+.0f} us"]
        for r in results
    ]
    table(
        "Ping over an idle queue (median, least and most of the runs)",
        ["forwarder", "round trip", "beside the bridge"],
        rows,
    )
    return results


def shaping(runs: int, seconds: float) -> list[dict[str, Any]]:
    """TCP cubic goodput through a shaped queue. Of a 1514 B frame 1448 B are payload, so 95.6 % is the ceiling."""
    results: list[dict[str, Any]] = []
    cases: list[tuple[str, str, Callable[[], contextlib.AbstractContextManager[Lab]]]] = [
        (name, rate, build)
        for rate in ("100 Mbit/s", "1 Gbit/s")
        for name, build in devices(scheme="fq_codel", rate=rate).items()
    ]
    cases += [(name, "unshaped", build) for name, build in contenders().items() if not name.startswith("sojournd")]
    for name, rate, build in cases:
        goodput, lost = [], []
        for _ in range(runs):
            with build() as lab:
                before = late(lab) if rate != "unshaped" else 0.0
                document = lab.iperf(seconds=seconds, congestion="cubic", extra=["-O", "1"])
                goodput.append(document["end"]["sum_received"]["bits_per_second"] / 1e6)
                lost.append((late(lab) - before) / (seconds + 1) if rate != "unshaped" else 0.0)
        results.append(
            {
                "contender": name,
                "rate": rate,
                "goodput_mbit_s": statistics.median(goodput),
                "goodput_mbit_s_runs": goodput,
                "late_ratio": statistics.median(lost),
            }
        )
    rows = [
        [
            str(r["contender"]),
            str(r["rate"]),
            f"{spread(r['goodput_mbit_s_runs'], '.1f')} Mbit/s",
            f"{r['late_ratio']:.2%}",
        ]
        for r in results
    ]
    table("Goodput of one TCP cubic flow", ["forwarder", "shaped to", "median (least to most)", "late"], rows)
    return results


PARTS = {"forwarding": forwarding, "ping": ping, "shaping": shaping, "agreement": agreement}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="The device beside the kernel bridge, testpmd and the simulator.")
    parser.add_argument("--runs", type=int, default=3, help="of which the median is shown")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each run; agreement takes ten times as long")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--json", type=Path, help="write all figures to this file as well")
    arguments = parser.parse_args()
    load = os.getloadavg()
    print(f"{platform.platform()}, {os.cpu_count()} processors, load average {load[0]:.1f} at the start")
    if not shutil.which(TESTPMD):
        print("dpdk-testpmd is not installed (Debian's package dpdk-dev): its rows are missing")
    if find_sojournd_dpdk() is None:
        print("there is no build of sojournd with the feature dpdk (`make bench-device`): its rows are missing")
    results: dict[str, object] = {"platform": platform.platform(), "load_average": load, "runs": arguments.runs}
    for part in arguments.only:
        results[part] = PARTS[part](arguments.runs, arguments.seconds)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(f"benches/device: {error}")
