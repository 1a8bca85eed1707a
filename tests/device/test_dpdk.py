"""The device on ports of DPDK's. Needs a build with the feature ``dpdk``, which ``make test`` makes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from laboratory import LabError, find_sojournd, find_sojournd_dpdk
from packets import MakeLab, assert_conserved, goodput, udp


@pytest.fixture(scope="module")
def program() -> Path:
    """The build with DPDK in it."""
    found = find_sojournd_dpdk()
    if found is None:
        pytest.skip("no build of sojournd with the feature dpdk: `make test` makes one, or name it in $SOJOURND_DPDK")
    return found


@pytest.mark.parametrize("cores", [0, 2])
def test_ping_and_tcp_pass_ports_of_dpdk(make_lab: MakeLab, program: Path, cores: int) -> None:
    lab = make_lab()
    usable = sorted(os.sched_getaffinity(0))[:cores]
    toml = lab.toml(back_end="dpdk", scheme="fq_codel", rate="20 Mbit/s", delay="5 ms", cores=usable)
    process = lab.start_device(toml, program=program)
    how = {0: "polled by the packet thread", 2: "1 core receives and sends"}[cores]
    assert [port["mode"] for port in lab.status()["ports"]] == [f"dpdk, {how}"] * 2
    rtts = lab.ping(count=5, interval_s=0.1)
    assert len(rtts) == 5
    # A polling thread that is put off its CPU takes a frame for older than it is; not five times out of five.
    assert max(rtts) >= 5.0
    # Of a 1514 B frame 1448 B are payload: 20 Mbit/s carry 19.13 Mbit/s at most; a third of it on a busy machine.
    assert 6e6 < goodput(lab.iperf(seconds=2, congestion="cubic")) < 19.13e6 * 1.02
    status = lab.settled()
    assert_conserved(status)
    assert status["directions"][0]["counts"]["forwarded"]["packets"] > 1000
    assert [port["counters"]["leaving"] for port in status["ports"]] == [0, 0]
    # It stops while frames are under way.
    lab.flood([udp(lab, 60)], count=200)
    process.terminate()
    assert process.wait(10) == 0, lab.device_log()


def test_a_lost_carrier_is_told(make_lab: MakeLab, program: Path) -> None:
    lab = make_lab()
    toml = lab.toml(back_end="dpdk", scheme=None)
    # The kernel has a TAP's interface under a name that the configuration does not say: DPDK's driver is asked.
    for side in "ab":
        number = "ab".index(side)
        toml = toml.replace(f"net_af_packet{number},iface=port-{side}", f"net_tap{number},iface=tap-{side}")
    lab.start_device(toml, program=program, wait=False)

    def link(state: str) -> dict[str, Any]:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with contextlib.suppress(LabError):
                port = lab.status()["ports"][0]
                if port["link"] is not None and port["link"]["state"] == state:
                    return port
            time.sleep(0.05)
        raise AssertionError(f"never {state}: {lab.device_log()}")

    lost = link("up")["link"]["lost"]
    lab.run("device", "ip", "link", "set", "tap-a", "down")
    port = link("no carrier")
    assert (port["link"]["lost"], port["advice"]) == (
        lost + 1,
        "net_tap0: no carrier; check the cable and the device at its other end",
    )
    assert 'sojourn_port_link_up{port="a",name="net_tap0"} 0' in lab.text("/metrics")
    lab.run("device", "ip", "link", "set", "tap-a", "up")
    assert link("up")["link"]["lost"] == lost + 1
    log = lab.device_log()
    assert "net_tap0: no carrier" in log
    assert "net_tap0: the link is back" in log


def test_two_processes_do_not_clash(make_lab: MakeLab, program: Path) -> None:
    labs = [make_lab(), make_lab(name="sojourn-second")]
    for lab in labs:
        lab.start_device(lab.toml(back_end="dpdk", scheme=None), program=program)
    assert [len(lab.ping(count=2)) for lab in labs] == [2, 2]


def test_a_cpu_that_is_not_there_is_named(tmp_path: Path, program: Path) -> None:
    file = tmp_path / "d.toml"
    file.write_text(
        '[ports.a]\nback_end = "dpdk"\ndevice = "net_null0"\n[ports.b]\nback_end = "dpdk"\ndevice = "net_null1"\n'
        '[dpdk]\ncores = [1000]\n[run]\nuser = "nobody"\n'
    )
    done = subprocess.run([program, "run", file], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    usable = sorted(os.sched_getaffinity(0))
    assert done.stderr == (
        f"sojournd: key `dpdk.cores`: there is no CPU 1000 that this process may use; allowed: {usable}\n"
    )


def test_a_build_without_dpdk_says_so_and_how_to_make_one(tmp_path: Path) -> None:
    file = tmp_path / "d.toml"
    file.write_text(
        '[ports.a]\nback_end = "dpdk"\ndevice = "net_ring0"\n[ports.b]\nback_end = "dpdk"\ndevice = "net_ring1"\n'
    )
    for task in ("check", "run"):
        done = subprocess.run([find_sojournd(), task, file], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        assert f'{file}:2:12: key `ports.a.back_end`: back_end = "dpdk" is not available in this build' in done.stderr
        assert "cargo build --release -p sojourn-device --features dpdk" in done.stderr
