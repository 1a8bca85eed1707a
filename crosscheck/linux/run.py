#!/usr/bin/env python3
"""Records what Linux does: every point boots Debian's kernel in a virtual machine with virtual time.

    run.py [--folder FOLDER] [--results FILE] [--points FILE] [--only TEXT] [--repeat N] [--list | --table DIR]

A point is a row of JSON, added to FILE as soon as it is finished; points that are there already are left out, so an
interrupted recording goes on where it was. Instructions are time (`qemu -icount`: one is 2 ns, idle time is
skipped), so a busy machine changes how long it takes, not what comes out. Runs repeat to about one per cent, not to
the bit. FOLDER holds the image that image.sh makes on first use.
"""
# It runs qemu and image.sh by name, with arguments of its own.
# ruff: noqa: S603, S607

from __future__ import annotations

import argparse
import base64
import csv
import datetime
import gzip
import io
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
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


def image(folder: Path) -> str:
    """The versions of what is booted; made where missing."""
    if not (folder / "initrd").exists():
        subprocess.run([HERE / "image.sh", folder], check=True, stdout=sys.stderr)
    return " ".join((folder / "versions").read_text().split("\n")[0].split()[1::2])


def boot(folder: Path, settings: dict[str, Any], script: str = "point.sh") -> dict[str, bytes]:
    """Boots the machine with one point: the files that the script left."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        (work / "point").mkdir()
        (work / "point" / "point.sh").write_bytes((HERE / "guest" / script).read_bytes())
        (work / "point" / "settings").write_text(
            "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in settings.items())
        )
        listing = "point\npoint/point.sh\npoint/settings\n"
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
            *("-accel", "tcg", "-cpu", "max,-rdrand,-rdseed", "-icount", "shift=1,sleep=off"),
            *("-rtc", "base=2026-01-01T00:00:00,clock=vm"),
            *("-machine", "q35", "-m", "768", "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none"),
            *("-no-reboot", "-net", "none", "-kernel", str(folder / "vmlinuz"), "-initrd", str(work / "initrd")),
            "-append",
            "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=off tsc=reliable nokaslr",
            *("-serial", f"file:{work / 'console'}", "-serial", f"file:{work / 'files'}"),
        ]
        subprocess.run(["nice", "-n", "19", *command], check=True, stdin=subprocess.DEVNULL, timeout=7200)
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


def evaluate(chosen: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
    """What a point's files say, over the measured time."""
    warm_up, end = chosen["warm_up_s"], chosen["seconds"]
    start = float(files["start"])
    client, server = json.loads(files["client.json"]), json.loads(files["server.json"])

    def measured(report: dict[str, Any]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = report["intervals"]
        return [row for row in rows if row["sum"]["start"] > warm_up - 0.05 and row["sum"]["end"] < end + 0.05]

    received = measured(server)
    sent = [stream for row in measured(client) for stream in row["streams"]]
    lasting = received[-1]["sum"]["end"] - received[0]["sum"]["start"]
    shares: dict[int, int] = {}
    for row in received:
        for stream in row["streams"]:
            shares[stream["socket"]] = shares.get(stream["socket"], 0) + stream["bytes"]
    pings = [
        float(reply)
        for at, reply in re.findall(rb"\[([0-9.]+)\].*time=([0-9.]+) ms", files["ping"])
        if warm_up <= float(at) - start < end
    ]
    snapshots = []
    for line in files["counters"].decode().splitlines():
        at, documents = line.split(" ", 1)
        tested, length = json.JSONDecoder().raw_decode(documents)
        # htb passes on what its child counts; the child is the discipline under test.
        snapshots.append((float(at), tested[-1], json.loads(documents[length:])[0]["packets"]))
    (_, zero, _), (from_s, before, back_before), (to_s, after, back_after) = snapshots
    if after["kind"] != chosen["qdisc"].split(" ", 1)[0]:
        raise SystemExit(f"{after['kind']} was counted instead of {chosen['qdisc']}")
    return {
        "goodput_mbit_s": round(sum(row["sum"]["bytes"] for row in received) * 8e-6 / lasting, 4),
        "jain_index": round(sum(shares.values()) ** 2 / (len(shares) * sum(v * v for v in shares.values())), 5),
        "ping_ms_mean": round(statistics.fmean(pings), 3),
        "ping_ms_sd": round(statistics.stdev(pings), 3),
        "ping_ms_min": min(pings),
        "ping_ms_max": max(pings),
        "pings": len(pings),
        "tcp_rtt_ms_mean": round(statistics.fmean(stream["rtt"] for stream in sent) / 1e3, 3),
        "retransmissions_segments": sum(stream["retransmits"] for stream in sent),
        "counted_s": round(to_s - from_s, 3),
        "sent_packets": after["packets"] - before["packets"],
        "drops_packets": after["drops"] - before["drops"],
        "returned_packets": back_after - back_before,
        "warm_up_drops_packets": before["drops"] - zero["drops"],
    }


def windows(files: dict[str, bytes]) -> list[tuple[float, int]]:
    """The congestion window over time, from the socket that sends the data."""
    start = float(files["start"])
    rows, at = [], 0.0
    for line in files["sockets"].decode().splitlines():
        if line.startswith("at "):
            at = float(line[3:]) - start
            continue
        window, acked = re.search(r" cwnd:(\d+)", line), re.search(r" bytes_acked:(\d+)", line)
        # The control connection has acknowledged some hundred bytes.
        if window and acked and int(acked[1]) > 20_000:
            rows.append((round(at, 3), int(window[1])))
    return rows


def table(results: Path, folder: Path) -> None:
    """Writes the rows as CSV, the congestion windows over the measured time in a file of their own."""
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    columns = list(dict.fromkeys(key for row in rows for key in row if key not in {"name", "windows", "sockets"}))
    with (folder / "linux_points.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for row in rows if not row["sockets"])
    with (folder / "linux_windows.csv").open("w", newline="") as file:
        plain = csv.writer(file, lineterminator="\n")
        plain.writerow(["congestion_control", "t_s", "window_packets"])
        for row in rows:
            measured = [(t_s, window) for t_s, window in row.get("windows", ()) if t_s >= row["warm_up_s"]]
            plain.writerows((row["congestion_control"], t_s, window) for t_s, window in measured)


def main() -> int:
    """Records what is missing."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sojourn" / "linux"
    options.add_argument("--folder", type=Path, default=cache, help="of the image (default %(default)s)")
    options.add_argument("--results", type=Path, default=Path("linux.jsonl"), help="rows are added here")
    options.add_argument("--points", type=Path, metavar="FILE", help="a JSON list of points, instead of this file's")
    options.add_argument("--only", default="", metavar="TEXT", help="points whose name contains TEXT")
    options.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each point")
    options.add_argument("--table", type=Path, metavar="DIR", help="write the results as the records' two CSV files")
    options.add_argument("--list", action="store_true", help="print the points' names")
    given = options.parse_args()
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
    version = image(given.folder)
    for run in range(1, given.repeat + 1):
        for label, p in chosen.items():
            if (label, run) in done:
                continue
            began = time.monotonic()
            settings = {
                "CONGESTION_CONTROL": p["congestion_control"],
                "FLOWS": p["flows"],
                "BASE_RTT_MS": p["base_rtt_ms"],
                "RATE": f"{p['rate_mbit_s']}mbit",
                "QDISC": p["qdisc"],
                "SECONDS_ALL": p["seconds"],
                "SECONDS_WARM_UP": p["warm_up_s"],
                "SOCKETS": int(p["sockets"]),
                "SYSCTLS": p.get("sysctls", ""),
                "RUN": run,
            }
            files = boot(given.folder, settings)
            row = {"name": label, "run": run} | p | evaluate(p, files)
            if p["sockets"]:
                row["windows"] = windows(files)
            row |= {"kernel": version, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
            with given.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{label}, run {run}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
