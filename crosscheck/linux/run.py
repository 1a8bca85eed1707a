#!/usr/bin/env python3
"""Records what Linux does: every point boots Debian's kernel in a virtual machine with virtual time.

    run.py [--folder FOLDER] [--kernel PACKAGE] [--results FILE] [--drawn [--first N] | --points FILE]
           [--only TEXT] [--repeat N] [--list | --table DIR]

`--drawn` takes the points that draw.py drew. A point is a row of JSON, added to FILE as soon as it is finished;
points that are there already, or in the committed table, are left out, so an interrupted recording goes on where it
was. Instructions are time (`qemu -icount`: one is 2 ns, of drawn points 1 ns; idle time is skipped), so a busy
machine changes how long it takes, not what comes out. Runs repeat to about one per cent, not to the bit. FOLDER holds
the image that image.sh makes on first use.
"""
# It runs qemu and image.sh by name, with arguments of its own.

from __future__ import annotations

import argparse
import base64
import csv
import datetime
import gzip
import io
import json
import math
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measured import evaluate, samples, windows, write_csv

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parent / "recorded"
DRAWN = RECORDED / "linux_draw.csv"
# A point is five minutes of one processor at the most: processor time, as the wall's depends on what else runs.
MOST_CPU_S = 300
KERNEL = "linux-image-amd64"
# What a machine computes late, the network did not do.
LEAST_IDLE_SHARE = 0.05
DRAWN_RUNS = 3
# Every flow's socket is sampled where there are few flows, in the first run. Each sample starts a program in the
# machine, which costs the host some hundredths of a second.
SAMPLED_FLOWS, SAMPLE_S, MOST_SAMPLES = 2, 0.1, 500
RED = "red limit 151400 min 22710 max 68130 avpkt 1514 burst 20 probability 0.1 bandwidth {rate}"
QDISCS = {
    "pfifo": "pfifo limit 100",
    "codel": "codel limit 1000 noecn",
    "pie": "pie limit 1000",
    "fq_codel": "fq_codel limit 10240 noecn",
    "red": RED,
    "cake": "cake bandwidth {rate} besteffort",
    "fq_pie": "fq_pie limit 10240",
    "choke": "choke limit 100 bandwidth {rate} min 15 max 45 burst 20 probability 0.1",
    "sfb": "sfb",
    "sfq": "sfq limit 127",
}


def point(control: str, qdisc: str, rtt_ms: int, mbit_s: int, flows: int, **more: Any) -> dict[str, Any]:
    """One point. Long paths get more time to settle and to be measured."""
    return {
        "congestion_control": control,
        "qdisc": QDISCS[qdisc].format(rate=f"{mbit_s}mbit"),
        "base_rtt_ms": rtt_ms,
        "rate_mbit_s": mbit_s,
        "flows": flows,
        "seconds": 30 if rtt_ms >= 100 else 20,
        "warm_up_s": 10 if rtt_ms >= 100 else 5,
        "sockets": False,
    } | more


def name(p: dict[str, Any]) -> str:
    """What a point is called."""
    label = f"{p['congestion_control']} {p['flows']} {p['base_rtt_ms']}ms {p['rate_mbit_s']}mbit {p['qdisc']}"
    return label + " sockets" * p["sockets"] + (f" {p['sysctls']}" if p.get("sysctls") else "")


def points() -> list[dict[str, Any]]:
    """The points, in the order of recording."""
    loss_based = [
        ("cubic", 50, 20, 4),
        ("reno", 50, 5, 4),
        ("cubic", 10, 5, 1),
        ("reno", 10, 20, 16),
        ("cubic", 20, 5, 16),
        ("reno", 20, 50, 4),
        ("cubic", 100, 50, 16),
    ]
    plain = [
        point(control, qdisc, rtt, rate, flows)
        for control, rtt, rate, flows in loss_based
        for qdisc in ("pfifo", "codel", "pie", "fq_codel", "red")
    ]
    # One flow into tail drop has a sawtooth; it is sampled for long enough to see a dozen teeth.
    teeth = [
        point(control, "pfifo", 20, 20, 1, seconds=100, warm_up_s=20, sockets=True) for control in ("reno", "cubic")
    ]
    bbr = [
        *(point("bbr", qdisc, 20, 20, 1) for qdisc in ("pfifo", "codel", "fq_codel")),
        *(point("bbr", qdisc, 50, 20, 4) for qdisc in ("pfifo", "fq_codel", "pie", "cake")),
        *(point("bbr", qdisc, 100, 50, 16) for qdisc in ("pfifo", "fq_codel")),
        point("bbr", "pfifo", 10, 5, 4),
    ]
    newer = [
        point(control, qdisc, rtt, rate, flows)
        for control, rtt, rate, flows in loss_based[:4]
        for qdisc in ("cake", "fq_pie")
    ]
    # Slow start into PIE's long queue: measured with another recorder before, and again here.
    again = [point("reno", qdisc, 20, 20, flows) for flows in (1, 4) for qdisc in ("pie", "fq_pie")]
    others = [point("cubic", qdisc, 20, 20, 4) for qdisc in ("choke", "sfb", "sfq")]
    # Slow start loses a thousand segments, and whether the timer expires meanwhile decides the rest of the run.
    timer = [point("reno", "pie", 80, 20, 1, seconds=70, warm_up_s=10)]
    return [*plain, *teeth, *newer, *bbr, *again, *others, *timer]


def drawn(file: Path = DRAWN) -> list[list[dict[str, Any]]]:
    """The points that were drawn, each with its substitutes after it."""
    with file.open(newline="") as text:
        rows = list(csv.DictReader(text))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        flow_groups = []
        for group in row["groups"].split(" + "):
            control, flows, _, rtt_ms, _ = group.split(" ")
            flow_groups.append({"control": control, "flows": int(flows), "rtt_ms": rtt_ms})
        seconds, warm_up_s = int(row["seconds"]), int(row["warm_up_s"])
        found.setdefault(row["point"], []).append(
            {
                "point": row["point"],
                "attempt": int(row["attempt"]),
                "congestion_control": row["congestion_control"],
                "groups": flow_groups,
                "qdisc": row["qdisc"],
                "base_rtt_ms": row["base_rtt_ms"],
                "rate_mbit_s": row["rate_mbit_s"],
                "flows": int(row["flows"]),
                "seconds": seconds,
                "warm_up_s": warm_up_s,
                # In the middle of the measured time.
                "change_at_s": (warm_up_s + seconds) // 2 if row["changed_rate_mbit_s"] else 0,
                "changed_rate_mbit_s": row["changed_rate_mbit_s"],
                "sysctls": "net.ipv4.tcp_ecn=1" if row["ecn"] == "yes" else "",
                # Fewer samples of many flows: the reports have to fit into the machine's memory.
                "interval_s": 0.1 if int(row["flows"]) <= 4 else 0.5,
                "sockets": False,
            }
        )
    return list(found.values())


def image(folder: Path, package: str = KERNEL) -> str:
    """The versions of what is booted; made where missing."""
    if not (folder / "initrd").exists():
        subprocess.run([HERE / "image.sh", folder, package], check=True, stdout=sys.stderr)
    return " ".join((folder / "versions").read_text().split("\n")[0].split()[1::2])


class TooLongError(Exception):
    """The machine took more processor time than a point may."""


def boot(
    folder: Path,
    settings: dict[str, Any],
    script: str = "point.sh",
    *,
    shift: int = 1,
    memory_mib: int = 768,
    most_cpu_s: int | None = None,
    faster: int = 1,
    modules: Sequence[Path] = (),
) -> dict[str, bytes]:
    """Boots the machine with one point, whose script loads `modules`: the files that the script left.

    An instruction takes 2^shift ns, divided by `faster`: the kernel is told that the processor's clock, which qemu
    keeps at 1 GHz, is so many times as fast, and has no other clock to compare it with.
    """
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        (work / "point").mkdir()
        (work / "point" / "point.sh").write_bytes((HERE / "guest" / script).read_bytes())
        (work / "point" / "settings").write_text(
            "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in settings.items())
        )
        for module in modules:
            (work / "point" / module.name).write_bytes(module.read_bytes())
        listing = "".join(f"{path.relative_to(work)}\n" for path in (work / "point", *(work / "point").iterdir()))
        archive = subprocess.run(
            ["cpio", "--create", "--format=newc", "--quiet"],
            cwd=work,
            input=listing.encode(),
            check=True,
            capture_output=True,
        ).stdout
        # Archives after one another are unpacked over one another.
        (work / "initrd").write_bytes((folder / "initrd").read_bytes() + gzip.compress(archive, 1))
        command = [
            "qemu-system-x86_64",
            *("-accel", "tcg", "-cpu", "max,-rdrand,-rdseed", "-icount", f"shift={shift},sleep=off"),
            *("-rtc", "base=2026-01-01T00:00:00,clock=vm"),
            *("-machine", "q35", "-m", str(memory_mib), "-smp", "1", "-nodefaults", "-no-user-config"),
            *("-display", "none", "-no-reboot", "-net", "none"),
            *("-kernel", str(folder / "vmlinuz"), "-initrd", str(work / "initrd")),
            "-append",
            "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=off tsc=reliable nokaslr"
            + (f" tsc_early_khz={faster}000000 hpet=disable pmtmr=0" if faster > 1 else ""),
            *("-serial", f"file:{work / 'console'}", "-serial", f"file:{work / 'files'}"),
        ]
        limit = [] if most_cpu_s is None else ["prlimit", f"--cpu={most_cpu_s}:{most_cpu_s + 5}"]
        done = subprocess.run([*limit, *command], check=False, stdin=subprocess.DEVNULL)
        if most_cpu_s is not None and done.returncode in {-signal.SIGXCPU, -signal.SIGKILL}:
            raise TooLongError
        done.check_returncode()
        try:
            packed = gzip.decompress(base64.b64decode((work / "files").read_bytes()))
            with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
                members = [(member.name.removeprefix("./"), tar.extractfile(member)) for member in tar]
                files = {name: file.read() for name, file in members if file}
        except (ValueError, OSError, tarfile.TarError) as error:
            console = (work / "console").read_text(errors="replace")
            raise SystemExit(f"the machine left no files ({error}); its console ends:\n{console[-2000:]}") from error
    if files.get("status", b"").strip() != b"0":
        raise SystemExit(f"the point failed in the machine:\n{files.get('log', b'').decode()[-2000:]}")
    return files


def drawn_table(package: str) -> Path:
    """Where the rows of drawn points are committed, of one kernel."""
    version = re.search(r"\d+\.\d+", package)
    return RECORDED / (f"linux_drawn_{version[0]}.csv" if version else "linux_drawn.csv")


def drawn_rows(table: Path, results: Path) -> list[dict[str, Any]]:
    """Rows of drawn points: those of the committed table, and those of the results that it does not have."""
    found: dict[tuple[str, int, int], dict[str, Any]] = {}
    if table.exists():
        with table.open(newline="") as file:
            for row in csv.DictReader(file):
                found[row["point"], int(row["attempt"]), int(row["run"])] = row
    if results.exists():
        for row in map(json.loads, results.read_text().splitlines()):
            found.setdefault((row["point"], row["attempt"], row["run"]), row)
    return [found[key] for key in sorted(found)]


def write_drawn_table(table: Path, results: Path) -> None:
    """Adds the results' rows to the table."""
    rows = drawn_rows(table, results)
    write_csv(table, dict.fromkeys(key for row in rows for key in row), rows)


def table(results: Path, folder: Path) -> None:
    """Writes the rows as CSV, the congestion windows over the measured time in a file of their own."""
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    columns = dict.fromkeys(key for row in rows for key in row if key not in {"name", "windows", "sockets"})
    write_csv(folder / "linux_points.csv", columns, (row for row in rows if not row["sockets"]))
    names = ("congestion_control", "t_s", "window_packets")
    every = (
        (row["congestion_control"], *sample)
        for row in rows
        for sample in row.get("windows", ())
        if sample[0] >= row["warm_up_s"]
    )
    write_csv(folder / "linux_windows.csv", names, (dict(zip(names, values, strict=True)) for values in every))


def settings_of(p: dict[str, Any], run: int) -> dict[str, Any]:
    """What the machine is told. Runs differ in when the flows start, by less than the ping's interval."""
    first = {"control": p["congestion_control"], "flows": p["flows"], "rtt_ms": p["base_rtt_ms"]}
    rng = random.Random(f"{p['point']} {p['attempt']} {run}" if "groups" in p else f"{name(p)} {run}")  # noqa: S311
    start_s = rng.uniform(0, 0.05) if "groups" in p else 0.0
    lines = [
        f"{group['control']} {group['flows']} {group['rtt_ms']} {start_s + (rng.uniform(0, 0.01) if k else 0):.4f}"
        for k, group in enumerate(p.get("groups", [first]))
    ]
    is_sampled = "groups" in p and run == 1 and p["flows"] <= SAMPLED_FLOWS
    sampled = max(SAMPLE_S, p["seconds"] / MOST_SAMPLES) if is_sampled else 0
    return {
        "FLOW_GROUPS": "\n".join(lines),
        "BASE_RTT_MS": p["base_rtt_ms"],
        "RATE": f"{p['rate_mbit_s']}mbit",
        "QDISC": p["qdisc"],
        "SECONDS_ALL": p["seconds"],
        "SECONDS_WARM_UP": p["warm_up_s"],
        "INTERVAL": p.get("interval_s", 0.1),
        "SOCKETS": 0.05 if p["sockets"] else sampled,
        "SYSCTLS": p.get("sysctls", ""),
        "CHANGE_AT": p.get("change_at_s", 0),
        "CHANGED_RATE": f"{p.get('changed_rate_mbit_s') or 0}mbit",
        "RUN": run,
    }


def added(results: Path, row: dict[str, Any]) -> None:
    """Adds a row to the results."""
    with results.open("a") as file:
        file.write(json.dumps(row) + "\n")


def record_drawn(given: argparse.Namespace) -> None:
    """Records what is missing of the drawn points: the first run of every point, then the second of every point."""
    rows = drawn_rows(drawn_table(given.kernel), given.results)
    done = {(row["point"], int(row["attempt"]), int(row["run"])) for row in rows}
    void = {(row["point"], int(row["attempt"])) for row in rows if row["void"]}
    version = image(given.folder, given.kernel)
    about = {"kernel": version, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
    missing = True
    # A void attempt makes runs of the next one missing, so it is not over after one round.
    while missing:
        missing = False
        for run in range(1, given.repeat + 1):
            for attempts in drawn()[: given.first]:
                left = [p for p in attempts if (p["point"], p["attempt"]) not in void]
                if not left or given.only not in left[0]["point"]:
                    continue
                p = left[0]
                key = p["point"], p["attempt"], run
                if key in done:
                    continue
                missing = True
                done.add(key)
                row = {"point": p["point"], "attempt": p["attempt"], "run": run, "void": ""}
                before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                try:
                    # The machine's processor is twice as fast as in the older points, which 100 Mbit/s need.
                    files = boot(given.folder, settings_of(p, run), shift=0, memory_mib=1024, most_cpu_s=MOST_CPU_S)
                except TooLongError:
                    void.add((p["point"], p["attempt"]))
                    added(given.results, row | {"void": f"more than {MOST_CPU_S} s of processor time"} | about)
                    continue
                row |= evaluate(p, files)
                if row["idle_share"] < LEAST_IDLE_SHARE:
                    row["void"] = f"processor idle for less than {LEAST_IDLE_SHARE:.0%} of the time"
                    void.add((p["point"], p["attempt"]))
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                row["recorder_cpu_s"] = math.ceil(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                if files.get("sockets") and run == 1:
                    folder = given.results.with_suffix(".samples")
                    folder.mkdir(exist_ok=True)
                    (folder / f"{p['point']}.csv.gz").write_bytes(gzip.compress(samples(files).encode(), 9, mtime=0))
                row |= about | {"date": datetime.datetime.now(datetime.UTC).date().isoformat()}
                added(given.results, row)
                print(
                    f"{p['point']}, run {run}: {row['recorder_cpu_s']} s of processor time, "
                    f"{time.monotonic() - began:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )


def main() -> int:
    """Records what is missing."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sojourn"
    options.add_argument("--folder", type=Path, help=f"of the image (default {cache}/linux, or /PACKAGE)")
    options.add_argument("--kernel", default=KERNEL, metavar="PACKAGE", help="Debian's (default %(default)s)")
    options.add_argument("--results", type=Path, default=Path("linux.jsonl"), help="rows are added here")
    options.add_argument("--drawn", action="store_true", help=f"the drawn points, {DRAWN_RUNS} runs of each")
    options.add_argument("--first", type=int, metavar="N", help="only the first N of the drawn points")
    options.add_argument("--points", type=Path, metavar="FILE", help="a JSON list of points, instead of this file's")
    options.add_argument("--only", default="", metavar="TEXT", help="points whose name contains TEXT")
    options.add_argument("--repeat", type=int, metavar="N", help="runs of each point")
    options.add_argument("--table", type=Path, metavar="DIR", help="write the results as the records' CSV files")
    options.add_argument("--list", action="store_true", help="print the points' names")
    given = options.parse_args()
    given.folder = given.folder or cache / ("linux" if given.kernel == KERNEL else given.kernel)
    if given.drawn:
        given.repeat = given.repeat or DRAWN_RUNS
        if given.table:
            write_drawn_table(given.table / drawn_table(given.kernel).name, given.results)
        elif given.list:
            print("\n".join(attempts[0]["point"] for attempts in drawn()))
        else:
            record_drawn(given)
        return 0
    every = json.loads(given.points.read_text()) if given.points else points()
    chosen = {name(p): p for p in every if given.only in name(p)}
    if given.table:
        table(given.results, given.table)
        return 0
    if given.list:
        print("\n".join(chosen))
        return 0
    done = set()
    if given.results.exists():
        done = {(row["name"], row["run"]) for row in map(json.loads, given.results.read_text().splitlines())}
    version = image(given.folder, given.kernel)
    for run in range(1, (given.repeat or 1) + 1):
        for label, p in chosen.items():
            if (label, run) in done:
                continue
            began = time.monotonic()
            files = boot(given.folder, settings_of(p, run))
            row = {"name": label, "run": run} | p | evaluate(p, files)
            if p["sockets"]:
                row["windows"] = windows(files)
            row |= {"kernel": version, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
            added(given.results, row)
            print(f"{label}, run {run}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
