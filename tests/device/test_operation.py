"""What an operator meets: restarts, reloads, interfaces that vanish, limits that are too low."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chaos
import pytest
from laboratory import Lab, LabError, find_sojournd
from packets import MakeLab, assert_conserved


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


def wait_for(lab: Lab, state: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the first status of which something is true; the limit is far beyond what any machine needs."""
    until = time.monotonic() + 60
    while not state(status := lab.status()):
        assert time.monotonic() < until, status
        time.sleep(0.05)
    return status


def test_a_lost_link_is_logged_shown_and_counted_and_so_is_its_return(
    make_lab: MakeLab, back_end: dict[str, str]
) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(**back_end, scheme="codel", rate="100 Mbit/s"))

    def link(status: dict[str, Any]) -> dict[str, Any]:
        known: dict[str, Any] = status["ports"][1]["link"]
        return known

    def metric(name: str) -> float:
        text = lab.text("/metrics")
        [value] = re.findall(rf'^{name}{{port="b",name="port-b"}} (\S+)$', text, re.MULTILINE)
        return float(value)

    def sojournd(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(find_sojournd()), *words, "--socket", str(lab.folder / "control.sock")]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    before = wait_for(lab, lambda status: link(status)["state"] == "up")
    assert (link(before)["lost"], link(before)["down_s"], before["ports"][1]["advice"]) == (0, 0.0, None)
    # The cable is pulled at its far end, then somebody sets the interface itself down.
    for words, state, advice in (
        (("server", "eth0"), "no carrier", "port-b: no carrier; check the cable and the device at its other end"),
        (("device", "port-b"), "down", "port-b: the interface is down; `ip link set dev port-b up` sets it up"),
    ):
        host, interface = words
        lab.run(host, "ip", "link", "set", interface, "down")
        lost = wait_for(lab, lambda status, state=state: link(status)["state"] == state)
        assert lost["ports"][1]["advice"] == advice
        assert lost["ports"][0]["link"]["state"] == "up"
        assert f"WARN {advice}" in lab.device_log()
        assert metric("sojourn_port_link_up") == 0
        # What a person sees: the sentence at the top, and the state beside the port.
        table = sojournd("status").stdout
        assert f"! {advice}" in table.splitlines()
        assert re.search(rf"^B \(port-b\) +{state} for \d+ s, lost ", table, re.MULTILINE), table
        lab.run(host, "ip", "link", "set", interface, "up")
        wait_for(lab, lambda status: link(status)["state"] == "up")
    after = lab.status()
    # At least twice: setting an interface up again may show it without a carrier for a moment.
    assert link(after)["lost"] == 2
    assert link(after)["down_s"] > 0
    assert after["ports"][1]["advice"] is None
    assert lab.device_log().count("port-b: the link is back") == 2
    assert (metric("sojourn_port_link_up"), metric("sojourn_port_link_losses_total")) == (1, 2)
    assert len(lab.ping(count=2)) == 2
    assert json.loads(sojournd("status", "--json").stdout)["ports"][1]["link"]["lost"] == 2


def test_a_mistake_in_the_file_keeps_nobody_from_a_running_device(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.start_device(lab.toml(scheme="codel", rate="100 Mbit/s"))
    path = lab.folder / "sojournd.toml"

    def sojournd(*words: str) -> tuple[int, str, str]:
        command = [str(find_sojournd()), *words, "--config", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout, done.stderr

    text = path.read_text()
    path.write_text(text.replace('rate = "100 Mbit/s"', "rrate = 100"))
    assert sojournd("check")[0] == 2
    status, said, _ = sojournd("status")
    assert (status, said.startswith("sojournd ")) == (0, True)
    assert sojournd("set", "--rate", "50 Mbit/s")[0] == 0
    wait_for(lab, lambda status: status["directions"][0]["rate_bit_s"] == 50_000_000)
    # It is no TOML any more: the table that is whole is read, and the mistake is told.
    path.write_text(text.replace('rate = "100 Mbit/s"', 'rate = "100 Mbit/s'))
    status, said, warned = sojournd("status")
    assert (status, said.startswith("sojournd ")) == (0, True)
    assert re.match(r"sojournd: warning: \S+sojournd\.toml:\d+:\d+: ", warned)
    # Errors name what was typed.
    for words, begin in (
        (("set", "--rate", "7"), 'sojournd: --rate: "7" has no unit; allowed: '),
        (("set", "--delay", "2 min"), "sojournd: --delay: is 120 s; allowed: 0 s to 60 s"),
        (("switch", "codell"), 'sojournd: SCHEME: unknown algorithm "codell" (did you mean "codel"?)'),
    ):
        path.write_text(text)
        status, _, error = sojournd(*words)
        assert (status, error.startswith(begin)) == (2, True), error


def test_chaos_in_small() -> None:
    """The accounting of ``chaos.py``, which `.ci/weekly` runs for longer."""
    with chaos.chaos(1, restart_s=60.0) as world:
        world.run(0, ["mtu", "kill"])
    assert world.violations == []
    assert world.rounds == {"mtu": 1, "kill": 1}
    # Both hosts sent 200 frames a second for a second at least, in each of two rounds.
    assert world.ledger.totals["frames in"] > 2 * 2 * 100
    assert world.ledger.totals["unaccounted for"] == 0


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
