"""L4S from end to end: Accurate ECN on the wire, the two queues of DualPI2, and a single queue of RFC 3168."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import sojourn as sj
from test_traces import Frame, read

DOCS = Path(__file__).parents[2] / "docs"
SHORT = ("duration=20 s", "warm_up=5 s")
PRAGUE = "flows.l4s.transport.congestion_control=prague"

SCENARIO = """
name = "accurate"
duration = "3 s"
[[nodes]]
name = "sender"
[[nodes]]
name = "receiver"
[[links]]
name = "bottleneck"
from = "sender"
to = "receiver"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "dualpi2"
under_test = true
[[flows]]
name = "l4s"
from = "sender"
to = "receiver"
transport = { congestion_control = "prague", ecn = true, ect = 1 }
"""

AE, CWR, ECE = 0x100, 0x80, 0x40


def flags(frame: Frame) -> int:
    """Of TCP, AE included, which is the last bit of the byte before."""
    return int.from_bytes(frame.data[46:48], "big") & 0x1FF


def test_accurate_ecn_on_the_wire(tmp_path: Path) -> None:
    """RFC 9768: the SYN, its answer, the ACE field and the option, read by this file's own rules and by tshark."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    traces = sj.PacketTraces(folder=tmp_path / "p", at=["all"], departures=True)
    sj.run(tmp_path / "s.toml", series=None, pcapng=traces)
    names = ("sender_to_receiver", "receiver_to_sender", "sender_to_receiver.departures")
    there, back, got = (read(tmp_path / "p" / f"{name}.pcapng") for name in names)
    # Table 2: 111 asks; 010 says that the SYN was not ECN-capable, and the third packet says the same of the SYN-ACK.
    assert flags(there[0]) == 0x02 | AE | CWR | ECE
    assert flags(back[0]) == 0x12 | CWR
    assert flags(there[1]) == 0x10 | CWR
    # A side that receives no marked data counts 5, 101.
    assert {flags(frame) for frame in there[2:]} == {0x10 | AE | ECE}
    # ACE is 5 and the marked packets received, modulo 8. Kind 174 has EE1B, which starts from 1, and then ECEB.
    marks, seen, at, options = 0, 0, 0, 0
    for ack in back[1:]:
        # Everything that arrived 10 ms and the transmission time before it.
        while at < len(got) and got[at].at_ns + 10_000_000 + round(got[at].ip_bytes * 800) <= ack.at_ns:
            marks += got[at].ecn == 3
            seen += got[at].payload
            at += 1
        ace = (flags(ack) & (AE | CWR | ECE)) >> 6
        assert ace == (5 + marks) % 8
        option = ack.options[174]
        assert len(option) == 6
        assert int.from_bytes(option[3:], "big") == marks * 1448
        assert int.from_bytes(option[:3], "big") == seen - marks * 1448 + 1
        options += 1
    assert marks > 20
    assert options > 500
    # With timestamps and no SACK block: 20 + 20 + 12 + 8.
    assert {frame.ip_bytes for frame in back[1:]} == {60}
    if shutil.which("tshark"):
        command = ["tshark", "-r", str(tmp_path / "p" / "receiver_to_sender.pcapng"), "-Y", "tcp.option_kind == 174"]
        command += ["-T", "fields", "-e", "frame.number"]
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        assert len(found.stdout.split()) == options


def test_the_queues_of_dualpi2_are_columns() -> None:
    results = sj.compare(sj.load(DOCS / "l4s.toml", sets=SHORT), ["dualpi2", "codel"], replicates=1, seed=1)
    runs = results.runs.set_index("scheme")
    own = runs.loc["dualpi2"]
    assert own["l4s_sojourn_ms_p99"] < 1.3
    assert 12 < own["classic_sojourn_ms_mean"] < 17
    assert own["l4s_packets"] + own["classic_packets"] == pytest.approx(own["arrivals_packets"], abs=100)
    # k = 2, from which the variation of p' takes a little.
    assert 1.4 < own["coupling_ratio"] < 2.2
    assert runs.loc["codel"][["l4s_packets", "coupling_ratio", "classic_sojourn_ms_p99"]].isna().all()


def test_an_l4s_flow_takes_a_single_queue_that_marks_unless_its_feedback_is_refused() -> None:
    ratios = {}
    for name, sets in (("accurate", ()), ("refused", ("flows.l4s.transport.accecn_accept=false",))):
        scenario = sj.load(DOCS / "l4s.toml", sets=[*SHORT, PRAGUE, "flows.classic.transport.ecn=true", *sets])
        groups = sj.compare(scenario, ["codel ecn"], replicates=1, seed=1).groups.set_index("group")
        ratios[name] = groups.loc["l4s", "goodput_bit_s"] / groups.loc["classic", "goodput_bit_s"]
    # Windows of about 2/p and 1.3/sqrt(p) are 1.5/sqrt(p) apart: 9 at p = 3 %. As Reno beside CUBIC they share.
    assert ratios["accurate"] > 6
    assert 0.5 < ratios["refused"] < 2


def test_bad_values_are_one_clear_error() -> None:
    for wrong, wanted in (
        ("flows.l4s.transport.ecn_feedback=acecn", "accecn"),
        ("flows.l4s.transport.congestion_control=bbr4", "bbr3"),
        ("flows.l4s.transport.accecn_option=maybe", "accecn_option"),
    ):
        with pytest.raises(sj.SojournError, match=wanted):
            sj.load(DOCS / "l4s.toml", sets=[wrong])
    with pytest.raises(sj.SojournError, match="nqb"):
        sj.compare(sj.load(DOCS / "l4s.toml", sets=SHORT), ["dualpi2 nqb EG"], replicates=1)
