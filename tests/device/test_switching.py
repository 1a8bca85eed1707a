"""Another scheme every 100 ms under load: nothing is lost that no algorithm dropped, to the packet."""

from __future__ import annotations

import os
import subprocess
import time

from packets import MakeLab, assert_conserved

from sojourn.base.core import aqms
from sojourn.real.device import windows

#: How long; SOJOURN_SWITCHING_S=60 for the minute that the device promises.
_SECONDS = int(os.environ.get("SOJOURN_SWITCHING_S", "10"))
#: At port A, at port B.
_HOSTS = ("client", "server")
_COUNTS = ("arrived", "forwarded", "dropped_overflow", "dropped_early", "dropped_flow")


def _schedule() -> str:
    # In blocks: every scheme has as many slots as any other.
    schemes = "".join(f'{entry["name"]} = "{entry["name"]}"\n' for entry in aqms())
    return f'[schedule]\nseed = 1\nevery = "100 ms"\ndesign = "blocks"\n[schedule.schemes]\n{schemes}'


def test_switching_every_100_ms_under_load_loses_nothing_that_no_algorithm_dropped(make_lab: MakeLab) -> None:
    lab = make_lab()
    for host in _HOSTS:
        # Neighbour discovery would come between two looks.
        lab.run(host, "sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=1")
    device = lab.start_device(lab.toml(rate="20 Mbit/s", delay="2 ms") + _schedule())
    ports = lab.settled()["ports"]
    begun = [(port["counters"], lab.counters(host)) for host, port in zip(_HOSTS, ports, strict=True)]
    # 12 Mbit/s of datagrams and two connections that take what they get: more than fits, whatever the scheme drops.
    loads = []
    for load in (["-u", "-b", "12M", "-l", "1000"], ["-C", "cubic", "-P", "2"]):
        _, port = lab.start_iperf_server()
        command = ["iperf3", "-c", lab.address("server"), "-p", str(port), "-t", str(_SECONDS), *load]
        loads.append(lab.start("client", *command, stdout=subprocess.DEVNULL))
    looks = 0
    while any(load.poll() is None for load in loads):
        assert_conserved(lab.status())
        looks += 1
        time.sleep(0.3)
    assert looks > 1
    lab.ask("POST", "/schedule/stop")
    status = lab.settled()
    assert_conserved(status)

    # What the hosts sent the device received, what the device sent they received: every frame, counted by the kernel.
    for host, port, (device_before, host_before) in zip(_HOSTS, status["ports"], begun, strict=True):
        ours = {key: value - device_before[key] for key, value in port["counters"].items()}
        theirs = {key: value - host_before[key] for key, value in lab.counters(host).items()}
        assert theirs["tx_packets"] == ours["received"] + ours["missed"] + ours["oversize"]
        assert theirs["rx_packets"] == ours["sent"]

    [way] = [way for way in status["directions"] if way["direction"] == "a_to_b"]
    counts = {name: way["counts"][name]["packets"] for name in _COUNTS}
    assert min(way["classes"][name]["arrived"] for name in ("tcp", "udp")) > 100 * _SECONDS
    assert sum(counts[f"dropped_{reason}"] for reason in ("overflow", "early", "flow")) > 0

    lab.stop(device)
    store = windows.read(lab.folder / "windows.sqlite", direction="a_to_b")
    # A late thread may leave out a slot, but not most of them; none is switched twice.
    slots = list(store.slots["slot"])
    assert len(slots) > 5 * _SECONDS
    assert slots == sorted(set(slots))
    assert set(store.slots["label"]) == {entry["name"] for entry in aqms()}
    # Each switch closes a window, so that windows account for every packet too.
    assert {name: int(store.windows[name].sum()) for name in _COUNTS} == counts
    print(f"{len(slots)} switches, {looks} looks: {counts}")
