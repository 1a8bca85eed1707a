from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sojourn as sj
from shared import REPLICATIONS, SCHEMES, small_network
from sojourn.base.units import auto_interval_ns
from sojourn.results import tables


def test_a_row_for_every_run_queue_and_flow(results: sj.Results) -> None:
    assert len(results.runs) == len(SCHEMES) * REPLICATIONS
    assert set(results.runs["scheme"]) == set(SCHEMES)
    assert len(results.flows) == 4 * len(results.runs)
    under_test = results.queues[results.queues["under_test"]]
    assert set(under_test["queue"]) == {"left->right"}


def test_every_scheme_ran_in_the_queue_under_test_and_nowhere_else(results: sj.Results) -> None:
    for (scheme, under_test), configured in results.queues.groupby(["scheme", "under_test"])["configured"]:
        assert set(configured) == ({sj.Scheme(scheme).canonical} if under_test else {"pfifo"})


def test_packets_are_conserved(results: sj.Results) -> None:
    runs = results.runs
    assert (
        runs["packets_sent"] == runs["packets_delivered"] + runs["packets_dropped"] + runs["packets_in_flight"]
    ).all()


def test_the_summary_is_the_mean_and_t_interval_of_the_runs(results: sj.Results) -> None:
    values = results.runs.loc[results.runs["scheme"] == "codel", "sojourn_ms_mean"].to_numpy()
    # t(3) = 3.18245, four runs.
    half = 3.18245 * values.std(ddof=1) / math.sqrt(4)
    summary = results.summary()
    row = summary[(summary["scheme"] == "codel") & (summary["metric"] == "sojourn_ms_mean")].iloc[0]
    assert row["unit"] == "ms"
    assert row["replications"] == REPLICATIONS
    assert row["mean"] == pytest.approx(values.mean())
    assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-5)
    assert row["mean"] - row["low"] == pytest.approx(half, rel=1e-5)


def test_differences_are_those_of_pairs(results: sj.Results) -> None:
    by_run = results.runs.pivot(index="replication", columns="scheme", values="sojourn_ms_mean")
    expected = (by_run["codel"] - by_run[SCHEMES[0]]).to_numpy()
    half = 3.18245 * expected.std(ddof=1) / math.sqrt(4)
    table = results.differences()
    row = table[(table["scheme"] == "codel") & (table["metric"] == "sojourn_ms_mean")].iloc[0]
    assert row["baseline"] == SCHEMES[0]
    assert row["difference"] == pytest.approx(expected.mean())
    assert row["high"] - row["difference"] == pytest.approx(half, rel=1e-5)
    assert SCHEMES[0] not in set(table["scheme"])


def test_the_baseline_can_be_named(results: sj.Results) -> None:
    assert set(results.differences("pie")["baseline"]) == {"pie"}
    with pytest.raises(sj.SojournError, match="unknown scheme `red`"):
        results.differences("red")


def test_every_scheme_sees_the_same_traffic() -> None:
    # UDP does not react to the queue, so what is offered is the traffic itself.
    network = (
        sj.Network(name="open", duration=sj.s(2))
        .link(name="l", from_="a", to="b", rate=sj.mbit_s(1), delay=sj.ms(1), under_test=True)
        .flow(
            name="f",
            from_="a",
            to="b",
            traffic=sj.poisson(rate=sj.mbit_s(2), packet_size=sj.bytes_(1000)),
            transport=sj.udp(),
        )
    )
    found = sj.compare(network, ["pfifo limit 10p", "codel"], replicates=3)
    sent = found.runs.pivot(index="replication", columns="scheme", values="sent_packets")
    assert (sent["pfifo limit 10p"] == sent["codel"]).all()
    assert len(set(sent["codel"])) > 1, "replications must differ, or they are no replications"


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_threads(results: sj.Results) -> None:
    again = sj.compare(small_network(), list(SCHEMES), replicates=REPLICATIONS, seed=3, jobs=1)
    assert json.dumps(again.to_document()) == json.dumps(results.to_document())


def test_another_seed_gives_other_numbers(results: sj.Results) -> None:
    other = sj.compare(small_network(), ["codel"], replicates=1, seed=4)
    assert other.values("codel", "sojourn_ms_mean")[0] not in results.values("codel", "sojourn_ms_mean")


def test_the_best_is_named_only_where_pairs_tell_it_from_every_other(results: sj.Results) -> None:
    assert results.best("sojourn_ms_mean") in results.labels
    # Three equal schemes under three labels: none is better.
    same = sj.compare(small_network(), dict.fromkeys("abc", "codel"), replicates=3)
    assert same.best("sojourn_ms_mean") is None
    assert results.best("arrivals_packets") is None, "more or fewer arrivals are neither better nor worse"


def test_one_replication_claims_nothing() -> None:
    single = sj.compare(small_network(), ["pfifo limit 60p", "codel"], replicates=1)
    summary = single.summary()
    assert summary["low"].isna().all()
    assert summary["high"].isna().all()
    assert (summary["replications"] <= 1).all()
    assert single.best("sojourn_ms_mean") is None


def test_the_json_document(results: sj.Results) -> None:
    document = json.loads(json.dumps(results.to_document(), allow_nan=False))
    assert len(document["runs"]) == len(results.runs)
    first = document["runs"][0]
    assert {"scheme", "seed", "replication", "metrics", "queues", "flows", "packets_sent"} <= set(first)
    assert first["metrics"]["sojourn_ms_mean"] == results.values(first["scheme"], "sojourn_ms_mean")[0]
    for row in document["summary"]:
        assert set(row) == {"scheme", "queue", "metric", "unit", "mean", "interval", "replications"}
        if row["interval"] is not None:
            low, high = row["interval"]
            assert low <= row["mean"] <= high
    assert {row["baseline"] for row in document["differences"]} == {SCHEMES[0]}


def test_with_one_replication_the_interval_is_null() -> None:
    document = sj.run(small_network()).to_document()
    assert all(row["interval"] is None for row in document["summary"])


def test_units_are_in_the_columns_metadata(results: sj.Results) -> None:
    schema = results.arrow("runs").schema
    assert schema.field("sojourn_ms_mean").metadata == {b"unit": b"ms"}
    assert schema.field("goodput_bit_s").metadata == {b"unit": b"bit/s"}
    assert schema.field("duration_s").metadata == {b"unit": b"s"}
    assert results.arrow("flows").schema.field("one_way_delay_ms_mean").metadata == {b"unit": b"ms"}


def test_others_read_the_tables_through_the_arrow_capsule(results: sj.Results) -> None:
    table = pa.table(results)  # uses __arrow_c_stream__ and nothing else
    assert table.num_rows == len(results.runs)
    assert table.schema.field("sojourn_ms_mean").metadata == {b"unit": b"ms"}


@pytest.mark.parametrize("name", [name for name in tables.NAMES if name not in {"stations", "phases"}])
def test_arrow_of_the_core_is_that_of_the_frames(results: sj.Results, name: str) -> None:
    made, expected = results.arrow(name), tables.to_arrow(name, results.frames[name])
    assert made.schema.equals(expected.schema, check_metadata=True)
    assert made.num_rows > 0
    assert made.equals(expected)


def test_arrow_of_802_11_stations_is_that_of_the_frames() -> None:
    results = sj.run("wlan", sets=["duration=1 s", "warm_up=500 ms"])
    made, expected = results.arrow("stations"), tables.to_arrow("stations", results.stations)
    assert made.schema.equals(expected.schema, check_metadata=True)
    assert made.num_rows > 0
    assert made.equals(expected)


def test_arrow_needs_neither_pandas_nor_pyarrow() -> None:
    code = """
import sys
import sojourn as sj
results = sj.run(sj.dumbbell(flows=2, duration=sj.s(1), warm_up=sj.ms(500)))
capsule = results.__arrow_c_stream__()
assert "arrow_array_stream" in repr(capsule), capsule
print(sorted({"pandas", "pyarrow"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_unknown_names_are_refused_with_what_there_is(results: sj.Results) -> None:
    with pytest.raises(sj.SojournError, match=r"unknown metric `sojourn`.*sojourn_ms_mean"):
        results.values("codel", "sojourn")
    with pytest.raises(sj.SojournError, match=r"unknown table `run`.*runs"):
        results.arrow("run")


def test_a_folder_gives_the_results_back(results: sj.Results, tmp_path: Path) -> None:
    results.to_parquet(tmp_path / "run")
    again = sj.Results.read(tmp_path / "run")
    assert again.to_document() == results.to_document()
    for name, frame in results.frames.items():
        pd.testing.assert_frame_equal(again.frames[name], frame, check_dtype=False)
    assert again.schemes == results.schemes


def test_series_are_sampled_where_asked_for() -> None:
    none = sj.run(small_network(), series=None)
    assert none.series.empty
    every = sj.compare(small_network(), ["codel"], replicates=2, series=sj.ms(100))
    assert set(every.series["replication"]) == {0, 1}
    queue = every.series[(every.series["name"] == "queue_packets") & (every.series["replication"] == 0)]
    assert np.allclose(np.diff(queue["t_s"]), 0.1)
    automatic = sj.compare(small_network(), ["codel"], replicates=2)
    assert set(automatic.series["replication"]) == {0}


def test_series_change_no_number() -> None:
    without = sj.run(small_network(), series=None).to_document()["runs"][0]
    sampled = sj.run(small_network(), series=sj.ms(50)).to_document()["runs"][0]
    assert without["metrics"] == sampled["metrics"]


@pytest.mark.parametrize(("duration", "interval_ns"), [("60 s", 200_000_000), ("10 s", 50_000_000), ("1 us", 5)])
def test_automatic_sampling_takes_a_round_interval(duration: str, interval_ns: int) -> None:
    # A four hundredth: 150 ms, 25 ms, 2.5 ns, rounded up to 1, 2 or 5 times a power of ten.
    assert auto_interval_ns(duration) == interval_ns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicates": 0}, "replicates=0 is impossible"),
        ({"seed": -1}, "seed=-1 is impossible"),
        ({"jobs": 0}, "jobs=0 is impossible"),
        ({"replicates": 2.5}, "not a whole number"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(sj.SojournError, match=message):
        sj.compare(small_network(), ["codel"], **options)  # type: ignore[arg-type]


def test_results_draw_themselves_in_a_notebook(results: sj.Results) -> None:
    html = results._repr_html_()
    assert "codel" in html
    assert "data-mean" in html
    assert results.plot.delay_throughput()._repr_svg_().startswith("<?xml")


def test_a_run_without_queues_under_test_is_named_as_written() -> None:
    network = (
        sj.Network(name="x", duration=sj.s(1))
        .link(name="l", from_="a", to="b", rate=sj.mbit_s(1), delay=sj.ms(1))
        .flow(name="f", from_="a", to="b")
    )
    assert sj.run(network).labels == ("as written",)


def test_some_schemes_alone(results: sj.Results) -> None:
    two = results.only(["pie", "codel"])
    assert two.labels == ("pie", "codel")
    assert set(two.flows["scheme"]) == {"pie", "codel"}
    assert two.estimate("pie", "goodput_bit_s") == results.estimate("pie", "goodput_bit_s")
    assert set(two.differences()["baseline"]) == {"pie"}
    with pytest.raises(sj.SojournError, match="unknown scheme `red`"):
        results.only(["red"])


def test_many_schemes_have_a_legend_that_fits() -> None:
    schemes = [f"codel target {n}ms" for n in range(1, 21)]
    picture = sj.compare(small_network(), schemes, replicates=1).plot.delay_throughput()
    legend = picture.axes[0].get_legend()
    assert legend is not None
    picture.draw_without_rendering()
    assert picture.bbox.height >= legend.get_window_extent().height
