"""Interfaces with several receive queues: each is read, in its order, and none waits for another's flood."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from packets import MakeLab, assert_conserved, capture, ethernet, goodput, ipv4

import sojourn.real.device
from sojourn.real.device.lab import Lab

FLOOD = str(Path(sojourn.real.device.__file__).with_name("flood.py"))
#: Mask of every CPU.
ALL = (1 << max(os.sched_getaffinity(0)) + 1) - 1
#: Frames that one queue hands over before the next has its turn.
TURN = 32


def numbering(lab: Lab) -> Callable[[int, int], bytes]:
    """Return what makes UDP frames of 60 B from a port, with a number in them."""
    # Asking for the Ethernet addresses takes longer than all the frames do.
    start = ethernet(lab, 0x0800, ipv4(lab, 17, bytes(26)))[:34]
    return lambda port, number: start + struct.pack("!HHHHI", port, 9, 26, 0, number).ljust(26, b"\0")


def port_and_number(frame: bytes) -> tuple[int, int]:
    """Return what :func:`numbering` wrote into a frame."""
    port, _, _, _, number = struct.unpack("!HHHHI", frame[34:46])
    return port, number


def steer(lab: Lab, masks: dict[int, int]) -> None:
    """Have the client's CPUs in each mask transmit by a queue, which is the receive queue of ``port-a``."""
    for queue in range(4):
        path = f"/sys/class/net/eth0/queues/tx-{queue}/xps_cpus"
        lab.run("client", "sh", "-c", f"echo {masks.get(queue, 0):x} > {path}")


@pytest.mark.parametrize(("mode", "queues"), [("native", (4, 4)), ("generic", (4, 1)), ("native", (1, 3))])
def test_tcp_and_ping_pass_by_all_queues(make_lab: MakeLab, mode: str, queues: tuple[int, int]) -> None:
    lab = make_lab(queues=queues)
    lab.start_device(lab.toml(mode=mode, scheme="fq_codel", rate="20 Mbit/s"))
    said = [port["mode"] for port in lab.status()["ports"]]
    several = [f", {number} queues" if number > 1 else "" for number in queues]
    assert said == [f"af_xdp, {mode}, copy{number}" for number in several]
    assert len(lab.ping(count=3, interval_s=0.05)) == len(lab.ping(count=3, interval_s=0.05, ipv6=True)) == 3
    # 95.6 % of the rate is the most that 1448 B of data in a frame of 1514 B allow; a busy machine carries less.
    assert 0 < goodput(lab.iperf(seconds=1, flows=8)) < 20e6 * 0.956 * 1.02
    assert_conserved(lab.settled())


def test_a_named_queue_is_read_alone(make_lab: MakeLab) -> None:
    lab = make_lab(queues=(4, 1))
    # The client sends by queue 2 before there is a device, so that it is found.
    steer(lab, {2: ALL})
    lab.start_device(lab.toml(rate="1 Gbit/s").replace('interface = "port-a"', 'interface = "port-a"\nqueue = 2'))
    assert lab.status()["ports"][0]["mode"] == "af_xdp, native, copy"
    numbered = numbering(lab)
    end = numbered(40_100, 0)
    captured = capture(lab, "server", count=1000, seconds=60, last=end)
    for queue in (1, 2):
        steer(lab, {queue: ALL})
        lab.flood([numbered(40_000 + queue, n) for n in range(100)], count=100)
    lab.flood([end], count=1)
    assert [port_and_number(frame) for frame in captured()] == [(40_002, n) for n in range(100)]


def test_a_full_queue_keeps_its_order_and_lets_the_others_pass(make_lab: MakeLab) -> None:
    lab = make_lab(queues=(4, 4))
    device = lab.start_device(lab.toml(mode="native", scheme="pfifo limit 10000p", rate="10 Mbit/s"))
    numbered = numbering(lab)
    end = numbered(40_100, 0)
    captured = capture(lab, "server", count=10_000, seconds=60, last=end)
    # What arrives while the process is stopped waits in the rings of each queue: 2500 frames are more than those of
    # one take, 100 are fewer. Floods and trickles alternate: whichever queue is first, a greedy one would be seen.
    sent = [2500, 100, 2500, 100]
    device.send_signal(signal.SIGSTOP)
    for queue, count in enumerate(sent):
        steer(lab, {queue: ALL})
        # Of two flows, so that the order is that of the queue.
        lab.flood([numbered(40_000 + 2 * queue + n % 2, n) for n in range(count)], count=count)
    device.send_signal(signal.SIGCONT)
    after = lab.settled()
    lab.flood([end], count=1)
    arrived = [((port - 40_000) // 2, number) for port, number in map(port_and_number, captured())]
    passed = [[number for one, number in arrived if one == queue] for queue in range(4)]
    # A flood lost its end and nothing before, the others nothing; all in the order in which they came.
    assert passed == [list(range(len(numbers))) for numbers in passed]
    assert all(1000 <= len(numbers) < 2500 for numbers in passed[::2])
    assert [len(numbers) for numbers in passed[1::2]] == [100, 100]
    # The 100 frames are handed over in four turns, between which the floods have theirs.
    last = max(at for at, (queue, _) in enumerate(arrived) if sent[queue] == 100)
    assert sum(sent[queue] == 2500 for queue, _ in arrived[:last]) <= 2 * 5 * TURN
    assert after["ports"][0]["counters"]["received"] >= len(arrived)
    assert_conserved(after)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two CPUs send by two queues")
def test_a_flood_in_one_queue_takes_no_frame_of_another(make_lab: MakeLab) -> None:
    lab = make_lab(queues=(4, 4))
    # SFQ gives each of so few flows a queue of its own, and drops from the longest alone, however late the host is.
    lab.start_device(lab.toml(mode="native", scheme="sfq limit 1000p divisor 65536", rate="5 Mbit/s"))
    flooding, trickling = sorted(os.sched_getaffinity(0))[:2]
    steer(lab, {0: 1 << flooding, 3: 1 << trickling})
    numbered = numbering(lab)
    end = numbered(40_100, 0)
    captured = capture(lab, "server", count=100_000, seconds=60, last=end)
    text = lab.folder / "flood.txt"
    text.write_text("\n".join(numbered(40_000 + n, n).hex() for n in range(4)))
    program = f"taskset -c {flooding} {sys.executable} {FLOOD} eth0 --count 30000 < {text}"
    flood = lab.start("client", "sh", "-c", program, stdout=subprocess.DEVNULL)
    # Fewer than the rings of one queue take, and of fifty flows, so that the host may be as slow as it likes.
    frames = [numbered(40_010 + n % 50, n) for n in range(500)]
    lab.run(
        "client",
        "taskset",
        "-c",
        str(trickling),
        sys.executable,
        FLOOD,
        "eth0",
        "--rate",
        "2000",
        "--count",
        "500",
        stdin="\n".join(frame.hex() for frame in frames),
    )
    assert flood.wait(timeout=60) == 0
    after = lab.settled()
    lab.flood([end], count=1)
    arrived = [port_and_number(frame) for frame in captured()]
    for flow in range(50):
        numbers = [number for port, number in arrived if port == 40_010 + flow]
        assert numbers == list(range(flow, 500, 50))
    assert all(any(port == 40_000 + n for port, _ in arrived) for n in range(4))
    assert after["ports"][0]["counters"]["received"] > 500
    assert_conserved(after)
