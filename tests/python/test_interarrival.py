"""``sojourn papers interarrival``: the mode of the spacing of arrivals at a FIFO."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn.cli import main

SCENARIO = """
name = "two"
duration = "5 s"

[[links]]
name = "a"
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "1 ms"
queue = "codel"
under_test = true

[[flows]]
name = "steady"
from = "a"
to = "b"
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "1.5 Mbit/s", packet_size = "1400 B" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    file = tmp_path / "two.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return str(file)


def test_the_mode_of_a_constant_bit_rate(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "interarrival", scenario, "--replicates", "2", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    # 1400 B at 1.5 Mbit/s are 11200/1500 = 7.467 ms: 7 ms rounded, and in the bin from 7.46 to 7.47 ms.
    assert found["scenario"] == "two"
    assert [one["queue"] for one in found["queues"]] == ["all", "a->b"]
    for one in found["queues"]:
        assert (one["mode_ms"], one["runs"], one["of"]) == (7.0, 2, 2)
        assert one["fine_ms"] == pytest.approx(7.465)
        # 5 s / 7.467 ms = 669.6
        assert one["arrivals_packets"] == 669


def test_every_scenario_has_a_table(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    # A packet of 1000 B has 8000/1500 = 5.333 ms.
    sets = ["--set", "flows.steady.traffic.packet_size=1000 B", "--replicates", "1", "--queues", "0"]
    assert main(["papers", "interarrival", scenario, scenario, *sets]) == 0
    printed = capsys.readouterr().out
    assert printed.count("two, pfifo limit 2000p, 1 replications") == 2
    assert [line.split()[2:] for line in printed.splitlines() if line.startswith("all")] == [
        ["5", "1", "of", "1", "5.335"]
    ] * 2
    assert printed.count("and 1 queues more") == 2


def test_bad_input_is_refused(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "interarrival", scenario, "--fifo", "pfifoo"]) == 2
    assert 'unknown algorithm "pfifoo"' in capsys.readouterr().err
    assert main(["papers", "interarrival", "nowhere"]) == 2
    assert "there is no scenario 'nowhere'" in capsys.readouterr().err
