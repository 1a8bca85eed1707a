"""What the guide to a gateway promises: doctor, bypass with AF_PACKET, a locked-down process, the experiment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from packets import MakeLab

from sojourn.real.device import experiment, windows
from sojourn.real.device.lab import Lab, find_sojournd


def isolate(lab: Lab, word: str) -> None:
    """Switch the exchange between the device's ports over the bridge."""
    for port in ("port-a", "port-b"):
        lab.run("device", "bridge", "link", "set", "dev", port, "isolated", word)


def test_af_packet_takes_over_from_a_bridge_with_isolated_ports(make_lab: MakeLab) -> None:
    lab = make_lab(bridge=True)
    isolate(lab, "on")
    assert lab.ping(count=2, interval_s=0.2) == [], "an isolated port forwards to no other"
    toml = lab.toml(back_end="af_packet", scheme="codel", rate="1 Gbit/s", delay="20 ms")
    device = lab.start_device(toml)
    rtts = lab.ping(count=3)
    # One answer each, late by the device's delay: the bridge forwards nothing beside it.
    assert len(rtts) == 3
    assert min(rtts) >= 20.0
    lab.stop(device, kill=True)
    isolate(lab, "off")
    rtts = lab.ping(count=3)
    assert len(rtts) == 3
    assert min(rtts) < 20.0


def test_a_running_device_has_no_privileges(make_lab: MakeLab) -> None:
    lab = make_lab()
    device = lab.start_device(lab.toml(scheme="codel", rate="100 Mbit/s"))
    # `ip netns exec` became the program.
    for task in Path(f"/proc/{device.pid}/task").iterdir():
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        assert (status["CapEff"], status["CapPrm"], status["CapBnd"]) == ("0" * 16,) * 3, status["Name"]
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status["Name"]
    assert len(lab.ping(count=2)) == 2


def test_the_doctor_says_what_to_do_and_is_content_when_it_is_done(make_lab: MakeLab, tmp_path: Path) -> None:
    lab = make_lab()
    path = tmp_path / "sojournd.toml"
    path.write_text(lab.toml(scheme="codel", rate="100 Mbit/s"))

    def doctor() -> tuple[int, str]:
        command = ["ip", "netns", "exec", lab.namespace("device"), str(find_sojournd()), "doctor", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert doctor()[0] == 0
    lab.run("device", "ip", "address", "add", "10.9.0.1/24", "dev", "port-a")
    status, said = doctor()
    assert status == 1
    command = "ip address flush dev port-a"
    assert command in said
    lab.run("device", *command.split())
    assert doctor()[0] == 0


def test_the_experiment_leaves_windows_of_every_slot(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.fail("network namespaces need root")
    plan = experiment.Experiment(
        schemes=(("none", "pfifo limit 300p"), ("d1", "dropping_function function d1")),
        packets=500,
        slots=3,
        slot_s=2.0,
        rate="20 Mbit/s",
        rtt_ms=(4.0, 30.0),
    )
    store = windows.read(experiment.run(plan, tmp_path), direction="a_to_b")
    assert list(store.slots["slot"]) == [0, 1, 2]
    # The schedule begins once the store is open: a first window may have no slot.
    assert set(store.windows["slot"].dropna()) == {0, 1, 2}
    assert set(store.windows["label"][store.windows["slot"].notna()]) <= {"none", "d1"}
    # A window is whole unless its slot or the run ended it.
    assert (store.windows.groupby("slot")["complete"].apply(lambda complete: (~complete).sum()) <= 1).all()
    assert (store.windows.loc[store.windows["complete"], "arrived"] == 500).all()
    names = {"tcp", "udp"}
    bytes_of = store.classes[store.classes["class"].isin(names)].groupby("class")["arrived_bytes"].sum()
    assert (bytes_of > 0).all()


def test_the_packet_thread_goes_before_other_processes(make_lab: MakeLab) -> None:
    lab = make_lab()
    device = lab.start_device(lab.toml(scheme="codel", rate="100 Mbit/s"))
    tasks = Path(f"/proc/{device.pid}/task").iterdir()
    [packets] = [int(task.name) for task in tasks if (task / "comm").read_text().strip() == "packets"]
    assert os.getpriority(os.PRIO_PROCESS, packets) == -10
