"""What the files of a booted machine say: the rows of the recorder's results."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_csv(file: Path, columns: Iterable[str], rows: Iterable[dict[str, Any]]) -> None:
    """Writes the columns of rows as CSV."""
    with file.open("w", newline="") as text:
        writer = csv.DictWriter(text, list(columns), extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def reports(files: dict[str, bytes], side: str) -> list[dict[str, Any]]:
    """iperf3's reports of one side, one for each group of flows."""
    names = sorted(name for name in files if name.startswith(f"{side}."))
    return [json.loads(files[name]) for name in names]


def lateness(files: dict[str, bytes]) -> list[float]:
    """How long after the first group each one began to send, in s: one may lose a SYN to the other's slow start."""
    clients = reports(files, "client")
    if len(clients) == 1:
        return [0.0]
    begun = [float(files[f"ended.{k}"]) - one["intervals"][-1]["sum"]["end"] for k, one in enumerate(clients)]
    return [at - min(begun) for at in begun]


def marks(qdisc: dict[str, Any]) -> int:
    """Packets that a discipline marked with CE, by the name that it has for them."""
    if "tins" in qdisc:
        return sum(tin["ecn_mark"] for tin in qdisc["tins"])
    return int(qdisc.get("ecn_mark", qdisc.get("marked", 0)))


def protocols(text: str) -> dict[str, dict[str, int]]:
    """The counters of /proc/net/snmp and /proc/net/netstat by host, and the processor's ticks."""
    found: dict[str, dict[str, int]] = {}
    node, names = "", []
    for line in text.splitlines():
        words = line.split()
        if words[0] == "at":
            node = words[1]
            found[node] = {}
        elif words[0].endswith(":"):
            if words[1].lstrip("-").isdigit():
                found[node] |= {words[0] + name: int(number) for name, number in zip(names, words[1:], strict=True)}
            names = words[1:]
        elif words[0] == "cpu":
            found[node] |= {"cpu:all": sum(map(int, words[1:])), "cpu:idle": int(words[4])}
    return found


# Of the sender (a) or the receiver (b) in the counted time.
COUNTERS = {
    "data_segments": ("a", "Tcp:OutSegs", "Tcp:RetransSegs"),
    "acknowledgements_segments": ("b", "Tcp:OutSegs"),
    "retransmitted_segments": ("a", "Tcp:RetransSegs"),
    "timeouts": ("a", "TcpExt:TCPTimeouts"),
    "tail_loss_probes": ("a", "TcpExt:TCPLossProbes"),
    "dsacks": ("a", "TcpExt:TCPDSACKRecv"),
    "spurious_timeouts": ("a", "TcpExt:TCPSpuriousRTOs"),
    "undos": ("a", "TcpExt:TCPFullUndo", "TcpExt:TCPPartialUndo", "TcpExt:TCPDSACKUndo", "TcpExt:TCPLossUndo"),
    "delayed_acks": ("b", "TcpExt:DelayedACKs"),
}


def counted(snapshots: list[dict[str, dict[str, int]]]) -> dict[str, Any]:
    """What the protocols counted between the last two snapshots."""
    before, after = snapshots[-2:]
    row: dict[str, Any] = {
        column: sum(after[node][name] - before[node][name] for name in names)
        for column, (node, *names) in COUNTERS.items()
    }
    whole, idle = (after["b"][key] - before["a"][key] for key in ("cpu:all", "cpu:idle"))
    row["idle_share"] = round(idle / whole, 3)
    return row


def evaluate(chosen: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
    """What a point's files say, over the measured time."""
    warm_up, end = chosen["warm_up_s"], chosen["seconds"]
    start = float(files["start"])

    def measured(report: dict[str, Any], late_s: float) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = report["intervals"]
        return [
            row
            for row in rows
            if row["sum"]["start"] > warm_up - late_s - 0.05 and row["sum"]["end"] < end - late_s + 0.05
        ]

    late = lateness(files)
    received = [measured(*one) for one in zip(reports(files, "server"), late, strict=True)]
    sent = [
        [stream for row in measured(*one) for stream in row["streams"]]
        for one in zip(reports(files, "client"), late, strict=True)
    ]
    goodputs = [
        sum(row["sum"]["bytes"] for row in rows) * 8e-6 / (rows[-1]["sum"]["end"] - rows[0]["sum"]["start"])
        for rows in received
    ]
    shares: dict[tuple[int, int], int] = {}
    for group, rows in enumerate(received):
        for row in rows:
            for stream in row["streams"]:
                socket = group, stream["socket"]
                shares[socket] = shares.get(socket, 0) + stream["bytes"]
    pings = [
        float(reply)
        for at, reply in re.findall(rb"\[([0-9.]+)\].*time=([0-9.]+) ms", files["ping"])
        if warm_up <= float(at) - start < end
    ]
    snapshots = []
    for line in files["counters"].decode().splitlines():
        at, documents = line.split(" ", 1)
        tested, length = json.JSONDecoder().raw_decode(documents)
        returned = next(qdisc["packets"] for qdisc in json.loads(documents[length:]) if qdisc.get("root"))
        # htb passes on what its child counts; the child is the discipline under test.
        snapshots.append((float(at), tested[-1], returned))
    (_, zero, _), (from_s, before, back_before), (to_s, after, back_after) = snapshots
    if after["kind"] != chosen["qdisc"].split(" ", 1)[0]:
        raise SystemExit(f"{after['kind']} was counted instead of {chosen['qdisc']}")
    row = {
        "goodput_mbit_s": round(sum(goodputs), 4),
        "jain_index": round(sum(shares.values()) ** 2 / (len(shares) * sum(v * v for v in shares.values())), 5),
        "ping_ms_mean": round(statistics.fmean(pings), 3),
        "ping_ms_sd": round(statistics.stdev(pings), 3),
        "ping_ms_min": min(pings),
        "ping_ms_max": max(pings),
        "pings": len(pings),
        "tcp_rtt_ms_mean": round(statistics.fmean(stream["rtt"] for group in sent for stream in group) / 1e3, 3),
        "retransmissions_segments": sum(stream["retransmits"] for group in sent for stream in group),
        "counted_s": round(to_s - from_s, 3),
        "sent_packets": after["packets"] - before["packets"],
        "drops_packets": after["drops"] - before["drops"],
        "returned_packets": back_after - back_before,
        "warm_up_drops_packets": before["drops"] - zero["drops"],
    }
    if "groups" in chosen:
        row |= {
            "marks_packets": marks(after) - marks(before),
            "warm_up_marks_packets": marks(before) - marks(zero),
            # In the order of the groups, with spaces between them.
            "goodput_mbit_s_by_group": " ".join(f"{value:.4f}" for value in goodputs),
            "tcp_rtt_ms_by_group": " ".join(
                f"{statistics.fmean(stream['rtt'] for stream in group) / 1e3:.3f}" for group in sent
            ),
        }
        text = files["protocols"].decode()
        # Both hosts at each of three times.
        parts = [part for part in re.split(r"(?=^at a )", text, flags=re.MULTILINE) if part]
        row |= counted([protocols(part) for part in parts])
    return row


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


SAMPLED = {
    "cwnd_packets": r" cwnd:(\d+)",
    "ssthresh_packets": r" ssthresh:(\d+)",
    "srtt_ms": r" rtt:([0-9.]+)/",
    "unacked_packets": r" unacked:(\d+)",
    "lost_packets": r" lost:(\d+)",
    "retransmitted_packets": r" retrans:\d+/(\d+)",
    "pacing_bit_s": r" pacing_rate (\d+)bps",
}


def samples(files: dict[str, bytes]) -> str:
    """Every sender's socket over time, as CSV; what ss does not show is left empty."""
    start = float(files["start"])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["t_s", "group", "port", *SAMPLED])
    at = 0.0
    for line in files["sockets"].decode().splitlines():
        if line.startswith("at "):
            at = float(line[3:]) - start
            continue
        ends = re.search(r" 10\.0\.1\.2:(\d+) +10\.0\.2\.(\d+):", line)
        acked = re.search(r" bytes_acked:(\d+)", line)
        # The control connection has acknowledged some hundred bytes.
        if ends and acked and int(acked[1]) > 5_000:
            found = [re.search(pattern, line) for pattern in SAMPLED.values()]
            values = [value[1] if value else "" for value in found]
            writer.writerow([f"{at:.3f}", int(ends[2]) - 3, ends[1], *values])
    return text.getvalue()
