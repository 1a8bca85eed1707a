"""The drawn Linux points: the draw, the recorder without its machine, our form of the points, held-out runs."""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shared import Command, script
from sojourn import crosscheck
from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.crosscheck import compare, drawn, heldout, kernels, page, records, text
from sojourn.crosscheck.compare import Outcome

DRAW = records.table(drawn.DRAW)
FIRST = [row for row in DRAW if row["attempt"] == "0"]


@pytest.fixture(scope="module")
def draw() -> ModuleType:
    return script("crosscheck/linux/draw.py")


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    return script("crosscheck/linux/run.py")


@pytest.fixture(scope="module")
def measured() -> ModuleType:
    return script("crosscheck/linux/measured.py")


# The draw.


def test_the_committed_points_are_those_of_the_seed(draw: ModuleType) -> None:
    assert draw.draw() == DRAW


def test_the_draw_has_what_it_must_have() -> None:
    assert len(FIRST) >= 150
    assert min(Counter(row["qdisc"].split()[0] for row in FIRST).values()) >= 15
    assert min(Counter(row["congestion_control"] for row in FIRST).values()) >= 30
    assert len({row["qdisc"].split()[0] for row in FIRST}) == 7
    for row in DRAW:
        longest_ms = max(group.rtt_ms for group in drawn.groups(row["groups"]))
        measured_s = int(row["seconds"]) - int(row["warm_up_s"])
        assert max(15, 100 * longest_ms / 1e3) <= measured_s <= 120
        assert 2 <= float(row["rate_mbit_s"]) <= 100
        assert 5 <= longest_ms <= 200
        assert sum(group.number for group in drawn.groups(row["groups"])) == int(row["flows"]) <= 32
        kinds = {group.control for group in drawn.groups(row["groups"])}
        assert len(kinds) > 1 if row["congestion_control"] == "mix" else kinds == {row["congestion_control"]}


def test_every_part_of_a_dimension_has_one_point() -> None:
    # 168 equal parts of the logarithm: the k-th smallest rate is in the k-th part. Rates are rounded to three digits.
    rates = sorted(float(row["rate_mbit_s"]) for row in FIRST)
    for k, rate in enumerate(rates):
        low, high = (2 * 50 ** (edge / len(rates)) for edge in (k, k + 1))
        assert low * 0.994 <= rate <= high * 1.006


def test_half_of_the_points_are_held_out_and_substitutes_go_with_their_point(draw: ModuleType) -> None:
    assert Counter(row["set"] for row in FIRST) == {"development": len(FIRST) // 2, "held out": len(FIRST) // 2}
    sets = {row["point"]: row["set"] for row in FIRST}
    assert all(row["set"] == sets[row["point"]] for row in DRAW)
    # The set follows from what was drawn, not from the name.
    renamed = FIRST[0] | {"point": "other", "attempt": "2", "set": "?"}
    assert draw.salted(renamed) == draw.salted(FIRST[0])
    assert draw.salted(FIRST[0] | {"flows": "33"}) != draw.salted(FIRST[0])


# The recorder.


def _given(results: Path, repeat: int = 2) -> argparse.Namespace:
    return argparse.Namespace(
        results=results, folder=Path("unused"), kernel="unused", repeat=repeat, only="p00", first=None
    )


def _machine(
    monkeypatch: pytest.MonkeyPatch, recorder: ModuleType, folder: Path, *, too_long: set[str], busy: set[str]
) -> list[str]:
    """Stands for the machine: what it was told, and runs that end badly. The folder has no committed table yet."""
    told: list[str] = []

    def boot(folder: Path, settings: dict[str, Any], **_: Any) -> dict[str, bytes]:
        key = f"{settings['QDISC']} {settings['RATE']} {settings['RUN']}"
        told.append(key)
        if key in too_long:
            raise recorder.TooLongError
        return {"key": key.encode()}

    def evaluate(point: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
        return {"idle_share": 0.04 if files["key"].decode() in busy else 0.5}

    monkeypatch.setattr(recorder, "RECORDED", folder)
    monkeypatch.setattr(recorder, "boot", boot)
    monkeypatch.setattr(recorder, "evaluate", evaluate)
    monkeypatch.setattr(recorder, "image", lambda *_: "a kernel")
    return told


def _key(recorder: ModuleType, place: int, attempt: int, run: int) -> str:
    point = recorder.drawn()[place][attempt]
    return f"{point['qdisc']} {point['rate_mbit_s']}mbit {run}"


def test_first_runs_come_before_second_runs_and_a_recording_goes_on(
    monkeypatch: pytest.MonkeyPatch, recorder: ModuleType, tmp_path: Path
) -> None:
    told = _machine(monkeypatch, recorder, tmp_path, too_long=set(), busy=set())
    results = tmp_path / "drawn.jsonl"
    recorder.record_drawn(_given(results))
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    # p001 to p009, twice.
    assert [(row["point"], row["run"]) for row in rows] == [
        (f"p{k:03d}", run) for run in (1, 2) for k in range(1, 10)
    ]
    kept = results.read_text().splitlines(keepends=True)
    results.write_text("".join(kept[:11]))
    told.clear()
    recorder.record_drawn(_given(results))
    assert told == [_key(recorder, place, 0, 2) for place in range(2, 9)]
    assert len(results.read_text().splitlines()) == 18


def test_an_attempt_that_takes_too_long_is_void_and_its_substitute_is_recorded(
    monkeypatch: pytest.MonkeyPatch, recorder: ModuleType, tmp_path: Path
) -> None:
    # The second run of p001 takes too long, the substitute's machine has no idle time, the next one is good.
    _machine(monkeypatch, recorder, tmp_path, too_long={_key(recorder, 0, 0, 2)}, busy={_key(recorder, 0, 1, 1)})
    results = tmp_path / "drawn.jsonl"
    recorder.record_drawn(_given(results))
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    own = {(row["attempt"], row["run"]): row["void"] for row in rows if row["point"] == "p001"}
    assert {key: bool(void) for key, void in own.items()} == {
        (0, 1): False,
        (0, 2): True,
        (1, 1): True,
        (2, 1): False,
        (2, 2): False,
    }
    table = recorder.drawn_table(recorder.KERNEL)
    recorder.write_drawn_table(table, results)
    with table.open(newline="") as file:
        assert {key for key in drawn._valid(csv.DictReader(file)) if key[0] == "p001"} == {("p001", "2")}
    # Another machine has the table and no results: nothing is recorded again, and nothing is lost from the table.
    text, elsewhere = table.read_text(), tmp_path / "elsewhere.jsonl"
    recorder.record_drawn(_given(elsewhere))
    recorder.write_drawn_table(table, elsewhere)
    assert not elsewhere.exists()
    assert table.read_text() == text


def test_runs_differ_in_when_flows_start(recorder: ModuleType) -> None:
    point = next(attempts[0] for attempts in recorder.drawn() if len(attempts[0]["groups"]) > 1)
    groups = [recorder.settings_of(point, run)["FLOW_GROUPS"] for run in (1, 2, 1)]
    assert groups[0] == groups[2] != groups[1]
    starts = [[float(line.split()[3]) for line in text.splitlines()] for text in groups]
    assert all(0 <= start < 0.06 and abs(start - row[0]) <= 0.01 for row in starts for start in row)
    # Points recorded before have one group that starts at once.
    old = recorder.point("cubic", "pfifo", 20, 20, 4)
    assert recorder.settings_of(old, 1)["FLOW_GROUPS"] == "cubic 4 20 0.0000"


def _report(flows: list[float], mbit_s: float, rtt_us: int, *, server: bool) -> bytes:
    """iperf3's report of ten seconds, a second an interval; each flow has its share."""
    intervals = []
    for second in range(10):
        size = mbit_s * 1e6 / 8
        streams = [
            {"socket": socket, "bytes": share * size, **({} if server else {"rtt": rtt_us, "retransmits": 1})}
            for socket, share in enumerate(flows)
        ]
        # The warm-up is twice as fast.
        factor = 2 if second < 4 else 1
        total = {"start": float(second), "end": second + 1.0, "bytes": factor * size}
        intervals.append({"sum": total, "streams": streams})
    return json.dumps({"intervals": intervals}).encode()


def _files() -> dict[str, bytes]:
    def counters(at: int, sent: int, drops: int, marks: int, back: int) -> str:
        htb = {"kind": "htb", "root": True, "packets": 1}
        codel = {"kind": "codel", "packets": sent, "drops": drops, "ecn_mark": marks}
        band = {"kind": "netem", "packets": 5}
        root = {"kind": "prio", "root": True, "packets": back}
        return f"{1000 + at}.5 {json.dumps([htb, codel])} {json.dumps([band, root])}"

    def protocols(acks: int, data: int, retransmitted: int, ticks: int) -> str:
        parts = []
        for node, segments in (("a", data), ("b", acks)):
            parts.append(
                f"at {node} 1000.5\n"
                f"Tcp: OutSegs RetransSegs MaxConn\nTcp: {segments} {retransmitted} -1\n"
                "TcpExt: TCPTimeouts TCPLossProbes TCPDSACKRecv TCPSpuriousRTOs TCPFullUndo TCPPartialUndo "
                "TCPDSACKUndo TCPLossUndo DelayedACKs\nTcpExt: 1 2 3 4 5 6 7 8 9\n"
                f"cpu  {ticks} 0 {ticks} {3 * ticks} 0 0 0 0 0 0\ncpu0 1 2 3 4\n"
            )
        return "".join(parts)

    pings = "\n".join(f"[{1000.5 + at}] 64 bytes from b: icmp_seq=1 ttl=63 time={20 + at} ms" for at in range(10))
    return {
        "start": b"1000.5\n",
        "client.0.json": _report([0.5, 0.5], 3, 30_000, server=False),
        "client.1.json": _report([1.0], 1, 60_000, server=False),
        "server.0.json": _report([0.5, 0.5], 3, 0, server=True),
        "server.1.json": _report([1.0], 1, 0, server=True),
        "ended.0": b"1010.5\n",
        "ended.1": b"1010.5\n",
        "ping": pings.encode(),
        "counters": "\n".join(
            [counters(0, 0, 1, 0, 10), counters(4, 100, 31, 5, 60), counters(9, 600, 40, 25, 310)]
        ).encode(),
        "protocols": (protocols(0, 0, 0, 10) + protocols(10, 100, 20, 20) + protocols(250, 500, 29, 40)).encode(),
    }


def test_what_a_run_says_is_of_the_measured_time(measured: ModuleType) -> None:
    point = {"warm_up_s": 4, "seconds": 10, "qdisc": "codel limit 1000 ecn", "groups": []}
    row = measured.evaluate(point, _files())
    assert row["goodput_mbit_s"] == 4.0
    assert row["goodput_mbit_s_by_group"] == "3.0000 1.0000"
    # Two flows at 30 ms, one at 60.
    assert (row["tcp_rtt_ms_mean"], row["tcp_rtt_ms_by_group"]) == (40.0, "30.000 60.000")
    # Shares 1.5, 1.5 and 1 of 4.
    assert row["jain_index"] == pytest.approx(16 / (3 * 5.5), abs=1e-5)
    # 24 to 29 ms.
    assert (row["ping_ms_mean"], row["pings"]) == (26.5, 6)
    assert (row["drops_packets"], row["warm_up_drops_packets"]) == (9, 30)
    assert (row["marks_packets"], row["warm_up_marks_packets"]) == (20, 5)
    # The root counts what all bands send.
    assert (row["sent_packets"], row["returned_packets"], row["counted_s"]) == (500, 250, 5.0)
    assert (row["acknowledgements_segments"], row["retransmitted_segments"], row["data_segments"]) == (240, 9, 409)
    assert row["timeouts"] == 0
    # Three ticks in five.
    assert row["idle_share"] == 0.6


def test_groups_are_measured_at_the_same_time(measured: ModuleType) -> None:
    """A group that begins 2 s late has a warm-up of its own, and the last 2 s of its test belong to nobody else."""
    point = {"warm_up_s": 4, "seconds": 10, "qdisc": "codel limit 1000 ecn", "groups": []}
    row = measured.evaluate(point, _files() | {"ended.1": b"1012.5\n"})
    # Of the second group its seconds 2 to 8: two of the warm-up at 2 Mbit/s and four at 1 Mbit/s.
    assert row["goodput_mbit_s_by_group"] == "3.0000 1.3333"


def test_marks_are_found_under_every_disciplines_name_for_them(measured: ModuleType) -> None:
    assert measured.marks({"kind": "codel", "ecn_mark": 3}) == 3
    assert measured.marks({"kind": "red", "marked": 4}) == 4
    assert measured.marks({"kind": "cake", "tins": [{"ecn_mark": 5}]}) == 5
    assert measured.marks({"kind": "pfifo"}) == 0


def test_sockets_become_rows(measured: ModuleType) -> None:
    line = (
        "0 0 10.0.1.2:4{port} 10.0.2.{end}:5203 cubic rtt:25.5/3 cwnd:40 ssthresh:38 bytes_acked:{acked} "
        "pacing_rate 9000bps unacked:39 retrans:0/7 lost:2"
    )
    seen = ["at 1001.75", line.format(port=1, end=3, acked=400), line.format(port=2, end=4, acked=90_000)]
    table = measured.samples({"start": b"1000.5", "sockets": "\n".join(seen).encode()}).splitlines()
    assert table == [
        "t_s,group,port,cwnd_packets,ssthresh_packets,srtt_ms,unacked_packets,lost_packets,retransmitted_packets,"
        "pacing_bit_s",
        "1.250,1,42,40,38,25.5,39,2,7,9000",
    ]


# Our form of the points.


def _entry(**changes: str) -> dict[str, str]:
    return {
        "point": "p900",
        "attempt": "0",
        "set": "development",
        "congestion_control": "mix",
        "groups": "cubic 3 @ 40 ms + bbr 1 @ 100 ms",
        "flows": "4",
        "base_rtt_ms": "40",
        "rate_mbit_s": "9.5",
        "changed_rate_mbit_s": "",
        "qdisc": "fq_codel limit 10240 ecn",
        "ecn": "yes",
        "warm_up_s": "5",
        "seconds": "20",
    } | changes


def _run(number: int, **changes: str) -> dict[str, str]:
    return {
        "point": "p900",
        "attempt": "0",
        "run": str(number),
        "void": "",
        "goodput_mbit_s": "9.0",
        "ping_ms_mean": "41",
        "tcp_rtt_ms_mean": str(60 + number),
        "counted_s": "10",
        "drops_packets": "30",
        "marks_packets": "50",
    } | changes


def _points(entry: dict[str, str], runs: list[dict[str, str]], **more: Any) -> list[compare.Point]:
    return drawn.points(entry["set"], draw=[entry], rows=runs, left_out=more.get("left_out", {}))


def test_a_drawn_point_in_our_form() -> None:
    (point,) = _points(_entry(), [_run(1), _run(2), _run(3)])
    assert point.name == "p900: cubic 3 @ 40 ms + bbr 1 @ 100 ms, 9.5 Mbit/s, fq_codel, ECN"
    # Mean base RTT 55 ms, TCP's 62.
    assert point.theirs["delay"].value == pytest.approx(7.0)
    assert point.theirs["delay"].sd == pytest.approx(1.0)
    assert point.theirs["drops"].value == pytest.approx(3.0)
    assert (point.theirs["drops"].drops, point.theirs["marks"].drops) == (90, 150)
    assert [metric.key for metric in point.metrics] == ["goodput", "delay", "drops", "marks"]
    assert compare.is_too_few(point.metrics[2], point.theirs["drops"])
    bulk = [flow for flow in point.scenario["flows"] if flow["name"] != "ping"]
    assert [flow["transport"]["congestion_control"] for flow in bulk] == ["cubic", "cubic", "cubic", "bbr"]
    assert all(flow["transport"]["ecn"] for flow in bulk)
    # iperf3's first connection after 40 ms and half of the 50 ms in which runs begin, then three round trips of
    # 40 ms; each stream opens a round trip and 9 ms after the one before.
    opens = [flow["start"]["uniform"][0] for flow in bulk[:3]]
    assert opens == ["185000 us", "234000 us", "283000 us"]
    # They send two round trips and 8 ms after the last has opened, 0.5 ms apart.
    assert [flow["traffic"]["after"] for flow in bulk[:3]] == ["186000 us", "137500 us", "89000 us"]
    # iperf3's clock begins with them, as the other group sends at 65 + 5 * 100 + 8 ms.
    assert point.streams_s == pytest.approx(0.371)
    # Half of the base RTT each way, and of the 21 us that hosts take.
    delays = [link["delay"] for link in point.scenario["links"][1:]]
    assert delays == ["20010500 ns", "50010500 ns", "20010500 ns"]
    # htb shapes.
    bottleneck = point.scenario["links"][0]
    assert (bottleneck["rate"], bottleneck["burst"]) == ("9.5 Mbit/s", "1600 B")


def test_iperf3s_clock_begins_with_its_streams() -> None:
    # The link's rate doubles in the middle of what the run measures. iperf3's 15 s begin 0.371 s later, so they have
    # that much less of 9.5 Mbit/s and more of 20: of the full link, 1448 B of 1514 B.
    own_group = {"groups": "cubic 3 @ 40 ms", "flows": "3", "congestion_control": "cubic"}
    entry = _entry(changed_rate_mbit_s="20", qdisc="pfifo limit 100", ecn="no", **own_group)
    (point,) = _points(entry, [_run(1)])
    (run,) = crosscheck._runs(point, 1, 1, 1)
    assert run.streams is not None
    assert run.measured["measured_s"] == run.streams["measured_s"] == 15.0
    own, iperf3 = (point.metrics[0].ours(compare.Run(document)) for document in (run.measured, run.streams))
    assert point.metrics[0].ours(run) == iperf3
    assert iperf3 - own == pytest.approx(0.371 * (20 - 9.5) / 15 * 1448 / 1514, rel=0.1)


def test_ping_is_the_delay_of_schemes_with_one_queue() -> None:
    (point,) = _points(_entry(qdisc="pie limit 1000 noecn", ecn="no"), [_run(1)])
    assert point.theirs["delay"].value == pytest.approx(1.0)
    assert [metric.key for metric in point.metrics] == ["goodput", "delay", "drops"]
    assert point.theirs["delay"].sd is None


@pytest.mark.parametrize(
    ("qdisc", "same"),
    [
        ("pfifo limit 40", "pfifo limit 40p"),
        (
            "red limit 151400 min 22710 max 68130 avpkt 1514 burst 20 probability 0.1 bandwidth 20mbit ecn",
            "red limit 151400B min 22710B max 68130B avpkt 1514B w 0.125 max_p 0.1 ecn",
        ),
        ("codel limit 1000 ecn", "codel preset linux-6.12 limit 1000p ecn"),
        ("codel limit 1000 noecn", "codel preset linux-6.12 limit 1000p"),
        ("pie limit 1000 ecn", "pie preset linux-6.12 limit 1000p tupdate 20ms ecn"),
        ("fq_codel limit 10240 noecn", "fq_codel preset linux-6.12 limit 10240p noecn"),
        ("fq_pie limit 10240 ecn", "fq_pie preset linux-6.12 limit 10240p tupdate 20ms ecn"),
        ("cake bandwidth 9.5mbit besteffort", "cake bandwidth 9500kbit besteffort"),
    ],
)
def test_schemes_of_drawn_points(qdisc: str, same: str) -> None:
    assert core.parse_aqm(drawn.scheme(qdisc)) == core.parse_aqm(same)


def test_every_drawn_point_can_be_read() -> None:
    for entry in DRAW:
        runs = [_run(1, point=entry["point"], attempt=entry["attempt"])]
        (point,) = drawn.points(entry["set"], draw=[entry], rows=runs, left_out={})
        core.load(json.dumps(point.scenario), source=point.name)
        core.parse_aqm(point.scheme)


def test_void_attempts_and_points_without_recordings_are_not_there() -> None:
    entries = [_entry(), _entry(attempt="1", rate_mbit_s="5")]
    rows = [_run(1), _run(2, void="more than 300 s of processor time"), _run(1, attempt="1")]
    (point,) = drawn.points("development", draw=entries, rows=rows, left_out={})
    assert "5 Mbit/s" in point.name
    assert drawn.points("development", draw=entries, rows=[], left_out={}) == []
    assert drawn.points("held out", draw=entries, rows=rows, left_out={}) == []


def test_a_change_of_the_rate() -> None:
    (point,) = _points(_entry(changed_rate_mbit_s="20"), [_run(1)])
    middle = (int(_entry()["warm_up_s"]) + int(_entry()["seconds"])) // 2
    assert point.scenario["changes"] == [{"at": f"{middle} s", "rate": "20 Mbit/s"}]


def test_a_change_of_cakes_rate_is_one_of_its_own_shaper() -> None:
    cake = _entry(changed_rate_mbit_s="20", qdisc="cake bandwidth 9.5mbit besteffort", ecn="no")
    (point,) = _points(cake, [_run(1)])
    bottleneck = point.scenario["links"][0]
    assert (bottleneck["rate"], "burst" in bottleneck) == ("10 Gbit/s", False)
    assert point.scenario["changes"][0]["parameters"] == "bandwidth 20 Mbit/s"
    # 12 s is the middle of 5 to 20 s: 7 s of the 15 s at 9.5 Mbit/s and 8 s at 20, of which flows that have to find
    # out how much more there is do not take all.
    (run,) = crosscheck._runs(point, 1, 1, 1)
    full = (7 * 9.5 + 8 * 20) / 15 * 1448 / 1514
    assert 0.9 * full < point.metrics[0].ours(run) < full


def test_a_point_leaves_its_set_only_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    (point,) = _points(_entry(), [_run(1)], left_out={"p900": "the cable was loose"})
    assert point.no_reference == "the cable was loose"
    for entry, said in (({"point": "p999", "reason": "x"}, "is not drawn"), ({"point": "p001"}, "is missing")):
        monkeypatch.setattr(drawn.tomllib, "loads", lambda _, entry=entry: {"left_out": [entry]})
        with pytest.raises(SojournError, match=said):
            drawn.points("development")


# Held-out runs.


@pytest.fixture
def synthetic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Held-out points that nobody recorded, and a file for their runs. The recorded ones are not touched."""
    entries = [
        _entry(set="held out", rate_mbit_s="2", seconds="30", groups="reno 1 @ 20 ms"),
        _entry(set="held out", point="p901", rate_mbit_s="3", seconds="30", groups="reno 1 @ 20 ms"),
        # A congestion control that we do not have.
        _entry(set="held out", point="p902", groups="illinois 1 @ 20 ms"),
        _entry(point="p903"),
    ]
    # The first agrees in goodput, the second does not; delays never agree; drops are too few.
    runs = [
        _run(k, point=point, goodput_mbit_s=goodput, tcp_rtt_ms_mean="900", marks_packets="0")
        for point, goodput in (("p900", "1.91"), ("p901", "1.91"), ("p902", "9"), ("p903", "9"))
        for k in (1, 2, 3)
    ]
    points = drawn.points

    def synthetic_points(chosen: str) -> list[compare.Point]:
        return points(chosen, draw=entries, rows=runs, left_out={})

    monkeypatch.setattr(drawn, "points", synthetic_points)
    # Another kernel's records are of other points.
    monkeypatch.setattr(kernels, "RECORD", "none.csv")
    file = tmp_path / "linux_held_out.csv"
    monkeypatch.setattr(heldout, "FILE", file)
    for name in ("history", "refuse", "append"):
        function = getattr(heldout, name)
        arguments = (file,)
        monkeypatch.setattr(function, "__defaults__", arguments)
    return file


def _held_out(*options: str) -> int:
    from sojourn.cli import main

    return main(["crosscheck", "linux", "--held-out", *options])


def test_a_held_out_run_prints_shares_and_is_kept(synthetic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _held_out() == 1
    shown = capsys.readouterr()
    (run,) = heldout.history()
    assert (run["recorded_points"], run["compared_points"], run["build"]) == ("3", "2", core.build())
    assert heldout.share(run, "goodput") == (1, 2, 1.0)
    assert heldout.share(run, "delay") == (0, 2, 1.0)
    assert (heldout.share(run, "drops"), run["drops_too_few"]) == ((0, 0, None), "2")
    # A share of 92 % is enough for these, where that is less than the ceiling of 100 % less 2.
    assert "goodput: 1 of 2 points pass (2 %), 50.0 %; ceiling 100.0 % (2 points); 92.0 % must: NO" in shown.out
    assert "run 1 of 5: 2 held-out points compared, 1 not yet" in shown.out
    # Never a point or a family.
    for word in ("p90", "reno", "20 ms", "fq_codel", "1.91", "900"):
        assert word not in shown.out.replace(str(heldout.FILE), "") + shown.err
    assert _held_out("--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["run"] == 2
    assert document["shares"][0] == {"metric": "goodput", "passed": 1, "points": 2, "too_few": 0, "ceiling": 1.0}


def test_a_sixth_run_is_refused(synthetic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(heldout.ALLOWED):
        heldout.append(dict.fromkeys(heldout.COLUMNS, ""))
    before = synthetic.read_bytes()
    assert _held_out() == 2
    said = capsys.readouterr()
    assert "were run 5 times and may be run 5 times" in said.err
    assert said.out == ""
    assert synthetic.read_bytes() == before


def test_held_out_points_are_of_linux_and_recorded(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    for words in (["ns3"], ["all"], ["linux", "--quick"], ["linux", "--live"]):
        done = command("crosscheck", *words, "--held-out")
        assert (done.returncode, done.stdout) == (2, "")
        assert "only Linux has held-out points" in done.stderr
    monkeypatch.setattr(drawn, "points", lambda _: [])
    with pytest.raises(SojournError, match="no held-out point is recorded yet"):
        crosscheck.held_out()


def test_a_comparison_runs_every_recorded_development_point_and_no_held_out_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = records.table
    rows = [_run(1, point=row["point"]) for row in FIRST]
    monkeypatch.setattr(records, "table", lambda name: rows if name == drawn.RECORD else table(name))
    sets = (drawn.DEVELOPMENT, drawn.HELD_OUT)
    names = {point.name.split(":")[0] for point in crosscheck.POINTS["linux"]() if point.group in sets}
    assert names == {row["point"] for row in FIRST if row["set"] == "development"}


def test_the_page_has_the_history_of_held_out_runs(synthetic: Path) -> None:
    assert "have not been compared yet" in page.page([Outcome("linux", ())])
    row = dict.fromkeys(heldout.COLUMNS, "") | {"date": "2026-12-01", "build": "0.1.0+x", "compared_points": "70"}
    row |= {"goodput_passed": "63", "goodput_points": "70", "goodput_ceiling": "0.9857"}
    heldout.append(row)
    made = page.page([Outcome("linux", ())])
    assert "| 1 | 2026-12-01 | 0.1.0+x | 70 | 90.0 % of 70 (98.6 %) | – | – | – |" in made


def test_the_page_has_what_new_development_points_showed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "looks.csv"
    monkeypatch.setattr(heldout, "FIRST_LOOKS", file)
    assert "when they were new" not in page.page([Outcome("linux", ())])
    row = dict.fromkeys(heldout.COLUMNS, "") | {"date": "2026-12-01", "build": "0.1.0+x", "compared_points": "9"}
    heldout.append(row | {"drops_passed": "3", "drops_points": "4"}, file)
    made = page.page([Outcome("linux", ())])
    assert "## Development points of Linux when they were new" in made
    assert "| 1 | 2026-12-01 | 0.1.0+x | 9 | – | – | 75.0 % of 4 (–) | – |" in made


def test_the_committed_file_of_held_out_runs_is_not_too_long() -> None:
    assert len(heldout.history()) <= heldout.ALLOWED
    assert text.percent(None) == "–"
