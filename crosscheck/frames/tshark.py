#!/usr/bin/env python3
"""Compare the IP packets that Sojourn takes of captures with those that tshark sees, frame by frame.

The captures are the test captures of tcpdump and of Scapy, fetched from their public repositories at a fixed commit,
or those of the folders that are given. A frame agrees if neither program finds IP in it, or both find an IP packet of
the same length. Where tshark finds IP and Sojourn takes none, Sojourn must have said why, and that must be true:

* the link type, the EtherType or the protocol of PPP that it names is not one that it reads;
* the frame is truncated or malformed, which the lengths that tshark prints show.

Everything else is a disagreement. Exit status 1 with one, 77 where it cannot be tried: without tshark, git or
network.

    crosscheck/frames/tshark.py
    crosscheck/frames/tshark.py ~/captures
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = {
    "tcpdump": (
        "https://github.com/the-tcpdump-group/tcpdump",
        "39b50f76672bca4af7d7eb52604c5b692c6b6b2c",
        "tests",
    ),
    "scapy": ("https://github.com/secdev/scapy", "ac38b273405b038104df096fe941878937da87cd", "test"),
}
"""Repository, commit and folder of the captures."""
ENDINGS: Final = (".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz")
FIELDS: Final = (
    *("frame.protocols", "frame.len", "frame.cap_len", "ip.len", "ip.hdr_len", "ip.version"),
    *("ipv6.plen", "ipv6.version", "ipv6.opt.jumbo", "_ws.malformed"),
)
UNTRIED: Final = 77

OVER: Final = {
    *(
        "eth",
        "ethertype",
        "vlan",
        "ieee8021ad",
        "llc",
        "pppoes",
        "ppp",
        "mpls",
        "sll",
        "null",
        "raw",
        "frame",
        "data",
    ),
}
"""Layers that Sojourn steps over, by tshark's names."""
_LEAST: Final = 46
"""Bytes of the least payload of Ethernet."""


def main() -> int:
    """Fetch, compare, print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "folder", nargs="*", type=Path, help="folders of captures, in place of those that are fetched"
    )
    parser.add_argument("--ours", type=Path, help="the example `packets` of sojourn-capture; by default it is built")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes of tshark at a time")
    options = parser.parse_args()
    missing = [name for name in ("tshark", "git") if shutil.which(name) is None]
    if missing:
        return untried(f"{' and '.join(missing)} not found")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        folders = options.folder or [fetched(scratch / source, *where) for source, where in SOURCES.items()]
        if None in folders:
            return untried("the captures cannot be fetched: no network")
        files = [file for folder in folders for file in captures(folder, scratch)]
        if not files:
            print("there is no capture", file=sys.stderr)
            return 2
        ours = read_ours(options.ours or built(), files)
        with ThreadPoolExecutor(options.jobs) as pool:
            found = list(pool.map(compare, files, ours))
    return told(found)


def untried(why: str) -> int:
    """Say why nothing was compared."""
    print(f"not tried: {why}", file=sys.stderr)
    return UNTRIED


def fetched(place: Path, repository: str, commit: str, folder: str) -> Path | None:
    """Return a folder of a repository at a commit; nothing else of it is fetched."""
    git = ["git", "-C", str(place), "-c", "advice.detachedHead=false"]
    place.mkdir()
    for command in (
        ["init", "--quiet"],
        ["sparse-checkout", "set", folder],
        ["fetch", "--quiet", "--depth=1", "--filter=blob:none", repository, commit],
        ["remote", "add", "origin", repository],
        ["checkout", "--quiet", "FETCH_HEAD"],
    ):
        if subprocess.run([*git, *command], check=False, stdin=subprocess.DEVNULL).returncode:
            return None
    return place / folder


def captures(folder: Path, scratch: Path) -> Iterator[Path]:
    """Yield the captures of a folder; what is compressed is unpacked first."""
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or not file.name.endswith(ENDINGS):
            continue
        if file.suffix == ".gz":
            plain = Path(tempfile.mkdtemp(dir=scratch)) / file.stem
            with gzip.open(file) as packed:
                plain.write_bytes(packed.read())
            yield plain
        else:
            yield file


def built() -> Path:
    """Build the program that prints what Sojourn takes."""
    command = ["cargo", "build", "--locked", "--quiet", "--release", "-p", "sojourn-capture", "--example", "packets"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "packets"


@dataclass
class Ours:
    """What Sojourn says of a file."""

    frames: list[str] = field(default_factory=list)
    account: str = ""
    error: str = ""


def read_ours(program: Path, files: Sequence[Path]) -> list[Ours]:
    """Return what Sojourn says of each file."""
    output = subprocess.run([program, *files], check=True, stdout=subprocess.PIPE, text=True).stdout
    found: list[Ours] = []
    for line in output.splitlines():
        kind, _, rest = line.partition(" ")
        match kind:
            case "file":
                found.append(Ours())
            case "account":
                found[-1].account = rest
            case "error":
                found[-1].error = rest
            case _:
                found[-1].frames.append(line)
    return found


@dataclass
class Compared:
    """A file: packets and bytes of IP on either side, reasons, disagreements."""

    file: Path
    tshark: tuple[int, int] = (0, 0)
    ours: tuple[int, int] = (0, 0)
    skipped: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    refused: str = ""
    unread: bool = False


def compare(file: Path, ours: Ours) -> Compared:
    """Compare one file frame by frame, and the account with the frames."""
    found = Compared(file, refused=ours.error)
    rows = list(read_tshark(file))
    found.tshark = total(length for row in rows if (length := ip_length(row)) is not None)
    found.ours = total(int(line.split()[1]) for line in ours.frames if line.startswith("taken"))
    if not ours.error:
        frames, taken, ip_bytes, _ = ours.account.split()
        if (int(frames), int(taken), int(ip_bytes)) != (len(ours.frames), *found.ours):
            found.wrong.append(f"the account says {ours.account}, its frames {len(ours.frames)} and {found.ours}")
        if not rows and not found.ours[0]:
            # A link type that tshark has no name for, or a damaged file: it reads nothing of it.
            found.unread = bool(ours.frames)
        elif len(rows) != len(ours.frames):
            found.wrong.append(f"tshark has {len(rows)} frames, Sojourn {len(ours.frames)}")
    for number, (row, line) in enumerate(zip(rows, ours.frames, strict=False), 1):
        what, _, rest = line.partition(" ")
        length = ip_length(row)
        if what == "taken" and length != int(rest):
            found.wrong.append(f"frame {number} ({row['frame.protocols']}): {rest} B here, {length} in tshark")
        elif what == "skipped" and length is not None:
            found.skipped[rest] += 1
            if not is_true(rest, row, length):
                found.wrong.append(f"frame {number} ({row['frame.protocols']}): {rest} here, {length} B in tshark")
    return found


def total(lengths: Iterator[int]) -> tuple[int, int]:
    """Return how many there are, and their sum."""
    every = list(lengths)
    return len(every), sum(every)


def read_tshark(file: Path) -> Iterator[dict[str, str]]:
    """Yield the fields of each frame, of the outermost header where there are several."""
    command = ["tshark", "-n", "-r", str(file), "-T", "fields", "-E", "header=y", "-E", "occurrence=f"]
    command += [part for name in FIELDS for part in ("-e", name)]
    # Its exit status is 2 also where a file ends within a frame, behind those that are whole.
    output = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    yield from csv.DictReader(output.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)


def ip_length(row: dict[str, str]) -> int | None:
    """Return the length of the outermost IP packet, None without one.

    tshark takes the frame's length where the length of IPv4 is 0. It prints a payload of 0 of IPv6 as it is, so this
    function does the same for IPv6 whose segment of TCP or UDP is longer than padding.
    """
    layers = row["frame.protocols"].split(":")
    outer = next((name for name in layers if name in {"ip", "ipv6"}), None)
    if outer == "ip":
        return int(row["ip.len"]) if row["ip.len"] else None
    if outer != "ipv6" or not row["ipv6.plen"]:
        return None
    place = layers.index("ipv6")
    room = int(row["frame.len"]) - outside(set(layers[:place]))
    payload = int(row["ipv6.opt.jumbo"] or row["ipv6.plen"])
    if payload == 0 and layers[place + 1 : place + 2] in (["tcp"], ["udp"]) and room > _LEAST:
        return room
    return 40 + payload


def is_true(reason: str, row: dict[str, str], length: int) -> bool:
    """Tell whether a reason for which Sojourn skips a packet that tshark sees holds."""
    layers = row["frame.protocols"].split(":")
    before = set(layers[: min(layers.index(name) for name in ("ip", "ipv6") if name in layers)])
    if reason.startswith(("link_type", "ether_type", "ppp_protocol", "address_family")) or reason in {
        "llc",
        "nested",
    }:
        return bool(before - OVER) or "llc" in before or reason == "nested"
    header = 40 if "ipv6" in layers and not row["ip.len"] else 20
    return {
        "truncated": length > int(row["frame.len"]) - outside(before) or int(row["frame.cap_len"]) < 14 + header,
        "malformed": bool(row["_ws.malformed"]) or int(row["ip.hdr_len"] or 20) < 20 or length < header,
        "time": True,
        "no_time": True,
    }.get(reason, False)


def outside(before: set[str]) -> int:
    """Return bytes that these layers take at least."""
    return {"eth": 14, "sll": 16, "null": 4, "ppp": 1}.get(next(iter(before & {"eth", "sll", "null", "ppp"}), ""), 0)


def told(found: Sequence[Compared]) -> int:
    """Print the outcome, and return the exit status."""
    skipped: Counter[str] = Counter()
    for one in found:
        skipped += one.skipped
        for wrong in one.wrong:
            print(f"{one.file}: {wrong}")
        if one.refused:
            print(f"{one.file}: refused, {one.refused}; tshark sees {one.tshark[0]} IP packets")
    with_ip = [one for one in found if one.tshark[0] or one.ours[0]]
    equal = sum(one.tshark == one.ours and not one.wrong for one in with_ip)
    said = sum(one.tshark != one.ours and not one.wrong for one in with_ip)
    wrong = sum(bool(one.wrong) for one in found)
    print("skipped where tshark sees IP, by reason: " + ", ".join(f"{why} {n}" for why, n in skipped.most_common()))
    packets, size = (sum(one.ours[place] for one in found) for place in (0, 1))
    print(
        f"{len(found)} files, {len(with_ip)} with IP: {equal} agree in packets and bytes, {said} say what was "
        f"skipped, {wrong} disagree; {packets} IP packets of {size} B taken; tshark reads nothing of "
        f"{sum(one.unread for one in found)}, of which Sojourn takes no IP packet either"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
