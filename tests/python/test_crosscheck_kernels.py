"""Linux 6.12 beside 6.1: the pooled spread, what counts as a difference, and held-out points that stay hidden."""

from __future__ import annotations

import math
from typing import Any

import pytest

from crosscheck import compare, drawn, kernels, linux, page, records
from crosscheck.compare import Outcome

DRAW = {row["point"]: row for row in records.table(drawn.DRAW) if row["attempt"] == "0"}
DEVELOPMENT = [key for key, row in DRAW.items() if row["set"] == drawn.DEVELOPMENT][:3]
HELD_OUT = [key for key, row in DRAW.items() if row["set"] == drawn.HELD_OUT][:2]


def _run(key: str, number: int = 1, **changes: object) -> dict[str, str]:
    rtt_ms = float(DRAW[key]["base_rtt_ms"])
    row = {
        "point": key,
        "attempt": "0",
        "run": str(number),
        "void": "",
        "goodput_mbit_s": "10.0",
        "ping_ms_mean": str(rtt_ms + 20),
        "tcp_rtt_ms_mean": str(rtt_ms + 20),
        "counted_s": "10",
        "drops_packets": "400",
        "marks_packets": "0",
    }
    return row | {name: str(value) for name, value in changes.items()}


def _of(pairs: list[kernels.Pair], key: str, metric: str) -> kernels.Pair:
    return next(pair for pair in pairs if pair.point.name.startswith(key) and pair.metric.key == metric)


def test_the_spread_is_pooled_over_points_with_several_runs() -> None:
    def spreads(*runs: dict[str, str]) -> dict[str, float]:
        return kernels.spreads(drawn.points(drawn.DEVELOPMENT, rows=runs))

    # What the older points give, as a sum of squares over degrees of freedom: 8 points with 2 or 3 runs.
    several = [point.theirs["goodput"] for point in linux.points(records.table(linux.RECORD))]
    squares = [(one.sd / one.value) ** 2 * (one.runs - 1) for one in several if one.sd is not None]
    freedom = sum(one.runs - 1 for one in several)
    assert len(squares) == 8
    assert spreads()["goodput"] == pytest.approx(math.sqrt(sum(squares) / freedom))
    # 9 and 11: the mean is 10, the variance 2, so 0.02 of the square, with one more degree of freedom.
    key = DEVELOPMENT[0]
    found = spreads(_run(key, goodput_mbit_s=9), _run(key, 2, goodput_mbit_s=11))["goodput"]
    assert found == pytest.approx(math.sqrt((sum(squares) + 0.02) / (freedom + 1)))
    # 30 drops in all say nothing of the spread of drops.
    few = spreads(_run(key, drops_packets=10), _run(key, 2, drops_packets=20))["drops"]
    assert few == spreads()["drops"]


def test_a_difference_counts_against_tolerance_and_spread() -> None:
    key, other, gone = DEVELOPMENT
    older = [_run(key), _run(other), _run(gone)]
    newer = [_run(key, goodput_mbit_s=11), _run(other, goodput_mbit_s=10.05, drops_packets=700)]
    found = kernels.pairs(drawn.DEVELOPMENT, older=older, newer=newer)
    # The third one was not recorded with the newer kernel.
    assert not [pair for pair in found if pair.point.name.startswith(gone)]
    far, near, drops = _of(found, key, "goodput"), _of(found, other, "goodput"), _of(found, other, "drops")
    assert far.difference == pytest.approx(1.0)
    assert (far.is_within_tolerance, far.is_beyond_spread) == (False, True)
    assert (near.is_within_tolerance, near.is_beyond_spread) == (True, False)
    # The mean of 40 and 70 drops a second, and two single runs.
    assert drops.spread is not None
    # 400 and 700 are 550 a run: a Poisson variable's relative deviation is the root of 1 / 550, 4.3 %.
    spread = max(drops.spread, math.sqrt(1 / 550))
    assert drops.standard_error == pytest.approx(spread * 55 * math.sqrt(2))
    assert (drops.is_counted, drops.is_within_tolerance) == (True, False)


def test_few_drops_scatter_as_a_poisson_variable() -> None:
    # 100 and 140: the difference of 40 is 2.6 times the root of 240.
    key = DEVELOPMENT[0]
    found = kernels.pairs(
        drawn.DEVELOPMENT, older=[_run(key, drops_packets=100)], newer=[_run(key, drops_packets=140)]
    )
    drops = _of(found, key, "drops")
    assert drops.standard_error * 10 == pytest.approx(math.sqrt(240))
    assert not drops.is_beyond_spread


def test_few_drops_on_both_kernels_do_not_count() -> None:
    key = DEVELOPMENT[0]
    for number, counts in ((99, False), (100, True)):
        rows = [_run(key, drops_packets=50)], [_run(key, drops_packets=number)]
        found = kernels.pairs(drawn.DEVELOPMENT, older=rows[0], newer=rows[1])
        assert _of(found, key, "drops").is_counted is counts


def test_the_page_shows_shares_of_held_out_points_and_no_point(monkeypatch: pytest.MonkeyPatch) -> None:
    older = [_run(key) for key in DEVELOPMENT + HELD_OUT]
    newer = [_run(key, goodput_mbit_s=12.34) for key in DEVELOPMENT + HELD_OUT]
    tables: dict[str, Any] = {drawn.RECORD: older, kernels.RECORD: newer}
    genuine = records.table
    monkeypatch.setattr(records, "table", lambda name: tables.get(name) or genuine(name))
    points = drawn.points(drawn.DEVELOPMENT)
    rows = [
        compare.Row(point, metric, 12.34, point.theirs[metric.key], 0.0, 5)
        for point in points
        for metric in point.metrics[:1]
    ]
    text = page._kernels(Outcome("linux", tuple(rows)))
    assert "5 of the drawn points were also recorded with Linux 6.12" in text
    assert "3 of them are development points" in text
    assert all(f"| {key}: " in text for key in DEVELOPMENT)
    assert not any(key in text for key in HELD_OUT)
    assert "| held out | goodput | 2 | 0.0 % | 0.0 % | – |" in text
    # Ours has 12.34 as well: it agrees with the newer kernel and not with the older one.
    assert "| goodput | 0 of 3 | 3 of 3 |" in text
    tables[kernels.RECORD] = [_run("p168", goodput_mbit_s=1)]
    assert not page._kernels(Outcome("linux", tuple(rows)))
