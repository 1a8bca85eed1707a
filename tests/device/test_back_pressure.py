"""A way out that is slow or down: packets wait in the scheme's queue, and each is counted once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from packets import MakeLab, assert_conserved, udp

from sojourn.real.device.lab import Lab, LabError


def flood(lab: Lab, *, rate: float, seconds: float, frame_bytes: int = 1000) -> Callable[[], None]:
    """Begin to send frames to the server; the result waits for the end."""
    frames = [udp(lab, frame_bytes, port=port) for port in range(1, 9)]
    thread = threading.Thread(target=lab.flood, args=(frames,), kwargs={"count": int(rate * seconds), "rate": rate})
    thread.start()
    return thread.join


def wait_for(lab: Lab, what: Callable[[dict[str, Any]], bool], *, limit_s: float = 20.0) -> dict[str, Any]:
    """Return the first status of which something is true."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        status = lab.status()
        if what(status):
            return status
        time.sleep(0.05)
    raise LabError(f"nothing of the kind in {limit_s:g} s: {status}")


def dropped(status: dict[str, Any]) -> int:
    """Return what the scheme dropped from A to B."""
    return int(status["directions"][0]["counts"]["dropped_overflow"]["packets"])


@pytest.mark.parametrize("back_end", ["af_xdp", "af_packet"])
def test_behind_a_slow_interface_the_scheme_drops_and_nothing_else_waits(make_lab: MakeLab, back_end: str) -> None:
    lab = make_lab()
    # An interface that gives back pressure: its frames pass the kernel's token bucket of the one below.
    lab.run("device", "ip", "link", "add", "link", "port-b", "name", "slow-b", "type", "macvlan", "mode", "passthru")
    lab.run("device", "ip", "link", "set", "slow-b", "up")
    tbf = ["tbf", "rate", "10mbit", "burst", "5kb", "limit", "10mb"]
    lab.run("device", "tc", "qdisc", "add", "dev", "port-b", "root", *tbf)
    toml = lab.toml(back_end=back_end, scheme="pfifo limit 50p", rate="100 Mbit/s")
    lab.start_device(toml.replace('"port-b"', '"slow-b"'))
    # 24 Mbit/s: 1750 frames a second too many.
    finish = flood(lab, rate=3000, seconds=4)
    status = wait_for(lab, lambda status: dropped(status) > 2000)
    way, port = status["directions"][0], status["ports"][1]["counters"]
    finish()
    assert way["ready"] + port["leaving"] <= 40
    # 50 frames of 1000 B at 10 Mbit/s are 40 ms, and at the set rate 4 ms.
    assert way["sojourn"]["p50_s"] > 0.02
    assert way["blocked_s"] > 0
    assert way["stale"] == 0
    status = lab.settled()
    assert_conserved(status)
    assert len(lab.ping(count=2)) == 2


def test_frames_for_a_link_that_is_down_are_no_sent_frames(make_lab: MakeLab, back_end: dict[str, str]) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(**back_end, scheme="pfifo limit 50p", rate="100 Mbit/s"))
    before, arrived = lab.settled(), lab.counters("server")["rx_packets"]
    finish = flood(lab, rate=2000, seconds=4)
    wait_for(lab, lambda status: status["ports"][1]["counters"]["sent"] > 500)
    lab.run("server", "ip", "link", "set", "eth0", "down")
    # The queue fills, what had left it gets stale, and the scheme drops the rest.
    wait_for(lab, lambda status: dropped(status) > 500)
    finish()
    lab.run("server", "ip", "link", "set", "eth0", "up")
    wait_for(lab, lambda status: status["directions"][0]["backlog"]["packets"] == 0)
    status = lab.settled()
    sent = status["ports"][1]["counters"]["sent"] - before["ports"][1]["counters"]["sent"]
    # What the far end's kernel held and had not looked at as the link went down is lost there: a burst at most, where
    # hundreds would be counted if frames for a link that is down were.
    assert 0 <= sent - (lab.counters("server")["rx_packets"] - arrived) <= 64
    assert_conserved(status)
    way, port = status["directions"][0], status["ports"][1]["counters"]
    # 2000 a second for seconds: a ring of 32 and the queue's 50 wait, the scheme drops the rest but what is stale.
    assert way["stale"] + port["send_failed"] > 0
    assert way["stale"] + port["send_failed"] < dropped(status)
    assert len(lab.ping(count=2)) == 2


def test_a_thread_that_was_late_sends_what_it_missed(make_lab: MakeLab, back_end: dict[str, str]) -> None:
    lab = make_lab()
    device = lab.start_device(lab.toml(**back_end, scheme="pfifo limit 1000p", rate="24 Mbit/s"))
    # 32 Mbit/s in frames of 500 B: the queue is never empty.
    finish = flood(lab, rate=8000, seconds=6, frame_bytes=500)
    wait_for(lab, lambda status: dropped(status) > 0)
    for _ in range(40):
        # Less than the burst of 20 ms, and 90 frames at 6000 a second, where 32 may lie in the port.
        device.send_signal(signal.SIGSTOP)
        time.sleep(0.015)
        device.send_signal(signal.SIGCONT)
        time.sleep(0.04)
    way = lab.status()["directions"][0]
    finish()
    # 32 of 90 frames at a time would be 10 ms lost each time, 0.4 s in all. An interface of a pair is never full.
    assert way["blocked_s"] < 0.04
    assert_conserved(lab.settled())
