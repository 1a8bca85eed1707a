"""Packet traces and decision logs agree with the report, read by an independent reader and by tshark."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import sojourn as sj
from shared import Command
from sojourn.plan import logs

SCENARIO = """
name = "traced"
duration = "4 s"
warm_up = "0 s"
seed = 3
[[nodes]]
name = "sender"
count = 2
[[nodes]]
name = "receiver"
count = 2
[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "fq_codel"
under_test = true
[[links]]
name = "access"
from = "sender"
to = "left"
rate = "100 Mbit/s"
delay = "1 ms"
[[links]]
name = "exit"
from = "right"
to = "receiver"
rate = "100 Mbit/s"
delay = "1 ms"
[[flows]]
name = "marked"
from = "sender"
to = "receiver"
transport = { kind = "tcp", handshake = true, ecn = true }
[[flows]]
name = "bulk"
from = "sender"
to = "receiver"
[[flows]]
name = "web"
from = "sender"
to = "receiver"
traffic = { kind = "transfer", size = "300 kB" }
transport = { kind = "tcp", handshake = true, timestamps = false }
[[flows]]
name = "voice"
from = "sender"
to = "receiver"
transport = { kind = "udp" }
traffic = { kind = "cbr", packet_size = "200 B", rate = "64 kbit/s" }
"""

QUEUE, BACK = "left->right", "right->left"


@dataclass
class Frame:
    """A packet as this file's own reader finds it."""

    at_ns: int
    length: int
    data: bytes
    words: dict[str, str]
    interface: str
    sack: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        ip = self.data[14:]
        assert (self.data[12:14], ip[0]) == (b"\x08\x00", 0x45)
        assert _sum(ip[:20]) == 0xFFFF, "the checksum of IPv4 is wrong"
        self.ip_bytes = int.from_bytes(ip[2:4], "big")
        assert self.length == 14 + self.ip_bytes
        self.ecn, self.protocol, self.number = ip[1] & 3, ip[9], int.from_bytes(ip[4:6], "big")
        rest = ip[20:]
        self.ports = struct.unpack(">HH", rest[:4])
        header = 8 if self.protocol == 17 else (rest[12] >> 4) * 4
        self.payload = self.ip_bytes - 20 - header
        pseudo = ip[12:20] + struct.pack(">HH", self.protocol, self.ip_bytes - 20)
        # The payload is zeros, so that what was cut off does not count.
        assert _sum(pseudo + rest[:header]) == 0xFFFF, "the checksum of TCP or UDP is wrong"
        if self.protocol == 6:
            self.seq, self.ack, _, self.flags, self.window = struct.unpack(">IIBBH", rest[4:16])
            self.options = dict(_options(rest[20:header]))
            blocks = self.options.get(5, b"")
            self.sack = [struct.unpack(">II", blocks[at : at + 8]) for at in range(0, len(blocks), 8)]


def _sum(content: bytes) -> int:
    total = sum(int.from_bytes(content[at : at + 2], "big") for at in range(0, len(content), 2))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return total


def _options(content: bytes) -> Iterator[tuple[int, bytes]]:
    while content:
        if content[0] in (0, 1):
            content = content[1:]
            continue
        yield content[0], content[2 : content[1]]
        content = content[content[1] :]


def read(file: Path) -> list[Frame]:
    """Read a pcapng file by the text of its format, without any of the code under test."""
    content, found, name = file.read_bytes(), [], ""
    while content:
        kind, length = struct.unpack("<II", content[:8])
        assert struct.unpack("<I", content[length - 4 : length]) == (length,)
        body, content = content[8 : length - 4], content[length:]
        if kind == 0x0A0D0D0A:
            assert body[:4] == struct.pack("<I", 0x1A2B3C4D)
        elif kind == 1:
            options = dict(_block_options(body[8:]))
            assert options[9] == b"\x09", "nanoseconds"
            name = options[2].decode()
        elif kind == 6:
            _, high, low, kept, original = struct.unpack("<IIIII", body[:20])
            options = dict(_block_options(body[20 + -(-kept // 4) * 4 :]))
            words = dict(word.split("=", 1) for word in options[1].decode().split())
            found.append(Frame((high << 32) + low, original, body[20 : 20 + kept], words, name))
    return found


def _block_options(content: bytes) -> Iterator[tuple[int, bytes]]:
    while content:
        code, length = struct.unpack("<HH", content[:4])
        if code == 0:
            return
        yield code, content[4 : 4 + length]
        content = content[4 + -(-length // 4) * 4 :]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[sj.Results, Path]:
    """Return results, and a folder with packets of all queues in ``p`` and decisions in ``d``."""
    place = tmp_path_factory.mktemp("traced")
    scenario = place / "traced.toml"
    scenario.write_text(SCENARIO)
    results = sj.run(
        scenario,
        series=None,
        pcapng=sj.PacketTraces(folder=place / "p", at=["all"], departures=True),
        decisions=place / "d",
    )
    return results, place


def queue(results: sj.Results, name: str = QUEUE) -> dict[str, Any]:
    frame = results.queues
    return dict(frame[frame["queue"] == name].iloc[0])


def test_a_trace_has_what_the_report_counts(traced: tuple[sj.Results, Path]) -> None:
    results, place = traced
    arrived = read(place / "p" / "left_to_right.pcapng")
    left = read(place / "p" / "left_to_right.departures.pcapng")
    own = queue(results)
    assert {frame.interface for frame in arrived} == {QUEUE}
    # Measured from the start, so the report counts every packet of the file that does not wait at the end.
    gone = [frame for frame in arrived if "waiting" not in frame.words]
    assert len(gone) == own["arrivals_packets"] > 1000
    assert sum("drop" in frame.words for frame in arrived) == own["drops_packets"] > 0
    marked = [frame for frame in gone if frame.words.get("mark") == "ce" and "drop" not in frame.words]
    assert len(marked) == own["marks_packets"] > 0
    # On arrival none has CE; what has it on departure was marked here.
    assert {frame.ecn for frame in arrived} == {0, 2}
    assert sum(frame.ecn == 3 for frame in left) == own["marks_packets"]
    waiting = sum("waiting" in frame.words for frame in arrived)
    assert len(arrived) == len(left) + own["drops_packets"] + waiting
    for frame in left:
        assert "drop" not in frame.words
    sojourn = [float(frame.words["sojourn_ms"]) for frame in left]
    assert sum(sojourn) / len(sojourn) == pytest.approx(own["sojourn_ms_mean"], abs=1e-6)
    # A departure is so much later than the arrival as its sojourn time says.
    at = {frame.words["packet"]: frame.at_ns for frame in arrived}
    for frame in left:
        assert frame.at_ns - at[frame.words["packet"]] == round(float(frame.words["sojourn_ms"]) * 1e6)
    assert [frame.at_ns for frame in arrived] == sorted(frame.at_ns for frame in arrived)


def test_flows_of_a_trace_are_those_of_the_report(traced: tuple[sj.Results, Path]) -> None:
    results, place = traced
    sent = [*read(place / "p" / "sender0_to_left.pcapng"), *read(place / "p" / "sender1_to_left.pcapng")]
    got = [frame for part in (0, 1) for frame in read(place / "p" / f"right_to_receiver{part}.departures.pcapng")]
    for row in results.flows.to_dict("records"):
        own = [frame for frame in sent if frame.words["flow"] == row["flow"]]
        data = [frame for frame in own if frame.payload]
        # SYN, bare acknowledgements and FIN without data count as sent segments, too.
        retransmissions = sum("retransmission" in frame.words for frame in own)
        assert retransmissions == (row["retransmissions_segments"] if row["transport"] == "tcp" else 0)
        there = [frame for frame in got if frame.words["flow"] == row["flow"] and frame.payload]
        # What is on the last link as the run ends has left and not been delivered: at most 1 ms of 100 Mbit/s.
        assert 0 <= len(there) - row["delivered_packets"] <= 9
        # A sequence number comes again exactly where a segment was sent again.
        if row["transport"] == "tcp":
            assert len(data) - len({frame.seq for frame in data}) == retransmissions
    assert sum("retransmission" in frame.words for frame in sent) > 10


def test_headers_are_those_of_the_sender(traced: tuple[sj.Results, Path]) -> None:
    _, place = traced
    there, back = read(place / "p" / "left_to_right.pcapng"), read(place / "p" / "right_to_left.pcapng")
    of = {
        name: [frame for frame in there if frame.words["flow"] == name] for name in ("marked[0]", "web[0]", "bulk[0]")
    }
    syn, final, data = of["marked[0]"][0], of["marked[0]"][1], of["marked[0]"][2]
    # SYN with ECE and CWR asks for ECN (RFC 3168, 6.1.1); MSS 1448 + 12; SACK permitted; window scale.
    assert (syn.flags, syn.seq, syn.payload) == (0x02 | 0x40 | 0x80, 0, 0)
    assert syn.options[2] == struct.pack(">H", 1460)
    assert {3, 4, 8} < syn.options.keys()
    assert (final.flags, final.seq, final.ack, final.payload) == (0x10, 1, 1, 0)
    assert (data.seq, data.payload, data.ip_bytes) == (1, 1448, 1500)
    # Without timestamps a segment of the same payload is 12 B shorter.
    assert next(frame for frame in of["web[0]"] if frame.payload == 1448).ip_bytes == 1488
    # The connection closes: FIN, answered by FIN, acknowledged behind both.
    fin = next(frame for frame in of["web[0]"] if frame.flags & 1)
    end = fin.seq + fin.payload + 1
    assert end == 300_000 + 2
    answer = [frame for frame in back if frame.words["flow"] == "web[0]" and frame.flags & 1]
    assert [(frame.seq, frame.ack) for frame in answer] == [(1, end)]
    assert (of["web[0]"][-1].seq, of["web[0]"][-1].ack) == (end, 2)
    # SACK blocks lie above what is acknowledged; CWR answers ECE.
    blocks = [(frame, left, right) for frame in back for left, right in frame.sack]
    assert len(blocks) > 10
    assert all(frame.ack < left < right for frame, left, right in blocks)
    assert any(frame.flags & 0x40 for frame in back if frame.words["flow"] == "marked[0]")
    assert any(frame.flags & 0x80 for frame in of["marked[0]"][1:])


def test_tshark_finds_what_the_report_says(traced: tuple[sj.Results, Path]) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    results, place = traced
    own = queue(results)

    def count(name: str, wanted: str) -> int:
        command = ["tshark", "-r", str(place / "p" / name), "-Y", wanted, "-T", "fields", "-e", "frame.number"]
        return len(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())

    arrived, left = "left_to_right.pcapng", "left_to_right.departures.pcapng"
    assert count(arrived, 'frame and not frame.comment contains "waiting"') == own["arrivals_packets"]
    assert count(arrived, 'frame.comment contains "drop="') == own["drops_packets"]
    assert count(left, "ip.dsfield.ecn == 3") == own["marks_packets"]
    # Data comes in the order of sending, so tshark finds a sequence number that goes back where a segment was sent
    # again: a retransmission, or within a round-trip time of the newest segment "out of order".
    again = "tcp.analysis.retransmission or tcp.analysis.out_of_order"
    flows = results.flows
    assert count(arrived, again) == flows["retransmissions_segments"].sum()
    assert count(arrived, again) == count(arrived, 'frame.comment contains "retransmission=yes"')
    # The link was busy for as long as what left takes at 10 Mbit/s, less what was left of the last packet at the end.
    length = ["-T", "fields", "-e", "ip.len"]
    sizes = subprocess.run(
        ["tshark", "-r", str(place / "p" / left), *length], check=True, capture_output=True, text=True
    )
    busy_bytes = own["utilisation"] * 4 * 10e6 / 8
    assert 0 <= sum(map(int, sizes.stdout.split())) - busy_bytes <= 1500
    # Each byte of the transfer of 300 kB once.
    web = ["-Y", 'frame.comment contains "flow=web[0]"', "-T", "fields", "-e", "tcp.seq", "-e", "tcp.len"]
    lines = subprocess.run(
        ["tshark", "-r", str(place / "p" / left), *web], check=True, capture_output=True, text=True
    )
    segments = dict(line.split("\t") for line in lines.stdout.splitlines())
    assert sum(map(int, segments.values())) == 300_000
    # The same blocks as the independent reader.
    back = place / "p" / "right_to_left.pcapng"
    asked = ["-o", "tcp.relative_sequence_numbers:FALSE", "-T", "fields", "-e", "tcp.options.sack_le"]
    command = ["tshark", "-r", str(back), "-Y", "tcp.options.sack_le", *asked, "-e", "tcp.options.sack_re"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    blocks = [frame.sack for frame in read(back) if frame.sack]
    assert [[edges.split(",") for edges in line.split("\t")] for line in found] == [
        [[str(edge) for edge in edges] for edges in zip(*of, strict=True)] for of in blocks
    ]
    assert len(blocks) > 10
    # No header is malformed, and every checksum that can be verified is right.
    assert count(arrived, "_ws.malformed or ip.checksum.status == 0") == 0


def test_decisions_are_rows_with_meanings(traced: tuple[sj.Results, Path]) -> None:
    results, place = traced
    table = pq.read_table(place / "d" / "left_to_right.parquet")
    assert table.schema.names == list(logs.COLUMNS)
    for one in table.schema:
        assert one.metadata[b"meaning"].decode() == logs.COLUMNS[one.name][1]
    own, frame = queue(results), table.to_pandas()
    counts = frame["event"].value_counts()
    assert counts["left"] + counts["dropped"] == own["arrivals_packets"] <= counts["arrived"]
    assert counts["dropped"] == own["drops_packets"]
    # None arrives with CE: what has it on departure was marked here.
    assert frame.loc[frame["event"] == "left", "ce"].sum() == own["marks_packets"] <= counts["marked"]
    assert (frame["reason"] == "early").sum() == own["drops_early_packets"]
    assert frame["time_ns"].is_monotonic_increasing
    at = {event: part.set_index("packet")["time_ns"] for event, part in frame.groupby("event", observed=True)}
    assert (at["left"] - at["arrived"]).mean() / 1e6 == pytest.approx(own["sojourn_ms_mean"], abs=1e-6)
    arrived = frame[frame["event"] == "arrived"]
    assert set(arrived["flow"].cat.remove_unused_categories().cat.categories) == set(results.flows["flow"])
    assert frame[frame["event"] != "arrived"]["bytes"].isna().all()
    # The packets of the trace, with the same numbers and instants.
    for packet in read(place / "p" / "left_to_right.pcapng")[::97]:
        assert at["arrived"][int(packet.words["packet"])] == packet.at_ns


def test_traces_change_no_result(traced: tuple[sj.Results, Path]) -> None:
    results, place = traced
    plain = sj.run(place / "traced.toml", series=None)
    # Queues that are computed without a trace are simulated with it, which takes more events.
    assert plain.flows.equals(results.flows)
    assert plain.queues[plain.queues["under_test"]].equals(results.queues[results.queues["under_test"]])
    assert plain.runs.drop(columns="events").equals(results.runs.drop(columns="events"))


def test_replications_have_folders_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO.replace("4 s", "1 s"))
    place = tmp_path / "p"
    sj.run(tmp_path / "two.toml", replicates=2, series=None, pcapng=place, decisions=tmp_path / "d")
    assert sorted(entry.name for entry in place.iterdir()) == ["meta.json", "replication-0", "replication-1"]
    assert json.loads((place / "replication-1" / "meta.json").read_text())["replication"] == 1
    assert (place / "replication-1" / "left_to_right.pcapng").stat().st_size > 1000
    # Traces of an earlier run are replaced when that is asked for, and only then.
    with pytest.raises(sj.SojournError, match="holds earlier results"):
        sj.run(tmp_path / "two.toml", series=None, pcapng=place)
    sj.run(tmp_path / "two.toml", series=None, pcapng=sj.PacketTraces(folder=place, force=True))
    assert sorted(entry.name for entry in place.iterdir()) == ["left_to_right.pcapng", "meta.json"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"pcapng": {"at": ["left->rigth"]}}, 'there is no queue "left->rigth".*left->right'),
        ({"pcapng": {"snaplen_bytes": 40}}, "snap length is 40 bytes; allowed: 94 to 262144"),
        ({"pcapng": {}, "decisions": {}}, "folders of their own"),
        ({"decisions": {"at": ["bottleneck"]}}, 'there is no queue "bottleneck"'),
    ],
)
def test_bad_traces_are_refused(tmp_path: Path, given: dict[str, Any], why: str) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    kinds = {"pcapng": sj.PacketTraces, "decisions": sj.DecisionLogs}
    asked = {name: kinds[name](folder=tmp_path / "p", **options) for name, options in given.items()}
    with pytest.raises(sj.SojournError, match=why):
        sj.run(tmp_path / "one.toml", series=None, **asked)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["one.toml"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--pcapng-at", "left->right"], "--pcapng-at needs a folder"),
        (["--pcapng-departures"], "--pcapng-departures needs a folder"),
        (["--decisions-at", "all"], "--decisions-at needs a folder"),
        (["--tc", "--pcapng", "p"], "--tc prints the state of queues"),
    ],
)
def test_options_that_mean_nothing_are_refused(command: Command, options: list[str], why: str) -> None:
    done = command("run", "dumbbell", *options)
    assert done.returncode == 2
    assert why in done.stderr
