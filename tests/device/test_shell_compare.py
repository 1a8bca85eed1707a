"""``sojourn compare --world real``: a scenario's flows on the kernel's own TCP and UDP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.core import Document
from sojourn.shell import compare

SCENARIO = """
name = "one link"
duration = "4 s"
warm_up = "1 s"
seed = 3
[[links]]
name = "access"
from = "net"
to = "home"
rate = { down = "20 Mbit/s", up = "5 Mbit/s" }
delay = "10 ms"
queue = "pfifo limit 100p"
under_test = true
[[flows]]
name = "bulk"
from = "net"
to = "home"
count = 2
start = { uniform = ["0 s", "0.2 s"] }
[[flows]]
name = "voice"
from = "home"
to = "net"
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "1 Mbit/s", packet_size = "500 B" }
"""


def document(text: str = SCENARIO) -> Document:
    return sj.core.load(text, source="test")


def test_both_worlds_are_printed_side_by_side_and_a_folder_is_written(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    command = [sys.executable, "-m", "sojourn", "compare", "one.toml", "--world", "both", "--aqm", "codel"]
    done = subprocess.run(
        [*command, "--replicates", "2", "--out", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "real - simulated" in done.stdout
    assert "codel   Goodput" in done.stdout
    results = sj.Results.read(tmp_path / "out")
    assert results.meta["world"]["kind"] == "real"
    goodput = results.groups.set_index("group")["goodput_bit_s"]
    # 1448 B of every 1500 B of IP are payload. At the end of the warm-up, what lies in the receiver's buffer counts
    # as received afterwards: some 50 kB, below 2 % of 3 s.
    assert all(0 < value <= 20e6 * 1448 / 1500 * 1.02 for value in goodput["bulk"])
    # What the program could not send in time it sends at once.
    assert all(abs(value / 1e6 - 1.0) < 0.05 for value in goodput["voice"])
    # Two flows of a group and one of the other, in each run.
    assert len(results.flows) == 2 * 3
    page = (tmp_path / "out/report.html").read_text()
    assert "of real packets, 2 runs" in page


def test_flows_of_a_scenario_become_flows_of_the_hosts() -> None:
    found = compare.flows(document(), seed=3)
    assert [flow["name"] for flow in found] == ["bulk[0]", "bulk[1]", "voice[0]"]
    assert [(flow["sender"], flow["receiver"]) for flow in found] == [("server", "client")] * 2 + [
        ("client", "server")
    ]
    assert [flow["transport"] for flow in found] == ["tcp", "tcp", "udp"]
    # 500 B are 4000 bits: 4 ms at 1 Mbit/s.
    assert (found[2]["packet_bytes"], found[2]["interval_s"]) == (500, 0.004)
    assert all(0.0 <= flow["start_s"] <= 0.2 for flow in found)
    assert found == compare.flows(document(), seed=3) != compare.flows(document(), seed=4)


REFUSED = [
    (
        "count = 2\n",
        'count = 2\ntransport = { kind = "tcp", congestion_control = "compound" }\n',
        "uses compound, which this kernel does not have; allowed: ",
    ),
    ("count = 2\n", 'count = 2\ntransport = { kind = "tcp", ecn = true }\n', "asks for ECN; allowed: ecn = false"),
    (
        "count = 2\n",
        'count = 2\ntraffic = { kind = "transfer", size = "1 MB" }\n',
        "sends transfer over TCP; allowed: bulk without further keys",
    ),
    (
        'kind = "cbr", rate = "1 Mbit/s"',
        'kind = "poisson", rate = "1 Mbit/s"',
        "sends poisson over UDP; allowed: cbr",
    ),
    (
        '[[flows]]\nname = "voice"',
        '[[links]]\nname = "x"\nfrom = "home"\nto = "lan"\nrate = "1 Mbit/s"\ndelay = "1 ms"\n[[flows]]\n'
        'name = "voice"',
        "it has 2 links; allowed: one point-to-point link",
    ),
    (
        "under_test = true",
        'under_test = true\ndevice_queue = "5 p"',
        "it has a `device_queue`; allowed: a link without one",
    ),
    ('"20 Mbit/s"', '"20 Gbit/s"', "it has a rate of 20 Gbit/s; allowed: up to 2 Gbit/s"),
]


@pytest.mark.parametrize(("old", "new", "message"), REFUSED, ids=[message[:30] for *_, message in REFUSED])
def test_what_cannot_run_for_real_is_refused_before_anything_starts(old: str, new: str, message: str) -> None:
    assert old in SCENARIO
    with pytest.raises(sj.SojournError) as refused:
        compare.compare(sj.Network.from_dict(document(SCENARIO.replace(old, new, 1))), ["codel"])
    assert message in str(refused.value)
