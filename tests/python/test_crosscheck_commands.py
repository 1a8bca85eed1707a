"""What `advise` and the atlas say, beside Linux: points, records, recorders' settings."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from shared import script
from sojourn import crosscheck
from sojourn.base import core
from sojourn.crosscheck import advised, findings, records
from sojourn.studies.advise import answer
from sojourn.studies.advise.search import PLATFORMS


def recorder(name: str) -> ModuleType:
    return script(f"crosscheck/linux/{name}.py")


def test_the_machine_has_the_line_and_the_commands_of_the_advice() -> None:
    told = recorder("advice").settings(advised.HOUSEHOLDS[1], advised.RECOMMENDED, 1)
    # VDSL: 64 of 65 B of 50 and 10 Mbit/s; 200 ms of the line's rate in packets of 1500 B are 833 and 167.
    assert told["LINE"].split("\n") == [
        "49230769bit 833 overhead 16 linklayer ethernet",
        "9846154bit 167 overhead 16 linklayer ethernet",
    ]
    assert told["MTU"] == 1492
    assert told["LINE_IS"] == "netem"
    household = advised.HOUSEHOLDS[1]
    assert told["COMMANDS"].split("\n") == answer.commands(household.line, "linux", household.shaper)
    flows = [line.split()[:2] for line in told["FLOWS"].split("\n")]
    # Four downloads and two uploads, half of them with each server.
    assert flows == [["down", "1"], ["down", "1"], ["down", "2"], ["down", "2"], ["up", "1"], ["up", "2"]]
    assert (told["SECONDS_WARM_UP"], told["SECONDS_ALL"]) == (10, 40)
    assert recorder("advice").settings(household, advised.TODAY, 1)["COMMANDS"] == ""


def test_households_have_schemes_that_their_gateway_has() -> None:
    for household in advised.HOUSEHOLDS:
        assert household.shaper.scheme in PLATFORMS[household.platform]


def test_the_machine_has_the_network_of_the_atlas() -> None:
    told = {
        finding.name: recorder("findings").settings(finding, finding.schemes[0], 1) for finding in findings.FINDINGS
    }
    # 27 flows in four groups, as iperf3 opens the streams of a group together.
    assert [int(line.split()[1]) for line in told["fq_pie"]["FLOW_GROUPS"].split("\n")] == [7, 7, 7, 6]
    assert told["transfer"]["TRANSFER_BYTES"] == 72_400
    # Three quarters of 20 Mbit/s, of which 1472 of 1500 B are payload.
    assert told["flood"]["FLOW_GROUPS"].split("\n")[1].endswith("-u -b 14.72M -l 1472")
    for finding in findings.FINDINGS:
        document = core.load(json.dumps(findings.scenario(finding)), source=finding.name)
        assert document["links"][-1]["rate"] == "20 Mbit/s"
    (flows,) = [n["count"] for n in findings.scenario(findings.FINDINGS[0])["nodes"]]
    assert flows == 27


@pytest.mark.parametrize("module", [advised, findings], ids=["advice", "atlas"])
def test_every_recorded_row_becomes_part_of_a_point(module: ModuleType) -> None:
    rows = records.table(module.RECORD)
    points = module.points()
    assert rows
    assert sum(next(iter(point.theirs.values())).runs for point in points) == len(rows)
    for point in points:
        assert point.group == module.GROUP
        assert set(point.theirs) == {metric.key for metric in point.metrics}
        core.load(json.dumps(point.scenario), source=point.name)


def test_a_promise_is_judged_within_20_percent() -> None:
    household = advised.HOUSEHOLDS[0]
    row = dict.fromkeys(("latency_p99_ms", "latency_mean_ms", "down_mbit_s", "up_mbit_s"), "50")
    (point,) = advised.points([row | {"household": household.name, "setting": advised.RECOMMENDED, "line": "netem"}])
    latency = point.metrics[0]
    assert latency.tolerance(50.0) == pytest.approx(10.0)
    # The ping's 99th percentile less the base RTT of 15 ms.
    run = crosscheck.Run({"groups": [{"name": "ping", "metrics": {"rtt_ms_p99": 75.0, "rtt_ms_mean": 40.0}}]})
    assert latency.ours(run) == 60.0
    assert crosscheck.row(point, latency, [run] * 3).passes
    assert not crosscheck.row(point, point.metrics[1], [run] * 3).passes


def test_the_line_of_the_machine_is_a_bucket() -> None:
    row = dict.fromkeys(("latency_p99_ms", "latency_mean_ms", "down_mbit_s", "up_mbit_s"), "50")
    (point,) = advised.points([row | {"household": "vdsl", "setting": advised.TODAY, "line": "htb"}])
    links = {link["name"]: link for link in advised.with_the_machines_line(point).scenario["links"]}
    assert links["line"]["burst"] == {"down": "1600 B", "up": "1600 B"}
    assert all("burst" not in link for link in point.scenario["links"])
    # htb is the line that ours is not like.
    assert not advised.is_like_the_machines(point)
    (other,) = advised.points([row | {"household": "vdsl", "setting": advised.TODAY, "line": "netem"}])
    assert advised.is_like_the_machines(other)
    assert other.name != point.name


def test_recordings_of_commands_have_no_quick_form() -> None:
    with pytest.raises(core.SojournError, match="no --quick"):
        crosscheck.check("advice", quick=True)


def test_the_flows_of_a_household_begin_as_iperf3s() -> None:
    row = next(row for row in records.table(advised.RECORD) if row["household"] == "fibre")
    (point,) = advised.points([row])
    flows = {flow["name"]: flow for flow in point.scenario["flows"]}
    # 40 ms until iperf3 opens its control connection, three round trips of that, one for the stream's connection, one
    # and 8 ms until it sends: at 120 ms of base RTT from 400 ms on, and 248 ms later.
    assert flows["download_far"]["start"] == {"uniform": ["400000 us", "1400000 us"]}
    assert flows["download_far"]["traffic"] == {"kind": "bulk", "after": "248000 us", "first": "37 B"}
    # At 15 ms: 40 + 3 x 15, and 2 x 15 + 8.
    assert flows["upload_near"]["start"] == {"uniform": ["85000 us", "1085000 us"]}
    assert flows["upload_near"]["traffic"]["after"] == "38000 us"
    assert flows["ping"]["traffic"]["kind"] == "cbr"
