"""``sojourn shell``: real programs behind an emulated link, as root and as an ordinary user; nothing stays."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import site
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.device.lab import find_sojournd
from sojourn.shell import Emulation, Link, emulate

KILLS = int(os.environ.get("SOJOURN_TEST_SHELL_KILLS", "6"))
SHELL = [sys.executable, "-m", "sojourn", "shell"]
SERVE = ["--serve", f"{sys.executable} -m http.server 80"]
#: Bytes of the file that is fetched.
FILE = 2_000_000


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with a file to fetch."""
    (tmp_path / "file").write_bytes(os.urandom(FILE))
    return tmp_path


def shell(*words: str, cwd: Path | None = None, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SHELL, *words], capture_output=True, text=True, check=False, timeout=60, cwd=cwd, input=given
    )


def frames(file: Path) -> Iterator[tuple[float, int, bytes]]:
    """The time, original length and contents of the frames of a pcapng file."""
    data, at = file.read_bytes(), 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low, captured, original = struct.unpack_from("<IIII", data, at + 12)
            yield ((high << 32) | low) / 1e9, original, data[at + 28 : at + 28 + captured]
        at += length


def test_the_example_of_the_readme_passes_output_and_status_on_and_writes_a_run_folder(served: Path) -> None:
    done = shell(
        *("--down", "50Mbit/s", "--up", "10Mbit/s", "--rtt", "40ms", "--aqm", "fq_codel", "--up-aqm", "cake"),
        *(*SERVE, "--out", "out/run", "--pcapng", "out/packets"),
        *("--", "curl", "-s", "-w", "%{http_code} %{size_download}", "-o", "got", "http://server/file"),
        cwd=served,
    )
    assert (done.returncode, done.stdout) == (0, f"200 {FILE}"), done.stderr
    assert (served / "got").read_bytes() == (served / "file").read_bytes()
    assert "Mbit/s  delay, ms" in done.stderr
    results = sj.Results.read(served / "out/run")
    [down, up] = results.queues.to_dict("records")
    assert (down["queue"], up["queue"]) == ("server->client", "client->server")
    # 2,000,000 B in segments of 1448 B are 1382 packets; handshake, headers and end are a few more.
    assert 1382 <= down["arrivals_packets"] - down["drops_packets"] < 1382 + 20 + down["drops_packets"]
    assert results.meta["world"]["kind"] == "real"
    for action in ("report", "plot"):
        assert (
            subprocess.run([sys.executable, "-m", "sojourn", action, "out/run"], check=False, cwd=served).returncode
            == 0
        )
    # The report says what is true of real packets, and how late they were.
    page = (served / "out/run/report.html").read_text()
    assert "of real packets, one run" in page
    assert "Lateness, down" in page
    assert "bit for bit" not in page
    # Every frame of both ends: GSO, TSO and GRO are off, so none is longer than Ethernet's header and the MTU.
    lengths = [
        length for name in ("server", "client") for _, length, _ in frames(served / f"out/packets/{name}.pcapng")
    ]
    assert len(lengths) > 2 * 1382
    assert max(lengths) == 1514
    if shutil.which("tshark"):
        told = subprocess.run(
            ["tshark", "-r", "out/packets/client.pcapng", "-Y", "tcp.analysis.lost_segment"],
            capture_output=True,
            text=True,
            check=True,
            cwd=served,
        )
        # The sender's order on the wire, and every segment of it in the file.
        assert told.stdout.count("\n") <= down["drops_packets"]


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9), ("kill -15 $$", 128 + 15)]
)
def test_the_exit_status_is_passed_on(script: str, status: int) -> None:
    assert shell("--down", "5Mbit/s", "--quiet", "--", "sh", "-c", script).returncode == status


def test_without_a_command_it_is_a_shell_that_reads_its_input() -> None:
    done = shell(
        "--down", "5Mbit/s", "--rtt", "10ms", given="ping -c1 -w5 server >/dev/null && echo reached; exit 3\n"
    )
    assert (done.returncode, done.stdout) == (3, "reached\n"), done.stderr


def test_an_ordinary_user_needs_no_root(served: Path) -> None:
    ordinary = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    program = find_sojournd()
    path = os.pathsep.join([str(Path(sj.__file__).parents[1]), *site.getsitepackages()])
    given = {**os.environ, "PYTHONPATH": path, "HOME": "/nonexistent", "SOJOURND": str(program)}
    # setpriv starts a program with root's rights; what that starts has none.
    # The checkout may lie in a folder of root's own.
    ask = (
        "import subprocess, sys; assert sys.version_info >= (3, 11); "
        "subprocess.run([sys.executable, '-c', 'import sojourn'], check=True); "
        f"subprocess.run([{str(program)!r}, '--version'], check=True)"
    )
    tried = {
        python: subprocess.run([*ordinary, python, "-c", ask], check=False, capture_output=True, text=True, env=given)
        for python in (sys.executable, "/usr/bin/python3")
    }
    python = next((python for python, done in tried.items() if done.returncode == 0), None)
    if python is None:
        last = {python: done.stderr.strip().rpartition("\n")[2] for python, done in tried.items()}
        pytest.skip(f"no Python of 3.11 or later that an ordinary user may run with Sojourn: {last}")
    served.chmod(0o755)
    # Folders of pytest, and of its worker where there are several, are root's own.
    for parent in served.parents:
        if Path(tempfile.gettempdir()) in parent.parents:
            parent.chmod(0o755)
    done = subprocess.run(
        [
            *(*ordinary, python, "-m", "sojourn", "shell", "--down", "50Mbit/s", "--up", "10Mbit/s"),
            *("--rtt", "40ms", "--aqm", "fq_codel", "--up-aqm", "cake"),
            *("--serve", f"{python} -m http.server 80", "--"),
            *("curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", "http://server/file"),
        ],
        cwd=served,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=given,
    )
    assert (done.returncode, done.stdout) == (0, f"200 {FILE}"), done.stderr


def test_two_at_once_do_not_disturb_each_other(served: Path) -> None:
    rates = (4, 16)
    started = [
        subprocess.Popen(
            [
                *SHELL,
                "--down",
                f"{rate}Mbit/s",
                "--out",
                f"out/{rate}",
                *SERVE,
                "--",
                "curl",
                "-so",
                "/dev/null",
                "http://server/file",
            ],
            cwd=served,
            stderr=subprocess.DEVNULL,
        )
        for rate in rates
    ]
    assert [process.wait(60) for process in started] == [0, 0]
    for rate in rates:
        ways = sj.Results.read(served / f"out/{rate}").meta["world"]["ways"]
        # Every packet of the file passed, and none faster than its own rate allows.
        assert 0 < ways["down"]["throughput_bit_s"] <= rate * 1e6


def test_shells_in_shells_are_a_chain() -> None:
    inner = [*SHELL, "--down", "20Mbit/s", "--rtt", "30ms", "--quiet", "--"]
    ping = ["ping", "-n", "-c", "3", "-i", "0.2", "server"]
    done = shell("--down", "20Mbit/s", "--rtt", "20ms", "--quiet", "--", *inner, *ping)
    assert done.returncode == 0, done.stderr
    # Half of both times each way; nothing on the way makes it shorter.
    least_ms = min(float(line.split("time=")[1].split()[0]) for line in done.stdout.splitlines() if "time=" in line)
    assert least_ms >= 50.0


def test_the_far_side_may_be_the_network_of_the_machine(served: Path) -> None:
    before = Path("/proc/sys/net/ipv4/ip_forward").read_text()
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0"],
        cwd=served,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert server.stdout is not None
    port = server.stdout.readline().decode().split("port ")[1].split()[0]
    fetch = ["curl", "-s", "-o", "/dev/null", "-w", "%{size_download}", f"http://server:{port}/file"]
    try:
        done = shell("--down", "50Mbit/s", "--host", "--quiet", "--", *fetch)
    finally:
        server.kill()
        server.communicate()
    assert (done.returncode, done.stdout) == (0, str(FILE)), done.stderr
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == before


BAD = [
    (["--rtt", "5ms"], '--down is missing; allowed: a rate, as in --down "50 Mbit/s", or --trace-down FILE'),
    (["--down", "5"], '--down: "5" has no unit; allowed: a rate with its unit'),
    (["--down", "5Mbit/s", "--rtt", "5"], '--rtt: "5" is not a time; allowed: a time with its unit, as in "40 ms"'),
    (["--down", "5Mbit/s", "--aqm", "codle"], '--aqm: unknown algorithm "codle" (did you mean "codel"?); allowed: '),
    (["--down", "5Mbit/s", "--loss", "2"], '--loss: "2" has "2", which is 2, outside 0 to 1; allowed: '),
    (
        ["--down", "5Mbit/s", "--trace-down", "lte"],
        "--trace-down: is given together with `rate`; allowed: one of the two",
    ),
    (
        ["--trace-down", "nothing"],
        "--trace-down: there is no file 'nothing'; allowed: a file, or a trace of lte, starlink",
    ),
    (["--down", "9Gbit/s"], "cannot run for real: it has a rate of 9 Gbit/s; allowed: up to 2 Gbit/s"),
    (["--down", "5Mbit/s", "--serve", "nothing"], "--serve: 'nothing' was not found; allowed: a program on the path"),
    (["--down", "5Mbit/s", "--serve", "false"], "'false' on the far side ended with status 1 before it listened"),
    (["--down", "5Mbit/s", "--dwn", "5"], "unknown option --dwn (did you mean `--down`?)"),
    (["--down", "5Mbit/s", "--out", "/proc/nothing"], "cannot write '/proc/nothing'"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_is_one_clear_error(words: list[str], message: str) -> None:
    done = shell(*words, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert message in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_a_command_that_does_not_exist_is_one_clear_error() -> None:
    done = shell("--down", "5Mbit/s", "--", "nothing-of-that-name")
    assert done.returncode == 2
    assert done.stderr == (
        "sojourn: the command: 'nothing-of-that-name' was not found; "
        "allowed: a program on the path, or a file that can be run\n"
    )


def test_a_machine_without_namespaces_is_one_clear_error() -> None:
    # A user namespace in which none may be made.
    limit = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", limit, "sh", *SHELL, "--down", "5Mbit/s", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("sojourn: cannot make the network: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


# What is left behind


def _state() -> dict[str, object]:
    """Namespaces, interfaces and temporary files of the machine."""

    def said(*command: str) -> list[str]:
        return sorted(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())

    links = json.loads("".join(said("ip", "-json", "link")) or "[]")
    return {
        "namespaces": said("ip", "netns"),
        "interfaces": sorted(link["ifname"] for link in links),
        "mounts": sorted(line for line in said("findmnt", "-rno", "TARGET") if "sojourn" in line),
        "files": sorted(file.name for file in Path(tempfile.gettempdir()).iterdir() if "sojourn-shell" in file.name),
    }


def _marked(mark: str) -> dict[int, str]:
    """Processes whose environment has a mark, with their command lines."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                words = (folder / "cmdline").read_bytes().split(b"\0")
                found[int(folder.name)] = " ".join(word.decode() for word in words)
        except OSError:
            continue
    return found


def test_a_kill_of_any_process_at_any_moment_leaves_nothing() -> None:
    before = _state()
    chance = random.Random(26)  # noqa: S311 - which process, and when
    hit: dict[str, int] = {}
    for number in range(KILLS):
        mark = f"SOJOURN_TEST_MARK=kill-{os.getpid()}-{number}"
        name, _, value = mark.partition("=")
        process = subprocess.Popen(
            [*SHELL, "--down", "20Mbit/s", "--rtt", "20ms", *SERVE, "--", "sleep", "300"],
            env={**os.environ, name: value},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(0.0, 1.5))
        victims = _marked(mark)
        victim = chance.choice(sorted(victims)) if victims else process.pid
        what = next(
            (word for word in ("sleep", "sojournd", "http.server", "inside.py") if word in victims.get(victim, "")),
            "shell",
        )
        what = "shell" if " shell " in victims.get(victim, " shell ") else what
        hit[what] = hit.get(what, 0) + 1
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        if what == "http.server":
            # The far side's program is not watched once it listens.
            process.kill()
        status = process.wait(30)
        assert status != 0, what
        until = time.monotonic() + 30
        while left := _marked(mark):
            assert time.monotonic() < until, (what, left)
            time.sleep(0.02)
    # Interfaces go when the kernel has freed the last namespace.
    until = time.monotonic() + 30
    while (after := _state()) != before and time.monotonic() < until:
        time.sleep(0.1)
    assert after == before, hit


# The link


def test_a_trace_delivers_its_opportunities_in_every_100_ms(tmp_path: Path) -> None:
    # 5.5 Mbit/s on average, with a gap of 60 ms and bursts of three.
    opportunities = [at for base in range(0, 200, 20) for at in (base + 1, base + 4, base + 4, base + 4, base + 9)]
    opportunities = [at for at in opportunities if not 100 <= at < 160] + [200]
    file = tmp_path / "trace"
    file.write_text("".join(f"{at}\n" for at in opportunities))
    sends = (
        "import socket, time\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "until = time.monotonic() + 4\n"
        "while time.monotonic() < until:\n"
        "    [s.sendto(bytes(1472), ('client', 9)) for _ in range(20)]\n"
        "    time.sleep(0.01)\n"
    )
    takes = (
        "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', 9))\ntime.sleep(3)\n"
    )
    link = Link(trace_down=str(file), up="10 Mbit/s", aqm="pfifo limit 100p")
    for attempt in range(5):
        packets = tmp_path / f"packets{attempt}"
        with Emulation(link, pcapng=packets) as lab:
            # A multicast report between two datagrams would take a part of an opportunity.
            for host in ("server", "client"):
                lab.run(host, ["sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6"])
            lab.start("server", [sys.executable, "-c", sends])
            assert lab.run("client", [sys.executable, "-c", takes]).returncode == 0
            outcome = lab.finish()
        states, down = outcome.states, outcome.states[-1]["directions"][0]
        # Opportunities that the machine came too late for are lost, and counted: that is another machine's test.
        if down["late_s"] == down["blocked_s"] == 0:
            break
    else:
        pytest.skip("the machine loses rate in every attempt")

    def offered(uptime_s: float) -> int:
        """Opportunities up to an instant, the trace repeated every 200 ms."""
        periods, within = divmod(uptime_s * 1e3, 200.0)
        return int(periods) * len(opportunities) + sum(at <= within for at in opportunities)

    # By the device's count: while the queue is not empty, packets of 1500 B of IP leave it at one opportunity each. A
    # look at the device in a turn that is late sees what left up to then.
    longest = down["lateness"]["max_s"]
    ways = [(state["uptime_s"], state["directions"][0]) for state in states]
    full = [(at, way["counts"]["forwarded"]["packets"]) for at, way in ways if way["backlog"]["packets"] > 50]
    skipped = min(offered(at) - sent for at, sent in full)
    assert len(full) > 20
    assert sum(sent == offered(at) - skipped for at, sent in full) > len(full) / 2
    assert all(sent >= offered(at - longest - 0.002) - skipped for at, sent in full)

    # On the wire, once the queue is full: each frame at its opportunity, later by at most the longest lateness
    # that the device shows. Between its look at the clock and the note in the file lies at most a turn of its thread.
    instants = [(period * 200 + at) / 1e3 for period in range(100) for at in opportunities][skipped:]
    every = [at for at, length, _ in frames(packets / "client.pcapng") if length == 1514]
    times, first = every[full[0][1] :], full[0][1]

    def lateness(shift: int) -> list[float]:
        return [at - instant for at, instant in zip(times, instants[first + shift :], strict=False)]

    # The hosts' own frames may have used opportunities before, so the first one is found by the least spread.
    shift = min(range(-first, 4), key=lambda shift: max(lateness(shift)) - min(lateness(shift)))
    late, nominal = lateness(shift), instants[first + shift :]
    origin = min(late)
    assert max(late) - origin <= longest * 1.01 + 0.002
    bin_s = 0.1
    for number in range(1, int((times[-1] - origin - nominal[0]) / bin_s)):
        until = nominal[0] + number * bin_s
        by_then = sum(at - origin <= until for at in times)
        least = sum(instant <= until - longest - 0.002 for instant in nominal)
        assert least <= by_then <= sum(instant <= until + 1e-6 for instant in nominal)


def test_losses_delays_and_copies_are_those_of_the_link() -> None:
    with emulate(down="50 Mbit/s", rtt="20 ms", loss="20%", duplicate="10%", jitter="2 ms", seed=1) as lab:
        done = lab.run("client", ["ping", "-n", "-c", "200", "-i", "0.01", "-W", "2", "server"])
        outcome = lab.finish()
    answered = {line.split("icmp_seq=")[1].split()[0] for line in done.stdout.splitlines() if "icmp_seq=" in line}
    down = outcome.ways["down"].metrics
    assert down["link_losses_packets"] is not None
    assert down["arrivals_packets"] is not None
    # What the link lost is what was not answered; of 200 with 20 % the standard error is 5.7.
    # A few frames are the hosts' own: they join multicast groups.
    assert 0 <= down["arrivals_packets"] - down["link_losses_packets"] - len(answered) <= 3
    assert abs(down["link_losses_packets"] - 40) < 23
    assert 0 <= down["link_duplicates_packets"] - done.stdout.count("DUP!") <= 3
    assert done.stdout.count("DUP!") > 0
    times = [float(line.split("time=")[1].split()[0]) for line in done.stdout.splitlines() if "time=" in line]
    assert min(times) >= 18.0


def test_changes_take_place_at_their_times(tmp_path: Path) -> None:
    table = tmp_path / "changes.csv"
    table.write_text("at,rate,delay,scheme\n1 s,2 Mbit/s,,\n1 s,,30 ms,\n1500 ms,,,codel\n")
    with emulate(down="50 Mbit/s", rtt="20 ms", changes=str(table)) as lab:
        lab.run("client", ["sleep", "2"])
        states = lab.finish().states
    for state in states:
        for way in state["directions"]:
            changed = state["uptime_s"] >= 1.0
            assert (way["rate_bit_s"], way["delay_s"]) == ((2_000_000, 0.03) if changed else (50_000_000, 0.01))
            assert way["scheme"] == ("codel" if state["uptime_s"] >= 1.5 else "pfifo")


def test_a_scenario_with_one_link_can_be_emulated_and_others_are_refused() -> None:
    one = {
        "name": "one",
        "duration": "10 s",
        "links": [{"name": "x", "from": "server", "to": "client", "delay": "5 ms", "trace": {"file": "lte"}}],
        "flows": [{"name": "f", "from": "server", "to": "client"}],
    }
    with emulate(sj.Network.from_dict(one)) as lab:
        assert lab.run("client", ["ping", "-n", "-c", "1", "-W", "9", "server"]).returncode == 0
        # A scenario's link takes its delay in each direction.
        assert [way["delay_s"] for way in lab.finish().states[-1]["directions"]] == [0.005, 0.005]
    with pytest.raises(
        sj.SojournError, match=r"cannot run for real: it has \d+ links; allowed: one point-to-point link"
    ):
        emulate("dumbbell")
    with pytest.raises(sj.SojournError, match="emulate: dwn is unknown; allowed: down, up, rtt"):
        emulate(dwn="5 Mbit/s")
