"""Traces of rates: reading, looking, making, and Mahimahi's rules packet by packet beside an independent reading."""

from __future__ import annotations

import json
import random
import struct
from collections import deque
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sojourn as sj
from shared import Command
from sojourn.base import core
from sojourn.view import trace


def mahimahi(times_ms: list[int], packets: list[tuple[int, int]]) -> list[int]:
    """When each packet (arrival in ns, bytes of IP) is out, by the rules of mm-link(1), apart from Sojourn's code."""
    waiting = deque(sorted(enumerate(packets), key=lambda one: one[1][0]))
    out = [0] * len(packets)
    left = 0  # bytes of the packet in transit that are still to be sent
    number = 0
    period = times_ms[-1]
    while waiting:
        cycle, place = divmod(number, len(times_ms))
        now = (cycle * period + times_ms[place]) * 1_000_000
        number += 1
        budget = 1500
        while budget and waiting:
            index, (arrival, size) = waiting[0]
            # What arrives at the instant of an opportunity comes after it.
            if left == 0 and arrival >= now:
                break
            left = left or size
            sent = min(left, budget)
            budget, left = budget - sent, left - sent
            if left == 0:
                out[index] = now
                waiting.popleft()
    return out


@pytest.mark.parametrize("name", ["sparse", "bursts", "lte"])
def test_every_packet_leaves_when_an_independent_reading_of_mahimahis_rules_says(name: str, tmp_path: Path) -> None:
    draws = random.Random(name)  # noqa: S311 - no secret
    times = {
        "sparse": [7, 7, 20, 31],
        # Several opportunities of one millisecond, one at 0, and a gap.
        "bursts": [0, 0, 3, 3, 3, 3, 4, 9, 60, 60, 61],
        "lte": [int(line) for line in trace.read("lte").text.split()][:900],
    }[name]
    (tmp_path / "cell.trace").write_text("".join(f"{at}\n" for at in times))
    # 300 packets of 40, 576 and 1500 B in 3 s, in bursts, some at the very instant of an opportunity.
    packets = []
    for _ in range(60):
        start = draws.randrange(3_000) * 1_000_000 + draws.choice([0, 0, draws.randrange(1_000_000)])
        packets += [(start + k * draws.choice([1_000, 300_000]), draws.choice([40, 576, 1500])) for k in range(5)]
    packets = sorted(dict(packets).items())
    net = sj.Network(name="cell", duration=sj.s(60)).link(
        name="l", from_="a", to="b", trace=str(tmp_path / "cell.trace"), delay=sj.ms(7), queue="pfifo limit 1000p"
    )
    for number, (arrival, size) in enumerate(packets):
        # One packet of a constant bit rate: with its bits in a second, it comes one second after its start.
        net = net.flow(
            name=f"p{number}",
            from_="a",
            to="b",
            start=sj.ns(arrival),
            stop=sj.ns(arrival + 1_500_000_000),
            traffic=sj.cbr(rate=sj.bit_s(8 * size), packet_size=sj.bytes_(size)),
            transport=sj.udp(header=sj.bytes_(0)),
        )
    flows = sj.run(net, series=None).flows
    assert (flows["sent_packets"] == 1).all()
    sent = np.rint(flows["flow_start_s"] * 1e9).astype(np.int64)
    gap = int(sent[0]) - packets[0][0]
    arrived = sent + np.rint(flows["one_way_delay_ms_mean"] * 1e6).astype(np.int64) - 7_000_000
    expected = mahimahi(times, [(arrival + gap, size) for arrival, size in packets])
    assert arrived.tolist() == expected


def test_a_minute_of_lte_packet_by_packet(tmp_path: Path) -> None:
    # The whole trace, half a period more, and an offered load about as large as what it carries: 40, 576 and 1500 B.
    draws = random.Random("minute")  # noqa: S311 - no secret
    times = [int(line) for line in trace.read("lte").text.split()]
    arrivals = sorted(draws.uniform(0, 90) for _ in range(45_000))
    sent = np.array([(at, draws.choice([40, 576, 1500])) for at in arrivals])
    net = (
        sj.Network(name="minute", duration=sj.s(110))
        .link(
            name="cell", from_="a", to="b", trace="lte", delay=sj.ms(7), queue="pfifo limit 100000p", under_test=True
        )
        .link(name="fast", from_="b", to="c", rate=sj.mbit_s(10_000), delay=sj.ms(0))
        .flow(name="mix", from_="a", to="c", traffic=sj.source(sent), transport=sj.udp(header=sj.bytes_(0)))
    )
    sj.run(net, series=None, decisions=sj.DecisionLogs(folder=tmp_path / "d", at=["a->b", "b->c"]))

    def arrived(file: str) -> pd.DataFrame:
        frame = pd.read_parquet(tmp_path / "d" / file)
        return frame[frame["event"] == "arrived"]

    came, left = arrived("a_to_b.parquet"), arrived("b_to_c.parquet")
    packets = list(zip(came["time_ns"].tolist(), came["bytes"].astype(int).tolist(), strict=True))
    expected = [at + 7_000_000 for at in mahimahi(times, packets)]
    assert len(left) == len(packets) == 45_000
    assert left["time_ns"].tolist() == expected


def test_a_trace_tells_its_length_mean_quantiles_and_longest_gap() -> None:
    # 1500 B at 10, 20, 50 and 100 ms, again and again: 4 * 12,000 bits in 0.1 s. The gap over the end is 10 ms.
    found = trace.Trace("small", "10\n20\n50\n100\n")
    assert (found.length_s, found.mean_bit_s, found.kind) == (0.1, 480_000.0, "opportunities")
    assert found.longest_gap_s == pytest.approx(0.05)
    assert found.rate_bit_s(0.05).tolist() == [720_000.0, 240_000.0]
    # 1 Mbit/s for 1 s, nothing for 0.25 s, 2 Mbit/s for as long.
    table = trace.Trace("table", "time_s,rate_mbit_s\n0,1\n1,0\n1.25,2\n")
    assert (table.length_s, table.longest_gap_s) == (1.5, pytest.approx(0.25))
    assert table.mean_bit_s == pytest.approx((1 + 0.5) / 1.5 * 1e6, abs=1)


def test_long_traces_keep_their_resolution_and_a_byte_order_mark_is_no_column(tmp_path: Path) -> None:
    # 3 ms without a rate after 6,000 s. The last rate holds for 997 ms, as the one before it.
    table = tmp_path / "gap.csv"
    table.write_text("time_s,rate_mbit_s\n0,5\n6000,0\n6000.003,5\n6001,5\n", encoding="utf-8-sig")
    found = trace.summary(table)
    assert (found.length_s, found.longest_gap_s, found.rate_bit_s.size) == (6001.997, 0.003, 60_019)
    read = trace.read(table)
    assert (read.longest_gap_s, read.length_s, read.rate_bit_s().tolist()) == (
        *(found.longest_gap_s, found.length_s),
        found.rate_bit_s.tolist(),
    )
    with pytest.raises(sj.SojournError, match=r"gap.csv: has .* windows of 1 ns; allowed: up to 10000000"):
        trace.summary(table, window_s=1e-9)


def test_the_command_sums_up_captures(command: Command, tmp_path: Path) -> None:
    # 1,000 B of IPv4 at 2 s, 0 s and 3 s, one spanning tree, and a frame that is cut.
    packet = bytes(12) + b"\x08\x00\x45\x00" + struct.pack(">H", 1000) + bytes(996)
    tree = bytes(12) + b"\x00\x26\x42\x42\x03" + bytes(43)
    frames = [(2, packet), (0, packet), (3, packet), (3, tree), (4, packet)]
    records = [struct.pack("<IIII", at, 0, len(frame), len(frame)) + frame for at, frame in frames]
    file = tmp_path / "call.pcap"
    file.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records)[:-1])
    found = json.loads(command("trace", str(file), "--json", "--window", "1s").stdout)
    account = {"frames": 4, "taken": 3, "ip_bytes": 3000, "skipped": {"llc": 1}, "out_of_order": 1, "cut": True}
    assert found["account"] == account
    # 24,000 bits in 3 s; from 0 s to 2 s nothing.
    assert (found["duration_s"], found["rate_bit_s_mean"], found["longest_gap_s"]) == (3.0, 8000.0, 2.0)
    shown = command("trace", str(file)).stdout
    assert "IP packets taken                 3, 3,000 B" in shown
    assert "skipped                          1 (llc 1)" in shown
    assert "in the middle of a frame" in shown


def test_shipped_traces_are_what_the_makers_make() -> None:
    assert set(core.shipped_traces()) == {"lte", "starlink"}
    assert trace.read("lte").text == trace.lte().text
    assert trace.read("starlink").text == trace.starlink().text
    assert trace.lte(seed=2).text != trace.lte().text
    assert all(file.stat().st_size < 100_000 for file in core.shipped_traces().values())
    # Sprout's peak: twice as high, and a mean between a third and two thirds of it, less the outages.
    assert 3e6 < trace.lte(duration=sj.s(300), peak="12 Mbit/s").mean_bit_s < 9e6
    assert 55e6 < trace.starlink(duration=sj.s(600)).mean_bit_s < 130e6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("0\n0\n", "has delivery opportunities at 0 only"),
        ("1\n5\n4\n", "line 3: is 4, after 5; allowed: times that never fall"),
        ("time_s,rate_mbit_s\n0,1\n1,-2\n", 'line 3: the rate is "-2"; allowed: a number of at least 0'),
        ("time_s,rate\n0,1\n", "line 1: names the columns time_s, rate"),
    ],
)
def test_a_bad_trace_is_one_error_with_its_line(text: str, expected: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.trace").write_text(text)
    (tmp_path / "cell.toml").write_text(
        'name = "x"\nduration = "1 s"\n[[links]]\nname = "l"\nfrom = "a"\nto = "b"\ndelay = "1 ms"\n'
        'trace = { file = "bad.trace" }\n[[flows]]\nname = "f"\nfrom = "a"\nto = "b"\n'
    )
    done = command("run", str(tmp_path / "cell.toml"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "key `links[0].trace.file`: bad.trace: " in done.stderr
    assert expected in done.stderr
    done = command("trace", str(tmp_path / "bad.trace"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sojourn: bad.trace: ")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_looks_at_a_trace_draws_it_and_makes_one(command: Command, tmp_path: Path) -> None:
    done = command("trace", "lte", "--out", str(tmp_path / "lte.svg"))
    assert done.returncode == 0
    assert "duration" in done.stdout
    assert "60 s" in done.stdout
    assert "longest time between opportunities" in done.stdout
    assert (tmp_path / "lte.svg").read_text().startswith("<?xml")
    done = command("trace", "--make", "lte", "--duration", "2s", "--seed", "5")
    assert (done.returncode, done.stdout) == (0, trace.lte(duration="2 s", seed=5).text)
    done = command("trace")
    assert done.returncode == 2
    assert "allowed: a FILE to look at, or --make" in done.stderr
    done = command("trace", "no-such")
    assert done.returncode == 2
    assert "there is no file 'no-such'; allowed: a file, or a trace of lte, starlink" in done.stderr


def test_a_folder_with_its_name_does_not_hide_a_shipped_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lte").mkdir()
    monkeypatch.chdir(tmp_path)
    assert sj.load("lte").to_dict()["links"][0]["trace"]["name"] == "lte"


def test_the_content_of_a_trace_is_in_the_canonical_scenario(tmp_path: Path) -> None:
    net = sj.load("lte")
    table = net.to_dict()["links"][0]["trace"]
    assert table["name"] == "lte"
    assert "file" not in table
    # As results keep it, far from the file.
    assert net.canonical() == net.to_dict()
    other = sj.load("lte", sets=["links.cell.trace.file=starlink"])
    assert "rates" in other.to_dict()["links"][0]["trace"]
