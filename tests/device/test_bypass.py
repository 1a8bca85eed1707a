"""What happens to traffic when the device dies, and how it comes back."""

from __future__ import annotations

import json

from packets import MakeLab, assert_conserved

from sojourn.real.device.lab import Lab


def xdp(lab: Lab, interface: str) -> bool:
    """Whether an XDP program is on an interface of the device."""
    [link] = json.loads(lab.run("device", "ip", "-json", "-details", "link", "show", interface))
    return "xdp" in link


def test_a_killed_device_leaves_traffic_to_the_bridge_and_comes_back(make_lab: MakeLab) -> None:
    lab = make_lab(bridge=True)
    assert len(lab.ping(count=2)) == 2, "the bridge forwards before there is a device"
    toml = lab.toml(scheme="codel", rate="1 Gbit/s", delay="20 ms")
    device = lab.start_device(toml)
    assert xdp(lab, "port-a")
    assert xdp(lab, "port-b")
    # 20 ms of delay tell the device from the bridge, which would also answer twice if it still forwarded.
    assert min(lab.ping(count=3)) >= 20.0
    lab.stop(device, kill=True)
    assert not xdp(lab, "port-a")
    assert not xdp(lab, "port-b")
    rtts = lab.ping(count=3)
    assert len(rtts) == 3
    assert min(rtts) < 20.0
    lab.start_device(toml)
    assert min(lab.ping(count=3)) >= 20.0
    assert_conserved(lab.settled())


def test_af_packet_refuses_an_interface_in_a_bridge(make_lab: MakeLab) -> None:
    lab = make_lab(bridge=True)
    process = lab.start_device(lab.toml(back_end="af_packet"), wait=False)
    assert process.wait(timeout=20) == 2
    log = lab.device_log()
    assert "ip link set port-a nomaster" in log


def test_an_interface_that_is_not_there_is_one_clear_error(make_lab: MakeLab) -> None:
    lab = make_lab()
    process = lab.start_device(lab.toml().replace("port-b", "port-x"), wait=False)
    assert process.wait(timeout=20) == 2
    assert "port-x" in lab.device_log()
