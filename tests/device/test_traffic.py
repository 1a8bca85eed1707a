"""The kernel's own TCP, ping and raw frames through the device."""

from __future__ import annotations

import os
import signal
import statistics
import struct

import pytest
from packets import MakeLab, assert_conserved, capture, ethernet, goodput, udp, unfinished_syn

from sojourn.real.device.lab import LabError


@pytest.mark.parametrize("congestion", ["reno", "cubic", "bbr"])
def test_tcp_passes_within_the_shaped_rate(make_lab: MakeLab, back_end: dict[str, str], congestion: str) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(**back_end, scheme="fq_codel", rate="20 Mbit/s"))
    # Of a 1514 B frame 1448 B are payload: 20 Mbit/s carry 19.13 Mbit/s of goodput at most. iperf3 counts what was
    # delivered until its last data arrive, so that no less than that bound, and half of it on a busy machine.
    measured = goodput(lab.iperf(seconds=2, congestion=congestion))
    assert 9.5e6 < measured < 19.13e6 * 1.02
    assert_conserved(lab.settled())


def test_ping_takes_the_delay_of_both_delay_lines(make_lab: MakeLab, back_end: dict[str, str]) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(**back_end, scheme="codel", rate="1 Gbit/s", delay="10 ms", return_delay="15 ms"))
    for ipv6 in (False, True):
        rtts = lab.ping(count=5, interval_s=0.1, ipv6=ipv6)
        assert len(rtts) == 5
        # The delay lines are never shorter than asked; a busy machine adds to them.
        assert 25.0 <= min(rtts) < 35.0


def test_tcp_over_ipv6_and_from_several_clients(make_lab: MakeLab) -> None:
    lab = make_lab(clients=3)
    lab.start_device(lab.toml(scheme="fq_codel", rate="30 Mbit/s"))
    for client in lab.clients:
        assert goodput(lab.iperf(seconds=1, ipv6=True, client=client)) > 5e6
    status = lab.settled()
    classes = status["directions"][0]["classes"]
    assert sum(kind["arrived"] for kind in classes.values()) == status["ports"][0]["counters"]["received"]


def test_vlan_tags_arrive_as_they_were_sent(make_lab: MakeLab, back_end: dict[str, str]) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(**back_end, rate="1 Gbit/s"))
    # One tag of VLAN 7 with priority 5, and an outer 802.1ad tag of VLAN 9 before it.
    inner = struct.pack("!HH", 0x8100, 5 << 13 | 7)
    outer = struct.pack("!HH", 0x88A8, 9)
    captured = capture(lab, "server", seconds=3, count=2)
    sent = [udp(lab, 300, tag=inner), udp(lab, 300, tag=outer + inner)]
    lab.flood(sent, count=2, rate=100)
    assert captured() == sent


def test_jumbo_frames_pass_where_the_frames_of_the_pool_hold_them(make_lab: MakeLab) -> None:
    lab = make_lab(mtu=9000)
    lab.start_device(lab.toml(back_end="af_packet", frame="16384 B", rate="1 Gbit/s"))
    # 8972 B of data, 8 B of ICMP and 20 B of IP make 9000 B.
    assert len(lab.ping(count=3, data_bytes=8972)) == 3
    assert goodput(lab.iperf(seconds=1)) > 50e6
    status = lab.settled()
    assert status["ports"][0]["counters"]["oversize"] == 0
    assert_conserved(status)


def test_longer_frames_than_the_pool_holds_are_counted_and_others_pass(
    make_lab: MakeLab, back_end: dict[str, str]
) -> None:
    lab = make_lab(mtu=9000)
    lab.start_device(lab.toml(**(back_end | {"mode": "auto"} if "mode" in back_end else back_end), rate="1 Gbit/s"))
    assert lab.ping(count=3, data_bytes=8972) == []
    assert len(lab.ping(count=3)) == 3
    status = lab.settled()
    assert status["ports"][0]["counters"]["oversize"] == 3
    assert_conserved(status)


def test_malformed_and_runt_frames_are_counted_and_forwarded_as_a_bridge_would(
    make_lab: MakeLab, back_end: dict[str, str]
) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(**back_end, rate="1 Gbit/s"))
    good = udp(lab, 200)
    frames = [
        good,
        ethernet(lab, 0x0800, b""),  # no IP header at all: truncated
        ethernet(lab, 0x0800, bytes([0x41]) + bytes(39)),  # a header of 4 B: malformed
        ethernet(lab, 0x86DD, bytes([0x45]) + bytes(59)),  # IPv6 that says version 4: malformed
        good[:60],  # states 186 B and has 46: truncated
        ethernet(lab, 0x8100, b"\0"),  # ends within its tag: truncated
        ethernet(lab, 0x9999, os.urandom(100)),  # nobody's protocol: no fault
    ]
    before = lab.settled()
    lab.flood(frames, count=700, rate=20_000)
    after = lab.settled()
    received = after["ports"][0]["counters"]["received"] - before["ports"][0]["counters"]["received"]
    sent = after["ports"][1]["counters"]["sent"] - before["ports"][1]["counters"]["sent"]
    old, new = (x["directions"][0]["faults"] for x in (before, after))
    faults = {name: new[name] - old[name] for name in new}
    # Each of the seven a hundred times. Before a packet socket the kernel takes tags out, and drops what ends in one.
    swallowed = 100 if back_end["back_end"] == "af_packet" else 0
    assert faults == {"runt": 0, "truncated": 300 - swallowed, "malformed": 200}
    # Neighbour discovery of the end hosts adds a few.
    assert 700 - swallowed <= received < 750 - swallowed
    assert sent == received
    assert_conserved(after)


def test_a_udp_flood_is_dropped_in_the_queue_and_conserved(make_lab: MakeLab, back_end: dict[str, str]) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(**back_end, scheme="fq_codel limit 100p", rate="10 Mbit/s"))
    # 30,000 frames of 60 B within about a second are 14 Mbit/s, and the queue holds 100.
    assert lab.flood([udp(lab, 60, port=port) for port in range(1, 30)], count=30_000, rate=30_000)[0] == 30_000
    status = lab.settled()
    [dropped] = [status["directions"][0]["counts"]["dropped_overflow"]["packets"]]
    assert dropped > 1000
    assert_conserved(status)
    # A host that is late loses rate, never gains it: 10 Mbit/s carry 20,833 frames of 60 B a second.
    assert status["directions"][0]["counts"]["forwarded"]["packets"] < 30_000
    assert len(lab.ping(count=3)) == 3


def test_frames_that_wait_for_a_late_host_count_as_of_their_arrival(
    make_lab: MakeLab, back_end: dict[str, str]
) -> None:
    lab = make_lab()
    # 1514 B take 1.2 ms. Dated to their arrival, frames 10 ms apart never wait; all at once, only five find room.
    device = lab.start_device(lab.toml(**back_end, scheme="pfifo limit 4p", rate="10 Mbit/s"))
    before = lab.settled()["directions"][0]["counts"]
    device.send_signal(signal.SIGSTOP)
    try:
        lab.flood([udp(lab, 1514)], count=40, rate=100)
    finally:
        device.send_signal(signal.SIGCONT)
    after = lab.settled()["directions"][0]["counts"]
    arrived, dropped = (after[name]["packets"] - before[name]["packets"] for name in ("arrived", "dropped_overflow"))
    assert arrived >= 40
    # A busy machine may send several frames together.
    assert dropped <= 15


def test_unfinished_checksums_are_noticed_with_the_command_that_mends_them(
    make_lab: MakeLab, back_end: dict[str, str]
) -> None:
    lab = make_lab(offloads=True)
    lab.start_device(lab.toml(**back_end, rate="1 Gbit/s"))
    # The kernel leaves TCP's checksum to a card that is not there, so the connection is never established.
    with pytest.raises(LabError):
        lab.iperf(seconds=1)
    assert lab.settled()["ports"][0]["counters"]["checksum_unfinished"] > 0
    assert "ethtool -K" in lab.device_log()


@pytest.mark.parametrize("mode", ["native", "generic"])
def test_every_request_for_a_connection_is_looked_at_amid_other_frames(make_lab: MakeLab, mode: str) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(mode=mode, rate="1 Gbit/s"))
    # 20 frames a millisecond arrive as a burst, which a request seldom begins.
    lab.flood([*[udp(lab, 200)] * 7, unfinished_syn(lab)], count=800, rate=20_000)
    counters = lab.settled()["ports"][0]["counters"]
    assert counters["received"] >= 800
    assert counters["checksum_unfinished"] == 100


def test_a_queue_adds_little_to_an_idle_path(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(rate="1 Gbit/s", idle="spin"))
    # A stall of the forwarding, such as a sleep of a timer tick, would show as milliseconds in the median.
    assert statistics.median(lab.ping(count=20, interval_s=0.02)) < 5.0
