"""Rate changes on Linux and here: settling and peak by hand, the recorder without its machine, our points."""

from __future__ import annotations

import json
import math
from types import ModuleType

import numpy as np
import pytest

from shared import script
from sojourn.base import core
from sojourn.crosscheck import compare, varying
from sojourn.crosscheck.compare import Run


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    return script("crosscheck/linux/varying.py")


def test_settling_by_hand() -> None:
    # The mean of a second with n values of 50 and 10 - n of 10 is 10 + 4 n: within 20 % of 10 for n = 0 alone.
    assert varying.settling(np.array([50.0] * 10 + [10.0] * 190)) == pytest.approx(2.0)
    # An excursion from 12 to 12.1 s: the first second after it ends at 13.1 s.
    late = np.full(200, 10.0)
    late[120] = 50.0
    assert varying.settling(late) == pytest.approx(13.1)
    # Of one value in ten 28 is 1.8 above the others, less than 20 %.
    late[120] = 28.0
    assert varying.settling(late) == pytest.approx(1.0)
    # It rises until the end: the last 5 s are on average 175.5, the last second 195.5, 11 % more. 20 % less is 140.4;
    # the mean of the second that ends with value number n is n - 4.5, so n = 145, at 14.5 s.
    assert varying.settling(np.arange(1.0, 201.0)) == pytest.approx(14.5)
    # It is never near.
    assert varying.settling(np.array([1.0] * 195 + [100.0] * 5)) == pytest.approx(20.0)


def test_what_was_not_seen_does_not_count() -> None:
    values = np.array([50.0] * 10 + [10.0] * 190)
    values[[3, 7, 50]] = math.nan
    assert varying.settling(values) == pytest.approx(2.0)
    assert varying.peak(values) == 50.0


def test_the_recorder_sorts_echoes_by_when_they_left_the_queue(recorder: ModuleType) -> None:
    # Changes at 100 s and 120 s. Echoes come back 50 ms after they leave: at 100.04 s from the time before; at 100.06
    # and 100.1 s from the first 100 ms, with 10 and 20 ms of queue; at 120.3 s from the third of the next phase.
    ping = b"".join(
        b"[%.6f] 64 bytes from 10.0.2.2: icmp_seq=1 ttl=63 time=%.1f ms\n" % one
        for one in ((100.04, 99.0), (100.06, 60.0), (100.1, 70.0), (120.3, 130.0))
    )
    rows = recorder.phases("pie", {"changes": b"100.0 100mbit\n120.0 10mbit\n", "ping": ping})
    assert [row["rate_mbit_s"] for row in rows] == ["100", "10"]
    first, second = (row["delay_ms"].split(" ") for row in rows)
    assert len(first) == len(second) == 200
    assert (first[0], first[1], second[2]) == ("15.0", "-", "80.0")


def test_the_recorder_reads_the_flows_sockets(recorder: ModuleType) -> None:
    # Two flows and the control connection: 60 and 70 ms less the base RTT of 50.
    lines = b"at 100.31\nESTAB 0 0 cubic rtt:60.0/1.0 bytes_acked:90000 x\n x rtt:70.0/2.0 bytes_acked:80000 x\n"
    lines += b" x rtt:999.0/2.0 bytes_acked:300 x\n"
    rows = recorder.phases("cake", {"changes": b"100.0 100mbit\n", "sockets": lines})
    assert rows[0]["delay_ms"].split(" ")[3] == "15.0"


def test_the_points_are_those_of_the_recorder(recorder: ModuleType) -> None:
    assert (recorder.FLOWS, recorder.RTT_MS, recorder.RATES) == (varying.FLOWS, varying.RTT_MS, varying.RATES)
    assert (recorder.TURN_S, recorder.CHANGES) == (varying.TURN_S, varying.CHANGES)
    points = varying.points()
    assert {point.name.rsplit(" ", 1)[1] for point in points} <= set(recorder.SCHEMES)
    for point in points:
        # Five changes to each of the rates in a run of Linux; CAKE's last phase has no end.
        assert all(theirs.runs >= 4 for theirs in point.theirs.values())
        core.load(json.dumps(point.scenario), source=point.name)


def test_a_full_tail_drop_queue_is_as_long_as_its_limit_says() -> None:
    # 417 packets of 1514 B take 505 ms at 10 Mbit/s. An
    # echo waits for 416 of them; the highest mean of 100 ms lies within 3 % of that. After a change to 100 Mbit/s the
    # queue of 0.5 s is gone in 50 ms, so echoes of the first 100 ms have 0 to 505 ms.
    scenario = varying.scenario("pfifo")
    short = {**scenario, "duration": "61 s", "changes": scenario["changes"][:2]}
    loaded = core.load(json.dumps(short), source="test")
    tasks = [{"scheme": core.parse_aqm("pfifo limit 417p"), "seed": 1, "replication": 0, "series": "100 ms"}]
    (document,) = core.run_many(loaded, tasks, jobs=1)
    found = varying.phases(Run(document), "pfifo")
    assert [rate for rate, _ in found[:2]] == [100, 10]
    assert all(bins.size == 200 for _, bins in found[:2])
    assert varying.peak(found[1][1]) == pytest.approx(505.0, rel=0.03)
    assert 100.0 < found[0][1][0] < 505.0
    # Full again within a second, as 90 Mbit/s more arrive than leave.
    assert float(np.nanmax(found[1][1][:10])) > 450.0


def test_the_comparison_notices_a_wrong_limit() -> None:
    (point,) = [point for point in varying.points() if point.name.endswith("pfifo")]
    metric = next(metric for metric in point.metrics if metric.key == "peak 10")
    theirs = point.theirs[metric.key]
    # Linux's own value is that of 417 packets; 300 would be 363 ms.
    assert abs(505.0 - theirs.value) <= metric.tolerance(theirs.value)
    assert abs(363.0 - theirs.value) > metric.tolerance(theirs.value)
    assert compare.is_too_few(metric, theirs) is False


def test_a_smoothed_rtt_is_that_of_the_middle_of_its_interval() -> None:
    # The delay falls by 1 ms in 10 ms from a change on, and the series is of instants 100 ms apart. 50 ms after the
    # change it is 95 ms, 150 ms after it 85 ms, if the change is 50 ms before a point.
    times = np.arange(1, 10 * (varying.TURN_S * (varying.CHANGES + 1) + 1)) / 10
    change = next(one for one in varying.scenario("cake")["changes"])
    since_s = times - float(change["at"].split()[0]) / 1000
    values = [varying.RTT_MS + max(0.0, 100 - t * 100) for t in since_s]
    series = {"name": "srtt_ms:bulk0", "t_s": times.tolist(), "value": values}
    rate, delays = varying.phases(Run({"series": [series]}), "cake")[0]
    assert rate == varying.RATES[1]
    assert delays[:2] == pytest.approx([95.0, 85.0])
    assert len(delays) == varying.TURN_S * 10
