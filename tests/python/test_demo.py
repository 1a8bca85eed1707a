from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from shared import Command
from sojourn import core, demo
from sojourn.demo import published, setting
from sojourn.folder import read_meta


def test_the_published_numbers_are_those_of_table_8() -> None:
    numbers = published.numbers()
    assert len(numbers) == 8 * 6
    assert {metric for _, metric in numbers} == {metric.key for metric in published.METRICS}
    # The row of RED and the row of sojourn times, as printed.
    assert [numbers["RED", metric.key] for metric in published.METRICS] == [
        102.201, 1349.799, 248.971, 0.0, 457.526, 2.855,
    ]  # fmt: skip
    assert [numbers[label, "sojourn_time_ms"] for label in setting.lan_schemes("7ms")] == [
        1349.799, 279.861, 323.248, 298.203, 185.361, 191.932, 65.623, 56.68,
    ]  # fmt: skip


def test_the_lan_schemes_have_the_parameters_of_table_2() -> None:
    values = {
        label: {p.name: p.value for p in sj.Scheme(text).parameters()}
        for label, text in setting.lan_schemes("7ms").items()
    }
    assert list(values) == ["RED", "PIE", "CoDel", "FQ-CoDel", "COBALT", "dAQM c1", "dAQM c2", "dAQM c3"]
    wanted = {
        "RED": {"min": "500p", "max": "1000p", "w": "0.002", "target": "5ms", "alpha": "0.01", "beta": "0.9"},
        "PIE": {"tupdate": "15ms", "alpha": "0.125", "beta": "1.25"},
        "CoDel": {"target": "5ms", "interval": "100ms"},
        "FQ-CoDel": {"target": "5ms", "interval": "100ms", "flows": "1024"},
        "COBALT": {"p_inc": "0.08", "p_dec": "0.04", "blue_threshold": "400ms"},
        "dAQM c1": {"s0": "1s", "s1": "10", "q0": "120p", "q1": "1", "drop_rate": "0.05", "drop_duration": "400ms"},
        "dAQM c2": {"s0": "600ms", "s3": "0.1", "q0": "80p", "q3": "0.1", "drop_rate": "0.5"},
        "dAQM c3": {"s0": "100ms", "s1": "0.01", "q0": "20p", "q1": "0.01", "drop_rate": "0.98"},
    }
    for label, parameters in wanted.items():
        assert {name: values[label][name] for name in parameters} == parameters
        assert values[label]["limit"] in ("2000p", "2000 p")


def test_the_dumbbell_runs_every_scheme_of_the_registry() -> None:
    run = [sj.Scheme(text).algorithm for text in setting.dumbbell_schemes("measured").values()]
    assert run == [entry["name"] for entry in core.aqms()]
    assert set(setting.DUMBBELL_PICTURED) <= set(run)


@pytest.mark.parametrize(
    ("modes", "interarrival"),
    [
        ([7, 7, 6], "7ms"),
        ([7, 6], "6ms"),  # a tie: the smaller
        ([0, 0, 1], "measured"),  # a rate whose spacing rounds to zero gives no D
        ([math.nan], "measured"),
    ],
)
def test_d_is_the_most_frequent_spacing(modes: list[float], interarrival: str, results: sj.Results) -> None:
    import dataclasses

    runs = results.runs[results.runs["scheme"] == "codel"].head(len(modes)).copy()
    runs["interarrival_ms_mode"] = np.array(modes, dtype=float)
    fifo = dataclasses.replace(results, schemes=(sj.Scheme("codel"),), frames={**results.frames, "runs": runs})
    assert setting.interarrival(fifo) == interarrival


def pair(published_number: float, values: list[float]) -> published.Pair:
    from sojourn import stats

    return published.Pair(published_number, stats.estimate(values), stats.prediction(values))


def test_inside_the_interval_and_like_one_of_our_runs() -> None:
    # 1..5: 3 +- 1.963 for the mean, 3 +- 4.809 for one further run.
    values = [1.0, 2, 3, 4, 5]
    assert (pair(4.9, values).is_in_interval, pair(4.9, values).is_one_of_ours) == (True, True)
    assert (pair(5.0, values).is_in_interval, pair(5.0, values).is_one_of_ours) == (False, True)
    assert (pair(7.9, values).is_in_interval, pair(7.9, values).is_one_of_ours) == (False, False)
    assert not pair(3.0, [3.0]).is_one_of_ours, "one replication claims nothing"


@pytest.mark.parametrize(
    ("one_of_ours", "rank", "verdict"),
    [
        (8, 0.0, "agrees"),
        (3, 0.9, "agrees in the order of the schemes, not in size"),
        (3, 0.5, "does not agree, but for 3 of 8 schemes"),
        (0, math.nan, "does not agree"),
    ],
)
def test_the_verdict_follows_the_rule(one_of_ours: int, rank: float, verdict: str) -> None:
    found = published.Agreement(8, 0, one_of_ours, rank, 1.0, 1.0)
    assert found.verdict == verdict


def test_the_rank_threshold_is_that_of_eight_pairs() -> None:
    # Spearman's critical value for n = 8, two-sided 5 %: 0.738 (printed tables).
    assert published.RANK_THRESHOLD == 0.738


def test_littles_law_on_the_published_row_of_codel() -> None:
    # 23.638 packets / 0.323248 s = 73.126 packets/s.
    assert published.implied_rate("CoDel") == pytest.approx(73.126, abs=1e-3)


def test_a_flows_throughput_is_over_its_own_lifetime(results: sj.Results) -> None:
    flows = results.flows[(results.flows["scheme"] == "codel") & (results.flows["replication"] == 0)]
    expected = [
        goodput * 3.0 / duration / 1e3  # measured for 4 - 1 s
        for goodput, duration in zip(flows["goodput_bit_s"], flows["flow_duration_s"], strict=True)
    ]
    assert published.flow_throughput_kbit_s(results, "codel")[0] == pytest.approx(sum(expected) / 4)


def test_the_demonstration(command: Command, tmp_path: Path) -> None:
    done = command("demo", "--quick", "--replicates", 2, timeout=600)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.rstrip().splitlines()
    assert lines[-1] == "out/demo/report.html"
    for label in setting.lan_schemes("7ms"):
        at = next(n for n, line in enumerate(lines) if line.startswith(f"{label} "))
        assert "published" in lines[at]
        assert "device queue 100 p" in lines[at + 1]
        assert "no device queue" in lines[at + 2]
        assert f"{published.numbers()[label, 'queue_length_packets']:g}" in lines[at]
    place = tmp_path / "here" / "out" / "demo"
    text = (place / "report.html").read_text()
    assert "What the thesis leaves open" in text
    assert "cannot be of one queue" in text
    assert demo.page(place) == text, "the folder alone gives the page"
    for part in read_meta(place)["parts"]:
        assert (place / part / "report.html").is_file()
    again = command("report", "out/demo")
    assert again.returncode == 0, again.stderr
    assert (place / "report.html").read_text() == text
