"""What an operator meets: restarts, reloads, interfaces that vanish, limits that are too low."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from packets import MakeLab, assert_conserved

from sojourn.device.lab import Lab, LabError, find_sojournd


def doctor(lab: Lab, *before: str) -> tuple[int, str]:
    """Return the exit status of ``sojournd doctor``, run by the words `before`, and what it said."""
    inside = ["ip", "netns", "exec", lab.namespace("device"), *before]
    command = [*inside, str(find_sojournd()), "doctor", str(lab.folder / "sojournd.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return done.returncode, done.stdout


def commands(said: str, weight: str) -> list[str]:
    """Return the commands below the doctor's findings of a weight."""
    lines = said.splitlines()
    found = [at for at, line in enumerate(lines) if line.startswith(weight)]
    return [lines[at + 1].partition("    #")[0].strip() for at in found if lines[at + 1].startswith("    ")]


def test_a_restart_ends_well_and_forwards_again(make_lab: MakeLab, back_end: dict[str, str]) -> None:
    lab = make_lab()
    toml = lab.toml(**back_end, scheme="codel", rate="100 Mbit/s")
    device = lab.start_device(toml)
    watched = lab.watch()
    assert len(lab.ping(count=3, interval_s=0.05)) == 3
    lab.stop(device)
    assert device.returncode == 0
    assert lab.device_log().rstrip().endswith("stopped")
    lab.start_device(toml)
    assert len(lab.ping(count=3, interval_s=0.05)) == 3
    answered = watched()
    # They are answered, then none is, then all are again, each once. For how long not: benches/device/restart.py.
    lost = set(range(answered[0], answered[-1])) - set(answered)
    assert answered == sorted(set(answered))
    assert lost == set(range(min(lost, default=0), max(lost, default=-1) + 1))
    assert_conserved(lab.settled())


def test_a_device_gets_the_queue_of_one_that_has_just_ended(make_lab: MakeLab) -> None:
    lab = make_lab()
    toml = lab.toml(scheme="codel", rate="100 Mbit/s")
    # The kernel frees an AF_XDP socket's queue a moment after the process; about every fourth start came too early.
    for start in range(12):
        lab.stop(lab.start_device(toml), kill=start % 2 == 0)
    assert "stopped" in lab.device_log()


@pytest.mark.parametrize(
    ("line", "real_time"),
    [
        ('idle = "wait"', False),
        ('idle = "wait"\nreal_time = true', True),
    ],
)
def test_only_the_packet_thread_has_a_real_time_priority(make_lab: MakeLab, line: str, real_time: bool) -> None:
    asks = ["chrt", "--rr", "1", "true"]
    if subprocess.run(asks, capture_output=True, check=False).returncode != 0:
        pytest.skip("root may not have a real-time priority here")
    lab = make_lab()
    toml = lab.toml(scheme="codel", rate="100 Mbit/s", idle="wait")
    device = lab.start_device(toml.replace('idle = "wait"', line))
    policies = {
        (task / "comm").read_text().strip(): os.sched_getscheduler(int(task.name))
        for task in Path(f"/proc/{device.pid}/task").iterdir()
    }
    assert policies.pop("packets") == (os.SCHED_RR if real_time else os.SCHED_OTHER)
    assert set(policies.values()) == {os.SCHED_OTHER}


def test_a_reload_needs_a_file_that_the_device_may_still_read(make_lab: MakeLab) -> None:
    lab = make_lab()
    toml = lab.toml(scheme="codel", rate="100 Mbit/s").replace('user = "root"', 'user = "nobody"')
    path = lab.folder / "sojournd.toml"
    path.touch(mode=0o600)
    # Store, token and socket are opened as this user.
    shutil.chown(lab.folder, "nobody", "nogroup")
    lab.start_device(toml)
    assert "a reload will be refused" in lab.device_log()
    path.write_text(toml.replace("codel", "pie"))
    with pytest.raises(LabError, match=r"Permission denied.*sojournd doctor.*nothing was changed"):
        lab.ask("POST", "/reload")
    assert lab.status()["directions"][0]["scheme"] == "codel"
    status, said = doctor(lab)
    assert status == 0, said
    [command] = [line for line in commands(said, "note") if line.startswith(("chgrp", "chmod"))]
    subprocess.run(["/bin/sh", "-ec", command], check=True)
    assert "ok   host: nobody may read" in doctor(lab)[1]
    assert "a_to_b.scheme = pie" in json.dumps(lab.ask("POST", "/reload"))


def test_a_device_whose_interface_vanishes_ends_and_says_so(make_lab: MakeLab, back_end: dict[str, str]) -> None:
    lab = make_lab()
    device = lab.start_device(lab.toml(**back_end, scheme="codel", rate="100 Mbit/s"))
    lab.run("device", "ip", "link", "delete", "port-b")
    assert device.wait(timeout=20) == 2
    log = lab.device_log()
    assert "port-b: the interface is gone; `ip link` lists those that are there" in log
    # The window under way is kept.
    assert "stored=1 lost=0" in log
    status, said = doctor(lab)
    assert status == 1
    assert commands(said, "FIX") == ["ip link"]
    assert json.loads(lab.run("device", "ip", "-json", "link", "show", "port-a"))[0].get("xdp") is None


def test_too_low_a_limit_of_locked_memory_is_named_with_the_command(make_lab: MakeLab) -> None:
    lab = make_lab()
    (lab.folder / "sojournd.toml").write_text(lab.toml())
    # Without these capabilities root is held to the limit and cannot lift it.
    without = "-ipc_lock,-sys_resource"
    limited = ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}", "prlimit", "--memlock=65536:65536"]
    inside = ["ip", "netns", "exec", lab.namespace("device"), *limited]
    command = [*inside, str(find_sojournd()), "run", str(lab.folder / "sojournd.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert "port-a: registering frame memory" in done.stderr
    assert "ulimit -l unlimited" in done.stderr
    status, said = doctor(lab, *limited)
    assert status == 1
    assert commands(said, "FIX") == ["ulimit -l unlimited"]
    # 16384 frames of 2048 B are 32768 KiB.
    assert "only 64 KiB of memory may be locked, but the frames of AF_XDP need 32768 KiB" in said
