"""``sojourn shell --host``: the far side is the machine's own network, behind NAT; needs root.

A network namespace stands for the machine, and a second one for what lies beyond it, which knows no way back to the
shell's addresses.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SHELL = [sys.executable, "-m", "sojourn", "shell"]
BEYOND, MACHINE = "192.0.2.2", "192.0.2.1"
WAIT_S = 300
pytestmark = pytest.mark.usefixtures("namespaces")


@dataclass
class Machine:
    """The two namespaces, each held by a process."""

    machine: int
    beyond: int

    def inside(self, where: int, *command: str) -> list[str]:
        return ["nsenter", f"--net=/proc/{where}/ns/net", *command]

    def run(self, where: int, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.inside(where, *command), capture_output=True, text=True, check=False, timeout=WAIT_S
        )

    def state(self) -> tuple[list[str], list[str]]:
        """Interfaces of the machine, and its tables of nf_tables."""
        links = json.loads(self.run(self.machine, "ip", "-json", "link").stdout)
        read = "import sys; sys.path.insert(0, sys.argv[1]); import nf_tables; print(*nf_tables.names())"
        names = self.run(self.machine, sys.executable, "-c", read, str(Path(__file__).parent)).stdout.split()
        return sorted(link["ifname"] for link in links), sorted(names)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(2):
            process = subprocess.Popen(
                ["unshare", "--net", "sh", "-c", "echo ready; exec sleep 1000"], stdout=subprocess.PIPE, text=True
            )
            stack.callback(process.communicate)
            stack.callback(process.kill)
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                pytest.skip("this machine makes no network namespace for this user")
            held.append(process.pid)
        found = Machine(*held)
        for where, commands in (
            (
                found.machine,
                [f"link add up0 type veth peer name eth0 netns {found.beyond}", f"address add {MACHINE}/24 dev up0"],
            ),
            (found.beyond, [f"address add {BEYOND}/24 dev eth0", "link set eth0 up"]),
            (found.machine, ["link set up0 up", "link set lo up"]),
        ):
            for command in commands:
                done = found.run(where, "ip", *command.split())
                assert done.returncode == 0, done.stderr
        forward = found.run(found.machine, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        if forward.returncode != 0:
            pytest.skip(f"forwarding cannot be switched on here: {forward.stderr}")
        yield found


#: Answers each connection with the address that it came from.
SERVER = (
    "import socket\n"
    "s = socket.create_server(('', 8000))\n"
    "print('ready', flush=True)\n"
    "while True:\n"
    "    c, (address, _) = s.accept()\n"
    "    c.sendall(address.encode())\n"
    "    c.close()\n"
)
ASK = (
    "import socket, sys\n"
    "c = socket.create_connection((sys.argv[1], 8000), timeout=120)\n"
    "print(c.recv(100).decode(), end='')\n"
)


@contextlib.contextmanager
def answering(machine: Machine, where: int) -> Iterator[None]:
    server = subprocess.Popen(
        machine.inside(where, sys.executable, "-u", "-c", SERVER), stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        yield
    finally:
        server.kill()
        server.communicate()


def test_what_lies_beyond_the_machine_sees_the_address_of_the_machine_and_nothing_stays(machine: Machine) -> None:
    before = machine.state()
    with answering(machine, machine.beyond):
        ask = [sys.executable, "-c", ASK, BEYOND]
        done = machine.run(
            machine.machine, *SHELL, "--down", "5Mbit/s", "--rtt", "20ms", "--host", "--quiet", "--", *ask
        )
        assert (done.returncode, done.stdout) == (0, MACHINE), done.stderr
        # A shell within a shell goes the same way.
        inner = [*SHELL, "--down", "5Mbit/s", "--quiet", "--", *ask]
        done = machine.run(machine.machine, *SHELL, "--down", "5Mbit/s", "--host", "--quiet", "--", *inner)
        assert (done.returncode, done.stdout) == (0, MACHINE), done.stderr
    assert machine.state() == before


def test_two_at_once_have_networks_of_their_own_and_a_kill_removes_translation(machine: Machine) -> None:
    before = machine.state()
    said = "import os, sys; print('ready', flush=True); sys.stdin.readline()"
    with answering(machine, machine.beyond):
        first = subprocess.Popen(
            machine.inside(
                machine.machine,
                *SHELL,
                *("--down", "5Mbit/s", "--host", "--quiet", "--", sys.executable, "-c", said),
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == "ready\n"
            between = machine.state()
            assert len(between[0]) == len(before[0]) + 1
            assert len(between[1]) == len(before[1]) + 1
            done = machine.run(
                *(machine.machine, *SHELL, "--down", "5Mbit/s", "--host", "--quiet", "--"),
                *(sys.executable, "-c", ASK, BEYOND),
            )
            assert (done.returncode, done.stdout) == (0, MACHINE), done.stderr
            assert machine.state() == between
        finally:
            first.send_signal(signal.SIGKILL)
            first.communicate()
    until = time.monotonic() + WAIT_S
    while (after := machine.state()) != before and time.monotonic() < until:
        time.sleep(0.05)
    assert after == before


def test_services_of_the_machine_are_reached_without_forwarding_and_a_sentence_says_what_is_not(
    machine: Machine,
) -> None:
    assert machine.run(machine.machine, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward").returncode == 0
    with answering(machine, machine.machine):
        done = machine.run(
            *(machine.machine, *SHELL, "--down", "5Mbit/s", "--host", "--"),
            *(sys.executable, "-c", ASK, "server"),
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("10.77."), done.stdout
    assert "this machine does not forward packets, so only its own addresses are reached" in done.stderr
    assert machine.run(machine.machine, "cat", "/proc/sys/net/ipv4/ip_forward").stdout == "0\n"


def test_an_ordinary_user_is_refused(tmp_path: Path) -> None:
    # In a user namespace without root's identity.
    command = ["unshare", "--user", sys.executable, "-m", "sojourn"]
    if subprocess.run(["unshare", "--user", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine makes no user namespace for this user")
    done = subprocess.run(
        [*command, "shell", "--down", "5Mbit/s", "--host", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stderr == (
        "sojourn: --host connects to this machine's own network, which needs root; "
        "allowed: sudo, or --serve COMMAND, which needs none\n"
    )
