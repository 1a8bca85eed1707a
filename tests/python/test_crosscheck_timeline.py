"""Timelines of single flows: Linux's samples, our runs, the command."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from crosscheck import drawn, records, timeline
from shared import Command

HEAD = (
    "t_s,group,port,cwnd_packets,ssthresh_packets,srtt_ms,unacked_packets,lost_packets,retransmitted_packets,"
    "pacing_bit_s\n"
)


@pytest.fixture(scope="module")
def reno() -> timeline.Timeline:
    (one,) = timeline.timelines(["p085"])
    return one


def test_samples_are_read_by_flow_and_what_ss_did_not_show_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "p085.csv.gz"
    rows = "0.1,0,4001,10,,25.5,10,,,9000\n0.1,1,4000,20,,30,20,,,\n0.2,0,4001,12,8,26,12,,,9000\n"
    file.write_bytes(gzip.compress((HEAD + rows).encode()))
    found = timeline.samples(file)
    assert sorted(found) == [(0, 4001), (1, 4000)]
    assert found[0, 4001]["cwnd_packets"] == [(0.1, 10.0), (0.2, 12.0)]
    assert found[0, 4001]["ssthresh_packets"] == [(0.2, 8.0)]


def test_means_and_deviations_leave_the_warm_up_out() -> None:
    line = [(1.0, 99.0), (5.0, 99.0), (6.0, 2.0), (7.0, 4.0), (8.0, 6.0)]
    # Of 2, 4 and 6: the mean is 4, the variance (4 + 0 + 4) / 2.
    assert (timeline.mean(line, 5.0), timeline.spread(line, 5.0)) == (4.0, 2.0)
    assert math.isnan(timeline.mean(line, 8.0))
    assert math.isnan(timeline.spread(line, 7.0))


def test_every_flow_of_every_sampled_point_has_both_sides() -> None:
    entries = {(row["point"], row["attempt"]): row for row in records.table(drawn.DRAW)}
    for key in timeline.available():
        assert entries[key, "0"]["set"] == drawn.DEVELOPMENT
        sampled = timeline.samples(timeline.SAMPLES / f"{key}.csv.gz")
        assert len(sampled) == int(entries[key, "0"]["flows"])
        assert all(len(lines["cwnd_packets"]) > 100 for lines in sampled.values())


def test_one_reno_flow_under_codel_follows_linux(reno: timeline.Timeline) -> None:
    (flow,) = reno.flows
    assert len(flow.ours) == timeline.REPLICATIONS
    assert reno.changed_at_s == 23.0
    (row,) = timeline.summary(reno)
    for quantity, share in (("cwnd_packets_mean", 0.03), ("cwnd_packets_sd", 0.1), ("srtt_ms_mean", 0.02)):
        assert row[f"ours_{quantity}"] == pytest.approx(row[f"linux_{quantity}"], rel=share)
    assert set(row) == set(timeline.COLUMNS)
    # Slow start ends at the same thresholds.
    for line in (flow.theirs, *flow.ours):
        assert {36.0, 18.0} <= {value for t_s, value in line["ssthresh_packets"] if t_s < 2}


def test_the_picture_names_both_sides_and_both_panels(reno: timeline.Timeline) -> None:
    svg = timeline.draw(reno).svg()
    for text in ("Linux 6.1", "ours", "reno, base RTT 25.1 ms", "window (packets)", "smoothed RTT (ms)"):
        assert text in svg


def test_the_command_draws_a_point_and_prints_its_means(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "drawn"
    out = command("crosscheck", "linux", "--timelines", str(folder), "--point", "p085", "--json").stdout
    (row,) = json.loads(out)
    assert (row["point"], row["linux_srtt_ms_mean"]) == ("p085", pytest.approx(28.2, abs=0.1))
    assert (folder / "p085.png").read_bytes().startswith(b"\x89PNG")
    assert command("crosscheck", "linux", "--timelines", str(folder), "--point", "p085").returncode == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["linux", "--point", "p085"], "use it with --timelines FOLDER"),
        (["ns3", "--timelines", "x"], "only Linux has samples of single flows"),
        (["linux", "--timelines", "x", "--point", "p001"], "unknown point `p001`"),
    ],
)
def test_what_timelines_refuse(command: Command, words: list[str], message: str) -> None:
    done = command("crosscheck", *words)
    assert done.returncode == 2
    assert message in done.stderr
