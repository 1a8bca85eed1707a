#!/usr/bin/env python3
"""How fast the simulator is, and how fast others are at the same work in the same run.

Builds `benches/speed` in release mode, then runs it and the peers that are there by turns: 100 TCP flows through 100
Mbit/s, base RTT 20 ms, tail drop at 250 packets. A figure is the slope between two run lengths: the difference of
their user CPU times over the difference of the packets that they forwarded. So no side pays for its start, for
reading a scenario or for writing a report. A second table shows our side alone: more flows, five hops, UDP, a bus and
an 802.11 cell. Needs nothing beyond Python and cargo.

    python3 benches/speed.py [--seconds 300] [--rounds 5] [--json FILE] [--floor 3] [--ns3 FOLDER]
                             [--peer NAME=COMMAND]

| peer | where it comes from |
| --- | --- |
| ns-2 | Debian's package ns2 |
| ns-3 | `pip install ns3`, or `--ns3 FOLDER` with an unpacked wheel (`pip download ns3`, `unzip`); needs g++ |
| others | `--peer NAME=COMMAND`: a program that you have built |

The command of `--peer` runs the same dumbbell for `{seconds}`, which is replaced in it, and prints one line of JSON
with `forwarded_packets`.

With --floor the exit status is 1 when the median ratio to ns-2 lies below it.
"""
# It runs the peers and its own program, with arguments of its own.
# ruff: noqa: S603

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from built import ROOT, build, show

NS2_PROGRAM = ROOT / "crosscheck" / "ns2" / "dumbbell.tcl"
NS3_PROGRAMS = ROOT / "crosscheck" / "ns3"
#: Bytes of a full segment on ns-3's wire: 1448 B and the headers of TCP with timestamps, IP and PPP.
NS3_PACKET_BYTES = 1448 + 32 + 20 + 2
#: ns-3 takes hundreds of times as long: it runs for so much less simulated time.
NS3_SHORTER = 50
#: Links on the way of a data packet of the dumbbell: access, bottleneck, access.
HOPS = 3

# flows, bottleneck in Mbit/s, access links in Mbit/s, simulated seconds, queue
SCALING = [
    (10, 100, 1000, 300, "pfifo limit 250p"),
    (100, 100, 1000, 300, "pfifo limit 250p"),
    (100, 100, 1000, 300, "fq_codel"),
    (1_000, 1000, 10_000, 60, "pfifo limit 250p"),
    (1_000, 1000, 10_000, 60, "fq_codel"),
    (10_000, 1000, 10_000, 60, "pfifo limit 250p"),
    (100_000, 1000, 10_000, 30, "pfifo limit 250p"),
]
#: The row that the others are compared with.
REFERENCE = 1
#: Networks of `benches/speed/scenarios`: label, what a packet is, links on its way, simulated seconds.
KINDS = {
    "five_hops": ("five hops, 100 TCP flows", "forwarded_packets", 7, 150),
    "udp": ("UDP, 100 flows", "forwarded_packets", 3, 300),
    "bus": ("bus, 20 TCP flows, delivered", "delivered_packets", 1, 150),
    "cell": ("802.11g, 10 TCP flows, delivered", "delivered_packets", 2, 300),
}


def measure(command: list[str]) -> dict[str, float]:
    """Runs `command`, which prints one line of JSON: that, with its user CPU seconds and peak memory in MB."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output)
        # wait4 gives the resources of this child alone.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
        output.seek(0)
        result: dict[str, float] = json.loads(output.read())
    result["cpu_s"] = usage.ru_utime
    # A child starts with the peak of its parent, this interpreter: our program tells its own.
    result["memory_mb"] = (result.get("peak_memory_kib") or usage.ru_maxrss) * 1024 / 1e6
    return result


def ours(program: Path, flows: int, rate: int, access: int, queue: str, seconds: int) -> dict[str, float]:
    """One run of ours."""
    arguments = {"flows": flows, "rate-mbit-s": rate, "access-mbit-s": access, "queue": queue, "seconds": seconds}
    return measure([str(program)] + [text for k, v in arguments.items() for text in (f"--{k}", str(v))])


def ours_of_kind(program: Path, kind: str, seconds: int) -> dict[str, float]:
    """One run of ours on another network; `forwarded_packets` is what counts as a packet there."""
    file = ROOT / "benches" / "speed" / "scenarios" / f"{kind}.toml"
    run = measure([str(program), "--scenario", str(file), "--seconds", str(seconds)])
    return run | {"forwarded_packets": run[KINDS[kind][1]]}


def ns2(flows: int, rate: int, access: int, seconds: int) -> dict[str, float]:
    """One run of ns-2."""
    return measure(["ns", str(NS2_PROGRAM), *map(str, (flows, rate, seconds, access))])


def build_ns3(files: Path, folder: Path) -> Path:
    """Compile the crosscheck's dumbbell, as it is, with the headers and libraries of ns-3's wheel."""
    program = folder / "dumbbell"
    command = ["make", "-s", "-C", NS3_PROGRAMS, f"NS3={files.resolve()}", "CXXFLAGS=-O2", f"OUT={folder}", program]
    subprocess.run(command, check=True)
    return program


def ns3(program: Path, flows: int, rate: int, seconds: int) -> dict[str, float]:
    """One run of ns-3; the packets are counted from the bytes on the wire."""
    arguments = {"flows": flows, "mbit": rate, "rtt": 20, "queue": "pfifo", "limit": 250, "seconds": seconds}
    run = measure([str(program), *(f"--{k}={v}" for k, v in arguments.items()), "--warm-up=0"])
    packets = run["util"] * rate * 1e6 * seconds / 8 / NS3_PACKET_BYTES
    return {"cpu_s": run["cpu_s"], "memory_mb": run["memory_mb"], "forwarded_packets": packets}


def other(words: list[str], seconds: int) -> dict[str, float]:
    """One run of a program of the user's."""
    return measure([word.replace("{seconds}", str(seconds)) for word in words])


def find_ns3(given: Path | None) -> Path | None:
    """The folder with ns-3's headers and libraries, of an unpacked wheel or of this Python."""
    if given is None:
        found = importlib.util.find_spec("ns3")
        given = (
            Path(next(iter(found.submodule_search_locations))) if found and found.submodule_search_locations else None
        )
    elif not (given / "include").is_dir():
        given /= "ns3"
    return given if given and (given / "include").is_dir() and shutil.which("g++") else None


def slope(run: Callable[..., dict[str, float]], *arguments: object, seconds: int) -> dict[str, float]:
    """What a run of `seconds` adds to one of a third of them; memory is that of the longer."""
    short, long = (run(*arguments, length) for length in (max(1, seconds // 3), seconds))
    kept = {key: value for key, value in long.items() if key == "memory_mb"}
    return {key: value - short[key] for key, value in long.items() if key in short} | kept


def ns_per_packet(run: dict[str, float]) -> float:
    """User CPU time that a forwarded packet cost."""
    return run["cpu_s"] * 1e9 / run["forwarded_packets"]


def spread(values: list[float], digits: int = 0) -> str:
    """Median (smallest to largest)."""
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


Peer = Callable[[int], dict[str, float]]


def compare(peers: dict[str, Peer], seconds: int, rounds: int) -> dict[str, list[dict[str, float]]]:
    """All peers by turns, so that a change of the machine's speed meets all; the first is ours."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in peers}
    for _ in range(rounds):
        for name, peer in peers.items():
            runs[name].append(slope(peer, seconds=max(3, seconds // NS3_SHORTER) if name == "ns-3" else seconds))
    print(f"100 TCP flows, 100 Mbit/s, base RTT 20 ms, slope from {seconds // 3} to {seconds} s, {rounds} rounds:")
    print(f"median (min to max). A packet-hop is a data packet on one link; each passes {HOPS}.")
    rows = []
    for name, own in runs.items():
        times = [ns_per_packet(run) for run in own]
        ratios = [b / ns_per_packet(a) for a, b in zip(runs["Sojourn"], times, strict=True)]
        rows.append(
            [
                name,
                spread(times),
                spread([HOPS * 1e9 / time for time in times]),
                "1" if name == "Sojourn" else spread(ratios, 2),
                f"{statistics.median(run['forwarded_packets'] for run in own):,.0f}",
                f"{max(run['memory_mb'] for run in own):.1f}",
            ]
        )
    show(["", "ns/packet", "packet-hops/s", "times ours", "packets", "peak MB"], rows)
    for name, source in (("ns-2", "Debian: apt-get install ns2"), ("ns-3", "pip install ns3, and g++")):
        if name not in runs:
            print(f"{name} is not installed ({source}), so there is no ratio to it")
    return runs


def scale(program: Path, rounds: int, shorter: int) -> list[dict[str, object]]:
    """Ours alone: more flows, fair queueing, and other kinds of network."""
    print("\nSojourn alone: the best round; a packet is one that the queue under test forwards, or one delivered")
    cases: list[tuple[str, int, int, Peer]] = [
        (
            f"{flows:,} flows, {rate:,} Mbit/s, {queue.partition(' ')[0]}",
            HOPS,
            seconds,
            partial(ours, program, flows, rate, access, queue),
        )
        for flows, rate, access, seconds, queue in SCALING
    ]
    cases += [
        (label, hops, seconds, partial(ours_of_kind, program, kind))
        for kind, (label, _, hops, seconds) in KINDS.items()
    ]
    results: list[dict[str, object]] = []
    best: list[dict[str, float]] = []
    for label, hops, seconds, peer in cases:
        turns = (slope(peer, seconds=max(3, seconds // shorter)) for _ in range(rounds))
        run = min(turns, key=ns_per_packet)
        best.append(run)
        results.append({"case": label, "hops": hops, "seconds": seconds, **run})
    reference = ns_per_packet(best[REFERENCE])
    rows = []
    for (label, hops, _, _), run in zip(cases, best, strict=True):
        events, time = run["events"] / run["forwarded_packets"], ns_per_packet(run)
        rows.append(
            [
                label,
                f"{time:.0f}",
                f"{time / reference:.2f}",
                f"{hops * 1e9 / time:,.0f}",
                f"{events:.2f}",
                f"{time / events:.1f}",
                f"{100 * run['drops_packets'] / (run['drops_packets'] + run['forwarded_packets']):.1f} %",
                f"{run['memory_mb']:.1f}",
            ]
        )
    header = ["", "ns/packet", "beside 100 flows", "packet-hops/s", "events/packet", "ns/event", "loss", "peak MB"]
    show(header, rows)
    return results


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Speed of the simulator, and of others at the same work.")
    parser.add_argument("--seconds", type=int, default=300, help="simulated time of the comparison (default 300)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement (default 5)")
    parser.add_argument("--no-scaling", action="store_true", help="leave out the second table")
    parser.add_argument("--no-peers", action="store_true", help="leave out the first table")
    parser.add_argument(
        "--shorter", type=int, default=1, help="divide the lengths of the second table's runs by this"
    )
    parser.add_argument("--floor", type=float, help="fail when the median ratio to ns-2 is below this")
    parser.add_argument("--json", type=Path, help="also write every measurement to this file")
    parser.add_argument("--ns3", type=Path, metavar="FOLDER", help="an unpacked wheel of ns-3")
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=COMMAND", help="another program; {seconds} is replaced"
    )
    arguments = parser.parse_args()
    program = build("speed")
    result: dict[str, object] = {}
    ratio = None
    if not arguments.no_peers:
        with tempfile.TemporaryDirectory() as folder:
            runs = compare(peers(program, arguments, Path(folder)), arguments.seconds, arguments.rounds)
        result["comparison"] = runs
        if "ns-2" in runs:
            pairs = zip(runs["Sojourn"], runs["ns-2"], strict=True)
            ratio = statistics.median(ns_per_packet(b) / ns_per_packet(a) for a, b in pairs)
    if not arguments.no_scaling:
        result["scaling"] = scale(program, min(arguments.rounds, 3), arguments.shorter)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    if arguments.floor is not None and ratio is not None and ratio < arguments.floor:
        print(f"below the floor of {arguments.floor}", file=sys.stderr)
        return 1
    return 0


def peers(program: Path, arguments: argparse.Namespace, folder: Path) -> dict[str, Peer]:
    """Ours, and the peers that are there."""
    found: dict[str, Peer] = {"Sojourn": partial(ours, program, 100, 100, 1000, "pfifo limit 250p")}
    if shutil.which("ns"):
        found["ns-2"] = partial(ns2, 100, 100, 1000)
    files = find_ns3(arguments.ns3)
    if files:
        found["ns-3"] = partial(ns3, build_ns3(files, folder), 100, 100)
    for text in arguments.peer:
        name, _, command = text.partition("=")
        found[name] = partial(other, shlex.split(command))
    return found


if __name__ == "__main__":
    sys.exit(main())
