"""802.11 cells from Python: the builder, the ready-made scenario, the report of a cell."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import sojourn as sj
from shared import small_network
from sojourn.base import core


def _cell(**keys: object) -> sj.Network:
    return (
        sj.Network(name="cell", duration=sj.s(3), warm_up=sj.s(1))
        .node(name="station", count=2)
        .cell(name="wlan", access_point="ap", stations=("station",), profile="802.11b", **keys)  # type: ignore[arg-type]
        .flow(
            name="up",
            from_="station",
            to="ap",
            transport=sj.udp(),
            traffic=sj.cbr(rate=sj.mbit_s(6), packet_size=sj.bytes_(1472)),
        )
    )


def test_the_builder_writes_what_a_file_says() -> None:
    network = _cell(rates={"station": sj.mbit_s(2)}, rts_threshold=sj.bytes_(500), access_point_under_test=True)
    (cell,) = network.check().canonical()["cells"]
    assert cell["rates"] == {"station": "2 Mbit/s"}
    assert cell["rts_threshold"] == "500 B"
    assert cell["access_point_under_test"] is True


def test_a_wrong_key_is_refused_by_its_name() -> None:
    with pytest.raises(TypeError, match=r"rts_treshold.*did you mean `rts_threshold`"):
        _cell(rts_treshold="none")


def test_a_report_has_its_cells() -> None:
    scenario = core.load(json.dumps(_cell().to_dict()), source="test", sets=())
    (run,) = core.run_many(scenario, [{"scheme": None, "seed": 1, "replication": 0, "series": None}], jobs=1)
    (cell,) = run["cells"]
    ap, *stations = cell["stations"]
    assert [station["node"] for station in cell["stations"]] == ["ap", "station0", "station1"]
    assert ap["attempts"] == 0
    # A collision is of two frames here, one of each station. Both are saturated: the channel is idle for back-off and
    # DIFS only.
    assert abs(stations[0]["collisions"] - stations[1]["collisions"]) <= 1
    assert stations[0]["collisions"] > 0
    assert 0.7 < cell["medium_utilisation"] < 1


def test_the_studys_cell_leaves_the_queue_at_the_wire_or_not() -> None:
    # 802.11g carries more than the 10 Mbit/s wire; 802.11b, 5 Mbit/s at most, does not.
    short = ["duration=15 s", "warm_up=5 s"]
    fast = sj.compare(sj.load("wlan", sets=short), ["pfifo limit 100p"], replicates=1, seed=1)
    slow = [*short, "cells.near.profile=802.11b", "cells.far.profile=802.11b"]
    empty = sj.compare(sj.load("wlan", sets=slow), ["pfifo limit 100p"], replicates=1, seed=1)
    assert float(fast.runs["queue_packets_mean"].iloc[0]) > 60
    assert float(empty.runs["queue_packets_mean"].iloc[0]) < 1


def test_stations_are_a_table_in_results_documents_and_run_folders(tmp_path: Path) -> None:
    results = sj.run(_cell(), replicates=2, seed=1)
    table = results.stations
    assert table[["replication", "node"]].to_numpy().tolist() == [
        [replication, node] for replication in (0, 1) for node in ("ap", "station0", "station1")
    ]
    scenario = core.load(json.dumps(_cell().to_dict()), source="test", sets=())
    (run,) = core.run_many(scenario, [{"scheme": None, "seed": 1, "replication": 1, "series": None}], jobs=1)
    assert table.iloc[4]["collisions"] == run["cells"][0]["stations"][1]["collisions"]
    document = results.to_document()["runs"][1]["stations"]
    assert [station["node"] for station in document] == ["ap", "station0", "station1"]
    assert document[1]["air_time_share"] == run["cells"][0]["stations"][1]["air_time_share"]
    results.to_parquet(tmp_path / "folder")
    pd.testing.assert_frame_equal(sj.Results.read(tmp_path / "folder").stations, table, check_dtype=False)
    assert results.arrow("stations").schema.field("retry_drops").metadata == {b"unit": b"packets"}
    assert "stations" not in sj.run(small_network(), seed=1).to_document()["runs"][0]
