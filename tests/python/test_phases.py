"""Statistics of phases in results, tables, files and reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sojourn as sj
from shared import Command
from sojourn import SojournError
from sojourn.results import text
from sojourn.results.results import Results

NET = (
    sj.Network(name="turns", duration=sj.s(9), warm_up=sj.s(1))
    .link(
        name="l",
        from_="a",
        to="b",
        rate=sj.mbit_s(10),
        delay=sj.ms(10),
        queue="pfifo limit 20p",
        under_test=True,
    )
    .flow(name="bulk", from_="a", to="b", count=2, start=sj.draw.uniform(sj.ms(0), sj.ms(100)))
    .flow(name="call", from_="a", to="b", transport=sj.udp(), traffic=sj.cbr(rate="200 kbit/s", packet_size="500 B"))
    .change(at=sj.s(3), every=sj.s(4), rate=sj.mbit_s(2), phase="slow")
    .change(at=sj.s(5), every=sj.s(4), rate=sj.mbit_s(10), phase="fast")
)
SCHEMES = ["pfifo limit 20p", "codel"]


@pytest.fixture(scope="module")
def results() -> Results:
    return sj.compare(NET, SCHEMES, replicates=3, seed=1)


def test_each_phase_has_its_own_results(results: Results) -> None:
    assert results.phase_names == ("start", "slow", "fast")
    frame = results.phases
    own = frame[(frame["scheme"] == "codel") & (frame["replication"] == 0) & (frame["group"] == "")]
    times = own.loc[own["occurrence"] > 0, ["phase", "occurrence", "from_s", "to_s"]].to_numpy().tolist()
    assert times == [["start", 1, 1, 3], ["slow", 1, 3, 5], ["fast", 1, 5, 7], ["slow", 2, 7, 9]]
    slow = results.estimate("codel", "goodput_bit_s", phase="slow")
    assert slow.replications == 3
    assert slow.half_width is not None
    assert 1.5e6 < slow.mean < 2e6
    # Groups of flows add up, and so do phases weighted by their time.
    both = [results.values("codel", "goodput_bit_s", group, phase="slow") for group in ("bulk", "call")]
    assert np.allclose(sum(both), results.values("codel", "goodput_bit_s", phase="slow"))
    parts = [
        results.values("codel", "goodput_bit_s", phase=name) * results.values("codel", "measured_s", phase=name)
        for name in results.phase_names
    ]
    assert np.allclose(sum(parts), 8.0 * results.values("codel", "goodput_bit_s"))
    paired = results.difference("codel", "sojourn_ms_mean", SCHEMES[0], phase="slow")
    assert paired.mean < 0


def test_a_summary_by_phase_has_a_row_for_each_phase_and_group(
    results: Results, command: Command, tmp_path: Path
) -> None:
    table = results.summary(by="phase")
    assert list(table.columns[:6]) == ["scheme", "phase", "group", "queue", "metric", "unit"]
    assert table["phase"].unique().tolist() == ["start", "slow", "fast"]
    assert table["group"].unique().tolist() == ["", "bulk", "call"]
    row = table[(table["scheme"] == "codel") & (table["phase"] == "slow") & (table["metric"] == "goodput_bit_s")]
    wanted = [results.estimate("codel", "goodput_bit_s", group, phase="slow") for group in (None, "bulk", "call")]
    assert row["mean"].tolist() == [one.mean for one in wanted]
    assert row["low"].tolist() == [one.low for one in wanted]
    # Queues are of all flows.
    assert set(table[table["metric"] == "sojourn_ms_mean"]["group"]) == {""}
    results.to_parquet(tmp_path / "folder")
    done = command("table", tmp_path / "folder", "--by", "phase", "--format", "csv", "--metric", "goodput_bit_s")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "scheme,phase,group,queue,metric,unit,mean,low,high,replications"
    assert len(done.stdout.splitlines()) == 1 + 2 * 3 * 3


def test_what_there_is_not_is_refused(results: Results) -> None:
    with pytest.raises(SojournError, match=r"unknown phase `slo`.*did you mean"):
        results.values("codel", "goodput_bit_s", phase="slo")
    with pytest.raises(SojournError, match="unknown group of flows `bulks`"):
        results.values("codel", "goodput_bit_s", "bulks", phase="slow")
    with pytest.raises(SojournError, match="unknown metric `flow_start_s` of a phase"):
        results.values("codel", "flow_start_s", phase="slow")
    assert sj.run(sj.dumbbell(flows=1, duration=sj.s(1), warm_up=sj.ms(100)), series=None).phases.empty


def test_phases_survive_a_run_folder_a_store_and_arrow(results: Results, tmp_path: Path) -> None:
    results.to_parquet(tmp_path / "folder")
    again = Results.read(tmp_path / "folder")
    stored = sj.compare(NET, SCHEMES, replicates=3, seed=1, out=tmp_path / "store")
    for other in (again, stored, Results.read(tmp_path / "store")):
        assert other.phase_names == results.phase_names
        for group in (None, "call"):
            values = other.values("codel", "one_way_delay_ms_p99", group, phase="slow")
            assert values.tolist() == results.values("codel", "one_way_delay_ms_p99", group, phase="slow").tolist()
    table = results.arrow("phases")
    assert table.num_rows == len(results.phases)
    assert table.schema.field("from_s").metadata == {b"unit": b"s"}
    rows = results.to_document()["runs"][0]["phases"]
    assert rows[0]["phase"] == "start"
    assert rows[0]["metrics"]["goodput_bit_s"] > 0


@pytest.mark.long
def test_summary_and_report_show_them(results: Results, command: Command, tmp_path: Path) -> None:
    page = results.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="phases"' in page
    assert "Phases" in page
    (tmp_path / "turns.toml").write_text(NET.to_toml())
    done = command("run", tmp_path / "turns.toml")
    assert done.returncode == 0, done.stderr
    heads = next(line for line in done.stdout.splitlines() if line.startswith("phase "))
    assert heads.split()[:3] == ["phase", "time", "delay"]
    # Stored results have a column for each metric; those that phases lack are not shown.
    results.to_parquet(tmp_path / "kept")
    printed = text.phases(Results.read(tmp_path / "kept")).splitlines()
    assert printed[0] == text.phases(results).splitlines()[0]
    assert not any("–" in line for line in printed)
    assert any(line.startswith("slow ") for line in done.stdout.splitlines())


def test_capacity_is_a_series_and_a_picture(results: Results, tmp_path: Path) -> None:
    assert "capacity" in results.plot.names()
    assert results.plot.draw("capacity").svg().count("capacity") >= 1
    page = results.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="capacity"' in page
    own = results.time_series("capacity_bit_s", scheme="codel")["a->b"]
    # Points end intervals: 10 Mbit/s up to 3 s, 2 up to 5 s, and so on.
    t_s = own.index.to_numpy() - 1e-9
    is_slow = ((t_s > 3) & (t_s < 5)) | (t_s > 7)
    assert own.to_numpy() == pytest.approx(np.where(is_slow, 2e6, 10e6))
    still = sj.run(sj.dumbbell(flows=1, duration=sj.s(1), warm_up=sj.ms(100)), seed=1)
    assert "capacity" not in still.plot.names()
    with pytest.raises(SojournError, match=r"which needs series=... and a link under test whose rate changes"):
        still.plot.capacity()


def test_rfc_7928s_varying_capacity_is_ready_made() -> None:
    assert len(sj.bundled_scenarios()["varying"].splitlines()) < 40
    net = sj.load("varying", sets=["duration=45 s"])
    results = sj.run(net, series=None)
    assert results.phase_names == ("100 Mbit/s", "10 Mbit/s")
    fast, slow = (results.values(results.labels[0], "goodput_bit_s", phase=name)[0] for name in results.phase_names)
    # Payload is 1448 of 1500 bytes, and 25 of 45 s are fast, 1 s of them with flows that start.
    assert 0.85 * 96.5e6 < fast < 96.6e6
    assert 0.95 * 9.65e6 < slow < 1.01 * 9.66e6


LIMITS = {
    # What waits at most after the change to `limit 10p`, and which packets are dropped at that instant.
    "codel limit 1000p": (10, "oldest"),
    "pie limit 1000p target 1s": (10, "oldest"),
    "fq_codel limit 1000p": (10, ""),
    "fq_pie limit 1000p target 1s": (10, ""),
    "sfq limit 1000p depth 1000p": (10, ""),
    "dualpi2 limit 1000p target 1s": (10, "oldest"),
    # `choke_change` has a table of 16 places, one of them free.
    "choke limit 1000p min 500p max 900p": (15, "latest"),
    # `fifo_init` keeps all.
    "pfifo limit 1000p": (1000, ""),
}


@pytest.mark.parametrize("scheme", LIMITS)
def test_a_lower_limit_acts_as_in_linux(scheme: str, tmp_path: Path) -> None:
    # 20 Mbit/s into 10 Mbit/s for 0.6 s leave 500 packets of 1500 B.
    link = {"rate": sj.mbit_s(10), "delay": sj.ms(10), "under_test": True, "queue": scheme}
    net = sj.Network(name="limit", duration=sj.s(1), warm_up=sj.s(0)).link(name="l", from_="a", to="b", **link)
    for name in ("one", "two"):
        traffic = sj.poisson(rate=sj.mbit_s(10), packet_size=sj.bytes_(1472))
        net = net.flow(name=name, from_="a", to="b", transport=sj.udp(), traffic=traffic)
    low = "limit 10p min 3p max 9p" if scheme.startswith("choke") else "limit 10p"
    net = net.change(at=sj.ms(600), parameters=low)
    results = sj.run(net, seed=1, sets=["series.interval=1 ms"], decisions=str(tmp_path))
    most, which = LIMITS[scheme]
    queue = results.time_series("queue_packets")["queue_packets"]
    before, after = queue[queue.index < 0.6005].iloc[-1], queue[queue.index > 0.6005].iloc[0]
    assert before > 300
    assert after <= most + 1
    (file,) = tmp_path.glob("*.parquet")
    log = pd.read_parquet(file)
    now = log[(log["time_ns"] == 600_000_000) & (log["event"] == "dropped")]
    assert now["reason"].eq("overflow").all()
    if most == 1000:
        assert now.empty
        assert after > before - 3
        return
    # Before and after are means over a millisecond, in which at most some packets come and go.
    assert len(now) == pytest.approx(before - most, abs=5)
    assert results.queues["drops_overflow_packets"].iloc[0] >= len(now)
    left = log.loc[(log["time_ns"] > 600_000_000) & (log["event"] == "left"), "packet"]
    if which == "oldest":
        assert left.iloc[0] > now["packet"].max()
    if which == "latest":
        assert left.iloc[0] < now["packet"].min()
