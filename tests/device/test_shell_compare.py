"""``sojourn compare --world real``: a scenario's flows on the kernel's own TCP and UDP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.base import core
from sojourn.base.core import Document
from sojourn.plan import execute, expand, loads, runner
from sojourn.plan.identity import Run
from sojourn.plan.store import Store
from sojourn.real.shell import carry, doctor, executor, flows
from sojourn.real.shell.outcome import Outcome

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
    return core.load(text, source="test")


@pytest.mark.usefixtures("namespaces")
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
    assert (
        'settings that the scenario\'s flows do not have: recovery = "rack", tail_loss_probe = true, ' in done.stdout
    )
    results = sj.Results.read(tmp_path / "out")
    assert results.meta["world"]["kind"] == "real"
    goodput = results.groups.set_index("group")["goodput_bit_s"]
    # 1448 B of every 1500 B of IP are payload. What waited in the queue when the measurement began counts, too: 100
    # packets of 3 s, 2 %. Times are the kernel's, so a late program does not count more.
    assert all(0 < value <= 20e6 * 1448 / 1500 * 1.02 + 1e5 for value in goodput["bulk"])
    # What the program could not send in time it sends at once: of the 4 s, at most, in the measured 3 s.
    assert all(0 < value <= 4e6 / 3 for value in goodput["voice"])
    # Two flows of a group and one of the other, in each run.
    assert len(results.flows) == 2 * 3
    page = (tmp_path / "out/report.html").read_text()
    assert "of real packets, 2 runs" in page
    assert "Lateness, codel, replication 0" in page


def canonical(text: str = SCENARIO) -> Document:
    return sj.Network.from_dict(document(text)).canonical()


def test_flows_of_a_scenario_become_flows_of_the_hosts() -> None:
    found = flows.flows(canonical(), seed=3)
    assert [flow["name"] for flow in found] == ["bulk[0]", "bulk[1]", "voice[0]"]
    assert [(flow["sender"], flow["receiver"]) for flow in found] == [("server", "client")] * 2 + [
        ("client", "server")
    ]
    assert [flow["transport"] for flow in found] == ["tcp", "tcp", "udp"]
    assert found == flows.flows(canonical(), seed=3) != flows.flows(canonical(), seed=4)
    # The starts are those of the simulation, in each replication.
    simulated = sj.run(sj.Network.from_dict(document()), replicates=2, seed=3).flows
    for replication in (0, 1):
        own = simulated[simulated["replication"] == replication].set_index("flow")["flow_start_s"]
        for flow in flows.flows(canonical(), seed=3, replication=replication)[:2]:
            assert own[flow["name"]] == pytest.approx(flow["start_ns"] / 1e9, abs=1e-9)


#: Every kind of traffic that applications have, over a link that does not fill.
KINDS = """
name = "kinds"
duration = "4 s"
warm_up = "1 s"
[[links]]
name = "access"
from = "net"
to = "home"
rate = "50 Mbit/s"
delay = "10 ms"
queue = "pfifo limit 1000p"
under_test = true
[[flows]]
name = "web"
from = "net"
to = "home"
traffic = { kind = "web", html = "20 kB", objects = 5, object_size = "10 kB", pause = "100 ms" }
[[flows]]
name = "video"
from = "net"
to = "home"
traffic = { kind = "video", segment = "1 s" }
[[flows]]
name = "asked"
from = "home"
to = "net"
traffic = { kind = "request_response", response_size = "10 kB", persistent = false }
[[flows]]
name = "files"
from = "net"
to = "home"
count = 5
start = { uniform = ["0 s", "2 s"] }
traffic = { kind = "transfer", size = "50 kB" }
[[flows]]
name = "call"
from = "net"
to = "home"
transport = { kind = "udp" }
traffic = { kind = "voip" }
[[flows]]
name = "game"
from = "home"
to = "net"
transport = { kind = "udp" }
traffic = { kind = "gaming" }
[[flows]]
name = "bursts"
from = "net"
to = "home"
transport = { kind = "udp" }
traffic = { kind = "on_off", rate = "1 Mbit/s", packet_size = "500 B", on = "1 s", off = "200 ms" }
[[flows]]
name = "telemetry"
from = "home"
to = "net"
traffic = { kind = "poisson", packet_size = "200 B", packets_per_second = 50 }
"""


@pytest.mark.usefixtures("namespaces")
def test_every_kind_of_traffic_is_measured_as_the_simulator_measures() -> None:
    scenario = canonical(KINDS)
    outcome, _, report = carry.carry(scenario, seed=1, replication=0)
    simulated = sj.run(sj.Network.from_dict(document(KINDS)), seed=1)
    groups = {group["name"]: group["metrics"] for group in report["groups"]}
    expected = simulated.groups.set_index("group")
    # The same metrics of applications, by the same code. A late machine may complete none in the time.
    for name, metric, least in (
        ("web", "page_load_s_mean", 0.04),
        ("asked", "response_s_mean", 0.04),
        ("video", "video_startup_s", 0.04),
        ("files", "flow_completion_s_mean", 0.04),
        ("call", "voip_mouth_to_ear_ms_mean", 33.75),
        ("call", "one_way_delay_ms_mean", 10.0),
        ("game", "one_way_delay_ms_mean", 10.0),
        ("bursts", "one_way_delay_ms_p99", 10.0),
    ):
        assert expected.loc[name, metric] > 0
        # Two round trips of 20 ms, or one way of 10 ms; with frame and look-ahead of G.711, 23.75 ms.
        assert groups[name][metric] >= least, (name, metric)
    assert groups["files"]["flows_started"] == 5
    assert groups["game"]["goodput_bit_s"] > 0
    assert groups["telemetry"]["goodput_bit_s"] > 0
    # Nothing is lost: the queue holds a second.
    assert groups["call"]["goodput_bit_s"] > 0
    assert outcome.ways["down"].metrics["drops_packets"] == 0
    assert {name for group in groups.values() for name in group} <= {
        *simulated.groups.columns,
        "retransmissions_segments",
    }


PLAN = """
name = "precise"
world = "real"
schemes = ["codel", "pfifo limit 100p"]
precision = { metric = "goodput_bit_s", within = "90 %", floor = 2, ceiling = 3 }
[scenario]
""" + SCENARIO.replace("[[links]]", "[[scenario.links]]").replace("[[flows]]", "[[scenario.flows]]").replace(
    'duration = "4 s"', 'duration = "2 s"'
)


@pytest.mark.usefixtures("namespaces")
def test_a_plan_on_real_packets_meets_its_goals_and_continues(tmp_path: Path) -> None:
    found = loads(PLAN)
    assert found.world == "real"
    with_limit = execute.run(found, tmp_path / "store", max_runs=1)
    assert (with_limit.ran, with_limit.stopped) == (1, True)
    outcome = execute.run(found, tmp_path / "store")
    assert outcome.found == 1
    assert not outcome.failures
    # Two of each scheme, and a quarter more after the goal is met, rounded up, is the ceiling.
    assert all(state.done == 3 for state in outcome.cells)
    runs = Store.open(tmp_path / "store").read("runs", columns=["lateness_ms_mean", "marked_late_runs"]).to_pylist()
    assert len(runs) == 6
    assert all(run["lateness_ms_mean"] >= 0 and run["marked_late_runs"] in (0, 1) for run in runs)
    # A simulated run of the same scenario is another run.
    assert execute.run(loads(PLAN.replace('"real"', '"simulated"')), tmp_path / "other").found == 0
    cells = expand.cells(found)
    other = expand.cells(loads(PLAN.replace('"real"', '"simulated"')))
    assert {cell.run(0).id("x") for cell in cells}.isdisjoint(cell.run(0).id("x") for cell in other)


@pytest.mark.usefixtures("namespaces")
def test_a_late_run_is_repeated_and_marked_at_the_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[int] = []

    def late_twice(_: Document, *, replication: int, **__: object) -> tuple[Outcome | None, str | None, Document]:
        tried.append(replication)
        why = "down lost 3 % of its rate" if replication == 1 or len(tried) < 3 else None
        return None, why, {"metrics": {}}

    monkeypatch.setattr(executor, "carry", late_twice)
    monkeypatch.delenv("SOJOURN_REAL_ATTEMPTS", raising=False)
    packets = executor.Packets()
    try:
        good = packets._run(canonical(), Run("x", "codel", 3, 0, None, "real"))
        bad = packets._run(canonical(), Run("x", "codel", 3, 1, None, "real"))
    finally:
        packets.close()
    # Two late attempts, then a good one; three late ones.
    assert good["metrics"] == {"marked_late_runs": 0.0, "repeated_runs": 2.0}
    assert bad["metrics"] == {"marked_late_runs": 1.0, "repeated_runs": 2.0}
    assert tried == [0, 0, 0, 1, 1, 1]
    assert "it stays marked after 3 attempts" in capsys.readouterr().err


def test_a_rate_above_what_the_machine_forwards_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "forwarded_bit_s", lambda: 300e6)
    flows.check_machine([canonical(SCENARIO.replace('"20 Mbit/s"', '"300 Mbit/s"'))])
    with pytest.raises(sj.SojournError, match=r"cannot carry a link of 400 Mbit/s: it forwards 300 Mbit/s, as"):
        flows.check_machine([canonical(SCENARIO.replace('"20 Mbit/s"', '"400 Mbit/s"'))])


@pytest.mark.usefixtures("namespaces")
def test_flows_with_ecn_are_marked() -> None:
    text = SCENARIO.replace("count = 2\n", 'count = 2\ntransport = { kind = "tcp", ecn = true }\n')
    network = sj.Network.from_dict(document(text))
    results = runner.compare(network, ["codel ecn target 1ms"], replicates=1, world="real")
    [run] = results.runs.to_dict("records")
    # Two bulk flows fill the link, so CoDel signals. It drops only what cannot be marked, and data can.
    assert run["mark_ratio"] > 0
    assert run["loss_ratio"] == 0


REFUSED = [
    (
        "count = 2\n",
        'count = 2\ntransport = { kind = "tcp", congestion_control = "compound" }\n',
        "uses compound, which this kernel does not have; allowed: ",
    ),
    (
        "count = 2\n",
        'count = 2\ntransport = { kind = "tcp", ecn = true, ect = 1 }\n',
        "uses ECN with ect 1; allowed: 0, as this kernel's TCP",
    ),
    (
        '[[flows]]\nname = "voice"',
        '[[flows]]\nname = "other"\nfrom = "net"\nto = "home"\ntransport = { kind = "tcp", ecn = true }\n'
        '[[flows]]\nname = "voice"',
        "flow 'other' asks for ECN and flow 'bulk' does not; allowed: the same for all",
    ),
    (
        "count = 2\n",
        'count = 2\ntraffic = { kind = "bulk", after = "1 s" }\n',
        "has bulk traffic with after; allowed: bulk without keys",
    ),
    (
        'packet_size = "500 B"',
        'packet_size = "5 B"',
        "has a packet_size of 5 B; allowed: 12 B to 1472 B",
    ),
    ("count = 2\n", "count = 600\n", "it has 601 flows; allowed: up to 500, which one program carries"),
    ('duration = "4 s"', 'duration = "1.2 s"', "the measured time, 0.2 s, is too short for real packets"),
    ("under_test = true", "under_test = false", "no queue of the link is under test"),
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
        runner.compare(sj.Network.from_dict(document(SCENARIO.replace(old, new, 1))), ["codel"], world="real")
    assert message in str(refused.value)
